//! The corpus: our own decisions, ways round a gate, and the answers of another program, as data (`corpus/README.md`).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use openoxide_adapters::agent_hook;
use openoxide_engine::{Engine, EngineCall, EngineOptions};
use openoxide_protocol::{AbsPath, Effect, PermissionMode};
use openoxide_store::{PolicySource, UserEnvironment};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Placeholders for the directory of the policy file and for the project directory.
const POLICY_DIR: &str = "%%D";
const PROJECT_DIR: &str = "%%P";
/// Published ways round an approval, and harmless calls under the same rules.
const PUBLISHED: &str = "bypasses/published.tsv";
const STILL_ALLOWED: &str = "bypasses/still-allowed.tsv";
/// Further members of the classes in `docs/regressions.md`.
const MEMBERS: &str = "bypasses/members.tsv";
/// The home of the decisions; it does not exist.
const HOME: &str = "/h/u";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

/// One decision that was worked out by hand.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    why: String,
    source: String,
    #[serde(default)]
    policy: Vec<String>,
    mode: Option<String>,
    command: Option<String>,
    tool: Option<String>,
    input: Option<Value>,
    permission: Option<String>,
    patterns: Option<Vec<String>>,
    cwd: String,
    /// Files, directories (`x/`), links (`x -> y`) and hard links (`x => y`) next to the project
    /// directory, which is `p`.
    #[serde(default)]
    disk: Vec<String>,
    decision: Effect,
    rule: Option<String>,
    always: Option<Vec<String>>,
    parts: Option<Vec<Value>>,
}

impl Case {
    /// Returns the case with its files on disk, and `%%P` replaced.
    fn on_disk(&self, world: &World) -> Self {
        if self.disk.is_empty() {
            return self.clone();
        }
        let root = format!("disk-{}", self.id);
        let project = world.make(&format!("{root}/p"));
        for entry in &self.disk {
            if let Some((name, target)) = entry.split_once(" => ") {
                let (name, target) = (format!("{root}/{name}"), format!("{root}/{target}"));
                fs::hard_link(world.path(&target), world.path(&name)).unwrap();
                continue;
            }
            let (entry, text) = entry.split_once(" = ").unwrap_or((entry, ""));
            let (name, target) = entry.split_once(" -> ").unwrap_or((entry, ""));
            let path = world.path(&format!("{root}/{name}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match target {
                "" if name.ends_with('/') => fs::create_dir_all(&path).unwrap(),
                "" => fs::write(&path, text).unwrap(),
                target => symlink(world.path(&format!("{root}/{target}")), &path).unwrap(),
            }
        }
        self.with(PROJECT_DIR, &project)
    }

    /// Returns the case with `%%D` replaced.
    fn below(&self, directory: &Path) -> Self {
        self.with(POLICY_DIR, directory)
    }

    fn with(&self, name: &str, directory: &Path) -> Self {
        let directory = directory.to_str().unwrap();
        let text = |text: &String| text.replace(name, directory);
        let value = |value: &Value| {
            serde_json::from_str(&value.to_string().replace(name, directory)).unwrap()
        };
        Self {
            policy: self.policy.iter().map(text).collect(),
            command: self.command.as_ref().map(text),
            input: self.input.as_ref().map(value),
            patterns: self.patterns.as_ref().map(|all| all.iter().map(text).collect()),
            cwd: text(&self.cwd),
            rule: self.rule.as_ref().map(text),
            parts: self.parts.as_ref().map(|all| all.iter().map(value).collect()),
            ..self.clone()
        }
    }

    /// Returns the call: a tool and its input. A bare question has none.
    fn call(&self) -> Option<(&str, Value)> {
        match (&self.command, &self.tool) {
            (Some(command), None) => Some(("Bash", json!({ "command": command }))),
            (None, Some(tool)) => Some((tool, self.input.clone().unwrap_or_default())),
            _ => None,
        }
    }

    /// Returns the line for `check --batch`.
    fn row(&self) -> Value {
        match self.call() {
            Some((tool, input)) => {
                json!({ "id": self.id, "tool": tool, "input": input, "cwd": self.cwd })
            }
            None => json!({
                "id": self.id,
                "permission": self.permission,
                "patterns": self.patterns,
                "cwd": self.cwd,
            }),
        }
    }

    /// Returns the differences between an answer and the expected one.
    fn differs(&self, answer: &Value) -> Vec<String> {
        let mut all = Vec::new();
        let mut same = |what: &str, expected: Option<Value>, found: Value| {
            if expected.as_ref().is_some_and(|expected| *expected != found) {
                let expected = expected.unwrap_or_default();
                all.push(format!("{what}: expected {expected}, found {found}"));
            }
        };
        same("decision", Some(json!(self.decision)), answer["decision"].clone());
        same("rule", self.rule.as_ref().map(|rule| json!(rule)), answer["rule"]["text"].clone());
        let always = self
            .always
            .as_ref()
            .map(|rules| json!(sorted(rules.iter().map(|rule| json!(rule)).collect())));
        same("always", always, json!(sorted(listed(&answer["always"]))));
        let parts = self.parts.as_ref().map(|parts| json!(sorted(parts.clone())));
        same("parts", parts, json!(sorted(listed(&answer["parts"]).iter().map(plain).collect())));
        if !all.is_empty() {
            all.push(format!("reason: {}", answer["reason"]));
        }
        all
    }
}

/// Returns a part with only the fields that a case states. An unknown word is `{ unknown = true }`
/// there, because TOML has no null.
fn plain(part: &Value) -> Value {
    let mut plain = json!({ "access": part["access"], "decision": part["decision"] });
    for key in ["path", "host"] {
        if let Some(value) = part.get(key) {
            plain[key] = value.clone();
        }
    }
    if let Some(words) = part["argv"].as_array() {
        let known = |word: &Value| match word {
            Value::Null => json!({ "unknown": true }),
            word => word.clone(),
        };
        plain["argv"] = words.iter().map(known).collect();
    }
    plain
}

fn listed(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn sorted(mut parts: Vec<Value>) -> Vec<Value> {
    parts.sort_by_key(Value::to_string);
    parts
}

/// A directory of the corpus.
fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name)
}

