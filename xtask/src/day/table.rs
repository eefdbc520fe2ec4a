//! The table of a working day.

use crate::day::{
    playing::{PlayedSession, SessionSetup},
    session_file::DaySession,
};

/// Returns the table: the questions of each session under each configuration, and the sums.
/// `rows` has one entry for each session and configuration, in their order.
pub(super) fn format(sessions: &[DaySession], rows: &[PlayedSession]) -> String {
    let columns = SessionSetup::ALL.map(SessionSetup::name).join(" | ");
    let mut text = format!("| session | calls | {columns} |\n| --- | ---: |");
    text.push_str(&" ---: |".repeat(SessionSetup::ALL.len()));
    text.push('\n');
    for (session, row) in sessions.iter().zip(rows.chunks(SessionSetup::ALL.len())) {
        let cells = row.iter().map(|one| one.questions.to_string());
        text.push_str(&line(&session.name, session.calls.len(), cells));
    }
    let calls = sessions.iter().map(|session| session.calls.len()).sum::<usize>();
    let sum = |count: fn(&PlayedSession) -> usize| {
        SessionSetup::ALL
            .map(|kind| rows.iter().filter(|row| row.setup == kind).map(count).sum::<usize>())
    };
    let questions = sum(|row| row.questions);
    text.push_str(&line("**all**", calls, questions.iter().map(ToString::to_string)));
    let dangerous_questions = sum(|row| row.dangerous_questions).map(|count| count.to_string());
    text.push_str(&line("about dangerous calls", calls, dangerous_questions.into_iter()));
    let rate = questions.map(|count| per_hundred(count, calls));
    text.push_str(&line("questions per 100 calls", calls, rate.into_iter()));
    let ran = sum(|row| row.dangerous_runs.len()).map(|count| count.to_string());
    let dangerous = sessions.iter().flat_map(|session| &session.calls);
    let dangerous = dangerous.filter(|call| call.danger.is_some()).count();
    text.push_str(&line("dangerous calls that ran", dangerous, ran.into_iter()));
    text
}

fn line(name: &str, calls: usize, cells: impl Iterator<Item = String>) -> String {
    format!("| {name} | {calls} | {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// Returns a rate with one decimal place.
fn per_hundred(count: usize, calls: usize) -> String {
    let tenths = (count * 1000 + calls / 2).checked_div(calls).unwrap_or_default();
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_one_decimal_place() {
        assert_eq!(per_hundred(1, 3), "33.3");
        assert_eq!(per_hundred(0, 0), "0.0");
    }
}
