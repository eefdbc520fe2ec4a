use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use openoxide_protocol::{
    AbsPath, ApprovalId, ApprovalRequest, ApprovalResponse, Decision, Effect, GrantScope,
    OperationDigest, PresentationKind, RequestPresentation, ResolutionKind, SCHEMA, SessionId,
};
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::audit::UtcTimestamp;

mod old_database;

const YES: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Once);
const NO: ApprovalResponse = ApprovalResponse::Rejected { message: None };

fn open(directory: &TempDir) -> SqliteRequestStore {
    SqliteRequestStore::open_in(&directory.path().join("state")).unwrap()
}

fn id(number: u32) -> ApprovalId {
    let mut random = [0; 10];
    random[6..].copy_from_slice(&number.to_be_bytes());
    ApprovalId::from_parts(1, random)
}

fn request(number: u32, session: u8, script: &str) -> ApprovalRequest {
    ApprovalRequest {
        schema: SCHEMA,
        id: id(number),
        session: SessionId::from_parts(1, [session; 10]),
        tool: "Bash".to_owned(),
        title: "Run a command".to_owned(),
        cwd: AbsPath::new("/p").unwrap(),
        presentation: RequestPresentation {
            kind: PresentationKind::Command,
            content: script.to_owned(),
            summary: None,
            language: None,
            metadata: BTreeMap::new(),
        },
        decision: Decision {
            effect: Effect::Ask,
            reason: "no rule speaks of it".to_owned(),
            rule: None,
            parts: Vec::new(),
            findings: Vec::new(),
            suggested_rules: Vec::new(),
            obligations: Vec::new(),
        },
        digest: OperationDigest([u8::try_from(script.len()).unwrap(); 32]),
        group: None,
        requires_explicit_approval: script.contains('!'),
        alternatives: Vec::new(),
        task: None,
        directory: None,
    }
}

fn ask(
    requests: &mut SqliteRequestStore,
    request: &ApprovalRequest,
) -> (ApprovalId, OperationDigest) {
    let asking =
        NewRequest { request, requester: "person", project: None, client: None, expires_at: None };
    (request.id, requests.register(&asking).unwrap())
}

fn answer(
    requests: &mut SqliteRequestStore,
    waiting: (ApprovalId, OperationDigest),
    response: &ApprovalResponse,
) -> AnswerResult {
    requests.answer(waiting, response, "a test", &mut || true).unwrap()
}

fn ending(
    requests: &mut SqliteRequestStore,
    waiting: (ApprovalId, OperationDigest),
) -> Option<RequestResolutionKind> {
    requests.find_resolution(waiting.0, waiting.1).unwrap().map(|ended| ended.kind)
}

fn resolved(kind: ResolutionKind, response: ApprovalResponse) -> Option<RequestResolutionKind> {
    Some(RequestResolutionKind::Resolved { kind, response })
}

#[test]
fn a_request_is_found_by_another_connection_and_answered_once() {
    let directory = tempfile::tempdir().unwrap();
    let (mut asker, mut reviewer) = (open(&directory), open(&directory));
    let wanted = request(1, 1, "make");
    let waiting = ask(&mut asker, &wanted);
    assert!(!asker.has_changed().unwrap() && reviewer.has_changed().unwrap());
    let found = reviewer.list_pending().unwrap().pop().unwrap().unwrap();
    assert_eq!((&found.request, found.shown_digest), (&wanted, waiting.1));
    assert_eq!(answer(&mut reviewer, waiting, &YES), AnswerResult::Accepted(0));
    assert!(asker.has_changed().unwrap() && !asker.has_changed().unwrap());
    assert_eq!(ending(&mut asker, waiting), resolved(ResolutionKind::Answered, YES));
    let AnswerResult::AlreadyResolved(ended) = answer(&mut asker, waiting, &NO) else { panic!() };
    assert_eq!(ended.resolved_by, "a test");
    assert!(!asker.resolve(waiting.0, &RequestResolutionKind::Expired, "timeout").unwrap());
    assert!(reviewer.list_pending().unwrap().is_empty());
}

