//! One command of a script: its words as written, and the assignments before them.

use tree_sitter::Node;

use crate::parsed_script::ParsedScript;

/// One command of a script.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScriptCommand<'a> {
    /// The names and values of the assignments before the command.
    pub(crate) assignments: Vec<(&'a str, &'a str)>,
    /// The words, with their quotes and their positions in the script.
    pub(crate) words: Vec<RawWord<'a>>,
    script: &'a str,
}

/// A word as written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawWord<'a> {
    pub(crate) text: &'a str,
    start: usize,
}

impl<'a> ScriptCommand<'a> {
    /// Returns the command of a node.
    pub(crate) fn from_node(script: &ParsedScript<'a>, node: Node<'_>) -> Self {
        let mut command = Self { script: script.full_text(), ..Self::default() };
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            let text = script.node_text(child);
            match child.kind() {
                "variable_assignment" if node.kind() == "command" => {
                    command.assignments.extend(text.split_once('='));
                }
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {}
                _ => command.words.push(RawWord { text, start: child.start_byte() }),
            }
        }
        command
    }

    /// Returns the same command without its first words and assignments.
    pub(crate) fn skip_words(&self, words: usize) -> Self {
        let words = self.words.get(words..).unwrap_or_default().to_vec();
        Self { assignments: Vec::new(), words, script: self.script }
    }

    /// Returns the name of the program, without quotes.
    pub(crate) fn name(&self) -> String {
        self.words.first().map(|word| remove_quotes(word.text)).unwrap_or_default()
    }

    /// Returns the word at an index, without quotes.
    pub(crate) fn word_at(&self, at: usize) -> Option<String> {
        self.words.get(at).map(|word| remove_quotes(word.text))
    }

    /// Returns the arguments, without quotes.
    pub(crate) fn arguments(&self) -> Vec<String> {
        self.words.iter().skip(1).map(|word| remove_quotes(word.text)).collect()
    }

    /// Returns the program without quotes, and the rest of the command as written, with continued
    /// lines joined.
    pub(crate) fn to_source_text(&self) -> String {
        let (Some(first), Some(last)) = (self.words.first(), self.words.last()) else {
            return String::new();
        };
        let rest = self.script.get(first.start + first.text.len()..last.start + last.text.len());
        format!("{}{}", self.name(), rest.unwrap_or_default().replace("\\\n", ""))
    }

    /// Returns the program and the other words, separated by single blanks.
    pub(crate) fn to_normalized_text(&self) -> String {
        let rest = self.words.iter().skip(1).map(|word| word.text.replace("\\\n", ""));
        let words: Vec<_> = std::iter::once(self.name()).chain(rest).collect();
        words.join(" ")
    }

    /// Returns the program without its directory and the words without quotes.
    pub(crate) fn to_unquoted_text(&self) -> String {
        let name = self.name();
        let name = name.rsplit('/').next().unwrap_or_default().to_owned();
        let words: Vec<_> = std::iter::once(name).chain(self.arguments()).collect();
        words.join(" ")
    }
}

/// Removes quotes and backslashes. Text that a shell would decode or expand is not changed.
pub(crate) fn remove_quotes(word: &str) -> String {
    let (mut plain, mut quote) = (String::with_capacity(word.len()), None);
    let mut chars = word.chars().peekable();
    while let Some(found) = chars.next() {
        match (quote, found) {
            (None, '$') if chars.peek() == Some(&'\'') => return word.to_owned(),
            (None, '\'' | '"') => quote = Some(found),
            (Some(open), _) if found == open => quote = None,
            (None, '\\') if chars.peek() != Some(&'\n') => plain.extend(chars.next()),
            _ => plain.push(found),
        }
    }
    plain
}
