use openoxide_protocol::HostPort;

use super::*;
use crate::{
    interface::ResourceLimits,
    protected_paths::{GuardKind, ProtectedPaths},
};

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

const CHANNELS: BwrapDescriptors = BwrapDescriptors { filter: 3, status: 4, start_gate: 5 };

fn launch(profile: SandboxRestrictions) -> LaunchConfig {
    LaunchConfig {
        private_directories: Vec::new(),
        private_base: None,
        layer_directory: None,
        changeable_paths: std::collections::BTreeSet::new(),
        staging_directory: None,
        visible_paths: std::collections::BTreeSet::new(),
        saved_files: std::collections::BTreeSet::new(),
        profile,
        argv: vec!["true".into(), "a b".into()],
        cwd: path("/p"),
        environment: vec![("A".into(), "b=c".into())],
        limits: ResourceLimits::default(),
        terminal: false,
        has_reviewer: false,
        granted_sockets: Default::default(),
        ssh_agent: None,
        readable_copies: Default::default(),
        reviews_file_changes: false,
        private_hosts: std::collections::BTreeSet::new(),
        published_ports: std::collections::BTreeSet::new(),
        published_on_listen: std::collections::BTreeSet::new(),
        registry: path("/r"),
    }
}

/// Returns the options that depend on the profile: those between the fixed ones.
fn special(
    profile: SandboxRestrictions,
    guarded: &ProtectedPaths,
) -> Result<String, UnmountablePath> {
    let mounted = guarded.mount_plan_without(&["/p/passed".into()]);
    let words = build_arguments(&launch(profile), &mounted, CHANNELS, kinds)?;
    let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    let from = words.iter().rposition(|word| word == "/proc/scsi").unwrap();
    let to = words.iter().position(|word| word == "--chdir").unwrap();
    Ok(words[from + 1..to].join(" "))
}

fn whole(profile: SandboxRestrictions) -> Vec<String> {
    let words = build_arguments(&launch(profile), &nothing(), CHANNELS, kinds).unwrap();
    words.iter().map(|word| word.to_str().unwrap().to_owned()).collect()
}

fn nothing() -> MountPlan {
    ProtectedPaths::default().mount_plan_without(&[])
}

fn guarded(pins: &[&str], guards: &[&str]) -> ProtectedPaths {
    ProtectedPaths {
        pins: pins.iter().map(PathBuf::from).collect(),
        guards: guards.iter().map(|path| (path.into(), GuardKind::Present)).collect(),
        ..ProtectedPaths::default()
    }
}

fn kinds(path: &Path) -> HostEntryKind {
    match path.file_name().unwrap().to_str().unwrap() {
        "missing" => HostEntryKind::Missing,
        "file" => HostEntryKind::File,
        "link" => HostEntryKind::Link,
        _ => HostEntryKind::Directory,
    }
}

fn workspace(unreadable: &[&str]) -> SandboxRestrictions {
    let unreadable = unreadable.iter().map(|text| path(text)).collect();
    let (writable, temp) = ([path("/p")].into(), TempDirectories::ReadOnly);
    SandboxRestrictions { writable, unreadable, temp, ..SandboxRestrictions::default() }
}

/// The complete list of options once, written by hand from bwrap(1).
#[test]
fn a_read_only_profile_is_this_command() {
    let profile =
        SandboxRestrictions { temp: TempDirectories::ReadOnly, ..SandboxRestrictions::default() };
    let words = whole(profile);
    let expected = "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net \
        --new-session --die-with-parent --cap-drop ALL --ro-bind / / --dev /dev --remount-ro /dev --proc /proc \
        --ro-bind-try /proc/sys /proc/sys --ro-bind-try /proc/sysrq-trigger /proc/sysrq-trigger --ro-bind-try /proc/irq /proc/irq \
        --ro-bind-try /proc/bus /proc/bus --ro-bind-try /proc/fs /proc/fs --ro-bind-try /proc/acpi /proc/acpi \
        --ro-bind-try /proc/scsi /proc/scsi --chdir /p --setenv A b=c --seccomp 3 --json-status-fd 4 --block-fd 5";
    assert_eq!(words, expected.split_whitespace().collect::<Vec<_>>());
}

/// (pins, guards, unreadable, resulting options)
#[test]
fn protected_paths_are_mounted_over_writable_ones() {
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
fn links_and_missing_paths_are_refused() {
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
fn named_hosts_do_not_give_access_to_the_host_network() {
    let has_own = |network: NetworkAccess| {
        let profile = SandboxRestrictions { network, ..SandboxRestrictions::default() };
        whole(profile).contains(&"--unshare-net".to_owned())
    };
    let host: HostPort = "x.io".parse().unwrap();
    assert!(has_own(NetworkAccess::Off) && has_own(NetworkAccess::Hosts([host].into())));
    assert!(!has_own(NetworkAccess::On));
}

#[test]
fn private_directories_do_not_hide_where_it_runs() {
    let profile =
        SandboxRestrictions { temp: TempDirectories::Private, ..SandboxRestrictions::default() };
    let launch = LaunchConfig { cwd: path("/tmp/x"), ..launch(profile) };
    let words = build_arguments(&launch, &nothing(), CHANNELS, kinds).unwrap();
    let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
    assert!(words.join(" ").contains(
        "--perms 1777 --tmpfs /tmp --perms 1777 --tmpfs /var/tmp --perms 1777 --tmpfs /dev/shm --ro-bind /tmp/x /tmp/x --chdir"
    ));
}
