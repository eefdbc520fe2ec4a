//! Parsing of the tool calls of all agents: from the name and the input of a tool to an action.

use openoxide_protocol::Action;
use serde_json::Value;

use crate::{
    patch_files, quote_words,
    search_filter::{ALL_FILES, filter_patterns, find_fixed_prefix},
};

/// A tool that agents have, as its input is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownTool {
    Shell,
    FileReader,
    FileEditor,
    Patch,
    Search,
    WebFetch,
    Socket,
    Subagent,
    Monitor,
    ScheduledPrompt,
}

/// The names of the known tools: those of OpenOxide and those of the agents.
const KNOWN_TOOLS: &[(&str, KnownTool)] = &[
    ("Bash", KnownTool::Shell),
    ("bash", KnownTool::Shell),
    ("shell", KnownTool::Shell),
    ("local_shell", KnownTool::Shell),
    ("exec", KnownTool::Shell),
    ("exec_command", KnownTool::Shell),
    ("container.exec", KnownTool::Shell),
    ("run_shell_command", KnownTool::Shell),
    ("Read", KnownTool::FileReader),
    ("read", KnownTool::FileReader),
    ("read_file", KnownTool::FileReader),
    ("view", KnownTool::FileReader),
    ("NotebookRead", KnownTool::FileReader),
    ("view_image", KnownTool::FileReader),
    ("Edit", KnownTool::FileEditor),
    ("edit", KnownTool::FileEditor),
    ("MultiEdit", KnownTool::FileEditor),
    ("multiedit", KnownTool::FileEditor),
    ("Write", KnownTool::FileEditor),
    ("write", KnownTool::FileEditor),
    ("write_file", KnownTool::FileEditor),
    ("NotebookEdit", KnownTool::FileEditor),
    ("replace", KnownTool::FileEditor),
    ("str_replace_editor", KnownTool::FileEditor),
    ("create", KnownTool::FileEditor),
    ("apply_patch", KnownTool::Patch),
    ("patch", KnownTool::Patch),
    ("Glob", KnownTool::Search),
    ("glob", KnownTool::Search),
    ("Grep", KnownTool::Search),
    ("grep", KnownTool::Search),
    ("LS", KnownTool::Search),
    ("ls", KnownTool::Search),
    ("list", KnownTool::Search),
    ("list_directory", KnownTool::Search),
    ("WebFetch", KnownTool::WebFetch),
    ("webfetch", KnownTool::WebFetch),
    ("web_fetch", KnownTool::WebFetch),
    ("Socket", KnownTool::Socket),
    ("socket", KnownTool::Socket),
    ("Task", KnownTool::Subagent),
    ("task", KnownTool::Subagent),
    ("Agent", KnownTool::Subagent),
    ("agent", KnownTool::Subagent),
    ("Monitor", KnownTool::Monitor),
    ("CronCreate", KnownTool::ScheduledPrompt),
    ("ScheduleWakeup", KnownTool::ScheduledPrompt),
];

/// Returns the names of the tools whose input is understood. Any other tool is a generic one.
pub fn known_tool_names() -> impl Iterator<Item = &'static str> {
    KNOWN_TOOLS.iter().map(|(name, _)| *name)
}

/// Returns the action of a tool call. Tools may have OpenOxide's names or those of the agents. An
/// unknown tool is a generic tool call. An input that does not fit its tool is opaque.
#[must_use]
pub fn parse_action(tool: &str, input: &Value) -> Action {
    let known = KNOWN_TOOLS.iter().find(|(name, _)| *name == tool);
    let Some((_, known)) = known else { return Action::CallTool };
    match known {
        KnownTool::Shell => command_action(input),
        KnownTool::FileReader => path_action(tool, input, |paths| Action::Read { paths }),
        KnownTool::FileEditor => path_action(tool, input, |paths| Action::Edit { paths }),
        KnownTool::Patch => patch_action(input),
        KnownTool::Search => search_action(tool, input),
        KnownTool::WebFetch => match text_field(input, &["url"]) {
            Some(url) => Action::Fetch { url: url.to_owned() },
            None => opaque_input(tool, "names no address"),
        },
        KnownTool::Socket => match text_field(input, &["socket"]) {
            Some(socket) => Action::Connect { socket: socket.to_owned() },
            None => opaque_input(tool, "names no socket"),
        },
        KnownTool::Subagent => subagent_action(tool, input),
        KnownTool::Monitor if input.get("ws").is_some_and(|socket| !socket.is_null()) => {
            opaque_input(tool, "names a WebSocket")
        }
        KnownTool::Monitor => command_action(input),
        KnownTool::ScheduledPrompt => scheduled_prompt_action(tool, input),
    }
}

