//! The pattern of one path component, as a shell matches it against the entries of a directory.

use crate::step_budget::StepBudget;

/// The maximum number of characters in a name (`NAME_MAX`).
const MAX_NAME_CHARS: usize = 255;
/// The number of character comparisons that take one step.
const COMPARISONS_PER_STEP: usize = 64;

/// A pattern of one path component. Consecutive `*` are combined.
#[derive(Debug)]
pub(crate) struct NamePattern {
    chars: Vec<char>,
    has_bracket: bool,
}

impl NamePattern {
    /// Parses the pattern of a component.
    pub(crate) fn new(part: &str) -> Self {
        let mut chars: Vec<char> = part.chars().collect();
        chars.dedup_by(|next, before| *next == '*' && *before == '*');
        Self { has_bracket: chars.contains(&'['), chars }
    }

    /// Returns whether a name may match, or `None` if finding out takes too many steps. A bracket
    /// expression matches any character, and itself. A leading dot is matched only by a dot.
    pub(crate) fn may_match(&self, name: &str, steps: &StepBudget) -> Option<bool> {
        if name.starts_with('.') && self.chars.first() != Some(&'.') {
            return Some(false);
        }
        self.may_match_with_dots(name, steps)
    }

    /// Returns whether the pattern may match `..`. This is so in dash and in bash before 5.2. The
    /// common `.[!.]*` excludes it in every shell.
    pub(crate) fn may_match_parent(&self, steps: &StepBudget) -> Option<bool> {
        if self.chars.starts_with(&['.', '[', '!', '.', ']']) {
            return Some(false);
        }
        self.may_match("..", steps)
    }

    /// Like [`Self::may_match`], but a dot at the beginning of a name is an ordinary character.
    ///
    /// In the locale `C`, bash treats each byte as a character. The locale is not known. A name
    /// with characters outside of ASCII may therefore match wherever the pattern does not fix a
    /// character.
    fn may_match_with_dots(&self, name: &str, steps: &StepBudget) -> Option<bool> {
        if !name.is_ascii() && self.chars.iter().any(|letter| matches!(letter, '?' | '[')) {
            return steps.take_steps(1).then_some(true);
        }
        if self.has_bracket {
            let letters: Vec<char> = name.chars().collect();
            return self.match_by_table(&letters, steps);
        }
        let needed = self.chars.iter().filter(|letter| **letter != '*').count();
        if needed > MAX_NAME_CHARS {
            return steps.take_steps(1 + self.chars.len() / COMPARISONS_PER_STEP).then_some(false);
        }
        let letters: Vec<char> = name.chars().collect();
        self.match_greedily(&letters, steps)
    }

    /// Matches a name, where each `*` takes as few characters as possible. Only the last `*` has to
    /// be extended: the part before it matched at the earliest position, and a later position
    /// cannot help.
    fn match_greedily(&self, name: &[char], steps: &StepBudget) -> Option<bool> {
        let (mut at, mut place, mut comparisons) = (0, 0, 0);
        let mut retry: Option<(usize, usize)> = None;
        let found = loop {
            comparisons += 1;
            match (self.chars.get(at), name.get(place)) {
                (None, None) => break true,
                (Some('*'), _) => {
                    at += 1;
                    retry = Some((at, place));
                }
                (Some('?'), Some(_)) => (at, place) = (at + 1, place + 1),
                (Some(wanted), Some(letter)) if wanted == letter => {
                    (at, place) = (at + 1, place + 1);
                }
                _ => match retry.filter(|(_, from)| *from < name.len()) {
                    Some((after, from)) => {
                        (at, place) = (after, from + 1);
                        retry = Some((after, from + 1));
                    }
                    None => break false,
                },
            }
        };
        steps.take_steps(comparisons / COMPARISONS_PER_STEP).then_some(found)
    }

