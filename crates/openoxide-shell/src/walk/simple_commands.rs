//! Simple commands: expansion of words, redirections, and execution.

use openoxide_protocol::{Access, AccessRoute, CommandWords, Span};

use super::{
    assignments::AssignedValue,
    command_call::{CommandCall, StdinSource, WordMask},
    environment_variables,
    expanded_word::ExpandedWord,
    named_resources, posix_differences,
    script_walk::{ScriptWalk, WalkSource},
    state::WalkState,
};
use crate::{
    findings::FindingCode,
    syntax::{
        brace_expansion, is_name,
        syntax_tree::{
            Assignment, RedirectionTarget, ShellRedirection, ShellWord, SimpleCommand, WordPiece,
        },
    },
};

impl ScriptWalk<'_> {
    /// Walks a simple command.
    pub(super) fn walk_simple_command<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        simple: &SimpleCommand<'a>,
    ) -> Option<WalkState> {
        let writes_pipe = std::mem::take(&mut self.writes_pipe);
        let was = std::mem::take(&mut self.reveals);
        simple.words.iter().for_each(|word| self.walk_word(source, word));
        let reveals = std::mem::replace(&mut self.reveals, was);
        if self.current_scan.changes_globbing || self.previous_scan.changes_globbing {
            self.note_possible_failure(); // A pattern that matches nothing can be an error.
        }
        if simple.words.is_empty() {
            self.walk_assignments_only(source, simple);
            return None;
        }
        simple.redirects.iter().for_each(|redirect| self.walk_redirection(source, redirect));
        self.only_without_zsh |= !simple.redirects.is_empty()
            && simple.words.iter().any(posix_differences::names_descriptor);
        let span = words_span(simple);
        let mut call = CommandCall {
            text: source.text_at(span),
            span: self.outer_span(source, span),
            input: self.find_stdin_source(source, &simple.redirects),
            argv: CommandWords::new(),
            paths: Vec::new(),
            sources: Vec::new(),
            tainted: WordMask::default(),
            numbers: WordMask::default(),
            assigned: Vec::new(),
            has_altered_environment: false,
            reveals_secret: reveals,
            obscure: false,
            redirects_output: self.redirects_output(source, &simple.redirects, writes_pipe),
        };
        self.expand_arguments(source, &simple.words, &mut call);
        if call.obscure && call.argv.known_word(0).is_none_or(|name| !reads_no_file(name)) {
            self.add_opaque_access(call.text, call.span, FindingCode::HiddenEffect);
        }
        self.is_bash_only |=
            !simple.assignments.is_empty() && posix_differences::keeps_assignments(&call.argv);
        let reads = self.sets_only_input_ifs(simple);
        let was = self.reveals;
        for assignment in &simple.assignments {
            if reads && assignment.name == "IFS" && assignment.subscript.is_none() {
                self.walk_word(source, &assignment.value);
                continue;
            }
            let stayed = self.current_scan.stays(assignment.name);
            self.walk_assignment(source, assignment, false);
            self.current_scan.set_stays(assignment.name, stayed);
            if matches!(self.classify_assigned_value(&assignment.value), AssignedValue::Known(text) if environment_variables::is_disabling_assignment(assignment.name, &text))
            {
                continue;
            }
            let value = match self.classify_assigned_value(&assignment.value) {
                AssignedValue::Known(text) if !assignment.append => Some(text),
                _ => None,
            };
            call.assigned.push((assignment.name, value));
            call.has_altered_environment |=
                !environment_variables::is_harmless_variable(assignment.name);
            self.note_alteration(assignment.name, call.span);
        }
        call.reveals_secret |= std::mem::replace(&mut self.reveals, was);
        if !simple.assignments.is_empty() {
            self.run_with_assignments(&call)
        } else {
            self.run_command(&call, true)
        }
    }

    /// Returns whether an `IFS` before this command only determines how the command splits its
    /// input: `IFS= read -r line`.
    fn sets_only_input_ifs(&self, simple: &SimpleCommand<'_>) -> bool {
        let name = simple.words.first().and_then(ShellWord::as_plain_text).unwrap_or_default();
        matches!(name, "read" | "mapfile" | "readarray") && !self.defines_function(name)
    }

    fn walk_assignments_only<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        simple: &SimpleCommand<'a>,
    ) {
        // The assignments may run before or after the redirections. The order must not matter to
        // the redirections.
        let alone = simple.redirects.is_empty();
        // In that case, zsh runs `cat` or `more`.
        self.only_without_zsh |= !alone && simple.assignments.is_empty();
        for assignment in &simple.assignments {
            self.walk_assignment(source, assignment, alone);
            if named_resources::names_host(assignment.name) {
                self.walk_host_assignment(source, assignment);
            }
        }
        simple.redirects.iter().for_each(|redirect| self.walk_redirection(source, redirect));
    }

    /// Adds the hosts in a variable that later programs get if it is exported, also before or
    /// afterwards.
    fn walk_host_assignment<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        assignment: &Assignment<'a>,
    ) {
        let span = self.outer_span(source, assignment.span);
        let AssignedValue::Known(text) = self.classify_assigned_value(&assignment.value) else {
            return; // An unknown value is opaque.
        };
        let addresses = named_resources::find_addresses(&text);
        if assignment.append && !text.is_empty() {
            self.add_opaque_access(assignment.name, span, FindingCode::Environment);
        } else if !addresses.is_empty() {
            self.note_alteration(assignment.name, span);
        }
        let accesses = addresses.into_iter().map(|url| Access::Fetch {
            host: String::new(),
            url,
            route: AccessRoute::Program,
        });
        self.facts.accesses.extend(accesses);
    }

    /// Runs a command with separate variables. Its changes to them may or may not persist
    /// afterwards.
    fn run_with_assignments(&mut self, call: &CommandCall<'_>) -> Option<WalkState> {
        let failed = self.run_command(call, true);
        self.merge_failure(failed);
        None
    }

    fn expand_arguments<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        words: &[ShellWord<'_>],
        call: &mut CommandCall<'a>,
    ) {
        let declares =
            words.first().and_then(ShellWord::as_plain_text).is_some_and(is_declaration_builtin);
        let mut count = 0;
        for word in words {
            if let Some(text) = word.as_plain_text()
                && text.bytes().all(is_literal_byte)
            {
                call.argv.push(text);
                count += 1;
                continue;
            }
            self.current_scan.has_arrays |= matches!(word.pieces.last(), Some(WordPiece::Array(_)));
            // With braces, the word expands to several assignments. This is not so before a
            // command.
            if declares && is_assignment_word(word) && !brace_expansion::may_expand(&word.pieces) {
                // A plain shell splits the value.
                self.is_bash_only |= word.pieces.iter().any(|piece| {
                    !matches!(
                        piece,
                        WordPiece::Unquoted(_) | WordPiece::Literal(_) | WordPiece::Quoted(_)
                    )
                });
                let text = self.expand_without_splitting(word);
                call.numbers.insert(count, text.is_number_assigned());
                push_argument(&text, source.text_at(word.span), &mut count, call);
                continue;
            }
            self.is_bash_only |= brace_expansion::may_expand(&word.pieces);
            self.expand_each_word(word, &mut |text| {
                push_argument(text, source.text_at(word.span), &mut count, call);
                true
            });
        }
    }

    /// Returns whether standard output is a file or a pipe after these redirections.
    fn redirects_output(
        &self,
        source: WalkSource<'_, '_>,
        redirects: &[ShellRedirection<'_>],
        writes_pipe: bool,
    ) -> bool {
        let affects_stdout = |text: &str| {
            let text = text.trim_start_matches('0');
            [">", "&>", "1>", "1<"].iter().any(|start| text.starts_with(start))
        };
        let last = redirects.iter().rfind(|redirect| affects_stdout(source.text_at(redirect.span)));
        match last.map(|redirect| &redirect.target) {
            None => writes_pipe,
            Some(RedirectionTarget::Write(word)) => self
                .resolve_redirection_target(word)
                .is_some_and(|file| file == "/dev/null" || !may_be_terminal(&file)),
            Some(_) => false,
        }
    }

    fn find_stdin_source<'a>(
        &self,
        source: WalkSource<'a, '_>,
        redirects: &[ShellRedirection<'a>],
    ) -> StdinSource {
        let Some(last) = redirects.iter().rfind(|redirect| redirect.feeds_stdin) else {
            return StdinSource::Inherited;
        };
        let (pieces, end) = match &last.target {
            RedirectionTarget::Heredoc(index) => match source.heredocs.get(*index) {
                Some(body) => (body.as_slice(), ""),
                None => return StdinSource::Other,
            },
            RedirectionTarget::HereString(word) => (word.pieces.as_slice(), "\n"),
            _ => return StdinSource::File,
        };
        let mut text = String::new();
        for piece in pieces {
            match piece {
                WordPiece::Literal(fixed) => text.push_str(fixed),
                WordPiece::Unquoted(plain) if plain.bytes().all(is_literal_byte) => {
                    text.push_str(plain);
                }
                _ => return StdinSource::Other,
            }
        }
        text.push_str(end);
        StdinSource::Text(text)
    }
}

