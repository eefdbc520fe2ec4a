//! The creation of processes, and the reception of signals.

use std::{
    io,
    mem::MaybeUninit,
    os::{
        fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd},
        unix::process::CommandExt as _,
    },
    process::Command,
};

use rustix::{
    fs::Mode,
    process::{Pid, Signal, kill_current_process_group, umask},
};

/// The new namespaces of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NamespaceFlags(u64);

impl NamespaceFlags {
    /// No new namespaces: an ordinary fork.
    pub(crate) const NONE: Self = Self(0);

    /// Returns the user, mount, PID, IPC and UTS namespaces, and the network namespace if `network`
    /// is true. The control groups of the host are visible in any case. In a namespace of their own,
    /// their paths in `/proc/self/cgroup` would not be those in `/sys/fs/cgroup`, and programs that
    /// search their limits there would fail or find none (JVM).
    pub(crate) const fn all(network: bool) -> Self {
        let flags = libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | if network { libc::CLONE_NEWNET } else { 0 };
        Self(flags.cast_unsigned() as u64)
    }
}

/// Creates a child process as fork(2) does, in new namespaces. Returns its process ID, or `None` in
/// the child itself.
///
/// The caller must have only one thread. The child of a process with more threads could find locks
/// that are held by threads which it does not have.
pub(crate) fn fork_into_namespaces(namespaces: NamespaceFlags) -> io::Result<Option<Pid>> {
    if namespaces.0 == 0 {
        // Some containers have no clone3(2), but `bwrap` still works in them.
        // SAFETY: there is only one thread, so all data of the child is consistent.
        return check_fork_result(unsafe { libc::fork() }.into());
    }
    // SAFETY: all fields of `clone_args` are numbers, for which zero means "none".
    let mut arguments: libc::clone_args = unsafe { MaybeUninit::zeroed().assume_init() };
    arguments.flags = namespaces.0;
    arguments.exit_signal = libc::SIGCHLD.cast_unsigned().into();
    // SAFETY: without CLONE_VM the child has separate memory, as after fork(2). `arguments` has the
    // given size and outlives the call.
    let result = unsafe {
        libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<libc::clone_args>())
    };
    check_fork_result(result)
}

