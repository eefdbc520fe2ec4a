//! Detection of probable mistakes in the rules of a layer.

use openoxide_protocol::Effect;

use crate::{
    combining_algorithm::CombiningAlgorithm,
    glob::{self, GlobStep},
    layer::Layer,
    rule::{Rule, SubjectKind},
    subsumption::subsumes,
};

/// The severity of a lint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LintLevel {
    /// A style problem: the rules are harder to read than necessary.
    Note,
    /// A rule has no effect, or more effect than its author probably intends.
    Warning,
    /// A rule that should restrict has no effect.
    Error,
}

impl LintLevel {
    /// Returns the name of the level in messages and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A probable mistake in a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyLint {
    /// The code of the lint, which is stable.
    pub code: &'static str,
    /// The severity of the lint.
    pub level: LintLevel,
    /// The index of the rule in the layer.
    pub rule: usize,
    /// The index of the other rule that the lint refers to.
    pub other: Option<usize>,
    /// The description of the problem.
    pub message: String,
    /// The suggested fix.
    pub help: &'static str,
}

/// The maximum number of rules of one effect that a person can review.
const MAX_RULES_PER_EFFECT: usize = 200;

/// Returns the probable mistakes in a layer, in the order of the rules.
#[must_use]
pub fn lint_layer(layer: &Layer) -> Vec<PolicyLint> {
    let rules = layer.rules.as_slice();
    let mut found = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        found.extend(find_shadowed_rule(layer, at, rule));
        found.extend(find_unmatchable_rule(at, rule));
        found.extend(find_catch_all_allow(at, rule));
    }
    for effect in [Effect::Deny, Effect::Ask, Effect::Allow] {
        found.extend(find_excess_rules(rules, effect));
    }
    found.sort_by_key(|lint| (lint.rule, lint.code));
    found
}

/// Returns a lint if a rule never decides, because another rule always takes precedence.
fn find_shadowed_rule(layer: &Layer, at: usize, rule: &Rule) -> Option<PolicyLint> {
    let others = layer.rules.iter().enumerate().filter(|(other, _)| *other != at);
    let mut winners = others.filter(|(place, other)| {
        let beats = takes_precedence(layer.combining_algorithm, (*place, other), (at, rule));
        beats && subsumes(other, rule)
    });
    let (place, other) = winners.next()?;
    let text = |rule: &Rule| format!("`{} {}`", rule.effect.as_str(), rule.text);
    let (code, level, message, help) = if other.effect == rule.effect && subsumes(rule, other) {
        (
            "OX401",
            LintLevel::Warning,
            format!("{} is a duplicate", text(rule)),
            "remove one of them",
        )
    } else if other.effect < rule.effect {
        let message = format!("{} never takes effect: {} always decides", text(rule), text(other));
        (
            "OX403",
            LintLevel::Error,
            message,
            "move the narrower rule where it takes effect, or narrow the other rule",
        )
    } else {
        let message = format!("{} never decides: {} always does", text(rule), text(other));
        ("OX402", LintLevel::Warning, message, "remove it, or make the other rule narrower")
    };
    Some(PolicyLint { code, level, rule: at, other: Some(place), message, help })
}

/// Returns whether the first rule decides wherever both match. A rule with its own reason is kept,
/// because its reason would otherwise never be shown.
fn takes_precedence(
    combining: CombiningAlgorithm,
    (place, other): (usize, &Rule),
    (at, rule): (usize, &Rule),
) -> bool {
    let class = |rule: &Rule| match (combining, rule.effect) {
        (_, Effect::Deny) => 4,
        (_, Effect::Ask) if rule.requires_human => 3,
        (CombiningAlgorithm::DenyAllowAsk, Effect::Allow)
        | (CombiningAlgorithm::Strictest, Effect::Ask) => 2,
        _ => 1,
    };
    let alike = other.effect == rule.effect && other.requires_human == rule.requires_human;
    let same = alike && subsumes(rule, other);
    match combining {
        CombiningAlgorithm::LastMatch => place > at && (!alike || rule.reason.is_none()),
        _ if alike => rule.reason.is_none() && (!same || place < at),
        _ => class(other) > class(rule),
    }
}

/// Returns a lint if no command matches the rule, because the commands of a line are evaluated
/// separately.
fn find_unmatchable_rule(at: usize, rule: &Rule) -> Option<PolicyLint> {
    let exec = |step: &crate::Pattern| step.kind == SubjectKind::Exec;
    let pattern = rule.patterns.iter().find(|pattern| exec(pattern))?;
    let words: Vec<Vec<u8>> = pattern_words(&pattern.program);
    let operator = words.iter().find(|word| is_operator(word));
    let assignment = words.first().filter(|word| is_assignment(word));
    let (word, help) = match (operator, assignment) {
        (Some(word), _) => (
            word,
            "commands joined by operators are matched separately; write one rule per command",
        ),
        (None, Some(word)) => {
            (word, "variable assignments before a command are not matched; remove them")
        }
        (None, None) => return None,
    };
    let word = String::from_utf8_lossy(word);
    let message = format!(
        "`{}` matches nothing: no word of a command is `{word}`, unless it is quoted",
        rule.text
    );
    Some(PolicyLint {
        code: "OX404",
        level: LintLevel::Warning,
        rule: at,
        other: None,
        message,
        help,
    })
}

