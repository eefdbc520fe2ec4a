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
    /// Writes the size in the largest unit that fits: `1 GiB`, or with one decimal place, rounded
    /// down, if it is not a whole number of them.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((unit, bytes)) = UNITS.into_iter().find(|(_, bytes)| self.0 >= *bytes) else {
            let noun = if self.0 == 1 { "byte" } else { "bytes" };
            return write!(out, "{} {noun}", self.0);
        };
        match u128::from(self.0 % bytes) * 10 / u128::from(bytes) {
            0 if self.0.is_multiple_of(bytes) => write!(out, "{} {unit}", self.0 / bytes),
            tenths => write!(out, "{}.{tenths} {unit}", self.0 / bytes),
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
    fn sizes_are_shown_with_at_most_one_decimal_place() {
        for text in ["1 GiB", "64 KiB", "2 TiB"] {
            assert_eq!(ByteSize::parse(text).unwrap().to_string(), text);
        }
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1000, "1000 bytes"),
            (1025, "1.0 KiB"),
            (3 << 29, "1.5 GiB"),
            ((1 << 30) - 1, "1023.9 MiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(ByteSize(bytes).to_string(), text);
        }
    }
}
