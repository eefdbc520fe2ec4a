//! Files that host programs execute or obey: existing ones stay unchanged, and new ones of any kind
//! are quarantined.

use std::{fs, process::Command};

use super::Arena;

/// Runs a script of the shell on the host, with the arena's home.
fn host(arena: &Arena, script: &str) -> bool {
    let mut sh = Command::new("sh");
    sh.args(["-ec", script]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    sh.env("HOME", arena.path("home")).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(arena.path("w"));
    let output = sh.output().unwrap();
    assert!(
        output.status.success() || output.status.code() == Some(9),
        "{script}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.status.success()
}

/// Runs a script inside, and returns its standard error and standard output.
fn inside(arena: &Arena, script: &str) -> String {
    let output = arena.run(&[], &["sh", "-c", script]).output().unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

const COMMIT: &str = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a";

/// A script that leaves a mark where the host can see it.
fn marking(arena: &Arena) -> String {
    format!("printf '#!/bin/sh\\ntouch {}\\n'", arena.path("outside/ran").display())
}

fn ran(arena: &Arena) -> bool {
    arena.path("outside/ran").exists()
}

#[test]
fn hooks_of_the_users_configuration_are_not_written() {
    let arena = Arena::new();
    host(
        &arena,
        "git init -q .; git config --global core.hooksPath .githooks; mkdir .githooks; : > .githooks/post-commit; chmod +x .githooks/post-commit",
    );
    let mark = marking(&arena);
    inside(
        &arena,
        &format!(
            "{mark} > .githooks/pre-commit; chmod +x .githooks/pre-commit; {mark} > .githooks/post-commit"
        ),
    );
    host(&arena, COMMIT);
    assert!(!ran(&arena));
    // In a repository that is new, and where the directory is not there.
    host(&arena, "rm -r .githooks");
    let said = inside(
        &arena,
        &format!(
            "mkdir .githooks; git init -q sub; mkdir sub/.githooks; {mark} > sub/.githooks/pre-commit; chmod +x sub/.githooks/pre-commit"
        ),
    );
    assert!(said.contains("sub/.githooks"), "{said}");
    host(&arena, &format!("{COMMIT}; cd sub; {COMMIT}"));
    assert!(!ran(&arena));
    // The same attempt without a sandbox is run: the test can fail.
    host(
        &arena,
        &format!(
            "mkdir -p .githooks; {mark} > .githooks/pre-commit; chmod +x .githooks/pre-commit; {COMMIT}"
        ),
    );
    assert!(ran(&arena));
}

#[test]
fn programs_that_configuration_names_are_not_written() {
    let arena = Arena::new();
    host(
        &arena,
        "git init -q .; mkdir tools; for n in clean hook; do printf '#!/bin/sh\\ncat' > tools/$n; chmod +x tools/$n; done; \
         git config filter.x.clean ./tools/clean; git config filter.y.clean ./tools/new; echo '*.txt filter=x' > .gitattributes; \
         echo '*.bin filter=y' >> .gitattributes; ln -s ../../tools/hook .git/hooks/pre-commit",
    );
    let mark = marking(&arena);
    let said = inside(
        &arena,
        &format!(
            "for n in clean hook new; do {mark} > tools/$n; chmod +x tools/$n; done; mv tools other; rm -rf tools"
        ),
    );
    host(
        &arena,
        &format!("echo > a.txt; git add a.txt; echo > a.bin; git add a.bin || true; {COMMIT}"),
    );
    assert!(!ran(&arena), "{said}");
    host(&arena, &format!("{mark} > tools/clean; echo x > a.txt; git add a.txt"));
    assert!(ran(&arena));
}

#[test]
fn new_settings_of_tools_are_quarantined_and_old_ones_stay() {
    let arena = Arena::new();
    host(
        &arena,
        "mkdir -p sub/.vscode a/.cargo; echo old > sub/.vscode/tasks.json; echo old > a/.cargo/config.toml; echo old > AGENTS.md",
    );
    let said = inside(
        &arena,
        "for f in sub/.vscode/tasks.json a/.cargo/config.toml AGENTS.md; do echo new > $f; rm -f $f; mv $f x; done; mv sub sub2; \
         mkdir -p .pi/extensions new/.kiro new/.openoxide; echo > .pi/extensions/e.ts; echo > opencode.json; \
         echo > new/.kiro/x; echo > new/.openoxide/approvals.toml; echo > mise.toml",
    );
    for old in ["sub/.vscode/tasks.json", "a/.cargo/config.toml", "AGENTS.md"] {
        assert_eq!(fs::read_to_string(arena.path("w").join(old)).unwrap(), "old\n", "{old}");
    }
    for new in [".pi", "opencode.json", "new/.kiro", "new/.openoxide", "mise.toml"] {
        let path = arena.path("w").join(new);
        assert!(!path.exists(), "{new}");
        assert!(said.contains(&format!("new file `{}`", path.display())), "{new}: {said}");
    }
    assert!(arena.path("w/new/.openoxide.held-by-openoxide/approvals.toml").exists());
}

/// New repositories are found at any depth, and in directories with many other files.
#[test]
fn a_repository_is_found_at_any_depth_and_among_many_files() {
    let arena = Arena::new();
    let mark = arena.path("outside/ran");
    let deep = "d/".repeat(30);
    let script = format!(
        "mkdir -p {deep} junk; cd junk; seq 50500 | xargs touch; cd ..; for d in {deep}r junk/r; do git init -q $d; \
         git -C $d config core.fsmonitor 'touch {0}; true'; printf '#!/bin/sh\\ntouch {0}' > $d/.git/hooks/pre-commit; \
         chmod +x $d/.git/hooks/pre-commit; done",
        mark.display()
    );
    let said = inside(&arena, &script);
    for repository in [format!("{deep}r"), "junk/r".to_owned()] {
        host(&arena, &format!("cd {repository}; git status -s > /dev/null; {COMMIT}"));
        assert!(!ran(&arena), "{repository}: {said}");
    }
}

/// Repositories that are created while the program runs are quarantined while it runs: a server may
/// not end for a long time.
#[test]
fn a_repository_that_is_made_while_the_program_runs_is_not_obeyed_meanwhile() {
    let arena = Arena::new();
    host(&arena, "mkdir docs; mkdir -p old/refs old/objects");
    let mark = arena.path("outside/ran");
    let evil = format!("touch {0}; true", mark.display());
    let script = format!(
        "sleep 0.3; git init -q sub; git -C sub config core.fsmonitor '{evil}'; \
         cd docs; mkdir objects refs; echo ref: refs/heads/x > HEAD; \
         printf '[core]\\nbare = false\\nworktree = .\\nfsmonitor = \"{evil}\"\\n' > config; cd ..; \
         printf '[core]\\nfsmonitor = \"{evil}\"\\n' > old/config; echo ref: refs/heads/x > old/HEAD; \
         git init -q late; echo made > made; sleep 1; echo '[core]' >> late/.git/config; \
         printf 'fsmonitor = \"{evil}\"\\n' >> late/.git/config; git init -q fine; echo twice > made; exec sleep 60"
    );
    let mut run = arena.run(&[], &["sh", "-c", &script]).spawn().unwrap();
    let made = |text: &str| {
        let limit = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while fs::read_to_string(arena.path("w/made")).unwrap_or_default() != text {
            assert!(std::time::Instant::now() < limit);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        std::thread::sleep(std::time::Duration::from_secs(2));
    };
    made("made\n");
    for place in ["sub", "docs", "old"] {
        host(&arena, &format!("cd {place}; git status > /dev/null 2>&1 || true"));
        assert!(!ran(&arena), "{place}");
    }
    made("twice\n");
    host(&arena, "cd late; git status > /dev/null 2>&1 || true");
    assert!(!ran(&arena), "late");
    assert!(arena.path("w/fine/.git/config").exists());
    let kill = Command::new("kill").arg(run.id().to_string()).status().unwrap();
    assert!(kill.success());
    run.wait().unwrap();
    host(
        &arena,
        &format!(
            "cp sub/.git/config.held-by-openoxide sub/.git/config; cd sub; git status > /dev/null; test -e {}",
            mark.display()
        ),
    );
}

/// The user's configuration outside of the project refers to files in the project.
#[test]
fn files_that_the_users_own_configuration_leads_to_stay_as_they_are() {
    let arena = Arena::new();
    let files = [
        "included.cfg",
        "sub/conditional.cfg",
        "hook.sh",
        "key.sh",
        "docs/rules.md",
        "tools/x",
        "tools/y.run",
        "tools/z",
        "lib/m.pm",
    ];
    for name in files {
        let path = arena.path("w").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
    }
    let (work, home) = (arena.path("w"), arena.path("home"));
    let include = format!(
        "[include]\n\tpath = {0}/included.cfg\n\tpath = ../w/later.cfg\n[includeIf \"gitdir:/never/\"]\n\tpath = ~/../w/./sub/conditional.cfg\n",
        work.display()
    );
    fs::write(home.join(".gitconfig"), include).unwrap();
    fs::create_dir(home.join(".claude")).unwrap();
    let settings = r#"{"hooks": {"Stop": [{"hooks": [{"command": "sh ./hook.sh"}]}]}, "apiKeyHelper": "./key.sh"}"#;
    fs::write(home.join(".claude/settings.json"), settings).unwrap();
    fs::write(work.join("CLAUDE.md"), "Read @docs/rules.md first, and @free.json.\n").unwrap();
    fs::write(work.join("free.json"), "").unwrap();
    let git = |arguments: &[&str]| {
        let status =
            Command::new("git").args(arguments).current_dir(&work).env("HOME", "/").status();
        assert!(status.unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["config", "alias.a", "!sh -c \"cd tools && ./x\""]);
    git(&["config", "alias.b", "!./tools/*.run"]);
    git(&["config", "alias.c", "!T=tools; $T/z"]);
    git(&["config", "merge.d.driver", "perl -Ilib -mm %O"]);
    let write = "for f in \"$@\" lib/new.pm later.cfg; do echo changed > $f; done; echo changed > free.json";
    let arguments = [&["sh", "-c", write, "sh"], &files[..]].concat();
    let output = arena.run(&[], &arguments).output().unwrap();
    for name in files {
        assert_eq!(fs::read_to_string(work.join(name)).unwrap(), "", "{name}: {output:?}");
    }
    assert!(!work.join("lib/new.pm").exists() && !work.join("later.cfg").exists(), "{output:?}");
    assert_eq!(fs::read_to_string(work.join("free.json")).unwrap(), "changed\n", "{output:?}");
}
