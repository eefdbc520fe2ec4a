//! A database that this program wrote before the fields of its JSON were renamed.

use std::path::Path;

use openoxide_protocol::{GrantTerms, RuleBreadth, RuleChoice};

use super::*;

const PENDING: &str = "01a20b38-1a71-7fa1-84b9-1eea6efb309a";
const EXPLICIT: &str = "01a20b38-1e5c-7068-b1dd-0672c3126ae1";
const ANSWERED: &str = "01a20b37-ea14-7ace-b22a-f56f146f625f";
/// The contents of the column `shown` of these requests.
const PENDING_DIGEST: &str = "b7fe2d88556c326032f86aebb2b94174e91e23f721e7505cbf36485301a944e8";
const ANSWERED_DIGEST: &str = "e88c0c999e1568dfbb96f78cfa35d5019cbc6f7ec60259bb3eecd72b2f3165ab";

/// Restores the recorded database. Its requests belong to this process and do not expire.
fn restore(directory: &TempDir) -> std::path::PathBuf {
    drop(open(directory));
    let path = directory.path().join("state/openoxide.db");
    fs::remove_file(&path).unwrap();
    fs::OpenOptions::new().write(true).create_new(true).open(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/requests");
    let dump = fs::read_to_string(corpus.join("before-names.sql")).unwrap();
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch(&dump).unwrap();
    let process = ProcessIdentity::current().to_string();
    raw.execute("UPDATE session SET process = ?1", [&process]).unwrap();
    raw.execute("UPDATE request SET process = ?1, expires_at = NULL", [&process]).unwrap();
    path
}

fn digest(text: &str) -> OperationDigest {
    serde_json::from_value(text.into()).unwrap()
}

#[test]
fn pending_requests_with_old_names_are_read_and_answered() {
    let directory = TempDir::new().unwrap();
    restore(&directory);
    let mut requests = open(&directory);
    let waiting = requests.list_pending().unwrap();
    let waiting: Vec<_> = waiting.into_iter().map(Result::unwrap).collect();
    assert_eq!(waiting.len(), 3);

    let request = &waiting[0].request;
    assert_eq!(request.id.to_string(), PENDING);
    assert_eq!(waiting[0].shown_digest, digest(PENDING_DIGEST), "the content is unchanged");
    assert_eq!(request.decision.suggested_rules, ["Bash(cargo publish *)"]);
    let narrower = vec!["Bash(cargo publish --dry-run)".to_owned()];
    let alternative = RuleChoice { breadth: RuleBreadth::Narrower, rules: narrower };
    assert_eq!(request.alternatives, [alternative], "`width`");
    assert!(!request.requires_explicit_approval);

    assert_eq!(waiting[1].request.id.to_string(), EXPLICIT);
    assert!(waiting[1].request.requires_explicit_approval, "`explicit_yes_required`");

    let pending = (request.id, waiting[0].shown_digest);
    let result = requests.answer(pending, &YES, "a test", &mut || true).unwrap();
    assert_eq!(result, AnswerResult::Accepted(0));
}

#[test]
fn answers_with_old_names_are_read() {
    let directory = TempDir::new().unwrap();
    restore(&directory);
    let mut requests = open(&directory);
    let shown = digest(ANSWERED_DIGEST);
    let ended = requests.find_resolution(ANSWERED.parse().unwrap(), shown).unwrap().unwrap();
    let terms = GrantTerms {
        rules: vec!["Bash(make one)".to_owned()],
        expires_in_seconds: Some(1800),
        max_uses: Some(5),
        directory: Some(AbsPath::new("/home/ann/project").unwrap()),
        until_task_end: false,
    };
    let response = ApprovalResponse::Approved { scope: GrantScope::Project, terms: Some(terms) };
    let kind = ResolutionKind::Answered;
    assert_eq!(ended.kind, RequestResolutionKind::Resolved { kind, response });
}

/// Programs that only know the old version do not open a database of this version, because they do
/// not know the names of limits.
#[test]
fn an_old_database_gets_a_version_that_older_programs_refuse() {
    let directory = TempDir::new().unwrap();
    let path = restore(&directory);
    let version = || -> i64 {
        let raw = Connection::open(&path).unwrap();
        raw.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    assert_eq!(version(), 2, "as recorded");
    drop(open(&directory));
    assert_eq!(version(), 4);
}
