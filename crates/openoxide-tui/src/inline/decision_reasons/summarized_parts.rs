//! The parts of a request whose content is summarized.

use std::{cmp::Reverse, collections::BTreeMap};

use openoxide_protocol::{
    Access, AccessDecision, ApprovalRequest, Effect, steering_files::is_protected_path,
};

use crate::inline::{
    decision_reasons::part_lines::{describe_access, show_effect, show_reason, show_rule},
    hidden_content::sort_by_danger,
    text_page::TextPage,
};

/// Adds each part that a rule or a mode has decided about, and the number of the others. The summary
/// names protected files itself.
pub(super) fn show_summarized_parts(request: &ApprovalRequest, page: &mut TextPage) {
    let mut counts: BTreeMap<(Reverse<Effect>, &str), Vec<&AccessDecision>> = BTreeMap::new();
    for part in sort_by_danger(request) {
        match common_reason(part) {
            Some(reason) => {
                counts.entry((Reverse(part.decision), reason)).or_default().push(part);
            }
            None => show_part(part, request, page),
        }
    }
    for ((Reverse(effect), reason), parts) in counts {
        match parts.as_slice() {
            [one] => show_part(one, request, page),
            several => {
                show_effect(effect, &format!("change {} paths", several.len()), page);
                show_reason(reason, page);
            }
        }
    }
}

/// Returns the reason that a part shares with others, so that it is only counted.
fn common_reason(part: &AccessDecision) -> Option<&str> {
    let Access::Edit(path) = &part.access else { return None };
    if part.decision == Effect::Allow {
        return Some("");
    }
    if path.resolved.is_some() || part.rule.is_some() {
        return None;
    }
    if part.is_unmatched() {
        return Some("no rule matches them");
    }
    let reason = part.reason.strip_prefix(&format!("`{}` ", part.access.summary()))?;
    is_protected_path(&path.path).then_some(reason)
}

fn show_part(part: &AccessDecision, request: &ApprovalRequest, page: &mut TextPage) {
    show_effect(part.decision, &describe_access(&part.access, request), page);
    show_reason(&part.reason, page);
    part.rule.iter().for_each(|rule| show_rule(rule, page));
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{AbsPath, PathAccess};

    use crate::{RenderOptions, render_prompt, samples::command_request};

    use super::*;

    fn edit(path: &str, reason: Option<&str>) -> AccessDecision {
        let reason =
            reason.map_or_else(|| AccessDecision::unmatched_reason(path), ToOwned::to_owned);
        AccessDecision {
            access: Access::Edit(PathAccess::new(AbsPath::new(path).unwrap())),
            decision: Effect::Ask,
            rule: None,
            reason,
            cause: None,
            overridden: Vec::new(),
        }
    }

    #[test]
    fn unmatched_paths_are_counted_and_others_are_all_named() {
        let mut request = command_request("all of it\n");
        request.presentation.summary = Some("300 files\n".to_owned());
        request.decision.reason = AccessDecision::unmatched_reason("/p/f0");
        let mut parts: Vec<_> = (0..300).map(|n| edit(&format!("/p/f{n}"), None)).collect();
        let secret = |n| edit(&format!("/p/s/{n}"), Some("usually contains secrets"));
        parts.extend((0..20).map(secret));
        request.decision.parts = parts;
        request.decision.suggested_rules = vec!["Edit(//p/f0)".to_owned()];
        let text = render_prompt(&request, &RenderOptions::default());
        assert!(text.contains("300 files\n") && !text.contains("all of it"), "{text}");
        assert!(text.contains("change 300 paths\n         no rule matches them"), "{text}");
        assert!((0..20).all(|n| text.contains(&format!("change /p/s/{n}\n"))), "{text}");
        assert!(!text.contains("[p]") && !text.contains("/p/f0"), "{text}");
        let options = RenderOptions { show_all: true, ..RenderOptions::default() };
        assert!(render_prompt(&request, &options).contains("all of it"));
    }
}
