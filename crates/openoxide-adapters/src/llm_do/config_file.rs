//! The format of the file. The defaults are those that `pydantic-ai-filesystem-sandbox` documents
//! (README, `PathConfig`). For commands the default is a question.

use std::{collections::BTreeMap, ops::Range};

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use crate::policy_translation::PolicyTextError;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LlmDoConfig {
    pub(super) sandbox: Option<LlmDoSandbox>,
    pub(super) shell: Option<LlmDoShell>,
    pub(super) mode: Option<LlmDoMode>,
}

/// The handling of approval requests.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LlmDoMode {
    Interactive,
    ApproveAll,
    Strict,
}

impl LlmDoMode {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::ApproveAll => "approve_all",
            Self::Strict => "strict",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LlmDoSandbox {
    #[serde(default)]
    pub(super) paths: BTreeMap<String, LlmDoPathConfig>,
    pub(super) require_os_sandbox: Option<Spanned<bool>>,
    pub(super) os_sandbox_fallback: Option<SandboxFallback>,
}

/// The behaviour if the OS sandbox is required and not available.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SandboxFallback {
    RefuseTools,
    FailFast,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LlmDoPathConfig {
    pub(super) root: Spanned<String>,
    #[serde(default)]
    pub(super) mode: LlmDoPathMode,
    pub(super) suffixes: Option<Vec<Spanned<String>>>,
    pub(super) max_file_bytes: Option<Spanned<u64>>,
    #[serde(default = "default_true")]
    pub(super) write_approval: bool,
    #[serde(default)]
    pub(super) read_approval: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LlmDoPathMode {
    #[default]
    Ro,
    Rw,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LlmDoShell {
    #[serde(default)]
    pub(super) default: ShellDefault,
    #[serde(default)]
    pub(super) rules: Vec<ShellRule>,
    pub(super) network: Option<Spanned<bool>>,
}

/// The decision about a command.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellDefault {
    #[serde(default = "default_true")]
    pub(super) allowed: bool,
    #[serde(default = "default_true")]
    pub(super) approval: bool,
}

impl Default for ShellDefault {
    fn default() -> Self {
        Self { allowed: true, approval: true }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellRule {
    pub(super) pattern: Spanned<String>,
    #[serde(default = "default_true")]
    pub(super) allowed: bool,
    #[serde(default = "default_true")]
    pub(super) approval: bool,
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) sandbox_paths: Vec<String>,
}

const fn default_true() -> bool {
    true
}

impl LlmDoConfig {
    /// Parses a text. Depth and aliases are limited, and a duplicate key is an error.
    pub(super) fn parse(text: &str) -> Result<Self, PolicyTextError> {
        let options = serde_saphyr::options! { strict_booleans: false, with_snippet: false };
        let read: Result<Option<Self>, _> = serde_saphyr::from_str_with_options(text, options);
        read.map(Option::unwrap_or_default).map_err(|error| {
            let at = error.location().map_or(0..text.len(), |at| value_span(&at));
            let at = at.start.min(text.len())..at.end.min(text.len());
            PolicyTextError::new(error_message(&error.to_string()), at)
        })
    }
}

/// Returns the message without the location, which is shown separately.
fn error_message(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    line.split(" at line ").next().unwrap_or(line).trim_end_matches(['.', ' ']).to_owned()
}

/// Returns the location of a value as byte offsets.
pub(super) fn value_span(at: &Location) -> Range<usize> {
    let number = |value: Option<u64>| usize::try_from(value.unwrap_or(0)).unwrap_or(0);
    let start = number(at.span().byte_offset());
    start..start.saturating_add(number(at.span().byte_len()))
}

/// Returns the line of a value.
pub(super) fn value_line<T>(value: &Spanned<T>) -> u32 {
    u32::try_from(value.referenced.line()).unwrap_or(u32::MAX)
}
