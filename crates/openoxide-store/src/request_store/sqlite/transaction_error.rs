//! An error in a transaction of the database.

use std::path::Path;

use super::super::error::RequestError;

/// An error in a transaction.
pub(super) enum TransactionError {
    Sqlite(rusqlite::Error),
    Request(RequestError),
}

impl TransactionError {
    pub(super) fn into_request_error(self, path: &Path) -> RequestError {
        match self {
            Self::Sqlite(error) => RequestError::from_sqlite(path, error),
            Self::Request(error) => error,
        }
    }
}

impl From<rusqlite::Error> for TransactionError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<RequestError> for TransactionError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}
