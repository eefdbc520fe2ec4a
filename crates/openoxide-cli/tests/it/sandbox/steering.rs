//! Files that host programs execute or obey: existing ones stay unchanged, and new ones of any kind
//! are quarantined.

use std::{
    fs,
    process::Command,
    thread,
    time::{Duration, Instant},
};

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

/// Files from which an editor, a language server, a build server or an agent takes commands when it
/// opens the directory.
#[test]
fn new_files_that_start_servers_are_quarantined_and_build_files_are_not() {
    let arena = Arena::new();
    let quarantined = [
        ".bsp/sbt.json",
        "sub/rust-analyzer.toml",
        "hie.yaml",
        ".sourcekit-lsp/config.json",
        "buildServer.json",
        ".kateproject",
        "gptme.toml",
        "conductor.json",
        ".lsp/config.edn",
        ".luarc.json",
        ".ropeproject/config.py",
        "x.pro.user",
        ".RData",
    ];
    let kept = ["Makefile", "package.json", "pyproject.toml", "lakefile.lean", "Procfile"];
    let create = |name: &&str| format!("mkdir -p $(dirname {name}); echo x > {name}; ");
    let script: String = quarantined.iter().chain(&kept).map(create).collect();
    let said = inside(&arena, &script);
    for name in quarantined {
        assert!(!arena.path("w").join(name).exists(), "{name}: {said}");
    }
    for name in kept {
        assert!(arena.path("w").join(name).exists(), "{name}: {said}");
    }
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

/// Waits until the program has written this text into `made`.
fn wait_for_text(arena: &Arena, text: &str) {
    let limit = Instant::now() + Duration::from_secs(60);
    while fs::read_to_string(arena.path("w/made")).unwrap_or_default() != text {
        assert!(Instant::now() < limit);
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_secs(1));
}

/// Repositories that are created while the program runs are quarantined while it runs: a server may
/// not end for a long time.
#[test]
fn a_repository_that_is_made_while_the_program_runs_is_not_obeyed_meanwhile() {
    const LARGE: &str = "yes '# text' | head -c 1100000";
    for (place, script) in [
        ("sub", "git init -q sub; git -C sub config core.fsmonitor 'EVIL'"),
        (
            "docs",
            "cd docs; mkdir objects refs; echo ref: refs/heads/x > HEAD; \
             printf '[core]\nbare = false\nworktree = .\nfsmonitor = \"EVIL\"\n' > config",
        ),
        (
            "old",
            "printf '[core]\nfsmonitor = \"EVIL\"\n' > old/config; echo ref: refs/heads/x > old/HEAD",
        ),
        (
            "late",
            "git init -q late; sleep 0.5; echo '[core]' >> late/.git/config; printf 'fsmonitor = \"EVIL\"\n' >> late/.git/config",
        ),
        // Another name of the same file.
        (
            "linked",
            "git init -q linked; ln linked/.git/config other; sleep 0.5; printf '[core]\nfsmonitor = \"EVIL\"\n' >> other",
        ),
        // A change that the kernel does not report.
        (
            "mapped",
            "git init -q mapped; yes '' | head -c 2000 >> mapped/.git/config; sleep 0.5; python3 -c \"import mmap, time\n\
             file = open('mapped/.git/config', 'r+b'); text = mmap.mmap(file.fileno(), 0)\n\
             line = b'\\n[core]\\nfsmonitor = \\x22EVIL\\x22\\n'; text[-len(line):] = line\ntime.sleep(60)\" & sleep 0.5",
        ),
        // Configuration that is larger than what is read.
        (
            "large",
            "git init -q large; { LARGE; printf '\n[core]\nfsmonitor = \"EVIL\"\n'; } >> large/.git/config",
        ),
    ] {
        let arena = Arena::new();
        host(&arena, "mkdir docs; mkdir -p old/refs old/objects");
        let evil = format!("touch {}; true", arena.path("outside/ran").display());
        let script = script.replace("EVIL", &evil).replace("LARGE", LARGE);
        let script =
            format!("sleep 0.3; ({script}); git init -q fine; echo made > made; exec sleep 60");
        let mut run = arena.run(&[], &["sh", "-c", &script]).spawn().unwrap();
        wait_for_text(&arena, "made\n");
        host(&arena, &format!("cd {place}; git status > /dev/null 2>&1 || true"));
        assert!(!ran(&arena), "{place}");
        assert!(arena.path("w/fine/.git/config").exists());
        let kill = Command::new("kill").arg(run.id().to_string()).status().unwrap();
        assert!(kill.success());
        run.wait().unwrap();
        if matches!(place, "docs" | "old") {
            continue;
        }
        // The configuration really does run something.
        host(
            &arena,
            &format!(
                "cd {place}; cp .git/config.held-by-openoxide .git/config; git status > /dev/null; test -e {}",
                arena.path("outside/ran").display()
            ),
        );
    }
}

/// Files that a program of the host executes without a question are quarantined while the program
/// runs, also if it is still writing them. It can continue to write.
#[test]
fn files_that_run_when_they_are_present_are_not_obeyed_meanwhile() {
    let arena = Arena::new();
    let evil = format!("[hooks]\\npre-status = touch {}\\n", arena.path("outside/ran").display());
    let script = format!(
        "sleep 0.3; cp -r old new; {{ printf '{evil}'; sleep 0.3; echo '# end'; }} > new/.hg/hgrc; \
         mkdir -p sub/.pi/extensions; echo x > sub/opencode.json; echo x > sub/.pi/extensions/e.ts; \
         echo made > made; exec sleep 60"
    );
    // Mercurial is not installed everywhere.
    let has_hg = Command::new("hg").arg("--version").output().is_ok();
    host(&arena, if has_hg { "hg init old" } else { "mkdir -p old/.hg" });
    let mut run = arena.run(&[], &["sh", "-c", &script]).spawn().unwrap();
    wait_for_text(&arena, "made\n");
    if has_hg {
        host(&arena, "cd new; hg status");
    }
    assert!(!ran(&arena));
    for name in ["new/.hg/hgrc", "sub/opencode.json", "sub/.pi/extensions/e.ts"] {
        assert!(!arena.path("w").join(name).exists(), "{name}");
    }
    let kill = Command::new("kill").arg(run.id().to_string()).status().unwrap();
    assert!(kill.success());
    run.wait().unwrap();
    let held = fs::read_to_string(arena.path("w/new/.hg/hgrc.held-by-openoxide")).unwrap();
    assert!(held.ends_with("# end\n"), "{held}");
    if has_hg {
        // The configuration really does run something.
        host(&arena, "cd new; mv .hg/hgrc.held-by-openoxide .hg/hgrc; hg status");
        assert!(ran(&arena));
    }
}

/// A program cannot repeat the short time until the quarantine: the second time ends the run.
#[test]
fn a_second_repository_that_runs_something_ends_the_run() {
    let hook = |place: &str, name: &str| {
        format!(
            "{{ echo '#!/bin/sh'; }} > {place}/.git/hooks/{name}; chmod +x {place}/.git/hooks/{name}; "
        )
    };
    let config = |place: &str| format!("git -C {place} config core.fsmonitor true; ");
    for (name, script, ends) in [
        (
            "another repository",
            "git init -q a; ".to_owned() + &config("a") + "git init -q b; " + &config("b"),
            true,
        ),
        (
            "the same file",
            "git init -q a; ".to_owned()
                + &hook("a", "update")
                + "sleep 0.3; "
                + &hook("a", "update"),
            true,
        ),
        (
            "several hooks of one repository",
            "git init -q a; ".to_owned()
                + &hook("a", "update")
                + &hook("a", "pre-commit")
                + &config("a"),
            false,
        ),
        (
            "repositories that run nothing",
            "for n in a b c; do git init -q $n; git clone -q $n $n.2; done; ".to_owned(),
            false,
        ),
    ] {
        let arena = Arena::new();
        let script = format!("sleep 0.1; {script} sleep 0.3; echo end > end; sleep 0.1");
        let output = arena.run(&[], &["sh", "-c", &script]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(arena.path("w/end").exists(), !ends, "{name}: {text}");
        assert_eq!(output.status.code(), Some(if ends { 137 } else { 0 }), "{name}: {text}");
        assert_eq!(text.contains("the program was killed: `"), ends, "{name}: {text}");
        for file in ["a/.git/hooks/update", "a/.git/config", "b/.git/config"] {
            let harmless = name == "repositories that run nothing"
                || file == "a/.git/config" && name == "the same file";
            assert!(harmless || !arena.path("w").join(file).exists(), "{name}: {file}: {text}");
        }
    }
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
