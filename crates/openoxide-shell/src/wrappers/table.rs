//! The wrappers, and the options that each of them has.
//!
//! A list of long names must be complete, because a beginning of a name stands for it.

use super::{ELSEWHERE, STARTS_SHELL, Unfold, Wrapper, find, own, shells};

const NEW: Wrapper = Wrapper::new("", &[]);

const SUDO: Wrapper = Wrapper {
    nothing: &["l", "list", "v", "validate", "V", "version", "K", "remove-timestamp", "help"],
    opaque: &[
        ("e", "edits files as another user"),
        ("edit", "edits files as another user"),
        ("h", "runs a command on another host"),
        ("host", "runs a command on another host"),
        ("D", ELSEWHERE),
        ("chdir", ELSEWHERE),
        ("R", ELSEWHERE),
        ("chroot", ELSEWHERE),
    ],
    moves: &["i", "login"],
    assignments: true,
    alone: Some(STARTS_SHELL),
    ..Wrapper::new(
        "AbBEeHikKlnNPsSvVa:c:C:D:g:h?p:r:R:t:T:U:u:",
        &["askpass auth-type: background bell close-from: login-class: chdir: preserve-env? edit \
            group: set-home help host: login remove-timestamp reset-timestamp list \
            non-interactive no-update preserve-groups prompt: chroot: role: stdin shell \
            command-timeout: type: other-user: user: version validate"],
    )
};

const STRACE: Wrapper = Wrapper {
    nothing: &["h", "help", "V", "version"],
    opaque: &[
        ("o", "sends its report to a file or a program"),
        ("output", "sends its report to a file or a program"),
        ("E", "changes the environment of what it runs"),
        ("env", "changes the environment of what it runs"),
    ],
    ..Wrapper::new(
        "AcCdDfFhiknqrtTvVwxyYzZa:b:e:E:I:o:O:p:P:s:S:u:U:X:",
        &["absolute-timestamps? abbrev: attach: argv0: columns: const-print-style: daemonize? \
            debug decode-fds? decode-pids? detach-on: env: failed-only fault: follow-forks help \
            inject: instruction-pointer interruptible: kvm: no-abbrev output: \
            output-append-mode output-separately quiet? raw: read: relative-timestamps? \
            seccomp-bpf secontext? signal: stack-traces? stack-trace? status: string-limit: \
            strings-in-hex? successful-only summary summary-columns: summary-only \
            summary-sort-by: summary-syscall-overhead: summary-wall-clock syscall-limit: \
            syscall-number syscall-times? tips? trace: trace-path: user: verbose: version write:"],
    )
};

const LTRACE: Wrapper = Wrapper {
    nothing: &["h", "help", "V", "version"],
    opaque: &[
        ("o", "sends its report to a file"),
        ("output", "sends its report to a file"),
        ("F", "reads its configuration from a file"),
        ("config", "reads its configuration from a file"),
    ],
    ..Wrapper::new(
        "bcCfhiLrStTVa:A:D:e:F:l:n:o:p:s:u:w:x:",
        &["align: config: debug: demangle indent: library: no-signals output: help version where:"],
    )
};

const UNSHARE: Wrapper = Wrapper {
    nothing: &["h", "help", "V", "version"],
    opaque: &[("R", ELSEWHERE), ("root", ELSEWHERE), ("w", ELSEWHERE), ("wd", ELSEWHERE)],
    alone: Some(STARTS_SHELL),
    ..Wrapper::new(
        "muinpUCTfrchVR:w:S:G:",
        &["mount? uts? ipc? net? pid? user? cgroup? time? fork map-user: map-group: map-users: \
            map-groups: map-root-user map-current-user map-auto map-subids kill-child? \
            mount-proc? mount-binfmt? load-interp: propagation: setgroups: keep-caps root: wd: \
            setuid: setgid: monotonic: boottime: forward-signals owner? help version"],
    )
};

const NSENTER: Wrapper = Wrapper {
    nothing: &["h", "help", "V", "version"],
    opaque: &[
        ("r", ELSEWHERE),
        ("root", ELSEWHERE),
        ("w", ELSEWHERE),
        ("wd", ELSEWHERE),
        ("W", ELSEWHERE),
        ("wdns", ELSEWHERE),
        ("e", "takes the environment of another process"),
        ("env", "takes the environment of another process"),
        ("m", ELSEWHERE),
        ("mount", ELSEWHERE),
        ("a", ELSEWHERE),
        ("all", ELSEWHERE),
    ],
    alone: Some(STARTS_SHELL),
    ..Wrapper::new(
        "aecFhVZt:m?u?i?n?p?C?U?T?S:G:r?w?W:N:",
        &["all target: mount? uts? ipc? net? net-socket: pid? cgroup? user? user-parent time? \
            setuid: setgid: preserve-credentials keep-caps root? wd? wdns: env no-fork \
            join-cgroup follow-context help version"],
    )
};

const TIMEOUT: Wrapper = Wrapper {
    before: 1,
    ..Wrapper::new(
        "k:s:vfp",
        &["preserve-status foreground kill-after: signal: verbose help version"],
    )
};

