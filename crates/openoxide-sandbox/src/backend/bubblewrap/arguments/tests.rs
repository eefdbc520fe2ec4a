use openoxide_protocol::HostPort;

use super::*;
use crate::Limits;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

const CHANNELS: Channels = Channels { filter: 3, status: 4 };

fn launch(profile: Confined) -> Launch {
    Launch {
        profile,
        argv: vec!["true".into(), "a b".into()],
        cwd: path("/p"),
        environment: Vec::new(),
        limits: Limits::default(),
        terminal: false,
        ask: false,
        registry: path("/r"),
    }
}

/// Returns the words that are special to a profile: those between what is always there.
fn special(profile: Confined, kind: impl Fn(&AbsPath) -> Kind) -> Vec<String> {
    let words = arguments(&launch(profile), CHANNELS, kind).unwrap();
    let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    let from = words.iter().rposition(|word| word == "/proc/scsi").unwrap();
    let to = words.iter().position(|word| word == "--chdir").unwrap();
    words[from + 1..to].to_vec()
}

fn kinds(path: &AbsPath) -> Kind {
    match path.name().unwrap_or_default() {
        "missing" | ".codex" => Kind::Missing,
        "file" | ".mcp.json" => Kind::File,
        "link" => Kind::Link,
        _ => Kind::Directory,
    }
}

fn workspace(protected: &[&str], unreadable: &[&str]) -> Confined {
    let set = |texts: &[&str]| texts.iter().map(|text| path(text)).collect();
    let (writable, temp) = ([path("/p")].into(), Temp::ReadOnly);
    let (protected, unreadable) = (set(protected), set(unreadable));
    Confined { writable, protected, unreadable, network: Network::Off, temp }
}

/// The whole of it once, as worked out from bwrap(1).
#[test]
fn a_read_only_profile_is_this_command() {
    let profile = Confined { temp: Temp::ReadOnly, ..Confined::default() };
    let words = arguments(&launch(profile), CHANNELS, kinds).unwrap();
    let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
    let expected = "/usr/bin/bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net \
        --new-session --die-with-parent --cap-drop ALL --ro-bind / / --dev /dev --remount-ro /dev --proc /proc \
        --ro-bind-try /proc/sys /proc/sys --ro-bind-try /proc/sysrq-trigger /proc/sysrq-trigger --ro-bind-try /proc/irq /proc/irq \
        --ro-bind-try /proc/bus /proc/bus --ro-bind-try /proc/fs /proc/fs --ro-bind-try /proc/acpi /proc/acpi \
        --ro-bind-try /proc/scsi /proc/scsi --chdir /p --seccomp 3 --json-status-fd 4 -- true";
    let (last, before) = words.split_last().unwrap();
    assert_eq!(before, expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!(*last, "a b");
}

/// (protected, unreadable, what is done about it)
#[test]
fn what_is_protected_lies_on_top_of_what_is_writable() {
    let rows: &[(&[&str], &[&str], &str)] = &[
        (&[], &[], "--bind /p /p"),
        (&["/p/.git"], &[], "--bind /p /p --ro-bind /p/.git /p/.git"),
        (&["/p/.codex"], &[], "--bind /p /p --perms 555 --tmpfs /p/.codex --remount-ro /p/.codex"),
        (
            &["/p/a/b/.git"],
            &[],
            "--bind /p /p --bind /p/a /p/a --bind /p/a/b /p/a/b --ro-bind /p/a/b/.git /p/a/b/.git",
        ),
        (
            &["/p/a/missing/.git"],
            &[],
            "--bind /p /p --bind /p/a /p/a --perms 555 --tmpfs /p/a/missing --remount-ro /p/a/missing",
        ),
        (&["/p/file/x"], &[], "--bind /p /p"),
        (&["/elsewhere/.git"], &[], "--bind /p /p"),
        (&["/p/.git", "/p/.git/a/b"], &[], "--bind /p /p --ro-bind /p/.git /p/.git"),
        (&["/p"], &[], ""),
        (
            &["/p/a", "/p/a-b", "/p/a/b"],
            &[],
            "--bind /p /p --ro-bind /p/a /p/a --ro-bind /p/a-b /p/a-b",
        ),
        (&[], &["/h/.ssh"], "--bind /p /p --perms 000 --tmpfs /h/.ssh --remount-ro /h/.ssh"),
        (&[], &["/h/file"], "--bind /p /p --ro-bind /dev/null /h/file"),
        (&[], &["/h/missing"], "--bind /p /p"),
        (
            &[],
            &["/p/missing"],
            "--bind /p /p --perms 555 --tmpfs /p/missing --remount-ro /p/missing",
        ),
        (
            &[],
            &["/p/a"],
            "--bind /p /p --ro-bind /p/a /p/a --perms 000 --tmpfs /p/a --remount-ro /p/a",
        ),
        (&[], &["/p"], "--perms 000 --tmpfs /p --remount-ro /p"),
    ];
    for (protected, unreadable, expected) in rows {
        let words = special(workspace(protected, unreadable), kinds);
        assert_eq!(words.join(" "), *expected, "{protected:?} {unreadable:?}");
    }
}

#[test]
fn a_link_in_the_place_of_a_path_is_refused() {
    for (protected, unreadable) in
        [("/p/link", "/x"), ("/p/link/.git", "/x"), ("/x", "/h/link"), ("/x", "/p/link")]
    {
        let profile = workspace(&[protected], &[unreadable]);
        assert!(arguments(&launch(profile), CHANNELS, kinds).is_err(), "{protected} {unreadable}");
    }
}

#[test]
fn named_hosts_are_no_reason_for_the_hosts_network() {
    let has_own = |network: Network| {
        let profile = Confined { network, ..Confined::default() };
        arguments(&launch(profile), CHANNELS, kinds).unwrap().contains(&"--unshare-net".into())
    };
    let host: HostPort = "x.io".parse().unwrap();
    assert!(has_own(Network::Off) && has_own(Network::Hosts([host].into())));
    assert!(!has_own(Network::On));
}

#[test]
fn private_directories_do_not_hide_where_it_runs() {
    let profile = Confined { temp: Temp::Private, ..Confined::default() };
    let launch = Launch { cwd: path("/tmp/x"), ..launch(profile) };
    let words = arguments(&launch, CHANNELS, kinds).unwrap();
    let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
    assert!(words.join(" ").contains(
        "--perms 1777 --tmpfs /tmp --perms 1777 --tmpfs /var/tmp --perms 1777 --tmpfs /dev/shm --ro-bind /tmp/x /tmp/x --chdir"
    ));
}
