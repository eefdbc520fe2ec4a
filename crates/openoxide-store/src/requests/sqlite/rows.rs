//! Requests as rows, there and back.

use openoxide_protocol::{AbsPath, ApprovalId, ApprovalRequest, Digest};
use rusqlite::{Connection, OptionalExtension as _, Statement, Transaction, params};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{
    super::{Asking, Ended, Ending, Named, RequestError, Waiting},
    Trouble,
};
use crate::audit::Moment;

/// A shorter beginning of an id is only the time, in minutes.
const SHORTEST: usize = 13;
/// So many are named where a beginning names several.
const SEVERAL: usize = 5;

const COLUMNS: &str = "request.id, request.request, request.shown, session.who, session.project,
    request.asked_at, request.expires_at
    FROM request JOIN session ON session.id = request.session AND session.process = request.process
    WHERE request.answer IS NULL";

/// What is written of a request.
pub(super) struct Row<'a> {
    asking: &'a Asking<'a>,
    pub(super) request: String,
    pub(super) shown: Digest,
}

impl<'a> Row<'a> {
    pub(super) fn of(asking: &'a Asking<'a>) -> Self {
        let request = json(asking.request);
        let project = asking.project.map(AbsPath::as_str);
        let shown = shown(&request, asking.who, project);
        Self { asking, request, shown }
    }

    pub(super) fn insert(
        &self,
        all: &Transaction<'_>,
        process: &str,
        now: Moment,
    ) -> rusqlite::Result<()> {
        let Asking { request, who, project, expires_at } = *self.asking;
        let (id, session) = (request.id.to_string(), request.session.to_string());
        let project = project.map(AbsPath::as_str);
        all.prepare("INSERT OR IGNORE INTO session VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute(params![session, process, who, request.cwd.as_str(), project, millis(now)])?;
        let mut insert = all.prepare(
            "INSERT INTO request (id, session, process, request, operation, explicit, shown, asked_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        insert.execute(params![
            id,
            session,
            process,
            self.request,
            request.digest.to_string(),
            request.explicit_yes_required,
            self.shown.to_string(),
            millis(now),
            expires_at.map(millis),
        ])?;
        Ok(())
    }
}

/// Returns the SHA-256 of what is shown. Each part is preceded by its length, so that none can pass for another.
fn shown(request: &str, who: &str, project: Option<&str>) -> Digest {
    let mut sum = Sha256::new();
    for part in [request, who, project.unwrap_or_default()] {
        sum.update((part.len() as u64).to_le_bytes());
        sum.update(part.as_bytes());
    }
    Digest(sum.finalize().into())
}

/// These shapes have no maps with other keys than texts, so this does not fail; what were empty would not be read again.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

pub(super) fn millis(moment: Moment) -> i64 {
    i64::try_from(moment.0).unwrap_or(i64::MAX)
}

fn moment(millis: i64) -> Moment {
    Moment(u64::try_from(millis).unwrap_or(0))
}

/// Returns what waits, oldest first.
pub(super) fn waiting(
    connection: &Connection,
) -> rusqlite::Result<Vec<Result<Waiting, RequestError>>> {
    let query = format!("SELECT {COLUMNS} ORDER BY request.asked_at, request.id");
    let mut query = connection.prepare(&query)?;
    let found = query.query_map([], read)?.collect::<rusqlite::Result<Vec<_>>>()?;
    drop(query);
    let mut neighbours = neighbours(connection)?;
    found.into_iter().map(|found| checked(&mut neighbours, found)).collect()
}

/// Returns a request that waits.
pub(super) fn one(
    connection: &Connection,
    id: ApprovalId,
) -> rusqlite::Result<Option<Result<Waiting, RequestError>>> {
    let query = format!("SELECT {COLUMNS} AND request.id = ?1");
    let found = connection.query_row(&query, [id.to_string()], read).optional()?;
    found.map(|found| checked(&mut neighbours(connection)?, found)).transpose()
}

