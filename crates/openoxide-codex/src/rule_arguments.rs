//! The arguments of a call, bound to the parameters of its function.

use super::rule_calls::{FunctionCall, LiteralValue};
use openoxide_adapters::policy_translation::PolicyTextError;

/// The parameters of `prefix_rule`, in the order of positional arguments.
pub(super) const PREFIX_RULE_PARAMETERS: [&str; 6] =
    ["pattern", "decision", "match", "not_match", "justification", "canonical_matching"];
/// The parameters of `network_rule`, in the order of positional arguments.
pub(super) const NETWORK_RULE_PARAMETERS: [&str; 4] =
    ["host", "protocol", "decision", "justification"];

/// Binds arguments to the parameters of a function, which are given in positional order.
pub(super) fn bind_arguments<'c>(
    call: &'c FunctionCall,
    names: &[&str],
) -> Result<Vec<Option<&'c LiteralValue>>, PolicyTextError> {
    let mut found: Vec<Option<&LiteralValue>> = vec![None; names.len()];
    let mut by_name = false;
    for (at, (name, value)) in call.arguments.iter().enumerate() {
        let wrong = |what: &str| Err(PolicyTextError::new(what, value.span.clone()));
        by_name |= name.is_some();
        let place = match name {
            None if by_name => {
                return wrong("a positional argument follows a named one");
            }
            None => at,
            Some(name) => names.iter().position(|known| known == name).unwrap_or(usize::MAX),
        };
        match found.get_mut(place) {
            Some(free @ None) => *free = Some(value),
            Some(Some(_)) => return wrong("this argument is given twice"),
            None => {
                let known = names.join("`, `");
                let what = name.as_deref().unwrap_or("this");
                let message = format!("`{}` takes no argument `{what}`", call.function);
                return Err(PolicyTextError::new(message, value.span.clone())
                    .with_help(format!("known are `{known}`")));
            }
        }
    }
    Ok(found)
}
