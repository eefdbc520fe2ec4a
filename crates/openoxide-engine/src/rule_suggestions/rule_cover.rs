//! The selection of a small set of rules that answers many questions.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeMap, BTreeSet},
};

/// A question as the selection sees it. Rules are numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CoverQuestion {
    /// The number of times that it was asked.
    pub(super) count: u64,
    /// For each access that was asked about, the rules that allow it.
    pub(super) accesses: Vec<AccessRules>,
}

/// The rules that allow an access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AccessRules {
    /// The rule that a prompt offers for the access. `None` if it may not be suggested.
    pub(super) offered: Option<usize>,
    /// All rules that allow it.
    pub(super) allowing: Vec<usize>,
}

impl CoverQuestion {
    /// Returns whether the rules answer the question completely.
    pub(super) fn is_answered_by(&self, rules: &BTreeSet<usize>) -> bool {
        self.accesses.iter().all(|access| access.is_allowed_by(rules))
    }

    /// Returns the offered rules that are missing to answer the question, or `None` if one of them
    /// may not be suggested.
    fn missing_rules(&self, rules: &BTreeSet<usize>) -> Option<BTreeSet<usize>> {
        let unanswered = self.accesses.iter().filter(|access| !access.is_allowed_by(rules));
        unanswered.map(|access| access.offered).collect()
    }
}

impl AccessRules {
    fn is_allowed_by(&self, rules: &BTreeSet<usize>) -> bool {
        self.allowing.iter().any(|rule| rules.contains(rule))
    }
}

/// Returns the number of questions that the rules answer.
pub(super) fn count_answered(questions: &[CoverQuestion], rules: &BTreeSet<usize>) -> u64 {
    let answered = questions.iter().filter(|question| question.is_answered_by(rules));
    answered.map(|question| question.count).sum()
}

/// Selects rules that answer at least `wanted` questions, or as many as possible. In each step, the
/// rules with the most answers per rule are added; finally, rules that others make unnecessary are
/// removed.
pub(super) fn select_rules(questions: &[CoverQuestion], wanted: u64) -> BTreeSet<usize> {
    let mut rules = BTreeSet::new();
    while count_answered(questions, &rules) < wanted {
        match best_addition(questions, &rules) {
            Some(added) => rules.extend(added),
            None => break,
        }
    }
    without_redundant_rules(questions, rules)
}

/// Returns the missing rules of a question with the most answers per rule.
fn best_addition(questions: &[CoverQuestion], rules: &BTreeSet<usize>) -> Option<BTreeSet<usize>> {
    let mut bundles: BTreeMap<BTreeSet<usize>, u64> = BTreeMap::new();
    for question in questions.iter().filter(|question| !question.is_answered_by(rules)) {
        if let Some(missing) = question.missing_rules(rules) {
            *bundles.entry(missing).or_default() += question.count;
        }
    }
    let answers = |bundle: &BTreeSet<usize>| -> u64 {
        if bundle.len() == 1 {
            // No other bundle is contained in it.
            return bundles.get(bundle).copied().unwrap_or(0);
        }
        let contained = bundles.iter().filter(|(other, _)| other.is_subset(bundle));
        contained.map(|(_, count)| count).sum()
    };
    let rated = bundles.keys().map(|bundle| (answers(bundle), bundle));
    rated.min_by(|one, other| compare_ratio(*other, *one)).map(|(_, bundle)| bundle.clone())
}

/// Compares answers per rule.
fn compare_ratio(one: (u64, &BTreeSet<usize>), other: (u64, &BTreeSet<usize>)) -> Ordering {
    let size = |bundle: &BTreeSet<usize>| u64::try_from(bundle.len()).unwrap_or(u64::MAX);
    let product = |answers: u64, bundle| answers.saturating_mul(size(bundle));
    product(one.0, other.1).cmp(&product(other.0, one.1))
}

fn without_redundant_rules(
    questions: &[CoverQuestion],
    mut rules: BTreeSet<usize>,
) -> BTreeSet<usize> {
    let answered = count_answered(questions, &rules);
    let mut by_use: Vec<usize> = rules.iter().copied().collect();
    let uses = |rule: &usize| {
        let one = BTreeSet::from([*rule]);
        let of_rule = questions
            .iter()
            .filter(|question| question.accesses.iter().any(|access| access.is_allowed_by(&one)));
        of_rule.map(|question| question.count).sum::<u64>()
    };
    by_use.sort_by_key(|rule| (uses(rule), Reverse(*rule)));
    for rule in by_use {
        rules.remove(&rule);
        if count_answered(questions, &rules) < answered {
            rules.insert(rule);
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a question whose accesses are each allowed by these rules; the first is offered.
    fn question(count: u64, accesses: &[&[usize]]) -> CoverQuestion {
        let access = |rules: &&[usize]| AccessRules {
            offered: rules.first().copied(),
            allowing: rules.to_vec(),
        };
        CoverQuestion { count, accesses: accesses.iter().map(access).collect() }
    }

    fn selected(questions: &[CoverQuestion], wanted: u64) -> Vec<usize> {
        select_rules(questions, wanted).into_iter().collect()
    }

    #[test]
    fn the_rules_with_the_most_answers_are_selected_first() {
        let questions = [question(1, &[&[0]]), question(5, &[&[1]]), question(3, &[&[2]])];
        assert_eq!(selected(&questions, 0), [0; 0]);
        assert_eq!(selected(&questions, 5), [1]);
        assert_eq!(selected(&questions, 6), [1, 2]);
        assert_eq!(selected(&questions, 9), [0, 1, 2]);
        assert_eq!(selected(&questions, 99), [0, 1, 2]);
    }

    #[test]
    fn a_question_is_answered_if_all_of_its_accesses_are() {
        // Rules 0 and 1 together answer six questions, rule 2 answers two.
        let questions = [
            question(4, &[&[0], &[1]]),
            question(1, &[&[0]]),
            question(1, &[&[1]]),
            question(2, &[&[2]]),
        ];
        assert_eq!(selected(&questions, 6), [0, 1]);
        // A rule that may not be suggested leaves the question unanswered.
        let blocked = CoverQuestion { count: 9, accesses: vec![AccessRules::default()] };
        assert_eq!(selected(&[blocked, question(1, &[&[0]])], 10), [0]);
    }

    #[test]
    fn a_rule_that_a_wider_one_makes_unnecessary_is_removed() {
        // Rule 1 also allows everything that rule 0 allows.
        let questions = [question(5, &[&[0, 1]]), question(2, &[&[1]])];
        assert_eq!(selected(&questions, 7), [1]);
        assert_eq!(selected(&questions, 5), [0]);
    }
}
