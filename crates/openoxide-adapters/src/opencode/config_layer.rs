//! Translation of OpenCode's rules into a layer in which the last match decides. The layer is never
//! less strict than OpenCode.
//!
//! Only rules of the configuration are translated. OpenOxide's defaults apply to everything else.
//! Paths outside of the project require approval, even if `external_directory` allows them.

use openoxide_permission::{
    CombiningAlgorithm, Layer, LayerKind, PathAnchors, Pattern, Rule, SubjectKind,
    glob::Glob,
    pattern::{command, path::to_subject},
};
use openoxide_protocol::{AbsPath, Effect};

use super::{builtin_agents, config::OpenCodeConfig, ruleset, wildcard};
use crate::policy_translation::{PolicyTextError, PolicyTranslation, new_rule};

/// Translates a configuration into a layer, with the rules of the default agent. `anchors.base` is
/// the root of the repository.
///
/// # Errors
/// Returns the errors of [`OpenCodeConfig::parse`].
pub fn translate_config(
    text: &str,
    kind: LayerKind,
    file: &str,
    anchors: PathAnchors<'_>,
) -> Result<PolicyTranslation, Vec<PolicyTextError>> {
    let config = OpenCodeConfig::parse(text, file)?;
    let agent = config.default_agent.as_deref().unwrap_or(builtin_agents::DEFAULT_AGENT);
    let mut to =
        OpenCodeTranslator { base: anchors.base, rules: vec![], errors: vec![], notes: vec![] };
    for said in std::iter::once(&config.permission).chain(config.has_agent(agent)) {
        for (rule, span) in said.to_rules(anchors.home) {
            to.translate_rule(&rule, span);
        }
    }
    let layer = Layer {
        kind,
        file: Some(file.to_owned()),
        combining_algorithm: CombiningAlgorithm::LastMatch,
        rules: to.rules,
        mode: None,
    };
    Ok(PolicyTranslation::new(layer, to.errors, to.notes))
}

/// The permissions that OpenCode's own tools request, with their OpenOxide equivalents.
const PERMISSION_KINDS: &[(&str, PermissionKind)] = &[
    ("bash", PermissionKind::Command),
    ("read", PermissionKind::Path(SubjectKind::Read)),
    ("edit", PermissionKind::Path(SubjectKind::Edit)),
    ("external_directory", PermissionKind::ExternalDirectory),
    ("task", PermissionKind::Name(SubjectKind::Delegate)),
    ("doom_loop", PermissionKind::Name(SubjectKind::DoomLoop)),
    ("webfetch", PermissionKind::AllOnly(SubjectKind::Fetch)),
    ("glob", PermissionKind::Search),
    ("grep", PermissionKind::Search),
    ("list", PermissionKind::Search),
];

