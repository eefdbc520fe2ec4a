//! Programs that delete everything do not fail because of placeholders, and placeholders protect as
//! before.

use std::{fs, path::Path, process::Stdio, thread, time::Duration};

use super::{Arena, names};

/// Each line removes everything that git does not track, or single placeholders.
const REMOVALS: &str = r#"
    git clean -fdxq
    git stash -qu
    rm -rf .vscode .idea/ ./.claude
    rmdir .codex; rmdir build/../.agents
    cd build; rmdir ../.opencode
    python3 -c 'import shutil; shutil.rmtree(".vscode")'
    python3 -c 'import os; d = os.open(".", os.O_RDONLY); os.rmdir(".idea", dir_fd=d)'
    perl -e 'rmdir ".claude" or die'
    find . -mindepth 1 -maxdepth 1 -name '.[aciov]*' -type d -empty -delete
    rmdir "$PWD/.openoxide"
"#;

fn project() -> Arena {
    let arena = Arena::new_empty();
    let script = "git config --global user.name A; git config --global user.email a@b; git init -q; \
        echo a > a; git add a; git commit -qm a; mkdir build; touch build/x";
    succeeds(&arena, "w", script);
    arena
}

/// Runs a script on the host.
fn succeeds(arena: &Arena, directory: &str, script: &str) {
    let mut sh = std::process::Command::new("sh");
    sh.args(["-ec", script]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    sh.env("HOME", arena.path("home")).current_dir(arena.path(directory));
    assert!(sh.status().unwrap().success(), "{script}");
}

#[test]
fn everything_can_be_deleted() {
    for options in [&[] as &[&str], &["--live"]] {
        let arena = project();
        for removal in REMOVALS.lines().map(str::trim).filter(|line| !line.is_empty()) {
            succeeds(&arena, "w", "mkdir -p build; touch build/x");
            let output = arena.run(options, &["sh", "-ec", removal]).output().unwrap();
            assert!(output.status.success(), "{removal}: {output:?}");
            let left: Vec<_> = names(&arena.path("w")).into_iter().collect();
            let expected = [".git", "a", "build"].map(|name| arena.path("w").join(name));
            assert!(left.iter().all(|path| expected.contains(path)), "{removal}: {left:?}");
        }
        succeeds(&arena, "w", "rm -rf build; mkdir build; touch build/x");
        let output = arena.run(options, &["git", "clean", "-fdxq"]).output().unwrap();
        assert!(output.status.success() && !arena.path("w/build").exists(), "{output:?}");
    }
}

/// Guards I34.
#[test]
fn a_removed_placeholder_still_protects() {
    for options in [&[] as &[&str], &["--live"]] {
        let arena = project();
        for attempt in [
            "rmdir .vscode; mkdir .vscode",
            "rmdir .vscode; ln -s build .vscode",
            "rm -rf .vscode; mv build .vscode",
            "rmdir .claude; echo x > .claude/settings.json",
            "rm -rf .claude; echo x > .claude",
        ] {
            let output = arena.run(options, &["sh", "-c", attempt]).output().unwrap();
            assert!(!output.status.success(), "{attempt}: {output:?}");
            for name in ["w/.vscode", "w/.claude"] {
                assert!(arena.path(name).symlink_metadata().is_err(), "{attempt}");
            }
        }
        // The kernel still answers every other call.
        let script = "mkdir -p x/y; ! rmdir x; ! rmdir .git; ! rmdir a; ! rmdir none; ln -s .idea i; \
            ! rmdir i; mkdir -p build/.vscode; rmdir build/.vscode; ! test -e build/.vscode; rmdir x/y x";
        let output = arena.run(options, &["sh", "-ec", script]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(!arena.path("w/x").exists() && arena.path("w/.git").exists());
    }
}

#[test]
fn what_a_program_of_the_host_puts_into_a_placeholder_stays() {
    let arena = project();
    let script = "touch begun; while ! test -e go; do sleep 0.05; done; ! rmdir .vscode; ! rm -rf .vscode; rmdir .idea";
    let mut run = arena.run(&[], &["sh", "-ec", script]);
    let run = run.stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&arena.path("w/begun"));
    succeeds(&arena, "w", "echo '{}' > .vscode/settings.json; touch go");
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read(arena.path("w/.vscode/settings.json")).unwrap(), b"{}\n");
    assert!(!arena.path("w/.idea").exists());
}

fn wait_for(path: &Path) {
    while !path.exists() {
        thread::sleep(Duration::from_millis(10));
    }
}
