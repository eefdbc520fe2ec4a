//! The operations of system calls that are refused and reported.

use crate::{
    interface::RefusedOperation::{
        self, Administration, DeviceNode, KernelCode, KernelLog, Keyring, Mount, Namespace,
        PerformanceCounters, SetId, UnixDatagram, UnusualSocket,
    },
    seccomp::{self, PendingSyscall},
};

/// Returns the operation of a call that no profile allows, or `None` for other calls.
pub(super) fn operation(call: &PendingSyscall<'_>) -> Option<RefusedOperation> {
    seccomp::is_refused(call).then(|| match call.syscall_number() {
        libc::SYS_socket => match (call.int_argument(0), call.int_argument(1) & SOCKET_TYPE) {
            (libc::AF_UNIX, libc::SOCK_DGRAM) => UnixDatagram,
            _ => UnusualSocket,
        },
        number => operation_of_number(number),
    })
}

/// The bits of the type of a socket. The rest are flags.
const SOCKET_TYPE: i32 = 0xf;

fn operation_of_number(number: i64) -> RefusedOperation {
    match number {
        libc::SYS_clone | libc::SYS_unshare | libc::SYS_setns => Namespace,
        libc::SYS_keyctl | libc::SYS_add_key | libc::SYS_request_key => Keyring,
        libc::SYS_perf_event_open => PerformanceCounters,
        libc::SYS_bpf
        | libc::SYS_init_module
        | libc::SYS_finit_module
        | libc::SYS_delete_module
        | libc::SYS_kexec_load
        | libc::SYS_kexec_file_load => KernelCode,
        libc::SYS_syslog => KernelLog,
        libc::SYS_reboot
        | libc::SYS_swapon
        | libc::SYS_swapoff
        | libc::SYS_quotactl
        | libc::SYS_quotactl_fd
        | libc::SYS_acct
        | libc::SYS_settimeofday
        | libc::SYS_clock_settime
        | libc::SYS_sethostname
        | libc::SYS_setdomainname => Administration,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mknod => DeviceNode,
        libc::SYS_mknodat => DeviceNode,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => SetId,
        libc::SYS_fchmod | libc::SYS_fchmodat | libc::SYS_fchmodat2 => SetId,
        // All others of the list change mounts.
        _ => Mount,
    }
}
