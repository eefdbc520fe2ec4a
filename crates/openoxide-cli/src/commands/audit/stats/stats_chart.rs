//! Statistics as text.

use openoxide_protocol::RuleRef;
use openoxide_tui::{LineMode, escape_text};

use super::{super::record_row::render_rule, decision_counts::DecisionCounts};

/// The maximum length of a bar.
const MAX_BAR_WIDTH: u64 = 40;
/// The maximum number of lines in each list.
const MAX_ROWS: usize = 10;
const UNUSED_RULES_TITLE: &str = "rules of this policy that decided nothing in this period";

/// Returns all counts as text.
pub(super) fn render_text(
    counts: &DecisionCounts,
    questions: &[(String, u64)],
    idle: Option<&[RuleRef]>,
) -> String {
    let (allow, ask, deny) = (counts.allow, counts.ask, counts.deny);
    let days = questions.len();
    let mut lines = vec![format!("{days} days: {allow} allowed, {ask} asked, {deny} denied")];
    lines.push("\nquestions per day (UTC)".to_owned());
    let most = questions.iter().map(|(_, count)| *count).max().unwrap_or_default();
    lines.extend(questions.iter().map(|(day, count)| {
        format!("  {day}  {count:>5} {}", render_bar(*count, most)).trim_end().to_owned()
    }));
    let prefixes = counts.prefixes_by_count().into_iter();
    let prefixes =
        prefixes.map(|(prefix, count)| (escape_text(prefix, LineMode::SingleLine), Some(count)));
    append_list("most frequent questions", &prefixes.collect::<Vec<_>>(), &mut lines);
    let rules =
        counts.rules_by_count().into_iter().map(|(of, count)| (render_rule(of), Some(count)));
    append_list("rules that decided most often", &rules.collect::<Vec<_>>(), &mut lines);
    let idle = idle.unwrap_or_default().iter().map(|of| (render_rule(of), None));
    append_list(UNUSED_RULES_TITLE, &idle.collect::<Vec<_>>(), &mut lines);
    lines.join("\n") + "\n"
}

/// Returns a bar. It has at least one character for a count above zero.
fn render_bar(count: u64, most: u64) -> String {
    let length = (count * MAX_BAR_WIDTH).div_ceil(most.max(1));
    "█".repeat(usize::try_from(length).unwrap_or_default())
}

fn append_list(title: &str, rows: &[(String, Option<u64>)], lines: &mut Vec<String>) {
    if rows.is_empty() {
        return;
    }
    lines.push(format!("\n{title}"));
    lines.extend(rows.iter().take(MAX_ROWS).map(|(what, count)| {
        let count = count.map_or_else(String::new, |count| count.to_string());
        format!("  {count:>5}  {what}")
    }));
    if rows.len() > MAX_ROWS {
        lines.push(format!("         and {} more", rows.len() - MAX_ROWS));
    }
}
