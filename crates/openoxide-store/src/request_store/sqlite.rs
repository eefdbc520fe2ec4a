//! The database: one SQLite file that many processes share.

mod resolutions;
mod rows;
mod transaction_error;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use openoxide_protocol::{
    ApprovalId, ApprovalResponse, GrantScope, OperationDigest, ResolutionKind,
};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, config::DbConfig};

use self::{
    resolutions::{
        delete_old, resolve_abandoned, resolve_expired, resolve_others, resolve_request,
    },
    transaction_error::TransactionError,
};
use super::{
    database_file,
    error::RequestStoreError,
    interface::{AnswerResult, IdLookup, RequestStore},
    pending_request::{NewRequest, PendingRequest},
    process_identity::ProcessIdentity,
    request_resolution::{RequestResolution, RequestResolutionKind},
    schema,
};
use crate::{audit::UtcTimestamp, user_environment::UserEnvironment};

/// The maximum time to wait for a lock. A process that holds it longer probably hangs.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The page size of SQLite in bytes.
const PAGE_BYTES: i64 = 16 << 10;
/// The maximum size of the page cache in KiB. The changes of ten thousand requests fit into it.
const CACHE_KIB: i64 = 32 << 10;
/// The length that the write-ahead log may reach before it is written back to the database file.
const MAX_LOG_BYTES: i64 = 4 << 20;
/// The maximum length of a request in bytes.
const MAX_REQUEST_BYTES: usize = 16 << 20;

/// The requests of one user, in `$XDG_STATE_HOME/openoxide/openoxide.db`.
#[derive(Debug)]
pub struct SqliteRequestStore {
    path: PathBuf,
    connection: Connection,
    /// The last value of `PRAGMA data_version`.
    last_data_version: i64,
}

impl SqliteRequestStore {
    /// Opens the database of this user, and creates it if it does not exist. This costs more than a
    /// decision, so it is only opened to wait, list or answer.
    ///
    /// # Errors
    /// Returns an error if the database cannot be created or used, was written by a newer version,
    /// or could have been written by another user.
    pub fn open(environment: &UserEnvironment) -> Result<Self, RequestStoreError> {
        let state = environment.state.as_ref().ok_or(RequestStoreError::NoStateDirectory)?;
        Self::open_in(&state.join("openoxide"))
    }

    /// Opens the database like [`open`](Self::open), but does not create it.
    ///
    /// # Errors
    /// Returns the same errors as `open`.
    pub fn open_existing(environment: &UserEnvironment) -> Result<Option<Self>, RequestStoreError> {
        let state = environment.state.as_ref().ok_or(RequestStoreError::NoStateDirectory)?;
        let directory = state.join("openoxide");
        database_file::has_database(&directory).then(|| Self::open_in(&directory)).transpose()
    }

    /// Opens the database like [`open`](Self::open), but in this directory.
    ///
    /// # Errors
    /// Returns the same errors as `open`.
    pub fn open_in(directory: &std::path::Path) -> Result<Self, RequestStoreError> {
        let path = database_file::create_database_file(directory)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let opened = Connection::open_with_flags(&path, flags);
        let connection = opened.map_err(|error| RequestStoreError::from_sqlite(&path, error))?;
        let mut requests = Self { path, connection, last_data_version: 0 };
        requests.prepare_with_retry()?;
        requests.last_data_version = requests.read_data_version()?;
        Ok(requests)
    }

    /// Prepares the connection, and tries again while the database is locked. Two operations fail
    /// at once if another process holds the lock, whatever the busy timeout is: changing the
    /// journal mode, and recovering after a killed process.
    fn prepare_with_retry(&mut self) -> Result<(), RequestStoreError> {
        let since = Instant::now();
        loop {
            match self.prepare() {
                Err(RequestStoreError::Locked(_)) if since.elapsed() < LOCK_TIMEOUT => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                done => return done,
            }
        }
    }

    /// Prepares the connection. The version is checked first, so that a database of a newer program
    /// is not changed.
    fn prepare(&mut self) -> Result<(), RequestStoreError> {
        let Self { path, connection, .. } = self;
        let failed = |error| RequestStoreError::from_sqlite(path, error);
        connection.busy_timeout(LOCK_TIMEOUT).map_err(failed)?;
        let version = schema::read_version(connection).map_err(failed)?;
        if version > schema::VERSION {
            return Err(RequestStoreError::Newer { path: path.clone(), version });
        }
        configure_connection(connection).map_err(failed)?;
        if version < schema::VERSION {
            schema::migrate(connection).map_err(failed)?;
        }
        Ok(())
    }

    fn read_data_version(&self) -> Result<i64, RequestStoreError> {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        version.map_err(|error| RequestStoreError::from_sqlite(&self.path, error))
    }

