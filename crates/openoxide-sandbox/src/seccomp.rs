//! The system calls that a confined process may make (seccomp(2), bpf(2)).
//!
//! The filter allows all calls except for those on a list: calls that reach kernel interfaces which
//! ordinary programs do not need, calls that create new namespaces, and calls that bypass the other
//! layers. Calls with numbers above those of this list fail as if the kernel did not implement
//! them.
//!
//! A call that the filter hands to the supervisor is a [`PendingSyscall`]. `init` installs the
//! filter; `network`, `file_requests` and `supervisor` read the calls.

mod assembler;
mod pending_syscall;
mod socket_address;
mod syscalls;

pub(crate) use pending_syscall::{PendingSyscall, descriptor_path};
pub(crate) use socket_address::SocketAddress;

use std::path::PathBuf;

use crate::{
    seccomp::assembler::{CallArgument, FilterAction, FilterAssembler},
    sys::SeccompFilter,
};

/// The calls that change files and are handed to the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotifiedChanges {
    /// No call.
    None,
    /// Calls that remove directories.
    DirectoryRemoval,
    /// Calls that change names, and calls that open files for writing.
    All,
}

/// The options of a filter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilterOptions {
    /// True if connect(2) and a few rare calls are handed to the supervisor. Otherwise, no Unix
    /// socket can be created except for a socket pair.
    pub(crate) notify_connect: bool,
    /// The calls that change files and are handed to the supervisor, too.
    pub(crate) notified_changes: NotifiedChanges,
    /// True if processes inside may trace each other. Every process inside that is not under this
    /// filter must be protected from that by the kernel.
    pub(crate) allow_tracing: bool,
}

/// Returns the mode that a call of the chmod(2) family sets.
fn changed_mode(call: &PendingSyscall<'_>) -> Option<u32> {
    let (_, at) =
        syscalls::MODE_CHANGES.iter().find(|(number, _)| *number == call.syscall_number())?;
    Some(call.int_argument(usize::try_from(*at).ok()?).cast_unsigned())
}

/// Returns whether a call sets the set-group-ID mode of a file or directory, but not the
/// set-user-ID mode.
pub(crate) fn sets_group_mode(call: &PendingSyscall<'_>) -> bool {
    let bits = libc::S_ISUID | libc::S_ISGID;
    changed_mode(call).is_some_and(|mode| mode & bits == libc::S_ISGID)
}

/// Returns whether this mode of a new file is that of a device node.
const fn is_device(mode: i32) -> bool {
    matches!(mode.cast_unsigned() & libc::S_IFMT, libc::S_IFCHR | libc::S_IFBLK)
}

/// Returns whether the filter hands a call to the supervisor only to be refused and reported.
pub(crate) fn is_refused(call: &PendingSyscall<'_>) -> bool {
    match call.syscall_number() {
        libc::SYS_clone | libc::SYS_unshare | libc::SYS_socket => true,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mknod => is_device(call.int_argument(1)),
        libc::SYS_mknodat => is_device(call.int_argument(2)),
        number if syscalls::EXPLAINED_CALLS.contains(&number) => true,
        _ => changed_mode(call).is_some_and(|mode| mode & libc::S_ISUID != 0),
    }
}

/// Builds the filter.
pub(crate) fn build_filter(wanted: FilterOptions) -> SeccompFilter {
    let mut to = FilterAssembler::new();
    to.reject_newer(syscalls::NEWEST_SYSCALL);
    for call in syscalls::UNIMPLEMENTED_CALLS {
        to.match_call(*call, FilterAction::NotImplemented);
    }
    for call in syscalls::REFUSED_CALLS {
        to.match_call(*call, FilterAction::NotPermitted);
    }
    for call in syscalls::EXPLAINED_CALLS {
        to.match_call(*call, action_if(wanted.notify_connect));
    }
    if !wanted.allow_tracing {
        for call in syscalls::TRACING_CALLS {
            to.match_call(*call, FilterAction::NotPermitted);
        }
    }
    deny_namespaces(&mut to, wanted);
    deny_set_id_modes(&mut to, wanted);
    deny_device_nodes(&mut to, wanted);
    deny_terminal_input(&mut to);
    protect_first_process(&mut to);
    deny_file_leases(&mut to);
    restrict_sockets(&mut to, wanted);
    if wanted.notify_connect {
        to.match_call(libc::SYS_connect, FilterAction::Notify);
        // The call continues. Only its port is recorded.
        to.match_call(libc::SYS_listen, FilterAction::Notify);
    }
    match wanted.notified_changes {
        NotifiedChanges::None => {}
        NotifiedChanges::DirectoryRemoval => notify_directory_removal(&mut to),
        NotifiedChanges::All => notify_file_changes(&mut to),
    }
    to.finish()
}

