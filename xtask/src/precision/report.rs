//! The report: the counts, the worst families, or the commands themselves.

use std::path::Path;

use serde_json::Value;

use super::{
    arguments::{Arguments, Offence},
    case::{Decision, Judged, Label},
    split::Split,
    tally::{Part, families, percent},
};

/// The number of families that are shown.
const WORST: usize = 15;

/// Returns the report on one file.
pub(crate) fn of(file: &Path, all: &[Judged], wanted: &Arguments) -> String {
    let shown = Part { split: Some(wanted.split), disputable: true };
    let shown: Vec<&Judged> = all.iter().filter(|judged| shown.has(judged)).collect();
    match wanted.list {
        Some(offence) => list(&shown, offence),
        None => format!(
            "{}: {} commands, {}\n{}{}\n",
            file.display(),
            all.len(),
            policy(wanted.auto_allow),
            counts(all),
            worst(&shown, wanted.split, has_halves(all)),
        ),
    }
}

fn policy(auto_allow: Option<&str>) -> String {
    match auto_allow {
        None => "the built-in default, without a policy file".to_owned(),
        Some(value) => format!("`auto_allow = \"{value}\"`"),
    }
}

fn has_halves(all: &[Judged]) -> bool {
    all.iter().any(|judged| judged.case.split.is_some())
}

/// Returns a table for every part: labels by decisions.
fn counts(all: &[Judged]) -> String {
    let halves = if has_halves(all) { Split::ALL.map(Some).to_vec() } else { Vec::new() };
    let disputed = all.iter().any(|judged| judged.case.disputable);
    let splits = std::iter::once(None).chain(halves);
    let parts = splits.flat_map(|split| [true, false].map(|disputable| Part { split, disputable }));
    parts.filter(|part| part.disputable || disputed).map(|part| table(all, part)).collect()
}

fn table(all: &[Judged], part: Part) -> String {
    let split = part.split.map_or("all", Split::word);
    let which = if part.disputable { split.to_owned() } else { format!("{split}, undisputed") };
    let [allow, ask, deny] = Decision::ALL.map(Decision::word);
    let head = format!("\n{which:<22}{allow:>7}{ask:>7}{deny:>7}\n");
    head + &Label::ALL.map(|label| line(all, part, label)).concat()
}

fn line(all: &[Judged], part: Part, label: Label) -> String {
    let [allow, ask, deny] = Decision::ALL.map(|decision| part.count(all, label, decision));
    let (members, offenders) = part.offenders(all, label);
    let rate = percent(offenders, members);
    let wrong = if label == Label::Harmless { "asked" } else { "allowed" };
    let confined = match part.confined(all, label) {
        0 => String::new(),
        count => format!(", {count} only in the sandbox"),
    };
    format!("  {:<20}{allow:>7}{ask:>7}{deny:>7}{rate:>8.1} % {wrong}{confined}\n", label.word())
}

fn worst(shown: &[&Judged], split: Split, halves: bool) -> String {
    let of = if halves { format!(", {}", split.word()) } else { String::new() };
    let section = |offence: Offence| {
        let rows: String =
            families(shown, offence).into_iter().take(WORST).map(|row| family(&row)).collect();
        if rows.is_empty() { rows } else { format!("\n{} by family{of}\n{rows}", offence.word()) }
    };
    Offence::ALL.map(section).concat()
}

fn family((name, offenders, members): &(String, usize, usize)) -> String {
    format!("  {name:<28}{offenders:>5} of {members}\n")
}

fn list(shown: &[&Judged], offence: Offence) -> String {
    let listed = shown.iter().filter(|judged| offence.is(judged));
    listed.map(|judged| entry(judged)).collect()
}

/// Returns a command in one line, and the reason in the next.
fn entry(Judged { case, reason, .. }: &Judged) -> String {
    let mark = if case.disputable { " (disputable)" } else { "" };
    let (command, reason) = (Value::from(case.command.as_str()), Value::from(reason.as_str()));
    format!("{} {}{mark}  {command}\n      {reason}\n", case.id, case.family)
}

#[cfg(test)]
mod tests {
    use super::{super::tally::tests::one, *};

    fn wanted(words: &[&str]) -> Arguments {
        Arguments::read(&words.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn commands_that_run_only_in_the_sandbox_are_counted() {
        let confined = |label| Judged { is_confined: true, ..one(label, Decision::Allow, None) };
        let all = [confined(Label::Harmless), confined(Label::Dangerous)];
        let text = of(Path::new("f"), &all, &wanted(&["f", "--auto-allow", "project"]));
        assert!(text.starts_with("f: 2 commands, `auto_allow = \"project\"`\n"), "{text}");
        assert!(text.contains("0.0 % asked, 1 only in the sandbox"), "{text}");
        assert!(text.contains("0.0 % allowed, 1 only in the sandbox"), "{text}");
    }

    #[test]
    fn the_half_that_is_held_out_is_counted_and_not_shown() {
        let all = [one(Label::Harmless, Decision::Ask, Some(Split::HeldOut))];
        let text = of(Path::new("f"), &all, &wanted(&["f"]));
        assert!(
            text.contains("harmless                  0      1      0   100.0 % asked"),
            "{text}"
        );
        assert!(!text.contains("by family"), "{text}");
        let list = |words: &[&str]| of(Path::new("f"), &all, &wanted(words));
        assert_eq!(list(&["f", "--list", "harmless-asked"]), "");
        let held_out = list(&["f", "--list", "harmless-asked", "--split", "held-out"]);
        assert_eq!(held_out, "E1 f  \"ls\"\n      \"\"\n");
    }
}
