//! The two halves of a corpus: one for tuning the program, and a held-out half for measuring it.

/// A half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// The half for tuning.
    Tune,
    /// The held-out half.
    HeldOut,
}

impl Split {
    /// Both halves.
    pub(crate) const ALL: [Self; 2] = [Self::Tune, Self::HeldOut];

    /// Parses the name of a half.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|split| split.word() == word)
    }

    /// Returns the name of the half.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Tune => "tune",
            Self::HeldOut => "held-out",
        }
    }

    /// Returns the half of the row with this id. The id alone decides, so new rows do not move old
    /// ones.
    pub(crate) fn of(id: &str) -> Self {
        if mixed(fnv1a(id)) & 1 == 0 { Self::Tune } else { Self::HeldOut }
    }
}

/// FNV-1a with 64 bits.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The last step of MurmurHash3 with 64 bits: without it, consecutive ids would be in the same
/// half.
const fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
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
    fn the_halves_have_about_the_same_size() {
        for first in (0..4000).step_by(500) {
            let ids = (first..first + 500).map(|number| format!("E{number:04}"));
            let tune = ids.filter(|id| Split::of(id) == Split::Tune).count();
            assert!((200..=300).contains(&tune), "{tune} of the 500 from {first}");
        }
    }
}
