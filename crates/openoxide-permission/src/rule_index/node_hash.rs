//! Hashes of parts, eight bytes at a time, without allocation.
//!
//! Hashes only choose where to look. Every result is compared with the subject itself, so a
//! collision costs time but never gives a wrong answer.

/// An odd constant without a pattern: the fraction of the golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// An unfinished hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeHash(pub(crate) u64);

impl NodeHash {
    /// Returns the hash of the empty subject of this kind.
    pub(crate) const fn from_subject_kind(space: u8) -> Self {
        Self(MIX.wrapping_mul(space as u64 + 1))
    }

    /// Adds a value.
    #[inline]
    pub(crate) const fn with_value(self, value: u64) -> Self {
        let wide = ((self.0 ^ value) as u128).wrapping_mul(MIX as u128);
        Self((wide as u64) ^ ((wide >> 64) as u64))
    }

    /// Adds one part without its separator. If `fold` is true, ASCII letters are hashed as lower
    /// case.
    #[inline]
    pub(crate) fn with_part(self, part: &[u8], fold: bool) -> Self {
        let (mut hash, mut at) = (self, 0);
        loop {
            hash = hash.with_word(read_word(part, at), fold);
            at += 8;
            if at > part.len() {
                return hash;
            }
        }
    }

    /// Adds the part that begins at `start` and returns its end too. Returns `None` if no separator
    /// follows.
    #[inline]
    pub(crate) fn with_next_part(
        self,
        subject: &[u8],
        start: usize,
        separator: u8,
        fold: bool,
    ) -> Option<(Self, usize)> {
        let (mut hash, mut at) = (self, start);
        while at < subject.len() {
            let word = read_word(subject, at);
            let found = find_byte(word, separator);
            if found < 8 {
                let end = at + found;
                let inside = word & !(u64::MAX << (8 * found));
                return (end < subject.len()).then_some((hash.with_word(inside, fold), end));
            }
            hash = hash.with_word(word, fold);
            at += 8;
        }
        None
    }

    /// Adds four bytes, with the same result as for a part of these bytes.
    #[inline]
    pub(crate) const fn with_piece(self, piece: [u8; 4], fold: bool) -> Self {
        self.with_word(u32::from_le_bytes(piece) as u64, fold)
    }

    #[inline]
    const fn with_word(self, word: u64, fold: bool) -> Self {
        self.with_value(if fold { to_ascii_lowercase(word) } else { word })
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * ONES;

/// Returns the position of the first byte with this value, or 8 if there is none.
#[inline]
const fn find_byte(word: u64, byte: u8) -> usize {
    let zero_where_found = word ^ (ONES * byte as u64);
    let marks = zero_where_found.wrapping_sub(ONES) & !zero_where_found & HIGH;
    marks.trailing_zeros() as usize / 8
}

/// Returns the eight bytes at an offset, padded with zeros after the end.
#[inline]
fn read_word(bytes: &[u8], at: usize) -> u64 {
    if let Some(eight) = bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()) {
        return u64::from_le_bytes(eight);
    }
    match bytes.last_chunk() {
        Some(last) => {
            let beyond = (at + 8).saturating_sub(bytes.len());
            u64::from_le_bytes(*last).checked_shr(8 * beyond as u32).unwrap_or(0)
        }
        None => read_short_word(bytes.get(at..).unwrap_or_default()),
    }
}

/// Returns fewer than eight bytes as one number.
#[inline]
fn read_short_word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Converts the upper-case ASCII letters among eight bytes to lower case.
#[inline]
const fn to_ascii_lowercase(value: u64) -> u64 {
    let low = value & !HIGH;
    let at_least_a = low.wrapping_add((0x80 - b'A' as u64) * ONES);
    let above_z = low.wrapping_add((0x7F - b'Z' as u64) * ONES);
    let large = (at_least_a ^ above_z) & !value & HIGH;
    value | (large >> 2)
}

/// Returns a checksum that detects damage, but not deliberate manipulation: four lanes, eight bytes
/// each.
pub(crate) fn compute_checksum(bytes: &[u8]) -> u64 {
    let mut lanes = [NodeHash(1), NodeHash(2), NodeHash(3), NodeHash(4)];
    let mut chunks = bytes.chunks_exact(32);
    for chunk in &mut chunks {
        for (lane, eight) in lanes.iter_mut().zip(chunk.chunks_exact(8)) {
            *lane = lane.with_value(eight.try_into().map_or(0, u64::from_le_bytes));
        }
    }
    let start = NodeHash(0).with_part(chunks.remainder(), false).with_value(bytes.len() as u64);
    lanes.iter().fold(start, |sum, lane| sum.with_value(lane.0)).0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: NodeHash = NodeHash::from_subject_kind(0);

    fn part(bytes: &[u8], fold: bool) -> NodeHash {
        START.with_part(bytes, fold)
    }

    proptest! {
        #[test]
        fn folding_is_ascii_lower_case(text in any::<Vec<u8>>()) {
            let small = text.to_ascii_lowercase();
            prop_assert_eq!(part(&text, true), part(&small, false));
        }

        #[test]
        fn a_part_is_found_at_its_position(before in "[a-z]{0,20}", text in "[a-zA-Z]{0,20}", after in "[a-z/]{0,20}") {
            let subject = format!("{before}{text}/{after}");
            let found = START.with_next_part(subject.as_bytes(), before.len(), b'/', true);
            prop_assert_eq!(found, Some((part(text.as_bytes(), true), before.len() + text.len())));
            let open = format!("{before}{text}");
            prop_assert_eq!(START.with_next_part(open.as_bytes(), before.len(), 0, false), None);
        }

        #[test]
        fn one_changed_byte_changes_the_checksum(text in prop::collection::vec(any::<u8>(), 1..200), at in any::<prop::sample::Index>()) {
            let mut changed = text.clone();
            changed[at.index(text.len())] ^= 1;
            prop_assert_ne!(compute_checksum(&text), compute_checksum(&changed));
        }
    }

    #[test]
    fn short_parts_differ() {
        let mut all: Vec<u64> = (0..=255_u8)
            .flat_map(|a| {
                [vec![a], vec![a, b'x'], vec![b'x', a], vec![a, b'x', b'y'], vec![b'x', b'y', a]]
            })
            .map(|bytes| part(&bytes, false).0)
            .collect();
        all.sort_unstable();
        let before = all.len();
        all.dedup();
        // `xx`, `xxy`, `xyx` and others occur twice or three times.
        assert!(before - all.len() <= 4, "{}", before - all.len());
    }
}
