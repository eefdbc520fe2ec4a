use std::path::PathBuf;

use openoxide_protocol::{Action, OperationFacts};

use super::*;
use crate::{CallLocation, collect_action_facts};

const CLONED: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://x.io/a.git\n";
const HOSTILE: &str = "[core]\n\tfsmonitor = touch x; false\n";

fn accesses(script: &str, cwd: &Path) -> Vec<Access> {
    let cwd = AbsPath::new(cwd.to_str().unwrap()).unwrap();
    let action = Action::Command { script: script.to_owned() };
    let OperationFacts { accesses, .. } =
        collect_action_facts(&action, "Bash", CallLocation { cwd: &cwd, home: None });
    accesses
}

/// Returns whether every program of the script is harmless in this directory.
fn is_harmless(script: &str, cwd: &Path) -> bool {
    accesses(script, cwd).iter().all(|access| {
        if let Access::Exec(exec) = access {
            return exec.class == CommandClass::Harmless;
        }
        !matches!(access, Access::Opaque { .. })
    })
}

fn is_opaque(script: &str, cwd: &Path) -> bool {
    accesses(script, cwd).iter().any(|access| matches!(access, Access::Opaque { .. }))
}

/// Makes a repository of git whose configuration has this text.
fn repository(git: &Path, config: &str) {
    for name in ["objects", "refs"] {
        fs::create_dir_all(git.join(name)).unwrap();
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main").unwrap();
    fs::write(git.join("config"), config).unwrap();
}

fn project() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().canonicalize().unwrap().join("p");
    fs::create_dir_all(project.join("src")).unwrap();
    repository(&project.join(".git"), CLONED);
    (dir, project)
}

const STARTS_ANY: [&str; 5] = [
    "go list ./...",
    "go list -json",
    "go list -deps -f '{{.Dir}}' ./cmd",
    "cd src && go list ./...",
    "env go list ./...",
];
const STARTS_GIT: [&str; 7] = [
    "ag x src",
    "git status",
    "isort --check .",
    "isort --check-only src",
    "isort -c src/a.py",
    "delta a b",
    "time isort --check .",
];

#[test]
fn a_harmless_repository_keeps_commands_that_start_git_harmless() {
    let (_dir, project) = project();
    for script in STARTS_ANY.iter().chain(&STARTS_GIT) {
        assert!(is_harmless(script, &project), "{script}");
    }
}

#[test]
fn a_hostile_repository_makes_commands_that_start_git_ask() {
    let (_dir, project) = project();
    fs::write(project.join(".git/config"), HOSTILE).unwrap();
    for script in STARTS_ANY.iter().chain(&STARTS_GIT) {
        assert!(!is_harmless(script, &project), "{script}");
    }
    for script in ["go version", "ls", "black --check ."] {
        assert!(is_harmless(script, &project), "{script}");
    }
}

#[test]
fn metadata_of_another_system_makes_commands_that_search_for_it_ask() {
    for marker in WORKING_COPY_MARKERS {
        let (_dir, project) = project();
        fs::create_dir_all(project.join("src")).unwrap();
        fs::write(project.join(marker), "").unwrap();
        for script in STARTS_ANY {
            assert!(!is_harmless(script, &project), "{script} with {marker}");
            assert!(!is_harmless(script, &project.join("src")), "{script} below {marker}");
        }
        for script in STARTS_GIT {
            assert!(is_harmless(script, &project), "{script} with {marker}");
        }
    }
}

#[test]
fn an_embedded_repository_makes_commands_that_run_git_there_ask() {
    let (_dir, project) = project();
    repository(&project.join("src/.git"), HOSTILE);
    repository(&project.join("bare"), HOSTILE);
    for script in [
        "isort --check src",
        "isort --check src/a.py",
        "isort -c . bare",
        "isort -c bare/x.py",
        "cd src && isort --check .",
        "cd bare && go list",
        "find . -execdir git status \\;",
    ] {
        assert!(!is_harmless(script, &project), "{script}");
    }
    assert!(is_harmless("git diff src", &project), "git looks above its own directory only");
}

#[test]
fn a_word_is_a_remote_only_if_the_configuration_names_it_and_nothing_has_its_name() {
    let (_dir, project) = project();
    repository(&project.join("evilrepo"), "[tar \"tgz\"]\n\tcommand = touch x\n\tremote = true\n");
    assert!(is_harmless("git remote show -n origin", &project));
    assert!(!is_harmless("git remote show -n other", &project));
    for script in [
        "git archive --remote=evilrepo --format=tgz master",
        "git archive --remote=./evilrepo --format=tgz master",
        "git push evilrepo main",
        "git push ./evilrepo main",
        "git push --repo=evilrepo",
        "git -C src push ../evilrepo",
    ] {
        assert!(is_opaque(script, &project), "{script}");
    }
    for script in ["git push origin main", "git fetch evilrepo", "git archive --remote=origin HEAD"]
    {
        assert!(!is_opaque(script, &project) && !is_harmless(script, &project), "{script}");
    }
    fs::create_dir(project.join("origin")).unwrap();
    assert!(!is_harmless("git remote show -n origin", &project));
    assert!(is_opaque("git push origin main", &project));
}

#[test]
fn project_files_that_name_hosts_make_commands_that_read_them_ask() {
    let (_dir, project) = project();
    for (script, file, plain, hostile) in [
        ("docker compose ps", "compose.yaml", "services: {}\n", "include: [oci://x.io/y]\n"),
        ("docker compose config --services", "docker-compose.yml", "", "\"inclu\\u0064e\": []\n"),
        ("docker-compose logs", "compose.override.yml", "", "services: {a: {extends: {}}}\n"),
        ("docker compose ps", ".env", "A=1\n", "COMPOSE_FILE=https://x.io/y.git\n"),
        ("go mod graph", "go.mod", "module m\n", "module m\nrequire x.io/y v1.0.0\n"),
        ("go list -m all", "go.work", "go 1.22\n", "replace a => x.io/y v1.0.0\n"),
    ] {
        fs::write(project.join(file), plain).unwrap();
        assert!(is_harmless(script, &project), "{script}");
        fs::write(project.join(file), hostile).unwrap();
        assert!(!is_harmless(script, &project), "{script}");
        assert!(is_harmless("docker ps", &project) && is_harmless("go version", &project));
        fs::remove_file(project.join(file)).unwrap();
    }
}
