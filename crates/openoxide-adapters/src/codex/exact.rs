//! Rule files of Codex to the letter: what Codex itself makes of them, with its mistakes.
//!
//! [`Policy::check`] is its `execpolicy check`: the words of one command against all rules, and nothing else. Facts: Codex 0.169,
//! observed on the program (`corpus/codex`, and `cargo xtask codex-diff`). Our own reading of the same rules is
//! [`translate`](super::translate).

mod example;
mod network;
mod place;
mod policy;
mod refusal;
mod rule;

#[cfg(feature = "starlark")]
mod depth;
#[cfg(feature = "starlark")]
mod file;
#[cfg(feature = "starlark")]
mod functions;

pub use network::NetworkRule;
pub use place::Place;
pub use policy::{Evaluation, Policy};
pub use refusal::Unreadable;
pub use rule::{
    AbsolutePathBuf, Decision, PatternToken, PrefixPattern, PrefixRule, PrefixRuleMatch,
};

#[cfg(feature = "starlark")]
pub(super) use file::Said;

/// A longer rule file is not read.
pub const LONGEST: usize = 1 << 20;

#[cfg(all(test, feature = "starlark"))]
mod tests;
