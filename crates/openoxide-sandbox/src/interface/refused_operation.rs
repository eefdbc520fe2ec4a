//! Operations that the system call filter refuses to every program.

use serde::{Deserialize, Serialize};

/// An operation that no profile allows. The system call filter refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusedOperation {
    /// Changing mounts or the root directory.
    Mount,
    /// Creating or entering a namespace.
    Namespace,
    /// Setting a set-user-ID mode, or the set-group-ID mode of a file.
    SetId,
    /// Creating a device node.
    DeviceNode,
    /// A Unix socket for datagrams.
    UnixDatagram,
    /// A raw socket, or one of a family other than Unix, IPv4, IPv6 and netlink routing.
    UnusualSocket,
    /// Using a keyring of the kernel.
    Keyring,
    /// Counters of performance (perf_event_open(2)).
    PerformanceCounters,
    /// Loading a module or a BPF program into the kernel.
    KernelCode,
    /// Reading the log of the kernel.
    KernelLog,
    /// Administration of the machine: its clock, name, swap space, quotas, restart.
    Administration,
}
