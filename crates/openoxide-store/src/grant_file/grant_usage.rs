//! The state of each grant: the number of its uses, and whether it was revoked. The state is kept
//! in the state directory, so restoring the project's file does not restore a grant.
//!
//! Use counts are kept in a separate directory. Revoking a grant changes the parent directory,
//! which invalidates every compiled policy that contains the grant. Using a grant does not, because
//! each count is checked when a policy is taken from the cache.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use crate::file_access::{metadata_if_present, read_text};

const REVOKED: &str = "revoked";
/// The directory of the use counts.
const COUNT_DIRECTORY: &str = "counts";
/// The maximum length of a state file. It contains a number or a word.
const MAX_STATE_BYTES: u64 = 32;

/// The directory of the states of grants. Callers must hold the lock to write to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrantUsage<'a>(pub(super) &'a Path);

/// The state of one grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GrantState {
    /// The number of times that the grant was used.
    Used(u32),
    /// The grant was revoked, or its state is unknown.
    Revoked,
}

impl GrantUsage<'_> {
    /// Returns the state of a grant. A state that cannot be read is `Revoked`.
    pub(super) fn read_state(self, id: &str) -> GrantState {
        if !is_grant_id(id) {
            return GrantState::Revoked;
        }
        // Earlier versions wrote the count into the file that records a revocation.
        let fates = [self.0.join(id), self.count_path(id)].map(|path| parse_state_file(&path));
        match fates {
            [GrantState::Used(before), GrantState::Used(now)] => GrantState::Used(before.max(now)),
            _ => GrantState::Revoked,
        }
    }

    pub(super) fn write_count(self, id: &str, used: u32) -> io::Result<()> {
        self.write_file(id, &self.count_path(id), &used.to_string())
    }

    pub(super) fn revoke(self, id: &str) -> io::Result<()> {
        // An entry without a valid id was never used.
        if is_grant_id(id) { self.write_file(id, &self.0.join(id), REVOKED) } else { Ok(()) }
    }

    fn write_file(self, id: &str, path: &Path, text: &str) -> io::Result<()> {
        let directory = path.parent().filter(|_| is_grant_id(id));
        let directory = directory.ok_or_else(|| io::Error::other("a grant without a name"))?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    fn count_path(self, id: &str) -> PathBuf {
        self.0.join(COUNT_DIRECTORY).join(id)
    }
}

/// Returns whether this is a valid id. It consists of hexadecimal digits, so as a file name it
/// cannot refer to another directory.
fn is_grant_id(id: &str) -> bool {
    id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Reads the state of a grant from a file. If there is no file, the grant was not used.
fn parse_state_file(path: &Path) -> GrantState {
    if matches!(metadata_if_present(path), Ok(None)) {
        return GrantState::Used(0);
    }
    let text = read_text(path, MAX_STATE_BYTES).ok();
    text.and_then(|text| text.parse().ok()).map_or(GrantState::Revoked, GrantState::Used)
}
