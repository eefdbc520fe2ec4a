//! The commands of a script, as Codex splits it with the tree-sitter grammar.
//!
//! If a script contains anything other than plain words, no rule matches its parts. The whole
//! script is then one command.

use tree_sitter::Node;

use super::{dialect::CodexDialect, fast_split};
use openoxide_adapters::parsed_script::ParsedScript;

/// The nodes that a plain script consists of.
const PLAIN_NODE_KINDS: &[&str] = &[
    "program",
    "list",
    "pipeline",
    "command",
    "command_name",
    "word",
    "string",
    "string_content",
    "raw_string",
    "number",
    "concatenation",
];
/// The tokens between the nodes, apart from blanks.
const PLAIN_TOKENS: &[&str] = &["&&", "||", ";", "|", "\"", "'"];

/// Returns the script of a shell call that has no other arguments.
pub(super) fn extract_script(argv: &[String]) -> Option<&str> {
    let [shell, flag, script] = argv else { return None };
    let stem = shell.rsplit('/').next().unwrap_or_default().split('.').next().unwrap_or_default();
    let shell = ["bash", "zsh", "sh"].contains(&stem) && ["-lc", "-c"].contains(&flag.as_str());
    shell.then_some(script)
}

/// Returns the words of each command of a plain script in order, or `None` if the script is not
/// plain.
pub(super) fn read_plain_commands(text: &str, dialect: CodexDialect) -> Option<Vec<Vec<String>>> {
    if dialect == CodexDialect::V0169 && fast_split::has_special_character(text) {
        return None;
    }
    fast_split::split_plain_script(text).or_else(|| parse_plain_commands(text, dialect))
}

/// Returns the same as `read_plain_commands`, always by the grammar.
pub(super) fn parse_plain_commands(text: &str, dialect: CodexDialect) -> Option<Vec<Vec<String>>> {
    let script = ParsedScript::parse(text).filter(|script| !script.root_node().has_error())?;
    let odd = script.find_nodes(|node| match node.is_named() {
        true => !PLAIN_NODE_KINDS.contains(&node.kind()),
        false => !PLAIN_TOKENS.contains(&node.kind()) && !node.kind().trim().is_empty(),
    });
    if !odd.is_empty() {
        return None;
    }
    let literal = LiteralReader { script: &script, dialect };
    let words = |command: &Node<'_>| literal.read_command(*command);
    let commands: Vec<_> =
        script.nodes_of_kind("command").iter().map(words).collect::<Option<_>>()?;
    (!commands.is_empty()).then_some(commands)
}

/// Returns the words of the only command of a script that reads a here-document and writes to no
/// file.
pub(super) fn read_heredoc_command(text: &str) -> Option<Vec<String>> {
    let script = ParsedScript::parse(text).filter(|script| !script.root_node().has_error())?;
    let has = |kind| !script.nodes_of_kind(kind).is_empty();
    let fed = has("heredoc_redirect") && !has("file_redirect");
    let literal = LiteralReader { script: &script, dialect: CodexDialect::V0145 };
    match script.nodes_of_kind("command").as_slice() {
        [only] if fed && is_unquoted(*only) => literal.read_command(*only),
        _ => None,
    }
}

/// Returns whether no word of a command is quoted.
fn is_unquoted(command: Node<'_>) -> bool {
    let mut cursor = command.walk();
    let mut arguments = command.children_by_field_name("argument", &mut cursor);
    arguments.all(|argument| ["word", "number"].contains(&argument.kind()))
}

/// Returns the literal words of every command anywhere in a script, or `None` if the script has a
/// syntax error. Words that are not literal are left out, and so are commands whose name is not
/// literal.
pub(super) fn read_all_commands(text: &str) -> Option<Vec<Vec<String>>> {
    let script = ParsedScript::parse(text).filter(|script| !script.root_node().has_error())?;
    let literal = LiteralReader { script: &script, dialect: CodexDialect::V0169 };
    Some(
        script
            .nodes_of_kind("command")
            .into_iter()
            .filter_map(|command| literal.read_known_words(command))
            .collect(),
    )
}

struct LiteralReader<'s, 'a> {
    script: &'s ParsedScript<'a>,
    dialect: CodexDialect,
}

impl LiteralReader<'_, '_> {
    /// Returns the words of a command, if all of them are literal and its name is a bare word.
    fn read_command(&self, command: Node<'_>) -> Option<Vec<String>> {
        let mut cursor = command.walk();
        let mut children = command.named_children(&mut cursor);
        let name = children.next().filter(|name| name.kind() == "command_name")?;
        let name = self.single_named_child(name).filter(|word| word.kind() == "word")?;
        let mut words = vec![self.read_word(name)?];
        for child in children {
            words.push(self.read_word(child)?);
        }
        Some(words)
    }

    fn read_known_words(&self, command: Node<'_>) -> Option<Vec<String>> {
        let name =
            self.read_word(self.single_named_child(command.child_by_field_name("name")?)?)?;
        let mut cursor = command.walk();
        let arguments = command.children_by_field_name("argument", &mut cursor);
        Some(
            std::iter::once(name)
                .chain(arguments.filter_map(|word| self.read_word(word)))
                .collect(),
        )
    }

    fn single_named_child<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        node.named_child(0).filter(|_| node.named_child_count() == 1)
    }

    /// Returns the value of a word, if the word is literal.
    fn read_word(&self, node: Node<'_>) -> Option<String> {
        let text = self.script.node_text(node);
        match node.kind() {
            "word" | "number" => self.read_bare_word(node, text).then(|| text.to_owned()),
            "string" => self.read_quoted_word(node, text),
            "raw_string" => Some(text.strip_prefix('\'')?.strip_suffix('\'')?.to_owned()),
            "concatenation" => self.read_concatenation(node),
            _ => None,
        }
    }

    fn read_bare_word(&self, node: Node<'_>, text: &str) -> bool {
        let special = |c: char| "{}*?[]\\~^#$`".contains(c);
        let literal = !text.starts_with('=') && !text.contains(special);
        node.named_child_count() == 0 && (literal || self.dialect == CodexDialect::V0145)
    }

    fn read_quoted_word(&self, node: Node<'_>, text: &str) -> Option<String> {
        let mut cursor = node.walk();
        let plain = node.named_children(&mut cursor).all(|child| child.kind() == "string_content");
        let text = text.strip_prefix('"')?.strip_suffix('"')?;
        let literal = self.dialect == CodexDialect::V0145 || !has_escape(text);
        (plain && literal && node.child_count() > 1).then(|| text.to_owned())
    }

    fn read_concatenation(&self, node: Node<'_>) -> Option<String> {
        let mut cursor = node.walk();
        let parts = node.named_children(&mut cursor).map(|part| self.read_word(part));
        let joined: String = parts.collect::<Option<Vec<_>>>()?.concat();
        (!joined.is_empty()).then_some(joined)
    }
}

/// Returns whether a text contains a backslash that is an escape within double quotes.
fn has_escape(text: &str) -> bool {
    let pairs = text.chars().zip(text.chars().skip(1));
    let mut pairs = pairs.filter(|(first, _)| *first == '\\');
    pairs.any(|(_, second)| "$`\"\\\n".contains(second))
}
