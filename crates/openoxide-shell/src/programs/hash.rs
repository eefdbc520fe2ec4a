//! The position of an entry in a hash table, shared by the build script and the program.

/// FNV-1a, which can go on where it stopped: few instructions for short names.
#[derive(Clone, Copy)]
pub(crate) struct Hash(u32);

impl Hash {
    /// Returns the hash of nothing.
    pub(crate) const fn new() -> Self {
        Self(0x811c_9dc5)
    }

    /// Adds text.
    pub(crate) fn with(self, text: &[u8]) -> Self {
        let add = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        Self(text.iter().fold(self.0, add))
    }

    /// Returns the first slot to look at.
    pub(crate) const fn slot(self) -> usize {
        self.0 as usize ^ (self.0 as usize >> 15)
    }
}

/// Returns the first slot of a name.
pub(crate) fn slot(name: &str) -> usize {
    Hash::new().with(name.as_bytes()).slot()
}