/// Denies new namespaces. In a new user namespace, a process would have every capability, and
/// therefore access to most of the kernel.
fn deny_namespaces(to: &mut FilterAssembler, wanted: FilterOptions) {
    let action = action_if(wanted.notify_connect);
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        to.match_any_bit(call, CallArgument(0), syscalls::NEW_NAMESPACES, action);
    }
}

/// Denies set-user-ID and set-group-ID modes. On the host, unless a mount option forbids it, such a
/// file runs with the rights of its owner. One that belongs to root would make any user root.
/// The supervisor sets the set-group-ID mode of a directory, where it has another meaning.
fn deny_set_id_modes(to: &mut FilterAssembler, wanted: FilterOptions) {
    let others = libc::S_ISUID | libc::S_ISGID;
    for (call, at) in syscalls::MODES_OF_NEW_FILES {
        to.match_any_bit(*call, CallArgument(*at), others, FilterAction::NotPermitted);
    }
    let action = action_if(wanted.notify_connect);
    for (call, at) in syscalls::MODE_CHANGES {
        to.match_any_bit(*call, CallArgument(*at), others, action);
    }
}

/// Returns the action for a call that the supervisor performs or refuses, if there is a listener.
const fn action_if(has_listener: bool) -> FilterAction {
    if has_listener { FilterAction::Notify } else { FilterAction::NotPermitted }
}

/// Denies device nodes. Pipes, sockets and regular files can be created.
fn deny_device_nodes(to: &mut FilterAssembler, wanted: FilterOptions) {
    let action = action_if(wanted.notify_connect);
    for kind in [libc::S_IFCHR, libc::S_IFBLK] {
        #[cfg(target_arch = "x86_64")]
        to.match_masked(libc::SYS_mknod, CallArgument(1), libc::S_IFMT, kind, action);
        to.match_masked(libc::SYS_mknodat, CallArgument(2), libc::S_IFMT, kind, action);
    }
}

/// Denies writing into a terminal's input. The next program that reads it is the person's shell
/// (CVE-2017-5226). The kernel uses only the lower half of the request, and so does the filter
/// (CVE-2019-10063).
fn deny_terminal_input(to: &mut FilterAssembler) {
    for request in syscalls::TERMINAL_INPUT_REQUESTS {
        to.match_equal(libc::SYS_ioctl, CallArgument(1), *request, FilterAction::NotPermitted);
    }
}

/// Denies changing the limits and the priority of the first process inside, which belongs to the
/// same user. It restores mounts that hide paths, and must not become slow or fail.
fn protect_first_process(to: &mut FilterAssembler) {
    const FIRST: u32 = 1;
    for call in syscalls::PROCESS_SETTING_CALLS {
        to.match_equal(*call, CallArgument(0), FIRST, FilterAction::NotPermitted);
    }
    for (call, kind) in syscalls::PRIORITY_CALLS {
        let first = (CallArgument(1), u32::MAX, FIRST);
        to.match_both(*call, (CallArgument(0), *kind), first, FilterAction::NotPermitted);
    }
    // Denied for all processes of a user, because the first process is one of them.
    for (call, kind) in syscalls::USER_PRIORITY_CALLS {
        to.match_equal(*call, CallArgument(0), *kind, FilterAction::NotPermitted);
    }
}

