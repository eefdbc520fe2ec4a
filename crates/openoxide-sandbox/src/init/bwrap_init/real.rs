//! One real run under the system's `bwrap`, whose results are checked from outside.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use openoxide_protocol::{AbsPath, NetworkAccess, SandboxRestrictions, TempDirectories};

use crate::{
    backend::HostFeatures,
    init::bwrap_init::bwrap_arguments::{
        BwrapDescriptors, HostEntryKind, build_arguments, build_seccomp_filter,
    },
    interface::{LaunchConfig, ResourceLimits},
    protected_paths::{PlaceholderRegistry, ProtectedPaths},
};

fn path(path: &Path) -> AbsPath {
    AbsPath::new(path.to_str().unwrap()).unwrap()
}

/// Each successful attempt creates a file in the workspace. core_pattern is overwritten only with
/// its own value.
const SCRIPT: &str = r#"
try() { name=$1; shift; if "$@" 2>/dev/null; then : > "worked-$name"; fi; }
put() { echo x > "$1"; }
try inside put new
try outside put ../outside
try git put .git/config
try missing mkdir .codex
try nested sh -c 'echo x > deep/repo/.git/hooks/post-checkout'
try swap mv .git gone
try parent mv deep away
try keep put deep/er/keep/x
try secret cat ../secret/key
try link ln -s ../secret .agents
try pattern sh -c 'read x < /proc/sys/kernel/core_pattern && echo "$x" > /proc/sys/kernel/core_pattern'
try remount mount -o remount,rw /
try namespace unshare -Ur true
try unix python3 -c 'import socket; socket.socket(socket.AF_UNIX)'
try pair python3 -c 'import socket; socket.socketpair()'
try loopback python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname())'
try host sh -c 'test "$(ls /proc | grep -c "^[0-9]")" -gt 9'
try temporary put /tmp/x
exit 7
"#;

fn profile(world: &Path) -> SandboxRestrictions {
    let all =
        |names: &[&str]| names.iter().map(|name| path(&world.join(name))).collect::<BTreeSet<_>>();
    SandboxRestrictions {
        writable: all(&["w"]),
        protected: all(&["w/.git", "w/.codex", "w/.agents", "w/deep/er/keep"]),
        unreadable: all(&["secret"]),
        network: NetworkAccess::Off,
        temp: TempDirectories::Private,
    }
}

fn world() -> tempfile::TempDir {
    // A directory below /tmp would be hidden, and the test would prove nothing.
    let place = std::env::current_exe().unwrap();
    let world = tempfile::tempdir_in(place.parent().unwrap()).unwrap();
    for directory in [
        "w/.git",
        "w/deep/er/keep",
        "secret",
        "w/deep/repo/.git/hooks",
        "w/deep/repo/.git/objects",
        "w/deep/repo/.git/refs",
    ] {
        fs::create_dir_all(world.path().join(directory)).unwrap();
    }
    fs::write(world.path().join("w/.git/config"), "before").unwrap();
    fs::write(world.path().join("w/deep/repo/.git/HEAD"), "ref: refs/heads/main").unwrap();
    fs::write(world.path().join("secret/key"), "key").unwrap();
    fs::write(world.path().join("filter"), build_seccomp_filter()).unwrap();
    world
}

/// Runs the script, and returns its exit status and the successful attempts.
fn run(world: &Path) -> (Option<i32>, Vec<String>) {
    let launch = LaunchConfig {
        changeable_paths: std::collections::BTreeSet::new(),
        profile: profile(world),
        private_directories: Vec::new(),
        private_base: None,
        layer_directory: None,
        staging_directory: None,
        visible_paths: BTreeSet::new(),
        saved_files: BTreeSet::new(),
        argv: ["/bin/sh", "-c", SCRIPT].map(Into::into).into(),
        cwd: path(&world.join("w")),
        environment: Vec::new(),
        limits: ResourceLimits::default(),
        terminal: false,
        has_reviewer: false,
        granted_sockets: BTreeSet::new(),
        ssh_agent: None,
        readable_copies: BTreeSet::new(),
        reviews_file_changes: false,
        private_hosts: BTreeSet::new(),
        published_ports: BTreeSet::new(),
        published_on_listen: BTreeSet::new(),
        registry: path(world),
    };
    let guarded = ProtectedPaths::find(&launch.profile).unwrap();
    let registry = PlaceholderRegistry::open(&world.join("registry")).unwrap();
    let placeholders = registry.create_placeholders(&guarded).unwrap();
    let guards = guarded.mount_plan_without(placeholders.skipped_paths());
    let channels = BwrapDescriptors { filter: 3, status: 4, start_gate: 5 };
    let words = build_arguments(&launch, &guards, channels, HostEntryKind::from_path).unwrap();
    let mut command = Command::new("/bin/sh");
    let call = r#"exec /usr/bin/bwrap "$@" 3<../filter 4>../status 5</dev/zero"#;
    command.args(["-c", call, "sh"]).args(words).arg("--").args(&launch.argv);
    command.env_clear().env("PATH", "/usr/bin:/bin").current_dir(world.join("w"));
    let status = command.status().unwrap();
    placeholders.release().unwrap();
    let names = fs::read_dir(world.join("w")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut worked: Vec<_> =
        names.filter_map(|name| name.strip_prefix("worked-").map(str::to_owned)).collect();
    worked.sort_unstable();
    (status.code(), worked)
}

#[test]
fn bwrap_enforces_its_plan() {
    HostFeatures::probe()
        .bubblewrap
        .expect("the package `bubblewrap` is there, as `cargo xtask test` sees to");
    let world = world();
    let world = world.path().canonicalize().unwrap();
    let (code, worked) = run(&world);
    assert_eq!(worked, ["inside", "loopback", "pair", "temporary"]);
    assert_eq!(code, Some(7));
    assert!(fs::read_to_string(world.join("status")).unwrap().contains("\"exit-code\": 7"));
    assert_eq!(fs::read_to_string(world.join("w/.git/config")).unwrap(), "before");
    assert!(!world.join("outside").exists() && world.join("w/new").exists());
    assert!(world.join("w/deep/er/keep").is_dir());
    let left = |name: &str| fs::symlink_metadata(world.join("w").join(name)).is_ok();
    assert!(!left(".codex") && !left(".agents"), "placeholders are gone");
}