/// Tools of OpenCode that have other names in other agents.
const TOOL_NAMES: &[(&str, &str)] = &[
    ("question", "AskUserQuestion"),
    ("skill", "Skill"),
    ("todoread", "TodoRead"),
    ("todowrite", "TodoWrite"),
    ("websearch", "WebSearch"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum PermissionKind {
    Command,
    Path(SubjectKind),
    ExternalDirectory,
    Name(SubjectKind),
    AllOnly(SubjectKind),
    Search,
}

struct OpenCodeTranslator<'a> {
    base: &'a AbsPath,
    rules: Vec<Rule>,
    errors: Vec<PolicyTextError>,
    notes: Vec<String>,
}

/// The patterns of a rule, or the reason why there are none.
type PatternsResult = Result<Vec<Pattern>, &'static str>;

impl OpenCodeTranslator<'_> {
    fn translate_rule(&mut self, rule: &ruleset::OpenCodeRule, span: std::ops::Range<usize>) {
        let about = |name: &str| wildcard::matches(&rule.permission, name);
        let mut patterns = Vec::new();
        for (_, kind) in PERMISSION_KINDS.iter().filter(|(name, _)| about(name)) {
            match self.translate_kind(*kind, rule) {
                Ok(found) => patterns.extend(found),
                Err(why) => self.report_untranslatable(rule, why, span.clone()),
            }
        }
        let known = PERMISSION_KINDS.iter().any(|(name, _)| *name == rule.permission);
        match tool_patterns(rule) {
            _ if known => {}
            Ok(found) => patterns.extend(found),
            Err(why) => self.report_untranslatable(rule, why, span),
        }
        let effect = match (rule.permission.as_str(), rule.effect) {
            // Permission to leave the project is not permission for every access outside of it.
            ("external_directory", Effect::Allow) => Effect::Ask,
            (_, effect) => effect,
        };
        if !patterns.is_empty() {
            let text = format!("{}({})", rule.permission, rule.pattern);
            self.rules.push(Rule {
                matches_everything: rule.permission == "edit" && rule.pattern == "*",
                ..new_rule(effect, text, patterns, rule.origin.line)
            });
        }
    }

    /// Reports a rule that cannot be translated: an allow rule as a note, a restrictive rule as an
    /// error.
    fn report_untranslatable(
        &mut self,
        rule: &ruleset::OpenCodeRule,
        why: &str,
        span: std::ops::Range<usize>,
    ) {
        let (file, line) = (rule.origin.file.as_deref().unwrap_or_default(), rule.origin.line);
        let text = format!("{}({})", rule.permission, rule.pattern);
        let message = format!(
            "`{} {text}` cannot be expressed as a rule of OpenOxide: {why}",
            rule.effect.as_str()
        );
        match rule.effect {
            Effect::Allow => self.notes.push(format!("{file}:{line}: {message}; ignored")),
            _ => self.errors.push(
                PolicyTextError::new(message, span)
                    .with_help("`--exact` reads it as OpenCode does"),
            ),
        }
    }

    fn translate_kind(&self, kind: PermissionKind, rule: &ruleset::OpenCodeRule) -> PatternsResult {
        let text = rule.pattern.as_str();
        match kind {
            PermissionKind::Command => self.translate_command(rule),
            PermissionKind::Path(space) => self.translate_path(space, rule),
            PermissionKind::ExternalDirectory => translate_external_directory(rule),
            PermissionKind::Name(space) => {
                Ok(vec![Pattern { kind: space, program: tool_name_glob(text)?.finish() }])
            }
            PermissionKind::AllOnly(space) if text == "*" => Ok(vec![match_all_pattern(space)]),
            PermissionKind::AllOnly(_) => Err("an address is matched by its host"),
            // `*` includes searches, and reads are checked against the rules about reading.
            PermissionKind::Search
                if rule.permission != "glob" && rule.permission.contains('*') =>
            {
                Ok(vec![])
            }
            PermissionKind::Search => Err("a search is checked as a read of its directory"),
        }
    }

    /// Returns whether a rule with this effect may be widened. A deny rule always may, and an ask
    /// rule only if no deny rule precedes it.
    fn may_widen(&self, effect: Effect) -> bool {
        let denies = || self.rules.iter().any(|rule| rule.effect == Effect::Deny);
        effect == Effect::Deny || (effect == Effect::Ask && !denies())
    }

    fn translate_command(&self, rule: &ruleset::OpenCodeRule) -> PatternsResult {
        const LITERAL: &[char] =
            &['\\', '"', '\'', '$', '`', '<', '>', '|', '&', ';', '(', ')', '\n', '\t'];
        if rule.pattern == "*" {
            return Ok(vec![match_all_pattern(SubjectKind::Exec)]);
        }
        let words = rule.pattern.strip_suffix(" *").unwrap_or(&rule.pattern);
        let odd = words.is_empty() || words != words.trim() || words.contains("  ");
        let letters = words.contains(LITERAL);
        let text = match words.find('?') {
            _ if odd || letters => {
                return Err("it is about the letters of a command, not its words");
            }
            Some(_) if !self.may_widen(rule.effect) => {
                return Err("`?` is no wildcard in a command");
            }
            Some(_) => rule.pattern.replace('?', "*"),
            None => rule.pattern.clone(),
        };
        let read = command::parse(&text).map_err(|_| "it is no pattern of a command")?;
        Ok(vec![Pattern { kind: SubjectKind::Exec, program: read.glob.finish() }])
    }

    /// Translates a path pattern. Patterns are relative to the root of the repository. In deny
    /// rules they are also relative to the working directory.
    fn translate_path(&self, space: SubjectKind, rule: &ruleset::OpenCodeRule) -> PatternsResult {
        let text = rule.pattern.as_str();
        let holds_back = rule.effect != Effect::Allow;
        if text.contains('\\') || (text.contains('?') && !self.may_widen(rule.effect)) {
            return Err("a `\\` or `?` means something else there");
        }
        if text.starts_with("../") || text.contains("/../") {
            return Err("a pattern cannot go up");
        }
        let base = if text.starts_with('/') { String::new() } else { to_subject(self.base) };
        let mut all = match (base.is_empty(), holds_back) {
            // Without a repository, patterns are relative to the root of the disk, and allow rules
            // must stay in the project.
            (true, false) if text.starts_with('*') => {
                vec![(to_project_subject(space), String::new())]
            }
            (true, false) => return Err("it could lead out of the project"),
            _ => vec![(space, base)],
        };
        if text.starts_with('*') && holds_back {
            all.push((space, String::new()));
        } else if rule.effect == Effect::Deny && !text.starts_with('/') {
            all.push((to_project_subject(space), String::new()));
        }
        let text = text.trim_start_matches('/');
        let shorter = text.strip_suffix(" *");
        let spellings = || std::iter::once(text).chain(shorter);
        let pattern = |(space, start): (SubjectKind, String)| {
            spellings()
                .map(move |text| Pattern {
                    kind: space,
                    program: wildcard_glob(&start, text, "/").finish(),
                })
                .collect::<Vec<_>>()
        };
        Ok(all.into_iter().flat_map(pattern).collect())
    }
}

