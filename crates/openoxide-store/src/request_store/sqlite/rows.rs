//! Conversion of requests to and from database rows.

use openoxide_protocol::{AbsPath, ApprovalId, ApprovalRequest, OperationDigest};
use rusqlite::{Connection, OptionalExtension as _, Statement, Transaction, params};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{
    super::{
        error::RequestStoreError,
        interface::IdLookup,
        pending_request::{NewRequest, PendingRequest},
        process_identity::ProcessIdentity,
        request_resolution::{RequestResolution, RequestResolutionKind},
    },
    transaction_error::TransactionError,
};
use crate::audit::UtcTimestamp;

/// The minimum length of a prefix of an id. A shorter prefix contains only the time, in minutes.
const MIN_PREFIX_LENGTH: usize = 13;
/// The maximum number of ids that are returned for an ambiguous prefix.
const MAX_AMBIGUOUS_IDS: usize = 5;

const COLUMNS: &str = "request.id, request.request, request.shown, session.who, session.project,
    request.asked_at, request.expires_at, request.process, request.client
    FROM request JOIN session ON session.id = request.session AND session.process = request.process
    WHERE request.answer IS NULL";

/// The stored form of a request.
pub(super) struct RequestRow<'a> {
    new_request: &'a NewRequest<'a>,
    pub(super) request: String,
    pub(super) shown_digest: OperationDigest,
}

impl<'a> RequestRow<'a> {
    pub(super) fn new(new_request: &'a NewRequest<'a>) -> Self {
        let request = to_json(new_request.request);
        let project = new_request.project.map(AbsPath::as_str);
        let shown_digest = compute_shown_digest(&request, new_request.requester, project);
        Self { new_request, request, shown_digest }
    }

    pub(super) fn insert(
        &self,
        all: &Transaction<'_>,
        process: &str,
        now: UtcTimestamp,
    ) -> rusqlite::Result<()> {
        let NewRequest { request, requester: who, project, client, expires_at } = *self.new_request;
        let (id, session) = (request.id.to_string(), request.session.to_string());
        let project = project.map(AbsPath::as_str);
        all.prepare("INSERT OR IGNORE INTO session VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(
            params![session, process, who, request.cwd.as_str(), project, to_millis(now)],
        )?;
        let mut insert = all.prepare(
            "INSERT INTO request (id, session, process, request, operation, explicit, shown, asked_at, expires_at, client)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?;
        insert.execute(params![
            id,
            session,
            process,
            self.request,
            request.digest.to_string(),
            request.requires_explicit_approval,
            self.shown_digest.to_string(),
            to_millis(now),
            expires_at.map(to_millis),
            client,
        ])?;
        Ok(())
    }
}

/// Returns the SHA-256 of the content that is shown. Each part is preceded by its length, so that
/// different parts cannot have the same encoding.
fn compute_shown_digest(request: &str, who: &str, project: Option<&str>) -> OperationDigest {
    let mut sum = Sha256::new();
    for part in [request, who, project.unwrap_or_default()] {
        sum.update((part.len() as u64).to_le_bytes());
        sum.update(part.as_bytes());
    }
    OperationDigest(sum.finalize().into())
}

/// Serializes a value as JSON. These types contain no maps with keys other than strings, so this
/// does not fail. An empty result could not be read back.
pub(super) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

pub(super) fn to_millis(moment: UtcTimestamp) -> i64 {
    i64::try_from(moment.0).unwrap_or(i64::MAX)
}

fn from_millis(millis: i64) -> UtcTimestamp {
    UtcTimestamp(u64::try_from(millis).unwrap_or(0))
}

/// Returns the pending requests, oldest first.
pub(super) fn list_pending(
    connection: &Connection,
) -> rusqlite::Result<Vec<Result<PendingRequest, RequestStoreError>>> {
    let query = format!("SELECT {COLUMNS} ORDER BY request.asked_at, request.id");
    let mut query = connection.prepare(&query)?;
    let found = query.query_map([], read_row)?.collect::<rusqlite::Result<Vec<_>>>()?;
    drop(query);
    let mut neighbours = prepare_neighbour_query(connection)?;
    found.into_iter().map(|found| check_row(&mut neighbours, found)).collect()
}

/// Returns a pending request.
pub(super) fn find_pending(
    connection: &Connection,
    id: ApprovalId,
) -> rusqlite::Result<Option<Result<PendingRequest, RequestStoreError>>> {
    let query = format!("SELECT {COLUMNS} AND request.id = ?1");
    let found = connection.query_row(&query, [id.to_string()], read_row).optional()?;
    found.map(|found| check_row(&mut prepare_neighbour_query(connection)?, found)).transpose()
}

/// The columns of a row, before validation.
struct StoredRow {
    id: String,
    request: String,
    shown: String,
    who: String,
    project: Option<String>,
    asked_at: i64,
    expires_at: Option<i64>,
    process: String,
    client: Option<String>,
}

fn read_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<StoredRow> {
    Ok(StoredRow {
        id: row.get(0)?,
        request: row.get(1)?,
        shown: row.get(2)?,
        who: row.get(3)?,
        project: row.get(4)?,
        asked_at: row.get(5)?,
        expires_at: row.get(6)?,
        process: row.get(7)?,
        client: row.get(8)?,
    })
}

/// Checks that the content of a row is what was registered.
fn check_row(
    neighbours: &mut Statement<'_>,
    found: StoredRow,
) -> rusqlite::Result<Result<PendingRequest, RequestStoreError>> {
    let prefix = unique_prefix_len(neighbours, &found.id)?;
    let changed = RequestStoreError::Changed(found.id.clone());
    Ok(parse_row(found, prefix).ok_or(changed))
}

fn parse_row(found: StoredRow, prefix: usize) -> Option<PendingRequest> {
    let request: ApprovalRequest = serde_json::from_str(&found.request).ok()?;
    let shown = compute_shown_digest(&found.request, &found.who, found.project.as_deref());
    if shown.to_string() != found.shown || request.id.to_string() != found.id {
        return None;
    }
    Some(PendingRequest {
        request,
        shown_digest: shown,
        requester: found.who,
        process: ProcessIdentity::parse(&found.process),
        client: found.client.as_deref().and_then(ProcessIdentity::parse),
        project: found.project.as_deref().map(AbsPath::new).transpose().ok()?,
        asked_at: from_millis(found.asked_at),
        expires_at: found.expires_at.map(from_millis),
        unique_prefix_len: prefix,
    })
}

/// Prepares the query for the ids directly before and after an id.
fn prepare_neighbour_query(connection: &Connection) -> rusqlite::Result<Statement<'_>> {
    connection.prepare(
        "SELECT (SELECT max(id) FROM request WHERE id < ?1), (SELECT min(id) FROM request WHERE id > ?1)",
    )
}

