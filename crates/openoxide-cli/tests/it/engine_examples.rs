//! The examples of `openoxide-engine`, run as a person would run them: each is a program that asks.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use serde_json::Value;

use crate::{
    pending::{answer, id, pending},
    prompt::Terminal,
    support::{World, code, stderr, stdout, workspace},
};

/// The examples.
pub(crate) const EXAMPLES: [&str; 5] =
    ["agent", "own_reviewer", "queue_reviewer", "terminal_reviewer", "two_reviewers"];

/// Returns the path of an example. The examples are built once, because `cargo test` builds only
/// those of the packages that it tests.
pub(crate) fn example(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(build_examples).join(name)
}

/// Builds the examples, and returns their directory.
fn build_examples() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--offline", "--profile", "test", "--examples"]);
    build.args(["--package", "openoxide-engine", "--message-format", "json"]);
    let output = build.current_dir(workspace()).output().unwrap();
    assert!(output.status.success(), "the examples do not build: {}", stderr(&output));
    let messages = stdout(&output);
    let messages = messages.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_example = |message: &Value| message["target"]["kind"][0] == "example";
    let path = messages.filter(is_example).find_map(|message| {
        message["executable"].as_str().map(|path| Path::new(path).parent().unwrap().to_owned())
    });
    path.expect("cargo names the programs that it builds")
}

/// Returns the command that runs an example in the project of a world.
fn command(world: &World, name: &str) -> Command {
    let mut command = Command::new(example(name));
    command.current_dir(world.project()).env_clear().stdin(Stdio::null());
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", world.root());
    command.env("XDG_CONFIG_HOME", world.root().join("config"));
    command.env("XDG_CACHE_HOME", world.root().join("cache"));
    command
}

/// Starts an example in a terminal.
fn terminal(world: &World, name: &str, args: &[&str]) -> Terminal {
    let path = |name: &str| world.root().join(name).display().to_string();
    let environment = [
        ("PATH", "/usr/bin:/bin".to_owned()),
        ("HOME", world.root().display().to_string()),
        ("XDG_CONFIG_HOME", path("config")),
        ("XDG_CACHE_HOME", path("cache")),
    ];
    Terminal::start(world, example(name).to_str().unwrap(), args, &environment)
}

/// Returns the records of the program: their titles, and the answers with their channels.
fn answers(world: &World) -> Vec<(String, String, String)> {
    let log = stdout(&world.run(&["audit", "log", "--json"], b""));
    let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let own = records.filter(|record| record["via"] == "openoxide-engine");
    own.map(|record| {
        let answer = &record["answer"];
        (text(&record["title"]), text(&answer["decision"]), text(&answer["channel"]))
    })
    .collect()
}

#[test]
fn every_example_is_run_by_a_test() {
    let directory = workspace().join("crates/openoxide-engine/examples");
    let files = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, EXAMPLES.map(|name| format!("{name}.rs")));
}

/// The home is not below `/tmp`, which is private to a confined command.
#[cfg(target_os = "linux")]
#[test]
fn the_agent_runs_what_is_permitted_and_tells_the_model_about_the_rest() {
    let world = World::in_place(&workspace().join("target"));
    world.file("README.md", "one\ntwo\n");
    let output = command(&world, "agent").output().unwrap();
    let text = stdout(&output);
    assert_eq!(code(&output), 0, "{text}{}", stderr(&output));
    let expected = [
        r#"model calls read_file {"path":"README.md"}"#,
        "  result: 2 lines",
        r#"model calls run_command {"command":"wc -l < README.md"}"#,
        "  result: exit status: 0",
        "  2",
        r#"model calls run_command {"command":"mkdir -p build && echo done > build/log.txt"}"#,
        "  asked: no rule matches `mkdir -p build`, which creates directories",
        "  result: exit status: 0",
        r#"model calls run_command {"command":"git push origin main"}"#,
        "  not permitted: The user has specified a rule which prevents you from using this specific tool call: `deny Bash(git push *)`",
        r#"model calls run_command {"command":"cat ~/.ssh/id_ed25519"}"#,
    ];
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.get(..expected.len()).unwrap(), expected, "{text}");
    assert!(text.contains("  not permitted: The user rejected permission"), "{text}");
    assert!(text.contains("  result: sent to \"ann\"\n"), "{text}");
    assert!(text.ends_with("feedback: work without it\n"), "{text}");
    let built = std::fs::read_to_string(world.project().join("build/log.txt")).unwrap();
    assert_eq!(built, "done\n");
    let log = stdout(&world.run(&["audit", "log", "--json"], b""));
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let calls = records.iter().filter(|record| record["agent"] == "example agent");
    assert_eq!(calls.count(), 7, "{log}");
    let ended = records.iter().filter(|record| record["enforcement"]["backend"].is_string());
    assert_eq!(ended.count(), 2, "both commands ran in the sandbox: {log}");
}