/// Denies leases on files and notifications about them. A lease on a file that the program can only
/// read delays each process of the host that writes the file.
fn deny_file_leases(to: &mut FilterAssembler) {
    for command in syscalls::REFUSED_FCNTL_COMMANDS {
        to.match_equal(libc::SYS_fcntl, CallArgument(1), *command, FilterAction::NotPermitted);
    }
}

/// Restricts the families and types of sockets. A filter cannot see the target of a datagram on a
/// Unix domain socket.
fn restrict_sockets(to: &mut FilterAssembler, wanted: FilterOptions) {
    const KIND: u32 = 0xf; // SOCK_TYPE_MASK: the rest are flags.
    let refusal = action_if(wanted.notify_connect);
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    to.match_none_of(libc::SYS_socket, CallArgument(0), &families.map(i32::cast_unsigned), refusal);
    to.match_none_of(
        libc::SYS_socketpair,
        CallArgument(0),
        &[libc::AF_UNIX.cast_unsigned()],
        FilterAction::NotPermitted,
    );
    let [unix, inet, inet6, netlink] =
        families.map(|family| (CallArgument(0), family.cast_unsigned()));
    let is = |kind: i32| (CallArgument(1), KIND, kind.cast_unsigned());
    if !wanted.notify_connect {
        to.match_equal(libc::SYS_socket, unix.0, unix.1, FilterAction::NotPermitted);
    }
    to.match_both(libc::SYS_socket, unix, is(libc::SOCK_DGRAM), refusal);
    // The supervisor returns a pair of another type, which ignores addresses.
    to.match_both(libc::SYS_socketpair, unix, is(libc::SOCK_DGRAM), refusal);
    to.match_both(libc::SYS_socketpair, unix, is(libc::SOCK_RAW), FilterAction::NotPermitted);
    for family in [unix, inet, inet6] {
        to.match_both(libc::SYS_socket, family, is(libc::SOCK_RAW), refusal);
    }
    // The netlink routing family tells programs their addresses. The other netlink families give
    // access to large parts of the kernel.
    to.match_equal_and_not(
        libc::SYS_socket,
        netlink,
        (CallArgument(2), 0),
        FilterAction::NotPermitted,
    );
}

/// The directory that a call removes.
pub(crate) struct RemovedDirectory {
    /// The path, as the program wrote it.
    pub(crate) path: PathBuf,
    /// The directory that a relative path is resolved against.
    pub(crate) base: i32,
}

/// Returns the directory that a call removes, or `None` for other calls.
pub(crate) fn removed_directory(call: &PendingSyscall<'_>) -> Option<RemovedDirectory> {
    let (base, at) = match call.syscall_number() {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rmdir => (libc::AT_FDCWD, 0),
        libc::SYS_unlinkat if call.int_argument(2) & libc::AT_REMOVEDIR != 0 => {
            (call.int_argument(0), 1)
        }
        _ => return None,
    };
    Some(RemovedDirectory { path: call.read_path(at).ok()?, base })
}

/// Hands calls that remove directories to the supervisor.
fn notify_directory_removal(to: &mut FilterAssembler) {
    #[cfg(target_arch = "x86_64")]
    to.match_call(libc::SYS_rmdir, FilterAction::Notify);
    let removes_directory = libc::AT_REMOVEDIR.cast_unsigned();
    to.match_any_bit(libc::SYS_unlinkat, CallArgument(2), removes_directory, FilterAction::Notify);
}

/// Hands calls that change files to the supervisor. Calls that only read continue in the kernel:
/// the flags of a call that opens a file are in a register, where the filter can read them.
fn notify_file_changes(to: &mut FilterAssembler) {
    for (call, at) in syscalls::OPEN_CALLS {
        to.match_any_bit(*call, CallArgument(*at), syscalls::WRITE_FLAGS, FilterAction::Notify);
    }
    for call in syscalls::NAME_CHANGING_CALLS {
        to.match_call(*call, FilterAction::Notify);
    }
}

#[cfg(test)]
mod tests;
