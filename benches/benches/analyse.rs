//! From the text of a command to a decision, compared with parsers that only parse, in the same
//! rounds.
//!
//! `cargo bench --bench analyse`

use std::hint::black_box;

use openoxide_benches::{
    clock::{Contestant, interleaved},
    rules::{compiled, context, mix, project},
    scripts::scripts,
    table,
};
use openoxide_permission::{Combining, PolicyStack, effect, evaluate};
use openoxide_protocol::AbsPath;
use openoxide_shell::{Setting, analyse};
use shuck_parser::parser::ParseStatus;

const ROUNDS: usize = 60;
const RULES: usize = 1_000;

fn bash() -> tree_sitter::Parser {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("the versions fit");
    parser
}

/// Returns the words of every command, at any nesting depth.
fn commands<'a>(tree: &tree_sitter::Tree, script: &'a str) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        let mut cursor = node.walk();
        if node.kind() == "command" {
            let words = node.named_children(&mut cursor).map(|word| &script[word.byte_range()]);
            found.push(words.collect());
        }
        open.extend(node.named_children(&mut cursor));
    }
    found
}

/// Every parser accepts the script, or its time would mean nothing.
fn check(script: &str) {
    let tree = bash().parse(script, None).expect("it has a language and no limit");
    assert!(!tree.root_node().has_error(), "tree-sitter: {script}");
    assert!(rable::parse(script, true).is_ok(), "rable: {script}");
    let parsed = shuck_parser::parser::Parser::new(script).parse();
    assert!(matches!(parsed.status, ParseStatus::Clean), "shuck: {script}");
}

struct Ours<'a> {
    policy: &'a PolicyStack,
    project: &'a AbsPath,
    script: &'a str,
}

impl<'a> Ours<'a> {
    fn setting(&self) -> Setting<'a> {
        Setting { cwd: self.project, home: None }
    }

    fn contestants(&'a self) -> Vec<Contestant<'a>> {
        let facts = || analyse(black_box(self.script), &self.setting());
        vec![
            one("OpenOxide: parse", move || {
                black_box(openoxide_shell::is_read(black_box(self.script)));
            }),
            one("OpenOxide: analyse", move || drop(black_box(facts()))),
            one("OpenOxide: analyse, decide (effect alone)", move || {
                black_box(effect(self.policy, &context(self.project), &facts()));
            }),
            one("OpenOxide: analyse, decide, say why", move || {
                drop(black_box(evaluate(self.policy, &context(self.project), &facts())));
            }),
        ]
    }
}

fn one<'a>(name: &str, work: impl FnMut() + 'a) -> Contestant<'a> {
    Contestant { name: name.to_owned(), work: Box::new(work), units: 1 }
}

fn peers(script: &str) -> Vec<Contestant<'_>> {
    let (mut first, mut second) = (bash(), bash());
    vec![
        one("tree-sitter-bash: parse", move || drop(black_box(first.parse(script, None)))),
        one("tree-sitter-bash: parse, list commands", move || {
            let tree = second.parse(script, None).expect("it has a language and no limit");
            drop(black_box(commands(&tree, script)));
        }),
        one("rable: parse", move || drop(black_box(rable::parse(script, true)))),
        one("shuck-parser: parse", move || {
            drop(black_box(shuck_parser::parser::Parser::new(script).parse()));
        }),
    ]
}

fn main() {
    let (policy, project) = (compiled(&mix(RULES), Combining::Strictest), project());
    let mut columns = Vec::new();
    for (_, script) in scripts() {
        check(&script);
        let ours = Ours { policy: &policy, project: &project, script: &script };
        let mut all = ours.contestants();
        all.extend(peers(&script));
        columns.push(interleaved(all, ROUNDS));
    }
    println!("\nFrom text to decision, {RULES} rules: median (min)\n");
    let names: Vec<_> = scripts().into_iter().map(|(name, _)| name).collect();
    table::head(&[&["engine"], names.as_slice()].concat());
    for (index, first) in columns[0].iter().enumerate() {
        let cells =
            columns.iter().map(|column| table::both(column[index].median, column[index].min));
        table::row([first.name.clone()].into_iter().chain(cells));
    }
}
