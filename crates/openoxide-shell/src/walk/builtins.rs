//! Builtins of the shell that affect later commands, or run more than they show.

use openoxide_protocol::{Access, CommandWord, CommandWords, PathAccess};

use super::{
    assignments::AssignedValue,
    command_call::{CommandCall, StdinSource, WordMask},
    piped_input,
    script_walk::ScriptWalk,
    state::WalkState,
};
use crate::{findings::FindingCode, rare_syntax::is_rare_builtin_call};

/// The state after a builtin has failed, if it is different.
type FailureState = Option<WalkState>;

impl ScriptWalk<'_> {
    /// Applies the effects of the builtin `name` to the shell. Returns `None` if `name` is none of
    /// these builtins.
    pub(super) fn walk_builtin(
        &mut self,
        call: &CommandCall<'_>,
        name: &str,
    ) -> Option<FailureState> {
        if call.argv.len() > 1 && aborts_line(name) {
            self.note_possible_failure();
        }
        if is_rare_builtin_call(name, &call.argv) {
            self.add_rare_syntax(&format!("the builtin `{name}`"), call.span);
        }
        match name {
            "cd" => return Some(self.walk_cd(&call.argv)),
            "exec" => self.walk_exec(call),
            "command" => return Some(self.walk_command_builtin(call)),
            "builtin" => return Some(self.run_words_from(call, 1)),
            "eval" => self.walk_eval(call),
            "." | "source" => self.walk_source_builtin(call),
            "trap" => self.walk_trap(call),
            "exit" => self.state.has_exited |= has_valid_exit_arguments(&call.argv),
            "return" => {
                self.state.has_exited |=
                    !self.active_functions.is_empty() && has_valid_exit_arguments(&call.argv);
            }
            "test" | "[" => {
                self.walk_test(call);
                return None;
            }
            "declare" | "typeset" | "local" | "export" | "readonly" => self.walk_declaration(call),
            _ => return self.walk_rare_builtin(call, name),
        }
        Some(None)
    }

    fn walk_rare_builtin(&mut self, call: &CommandCall<'_>, name: &str) -> Option<FailureState> {
        match name {
            "pushd" | "popd" => self.forget_working_directory(),
            "set" => self.walk_set(call),
            "shopt" => self.walk_shopt(call),
            "alias" | "unalias" | "hash" => self.walk_alias_or_hash(call),
            "read" => self.walk_read(call),
            "mapfile" | "readarray" => self.walk_mapfile(call),
            "unset" => self.walk_unset(call),
            "printf" => {
                self.walk_printf(call);
                return None;
            }
            "getopts" => {
                self.walk_getopts(call);
                self.note_assignment("OPTARG", AssignedValue::Text);
                self.note_assignment("OPTIND", AssignedValue::Number);
            }
            "wait" => self.walk_wait(call),
            "let" => self.walk_let(call),
            "compgen" => self.walk_compgen(call),
            "jobs" if call.argv.len() == 1 => {}
            // These load code, bind code to events, or run earlier input again.
            "enable" | "bind" | "complete" | "compopt" | "fc" | "jobs" | "history" => {
                if call.argv.len() > 1 || name == "fc" {
                    self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
                }
            }
            _ => return None,
        }
        Some(None)
    }

    /// Runs the words from `index` on as a command that cannot be a function.
    fn run_words_from(&mut self, call: &CommandCall<'_>, index: usize) -> FailureState {
        let command = call.as_argv().tail_from(index);
        let later = call.sources.iter().filter(|(at, _)| *at >= index);
        let rest = CommandCall {
            text: call.text,
            span: call.span,
            input: call.input.clone(),
            argv: command.words,
            paths: command.paths,
            sources: later.map(|(at, source)| (at - index, *source)).collect(),
            // The masks refer to the earlier positions of the words.
            tainted: WordMask::all_words(),
            numbers: WordMask::default(),
            assigned: Vec::new(),
            has_altered_environment: call.has_altered_environment,
            reveals_secret: call.reveals_secret,
            obscure: call.obscure,
            redirects_output: call.redirects_output,
        };
        self.run_command(&rest, false)
    }

    /// Adds the directory that `cd` enters, if known. Leaving the project is a
    /// separate access.
    pub(super) fn add_entered_directory(&mut self, call: &CommandCall<'_>) {
        let target = match (directory_operands(&call.argv).next(), self.home_directory()) {
            (Some(CommandWord::Known(path)), _) if !path.starts_with('-') => path.to_owned(),
            (None, Some(home)) => home.to_owned(),
            _ => return,
        };
        let paths = self.candidate_paths(&target, call.span).into_iter().flatten();
        // The shell usually resolves the path as text, but not always. The part before a `..` must
        // not be a symbolic link.
        let climbs = target.contains("..");
        let entered = |place: PathAccess| match climbs {
            true => place,
            false => PathAccess { raw_path: place.path.to_string(), ..place },
        };
        self.facts.accesses.extend(paths.map(entered).map(Access::ExternalDirectory));
    }

    fn walk_cd(&mut self, argv: &CommandWords) -> FailureState {
        let before = self.state.clone();
        self.current_scan.changes_cwd = true;
        self.current_scan.changes_cwd_repeatedly |= self.repetition_depth > 0;
        // With `-P`, a symbolic link before `..` leads elsewhere. The directory is unknown in that
        // case.
        let mut operands = directory_operands(argv);
        let home = self.home_directory().map(str::to_owned);
        let (first, second) = (operands.next(), operands.next());
        // A plain shell changes to the first of several directories.
        self.is_bash_only |= second.is_some();
        match (first, second, home) {
            (None, _, Some(home)) => self.change_directory(&home),
            (Some(CommandWord::Known(path)), None, _) if !path.starts_with('-') => {
                let path = path.to_owned();
                self.change_directory(&path);
            }
            _ => self.state.forget_working_directory(),
        }
        Some(before)
    }

    fn forget_working_directory(&mut self) {
        self.current_scan.changes_cwd = true;
        self.current_scan.changes_cwd_repeatedly |= self.repetition_depth > 0;
        self.state.forget_working_directory();
    }

    fn walk_exec(&mut self, call: &CommandCall<'_>) {
        // Later commands read from elsewhere.
        self.current_scan.has_partial_reads |= call.input != StdinSource::Inherited;
        let mut words = call.argv.iter().enumerate().skip(1);
        let mut clears_environment = false;
        let index = loop {
            let Some((index, word)) = words.next() else { return };
            match word {
                // Without `PWD`, a shell may see another directory as the parent.
                CommandWord::Known("-c" | "-cl" | "-lc") if !clears_environment => {
                    clears_environment = true;
                    self.add_opaque_access(call.text, call.span, FindingCode::Environment);
                }
                CommandWord::Known("-c" | "-cl" | "-lc" | "-l" | "--") => {}
                CommandWord::Known("-a") => drop(words.next()),
                CommandWord::Known(text) if !text.starts_with('-') => break index,
                _ => {
                    return self.add_opaque_access(call.text, call.span, FindingCode::Program);
                }
            }
        };
        self.run_words_from(call, index);
        self.state.has_exited = true;
    }

    fn walk_command_builtin(&mut self, call: &CommandCall<'_>) -> FailureState {
        let is_option = |word: &Option<&str>| word.is_some_and(|text| text.starts_with('-'));
        let options = call.argv.known_words(1).take_while(is_option).flatten();
        let mut count = 0;
        for option in options {
            match option {
                "-v" | "-V" | "-pv" | "-pV" | "-vp" => return None,
                "-p" | "--" => count += 1,
                _ => {
                    self.add_opaque_access(call.text, call.span, FindingCode::Program);
                    return None;
                }
            }
        }
        self.run_words_from(call, 1 + count)
    }

    fn walk_eval(&mut self, call: &CommandCall<'_>) {
        if !call.argv.is_known() {
            self.note_any_assignment();
            return self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
        }
        let from = if call.argv.known_word(1) == Some("--") { 2 } else { 1 };
        let words: Vec<&str> = call.argv.iter().skip(from).filter_map(known_word).collect();
        let text = words.join(" ");
        self.walk_script(&text, call.span);
    }

    fn walk_source_builtin(&mut self, call: &CommandCall<'_>) {
        if let Some(file) = call.argv.known_word(1)
            && let Some(paths) = self.candidate_paths(file, call.span)
        {
            self.facts.accesses.extend(paths.into_iter().map(openoxide_protocol::Access::Read));
        }
        self.note_any_assignment();
        self.state.forget_working_directory();
        self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
    }

    fn walk_trap(&mut self, call: &CommandCall<'_>) {
        let from = if call.argv.known_word(1) == Some("--") { 2 } else { 1 };
        let rest = call.argv.tail(from);
        match rest.iter().next() {
            None | Some(CommandWord::Known("-p" | "-l" | "-P" | "-" | "")) => {}
            // A single word is the name of a signal.
            Some(CommandWord::Known(_)) if rest.len() == 1 && !rest.is_variadic() => {}
            Some(CommandWord::Known(text)) => {
                let text = text.to_owned();
                let changes = self.changes_state_during(|walk| {
                    walk.walk_trap_text(|walk| walk.walk_script(&text, call.span));
                });
                let later = is_exit_trap(&rest);
                self.current_scan.has_traps |= !later;
                // The trap may read the input of other commands.
                self.current_scan.has_partial_reads |= !later;
                // The trap runs between any two later commands, and their meaning depends on it.
                // The changes of the functions that it calls are not distinguished.
                let calls = self.current_scan.has_functions() || self.previous_scan.has_functions();
                if (changes || calls) && !later {
                    self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
                }
            }
            Some(_) => self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText),
        }
    }

    /// Walks the text of a trap. It is not a part of the function around it, and may run after that
    /// function has ended.
    fn walk_trap_text(&mut self, walk: impl FnOnce(&mut Self)) {
        let inside = std::mem::take(&mut self.active_functions);
        self.walk_deferred(walk);
        self.active_functions = inside;
    }

    /// Returns whether the walked part assigns to a variable or changes the working directory.
    fn changes_state_during(&mut self, walk: impl FnOnce(&mut Self)) -> bool {
        let assignments = self.current_scan.count_assignments();
        let moved = std::mem::take(&mut self.current_scan.changes_cwd);
        walk(self);
        let changes =
            self.current_scan.changes_cwd || self.current_scan.count_assignments() != assignments;
        self.current_scan.changes_cwd |= moved;
        changes
    }

    fn walk_set(&mut self, call: &CommandCall<'_>) {
        self.current_scan.inherits_traps |= call.argv.iter().any(inherits_traps);
        let mut words = call.argv.iter().skip(1);
        while let Some(word) = words.next() {
            let known = match word {
                CommandWord::Known("--" | "-") => {
                    self.current_scan.changes_arguments = true;
                    return;
                }
                CommandWord::Known("-o" | "+o") => words.next().is_none_or(is_harmless_set_option),
                CommandWord::Known(text) if text.starts_with(['-', '+']) => {
                    let letters = text.get(1..).unwrap_or_default();
                    let option = letters.strip_suffix('o');
                    let named = option.is_none() || words.next().is_none_or(is_harmless_set_option);
                    named
                        && option
                            .unwrap_or(letters)
                            .bytes()
                            .all(|byte| b"efuvxCEThmbt".contains(&byte))
                }
                CommandWord::Known(_) => {
                    self.current_scan.changes_arguments = true;
                    return;
                }
                CommandWord::KnownPrefix(_) | CommandWord::AnyWords => false,
            };
            if !known {
                return self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
            }
        }
    }

    fn walk_shopt(&mut self, call: &CommandCall<'_>) {
        let harmless = call.argv.iter().skip(1).all(|word| {
            matches!(
                word,
                CommandWord::Known(
                    "-s" | "-u"
                        | "-q"
                        | "-p"
                        | "nullglob"
                        | "dotglob"
                        | "globstar"
                        | "failglob"
                        | "nocaseglob"
                        | "nocasematch"
                        | "inherit_errexit"
                        | "checkwinsize"
                        | "globskipdots"
                        | "xpg_echo"
                )
            )
        });
        self.current_scan.changes_globbing |= call.argv.len() > 1;
        if !harmless {
            self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
        }
    }

    /// Walks `alias` or `hash -p`, which give another program a name that rules know.
    fn walk_alias_or_hash(&mut self, call: &CommandCall<'_>) {
        let harmless = call.argv.iter().skip(1).all(|word| match word {
            CommandWord::Known("-p") => call.argv.known_word(0) == Some("alias"),
            CommandWord::Known(text) => {
                matches!(text, "-r" | "-a" | "-l" | "-t" | "-d") || !text.contains(['=', '-'])
            }
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => false,
        });
        if !harmless {
            self.current_scan.changes_programs = true;
            self.add_finding(FindingCode::Environment, call.span);
            // The accesses do not show what the name runs from here on. The caller of the shell
            // determines whether aliases are expanded (`-i`, `-O expand_aliases`, an agent's
            // start-up file).
            self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
        }
    }

    /// Walks `getopts [--] LETTERS NAME`.
    fn walk_getopts(&mut self, call: &CommandCall<'_>) {
        let letters = 1 + usize::from(call.argv.known_word(1) == Some("--"));
        match call.argv.iter().nth(letters) {
            // These may be several words, or `--`.
            Some(CommandWord::AnyWords) => self.note_unknown_names(call),
            Some(CommandWord::KnownPrefix(text)) if "--".starts_with(text) => {
                self.note_unknown_names(call);
            }
            _ => self.note_name_at(call, letters + 1, AssignedValue::Text),
        }
    }

    fn walk_read(&mut self, call: &CommandCall<'_>) {
        self.current_scan.has_arrays |= call.argv.iter().any(
            |word| matches!(word, CommandWord::Known(text) if text.starts_with('-') && text.contains('a')),
        );
        let names = self.parse_name_options(call, "adinNptu", "a");
        let lines = names.is_some_and(|index| piped_input::reads_whole_lines(call, index));
        self.current_scan.has_partial_reads |= !lines && self.stdin.is_some();
        match names {
            Some(index) if index < call.argv.len() => {
                let value =
                    if lines { self.classify_read_value(call, index) } else { AssignedValue::Text };
                self.note_names_from(call, index, &value);
            }
            Some(_) => self.note_assignment("REPLY", AssignedValue::Text),
            None => self.note_unknown_names(call),
        }
    }

    /// Returns the known facts about the line that `read` assigns to one variable.
    fn classify_read_value(&self, call: &CommandCall<'_>, index: usize) -> AssignedValue {
        let alone = call.argv.len() == index + 1;
        match self.find_inherited_files(call) {
            Some(paths) if alone => AssignedValue::Files(paths),
            _ => AssignedValue::Text,
        }
    }

    fn walk_mapfile(&mut self, call: &CommandCall<'_>) {
        let calls_back = call.argv.iter().any(
            |word| matches!(word, CommandWord::Known(text) if text.starts_with('-') && text.contains('C')),
        );
        if calls_back {
            return self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
        }
        self.current_scan.has_arrays = true;
        self.current_scan.has_partial_reads |= self.stdin.is_some();
        match self.parse_name_options(call, "dnOsuc", "") {
            Some(index) if index < call.argv.len() => {
                self.note_names_from(call, index, &AssignedValue::Text);
            }
            Some(_) => self.note_assignment("MAPFILE", AssignedValue::Text),
            None => self.note_unknown_names(call),
        }
    }

    fn walk_unset(&mut self, call: &CommandCall<'_>) {
        match self.parse_name_options(call, "", "") {
            Some(index) => self.note_names_from(call, index, &AssignedValue::Text),
            None => self.note_unknown_names(call),
        }
    }

    fn walk_wait(&mut self, call: &CommandCall<'_>) {
        let tainted = (1..call.argv.len()).any(|index| call.tainted.contains(index));
        if tainted || call.argv.is_known() && self.parse_name_options(call, "p", "p").is_none() {
            self.note_unknown_names(call);
        }
    }

    fn walk_let(&mut self, call: &CommandCall<'_>) {
        for (index, word) in call.argv.iter().enumerate().skip(1) {
            let harmless = match word {
                CommandWord::Known(text) => self.is_plain_arithmetic_text(text),
                // The unknown text may be a name or complete one.
                CommandWord::KnownPrefix(text) => {
                    let known = !call.tainted.contains(index)
                        && !self.has_tainted_variable()
                        && has_only_unknown_words(&call.argv.tail(index));
                    known && self.is_plain_arithmetic_text(text)
                }
                CommandWord::AnyWords => false,
            };
            if !harmless {
                return self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
            }
            if let CommandWord::Known(text) | CommandWord::KnownPrefix(text) = word {
                let text = text.to_owned();
                self.note_secrets(&text);
                self.current_scan.has_arrays |= text.contains('[');
                self.note_number_assignments(&text, call.span);
            }
        }
        self.state.variables.clear();
    }

    fn walk_compgen(&mut self, call: &CommandCall<'_>) {
        let lists = call.argv.iter().skip(1).all(|word| match word {
            CommandWord::Known(text) => match text.strip_prefix('-') {
                Some(letters) => letters.bytes().all(|letter| b"abcdefgjksuvA".contains(&letter)),
                None => true,
            },
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => false,
        });
        if !lists {
            self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
        }
    }

    /// Records that a builtin assigns to unknown variables.
    pub(super) fn note_unknown_names(&mut self, call: &CommandCall<'_>) {
        self.note_any_assignment();
        self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
    }
}

