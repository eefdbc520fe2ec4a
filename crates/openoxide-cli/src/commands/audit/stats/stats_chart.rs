//! Statistics as text.

use openoxide_protocol::RuleRef;
use openoxide_tui::{LineMode, escape_text};

use super::{
    super::record_row::render_rule, decision_counts::DecisionCounts, question_counts::MAX_TITLES,
};

const RULES_HINT: &str =
    "`openoxide rules suggest` shows the rules that would have answered these questions";

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
    let rows = |rows: Vec<(u64, &str)>| -> Vec<(String, Option<u64>)> {
        rows.into_iter().map(|(count, what)| (what.to_owned(), Some(count))).collect()
    };
    let answers = counts.questions.answers();
    append_list("allowed without a question", &rows(counts.allowed.rows()), &mut lines);
    append_list("questions by their answer", &rows(answers.rows()), &mut lines);
    lines.extend(answers.median_wait_ms().map(|wait| {
        format!("         half of the answers came within {}.{} s", wait / 1000, wait % 1000 / 100)
    }));
    lines.push("\nquestions per day (UTC)".to_owned());
    let most = questions.iter().map(|(_, count)| *count).max().unwrap_or_default();
    lines.extend(questions.iter().map(|(day, count)| {
        format!("  {day}  {count:>5} {}", render_bar(*count, most)).trim_end().to_owned()
    }));
    append_most_asked(counts, &mut lines);
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

/// Appends the calls that were asked about more than once, and what would answer them.
fn append_most_asked(counts: &DecisionCounts, lines: &mut Vec<String>) {
    let titles = counts.questions.titles_by_count().into_iter().filter(|(_, count)| *count > 1);
    let titles: Vec<_> = titles
        .take(MAX_TITLES)
        .map(|(title, count)| (escape_text(title, LineMode::SingleLine), Some(count)))
        .collect();
    append_list("calls that were asked about more than once", &titles, lines);
    if !titles.is_empty() {
        lines.push(format!("         {RULES_HINT}"));
    }
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
