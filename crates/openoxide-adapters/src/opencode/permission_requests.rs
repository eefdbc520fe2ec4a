//! Translation of tool calls into OpenCode's permission requests.

use openoxide_protocol::AbsPath;
use serde_json::Value;

use super::{external_paths, permission_request::OpenCodeRequest, script_requests};
use crate::{patch_files, policy_translation::CallContext, tool_input_error::ToolInputError};

/// Returns the requests of a tool call, in the order in which they are made. Tools may have
/// OpenCode's names or those of the other agents.
///
/// # Errors
/// Returns an error if the input does not fit the tool.
pub fn collect_permission_requests(
    tool: &str,
    input: &Value,
    at: CallContext<'_>,
) -> Result<Vec<OpenCodeRequest>, ToolInputError> {
    match tool.to_ascii_lowercase().as_str() {
        "bash" | "shell" => script_requests::collect_script_requests(
            require_text(input, &["command", "cmd"])?,
            optional_text(input, &["workdir"]),
            at,
        ),
        "read" | "read_file" | "view" => file_request("read", input, at),
        "edit" | "write" | "multiedit" | "write_file" => file_request("edit", input, at),
        "apply_patch" | "patch" => collect_patch_requests(input, at),
        name @ ("glob" | "grep") => {
            let asked = OpenCodeRequest::for_pattern(name, require_text(input, &["pattern"])?);
            let path = optional_text(input, &["path"]).map(|path| at.cwd.join(path));
            Ok([asked]
                .into_iter()
                .chain(path.and_then(|path| external_directory_request(&path, at)))
                .collect())
        }
        "webfetch" => {
            Ok(vec![OpenCodeRequest::for_pattern("webfetch", require_text(input, &["url"])?)])
        }
        "websearch" => {
            Ok(vec![OpenCodeRequest::for_pattern("websearch", require_text(input, &["query"])?)])
        }
        "task" | "agent" => {
            Ok(vec![OpenCodeRequest::for_pattern("task", require_text(input, &["subagent_type"])?)])
        }
        "skill" => {
            let name = require_text(input, &["name", "skill"])?;
            Ok(vec![OpenCodeRequest::new("skill", vec![name.to_owned()], vec![name.to_owned()])])
        }
        "list_mcp_resources" | "list_mcp_resource_templates" | "read_mcp_resource" => {
            let server = optional_text(input, &["server"]).unwrap_or("*");
            let uri = optional_text(input, &["uri"]).unwrap_or("*");
            Ok(vec![OpenCodeRequest::for_pattern("read", format!("mcp:{server}:{uri}"))])
        }
        _ => Ok(vec![OpenCodeRequest::for_pattern(&opencode_tool_name(tool), "*")]),
    }
}

/// Returns OpenCode's name of a tool: `server_tool` for `mcp__server__tool`.
fn opencode_tool_name(tool: &str) -> String {
    match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => format!("{server}_{tool}"),
        None if matches!(tool, "TodoWrite" | "TodoRead" | "LS") => tool.to_ascii_lowercase(),
        None => tool.to_owned(),
    }
}

fn file_request(
    permission: &str,
    input: &Value,
    at: CallContext<'_>,
) -> Result<Vec<OpenCodeRequest>, ToolInputError> {
    let path = at.cwd.join(require_text(input, &["filePath", "file_path", "path"])?);
    let asked =
        OpenCodeRequest::for_pattern(permission, external_paths::to_worktree_relative(&path, at));
    Ok(external_directory_request(&path, at).into_iter().chain([asked]).collect())
}

fn collect_patch_requests(
    input: &Value,
    at: CallContext<'_>,
) -> Result<Vec<OpenCodeRequest>, ToolInputError> {
    let files =
        patch_files::collect_changed_files(require_text(input, &["patchText", "patch", "input"])?);
    let files = files.ok_or(ToolInputError::NotPatch)?;
    let paths: Vec<AbsPath> = files.iter().map(|file| at.cwd.join(file)).collect();
    let mut all: Vec<_> =
        paths.iter().filter_map(|path| external_directory_request(path, at)).collect();
    let patterns =
        paths.iter().map(|path| external_paths::to_worktree_relative(path, at)).collect();
    all.push(OpenCodeRequest::new("edit", patterns, vec!["*".to_owned()]));
    Ok(all)
}

/// Returns the request for a path outside of the project.
fn external_directory_request(path: &AbsPath, at: CallContext<'_>) -> Option<OpenCodeRequest> {
    let pattern = external_paths::directory_pattern(&external_paths::external_directory(path, at)?);
    Some(OpenCodeRequest::new("external_directory", vec![pattern.clone()], vec![pattern]))
}

fn optional_text<'a>(input: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| input.get(key)).and_then(Value::as_str)
}

fn require_text<'a>(input: &'a Value, keys: &[&str]) -> Result<&'a str, ToolInputError> {
    let key = keys.first().copied().unwrap_or_default();
    optional_text(input, keys).ok_or_else(|| ToolInputError::MissingText(key.to_owned()))
}