/// Guards I18.
#[test]
fn only_one_of_many_concurrent_answers_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let mut requests = open(&directory);
    let waiting: Vec<_> =
        (0..20).map(|number| ask(&mut requests, &request(number, 1, "make"))).collect();
    let counts = |response: &ApprovalResponse| {
        let mut requests = open(&directory);
        let each = |waiting: &&(ApprovalId, OperationDigest)| {
            matches!(answer(&mut requests, **waiting, response), AnswerResult::Accepted(_))
        };
        waiting.iter().filter(each).count()
    };
    let total: usize = std::thread::scope(|scope| {
        let yes = || scope.spawn(|| counts(&YES));
        let no = || scope.spawn(|| counts(&ApprovalResponse::Denied));
        let threads = [yes(), no(), yes(), no()];
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(total, waiting.len());
}

#[test]
fn a_rejection_ends_its_session_and_a_denial_itself() {
    let directory = tempfile::tempdir().unwrap();
    let mut requests = open(&directory);
    let [one, two, other] = [(1, 1), (2, 1), (3, 2)]
        .map(|(number, session)| ask(&mut requests, &request(number, session, "make")));
    assert_eq!(answer(&mut requests, one, &ApprovalResponse::Denied), AnswerResult::Accepted(0));
    assert_eq!(ending(&mut requests, two), None);
    let three = ask(&mut requests, &request(4, 1, "make"));
    let told = ApprovalResponse::Rejected { message: Some("no".to_owned()) };
    assert_eq!(answer(&mut requests, two, &told), AnswerResult::Accepted(1));
    assert_eq!(ending(&mut requests, two), resolved(ResolutionKind::Answered, told));
    assert_eq!(ending(&mut requests, three), resolved(ResolutionKind::Cascade, NO));
    assert_eq!(ending(&mut requests, other), None);
}

#[test]
fn an_approval_for_the_session_ends_identical_requests() {
    let directory = tempfile::tempdir().unwrap();
    let mut requests = open(&directory);
    let same = ask(&mut requests, &request(1, 1, "make"));
    let [first, other, elsewhere] = [(2, 1, "make"), (3, 1, "make all"), (4, 2, "make")]
        .map(|(number, session, script)| ask(&mut requests, &request(number, session, script)));
    let explicit = ApprovalRequest { requires_explicit_approval: true, ..request(5, 1, "make") };
    let explicit = ask(&mut requests, &explicit);
    let session = ApprovalResponse::new_approval(GrantScope::Session);
    assert_eq!(answer(&mut requests, first, &session), AnswerResult::Accepted(1));
    assert_eq!(ending(&mut requests, same), resolved(ResolutionKind::Retroactive, YES));
    for waiting in [other, elsewhere, explicit] {
        assert_eq!(ending(&mut requests, waiting), None);
    }
}

#[test]
fn an_approval_whose_grant_cannot_be_saved_is_not_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let mut requests = open(&directory);
    let waiting = ask(&mut requests, &request(1, 1, "make"));
    let project = ApprovalResponse::new_approval(GrantScope::Project);
    let answered = requests.answer(waiting, &project, "a test", &mut || false).unwrap();
    assert_eq!(answered, AnswerResult::GrantFailed);
    assert_eq!(ending(&mut requests, waiting), None);
}

/// Guards I18.
#[test]
fn a_request_that_was_changed_in_the_database_is_not_answered() {
    let directory = tempfile::tempdir().unwrap();
    let mut requests = open(&directory);
    let waiting = ask(&mut requests, &request(1, 1, "make"));
    let raw = Connection::open(directory.path().join("state/openoxide.db")).unwrap();
    raw.execute("UPDATE request SET request = replace(request, 'make', 'rm -rf x')", []).unwrap();
    assert!(matches!(
        requests.list_pending().unwrap().pop(),
        Some(Err(RequestStoreError::Changed(_)))
    ));
    let answered = requests.answer(waiting, &YES, "a test", &mut || true);
    assert!(matches!(answered, Err(RequestStoreError::Changed(_))), "{answered:?}");
    assert!(matches!(
        requests.lookup_id(&waiting.0.to_string()),
        Err(RequestStoreError::Changed(_))
    ));
    // An answer to something other than what was shown is not accepted either.
    raw.execute("UPDATE request SET answer = '{\"ending\":\"expired\"}', answered_at = 1, answered_by = '', shown = ''", []).unwrap();
    assert!(matches!(
        requests.find_resolution(waiting.0, waiting.1),
        Err(RequestStoreError::Changed(_))
    ));
}

#[test]
fn expired_and_abandoned_requests_are_resolved() {
    let directory = tempfile::tempdir().unwrap();
    let mut requests = open(&directory);
    let [mine, crashed] = [1, 2].map(|number| ask(&mut requests, &request(number, 1, "make")));
    let late = request(3, 1, "make");
    let asking = NewRequest {
        request: &late,
        requester: "person",
        project: None,
        client: None,
        expires_at: Some(UtcTimestamp(1)),
    };
    let late = (late.id, requests.register(&asking).unwrap());
    let raw = Connection::open(directory.path().join("state/openoxide.db")).unwrap();
    raw.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let gone = ProcessIdentity::current().to_string().rsplit_once('/').unwrap().0.to_owned() + "/1";
    raw.execute("INSERT INTO session SELECT id, ?1, who, cwd, project, 0 FROM session", [&gone])
        .unwrap();
    raw.execute("UPDATE request SET process = ?1 WHERE id = ?2", [gone, crashed.0.to_string()])
        .unwrap();
    requests.resolve_stale().unwrap();
    assert_eq!(ending(&mut requests, mine), None);
    assert_eq!(ending(&mut requests, crashed), Some(RequestResolutionKind::Abandoned));
    assert_eq!(ending(&mut requests, late), Some(RequestResolutionKind::Expired));
}