/// Returns the words of a command pattern, with `*` for each wildcard.
fn pattern_words(code: &[u8]) -> Vec<Vec<u8>> {
    let mut text = Vec::new();
    for step in glob::decode_steps(code) {
        match step {
            GlobStep::Literal(bytes) => text.extend_from_slice(bytes),
            _ => text.push(b'*'),
        }
    }
    text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

fn is_operator(word: &[u8]) -> bool {
    const OPERATORS: &[&[u8]] =
        &[b"&&", b"||", b"|", b";", b"&", b"|&", b">", b">>", b"<", b"2>", b"2>&1", b"&>"];
    OPERATORS.contains(&word)
}

fn is_assignment(word: &[u8]) -> bool {
    let Some(end) = word.iter().position(|byte| *byte == b'=') else { return false };
    let name = word.get(..end).unwrap_or_default();
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    name.first().is_some_and(|byte| !byte.is_ascii_digit()) && name.iter().all(letter)
}

/// Returns a lint if an allow matches every command.
fn find_catch_all_allow(at: usize, rule: &Rule) -> Option<PolicyLint> {
    let open = |pattern: &crate::Pattern| {
        let first = glob::decode_steps(&pattern.program).next();
        pattern.kind == SubjectKind::Exec && !matches!(first, Some(GlobStep::Literal(_)))
    };
    let allows = rule.effect == Effect::Allow && rule.patterns.iter().any(open);
    let message = format!("`allow {}` allows any program", rule.text);
    allows.then_some(PolicyLint {
        code: "OX405",
        level: LintLevel::Warning,
        rule: at,
        other: None,
        message,
        help: "name the program: `Bash(npm run *)`",
    })
}

fn find_excess_rules(rules: &[Rule], effect: Effect) -> Option<PolicyLint> {
    let mut of_effect = rules.iter().enumerate().filter(|(_, rule)| rule.effect == effect);
    let (at, _) = of_effect.clone().nth(MAX_RULES_PER_EFFECT)?;
    let count = of_effect.by_ref().count();
    Some(PolicyLint {
        code: "OX407",
        level: LintLevel::Note,
        rule: at,
        other: None,
        message: format!("{count} `{}` rules are hard to review", effect.as_str()),
        help: "replace rules that differ in their last words by one that ends in ` *`",
    })
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::AbsPath;

    use super::*;
    use crate::{LayerKind, PathAnchors, parse_rule};

    /// The combining algorithm, the rules, and the expected lints.
    type Row =
        (CombiningAlgorithm, &'static [(Effect, &'static str)], &'static [(usize, &'static str)]);

    fn found(
        combining: CombiningAlgorithm,
        rules: &[(Effect, &str)],
    ) -> Vec<(usize, &'static str)> {
        let base = AbsPath::root();
        let rule = |(effect, text): &(Effect, &str)| {
            parse_rule(text, *effect, PathAnchors { home: None, base: &base }).unwrap()
        };
        let rules = rules.iter().map(rule).collect();
        let layer = Layer {
            kind: LayerKind::User,
            file: None,
            combining_algorithm: combining,
            rules,
            mode: None,
        };
        lint_layer(&layer).into_iter().map(|lint| (lint.rule, lint.code)).collect()
    }

    #[test]
    fn rules_that_never_decide_are_found() {
        use CombiningAlgorithm::{DenyAllowAsk, LastMatch, Strictest};
        use Effect::{Allow, Ask, Deny};
        let rows: &[Row] = &[
            (
                Strictest,
                &[(Deny, "Bash(rm *)"), (Ask, "Bash(git push *)"), (Allow, "Bash(git *)")],
                &[],
            ),
            (Strictest, &[(Allow, "Bash(git *)"), (Allow, "Bash(git  *)")], &[(1, "OX401")]),
            (Strictest, &[(Allow, "Bash(git push *)"), (Allow, "Bash(git *)")], &[(0, "OX402")]),
            (Strictest, &[(Deny, "Bash(git *)"), (Allow, "Bash(git push *)")], &[(1, "OX402")]),
            (Strictest, &[(Allow, "Bash(git push *)"), (Deny, "Bash(git *)")], &[(0, "OX402")]),
            (LastMatch, &[(Deny, "Bash(rm *)"), (Allow, "Bash(rm *)")], &[(0, "OX403")]),
            (LastMatch, &[(Ask, "Bash(*)"), (Deny, "Bash(rm *)")], &[]),
            (LastMatch, &[(Deny, "Bash(rm *)"), (Ask, "Bash(*)")], &[(0, "OX403")]),
            (DenyAllowAsk, &[(Ask, "Bash(git push *)"), (Allow, "Bash(git *)")], &[(0, "OX403")]),
            (Strictest, &[(Allow, "Bash(cd x && ls)")], &[(0, "OX404")]),
            (Strictest, &[(Deny, "Bash(CI=1 npm *)")], &[(0, "OX404")]),
            (Strictest, &[(Allow, "Bash(* --version)")], &[(0, "OX405")]),
            (Strictest, &[(Deny, "Bash")], &[]),
        ];
        for (combining, rules, expected) in rows {
            assert_eq!(found(*combining, rules), *expected, "{rules:?}");
        }
    }

    #[test]
    fn too_many_rules_are_reported() {
        let texts: Vec<String> =
            (0..=MAX_RULES_PER_EFFECT).map(|number| format!("Bash(x{number})")).collect();
        let rules: Vec<_> = texts.iter().map(|text| (Effect::Allow, text.as_str())).collect();
        assert_eq!(found(CombiningAlgorithm::Strictest, &rules), [(MAX_RULES_PER_EFFECT, "OX407")]);
    }

    #[test]
    fn which_of_two_rules_decides_hangs_on_person_place_and_reason() {
        use CombiningAlgorithm::{DenyAllowAsk, LastMatch, Strictest};
        use Effect::{Allow, Ask, Deny};
        let base = AbsPath::root();
        let rule = |effect, text: &str| {
            parse_rule(text, effect, PathAnchors { home: None, base: &base }).unwrap()
        };
        let said = |rule: Rule| Rule { reason: Some("so it is".to_owned()), ..rule };
        let person = |rule: Rule| Rule { requires_human: true, ..rule };
        let of = |combining, rules: &[Rule]| {
            let (kind, rules) = (LayerKind::User, rules.to_vec());
            let layer =
                Layer { kind, file: None, combining_algorithm: combining, rules, mode: None };
            lint_layer(&layer)
                .into_iter()
                .map(|lint| (lint.rule, lint.other, lint.code))
                .collect::<Vec<_>>()
        };
        let (wide, narrow) = ("Bash(git *)", "Bash(git push *)");
        let always = person(rule(Ask, wide));
        assert_eq!(of(Strictest, &[always.clone(), rule(Ask, narrow)]), [(1, Some(0), "OX402")]);
        assert_eq!(
            of(DenyAllowAsk, &[always.clone(), rule(Allow, narrow)]),
            [(1, Some(0), "OX402")]
        );
        assert_eq!(of(Strictest, &[person(rule(Ask, narrow)), rule(Ask, wide)]), []);
        assert_eq!(of(Strictest, &[always, rule(Deny, narrow)]), []);
        // A rule with its own reason is not redundant.
        assert_eq!(of(Strictest, &[said(rule(Ask, narrow)), rule(Ask, wide)]), []);
        assert_eq!(
            of(Strictest, &[rule(Ask, narrow), said(rule(Ask, wide))]),
            [(0, Some(1), "OX402")]
        );
        assert_eq!(of(LastMatch, &[said(rule(Ask, narrow)), rule(Ask, wide)]), []);
        assert_eq!(of(LastMatch, &[rule(Ask, narrow), rule(Ask, wide)]), [(0, Some(1), "OX402")]);
        assert_eq!(of(LastMatch, &[rule(Ask, wide), rule(Ask, narrow)]), []);
        assert_eq!(
            of(LastMatch, &[said(rule(Ask, narrow)), rule(Deny, wide)]),
            [(0, Some(1), "OX402")]
        );
        assert_eq!(of(LastMatch, &[rule(Ask, narrow), rule(Deny, wide)]), [(0, Some(1), "OX402")]);
        // Of two identical rules, the second one is redundant.
        assert_eq!(of(Strictest, &[rule(Ask, wide), rule(Ask, wide)]), [(1, Some(0), "OX401")]);
        assert_eq!(of(LastMatch, &[rule(Ask, wide), rule(Ask, wide)]), [(0, Some(1), "OX401")]);
    }

    #[test]
    fn a_variable_before_a_command_has_a_name() {
        let never = |text: &str| found(CombiningAlgorithm::Strictest, &[(Effect::Deny, text)]);
        for text in ["Bash(A=1 x)", "Bash(_a=1 x)", "Bash(a_b2= x)", "Bash(a && b)", "Bash(a | b)"]
        {
            assert_eq!(never(text), [(0, "OX404")], "{text}");
        }
        for text in ["Bash(2a=1 x)", "Bash(=1 x)", "Bash(a-b=1 x)", "Bash(x A=1)", "Bash(a-_)"] {
            assert_eq!(never(text), [], "{text}");
        }
    }

    #[test]
    fn the_maximum_number_of_rules_is_not_reported() {
        let texts: Vec<String> =
            (0..MAX_RULES_PER_EFFECT).map(|number| format!("Bash(x{number})")).collect();
        let rules: Vec<_> = texts.iter().map(|text| (Effect::Allow, text.as_str())).collect();
        assert_eq!(found(CombiningAlgorithm::Strictest, &rules), []);
    }
}
