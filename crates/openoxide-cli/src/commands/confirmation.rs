//! Questions of OpenOxide itself to its user, before it changes a setting.

use std::{collections::BTreeMap, path::Path};

use openoxide_engine::{new_approval_id, new_session_id};
use openoxide_protocol::{
    AbsPath, ApprovalRequest, ApprovalResponse, Decision, Effect, OperationDigest,
    PresentationKind, RequestPresentation, SCHEMA,
};
use openoxide_tui::{AskError, ask};
use similar::TextDiff;

use crate::{args::GlobalArgs, prompt_options::ask_options};

/// A change of a setting that a person has to confirm.
pub(super) struct SettingChange {
    /// The name of the change in place of a tool's.
    pub(super) tool: &'static str,
    /// The question.
    pub(super) title: String,
    /// The reason for the question.
    pub(super) reason: String,
    /// The change as a diff.
    pub(super) diff: String,
    /// The directory that the change is about.
    pub(super) directory: AbsPath,
}

impl SettingChange {
    /// Asks for approval in the terminal.
    pub(super) fn ask(self, global: GlobalArgs) -> Result<ApprovalResponse, AskError> {
        ask(&self.into_request(), &ask_options(global))
    }

    fn into_request(self) -> ApprovalRequest {
        ApprovalRequest {
            schema: SCHEMA,
            id: new_approval_id(),
            session: new_session_id(),
            tool: self.tool.to_owned(),
            title: self.title,
            cwd: self.directory,
            presentation: RequestPresentation {
                kind: PresentationKind::Diff,
                content: self.diff,
                summary: None,
                language: None,
                metadata: BTreeMap::new(),
            },
            decision: Decision {
                effect: Effect::Ask,
                reason: self.reason,
                rule: None,
                parts: Vec::new(),
                findings: Vec::new(),
                suggested_rules: Vec::new(),
                obligations: Vec::new(),
            },
            digest: OperationDigest([0; 32]),
            group: None,
            requires_explicit_approval: true,
            alternatives: Vec::new(),
            task: None,
            directory: None,
        }
    }
}

/// Returns the change of a file as a unified diff. Escape it before printing it.
pub(super) fn file_diff(path: &Path, before: &str, after: &str) -> String {
    let name = path.display().to_string();
    let difference = TextDiff::from_lines(before, after);
    difference.unified_diff().header(&name, &name).to_string()
}
