//! Tools that are not offered to a model, because every call of them would be denied (OpenCode's
//! `disabled`).
//!
//! OpenCode hides a tool if the last rule about it has the pattern `*` and denies. Here a tool is
//! hidden if every call of it is denied: a rule of any layer denies all calls, or the mode denies
//! them and no rule could allow one.

use openoxide_protocol::{
    Access, Action, Decision, Effect, OperationFacts, PermissionMode, RuleRef,
};

use crate::{
    combining_algorithm::CombiningAlgorithm,
    evaluation::{EvaluationContext, evaluate},
    layer::Layer,
    policy_stack::PolicyStack,
    rule::{Rule, SubjectKind},
};

/// The reason why a tool is hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenReason {
    /// The reason as one sentence, lower case, without a full stop.
    pub reason: String,
    /// The rule that denies every call, or `None` if the mode denies them.
    pub rule: Option<RuleRef>,
}

/// Returns the reason why every call of a tool would be denied, if that is the case. `action`
/// determines the kind of the calls; its content is ignored. `layers` are those that `policy` was
/// compiled from.
#[must_use]
pub fn find_hidden_reason(
    policy: &PolicyStack,
    layers: &[Layer],
    context: &EvaluationContext<'_>,
    (tool, action): (&str, &Action),
) -> Option<HiddenReason> {
    let space = match action {
        Action::Command { .. } => SubjectKind::Exec,
        Action::Read { .. } => SubjectKind::Read,
        Action::Edit { .. } => SubjectKind::Edit,
        Action::Fetch { .. } => SubjectKind::Fetch,
        Action::Connect { .. } => SubjectKind::Socket,
        Action::Delegate { .. } => SubjectKind::Delegate,
        Action::CallTool => return check_tool_name(policy, context, tool),
        Action::Opaque { .. } => return None,
    };
    let by_rule =
        layers.iter().find_map(|layer| find_deny_all_rule(layer, space).map(|rule| (layer, rule)));
    match by_rule {
        Some((layer, rule)) => Some(reason_from_rule(layer, rule)),
        None if is_denied_by_mode(context.mode, space)
            && !has_allow_rule(layers, context, space) =>
        {
            let reason = format!("mode `{}` denies every call of it", context.mode.as_str());
            Some(HiddenReason { reason, rule: None })
        }
        None => None,
    }
}

/// Checks a tool that is matched only by its name: one decision applies to every call.
fn check_tool_name(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    tool: &str,
) -> Option<HiddenReason> {
    let access = Access::CallTool { tool: tool.to_owned() };
    let facts = OperationFacts { accesses: vec![access], findings: Vec::new() };
    let Decision { effect, reason, rule, .. } = evaluate(policy, context, &facts);
    (effect == Effect::Deny).then_some(HiddenReason { reason, rule })
}

/// Returns the rule of a layer that denies every subject of a kind, if no other rule of the layer
/// overrides it.
fn find_deny_all_rule(layer: &Layer, space: SubjectKind) -> Option<&Rule> {
    let denies = |rule: &&Rule| {
        rule.effect == Effect::Deny && rule.matches_everything && concerns_kind(rule, space)
    };
    match layer.combining_algorithm {
        CombiningAlgorithm::Strictest | CombiningAlgorithm::DenyAllowAsk => {
            layer.rules.iter().find(denies)
        }
        CombiningAlgorithm::LastMatch => {
            layer.rules.iter().rev().find(|rule| concerns_kind(rule, space)).filter(denies)
        }
    }
}

fn concerns_kind(rule: &Rule, space: SubjectKind) -> bool {
    let here = match space {
        SubjectKind::Read => SubjectKind::ReadFromCwd,
        SubjectKind::Edit => SubjectKind::EditFromCwd,
        other => other,
    };
    rule.patterns.iter().any(|pattern| pattern.kind == space || pattern.kind == here)
}

fn reason_from_rule(layer: &Layer, rule: &Rule) -> HiddenReason {
    let text = format!("{} {}", rule.effect.as_str(), rule.text);
    let reason = format!("`{text}` denies every call of it");
    let rule = RuleRef {
        layer: layer.kind.as_str().to_owned(),
        file: layer.file.clone(),
        line: (rule.line != 0).then_some(rule.line),
        text,
        reason: rule.reason.clone(),
    };
    HiddenReason { reason, rule: Some(rule) }
}

/// Returns whether a mode denies everything that no rule allows. In mode `plan` edits are denied
/// even if a rule allows them. Read-only commands are allowed in every mode.
const fn is_denied_by_mode(mode: PermissionMode, space: SubjectKind) -> bool {
    match mode {
        PermissionMode::Plan => matches!(space, SubjectKind::Edit | SubjectKind::Socket),
        PermissionMode::DontAsk => {
            matches!(
                space,
                SubjectKind::Edit
                    | SubjectKind::Fetch
                    | SubjectKind::Delegate
                    | SubjectKind::Socket
            )
        }
        PermissionMode::Default
        | PermissionMode::AcceptEdits
        | PermissionMode::Sandboxed
        | PermissionMode::BypassPermissions => false,
    }
}