/// The subagent that starts if a call names none.
const DEFAULT_SUBAGENT: &str = "general-purpose";

/// Returns the action of a tool that starts a subagent. A call can also choose the mode that applies
/// to the calls of the subagent, let it run on another machine, or in a new worktree. Git can run
/// hooks and filters when it creates one.
fn subagent_action(tool: &str, input: &Value) -> Action {
    let field = |key: &str| input.get(key).filter(|value| !value.is_null());
    let keys = ["subagent_type", "agent"];
    let agent = match text_field(input, &keys) {
        Some(agent) => agent,
        None if keys.into_iter().all(|key| field(key).is_none()) => DEFAULT_SUBAGENT,
        None => return opaque_input(tool, "names no subagent"),
    };
    if field("mode").is_some_and(|mode| mode != "default" && mode != "plan") {
        return opaque_input(tool, "chooses the permission mode of the subagent");
    }
    if field("isolation").is_some() {
        return opaque_input(tool, "chooses where the subagent runs");
    }
    Action::Delegate { agent: agent.to_owned() }
}

/// The file in which Claude Code keeps prompts that it enqueues later, also in other sessions.
const SCHEDULED_PROMPTS: &str = ".claude/scheduled_tasks.json";

/// Returns the action of a tool that enqueues a prompt later. Without `durable`, the session only
/// remembers the prompt.
fn scheduled_prompt_action(tool: &str, input: &Value) -> Action {
    if !input.get("prompt").is_none_or(is_plain_prompt) {
        return opaque_input(tool, "can name a command or a file");
    }
    match input.get("durable") {
        None | Some(Value::Null | Value::Bool(false)) => Action::CallTool,
        Some(_) => Action::Edit { paths: vec![SCHEDULED_PROMPTS.to_owned()] },
    }
}

/// Returns whether a prompt contains only text for the model. Claude Code processes an enqueued
/// prompt as if the user had typed it: it runs the commands in the definition of `/NAME`, and sends
/// the file `@PATH` to the model, without calling a hook.
fn is_plain_prompt(prompt: &Value) -> bool {
    let is_plain_start = |line: &str| !line.trim_start().starts_with(['/', '!', '#']);
    prompt.as_str().is_some_and(|text| !text.contains('@') && text.lines().all(is_plain_start))
}

fn opaque_input(tool: &str, why: &str) -> Action {
    Action::Opaque { text: format!("the input of `{tool}` {why}") }
}

fn text_field<'a>(input: &'a Value, keys: &[&str]) -> Option<&'a str> {
    unambiguous_field(input, keys).and_then(Value::as_str)
}

/// Returns the value under the first of these keys that is present. Returns `None` if several keys
/// have different values, because each agent reads its own key and the wrong value must not be
/// checked.
fn unambiguous_field<'a>(input: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    let mut found = keys.iter().filter_map(|key| input.get(key));
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Returns the action for a script, or for words that are run without a shell.
fn command_action(input: &Value) -> Action {
    match unambiguous_field(input, &["command", "cmd"]) {
        Some(Value::String(script)) => Action::Command { script: script.clone() },
        Some(Value::Array(words)) => {
            match words.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
                // A shell with its script, in the form that Codex uses. The script is the command.
                Some(words) if matches!(words.as_slice(), ["bash" | "sh", "-c" | "-lc", _]) => {
                    Action::Command { script: words.last().copied().unwrap_or_default().to_owned() }
                }
                Some(words) if !words.is_empty() => Action::Command { script: quote_words(&words) },
                _ => opaque_input("Bash", "contains words that are not strings"),
            }
        }
        _ => opaque_input("Bash", "names no command"),
    }
}

