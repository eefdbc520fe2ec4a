//! Tickets: permission to run one command of an agent in the sandbox, once.
//!
//! The hook of an agent issues a ticket and makes the agent start `openoxide sandbox exec` instead
//! of the command. The ticket is a file in the state directory, with a MAC of the user's key, so
//! that an agent cannot make one.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use hmac::{Hmac, KeyInit as _, Mac as _};
use openoxide_protocol::{AbsPath, PermissionMode};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::{
    UserEnvironment, directory_identity,
    grant_key::{self, GrantKeyError},
};

const MAC_PURPOSE: &[u8] = b"openoxide run ticket 1";

/// The time in which a ticket can be used.
const VALIDITY: Duration = Duration::from_secs(60 * 60);

/// The maximum size of a ticket. The script of a call is limited as well.
const MAX_TICKET_BYTES: u64 = 65 << 20;

/// A command of an agent that may run once in the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunTicket {
    /// The agent that makes the call.
    pub agent: String,
    /// The agent's id of the conversation.
    pub session: String,
    /// The shell script.
    pub script: String,
    /// The directory in which it runs.
    pub cwd: AbsPath,
    /// The identities of that directory and of others that the call enters, when it was decided.
    pub directories: Vec<KnownDirectory>,
    /// The project whose policy applies.
    pub project: AbsPath,
    /// The mode that the person chose in the agent.
    pub mode: Option<PermissionMode>,
    /// The number of the audit record of the decision.
    pub record: Option<u64>,
}

/// A directory, and its identity when a call was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownDirectory {
    path: AbsPath,
    identity: String,
}

impl KnownDirectory {
    /// Records the directory that a path leads to now.
    #[must_use]
    pub fn at(path: AbsPath) -> Self {
        let identity = directory_identity(&path);
        Self { path, identity }
    }

    /// Returns whether the path still leads to the same directory.
    fn is_unchanged(&self) -> bool {
        directory_identity(&self.path) == self.identity
    }
}

/// The reason for which a ticket cannot be issued or used.
#[derive(Debug, thiserror::Error)]
pub enum RunTicketError {
    /// No state directory is known.
    #[error("no state directory is known; set HOME")]
    NoStateDirectory,
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] GrantKeyError),
    /// There is no such ticket.
    #[error("the ticket does not exist, or was already used")]
    NotFound,
    /// The ticket was not issued by this user's hook.
    #[error("the ticket is not valid")]
    Invalid,
    /// The ticket is too old.
    #[error("the ticket has expired")]
    Expired,
    /// A path leads to another directory than when the call was decided.
    #[error("`{0}` is another directory now; make the call again")]
    DirectoryReplaced(AbsPath),
    /// The ticket cannot be read or written.
    #[error("the ticket cannot be read or written: {0}")]
    Io(#[from] io::Error),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TicketFile {
    id: String,
    issued_at: u64,
    ticket: RunTicket,
    #[serde(default)]
    mac: String,
}

impl RunTicket {
    /// Stores the ticket, and returns its id.
    ///
    /// # Errors
    /// Returns an error if the ticket cannot be stored.
    pub fn issue(&self, environment: &UserEnvironment) -> Result<String, RunTicketError> {
        let state = state_directory(environment)?;
        let directory = state.join("tickets");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        remove_expired(&directory);
        let key = grant_key::read_or_create_key(&state.join("key"))?;
        let id = grant_key::generate_id()?;
        let (issued_at, ticket, mac) = (unix_seconds(), self.clone(), String::new());
        let mut file = TicketFile { id, issued_at, ticket, mac };
        file.mac = to_hex(&file.compute_mac(&key)?.finalize().into_bytes());
        let text = serde_json::to_vec(&file).map_err(io::Error::other)?;
        let path = directory.join(&file.id);
        File::options().create_new(true).write(true).mode(0o600).open(path)?.write_all(&text)?;
        Ok(file.id)
    }

