//! Tool calls, as the gate processes them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AbsPath, Access, CallId, Finding, SessionId};

/// The principal that makes a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "principal", rename_all = "snake_case")]
pub enum Principal {
    /// The agent itself.
    #[default]
    Agent,
    /// A subagent of this type.
    Subagent {
        /// The type of the subagent.
        agent: String,
    },
    /// A person at the command line.
    Person,
}

/// The action that a tool call asks for, as read from the agent's bytes. Its meaning is determined
/// later ([`OperationFacts`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Runs a shell script.
    Command {
        /// The script, in the language of bash.
        script: String,
    },
    /// Reads these files or directories. Relative paths are relative to the working directory.
    Read {
        /// The paths as they were written.
        paths: Vec<String>,
    },
    /// Changes these files.
    Edit {
        /// The paths as they were written.
        paths: Vec<String>,
    },
    /// Fetches a URL.
    Fetch {
        /// The URL as it was written.
        url: String,
    },
    /// Connects to a Unix socket of a service on this machine.
    Connect {
        /// The socket as a rule names it (see [`crate::SocketAccess`]).
        socket: String,
    },
    /// Calls any other tool.
    CallTool,
    /// Starts a subagent.
    Delegate {
        /// The type of the subagent.
        agent: String,
    },
    /// An action that was not understood. The text describes it in one line.
    Opaque {
        /// The text that was not understood.
        text: String,
    },
}

/// A SHA-256 that binds an approval to the exact operation that was shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationDigest(pub [u8; 32]);

/// A tool call, as the gate processes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operation {
    /// The session that the call belongs to.
    pub session: SessionId,
    /// The agent's own id of the call.
    pub call: CallId,
    /// The principal that makes the call.
    pub principal: Principal,
    /// The tool, as the agent writes it.
    pub tool: String,
    /// The action that the call asks for.
    pub action: Action,
    /// The input of the tool, unchanged.
    pub input: Value,
    /// The directory that relative paths are resolved against.
    pub cwd: AbsPath,
}

/// The meaning of an operation: all of its accesses, and the findings of the analysis.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationFacts {
    /// All accesses of the operation.
    pub accesses: Vec<Access>,
    /// The findings of the analysis.
    pub findings: Vec<Finding>,
}

impl fmt::Display for OperationDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for OperationDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "OperationDigest({self})")
    }
}

impl Serialize for OperationDigest {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for OperationDigest {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        read_hex(&text)
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom("not 64 hexadecimal digits"))
    }
}

impl JsonSchema for OperationDigest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
    }
}

fn read_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let digits = text.as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_hexadecimal() {
        let digest = OperationDigest([0xAB; 32]);
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(json, format!("\"{}\"", "ab".repeat(32)));
        assert_eq!(serde_json::from_str::<OperationDigest>(&json).unwrap(), digest);
        assert!(serde_json::from_str::<OperationDigest>("\"+b\"").is_err());
    }
}
