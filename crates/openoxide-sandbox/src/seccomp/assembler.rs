//! Assembling of a filter: classic BPF over `struct seccomp_data`.

use crate::{
    seccomp::syscalls::ARCHITECTURE,
    sys::{BpfInstruction, SeccompFilter},
};

/// The action of a filter for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterAction {
    /// `EPERM`.
    NotPermitted,
    /// `ENOSYS`: libraries then use an older call, which the filter can check.
    NotImplemented,
    /// The supervisor is notified.
    Notify,
}

/// The index of an argument. Only its lower half is compared. Each argument that is used here is an
/// `int`, or a word whose upper half the kernel ignores or refuses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallArgument(pub(crate) u32);

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const GREATER: u16 = 0x25; // BPF_JMP | BPF_JGT | BPF_K
const ANY_BIT: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

/// An assembler of a filter. Between two rules, the accumulator contains the number of the call.
#[derive(Debug)]
pub(crate) struct FilterAssembler(Vec<BpfInstruction>);

impl FilterAssembler {
    /// Creates a filter with the instructions that no rule may skip. They refuse calls of other
    /// architectures, which have other numbers.
    pub(crate) fn new() -> Self {
        let mut to = Self(Vec::new());
        to.load(ARCHITECTURE_AT);
        to.push(EQUAL, 1, 0, ARCHITECTURE);
        to.push_return(FilterAction::NotPermitted);
        to.load(NUMBER_AT);
        to
    }

    /// Rejects calls with a number above this one as not implemented. That includes x32 calls,
    /// whose numbers start at 2³⁰.
    pub(crate) fn reject_newer(&mut self, newest: i64) {
        self.push(GREATER, 0, 1, syscall_number(newest));
        self.push_return(FilterAction::NotImplemented);
    }

    /// Matches this call with any arguments.
    pub(crate) fn match_call(&mut self, call: i64, verdict: FilterAction) {
        self.push(EQUAL, 0, 1, syscall_number(call));
        self.push_return(verdict);
    }

    /// Matches this call if the argument has this value.
    pub(crate) fn match_equal(
        &mut self,
        call: i64,
        at: CallArgument,
        value: u32,
        verdict: FilterAction,
    ) {
        self.add_call_rule(call, |to| {
            to.load_argument(at);
            to.push(EQUAL, 0, 1, value);
            to.push_return(verdict);
        });
    }

    /// Matches this call if the argument has one of these bits.
    pub(crate) fn match_any_bit(
        &mut self,
        call: i64,
        at: CallArgument,
        bits: u32,
        verdict: FilterAction,
    ) {
        self.add_call_rule(call, |to| {
            to.load_argument(at);
            to.push(ANY_BIT, 0, 1, bits);
            to.push_return(verdict);
        });
    }

    /// Matches this call if the masked bits of the argument have this value.
    pub(crate) fn match_masked(
        &mut self,
        call: i64,
        at: CallArgument,
        mask: u32,
        value: u32,
        verdict: FilterAction,
    ) {
        self.add_call_rule(call, |to| {
            to.load_argument(at);
            to.push(AND, 0, 0, mask);
            to.push(EQUAL, 0, 1, value);
            to.push_return(verdict);
        });
    }

    /// Matches this call unless the argument is one of these values.
    pub(crate) fn match_none_of(
        &mut self,
        call: i64,
        at: CallArgument,
        values: &[u32],
        verdict: FilterAction,
    ) {
        self.add_call_rule(call, |to| {
            to.load_argument(at);
            for (left, value) in
                (0..=u8::MAX).take(values.len()).collect::<Vec<_>>().into_iter().rev().zip(values)
            {
                to.push(EQUAL, left + 1, 0, *value);
            }
            to.push_return(verdict);
        });
    }

    /// Matches this call if one argument has this value and the masked bits of another have that
    /// value.
    pub(crate) fn match_both(
        &mut self,
        call: i64,
        (at, value): (CallArgument, u32),
        (other, mask, bits): (CallArgument, u32, u32),
        verdict: FilterAction,
    ) {
        self.add_call_rule(call, |to| {
            to.load_argument(at);
            to.push(EQUAL, 0, 4, value);
            to.load_argument(other);
            to.push(AND, 0, 0, mask);
            to.push(EQUAL, 0, 1, bits);
            to.push_return(verdict);
        });
    }

    /// Matches this call if one argument has this value and another does not have that value.
    pub(crate) fn match_equal_and_not(
        &mut self,
        call: i64,
        (at, value): (CallArgument, u32),
        (other, unless): (CallArgument, u32),
        verdict: FilterAction,
    ) {
        self.add_call_rule(call, |to| {
            to.load_argument(at);
            to.push(EQUAL, 0, 3, value);
            to.load_argument(other);
            to.push(EQUAL, 1, 0, unless);
            to.push_return(verdict);
        });
    }

    /// Finishes the filter. All other calls are allowed.
    pub(crate) fn finish(mut self) -> SeccompFilter {
        self.push(RETURN, 0, 0, ALLOW);
        SeccompFilter::new(self.0)
    }

    /// Adds a rule that other calls jump over. Afterwards the accumulator contains the call number
    /// again.
    fn add_call_rule(&mut self, call: i64, rule: impl FnOnce(&mut Self)) {
        let mut inner = Self(Vec::new());
        rule(&mut inner);
        inner.load(NUMBER_AT);
        let length = u8::try_from(inner.0.len()).unwrap_or(u8::MAX);
        self.push(EQUAL, 0, length, syscall_number(call));
        self.0.append(&mut inner.0);
    }

    fn load_argument(&mut self, at: CallArgument) {
        let low = if cfg!(target_endian = "big") { 4 } else { 0 };
        self.load(ARGUMENTS_AT + 8 * at.0 + low);
    }

    fn load(&mut self, at: u32) {
        self.push(LOAD, 0, 0, at);
    }

    fn push_return(&mut self, verdict: FilterAction) {
        let code = match verdict {
            FilterAction::NotPermitted => libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned(),
            FilterAction::NotImplemented => libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned(),
            FilterAction::Notify => libc::SECCOMP_RET_USER_NOTIF,
        };
        self.push(RETURN, 0, 0, code);
    }

    fn push(&mut self, code: u16, if_true: u8, if_false: u8, operand: u32) {
        self.0.push(BpfInstruction { code, if_true, if_false, operand });
    }
}

/// Converts a call number. Valid numbers are small; a larger one cannot be called.
fn syscall_number(call: i64) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}
