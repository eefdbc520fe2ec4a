//! The files and hosts that redirections read, write and reach.

use openoxide_protocol::{Access, AccessRoute, PathAccess, Span};

use super::{Source, Walk, assign::Value, expand::Text};
use crate::{
    programs::Paths,
    syntax::tree::{Piece, Redirect, Target, Word},
};

impl Walk<'_> {
    /// Walks a redirection.
    pub(super) fn redirect<'a>(&mut self, source: Source<'a, '_>, redirect: &Redirect<'a>) {
        let span = self.span(source, redirect.span);
        let text = source.slice(redirect.span);
        if let Some(name) = redirect.variable {
            self.assign(name, Value::Digits);
            self.check_value(name, &Value::Text, span, text);
        }
        match &redirect.target {
            Target::Read(word) => {
                self.visit_word(source, word);
                self.seen.reads_on_descriptor |= !redirect.input;
                self.open(word, text, span, false);
            }
            Target::Write(word) => {
                self.visit_word(source, word);
                self.open(word, text, span, true);
            }
            Target::Duplicate { word, may_open } => {
                self.visit_word(source, word);
                self.duplicate(word, *may_open, text, span);
            }
            Target::Heredoc(index) => {
                if let Some(body) = source.heredocs.get(*index) {
                    self.visit(source, body, span);
                }
            }
            Target::HereString(word) => self.visit_word(source, word),
        }
    }

    fn duplicate(&mut self, word: &Word<'_>, may_open: bool, text: &str, span: Span) {
        let target = self.target(word);
        self.only_bash |= may_open && !target.as_deref().is_some_and(is_descriptor);
        match target.as_deref() {
            Some(target) if is_descriptor(target) => {
                // Any other descriptor may lead to a file that was opened for reading.
                self.seen.reads_on_descriptor |= !matches!(target, "1" | "2" | "-");
            }
            // bash expands a name after `>&` twice. The second time, text that was quoted is no
            // longer quoted.
            Some(target) if may_open && is_dull(target) => self.touch(target, text, span, true),
            _ => self.opaque_redirect(text, span),
        }
    }

    fn open(&mut self, word: &Word<'_>, text: &str, span: Span, write: bool) {
        if let [Piece::Process(_)] = word.pieces.as_slice() {
            return;
        }
        match self.target(word) {
            Some(target) => self.touch(&target, text, span, write),
            None if !write && self.read_one(word, span) => {}
            None => self.opaque_redirect(text, span),
        }
    }

    /// Reads one of the files whose names a word may be, if it is known which these are.
    fn read_one(&mut self, word: &Word<'_>, span: Span) -> bool {
        let mut found = None;
        self.expand_all(word, &mut |text: &Text| {
            found = text.paths().cloned();
            true
        });
        let (roots, pattern) = match found {
            Some(Paths::Below { roots, .. }) => (roots, false),
            Some(Paths::Pattern(pattern)) => (vec![pattern], true),
            _ => return false,
        };
        for root in roots {
            let Some(paths) = self.paths(&root, span) else { return false };
            let touch = AccessRoute::Program;
            let printed = !pattern && root.starts_with('/');
            let paths = paths.into_iter().map(|path| PathAccess {
                route: touch,
                is_pattern: pattern,
                has_piped_names: printed,
                ..path
            });
            self.facts.accesses.extend(paths.map(Access::Read));
        }
        true
    }

    /// Returns the one path that a word of a redirection names.
    fn target(&self, word: &Word<'_>) -> Option<String> {
        let mut target = None;
        let mut count = 0;
        self.expand_all(word, &mut |text: &Text| {
            count += 1;
            target = text.known().map(str::to_owned);
            true
        });
        target.filter(|target| count == 1 && !target.is_empty())
    }

    fn touch(&mut self, target: &str, text: &str, span: Span, write: bool) {
        if let Some(host) = network_host(target) {
            let access = Access::Fetch { host, url: target.to_owned(), route: AccessRoute::Direct };
            self.facts.accesses.push(access);
            return;
        }
        let Some(paths) = self.paths(target, span) else {
            return self.opaque_redirect(text, span);
        };
        for access in paths {
            match access.path.as_str() {
                device if write && is_output(device) => self.write_descriptor(device, span),
                device if is_device(device) || !write && is_open_descriptor(device) => {}
                _ if write => self.facts.accesses.push(Access::Edit(access)),
                _ => self.facts.accesses.push(Access::Read(access)),
            }
        }
    }

    /// Notes that something writes to a file of `/dev` that leads to standard output or standard error.
    ///
    /// Linux opens what the descriptor leads to anew, and truncates it; that the descriptor was opened for reading does not
    /// matter. So this is nothing new only if the script connects no descriptor with a file that it reads.
    pub(super) fn write_descriptor(&mut self, device: &str, span: Span) {
        let text = format!("{device}, which may lead to a file that was opened for reading");
        let access = Access::Opaque { text, span };
        if !self.descriptor_writes.contains(&access) {
            self.descriptor_writes.push(access);
        }
    }

    fn opaque_redirect(&mut self, text: &str, span: Span) {
        self.facts.accesses.push(Access::Opaque { text: text.to_owned(), span });
    }
}

/// Returns whether `text` is a descriptor, or closes one.
fn is_descriptor(text: &str) -> bool {
    let digits = text.strip_suffix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a second expansion of `text` changes nothing.
fn is_dull(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte))
}

/// Returns the host of bash's own `/dev/tcp/host/port`.
fn network_host(target: &str) -> Option<String> {
    let rest = target.strip_prefix("/dev/tcp/").or_else(|| target.strip_prefix("/dev/udp/"))?;
    let host = rest.split('/').next().unwrap_or_default();
    Some(host.trim_end_matches('.').to_ascii_lowercase())
}

/// Returns whether opening `path` neither reads nor changes anything.
fn is_device(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/tty")
}

/// Returns whether `path` is standard output or standard error.
fn is_output(path: &str) -> bool {
    matches!(path, "/dev/stdout" | "/dev/stderr" | "/dev/fd/1" | "/dev/fd/2")
}

/// Returns whether `path` is a descriptor that is already open. Reading it accesses nothing new,
/// but writing to it may replace a file.
fn is_open_descriptor(path: &str) -> bool {
    matches!(path, "/dev/stdin" | "/dev/stdout" | "/dev/stderr")
        || path
            .strip_prefix("/dev/fd/")
            .is_some_and(|fd| !fd.is_empty() && fd.bytes().all(|byte| byte.is_ascii_digit()))
}