/// Converts the result of a system call that creates a process.
fn check_fork_result(result: libc::c_long) -> io::Result<Option<Pid>> {
    match i32::try_from(result) {
        Ok(0) => Ok(None),
        Ok(pid) if pid > 0 => Ok(Pid::from_raw(pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes a program inherit these descriptors, with the same numbers. They stay closed for other
/// programs, which another thread may start at the same time.
pub(crate) fn inherit_descriptors(command: &mut Command, numbers: Vec<RawFd>) {
    let open_all = move || numbers.iter().try_for_each(|number| keep_open_on_exec(*number));
    // SAFETY: the function makes only system calls that are safe after fork(2): it allocates
    // nothing and takes no lock.
    unsafe { command.pre_exec(open_all) };
}

fn keep_open_on_exec(number: RawFd) -> io::Result<()> {
    // SAFETY: the call takes only numbers. It fails if the descriptor is not open.
    if unsafe { libc::fcntl(number, libc::F_SETFD, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Makes every descriptor from `first` on close at the next exec.
pub(crate) fn set_close_on_exec(first: u32) -> io::Result<()> {
    // SAFETY: the call takes only numbers. Descriptors stay open until exec, so no descriptor that
    // is in use is closed.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Blocks these signals and returns a descriptor from which they are read instead (signalfd(2)).
pub(crate) fn create_signalfd(signals: &[Signal]) -> io::Result<OwnedFd> {
    // SAFETY: a set of signals is plain memory, which `sigemptyset` initializes.
    let mut set: libc::sigset_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: `set` is a complete set of signals.
    unsafe { libc::sigemptyset(&raw mut set) };
    for signal in signals {
        // SAFETY: as above.
        unsafe { libc::sigaddset(&raw mut set, signal.as_raw()) };
    }
    // SAFETY: `set` is initialized, and the old set is not requested.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    // SAFETY: as above; -1 creates a new descriptor.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Blocks a signal for this thread.
pub(crate) fn block_signal(signal: Signal) {
    change_mask(libc::SIG_BLOCK, signal);
}

/// Stops the process group of this process with `SIGTSTP`, and returns when it is continued. The
/// signal must be blocked in all threads. If no shell could continue the group (an orphaned process
/// group), the kernel does not stop it.
///
/// # Errors
/// Returns an error if the signal cannot be sent.
pub(crate) fn stop_process_group() -> io::Result<()> {
    kill_current_process_group(Signal::TSTP)?;
    // The pending signal is delivered before the call returns.
    change_mask(libc::SIG_UNBLOCK, Signal::TSTP);
    change_mask(libc::SIG_BLOCK, Signal::TSTP);
    Ok(())
}

/// Adds a signal to the mask of this thread, or removes it.
fn change_mask(how: libc::c_int, signal: Signal) {
    // SAFETY: a set of signals is plain memory, which `sigemptyset` initializes.
    let mut set: libc::sigset_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: `set` is a complete set of signals.
    unsafe { libc::sigemptyset(&raw mut set) };
    // SAFETY: as above.
    unsafe { libc::sigaddset(&raw mut set, signal.as_raw()) };
    // SAFETY: `set` is initialized, and the old set is not requested.
    unsafe { libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut()) };
}

/// Unblocks all signals, because the program would inherit the mask.
pub(crate) fn unblock_signals() {
    // SAFETY: a set of signals is plain memory, which `sigemptyset` initializes.
    let mut set: libc::sigset_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: `set` is a complete set of signals.
    unsafe { libc::sigemptyset(&raw mut set) };
    // SAFETY: as above; the old set is not requested. The call cannot fail, because the first
    // argument is valid.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()) };
}

/// Returns the next pending signal of a signalfd.
pub(crate) fn read_signal(from: BorrowedFd<'_>) -> Option<Signal> {
    // SAFETY: the structure consists of plain numbers.
    let mut info: libc::signalfd_siginfo = unsafe { MaybeUninit::zeroed().assume_init() };
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: `info` has `size` bytes and outlives the call.
    let read = unsafe { libc::read(from.as_raw_fd(), (&raw mut info).cast(), size) };
    (usize::try_from(read) == Ok(size))
        .then(|| i32::try_from(info.ssi_signo).ok().and_then(Signal::from_named_raw))
        .flatten()
}

/// Ends the tracing of a stopped process, and delivers this signal to it (ptrace(2)).
///
/// # Errors
/// `ESRCH` if the process is not stopped, or not traced by this process.
pub(crate) fn detach_tracee(process: Pid, signal: i32) -> io::Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    let signal = libc::c_long::from(signal);
    // SAFETY: the request takes only numbers, and changes no memory of this process.
    let result =
        unsafe { libc::ptrace(libc::PTRACE_DETACH, process.as_raw_nonzero().get(), none, signal) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Exits this process immediately, without running exit handlers. A forked process must not run
/// them a second time.
pub(crate) fn exit_process(status: i32) -> ! {
    // SAFETY: nothing of this process is used afterwards.
    unsafe { libc::_exit(status) }
}

/// Takes ownership of a descriptor that this process was started with, by its number. The
/// descriptor is closed on exec.
///
/// # Errors
/// Returns an error if there is no such descriptor, or if it is one of the three standard streams.
pub(crate) fn adopt_descriptor(number: i32) -> io::Result<OwnedFd> {
    if number <= libc::STDERR_FILENO {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the call takes only numbers. It fails if the descriptor is not open.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, and the parent process left it open only for this use.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Gives this thread a separate umask, which is no longer shared with the whole process (umask(2)).
pub(crate) fn set_thread_umask(mask: Mode) -> io::Result<()> {
    // SAFETY: the call takes only a number. The working directory and the root also become separate
    // for this thread. Descriptors stay shared.
    if unsafe { libc::unshare(libc::CLONE_FS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    umask(mask);
    Ok(())
}
