//! The approvals for the session: Codex's `ApprovalStore` and `with_cached_approval` (0.169).

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;

use super::{call_decision::SandboxPermissions, dialect::CodexDialect, script_commands};
use crate::review_decision::CodexReviewDecision;

/// The keys, as JSON, under which approvals for the session are stored. They last as long as the
/// session, and are never written to disk.
#[derive(Debug, Default)]
pub struct ApprovalStore {
    approved: Mutex<BTreeSet<String>>,
}

impl ApprovalStore {
    fn lock_keys(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.approved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether all of these keys are approved. An empty list is not approved.
    fn contains_all(&self, keys: &[String]) -> bool {
        let approved = self.lock_keys();
        !keys.is_empty() && keys.iter().all(|key| approved.contains(key))
    }
}

/// Returns the cached approval, or asks. An approval for the session is stored under each key
/// separately. No other answer is stored.
///
/// The store is not locked while a question is open. A second question about the same keys is asked
/// as well.
pub async fn with_cached_approval<K: Serialize + Sync>(
    store: &ApprovalStore,
    keys: &[K],
    ask: impl AsyncFnOnce() -> CodexReviewDecision,
) -> CodexReviewDecision {
    // If a key cannot be serialized, nothing is stored.
    let keys: Vec<String> =
        keys.iter().map(serde_json::to_string).collect::<Result<_, _>>().unwrap_or_default();
    if store.contains_all(&keys) {
        return CodexReviewDecision::ApprovedForSession;
    }
    let decision = ask().await;
    if decision == CodexReviewDecision::ApprovedForSession {
        store.lock_keys().extend(keys);
    }
    decision
}

/// The key of a command. Only the same command matches, regardless of its blanks and quotes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommandApprovalKey {
    environment_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    executable: Option<String>,
    command: Vec<String>,
    cwd: String,
    tty: bool,
    sandbox_permissions: SandboxPermissions,
}

impl CommandApprovalKey {
    /// Returns the key of a process in a directory. Since August 2026 the shell is part of the key.
    #[must_use]
    pub fn new(
        argv: &[String],
        cwd: &str,
        tty: bool,
        sandbox_permissions: SandboxPermissions,
        dialect: CodexDialect,
    ) -> Self {
        let executable = argv.first().filter(|_| dialect != CodexDialect::V0145).cloned();
        let (environment_id, cwd) = ("local".to_owned(), cwd.to_owned());
        Self {
            environment_id,
            executable,
            command: canonical_command(argv, dialect),
            cwd,
            tty,
            sandbox_permissions,
        }
    }
}

/// The key of a file in a patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileApprovalKey {
    environment_id: String,
    path: String,
}

impl FileApprovalKey {
    /// Returns the key of each file of a patch. An approval of one patch covers another patch that
    /// touches no other files.
    #[must_use]
    pub fn for_patch(paths: &[String]) -> Vec<Self> {
        let key = |path: &String| Self { environment_id: "local".to_owned(), path: path.clone() };
        paths.iter().map(key).collect()
    }
}

/// Returns the words under which a command is stored: those of the only command of a plain script,
/// or else the unchanged script.
fn canonical_command(argv: &[String], dialect: CodexDialect) -> Vec<String> {
    let Some(script) = script_commands::extract_script(argv) else { return argv.to_vec() };
    match script_commands::read_plain_commands(script, dialect).as_deref() {
        Some([only]) => only.clone(),
        _ => {
            let rest = argv.iter().skip(1).cloned();
            std::iter::once("__codex_shell_script__".to_owned()).chain(rest).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use super::*;

    fn key(shell: &str, flag: &str, script: &str, cwd: &str, tty: bool) -> String {
        let argv = [shell, flag, script].map(str::to_owned);
        let key = CommandApprovalKey::new(
            &argv,
            cwd,
            tty,
            SandboxPermissions::UseDefault,
            CodexDialect::V0169,
        );
        serde_json::to_string(&key).unwrap()
    }

    // Observed on 0.169: which commands hit the cache and which miss it.
    #[test]
    fn blanks_and_quotes_do_not_count_and_places_do() {
        let of = |script| key("/bin/bash", "-lc", script, "/w", false);
        assert_eq!(of("touch  'a'"), of("touch a"));
        assert_eq!(of("touch a"), key("/bin/bash", "-c", "touch a", "/w", false));
        assert_ne!(of("touch a"), of("touch b"));
        assert_ne!(of("touch a"), key("/bin/bash", "-lc", "touch a", "/x", false));
        assert_ne!(of("touch a"), key("/bin/bash", "-lc", "touch a", "/w", true));
        assert_ne!(of("touch a"), key("/bin/sh", "-lc", "touch a", "/w", false));
        // A script that is not a plain command is compared unchanged.
        assert_ne!(of("touch a > b"), of("touch a  > b"));
        assert!(of("touch a && ls").contains("__codex_shell_script__"));
    }

    fn now<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => done,
            Poll::Pending => panic!("nothing is waited for"),
        }
    }

    #[test]
    fn only_session_approvals_of_all_keys_are_reused() {
        use CodexReviewDecision::{Approved, ApprovedForSession};
        let store = ApprovalStore::default();
        let files = |names: &[&str]| {
            FileApprovalKey::for_patch(
                &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(),
            )
        };
        let ask = |names: &[&str], answer: CodexReviewDecision| {
            let mut asked = false;
            let keys = files(names);
            let found = now(with_cached_approval(&store, &keys, async || {
                asked = true;
                answer
            }));
            (found, asked)
        };
        assert_eq!(ask(&["a"], Approved), (Approved, true));
        assert_eq!(ask(&["a"], ApprovedForSession), (ApprovedForSession, true));
        assert_eq!(ask(&["a"], Approved), (ApprovedForSession, false));
        assert_eq!(ask(&["a", "b"], Approved), (Approved, true));
        assert_eq!(ask(&["b", "c"], ApprovedForSession), (ApprovedForSession, true));
        assert_eq!(ask(&["a", "b"], Approved), (ApprovedForSession, false));
        assert_eq!(ask(&[], ApprovedForSession), (ApprovedForSession, true));
        assert_eq!(ask(&[], Approved), (Approved, true));
    }
}
