//! From the text of a path to the paths that it may name.

use openoxide_protocol::{AbsPath, PathAccess, Span};

use super::Walk;

impl Walk<'_> {
    /// Returns every path that `text` may name here, or nothing when the working directory is not known.
    pub(super) fn paths(&self, text: &str, span: Span) -> Option<Vec<PathAccess>> {
        if text.starts_with('/') {
            return Some(vec![access(AbsPath::root().join(text), text.to_owned(), span)]);
        }
        let bases = self.state.bases.known(self.setting.cwd)?;
        Some(bases.map(|base| access(base.join(text), self.written(base, text), span)).collect())
    }

    /// Returns the path as the file system is to be asked about it: symbolic links before a `..` lead elsewhere.
    fn written(&self, base: &AbsPath, text: &str) -> String {
        if base == self.setting.cwd { text.to_owned() } else { format!("{base}/{text}") }
    }

    /// Changes the directory to `text`, if it is known what that is.
    pub(super) fn change_directory(&mut self, text: &str) {
        let searched = self.seen.assigns("CDPATH") || self.known.assigns("CDPATH");
        let bases = match self.state.bases.known(self.setting.cwd) {
            _ if searched && !text.starts_with(['/', '.']) => None,
            _ if text.starts_with('/') => Some(vec![AbsPath::root().join(text)]),
            Some(bases) => Some(bases.map(|base| base.join(text)).collect()),
            None => None,
        };
        match bases {
            Some(bases) => self.state.enter(bases, self.setting.cwd),
            None => self.state.lose_place(),
        }
    }
}

fn access(path: AbsPath, written: String, span: Span) -> PathAccess {
    PathAccess { raw_path: written, span, ..PathAccess::new(path) }
}
