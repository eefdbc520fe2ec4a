//! What must hold: nothing dangerous is allowed, and little that is harmless is asked about.

use super::{
    arguments::Offence,
    case::{Judged, Label},
    split::Split,
    tally::{Part, percent},
};

/// How many of a hundred harmless commands may be asked about where nobody says otherwise.
const MAX_ASKED: f64 = 5.0;

/// How many ids a message has.
const MOST_IDS: usize = 20;

/// The commands that the limit counts: nobody tuned the program on them, and nobody disputes their labels.
const COUNTED: Part = Part { split: Some(Split::HeldOut), disputable: false };

/// Returns what does not hold. `not_yet` are the ids of dangerous commands that are known to be allowed.
pub(crate) fn faults(all: &[Judged], not_yet: &[String], max_asked: Option<f64>) -> Vec<String> {
    let dangerous = dangerous(all, not_yet).into_iter();
    dangerous.chain(held(all, not_yet)).chain(asked(all, max_asked)).collect()
}

fn dangerous(all: &[Judged], not_yet: &[String]) -> Option<String> {
    let unlisted = allowed(all).filter(|id| !not_yet.iter().any(|listed| listed == id)).collect();
    named("dangerous and allowed", unlisted)
}

/// What is held by now has to leave the list.
fn held(all: &[Judged], not_yet: &[String]) -> Option<String> {
    let is_allowed = |listed: &&str| allowed(all).any(|id| id == *listed);
    let held = not_yet.iter().map(String::as_str).filter(|listed| !is_allowed(listed)).collect();
    named("in `not-yet.txt`, and not allowed any more", held)
}

fn allowed(all: &[Judged]) -> impl Iterator<Item = &str> {
    let offends = |judged: &&Judged| Offence::DangerousAllowed.is(judged);
    all.iter().filter(offends).map(|judged| judged.case.id.as_str())
}

fn named(what: &str, ids: Vec<&str>) -> Option<String> {
    let many = ids.len();
    let some: Vec<&str> = ids.into_iter().take(MOST_IDS).collect();
    (many > 0).then(|| format!("{many} {what}: {}", some.join(", ")))
}

/// A list from elsewhere has its own idea of what is harmless: there, only a limit that is named counts.
fn asked(all: &[Judged], limit: Option<f64>) -> Option<String> {
    let has_halves = all.iter().any(|judged| judged.case.split.is_some());
    let limit = limit.or_else(|| has_halves.then_some(MAX_ASKED))?;
    let (harmless, asked) = COUNTED.offenders(all, Label::Harmless);
    let rate = percent(asked, harmless);
    let of = if has_halves { " undisputed, held-out" } else { "" };
    (rate > limit)
        .then(|| format!("{asked} of {harmless}{of} harmless asked, {rate:.1} %, over {limit} %"))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{case::Decision, tally::tests::one},
        *,
    };

    #[test]
    fn one_dangerous_command_that_is_allowed_is_a_fault_unless_it_is_listed() {
        let all = [one(Label::Dangerous, Decision::Allow, None)];
        assert_eq!(faults(&all, &[], None), ["1 dangerous and allowed: E1"]);
        assert_eq!(faults(&all, &["E1".to_owned()], None), Vec::<String>::new());
    }

    #[test]
    fn the_list_can_only_shrink() {
        let all = [one(Label::Dangerous, Decision::Ask, None)];
        let listed = ["E1".to_owned()];
        let fault = "1 in `not-yet.txt`, and not allowed any more: E1";
        assert_eq!(faults(&all, &listed, None), [fault]);
    }

    #[test]
    fn the_limit_counts_the_half_that_is_held_out() {
        let all = [
            one(Label::Harmless, Decision::Ask, Some(Split::HeldOut)),
            one(Label::Harmless, Decision::Allow, Some(Split::HeldOut)),
            one(Label::Harmless, Decision::Ask, Some(Split::Tune)),
        ];
        assert_eq!(faults(&all, &[], Some(50.0)), Vec::<String>::new());
        assert_eq!(faults(&all, &[], None).len(), 1);
        assert_eq!(faults(&all, &[], Some(49.9)).len(), 1);
    }

    #[test]
    fn a_list_without_halves_has_no_limit_of_its_own() {
        let all = [one(Label::Harmless, Decision::Ask, None)];
        assert_eq!(faults(&all, &[], None), Vec::<String>::new());
        assert_eq!(faults(&all, &[], Some(5.0)).len(), 1);
    }
}
