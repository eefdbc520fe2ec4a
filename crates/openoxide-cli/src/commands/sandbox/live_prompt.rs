//! `sandbox run --live`: questions to the person at the terminal about changes. No policy applies.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use openoxide_engine::{
    ProfileContext, digest_operation, new_approval_id, operation_title, present_operation,
};
use openoxide_protocol::{
    AbsPath, ApprovalRequest, ApprovalResponse, Decision, Effect, GrantScope, SCHEMA,
};
use openoxide_sandbox::{LaunchConfig, RequestedChange, RuntimeDecision, RuntimeRequest};
use openoxide_store::UserEnvironment;
use openoxide_tui::{AskError, AskOptions, ask, can_ask};

use crate::{
    args::GlobalArgs,
    live_edits::{changed_paths, edit_operation, is_always_unchangeable, offered_directory},
    prompt_options::ask_options,
    user_messages,
};

/// The interval between two checks whether the program still waits.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Answers a request of the program. If no person can be asked, it is denied. Directories that the
/// person approves are added to `approved_directories`.
pub(super) fn answer_request(
    question: &RuntimeRequest,
    launch: &LaunchConfig,
    approved_directories: &mut BTreeSet<AbsPath>,
    global: GlobalArgs,
    gone: &dyn Fn() -> bool,
) -> RuntimeDecision {
    let RuntimeRequest::Change(change) = question else { return RuntimeDecision::Rejected };
    if global.no_input
        || !can_ask()
        || changed_paths(change).iter().any(|path| is_unchangeable(path, launch))
    {
        return RuntimeDecision::DeniedByRule;
    }
    let is_approved = |path: &AbsPath| {
        approved_directories.iter().any(|directory| path.strip_prefix(directory).is_some())
    };
    if changed_paths(change).iter().all(is_approved) {
        return RuntimeDecision::AllowedByRule;
    }
    let request = new_approval_request(change, &launch.cwd);
    match ask_person(&request, global, gone) {
        Ok(ApprovalResponse::Approved { scope: GrantScope::Directory, .. }) => {
            approved_directories.extend(request.directory);
            RuntimeDecision::Session
        }
        Ok(ApprovalResponse::Approved { scope: GrantScope::Once, .. }) => RuntimeDecision::Once,
        Ok(ApprovalResponse::Approved { .. }) => RuntimeDecision::Session,
        Ok(_) => RuntimeDecision::Rejected,
        Err(error) => {
            user_messages::print_error(&error);
            RuntimeDecision::Rejected
        }
    }
}

fn ask_person(
    request: &ApprovalRequest,
    global: GlobalArgs,
    gone: &dyn Fn() -> bool,
) -> Result<ApprovalResponse, AskError> {
    let withdrawn = Arc::new(AtomicBool::new(false));
    let options = AskOptions { withdrawn: Some(Arc::clone(&withdrawn)), ..ask_options(global) };
    thread::scope(|scope| {
        let asking = scope.spawn(|| ask(request, &options));
        while !asking.is_finished() {
            withdrawn.fetch_or(gone(), Ordering::Relaxed);
            thread::sleep(POLL_INTERVAL);
        }
        asking.join().unwrap_or(Err(AskError::HungUp))
    })
}

fn is_unchangeable(path: &AbsPath, launch: &LaunchConfig) -> bool {
    let roots: Vec<_> = launch.profile.writable.iter().cloned().collect();
    let home = UserEnvironment::from_process().home;
    is_always_unchangeable(
        ProfileContext { restrictions: &launch.profile, roots: &roots, home: home.as_ref() },
        path,
    )
}

fn new_approval_request(change: &RequestedChange, cwd: &AbsPath) -> ApprovalRequest {
    let operation = edit_operation(change, cwd);
    ApprovalRequest {
        schema: SCHEMA,
        id: new_approval_id(),
        session: operation.session,
        tool: operation.tool.clone(),
        title: operation_title(&operation),
        cwd: cwd.clone(),
        presentation: present_operation(&operation),
        decision: Decision {
            effect: Effect::Ask,
            reason: "it is outside the writable directories".to_owned(),
            rule: None,
            parts: Vec::new(),
            findings: Vec::new(),
            suggested_rules: Vec::new(),
            obligations: Vec::new(),
        },
        digest: digest_operation(&operation),
        group: None,
        requires_explicit_approval: false,
        alternatives: Vec::new(),
        task: None,
        directory: offered_directory(change, UserEnvironment::from_process().home.as_ref()),
    }
}
