//! The most recent calls of sessions in which each call is a separate process. A hook needs them to
//! detect a repetition.
//!
//! They are stored in one small file of fixed size, with one slot for each session. Two sessions
//! that share a slot overwrite each other. A repetition is then detected later; there is no other
//! effect. Nothing in the file can allow anything.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::PathBuf,
};

use openoxide_permission::{DOOM_LOOP_THRESHOLD, RecentCalls};
use openoxide_protocol::OperationDigest;
use sha2::{Digest as _, Sha256};

use crate::user_environment::UserEnvironment;

const SLOT_COUNT: u64 = 256;
const DIGEST_BYTES: usize = 32;
const CALLS_BYTES: usize = DOOM_LOOP_THRESHOLD * DIGEST_BYTES;

/// The file that stores the most recent calls.
#[derive(Clone, Debug)]
pub struct RecentCallsFile(Option<PathBuf>);

impl RecentCallsFile {
    /// Returns the file of this user.
    #[must_use]
    pub fn for_user(environment: &UserEnvironment) -> Self {
        Self(environment.state.as_ref().map(|state| state.join("openoxide/repeats")))
    }

    /// Records a call of a session. Returns whether it repeats the previous calls
    /// ([`RecentCalls::record`]).
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written. Whether the call is a repetition is
    /// unknown then.
    pub fn record(&self, session: &str, call: OperationDigest) -> io::Result<bool> {
        self.update(session, |repeats| repeats.record(call))
    }

    /// Returns whether the last recorded call repeats the previous calls and is this call.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written. Whether the call is a repetition is
    /// unknown then.
    pub fn is_loop(&self, session: &str, call: OperationDigest) -> io::Result<bool> {
        self.update(session, |repeats| repeats.is_loop(call))
    }

    fn update(
        &self,
        session: &str,
        what: impl FnOnce(&mut RecentCalls) -> bool,
    ) -> io::Result<bool> {
        let file = self.open()?;
        file.lock()?; // Released when the file is closed.
        let owner: [u8; DIGEST_BYTES] = Sha256::digest(session).into();
        let at = u64::from(owner.first().copied().unwrap_or_default()) % SLOT_COUNT
            * (DIGEST_BYTES + CALLS_BYTES) as u64;
        let mut repeats = read_slot(&file, at, &owner)?;
        let answer = what(&mut repeats);
        let calls = repeats.calls().flat_map(|OperationDigest(bytes)| bytes);
        let mut slot: Vec<u8> = owner.into_iter().chain(calls).collect();
        slot.resize(DIGEST_BYTES + CALLS_BYTES, 0);
        file.write_all_at(&slot, at)?;
        Ok(answer)
    }

    fn open(&self) -> io::Result<File> {
        let path = self.0.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        options.open(path).or_else(|error| match (error.kind(), path.parent()) {
            (io::ErrorKind::NotFound, Some(directory)) => {
                fs::create_dir_all(directory)?;
                options.open(path)
            }
            _ => Err(error),
        })
    }
}

/// Reads the slot at this position. Returns no calls if it belongs to another session or was never
/// written.
fn read_slot(file: &File, at: u64, owner: &[u8; DIGEST_BYTES]) -> io::Result<RecentCalls> {
    let mut slot = [0; DIGEST_BYTES + CALLS_BYTES];
    match file.read_exact_at(&mut slot, at) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
        Err(_) => return Ok(RecentCalls::default()),
        Ok(()) => {}
    }
    let (found, calls) = slot.split_at(DIGEST_BYTES);
    let mut repeats = RecentCalls::default();
    let written = |call: &&[u8]| found == owner && call.iter().any(|byte| *byte != 0);
    for call in calls.chunks_exact(DIGEST_BYTES).filter(written) {
        repeats.record(OperationDigest(call.try_into().unwrap_or_default()));
    }
    Ok(repeats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_is_noticed_from_one_process_to_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let file = RecentCallsFile(Some(dir.path().join("deep/repeats")));
        let call = |byte| OperationDigest([byte; 32]);
        assert!(!file.record("a", call(1)).unwrap());
        assert!(!file.record("a", call(1)).unwrap());
        assert!(!file.is_loop("a", call(1)).unwrap());
        assert!(!file.record("another", call(1)).unwrap(), "sessions do not count together");
        assert!(file.record("a", call(1)).unwrap());
        assert!(file.is_loop("a", call(1)).unwrap() && !file.is_loop("a", call(2)).unwrap());
        assert!(!file.record("a", call(2)).unwrap());
        let length = fs::metadata(dir.path().join("deep/repeats")).unwrap().len();
        assert!(length <= SLOT_COUNT * 128, "{length}");
    }

    #[test]
    fn a_call_that_cannot_be_recorded_is_an_error() {
        assert!(RecentCallsFile(None).record("a", OperationDigest([1; 32])).is_err());
        let dir = tempfile::tempdir().unwrap();
        assert!(
            RecentCallsFile(Some(dir.path().to_owned()))
                .record("a", OperationDigest([1; 32]))
                .is_err()
        );
    }
}
