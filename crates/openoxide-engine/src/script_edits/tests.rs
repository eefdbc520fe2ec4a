use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use openoxide_protocol::{AbsPath, Access, Action, CommandClass, OperationFacts};

use crate::{CallLocation, collect_action_facts};

/// A project with a repository that git made, a directory `docs` and a directory `evil` that holds all of a repository.
fn project() -> (tempfile::TempDir, AbsPath) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("p");
    for name in ["docs", "evil/objects", "evil/refs", "sub/deep", "x"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::write(root.join("evil/HEAD"), "ref: refs/heads/m").unwrap();
    fs::write(root.join("evil/config"), "[core]\n\tfsmonitor = ./x\n").unwrap();
    fs::write(root.join("notes.txt"), "").unwrap();
    let git = Command::new("git").args(["init", "-q"]).arg(&root).status();
    assert!(git.unwrap().success());
    let path = AbsPath::new(root.to_str().unwrap()).unwrap();
    (dir, path)
}

fn facts(script: &str, cwd: &AbsPath) -> OperationFacts {
    let action = Action::Command { script: script.to_owned() };
    collect_action_facts(&action, "Bash", CallLocation { cwd, home: None })
}

/// Returns the class of the command with this text.
fn class(script: &str, words: &str, cwd: &AbsPath) -> CommandClass {
    let found = facts(script, cwd).accesses.into_iter().find_map(|access| {
        let Access::Exec(exec) = access else { return None };
        (exec.text == words).then_some(exec.class)
    });
    found.unwrap_or_else(|| panic!("{script}: no {words}"))
}

#[test]
fn a_command_that_obeys_a_file_edited_by_the_script_is_not_harmless() {
    let (_dir, cwd) = project();
    for (script, command) in [
        (
            "mkdir -p docs/objects docs/refs; echo 'ref: refs/heads/m' > docs/HEAD; \
             printf '[core]\\n\\tfsmonitor = touch PWN; false\\n' > docs/config; cd docs && git status",
            "git status",
        ),
        ("echo '[toolchain]' > rust-toolchain.toml; cargo --version", "cargo --version"),
        ("mkdir .mvn; echo -X > .mvn/jvm.config; mvn --version", "mvn --version"),
        ("echo 'nodejs path:x' > .tool-versions; node --version", "node --version"),
        ("echo '{}' > global.json; dotnet --version", "dotnet --version"),
        ("mkdir .bundle; touch .bundle/config; bundle --version", "bundle --version"),
        ("touch .pnpmfile.cjs; pnpm list", "pnpm list"),
        ("touch bunfig.toml; bun pm ls", "bun pm ls"),
        ("mkdir -p .poetry/plugins; poetry version", "poetry version"),
        ("mkdir -p node_modules/xo; xo --version", "xo --version"),
        // Further ways to the same files.
        ("cp -r evil docs2; cd docs2; git log", "git log"),
        ("mv evil docs; git -C docs/evil log", "git -C docs/evil log"),
        (
            "ln -s ../evil/HEAD docs/HEAD; ln -s ../evil/objects docs/objects; git -C docs log",
            "git -C docs log",
        ),
        ("ln -s evil y; cd y; git status", "git status"),
        ("cp evil/* docs; git -C docs status", "git -C docs status"),
        ("cp evil/{HEAD,config} docs; git -C docs status", "git -C docs status"),
        ("tee docs/HEAD < evil/HEAD; git -C docs status", "git -C docs status"),
        ("dd if=evil/HEAD of=docs/HEAD; git -C docs diff", "git -C docs diff"),
        ("cat evil/HEAD > docs/HEAD; git -C docs log | cat", "git -C docs log"),
        ("npm install; git status", "git status"),
        ("tar xf a.tar; git status", "git status"),
        ("git checkout main; git status", "git status"),
        ("unknown | git status", "git status"),
        ("unknown & git status", "git status"),
        ("git status & unknown", "git status"),
        ("for i in 1 2; do git status; unknown; done", "git status"),
        ("trap unknown DEBUG; git status", "git status"),
        ("npm install && node --version", "node --version"),
        ("cp x git; git status", "git status"),
        ("cat x | tee package.json; npm --version", "npm --version"),
        ("touch '.npmrc'; npm view x", "npm view x"),
        ("test -d x && cd sub; touch global.json; dotnet --version", "dotnet --version"),
    ] {
        assert_ne!(class(script, command, &cwd), CommandClass::Harmless, "{script}");
    }
}

