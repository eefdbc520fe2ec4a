//! The data base: one SQLite file that many processes share.

mod endings;
mod rows;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use openoxide_protocol::{ApprovalId, ApprovalResponse, Digest, GrantScope, ResolutionKind};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, config::DbConfig};

use self::endings::{abandon, end, end_others, expire, forget};
use super::{
    Answering, Asking, Ended, Ending, Named, Process, RequestError, Requests, Waiting, place,
    schema,
};
use crate::{audit::Moment, locations::Environment};

/// A lock that is held longer is held by something that hangs.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many bytes SQLite reads and writes at once.
const PAGE: i64 = 16 << 10;
/// How many KiB of them are kept at most: what ten thousand requests change fits.
const CACHE: i64 = 32 << 10;
/// How long the log may grow before what it says is written over the file.
const LOG: i64 = 4 << 20;
/// A longer request is no request.
const LONGEST: usize = 16 << 20;

/// The requests of one user, in `$XDG_STATE_HOME/openoxide/openoxide.db`.
#[derive(Debug)]
pub struct SqliteRequests {
    path: PathBuf,
    connection: Connection,
    /// What `PRAGMA data_version` said last.
    seen: i64,
}

impl SqliteRequests {
    /// Opens the data base of this user, and makes it if there is none. This costs more than to decide: only who has to wait,
    /// lists or answers does it.
    ///
    /// # Errors
    /// When it cannot be made or used, was written by a newer version, or could have been written by others.
    pub fn open(environment: &Environment) -> Result<Self, RequestError> {
        let state = environment.state.as_ref().ok_or(RequestError::Nowhere)?;
        Self::open_in(&state.join("openoxide"))
    }

    /// As [`open`](Self::open), but makes none.
    ///
    /// # Errors
    /// As those of `open`.
    pub fn open_existing(environment: &Environment) -> Result<Option<Self>, RequestError> {
        let state = environment.state.as_ref().ok_or(RequestError::Nowhere)?;
        let directory = state.join("openoxide");
        place::is_there(&directory).then(|| Self::open_in(&directory)).transpose()
    }

    /// As [`open`](Self::open), in a directory that is named.
    ///
    /// # Errors
    /// As those of `open`.
    pub fn open_in(directory: &std::path::Path) -> Result<Self, RequestError> {
        let path = place::made(directory)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let opened = Connection::open_with_flags(&path, flags);
        let connection = opened.map_err(|error| RequestError::of(&path, error))?;
        let mut requests = Self { path, connection, seen: 0 };
        requests.prepare_in_time()?;
        requests.seen = requests.data_version()?;
        Ok(requests)
    }

    /// Waits for its turn. Who changes the journal's mode, and who mends what a killed process left, is told at once that another one is
    /// at it, whatever time was allowed.
    fn prepare_in_time(&mut self) -> Result<(), RequestError> {
        let since = Instant::now();
        loop {
            match self.prepare() {
                Err(RequestError::Locked(_)) if since.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                done => return done,
            }
        }
    }

    /// Looks at the version first: what a newer program wrote is not touched.
    fn prepare(&mut self) -> Result<(), RequestError> {
        let Self { path, connection, .. } = self;
        let failed = |error| RequestError::of(path, error);
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        let version = schema::version(connection).map_err(failed)?;
        if version > schema::VERSION {
            return Err(RequestError::Newer { path: path.clone(), version });
        }
        settings(connection).map_err(failed)?;
        if version < schema::VERSION {
            schema::migrate(connection).map_err(failed)?;
        }
        Ok(())
    }

    fn data_version(&self) -> Result<i64, RequestError> {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        version.map_err(|error| RequestError::of(&self.path, error))
    }

    /// Does something that nobody else can write into: all of it counts, or nothing.
    fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<Option<T>, Trouble>,
    ) -> Result<Option<T>, RequestError> {
        let Self { path, connection, .. } = self;
        let done = (|| {
            let all = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&all)?;
            match done {
                Some(_) => all.commit()?,
                None => all.rollback()?,
            }
            Ok(done)
        })();
        done.map_err(|trouble: Trouble| trouble.at(path))
    }
}

