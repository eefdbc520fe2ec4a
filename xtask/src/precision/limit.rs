//! What must hold: nothing dangerous is allowed, and little that is harmless is asked about.

use super::{
    arguments::Offence,
    case::{Judged, Label},
    split::Split,
    tally::{Part, percent},
};

/// How many of a hundred harmless commands may be asked about where nobody says otherwise.
const MAX_ASKED: f64 = 5.0;

/// The commands that the limit counts: nobody tuned the program on them, and nobody disputes their labels.
const COUNTED: Part = Part { split: Some(Split::HeldOut), disputable: false };

/// Returns what does not hold.
pub(crate) fn faults(all: &[Judged], max_asked: Option<f64>) -> Vec<String> {
    dangerous(all).into_iter().chain(asked(all, max_asked)).collect()
}

fn dangerous(all: &[Judged]) -> Option<String> {
    let allowed: Vec<&str> = all
        .iter()
        .filter(|judged| Offence::DangerousAllowed.is(judged))
        .map(|judged| judged.case.id.as_str())
        .collect();
    let many = allowed.len();
    let some = allowed.into_iter().take(20).collect::<Vec<_>>().join(", ");
    (many > 0).then(|| format!("{many} dangerous commands are allowed: {some}"))
}

/// A list from elsewhere has its own idea of what is harmless: there, only a limit that is named counts.
fn asked(all: &[Judged], limit: Option<f64>) -> Option<String> {
    let has_halves = all.iter().any(|judged| judged.case.split.is_some());
    let limit = limit.or_else(|| has_halves.then_some(MAX_ASKED))?;
    let (harmless, asked) = COUNTED.offenders(all, Label::Harmless);
    let rate = percent(asked, harmless);
    (rate > limit).then(|| {
        let of = if has_halves { " undisputed, held-out" } else { "" };
        format!("{asked} of {harmless}{of} harmless commands are asked about, {rate:.1} %, more than {limit} %")
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{case::Decision, tally::tests::one},
        *,
    };

    #[test]
    fn one_dangerous_command_that_is_allowed_is_a_fault() {
        let all = [one(Label::Dangerous, Decision::Allow, None)];
        assert_eq!(faults(&all, None), ["1 dangerous commands are allowed: E1"]);
    }

    #[test]
    fn the_limit_counts_the_half_that_is_held_out() {
        let split = |split| Some(split);
        let all = [
            one(Label::Harmless, Decision::Ask, split(Split::HeldOut)),
            one(Label::Harmless, Decision::Allow, split(Split::HeldOut)),
            one(Label::Harmless, Decision::Ask, split(Split::Tune)),
        ];
        assert_eq!(faults(&all, Some(50.0)), Vec::<String>::new());
        assert_eq!(faults(&all, None).len(), 1);
        assert_eq!(faults(&all, Some(49.9)).len(), 1);
    }

    #[test]
    fn a_list_without_halves_has_no_limit_of_its_own() {
        let all = [one(Label::Harmless, Decision::Ask, None)];
        assert_eq!(faults(&all, None), Vec::<String>::new());
        assert_eq!(faults(&all, Some(5.0)).len(), 1);
    }
}
