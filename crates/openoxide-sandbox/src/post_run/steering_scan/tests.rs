use std::{os::unix::fs::PermissionsExt as _, process::Command};

use openoxide_protocol::AbsPath;

use super::*;
use crate::{
    post_run::{
        new_files::{limit_findings, quarantine_new_files},
        quarantine::{quarantine_path, restore_quarantined_file},
    },
    protected_paths::GuardKind,
};

struct Place {
    directory: tempfile::TempDir,
    profile: SandboxRestrictions,
    before: ProtectedPaths,
}

impl Place {
    /// Creates a directory, runs these shell commands in it, and records its state as before a run.
    fn new(before: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        fs::create_dir(path.join("w")).unwrap();
        let root = AbsPath::new(path.join("w").to_str().unwrap()).unwrap();
        let profile =
            SandboxRestrictions { writable: [root].into(), ..SandboxRestrictions::default() };
        let mut place = Self { directory, profile, before: ProtectedPaths::default() };
        place.sh(before);
        place.before = ProtectedPaths::find(&place.profile).unwrap();
        place
    }

    fn path(&self, name: &str) -> AbsPath {
        AbsPath::new(self.directory.path().canonicalize().unwrap().join(name).to_str().unwrap())
            .unwrap()
    }

    fn sh(&self, script: &str) {
        let git = "git() { command git -c protocol.file.allow=always -c user.name=a -c user.email=a@b \"$@\"; }";
        let mut sh = Command::new("sh");
        sh.args(["-ec", &format!("{git}\n{script}")]).current_dir(self.directory.path().join("w"));
        let output = sh.output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn armed(&self) -> NewSteeringFiles {
        find_new_steering_files(&self.before, &self.profile, &TemporaryPermissions::default())
    }

    /// Returns the files that are found after this script has run, as paths relative to `w`.
    fn after(&self, script: &str) -> Vec<String> {
        self.sh(script);
        let armed = self.armed();
        assert_eq!(armed.unsearched_directories, Vec::<PathBuf>::new());
        let name = |path: &PathBuf| {
            path.strip_prefix(self.path("w").as_str()).unwrap().display().to_string()
        };
        let steering = armed.steering_files.iter().map(|path| format!("{} *", name(path)));
        armed.hooks.iter().map(name).chain(steering).collect()
    }

    fn put_aside(&self) -> Vec<PostRunFinding> {
        quarantine_new_files(&self.before, &self.profile)
    }
}

const NONE: [&str; 0] = [];

#[test]
fn files_that_git_creates_are_not_reported() {
    let place = Place::new("git init -q one; git -C one commit -q --allow-empty -m a");
    let made = "git clone -q one two; git clone -q --bare one three; git init -q four; echo a > one/a; \
                git -C one add a; git -C one commit -q -m b; git -C one worktree add -q ../five; \
                git -C two submodule --quiet add ../one six";
    assert_eq!(place.after(made), NONE);
}

#[test]
fn files_that_existed_before_are_not_reported() {
    let place = Place::new(
        "git init -q one; echo > one/.git/hooks/pre-commit; chmod +x one/.git/hooks/pre-commit; \
         git -C one config core.fsmonitor x; echo {} > .mcp.json; mkdir .opencode .opencode/plugin; \
         echo > .opencode/plugin/a.js",
    );
    assert_eq!(place.after("echo > other"), NONE);
}

#[test]
fn hooks_and_configuration_of_new_repositories_are_found() {
    let place = Place::new("mkdir made");
    let made = "git init -q a; echo > a/.git/hooks/pre-commit; chmod +x a/.git/hooks/pre-commit; \
                echo > a/.git/hooks/not-run; ln -s ../x a/.git/hooks/post-checkout; \
                git init -q b; git -C b config core.fsmonitor x; \
                mkdir -p c/objects c/refs c/hooks; echo ref: refs/heads/x > c/HEAD; ln -s /bin/true c/hooks/update; \
                git init -q d; rm -r d/.git/hooks; ln -s ../../made d/.git/hooks; \
                mkdir e; echo ref: refs/heads/x > e/HEAD; echo ../b/.git > e/commondir; \
                git init -q f; echo '[' > f/.git/config";
    let found = [
        "a/.git/hooks/post-checkout",
        "a/.git/hooks/pre-commit",
        "b/.git/config",
        "c/hooks/update",
        "d/.git/hooks",
        "e/commondir",
        "f/.git/config",
    ];
    assert_eq!(place.after(made), found);
}

/// `git checkout` writes in the worktree (git-config(1), "core.worktree").
#[test]
fn a_worktree_outside_of_the_checkout_is_found() {
    let place = Place::new("mkdir ../home");
    let made = "for name in a b c d e; do git init -q $name; mkdir $name/in; done; ln -s ../../home b/link; \
                git -C a config core.worktree ../../../home; git -C b config core.worktree ../link; \
                git -C c config core.worktree ../../e; git -C d config core.worktree ../in; \
                git -C e config core.worktree ../later";
    let found = ["a/.git/config", "b/.git/config", "c/.git/config", "e/.git/config"];
    assert_eq!(place.after(made), found);
}

#[test]
fn a_repository_that_is_made_of_old_files_is_found() {
    let place = Place::new(
        "mkdir -p old/hooks old/refs; echo > old/hooks/update; chmod +x old/hooks/update",
    );
    assert_eq!(
        place.after("mkdir old/objects; echo ref: refs/heads/x > old/HEAD"),
        ["old/hooks/update"]
    );
}

#[test]
fn indirections_that_lead_outside_are_found_and_inside_are_followed() {
    let place = Place::new("git init -q ../outside; git init -q ../outside2");
    let made = "mkdir a b c d; echo 'gitdir: ../../outside/.git' > a/.git; ln -s ../../outside2/.git b/.git; \
                mkdir -p .deep/objects .deep/refs; echo ref: refs/heads/x > .deep/HEAD; echo '[core]pager=x' > .deep/config; \
                echo 'gitdir: ../.deep' > c/.git; echo nonsense > d/.git";
    assert_eq!(place.after(made), [".deep/config", "a/.git", "b/.git"]);
}

#[test]
fn new_steering_files_are_found_in_any_directory() {
    let place = Place::new("mkdir -p a/.claude b; echo {} > b/.mcp.json");
    let made = "mkdir -p c/.opencode/plugin d/.vscode e/.openoxide/x f/.husky g/.cargo h/.pi/extensions i/.devcontainer \
                j/.hg k/.config node_modules/x/.claude lib/site-packages/x/.vscode; \
                echo > c/.opencode/plugin/x.ts; echo > .mcp.json; echo > c/.envrc; echo > d/.vscode/tasks.json; \
                echo > e/CLAUDE.md; echo > e/AGENTS.md; echo > f/.husky/pre-commit; echo > g/.cargo/config.toml; \
                echo > h/.pi/extensions/e.ts; echo > j/.hg/hgrc; echo > j/.hg/requires; echo > k/lefthook.yml; \
                echo > k/.pre-commit-config.yaml; echo > k/mise.toml; echo > k/opencode.json; echo > k/crush.json; \
                echo > k/x.code-workspace; echo > k/.github; echo > k/README.md; echo > k/package.json; \
                mkdir -p l/.roo l/.kiro l/.windsurf l/.zed l/.amazonq l/.continue l/.qwen l/.gemini l/.cursor l/.junie; \
                ln -s /etc/passwd l/GEMINI.md; echo > node_modules/x/.mcp.json";
    let found = [
        ".mcp.json",
        "c/.envrc",
        "c/.opencode",
        "d/.vscode",
        "e/.openoxide",
        "e/AGENTS.md",
        "e/CLAUDE.md",
        "f/.husky",
        "g/.cargo/config.toml",
        "h/.pi",
        "i/.devcontainer",
        "j/.hg/hgrc",
        "k/.pre-commit-config.yaml",
        "k/crush.json",
        "k/lefthook.yml",
        "k/mise.toml",
        "k/opencode.json",
        "k/x.code-workspace",
        "l/.amazonq",
        "l/.continue",
        "l/.cursor",
        "l/.gemini",
        "l/.junie",
        "l/.kiro",
        "l/.qwen",
        "l/.roo",
        "l/.windsurf",
        "l/.zed",
        "l/GEMINI.md",
    ];
    assert_eq!(place.after(made), found.map(|name| format!("{name} *")));
    let before = place.put_aside().len();
    assert_eq!(
        (before, place.put_aside()),
        (found.len(), vec![]),
        "what was put aside is not found again"
    );
    place.sh(
        "test -e d/.vscode.held-by-openoxide/tasks.json; test ! -e d/.vscode; test -e b/.mcp.json",
    );
}

#[test]
fn deep_and_numerous_files_are_found() {
    let place = Place::new("true");
    let made = "d=.; for i in $(seq 1 30); do d=$d/d; done; mkdir -p $d; git init -q $d/r; git -C $d/r config core.fsmonitor x; \
                mkdir junk; cd junk; seq 50500 | xargs touch; cd ..; mkdir -p junk/sub/.claude";
    let deep = format!("{}r/.git/config", "d/".repeat(30));
    assert_eq!(place.after(made), [deep.as_str(), "junk/sub/.claude *"]);
}

/// The kernel accepts no path longer than 4,096 bytes, but a program can create one by entering one
/// directory at a time.
#[test]
fn directories_too_deep_for_a_path_are_quarantined_and_locked() {
    let place = Place::new("true");
    place.sh("n=$(printf 'x%.0s' $(seq 1 250)); for i in $(seq 1 20); do mkdir $n; cd -P $n 2>/dev/null || cd ./$n; done; git init -q r 2>/dev/null || true");
    let found = place.put_aside();
    let [PostRunFinding::SteeringFile { quarantined: Some(held), .. }] = &found[..] else {
        panic!("{found:?}")
    };
    let mode = fs::metadata(held.as_str()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0);
    fs::set_permissions(held.as_str(), fs::Permissions::from_mode(0o700)).unwrap();
    place.sh("find . -depth -delete");
}

#[test]
fn new_programs_that_old_configuration_names_are_found() {
    let place = Place::new(
        "git init -q .; mkdir tools .claude; git config filter.x.clean './tools/clean %f'; git config alias.y '!sh tools/y.sh'; \
         git config diff.z.textconv tools/../z; git config core.excludesFile ignored; git config alias.s 'status README'; \
         printf 'sh \"$(git rev-parse --show-toplevel)/check.sh\"' > .git/hooks/pre-commit; \
         echo '{\"hooks\": \"$CLAUDE_PROJECT_DIR/tools/h.py --x\"}' > .claude/settings.json",
    );
    let made = "echo > tools/clean; echo > tools/y.sh; echo > z; echo > ignored; echo > README; echo > check.sh; echo > tools/h.py; \
                echo > tools/other.py";
    let missing = ["tools/clean"];
    let found = ["check.sh *", "tools/h.py *", "tools/y.sh *", "z *"];
    assert_eq!(place.after(made), found);
    for name in missing {
        let path = place.path("w").join(name);
        let guard = place.before.guards.get(Path::new(path.as_str()));
        assert!(matches!(guard, Some(GuardKind::Missing(_))), "{name}: {guard:?}");
    }
}

#[test]
fn a_quarantined_hook_is_not_run_by_git() {
    let place = Place::new("true");
    place.sh("git init -q a; printf '#!/bin/sh\ntouch ran\n' > a/.git/hooks/pre-commit; \
              chmod +x a/.git/hooks/pre-commit; echo > a/.git/hooks/pre-commit.held-by-openoxide");
    let [found] = place.put_aside().try_into().unwrap();
    let PostRunFinding::RepositoryHook { path, quarantined: Some(held) } = &found else {
        panic!("{found:?}")
    };
    let beside = place.path("w/a/.git/hooks/pre-commit.held-by-openoxide.");
    assert!(held.as_str().starts_with(beside.as_str()) && held != &beside, "{held}");
    place.sh("git -C a commit -q --allow-empty -m a; test ! -e a/ran");
    assert_eq!(place.put_aside(), []);
    restore_quarantined_file(path, held).unwrap();
    place.sh("git -C a commit -q --allow-empty -m b; test -e a/ran");
}

#[test]
fn no_file_is_quarantined_through_a_link() {
    let place = Place::new("true");
    place.sh("git init -q a; echo > a/.git/hooks/update; chmod +x a/.git/hooks/update; mkdir ../victim; echo > ../victim/update");
    let [found] = Vec::from_iter(place.armed().hooks).try_into().unwrap();
    place.sh("mv a/.git/hooks a/.git/h; ln -s ../../../victim a/.git/hooks");
    assert!(quarantine_path(&found).is_err());
    place.sh("test -e ../victim/update");
}

#[test]
fn names_that_cannot_be_displayed_are_quarantined_too() {
    let place = Place::new("true");
    for name in ["a\\377", "b\\nc"] {
        place.sh(&format!("n=$(printf '{name}'); git init -q \"$n\"; echo > \"$n/.git/hooks/update\"; chmod +x \"$n/.git/hooks/update\""));
    }
    let found = place.put_aside();
    let aside = |one: &PostRunFinding| {
        matches!(one, PostRunFinding::RepositoryHook { quarantined: Some(_), .. })
    };
    assert!(found.len() == 2 && found.iter().all(aside), "{found:?}");
    place.sh("for n in a* b*; do test ! -e \"$n/.git/hooks/update\"; done");
}

#[test]
fn many_hooks_do_not_hide_the_one_that_matters() {
    let place = Place::new("true");
    place.sh("for r in $(seq 1 30); do mkdir -p $r/.git/objects $r/.git/refs $r/.git/hooks; echo ref: refs/heads/x > $r/.git/HEAD; \
              for h in 1 2 3 4 5 6 7 8 9 10; do echo > $r/.git/hooks/h$h; done; chmod +x $r/.git/hooks/*; done; \
              git init -q z; git init -q y; for h in z/.git/hooks/update y/.git/hooks/update; do echo > $h; chmod +x $h; done; \
              for h in $(seq 1 2000); do echo > y/.git/hooks/$h; done; chmod +x y/.git/hooks/*");
    let found = place.put_aside();
    assert_eq!(found.last(), Some(&PostRunFinding::Omitted { count: 202 }));
    assert_eq!(found.len(), 101);
    place.sh("test ! -e z/.git/hooks/update; test ! -e y/.git/hooks/update; test -e y/.git/hooks.held-by-openoxide/update");
    assert_eq!(place.put_aside(), []);
}

#[test]
fn pending_commands_of_a_rebase_are_found() {
    let place = Place::new(
        "git init -q old; mkdir old/.git/rebase-merge; echo 'exec mine' > old/.git/rebase-merge/git-rebase-todo",
    );
    let made = "for n in a b c; do git init -q $n; git -C $n commit -q --allow-empty -m a; git -C $n commit -q --allow-empty -m b; done; \
                GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git -C a rebase -q -i -x evil HEAD~1; \
                GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git -C b rebase -q -i HEAD~1; \
                mkdir c/.git/rebase-merge; printf '# c\\n \\tx evil\\n' > c/.git/rebase-merge/git-rebase-todo";
    let found = ["a", "c"].map(|name| format!("{name}/.git/rebase-merge/git-rebase-todo"));
    assert_eq!(place.after(made), found);
    let changed = "echo 'exec evil' > old/.git/rebase-merge/git-rebase-todo; rm -r a c";
    assert_eq!(place.after(changed), ["old/.git/rebase-merge/git-rebase-todo"]);
}

#[test]
fn worktrees_that_are_not_linked_back_are_found() {
    let place = Place::new(
        "git init -q r; git -C r commit -q --allow-empty -m a; git -C r worktree add -q ../old",
    );
    let made = "git -C r worktree add -q ../new; git -C r worktree add -q ../bad; mkdir ../out; \
                echo \"$PWD/../out/.git\" > r/.git/worktrees/bad/gitdir";
    assert_eq!(place.after(made), ["r/.git/worktrees/bad/gitdir"]);
    assert_eq!(place.put_aside().len(), 1);
    place.sh("git -C r worktree repair 2>/dev/null; test ! -e ../out/.git");
}

#[test]
fn files_with_other_names_outside_are_found() {
    let place = Place::new("echo > ../outside; echo > in; echo > both");
    place.sh("ln ../outside linked; ln in in2; ln both both2; ln both ../both3");
    let mut names: Vec<_> = find_hard_links(&place.before, &place.profile, &|| false)
        .into_iter()
        .map(|found| match found {
            PostRunFinding::HardLink { path } => {
                path.file_name().unwrap().chars().take(4).collect::<String>()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    names.sort();
    assert_eq!(names, ["both", "link"]);
}

#[test]
fn an_existing_quarantine_name_does_not_prevent_quarantine() {
    let place = Place::new("true");
    place.sh("git init -q r; git -C r config core.fsmonitor x; mkdir -p d .claude; echo > d/.envrc; echo > .mcp.json; \
              for f in r/.git/config d/.envrc .mcp.json .claude; do touch $f.held-by-openoxide; \
              for n in $(seq 2 300); do ln -s x $f.held-by-openoxide.$n; done; done");
    let found = place.put_aside();
    assert!(found.len() == 4 && !found.iter().any(PostRunFinding::is_always_named), "{found:?}");
    place.sh("test ! -e r/.git/config; test ! -e d/.envrc; test ! -e .mcp.json; test ! -e .claude");
    assert_eq!(place.put_aside(), []);
}

#[test]
fn all_files_still_in_place_are_named_first() {
    let path = |name: String| AbsPath::root().join(&name);
    let held = |number| PostRunFinding::SteeringFile {
        path: path(format!("a{number}")),
        quarantined: Some(path("held".to_owned())),
    };
    let in_place = |number| PostRunFinding::RepositoryHook {
        path: path(format!("z{number}")),
        quarantined: None,
    };
    let all = (0..500).map(held).chain((0..300).map(in_place)).collect();
    let named = limit_findings(all);
    assert!(named.iter().take(300).all(PostRunFinding::is_always_named));
    assert_eq!(named.get(300..), Some(&[PostRunFinding::Omitted { count: 500 }][..]));
}

/// Root can open every directory. The tests of complete sandboxes also use another user.
#[test]
fn permissions_are_restored_after_the_scan() {
    let place = Place::new("true");
    place.sh("for n in $(seq 1 30); do mkdir -p $n/.closed; chmod 0 $n/.closed $n; done; git init -q z; \
              echo > z/.git/hooks/update; chmod +x z/.git/hooks/update; chmod 0 z/.git; chmod 0444 z");
    let found = place.put_aside();
    assert!(
        matches!(&found[..], [PostRunFinding::RepositoryHook { quarantined: Some(_), .. }]),
        "{found:?}"
    );
    for (name, mode) in [("w/1", 0), ("w/z", 0o444)] {
        let found = fs::metadata(place.path(name).as_str()).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, mode, "{name}");
    }
    place.sh("chmod -R u+rwX .; test ! -e z/.git/hooks/update");
}

/// gitrepository-layout(5), "commondir". `git` creates the file, then writes it.
#[test]
fn only_a_written_commondir_is_foreign_during_a_run() {
    let place = tempfile::tempdir().unwrap();
    let linked = place.path().join("main/.git/worktrees/linked");
    fs::create_dir_all(&linked).unwrap();
    let file = linked.join("commondir");
    let is_foreign = || {
        [ScanPhase::During, ScanPhase::After].map(|moment| has_foreign_commondir(&linked, moment))
    };
    assert_eq!(is_foreign(), [false, false], "no file");
    for (text, expected) in [
        ("", [false, true]),
        ("../..\n", [false, false]),
        ("\n", [true, true]),
        (".\n", [true, true]),
        ("../../../other\n", [true, true]),
    ] {
        fs::write(&file, text).unwrap();
        assert_eq!(is_foreign(), expected, "{text:?}");
    }
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("missing", &file).unwrap();
    assert_eq!(is_foreign(), [true, true], "a dangling link");
}
