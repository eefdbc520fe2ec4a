//! Questions of OpenOxide itself to its user, before it changes a setting.

use std::{collections::BTreeMap, path::Path};

use openoxide_engine::{new_approval_id, new_session_id};
use openoxide_protocol::{
    AbsPath, ApprovalRequest, ApprovalResponse, Decision, Effect, OperationDigest,
    PresentationKind, RequestPresentation, SCHEMA,
};
use openoxide_store::audit::UtcTimestamp;
use openoxide_tui::{AskError, LineMode, ask, can_ask, escape_text};
use similar::TextDiff;

use crate::{
    args::GlobalArgs,
    error::{CliError, rules_error::RulesError},
    program_exit::ProgramExit,
    prompt_options::ask_options,
    user_messages,
};

/// The number of characters of a date in a timestamp.
const DATE_LENGTH: usize = 10;

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

    /// Asks for approval of new rules. Returns an exit code if they are not approved.
    pub(super) fn confirm_rules(self, global: GlobalArgs) -> Result<Option<ProgramExit>, CliError> {
        if global.no_input || !can_ask() {
            user_messages::print_error(&"saving a rule requires a terminal, or `--yes`");
            user_messages::print_line(escape_text(&self.diff, LineMode::MultiLine).trim_end());
            return Ok(Some(ProgramExit::Ask));
        }
        let response = self.ask(global).map_err(RulesError::Ask)?;
        Ok(match response {
            ApprovalResponse::Approved { .. } => None,
            ApprovalResponse::Cancelled => Some(ProgramExit::Ask),
            _ => Some(ProgramExit::Deny),
        })
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

/// Returns the current date in UTC, for the reason of a new rule.
pub(super) fn current_date() -> String {
    UtcTimestamp::now().to_string().chars().take(DATE_LENGTH).collect()
}
