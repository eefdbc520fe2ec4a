//! The structure of the workspace: imports between crates and modules, and the documents.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    process::Command,
};

use serde_json::Value;

use crate::support::workspace;

/// The crates, with the crates of this workspace that each imports.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("permission", &["protocol"]),
    ("shell", &["protocol"]),
    ("sandbox", &["protocol"]),
    ("tui", &["protocol"]),
    ("adapters", &["permission", "protocol", "shell"]),
    ("codex", &["adapters", "permission", "protocol", "shell"]),
    ("starlark", &["adapters", "codex"]),
    ("store", &["permission", "protocol"]),
    // Every command uses the engine. It reads policies (store) and calls of agents (adapters),
    // decides (permission), and runs commands (sandbox). It draws nothing and parses no arguments.
    ("engine", &["adapters", "permission", "protocol", "sandbox", "shell", "store"]),
    // The formats of policy files, for every program that lets a person name one.
    ("formats", &["adapters", "codex", "permission", "protocol", "store"]),
    (
        "cli",
        &[
            "adapters",
            "codex",
            "engine",
            "formats",
            "permission",
            "protocol",
            "sandbox",
            "shell",
            "starlark",
            "store",
            "tui",
        ],
    ),
];

/// External crates, with the crates that import them.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("tokio", &["engine"]),
    ("crossterm", &["tui"]),
    ("clap", &["cli", "formats"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("annotate-snippets", &["cli"]),
    ("landlock", &["sandbox"]),
    ("libc", &["sandbox"]),
    ("toml", &["adapters", "codex", "shell", "store"]),
    ("toml_edit", &["codex", "store"]),
    ("rustix", &["cli", "engine", "sandbox", "starlark"]),
    ("sha2", &["codex", "engine", "store"]),
    ("hmac", &["sandbox", "store"]),
    ("sha1", &["engine", "sandbox"]),
    ("signature", &["sandbox"]),
    ("ssh-key", &["sandbox"]),
    ("rusqlite", &["store"]),
    ("signal-hook", &["cli"]),
    ("similar", &["cli"]),
    ("tungstenite", &["codex"]),
    ("tree-sitter", &["adapters", "codex"]),
    ("tree-sitter-bash", &["adapters"]),
    ("jsonc-parser", &["adapters", "codex"]),
    ("serde-saphyr", &["adapters"]),
    ("starlark", &["starlark"]),
    ("starlark_syntax", &["starlark"]),
];

/// Returns each crate of the workspace with its dependencies, without those of tests.
fn imports() -> BTreeMap<String, Vec<String>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let output = command.current_dir(workspace()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let package = |package: &Value| {
        let normal = |of: &&Value| of["kind"].is_null() || of["kind"] == "build";
        let name = |of: &Value| of["name"].as_str().unwrap().to_owned();
        let imports = package["dependencies"].as_array().unwrap().iter().filter(normal).map(name);
        (name(package), imports.collect())
    };
    metadata["packages"].as_array().unwrap().iter().map(package).collect()
}

fn short(name: &str) -> Option<&str> {
    name.strip_prefix("openoxide-")
}

/// Guards I01.
#[test]
fn each_crate_imports_only_from_the_floors_below() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (name, imports) in imports() {
        let Some(name) = short(&name) else { continue };
        let allowed = MAY_IMPORT.iter().find(|(of, _)| *of == name);
        let allowed = allowed.unwrap_or_else(|| panic!("`{name}` is not in the table of crates")).1;
        let upward: Vec<&str> = imports.iter().filter_map(|import| short(import)).collect();
        wrong.extend(
            upward
                .iter()
                .filter(|import| !allowed.contains(import))
                .map(|import| format!("`{name}` must not import `{import}`")),
        );
        let unused = allowed.iter().filter(|other| !upward.contains(other));
        wrong.extend(unused.map(|other| format!("`{name}` does not import `{other}`")));
        seen += 1;
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(seen, MAY_IMPORT.len(), "the table names a crate that is not there");
}

/// Guards I01.
#[test]
fn outside_crates_stay_in_their_rooms() {
    let (mut wrong, all) = (Vec::new(), imports());
    for (outsider, rooms) in ONLY_IN {
        let importers: Vec<&str> = all
            .iter()
            .filter(|(_, imports)| imports.iter().any(|import| import == outsider))
            .filter_map(|(name, _)| short(name))
            .collect();
        let strangers = importers.iter().filter(|name| !rooms.contains(name));
        wrong.extend(strangers.map(|name| format!("`{name}` must not import `{outsider}`")));
        let unused = rooms.iter().filter(|room| !importers.contains(room));
        wrong.extend(unused.map(|room| format!("`{room}` does not import `{outsider}` any more")));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// The names in the permission crate that make a decision.
const DECIDES: &[&str] =
    &["PermissionGate", "decide_access", "evaluate", "evaluate_effect", "evaluate_with_hooks"];

/// Returns the names that a source file imports from a crate, or uses with the name of the crate.
fn names_from(crate_name: &str, text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = Vec::new();
    for (_, rest) in text.match_indices(crate_name).map(|(at, _)| text.split_at(at)) {
        let Some(rest) = rest.strip_prefix(crate_name).and_then(|rest| rest.strip_prefix("::"))
        else {
            continue;
        };
        let list = match rest.starts_with('{') {
            true => rest.split(';').next(),
            false => rest.split(|c: char| !is_word(c)).next(),
        };
        let list = list.unwrap_or_default();
        names.extend(list.split(|c: char| !is_word(c)).map(str::to_owned));
    }
    names
}

/// Returns the privileges of the engine that a source file uses: deciding, using grants, and writing
/// records.
fn engine_privileges(text: &str) -> Vec<&'static str> {
    let names = names_from("openoxide_permission", text);
    let decides = names.iter().any(|name| DECIDES.contains(&name.as_str()));
    let all = [
        ("decides", decides),
        ("uses grants", text.contains(".consume_use(")),
        ("writes records", text.contains("Journal") && text.contains(".append(")),
    ];
    all.into_iter().filter(|(_, holds)| *holds).map(|(what, _)| what).collect()
}

/// A caller that decides without the engine can forget a limited grant, a hook or the record. The
/// crates that the engine is built on own the parts that it uses, and test them without the engine.
///
/// Guards I24.
#[test]
fn only_the_engine_decides_uses_grants_up_and_writes_records() {
    let owners = ["openoxide-permission/src/", "openoxide-store/src/"];
    let without_engine = ["permission/", "store/", "adapters/", "codex/", "starlark/"];
    let (mut wrong, mut engine) = (Vec::new(), Vec::new());
    for (path, text) in sources() {
        let shown = path.strip_prefix(workspace()).unwrap().to_string_lossy().into_owned();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let is_test = shown.contains("/tests/") || shown.ends_with("/tests.rs");
        let is_own_test = is_test && without_engine.iter().any(|name| shown.contains(name));
        let is_owner = owners.iter().any(|name| shown.contains(name));
        if shown.contains("openoxide-engine/src/") {
            engine.extend(engine_privileges(text));
        } else if !is_own_test && !is_owner && !shown.ends_with("it/house.rs") {
            wrong.extend(engine_privileges(text).iter().map(|what| format!("{shown} {what}")));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    engine.sort_unstable();
    engine.dedup();
    assert_eq!(engine, ["decides", "uses grants", "writes records"], "nothing is looked for");
}

/// A permit is redeemed by a planned run, which the engine starts. The CLI itself starts only the
/// evaluator of rule files, for `sandbox run` a program that no policy concerns, and for `doctor` the
/// hooks in the user's own settings, which the agents start anyway. The shell tool of the Python
/// package runs a command that its own rules, and its caller's, have allowed.
///
/// Guards I24.
#[test]
fn only_the_engine_starts_permitted_programs() {
    let starters = [
        "starlark_process.rs",
        "commands/doctor/test_call.rs",
        "commands/sandbox/sandbox_run.rs",
        "confined_run.rs",
    ];
    let starts = [
        "Command::new(",
        "ConfinedRun::start(",
        "run_confined(",
        "supervise(",
        "supervise_with_backend(",
    ];
    let roots = ["crates/openoxide-cli/src", "crates/openoxide-formats/src", "bindings/python/src"];
    let roots = roots.map(|root| workspace().join(root));
    let (mut wrong, mut found) = (Vec::new(), BTreeSet::new());
    for (path, text) in sources() {
        let inner = roots.iter().find_map(|root| path.strip_prefix(root).ok());
        let Some(inner) = inner else { continue };
        let text = text.replace("clap::Command::new(", "");
        if starts.iter().any(|start| text.contains(start)) {
            match starters.iter().find(|starter| inner.ends_with(starter)) {
                Some(starter) => drop(found.insert(*starter)),
                None => wrong.push(inner.to_owned()),
            }
        }
    }
    assert_eq!(wrong, Vec::<PathBuf>::new());
    assert_eq!(found.len(), starters.len(), "nothing is looked for");
}

/// Returns the source files of the crates, the bindings and the development tasks.
pub(crate) fn sources() -> Vec<(PathBuf, String)> {
    let mut open = ["crates", "xtask", "bindings"].map(|name| workspace().join(name)).to_vec();
    let mut found = Vec::new();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}

#[test]
fn every_module_begins_with_a_description() {
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|(path, text)| !text.starts_with("//!") && !path.ends_with("tests.rs"))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(silent, Vec::<PathBuf>::new());
}

#[test]
fn only_the_sandbox_may_be_unsafe() {
    for (path, text) in sources() {
        if path.ends_with("src/lib.rs") || path.ends_with("openoxide-cli/src/main.rs") {
            let sandbox = path.to_string_lossy().contains("openoxide-sandbox");
            assert!(sandbox || text.contains("#![forbid(unsafe_code)]"), "{}", path.display());
        }
    }
}

/// The lint `unsafe_code` is denied in the workspace, and only `sys` is excepted from it.
#[test]
fn only_one_module_of_the_sandbox_is_unsafe() {
    let exceptions = |text: &str| {
        let lines = text.lines().map(str::trim_start);
        lines.filter(|line| line.starts_with("#") && line.contains("unsafe_code")).count()
    };
    let sandbox = workspace().join("crates/openoxide-sandbox");
    let excepted: Vec<_> = sources()
        .into_iter()
        .filter(|(path, text)| path.starts_with(&sandbox) && exceptions(text) > 0)
        .map(|(path, text)| (path, exceptions(&text)))
        .collect();
    assert_eq!(excepted, [(sandbox.join("src/lib.rs"), 1)]);
    let lib = fs::read_to_string(sandbox.join("src/lib.rs")).unwrap();
    let (_, after) = lib.split_once("(unsafe_code").unwrap();
    assert_eq!(after.lines().nth(1), Some("mod sys;"));
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("\nunsafe_code = \"deny\"\n"));
}

/// The modules of the sandbox, from the lowest. Each uses only those before it.
const SANDBOX_LAYERS: &[&str] = &[
    "sys",
    "seccomp",
    "backend",
    "interface",
    "ipc",
    "resource_limits",
    "runtime_reviews",
    "network",
    "file_requests",
    "ssh_agent",
    "host_sockets",
    "protected_paths",
    "post_run",
    "staging",
    "private_layers",
    "init",
    "supervisor",
];

#[test]
fn the_modules_of_the_sandbox_form_layers() {
    let root = workspace().join("crates/openoxide-sandbox/src");
    let layer = |name: &str| SANDBOX_LAYERS.iter().position(|layer| *layer == name);
    let (mut wrong, mut used) = (Vec::new(), 0);
    for (path, text) in sources() {
        let Ok(inner) = path.strip_prefix(&root) else { continue };
        let inner = inner.with_extension("").to_string_lossy().into_owned();
        if inner == "lib" || inner.contains("/tests") || inner.ends_with("/real") {
            continue;
        }
        let module = inner.split('/').next().unwrap();
        let own = layer(module).unwrap_or_else(|| panic!("`{module}` is not in the list"));
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for name in names_from("crate", text) {
            used += usize::from(layer(&name).is_some_and(|other| other < own));
            if layer(&name).is_some_and(|other| other > own) {
                wrong.push(format!("`{inner}` must not use `{name}`"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(used > 100, "{used} uses of lower modules: the search finds nothing");
}

/// Returns the id and the tests of each section of `docs/invariants.md`.
fn invariants() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(workspace().join("docs/invariants.md")).unwrap();
    let sections = text.split("\n## ").skip(1);
    let read = |section: &str| {
        let id = section.split(' ').next().unwrap().to_owned();
        let lines = section.lines().filter_map(|line| line.strip_prefix("- `"));
        let tests = lines.map(|line| line.trim_end_matches('`').to_owned()).collect();
        (id, tests)
    };
    sections.map(read).collect()
}

/// Returns each pair of an invariant's id and a test whose documentation ends with `Guards ID.`
fn guards() -> BTreeSet<(String, String)> {
    let mut guards = BTreeSet::new();
    for (_, text) in sources() {
        let mut ids: Vec<String> = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(named) = line.strip_prefix("/// Guards I").and_then(|l| l.strip_suffix('.'))
            {
                ids = named.split(", I").map(|number| format!("I{number}")).collect();
            } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| !ids.is_empty()) {
                let name = rest.split('(').next().unwrap().to_owned();
                guards.extend(ids.drain(..).map(|id| (id, name.clone())));
            }
        }
    }
    guards
}

#[test]
fn invariants_and_the_tests_that_guard_them_name_each_other() {
    let invariants = invariants();
    assert!(invariants.len() >= 38, "{}", invariants.len());
    let pair = |(id, tests): &(String, Vec<String>)| {
        assert!(!tests.is_empty(), "{id} has no test");
        let id = id.clone();
        tests.iter().map(move |test| (id.clone(), test.clone())).collect::<Vec<_>>()
    };
    let listed: BTreeSet<_> = invariants.iter().flat_map(pair).collect();
    let guards = guards();
    let only_listed: Vec<_> = listed.difference(&guards).collect();
    let only_in_tests: Vec<_> = guards.difference(&listed).collect();
    assert_eq!((only_listed, only_in_tests), (vec![], vec![]));
}

/// Returns whether a function with this name is in the sources.
pub(crate) fn has_test(sources: &[(PathBuf, String)], name: &str) -> bool {
    let function = format!("fn {name}(");
    sources.iter().any(|(_, text)| text.contains(&function))
}

/// Each row of a table names a behaviour, what OpenOxide does, and the tests that verify it.
#[test]
fn the_tests_that_the_pages_of_compatibility_name_exist() {
    let sources = sources();
    let mut rows = 0;
    for entry in fs::read_dir(workspace().join("docs/compatibility")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let table = text.lines().skip_while(|line| *line != "| --- | --- | --- |").skip(1);
        for row in table.take_while(|line| line.starts_with('|')) {
            rows += 1;
            let columns: Vec<_> = row.split(" | ").collect();
            let [_, here, tests] = columns[..] else { panic!("{}: {row}", path.display()) };
            let tests: Vec<_> = tests.split('`').skip(1).step_by(2).collect();
            assert!(!tests.is_empty() || here.starts_with("not yet"), "nothing holds: {row}");
            for test in tests {
                let there = has_test(&sources, test);
                assert!(there, "{}: there is no test `{test}`", path.display());
            }
        }
    }
    assert!(rows > 50, "{rows}");
}

#[test]
fn no_document_was_left_unfinished() {
    let listed = Command::new("git").args(["ls-files", "*.md"]).current_dir(workspace()).output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    let unfinished = |name: &&str| {
        let text = fs::read_to_string(workspace().join(name)).unwrap();
        // A place of a difference is none of ours.
        let ours = |line: &str| line.contains("@@") && !line.contains("@@ -");
        text.lines().any(|line| line.contains("TODO") || ours(line))
    };
    assert!(listed.lines().count() > 5);
    assert_eq!(listed.lines().filter(unfinished).collect::<Vec<_>>(), Vec::<&str>::new());
}

/// Returns the documents that people write: not those that a chore generates.
fn documents() -> Vec<(PathBuf, String)> {
    let mut command = Command::new("git");
    let listed = command.args(["ls-files", "*.md"]).current_dir(workspace()).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let written = listed.lines().filter(|name| !name.contains("bypasses"));
    let documents: Vec<_> = written
        .map(|name| (workspace().join(name), fs::read_to_string(workspace().join(name)).unwrap()))
        .collect();
    assert!(documents.len() > 40, "{}", documents.len());
    documents
}

/// Code, tables and links are as long as they are.
#[test]
fn documents_are_at_most_100_columns_wide() {
    let mut wide = Vec::new();
    for (path, text) in documents() {
        let mut in_code = false;
        for (number, line) in text.lines().enumerate() {
            let start = line.trim_start();
            in_code ^= start.starts_with("```");
            let has_long_code = start.split('`').skip(1).step_by(2).any(|code| code.len() > 60);
            let is_free =
                in_code || has_long_code || start.starts_with('|') || start.contains("](");
            if !is_free && line.chars().count() > 100 {
                wide.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    assert_eq!(wide, Vec::<String>::new());
}
