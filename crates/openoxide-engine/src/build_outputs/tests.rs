use std::process::Command;

use openoxide_protocol::Action;

use super::*;
use crate::operation_facts::{CallLocation, collect_action_facts};

fn bash(place: &AbsPath, script: &str) {
    let done = Command::new("bash").args(["-ec", script]).current_dir(place.as_str()).status();
    assert!(done.unwrap().success(), "{script}");
}

/// A repository with build output that it ignores.
fn repository() -> (tempfile::TempDir, AbsPath) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let place = AbsPath::new(root.to_str().unwrap()).unwrap();
    bash(
        &place,
        "git init -q . && mkdir -p src dist/assets target/debug pkg/node_modules/x home && \
         echo 1 > src/a && echo 1 > dist/assets/b && echo 1 > target/debug/c && \
         touch pkg/node_modules/x/cert.pem pkg/code && \
         printf '/dist/\\ntarget\\nnode_modules/\\n__pycache__/\\n' > .gitignore && git add .",
    );
    (dir, place)
}

fn is_build_output(cwd: &AbsPath, script: &str) -> bool {
    let action = Action::Command { script: script.to_owned() };
    let facts = collect_action_facts(&action, "Bash", CallLocation { cwd, home: None });
    facts.accesses.iter().any(
        |access| matches!(access, Access::Exec(exec) if exec.cause == Some(REMOVES_BUILD_OUTPUT)),
    )
}

#[test]
fn ignored_build_output_is_found() {
    let (_dir, project) = repository();
    for script in [
        "rm -rf dist",
        "rm -rf ./dist/",
        "rm -r -f -- dist target",
        "rm -rf dist target/debug pkg/node_modules",
        "rm -rf dist missing/__pycache__",
        "rm -rf dist/assets",
        "rm dist/assets/b",
        "cd pkg && rm -rf node_modules",
        "rm -rf dist && npm run build",
        "cargo clean",
        "go clean -cache",
    ] {
        assert!(is_build_output(&project, script), "{script}");
    }
    // Git knows each of these files as ignored.
    let files = "dist/assets/b target/debug/c pkg/node_modules/x/cert.pem";
    bash(&project, &format!("git check-ignore {files} | wc -l | grep -qx 3"));
}

#[test]
fn other_removals_are_not_build_output() {
    let (_dir, project) = repository();
    for script in [
        "rm -rf src",
        "rm -rf dist src",
        "rm -rf .",
        "rm -r build",
        "rm -rf dist/..",
        "rm -rf dist/../src",
        "rm -rf target/../src",
        "rm dist",
        "rm -r missing/dist",
        "rm -rf dist/*",
        "rm -rf dist $DIR",
        "rm -rf \"$DIR/dist\"",
        "rm -rf /dist",
        "rm -rf ../dist",
        "rm -rf --no-preserve-root dist",
        "rm -rf dist -- --help",
        "mv src dist/src; rm -rf dist",
        "mv src pkg/dist; rm -rf pkg/dist",
        "cp -r src target/src && rm -rf target",
        "python3 x.py; rm -rf dist",
        "cd \"$DIR\" && rm -rf dist",
        "./rm -rf dist",
        "rm() { :; }; rm -rf dist",
        "cargo clean --target-dir src",
        "cargo clean --manifest-path ../x/Cargo.toml",
        "go clean -modcache",
        "go clean ../x",
        "make clean",
    ] {
        assert!(!is_build_output(&project, script), "{script}");
    }
}

#[test]
fn links_tracked_files_repositories_and_secrets_are_not_build_output() {
    for change in [
        // A link, at the end of the path or above.
        "rm -r dist && ln -s src dist",
        "rm -r dist && ln -s home dist",
        "mkdir -p real/assets && rm -r dist && ln -s real dist",
        // Tracked, also under another case.
        "git add -f dist/assets/b",
        "git add -f dist/assets/b && git mv -f dist/assets/b dist/assets/B && rm -f dist/assets/B && touch dist/assets/b",
        // Not ignored, or perhaps not.
        "echo target > .gitignore",
        "printf '/dist/\\n!/dist/\\n' > .gitignore",
        "printf '/dist/*\\n!/dist/assets/\\n' > .gitignore",
        "rm .gitignore && ln -s src/a .gitignore",
        // Another repository, also a bare one.
        "git init -q dist/assets/other",
        "git init -q --bare dist/assets/other",
        "mkdir dist/assets/.hg",
        "touch dist/assets/.git",
        // Secrets.
        "touch dist/assets/.env",
        "touch dist/assets/server.key",
        // No repository.
        "rm -rf .git",
    ] {
        let (_dir, project) = repository();
        bash(&project, change);
        for script in ["rm -rf dist", "rm -rf dist/assets", "cd dist && rm -rf ../dist"] {
            assert!(!is_build_output(&project, script), "{change}: {script}");
        }
    }
}

/// A directory that an outer repository tracks is not build output, although an inner one ignores
/// it.
#[test]
fn every_repository_above_is_examined() {
    let (_dir, project) = repository();
    bash(&project, "mkdir -p in/build && echo 1 > in/build/a && git add in");
    bash(&project, "git init -q in && echo build > in/.gitignore");
    let inner = project.join("in");
    assert!(!is_build_output(&inner, "rm -rf build"));
    bash(&project, "git rm -rq --cached in");
    assert!(is_build_output(&inner, "rm -rf build"));
}

#[test]
fn a_directory_with_too_many_entries_is_not_examined() {
    let (_dir, project) = repository();
    let steps = StepBudget::new();
    assert!(contains_only_output(&project.join("dist"), &steps));
    assert!(steps.take_steps(119_970) && !contains_only_output(&project.join("dist"), &steps));
}
