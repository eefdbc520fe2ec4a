//! Messages of the agent protocol (draft-ietf-sshm-ssh-agent): a length, and that many bytes.

use std::io::{self, Read, Write};

/// The maximum length of a message (`AGENT_MAX_LEN` of OpenSSH).
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

pub(super) const FAILURE: u8 = 5;
pub(super) const REQUEST_IDENTITIES: u8 = 11;
pub(super) const IDENTITIES_ANSWER: u8 = 12;
pub(super) const SIGN_REQUEST: u8 = 13;
pub(super) const ADD_IDENTITY: u8 = 17;
pub(super) const REMOVE_IDENTITY: u8 = 18;
pub(super) const REMOVE_ALL_IDENTITIES: u8 = 19;
pub(super) const ADD_SMARTCARD_KEY: u8 = 20;
pub(super) const REMOVE_SMARTCARD_KEY: u8 = 21;
pub(super) const LOCK: u8 = 22;
pub(super) const UNLOCK: u8 = 23;
pub(super) const ADD_ID_CONSTRAINED: u8 = 25;
pub(super) const ADD_SMARTCARD_KEY_CONSTRAINED: u8 = 26;
pub(super) const EXTENSION: u8 = 27;

/// Reads one message. Returns `None` at the end of the stream.
///
/// # Errors
/// Returns an error if the message is empty or too long, or if the stream ends within it.
pub(super) fn read_message(mut from: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?;
    if !(1..=MAX_MESSAGE_BYTES).contains(&length) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut message = vec![0; length];
    from.read_exact(&mut message)?;
    Ok(Some(message))
}

/// Writes one message.
///
/// # Errors
/// Returns an error if the message is too long, or if it cannot be written.
pub(super) fn write_message(mut to: impl Write, message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len()).map_err(io::Error::other)?;
    to.write_all(&[&length.to_be_bytes(), message].concat())
}
