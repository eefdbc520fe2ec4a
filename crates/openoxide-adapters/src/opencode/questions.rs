//! From a tool call to what OpenCode asks its rules.

use openoxide_protocol::AbsPath;
use serde_json::Value;

use super::{bash, outside};
use crate::{foreign::Surroundings, patch};

/// One question: a permission, and what it is wanted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name of the permission.
    pub permission: String,
    /// What it is wanted for.
    pub patterns: Vec<String>,
    /// What "always" would allow.
    pub always: Vec<String>,
}

impl Question {
    pub(crate) fn new(permission: &str, patterns: Vec<String>, always: Vec<String>) -> Self {
        Self { permission: permission.to_owned(), patterns, always }
    }

    fn one(permission: &str, pattern: impl Into<String>) -> Self {
        Self::new(permission, vec![pattern.into()], vec!["*".to_owned()])
    }
}

/// Returns the questions of a tool call, in the order in which they are raised. Tools are taken in OpenCode's spelling and in
/// those of the other agents.
///
/// # Errors
/// When the input does not fit the tool.
pub fn questions(tool: &str, input: &Value, at: Surroundings<'_>) -> Result<Vec<Question>, String> {
    match tool.to_ascii_lowercase().as_str() {
        "bash" | "shell" => {
            bash::questions(text(input, &["command", "cmd"])?, optional(input, &["workdir"]), at)
        }
        "read" | "read_file" | "view" => file("read", input, at),
        "edit" | "write" | "multiedit" | "write_file" => file("edit", input, at),
        "apply_patch" | "patch" => patched(input, at),
        name @ ("glob" | "grep") => {
            let asked = Question::one(name, text(input, &["pattern"])?);
            let path = optional(input, &["path"]).map(|path| at.cwd.join(path));
            Ok([asked].into_iter().chain(path.and_then(|path| left(&path, at))).collect())
        }
        "webfetch" => Ok(vec![Question::one("webfetch", text(input, &["url"])?)]),
        "websearch" => Ok(vec![Question::one("websearch", text(input, &["query"])?)]),
        "task" | "agent" => Ok(vec![Question::one("task", text(input, &["subagent_type"])?)]),
        "skill" => {
            let name = text(input, &["name", "skill"])?;
            Ok(vec![Question::new("skill", vec![name.to_owned()], vec![name.to_owned()])])
        }
        "list_mcp_resources" | "list_mcp_resource_templates" | "read_mcp_resource" => {
            let server = optional(input, &["server"]).unwrap_or("*");
            let uri = optional(input, &["uri"]).unwrap_or("*");
            Ok(vec![Question::one("read", format!("mcp:{server}:{uri}"))])
        }
        _ => Ok(vec![Question::one(&named(tool), "*")]),
    }
}

/// Returns OpenCode's name of a tool: `server_tool` for what others call `mcp__server__tool`.
fn named(tool: &str) -> String {
    match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => format!("{server}_{tool}"),
        None if matches!(tool, "TodoWrite" | "TodoRead" | "LS") => tool.to_ascii_lowercase(),
        None => tool.to_owned(),
    }
}

fn file(permission: &str, input: &Value, at: Surroundings<'_>) -> Result<Vec<Question>, String> {
    let path = at.cwd.join(text(input, &["filePath", "file_path", "path"])?);
    let asked = Question::one(permission, outside::relative(&path, at));
    Ok(left(&path, at).into_iter().chain([asked]).collect())
}

fn patched(input: &Value, at: Surroundings<'_>) -> Result<Vec<Question>, String> {
    let files = patch::files(text(input, &["patchText", "patch", "input"])?);
    let files = files.ok_or("the input of `apply_patch` is no patch")?;
    let paths: Vec<AbsPath> = files.iter().map(|file| at.cwd.join(file)).collect();
    let mut all: Vec<_> = paths.iter().filter_map(|path| left(path, at)).collect();
    let patterns = paths.iter().map(|path| outside::relative(path, at)).collect();
    all.push(Question::new("edit", patterns, vec!["*".to_owned()]));
    Ok(all)
}

/// Returns the question about a path outside the project.
fn left(path: &AbsPath, at: Surroundings<'_>) -> Option<Question> {
    let pattern = outside::pattern(&outside::directory(path, at)?);
    Some(Question::new("external_directory", vec![pattern.clone()], vec![pattern]))
}

fn optional<'a>(input: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| input.get(key)).and_then(Value::as_str)
}

fn text<'a>(input: &'a Value, keys: &[&str]) -> Result<&'a str, String> {
    let key = keys.first().copied().unwrap_or_default();
    optional(input, keys).ok_or_else(|| format!("the input has no text `{key}`"))
}