    /// Returns a valid ticket without using it.
    ///
    /// # Errors
    /// Returns an error if the ticket is missing, invalid or expired.
    pub fn read(environment: &UserEnvironment, id: &str) -> Result<Self, RunTicketError> {
        let state = state_directory(environment)?;
        read_ticket(&state, &ticket_path(&state, id)?, id)
    }

    /// Uses a ticket. It cannot be used again, whatever the result.
    ///
    /// # Errors
    /// Returns an error if the ticket is missing, invalid or expired, or if one of its paths leads
    /// to another directory.
    pub fn redeem(environment: &UserEnvironment, id: &str) -> Result<Self, RunTicketError> {
        let state = state_directory(environment)?;
        let path = ticket_path(&state, id)?;
        let used = path.with_extension(format!("used-{}", std::process::id()));
        fs::rename(&path, &used).map_err(not_found)?;
        let ticket = read_ticket(&state, &used, id);
        fs::remove_file(&used)?;
        let ticket = ticket?;
        match ticket.directories.iter().find(|directory| !directory.is_unchanged()) {
            Some(replaced) => Err(RunTicketError::DirectoryReplaced(replaced.path.clone())),
            None => Ok(ticket),
        }
    }
}

impl TicketFile {
    fn compute_mac(&self, key: &[u8]) -> Result<Hmac<Sha256>, RunTicketError> {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(|_| RunTicketError::Invalid)?;
        let ticket = serde_json::to_vec(&self.ticket).map_err(io::Error::other)?;
        mac.update(MAC_PURPOSE);
        mac.update(&self.issued_at.to_le_bytes());
        mac.update(self.id.as_bytes());
        mac.update(&ticket);
        Ok(mac)
    }
}

fn read_ticket(state: &Path, path: &Path, id: &str) -> Result<RunTicket, RunTicketError> {
    let key = grant_key::read_key(&state.join("key"))?;
    let mut text = Vec::new();
    File::open(path).map_err(not_found)?.take(MAX_TICKET_BYTES).read_to_end(&mut text)?;
    let file: TicketFile = serde_json::from_slice(&text).map_err(|_| RunTicketError::Invalid)?;
    let mac = parse_hex(&file.mac).ok_or(RunTicketError::Invalid)?;
    file.compute_mac(&key)?.verify_slice(&mac).map_err(|_| RunTicketError::Invalid)?;
    if file.id != id {
        return Err(RunTicketError::Invalid);
    }
    let age = unix_seconds().checked_sub(file.issued_at).ok_or(RunTicketError::Expired)?;
    if age > VALIDITY.as_secs() {
        return Err(RunTicketError::Expired);
    }
    Ok(file.ticket)
}

fn state_directory(environment: &UserEnvironment) -> Result<PathBuf, RunTicketError> {
    let state = environment.state.as_ref().ok_or(RunTicketError::NoStateDirectory)?;
    Ok(state.join("openoxide"))
}

/// Returns the path of a ticket. An id from outside must not lead elsewhere.
fn ticket_path(state: &Path, id: &str) -> Result<PathBuf, RunTicketError> {
    let is_id = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { Ok(state.join("tickets").join(id)) } else { Err(RunTicketError::NotFound) }
}

