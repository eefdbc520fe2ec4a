//! The calls of an agent's session that its hook has answered and that have not ended, and those that
//! a person approved in the agent's own dialog.
//!
//! Each session has one file with a MAC of the user's key, so that an agent cannot make one by
//! editing files. A file that is damaged or was changed by others is treated as empty.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    UserEnvironment,
    file_lock::{FileLock, FileLockError},
    grant_key::{self, GrantKeyError},
    run_ticket::{parse_hex, to_hex},
};

const MAC_PURPOSE: &[u8] = b"openoxide session calls 1";

/// The maximum number of calls that have not ended. The oldest ones are removed.
const MAX_ANNOUNCED: usize = 64;

/// The maximum number of approved calls.
const MAX_APPROVED: usize = 256;

/// The maximum size of a file.
const MAX_BYTES: u64 = 1 << 20;

/// The time after which a file that was not changed is removed.
const RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A call that the hook has answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnouncedCall {
    /// The agent's id of the call.
    pub call: String,
    /// The process that announced the call, if it is known.
    pub client: Option<String>,
    /// The start time of the process that the client started to announce the call, in clock ticks
    /// after the boot, if it is known.
    pub hook_start: Option<u64>,
    /// The digest of the tool and its input.
    pub input: String,
    /// The digest of the operation with its directory and accesses.
    pub operation: String,
    /// The number of the audit record of the decision.
    pub record: Option<u64>,
    /// True if the agent was told to ask a person.
    pub is_question: bool,
    /// True if an approval also applies to identical calls.
    pub is_repeatable: bool,
    /// The time of the answer, in milliseconds since 1970.
    pub answered_at: u64,
}

/// A call that a person approved in the agent's own dialog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedCall {
    /// The process whose dialog was answered. The approval applies only to calls of this process.
    pub client: String,
    /// The digest of the operation with its directory and accesses.
    pub operation: String,
}

