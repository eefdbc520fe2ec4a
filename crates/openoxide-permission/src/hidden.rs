//! Tools that a model should not even see: every call of them would be denied (D070, OpenCode's `disabled`).
//!
//! OpenCode hides a tool when the last rule about it has the pattern `*` and denies. Here it is hidden when no call of it can
//! get anything but a deny: a rule of any layer denies it whatever the call, or the mode does and no rule could allow it.

use openoxide_protocol::{Access, Action, Decision, Effect, Facts, PermissionMode, RuleRef};

use crate::{
    combine::Combining,
    evaluate::{Context, evaluate},
    layer::Layer,
    rule::{Rule, Space},
    stack::PolicyStack,
};

/// Why a tool is hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// One sentence, lower case, without a full stop.
    pub reason: String,
    /// The rule that denies every call; none where the mode does.
    pub rule: Option<RuleRef>,
}

/// Says why every call of a tool would be denied, if that is so. `action` is what its calls want; what stands in it does not
/// count. `layers` are those that `policy` was compiled from.
#[must_use]
pub fn hidden(
    policy: &PolicyStack,
    layers: &[Layer],
    context: &Context<'_>,
    (tool, action): (&str, &Action),
) -> Option<Hidden> {
    let space = match action {
        Action::Command { .. } => Space::Exec,
        Action::Read { .. } => Space::Read,
        Action::Edit { .. } => Space::Edit,
        Action::Fetch { .. } => Space::Fetch,
        Action::Delegate { .. } => Space::Delegate,
        Action::CallTool => return by_name(policy, context, tool),
        Action::Opaque { .. } => return None,
    };
    let by_rule =
        layers.iter().find_map(|layer| denies_all(layer, space).map(|rule| (layer, rule)));
    match by_rule {
        Some((layer, rule)) => Some(by_rule_of(layer, rule)),
        None if denies_without_rule(context.mode, space) && !may_allow(layers, context, space) => {
            let reason = format!("mode `{}` denies every call of it", context.mode.as_str());
            Some(Hidden { reason, rule: None })
        }
        None => None,
    }
}

/// A tool of its own is judged by its name alone: one answer is every answer.
fn by_name(policy: &PolicyStack, context: &Context<'_>, tool: &str) -> Option<Hidden> {
    let access = Access::CallTool { tool: tool.to_owned() };
    let facts = Facts { accesses: vec![access], findings: Vec::new() };
    let Decision { effect, reason, rule, .. } = evaluate(policy, context, &facts);
    (effect == Effect::Deny).then_some(Hidden { reason, rule })
}

/// Returns the rule of a layer that denies everything in a space, and that no other rule of the layer goes against.
fn denies_all(layer: &Layer, space: Space) -> Option<&Rule> {
    let denies = |rule: &&Rule| rule.effect == Effect::Deny && rule.bare && is_about(rule, space);
    match layer.combining {
        Combining::Strictest | Combining::DenyAllowAsk => layer.rules.iter().find(denies),
        Combining::LastMatch => {
            layer.rules.iter().rev().find(|rule| is_about(rule, space)).filter(denies)
        }
    }
}

fn is_about(rule: &Rule, space: Space) -> bool {
    let here = match space {
        Space::Read => Space::ReadHere,
        Space::Edit => Space::EditHere,
        other => other,
    };
    rule.patterns.iter().any(|pattern| pattern.space == space || pattern.space == here)
}

fn by_rule_of(layer: &Layer, rule: &Rule) -> Hidden {
    let text = format!("{} {}", rule.effect.as_str(), rule.text);
    let reason = format!("`{text}` denies every call of it");
    let rule = RuleRef {
        layer: layer.kind.as_str().to_owned(),
        file: layer.file.clone(),
        line: (rule.line != 0).then_some(rule.line),
        text,
        reason: rule.reason.clone(),
    };
    Hidden { reason, rule: Some(rule) }
}

