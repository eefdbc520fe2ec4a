/// FNV-1a: few instructions for short names. The build script uses the same function.
fn hash(name: &[u8]) -> usize {
    let mut hash = 0x811c_9dc5_u32;
    for byte in name {
        hash = (hash ^ (*byte as u32)).wrapping_mul(0x0100_0193);
    }
    hash as usize ^ (hash as usize >> 15)
}
