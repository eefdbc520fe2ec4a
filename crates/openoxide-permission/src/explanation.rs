//! Every rule that matches an access, including overridden rules. Slow and complete, for
//! explanations.

use openoxide_protocol::{
    AbsPath, Access, AccessDecision, Decision, Effect, OverriddenRule, PathAccess, RuleRef,
};

use crate::{
    evaluation::{EvaluationContext, strip_program_directory},
    glob,
    layer::Layer,
    pattern::{host, path, socket},
    rule::{Rule, SubjectKind},
};

/// Returns the decision with the rules that matched and did not decide, each with the reason why.
pub fn explain(layers: &[Layer], context: &EvaluationContext<'_>, decision: Decision) -> Decision {
    let explained = |part: AccessDecision| {
        let lost =
            find_matching_rules(layers, context, &part.access).into_iter().filter_map(|one| {
                let rule = one.rule_ref();
                let reason = one.override_reason.unwrap_or(OVERRIDDEN_BY_NON_RULE).to_owned();
                (part.rule.as_ref() != Some(&rule)).then_some(OverriddenRule { rule, reason })
            });
        AccessDecision { overridden: lost.collect(), ..part }
    };
    let parts = decision.parts.into_iter().map(explained).collect();
    Decision { parts, ..decision }
}

const OVERRIDDEN_BY_NON_RULE: &str =
    "something stricter decides: the mode, the safety floor, or a rule that could match";

/// A rule that matches.
struct MatchingRule<'a> {
    layer: &'a Layer,
    rule: &'a Rule,
    /// The reason why the rule did not decide; `None` if it did.
    override_reason: Option<&'static str>,
}

impl MatchingRule<'_> {
    fn rule_ref(&self) -> RuleRef {
        RuleRef {
            layer: self.layer.kind.as_str().to_owned(),
            file: self.layer.file.clone(),
            line: (self.rule.line != 0).then_some(self.rule.line),
            text: format!("{} {}", self.rule.effect.as_str(), self.rule.text),
            reason: self.rule.reason.clone(),
        }
    }
}

/// Returns every rule that matches an access, in the order of the layers.
fn find_matching_rules<'a>(
    layers: &'a [Layer],
    context: &EvaluationContext<'_>,
    access: &Access,
) -> Vec<MatchingRule<'a>> {
    let subjects = collect_subjects(context, access);
    let matches = |rule: &Rule| {
        rule.patterns.iter().any(|pattern| {
            let manner = pattern.kind.match_options(rule.effect);
            let mut here = subjects.iter().filter(|one| one.space == pattern.kind);
            let counts =
                |one: &SubjectForm| rule.effect != Effect::Allow || !one.is_restrictive_only;
            here.any(|one| counts(one) && glob::matches(&pattern.program, &one.bytes, manner))
        })
    };
    let mut found: Vec<MatchingRule<'a>> = Vec::new();
    for layer in layers {
        let of_layer: Vec<_> = layer.rules.iter().filter(|rule| matches(rule)).collect();
        let winner = find_winner(layer, &of_layer);
        found.extend(of_layer.iter().enumerate().map(|(at, rule)| {
            let lost =
                (Some(at) != winner).then_some("another rule of the same layer takes precedence");
            MatchingRule { layer, rule, override_reason: lost }
        }));
    }
    mark_overridden(&mut found);
    found
}

fn find_winner(layer: &Layer, rules: &[&Rule]) -> Option<usize> {
    (0_u32..)
        .zip(rules)
        .map(|(at, rule)| {
            layer.combining_algorithm.rank(rule.effect, rule.requires_human, rule.is_literal, at)
        })
        .enumerate()
        .max_by_key(|(_, rank)| *rank)
        .map(|(at, _)| at)
}