#[test]
fn other_edits_leave_a_command_harmless() {
    let (_dir, cwd) = project();
    for (script, command) in [
        ("touch notes.txt; git status", "git status"),
        ("mkdir build && git log", "git log"),
        ("echo x > docs/config; git status", "git status"),
        ("git status; npm install", "git status"),
        ("git diff && make test", "git diff"),
        ("git status > out.txt", "git status"),
        ("git log --oneline | head -3 | tee log.txt", "git log --oneline"),
        ("npm install; ls", "ls"),
        ("echo x > src.rs; cargo --version", "cargo --version"),
        ("echo x > HEAD.md; git status", "git status"),
        ("cargo --version; touch Cargo.toml", "cargo --version"),
    ] {
        assert_eq!(class(script, command, &cwd), CommandClass::Harmless, "{script}");
    }
}

#[test]
fn a_command_that_edits_named_files_keeps_its_class() {
    let (_dir, cwd) = project();
    for (script, command) in [
        ("touch notes.txt; git status", "touch notes.txt"),
        ("mkdir build && git log", "mkdir build"),
        ("cp notes.txt y; touch y", "touch y"),
    ] {
        assert_eq!(class(script, command, &cwd), CommandClass::Edits, "{script}");
    }
    // A wrapper is checked by the command that it starts, which is listed separately.
    for script in [
        "timeout 5 npm test",
        "nohup npm run build",
        "env CI=1 make x; nice make x",
        "sh -c 'npm run build'",
    ] {
        let accesses = facts(script, &cwd).accesses.into_iter();
        let harmless = accesses.filter(
            |access| matches!(access, Access::Exec(exec) if exec.class == CommandClass::Harmless),
        );
        assert!(harmless.count() > 0, "{script}");
    }
}

/// `cd` goes through the link, and git looks above the real directory.
#[test]
fn a_repository_is_found_above_where_a_link_leads() {
    let (_dir, cwd) = project();
    let root = Path::new(cwd.as_str());
    fs::create_dir(root.join("evil/inner")).unwrap();
    symlink("evil/inner", root.join("way")).unwrap();
    assert_ne!(class("cd way && git status", "git status", &cwd), CommandClass::Harmless);
    assert_eq!(class("cd sub && git status", "git status", &cwd), CommandClass::Harmless);
    fs::write(root.join("evil/global.json"), "{\"paths\": []}").unwrap();
    assert_ne!(
        class("cd way && dotnet --version", "dotnet --version", &cwd),
        CommandClass::Harmless
    );
}

fn is_found(script: &str, cwd: &AbsPath) -> bool {
    facts(script, cwd).findings.iter().any(|finding| finding.code == "OX106")
}

/// In bash, each `cd` to a missing directory fails, and the last one succeeds.
#[test]
fn a_repository_is_found_after_any_number_of_cds_that_may_fail() {
    let (_dir, cwd) = project();
    fs::create_dir_all(Path::new(cwd.as_str()).join("sub/deep")).unwrap();
    for count in [1, 5, 6, 7, 12, 80] {
        let missing: String = (0..count).map(|number| format!("cd x{number}; ")).collect();
        assert!(is_found(&format!("{missing}cd evil; git log"), &cwd), "{count}");
        assert!(is_found(&format!("{missing}mkdir q; cd evil; git log"), &cwd), "{count}");
        assert!(!is_found(&format!("{missing}cd sub; git log"), &cwd), "{count}");
    }
    let repeated = "cd sub; git log; cd -; ".repeat(20);
    assert!(!is_found(&repeated, &cwd));
    assert!(is_found(&format!("{repeated}cd evil; git log"), &cwd));
}

/// A rule such as `Bash(git log *)` does not lift a finding.
#[test]
fn git_in_a_repository_that_is_content_of_the_project_is_found() {
    let (_dir, cwd) = project();
    let root = Path::new(cwd.as_str());
    for script in [
        "cd evil && git log",
        "git -C evil log",
        "git -C evil/objects commit -m x",
        "cd evil/refs; timeout 3 git fetch",
        "mkdir docs/objects docs/refs; touch docs/HEAD; git -C docs log",
    ] {
        assert!(is_found(script, &cwd), "{script}");
    }
    for script in
        ["git log", "cd sub && git log", "git -C docs push", "touch docs/x; git -C docs log"]
    {
        assert!(!is_found(script, &cwd), "{script}");
    }
    // A clone inside of a project is one of git's own making; what configures programs in it is not.
    let git = Command::new("git").args(["init", "-q"]).arg(root.join("sub")).status();
    assert!(git.unwrap().success());
    assert!(!is_found("git -C sub log", &cwd));
    fs::write(root.join("sub/.git/config"), "[core]\n\tfsmonitor = ./x\n").unwrap();
    assert!(is_found("git -C sub log", &cwd));
    // Who works in that repository itself has chosen it.
    fs::remove_dir_all(root.join(".git")).unwrap();
    assert!(!is_found("git log", &cwd.join("sub")));
    assert!(!is_found("git log", &cwd.join("evil")));
}