/// Returns the number of characters that distinguish an id from all others, including those of
/// requests that have ended. A typed prefix therefore always means the request that was shown.
fn unique_prefix_len(neighbours: &mut Statement<'_>, id: &str) -> rusqlite::Result<usize> {
    let (before, after): (Option<String>, Option<String>) =
        neighbours.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let same = |other: &String| {
        let same = other.bytes().zip(id.bytes()).take_while(|(one, other)| one == other);
        same.count() + 1
    };
    let longest = [before, after].iter().flatten().map(same).max().unwrap_or(0);
    Ok(longest.max(MIN_PREFIX_LENGTH).min(id.len()))
}

/// Looks up a prefix of an id, with or without its hyphens.
pub(super) fn lookup_prefix(
    connection: &Connection,
    beginning: &str,
) -> Result<IdLookup, TransactionError> {
    let Some(beginning) = normalize_id_prefix(beginning) else { return Ok(IdLookup::NotFound) };
    let mut query = connection
        .prepare("SELECT id FROM request WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3")?;
    let (behind, most) =
        (format!("{beginning}g"), i64::try_from(MAX_AMBIGUOUS_IDS).unwrap_or(i64::MAX));
    let ids = query.query_map(params![beginning, behind, most], |row| row.get(0))?;
    let ids = ids.collect::<rusqlite::Result<Vec<String>>>()?;
    let mut ids: Vec<ApprovalId> = ids.iter().filter_map(|id| id.parse().ok()).collect();
    match (ids.pop(), ids.is_empty()) {
        (None, _) => Ok(IdLookup::NotFound),
        (Some(id), true) => lookup_id(connection, id),
        (Some(id), false) => {
            ids.push(id);
            Ok(IdLookup::Ambiguous(ids))
        }
    }
}

fn lookup_id(connection: &Connection, id: ApprovalId) -> Result<IdLookup, TransactionError> {
    Ok(match find_pending(connection, id)? {
        Some(waiting) => IdLookup::Pending(Box::new(waiting?)),
        None => read_resolution(connection, id)?
            .map_or(IdLookup::NotFound, |(_, ended)| IdLookup::Resolved(id, ended)),
    })
}

/// Returns a prefix of an id in the format of ids: 8-4-4-4-12 digits.
fn normalize_id_prefix(beginning: &str) -> Option<String> {
    let digits: String = beginning.chars().filter(|letter| *letter != '-').collect();
    let is_one = (1..=32).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let mut spelled = String::new();
    for (at, digit) in digits.to_ascii_lowercase().chars().enumerate() {
        if matches!(at, 8 | 12 | 16 | 20) {
            spelled.push('-');
        }
        spelled.push(digit);
    }
    is_one.then_some(spelled)
}

/// Returns the resolution of a request, if it has ended.
pub(super) fn find_resolution(
    connection: &Connection,
    id: ApprovalId,
    shown: OperationDigest,
) -> Result<Option<RequestResolution>, TransactionError> {
    match read_resolution(connection, id)? {
        Some((of, ended)) if of == shown.to_string() => Ok(Some(ended)),
        Some(_) => Err(RequestStoreError::Changed(id.to_string()).into()),
        None if has_request(connection, id)? => Ok(None),
        None => Err(RequestStoreError::NotFound(id).into()),
    }
}

fn has_request(connection: &Connection, id: ApprovalId) -> rusqlite::Result<bool> {
    let mut there = connection.prepare("SELECT 1 FROM request WHERE id = ?1")?;
    there.exists([id.to_string()])
}

/// Returns the digest that an answer was bound to, and the answer.
fn read_resolution(
    connection: &Connection,
    id: ApprovalId,
) -> Result<Option<(String, RequestResolution)>, TransactionError> {
    let mut query = connection.prepare(
        "SELECT shown, answer, answered_by, answered_at FROM request WHERE id = ?1 AND answer IS NOT NULL",
    )?;
    let found: Option<(String, String, String, i64)> = query
        .query_row([id.to_string()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((shown, answer, by, at)) = found else { return Ok(None) };
    let ending: Result<RequestResolutionKind, _> = serde_json::from_str(&answer);
    let ending = ending.map_err(|_| RequestStoreError::Changed(id.to_string()))?;
    Ok(Some((
        shown,
        RequestResolution { kind: ending, resolved_by: by, resolved_at: from_millis(at) },
    )))
}
