//! Whether everything that one pattern matches is matched by another one, too.
//!
//! The answer *yes* is proved: each piece of the narrow pattern is taken by one piece of the wide one, whatever it stands
//! for. *No* can also mean that this simple way found no proof.

use openoxide_protocol::Effect;

use crate::{
    glob::{self, Manner, Step},
    rule::{Pattern, Rule, Space},
};

/// Says whether `wide` is sure to match whatever `narrow` matches.
#[must_use]
pub fn covers(wide: &Rule, narrow: &Rule) -> bool {
    let covered = |one: &Pattern| {
        wide.patterns.iter().any(|other| pattern_covers((other, wide.effect), (one, narrow.effect)))
    };
    narrow.patterns.iter().all(covered)
}

/// As [`covers`], for one pattern of each; how letters match depends on what their rules ask for.
pub(crate) fn pattern_covers(wide: (&Pattern, Effect), narrow: (&Pattern, Effect)) -> bool {
    let (wide, wide_effect) = wide;
    let (narrow, narrow_effect) = narrow;
    let manner = narrow.space.manner(narrow_effect);
    let everything = glob::steps(&wide.code).eq([Step::Any]);
    if everything && (wide.space == narrow.space || Some(wide.space) == rooted(narrow.space)) {
        return true;
    }
    if wide.space != narrow.space {
        return false;
    }
    let fold = wide.space.manner(wide_effect).fold;
    Walk { wide: &atoms(&wide.code, manner), narrow: &atoms(&narrow.code, manner), manner, fold }
        .goes()
}

/// Every path from the working directory is a path from the root, too.
const fn rooted(space: Space) -> Option<Space> {
    match space {
        Space::ReadHere => Some(Space::Read),
        Space::EditHere => Some(Space::Edit),
        Space::ExternalHere => Some(Space::External),
        _ => None,
    }
}

/// One piece of a program, byte by byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Atom<'a> {
    Byte(u8),
    /// One byte of any kind, behind which any may follow.
    Some,
    One,
    Class(bool, &'a [u8]),
    AnyInPart,
    AnyParts,
    Any,
}

/// Returns the pieces. A subject ends with its separator, so any text at the end is the rest of a part and whole parts.
fn atoms(code: &[u8], manner: Manner) -> Vec<Atom<'_>> {
    let mut atoms = Vec::new();
    for step in glob::steps(code) {
        match step {
            Step::Literal(bytes) => atoms.extend(bytes.iter().copied().map(Atom::Byte)),
            Step::Any => atoms.push(Atom::Any),
            Step::AnyInPart => atoms.push(Atom::AnyInPart),
            Step::AnyParts => atoms.push(Atom::AnyParts),
            Step::One => atoms.push(Atom::One),
            Step::Class { negated, ranges } => atoms.push(Atom::Class(negated, ranges)),
            Step::Some => atoms.extend([Atom::Some, Atom::Any]),
        }
    }
    if let [.., before, Atom::Any] = atoms.as_slice()
        && !matches!(before, Atom::AnyParts | Atom::Any | Atom::Some)
        && *before != Atom::Byte(manner.separator)
    {
        atoms.pop();
        atoms.extend([Atom::AnyInPart, Atom::Byte(manner.separator), Atom::Any]);
    }
    atoms
}

struct Walk<'a> {
    wide: &'a [Atom<'a>],
    narrow: &'a [Atom<'a>],
    manner: Manner,
    /// Whether the wide pattern looks through the case of letters.
    fold: bool,
}

/// How far both have come, and whether the wide one is within a part that its [`Atom::AnyParts`] takes.
type Place = (usize, usize, bool);

impl Walk<'_> {
    fn goes(&self) -> bool {
        let width = self.narrow.len() + 1;
        let mut seen = vec![false; (self.wide.len() + 1) * width * 2];
        let mut open: Vec<Place> = vec![(0, 0, false)];
        while let Some((at, place, inside)) = open.pop() {
            if at == self.wide.len() && place == self.narrow.len() {
                return true;
            }
            match seen.get_mut((at * width + place) * 2 + usize::from(inside)) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            open.extend(self.next(at, place, inside).into_iter().flatten());
        }
        false
    }

    fn next(&self, at: usize, place: usize, inside: bool) -> [Option<Place>; 2] {
        let Some(atom) = self.wide.get(at) else { return [None, None] };
        let found = self.narrow.get(place);
        let both = |fits: bool| fits.then_some((at + 1, place + 1, false));
        let taken = |fits: bool| fits.then_some((at, place + 1, false));
        let skip = (!inside).then_some((at + 1, place, false));
        match (atom, found) {
            (Atom::Any, found) => [skip, taken(found.is_some())],
            (Atom::AnyInPart, found) => [skip, taken(found.is_some_and(|one| self.in_part(one)))],
            (Atom::AnyParts, Some(Atom::AnyParts)) if !inside => [skip, taken(true)],
            (Atom::AnyParts, Some(Atom::Byte(byte))) if *byte == self.manner.separator => {
                [skip, taken(true)]
            }
            (Atom::AnyParts, Some(one)) if self.in_part(one) => [skip, Some((at, place + 1, true))],
            (Atom::AnyParts, _) => [skip, None],
            (_, None) => [None, None],
            (Atom::Byte(wanted), Some(Atom::Byte(byte))) => [both(self.same(*wanted, *byte)), None],
            (Atom::One, Some(Atom::Byte(byte))) => {
                [both(byte.is_ascii() && *byte != self.manner.separator), None]
            }
            (Atom::One, Some(one)) => [both(matches!(one, Atom::One | Atom::Class(..))), None],
            (Atom::Class(..), Some(one)) => {
                [both(atom == one && (self.fold || !self.manner.fold)), None]
            }
            (Atom::Some, Some(one)) => [
                both(matches!(one, Atom::Byte(_) | Atom::One | Atom::Class(..) | Atom::Some)),
                None,
            ],
            (Atom::Byte(_), Some(_)) => [None, None],
        }
    }

    /// Says whether a piece stays within one part.
    fn in_part(&self, atom: &Atom<'_>) -> bool {
        match atom {
            Atom::Byte(byte) => *byte != self.manner.separator,
            Atom::One | Atom::Class(..) | Atom::AnyInPart => true,
            Atom::Some | Atom::AnyParts | Atom::Any => false,
        }
    }

    fn same(&self, wanted: u8, byte: u8) -> bool {
        let either = self.manner.fold && byte.is_ascii_alphabetic();
        if self.fold { wanted.eq_ignore_ascii_case(&byte) } else { wanted == byte && !either }
    }
}

#[cfg(test)]
mod tests;
