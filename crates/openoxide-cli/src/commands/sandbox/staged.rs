//! What becomes of what `sandbox run` has staged: it knows no rules, so a person says yes or no.

use std::io;

use openoxide_engine::{digest, new_approval_id, new_session_id};
use openoxide_protocol::{AbsPath, ApprovalRequest, ApprovalResponse, Decision, Effect, SCHEMA};
use openoxide_protocol::{Action, Operation};
use openoxide_sandbox::{Changes, Stage};
use openoxide_tui::{ask, can_ask};
use serde_json::json;

use crate::{
    args::Global,
    commands::{call, run::options},
    exit::Exit,
    report,
    staged::{NOTHING_CHANGED, Shown, shown, tell, to_ask_about},
};

/// Asks, and does it. Returns how it ends, where that is not how the program has ended.
pub(super) fn settle(stage: &Stage, cwd: &AbsPath, global: Global) -> Option<Exit> {
    let changes = match to_ask_about(stage) {
        Ok(changes) => changes?,
        Err(error) => return Some(failed(&error)),
    };
    let shown = shown(stage, &changes, cwd);
    if global.no_input || !can_ask() {
        report::say(shown.list.trim_end());
        report::say(&format!(
            "openoxide: approval required, but no terminal is available to ask on; {NOTHING_CHANGED}"
        ));
        return Some(Exit::Ask);
    }
    let request = request(shown, &changes, cwd);
    match ask(&request, &options(global)) {
        Ok(ApprovalResponse::Approved { .. }) => commit(stage, &changes),
        Ok(_) => {
            report::say(&format!("openoxide: rejected; {NOTHING_CHANGED}"));
            Some(Exit::Refused)
        }
        Err(error) => Some(failed(&io::Error::other(error.to_string()))),
    }
}

fn request(shown: Shown, changes: &Changes, cwd: &AbsPath) -> ApprovalRequest {
    let Shown { title, presentation, .. } = shown;
    let paths = changes.changes.iter().map(|change| change.path.to_string()).collect();
    let operation: Operation = call::of("Edit".to_owned(), Action::Edit { paths }, json!({}), cwd);
    ApprovalRequest {
        schema: SCHEMA,
        id: new_approval_id(),
        session: new_session_id(),
        tool: operation.tool.clone(),
        title,
        cwd: cwd.clone(),
        presentation,
        decision: asked(),
        digest: digest(&operation),
        group: None,
        explicit_yes_required: true,
        alternatives: Vec::new(),
        task: None,
    }
}

fn asked() -> Decision {
    Decision {
        effect: Effect::Ask,
        reason: "nothing that it has changed has landed yet".to_owned(),
        rule: None,
        parts: Vec::new(),
        findings: Vec::new(),
        always: Vec::new(),
        obligations: Vec::new(),
    }
}

/// What was shown is what is done.
fn commit(stage: &Stage, changes: &Changes) -> Option<Exit> {
    if !stage.changes().is_ok_and(|now| now == *changes) {
        return Some(failed(&io::Error::other("files changed in the meantime")));
    }
    match stage.commit(changes) {
        Err(error) => Some(failed(&error)),
        Ok(committed) => {
            tell(&committed);
            (!committed.left_out.is_empty()).then_some(Exit::RunFailed)
        }
    }
}

fn failed(error: &io::Error) -> Exit {
    report::failure(&format!("{NOTHING_CHANGED}: {error}"));
    Exit::RunFailed
}
