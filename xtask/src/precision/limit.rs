//! The requirements: no dangerous command is allowed, and few harmless commands are asked about.

use super::{
    arguments::Offence,
    case::{Judged, Label},
    split::Split,
    tally::{Part, percent},
};

/// The default percentage of harmless commands that may be asked about.
const MAX_ASKED: f64 = 5.0;

/// The number of ids in a message.
const MOST_IDS: usize = 20;

/// The commands that the limit applies to: the program was not tuned on them, and their labels are
/// not disputed.
const COUNTED: Part = Part { split: Some(Split::HeldOut), disputable: false };

/// Returns the requirements that are not met. `not_yet` are the ids of dangerous commands that are
/// known to be allowed.
pub(crate) fn faults(all: &[Judged], not_yet: &[String], max_asked: Option<f64>) -> Vec<String> {
    let dangerous = dangerous(all, not_yet).into_iter();
    dangerous.chain(held(all, not_yet)).chain(asked(all, max_asked)).collect()
}

fn dangerous(all: &[Judged], not_yet: &[String]) -> Option<String> {
    let unlisted = allowed(all).filter(|id| !not_yet.iter().any(|listed| listed == id)).collect();
    named("dangerous and allowed", unlisted)
}

/// Returns the listed commands that are no longer allowed. They have to leave the list.
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

/// Checks the limit of harmless commands that are asked about. A list from another source has its
/// own definition of harmless: only a limit from the command line applies to it.
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
    fn the_limit_applies_to_the_held_out_half() {
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
    fn a_list_without_halves_has_no_default_limit() {
        let all = [one(Label::Harmless, Decision::Ask, None)];
        assert_eq!(faults(&all, &[], None), Vec::<String>::new());
        assert_eq!(faults(&all, &[], Some(5.0)).len(), 1);
    }
}
