//! The directories that an analysis starts from.

use openoxide_protocol::AbsPath;

/// The directories that a script would run in.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisContext<'a> {
    /// The working directory that it starts in.
    pub cwd: &'a AbsPath,
    /// The home directory of the user that runs it, if known.
    pub home: Option<&'a AbsPath>,
}
