//! The message for an empty journal.

/// The message for a journal without records.
pub(crate) const NO_RECORDS: &str =
    "nothing has been written down yet; `openoxide run` and `openoxide hook` do";
