//! The shape of the file. Where seed 001 is silent, the defaults are those that `pydantic-ai-filesystem-sandbox` documents
//! (README, `PathConfig`); for commands, a question.

use std::{collections::BTreeMap, ops::Range};

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use crate::foreign::Fault;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    pub(super) sandbox: Option<Sandbox>,
    pub(super) shell: Option<Shell>,
    pub(super) mode: Option<Mode>,
}

/// What becomes of a request for approval.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    Interactive,
    ApproveAll,
    Strict,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sandbox {
    #[serde(default)]
    pub(super) paths: BTreeMap<String, PathConfig>,
    pub(super) require_os_sandbox: Option<Spanned<bool>>,
    #[expect(dead_code, reason = "it is checked, and what it asks for is no decision")]
    os_sandbox_fallback: Option<Fallback>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fallback {
    RefuseTools,
    FailFast,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathConfig {
    pub(super) root: Spanned<String>,
    #[serde(default)]
    pub(super) mode: Access,
    pub(super) suffixes: Option<Vec<Spanned<String>>>,
    pub(super) max_file_bytes: Option<Spanned<u64>>,
    #[serde(default = "yes")]
    pub(super) write_approval: bool,
    #[serde(default)]
    pub(super) read_approval: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Access {
    #[default]
    Ro,
    Rw,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shell {
    #[serde(default)]
    pub(super) default: Verdict,
    #[serde(default)]
    pub(super) rules: Vec<ShellRule>,
    pub(super) network: Option<Spanned<bool>>,
}

/// What becomes of a command.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Verdict {
    #[serde(default = "yes")]
    pub(super) allowed: bool,
    #[serde(default = "yes")]
    pub(super) approval: bool,
}

impl Default for Verdict {
    fn default() -> Self {
        Self { allowed: true, approval: true }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellRule {
    pub(super) pattern: Spanned<String>,
    #[serde(default = "yes")]
    pub(super) allowed: bool,
    #[serde(default = "yes")]
    pub(super) approval: bool,
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) sandbox_paths: Vec<String>,
}

const fn yes() -> bool {
    true
}

impl Config {
    /// Reads a text. Depth and aliases are bounded; a key twice is an error.
    pub(super) fn read(text: &str) -> Result<Self, Fault> {
        let options = serde_saphyr::options! { strict_booleans: false, with_snippet: false };
        let read: Result<Option<Self>, _> = serde_saphyr::from_str_with_options(text, options);
        read.map(Option::unwrap_or_default).map_err(|error| {
            let at = error.location().map_or(0..text.len(), |at| place(&at));
            let at = at.start.min(text.len())..at.end.min(text.len());
            Fault::new(message(&error.to_string()), at)
        })
    }
}

/// Returns the message without the place, which is pointed at.
fn message(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    line.split(" at line ").next().unwrap_or(line).trim_end_matches(['.', ' ']).to_owned()
}

/// Returns where a value stands, in bytes.
pub(super) fn place(at: &Location) -> Range<usize> {
    let number = |value: Option<u64>| usize::try_from(value.unwrap_or(0)).unwrap_or(0);
    let start = number(at.span().byte_offset());
    start..start.saturating_add(number(at.span().byte_len()))
}

/// Returns the line of a value.
pub(super) fn line<T>(value: &Spanned<T>) -> u32 {
    u32::try_from(value.referenced.line()).unwrap_or(u32::MAX)
}