const PATH_KEYS: &[&str] = &["file_path", "filePath", "notebook_path", "absolute_path", "path"];

fn path_action(tool: &str, input: &Value, action: impl Fn(Vec<String>) -> Action) -> Action {
    match text_field(input, PATH_KEYS) {
        Some(path) if path.contains('\0') => opaque_input(tool, "holds a NUL"),
        Some(path) if !path.is_empty() => action(path_spellings(path)),
        _ => opaque_input(tool, "names no file"),
    }
}

/// Returns the possible meanings of a path for an agent: as written, and without the surrounding
/// white space, which some agents remove. A path that is denied or protected in either form is
/// denied or protected.
fn path_spellings(path: &str) -> Vec<String> {
    let dropped = path.trim_matches(|each: char| {
        each.is_whitespace() || each.is_control() || matches!(each, '\u{feff}' | '\u{200b}')
    });
    let mut all = vec![path.to_owned()];
    if dropped != path {
        all.push(if dropped.is_empty() { ".".to_owned() } else { dropped.to_owned() });
    }
    if dropped == "~" {
        all.push("~/.".to_owned());
    }
    all
}

fn patch_action(input: &Value) -> Action {
    let patch =
        input.as_str().or_else(|| text_field(input, &["patchText", "patch", "input", "command"]));
    match patch.and_then(patch_files::collect_changed_files) {
        Some(paths) => Action::Edit { paths },
        None => opaque_input("apply_patch", "is not a patch"),
    }
}

/// Returns the action of a search. It reads the directory that it starts in, and a pattern can lead
/// out of that directory.
fn search_action(tool: &str, input: &Value) -> Action {
    let named = ["path", "dir_path"].iter().any(|key| input.get(key).is_some_and(|v| !v.is_null()));
    let place = match unambiguous_field(input, &["path", "dir_path"]) {
        None if named => return opaque_input(tool, "names two places"),
        None | Some(Value::Null) => ".",
        Some(Value::String(path)) if !path.contains('\0') => path,
        Some(_) => return opaque_input(tool, "names a path that is not a string"),
    };
    let places = path_spellings(if place.is_empty() { "." } else { place });
    Action::Read {
        paths: places.iter().flat_map(|place| find_search_targets(tool, place, input)).collect(),
    }
}