/// Marks the overridden rules. Among the deciding rules of the layers, the first deny decides, then
/// the first rule that only a person answers, and otherwise the first rule.
fn mark_overridden(found: &mut [MatchingRule<'_>]) {
    let winners = || 0..found.len();
    let deny = winners()
        .find(|at| is_layer_winner(found, *at) && rule_effect(found, *at) == Some(Effect::Deny));
    let person = |at: &usize| found.get(*at).is_some_and(|one| one.rule.requires_human);
    let human = winners().find(|at| is_layer_winner(found, *at) && person(at));
    let first = winners().find(|at| is_layer_winner(found, *at));
    for (at, one) in found.iter_mut().enumerate() {
        if one.override_reason.is_some() || Some(at) == deny.or(human).or(first) {
            continue;
        }
        one.override_reason = Some(match (deny, human) {
            (Some(_), _) => "a deny in any layer is final",
            (None, Some(_)) => "another rule requires a person's answer",
            (None, None) => "a layer with higher precedence decides",
        });
    }
}

fn is_layer_winner(found: &[MatchingRule<'_>], at: usize) -> bool {
    found.get(at).is_some_and(|one| one.override_reason.is_none())
}

fn rule_effect(found: &[MatchingRule<'_>], at: usize) -> Option<Effect> {
    found.get(at).map(|one| one.rule.effect)
}

/// One form of a subject.
struct SubjectForm {
    space: SubjectKind,
    bytes: Vec<u8>,
    /// True if only rules that ask or deny match this subject, such as `rm` for `/bin/rm` or the
    /// target of a link.
    is_restrictive_only: bool,
}

fn collect_subjects(context: &EvaluationContext<'_>, access: &Access) -> Vec<SubjectForm> {
    let one =
        |space, bytes: Vec<u8>| vec![SubjectForm { space, bytes, is_restrictive_only: false }];
    let name = |space, name: &str| one(space, format!("{name}\0").into_bytes());
    match access {
        Access::Exec(exec) => {
            let mut all = one(SubjectKind::Exec, exec.argv.as_bytes().to_vec());
            let base = strip_program_directory(exec.argv.as_bytes()).map(<[u8]>::to_vec);
            all.extend(base.map(|bytes| SubjectForm {
                space: SubjectKind::Exec,
                bytes,
                is_restrictive_only: true,
            }));
            all
        }
        Access::Read(place) => {
            let mut all =
                path_subjects(context, place, SubjectKind::Read, SubjectKind::ReadFromCwd);
            all.extend(path_subjects(
                context,
                place,
                SubjectKind::External,
                SubjectKind::ExternalFromCwd,
            ));
            all
        }
        Access::Edit(place) => {
            path_subjects(context, place, SubjectKind::Edit, SubjectKind::EditFromCwd)
        }
        Access::ExternalDirectory(place) => {
            path_subjects(context, place, SubjectKind::External, SubjectKind::ExternalFromCwd)
        }
        Access::Fetch { host, .. } => one(SubjectKind::Fetch, host::to_subject(host).into_bytes()),
        Access::Socket(access) => socket::subjects(access)
            .into_iter()
            .flat_map(|bytes| one(SubjectKind::Socket, bytes))
            .collect(),
        Access::CallTool { tool } => name(SubjectKind::Tool, tool),
        Access::Delegate { agent } => name(SubjectKind::Delegate, agent),
        Access::Repetition { tool } => name(SubjectKind::DoomLoop, tool),
        Access::Opaque { .. } => Vec::new(),
    }
}

fn path_subjects(
    context: &EvaluationContext<'_>,
    place: &PathAccess,
    space: SubjectKind,
    here: SubjectKind,
) -> Vec<SubjectForm> {
    let mut all = Vec::new();
    for (spelling, only_holds_back) in place.paths().zip([false, true]) {
        let mut add = |space, path: &AbsPath, only_holds_back| {
            let bytes = path::to_subject(path).into_bytes();
            all.push(SubjectForm { space, bytes, is_restrictive_only: only_holds_back });
        };
        add(space, spelling, only_holds_back);
        if let Some(below) = spelling.strip_prefix(context.base()) {
            add(here, &AbsPath::root().join(below), only_holds_back);
        }
        for below in context.other_bases().filter_map(|root| spelling.strip_prefix(root)) {
            add(here, &AbsPath::root().join(below), true);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{ExecAccess, OperationFacts, PermissionMode};

    use super::*;
    use crate::{
        CombiningAlgorithm, LayerKind, PathAnchors, PolicyStack, default_layer, evaluate,
        parse_rule,
    };

    fn layer(kind: LayerKind, rules: &[(Effect, &str)]) -> Layer {
        let root = AbsPath::root();
        let anchors = PathAnchors { home: None, base: &root };
        let rules = rules.iter().map(|(effect, text)| parse_rule(text, *effect, anchors).unwrap());
        let (file, mode) = (Some("policy.toml".to_owned()), None);
        Layer {
            kind,
            file,
            combining_algorithm: CombiningAlgorithm::Strictest,
            rules: rules.collect(),
            mode,
        }
    }

    fn explained(layers: &[Layer], access: Access) -> (Option<String>, Vec<(String, String)>) {
        let root = AbsPath::root();
        let layers = [layers, &[default_layer()]].concat();
        let policy = PolicyStack::compile(&layers).unwrap();
        let context = EvaluationContext {
            mode: PermissionMode::Default,
            cwd: &root,
            roots: &[],
            policy_error: None,
            auto_allow: Default::default(),
        };
        let facts = OperationFacts { accesses: vec![access], findings: vec![] };
        let part = explain(&layers, &context, evaluate(&policy, &context, &facts)).parts.remove(0);
        let lost = part.overridden.into_iter().map(|lost| (lost.rule.text, lost.reason)).collect();
        (part.rule.map(|rule| rule.text), lost)
    }

    fn run(command: &str) -> Access {
        let (argv, text) = (command.split(' ').collect(), command.to_owned());
        Access::Exec(ExecAccess {
            argv,
            text,
            class: Default::default(),
            span: Default::default(),
            arity: 0,
            ..ExecAccess::default()
        })
    }

    #[test]
    fn an_overridden_rule_has_a_reason() {
        use Effect::{Allow, Ask, Deny};
        let managed =
            layer(LayerKind::Managed, &[(Allow, "Bash(git *)"), (Ask, "Bash(git push *)")]);
        let user = layer(LayerKind::User, &[(Allow, "Bash(git push *)")]);
        let (spoke, lost) = explained(&[managed.clone(), user], run("git push x"));
        assert_eq!(spoke.as_deref(), Some("ask Bash(git push *)"));
        let texts: Vec<_> = lost.iter().map(|(text, why)| (text.as_str(), why.as_str())).collect();
        let expected = [
            ("allow Bash(git *)", "another rule of the same layer takes precedence"),
            ("allow Bash(git push *)", "a layer with higher precedence decides"),
        ];
        assert_eq!(texts, expected);
        let user = layer(LayerKind::User, &[(Deny, "Bash(git push *)")]);
        let (spoke, lost) = explained(&[managed, user], run("git push x"));
        assert_eq!(spoke.as_deref(), Some("deny Bash(git push *)"));
        assert_eq!(lost[1].1, "a deny in any layer is final");
    }

    #[test]
    fn a_rule_loses_to_another_spelling() {
        use Effect::{Allow, Deny};
        let user = layer(LayerKind::User, &[(Allow, "Bash"), (Deny, "Bash(rm *)")]);
        let (spoke, lost) = explained(&[user], run("/bin/rm x"));
        assert_eq!(spoke.as_deref(), Some("deny Bash(rm *)"));
        assert_eq!(lost[0].0, "allow Bash");
        let user = layer(LayerKind::User, &[(Allow, "Read(//p/link)"), (Deny, "Read(//etc/**)")]);
        let mut link = PathAccess::new(AbsPath::new("/p/link").unwrap());
        link.resolved = AbsPath::new("/etc/passwd").ok();
        let (spoke, lost) = explained(&[user], Access::Read(link));
        assert_eq!(spoke.as_deref(), Some("deny Read(//etc/**)"));
        assert_eq!(lost[0].0, "allow Read(//p/link)");
    }

    #[test]
    fn a_rule_can_lose_to_the_floor() {
        let user = layer(LayerKind::User, &[(Effect::Allow, "Edit")]);
        let rc = PathAccess::new(AbsPath::new("/h/.bashrc").unwrap());
        let (spoke, lost) = explained(&[user], Access::Edit(rc));
        assert_eq!(spoke, None);
        assert_eq!(lost, [("allow Edit".to_owned(), OVERRIDDEN_BY_NON_RULE.to_owned())]);
    }

    #[test]
    fn an_allow_does_not_match_another_spelling() {
        use Effect::{Allow, Deny};
        let managed = layer(LayerKind::Managed, &[(Allow, "Bash(rm *)"), (Allow, "Bash(ls *)")]);
        let user = layer(LayerKind::User, &[(Deny, "Bash(rm *)"), (Deny, "Bash(mv *)")]);
        let (spoke, lost) = explained(&[managed, user], run("/bin/rm x"));
        assert_eq!(spoke.as_deref(), Some("deny Bash(rm *)"));
        assert_eq!(lost, []);
    }

    #[test]
    fn a_deny_that_lost_in_its_layer_is_not_final() {
        use Effect::{Allow, Deny};
        let rules = [(Deny, "Bash(a *)"), (Allow, "Bash(a b)")];
        let managed = Layer {
            combining_algorithm: CombiningAlgorithm::LastMatch,
            ..layer(LayerKind::Managed, &rules)
        };
        let user = layer(LayerKind::User, &[(Allow, "Bash(a *)")]);
        let (spoke, lost) = explained(&[managed, user], run("a b"));
        assert_eq!(spoke.as_deref(), Some("allow Bash(a b)"));
        let lost: Vec<_> = lost.iter().map(|(text, why)| (text.as_str(), why.as_str())).collect();
        let expected = [
            ("deny Bash(a *)", "another rule of the same layer takes precedence"),
            ("allow Bash(a *)", "a layer with higher precedence decides"),
        ];
        assert_eq!(lost, expected);
    }

    #[test]
    fn a_rule_that_only_a_person_answers_outranks_another_layer() {
        let asks = layer(LayerKind::User, &[(Effect::Ask, "Bash(a *)")]);
        let rules =
            asks.rules.iter().map(|rule| Rule { requires_human: true, ..rule.clone() }).collect();
        let asks = Layer { rules, ..asks };
        let allows = layer(LayerKind::Managed, &[(Effect::Allow, "Bash(a *)")]);
        let (spoke, lost) = explained(&[allows, asks], run("a b"));
        assert_eq!(spoke.as_deref(), Some("ask Bash(a *)"));
        assert_eq!(lost[0].1, "another rule requires a person's answer");
    }
}
