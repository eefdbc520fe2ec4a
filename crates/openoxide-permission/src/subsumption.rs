//! Subsumption: a check that one pattern matches everything that another one matches.
//!
//! A positive answer is proved: each piece of the narrow pattern is matched by one piece of the
//! wide one, whatever its value. A negative answer can also mean that this simple method found no
//! proof.

use openoxide_protocol::Effect;

use crate::{
    glob::{self, GlobStep, MatchOptions},
    rule::{Pattern, Rule, SubjectKind},
};

/// Returns whether `wide` is proved to match everything that `narrow` matches.
#[must_use]
pub fn subsumes(wide: &Rule, narrow: &Rule) -> bool {
    let covered = |one: &Pattern| {
        wide.patterns
            .iter()
            .any(|other| pattern_subsumes((other, wide.effect), (one, narrow.effect)))
    };
    narrow.patterns.iter().all(covered)
}

/// Does the same as [`subsumes`] for one pattern of each rule. The effects determine whether case
/// is ignored.
pub(crate) fn pattern_subsumes(wide: (&Pattern, Effect), narrow: (&Pattern, Effect)) -> bool {
    let (wide, wide_effect) = wide;
    let (narrow, narrow_effect) = narrow;
    let manner = narrow.kind.match_options(narrow_effect);
    let everything = glob::decode_steps(&wide.program).eq([GlobStep::Any]);
    if everything && (wide.kind == narrow.kind || Some(wide.kind) == to_root_kind(narrow.kind)) {
        return true;
    }
    if wide.kind != narrow.kind {
        return false;
    }
    let fold = wide.kind.match_options(wide_effect).ignores_case;
    SubsumptionSearch {
        wide: &to_atoms(&wide.program, manner),
        narrow: &to_atoms(&narrow.program, manner),
        manner,
        ignores_case: fold,
    }
    .run()
}

/// Returns the kind for paths relative to the root, if this kind is relative to the working
/// directory. A path below the working directory also has a path from the root.
const fn to_root_kind(space: SubjectKind) -> Option<SubjectKind> {
    match space {
        SubjectKind::ReadFromCwd => Some(SubjectKind::Read),
        SubjectKind::EditFromCwd => Some(SubjectKind::Edit),
        SubjectKind::ExternalFromCwd => Some(SubjectKind::External),
        _ => None,
    }
}

/// One piece of a program, byte by byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GlobAtom<'a> {
    Byte(u8),
    /// One byte of any value, after which any bytes may follow.
    AnyByte,
    AnyChar,
    Class(bool, &'a [u8]),
    AnyInPart,
    AnyParts,
    Any,
}

/// Returns the pieces of a program. A subject ends with its separator, so any text at the end is
/// the rest of a part followed by whole parts.
fn to_atoms(code: &[u8], manner: MatchOptions) -> Vec<GlobAtom<'_>> {
    let mut atoms = Vec::new();
    for step in glob::decode_steps(code) {
        match step {
            GlobStep::Literal(bytes) => atoms.extend(bytes.iter().copied().map(GlobAtom::Byte)),
            GlobStep::Any => atoms.push(GlobAtom::Any),
            GlobStep::AnyInPart => atoms.push(GlobAtom::AnyInPart),
            GlobStep::AnyParts => atoms.push(GlobAtom::AnyParts),
            GlobStep::AnyChar => atoms.push(GlobAtom::AnyChar),
            GlobStep::Class { negated, ranges } => atoms.push(GlobAtom::Class(negated, ranges)),
            GlobStep::NonEmpty => atoms.extend([GlobAtom::AnyByte, GlobAtom::Any]),
        }
    }
    if let [.., before, GlobAtom::Any] = atoms.as_slice()
        && !matches!(before, GlobAtom::AnyParts | GlobAtom::Any | GlobAtom::AnyByte)
        && *before != GlobAtom::Byte(manner.separator)
    {
        atoms.pop();
        atoms.extend([GlobAtom::AnyInPart, GlobAtom::Byte(manner.separator), GlobAtom::Any]);
    }
    atoms
}

