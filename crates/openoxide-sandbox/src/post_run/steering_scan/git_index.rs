//! The check of an index (gitformat-index(5)). `git` does not check the names in its own index: a
//! checkout would write a hook whose name is there, or a file outside of the checkout.

/// The result of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexCheck {
    /// All names are those of files in the checkout.
    Safe,
    /// A name is in a git directory or leads out of the checkout.
    Unsafe,
    /// The format is not understood, or the file is incomplete.
    NotUnderstood,
}

/// The size of the metadata of a file before its object name.
const STAT_BYTES: usize = 40;
/// The flag of an entry with two more bytes of flags.
const EXTENDED: u16 = 0x4000;

/// Checks an index whose object names have this length.
pub(super) fn check(bytes: &[u8], hash_length: usize) -> IndexCheck {
    let mut index = IndexReader { bytes, at: 0, hash_length, starts: Vec::new() };
    match index.has_unsafe_name() {
        Some(true) => IndexCheck::Unsafe,
        Some(false) => IndexCheck::Safe,
        None => IndexCheck::NotUnderstood,
    }
}

struct IndexReader<'a> {
    bytes: &'a [u8],
    at: usize,
    hash_length: usize,
    /// The positions of the entries, each with its name without the common beginning.
    starts: Vec<(usize, &'a [u8])>,
}

impl<'a> IndexReader<'a> {
    fn has_unsafe_name(&mut self) -> Option<bool> {
        if self.take(4)? != b"DIRC" {
            return None;
        }
        let (version, count) = (self.take_u32()?, self.take_u32()?);
        if !(2..=4).contains(&version) {
            return None;
        }
        let mut name = Vec::new();
        for _ in 0..count {
            self.read_entry(version, &mut name)?;
            if is_unsafe_name(&name) {
                return Some(true);
            }
        }
        self.check_extensions(version)
    }

    /// Reads an entry. `name` is the name of the previous entry, and becomes that of this one.
    fn read_entry(&mut self, version: u32, name: &mut Vec<u8>) -> Option<()> {
        let start = self.at;
        self.take(STAT_BYTES + self.hash_length)?;
        let flags = self.take(2)?;
        if u16::from_be_bytes(flags.try_into().ok()?) & EXTENDED != 0 {
            self.take(2)?;
        }
        let kept = if version == 4 { name.len().checked_sub(self.take_varint()?)? } else { 0 };
        let rest = self.bytes.get(self.at..)?;
        let added = rest.get(..rest.iter().position(|byte| *byte == 0)?)?;
        name.truncate(kept);
        name.extend_from_slice(added);
        self.starts.push((start, added));
        // Until version 4, one to eight zero bytes make the length a multiple of eight.
        self.at += added.len();
        let length = if version == 4 { 1 } else { 8 - (self.at - start) % 8 };
        self.take(length)?.iter().all(|byte| *byte == 0).then_some(())
    }

    /// Checks the extensions. Two of them tell `git` where the entries are, so that it can read them
    /// in parallel. Returns whether a name is unsafe when it is read that way.
    fn check_extensions(&mut self, version: u32) -> Option<bool> {
        let (entries_end, mut has_end_extension) = (self.at, false);
        let end = self.bytes.len().checked_sub(self.hash_length)?;
        let mut is_unsafe = false;
        while self.at < end {
            let name = self.take(4)?;
            let length = usize::try_from(self.take_u32()?).ok()?;
            let content = self.take(length)?;
            match name {
                b"EOIE" => {
                    has_end_extension = true;
                    let offset = u32::from_be_bytes(content.get(..4)?.try_into().ok()?);
                    (usize::try_from(offset).ok()? == entries_end).then_some(())?;
                }
                b"IEOT" => is_unsafe |= self.has_unsafe_block(content, version)?,
                _ => {}
            }
        }
        // `git` looks for this extension at the end of the file.
        let last = end.checked_sub(12 + self.hash_length);
        let seems_last = last.is_some_and(|last| self.bytes.get(last..last + 4) == Some(b"EOIE"));
        (self.at == end && seems_last == has_end_extension).then_some(is_unsafe)
    }

    /// Checks the table of blocks. Each begins with an entry that is read without the name before.
    fn has_unsafe_block(&self, table: &[u8], version: u32) -> Option<bool> {
        let (blocks, _) = table.get(4..)?.as_chunks::<8>();
        let (mut number, mut is_unsafe) = (0_usize, false);
        for block in blocks {
            let [a, b, c, d, e, f, g, h] = *block;
            let offset = usize::try_from(u32::from_be_bytes([a, b, c, d])).ok()?;
            let (start, added) = *self.starts.get(number)?;
            (start == offset).then_some(())?;
            is_unsafe |= version == 4 && is_unsafe_name(added);
            number += usize::try_from(u32::from_be_bytes([e, f, g, h])).ok()?;
        }
        (number == self.starts.len()).then_some(is_unsafe)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    fn take_u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Reads a number of variable length, as `decode_varint` of `git` does.
    fn take_varint(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        loop {
            let [byte] = *self.take(1)? else { return None };
            value = value.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
            if byte & 128 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?;
        }
    }
}

/// Returns whether a name has a component that no checkout contains. A directory of a sparse index
/// ends with a slash.
fn is_unsafe_name(name: &[u8]) -> bool {
    let name = name.strip_suffix(b"/").unwrap_or(name);
    name.split(|byte| *byte == b'/').any(|component| {
        matches!(component, b"" | b"." | b"..") || component.eq_ignore_ascii_case(b".git")
    })
}

#[cfg(test)]
mod tests;