#[test]
fn a_beginning_names_one_request_or_none() {
    let directory = tempfile::tempdir().unwrap();
    let mut requests = open(&directory);
    let one = ask(&mut requests, &request(0x10, 1, "make"));
    let two = ask(&mut requests, &request(0x11, 1, "make"));
    let text = one.0.to_string();
    let beginning = text.get(..20).unwrap();
    assert!(
        matches!(requests.lookup_id(&text).unwrap(), IdLookup::Pending(found) if found.request.id == one.0)
    );
    assert!(matches!(
        requests.lookup_id(&text.replace('-', "").to_uppercase()).unwrap(),
        IdLookup::Pending(_)
    ));
    assert!(
        matches!(requests.lookup_id(beginning).unwrap(), IdLookup::Ambiguous(ids) if ids.len() == 2)
    );
    for unknown in ["", "-", "g", "%", "ffff", &format!("{text}0")] {
        assert_eq!(requests.lookup_id(unknown).unwrap(), IdLookup::NotFound, "{unknown}");
    }
    // A request that was answered keeps its id, so that its prefix never identifies another
    // request.
    answer(&mut requests, two, &YES);
    assert!(matches!(requests.lookup_id(beginning).unwrap(), IdLookup::Ambiguous(_)));
    assert!(matches!(requests.lookup_id(&two.0.to_string()).unwrap(), IdLookup::Resolved(..)));
    let shown = requests.list_pending().unwrap().pop().unwrap().unwrap();
    assert_eq!(shown.unique_prefix_len, 36, "they differ in their last letter");
}

#[test]
fn a_resolved_request_leaves_no_text_and_is_deleted_later() {
    let directory = tempfile::tempdir().unwrap();
    let mut requests = open(&directory);
    let waiting = ask(&mut requests, &request(1, 1, "login --password hunter2"));
    answer(&mut requests, waiting, &YES);
    let raw = Connection::open(directory.path().join("state/openoxide.db")).unwrap();
    let count = |table: &str| -> (i64, i64) {
        let text = if table == "request" { "sum(length(request))" } else { "0" };
        raw.query_row(&format!("SELECT count(*), coalesce({text}, 0) FROM {table}"), [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap()
    };
    assert_eq!(count("request"), (1, 0));
    raw.execute("UPDATE request SET answered_at = 1", []).unwrap();
    requests.resolve_stale().unwrap();
    assert_eq!((count("request"), count("session")), ((0, 0), (0, 0)));
    assert!(matches!(
        requests.find_resolution(waiting.0, waiting.1),
        Err(RequestStoreError::NotFound(_))
    ));
}

#[test]
fn the_files_belong_to_their_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    let mut requests = open(&directory);
    ask(&mut requests, &request(1, 1, "make"));
    let state = directory.path().join("state");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    let files: Vec<_> = fs::read_dir(&state).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
}

#[test]
fn a_database_that_others_could_have_written_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(&directory));
    let state = directory.path().join("state");
    let file = state.join("openoxide.db");
    let refused = || {
        let opened = SqliteRequestStore::open_in(&state);
        assert!(matches!(opened, Err(RequestStoreError::Unsafe { .. })), "{opened:?}");
    };
    let set = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    set(&file, 0o644);
    refused();
    set(&file, 0o600);
    set(&state, 0o770);
    refused();
    set(&state, 0o700);
    let elsewhere = directory.path().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    refused();
    fs::remove_file(&file).unwrap();
    fs::rename(&elsewhere, &file).unwrap();
    symlink(&elsewhere, state.join("openoxide.db-wal")).unwrap();
    refused();
}

#[test]
fn a_database_of_a_newer_version_is_left_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(&directory));
    let file = directory.path().join("state/openoxide.db");
    let raw = Connection::open(&file).unwrap();
    raw.execute_batch("PRAGMA user_version = 99; PRAGMA journal_mode = delete;").unwrap();
    drop(raw);
    let before = fs::read(&file).unwrap();
    let opened = SqliteRequestStore::open_in(&directory.path().join("state"));
    let Err(error @ RequestStoreError::Newer { version: 99, .. }) = opened else {
        panic!("{opened:?}")
    };
    assert!(error.to_string().contains("newer version of OpenOxide"), "{error}");
    drop(error);
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_damaged_file_is_reported_as_damaged() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(&directory));
    let file = directory.path().join("state/openoxide.db");
    let mut bytes = fs::read(&file).unwrap();
    bytes[..100].fill(b'x');
    fs::write(&file, &bytes).unwrap();
    let opened = SqliteRequestStore::open_in(&directory.path().join("state"));
    assert!(matches!(opened, Err(RequestStoreError::Damaged { .. })), "{opened:?}");
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[test]
fn ten_thousand_end_with_one_rejection() {
    const COUNT: u32 = 10_000;
    let directory = tempfile::tempdir().unwrap();
    let mut requests = open(&directory);
    let all: Vec<_> = (0..COUNT).map(|number| request(number, 1, "make")).collect();
    let waiting: Vec<_> = all.iter().map(|request| ask(&mut requests, request)).collect();
    let start = std::time::Instant::now();
    requests.resolve_stale().unwrap();
    let answered = answer(&mut requests, waiting[7], &NO);
    eprintln!("swept and answered, with {COUNT} waiting, in {:?}", start.elapsed());
    assert_eq!(answered, AnswerResult::Accepted(COUNT as usize - 1));
    assert!(requests.list_pending().unwrap().is_empty());
}
