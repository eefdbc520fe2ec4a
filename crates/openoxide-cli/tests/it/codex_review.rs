//! `codex review` against a server that plays recorded messages. (The real one is tried by hand: it needs a model.)

use std::{
    fs,
    io::ErrorKind,
    os::unix::{
        fs::{PermissionsExt as _, symlink},
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    process::{Child, Output, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::Duration,
};

use serde_json::{Value, json};
use tungstenite::{Error, Message, WebSocket, accept};

use crate::{
    prompt::Terminal,
    support::{World, code, stderr, workspace},
};

const THREAD: &str = "01a2048a-f761-7de1-9a76-25c6103dc4be";
const SOON: Duration = Duration::from_secs(30);
/// The time to wait before a test concludes that no message arrives.
const NEVER: Duration = Duration::from_millis(600);

/// A server with one conversation, in the project.
struct Server {
    send: Sender<Value>,
    heard: Receiver<Value>,
    path: PathBuf,
    thread: JoinHandle<()>,
}

impl Server {
    fn start(world: &World) -> Self {
        let directory = world.root().join("codex");
        fs::create_dir_all(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        // As Codex has it: a link in its home leads to the socket.
        let (real, path) = (directory.join("real.sock"), directory.join("s.sock"));
        let listener = UnixListener::bind(&real).unwrap();
        symlink(&real, &path).unwrap();
        let ((send, to_send), (hears, heard)) = (channel(), channel());
        let cwd = world.project().display().to_string();
        let thread = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let Ok(socket) = accept(stream) else { return };
            serve(socket, &cwd, &to_send, &hears);
        });
        Self { send, heard, path, thread }
    }

    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["codex", "review", "--socket", self.path.to_str().unwrap()], more].concat()
    }

    /// Sends a request, and returns it.
    fn ask(&self, request: Value) -> Value {
        self.send.send(request.clone()).unwrap();
        request
    }

    fn answer(&self) -> Value {
        self.heard.recv_timeout(SOON).expect("an answer")
    }

    fn hears_nothing(&self) {
        assert_eq!(self.heard.recv_timeout(NEVER), Err(RecvTimeoutError::Timeout));
    }

    /// Ends, without a word.
    fn end(self) {
        drop(self.send);
        self.thread.join().unwrap();
    }
}

