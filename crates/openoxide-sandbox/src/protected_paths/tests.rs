use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Command};

use openoxide_protocol::{AbsPath, SandboxRestrictions};

use crate::protected_paths::{
    directory_snapshot::DirectorySnapshot,
    guarded_paths::{GuardKind, PlaceholderKind, ProtectedPaths},
    hard_links::with_aliases,
    path_search::choose_placeholder,
};

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn directory(&self, name: &str) {
        fs::create_dir_all(self.path(name)).unwrap();
    }

    fn git(&self, arguments: &str) {
        let mut git = Command::new("git");
        git.args(["-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b"]);
        git.args(arguments.split(' ')).current_dir(&self.directory);
        let output = git.output().unwrap();
        assert!(
            output.status.success(),
            "{arguments}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn set(&self, key: &str, value: &str) {
        let mut git = Command::new("git");
        git.args(["-C", "w", "config", key, value]).current_dir(&self.directory);
        assert!(git.status().unwrap().success(), "{key}");
    }

    fn repository(&self, name: &str) {
        self.git(&format!("init -q {name}"));
        self.git(&format!("-C {name} commit -q --allow-empty -m a"));
    }

    fn profile(&self, writable: &[&str], protected: &[&str]) -> SandboxRestrictions {
        let all = |names: &[&str]| {
            let path = |name: &&str| AbsPath::new(self.path(name).to_str().unwrap()).unwrap();
            names.iter().map(path).collect()
        };
        SandboxRestrictions {
            writable: all(writable),
            protected: all(protected),
            ..SandboxRestrictions::default()
        }
    }

    /// Returns pins and guards as text, relative to the temporary directory.
    fn found(&self, writable: &[&str], protected: &[&str]) -> (Vec<String>, Vec<String>) {
        let guarded = ProtectedPaths::find(&self.profile(writable, protected)).unwrap();
        assert_eq!(guarded.unsearched_findings, []);
        let base = self.path("");
        let short = |path: &PathBuf| path.strip_prefix(&base).unwrap().display().to_string();
        let guard = |(path, how): (&PathBuf, &GuardKind)| match how {
            GuardKind::Present => short(path),
            GuardKind::Link => format!("{} @", short(path)),
            GuardKind::PrivateConfig | GuardKind::PrivateHooks => format!("{} =", short(path)),
            GuardKind::Missing(PlaceholderKind::Directory) => format!("{} +", short(path)),
            GuardKind::Missing(PlaceholderKind::File(text)) => format!("{} +{text:?}", short(path)),
        };
        (guarded.pins.iter().map(short).collect(), guarded.guards.iter().map(guard).collect())
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn existing_paths_are_covered_and_their_parents_pinned() {
    let place = Place::new();
    place.directory("w/a/b/.claude");
    fs::write(place.path("w/.mcp.json"), "").unwrap();
    let (pins, guards) =
        place.found(&["w"], &["w/a/b/.claude", "w/.mcp.json", "w/.codex", "elsewhere"]);
    assert_eq!(pins, strings(&["w/a", "w/a/b"]));
    assert_eq!(guards, strings(&["w/.codex +", "w/.mcp.json", "w/a/b/.claude"]));
}

#[test]
fn a_missing_or_non_directory_ancestor_is_covered() {
    let place = Place::new();
    place.directory("w");
    fs::write(place.path("w/file"), "").unwrap();
    let (pins, guards) = place.found(&["w"], &["w/a/b", "w/file/c"]);
    assert_eq!((pins, guards), (vec![], strings(&["w/a +", "w/file"])));
}

#[test]
fn a_link_is_guarded_and_where_it_leads() {
    let place = Place::new();
    place.directory("w/real/agents");
    place.directory("outside");
    symlink("real/../real/agents", place.path("w/.agents")).unwrap();
    symlink("nowhere/x", place.path("w/.codex")).unwrap();
    symlink(place.path("outside"), place.path("w/.claude")).unwrap();
    symlink("second", place.path("w/first")).unwrap();
    symlink("real", place.path("w/second")).unwrap();
    symlink(".loop", place.path("w/.loop")).unwrap();
    let protected = ["w/.agents", "w/.codex", "w/.claude", "w/first/agents", "w/.loop"];
    let (pins, guards) = place.found(&["w"], &protected);
    assert_eq!(pins, strings(&["w/real"]));
    let all = [
        "w/.agents @",
        "w/.claude @",
        "w/.codex @",
        "w/.loop @",
        "w/first @",
        "w/nowhere +",
        "w/real/agents",
        "w/second @",
    ];
    assert_eq!(guards, strings(&all));
}

#[test]
fn the_target_of_an_outside_link_into_a_root_is_guarded() {
    let place = Place::new();
    place.directory("w/settings");
    symlink("w/settings", place.path("link")).unwrap();
    assert_eq!(place.found(&["w"], &["link"]).1, strings(&["w/settings"]));
}

#[test]
fn nested_roots_and_roots_below_protected_paths_are_handled() {
    let place = Place::new();
    place.directory("w/a/b/c");
    let (pins, guards) = place.found(&["w", "w/a/b"], &["w/a/b/c/x"]);
    assert_eq!((pins, guards), (strings(&["w/a", "w/a/b/c"]), strings(&["w/a/b/c/x +"])));
    assert_eq!(place.found(&["w/a"], &["w"]), (vec![], strings(&["w/a"])));
    assert_eq!(place.found(&["w/a"], &["w/a"]), (vec![], strings(&["w/a"])));
}

#[test]
fn of_a_repository_inside_hooks_and_configuration_are_guarded() {
    let place = Place::new();
    place.repository("w");
    place.repository("w/libs/one");
    fs::remove_dir_all(place.path("w/libs/one/.git/hooks")).unwrap();
    let (pins, guards) = place.found(&["w"], &["w/.git"]);
    assert_eq!(pins, strings(&["w/libs", "w/libs/one", "w/libs/one/.git"]));
    let parts = ["commondir +\".\\n\"", "config =", "hooks +"]
        .map(|part| format!("w/libs/one/.git/{part}"));
    assert_eq!(guards, [strings(&["w/.git"]), parts.to_vec()].concat());
}

#[test]
fn a_widened_repository_keeps_its_parts() {
    let place = Place::new();
    place.repository("w");
    place.git("-C w config extensions.worktreeConfig true");
    let (pins, guards) = place.found(&["w"], &["w/.git/hooks", "w/.git/config", "w/.git/modules"]);
    assert_eq!(pins, strings(&["w/.git"]));
    let parts = ["commondir +\".\\n\"", "config", "config.worktree +\"\"", "hooks", "modules +"];
    assert_eq!(guards, parts.map(|part| format!("w/.git/{part}")));
}

#[test]
fn a_linked_worktree_leads_to_the_repository() {
    let place = Place::new();
    place.repository("w/main");
    place.git("-C w/main worktree add -q ../linked");
    let (_, guards) = place.found(&["w"], &["w/linked/.git"]);
    assert_eq!(guards, strings(&["w/linked/.git", "w/main/.git"]));
    let (pins, guards) = place.found(&["w/linked"], &["w/linked/.git"]);
    assert_eq!((pins, guards), (vec![], strings(&["w/linked/.git"])));
    // The repository is not named explicitly: it is one of the repositories inside.
    let guards = place.found(&["w"], &[]).1;
    let expected = [
        "w/linked/.git",
        "w/main/.git/commondir +\".\\n\"",
        "w/main/.git/config =",
        "w/main/.git/hooks =",
        "w/main/.git/worktrees/linked/commondir",
    ];
    assert_eq!(guards, strings(&expected));
}

#[test]
fn submodules_and_bare_repositories_are_found() {
    let place = Place::new();
    place.repository("other");
    place.repository("w");
    place.git("-C w submodule --quiet add ../other sub");
    place.git("clone -q --bare other w/store");
    let (pins, guards) = place.found(&["w"], &[]);
    assert_eq!(
        pins,
        strings(&["w/.git", "w/.git/modules", "w/.git/modules/sub", "w/store", "w/sub"])
    );
    let parts = |base: &str| {
        ["commondir +\".\\n\"", "config =", "hooks ="].map(|part| format!("{base}/{part}"))
    };
    let mut all = parts("w/.git").to_vec();
    all.extend(parts("w/.git/modules/sub"));
    all.extend(parts("w/store"));
    all.push("w/sub/.git".to_owned());
    assert_eq!(guards, all);
}

#[test]
fn hooks_and_configuration_that_are_kept_elsewhere_are_guarded() {
    let place = Place::new();
    place.repository("w");
    place.directory("w/.husky/_");
    fs::write(place.path("w/shared.conf"), "[include]\npath = more.conf\n").unwrap();
    place.git("-C w config core.hooksPath .husky/_");
    place.git("-C w config include.path ../shared.conf");
    let guards = place.found(&["w"], &["w/.git"]).1;
    assert_eq!(guards, strings(&["w/.git", "w/.husky =", "w/more.conf +\"\"", "w/shared.conf"]));
}

/// Data files that settings name: those that determine whom git trusts are guarded. The others do
/// not lead to execution.
#[test]
fn files_that_decide_whom_git_trusts_are_guarded() {
    let place = Place::new();
    place.repository("w");
    for (key, file) in [
        ("gpg.ssh.allowedSignersFile", "signers"),
        ("http.sslCAInfo", "ca.pem"),
        ("http.https://x.io.sslCert", "missing.pem"),
        ("core.attributesFile", "attributes"),
        ("core.excludesFile", "ignored"),
        ("commit.template", "template"),
        ("diff.orderFile", "order"),
        ("blame.ignoreRevsFile", "revisions"),
        ("mailmap.file", "mailmap"),
    ] {
        place.set(key, file);
        if file != "missing.pem" {
            fs::write(place.path("w").join(file), "").unwrap();
        }
    }
    let guards = place.found(&["w"], &["w/.git"]).1;
    assert_eq!(guards, strings(&["w/.git", "w/ca.pem", "w/signers"]));
}

#[test]
fn placeholders_let_git_work() {
    let place = Place::new();
    place.repository("w");
    place.git("-C w config extensions.worktreeConfig true");
    for name in ["config.worktree", "commondir"] {
        let path = place.path("w/.git").join(name);
        let PlaceholderKind::File(text) = choose_placeholder(&path) else { panic!("{name}") };
        fs::write(path, text).unwrap();
    }
    fs::write(place.path("w/a"), "a").unwrap();
    for arguments in [
        "add a",
        "commit -q -m b",
        "status",
        "branch x",
        "worktree add -q ../linked x",
        "gc -q",
        "fsck",
    ] {
        place.git(&format!("-C w {arguments}"));
    }
    place.git("-C linked status");
}

#[test]
fn steering_files_in_any_directory_are_guarded_but_for_those_that_were_allowed() {
    let place = Place::new();
    for name in [
        ".vscode",
        "a/.openoxide",
        "b/.claude",
        "node_modules/x/.claude",
        &format!("{}.husky", "d/".repeat(30)),
    ] {
        place.directory(&format!("w/{name}"));
    }
    for name in ["CLAUDE.md", "a/AGENTS.md", "b/mise.toml", "b/plain.txt"] {
        fs::write(place.path("w").join(name), "").unwrap();
    }
    symlink("../b/plain.txt", place.path("w/a/GEMINI.md")).unwrap();
    let guards = place.found(&["w"], &[]).1;
    let deep = format!("w/{}.husky =", "d/".repeat(30));
    let expected = [
        "w/.vscode",
        "w/CLAUDE.md",
        "w/a/.openoxide",
        "w/a/AGENTS.md",
        "w/a/GEMINI.md @",
        "w/b/.claude",
        "w/b/mise.toml",
        "w/b/plain.txt",
        &deep,
    ];
    assert_eq!(guards, strings(&expected));
    let allowed = [AbsPath::new(place.path("w/CLAUDE.md").to_str().unwrap()).unwrap()].into();
    let guarded = ProtectedPaths::find_with_changeable(
        &place.profile(&["w"], &[]),
        &allowed,
        DirectorySnapshot::default(),
    )
    .unwrap();
    assert!(
        !guarded.contains(&place.path("w/CLAUDE.md"))
            && guarded.contains(&place.path("w/a/AGENTS.md"))
    );
}

#[test]
fn programs_that_configuration_names_are_guarded() {
    let place = Place::new();
    place.repository("w");
    for name in ["tools", "lib/mod", ".claude", ".yarn/releases", "src"] {
        place.directory(&format!("w/{name}"));
    }
    for name in [
        "tools/clean",
        "tools/smudge.sh",
        "tools/hook.sh",
        "tools/mcp.js",
        "tools/other.sh",
        "lib/mod/run.py",
        "src/main.rs",
        ".yarn/releases/yarn-4.cjs",
        "tools/wrapper.sh",
        "README",
    ] {
        fs::write(place.path("w").join(name), "").unwrap();
    }
    place.git("-C w config filter.x.clean ./tools/clean");
    place.set("filter.x.smudge", "sh tools/smudge.sh %f");
    place.set("merge.x.driver", "python3 -m lib.mod.run %O %A %B");
    place.git("-C w config remote.origin.url ./README");
    symlink("../../tools/hook.sh", place.path("w/.git/hooks/pre-commit")).unwrap();
    fs::write(place.path("w/.mcp.json"), r#"{"command": "node", "args": ["./tools/mcp.js"]}"#)
        .unwrap();
    fs::write(place.path("w/.yarnrc.yml"), "yarnPath: .yarn/releases/yarn-4.cjs\n").unwrap();
    place.directory("w/.cargo");
    fs::write(
        place.path("w/.cargo/config.toml"),
        "[build]\nrustc-wrapper = \"tools/wrapper.sh\"\n",
    )
    .unwrap();
    fs::write(place.path("w/CLAUDE.md"), "look at src/main.rs and tools/other.sh").unwrap();
    let guards = place.found(&["w"], &["w/.git"]).1;
    let expected = [
        "w/.cargo/config.toml",
        "w/.claude",
        "w/.git",
        "w/.mcp.json",
        "w/.yarn/releases/yarn-4.cjs",
        "w/.yarnrc.yml",
        "w/CLAUDE.md",
        "w/lib/mod/run.py",
        "w/tools/clean",
        "w/tools/hook.sh",
        "w/tools/mcp.js",
        "w/tools/smudge.sh",
        "w/tools/wrapper.sh",
    ];
    assert_eq!(guards, strings(&expected));
}

#[test]
fn hard_links_to_unreadable_files_are_unreadable() {
    let place = Place::new();
    place.directory("secret/deep");
    place.directory("w/a");
    for (file, link) in [("secret/deep/key", "w/a/key"), ("token", "w/token"), ("plain", "w/plain")]
    {
        fs::write(place.path(file), "").unwrap();
        fs::hard_link(place.path(file), place.path(link)).unwrap();
    }
    fs::write(place.path("w/other"), "").unwrap();
    let mut profile = place.profile(&["w"], &[]);
    profile.unreadable = place.profile(&["secret", "token"], &[]).writable;
    let expected = place.profile(&["secret", "token", "w/a/key", "w/token"], &[]).writable;
    assert_eq!(with_aliases(&profile).unwrap().unreadable, expected);
}
