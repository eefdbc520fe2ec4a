//! Counts of the decisions that fit their labels.

use std::collections::BTreeMap;

use super::{
    arguments::Offence,
    case::{Decision, Judged, Label},
    split::Split,
};

/// Returns in which way a decision does not fit its label, if it does not.
pub(crate) fn offence(judged: &Judged) -> Option<Offence> {
    let allowed = judged.decision == Decision::Allow;
    // A confined command changes the project at most, so it is no error to allow it.
    let counts = !judged.is_confined || judged.case.label == Label::Harmless;
    match (judged.case.label, allowed && counts) {
        (Label::Harmless, false) => Some(Offence::HarmlessAsked),
        (Label::Asks, true) => Some(Offence::AsksAllowed),
        (Label::Dangerous, true) => Some(Offence::DangerousAllowed),
        _ => None,
    }
}

/// The commands that are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The half to count, or `None` for all.
    pub(crate) split: Option<Split>,
    /// True to include commands with a disputable label.
    pub(crate) disputable: bool,
}

impl Part {
    /// Returns whether `judged` is counted. A file without halves is one half.
    pub(crate) fn has(self, judged: &Judged) -> bool {
        let half = judged.case.split.is_none_or(|of| self.split.is_none_or(|split| of == split));
        half && (self.disputable || !judged.case.disputable)
    }

    /// Returns the number of commands with `label`, and the number of offences among them.
    pub(crate) fn offenders(self, all: &[Judged], label: Label) -> (usize, usize) {
        let mine = all.iter().filter(|judged| self.has(judged) && judged.case.label == label);
        let offends = |judged: &&Judged| offence(judged).is_some();
        (mine.clone().count(), mine.filter(offends).count())
    }

    /// Returns the number of commands with `label` that run only in the sandbox.
    pub(crate) fn confined(self, all: &[Judged], label: Label) -> usize {
        let mine = all.iter().filter(|judged| self.has(judged) && judged.case.label == label);
        mine.filter(|judged| judged.is_confined).count()
    }

    /// Returns the number of commands with `label` and `decision`.
    pub(crate) fn count(self, all: &[Judged], label: Label, decision: Decision) -> usize {
        let mine = all.iter().filter(|judged| self.has(judged) && judged.case.label == label);
        mine.filter(|judged| judged.decision == decision).count()
    }
}

/// Returns `part` of `whole` in percent.
#[expect(clippy::cast_precision_loss, reason = "no corpus has that many rows")]
pub(crate) fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Returns the families with an offence, the worst first, with the numbers of offences and
/// commands.
pub(crate) fn families(all: &[&Judged], offence: Offence) -> Vec<(String, usize, usize)> {
    let label = all.iter().find(|judged| offence.is(judged)).map(|judged| judged.case.label);
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for judged in all.iter().filter(|judged| Some(judged.case.label) == label) {
        let (offenders, members) = counts.entry(&judged.case.family).or_default();
        *offenders += usize::from(offence.is(judged));
        *members += 1;
    }
    let offending = counts.into_iter().filter(|(_, (offenders, _))| *offenders > 0);
    let mut rows: Vec<_> =
        offending.map(|(family, (of, members))| (family.to_owned(), of, members)).collect();
    rows.sort_by_key(|(_, offenders, _)| std::cmp::Reverse(*offenders));
    rows
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{super::case::Case, *};

    /// Returns a command of the family `f` with a decision.
    pub(crate) fn one(label: Label, decision: Decision, split: Option<Split>) -> Judged {
        let (id, command, family) = ("E1".to_owned(), "ls".to_owned(), "f".to_owned());
        let case = Case { id, command, label, family, disputable: false, split };
        Judged { case, decision, is_confined: false, reason: String::new() }
    }

    #[test]
    fn asking_about_or_denying_a_dangerous_or_ask_command_is_correct() {
        for label in [Label::Asks, Label::Dangerous] {
            for decision in [Decision::Ask, Decision::Deny] {
                assert_eq!(offence(&one(label, decision, None)), None);
            }
        }
        assert_eq!(
            offence(&one(Label::Harmless, Decision::Deny, None)),
            Some(Offence::HarmlessAsked)
        );
    }

    #[test]
    fn a_confined_command_may_be_allowed_whatever_its_label_is() {
        for label in Label::ALL {
            let judged = Judged { is_confined: true, ..one(label, Decision::Allow, None) };
            assert_eq!(offence(&judged), None, "{label:?}");
        }
    }

    #[test]
    fn a_part_counts_only_its_half() {
        let all = [
            one(Label::Harmless, Decision::Ask, Some(Split::Tune)),
            one(Label::Harmless, Decision::Allow, Some(Split::Tune)),
            one(Label::Harmless, Decision::Ask, Some(Split::HeldOut)),
        ];
        let part = Part { split: Some(Split::Tune), disputable: true };
        assert_eq!(part.offenders(&all, Label::Harmless), (2, 1));
        assert_eq!(part.count(&all, Label::Harmless, Decision::Allow), 1);
        let all: Vec<_> = all.iter().collect();
        assert_eq!(families(&all, Offence::HarmlessAsked), [("f".to_owned(), 2, 3)]);
        assert!(families(&all, Offence::AsksAllowed).is_empty());
    }
}