/// Adds a word to a command that has `count` words.
fn push_argument<'a>(
    text: &ExpandedWord,
    source: &'a str,
    count: &mut usize,
    call: &mut CommandCall<'a>,
) {
    let added = text.append_to(&mut call.argv);
    if added > 0 {
        if let Some(paths) = text.to_word_source() {
            call.paths.push((*count, paths));
        }
        call.reveals_secret |= text.reveals_secret();
        call.obscure |= text.is_obscure();
    }
    for index in *count..*count + added {
        if text.known_text().is_none() {
            call.sources.push((index, source));
        }
        call.tainted.insert(index, text.is_tainted());
    }
    *count += added;
}

/// Returns whether a file may be a terminal.
fn may_be_terminal(file: &str) -> bool {
    file.split('/').any(|part| matches!(part, "dev" | "proc" | ".."))
}

/// Returns the span of assignments and words, and of the redirections between them.
fn words_span(simple: &SimpleCommand<'_>) -> Span {
    let words = simple.words.iter().map(|word| word.span);
    let mut all = simple.assignments.iter().map(|assignment| assignment.span).chain(words);
    let first = all.next().unwrap_or(simple.span);
    Span { start: first.start, end: all.last().unwrap_or(first).end }
}

/// Returns whether the builtin `name` takes assignments as arguments.
pub(super) fn is_declaration_builtin(name: &str) -> bool {
    matches!(name, "declare" | "typeset" | "local" | "export" | "readonly")
}

/// Returns whether a builtin opens none of the files that its words may name.
fn reads_no_file(name: &str) -> bool {
    matches!(name, ":" | "[" | "cd" | "echo" | "false" | "printf" | "test" | "true")
}

/// Returns whether a word is written as an assignment.
fn is_assignment_word(word: &ShellWord<'_>) -> bool {
    match word.pieces.first() {
        Some(WordPiece::Unquoted(text)) => text
            .split_once('=')
            .is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name))),
        _ => false,
    }
}

/// Returns whether an unquoted byte is a literal in every word.
const fn is_literal_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'.' | b'/' | b',' | b'@' | b'%' | b'+' | b'-')
}
