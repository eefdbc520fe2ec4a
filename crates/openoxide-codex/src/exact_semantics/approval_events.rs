//! The approval events that Codex's core sends to its clients (`ExecApprovalRequestEvent` and
//! `ApplyPatchApprovalRequestEvent`, recorded from 0.145, whose MCP server sends them). 0.169 uses
//! the app server instead, see `app_server`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    file_change::FileUpdateChange,
    review_decision::{CodexReviewDecision, NetworkPolicyAmendment, NetworkPolicyRuleAction},
};

/// An approval request of the core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ApprovalEvent {
    /// To run a command, or to reach a host.
    ExecApprovalRequest(Box<ExecApprovalRequest>),
    /// To change files.
    ApplyPatchApprovalRequest(Box<ApplyPatchApprovalRequest>),
}

/// A request to approve a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecApprovalRequest {
    /// The id of the call.
    pub call_id: String,
    /// The id of the question, if a call has several questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// The id of the turn, which is the person's last prompt.
    pub turn_id: String,
    /// The start time in milliseconds since 1970.
    pub started_at_ms: i64,
    /// The words of the command.
    pub command: Vec<String>,
    /// The directory that the command would run in.
    pub cwd: String,
    /// The reason for the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The host, if the question is about a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_approval_context: Option<Value>,
    /// The words of a rule that would allow the command permanently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_execpolicy_amendment: Option<Vec<String>>,
    /// Rules that would permanently allow or deny the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_network_policy_amendments: Option<Vec<NetworkPolicyAmendment>>,
    /// Permissions that the command requests in addition to its sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_permissions: Option<Value>,
    /// The possible answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_decisions: Option<Vec<CodexReviewDecision>>,
    /// The command in the form that a client shows.
    pub parsed_cmd: Vec<ParsedCommand>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A description of a command for display. No decision depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ParsedCommand {
    /// The command reads a file.
    Read {
        /// The command.
        cmd: String,
        /// The file's name.
        name: String,
        /// The path of the file.
        path: String,
    },
    /// The command lists files.
    ListFiles {
        /// The command.
        cmd: String,
        /// The path that is listed.
        path: Option<String>,
    },
    /// The command searches.
    Search {
        /// The command.
        cmd: String,
        /// The text that is searched for.
        query: Option<String>,
        /// The path that is searched.
        path: Option<String>,
    },
    /// Any other command.
    Unknown {
        /// The command.
        cmd: String,
    },
}

/// A request to approve changes of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplyPatchApprovalRequest {
    /// The id of the call.
    pub call_id: String,
    /// The id of the turn, which is the person's last prompt; empty if it is unknown.
    #[serde(default)]
    pub turn_id: String,
    /// The start time in milliseconds since 1970.
    pub started_at_ms: i64,
    /// The files, each with the kind of its change.
    #[serde(with = "file_changes")]
    pub changes: Vec<FileUpdateChange>,
    /// The reason for the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The directory that an approval would make writable for the rest of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_root: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The file changes as the core writes them: an object with the files as its keys, each with the
/// content or the diff in a field of its own. Serde attributes on [`FileUpdateChange`] cannot
/// express that.
mod file_changes {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::file_change::{FileUpdateChange, PatchChangeKind};

    /// A change of one file on the wire.
    #[derive(Serialize, Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum WireChange {
        Add { content: String },
        Delete { content: String },
        Update { unified_diff: String, move_path: Option<String> },
    }

    impl WireChange {
        fn from_change(FileUpdateChange { kind, diff, .. }: &FileUpdateChange) -> Self {
            let diff = diff.clone();
            match kind.clone() {
                PatchChangeKind::Add => Self::Add { content: diff },
                PatchChangeKind::Delete => Self::Delete { content: diff },
                PatchChangeKind::Update { move_path } => {
                    Self::Update { unified_diff: diff, move_path }
                }
            }
        }

        fn into_change(self, path: String) -> FileUpdateChange {
            let (kind, diff) = match self {
                Self::Add { content } => (PatchChangeKind::Add, content),
                Self::Delete { content } => (PatchChangeKind::Delete, content),
                Self::Update { unified_diff, move_path } => {
                    (PatchChangeKind::Update { move_path }, unified_diff)
                }
            };
            FileUpdateChange { path, kind, diff }
        }
    }

    pub(super) fn serialize<S: Serializer>(
        changes: &[FileUpdateChange],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let pairs = changes.iter().map(|change| (&change.path, WireChange::from_change(change)));
        pairs.collect::<BTreeMap<_, _>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<FileUpdateChange>, D::Error> {
        let changes = BTreeMap::<String, WireChange>::deserialize(deserializer)?;
        Ok(changes.into_iter().map(|(path, change)| change.into_change(path)).collect())
    }
}