    /// Each pair of a position in the pattern and a position in the name is examined once, because
    /// the end of a bracket expression is not certain.
    fn match_by_table(&self, name: &[char], steps: &StepBudget) -> Option<bool> {
        let (pattern, width) = (&self.chars, name.len() + 1);
        let ends = pattern.iter().filter(|letter| **letter == ']').count();
        let pairs = (pattern.len() + 1).saturating_mul(width);
        steps.take_steps(pairs.saturating_mul(1 + ends) / COMPARISONS_PER_STEP).then_some(())?;
        let mut seen = vec![false; pairs];
        let mut open = vec![(0, 0)];
        while let Some((at, place)) = open.pop() {
            match seen.get_mut(at * width + place) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            let letter = name.get(place);
            match pattern.get(at) {
                None if letter.is_none() => return Some(true),
                None => {}
                Some('*') => {
                    open.push((at + 1, place));
                    open.extend(letter.map(|_| (at, place + 1)));
                }
                Some('?') => open.extend(letter.map(|_| (at + 1, place + 1))),
                Some('[') if letter.is_some() => {
                    let ends =
                        pattern.iter().enumerate().skip(at + 1).filter(|(_, each)| **each == ']');
                    open.extend(ends.map(|(end, _)| (end + 1, place + 1)));
                    open.extend((letter == Some(&'[')).then_some((at + 1, place + 1)));
                }
                Some(wanted) => {
                    open.extend((letter == Some(wanted)).then_some((at + 1, place + 1)));
                }
            }
        }
        Some(false)
    }
}

/// Returns whether a name may match a search pattern. A bracket matches any character, and a
/// leading dot is an ordinary character.
pub(crate) fn name_may_match(pattern: &str, name: &str) -> bool {
    NamePattern::new(pattern).may_match_with_dots(name, &StepBudget::new()).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: a `*` matches nothing, or one character followed by a `*`.
    fn matches_by_definition(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((&'*', rest)), _) => {
                matches_by_definition(rest, name)
                    || !name.is_empty() && matches_by_definition(pattern, &name[1..])
            }
            (Some((wanted, rest)), Some((letter, behind))) => {
                (*wanted == '?' || wanted == letter) && matches_by_definition(rest, behind)
            }
            _ => false,
        }
    }

    /// All words over these letters, up to a length.
    fn words(letters: &[char], longest: usize) -> Vec<Vec<char>> {
        let mut all = vec![Vec::new()];
        let mut last = all.clone();
        for _ in 0..longest {
            let longer = |word: &Vec<char>| {
                letters
                    .iter()
                    .map(|letter| [word.as_slice(), &[*letter]].concat())
                    .collect::<Vec<_>>()
            };
            last = last.iter().flat_map(longer).collect();
            all.extend(last.clone());
        }
        all
    }

    #[test]
    fn both_ways_to_match_agree_with_the_definition() {
        let names = words(&['a', 'b'], 4);
        for pattern in words(&['a', 'b', '*', '?'], 5) {
            let text: String = pattern.iter().collect();
            let read = NamePattern::new(&text);
            for name in &names {
                let expected = Some(matches_by_definition(&pattern, name));
                let steps = StepBudget::new();
                assert_eq!(read.match_greedily(name, &steps), expected, "{text} {name:?}");
                assert_eq!(read.match_by_table(name, &steps), expected, "{text} {name:?}");
            }
        }
    }

    #[test]
    fn hostile_patterns_take_few_steps() {
        let name = "a".repeat(255);
        for (pattern, most) in [
            ("*".repeat(8_000) + "b", 10),
            ("*a".repeat(120) + "b", 100),
            ("*?".repeat(4_000), 200),
            (format!("*{}b", "a".repeat(120)), 1_000),
            ("?".repeat(100_000), 2_000),
        ] {
            let steps = StepBudget::new();
            assert_eq!(NamePattern::new(&pattern).may_match(&name, &steps), Some(false));
            assert!(steps.used_steps() <= most, "{:.20}: {}", pattern, steps.used_steps());
        }
        let brackets = "[]".repeat(4_000);
        assert_eq!(NamePattern::new(&brackets).may_match(&name, &StepBudget::new()), None);
    }
}
