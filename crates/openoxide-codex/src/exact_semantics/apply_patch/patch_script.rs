//! Scripts that Codex treats as a call of `apply_patch`, which it handles itself. Such a script is
//! one here-document, possibly after one `cd`.

use tree_sitter::Node;

use openoxide_adapters::parsed_script::ParsedScript;

/// The names of the command. No program has these names.
const APPLY_PATCH_NAMES: [&str; 2] = ["apply_patch", "applypatch"];

/// A call of `apply_patch`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PatchCall {
    /// The directory of the preceding `cd`, as written, without expansions.
    pub(super) directory: Option<String>,
    /// The patch, as written.
    pub(super) patch: String,
}

/// Parses a script as a call of `apply_patch`, if Codex treats it as one.
pub(super) fn parse_call(text: &str) -> Option<PatchCall> {
    // A script that does not contain the name does not have to be parsed.
    text.contains("apply").then_some(())?;
    // An unterminated here-document is accepted too: Codex does not check this tree for errors.
    let script = ParsedScript::parse(text)?;
    // A statement after `;` or `&` is ignored. The tree can contain one after a line such as `EOF;
    // rm x`, which does not end a here-document.
    let program = script.root_node();
    let is_last = program.child(1).is_none_or(|next| !next.is_named());
    let statement = program.child(0).filter(|_| is_last)?;
    let [body, heredoc] = find_named_children(statement, "redirected_statement")?;
    let [_start, document, _end] = find_named_children(heredoc, "heredoc_redirect")?;
    // Further words after a `cd` are ignored.
    let directory = match find_named_children(body, "list") {
        Some([first, second]) if script.node_text(body.child(1)?) == "&&" => {
            command_arguments(&script, second, &APPLY_PATCH_NAMES)?;
            Some(find_cd_directory(&script, first)?)
        }
        _ => command_arguments(&script, body, &APPLY_PATCH_NAMES)?.is_empty().then_some(None)?,
    };
    Some(PatchCall { directory, patch: script.node_text(document).to_owned() })
}

/// Returns the named children of a node, if it has this kind and exactly `N` of them.
fn find_named_children<'t, const N: usize>(node: Node<'t>, kind: &str) -> Option<[Node<'t>; N]> {
    let mut cursor = node.walk();
    let children: Vec<_> = node.named_children(&mut cursor).collect();
    children.try_into().ok().filter(|_| node.kind() == kind)
}

/// Returns the arguments of a command that has one of these unquoted names. Anything before the
/// name is ignored.
fn command_arguments<'t>(
    script: &ParsedScript<'_>,
    command: Node<'t>,
    names: &[&str],
) -> Option<Vec<Node<'t>>> {
    let mut cursor = command.walk();
    let mut children = command.named_children(&mut cursor);
    let name = children.by_ref().find(|child| child.kind() == "command_name")?;
    let [word] = find_named_children(name, "command_name")?;
    let named = word.kind() == "word" && names.contains(&script.node_text(word));
    (command.kind() == "command" && named).then(|| children.collect())
}

/// Returns the directory of a `cd`, as written; only the first line of a quoted text.
fn find_cd_directory(script: &ParsedScript<'_>, command: Node<'_>) -> Option<String> {
    let [place] = command_arguments(script, command, &["cd"])?.try_into().ok()?;
    let text = script.node_text(place);
    match place.kind() {
        "word" => Some(text.to_owned()),
        "raw_string" => Some(text.strip_prefix('\'')?.strip_suffix('\'')?.to_owned()),
        "string" => {
            let mut cursor = place.walk();
            let mut parts = place.named_children(&mut cursor);
            Some(script.node_text(parts.find(|part| part.kind() == "string_content")?).to_owned())
        }
        _ => None,
    }
}
