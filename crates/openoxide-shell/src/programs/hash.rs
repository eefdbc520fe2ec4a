//! The position of an entry in a hash table, shared by the build script and the program.

/// An incremental FNV-1a hash, which needs few instructions for short names.
#[derive(Clone, Copy)]
pub(crate) struct FnvHash(u32);

impl FnvHash {
    /// Returns the hash of an empty text.
    pub(crate) const fn new() -> Self {
        Self(0x811c_9dc5)
    }

    /// Adds a text to the hash.
    pub(crate) fn update(self, text: &[u8]) -> Self {
        let add = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        Self(text.iter().fold(self.0, add))
    }

    /// Returns the first slot to probe.
    pub(crate) const fn first_slot(self) -> usize {
        self.0 as usize ^ (self.0 as usize >> 15)
    }
}

/// Returns the first slot to probe for a name.
pub(crate) fn name_slot(name: &str) -> usize {
    FnvHash::new().update(name.as_bytes()).first_slot()
}
