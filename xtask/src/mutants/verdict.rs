//! The requirements for the results: enough mutants are noticed, and every missed one is on the
//! list.

use super::{
    accepted::Accepted,
    options::Options,
    outcome::{Counts, Mutant, Outcomes},
};

/// The percentage of viable mutants that must be noticed.
const LEAST: usize = 95;

/// Returns the requirements that the results do not meet. A shard or a sample of the mutants does
/// not show that a row of the list is unused.
pub(super) fn faults(
    outcomes: &Outcomes,
    accepted: &[&Accepted],
    options: &Options,
) -> Vec<String> {
    let listed = |mutant: &&Mutant| accepted.iter().any(|one| one.is(mutant));
    let surprises = outcomes.missed.iter().filter(|mutant| !listed(mutant));
    let mut faults: Vec<String> = surprises.map(missed).collect();
    let total = outcomes.total();
    if total.noticed() * 100 < total.viable() * LEAST {
        faults.push(format!("{} noticed, and {LEAST} % is the least", percent(total)));
    }
    if options.shard.is_none() && options.sample.is_none() {
        let is_missed = |one: &Accepted| outcomes.missed.iter().any(|mutant| one.is(mutant));
        let stale = accepted.iter().filter(|one| !is_missed(one));
        faults.extend(stale.map(|one| {
            format!("{}: `{}` is on the list and was noticed: remove it", one.file, one.change)
        }));
    }
    faults
}

fn missed(mutant: &Mutant) -> String {
    format!("{}: no test notices: {} (`{}`)", mutant.file, mutant.change, mutant.code)
}

/// Returns the results as a table of Markdown, one line for each file.
pub(super) fn table(name: &str, outcomes: &Outcomes) -> String {
    let heads = "| file | viable | caught | timed out | missed | unviable | not run | noticed |\n\
        | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    let rows = outcomes.counts.iter().map(|(file, counts)| row(file, *counts));
    format!("{heads}{}{}", rows.collect::<String>(), row(name, outcomes.total()))
}

fn row(name: &str, counts: Counts) -> String {
    let Counts { caught, timed_out, unviable, missed, not_run } = counts;
    let (viable, percent) = (counts.viable(), percent(counts));
    format!(
        "| {name} | {viable} | {caught} | {timed_out} | {missed} | {unviable} | {not_run} | {percent} |\n"
    )
}

fn percent(counts: Counts) -> String {
    match counts.viable() {
        0 => "–".to_owned(),
        viable => format!("{:.1} %", counts.noticed() as f64 * 100.0 / viable as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(change: &str) -> Mutant {
        Mutant { file: "a.rs".into(), change: change.into(), code: "x".into() }
    }

    fn accepted(change: &str) -> Accepted {
        Accepted { file: "a.rs".into(), change: change.into(), code: "x".into() }
    }

    fn outcomes(caught: usize, missed: &[&str]) -> Outcomes {
        let counts = Counts { caught, missed: missed.len(), ..Counts::default() };
        let missed = missed.iter().map(|change| mutant(change)).collect();
        Outcomes { counts: [("a.rs".into(), counts)].into(), missed, files: vec!["a.rs".into()] }
    }

    fn options(shard: Option<&str>) -> Options {
        let shard = shard.map(str::to_owned);
        Options { shard, ..Options::default() }
    }

    #[test]
    fn a_missed_mutant_has_to_be_on_the_list() {
        let (one, other) = (accepted("one"), accepted("other"));
        let found = faults(&outcomes(99, &["one"]), &[], &options(None));
        assert_eq!(found, ["a.rs: no test notices: one (`x`)"]);
        assert!(faults(&outcomes(99, &["one"]), &[&one], &options(None)).is_empty());
        let found = faults(&outcomes(99, &["one"]), &[&one, &other], &options(None));
        assert_eq!(found, ["a.rs: `other` is on the list and was noticed: remove it"]);
        let share = options(Some("0/2"));
        assert!(faults(&outcomes(99, &["one"]), &[&one, &other], &share).is_empty());
    }

    #[test]
    fn fewer_than_ninety_five_of_a_hundred_are_too_few() {
        let one = accepted("one");
        let missed = |count| vec!["one"; count];
        assert!(faults(&outcomes(95, &missed(5)), &[&one], &options(None)).is_empty());
        let found = faults(&outcomes(94, &missed(6)), &[&one], &options(None));
        assert_eq!(found, ["94.0 % noticed, and 95 % is the least"]);
        assert!(faults(&outcomes(0, &[]), &[], &options(None)).is_empty());
    }

    #[test]
    fn the_table_has_a_line_for_each_file_and_one_for_all() {
        let table = table("all", &outcomes(3, &["one"]));
        let rows: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| a.rs | 4 | 3 | 0 | 1 | 0 | 0 | 75.0 % |",
                "| all | 4 | 3 | 0 | 1 | 0 | 0 | 75.0 % |"
            ]
        );
    }
}
