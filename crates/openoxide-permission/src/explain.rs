//! Every rule that matches an access, also those that lost: slow and complete, for explanations.

use openoxide_protocol::{AbsPath, Access, Decision, Effect, Lost, Part, PathAccess, RuleRef};

use crate::{
    evaluate::{Context, base_name},
    glob,
    layer::Layer,
    pattern::{host, path},
    rule::{Rule, Space},
};

/// Returns the decision with the rules that matched and did not decide, each with the reason why.
pub fn explain(layers: &[Layer], context: &Context<'_>, decision: Decision) -> Decision {
    let explained = |part: Part| {
        let lost = matching(layers, context, &part.access).into_iter().filter_map(|one| {
            let rule = one.rule_ref();
            let why = one.lost.unwrap_or(NOT_BY_RULES).to_owned();
            (part.rule.as_ref() != Some(&rule)).then_some(Lost { rule, why })
        });
        Part { lost: lost.collect(), ..part }
    };
    let parts = decision.parts.into_iter().map(explained).collect();
    Decision { parts, ..decision }
}

const NOT_BY_RULES: &str =
    "something stricter decides: the mode, the safety floor, or a rule that could match";

/// A rule that matches.
struct Match<'a> {
    layer: &'a Layer,
    rule: &'a Rule,
    /// Why it did not decide; nothing when it did.
    lost: Option<&'static str>,
}

impl Match<'_> {
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
fn matching<'a>(layers: &'a [Layer], context: &Context<'_>, access: &Access) -> Vec<Match<'a>> {
    let subjects = subjects(context, access);
    let matches = |rule: &Rule| {
        rule.patterns.iter().any(|pattern| {
            let manner = pattern.space.manner(rule.effect);
            let mut here = subjects.iter().filter(|one| one.space == pattern.space);
            let counts = |one: &Spelling| rule.effect != Effect::Allow || !one.only_holds_back;
            here.any(|one| counts(one) && glob::matches(&pattern.code, &one.bytes, manner))
        })
    };
    let mut found: Vec<Match<'a>> = Vec::new();
    for layer in layers {
        let of_layer: Vec<_> = layer.rules.iter().filter(|rule| matches(rule)).collect();
        let winner = winner(layer, &of_layer);
        found.extend(of_layer.iter().enumerate().map(|(at, rule)| {
            let lost =
                (Some(at) != winner).then_some("another rule of the same layer takes precedence");
            Match { layer, rule, lost }
        }));
    }
    between_layers(&mut found);
    found
}

fn winner(layer: &Layer, rules: &[&Rule]) -> Option<usize> {
    (0_u32..)
        .zip(rules)
        .map(|(at, rule)| layer.combining.rank(rule.effect, rule.human, rule.exact, at))
        .enumerate()
        .max_by_key(|(_, rank)| *rank)
        .map(|(at, _)| at)
}

