//! The schema of the database. Each version has one migration, which runs once.

use rusqlite::{Connection, TransactionBehavior};

/// The SQL statements of each schema version. A published step is never changed.
const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE session (
    id TEXT NOT NULL,        -- the conversation
    process TEXT NOT NULL,   -- boot, namespace, number and start of the process that asks
    who TEXT NOT NULL,
    cwd TEXT NOT NULL,
    project TEXT,            -- where a lasting yes is kept; NULL: nowhere
    started INTEGER NOT NULL,
    PRIMARY KEY (id, process)
) STRICT, WITHOUT ROWID;
CREATE TABLE request (
    id TEXT NOT NULL PRIMARY KEY,
    session TEXT NOT NULL,
    process TEXT NOT NULL,
    request TEXT NOT NULL,   -- as JSON; empty once it has ended
    operation TEXT NOT NULL, -- the digest of what would run
    explicit INTEGER NOT NULL,
    shown TEXT NOT NULL,     -- the digest of what is shown
    asked_at INTEGER NOT NULL,
    expires_at INTEGER,
    answer TEXT,             -- how it ended, as JSON; NULL: it waits
    answered_by TEXT,
    answered_at INTEGER,
    FOREIGN KEY (session, process) REFERENCES session (id, process)
) STRICT;
CREATE INDEX waiting_process ON request (process) WHERE answer IS NULL;
CREATE INDEX waiting_session ON request (session) WHERE answer IS NULL;
CREATE INDEX waiting_expiry ON request (expires_at) WHERE answer IS NULL AND expires_at IS NOT NULL;
CREATE INDEX ended ON request (answered_at) WHERE answer IS NOT NULL;
CREATE INDEX asked_in ON request (session, process);
",
    // One index for the process and the session. When thousands of requests end together, each of
    // them is removed from every index.
    "
DROP INDEX waiting_process;
DROP INDEX waiting_session;
CREATE INDEX waiting ON request (session, process) WHERE answer IS NULL;
",
    // The fields of requests and answers have new names. A program that does not know them would
    // read an explicit request as an ordinary one and a limited grant as an unlimited one.
    "",
    // The process of the agent that asks: boot, namespace, number and start. NULL: unknown.
    "
ALTER TABLE request ADD COLUMN client TEXT;
",
];

/// The version that this program writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Returns the schema version of a database. It is 0 for an empty database.
pub(super) fn read_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Migrates an older database to the current version.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let all = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may already have migrated the database.
    let done = usize::try_from(read_version(&all)?).unwrap_or(MIGRATIONS.len());
    for step in MIGRATIONS.iter().skip(done) {
        all.execute_batch(step)?;
    }
    all.pragma_update(None, "user_version", VERSION)?;
    all.commit()
}