/// The reason why the calls of a session cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum SessionCallsError {
    /// No state directory is known.
    #[error("no state directory is known; set HOME")]
    NoStateDirectory,
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] GrantKeyError),
    /// The lock cannot be acquired.
    #[error(transparent)]
    Lock(#[from] FileLockError),
    /// The file cannot be read or written.
    #[error("the calls of the session cannot be read or written: {0}")]
    Io(#[from] io::Error),
}

/// The calls of one session.
#[derive(Clone, Debug)]
pub struct SessionCalls {
    state: PathBuf,
    /// The file name: the beginning of the SHA-256 of the agent and the session.
    name: String,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct CallsFile {
    content: CallsContent,
    mac: String,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct CallsContent {
    announced: Vec<AnnouncedCall>,
    approved: Vec<ApprovedCall>,
    /// True once a question of the session has shown how to save a rule.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_rule_hint: bool,
}

impl SessionCalls {
    /// Returns the calls of a session of an agent. This opens no file.
    ///
    /// # Errors
    /// Returns an error if no state directory is known.
    pub fn for_session(
        environment: &UserEnvironment,
        agent: &str,
        session: &str,
    ) -> Result<Self, SessionCallsError> {
        let state = environment.state.as_ref().ok_or(SessionCallsError::NoStateDirectory)?;
        let mut sum = Sha256::new();
        sum.update((agent.len() as u64).to_le_bytes());
        sum.update(agent);
        sum.update(session);
        let digest = to_hex(&sum.finalize());
        let name = digest.get(..32).unwrap_or_default().to_owned();
        Ok(Self { state: state.join("openoxide"), name })
    }

    /// Adds a call that the hook has answered.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn announce(&self, call: AnnouncedCall) -> Result<(), SessionCallsError> {
        self.update(|content| {
            let is_same =
                |known: &AnnouncedCall| (&known.call, &known.client) == (&call.call, &call.client);
            content.announced.retain(|known| !is_same(known));
            content.announced.push(call);
            remove_oldest(&mut content.announced, MAX_ANNOUNCED);
        })
    }

    /// Removes a call that has ended, and returns it. Returns `None` if it was not announced by the
    /// same process.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn end(
        &self,
        call: &str,
        client: Option<&str>,
    ) -> Result<Option<AnnouncedCall>, SessionCallsError> {
        if !self.path().exists() {
            return Ok(None);
        }
        self.update(|content| {
            let is_it =
                |known: &AnnouncedCall| known.call == call && known.client.as_deref() == client;
            let index = content.announced.iter().position(is_it)?;
            Some(content.announced.remove(index))
        })
    }

    /// Returns true only for the first question of the session that can show how to save a rule.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn take_rule_hint(&self) -> Result<bool, SessionCallsError> {
        self.update(|content| !std::mem::replace(&mut content.has_rule_hint, true))
    }

    /// Returns the agent's id of a call with this input that has not ended, if there is exactly one
    /// that the process announced.
    #[must_use]
    pub fn find_announced(&self, input: &str, client: Option<&str>) -> Option<String> {
        let path = self.path();
        let key = grant_key::read_key(&self.state.join("key")).ok()?;
        let content = path.exists().then(|| read_content(&path, &self.name, &key))?;
        let is_it = |known: &&AnnouncedCall| is_same_call(known, input, client);
        let mut found = content.announced.iter().filter(is_it);
        let call = found.next()?.call.clone();
        found.next().is_none().then_some(call)
    }

    /// Marks that the questions about calls with this input were answered outside of the agent's
    /// dialog. The agent's dialog does not say which of several identical calls it is about.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn settle_question(
        &self,
        input: &str,
        client: Option<&str>,
    ) -> Result<(), SessionCallsError> {
        if !self.path().exists() {
            return Ok(());
        }
        self.update(|content| {
            let is_it = |call: &&mut AnnouncedCall| is_same_call(call, input, client);
            content.announced.iter_mut().filter(is_it).for_each(|call| call.is_question = false);
        })
    }

    /// Adds a call that a person approved.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn add_approved(&self, approved: ApprovedCall) -> Result<(), SessionCallsError> {
        self.update(|content| {
            content.approved.retain(|known| *known != approved);
            content.approved.push(approved);
            remove_oldest(&mut content.approved, MAX_APPROVED);
        })
    }

    /// Returns whether a person approved this call. A file that cannot be read contains no
    /// approval.
    #[must_use]
    pub fn is_approved(&self, approved: &ApprovedCall) -> bool {
        let path = self.path();
        if !path.exists() {
            return false;
        }
        let Ok(key) = grant_key::read_key(&self.state.join("key")) else { return false };
        read_content(&path, &self.name, &key).approved.contains(approved)
    }

    fn path(&self) -> PathBuf {
        self.state.join("sessions").join(&self.name)
    }

    fn update<T>(
        &self,
        change: impl FnOnce(&mut CallsContent) -> T,
    ) -> Result<T, SessionCallsError> {
        let directory = self.state.join("sessions");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let _lock = FileLock::acquire(&self.state, "sessions.lock")?;
        let key = grant_key::read_or_create_key(&self.state.join("key"))?;
        let path = self.path();
        if !path.exists() {
            remove_old_files(&directory);
        }
        let mut content = read_content(&path, &self.name, &key);
        let result = change(&mut content);
        write_content(&path, &self.name, &key, content)?;
        Ok(result)
    }
}

fn is_same_call(call: &AnnouncedCall, input: &str, client: Option<&str>) -> bool {
    call.input == input && call.client.as_deref() == client
}

fn remove_oldest<T>(list: &mut Vec<T>, maximum: usize) {
    list.drain(..list.len().saturating_sub(maximum));
}

/// Reads a file. Its content is empty if it is missing or has no valid MAC.
fn read_content(path: &Path, name: &str, key: &[u8]) -> CallsContent {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
    let file: Option<CallsFile> = read.ok().and_then(|_| serde_json::from_slice(&text).ok());
    let valid = file.filter(|file| {
        let mac = compute_mac(&file.content, name, key).zip(parse_hex(&file.mac));
        mac.is_some_and(|(mac, found)| mac.verify_slice(&found).is_ok())
    });
    valid.map(|file| file.content).unwrap_or_default()
}

fn write_content(path: &Path, name: &str, key: &[u8], content: CallsContent) -> io::Result<()> {
    let mac = compute_mac(&content, name, key).ok_or_else(|| io::Error::other("invalid key"))?;
    let file = CallsFile { content, mac: to_hex(&mac.finalize().into_bytes()) };
    let text = serde_json::to_vec(&file).map_err(io::Error::other)?;
    let new = path.with_extension("new");
    let mut options = File::options();
    options.create(true).truncate(true).write(true).mode(0o600);
    options.open(&new)?.write_all(&text)?;
    fs::rename(&new, path)
}

