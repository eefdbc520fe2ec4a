//! Hooks: programs can install them in the sandbox, and the host runs none of them without a person.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output},
};

use super::Arena;

/// Runs a script on the host.
fn host(arena: &Arena, script: &str) -> Output {
    let mut sh = Command::new("sh");
    sh.args(["-ec", script]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    sh.env("HOME", arena.path("home")).current_dir(arena.path("w"));
    sh.output().unwrap()
}

fn inside(arena: &Arena, options: &[&str], script: &str) -> (bool, String) {
    let output = arena.run(options, &["sh", "-ec", script]).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// A repository with hooks of its own in `.git/hooks` and `.husky`, and a third directory with
/// hooks. A hook leaves a mark next to the project if the host runs it, and in the project inside.
fn repository() -> Arena {
    let arena = Arena::new();
    let output = host(
        &arena,
        "git config --global user.name A; git config --global user.email a@b; git init -q; mkdir .husky; \
         echo 'echo own' > .husky/pre-push; git add .; git commit -qm a; printf '#!/bin/sh\\necho own\\n' > .git/hooks/post-commit; \
         chmod +x .git/hooks/post-commit",
    );
    assert!(output.status.success(), "{output:?}");
    arena
}

/// A script that installs this hook, which leaves a mark.
fn install(arena: &Arena, hook: &str) -> String {
    let mark = arena.path("outside/ran");
    let (directory, _) = hook.rsplit_once('/').unwrap();
    format!(
        "mkdir -p {directory}; printf '#!/bin/sh\\ntouch ran-inside {}\\n' > {hook}; chmod +x {hook}; ",
        mark.display()
    )
}

const COMMIT: &str = "git commit -q --allow-empty -m x";

#[test]
fn an_installed_hook_runs_inside_and_waits_for_a_person() {
    for (hook, activation) in [
        (".git/hooks/pre-commit", ""),
        (".git/hooks/post-commit", ""),
        (".husky/_/pre-commit", "git config core.hooksPath .husky/_; "),
    ] {
        let arena = repository();
        let script =
            format!("{}{activation}{COMMIT} || true; test -e ran-inside", install(&arena, hook));
        for _ in 0..2 {
            let (success, said) = inside(&arena, &[], &script);
            assert!(success && said.contains("held-by-openoxide"), "{hook}: {said}");
        }
        let output = host(&arena, COMMIT);
        assert!(output.status.success(), "{hook}: {output:?}");
        assert!(!arena.path("outside/ran").exists(), "{hook}");
        let own = fs::read_to_string(arena.path("w/.git/hooks/post-commit")).unwrap();
        assert_eq!(own, "#!/bin/sh\necho own\n", "{hook}");
        // The same hook is stored once, and complete.
        let held = hook.replace(".husky/_", ".husky/_.held-by-openoxide");
        let held = if held == hook { format!("{hook}.held-by-openoxide") } else { held };
        let mode = fs::metadata(arena.path("w").join(&held)).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{hook}");
        let count = host(&arena, "find .git .husky -name '*held-by-openoxide.*' | wc -l");
        assert_eq!(count.stdout, b"0\n", "{hook}: {count:?}");
        // A person who wants the hook gets it.
        let wanted = host(
            &arena,
            &format!(
                "{activation} mkdir -p {}; mv {held} {hook}; {COMMIT}",
                hook.rsplit_once('/').unwrap().0
            ),
        );
        assert!(
            wanted.status.success() && arena.path("outside/ran").exists(),
            "{hook}: {wanted:?}"
        );
    }
}

/// None of these makes the host run or write anything.
#[test]
fn no_change_of_a_private_copy_reaches_the_host() {
    let arena = repository();
    let hook = |name: &str| install(&arena, name);
    for attempt in [
        "rm -rf .git/hooks/*; ln -s \"$PWD/evil\" .git/hooks/pre-commit".to_owned(),
        "rm -f .git/hooks/post-commit; ln -s ../../evil .git/hooks/post-commit".to_owned(),
        "rmdir .git/hooks || mv .git/hooks x || true; ln -s ../evil.d .git/hooks || true".to_owned(),
        "mv .husky x || true; ln -s evil.d .husky || true".to_owned(),
        "mkfifo .git/hooks/pre-commit; mknod .git/hooks/c c 1 3 || true".to_owned(),
        format!("{}mv .git/hooks/x/../pre-commit .git/hooks/pre-commit.held-by-openoxide", hook(".git/hooks/pre-commit")),
        format!("{}rm -rf /dev/openoxide/git/hooks-0; ln -s \"$PWD/evil.d\" /dev/openoxide/git/hooks-0", hook("evil.d/pre-commit")),
        format!("{}rm -rf /dev/openoxide/git/*; cp -a evil.d /dev/openoxide/git/hooks-0", hook("evil.d/pre-commit")),
        "head -c 9M /dev/zero > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit".to_owned(),
        "for i in $(seq 600); do cp .git/hooks/post-commit .git/hooks/h$i; done; cp .git/hooks/h1 .git/hooks/pre-commit".to_owned(),
        "chmod 777 .git/hooks .git/hooks/post-commit; touch .git/hooks/post-commit".to_owned(),
    ] {
        let start = format!("set +e; {}mkdir -p evil.d; {attempt}; true", hook("./evil"));
        let (_, said) = inside(&arena, &[], &start);
        let output = host(&arena, &format!("{COMMIT}; git status --porcelain > /dev/null"));
        assert!(output.status.success(), "{attempt}: {output:?} {said}");
        assert!(!arena.path("outside/ran").exists(), "{attempt}: {said}");
        assert_eq!(
            fs::read(arena.path("w/.git/hooks/post-commit")).unwrap(),
            b"#!/bin/sh\necho own\n",
            "{attempt}"
        );
        assert!(fs::symlink_metadata(arena.path("w/.husky")).unwrap().is_dir(), "{attempt}");
        assert!(!arena.path("w/.git/hooks/pre-commit").exists(), "{attempt}");
    }
}

#[test]
fn a_protected_repository_is_read_only() {
    let arena = repository();
    let script = install(&arena, ".git/hooks/pre-commit");
    let (success, said) = inside(&arena, &["--protect", ".git"], &script);
    assert!(!success && said.contains("Read-only file system"), "{said}");
}
