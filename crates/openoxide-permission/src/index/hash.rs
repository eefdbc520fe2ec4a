//! Hashes of parts, eight bytes at a time, without allocation.
//!
//! They only choose where to look: whatever is found is compared with the subject itself, so that a collision costs time
//! and never a wrong answer.

/// An odd constant without pattern: the fraction of the golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// A hash in the making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hash(pub(crate) u64);

impl Hash {
    /// Returns the hash of nothing in this space.
    pub(crate) const fn of_space(space: u8) -> Self {
        Self(MIX.wrapping_mul(space as u64 + 1))
    }

    /// Adds a value.
    #[inline]
    pub(crate) const fn with(self, value: u64) -> Self {
        let wide = ((self.0 ^ value) as u128).wrapping_mul(MIX as u128);
        Self((wide as u64) ^ ((wide >> 64) as u64))
    }
}

/// Returns the hash of one part, without its separator; ASCII letters count as small ones if `fold`.
#[inline]
pub(crate) fn part(bytes: &[u8], fold: bool) -> u64 {
    let mut hash = Hash(bytes.len() as u64);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let value = chunk.try_into().map_or(0, u64::from_le_bytes);
        hash = hash.with(if fold { lower(value) } else { value });
    }
    let tail = tail(chunks.remainder());
    hash.with(if fold { lower(tail) } else { tail }).0
}

/// Returns fewer than eight bytes as one number.
#[inline]
fn tail(bytes: &[u8]) -> u64 {
    let four =
        |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    let one = |at: usize| bytes.get(at).map_or(0, |byte| u64::from(*byte));
    match bytes.len() {
        0 => 0,
        1..4 => one(0) | one(bytes.len() / 2) << 8 | one(bytes.len() - 1) << 16,
        length => {
            let (head, last) = (four(0).unwrap_or(0), four(length - 4).unwrap_or(0));
            u64::from(head) | u64::from(last) << 32
        }
    }
}

/// Makes small letters of the large ASCII letters among eight bytes.
#[inline]
const fn lower(value: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let low = value & !HIGH;
    let at_least_a = low.wrapping_add((0x80 - b'A' as u64) * ONES);
    let above_z = low.wrapping_add((0x7F - b'Z' as u64) * ONES);
    let large = (at_least_a ^ above_z) & !value & HIGH;
    value | (large >> 2)
}

/// Returns a checksum that notices damage (not malice): four lanes, eight bytes each.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mut lanes = [Hash(1), Hash(2), Hash(3), Hash(4)];
    let mut chunks = bytes.chunks_exact(32);
    for chunk in &mut chunks {
        for (lane, eight) in lanes.iter_mut().zip(chunk.chunks_exact(8)) {
            *lane = lane.with(eight.try_into().map_or(0, u64::from_le_bytes));
        }
    }
    let start = Hash(part(chunks.remainder(), false)).with(bytes.len() as u64);
    lanes.iter().fold(start, |sum, lane| sum.with(lane.0)).0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn folding_is_ascii_lower_case(text in any::<Vec<u8>>()) {
            prop_assert_eq!(part(&text, true), part(&text.to_ascii_lowercase(), false));
        }

        #[test]
        fn one_changed_byte_changes_the_checksum(text in prop::collection::vec(any::<u8>(), 1..200), at in any::<prop::sample::Index>()) {
            let mut changed = text.clone();
            changed[at.index(text.len())] ^= 1;
            prop_assert_ne!(checksum(&text), checksum(&changed));
        }
    }

    #[test]
    fn short_parts_differ() {
        let mut all: Vec<u64> = (0..=255_u8)
            .flat_map(|a| {
                [vec![a], vec![a, b'x'], vec![b'x', a], vec![a, b'x', b'y'], vec![b'x', b'y', a]]
            })
            .map(|bytes| part(&bytes, false))
            .collect();
        all.sort_unstable();
        let before = all.len();
        all.dedup();
        assert!(before - all.len() <= 4, "{}", before - all.len()); // `xx`, `xxy`, `xyx`… stand there twice or thrice.
    }
}
