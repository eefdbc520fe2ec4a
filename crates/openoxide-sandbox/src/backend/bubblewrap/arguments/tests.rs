use openoxide_protocol::HostPort;

use super::*;
use crate::{Guard, Guarded, Limits};

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

const CHANNELS: Channels = Channels { filter: 3, status: 4, begin: 5 };

fn launch(profile: Confined) -> Launch {
    Launch {
        scratch: Vec::new(),
        changeable: std::collections::BTreeSet::new(),
        staged: None,
        shown: std::collections::BTreeSet::new(),
        profile,
        argv: vec!["true".into(), "a b".into()],
        cwd: path("/p"),
        environment: vec![("A".into(), "b=c".into())],
        limits: Limits::default(),
        terminal: false,
        ask: false,
        live: false,
        registry: path("/r"),
    }
}

/// Returns the words that are special to a profile: those between what is always there.
fn special(profile: Confined, guarded: &Guarded) -> Result<String, NotCallable> {
    let mounted = guarded.without(&["/p/passed".into()]);
    let words = arguments(&launch(profile), &mounted, CHANNELS, kinds)?;
    let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    let from = words.iter().rposition(|word| word == "/proc/scsi").unwrap();
    let to = words.iter().position(|word| word == "--chdir").unwrap();
    Ok(words[from + 1..to].join(" "))
}

fn whole(profile: Confined) -> Vec<String> {
    let words = arguments(&launch(profile), &nothing(), CHANNELS, kinds).unwrap();
    words.iter().map(|word| word.to_str().unwrap().to_owned()).collect()
}

fn nothing() -> Mounted {
    Guarded::default().without(&[])
}

fn guarded(pins: &[&str], guards: &[&str]) -> Guarded {
    Guarded {
        pins: pins.iter().map(PathBuf::from).collect(),
        guards: guards.iter().map(|path| (path.into(), Guard::Present)).collect(),
        ..Guarded::default()
    }
}

fn kinds(path: &Path) -> Kind {
    match path.file_name().unwrap().to_str().unwrap() {
        "missing" => Kind::Missing,
        "file" => Kind::File,
        "link" => Kind::Link,
        _ => Kind::Directory,
    }
}

fn workspace(unreadable: &[&str]) -> Confined {
    let unreadable = unreadable.iter().map(|text| path(text)).collect();
    let (writable, temp) = ([path("/p")].into(), Temp::ReadOnly);
    Confined { writable, unreadable, temp, ..Confined::default() }
}

/// The whole of it once, as worked out from bwrap(1).
#[test]
fn a_read_only_profile_is_this_command() {
    let profile = Confined { temp: Temp::ReadOnly, ..Confined::default() };
    let words = whole(profile);
    let expected = "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net \
        --new-session --die-with-parent --cap-drop ALL --ro-bind / / --dev /dev --remount-ro /dev --proc /proc \
        --ro-bind-try /proc/sys /proc/sys --ro-bind-try /proc/sysrq-trigger /proc/sysrq-trigger --ro-bind-try /proc/irq /proc/irq \
        --ro-bind-try /proc/bus /proc/bus --ro-bind-try /proc/fs /proc/fs --ro-bind-try /proc/acpi /proc/acpi \
        --ro-bind-try /proc/scsi /proc/scsi --chdir /p --setenv A b=c --seccomp 3 --json-status-fd 4 --block-fd 5";
    assert_eq!(words, expected.split_whitespace().collect::<Vec<_>>());
}

/// (pins, guards, unreadable, what is done about it)
#[test]
fn what_is_protected_lies_on_top_of_what_is_writable() {
    type Row<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a str], &'a str);
    let rows: &[Row<'_>] = &[
        (&[], &[], &[], "--bind /p /p"),
        (&[], &["/p/.git"], &[], "--bind /p /p --ro-bind /p/.git /p/.git"),
        (&[], &["/p/.git", "/p/passed"], &[], "--bind /p /p --ro-bind /p/.git /p/.git"),
        (
            &["/p/a", "/p/a/b"],
            &["/p/a/b/file"],
            &[],
            "--bind /p /p --bind /p/a /p/a --bind /p/a/b /p/a/b --ro-bind /p/a/b/file /p/a/b/file",
        ),
        (&[], &[], &["/h/.ssh"], "--bind /p /p --perms 000 --tmpfs /h/.ssh --remount-ro /h/.ssh"),
        (&[], &[], &["/h/file"], "--bind /p /p --ro-bind /dev/null /h/file"),
        (&[], &[], &["/h/missing"], "--bind /p /p"),
        (
            &[],
            &["/p/a"],
            &["/p/a"],
            "--bind /p /p --ro-bind /p/a /p/a --perms 000 --tmpfs /p/a --remount-ro /p/a",
        ),
        (&[], &[], &["/p"], "--perms 000 --tmpfs /p --remount-ro /p"),
    ];
    for (pins, guards, unreadable, expected) in rows {
        let words = special(workspace(unreadable), &guarded(pins, guards)).unwrap();
        assert_eq!(words, *expected, "{pins:?} {guards:?} {unreadable:?}");
    }
}

#[test]
fn what_would_be_followed_or_is_not_there_is_refused() {
    for (pin, guard, unreadable) in [
        ("/p/link", "/p/x", "/x"),
        ("/p/x", "/p/link", "/x"),
        ("/p/x", "/p/missing", "/x"),
        ("/p/x", "/p/y", "/h/link"),
    ] {
        let refused = special(workspace(&[unreadable]), &guarded(&[pin], &[guard]));
        assert!(refused.is_err(), "{pin} {guard} {unreadable}");
    }
}

#[test]
fn named_hosts_are_no_reason_for_the_hosts_network() {
    let has_own = |network: Network| {
        let profile = Confined { network, ..Confined::default() };
        whole(profile).contains(&"--unshare-net".to_owned())
    };
    let host: HostPort = "x.io".parse().unwrap();
    assert!(has_own(Network::Off) && has_own(Network::Hosts([host].into())));
    assert!(!has_own(Network::On));
}

#[test]
fn private_directories_do_not_hide_where_it_runs() {
    let profile = Confined { temp: Temp::Private, ..Confined::default() };
    let launch = Launch { cwd: path("/tmp/x"), ..launch(profile) };
    let words = arguments(&launch, &nothing(), CHANNELS, kinds).unwrap();
    let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
    assert!(words.join(" ").contains(
        "--perms 1777 --tmpfs /tmp --perms 1777 --tmpfs /var/tmp --perms 1777 --tmpfs /dev/shm --ro-bind /tmp/x /tmp/x --chdir"
    ));
}