/// Says whether a mode denies what no rule allows. Under `plan` not even a rule makes an edit pass; commands that only read
/// pass in every mode.
const fn denies_without_rule(mode: PermissionMode, space: Space) -> bool {
    match mode {
        PermissionMode::Plan => matches!(space, Space::Edit),
        PermissionMode::DontAsk => {
            matches!(space, Space::Edit | Space::Fetch | Space::Delegate)
        }
        PermissionMode::Default
        | PermissionMode::AcceptEdits
        | PermissionMode::BypassPermissions => false,
    }
}

fn may_allow(layers: &[Layer], context: &Context<'_>, space: Space) -> bool {
    let allows = |rule: &Rule| rule.effect == Effect::Allow && is_about(rule, space);
    context.mode != PermissionMode::Plan
        && layers.iter().any(|layer| layer.rules.iter().any(allows))
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::AbsPath;

    use super::*;
    use crate::{Anchors, LayerKind, default_layer, parse};

    fn layer(kind: LayerKind, combining: Combining, rules: &[(Effect, &str)]) -> Layer {
        let root = AbsPath::root();
        let anchors = Anchors { home: None, base: &root };
        let rules =
            rules.iter().map(|(effect, text)| parse(text, *effect, anchors).unwrap()).collect();
        Layer { kind, file: None, combining, rules, mode: None }
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
            let context = Context { mode: Normal, cwd: &cwd, roots: &[], doubt: None };
            hidden(&policy, &layers, &context, ("Bash", &action("Bash"))).unwrap()
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
        let context = Context { mode, cwd: &cwd, roots: &[], doubt: None };
        let is_hidden =
            |tool: &&str| hidden(&policy, &layers, &context, (tool, &action(tool))).is_some();
        TOOLS.into_iter().filter(is_hidden).collect()
    }

    use Combining::{LastMatch, Strictest};
    use Effect::{Allow, Deny};
    use PermissionMode::{Default as Normal, DontAsk, Plan};

    /// The first three rows are OpenCode's, by its source: `{bash:{"*":"deny","ls *":"allow"}}` does not remove bash.
    #[test]
    fn a_tool_is_hidden_when_every_call_of_it_is_denied() {
        type Row<'a> = (PermissionMode, Combining, &'a [(Effect, &'a str)], &'a [&'a str]);
        let rows: [Row<'_>; 12] = [
            (Normal, LastMatch, &[(Deny, "Bash")], &["Bash"]),
            (Normal, LastMatch, &[(Deny, "Bash"), (Allow, "Bash(ls *)")], &[]),
            (Normal, LastMatch, &[(Allow, "Bash(ls *)"), (Deny, "Bash")], &["Bash"]),
            (Normal, Strictest, &[(Deny, "Bash"), (Allow, "Bash(ls *)")], &["Bash"]),
            (Normal, Strictest, &[(Deny, "Bash(rm *)")], &[]),
            (Normal, Strictest, &[(Deny, "Read")], &["Read", "Edit"]),
            (Normal, LastMatch, &[(Deny, "Edit"), (Allow, "Edit(*.md)")], &[]),
            (Normal, Strictest, &[(Deny, "mcp__a")], &["mcp__a__b"]),
            (Normal, Strictest, &[(Deny, "*")], &TOOLS),
            (Plan, Strictest, &[(Allow, "Edit")], &["Edit", "mcp__a__b"]),
            (DontAsk, Strictest, &[], &["Edit", "WebFetch", "Task", "mcp__a__b"]),
            (
                DontAsk,
                Strictest,
                &[(Allow, "WebFetch(domain:x.io)"), (Allow, "mcp__a__b")],
                &["Edit", "Task"],
            ),
        ];
        for (mode, combining, rules, expected) in rows {
            let layer = layer(LayerKind::User, combining, rules);
            assert_eq!(all_hidden(mode, layer), expected, "{mode:?} {rules:?}");
        }
    }
}