/// Returns the words after the options of `cd` that change nothing.
fn directory_operands(argv: &CommandWords) -> impl Iterator<Item = CommandWord<'_>> {
    argv.iter().skip(1).skip_while(|word| matches!(word, CommandWord::Known("-L" | "--")))
}

pub(super) fn known_word(word: CommandWord<'_>) -> Option<&str> {
    match word {
        CommandWord::Known(text) => Some(text),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => None,
    }
}

/// Returns whether bash abandons the line and continues with the next one if this builtin gets too
/// many operands.
fn aborts_line(name: &str) -> bool {
    matches!(name, "break" | "continue" | "exit" | "logout" | "return" | "shift" | "suspend")
}

/// Returns whether `exit` or `return` has at most the number of operands that it accepts.
fn has_valid_exit_arguments(argv: &CommandWords) -> bool {
    argv.len() <= 2 && !argv.is_variadic()
}

/// Returns whether a trap runs only at the end of the shell.
fn is_exit_trap(trap: &CommandWords) -> bool {
    trap.iter().skip(1).all(|signal| matches!(signal, CommandWord::Known("EXIT" | "0")))
}

/// Returns whether a word of `set` may make substitutions inherit the `ERR` or `DEBUG` trap.
fn inherits_traps(word: CommandWord<'_>) -> bool {
    match word {
        CommandWord::Known("errtrace" | "functrace") => true,
        CommandWord::Known(text) => text.starts_with('-') && text.contains(['E', 'T']),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => false,
    }
}

/// Returns whether an option of `set -o` does not affect how the script is read.
fn is_harmless_set_option(word: CommandWord<'_>) -> bool {
    matches!(
        word,
        CommandWord::Known(
            "errexit"
                | "nounset"
                | "pipefail"
                | "xtrace"
                | "verbose"
                | "noglob"
                | "noclobber"
                | "errtrace"
                | "functrace"
                | "monitor"
                | "noexec"
                | "hashall"
                | "notify"
        )
    )
}

/// Returns whether no known text follows the unknown text in the first word. Such text would not be
/// checked.
fn has_only_unknown_words(words: &CommandWords) -> bool {
    let word = words.as_bytes().split(|byte| *byte == 0).next().unwrap_or_default();
    std::str::from_utf8(word).is_err_and(|error| error.valid_up_to() + 1 == word.len())
}

pub(super) fn may_be_option(beginning: &str) -> bool {
    beginning.is_empty() || beginning.starts_with('-')
}
