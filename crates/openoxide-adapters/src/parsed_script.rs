//! Shell scripts as the tree-sitter grammar parses them, for programs that use it to split
//! commands.
//!
//! The parser continues after text that it does not understand, and so do those programs. This
//! module does not determine the effects of a script; `openoxide-shell` does.

use tree_sitter::{Node, Parser, Tree};

/// The maximum size of a script. A longer script is not parsed.
pub const MAX_SCRIPT_SIZE: usize = 1 << 20;

/// A script and its syntax tree.
#[derive(Debug)]
pub struct ParsedScript<'a> {
    text: &'a str,
    tree: Tree,
}

impl<'a> ParsedScript<'a> {
    /// Parses a script. Returns `None` if it is too long.
    pub fn parse(text: &'a str) -> Option<Self> {
        if text.len() > MAX_SCRIPT_SIZE {
            return None;
        }
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
        Some(Self { text, tree: parser.parse(text, None)? })
    }

    /// Returns the root node.
    pub fn root_node(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// Returns the text of the whole script.
    pub fn full_text(&self) -> &'a str {
        self.text
    }

    /// Returns the text of a node.
    pub fn node_text(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Returns all nodes of this kind, ordered by their start.
    pub fn nodes_of_kind(&self, kind: &str) -> Vec<Node<'_>> {
        self.find_nodes(|node| node.kind() == kind)
    }

    /// Returns all nodes for which `wanted` is true, ordered by their start. The search does not
    /// recurse, because scripts can be deeply nested.
    pub fn find_nodes(&self, wanted: impl Fn(Node<'_>) -> bool) -> Vec<Node<'_>> {
        let mut cursor = self.root_node().walk();
        let mut found = Vec::new();
        loop {
            if wanted(cursor.node()) {
                found.push(cursor.node());
            }
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return found;
                }
            }
        }
    }
}
