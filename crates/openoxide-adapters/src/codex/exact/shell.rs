//! Commands in a script, as Codex cuts it with the tree-sitter grammar.
//!
//! Where anything stands in a script that is no plain word, no rule speaks of it: the script as a whole is one command then.

use tree_sitter::Node;

use super::{dialect::Dialect, quick};
use crate::script::Script;

/// The nodes that a plain script consists of.
const NODES: &[&str] = &[
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
/// The tokens between them, besides blanks.
const TOKENS: &[&str] = &["&&", "||", ";", "|", "\"", "'"];

/// Returns the script that a shell is given, if that is all it is given.
pub(super) fn script(argv: &[String]) -> Option<&str> {
    let [shell, flag, script] = argv else { return None };
    let stem = shell.rsplit('/').next().unwrap_or_default().split('.').next().unwrap_or_default();
    let shell = ["bash", "zsh", "sh"].contains(&stem) && ["-lc", "-c"].contains(&flag.as_str());
    shell.then_some(script)
}

/// Returns the commands of a plain script in their order, with their words; nothing if it is not plain.
pub(super) fn commands(text: &str, dialect: Dialect) -> Option<Vec<Vec<String>>> {
    if dialect == Dialect::V0169 && quick::is_not_plain(text) {
        return None;
    }
    quick::commands(text).or_else(|| parsed(text, dialect))
}

/// Returns the same by the grammar.
pub(super) fn parsed(text: &str, dialect: Dialect) -> Option<Vec<Vec<String>>> {
    let script = Script::read(text).filter(|script| !script.root().has_error())?;
    let odd = script.every(|node| match node.is_named() {
        true => !NODES.contains(&node.kind()),
        false => !TOKENS.contains(&node.kind()) && !node.kind().trim().is_empty(),
    });
    if !odd.is_empty() {
        return None;
    }
    let literal = Literal { script: &script, dialect };
    let words = |command: &Node<'_>| literal.command(*command);
    let commands: Vec<_> = script.all("command").iter().map(words).collect::<Option<_>>()?;
    (!commands.is_empty()).then_some(commands)
}

/// Returns the words of the only command of a script, if it is fed with a here-document and writes to no file.
pub(super) fn before_heredoc(text: &str) -> Option<Vec<String>> {
    let script = Script::read(text).filter(|script| !script.root().has_error())?;
    let has = |kind| !script.all(kind).is_empty();
    let fed = has("heredoc_redirect") && !has("file_redirect");
    let literal = Literal { script: &script, dialect: Dialect::V0145 };
    match script.all("command").as_slice() {
        [only] if fed && is_bare(*only) => literal.command(*only),
        _ => None,
    }
}

/// Says whether no word of a command has quotes.
fn is_bare(command: Node<'_>) -> bool {
    let mut cursor = command.walk();
    let mut arguments = command.children_by_field_name("argument", &mut cursor);
    arguments.all(|argument| ["word", "number"].contains(&argument.kind()))
}

/// Returns the literal words of every command anywhere in a script; nothing if the script is wrong. What is no literal word is
/// left out, and so is a command whose name is none.
pub(super) fn every_command(text: &str) -> Option<Vec<Vec<String>>> {
    let script = Script::read(text).filter(|script| !script.root().has_error())?;
    let literal = Literal { script: &script, dialect: Dialect::V0169 };
    Some(script.all("command").into_iter().filter_map(|command| literal.loose(command)).collect())
}

struct Literal<'s, 'a> {
    script: &'s Script<'a>,
    dialect: Dialect,
}

impl Literal<'_, '_> {
    /// Returns the words of a command, if all of them are literal and its name is a bare word.
    fn command(&self, command: Node<'_>) -> Option<Vec<String>> {
        let mut cursor = command.walk();
        let mut children = command.named_children(&mut cursor);
        let name = children.next().filter(|name| name.kind() == "command_name")?;
        let name = self.only_child(name).filter(|word| word.kind() == "word")?;
        let mut words = vec![self.word(name)?];
        for child in children {
            words.push(self.word(child)?);
        }
        Some(words)
    }

    fn loose(&self, command: Node<'_>) -> Option<Vec<String>> {
        let name = self.word(self.only_child(command.child_by_field_name("name")?)?)?;
        let mut cursor = command.walk();
        let arguments = command.children_by_field_name("argument", &mut cursor);
        Some(std::iter::once(name).chain(arguments.filter_map(|word| self.word(word))).collect())
    }

    fn only_child<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        node.named_child(0).filter(|_| node.named_child_count() == 1)
    }

    /// Returns what a shell makes of a word, if it would make nothing else of it.
    fn word(&self, node: Node<'_>) -> Option<String> {
        let text = self.script.text(node);
        match node.kind() {
            "word" | "number" => self.bare(node, text).then(|| text.to_owned()),
            "string" => self.quoted(node, text),
            "raw_string" => Some(text.strip_prefix('\'')?.strip_suffix('\'')?.to_owned()),
            "concatenation" => self.joined(node),
            _ => None,
        }
    }

    fn bare(&self, node: Node<'_>, text: &str) -> bool {
        let special = |c: char| "{}*?[]\\~^#$`".contains(c);
        let literal = !text.starts_with('=') && !text.contains(special);
        node.named_child_count() == 0 && (literal || self.dialect == Dialect::V0145)
    }

    fn quoted(&self, node: Node<'_>, text: &str) -> Option<String> {
        let mut cursor = node.walk();
        let plain = node.named_children(&mut cursor).all(|child| child.kind() == "string_content");
        let text = text.strip_prefix('"')?.strip_suffix('"')?;
        let literal = self.dialect == Dialect::V0145 || !escapes(text);
        (plain && literal && node.child_count() > 1).then(|| text.to_owned())
    }

    fn joined(&self, node: Node<'_>) -> Option<String> {
        let mut cursor = node.walk();
        let parts = node.named_children(&mut cursor).map(|part| self.word(part));
        let joined: String = parts.collect::<Option<Vec<_>>>()?.concat();
        (!joined.is_empty()).then_some(joined)
    }
}

/// Says whether a backslash means something within double quotes.
fn escapes(text: &str) -> bool {
    let pairs = text.chars().zip(text.chars().skip(1));
    let mut pairs = pairs.filter(|(first, _)| *first == '\\');
    pairs.any(|(_, second)| "$`\"\\\n".contains(second))
}
