//! The state in which an operation is evaluated.

use openoxide_protocol::{AbsPath, PermissionMode, SandboxAutoAllow};

/// The state in which an operation is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationContext<'a> {
    /// The mode in force.
    pub mode: PermissionMode,
    /// The working directory. Relative rules that ask or deny are relative to it, to the project,
    /// and to the directories of the project between them. Relative rules that allow are only
    /// relative to the project.
    pub cwd: &'a AbsPath,
    /// The directories of the project.
    pub roots: &'a [AbsPath],
    /// The error that occurred while the policy was loaded. Rules that ask or deny may be missing,
    /// so nothing is allowed.
    pub policy_error: Option<&'a str>,
    /// The commands that need no approval, because the caller confines them by the sandbox.
    pub auto_allow: SandboxAutoAllow,
}

impl<'a> EvaluationContext<'a> {
    /// Returns the base directory of relative rules: the first directory of the project, or the
    /// working directory without a project. A `cd` therefore does not widen a rule that allows.
    pub(crate) fn base(&self) -> &'a AbsPath {
        self.roots.first().unwrap_or(self.cwd)
    }

    /// Returns the other directories that relative rules that ask or deny are relative to: the
    /// working directory, and the directories of the project above it.
    pub(crate) fn other_bases(&self) -> impl Iterator<Item = &'a AbsPath> {
        let (cwd, roots, base) = (self.cwd, self.roots, self.base());
        let above =
            roots.iter().filter(move |root| *root != cwd && cwd.strip_prefix(root).is_some());
        above.chain([cwd]).filter(move |each| *each != base)
    }
}