/// Answers the calls that a client has to make, sends the messages of the test, and passes on all
/// other messages that it receives.
fn serve(
    mut socket: WebSocket<UnixStream>,
    cwd: &str,
    to_send: &Receiver<Value>,
    hears: &Sender<Value>,
) {
    socket.get_ref().set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let (mut attached, mut refused) = (false, false);
    loop {
        let message = match socket.read() {
            Ok(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => Value::Null,
            Ok(_) => Value::Null,
            Err(_) => return,
        };
        let result = match message["method"].as_str() {
            Some("initialize") => Ok(json!({ "userAgent": "test" })),
            Some("thread/loaded/list") => Ok(json!({ "data": [THREAD], "nextCursor": null })),
            Some("thread/resume") if !refused => {
                refused = true;
                Err(json!({ "code": -32600, "message": "no rollout found" }))
            }
            Some("thread/resume") => {
                assert_eq!(message["params"], json!({ "threadId": THREAD, "excludeTurns": true }));
                attached = true;
                Ok(json!({ "cwd": cwd, "thread": { "id": THREAD } }))
            }
            Some("initialized") => continue,
            Some(method) => panic!("{method}"),
            None if message.is_null() && !attached => continue,
            None if message.is_null() => {
                match to_send.try_recv() {
                    // Who has gone has heard enough.
                    Ok(message) => drop(socket.send(Message::text(message.to_string()))),
                    Err(std::sync::mpsc::TryRecvError::Disconnected) => return,
                    Err(std::sync::mpsc::TryRecvError::Empty) => {}
                }
                continue;
            }
            None => {
                drop(hears.send(message));
                continue;
            }
        };
        let answer = match result {
            Ok(result) => json!({ "id": message["id"], "result": result }),
            Err(error) => json!({ "id": message["id"], "error": error }),
        };
        socket.send(Message::text(answer.to_string())).unwrap();
    }
}

/// Returns the recorded message of the server that holds this text, in the project and the conversation of the test.
fn recorded(world: &World, text: &str) -> Value {
    let names = ["app_server", "app_server_tools"];
    let paths = names.map(|name| workspace().join(format!("corpus/codex/{name}.ndjson")));
    let lines = paths.map(|path| fs::read_to_string(path).unwrap()).concat();
    let line =
        lines.lines().find(|line| line.contains(text) && line.contains(r#""from":"server""#));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    let project = world.project().display().to_string();
    let line = line.replace(r#""/ws"#, &format!("\"{project}"));
    let mut message: Value = serde_json::from_str::<Value>(&line).unwrap()["message"].take();
    message["params"]["threadId"] = json!(THREAD);
    message
}

fn with(mut request: Value, id: i64, changes: Value) -> Value {
    request["id"] = json!(id);
    let Value::Object(changes) = changes else { panic!("{changes}") };
    request["params"].as_object_mut().unwrap().extend(changes);
    request
}

fn decision(id: i64, decision: Value) -> Value {
    let mut answer = json!({ "id": id, "result": {} });
    answer["result"]["decision"] = decision;
    answer
}

/// Starts it without a terminal.
fn start(world: &World, server: &Server, more: &[&str]) -> Child {
    let mut command = world.command(&server.arguments(more));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn at_terminal(world: &World, server: &Server) -> Terminal {
    Terminal::run(world, &server.arguments(&[]))
}

fn ends(child: Child, server: Server) -> Output {
    server.end();
    child.wait_with_output().unwrap()
}

const POLICY: &str =
    "[permissions]\ndeny = [\"Bash(rm *)\"]\nallow = [\"Bash(git log *)\", \"Bash(wc *)\"]\n";

#[test]
fn without_a_terminal_only_the_policy_answers() {
    let world = World::new().policy(POLICY);
    let server = Server::start(&world);
    let child = start(&world, &server, &[]);
    let ask = |text: &str, id| server.ask(with(recorded(&world, text), id, json!({})));
    ask("rm -rf x/y", 10);
    assert_eq!(server.answer(), decision(10, json!("decline")));
    ask("git log", 11);
    assert_eq!(server.answer(), decision(11, json!("accept")));
    ask("May I touch it?", 12);
    server.ask(json!({ "method": "mcpServer/elicitation/request", "id": 13, "params": {} }));
    server.ask(json!({ "method": "item/new/requestApproval", "id": 14, "params": {} }));
    ask("let me", 15);
    ask("git log", 16);
    assert_eq!(server.answer(), decision(16, json!("accept")), "and nothing else before it");
    let output = ends(child, server);
    let said = stderr(&output);
    for line in [
        "attached to 01a2048a-",
        "declined by the policy: `rm -rf x/y`: `rm -rf x/y` is denied by user policy (user, ",
        "policy.toml:2)",
        "accepted by the policy: `git log`: ",
        "left to the other client: `touch /out/o1`: ",
        "left to the other client: `mcpServer/elicitation/request` is not supported here",
        "left to the other client: `item/new/requestApproval` is not supported here",
        "left to the other client: `Have more permissions`: ",
        "error: the app server has ended",
    ] {
        assert!(said.contains(line), "`{line}` in:\n{said}");
    }
    assert_eq!(code(&output), 1);

    let log = world.run(&["audit", "log", "--json"], b"");
    let log = String::from_utf8(log.stdout).unwrap();
    assert_eq!(log.matches(r#""via":"codex review""#).count(), 3, "what was answered: {log}");
    assert_eq!(log.matches(THREAD).count(), 3, "{log}");
}

/// Guards I19.
#[test]
fn no_rule_allows_requests_that_only_a_person_may_answer() {
    let world = World::new().policy(POLICY);
    let server = Server::start(&world);
    let child = start(&world, &server, &[]);
    let log = |id, changes| server.ask(with(recorded(&world, "git log"), id, changes));
    log(1, json!({ "kind": "humanCommand" }));
    log(2, json!({ "kind": "writeStdin" }));
    log(3, json!({ "additionalPermissions": { "network": { "enabled": true } } }));
    log(4, json!({ "environmentId": "another" }));
    server.hears_nothing();
    server.ask(with(recorded(&world, "rm -rf x/y"), 5, json!({ "kind": "humanCommand" })));
    assert_eq!(server.answer(), decision(5, json!("decline")), "a deny is one for each");
    let said = stderr(&ends(child, server));
    assert_eq!(said.matches("left to the other client: ").count(), 4, "{said}");
}

#[test]
fn a_directory_chosen_by_the_model_adds_no_rules() {
    let world = World::new();
    let elsewhere = world.root().join("elsewhere");
    fs::create_dir_all(elsewhere.join(".openoxide")).unwrap();
    let policy = "[permissions]\ndeny = [\"Bash(git log *)\"]\n";
    fs::write(elsewhere.join(".openoxide/policy.toml"), policy).unwrap();
    let server = Server::start(&world);
    let child = start(&world, &server, &[]);
    server.ask(with(recorded(&world, "git log"), 1, json!({ "cwd": elsewhere })));
    assert_eq!(server.answer(), decision(1, json!("accept")), "it changes nothing");
    let own = world.project().join(".openoxide");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("policy.toml"), policy).unwrap();
    server.ask(with(recorded(&world, "git log"), 2, json!({})));
    assert_eq!(server.answer(), decision(2, json!("decline")), "as it is by now");
    ends(child, server);
}

#[test]
fn a_person_gives_the_answers_of_codex() {
    let world = World::new();
    let server = Server::start(&world);
    let mut terminal = at_terminal(&world, &server);
    let ask = |text: &str, id| server.ask(with(recorded(&world, text), id, json!({})));
    ask("May I touch it?", 1);
    terminal.wait_for("leave it unanswered");
    for shown in [
        "OpenOxide asks: Run a command (Bash)",
        "$ touch /out/o1",
        "the agent's reason: May I touch it?",
        "[y]     yes, this once",
        "[p]     yes, and Codex saves a rule: it does not ask again about commands that begin with `touch`",
        "[n Esc] no, and the model stops",
    ] {
        terminal.wait_for(shown);
    }
    terminal.press("y");
    assert_eq!(server.answer(), decision(1, json!("accept")));
    terminal.wait_for("accepted by you: `touch /out/o1`");
    ask("May I touch it?", 2);
    terminal.wait_for("$ touch /out/o1");
    std::thread::sleep(NEVER);
    terminal.press("p");
    let amendment =
        json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": ["touch"] } });
    assert_eq!(server.answer(), decision(2, amendment));
    ask("rm -rf x/y", 3);
    terminal.wait_for("careful, it begins with the banned `rm`");
    std::thread::sleep(NEVER);
    terminal.press("a");
    terminal.wait_for("unknown key; press one of: y p n Esc v");
    terminal.press("n");
    assert_eq!(server.answer(), decision(3, json!("cancel")));
    server.end();
    let (code, text) = terminal.end();
    assert_eq!(code, 1, "{text}");

    let log = world.run(&["audit", "log", "--json"], b"");
    let log = String::from_utf8(log.stdout).unwrap();
    let answers: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let without_request = |record: &Value| {
        let mut answer = record["answer"].clone();
        answer.as_object_mut().unwrap().remove("request");
        answer
    };
    let answers: Vec<_> = answers.iter().map(without_request).collect();
    let rule = r#"prefix_rule(pattern=["touch"], decision="allow")"#;
    let expected = [
        json!({ "channel": "terminal", "decision": "approved", "scope": "once" }),
        json!({ "channel": "terminal", "decision": "approved_execpolicy_amendment", "scope": "project", "grant": { "rules": [rule] } }),
        json!({ "channel": "terminal", "decision": "abort" }),
    ];
    assert_eq!(answers, expected, "{log}");
}

#[test]
fn changes_are_shown_and_answered() {
    let world = World::new();
    let server = Server::start(&world);
    let mut terminal = at_terminal(&world, &server);
    let request = recorded(&world, r#"requestApproval","id":5"#);
    server.ask(recorded(
        &world,
        r#"item/started","params":{"item":{"type":"fileChange","id":"call_8""#,
    ));
    server.ask(request.clone());
    terminal.wait_for(
        "[a]     yes, and Codex does not ask again about these files in this conversation",
    );
    for shown in ["Change 4 files (apply_patch)", "+++ /dev/null", "| -gone", "n.txt", "| +z"] {
        terminal.wait_for(shown);
    }
    terminal.press("d");
    assert_eq!(server.answer(), decision(5, json!("decline")));
    server.ask(with(request, 6, json!({ "itemId": "call_unknown" })));
    terminal.wait_for("the change was announced before this client connected");
    server.hears_nothing();
    server.end();
    terminal.end();
}

/// Starts a tool call, and sends Codex's question about it.
fn call(world: &World, server: &Server, id: i64, arguments: &Value) {
    let mut begins = recorded(world, r#"item/started","params":{"item":{"type":"mcpToolCall""#);
    begins["params"]["item"]["arguments"] = arguments.clone();
    server.ask(begins);
    let asked = recorded(world, r#"run tool \"remove\"?"#);
    let mut asked = with(asked, id, json!({}));
    asked["params"]["_meta"]["tool_params"] = arguments.clone();
    server.ask(asked);
}

#[test]
fn a_tool_is_answered_by_the_policy_or_by_the_person() {
    let rules = "[permissions]\nask = [\"mcp__files__remove\"]\n";
    let world = World::new().policy(rules);
    let server = Server::start(&world);
    let mut terminal = at_terminal(&world, &server);
    call(&world, &server, 1, &json!({ "path": "x\u{1b}[31m" }));
    for shown in [
        "Call remove of the MCP server files (mcp__files__remove)",
        r#""path": "x"#,
        "description by the server: Removes",
        "[y]     yes, this once",
        "[a]     yes, and Codex does not ask again about this tool in this conversation,",
        "[p]     yes, and Codex saves it: it does not ask again about this tool, whatever",
        "[n d]   no, and the model continues",
    ] {
        terminal.wait_for(shown);
    }
    std::thread::sleep(NEVER);
    terminal.press("p");
    let always = json!({ "action": "accept", "content": {}, "_meta": { "persist": "always" } });
    assert_eq!(server.answer(), json!({ "id": 1, "result": always }));
    terminal.wait_for("accepted by you");
    for (id, effect, action) in [(2, "deny", "decline"), (3, "allow", "accept")] {
        fs::write(world.user_policy(), rules.replace("ask", effect)).unwrap();
        call(&world, &server, id, &json!({ "path": "y" }));
        assert_eq!(server.answer()["result"]["action"], json!(action), "{effect}");
    }
    server.ask(with(recorded(&world, "Which colour?"), 4, json!({})));
    terminal.wait_for("no announced call asks this; the server of the tool could have sent it");
    server.hears_nothing();
    server.end();
    let (_, text) = terminal.end();
    assert!(!text.contains("\u{1b}[31m"), "{text:?}");
    let log = String::from_utf8(world.run(&["audit", "log", "--json"], b"").stdout).unwrap();
    let kept = r#"mcp_servers.\"files\".tools.\"remove\".approval_mode = \"approve\""#;
    assert_eq!(log.matches(kept).count(), 1, "{log}");
}

#[test]
fn a_request_that_is_answered_elsewhere_is_withdrawn() {
    let world = World::new();
    let server = Server::start(&world);
    let mut terminal = at_terminal(&world, &server);
    let resolved = |id| json!({ "method": "serverRequest/resolved", "params": { "threadId": THREAD, "requestId": id } });
    server.ask(with(recorded(&world, "git log"), 1, json!({ "command": "first" })));
    terminal.wait_for("$ first");
    server.ask(with(recorded(&world, "git log"), 2, json!({ "command": "second" })));
    server.ask(with(recorded(&world, "git log"), 3, json!({ "command": "third" })));
    server.ask(resolved(2));
    server.ask(resolved(1));
    terminal.wait_for("answered elsewhere: `first`");
    terminal.wait_for("$ third");
    std::thread::sleep(NEVER);
    terminal.press("y");
    assert_eq!(server.answer(), decision(3, json!("accept")), "and nothing before it");
    server.end();
    let (_, text) = terminal.end();
    assert!(!text.contains("$ second"), "{text}");
}

#[test]
fn hostile_text_drives_no_terminal() {
    let world = World::new();
    let server = Server::start(&world);
    let mut terminal = at_terminal(&world, &server);
    let hostile = json!({
        "command": "/bin/bash -lc 'echo \u{1b}[2J\u{202e}x'",
        "reason": "\u{1b}]0;title\u{7}",
        "availableDecisions": ["accept", { "acceptWithExecpolicyAmendment": { "execpolicy_amendment": ["echo\u{1b}c"] } }, "cancel"],
    });
    server.ask(with(recorded(&world, "git log"), 1, hostile));
    terminal.wait_for(r"$ echo \x1b[2J\u{202e}x");
    terminal.wait_for(r"the agent's reason: \x1b]0;title\x07");
    terminal.wait_for(
        r"Codex would also save a rule for `'echo\x1bc'`: no command on the screen begins with it",
    );
    terminal.press("\x1b");
    assert_eq!(server.answer(), decision(1, json!("cancel")));
    terminal.wait_for(r"declined by you: `echo \x1b[2J\u{202e}x`");
    server.end();
    terminal.end();
}

/// Guards I19.
#[test]
fn control_c_answers_nothing() {
    let world = World::new();
    let server = Server::start(&world);
    let mut terminal = at_terminal(&world, &server);
    server.ask(recorded(&world, "May I touch it?"));
    terminal.wait_for("leave it unanswered");
    terminal.press("\x03");
    let (code, text) = terminal.end();
    assert_eq!(code, 130, "{text}");
    assert!(server.heard.try_recv().is_err());
}

#[test]
fn a_server_that_ends_or_sends_too_much_ends_the_review() {
    let world = World::new();
    let server = Server::start(&world);
    let terminal = at_terminal(&world, &server);
    server.ask(recorded(&world, "May I touch it?"));
    terminal.wait_for("leave it unanswered");
    server.end();
    let (code, text) = terminal.end();
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("the app server has ended, or has closed the connection"), "{text}");

    let world = World::new();
    let server = Server::start(&world);
    let child = start(&world, &server, &[]);
    server.ask(json!({ "method": "x", "params": "x".repeat(17 << 20) }));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("a message of more than 16 MiB"), "{said}");
}

#[test]
fn one_request_may_be_all() {
    let world = World::new().policy(POLICY);
    for (text, expected) in [("rm -rf x/y", 0), ("May I touch it?", 4)] {
        let server = Server::start(&world);
        let child = start(&world, &server, &["--once"]);
        server.ask(recorded(&world, text));
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(expected), "{}", stderr(&output));
        server.end();
        fs::remove_dir_all(world.root().join("codex")).unwrap();
    }
}

#[test]
fn no_data_is_sent_to_a_socket_that_others_could_have_created() {
    let world = World::new();
    let review = |path: &str| world.run(&["codex", "review", "--socket", path], b"");
    let none = review("/not/there.sock");
    assert_eq!(code(&none), 1);
    assert!(stderr(&none).contains("`codex app-server --listen unix://` starts one"));

    let open = world.root().join("open");
    fs::create_dir_all(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o750)).unwrap();
    let path = open.join("s.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let refused = review(path.to_str().unwrap());
    assert_eq!(code(&refused), 1);
    assert!(
        stderr(&refused).contains("its directory is accessible to other users"),
        "{}",
        stderr(&refused)
    );
    let closed = world.root().join("closed");
    fs::create_dir_all(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    symlink(&path, closed.join("link")).unwrap();
    let refused = review(closed.join("link").to_str().unwrap());
    assert!(
        stderr(&refused).contains("its directory is accessible to other users"),
        "{}",
        stderr(&refused)
    );
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "it did not even connect");

    let file = open.join("file");
    fs::write(&file, "").unwrap();
    assert!(stderr(&review(file.to_str().unwrap())).contains("it is not a socket"));
}

#[test]
fn the_default_socket_is_in_the_home_of_codex() {
    let world = World::new();
    let mut command = world.command(&["codex", "review"]);
    let said = stderr(&command.env("CODEX_HOME", "/not/there").output().unwrap());
    assert!(said.contains("/not/there/app-server-control/app-server-control.sock"), "{said}");
    let said = stderr(&world.run(&["codex", "review"], b""));
    let usual = world.root().join(".codex/app-server-control/app-server-control.sock");
    assert!(said.contains(usual.to_str().unwrap()), "{said}");
}
