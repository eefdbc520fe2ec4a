use std::os::unix::fs::symlink;

use super::*;
use crate::{LoadedPolicy, TrustStore, load_policy, load_policy_uncached};

/// A home directory with a project in it.
struct Disk {
    dir: tempfile::TempDir,
    environment: UserEnvironment,
}

impl Disk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let below = |name: &str| Some(root.join(name));
        let environment = UserEnvironment {
            home: AbsPath::new(root.to_str().unwrap()).ok(),
            config: below(".config"),
            cache: below(".cache"),
            state: below(".local/state"),
            task: None,
            ..UserEnvironment::default()
        };
        let disk = Self { dir, environment };
        for name in ["project/.openoxide", ".config/openoxide", "lib", "other"] {
            fs::create_dir_all(disk.path(name).as_str()).unwrap();
        }
        disk
    }

    fn path(&self, name: &str) -> AbsPath {
        AbsPath::new(self.dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap().join(name)
    }

    fn link(&self, to: &str, name: &str) {
        drop(fs::remove_file(self.path(name).as_str()));
        symlink(self.path(to).as_str(), self.path(name).as_str()).unwrap();
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(path.as_str(), text).unwrap();
    }

    fn sources(&self) -> Vec<PolicySource> {
        crate::find_policy_sources(&self.environment, &self.path("project"))
    }

    fn load(&self) -> LoadedPolicy {
        load_policy_uncached(&self.sources(), &self.environment, &[])
    }

    fn states(&self) -> Vec<&'static str> {
        self.load().directories.iter().map(|one| one.state.as_str()).collect()
    }

    fn trust(&self) {
        for one in self.load().untrusted_projects {
            TrustStore::for_user(&self.environment)
                .save(&one.project, &one.settings, true)
                .unwrap();
        }
    }
}

const PROJECT: &str = "project/.openoxide/policy.toml";
const USER: &str = ".config/openoxide/policy.toml";

/// Guards I11.
#[test]
fn a_project_directory_is_active_only_after_its_target_is_trusted() {
    let disk = Disk::new();
    disk.link("lib", "link");
    disk.write(PROJECT, "directories = [\"../link\"]\n");
    let loaded = disk.load();
    assert_eq!(loaded.roots, []);
    let expected = format!(".openoxide/policy.toml: directory ../link ({})", disk.path("lib"));
    assert_eq!(loaded.untrusted_projects[0].settings, [expected]);
    disk.trust();
    assert_eq!(disk.load().roots, [disk.path("link"), disk.path("lib")]);
    disk.link("other", "link");
    assert_eq!(disk.load().roots, [], "it leads elsewhere by now");
    assert_eq!(disk.states(), ["untrusted"]);
    disk.link("lib", "link");
    assert_eq!(disk.states(), ["applies"]);
}

#[test]
fn a_user_directory_is_active_and_one_through_a_link_requires_trust() {
    let disk = Disk::new();
    disk.write(USER, "directories = [\"~/lib\"]\n");
    assert_eq!(disk.load().roots, [disk.path("lib")]);
    disk.link("lib", "link");
    disk.write(USER, "directories = [\"~/link\"]\n");
    assert_eq!(disk.states(), ["untrusted"]);
    assert_eq!(disk.load().untrusted_projects[0].project, disk.path(".config/openoxide"));
    disk.trust();
    assert_eq!(disk.states(), ["applies"]);
    disk.link("other", "link");
    assert_eq!(disk.states(), ["untrusted"]);
}

#[test]
fn a_directory_with_secrets_or_openoxide_state_is_refused_with_its_line() {
    let disk = Disk::new();
    for (to, why) in [
        (".ssh", "it contains credentials"),
        (".", "it is your home directory"),
        (".local/state", "OpenOxide keeps its own files there"),
        (".config/openoxide/x", "OpenOxide keeps its own files there"),
    ] {
        fs::create_dir_all(disk.path(to).as_str()).unwrap();
        fs::create_dir_all(disk.path(".local/state/openoxide").as_str()).unwrap();
        disk.link(to, "link");
        disk.write(USER, "\ndirectories = [\"~/link\"]\n");
        let loaded = disk.load();
        assert_eq!((loaded.roots.as_slice(), disk.states()), ([].as_slice(), vec!["refused"]));
        let start = format!("{}:2: additional directory `~/link` ignored", disk.path(USER));
        assert!(loaded.notes[0].starts_with(&start), "{:?}", loaded.notes);
        assert!(loaded.notes[0].ends_with(why), "{:?}", loaded.notes);
        assert_eq!(loaded.untrusted_projects, [], "nobody is asked about it");
    }
}

#[test]
fn a_missing_directory_becomes_active_once_it_exists() {
    let disk = Disk::new();
    disk.write(USER, "directories = [\"~/later\"]\n");
    assert_eq!(disk.states(), ["missing"]);
    disk.write("later", "a file");
    assert_eq!(disk.states(), ["missing"]);
    fs::remove_file(disk.path("later").as_str()).unwrap();
    fs::create_dir(disk.path("later").as_str()).unwrap();
    assert_eq!(disk.states(), ["applies"]);
}

#[test]
fn with_managed_rules_only_other_directories_are_ignored() {
    let disk = Disk::new();
    disk.write("m.toml", "directories = [\"lib\"]\n[managed]\nallow_managed_rules_only = true\n");
    disk.write("u.toml", "directories = [\"other\"]\n");
    let named = |name, kind| PolicySource {
        kind,
        ..PolicySource::from_command_line(disk.path(name).as_str().into())
    };
    let sources = [named("m.toml", LayerKind::Managed), named("u.toml", LayerKind::User)];
    let loaded = load_policy_uncached(&sources, &disk.environment, &[]);
    assert_eq!(loaded.roots, [disk.path("lib")]);
    assert_eq!(loaded.directories[1].state, DirectoryState::Ignored);
}

#[test]
fn the_compiled_policy_keeps_the_directories_for_as_long_as_they_lead_there() {
    let disk = Disk::new();
    disk.link("lib", "link");
    disk.write(PROJECT, "directories = [\"../link\", \"../later\"]\n");
    disk.trust();
    // Files that have just changed are not cached.
    std::thread::sleep(
        crate::policy_signature::STABLE_AFTER + std::time::Duration::from_millis(200),
    );
    let load = || load_policy(&disk.sources(), &disk.environment);
    let expected = [disk.path("link"), disk.path("lib")];
    let first = load();
    assert_eq!((first.roots.as_slice(), first.directories.len()), (expected.as_slice(), 2));
    let second = load();
    assert_eq!((second.roots.as_slice(), second.directories.len()), (expected.as_slice(), 0));
    disk.link("other", "link");
    assert_eq!(load().roots, [], "no file has changed, and yet it leads elsewhere");
    disk.link("lib", "link");
    assert_eq!(load().roots, expected);
    fs::create_dir(disk.path("later").as_str()).unwrap();
    assert_eq!(load().untrusted_projects.len(), 1, "it is there by now");
}