fn cases() -> Vec<Case> {
    let directory = fs::read_dir(corpus("decisions")).unwrap();
    let mut files: Vec<_> = directory.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let read: Cases =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        cases.extend(read.case);
    }
    cases
}

/// Returns the rows of a table without its head.
fn table(path: &Path, columns: usize) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap();
    let row = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<_> = text.lines().skip(1).map(row).collect();
    for row in &rows {
        assert_eq!(row.len(), columns, "{}: {row:?}", path.display());
    }
    rows
}

/// A place for files, away from those of the person who runs the tests.
struct World {
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    /// Returns a path in it, without symbolic links before it.
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn make(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Writes policy files into separate directories, the file with the highest precedence first.
    fn policies(&self, name: &str, texts: &[String]) -> Vec<PathBuf> {
        let write = |(index, text): (usize, &String)| {
            let path = self.make(&format!("{name}-{index}")).join("policy.toml");
            fs::write(&path, text).unwrap();
            path
        };
        // Without any file, the ones of the machine would count.
        let texts = if texts.is_empty() { &[String::new()] } else { texts };
        texts.iter().enumerate().map(write).collect()
    }

    /// Returns a program that finds nothing of the person who runs the tests.
    fn program(&self, home: &str, config: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_openoxide"));
        command.env_clear().env("HOME", home).env("XDG_CONFIG_HOME", config);
        command.env("XDG_CACHE_HOME", self.path("cache")).env("XDG_STATE_HOME", self.path("state"));
        command.current_dir(self.make("elsewhere"));
        command
    }

    /// Returns the answers of `check --batch`, in the order of the rows.
    fn check(
        &self,
        (home, project): (&str, Option<&Path>),
        policies: &[PathBuf],
        mode: Option<&str>,
        rows: &[Value],
    ) -> Vec<Value> {
        let mut command = self.program(home, &self.path("nothing"));
        command.args(["check", "--json", "--batch"]);
        command.args(project.map(|project| format!("--cwd={}", project.display())));
        for policy in policies {
            command.arg("--policy").arg(policy);
        }
        command.args(mode.map(|mode| format!("--mode={mode}")));
        let input: String = rows.iter().map(|row| format!("{row}\n")).collect();
        let output = talk(&mut command, &input);
        let answers: Vec<Value> =
            output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ids = |all: &[Value]| all.iter().map(|row| row["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&answers), ids(rows), "{policies:?}\n{output}");
        answers
    }
}

/// Runs a program with this input. Returns its standard output and its standard error.
fn talk(command: &mut Command, input: &str) -> String {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // A program that refuses its policy reads nothing.
    let writer = thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    text(output.stdout) + &text(output.stderr)
}

fn fail_on(mismatches: &[String], of: usize) {
    let count = mismatches.len();
    assert!(count == 0, "{count} of {of} rows differ:\n{}", mismatches.join("\n"));
}

fn mismatch(case: &Case, differences: &[String]) -> String {
    format!(
        "{} ({}; {})\n    {}\n    {}",
        case.id,
        case.why,
        case.source,
        case.row(),
        differences.join("\n    ")
    )
}

#[test]
fn ids_are_unique_and_every_case_names_its_source() {
    let cases = cases();
    let ids: BTreeSet<_> = cases.iter().map(|case| &case.id).collect();
    assert_eq!(ids.len(), cases.len());
    assert!(cases.iter().all(|case| !case.why.is_empty() && !case.source.is_empty()));
    assert!(cases.len() >= 360, "{}", cases.len());
}

#[test]
fn decisions_hold_in_the_library() {
    let world = World::new();
    let cases: Vec<_> = cases().iter().map(|case| case.on_disk(&world)).collect();
    let mut wrong = Vec::new();
    for case in &cases {
        let policies = world.policies(&case.id, &case.policy);
        let case = case.below(policies[0].parent().unwrap());
        let differences = case.differs(&judge(&case, &policies));
        if !differences.is_empty() {
            wrong.push(mismatch(&case, &differences));
        }
    }
    fail_on(&wrong, cases.len());
}

fn judge(case: &Case, policies: &[PathBuf]) -> Value {
    let (home, cwd) = (AbsPath::new(HOME).unwrap(), AbsPath::new(&case.cwd).unwrap());
    let sources: Vec<_> = policies.iter().cloned().map(PolicySource::from_command_line).collect();
    let environment = UserEnvironment { home: Some(home), ..UserEnvironment::default() };
    let mode = case.mode.as_ref().map(|mode| PermissionMode::parse(mode).unwrap());
    let options =
        EngineOptions { policy_files: sources, mode, ..EngineOptions::new(environment, cwd) };
    let engine = Engine::open(options).unwrap();
    assert!(engine.broken_files().is_empty(), "{}: {:?}", case.id, engine.broken_files());
    let cwd = engine.cwd().clone();
    let call = match case.call() {
        Some((name, input)) => EngineCall::from_tool(name, &input, cwd),
        None => {
            let patterns = case.patterns.as_deref().unwrap();
            EngineCall::from_question(case.permission.as_deref().unwrap(), patterns, cwd)
        }
    };
    serde_json::to_value(engine.evaluate(&call).decision).unwrap()
}

#[test]
fn decisions_hold_in_check() {
    let world = World::new();
    let cases: Vec<_> = cases().iter().map(|case| case.on_disk(&world)).collect();
    let mut groups: BTreeMap<_, Vec<&Case>> = BTreeMap::new();
    for case in &cases {
        groups.entry((&case.policy, &case.mode)).or_default().push(case);
    }
    let mut wrong = Vec::new();
    for (index, ((texts, mode), group)) in groups.into_iter().enumerate() {
        let policies = world.policies(&index.to_string(), texts);
        let directory = policies[0].parent().unwrap();
        let group: Vec<_> = group.into_iter().map(|case| case.below(directory)).collect();
        let rows: Vec<_> = group.iter().map(Case::row).collect();
        let answers = world.check((HOME, None), &policies, mode.as_deref(), &rows);
        for (case, answer) in group.iter().zip(&answers) {
            let differences = case.differs(answer);
            if !differences.is_empty() {
                wrong.push(mismatch(case, &differences));
            }
        }
    }
    fail_on(&wrong, cases.len());
}

/// The tools that Claude Code has.
fn is_of_claude(tool: &str) -> bool {
    const TOOLS: &[&str] = &[
        "Agent",
        "AskUserQuestion",
        "Bash",
        "BashOutput",
        "Edit",
        "ExitPlanMode",
        "Glob",
        "Grep",
        "MultiEdit",
        "NotebookEdit",
        "Read",
        "Task",
        "TodoWrite",
        "WebFetch",
        "WebSearch",
        "Write",
    ];
    TOOLS.contains(&tool) || tool.starts_with("mcp__")
}

#[test]
fn decisions_hold_in_the_hook_of_claude() {
    let world = World::new();
    let fits = |case: &Case| {
        case.policy.len() <= 1 && case.call().is_some_and(|(tool, _)| is_of_claude(tool))
    };
    let cases: Vec<_> =
        cases().iter().filter(|case| fits(case)).map(|case| case.on_disk(&world)).collect();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = cases.len().div_ceil(workers);
    let wrong: Vec<_> = thread::scope(|scope| {
        let world = &world;
        let work = |share| scope.spawn(move || hooked(world, share));
        let workers: Vec<_> = cases.chunks(share).map(work).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    fail_on(&wrong, cases.len());
}

fn hooked(world: &World, cases: &[Case]) -> Vec<String> {
    let mut wrong = Vec::new();
    for case in cases {
        let config = world.make(&format!("config-{}", case.id));
        let directory = world.make(&format!("config-{}/openoxide", case.id));
        if let [text] = case.policy.as_slice() {
            fs::write(directory.join("policy.toml"), text).unwrap();
        }
        let case = case.below(&directory);
        let output = talk(world.program(HOME, &config).args(["hook", "claude"]), &payload(&case));
        let answer: Value = serde_json::from_str(output.trim()).unwrap_or_default();
        let decision = &answer["hookSpecificOutput"]["permissionDecision"];
        // A tool that asks the person directly gets a deny or no answer.
        let is_left = case.call().is_some_and(|(tool, _)| agent_hook::is_user_prompt_tool(tool));
        let expected = match case.decision {
            Effect::Allow | Effect::Ask if is_left => Value::Null,
            decision => json!(decision),
        };
        if *decision != expected {
            let difference = format!("expected {expected}, found {output}");
            wrong.push(mismatch(&case, &[difference]));
        }
    }
    wrong
}

/// Returns the payload that Claude Code gives to its hook.
fn payload(case: &Case) -> String {
    let mode = match case.mode.as_deref().and_then(PermissionMode::parse).unwrap_or_default() {
        PermissionMode::Default | PermissionMode::Sandboxed => "default",
        PermissionMode::AcceptEdits => "acceptEdits",
        PermissionMode::Plan => "plan",
        PermissionMode::DontAsk => "dontAsk",
        PermissionMode::BypassPermissions => "bypassPermissions",
    };
    let (tool, input) = case.call().unwrap();
    json!({
        "session_id": "s",
        "transcript_path": "/h/u/.claude/projects/p/s.jsonl",
        "cwd": case.cwd,
        "permission_mode": mode,
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": case.id,
    })
    .to_string()
}

/// Returns the text of a policy file with these rules.
fn policy(allow: &[&str], ask: &[&str], deny: &[&str]) -> String {
    let list = |name: &str, rules: &[&str]| format!("{name} = {}\n", json!(rules));
    format!("[permissions]\n{}{}{}", list("deny", deny), list("ask", ask), list("allow", allow))
}

/// Makes a project with symbolic links that lead out of it, and returns its directory and the home directory.
fn project(world: &World) -> (PathBuf, String) {
    let (project, home) = (world.make("project"), world.make("home"));
    for directory in ["home/docs", "outside", "project/src", "project/docs/sub", "project/.git"] {
        world.make(directory);
    }
    for file in ["outside/id_rsa", "home/docs/h.md", "project/.env", "project/README.md"] {
        fs::write(world.path(file), "").unwrap();
    }
    make_repository(world);
    for (link, target) in [
        ("project/link_env", "project/.env"),
        ("project/lnk", "project/.env"),
        ("project/link_src", "project/src"),
        ("project/link_out", "home/docs/h.md"),
        ("project/linkdir_out", "home/docs"),
        ("project/lnk_out", "outside"),
    ] {
        symlink(world.path(target), world.path(link)).unwrap();
    }
    (project, home.to_str().unwrap().to_owned())
}

/// Makes the project a repository in which reading commands of git are harmless, with a bare
/// repository in it that git would obey.
fn make_repository(world: &World) {
    let config = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
    let hostile = "[core]\n\tbare = true\n\tfsmonitor = touch owned\n";
    for (name, config) in [("project/.git", config), ("project/vendor/bare.git", hostile)] {
        for directory in ["objects", "refs/heads"] {
            world.make(&format!("{name}/{directory}"));
        }
        for (file, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", config)] {
            fs::write(world.path(&format!("{name}/{file}")), text).unwrap();
        }
    }
}

/// One way round a gate, or one call that only resembles it.
struct Attack {
    id: String,
    policy: String,
    mode: Option<&'static str>,
    row: Value,
    line: String,
}

fn attacks(project: &Path, name: &str) -> Vec<Attack> {
    let attack = |columns: Vec<String>| {
        let [id, command, naive, ..] = columns.as_slice() else { unreachable_row(&columns) };
        let (policy, mode) = ruled(naive);
        let row = called(id, command, project);
        Attack { id: id.clone(), policy, mode, row, line: columns.join(" | ") }
    };
    let columns = if name == STILL_ALLOWED { 4 } else { 6 };
    table(&corpus(name), columns).into_iter().map(attack).collect()
}

/// Returns the policy file and the mode that the third column of a row stands for.
fn ruled(naive: &str) -> (String, Option<&'static str>) {
    match naive.split_once(':') {
        Some(("deny", rule)) => (policy(&["Bash"], &[], &[rule]), None),
        Some(("mode", "acceptEdits")) => (String::new(), Some("accept_edits")),
        Some(("builtin", _)) => (String::new(), None),
        _ => (policy(&naive.split(" + ").collect::<Vec<_>>(), &[], &[]), None),
    }
}

/// Returns the line for `check --batch` of a row's second column.
fn called(id: &str, command: &str, project: &Path) -> Value {
    let command: String = serde_json::from_str(&format!("\"{command}\"")).unwrap();
    let command = command.replace(PROJECT_DIR, project.to_str().unwrap());
    let (tool, input) = match command.strip_prefix('@').and_then(|call| call.split_once(' ')) {
        Some((tool, input)) => (tool.to_owned(), serde_json::from_str(input).unwrap()),
        None => ("Bash".to_owned(), json!({ "command": command })),
    };
    json!({ "id": id, "tool": tool, "input": input, "cwd": project })
}

fn unreachable_row(columns: &[String]) -> ! {
    panic!("not enough columns: {columns:?}")
}

/// Returns the ids of the cases that do not hold yet. The reason follows an id, or is in the
/// heading above it.
fn not_yet(name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(corpus(name)).unwrap();
    let mut heading = "";
    let mut ids = BTreeSet::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(reason) = line.strip_prefix("# ") {
            heading = reason;
            continue;
        }
        let (id, reason) = line.split_once(' ').unwrap_or((line, heading));
        assert!(!reason.is_empty(), "no reason: {line}");
        assert!(ids.insert(id.to_owned()), "listed twice: {id}");
    }
    ids
}

/// Returns every row with our answer to it.
fn answered(name: &str) -> Vec<(Attack, Value)> {
    let world = World::new();
    let (project, home) = project(&world);
    let mut groups: BTreeMap<_, Vec<Attack>> = BTreeMap::new();
    for attack in attacks(&project, name) {
        groups.entry((attack.policy.clone(), attack.mode)).or_default().push(attack);
    }
    let mut answered = Vec::new();
    for (index, ((text, mode), group)) in groups.into_iter().enumerate() {
        let policies = world.policies(&index.to_string(), &[text]);
        let rows: Vec<_> = group.iter().map(|attack| attack.row.clone()).collect();
        let answers = world.check((&home, Some(&project)), &policies, mode, &rows);
        answered.extend(group.into_iter().zip(answers));
    }
    answered
}

/// Returns the ids of all rows that are not allowed, in their order: decisions, and rows of
/// `bypasses` that hold.
pub(crate) fn guarded_ids() -> Vec<String> {
    let decisions = cases().into_iter().filter(|case| case.decision != Effect::Allow);
    let mut ids: Vec<_> = decisions.map(|case| case.id).collect();
    let lists = [
        ("bypasses/attacks.tsv", not_yet("bypasses/not-yet.txt")),
        (PUBLISHED, not_yet("bypasses/published-not-yet.txt")),
        (MEMBERS, BTreeSet::new()),
    ];
    for (name, not_yet) in lists {
        let rows = table(&corpus(name), 6).into_iter().map(|row| row[0].clone());
        ids.extend(rows.filter(|id| !not_yet.contains(id)));
    }
    ids
}

/// Fails on a row that is allowed and not listed, and on one that is listed and not allowed.
fn hold(attacks: &str, list: &str) {
    let answered = answered(attacks);
    let mut not_yet = not_yet(list);
    let mut wrong = Vec::new();
    for (attack, answer) in &answered {
        let allowed = answer["decision"] == "allow" || answer["decision"].is_null();
        match (allowed, not_yet.remove(&attack.id)) {
            (true, false) => wrong.push(format!("allowed: {}\n    {answer}", attack.line)),
            (false, true) => wrong.push(format!("holds now, take it from {list}: {}", attack.line)),
            _ => {}
        }
    }
    wrong.extend(not_yet.iter().map(|id| format!("in {list}, but no attack: {id}")));
    fail_on(&wrong, answered.len());
}

/// Guards I09.
#[test]
fn no_attack_is_allowed_under_the_rule_that_looks_harmless() {
    hold("bypasses/attacks.tsv", "bypasses/not-yet.txt");
}

#[test]
fn no_published_bypass_is_allowed_under_the_rule_that_looks_harmless() {
    hold(PUBLISHED, "bypasses/published-not-yet.txt");
}

/// Each row of this table was run: it changes a file, or prints a secret or the environment.
#[test]
fn no_member_of_a_class_is_allowed() {
    let answered = answered(MEMBERS);
    let allowed = answered.iter().filter(|(_, answer)| answer["decision"] != "ask");
    let wrong: Vec<_> =
        allowed.map(|(row, answer)| format!("{}\n    {answer}", row.line)).collect();
    fail_on(&wrong, answered.len());
    assert!(answered.len() > 400, "{}", answered.len());
}

/// Safety that is bought by refusing everything would show here.
#[test]
fn harmless_calls_stay_allowed_under_the_same_rules() {
    let answered = answered(STILL_ALLOWED);
    let refused = answered.iter().filter(|(_, answer)| answer["decision"] != "allow");
    let wrong: Vec<_> =
        refused.map(|(row, answer)| format!("{}\n    {answer}", row.line)).collect();
    fail_on(&wrong, answered.len());
    assert!(answered.len() >= 40, "{}", answered.len());
}

#[test]
fn every_published_bypass_is_new_and_names_its_source() {
    let published = table(&corpus(PUBLISHED), 6);
    let ids: BTreeSet<_> = published.iter().map(|row| &row[0]).collect();
    let mut attacks: BTreeSet<_> = table(&corpus("bypasses/attacks.tsv"), 6)
        .into_iter()
        .map(|row| (row[1].clone(), row[2].clone()))
        .collect();
    for row in &published {
        assert!(row.iter().all(|column| !column.is_empty()), "{row:?}");
        assert!(attacks.insert((row[1].clone(), row[2].clone())), "there already: {row:?}");
    }
    assert_eq!(ids.len(), published.len());
    assert!(published.len() >= 500, "{}", published.len());
}

/// A decision of Claude Code about one call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Theirs {
    mode: String,
    rules: String,
    tool: String,
    input: String,
    verdict: String,
}

fn theirs(columns: &[String]) -> Theirs {
    let column = |index: usize| columns[index].clone();
    Theirs {
        mode: column(0),
        rules: column(1),
        tool: column(2),
        input: column(3),
        verdict: column(4),
    }
}

#[test]
fn calls_that_claude_code_denies_or_asks_about_are_not_allowed() {
    let world = World::new();
    let (project, home) = project(&world);
    let rows: Vec<_> =
        table(&corpus("claude/decisions.tsv"), 5).iter().map(|row| theirs(row)).collect();
    let intended = table(&corpus("claude/intended-differences.tsv"), 7);
    let mut intended: BTreeMap<_, _> =
        intended.iter().map(|row| (theirs(row), row[5].clone())).collect();
    let mut groups: BTreeMap<_, Vec<&Theirs>> = BTreeMap::new();
    for row in &rows {
        groups.entry((&row.mode, &row.rules)).or_default().push(row);
    }
    let mut wrong = Vec::new();
    for ((mode, rules), group) in groups {
        let ours = ours(&world, (&project, &home), (mode, rules), &group);
        for (row, answer) in group.into_iter().zip(&ours) {
            let decision = answer["decision"].as_str().unwrap_or("error");
            let looser = match row.verdict.as_str() {
                "deny" => decision != "deny",
                "ask" => !matches!(decision, "ask" | "deny"),
                _ => decision == "error",
            };
            match (looser, intended.remove(row)) {
                (false, None) => {}
                (true, Some(listed)) if listed == decision => {}
                (_, listed) => wrong.push(format!(
                    "{}\t{}\t{}\t{}\t{}\t{decision}\t{}{}",
                    row.mode,
                    row.rules,
                    row.tool,
                    row.input,
                    row.verdict,
                    answer["reason"].as_str().unwrap_or_default(),
                    listed.map(|listed| format!(" (listed as {listed})")).unwrap_or_default(),
                )),
            }
        }
    }
    wrong.extend(intended.keys().map(|row| format!("intended, but no row: {row:?}")));
    fail_on(&wrong, rows.len());
}

/// Returns our answers under the same rules, in a file of the project.
fn ours(
    world: &World,
    (project, home): (&Path, &str),
    (mode, rules): (&str, &str),
    group: &[&Theirs],
) -> Vec<Value> {
    let rules: BTreeMap<String, Vec<String>> = serde_json::from_str(rules).unwrap();
    let list = |name: &str| -> Vec<&str> {
        rules.get(name).into_iter().flatten().map(String::as_str).collect()
    };
    let file = project.join("policy.toml");
    fs::write(&file, policy(&list("allow"), &list("ask"), &list("deny"))).unwrap();
    let cwd = project.to_str().unwrap();
    let row = |(id, row): (usize, &&Theirs)| {
        let input = row.input.replace(PROJECT_DIR, cwd);
        let input: Value = serde_json::from_str(&input).unwrap();
        json!({ "id": id, "tool": row.tool, "input": input, "cwd": cwd })
    };
    let rows: Vec<_> = group.iter().enumerate().map(row).collect();
    world.check((home, Some(project)), std::slice::from_ref(&file), Some(mode), &rows)
}
