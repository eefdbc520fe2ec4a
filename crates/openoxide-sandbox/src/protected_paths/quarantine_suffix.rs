//! The suffix for the name of a quarantined file.

/// The suffix of the names of quarantined files.
pub(crate) const QUARANTINE_SUFFIX: &str = ".held-by-openoxide";
