//! The findings of the analysis of a command.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of the script as byte offsets. The end is exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
pub struct Span {
    /// The byte offset of the start.
    pub start: u32,
    /// The byte offset of the end.
    pub end: u32,
}

impl Span {
    /// Returns the span between two offsets. Offsets beyond 4 GiB are clamped. No script is that
    /// long.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        let cut = |at| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: cut(start), end: cut(end) }
    }
}

// The JSON form of a span is `[start, end]`.
impl Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (self.start, self.end).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (start, end) = <(u32, u32)>::deserialize(from)?;
        Ok(Self { start, end })
    }
}

/// The effect of a finding on a decision.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The finding is displayed and has no effect.
    Note,
    /// The finding turns an allow into an ask, in every mode except `bypass_permissions`.
    Escalate,
    /// The finding turns an allow into an ask in every mode.
    CircuitBreaker,
}

/// A finding of the shell analysis about a command. Its code stays the same when the message
/// changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The code: `OX1xx` injection, `OX2xx` danger, `OX3xx` obscured. `docs/findings/` has a page
    /// for each.
    pub code: Cow<'static, str>,
    /// The effect on the decision.
    pub kind: FindingKind,
    /// The description for a person: one sentence, lower case, without a full stop.
    pub message: Cow<'static, str>,
    /// The position in the script.
    pub span: Span,
}
