//! Numbers for a person.

use openoxide_protocol::RuleRef;
use openoxide_tui::{Lines, visible};

use super::{super::row::rule, count::Counts};

/// So long is the longest bar.
const LONGEST: u64 = 40;
/// So many lines has each list.
const MOST: usize = 10;

/// Returns everything that was counted.
pub(super) fn in_words(
    counts: &Counts,
    questions: &[(String, u64)],
    idle: Option<&[RuleRef]>,
) -> String {
    let (allow, ask, deny) = (counts.allow, counts.ask, counts.deny);
    let days = questions.len();
    let mut text = format!("{days} days: {allow} allowed, {ask} asked about, {deny} denied\n");
    text += "\nquestions per day (UTC)\n";
    let most = questions.iter().map(|(_, count)| *count).max().unwrap_or_default();
    for (day, count) in questions {
        text += &format!("  {day}  {:>5} {}\n", count, bar(*count, most));
    }
    let prefixes = counts.prefixes().into_iter();
    let prefixes = prefixes.map(|(prefix, count)| (visible(prefix, Lines::One), Some(count)));
    text += &list("asked about most", &prefixes.collect::<Vec<_>>());
    let rules = counts.rules().into_iter().map(|(of, count)| (rule(of), Some(count)));
    text += &list("rules that decided most", &rules.collect::<Vec<_>>());
    let idle = idle.unwrap_or_default().iter().map(|of| (rule(of), None));
    text + &list(
        "rules of the policy here that decided nothing in these days",
        &idle.collect::<Vec<_>>(),
    )
}

/// Returns a bar; what is not nothing is seen.
fn bar(count: u64, most: u64) -> String {
    let length = (count * LONGEST).div_ceil(most.max(1));
    "█".repeat(usize::try_from(length).unwrap_or_default())
}

fn list(title: &str, rows: &[(String, Option<u64>)]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{title}\n");
    for (what, count) in rows.iter().take(MOST) {
        let count = count.map_or_else(String::new, |count| count.to_string());
        text += &format!("  {count:>5}  {what}\n");
    }
    if rows.len() > MOST {
        text += &format!("         and {} more\n", rows.len() - MOST);
    }
    text
}
