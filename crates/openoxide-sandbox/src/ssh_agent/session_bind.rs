//! The extension `session-bind@openssh.com`: a host's signature over the identifier of a session.
//!
//! The identifier is a hash of the whole key exchange (RFC 4253, 7.2). So a host that has signed it
//! is the other end of the session, and a signature of the user over the same identifier is worthless
//! anywhere else.

use signature::Verifier as _;
use ssh_key::{
    Signature,
    encoding::{Decode as _, Reader as _},
    public::KeyData,
};

use crate::ssh_agent::agent_message::EXTENSION;

/// The name of the extension (PROTOCOL.agent of OpenSSH).
const EXTENSION_NAME: &[u8] = b"session-bind@openssh.com";
/// The lengths of the hashes of all key exchange methods: SHA-1 to SHA-512.
const SESSION_ID_BYTES: std::ops::RangeInclusive<usize> = 20..=64;

/// A session, and the host at its other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoundSession {
    /// The identifier of the session.
    pub(super) session_id: Vec<u8>,
    /// The key of the host, as it is encoded in messages.
    pub(super) host_key: Vec<u8>,
}

/// The reason that a session is not bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BindError {
    /// The message is malformed, or it is another extension.
    NotABind,
    /// The session would be used by programs of another machine.
    Forwarded,
    /// The key of the host is of an unsupported type, such as a certificate.
    UnsupportedKey,
    /// The signature is not that of the host.
    WrongSignature,
}

impl BoundSession {
    /// Parses and verifies a message of the extension.
    ///
    /// # Errors
    /// Returns why the message proves nothing.
    pub(super) fn verify(message: &[u8]) -> Result<Self, BindError> {
        let fields = BindFields::parse(message).ok_or(BindError::NotABind)?;
        if fields.is_forwarding {
            return Err(BindError::Forwarded);
        }
        let key = parse_host_key(&fields.host_key).ok_or(BindError::UnsupportedKey)?;
        let mut bytes = fields.signature.as_slice();
        let signature = Signature::decode(&mut bytes).map_err(|_| BindError::WrongSignature)?;
        let is_genuine = bytes.is_empty() && key.verify(&fields.session_id, &signature).is_ok();
        if !is_genuine {
            return Err(BindError::WrongSignature);
        }
        Ok(Self { session_id: fields.session_id, host_key: fields.host_key })
    }
}

/// Returns a host key, if it is of a plain type.
fn parse_host_key(blob: &[u8]) -> Option<KeyData> {
    let mut bytes = blob;
    let key = KeyData::decode(&mut bytes).ok().filter(|_| bytes.is_empty())?;
    matches!(key, KeyData::Ed25519(_) | KeyData::Ecdsa(_) | KeyData::Rsa(_)).then_some(key)
}

struct BindFields {
    host_key: Vec<u8>,
    session_id: Vec<u8>,
    signature: Vec<u8>,
    is_forwarding: bool,
}

impl BindFields {
    fn parse(message: &[u8]) -> Option<Self> {
        let mut rest = message.strip_prefix(&[EXTENSION])?;
        let reader = &mut rest;
        let name: Vec<u8> = Vec::decode(reader).ok()?;
        let fields = Self {
            host_key: Vec::decode(reader).ok()?,
            session_id: Vec::decode(reader).ok()?,
            signature: Vec::decode(reader).ok()?,
            is_forwarding: u8::decode(reader).ok()? != 0,
        };
        let is_complete = name == EXTENSION_NAME && reader.is_finished();
        (is_complete && SESSION_ID_BYTES.contains(&fields.session_id.len())).then_some(fields)
    }
}
