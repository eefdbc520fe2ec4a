//! The ends of requests: one by one, along with another, or because nobody waits.

use openoxide_protocol::{ApprovalId, ApprovalResponse, GrantScope, ResolutionKind, SessionId};
use rusqlite::{Transaction, params};

use super::{
    super::{Ending, Process, Waiting},
    rows,
};
use crate::audit::{DAY, Moment};

/// So long is remembered how a request ended, for those who answer too late.
const REMEMBERED: u64 = DAY;

/// Ends one request if it still waits: the comparison and the change are one statement.
pub(super) fn end(
    all: &Transaction<'_>,
    id: ApprovalId,
    ending: &Ending,
    by: &str,
    now: Moment,
) -> rusqlite::Result<bool> {
    let mut end = all.prepare(
        "UPDATE request SET answer = ?2, answered_by = ?3, answered_at = ?4, request = ''
         WHERE id = ?1 AND answer IS NULL",
    )?;
    let ended = end.execute(params![id.to_string(), rows::json(ending), by, rows::millis(now)])?;
    Ok(ended == 1)
}

/// Ends what falls or passes with an answer, as [`openoxide_permission::PermissionGate::answer`] does within one process. What a
/// yes for the project covers, each asker finds out by evaluating anew: the rules are in its policy by now.
pub(super) fn end_others(
    all: &Transaction<'_>,
    answered: &Waiting,
    response: &ApprovalResponse,
    by: &str,
    now: Moment,
) -> rusqlite::Result<usize> {
    let (kind, response, same) = match response {
        ApprovalResponse::Rejected { .. } => {
            (ResolutionKind::Cascade, ApprovalResponse::Rejected { message: None }, false)
        }
        ApprovalResponse::Cancelled => {
            (ResolutionKind::Cascade, ApprovalResponse::Cancelled, false)
        }
        ApprovalResponse::Approved { scope: GrantScope::Session, .. } => {
            let once = ApprovalResponse::approved(GrantScope::Once);
            (ResolutionKind::Retroactive, once, true)
        }
        ApprovalResponse::Approved { .. } | ApprovalResponse::Denied => return Ok(0),
    };
    let ending = rows::json(&Ending::Resolved { kind, response });
    let session: SessionId = answered.request.session;
    all.execute(
        "UPDATE request SET answer = ?2, answered_by = ?3, answered_at = ?4, request = ''
         WHERE session = ?1 AND answer IS NULL AND (NOT ?5 OR operation = ?6 AND NOT explicit)",
        params![
            session.to_string(),
            ending,
            by,
            rows::millis(now),
            same,
            answered.request.digest.to_string(),
        ],
    )
}

/// Ends what nobody waits for any longer.
pub(super) fn expire(all: &Transaction<'_>, now: Moment) -> rusqlite::Result<usize> {
    all.execute(
        "UPDATE request SET answer = ?1, answered_by = 'the clock', answered_at = ?2, request = ''
         WHERE answer IS NULL AND expires_at IS NOT NULL AND expires_at <= ?2",
        params![rows::json(&Ending::Expired), rows::millis(now)],
    )
}

/// Ends what was asked by processes that are gone.
pub(super) fn abandon(all: &Transaction<'_>, now: Moment) -> rusqlite::Result<()> {
    let mut askers = all.prepare(
        "SELECT id, process FROM session WHERE EXISTS (SELECT 1 FROM request
         WHERE request.session = session.id AND request.process = session.process AND answer IS NULL)",
    )?;
    let askers = askers.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let askers: Vec<(String, String)> = askers.collect::<rusqlite::Result<_>>()?;
    let gone = |asker: &&(String, String)| Process::read(&asker.1).is_none_or(|one| one.is_gone());
    for (session, process) in askers.iter().filter(gone) {
        all.execute(
            "UPDATE request SET answer = ?3, answered_by = 'nobody', answered_at = ?4, request = ''
             WHERE session = ?1 AND process = ?2 AND answer IS NULL",
            params![session, process, rows::json(&Ending::Abandoned), rows::millis(now)],
        )?;
    }
    Ok(())
}

/// Forgets what ended long ago.
pub(super) fn forget(all: &Transaction<'_>, now: Moment) -> rusqlite::Result<()> {
    let before = rows::millis(Moment(now.0.saturating_sub(REMEMBERED)));
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
