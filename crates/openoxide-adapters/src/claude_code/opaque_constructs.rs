//! Constructs that cannot be checked before a script runs.

use tree_sitter::Node;

use crate::parsed_script::ParsedScript;

/// The kinds of nodes that hide which commands run.
const OPAQUE_NODE_KINDS: &[&str] = &[
    "ERROR",
    "expansion",
    "process_substitution",
    "ansi_c_string",
    "translated_string",
    "brace_expression",
    "array",
    "subscript",
    "function_definition",
    "case_statement",
    "compound_statement",
    "subshell",
    "c_style_for_statement",
    "herestring_redirect",
    "&",
    "+=",
];

/// Returns whether everything in a script can be checked before it runs.
pub(crate) fn is_statically_checkable(script: &ParsedScript<'_>) -> bool {
    script.find_nodes(|node| has_opaque_construct(script, node)).is_empty()
}

fn has_opaque_construct(script: &ParsedScript<'_>, node: Node<'_>) -> bool {
    let text = script.node_text(node);
    match node.kind() {
        "simple_expansion" => text != "$HOME",
        "command_substitution" => {
            !is_assignment_substitution(node) && !is_commit_message(script, node)
        }
        "heredoc_redirect" => !is_plain_heredoc(script, node),
        "word" | "concatenation" => has_brace_expansion(text),
        // `-v` expands a subscript, including any commands in it.
        "test_operator" => text == "-v",
        kind => node.is_missing() || OPAQUE_NODE_KINDS.contains(&kind),
    }
}

/// Returns whether a substitution is the value of a separate assignment (`a=$(…)`). The commands
/// inside of it are checked.
fn is_assignment_substitution(node: Node<'_>) -> bool {
    let assignment = node.parent().filter(|parent| parent.kind() == "variable_assignment");
    let around = assignment.and_then(|assignment| assignment.parent());
    around.is_some_and(|around| around.kind() != "command")
}

/// Returns whether a node is `git commit -m "$(cat <<'EOF' … EOF)"`, the form in which the client
/// itself writes long messages.
fn is_commit_message(script: &ParsedScript<'_>, node: Node<'_>) -> bool {
    let text = script.node_text(node);
    let body = text.strip_prefix("$(cat <<'").and_then(|rest| rest.split_once("'\n"));
    let Some((end, body)) = body else { return false };
    let closes = body.trim_end_matches(')').trim_end().ends_with(end);
    let commit = std::iter::successors(node.parent(), |node| node.parent())
        .find(|node| node.kind() == "command")
        .is_some_and(|command| script.node_text(command).starts_with("git commit "));
    closes && commit
}

/// Returns whether a here-document has a quoted delimiter and no other redirection next to it.
fn is_plain_heredoc(script: &ParsedScript<'_>, node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    let kinds: Vec<_> = node.children(&mut cursor).collect();
    let quoted = kinds.iter().any(|child| {
        child.kind() == "heredoc_start" && script.node_text(*child).starts_with(['\'', '"', '\\'])
    });
    let beside = node.parent().is_some_and(|parent| {
        let mut cursor = parent.walk();
        parent.children(&mut cursor).any(|child| child.kind() == "file_redirect")
    });
    quoted && !beside && !kinds.iter().any(|child| child.kind() == "file_redirect")
}

fn has_brace_expansion(text: &str) -> bool {
    let inside = text.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    !text.starts_with(['\'', '"'])
        && inside.is_some_and(|(inside, _)| inside.contains([',']) || inside.contains(".."))
}