fn compute_mac(content: &CallsContent, name: &str, key: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(MAC_PURPOSE);
    mac.update(name.as_bytes());
    mac.update(&serde_json::to_vec(content).ok()?);
    Some(mac)
}

/// Removes the files of sessions that ended long ago. Errors have no effect on the call.
fn remove_old_files(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.take(64).flatten() {
        let modified = entry.metadata().and_then(|found| found.modified()).ok();
        let age = modified.and_then(|modified| modified.elapsed().ok());
        if age.is_some_and(|age| age > RETENTION) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn session(directory: &TempDir, session: &str) -> SessionCalls {
        let state = Some(directory.path().join("state"));
        let environment = UserEnvironment { state, ..UserEnvironment::default() };
        SessionCalls::for_session(&environment, "claude", session).unwrap()
    }

    fn call(id: &str, client: Option<&str>) -> AnnouncedCall {
        AnnouncedCall {
            call: id.to_owned(),
            client: client.map(str::to_owned),
            hook_start: Some(1),
            input: "i".to_owned(),
            operation: "o".to_owned(),
            record: Some(7),
            is_question: true,
            is_repeatable: true,
            answered_at: 1,
        }
    }

    fn approved(client: &str) -> ApprovedCall {
        ApprovedCall { client: client.to_owned(), operation: "o".to_owned() }
    }

    #[test]
    fn a_call_ends_once_and_only_for_the_process_that_announced_it() {
        let directory = TempDir::new().unwrap();
        let calls = session(&directory, "s");
        assert_eq!(calls.end("1", Some("p")).unwrap(), None);
        calls.announce(call("1", Some("p"))).unwrap();
        assert_eq!(calls.end("1", Some("q")).unwrap(), None);
        // Another process cannot replace the call.
        calls.announce(call("1", Some("other"))).unwrap();
        assert_eq!(calls.end("1", None).unwrap(), None);
        assert_eq!(session(&directory, "t").end("1", Some("p")).unwrap(), None);
        assert_eq!(calls.end("1", Some("p")).unwrap(), Some(call("1", Some("p"))));
        assert_eq!(calls.end("1", Some("p")).unwrap(), None);
    }

    #[test]
    fn an_approval_applies_to_the_same_process_and_operation() {
        let directory = TempDir::new().unwrap();
        let calls = session(&directory, "s");
        assert!(!calls.is_approved(&approved("p")));
        calls.add_approved(approved("p")).unwrap();
        assert!(calls.is_approved(&approved("p")));
        assert!(!calls.is_approved(&approved("q")));
        assert!(!session(&directory, "t").is_approved(&approved("p")));
        let other = ApprovedCall { operation: "x".to_owned(), ..approved("p") };
        assert!(!calls.is_approved(&other));
    }

    #[test]
    fn a_file_that_was_changed_by_others_contains_nothing() {
        let directory = TempDir::new().unwrap();
        let (calls, other) = (session(&directory, "s"), session(&directory, "t"));
        calls.add_approved(approved("p")).unwrap();
        let text = fs::read_to_string(calls.path()).unwrap();
        fs::write(calls.path(), text.replace("\"p\"", "\"q\"")).unwrap();
        assert!(!calls.is_approved(&approved("q")));
        // The MAC includes the name of the file.
        fs::write(other.path(), &text).unwrap();
        assert!(!other.is_approved(&approved("p")));
        fs::write(calls.path(), &text).unwrap();
        assert!(calls.is_approved(&approved("p")));
        fs::write(calls.path(), "{}").unwrap();
        assert!(!calls.is_approved(&approved("p")));
    }

    #[test]
    fn the_number_of_calls_is_limited() {
        let directory = TempDir::new().unwrap();
        let calls = session(&directory, "s");
        for id in 0..=MAX_ANNOUNCED {
            calls.announce(call(&id.to_string(), None)).unwrap();
        }
        assert_eq!(calls.end("0", None).unwrap(), None);
        assert!(calls.end("1", None).unwrap().is_some());
    }
}
