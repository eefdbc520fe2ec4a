//! The rule mix as the policy file that a person would write.

use openoxide_protocol::Effect;

use crate::rules::BenchRule;

/// Returns a native policy file.
#[must_use]
pub fn toml(rules: &[BenchRule]) -> String {
    let list = |effect: Effect| {
        let of = rules.iter().filter(|rule| rule.effect == effect);
        of.map(|rule| format!("  \"{}\",\n", rule.text)).collect::<String>()
    };
    format!(
        "[permissions]\ndeny = [\n{}]\nask = [\n{}]\nallow = [\n{}]\n",
        list(Effect::Deny),
        list(Effect::Ask),
        list(Effect::Allow),
    )
}
