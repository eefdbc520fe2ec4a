//! The requests to sign something: only the sign-in of a session is understood.

use ssh_key::encoding::{Decode as _, Reader as _};

use crate::ssh_agent::agent_message::SIGN_REQUEST;

/// The number of the message that is signed (RFC 4252, 6).
const USERAUTH_REQUEST: u8 = 50;
/// The service that a user signs in to.
const CONNECTION_SERVICE: &[u8] = b"ssh-connection";
/// The method of a signature with a key (RFC 4252, 7).
const PUBLIC_KEY_METHOD: &[u8] = b"publickey";
/// The same with the key of the host (PROTOCOL of OpenSSH, 1.8).
const HOST_BOUND_METHOD: &[u8] = b"publickey-hostbound-v00@openssh.com";
/// The start of data that `ssh-keygen -Y sign` signs (PROTOCOL.sshsig of OpenSSH).
const FILE_SIGNATURE_START: &[u8] = b"SSHSIG";

/// The data that a program wants to have signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SignedData {
    /// The sign-in of a session.
    SignIn(SignIn),
    /// A file or a commit.
    File,
    /// Anything else.
    Unknown,
}

/// The sign-in of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SignIn {
    /// The identifier of the session.
    pub(super) session_id: Vec<u8>,
    /// The key of the host, if the data contains it.
    pub(super) host_key: Option<Vec<u8>>,
}

/// Parses a request to sign. Returns `None` if it is malformed.
pub(super) fn parse_request(message: &[u8]) -> Option<SignedData> {
    let mut rest = message.strip_prefix(&[SIGN_REQUEST])?;
    let reader = &mut rest;
    let key: Vec<u8> = Vec::decode(reader).ok()?;
    let data: Vec<u8> = Vec::decode(reader).ok()?;
    // The flags select the hash of an RSA signature.
    u32::decode(reader).ok()?;
    if !reader.is_finished() {
        return None;
    }
    Some(match parse_sign_in(&data, &key) {
        Some(sign_in) => SignedData::SignIn(sign_in),
        None if data.starts_with(FILE_SIGNATURE_START) => SignedData::File,
        None => SignedData::Unknown,
    })
}

/// Parses the data of a sign-in with this key.
fn parse_sign_in(mut data: &[u8], key: &[u8]) -> Option<SignIn> {
    let reader = &mut data;
    let session_id = Vec::decode(reader).ok()?;
    let number = u8::decode(reader).ok()?;
    let _user: Vec<u8> = Vec::decode(reader).ok()?;
    let service: Vec<u8> = Vec::decode(reader).ok()?;
    let method: Vec<u8> = Vec::decode(reader).ok()?;
    let has_signature = u8::decode(reader).ok()?;
    let _algorithm: Vec<u8> = Vec::decode(reader).ok()?;
    let own_key: Vec<u8> = Vec::decode(reader).ok()?;
    let host_key = match method.as_slice() {
        PUBLIC_KEY_METHOD => None,
        HOST_BOUND_METHOD => Some(Vec::decode(reader).ok()?),
        _ => return None,
    };
    let is_sign_in = number == USERAUTH_REQUEST
        && service == CONNECTION_SERVICE
        && has_signature == 1
        && own_key == key
        && reader.is_finished();
    is_sign_in.then_some(SignIn { session_id, host_key })
}
