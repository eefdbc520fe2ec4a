//! New ids. They need the clock and random numbers, which the crates below do not use.

use std::time::{SystemTime, UNIX_EPOCH};

use openoxide_protocol::{ApprovalId, SessionId};

/// Returns a new session id.
#[must_use]
pub fn new_session_id() -> SessionId {
    SessionId::from_parts(now_millis(), random_bytes())
}

/// Returns a new request id.
#[must_use]
pub fn new_approval_id() -> ApprovalId {
    ApprovalId::from_parts(now_millis(), random_bytes())
}

fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns ten random bytes, those of a UUIDv4 that are not fixed by its version.
fn random_bytes() -> [u8; 10] {
    let mut bytes = [0; 10];
    let uuid = uuid::Uuid::new_v4().into_bytes();
    for (byte, from) in bytes.iter_mut().zip(uuid.into_iter().skip(9).chain(uuid)) {
        *byte = from;
    }
    bytes
}
