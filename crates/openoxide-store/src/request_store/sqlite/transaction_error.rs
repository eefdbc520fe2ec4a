//! An error in a transaction of the database.

use std::path::Path;

use super::super::error::RequestStoreError;

/// An error in a transaction.
pub(super) enum TransactionError {
    Sqlite(rusqlite::Error),
    Request(RequestStoreError),
}

impl TransactionError {
    pub(super) fn into_request_error(self, path: &Path) -> RequestStoreError {
        match self {
            Self::Sqlite(error) => RequestStoreError::from_sqlite(path, error),
            Self::Request(error) => error,
        }
    }
}

impl From<rusqlite::Error> for TransactionError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<RequestStoreError> for TransactionError {
    fn from(error: RequestStoreError) -> Self {
        Self::Request(error)
    }
}
