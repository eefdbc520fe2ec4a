//! The paths that a text may name.

use openoxide_protocol::{AbsPath, PathAccess, Span};

use super::ScriptWalk;

impl ScriptWalk<'_> {
    /// Returns every path that `text` may name here, or `None` if the working directory is unknown.
    pub(super) fn candidate_paths(&self, text: &str, span: Span) -> Option<Vec<PathAccess>> {
        if text.starts_with('/') {
            return Some(vec![path_access(AbsPath::root().join(text), text.to_owned(), span)]);
        }
        let bases = self.state.working_directories.known_directories(self.context.cwd)?;
        Some(
            bases
                .map(|base| path_access(base.join(text), self.to_written_path(base, text), span))
                .collect(),
        )
    }

    /// Returns the path in the form in which the file system resolves it, because symbolic links
    /// before a `..` lead elsewhere.
    fn to_written_path(&self, base: &AbsPath, text: &str) -> String {
        if base == self.context.cwd { text.to_owned() } else { format!("{base}/{text}") }
    }

    /// Changes the working directory to `text`, or to unknown if the new directory is unknown.
    pub(super) fn change_directory(&mut self, text: &str) {
        let searched = self.current_scan.assigns_variable("CDPATH")
            || self.previous_scan.assigns_variable("CDPATH");
        let bases = match self.state.working_directories.known_directories(self.context.cwd) {
            _ if searched && !text.starts_with(['/', '.']) => None,
            _ if text.starts_with('/') => Some(vec![AbsPath::root().join(text)]),
            Some(bases) => Some(bases.map(|base| base.join(text)).collect()),
            None => None,
        };
        match bases {
            Some(bases) => self.state.enter_directories(bases, self.context.cwd),
            None => self.state.forget_working_directory(),
        }
    }
}

fn path_access(path: AbsPath, written: String, span: Span) -> PathAccess {
    PathAccess { raw_path: written, span, ..PathAccess::new(path) }
}
