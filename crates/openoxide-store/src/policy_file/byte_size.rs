//! A number of bytes with a unit.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The units, largest first.
const UNITS: [(&str, u64); 4] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// A number of bytes, written as a whole number and a unit: `1 GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// Parses a size, which is greater than zero.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (number, unit) = text.trim().split_at_checked(text.trim().len().checked_sub(3)?)?;
        let (_, bytes) = UNITS.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
        let number: u64 = number.trim_end().parse().ok()?;
        number.checked_mul(bytes).filter(|bytes| *bytes > 0).map(Self)
    }
}

impl fmt::Display for ByteSize {
    /// Writes the size with the largest unit that needs no fraction.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.into_iter().find(|(_, bytes)| self.0 >= *bytes && self.0.is_multiple_of(*bytes))
        {
            Some((unit, bytes)) => write!(out, "{} {unit}", self.0 / bytes),
            None => write!(out, "{} bytes", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers_with_a_unit() {
        for (text, bytes) in [
            ("1 GiB", 1 << 30),
            ("500MiB", 500 << 20),
            (" 64 kib ", 64 << 10),
            ("16777215 TiB", 16_777_215 << 40),
        ] {
            assert_eq!(ByteSize::parse(text), Some(ByteSize(bytes)), "{text}");
        }
        for text in ["", "GiB", "1", "1 GB", "0 MiB", "-1 GiB", "1.5 GiB", "16777216 TiB", "1 é"] {
            assert_eq!(ByteSize::parse(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_as_they_are_written() {
        for text in ["1 GiB", "1536 MiB", "64 KiB", "2 TiB"] {
            assert_eq!(ByteSize::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(ByteSize(1000).to_string(), "1000 bytes");
    }
}
