//! The system calls that are refused, with the reasons.

/// The value of `seccomp_data` for the architecture of this machine (linux/audit.h).
#[cfg(target_arch = "x86_64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_00b7;

/// The newest call that was reviewed (6.17: file_setattr). It has the same number on both
/// architectures.
pub(super) const NEWEST_SYSCALL: i64 = 469;

/// Flags of clone(2) and unshare(2) that create namespaces.
pub(super) const NEW_NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP)
    .cast_unsigned()
    | 0x80; // CLONE_NEWTIME; for clone(2) these bits are the signal, where no signal has this one.

/// Calls that change the mode of a file, and the index of that argument.
pub(super) const MODE_CHANGES: &[(i64, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
];

/// Calls that create a file with a mode, and the index of that argument.
pub(super) const MODES_OF_NEW_FILES: &[(i64, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
    (libc::SYS_openat, 3),
];

/// Calls that open a file, and the index of the flags.
pub(super) const OPEN_CALLS: &[(i64, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];

/// The flags of open calls that create or change a file. `O_TMPFILE` requires one of them.
pub(super) const WRITE_FLAGS: u32 =
    (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC).cast_unsigned();

/// Other calls that change files and that the supervisor performs on behalf of the program.
pub(super) const NAME_CHANGING_CALLS: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_truncate,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_utimensat,
];

/// Requests of ioctl(2) that write into the input of a terminal or of the console, that prevent
/// others from opening the terminal, or that make the kernel load another line discipline for it.
pub(super) const TERMINAL_INPUT_REQUESTS: &[u32] = &[
    0x5412, // TIOCSTI
    0x541c, // TIOCLINUX
    0x541d, // TIOCCONS
    0x540c, // TIOCEXCL
    0x5423, // TIOCSETD
];

/// Calls that change the settings of a process, which is their first argument.
pub(super) const PROCESS_SETTING_CALLS: &[i64] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// Calls that change the priority of the process or group that is their second argument, with the
/// first argument that selects it: `PRIO_PROCESS`, `PRIO_PGRP` (sys/resource.h),
/// `IOPRIO_WHO_PROCESS`, `IOPRIO_WHO_PGRP` (linux/ioprio.h).
pub(super) const PRIORITY_CALLS: &[(i64, u32)] = &[
    (libc::SYS_setpriority, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_ioprio_set, 2),
];

/// The same calls for all processes of a user: `PRIO_USER`, `IOPRIO_WHO_USER`.
pub(super) const USER_PRIORITY_CALLS: &[(i64, u32)] =
    &[(libc::SYS_setpriority, 2), (libc::SYS_ioprio_set, 3)];

/// Commands of fcntl(2) that are refused.
pub(super) const REFUSED_FCNTL_COMMANDS: &[u32] = &[
    1024, // F_SETLEASE
    1026, // F_NOTIFY
];

/// Calls that fail as not implemented, so that libraries work without them. Some have their
/// arguments in memory, where a filter cannot read them. io_uring performs operations that no
/// filter sees. The kernel limits the contexts of io_setup(2) for the whole machine
/// (`fs.aio-max-nr`), so one program could use up those of all users. Without it, InnoDB of MySQL
/// and MariaDB uses threads ("Linux Native AIO disabled"), nginx reads files without `aio`, and
/// QEMU uses a thread pool unless `aio=native` is requested.
pub(super) const UNIMPLEMENTED_CALLS: &[i64] = &[
    libc::SYS_io_setup,
    libc::SYS_openat2,
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Calls that trace other processes, or read their memory and descriptors. Debuggers and leak
/// detectors need them.
pub(super) const TRACING_CALLS: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
];

/// Calls that no confined program needs. The report of a run names what they do.
pub(super) const EXPLAINED_CALLS: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    467, // open_tree_attr
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    // The keys of a session are not separated by a namespace.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_perf_event_open,
    libc::SYS_bpf,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_syslog,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Calls that no confined program needs, and that some programs try without a need.
pub(super) const REFUSED_CALLS: &[i64] = &[
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // The placement of other processes' memory.
    libc::SYS_process_madvise,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // The kernel itself. Programs read the state of the clock with the call that also changes it.
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    // I/O ports and segments of the processor.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
];
