//! `check --batch`: one answer a line, whatever the line.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::support::{World, code, stdout};

fn batch(input: &str) -> Vec<Value> {
    let world = World::new()
        .policy("[permissions]\nallow = [\"Bash(npm run *)\"]\ndeny = [\"Read(//etc/**)\"]\n");
    let output = world.run(&["check", "--batch"], input.as_bytes());
    assert_eq!(code(&output), 0);
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_bad_line_gets_an_error_and_the_rest_goes_on() {
    let input = concat!(
        "{\"id\":1,\"tool\":\"Bash\",\"input\":{\"command\":\"npm run x\"}}\n",
        "not json\n",
        "\n",
        "{\"id\":{\"a\":[2]},\"tool\":\"Read\",\"input\":{\"file_path\":\"/etc/passwd\"},\"cwd\":\"/p\"}\n",
        "{\"id\":3,\"tool\":\"Bash\",\"input\":{\"command\":\"ls\"},\"colour\":1}\n",
        "{\"id\":4,\"tool\":\"Bash\",\"input\":{\"command\":\"ls\"},\"cwd\":\"relative\"}\n",
        "{\"id\":5}\n",
        "{\"id\":6,\"permission\":\"bash\",\"patterns\":[\"npm run a\",\"make\"],\"cwd\":\"/p\"}\n",
        "{\"id\":7,\"permission\":\"bash\",\"patterns\":[]}\n",
        "[9,\"Bash\",{\"command\":\"ls\"},null,null,null]\n",
        "{\"id\":8,\"tool\":\"Bash\",\"input\":{\"command\":7}}",
    );
    let answers = batch(input);
    let short = |answer: &Value| {
        let said = answer.get("decision").map_or_else(|| json!("error"), Value::clone);
        assert_eq!(answer["schema"], 1);
        (answer["id"].clone(), said)
    };
    let expected = [
        (json!(1), json!("allow")),
        (Value::Null, json!("error")),
        (json!({"a": [2]}), json!("deny")),
        (json!(3), json!("error")),
        (json!(4), json!("error")),
        (json!(5), json!("error")),
        (json!(6), json!("ask")),
        (json!(7), json!("error")),
        (Value::Null, json!("error")),
        (json!(8), json!("ask")),
    ];
    assert_eq!(answers.iter().map(short).collect::<Vec<_>>(), expected);
}

#[test]
fn answers_have_the_shape_of_the_contract() {
    let row = json!({"id": 7, "cwd": "/p", "tool": "Bash", "input": {"command": "timeout 5 rm $X > out.log"}});
    let answer = batch(&format!("{row}\n")).remove(0);
    assert_eq!(answer["id"], 7);
    let parts = answer["parts"].as_array().unwrap();
    let exec =
        |argv: Value| parts.iter().any(|part| part["access"] == "exec" && part["argv"] == argv);
    assert!(exec(json!(["timeout", "5", "rm", null])), "{answer}");
    assert!(exec(json!(["rm", null])), "{answer}");
    assert!(parts.iter().any(|part| part["access"] == "edit" && part["path"] == "/p/out.log"));
    for part in parts {
        assert!(part["decision"].is_string() && part.get("rule").is_some(), "{part}");
    }
    for key in ["schema", "decision", "reason", "rule", "findings", "always"] {
        assert!(answer.get(key).is_some(), "{key}");
    }
}

#[test]
fn printed_output_matches_the_printed_schema() {
    let world = World::new();
    for shape in ["policy", "decision", "request", "response", "event"] {
        let output = world.run(&["schema", shape], b"");
        assert_eq!(code(&output), 0);
        let schema: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert!(schema["$schema"].is_string(), "{shape}");
    }
    let schema: Value =
        serde_json::from_str(&stdout(&world.run(&["schema", "decision"], b""))).unwrap();
    let answer = batch("{\"tool\":\"Bash\",\"input\":{\"command\":\"ls\"}}\n").remove(0);
    for key in answer.as_object().unwrap().keys() {
        assert!(schema["properties"].get(key).is_some(), "`{key}` is not in the schema");
    }
}

#[test]
fn completions_and_manual_pages_name_every_verb() {
    let world = World::new();
    let page = stdout(&world.run(&["man"], b""));
    let script = stdout(&world.run(&["completions", "bash"], b""));
    for verb in ["run", "check", "explain", "hook", "schema", "completions", "man"] {
        assert!(page.contains(verb), "{verb}");
        assert!(script.contains(verb), "{verb}");
    }
    assert!(stdout(&world.run(&["man", "check"], b"")).contains("batch"));
}

#[test]
fn a_line_that_is_too_long_gets_one_answer() {
    let long = format!(
        "{{\"id\":1,\"x\":\"{}\"}}\n{{\"id\":2,\"tool\":\"Bash\",\"input\":{{\"command\":\"ls\"}}}}\n",
        "x".repeat(65 << 20)
    );
    let answers = batch(&long);
    assert_eq!(answers.len(), 2);
    assert!(answers[0]["error"].is_string());
    assert_eq!(answers[1]["id"], 2);
}

#[test]
fn who_waits_for_an_answer_gets_it_before_asking_on() {
    let world = World::new();
    let mut command = world.command(&["check", "--batch"]);
    let pipe = std::process::Stdio::piped;
    let mut child = command.stdin(pipe()).stdout(pipe()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    for id in 0..3 {
        writeln!(input, "{{\"id\":{id},\"tool\":\"Bash\",\"input\":{{\"command\":\"ls\"}}}}")
            .unwrap();
        let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], id);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn who_closes_the_pipe_has_seen_enough() {
    let world = World::new();
    for args in
        [&["check", "-c", "ls"][..], &["explain", "-c", "ls"], &["schema", "event"], &["man"]]
    {
        let mut command = world.command(args);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.stdout(writer).stderr(std::process::Stdio::piped()).output().unwrap();
        assert_eq!((code(&output), output.stderr.len()), (0, 0), "{args:?}");
    }
}

/// A batch that goes on: a row is written, and its answer read.
struct Batch {
    child: std::process::Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Batch {
    fn start(world: &World) -> Self {
        let mut command = world.command(&["check", "--batch"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    fn ask(&mut self, script: &str) -> Value {
        let row = json!({ "tool": "Bash", "input": { "command": script } });
        writeln!(self.child.stdin.as_mut().unwrap(), "{row}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    fn decision(&mut self, script: &str) -> String {
        self.ask(script)["decision"].as_str().unwrap().to_owned()
    }
}

/// Guards I05.
#[test]
fn rows_after_a_policy_change_use_the_new_policy() {
    let good = "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(make *)\"]\n";
    let world = World::new().policy(good);
    let mut batch = Batch::start(&world);
    let put = |text: &str| {
        std::fs::write(world.user_policy(), text).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(250));
    };
    assert_eq!(["touch x", "make x"].map(|script| batch.decision(script)), ["allow", "deny"]);
    put(&good.replace("make", "less"));
    assert_eq!(["touch x", "make x"].map(|script| batch.decision(script)), ["allow", "ask"]);
    assert_eq!(batch.decision("less x"), "deny");
    put("[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(\"]\n");
    assert_eq!(batch.decision("touch x"), "ask", "a wrong file loses its allows");
    let denied = batch.ask("less x");
    assert_eq!(denied["decision"], "deny", "and keeps the denies of its last good version");
    let reason = denied["reason"].as_str().unwrap();
    assert!(reason.starts_with("`less x` is denied by user policy in its last good version; "));
    assert_eq!(denied["rule"]["text"], "deny Bash(less *)");
    put("[permissions]\n");
    assert_eq!(["touch x", "less x"].map(|script| batch.decision(script)), ["ask", "ask"]);
    drop(batch.child.stdin.take());
    assert!(batch.child.wait().unwrap().success());
}
