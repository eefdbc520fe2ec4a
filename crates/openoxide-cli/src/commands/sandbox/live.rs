//! `sandbox run --live`: a person at the terminal is asked about changes; there is no policy that could answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use openoxide_engine::{Surroundings, digest, new_approval_id, present, title};
use openoxide_protocol::{
    AbsPath, ApprovalRequest, ApprovalResponse, Decision, Effect, GrantScope, SCHEMA,
};
use openoxide_sandbox::{Launch, LiveAnswer, LiveChange, LiveQuestion};
use openoxide_store::Environment;
use openoxide_tui::{AskError, AskOptions, ask, can_ask};

use crate::{
    args::Global,
    commands::run::{
        confined::changes::{edit, keeps, paths},
        options,
    },
    report,
};

/// How often is looked whether the program still waits.
const LOOK: Duration = Duration::from_millis(50);

/// Answers what a program waits for. Where nobody can be asked, the answer is no.
pub(super) fn answer(
    question: &LiveQuestion,
    launch: &Launch,
    global: Global,
    gone: &dyn Fn() -> bool,
) -> LiveAnswer {
    let LiveQuestion::Change(change) = question else { return LiveAnswer::No };
    if global.no_input || !can_ask() || paths(change).iter().any(|path| is_kept(path, launch)) {
        return LiveAnswer::Denied;
    }
    match asked(&request(change, &launch.cwd), global, gone) {
        Ok(ApprovalResponse::Approved { scope: GrantScope::Once, .. }) => LiveAnswer::Once,
        Ok(ApprovalResponse::Approved { .. }) => LiveAnswer::Session,
        Ok(_) => LiveAnswer::No,
        Err(error) => {
            report::failure(&error);
            LiveAnswer::No
        }
    }
}

fn asked(
    request: &ApprovalRequest,
    global: Global,
    gone: &dyn Fn() -> bool,
) -> Result<ApprovalResponse, AskError> {
    let withdrawn = Arc::new(AtomicBool::new(false));
    let options = AskOptions { withdrawn: Some(Arc::clone(&withdrawn)), ..options(global) };
    thread::scope(|scope| {
        let asking = scope.spawn(|| ask(request, &options));
        while !asking.is_finished() {
            withdrawn.fetch_or(gone(), Ordering::Relaxed);
            thread::sleep(LOOK);
        }
        asking.join().unwrap_or(Err(AskError::HungUp))
    })
}

fn is_kept(path: &AbsPath, launch: &Launch) -> bool {
    let roots: Vec<_> = launch.profile.writable.iter().cloned().collect();
    let home = Environment::read().home;
    keeps(Surroundings { held: &launch.profile, roots: &roots, home: home.as_ref() }, path)
}

fn request(change: &LiveChange, cwd: &AbsPath) -> ApprovalRequest {
    let operation = edit(change, cwd);
    ApprovalRequest {
        schema: SCHEMA,
        id: new_approval_id(),
        session: operation.session,
        tool: operation.tool.clone(),
        title: title(&operation),
        cwd: cwd.clone(),
        presentation: present(&operation),
        decision: Decision {
            effect: Effect::Ask,
            reason: "it is outside the writable directories".to_owned(),
            rule: None,
            parts: Vec::new(),
            findings: Vec::new(),
            always: Vec::new(),
            obligations: Vec::new(),
        },
        digest: digest(&operation),
        group: None,
        explicit_yes_required: false,
        alternatives: Vec::new(),
        task: None,
    }
}