    /// Runs `work` in an exclusive transaction: either all of its changes are applied, or none.
    fn run_transaction<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<Option<T>, TransactionError>,
    ) -> Result<Option<T>, RequestStoreError> {
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
        done.map_err(|trouble: TransactionError| trouble.into_request_error(path))
    }
}

/// Configures a connection. A killed process loses no data that was reported as written. After a
/// crash of the machine, no process is waiting for the lost data. The text of a request is erased
/// from the file when the request ends.
fn configure_connection(connection: &Connection) -> rusqlite::Result<()> {
    // The page size takes effect for new files only. When thousands of requests end together, the
    // number of written pages determines the time.
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "wal_autocheckpoint", MAX_LOG_BYTES / PAGE_BYTES)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(())
}

impl RequestStore for SqliteRequestStore {
    fn register(&mut self, asking: &NewRequest<'_>) -> Result<OperationDigest, RequestStoreError> {
        let row = rows::RequestRow::new(asking);
        if row.request.len() > MAX_REQUEST_BYTES {
            return Err(RequestStoreError::TooLong(row.request.len()));
        }
        let now = UtcTimestamp::now();
        self.run_transaction(|all| {
            delete_old(all, now)?;
            row.insert(all, &ProcessIdentity::current().to_string(), now)?;
            Ok(Some(()))
        })?;
        Ok(row.shown_digest)
    }

    fn resolve_stale(&mut self) -> Result<(), RequestStoreError> {
        let now = UtcTimestamp::now();
        self.run_transaction(|all| {
            delete_old(all, now)?;
            resolve_expired(all, now)?;
            resolve_abandoned(all, now)?;
            Ok(Some(()))
        })?;
        Ok(())
    }

    fn list_pending(
        &mut self,
    ) -> Result<Vec<Result<PendingRequest, RequestStoreError>>, RequestStoreError> {
        rows::list_pending(&self.connection)
            .map_err(|error| RequestStoreError::from_sqlite(&self.path, error))
    }

    fn lookup_id(&mut self, beginning: &str) -> Result<IdLookup, RequestStoreError> {
        rows::lookup_prefix(&self.connection, beginning)
            .map_err(|trouble| trouble.into_request_error(&self.path))
    }

    fn answer(
        &mut self,
        (id, shown): (ApprovalId, OperationDigest),
        response: &ApprovalResponse,
        by: &str,
        save_grant: &mut dyn FnMut() -> bool,
    ) -> Result<AnswerResult, RequestStoreError> {
        let now = UtcTimestamp::now();
        // A refused answer is rolled back, so its reason is passed through this variable.
        let mut refused = None;
        let counted = self.run_transaction(|all| {
            resolve_expired(all, now)?;
            if let Some(ended) = rows::find_resolution(all, id, shown)? {
                refused = Some(AnswerResult::AlreadyResolved(ended));
                return Ok(None);
            }
            let waiting = rows::find_pending(all, id)?.ok_or(RequestStoreError::NotFound(id))??;
            if waiting.shown_digest != shown {
                return Err(RequestStoreError::Changed(id.to_string()).into());
            }
            if matches!(response, ApprovalResponse::Approved { scope: GrantScope::Project, .. })
                && !save_grant()
            {
                refused = Some(AnswerResult::GrantFailed);
                return Ok(None);
            }
            let kind = ResolutionKind::Answered;
            let answered = RequestResolutionKind::Resolved { kind, response: response.clone() };
            if !resolve_request(all, id, &answered, by, now)? {
                return Err(RequestStoreError::NotFound(id).into());
            }
            Ok(Some(resolve_others(all, &waiting, response, by, now)?))
        })?;
        Ok(match (counted, refused) {
            (Some(others), _) => AnswerResult::Accepted(others),
            (None, Some(refused)) => refused,
            (None, None) => return Err(RequestStoreError::NotFound(id)),
        })
    }

    fn resolve(
        &mut self,
        id: ApprovalId,
        ending: &RequestResolutionKind,
        by: &str,
    ) -> Result<bool, RequestStoreError> {
        let ended = self.run_transaction(|all| {
            Ok(Some(resolve_request(all, id, ending, by, UtcTimestamp::now())?))
        })?;
        Ok(ended == Some(true))
    }

    fn find_resolution(
        &mut self,
        id: ApprovalId,
        shown: OperationDigest,
    ) -> Result<Option<RequestResolution>, RequestStoreError> {
        rows::find_resolution(&self.connection, id, shown)
            .map_err(|trouble| trouble.into_request_error(&self.path))
    }

    fn has_changed(&mut self) -> Result<bool, RequestStoreError> {
        let version = self.read_data_version()?;
        Ok(std::mem::replace(&mut self.last_data_version, version) != version)
    }
}