/// What a row says of itself.
struct Found {
    id: String,
    request: String,
    shown: String,
    who: String,
    project: Option<String>,
    asked_at: i64,
    expires_at: Option<i64>,
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Found> {
    Ok(Found {
        id: row.get(0)?,
        request: row.get(1)?,
        shown: row.get(2)?,
        who: row.get(3)?,
        project: row.get(4)?,
        asked_at: row.get(5)?,
        expires_at: row.get(6)?,
    })
}

/// A row is what was registered, or an error.
fn checked(
    neighbours: &mut Statement<'_>,
    found: Found,
) -> rusqlite::Result<Result<Waiting, RequestError>> {
    let prefix = prefix(neighbours, &found.id)?;
    let changed = RequestError::Changed(found.id.clone());
    Ok(understood(found, prefix).ok_or(changed))
}

fn understood(found: Found, prefix: usize) -> Option<Waiting> {
    let request: ApprovalRequest = serde_json::from_str(&found.request).ok()?;
    let shown = shown(&found.request, &found.who, found.project.as_deref());
    if shown.to_string() != found.shown || request.id.to_string() != found.id {
        return None;
    }
    Some(Waiting {
        request,
        shown,
        who: found.who,
        project: found.project.as_deref().map(AbsPath::new).transpose().ok()?,
        asked_at: moment(found.asked_at),
        expires_at: found.expires_at.map(moment),
        prefix,
    })
}

/// Asks for the ids before and after one.
fn neighbours(connection: &Connection) -> rusqlite::Result<Statement<'_>> {
    connection.prepare(
        "SELECT (SELECT max(id) FROM request WHERE id < ?1), (SELECT min(id) FROM request WHERE id > ?1)",
    )
}

/// Returns how many letters set an id apart from all others, those that have ended included: who types it means what was seen.
fn prefix(neighbours: &mut Statement<'_>, id: &str) -> rusqlite::Result<usize> {
    let (before, after): (Option<String>, Option<String>) =
        neighbours.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let same = |other: &String| {
        let same = other.bytes().zip(id.bytes()).take_while(|(one, other)| one == other);
        same.count() + 1
    };
    let longest = [before, after].iter().flatten().map(same).max().unwrap_or(0);
    Ok(longest.max(SHORTEST).min(id.len()))
}

/// Returns what a beginning of an id names, with or without its hyphens.
pub(super) fn named(connection: &Connection, beginning: &str) -> Result<Named, Trouble> {
    let Some(beginning) = spelled(beginning) else { return Ok(Named::Nothing) };
    let mut query = connection
        .prepare("SELECT id FROM request WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3")?;
    let (behind, most) = (format!("{beginning}g"), i64::try_from(SEVERAL).unwrap_or(i64::MAX));
    let ids = query.query_map(params![beginning, behind, most], |row| row.get(0))?;
    let ids = ids.collect::<rusqlite::Result<Vec<String>>>()?;
    let mut ids: Vec<ApprovalId> = ids.iter().filter_map(|id| id.parse().ok()).collect();
    match (ids.pop(), ids.is_empty()) {
        (None, _) => Ok(Named::Nothing),
        (Some(id), true) => only(connection, id),
        (Some(id), false) => {
            ids.push(id);
            Ok(Named::Several(ids))
        }
    }
}

fn only(connection: &Connection, id: ApprovalId) -> Result<Named, Trouble> {
    Ok(match one(connection, id)? {
        Some(waiting) => Named::Waiting(Box::new(waiting?)),
        None => {
            end_of(connection, id)?.map_or(Named::Nothing, |(_, ended)| Named::Ended(id, ended))
        }
    })
}

/// Returns a beginning of an id as ids are written: 8-4-4-4-12 digits.
fn spelled(beginning: &str) -> Option<String> {
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

/// Returns the end of a request, if it has ended.
pub(super) fn ended(
    connection: &Connection,
    id: ApprovalId,
    shown: Digest,
) -> Result<Option<Ended>, Trouble> {
    match end_of(connection, id)? {
        Some((of, ended)) if of == shown.to_string() => Ok(Some(ended)),
        Some(_) => Err(RequestError::Changed(id.to_string()).into()),
        None if is_there(connection, id)? => Ok(None),
        None => Err(RequestError::Gone(id).into()),
    }
}

fn is_there(connection: &Connection, id: ApprovalId) -> rusqlite::Result<bool> {
    let mut there = connection.prepare("SELECT 1 FROM request WHERE id = ?1")?;
    there.exists([id.to_string()])
}

/// Returns what an answer was bound to, and the answer.
fn end_of(connection: &Connection, id: ApprovalId) -> Result<Option<(String, Ended)>, Trouble> {
    let mut query = connection.prepare(
        "SELECT shown, answer, answered_by, answered_at FROM request WHERE id = ?1 AND answer IS NOT NULL",
    )?;
    let found: Option<(String, String, String, i64)> = query
        .query_row([id.to_string()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((shown, answer, by, at)) = found else { return Ok(None) };
    let ending: Result<Ending, _> = serde_json::from_str(&answer);
    let ending = ending.map_err(|_| RequestError::Changed(id.to_string()))?;
    Ok(Some((shown, Ended { ending, by, at: moment(at) })))
}
