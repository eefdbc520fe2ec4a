//! Numbers for a person.

use openoxide_protocol::RuleRef;
use openoxide_tui::{Lines, visible};

use super::{super::row::rule, count::Counts};

/// So long is the longest bar.
const LONGEST: u64 = 40;
/// So many lines has each list.
const MOST: usize = 10;
const IDLE: &str = "rules of the policy here that decided nothing in these days";

/// Returns everything that was counted.
pub(super) fn in_words(
    counts: &Counts,
    questions: &[(String, u64)],
    idle: Option<&[RuleRef]>,
) -> String {
    let (allow, ask, deny) = (counts.allow, counts.ask, counts.deny);
    let days = questions.len();
    let mut lines = vec![format!("{days} days: {allow} allowed, {ask} asked about, {deny} denied")];
    lines.push("\nquestions per day (UTC)".to_owned());
    let most = questions.iter().map(|(_, count)| *count).max().unwrap_or_default();
    lines.extend(questions.iter().map(|(day, count)| {
        format!("  {day}  {count:>5} {}", bar(*count, most)).trim_end().to_owned()
    }));
    let prefixes = counts.prefixes().into_iter();
    let prefixes = prefixes.map(|(prefix, count)| (visible(prefix, Lines::One), Some(count)));
    list("asked about most", &prefixes.collect::<Vec<_>>(), &mut lines);
    let rules = counts.rules().into_iter().map(|(of, count)| (rule(of), Some(count)));
    list("rules that decided most", &rules.collect::<Vec<_>>(), &mut lines);
    let idle = idle.unwrap_or_default().iter().map(|of| (rule(of), None));
    list(IDLE, &idle.collect::<Vec<_>>(), &mut lines);
    lines.join("\n") + "\n"
}

/// Returns a bar; what is not nothing is seen.
fn bar(count: u64, most: u64) -> String {
    let length = (count * LONGEST).div_ceil(most.max(1));
    "█".repeat(usize::try_from(length).unwrap_or_default())
}

fn list(title: &str, rows: &[(String, Option<u64>)], lines: &mut Vec<String>) {
    if rows.is_empty() {
        return;
    }
    lines.push(format!("\n{title}"));
    lines.extend(rows.iter().take(MOST).map(|(what, count)| {
        let count = count.map_or_else(String::new, |count| count.to_string());
        format!("  {count:>5}  {what}")
    }));
    if rows.len() > MOST {
        lines.push(format!("         and {} more", rows.len() - MOST));
    }
}
