//! Which system calls a confined process may make (seccomp(2), bpf(2)).
//!
//! The filter is a list of refusals over "allowed": what reaches kernel interfaces that no everyday program needs, what
//! would make new namespaces, and what would get around the other layers. Numbers that are newer than this list are
//! refused as if the kernel did not have them.

mod assemble;
mod calls;

use assemble::{Argument, Assembler, Verdict};
pub(crate) use assemble::{Filter, Instruction};

/// What a filter depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// connect(2) is handed to the supervisor. Without it, no socket of the unix family can be made at all but a pair.
    pub(crate) listen: bool,
    /// So are calls that change what names there are, and those that open files to write.
    pub(crate) live: bool,
}

/// Returns the filter.
pub(crate) fn filter(wanted: Wanted) -> Filter {
    let mut to = Assembler::new();
    to.newer_than(calls::NEWEST);
    for call in calls::MISSING {
        to.call(*call, Verdict::Missing);
    }
    for call in calls::REFUSED {
        to.call(*call, Verdict::Refused);
    }
    namespaces(&mut to);
    identities(&mut to);
    devices(&mut to);
    terminals(&mut to);
    files(&mut to);
    sockets(&mut to, wanted);
    if wanted.listen {
        to.call(libc::SYS_connect, Verdict::Ask);
        // It goes on; the port is noted.
        to.call(libc::SYS_listen, Verdict::Ask);
    }
    if wanted.live {
        changes(&mut to);
    }
    to.finish()
}

/// A namespace of its own would give the process every capability in it, and with that most of the kernel.
fn namespaces(to: &mut Assembler) {
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        to.if_any_bit(call, Argument(0), calls::NEW_NAMESPACES, Verdict::Refused);
    }
}

/// A file that runs as its owner runs so on the host, where no mount forbids it: left by root, it makes anybody root.
fn identities(to: &mut Assembler) {
    let others = libc::S_ISUID | libc::S_ISGID;
    for (call, at) in calls::MODES {
        to.if_any_bit(*call, Argument(*at), others, Verdict::Refused);
    }
}

/// Device nodes. Pipes, sockets and plain files can be made.
fn devices(to: &mut Assembler) {
    for kind in [libc::S_IFCHR, libc::S_IFBLK] {
        #[cfg(target_arch = "x86_64")]
        to.if_masked(libc::SYS_mknod, Argument(1), libc::S_IFMT, kind, Verdict::Refused);
        to.if_masked(libc::SYS_mknodat, Argument(2), libc::S_IFMT, kind, Verdict::Refused);
    }
}

/// What is written into a terminal's input is read by whoever reads there next: the person's shell (CVE-2017-5226). The
/// kernel looks at the lower half of the request alone, and so does the filter (CVE-2019-10063).
fn terminals(to: &mut Assembler) {
    for request in calls::TERMINAL_INPUT {
        to.if_equal(libc::SYS_ioctl, Argument(1), *request, Verdict::Refused);
    }
}

/// Leases and notices on files: a lease on a file that the program only reads holds up each process of the host that writes it.
fn files(to: &mut Assembler) {
    for command in calls::FILE_COMMANDS {
        to.if_equal(libc::SYS_fcntl, Argument(1), *command, Verdict::Refused);
    }
}

/// Families and kinds of sockets. What datagrams of the unix family are sent to cannot be seen by a filter.
fn sockets(to: &mut Assembler, wanted: Wanted) {
    const KIND: u32 = 0xf; // SOCK_TYPE_MASK: the rest are flags.
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    to.unless_one_of(
        libc::SYS_socket,
        Argument(0),
        &families.map(i32::cast_unsigned),
        Verdict::Refused,
    );
    to.unless_one_of(
        libc::SYS_socketpair,
        Argument(0),
        &[libc::AF_UNIX.cast_unsigned()],
        Verdict::Refused,
    );
    let [unix, inet, inet6, netlink] = families.map(|family| (Argument(0), family.cast_unsigned()));
    let is = |kind: i32| (Argument(1), KIND, kind.cast_unsigned());
    if !wanted.listen {
        to.if_equal(libc::SYS_socket, unix.0, unix.1, Verdict::Refused);
    }
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        to.if_both(call, unix, is(libc::SOCK_DGRAM), Verdict::Refused);
        to.if_both(call, unix, is(libc::SOCK_RAW), Verdict::Refused);
    }
    for family in [inet, inet6] {
        to.if_both(libc::SYS_socket, family, is(libc::SOCK_RAW), Verdict::Refused);
    }
    // Of netlink, the routing family tells programs their addresses. The others are wide doors into the kernel.
    to.if_both_unless(libc::SYS_socket, netlink, (Argument(2), 0), Verdict::Refused);
}

/// Reading goes its own way: the flags of a call that opens a file stand in a register.
fn changes(to: &mut Assembler) {
    for (call, at) in calls::OPENING {
        to.if_any_bit(*call, Argument(*at), calls::WRITING, Verdict::Ask);
    }
    for call in calls::CHANGING {
        to.call(*call, Verdict::Ask);
    }
}

#[cfg(test)]
mod tests;
