//! The files and hosts that redirections read, write and reach.

use openoxide_protocol::{Access, AccessRoute, PathAccess, Span};

use super::{
    assignments::AssignedValue,
    expanded_word::ExpandedWord,
    script_walk::{ScriptWalk, WalkSource},
};
use crate::{
    programs::WordSource,
    syntax::syntax_tree::{RedirectionTarget, ShellRedirection, ShellWord, WordPiece},
};

impl ScriptWalk<'_> {
    /// Walks a redirection.
    pub(super) fn walk_redirection<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        redirect: &ShellRedirection<'a>,
    ) {
        let span = self.outer_span(source, redirect.span);
        let text = source.text_at(redirect.span);
        if let Some(name) = redirect.variable {
            self.note_assignment(name, AssignedValue::PossibleDigits);
            self.check_special_variable(name, &AssignedValue::Text, span, text);
        }
        match &redirect.target {
            RedirectionTarget::Read(word) => {
                self.walk_word(source, word);
                self.current_scan.reads_on_descriptor |= !redirect.feeds_stdin;
                self.walk_file_redirection(word, text, span, false);
            }
            RedirectionTarget::Write(word) => {
                self.walk_word(source, word);
                self.walk_file_redirection(word, text, span, true);
            }
            RedirectionTarget::Duplicate { word, may_open } => {
                self.walk_word(source, word);
                self.walk_duplication(word, *may_open, text, span);
            }
            RedirectionTarget::Heredoc(index) => {
                if let Some(body) = source.heredocs.get(*index) {
                    self.note_differences(body, true);
                    self.walk_pieces(source, body, span);
                }
            }
            RedirectionTarget::HereString(word) => self.walk_word(source, word),
        }
    }

    fn walk_duplication(&mut self, word: &ShellWord<'_>, may_open: bool, text: &str, span: Span) {
        let target = self.resolve_redirection_target(word);
        self.is_bash_only |= may_open && !target.as_deref().is_some_and(is_descriptor);
        match target.as_deref() {
            Some(target) if is_descriptor(target) => {
                // Any other descriptor may lead to a file that was opened for reading.
                self.current_scan.reads_on_descriptor |= !matches!(target, "1" | "2" | "-");
            }
            // bash expands a name after `>&` twice. The second time, text that was quoted is no
            // longer quoted.
            Some(target) if may_open && is_unchanged_by_expansion(target) => {
                self.add_redirection_access(target, text, span, true);
            }
            _ => self.add_opaque_redirection(text, span),
        }
    }

    fn walk_file_redirection(&mut self, word: &ShellWord<'_>, text: &str, span: Span, write: bool) {
        if let [WordPiece::Process(_)] = word.pieces.as_slice() {
            return;
        }
        match self.resolve_redirection_target(word) {
            Some(target) => self.add_redirection_access(&target, text, span, write),
            None if !write && self.add_named_file_read(word, span) => {}
            None => self.add_opaque_redirection(text, span),
        }
    }

    /// Adds a read of each file that a word may name, if these files are known.
    fn add_named_file_read(&mut self, word: &ShellWord<'_>, span: Span) -> bool {
        let mut found = None;
        self.expand_each_word(word, &mut |text: &ExpandedWord| {
            found = text.file_source().cloned();
            true
        });
        let (roots, pattern) = match found {
            Some(WordSource::DescendantsOf { roots, .. }) => (roots, false),
            Some(WordSource::Pattern(pattern)) => (vec![pattern], true),
            _ => return false,
        };
        for root in roots {
            let Some(paths) = self.candidate_paths(&root, span) else { return false };
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
    pub(super) fn resolve_redirection_target(&self, word: &ShellWord<'_>) -> Option<String> {
        let mut target = None;
        let mut count = 0;
        self.expand_each_word(word, &mut |text: &ExpandedWord| {
            count += 1;
            target = text.known_text().map(str::to_owned);
            true
        });
        target.filter(|target| count == 1 && !target.is_empty())
    }

    fn add_redirection_access(&mut self, target: &str, text: &str, span: Span, write: bool) {
        if let Some(host) = network_host(target) {
            let access = Access::Fetch { host, url: target.to_owned(), route: AccessRoute::Direct };
            self.facts.accesses.push(access);
            return;
        }
        let Some(paths) = self.candidate_paths(target, span) else {
            return self.add_opaque_redirection(text, span);
        };
        for access in paths {
            match access.path.as_str() {
                device if write && is_output_device(device) => {
                    self.add_descriptor_write(device, span);
                }
                device if is_harmless_device(device) || !write && is_open_descriptor(device) => {}
                _ if write => self.facts.accesses.push(Access::Edit(access)),
                _ => self.facts.accesses.push(Access::Read(access)),
            }
        }
    }

    /// Records that something writes to a file of `/dev` that leads to standard output or standard
    /// error.
    ///
    /// Linux reopens the file behind the descriptor and truncates it, even if the descriptor was
    /// opened for reading. So this is no additional access only if the script connects no
    /// descriptor to a file that it reads.
    pub(super) fn add_descriptor_write(&mut self, device: &str, span: Span) {
        let text = format!("{device}, which may lead to a file that was opened for reading");
        let access = Access::Opaque { text, span };
        if !self.descriptor_writes.contains(&access) {
            self.descriptor_writes.push(access);
        }
    }

    fn add_opaque_redirection(&mut self, text: &str, span: Span) {
        self.facts.accesses.push(Access::Opaque { text: text.to_owned(), span });
    }
}

/// Returns whether `text` is a descriptor or `-`, which closes one.
fn is_descriptor(text: &str) -> bool {
    let digits = text.strip_suffix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a second expansion of `text` changes nothing.
fn is_unchanged_by_expansion(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte))
}

/// Returns the host of bash's own `/dev/tcp/host/port`.
fn network_host(target: &str) -> Option<String> {
    let rest = target.strip_prefix("/dev/tcp/").or_else(|| target.strip_prefix("/dev/udp/"))?;
    let host = rest.split('/').next().unwrap_or_default();
    Some(host.trim_end_matches('.').to_ascii_lowercase())
}

/// Returns whether opening `path` neither reads nor changes anything.
fn is_harmless_device(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/tty")
}

/// Returns whether `path` is standard output or standard error.
fn is_output_device(path: &str) -> bool {
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
