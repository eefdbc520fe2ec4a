//! The text of a starter policy. It consists of templates only: nothing that a project contains
//! becomes part of it.

use std::collections::BTreeSet;

use super::project_kind::ProjectKind;

/// Rules for every project.
const COMMON: [&str; 2] =
    [include_str!("templates/git.toml"), include_str!("templates/secrets.toml")];

/// Whether a policy has rules for tests, builds and linters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllowRules {
    /// It has such rules.
    Included,
    /// It has none, because the commands run in the sandbox without a question.
    Confined,
    /// It has none, because it applies to all projects, also to those of other people.
    AllProjects,
}

/// Returns a policy for a project of these kinds.
pub(super) fn starter_policy(kinds: &BTreeSet<ProjectKind>, allow: AllowRules) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let mut text = format!(
        "# Rules to start with, from `openoxide rules starter`.\n\
         # This project has files of: {}.\n\
         # Change the rules as you like. `openoxide rules test` checks their examples.\n{}",
        names.join(", "),
        describe_allow_rules(allow)
    );
    let kind_rules = kinds.iter().flat_map(|kind| {
        let (restricting, allowing) = templates(*kind);
        [restricting, if allow == AllowRules::Included { allowing } else { "" }]
    });
    for rules in COMMON.into_iter().chain(kind_rules).filter(|rules| !rules.is_empty()) {
        text.push('\n');
        text.push_str(rules);
    }
    text
}

const fn describe_allow_rules(allow: AllowRules) -> &'static str {
    match allow {
        AllowRules::Included => "",
        AllowRules::Confined => {
            "#\n# Tests, builds and linters need no rules: with your `auto_allow`, they run in the\n\
             # sandbox without a question.\n"
        }
        AllowRules::AllProjects => {
            "#\n# Tests, builds and linters have no rules here: they run code of a project, and this\n\
             # file applies to all projects.\n"
        }
    }
}

/// Returns the rules that ask or deny, and the rules that allow tests, builds and linters.
const fn templates(kind: ProjectKind) -> (&'static str, &'static str) {
    macro_rules! template {
        ($name:literal) => {
            include_str!(concat!("templates/", $name, ".toml"))
        };
    }
    match kind {
        ProjectKind::Cargo => (template!("cargo"), template!("cargo.allow")),
        ProjectKind::Npm => (template!("npm"), template!("npm.allow")),
        ProjectKind::Pnpm => (template!("pnpm"), template!("pnpm.allow")),
        ProjectKind::Yarn => (template!("yarn"), template!("yarn.allow")),
        ProjectKind::Bun => (template!("bun"), template!("bun.allow")),
        ProjectKind::Python => (template!("python"), template!("python.allow")),
        ProjectKind::Uv => (template!("uv"), template!("uv.allow")),
        ProjectKind::Poetry => (template!("poetry"), template!("poetry.allow")),
        ProjectKind::Go => ("", template!("go.allow")),
        ProjectKind::Make => ("", template!("make.allow")),
        ProjectKind::Docker => (template!("docker"), ""),
        ProjectKind::Terraform => (template!("terraform"), ""),
    }
}