#[test]
fn a_person_answers_in_the_prompt_of_an_example() {
    let world = World::new();
    let mut terminal = terminal(&world, "terminal_reviewer", &["1.0", "1.1"]);
    terminal.wait_for("\"release\": \"1.0\"");
    terminal.wait_for("[y]");
    terminal.press("y");
    terminal.wait_for("published \"1.0\"");
    terminal.wait_for("\"release\": \"1.1\"");
    terminal.press("n");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("not permitted: The user rejected permission"), "{text}");
    let answers = answers(&world);
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert!(
        answers.iter().all(|(title, _, channel)| title == "Call publish" && channel == "terminal")
    );
}

/// The prompt of the example closes when `openoxide approve` answers.
#[test]
fn another_terminal_answers_while_the_prompt_of_an_example_is_open() {
    let world = World::new();
    let mut terminal = terminal(&world, "terminal_reviewer", &["1.0", "1.1"]);
    terminal.wait_for("[y]");
    let request = pending(&world).pop().unwrap();
    assert_eq!(answer(&world, &["approve", id(&request)]).0, 0);
    terminal.wait_for("published \"1.0\"");
    terminal.wait_for("\"release\": \"1.1\"");
    terminal.press("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("published \"1.1\""), "{text}");
}

#[test]
fn without_a_terminal_the_prompt_of_an_example_asks_no_one() {
    let world = World::new();
    let mut example = command(&world, "terminal_reviewer");
    let text = stdout(&example.args(["1.0", "1.1"]).output().unwrap());
    let line = "not permitted: This tool call requires the user's approval, but no one can be asked: no rule matches `publish`";
    assert_eq!(text.lines().collect::<Vec<_>>(), [line, line]);
}

#[test]
fn openoxide_answers_the_request_of_an_example_in_the_queue() {
    for (verb, result) in [("approve", "published \"1.0\""), ("deny", "not permitted: The user")] {
        let world = World::new();
        let mut asker = command(&world, "queue_reviewer").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(asker.stdout.take().unwrap()).lines();
        let mut line = || lines.next().unwrap().unwrap();
        assert_eq!(line(), "waiting for approval: Call publish");
        let told = line();
        let told = told.strip_prefix("run in another terminal: openoxide approve ").unwrap();
        let request = pending(&world).pop().unwrap();
        assert_eq!((id(&request), &request["who"]), (told, &"release bot".into()));
        assert_eq!(answer(&world, &[verb, told]).0, 0);
        let ended = line();
        assert!(ended.starts_with(result), "{ended}");
        assert!(asker.wait().unwrap().success());
        assert!(pending(&world).is_empty());
    }
}

#[test]
fn the_reviewer_of_the_program_answers_in_an_example() {
    let world = World::new();
    let output = command(&world, "own_reviewer").output().unwrap();
    let text = stdout(&output);
    assert_eq!(code(&output), 0, "{text}{}", stderr(&output));
    let (first, second) = text.split_once('\n').unwrap();
    assert_eq!(first, "refunded 40");
    assert!(second.ends_with("feedback: refund at most 100\n"), "{second}");
    let channels: Vec<_> = answers(&world).into_iter().map(|(_, _, channel)| channel).collect();
    assert_eq!(channels, ["application", "application"]);
}

#[test]
fn the_first_of_two_reviewers_of_an_example_answers() {
    let world = World::new();
    let mut asked = terminal(&world, "two_reviewers", &["600"]);
    asked.wait_for("[y]");
    asked.press("y");
    let (code, text) = asked.end();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("published \"1.0\""), "{text}");
    let late = terminal(&world, "two_reviewers", &["1"]);
    late.wait_for("[y]");
    let (code, text) = late.end();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("no one answered in time"), "{text}");
    let channels: Vec<_> = answers(&world).into_iter().map(|(_, _, channel)| channel).collect();
    assert_eq!(channels, ["terminal", "application"]);
}
