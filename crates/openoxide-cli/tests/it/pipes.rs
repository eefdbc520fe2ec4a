//! Named pipes in a project, where the hook reads files: it does not wait for a writer.

use std::{fs, process::Command};

use serde_json::Value;

use crate::support::World;

/// The files that a decision reads, and a command whose decision reads them.
const FILES: &[(&str, &str)] = &[
    (".ignore", "rg x"),
    (".rgignore", "rg x"),
    (".fdignore", "rg x"),
    (".gitignore", "grep -r x ."),
    (".git/info/exclude", "rg x"),
    (".git/config", "git status"),
    (".git/HEAD", "git status"),
    (".git/index", "git grep x"),
    (".git/commondir", "git status"),
    (".gitmodules", "git status"),
    (".gitattributes", "git diff"),
    (".npmrc", "npm ls"),
    ("package.json", "npm ls"),
    ("pnpm-workspace.yaml", "pnpm ls"),
    ("pyproject.toml", "black --check a.py"),
    ("rust-toolchain.toml", "cargo --version"),
    ("Cargo.toml", "cargo metadata"),
    ("go.mod", "go list"),
    ("Makefile", "make -n"),
    ("justfile", "just --list"),
    ("mise.toml", "node --version"),
    (".tool-versions", "node --version"),
    ("x.sh", "sh x.sh"),
    ("x.patch", "git apply x.patch"),
    ("names", "tar -tf names"),
    (".env", "docker compose ps"),
    ("compose.yaml", "docker compose ps"),
    (".claude/settings.json", "ls"),
    (".claude/settings.local.json", "ls"),
    (".openoxide/policy.toml", "ls"),
    ("deno.json", "deno fmt --check"),
    ("data.db", "sqlite3 data.db .tables"),
    ("list", "xargs -a list cat"),
    ("prog.awk", "awk -f prog.awk a"),
    ("prog.jq", "jq -f prog.jq a"),
];

#[test]
fn a_pipe_in_the_project_delays_no_decision() {
    for (file, script) in FILES {
        let world = World::new();
        let git = world.project().join(".git");
        for directory in ["objects", "refs", "info"] {
            fs::create_dir_all(git.join(directory)).unwrap();
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
        let path = world.project().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        drop(fs::remove_file(&path));
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let output = world.run(&["check", "--json", "-c", script], b"");
        let text = String::from_utf8_lossy(&output.stdout);
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert!(answer["decision"].is_string(), "{file}: {text}");
        assert!(!text.contains("took too long"), "{file}: {text}");
    }
}