impl ExecApprovalRequest {
    /// Returns the possible answers. If the event does not list them, they follow from the
    /// question: about a host, about more permissions, or about a command.
    #[must_use]
    pub fn available_decisions(&self) -> Vec<CodexReviewDecision> {
        use CodexReviewDecision::{Abort, Approved, ApprovedForSession};
        if let Some(told) = &self.available_decisions {
            return told.clone();
        }
        if self.network_approval_context.is_some() {
            let allow = self.proposed_network_policy_amendments.iter().flatten();
            let allow = allow.filter(|rule| rule.action == NetworkPolicyRuleAction::Allow).take(1);
            let allow = allow.map(|rule| CodexReviewDecision::NetworkPolicyAmendment {
                network_policy_amendment: rule.clone(),
            });
            return [Approved, ApprovedForSession]
                .into_iter()
                .chain(allow)
                .chain([Abort])
                .collect();
        }
        let words = self.proposed_execpolicy_amendment.as_ref();
        let words = words.filter(|_| self.additional_permissions.is_none());
        let rule = words.map(|words| CodexReviewDecision::ApprovedExecpolicyAmendment {
            proposed_execpolicy_amendment: words.clone(),
        });
        [Approved].into_iter().chain(rule).chain([Abort]).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Recorded messages of the MCP server of 0.145 and its client, with the directory shortened.
    const RECORDED: &str = include_str!("../../../../corpus/codex/events.ndjson");

    fn lines(from: &str) -> Vec<Value> {
        let lines = RECORDED.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["from"] == from).map(|line| line["message"].clone()).collect()
    }

    fn recorded() -> Vec<(Value, ApprovalEvent)> {
        let told = lines("server").into_iter().map(|line| line["params"]["msg"].clone());
        told.map(|event| (event.clone(), serde_json::from_value(event).unwrap())).collect()
    }

    fn commands() -> Vec<ExecApprovalRequest> {
        let commands = recorded().into_iter().filter_map(|(_, event)| match event {
            ApprovalEvent::ExecApprovalRequest(request) => Some(*request),
            ApprovalEvent::ApplyPatchApprovalRequest(_) => None,
        });
        commands.collect()
    }

    #[test]
    fn recorded_events_are_read_and_written_alike() {
        for (told, read) in recorded() {
            let mut written = json!(read);
            if let Some(changes) = written.get_mut("changes").and_then(Value::as_object_mut) {
                for change in changes.values_mut().filter_map(Value::as_object_mut) {
                    change.retain(|_, value| !value.is_null());
                }
            }
            assert_eq!(written, told);
        }
        assert_eq!((recorded().len(), commands().len()), (7, 5));
        let rest: Vec<_> = commands().iter().flat_map(|told| told.rest.clone()).collect();
        assert!(rest.iter().all(|(name, _)| name == "environmentId"), "{rest:?}");
    }

    #[test]
    fn recorded_decisions_are_read_and_written_alike() {
        let told = lines("client").into_iter().map(|line| line["result"]["decision"].clone());
        let read = told.map(|told| {
            let read: CodexReviewDecision = serde_json::from_value(told.clone()).unwrap();
            assert_eq!(json!(read), told);
            read
        });
        let read: Vec<_> = read.collect();
        assert_eq!(read.len(), 7);
        for wanted in [
            CodexReviewDecision::Approved,
            CodexReviewDecision::ApprovedForSession,
            CodexReviewDecision::Abort,
        ] {
            assert!(read.contains(&wanted), "{wanted:?}");
        }
        for not in [json!("denied"), json!("yes"), json!({ "denied": {} })] {
            assert!(serde_json::from_value::<CodexReviewDecision>(not.clone()).is_err(), "{not}");
        }
    }

    #[test]
    fn available_decisions_follow_from_the_question() {
        for mut request in commands() {
            let told = request.available_decisions.take().unwrap();
            assert_eq!(request.available_decisions(), told);
            request.additional_permissions = Some(json!({ "network": { "enabled": true } }));
            assert_eq!(
                request.available_decisions(),
                [CodexReviewDecision::Approved, CodexReviewDecision::Abort]
            );
        }
        let mut host = commands().swap_remove(0);
        host.available_decisions = None;
        host.network_approval_context = Some(json!({ "host": "x.io", "protocol": "https" }));
        let rule = |action| NetworkPolicyAmendment { host: "x.io".to_owned(), action };
        let both = [NetworkPolicyRuleAction::Allow, NetworkPolicyRuleAction::Deny].map(rule);
        host.proposed_network_policy_amendments = Some(both.to_vec());
        let words =
            host.available_decisions().iter().map(|decision| json!(decision)).collect::<Vec<_>>();
        let allow = json!({ "network_policy_amendment": { "network_policy_amendment": { "host": "x.io", "action": "allow" } } });
        assert_eq!(
            words,
            [json!("approved"), json!("approved_for_session"), allow, json!("abort")]
        );
    }
}