/// Translates a rule about an external directory. The rule also applies to edits in that directory.
/// A rule about `*` leaves edits to OpenOxide's default, which asks. A deny rule about `*` is only
/// translated if it also denies all edits, because edits outside of the project cannot be
/// distinguished from edits inside of it.
fn translate_external_directory(rule: &ruleset::OpenCodeRule) -> PatternsResult {
    let Some(directory) = rule.pattern.strip_suffix('*') else {
        return Err("it is about a directory only if it ends in `/*`");
    };
    if directory.contains(['*', '?', '\\']) {
        return Err("a wildcard stands before its end");
    }
    let start = directory.trim_start_matches('/');
    let spaces: &[SubjectKind] = match (start.is_empty(), rule.effect) {
        // A rule that also denies edits denies the edits outside.
        (true, Effect::Deny) if wildcard::matches(&rule.permission, "edit") => {
            &[SubjectKind::External]
        }
        (true, Effect::Deny) => {
            return Err("an edit outside the project cannot be denied by itself");
        }
        (true, _) => &[SubjectKind::External],
        (false, _) => &[SubjectKind::External, SubjectKind::Edit],
    };
    let pattern = |space: &SubjectKind| Pattern {
        kind: *space,
        program: wildcard_glob(start, "*", "").finish(),
    };
    Ok(spaces.iter().map(pattern).collect())
}

/// Returns patterns for tools that are identified only by their name: in OpenCode's spelling, in
/// those of the other agents, and as `mcp__server__tool`.
fn tool_patterns(rule: &ruleset::OpenCodeRule) -> PatternsResult {
    if rule.pattern != "*" {
        return if rule.permission.contains(['*', '?']) {
            Ok(vec![])
        } else {
            Err("a tool is known by its name alone")
        };
    }
    let own = rule.permission.as_str();
    let mut names = vec![own.to_owned()];
    names.extend(
        TOOL_NAMES
            .iter()
            .filter(|(name, _)| wildcard::matches(own, name))
            .map(|(_, other)| (*other).to_owned()),
    );
    if !TOOL_NAMES.iter().any(|(name, _)| *name == own) {
        names.push(format!("mcp__{own}"));
        let splits = own.match_indices('_').filter_map(|(at, _)| own.split_at_checked(at));
        names.extend(splits.map(|(server, tool)| format!("mcp__{server}_{tool}")));
    }
    let pattern = |text: &String| {
        Ok(Pattern { kind: SubjectKind::Tool, program: tool_name_glob(text)?.finish() })
    };
    names.iter().map(pattern).collect()
}

fn tool_name_glob(text: &str) -> Result<Glob, &'static str> {
    match text.contains(['?', '\\', '\0']) || text.ends_with(" *") {
        true => Err("`?` and blanks are no part of a name"),
        false => Ok(wildcard_glob("", text, "\0")),
    }
}

/// Returns a pattern of `start` as a literal, `text` with its wildcards, and `end` as a literal.
fn wildcard_glob(start: &str, text: &str, end: &str) -> Glob {
    let mut glob = Glob::new();
    glob.push_literal(start.as_bytes());
    for (index, piece) in text.split(['*', '?']).enumerate() {
        if index > 0 {
            glob.push_any();
        }
        glob.push_literal(piece.as_bytes());
    }
    if !text.ends_with('*') {
        glob.push_literal(end.as_bytes());
    }
    glob
}

fn match_all_pattern(space: SubjectKind) -> Pattern {
    Pattern { kind: space, program: wildcard_glob("", "*", "").finish() }
}

const fn to_project_subject(space: SubjectKind) -> SubjectKind {
    match space {
        SubjectKind::Edit => SubjectKind::EditFromCwd,
        _ => SubjectKind::ReadFromCwd,
    }
}