/// What may go wrong in a transaction.
enum Trouble {
    Sqlite(rusqlite::Error),
    Ours(RequestError),
}

impl Trouble {
    fn at(self, path: &std::path::Path) -> RequestError {
        match self {
            Self::Sqlite(error) => RequestError::of(path, error),
            Self::Ours(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<RequestError> for Trouble {
    fn from(error: RequestError) -> Self {
        Self::Ours(error)
    }
}

/// A killed process loses nothing that it was told is written; what a dead machine loses, nobody waits for any more. What has
/// ended leaves no trace of its text in the file.
fn settings(connection: &Connection) -> rusqlite::Result<()> {
    // It counts for a file that is new. Where thousands of requests end together, the number of pages that are written is what takes time.
    connection.pragma_update(None, "page_size", PAGE)?;
    connection.pragma_update(None, "cache_size", -CACHE)?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG / PAGE)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(())
}

impl Requests for SqliteRequests {
    fn register(&mut self, asking: &Asking<'_>) -> Result<Digest, RequestError> {
        let row = rows::Row::of(asking);
        if row.request.len() > LONGEST {
            return Err(RequestError::TooLong(row.request.len()));
        }
        let now = Moment::now();
        self.write(|all| {
            forget(all, now)?;
            row.insert(all, &Process::this().to_string(), now)?;
            Ok(Some(()))
        })?;
        Ok(row.shown)
    }

    fn sweep(&mut self) -> Result<(), RequestError> {
        let now = Moment::now();
        self.write(|all| {
            forget(all, now)?;
            expire(all, now)?;
            abandon(all, now)?;
            Ok(Some(()))
        })?;
        Ok(())
    }

    fn pending(&mut self) -> Result<Vec<Result<Waiting, RequestError>>, RequestError> {
        rows::waiting(&self.connection).map_err(|error| RequestError::of(&self.path, error))
    }

    fn named(&mut self, beginning: &str) -> Result<Named, RequestError> {
        rows::named(&self.connection, beginning).map_err(|trouble| trouble.at(&self.path))
    }

    fn answer(
        &mut self,
        (id, shown): (ApprovalId, Digest),
        response: &ApprovalResponse,
        by: &str,
        keep: &mut dyn FnMut() -> Result<(), String>,
    ) -> Result<Answering, RequestError> {
        let now = Moment::now();
        // What did not count is rolled back, so it is told through here.
        let mut refused = None;
        let counted = self.write(|all| {
            expire(all, now)?;
            if let Some(ended) = rows::ended(all, id, shown)? {
                refused = Some(Answering::TooLate(ended));
                return Ok(None);
            }
            let waiting = rows::one(all, id)?.ok_or(RequestError::Gone(id))??;
            if waiting.shown != shown {
                return Err(RequestError::Changed(id.to_string()).into());
            }
            if matches!(response, ApprovalResponse::Approved { scope: GrantScope::Project, .. })
                && let Err(why) = keep()
            {
                refused = Some(Answering::NotKept(why));
                return Ok(None);
            }
            let kind = ResolutionKind::Answered;
            let answered = Ending::Resolved { kind, response: response.clone() };
            if !end(all, id, &answered, by, now)? {
                return Err(RequestError::Gone(id).into());
            }
            Ok(Some(end_others(all, &waiting, response, by, now)?))
        })?;
        Ok(match (counted, refused) {
            (Some(others), _) => Answering::Counts(others),
            (None, Some(refused)) => refused,
            (None, None) => return Err(RequestError::Gone(id)),
        })
    }

    fn end(&mut self, id: ApprovalId, ending: &Ending, by: &str) -> Result<bool, RequestError> {
        let ended = self.write(|all| Ok(Some(end(all, id, ending, by, Moment::now())?)))?;
        Ok(ended == Some(true))
    }

    fn ended(&mut self, id: ApprovalId, shown: Digest) -> Result<Option<Ended>, RequestError> {
        rows::ended(&self.connection, id, shown).map_err(|trouble| trouble.at(&self.path))
    }

    fn changed(&mut self) -> Result<bool, RequestError> {
        let version = self.data_version()?;
        Ok(std::mem::replace(&mut self.seen, version) != version)
    }
}