/// Among the winners of the layers, the first deny decides, then the first that only a person answers, otherwise the first.
fn between_layers(found: &mut [Match<'_>]) {
    let winners = || 0..found.len();
    let deny = winners().find(|at| wins(found, *at) && effect(found, *at) == Some(Effect::Deny));
    let person = |at: &usize| found.get(*at).is_some_and(|one| one.rule.human);
    let human = winners().find(|at| wins(found, *at) && person(at));
    let first = winners().find(|at| wins(found, *at));
    for (at, one) in found.iter_mut().enumerate() {
        if one.lost.is_some() || Some(at) == deny.or(human).or(first) {
            continue;
        }
        one.lost = Some(match (deny, human) {
            (Some(_), _) => "a deny in any layer is final",
            (None, Some(_)) => "another rule requires a person's answer",
            (None, None) => "a layer with higher precedence decides",
        });
    }
}

fn wins(found: &[Match<'_>], at: usize) -> bool {
    found.get(at).is_some_and(|one| one.lost.is_none())
}

fn effect(found: &[Match<'_>], at: usize) -> Option<Effect> {
    found.get(at).map(|one| one.rule.effect)
}

/// One way to write a subject down.
struct Spelling {
    space: Space,
    bytes: Vec<u8>,
    /// Whether only rules that ask or deny look at it: `rm` of `/bin/rm`, the place that a link leads to.
    only_holds_back: bool,
}

fn subjects(context: &Context<'_>, access: &Access) -> Vec<Spelling> {
    let one = |space, bytes: Vec<u8>| vec![Spelling { space, bytes, only_holds_back: false }];
    let name = |space, name: &str| one(space, format!("{name}\0").into_bytes());
    match access {
        Access::Exec(exec) => {
            let mut all = one(Space::Exec, exec.argv.as_bytes().to_vec());
            let base = base_name(exec.argv.as_bytes()).map(<[u8]>::to_vec);
            all.extend(base.map(|bytes| Spelling {
                space: Space::Exec,
                bytes,
                only_holds_back: true,
            }));
            all
        }
        Access::Read(place) => {
            let mut all = of_path(context, place, Space::Read, Space::ReadHere);
            all.extend(of_path(context, place, Space::External, Space::ExternalHere));
            all
        }
        Access::Edit(place) => of_path(context, place, Space::Edit, Space::EditHere),
        Access::ExternalDirectory(place) => {
            of_path(context, place, Space::External, Space::ExternalHere)
        }
        Access::Fetch { host, .. } => one(Space::Fetch, host::parts(host).into_bytes()),
        Access::CallTool { tool } => name(Space::Tool, tool),
        Access::Delegate { agent } => name(Space::Delegate, agent),
        Access::DoomLoop { tool } => name(Space::DoomLoop, tool),
        Access::Opaque { .. } => Vec::new(),
    }
}

fn of_path(context: &Context<'_>, place: &PathAccess, space: Space, here: Space) -> Vec<Spelling> {
    let mut all = Vec::new();
    for (spelling, only_holds_back) in place.spellings().zip([false, true]) {
        let mut add = |space, path: &AbsPath, only_holds_back| {
            let bytes = path::parts(path).into_bytes();
            all.push(Spelling { space, bytes, only_holds_back });
        };
        add(space, spelling, only_holds_back);
        if let Some(below) = spelling.below(context.base()) {
            add(here, &AbsPath::root().join(below), only_holds_back);
        }
        for below in context.other_bases().filter_map(|root| spelling.below(root)) {
            add(here, &AbsPath::root().join(below), true);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{Exec, Facts, PermissionMode};

    use super::*;
    use crate::{Anchors, Combining, LayerKind, PolicyStack, default_layer, evaluate, parse};

    fn layer(kind: LayerKind, rules: &[(Effect, &str)]) -> Layer {
        let root = AbsPath::root();
        let anchors = Anchors { home: None, base: &root };
        let rules = rules.iter().map(|(effect, text)| parse(text, *effect, anchors).unwrap());
        let (file, mode) = (Some("policy.toml".to_owned()), None);
        Layer { kind, file, combining: Combining::Strictest, rules: rules.collect(), mode }
    }

    fn explained(layers: &[Layer], access: Access) -> (Option<String>, Vec<(String, String)>) {
        let root = AbsPath::root();
        let layers = [layers, &[default_layer()]].concat();
        let policy = PolicyStack::compile(&layers).unwrap();
        let context =
            Context { mode: PermissionMode::Default, cwd: &root, roots: &[], doubt: None };
        let facts = Facts { accesses: vec![access], findings: vec![] };
        let part = explain(&layers, &context, evaluate(&policy, &context, &facts)).parts.remove(0);
        let lost = part.lost.into_iter().map(|lost| (lost.rule.text, lost.why)).collect();
        (part.rule.map(|rule| rule.text), lost)
    }

    fn run(command: &str) -> Access {
        let (argv, text) = (command.split(' ').collect(), command.to_owned());
        Access::Exec(Exec {
            argv,
            text,
            class: Default::default(),
            span: Default::default(),
            arity: 0,
            ..Exec::default()
        })
    }

    #[test]
    fn a_rule_that_lost_says_why() {
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
        assert_eq!(lost, [("allow Edit".to_owned(), NOT_BY_RULES.to_owned())]);
    }

    #[test]
    fn an_allow_of_another_spelling_is_no_match() {
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
        let managed =
            Layer { combining: Combining::LastMatch, ..layer(LayerKind::Managed, &rules) };
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
        let rules = asks.rules.iter().map(|rule| Rule { human: true, ..rule.clone() }).collect();
        let asks = Layer { rules, ..asks };
        let allows = layer(LayerKind::Managed, &[(Effect::Allow, "Bash(a *)")]);
        let (spoke, lost) = explained(&[allows, asks], run("a b"));
        assert_eq!(spoke.as_deref(), Some("ask Bash(a *)"));
        assert_eq!(lost[0].1, "another rule requires a person's answer");
    }
}
