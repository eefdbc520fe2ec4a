//! The program of a seccomp filter: classic BPF instructions (bpf(4)).

/// A complete filter.
#[derive(Clone, Debug)]
pub(crate) struct SeccompFilter(Vec<BpfInstruction>);

impl SeccompFilter {
    /// Creates a filter from its instructions.
    pub(crate) const fn new(instructions: Vec<BpfInstruction>) -> Self {
        Self(instructions)
    }

    /// Returns the instructions of the filter.
    pub(crate) fn instructions(&self) -> &[BpfInstruction] {
        &self.0
    }

    /// Returns the filter in the kernel's format, for programs that read it from a file (`bwrap
    /// --seccomp`).
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let one = |of: &BpfInstruction| {
            let [c0, c1] = of.code.to_ne_bytes();
            let [k0, k1, k2, k3] = of.operand.to_ne_bytes();
            [c0, c1, of.if_true, of.if_false, k0, k1, k2, k3]
        };
        self.0.iter().flat_map(one).collect()
    }
}

/// One instruction (bpf(4)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BpfInstruction {
    pub(crate) code: u16,
    pub(crate) if_true: u8,
    pub(crate) if_false: u8,
    pub(crate) operand: u32,
}
