//! Pending requests, in a database that every process of this user can open.
//!
//! The requester registers its request and checks it from time to time. A reviewer can answer from
//! any terminal. There is no process between them; they communicate through the database. Each
//! request is answered once, and the answer is bound to the content that was shown.
//!
//! The data is as safe as the state directory. Anyone who can write there can answer. Anyone who
//! can read the key in the same directory could forge any proof, so answers carry no proof. The
//! safety floor requires approval for commands that write there.

mod database_file;
mod error;
mod interface;
mod pending_request;
mod process_identity;
mod request_resolution;
mod schema;
mod sqlite;

pub use error::RequestStoreError;
pub use interface::{AnswerResult, IdLookup, RequestStore};
pub use pending_request::{NewRequest, PendingRequest};
pub(crate) use process_identity::read_parent_and_start;
pub use process_identity::{Descent, ProcessIdentity};
pub use request_resolution::{RequestResolution, RequestResolutionKind};
pub use sqlite::SqliteRequestStore;

#[cfg(test)]
mod tests;
