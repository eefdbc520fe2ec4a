//! Rules about the files that a command is known to access.
//!
//! They say what the OS sandbox enforces, so that a command that would fail is refused before, and
//! they ask where the file tools ask.

use openoxide_adapters::policy_translation::new_rule;
use openoxide_permission::{Pattern, Rule, SubjectKind, glob::Glob, pattern::path::to_subject};
use openoxide_protocol::{AbsPath, Effect};

use crate::sandbox_paths::{SandboxPath, SandboxPaths};

/// Returns the rules. The last one that matches decides, so stricter rules come later.
pub(super) fn build_rules(paths: &SandboxPaths) -> Vec<Rule> {
    let mut rules: Vec<_> = paths.iter().flat_map(rules_of_path).collect();
    rules.sort_by_key(|rule| rule.effect);
    // Reads outside of the sandboxes are decided with the program that reads.
    rules.insert(0, build_rule(Effect::Allow, "reads".to_owned(), SubjectKind::External, ""));
    rules
}

fn rules_of_path(path: &SandboxPath) -> Vec<Rule> {
    let Some(root) = path.root.to_str().and_then(|root| AbsPath::new(root).ok()) else {
        return Vec::new();
    };
    let below = to_subject(&root);
    let write = match (path.is_writable_by_commands(), path.write_approval) {
        (false, _) => Effect::Deny,
        (true, true) => Effect::Ask,
        (true, false) => Effect::Allow,
    };
    let text = |verb: &str| format!("sandbox.paths.{}({verb})", path.name);
    let mut rules = vec![build_rule(write, text("write"), SubjectKind::Edit, &below)];
    if path.read_approval {
        rules.push(build_rule(Effect::Ask, text("read"), SubjectKind::Read, &below));
    }
    rules
}

fn build_rule(effect: Effect, text: String, kind: SubjectKind, below: &str) -> Rule {
    let mut glob = Glob::new();
    glob.push_literal(below.as_bytes());
    glob.push_any();
    new_rule(effect, text, vec![Pattern { kind, program: glob.finish() }], 0)
}