/// Returns the paths that a search in `place` can access.
fn find_search_targets(tool: &str, place: &str, input: &Value) -> Vec<String> {
    let mut paths = vec![place.to_owned()];
    if tool.eq_ignore_ascii_case("glob")
        && let Some(pattern) = text_field(input, &["pattern"])
    {
        paths.extend(
            path_spellings(pattern).iter().filter_map(|pattern| find_fixed_prefix(place, pattern)),
        );
    }
    if !tool.eq_ignore_ascii_case("grep") {
        return paths;
    }
    // A search that is limited to some files reveals the contents of these files.
    let narrowed = input.get("glob").or_else(|| input.get("include")).is_some();
    let patterns = match text_field(input, &["glob", "include"]) {
        Some(text) if narrowed => filter_patterns(text),
        None if narrowed => vec![ALL_FILES],
        _ => Vec::new(),
    };
    paths.extend(patterns.iter().map(|pattern| format!("{place}/{pattern}")));
    // File names and counts do not reveal the lines that were found, unless the search is limited
    // to some files. Then they reveal the contents of those files.
    if narrowed
        || !matches!(text_field(input, &["output_mode"]), Some("files_with_matches" | "count"))
    {
        let place = place.trim_end_matches('/');
        let place = if place.is_empty() { "/." } else { place };
        let below = |pattern: &&str| format!("{place}/**/{pattern}");
        paths.extend(if narrowed { &patterns[..] } else { &["*"] }.iter().map(below));
    }
    paths
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(paths: &[&str]) -> Action {
        Action::Read { paths: paths.iter().map(|path| (*path).to_owned()).collect() }
    }

    fn edit(paths: &[&str]) -> Action {
        Action::Edit { paths: paths.iter().map(|path| (*path).to_owned()).collect() }
    }

    #[test]
    fn tools_of_every_agent_are_understood() {
        let rows = [
            ("Bash", json!({"command": "ls"}), Action::Command { script: "ls".into() }),
            (
                "shell",
                json!({"command": ["bash", "-lc", "ls | wc"]}),
                Action::Command { script: "ls | wc".into() },
            ),
            ("Read", json!({"file_path": "/a"}), read(&["/a"])),
            ("read", json!({"filePath": "/a"}), read(&["/a"])),
            ("Write", json!({"file_path": "/a", "content": "x"}), edit(&["/a"])),
            ("NotebookEdit", json!({"notebook_path": "/a"}), edit(&["/a"])),
            (
                "apply_patch",
                json!({"input": "*** Begin Patch\n*** Add File: x\n+y\n*** End Patch"}),
                edit(&["x"]),
            ),
            ("Grep", json!({"pattern": "x"}), read(&[".", "./**/*"])),
            ("Grep", json!({"pattern": "x", "output_mode": "count"}), read(&["."])),
            (
                "Grep",
                json!({"pattern": "x", "glob": "{.env,a}"}),
                read(&[".", "./{.env,a}", "./**/{.env,a}"]),
            ),
            ("Grep", json!({"pattern": "x", "path": "/etc"}), read(&["/etc", "/etc/**/*"])),
            // Claude Code 2.1 passes no filter to ripgrep for these.
            ("Grep", json!({"pattern": "x", "glob": " , "}), read(&[".", "./**", "./**/**"])),
            ("Grep", json!({"pattern": "x", "glob": ""}), read(&[".", "./**", "./**/**"])),
            // ripgrep 13 and 14 ignore a brace that closes nothing.
            ("Grep", json!({"pattern": "x", "glob": ".env}"}), read(&[".", "./**", "./**/**"])),
            ("Grep", json!({"pattern": "x", "glob": "a{b}}"}), read(&[".", "./**", "./**/**"])),
            ("Grep", json!({"pattern": "x", "glob": "#x"}), read(&[".", "./**", "./**/**"])),
            ("Glob", json!({"pattern": "src/**"}), read(&[".", "./src"])),
            ("Glob", json!({"pattern": "**/*.{ts,tsx}"}), read(&["."])),
            ("Glob", json!({"pattern": "{/etc,x}/*"}), read(&[".", "/"])),
            ("Glob", json!({"pattern": "[.]./*"}), read(&[".", "/"])),
            ("Glob", json!({"pattern": "/etc/*.conf"}), read(&[".", "/etc"])),
            ("Glob", json!({"pattern": "../*"}), read(&[".", "./.."])),
            ("Glob", json!({"pattern": "*/../../x"}), read(&[".", "/"])),
            (
                "WebFetch",
                json!({"url": "https://x.io"}),
                Action::Fetch { url: "https://x.io".into() },
            ),
            (
                "Agent",
                json!({"subagent_type": "Explore"}),
                Action::Delegate { agent: "Explore".into() },
            ),
            (
                "Agent",
                json!({"prompt": "x", "subagent_type": null, "mode": "plan"}),
                Action::Delegate { agent: "general-purpose".into() },
            ),
            ("Monitor", json!({"command": "ls"}), Action::Command { script: "ls".into() }),
            ("CronCreate", json!({"cron": "* * * * *", "durable": false}), Action::CallTool),
            ("CronCreate", json!({"durable": true}), edit(&[".claude/scheduled_tasks.json"])),
            ("CronCreate", json!({"durable": "true"}), edit(&[".claude/scheduled_tasks.json"])),
            ("CronCreate", json!({"prompt": "check the build, 3/4 done"}), Action::CallTool),
            ("ScheduleWakeup", json!({"prompt": "x"}), Action::CallTool),
            ("mcp__a__b", json!({}), Action::CallTool),
            ("Frobnicate", json!(7), Action::CallTool),
        ];
        for (tool, input, expected) in rows {
            assert_eq!(parse_action(tool, &input), expected, "{tool} {input}");
        }
    }

    #[test]
    fn a_path_is_read_with_and_without_surrounding_white_space() {
        for (path, all) in [
            (" /etc/passwd", &[" /etc/passwd", "/etc/passwd"][..]),
            ("CLAUDE.md ", &["CLAUDE.md ", "CLAUDE.md"]),
            ("\u{a0}.git/config", &["\u{a0}.git/config", ".git/config"]),
            ("\u{feff}~/.ssh/id_rsa\n", &["\u{feff}~/.ssh/id_rsa\n", "~/.ssh/id_rsa"]),
            ("\u{2028}..\t", &["\u{2028}..\t", ".."]),
            ("~", &["~", "~/."]),
            (" ~", &[" ~", "~", "~/."]),
            ("  ", &["  ", "."]),
            ("a b", &["a b"]),
        ] {
            assert_eq!(parse_action("Edit", &json!({"file_path": path})), edit(all), "{path:?}");
            assert_eq!(parse_action("Read", &json!({"file_path": path})), read(all), "{path:?}");
            let listed = parse_action("LS", &json!({"path": path}));
            assert_eq!(listed, read(all), "{path:?}");
        }
        let searched = parse_action("Grep", &json!({"pattern": "x", "path": "~"}));
        assert_eq!(searched, read(&["~", "~/**/*", "~/.", "~/./**/*"]));
        let found = parse_action("Glob", &json!({"pattern": " /etc/*", "path": "."}));
        assert_eq!(found, read(&[".", "./ /etc", "/etc"]));
    }

    #[test]
    fn search_filters_are_read_as_agents_read_them() {
        let grep =
            |glob: &str| parse_action("Grep", &json!({"pattern": "x", "path": "/p", "glob": glob}));
        assert_eq!(grep("*.rs"), read(&["/p", "/p/*.rs", "/p/**/*.rs"]));
        assert_eq!(grep("!*.txt"), read(&["/p", "/p/*", "/p/**/*"]));
        let both = read(&["/p", "/p/*.txt", "/p/.env", "/p/**/*.txt", "/p/**/.env"]);
        assert_eq!(grep("*.txt .env"), both);
        assert_eq!(grep("*.txt,.env"), both);
        assert_eq!(grep("*.{a,b}"), read(&["/p", "/p/*.{a,b}", "/p/**/*.{a,b}"]));
        assert_eq!(grep(" !a"), read(&["/p", "/p/*", "/p/**/*"]));
    }

    #[test]
    fn an_input_that_does_not_fit_its_tool_is_opaque() {
        for (tool, input) in [
            ("Bash", json!({})),
            ("Bash", json!({"command": 7})),
            ("Bash", json!({"command": []})),
            ("Bash", json!({"command": ["a", 1]})),
            ("Read", json!({"file_path": ""})),
            ("Read", json!([1])),
            ("Edit", json!({"file_path": "a\0b"})),
            ("Grep", json!({"path": 1})),
            ("Grep", json!({"path": ".", "dir_path": "/etc"})),
            ("WebFetch", json!("x")),
            ("Monitor", json!({"ws": {"url": "wss://x.io"}})),
            ("Monitor", json!({"command": "ls", "ws": {"url": "wss://x.io"}})),
            ("apply_patch", json!({"input": "x"})),
            ("Agent", json!({"prompt": "x", "mode": "bypassPermissions"})),
            ("Task", json!({"subagent_type": "Explore", "mode": "acceptEdits"})),
            ("Agent", json!({"subagent_type": "Explore", "mode": ["plan"]})),
            ("Agent", json!({"subagent_type": "Explore", "isolation": "remote"})),
            ("Agent", json!({"subagent_type": "Explore", "isolation": "worktree"})),
            ("CronCreate", json!({"cron": "* * * * *", "prompt": "/deploy"})),
            ("CronCreate", json!({"cron": "* * * * *", "prompt": "look @/root/.ssh/id_rsa"})),
            ("CronCreate", json!({"cron": "* * * * *", "prompt": "x\n  !ls"})),
            ("CronCreate", json!({"cron": "* * * * *", "prompt": ["/deploy"]})),
            ("CronCreate", json!({"durable": true, "prompt": "@.env"})),
            ("ScheduleWakeup", json!({"delaySeconds": 60, "prompt": " /deploy"})),
            ("Agent", json!({"subagent_type": "deploy", "agent": "Explore"})),
            ("Agent", json!({"subagent_type": ["deploy"]})),
        ] {
            assert!(matches!(parse_action(tool, &input), Action::Opaque { .. }), "{tool} {input}");
        }
    }
}
