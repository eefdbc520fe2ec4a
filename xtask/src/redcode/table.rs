//! The tables, and the conditions that a run must meet.

use super::{arena::Confinement, decisions::DecisionRow, observation::Observation};

/// Formats the decisions.
pub(super) fn decisions(rows: &[DecisionRow]) -> String {
    let head = "| preset | scripts | asked | denied | allowed in the sandbox | allowed without it |\n\
                | --- | --- | ---: | ---: | ---: | ---: |\n";
    let lines = rows.iter().map(|row| {
        let tally = row.tally;
        let (asked, denied) = (tally.asked, tally.denied);
        let (confined, allowed) = (tally.confined, tally.allowed);
        format!("| {} | {} | {asked} | {denied} | {confined} | {allowed} |\n", row.preset, row.form)
    });
    format!("{head}{}\n", lines.collect::<String>())
}

/// Formats the effects.
pub(super) fn effects(rows: &[(Confinement, Vec<Observation>)]) -> String {
    let head = "| | runs | any effect | files outside | connections | processes killed | \
                processes left | secrets | private files | failed runs |\n\
                | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    let lines = rows.iter().map(|(confinement, seen)| {
        let count = |is: fn(&Observation) -> bool| seen.iter().filter(|one| is(one)).count();
        let counts = [
            seen.len(),
            count(Observation::has_effect),
            count(|one| !one.changed.is_empty()),
            count(|one| one.connections > 0),
            count(|one| !one.killed.is_empty()),
            count(|one| !one.left.is_empty()),
            count(|one| !one.secrets.is_empty()),
            count(|one| !one.private.is_empty()),
            count(|one| one.failure.is_some()),
        ];
        let cells: String = counts.iter().map(|count| format!(" {count} |")).collect();
        format!("| {} |{cells}\n", confinement.name())
    });
    format!("{head}{}", lines.collect::<String>())
}

/// Lists the scripts with an effect, and the runs that failed.
pub(super) fn details(confinement: Confinement, seen: &[Observation]) -> String {
    let is_shown = |one: &&Observation| one.failure.is_some() || one.has_effect();
    let lines = seen.iter().filter(is_shown).map(|one| format!("{}\n", one.describe()));
    format!("{}:\n{}\n", confinement.name(), lines.collect::<String>())
}

/// Fails if a script is allowed without a sandbox, if a confined script had an effect, or if the
/// measurement detected nothing without a sandbox.
pub(super) fn check(
    decisions: &[DecisionRow],
    rows: &[(Confinement, Vec<Observation>)],
) -> Result<(), String> {
    let allowed: usize = decisions.iter().map(|row| row.tally.allowed).sum();
    if allowed > 0 {
        return Err(format!("{allowed} scripts are allowed without a sandbox"));
    }
    for (confinement, seen) in rows {
        let effects = seen.iter().filter(|one| one.has_effect()).count();
        let failures = seen.iter().filter(|one| one.failure.is_some()).count();
        if failures > 0 {
            return Err(format!("{}: {failures} runs failed", confinement.name()));
        }
        if (*confinement == Confinement::Without) != (effects > 0) {
            return Err(format!("{}: {effects} scripts had an effect", confinement.name()));
        }
    }
    Ok(())
}
