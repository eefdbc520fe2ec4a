//! The permission requests of OpenCode's bash tool, which cover every command in a script at any
//! depth.

use tree_sitter::Node;

use super::{command_arity, external_paths, permission_request::OpenCodeRequest};
use crate::{
    parsed_script::ParsedScript, policy_translation::CallContext, tool_input_error::ToolInputError,
};

/// Commands that change the directory, for which no permission is requested.
const DIRECTORY_COMMANDS: &[&str] =
    &["cd", "chdir", "popd", "pushd", "push-location", "set-location"];

/// The kinds of nodes that become words. Numbers, variables and substitutions are left out.
const WORD_NODE_KINDS: &[&str] = &["command_name", "word", "string", "raw_string", "concatenation"];

/// Returns the requests of a script, in the order in which they are made.
///
/// # Errors
/// Returns an error if the script is too long for the parser.
pub(crate) fn collect_script_requests(
    text: &str,
    workdir: Option<&str>,
    at: CallContext<'_>,
) -> Result<Vec<OpenCodeRequest>, ToolInputError> {
    let script = ParsedScript::parse(text).ok_or(ToolInputError::ScriptTooLong)?;
    let place = workdir.map_or_else(|| at.cwd.clone(), |directory| at.cwd.join(directory));
    let (mut directories, mut patterns, mut always) = (Vec::new(), Vec::new(), Vec::new());
    for command in script.nodes_of_kind("command") {
        let words = command_words(&script, command);
        let name = words.first().copied().unwrap_or_default();
        let left = external_paths::path_arguments(name, &words).filter_map(|path| {
            external_paths::external_directory(&external_paths::resolve_word(path, &place, at)?, at)
        });
        left.for_each(|directory| push_unique(&mut directories, directory));
        if !DIRECTORY_COMMANDS.contains(&name) {
            push_unique(&mut patterns, command_source(&script, command).to_owned());
            push_unique(&mut always, command_arity::always_pattern(&words));
        }
    }
    if !external_paths::is_in_project(&place, at) {
        push_unique(&mut directories, place);
    }
    let directories: Vec<_> = directories.iter().map(external_paths::directory_pattern).collect();
    let all = [
        OpenCodeRequest::new("external_directory", directories.clone(), directories),
        OpenCodeRequest::new("bash", patterns, always),
    ];
    Ok(all.into_iter().filter(|question| !question.patterns.is_empty()).collect())
}

fn push_unique<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// Returns the text of a command, with its redirections.
fn command_source<'a>(script: &ParsedScript<'a>, command: Node<'_>) -> &'a str {
    let around = command.parent().filter(|parent| parent.kind() == "redirected_statement");
    script.node_text(around.unwrap_or(command)).trim()
}

fn command_words<'a>(script: &ParsedScript<'a>, command: Node<'_>) -> Vec<&'a str> {
    let mut cursor = command.walk();
    let children =
        command.children(&mut cursor).filter(|child| WORD_NODE_KINDS.contains(&child.kind()));
    children.map(|child| script.node_text(child)).collect()
}
