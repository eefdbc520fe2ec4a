use openoxide_permission::default_layer;
use openoxide_protocol::{AbsPath, Action, CallId, GrantScope, Operation, Principal};

use super::*;
use crate::{
    collect_operation_facts, digest_operation, new_approval_id, new_session_id, operation_title,
    present_operation,
};

fn question(session: SessionId, script: &str) -> CheckRequest {
    let operation = Operation {
        session,
        call: CallId::default(),
        principal: Principal::Agent,
        tool: "Bash".to_owned(),
        action: Action::Command { script: script.to_owned() },
        input: serde_json::json!({ "command": script }),
        cwd: AbsPath::new("/p").unwrap(),
    };
    CheckRequest {
        facts: collect_operation_facts(&operation, None),
        digest: digest_operation(&operation),
        id: new_approval_id(),
        presentation: present_operation(&operation),
        title: operation_title(&operation),
        group: None,
        requires_explicit_approval: false,
        hooks: Vec::new(),
        coverage: Default::default(),
        offered_directory: None,
        operation,
    }
}

fn start() -> (GateHandle, mpsc::UnboundedReceiver<ApprovalRequest>) {
    let (handle, requests, _) = start_loop();
    (handle, requests)
}

fn start_loop()
-> (GateHandle, mpsc::UnboundedReceiver<ApprovalRequest>, tokio::task::JoinHandle<()>) {
    let policy = Arc::new(PolicyStack::compile(&[default_layer()]).unwrap());
    let roots = vec![AbsPath::new("/p").unwrap()];
    let gate = PermissionGate::new(policy, PermissionMode::Default, roots);
    let (dispatcher, handle, requests) = GateDispatcher::new(gate);
    (handle, requests, tokio::spawn(dispatcher.run()))
}

#[tokio::test]
async fn an_approval_of_a_prefix_resolves_every_request_it_covers() {
    let (handle, mut requests) = start();
    let session = new_session_id();
    let ask = |script: &str| {
        let (handle, question) = (handle.clone(), question(session, script));
        tokio::spawn(async move { handle.check(question).await })
    };
    let first = ask("npm install a");
    let first_request = requests.recv().await.unwrap();
    let second = ask("npm install b");
    requests.recv().await.unwrap();
    let response = ApprovalResponse::new_approval(GrantScope::Project);
    let ended = handle.answer(first_request.id, response).await.unwrap().unwrap();
    assert_eq!(ended.len(), 2);
    assert!(matches!(first.await.unwrap(), Ok(GateReply::Permitted(_))));
    assert!(matches!(second.await.unwrap(), Ok(GateReply::Permitted(_))));
}

#[tokio::test]
async fn a_rejection_wakes_the_whole_session() {
    let (handle, mut requests) = start();
    let session = new_session_id();
    let waiting: Vec<_> = ["npm install a", "cargo publish"]
        .map(|script| {
            let (handle, question) = (handle.clone(), question(session, script));
            tokio::spawn(async move { handle.check(question).await })
        })
        .into();
    let first = requests.recv().await.unwrap();
    requests.recv().await.unwrap();
    let response = ApprovalResponse::Rejected { message: None };
    drop(handle.answer(first.id, response).await.unwrap());
    for one in waiting {
        assert!(matches!(one.await.unwrap(), Ok(GateReply::Refused(OperationRefusal::Rejected))));
    }
}

#[tokio::test]
async fn a_check_without_a_listener_is_unanswerable() {
    let (handle, requests) = start();
    drop(requests);
    let asked = handle.check(question(new_session_id(), "npm install")).await;
    assert!(matches!(asked, Ok(GateReply::Unanswerable(_))));
}

#[tokio::test]
async fn the_end_of_the_session_is_not_an_approval() {
    let (handle, mut requests, session) = start_loop();
    let waiting = {
        let (handle, question) = (handle.clone(), question(new_session_id(), "npm install"));
        tokio::spawn(async move { handle.check(question).await })
    };
    requests.recv().await.unwrap();
    session.abort();
    assert!(matches!(waiting.await.unwrap(), Err(SessionClosedError)));
}

#[tokio::test]
async fn a_stale_answer_is_an_error() {
    let (handle, _requests) = start();
    let stale = handle.answer(new_approval_id(), ApprovalResponse::Denied).await.unwrap();
    assert!(stale.is_err());
}
