//! The resolution of requests: one by one, together with another one, or because they are stale.

use openoxide_protocol::{ApprovalId, ApprovalResponse, GrantScope, ResolutionKind, SessionId};
use rusqlite::{Transaction, params};

use super::{
    super::{
        pending_request::PendingRequest, process_identity::ProcessIdentity,
        request_resolution::RequestResolutionKind,
    },
    rows,
};
use crate::audit::{MILLIS_PER_DAY, UtcTimestamp};

/// The time for which the resolution of a request is kept, for reviewers who answer too late.
const RETENTION_MILLIS: u64 = MILLIS_PER_DAY;

/// Ends a request if it is still pending. A single statement compares and changes the row.
pub(super) fn resolve_request(
    all: &Transaction<'_>,
    id: ApprovalId,
    ending: &RequestResolutionKind,
    by: &str,
    now: UtcTimestamp,
) -> rusqlite::Result<bool> {
    let mut end = all.prepare(
        "UPDATE request SET answer = ?2, answered_by = ?3, answered_at = ?4, request = ''
         WHERE id = ?1 AND answer IS NULL",
    )?;
    let ended =
        end.execute(params![id.to_string(), rows::to_json(ending), by, rows::to_millis(now)])?;
    Ok(ended == 1)
}

/// Ends the other requests that an answer rejects or approves, as
/// [`openoxide_permission::PermissionGate::answer`] does within one process. Requests that an
/// approval for the project covers are not ended here: each requester evaluates its request again,
/// and the rules are in its policy by then.
pub(super) fn resolve_others(
    all: &Transaction<'_>,
    answered: &PendingRequest,
    response: &ApprovalResponse,
    by: &str,
    now: UtcTimestamp,
) -> rusqlite::Result<usize> {
    let (kind, response, same) = match response {
        ApprovalResponse::Rejected { .. } => {
            (ResolutionKind::Cascade, ApprovalResponse::Rejected { message: None }, false)
        }
        ApprovalResponse::Cancelled => {
            (ResolutionKind::Cascade, ApprovalResponse::Cancelled, false)
        }
        ApprovalResponse::Approved { scope: GrantScope::Session, .. } => {
            let once = ApprovalResponse::new_approval(GrantScope::Once);
            (ResolutionKind::Retroactive, once, true)
        }
        ApprovalResponse::Approved { .. } | ApprovalResponse::Denied => return Ok(0),
    };
    let ending = rows::to_json(&RequestResolutionKind::Resolved { kind, response });
    let session: SessionId = answered.request.session;
    all.execute(
        "UPDATE request SET answer = ?2, answered_by = ?3, answered_at = ?4, request = ''
         WHERE session = ?1 AND answer IS NULL AND (NOT ?5 OR operation = ?6 AND NOT explicit)",
        params![
            session.to_string(),
            ending,
            by,
            rows::to_millis(now),
            same,
            answered.request.digest.to_string(),
        ],
    )
}

/// Ends the requests that have expired.
pub(super) fn resolve_expired(all: &Transaction<'_>, now: UtcTimestamp) -> rusqlite::Result<usize> {
    all.execute(
        "UPDATE request SET answer = ?1, answered_by = 'timeout', answered_at = ?2, request = ''
         WHERE answer IS NULL AND expires_at IS NOT NULL AND expires_at <= ?2",
        params![rows::to_json(&RequestResolutionKind::Expired), rows::to_millis(now)],
    )
}

/// Ends the requests of processes that have exited.
pub(super) fn resolve_abandoned(all: &Transaction<'_>, now: UtcTimestamp) -> rusqlite::Result<()> {
    let mut askers = all.prepare(
        "SELECT id, process FROM session WHERE EXISTS (SELECT 1 FROM request
         WHERE request.session = session.id AND request.process = session.process AND answer IS NULL)",
    )?;
    let askers = askers.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let askers: Vec<(String, String)> = askers.collect::<rusqlite::Result<_>>()?;
    let gone = |asker: &&(String, String)| {
        ProcessIdentity::parse(&asker.1).is_none_or(|one| one.has_exited())
    };
    for (session, process) in askers.iter().filter(gone) {
        all.execute(
            "UPDATE request SET answer = ?3, answered_by = 'no one', answered_at = ?4, request = ''
             WHERE session = ?1 AND process = ?2 AND answer IS NULL",
            params![
                session,
                process,
                rows::to_json(&RequestResolutionKind::Abandoned),
                rows::to_millis(now)
            ],
        )?;
    }
    Ok(())
}

/// Deletes requests that ended longer ago than the retention time.
pub(super) fn delete_old(all: &Transaction<'_>, now: UtcTimestamp) -> rusqlite::Result<()> {
    let before = rows::to_millis(UtcTimestamp(now.0.saturating_sub(RETENTION_MILLIS)));
    let forgotten = "DELETE FROM request WHERE answer IS NOT NULL AND answered_at < ?1";
    if all.execute(forgotten, [before])? > 0 {
        all.execute(
            "DELETE FROM session WHERE NOT EXISTS (SELECT 1 FROM request
             WHERE request.session = session.id AND request.process = session.process)",
            [],
        )?;
    }
    Ok(())
}