/// Removes tickets that were never used. Errors have no effect on the call.
fn remove_expired(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.take(64).flatten() {
        let age = entry.metadata().and_then(|found| found.modified()).ok();
        let age = age.and_then(|modified| modified.elapsed().ok());
        if age.is_some_and(|age| age > VALIDITY) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

fn not_found(error: io::Error) -> RunTicketError {
    match error.kind() {
        io::ErrorKind::NotFound => RunTicketError::NotFound,
        _ => RunTicketError::Io(error),
    }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Parses hexadecimal digits.
pub(crate) fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn environment(directory: &TempDir) -> UserEnvironment {
        UserEnvironment {
            state: Some(directory.path().join("state")),
            ..UserEnvironment::default()
        }
    }

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).unwrap()
    }

    fn ticket() -> RunTicket {
        RunTicket {
            agent: "claude".to_owned(),
            session: "s".to_owned(),
            script: "make".to_owned(),
            cwd: path("/p/sub"),
            directories: vec![KnownDirectory::at(path("/p/sub"))],
            project: path("/p"),
            mode: None,
            record: Some(7),
        }
    }

    #[test]
    fn a_ticket_is_used_once() {
        let directory = TempDir::new().unwrap();
        let user = environment(&directory);
        let id = ticket().issue(&user).unwrap();
        assert_eq!(RunTicket::read(&user, &id).unwrap(), ticket());
        assert_eq!(RunTicket::redeem(&user, &id).unwrap(), ticket());
        assert!(matches!(RunTicket::redeem(&user, &id), Err(RunTicketError::NotFound)));
        let tickets = directory.path().join("state/openoxide/tickets");
        assert_eq!(fs::read_dir(tickets).unwrap().count(), 0);
    }

    #[test]
    fn a_ticket_is_bound_to_the_directories_and_not_to_their_paths() {
        let directory = TempDir::new().unwrap();
        let user = environment(&directory);
        let at = |name: &str| directory.path().join(name);
        let link = AbsPath::new(at("link").to_str().unwrap()).unwrap();
        fs::create_dir(at("one")).unwrap();
        fs::create_dir(at("two")).unwrap();
        symlink(at("one"), at("link")).unwrap();
        let issue = || {
            let directories = vec![KnownDirectory::at(link.clone())];
            RunTicket { directories, ..ticket() }.issue(&user).unwrap()
        };
        let is_replaced = |id: &str| {
            matches!(RunTicket::redeem(&user, id), Err(RunTicketError::DirectoryReplaced(_)))
        };
        assert!(!is_replaced(&issue()));
        let (moved, created) = (issue(), issue());
        fs::remove_file(at("link")).unwrap();
        symlink(at("two"), at("link")).unwrap();
        assert!(is_replaced(&moved));
        fs::remove_file(at("link")).unwrap();
        fs::create_dir(at("link")).unwrap();
        assert!(is_replaced(&created));
        let removed = issue();
        fs::remove_dir(at("link")).unwrap();
        assert!(is_replaced(&removed));
    }

    #[test]
    fn a_ticket_that_was_made_or_changed_by_others_is_not_valid() {
        let directory = TempDir::new().unwrap();
        let user = environment(&directory);
        let id = ticket().issue(&user).unwrap();
        let file = directory.path().join("state/openoxide/tickets").join(&id);
        let text = fs::read_to_string(&file).unwrap();
        let is_invalid = |text: &str| {
            fs::write(&file, text).unwrap();
            matches!(RunTicket::read(&user, &id), Err(RunTicketError::Invalid))
        };
        assert!(is_invalid(&text.replace("make", "evil")));
        assert!(is_invalid(&text.replace("\"record\":7", "\"record\":8")));
        assert!(is_invalid(&text.replace("\"mac\":\"", "\"mac\":\"00")));
        assert!(is_invalid("{}"));
        let issued = text.split("\"issued_at\":").nth(1).unwrap().split(',').next().unwrap();
        assert!(is_invalid(&text.replace(issued, "1")));
        // The id is part of the MAC, so a copy under another id is not a second use.
        fs::write(&file, &text).unwrap();
        let other = "0123456789abcdef";
        fs::copy(&file, file.with_file_name(other)).unwrap();
        assert!(matches!(RunTicket::read(&user, other), Err(RunTicketError::Invalid)));
        assert_eq!(RunTicket::read(&user, &id).unwrap(), ticket());
        for id in ["", "../key", "0123456789abcde/", "0123456789abcdefg"] {
            assert!(matches!(RunTicket::read(&user, id), Err(RunTicketError::NotFound)), "{id}");
        }
    }
}