struct SubsumptionSearch<'a> {
    wide: &'a [GlobAtom<'a>],
    narrow: &'a [GlobAtom<'a>],
    manner: MatchOptions,
    /// True if the wide pattern ignores the case of letters.
    ignores_case: bool,
}

/// The positions in both patterns, and whether the wide pattern is inside a part that its
/// [`GlobAtom::AnyParts`] matches.
type SubsumptionState = (usize, usize, bool);

impl SubsumptionSearch<'_> {
    fn run(&self) -> bool {
        let width = self.narrow.len() + 1;
        let mut seen = vec![false; (self.wide.len() + 1) * width * 2];
        let mut open: Vec<SubsumptionState> = vec![(0, 0, false)];
        while let Some((at, place, inside)) = open.pop() {
            if at == self.wide.len() && place == self.narrow.len() {
                return true;
            }
            match seen.get_mut((at * width + place) * 2 + usize::from(inside)) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            open.extend(self.successors(at, place, inside).into_iter().flatten());
        }
        false
    }

    fn successors(&self, at: usize, place: usize, inside: bool) -> [Option<SubsumptionState>; 2] {
        let Some(atom) = self.wide.get(at) else { return [None, None] };
        let found = self.narrow.get(place);
        let both = |fits: bool| fits.then_some((at + 1, place + 1, false));
        let taken = |fits: bool| fits.then_some((at, place + 1, false));
        let skip = (!inside).then_some((at + 1, place, false));
        match (atom, found) {
            (GlobAtom::Any, found) => [skip, taken(found.is_some())],
            (GlobAtom::AnyInPart, found) => {
                [skip, taken(found.is_some_and(|one| self.is_within_part(one)))]
            }
            (GlobAtom::AnyParts, Some(GlobAtom::AnyParts)) if !inside => [skip, taken(true)],
            (GlobAtom::AnyParts, Some(GlobAtom::Byte(byte))) if *byte == self.manner.separator => {
                [skip, taken(true)]
            }
            (GlobAtom::AnyParts, Some(one)) if self.is_within_part(one) => {
                [skip, Some((at, place + 1, true))]
            }
            (GlobAtom::AnyParts, _) => [skip, None],
            (_, None) => [None, None],
            (GlobAtom::Byte(wanted), Some(GlobAtom::Byte(byte))) => {
                [both(self.matches_byte(*wanted, *byte)), None]
            }
            (GlobAtom::AnyChar, Some(GlobAtom::Byte(byte))) => {
                [both(byte.is_ascii() && *byte != self.manner.separator), None]
            }
            (GlobAtom::AnyChar, Some(one)) => {
                [both(matches!(one, GlobAtom::AnyChar | GlobAtom::Class(..))), None]
            }
            (GlobAtom::Class(..), Some(one)) => {
                [both(atom == one && (self.ignores_case || !self.manner.ignores_case)), None]
            }
            (GlobAtom::AnyByte, Some(one)) => [
                both(matches!(
                    one,
                    GlobAtom::Byte(_) | GlobAtom::AnyChar | GlobAtom::Class(..) | GlobAtom::AnyByte
                )),
                None,
            ],
            (GlobAtom::Byte(_), Some(_)) => [None, None],
        }
    }

    /// Returns whether a piece matches only within one part.
    fn is_within_part(&self, atom: &GlobAtom<'_>) -> bool {
        match atom {
            GlobAtom::Byte(byte) => *byte != self.manner.separator,
            GlobAtom::AnyChar | GlobAtom::Class(..) | GlobAtom::AnyInPart => true,
            GlobAtom::AnyByte | GlobAtom::AnyParts | GlobAtom::Any => false,
        }
    }

    fn matches_byte(&self, wanted: u8, byte: u8) -> bool {
        let either = self.manner.ignores_case && byte.is_ascii_alphabetic();
        if self.ignores_case {
            wanted.eq_ignore_ascii_case(&byte)
        } else {
            wanted == byte && !either
        }
    }
}

#[cfg(test)]
mod tests;
