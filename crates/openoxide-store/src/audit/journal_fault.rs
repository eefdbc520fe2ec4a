//! Faults of the journal that verification finds.

use thiserror::Error;

/// A fault of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalFault {
    /// The file name of the segment.
    pub segment: String,
    /// The line, starting at 1.
    pub line: u64,
    /// The number that the record has or should have.
    pub seq: u64,
    /// The problem.
    pub problem: JournalProblem,
}

/// The problem of a record or of missing records.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JournalProblem {
    /// A newer version wrote the record. Contains the version of its schema.
    #[error("written by a newer version of OpenOxide (schema {0})")]
    NewerSchema(u64),
    /// The line is not an audit record.
    #[error("not an audit record")]
    NotRecord,
    /// The hash of the record does not match its content.
    #[error("record modified: hash mismatch")]
    HashMismatch,
    /// The record does not end with a line feed.
    #[error("record modified: wrong line ending")]
    WrongLineEnding,
    /// The end of a closed segment is missing.
    #[error("its end is missing")]
    EndMissing,
    /// The number of a record is not larger than that of the previous record.
    #[error("record {seq} appears after record {before}: records were reordered or duplicated")]
    WrongOrder {
        /// The number of the record.
        seq: u64,
        /// The number of the previous record.
        before: u64,
    },
    /// A record does not name the hash of the previous record. Contains the number of that record.
    #[error("the chain is broken between this record and record {0}")]
    BrokenChain(u64),
    /// Records in the middle of the journal are missing.
    #[error("{}", missing_message(*first, *last))]
    Missing {
        /// The number of the first missing record.
        first: u64,
        /// The number of the last missing record.
        last: u64,
    },
    /// Records at the end of the journal are missing.
    #[error("{}, at the end of the journal", missing_end_message(*first, *last))]
    MissingAtEnd {
        /// The number of the first missing record.
        first: u64,
        /// The number of the last missing record.
        last: u64,
    },
    /// Records at the start of the journal are missing. Contains their count, if it is known.
    #[error("{}earlier records are missing, and no removal was recorded", .0.map(|count| format!("{count} ")).unwrap_or_default())]
    MissingAtStart(Option<u64>),
    /// The record with this number differs from the one that an anchor names.
    #[error("record {0} differs from the one that was written: the journal was replaced")]
    Replaced(u64),
    /// The anchor cannot be read.
    #[error(
        "the anchor is corrupt, so missing records at the end cannot be detected; review the journal, then delete this file"
    )]
    CorruptAnchor,
}

fn missing_message(first: u64, last: u64) -> String {
    match first == last {
        true => format!("record {first} is missing"),
        false => format!("records {first} to {last} are missing"),
    }
}

fn missing_end_message(first: u64, last: u64) -> String {
    match first == last {
        true => format!("1 record is missing: record {last}"),
        false => format!("{} records are missing: {first} to {last}", last - first + 1),
    }
}
