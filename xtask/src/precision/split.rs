//! The two halves of a corpus: one to tune the program on, and one to measure it on, which who tunes does not look at.

/// A half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// To be looked at.
    Tune,
    /// To be measured on.
    HeldOut,
}

impl Split {
    /// Both halves.
    pub(crate) const ALL: [Self; 2] = [Self::Tune, Self::HeldOut];

    /// Returns the half that a word stands for.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|split| split.word() == word)
    }

    /// Returns the word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Tune => "tune",
            Self::HeldOut => "held-out",
        }
    }

    /// Returns the half of the row with this id: nobody chooses it, and new rows do not move old ones.
    pub(crate) fn of(id: &str) -> Self {
        // The low bits of this hash say little more than whether a digit is odd.
        if fnv1a(id) >> 33 & 1 == 0 { Self::Tune } else { Self::HeldOut }
    }
}

/// FNV-1a with 64 bits.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        // draft-eastlake-fnv, the test vectors of FNV-1a with 64 bits.
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn the_halves_are_halves() {
        let tune = (1..=4000).filter(|number| Split::of(&format!("E{number:04}")) == Split::Tune);
        assert!((1900..=2100).contains(&tune.count()));
    }
}