/// The wrappers, sorted by name.
pub(super) static WRAPPERS: &[(&str, Unfold)] = &[
    ("ash", Unfold::Special(shells::posix)),
    ("bash", Unfold::Special(shells::bash)),
    ("builtin", Unfold::Leading(NEW)),
    ("busybox", Unfold::Special(own::busybox)),
    ("choom", Unfold::Opaque("runs another program")),
    ("chroot", Unfold::Special(own::chroot)),
    ("chrt", Unfold::Special(own::chrt)),
    ("command", Unfold::Leading(Wrapper { nothing: &["v", "V"], ..Wrapper::new("pvV", &[]) })),
    ("csh", Unfold::Opaque("runs a script of another shell")),
    ("dash", Unfold::Special(shells::posix)),
    ("dbus-run-session", Unfold::Opaque("runs another program")),
    (
        "doas",
        Unfold::Leading(Wrapper {
            nothing: &["L"],
            opaque: &[("C", "checks another configuration"), ("s", STARTS_SHELL)],
            ..Wrapper::new("Lnsa:C:u:", &[])
        }),
    ),
    ("elvish", Unfold::Opaque("runs a script of another shell")),
    ("env", Unfold::Special(own::env)),
    ("exec", Unfold::Leading(Wrapper::new("cla:", &[]))),
    ("fakeroot", Unfold::Opaque("runs another program")),
    ("fd", Unfold::Special(own::fd)),
    ("fdfind", Unfold::Special(own::fd)),
    ("find", Unfold::Special(find::unfold)),
    ("fish", Unfold::Opaque("runs a script of another shell")),
    ("flock", Unfold::Special(own::flock)),
    ("gosu", Unfold::Leading(Wrapper { before: 1, ..NEW })),
    ("gpg-agent", Unfold::Opaque("runs another program")),
    ("gtimeout", Unfold::Leading(TIMEOUT)),
    ("i386", Unfold::Opaque("runs another program")),
    (
        "ionice",
        Unfold::Leading(Wrapper {
            nothing: &["p", "pid", "P", "pgid", "u", "uid", "h", "help", "V", "version"],
            ..Wrapper::new(
                "thVc:n:p:P:u:",
                &["class: classdata: pid: pgid: uid: ignore help version"],
            )
        }),
    ),
    ("ksh", Unfold::Special(shells::posix)),
    ("ld-linux-x86-64.so.2", Unfold::Opaque("runs another program")),
    ("ld.so", Unfold::Opaque("runs another program")),
    ("linux32", Unfold::Opaque("runs another program")),
    ("linux64", Unfold::Opaque("runs another program")),
    ("ltrace", Unfold::Leading(LTRACE)),
    ("mksh", Unfold::Special(shells::posix)),
    ("nice", Unfold::Leading(Wrapper::new("n:#", &["adjustment: help version"]))),
    ("nohup", Unfold::Leading(Wrapper::new("", &["help version"]))),
    ("nsenter", Unfold::Leading(NSENTER)),
    ("nu", Unfold::Opaque("runs a script of another shell")),
    ("parallel", Unfold::Opaque("runs commands that it makes up from its input")),
    ("perf", Unfold::Opaque("runs another program")),
    ("pkexec", Unfold::Special(own::pkexec)),
    ("powershell", Unfold::Opaque("runs a script of another shell")),
    ("prlimit", Unfold::Opaque("runs another program")),
    ("pwsh", Unfold::Opaque("runs a script of another shell")),
    ("rbash", Unfold::Special(shells::bash)),
    ("run-parts", Unfold::Opaque("runs another program")),
    ("runuser", Unfold::Special(own::runuser)),
    ("script", Unfold::Special(own::script)),
    ("setarch", Unfold::Opaque("runs another program")),
    ("setpriv", Unfold::Opaque("runs another program")),
    (
        "setsid",
        Unfold::Leading(Wrapper {
            nothing: &["h", "help", "V", "version"],
            ..Wrapper::new("cfwhV", &["ctty fork wait help version"])
        }),
    ),
    ("sg", Unfold::Opaque("runs another program")),
    ("sh", Unfold::Special(shells::bash)),
    ("ssh", Unfold::Opaque("runs a command on another host")),
    ("ssh-agent", Unfold::Opaque("runs another program")),
    ("stdbuf", Unfold::Leading(Wrapper::new("i:o:e:", &["input: output: error: help version"]))),
    ("strace", Unfold::Leading(STRACE)),
    ("su", Unfold::Special(own::su)),
    ("sudo", Unfold::Leading(SUDO)),
    (
        "taskset",
        Unfold::Leading(Wrapper {
            before: 1,
            nothing: &["p", "pid", "h", "help", "V", "version"],
            ..Wrapper::new("apchV", &["all-tasks pid cpu-list help version"])
        }),
    ),
    ("tcsh", Unfold::Opaque("runs a script of another shell")),
    (
        "time",
        Unfold::Leading(Wrapper::new(
            "af:o:pqv",
            &["append format: output: portability quiet verbose help version"],
        )),
    ),
    ("timeout", Unfold::Leading(TIMEOUT)),
    ("toybox", Unfold::Special(own::busybox)),
    ("unshare", Unfold::Leading(UNSHARE)),
    ("valgrind", Unfold::Opaque("runs another program")),
    ("watch", Unfold::Special(own::watch)),
    ("x86_64", Unfold::Opaque("runs another program")),
    ("xargs", Unfold::Special(own::xargs)),
    ("zsh", Unfold::Special(shells::zsh)),
];
