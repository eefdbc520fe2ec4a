//! Where a program stands in the table: the build script and the program must agree on it.

/// FNV-1a: few instructions for short names.
pub(crate) fn hash(name: &[u8]) -> usize {
    let mut hash = 0x811c_9dc5_u32;
    for byte in name {
        hash = (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    }
    hash as usize ^ (hash as usize >> 15)
}