fn has_allow_rule(layers: &[Layer], context: &EvaluationContext<'_>, space: SubjectKind) -> bool {
    let allows = |rule: &Rule| rule.effect == Effect::Allow && concerns_kind(rule, space);
    context.mode != PermissionMode::Plan
        && layers.iter().any(|layer| layer.rules.iter().any(allows))
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::AbsPath;

    use super::*;
    use crate::{LayerKind, PathAnchors, default_layer, parse_rule};

    fn layer(kind: LayerKind, combining: CombiningAlgorithm, rules: &[(Effect, &str)]) -> Layer {
        let root = AbsPath::root();
        let anchors = PathAnchors { home: None, base: &root };
        let rules = rules
            .iter()
            .map(|(effect, text)| parse_rule(text, *effect, anchors).unwrap())
            .collect();
        Layer { kind, file: None, combining_algorithm: combining, rules, mode: None }
    }

    fn action(tool: &str) -> Action {
        match tool {
            "Bash" => Action::Command { script: String::new() },
            "Read" => Action::Read { paths: vec![] },
            "Edit" => Action::Edit { paths: vec![] },
            "WebFetch" => Action::Fetch { url: String::new() },
            "Task" => Action::Delegate { agent: String::new() },
            _ => Action::CallTool,
        }
    }

    #[test]
    fn the_rule_that_hides_a_tool_is_named() {
        let rule = |line| {
            let layer = layer(LayerKind::User, Strictest, &[(Deny, "Bash")]);
            let rules = layer.rules.iter().map(|rule| Rule { line, ..rule.clone() }).collect();
            let layers = [Layer { file: Some("/f".to_owned()), rules, ..layer }];
            let (cwd, policy) = (AbsPath::root(), PolicyStack::compile(&layers).unwrap());
            let context = EvaluationContext {
                mode: Normal,
                cwd: &cwd,
                roots: &[],
                policy_error: None,
                auto_allow: Default::default(),
            };
            find_hidden_reason(&policy, &layers, &context, ("Bash", &action("Bash"))).unwrap()
        };
        let found = rule(7);
        assert_eq!(found.reason, "`deny Bash` denies every call of it");
        let expected = RuleRef {
            layer: "user".to_owned(),
            file: Some("/f".to_owned()),
            line: Some(7),
            text: "deny Bash".to_owned(),
            reason: None,
        };
        assert_eq!(found.rule, Some(expected));
        assert_eq!(rule(0).rule.unwrap().line, None);
    }

    const TOOLS: [&str; 7] = ["Bash", "Read", "Edit", "WebFetch", "Task", "TodoWrite", "mcp__a__b"];

    fn all_hidden(mode: PermissionMode, layer: Layer) -> Vec<&'static str> {
        let (cwd, layers) = (AbsPath::root(), [layer, default_layer()]);
        let policy = PolicyStack::compile(&layers).unwrap();
        let context = EvaluationContext {
            mode,
            cwd: &cwd,
            roots: &[],
            policy_error: None,
            auto_allow: Default::default(),
        };
        let is_hidden = |tool: &&str| {
            find_hidden_reason(&policy, &layers, &context, (tool, &action(tool))).is_some()
        };
        TOOLS.into_iter().filter(is_hidden).collect()
    }

    use CombiningAlgorithm::{LastMatch, Strictest};
    use Effect::{Allow, Deny};
    use PermissionMode::{Default as Normal, DontAsk, Plan};

    /// The first three rows follow OpenCode's source: `{bash:{"*":"deny","ls *":"allow"}}` does not
    /// remove bash.
    #[test]
    fn a_tool_is_hidden_when_every_call_of_it_is_denied() {
        type Row<'a> = (PermissionMode, CombiningAlgorithm, &'a [(Effect, &'a str)], &'a [&'a str]);
        let rows: [Row<'_>; 13] = [
            (Normal, LastMatch, &[(Deny, "Bash")], &["Bash"]),
            (Normal, LastMatch, &[(Deny, "Bash"), (Allow, "Bash(ls *)")], &[]),
            (Normal, LastMatch, &[(Allow, "Bash(ls *)"), (Deny, "Bash")], &["Bash"]),
            (Normal, Strictest, &[(Deny, "Bash"), (Allow, "Bash(ls *)")], &["Bash"]),
            (Normal, Strictest, &[(Deny, "Bash(rm *)")], &[]),
            (Normal, Strictest, &[(Deny, "Read")], &["Read", "Edit"]),
            (Normal, LastMatch, &[(Deny, "Edit"), (Allow, "Edit(*.md)")], &[]),
            (Normal, Strictest, &[(Deny, "mcp__a")], &["mcp__a__b"]),
            (Normal, Strictest, &[(Deny, "*")], &TOOLS),
            // The built-in rules allow the subagents that an agent brings with it.
            (DontAsk, Strictest, &[(Deny, "Task")], &["Edit", "WebFetch", "Task", "mcp__a__b"]),
            (Plan, Strictest, &[(Allow, "Edit")], &["Edit", "mcp__a__b"]),
            (DontAsk, Strictest, &[], &["Edit", "WebFetch", "mcp__a__b"]),
            (
                DontAsk,
                Strictest,
                &[(Allow, "WebFetch(domain:x.io)"), (Allow, "mcp__a__b")],
                &["Edit"],
            ),
        ];
        for (mode, combining, rules, expected) in rows {
            let layer = layer(LayerKind::User, combining, rules);
            assert_eq!(all_hidden(mode, layer), expected, "{mode:?} {rules:?}");
        }
    }
}
