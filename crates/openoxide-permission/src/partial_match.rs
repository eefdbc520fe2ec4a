//! Matching of rules against commands that are only partly known.

use std::ops::Range;

use openoxide_protocol::Effect;

use crate::{
    glob::{self, GlobStep},
    policy_stack::PolicyStack,
    rule::SubjectKind,
    rule_index::{RestrictiveRules, index_builder::leading_literal},
};

/// The marks in [`openoxide_protocol::CommandWords`] for unknown text within a word and for any
/// number of unknown words.
const UNKNOWN_TEXT: u8 = 0xFF;
const UNKNOWN_WORDS: u8 = 0xFE;

/// Returns the strictest effect among the rules that ask or deny and that match the command for
/// some value of its unknown parts. Built-in rules are ignored.
pub(crate) fn find_strictest_effect(policy: &PolicyStack, subject: &[u8]) -> Option<Effect> {
    let unknown = subject.iter().position(|byte| matches!(*byte, UNKNOWN_TEXT | UNKNOWN_WORDS))?;
    let known = subject.get(..unknown).unwrap_or_default();
    let list = policy.index().restrictive_rules(SubjectKind::Exec);
    let mut found = None;
    for number in candidate_indices(list, known) {
        let (code, effect) = list.get(number);
        if Some(effect) > found && may_match(code, subject) {
            found = Some(effect);
        }
    }
    found
}

/// Returns the indices of the programs that can match a text that begins with `known`: of the
/// program's leading text and `known`, one is a prefix of the other. The programs are sorted by
/// their leading text, so each byte of `known` narrows the range.
fn candidate_indices(list: RestrictiveRules<'_>, known: &[u8]) -> impl Iterator<Item = usize> {
    let beginning = move |number| leading_literal(list.get(number).0);
    let mut left = 0..list.count;
    let mut ranges = Vec::new();
    for (at, byte) in known.iter().enumerate() {
        let ended = partition_point(left.clone(), |number| beginning(number).len() == at);
        ranges.push(left.start..ended);
        let next = |number| beginning(number).get(at);
        let start = partition_point(ended..left.end, |number| next(number) < Some(byte));
        left = start..partition_point(start..left.end, |number| next(number) == Some(byte));
        if left.is_empty() {
            break;
        }
    }
    ranges.push(left);
    ranges.into_iter().flatten()
}

/// Returns the first index in the range for which `front` is false.
fn partition_point(mut range: Range<usize>, front: impl Fn(usize) -> bool) -> usize {
    while !range.is_empty() {
        let middle = range.start.midpoint(range.end);
        if front(middle) {
            range.start = middle + 1;
        } else {
            range.end = middle;
        }
    }
    range.start
}

/// One piece of a program, byte by byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartialAtom {
    Byte(u8),
    Any,
    AnyChar,
}

/// Returns whether the program matches for some value of the unknown parts. Walks both at the same
/// time and visits each pair of positions once.
fn may_match(code: &[u8], subject: &[u8]) -> bool {
    let atoms = to_atoms(code);
    let width = subject.len() + 1;
    let mut seen = vec![false; (atoms.len() + 1) * width];
    let mut open = vec![(0, 0)];
    while let Some((at, place)) = open.pop() {
        if at == atoms.len() && place == subject.len() {
            return true;
        }
        match seen.get_mut(at * width + place) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        open.extend(successors(atoms.get(at), subject, at, place));
    }
    false
}

fn to_atoms(code: &[u8]) -> Vec<PartialAtom> {
    let mut atoms = Vec::new();
    for step in glob::decode_steps(code) {
        match step {
            GlobStep::Literal(bytes) => atoms.extend(bytes.iter().copied().map(PartialAtom::Byte)),
            GlobStep::Any | GlobStep::AnyInPart | GlobStep::AnyParts => {
                atoms.push(PartialAtom::Any);
            }
            GlobStep::AnyChar | GlobStep::Class { .. } => atoms.push(PartialAtom::AnyChar),
            GlobStep::NonEmpty => atoms.extend([PartialAtom::AnyChar, PartialAtom::Any]),
        }
    }
    atoms
}

fn successors(
    atom: Option<&PartialAtom>,
    subject: &[u8],
    at: usize,
    place: usize,
) -> impl Iterator<Item = (usize, usize)> {
    let byte = subject.get(place).copied();
    let mut next = [None; 4];
    if atom == Some(&PartialAtom::Any) {
        next[0] = Some((at + 1, place));
        next[1] = byte.map(|_| (at, place + 1));
    }
    match (byte, atom) {
        (Some(UNKNOWN_TEXT), _) => {
            next[2] = Some((at, place + 1));
            next[3] = atom.filter(|atom| **atom != PartialAtom::Byte(0)).map(|_| (at + 1, place));
        }
        (Some(UNKNOWN_WORDS), _) => {
            // If there are no unknown words, the boundary after them is skipped too.
            let after = if subject.get(place + 1) == Some(&0) { place + 2 } else { place + 1 };
            next[2] = Some((at, after));
            next[3] = atom.map(|_| (at + 1, place));
        }
        (Some(byte), Some(PartialAtom::Byte(wanted))) if byte == *wanted => {
            next[2] = Some((at + 1, place + 1));
        }
        (Some(_), Some(PartialAtom::AnyChar)) => next[2] = Some((at + 1, place + 1)),
        _ => {}
    }
    // The unknown words may also end here: the boundary after them is then matched like any other
    // byte.
    let ended = (byte == Some(UNKNOWN_WORDS)).then_some((at, place + 1));
    next.into_iter().flatten().chain(ended)
}

#[cfg(test)]
mod tests;
