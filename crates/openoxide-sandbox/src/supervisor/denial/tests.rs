use super::*;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

/// Reads an output for a project at `/ws`. On the host, every path is accessible except
/// `/root-owned` and the targets of links.
fn read(text: &str) -> DetectedDenials {
    let profile = SandboxRestrictions {
        writable: [path("/ws"), path("/widened/file")].into(),
        protected: [path("/ws/.git")].into(),
        unreadable: [path("/home/me/.ssh")].into(),
        ..SandboxRestrictions::default()
    };
    let host = |path: &AbsPath, _: FileAccessMode| match path.as_str() {
        "/ws/link/new" => AbsPath::new("/outside/new").ok(),
        "/outside/back/a" => AbsPath::new("/ws/a").ok(),
        text if text.starts_with("/root-owned") => None,
        _ => Some(path.clone()),
    };
    detect_denials(
        text,
        &DenialChecker { profile: &profile, cwd: &path("/ws"), resolve_on_host: &host },
    )
}

fn writes(text: &str, paths: &[&str]) {
    let expected: Vec<_> =
        paths.iter().map(|text| SandboxDenial::Write { path: path(text) }).collect();
    assert_eq!(read(text).denials, expected, "{text}");
}

/// Messages of failed writes. Those of coreutils, bash, dash, git, tar, sed, Python, Node and cargo
/// are recorded in the sandbox, with other names. Those of Ruby, Go, Java and curl are taken from
/// their sources.
const WRITES: &[(&str, &str)] = &[
    ("touch: cannot touch '/outside/x': Read-only file system", "/outside/x"),
    ("mkdir: cannot create directory ‘/outside/x y’: Read-only file system", "/outside/x y"),
    ("cp: cannot create regular file \"/outside/it's\": Read-only file system", "/outside/it's"),
    ("bash: line 1: /outside/x: Read-only file system", "/outside/x"),
    ("/bin/bash: line 3: /outside/a b: Read-only file system", "/outside/a b"),
    ("sh: 1: cannot create /outside/x: Read-only file system", "/outside/x"),
    ("tar: /outside/x: Cannot open: Read-only file system", "/outside/x"),
    (
        "fatal: could not create leading directories of '/outside/x/.git': Read-only file system",
        "/outside/x/.git",
    ),
    ("error: could not lock config file .git/config: Read-only file system", "/ws/.git/config"),
    ("fatal: Unable to create '/ws/.git/index.lock': Read-only file system", "/ws/.git/index.lock"),
    ("OSError: [Errno 30] Read-only file system: '/outside/x'", "/outside/x"),
    ("Error: EROFS: read-only file system, open '/outside/x'", "/outside/x"),
    (
        "error: failed to create directory `/outside/target`\n\nCaused by:\n  Read-only file system (os error 30)\n",
        "/outside/target",
    ),
    ("sed: couldn't open temporary file /outside/sedAbC: Read-only file system", "/outside/sedAbC"),
    ("Warning: Failed to open the file /outside/x: Read-only file system", "/outside/x"),
    ("ln: failed to create hard link '/outside/b' => 'a': Invalid cross-device link", "/outside/b"),
    ("rm: cannot remove '.git': Device or resource busy", "/ws/.git"),
    (
        "\u{1b}[1m\u{1b}[31merror\u{1b}[0m: failed to write `/outside/x`: Read-only file system (os error 30)\r",
        "/outside/x",
    ),
    (
        "-e:1:in 'initialize': Read-only file system @ rb_sysopen - /outside/x (Errno::EROFS)",
        "/outside/x",
    ),
    ("open /outside/x: read-only file system", "/outside/x"),
    ("java.io.FileNotFoundException: /outside/x (Read-only file system)", "/outside/x"),
    ("fatal: could not create work tree dir '/outside/x': Read-only file system", "/outside/x"),
    (
        "error: Read-only file system (os error 30) at path \"/outside/targetW3WAlR\"",
        "/outside/targetW3WAlR",
    ),
    (
        "mv: inter-device move failed: '/ws/a' to '/outside/new'; unable to remove target: Read-only file system",
        "/outside/new",
    ),
    ("rm: cannot remove '/widened/file': Device or resource busy", "/widened"),
    ("touch: cannot touch 'link/new': Read-only file system", "/outside/new"),
];

#[test]
fn a_path_that_is_not_writable_confirms_a_printed_error() {
    for (text, denied) in WRITES {
        writes(text, &[denied]);
    }
}

#[test]
fn a_path_that_is_hidden_confirms_a_missing_permission() {
    for text in [
        "cat: /home/me/.ssh/id_rsa: Permission denied",
        "PermissionError: [Errno 13] Permission denied: '/home/me/.ssh/id_rsa'",
        "cat: ../home/me/.ssh/id_rsa: Permission denied",
    ] {
        let read = read(text);
        assert_eq!(
            read.denials,
            [SandboxDenial::Read { path: path("/home/me/.ssh/id_rsa") }],
            "{text}"
        );
    }
}

/// Each of these is a denial for a program that only looks at words (codex#4859, #18711).
/// Guards I32.
#[test]
fn words_alone_confirm_nothing() {
    for text in [
        "cat: /ws/data: Permission denied",
        "FAILED tests/sandbox/test_landlock.py::test_refused - AssertionError: 'Permission denied'",
        "make: /ws/run.sh: Permission denied",
        "cat: /etc/shadow: Permission denied",
        "ls: cannot open directory '/outside/dir': Permission denied",
        "touch: cannot touch '/ws/image/etc/x': Read-only file system",
        "touch: cannot touch '/outside/back/a': Read-only file system",
        "touch: cannot touch '/root-owned/x': Read-only file system",
        "touch: cannot touch '/tmp/mnt/x': Read-only file system",
        "bash: line 1: /proc/sys/kernel/hostname: Read-only file system",
        "Read-only file system",
        "umount: target is busy: device or resource busy",
        "tar: x: Cannot open: Read-only file system",
        "error: it is a Read-only file system",
        "touch: cannot touch '/outside/\u{7}x': Read-only file system",
    ] {
        assert_eq!(read(text), DetectedDenials { denials: vec![], has_suspected: true }, "{text}");
    }
    for text in [
        "",
        "/outside/sandbox/x: No such file or directory",
        "error: seccomp landlock sandbox /outside/x",
    ] {
        assert_eq!(read(text), DetectedDenials::default(), "{text}");
    }
}

#[test]
fn denials_are_deduplicated_and_limited() {
    writes(
        "a: /outside/x: Read-only file system\nb: /outside/x: Read-only file system\n",
        &["/outside/x"],
    );
    let flood: String =
        (0..100).map(|n| format!("x: /outside/{n}: Read-only file system\n")).collect();
    assert_eq!(read(&flood).denials.len(), MAX_DENIALS);
}

#[test]
fn paths_without_access_on_the_host_are_not_denials() {
    let there = tempfile::tempdir().unwrap();
    let base = path(there.path().canonicalize().unwrap().to_str().unwrap());
    assert_eq!(
        resolve_accessible(&base.join("new"), FileAccessMode::Write),
        Some(base.join("new"))
    );
    assert_eq!(resolve_accessible(&base.join("none/new"), FileAccessMode::Write), None);
    std::os::unix::fs::symlink("/proc", base.join("link").as_str()).unwrap();
    assert_eq!(
        resolve_accessible(&base.join("link/version"), FileAccessMode::Read),
        Some(path("/proc/version"))
    );
}
