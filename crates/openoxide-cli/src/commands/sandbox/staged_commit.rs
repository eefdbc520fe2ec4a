//! Commit of the changes that `sandbox run` has staged. There are no rules, so a person decides.

use std::io;

use openoxide_engine::{digest_operation, new_approval_id, new_session_id};
use openoxide_protocol::{AbsPath, ApprovalRequest, ApprovalResponse, Decision, Effect, SCHEMA};
use openoxide_protocol::{Action, Operation};
use openoxide_sandbox::{StagedChanges, StagingArea};
use openoxide_tui::{ask, can_ask};
use serde_json::json;

use crate::{
    args::GlobalArgs,
    commands::call_operation,
    program_exit::ProgramExit,
    prompt_options::ask_options,
    staged_changes::{
        NO_CHANGE_MESSAGE, StagedOutcome, StagedPresentation, present_changes, print_kept,
        print_result, read_staged_changes,
    },
    user_messages,
};

/// Asks for the commit, and makes the changes. Returns the exit code if it differs from that of the
/// program.
pub(super) fn review_and_commit(
    stage: &StagingArea,
    command: &str,
    cwd: &AbsPath,
    global: GlobalArgs,
) -> Option<ProgramExit> {
    let changes = match read_staged_changes(stage) {
        Ok(StagedOutcome::Changes(changes)) => changes,
        Ok(StagedOutcome::Nothing) => return None,
        Ok(StagedOutcome::AllSkipped(_)) => return Some(ProgramExit::RunFailed),
        Err(error) => return Some(report_failure(&error)),
    };
    let shown = present_changes(stage, &changes, cwd);
    if global.no_input || !can_ask() {
        user_messages::print_line(shown.file_list.trim_end());
        user_messages::print_line(&format!(
            "openoxide: approval required, but no terminal is available to ask on; {NO_CHANGE_MESSAGE}"
        ));
        match stage.keep(&changes, command, cwd) {
            Ok(()) => print_kept(stage),
            Err(error) => user_messages::print_note(&format!("they cannot be kept: {error}")),
        }
        return Some(ProgramExit::Ask);
    }
    let request = new_approval_request(shown, &changes, cwd);
    match ask(&request, &ask_options(global)) {
        Ok(ApprovalResponse::Approved { .. }) => commit_changes(stage, &changes),
        Ok(_) => {
            user_messages::print_line(&format!("openoxide: rejected; {NO_CHANGE_MESSAGE}"));
            Some(ProgramExit::Refused)
        }
        Err(error) => Some(report_failure(&io::Error::other(error.to_string()))),
    }
}

fn new_approval_request(
    shown: StagedPresentation,
    changes: &StagedChanges,
    cwd: &AbsPath,
) -> ApprovalRequest {
    let StagedPresentation { title, presentation, .. } = shown;
    let paths = changes.changes.iter().map(|change| change.path.to_string()).collect();
    let operation: Operation = call_operation::new_person_operation(
        "Edit".to_owned(),
        Action::Edit { paths },
        json!({}),
        cwd,
    );
    ApprovalRequest {
        schema: SCHEMA,
        id: new_approval_id(),
        session: new_session_id(),
        tool: operation.tool.clone(),
        title,
        cwd: cwd.clone(),
        presentation,
        decision: ask_decision(),
        digest: digest_operation(&operation),
        group: None,
        requires_explicit_approval: true,
        alternatives: Vec::new(),
        task: None,
        directory: None,
    }
}

fn ask_decision() -> Decision {
    Decision {
        effect: Effect::Ask,
        reason: "its changes have not been applied".to_owned(),
        rule: None,
        parts: Vec::new(),
        findings: Vec::new(),
        suggested_rules: Vec::new(),
        obligations: Vec::new(),
    }
}

/// Commits the staged changes if they are still those that were shown. Returns an exit status on
/// failure, or if some changes were skipped.
fn commit_changes(stage: &StagingArea, changes: &StagedChanges) -> Option<ProgramExit> {
    if !stage.find_changes().is_ok_and(|now| now == *changes) {
        return Some(report_failure(&io::Error::other("files changed in the meantime")));
    }
    match stage.commit(changes) {
        Err(error) => Some(report_failure(&error)),
        Ok(committed) => (!print_result(changes, &committed)).then_some(ProgramExit::RunFailed),
    }
}

fn report_failure(error: &io::Error) -> ProgramExit {
    user_messages::print_error(&format!("{NO_CHANGE_MESSAGE}: {error}"));
    ProgramExit::RunFailed
}
