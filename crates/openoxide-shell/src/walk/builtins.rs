//! Builtins of the shell that change what comes after them, or run more than they show.

use openoxide_protocol::{Access, CommandWord, CommandWords, PathAccess};

use super::{
    Walk,
    assign::Value,
    simple::{Call, Input},
    state::State,
    stdin,
};
use crate::findings::Code;

/// The state after a builtin has failed, if it is another state.
type Failed = Option<State>;

impl Walk<'_> {
    /// Applies the effects of the builtin `name` to the shell. Returns `None` if `name` is none of
    /// these builtins.
    pub(super) fn builtin(&mut self, call: &Call<'_>, name: &str) -> Option<Failed> {
        if call.argv.len() > 1 && gives_up(name) {
            self.may_fail();
        }
        match name {
            "cd" => return Some(self.cd(&call.argv)),
            "exec" => self.exec_builtin(call),
            "command" => return Some(self.command_builtin(call)),
            "builtin" => return Some(self.run_rest(call, 1)),
            "eval" => self.eval(call),
            "." | "source" => self.source(call),
            "trap" => self.trap(call),
            "exit" => self.state.ended |= ends(&call.argv),
            "return" => self.state.ended |= !self.inside.is_empty() && ends(&call.argv),
            "test" | "[" => {
                self.test(call);
                return None;
            }
            "declare" | "typeset" | "local" | "export" | "readonly" => self.declare(call),
            _ => return self.rarer_builtin(call, name),
        }
        Some(None)
    }

    fn rarer_builtin(&mut self, call: &Call<'_>, name: &str) -> Option<Failed> {
        match name {
            "pushd" | "popd" => self.move_anywhere(),
            "set" => self.set(call),
            "shopt" => self.shopt(call),
            "alias" | "unalias" | "hash" => self.rename(call),
            "read" => self.read_builtin(call),
            "mapfile" | "readarray" => self.mapfile(call),
            "unset" => self.unset(call),
            "printf" => {
                self.printf(call);
                return None;
            }
            "getopts" => {
                self.getopts(call);
                self.assign("OPTARG", Value::Text);
                self.assign("OPTIND", Value::Number);
            }
            "wait" => self.wait(call),
            "let" => self.let_builtin(call),
            "compgen" => self.compgen(call),
            "jobs" if call.argv.len() == 1 => {}
            // They load code, bind code to events, or run earlier input again.
            "enable" | "bind" | "complete" | "compopt" | "fc" | "jobs" | "history" => {
                if call.argv.len() > 1 || name == "fc" {
                    self.opaque(call.text, call.span, Code::Evaluated);
                }
            }
            _ => return None,
        }
        Some(None)
    }

    /// Runs the words from `index` on as a command that is not a function.
    fn run_rest(&mut self, call: &Call<'_>, index: usize) -> Failed {
        let command = call.arguments().tail(index);
        let later = call.sources.iter().filter(|(at, _)| *at >= index);
        let rest = Call {
            text: call.text,
            span: call.span,
            input: call.input.clone(),
            argv: command.words,
            paths: command.paths,
            sources: later.map(|(at, source)| (at - index, *source)).collect(),
            // The masks belong to the words at their earlier positions.
            tainted: super::simple::Mask::all(),
            numbers: super::simple::Mask::default(),
            altered: call.altered,
            reveals: call.reveals,
            obscure: call.obscure,
        };
        self.run(&rest, false)
    }

    /// Adds the directory that `cd` enters, as far as it is known. Leaving the project is a
    /// separate access.
    pub(super) fn enters(&mut self, call: &Call<'_>) {
        let target = match (directory_operands(&call.argv).next(), self.home()) {
            (Some(CommandWord::Known(path)), _) if !path.starts_with('-') => path.to_owned(),
            (None, Some(home)) => home.to_owned(),
            _ => return,
        };
        let paths = self.paths(&target, call.span).into_iter().flatten();
        // The shell goes by the letters, but not always: what comes before a `..` must not be a link.
        let climbs = target.contains("..");
        let entered = |place: PathAccess| match climbs {
            true => place,
            false => PathAccess { raw_path: place.path.to_string(), ..place },
        };
        self.facts.accesses.extend(paths.map(entered).map(Access::ExternalDirectory));
    }

    fn cd(&mut self, argv: &CommandWords) -> Failed {
        let before = self.state.clone();
        self.seen.moved = true;
        self.seen.moves |= self.repeats > 0;
        // With `-P` a link before `..` leads elsewhere: then it is not known where.
        let mut operands = directory_operands(argv);
        let home = self.home().map(str::to_owned);
        let (first, second) = (operands.next(), operands.next());
        // A plain shell goes to the first of several directories.
        self.only_bash |= second.is_some();
        match (first, second, home) {
            (None, _, Some(home)) => self.change_directory(&home),
            (Some(CommandWord::Known(path)), None, _) if !path.starts_with('-') => {
                let path = path.to_owned();
                self.change_directory(&path);
            }
            _ => self.state.lose_place(),
        }
        Some(before)
    }

    fn move_anywhere(&mut self) {
        self.seen.moved = true;
        self.seen.moves |= self.repeats > 0;
        self.state.lose_place();
    }

    fn exec_builtin(&mut self, call: &Call<'_>) {
        self.seen.torn |= call.input != Input::Inherited; // What comes next reads from elsewhere.
        let mut index = 1;
        loop {
            match call.argv.iter().nth(index) {
                None => return,
                // Without `PWD` a shell takes another directory for the one above.
                Some(CommandWord::Known("-c" | "-cl" | "-lc")) => {
                    self.opaque(call.text, call.span, Code::Environment);
                    index += 1;
                }
                Some(CommandWord::Known("-l" | "--")) => index += 1,
                Some(CommandWord::Known("-a")) => index += 2,
                Some(CommandWord::Known(text)) if !text.starts_with('-') => break,
                Some(_) => return self.opaque(call.text, call.span, Code::Program),
            }
        }
        self.run_rest(call, index);
        self.state.ended = true;
    }

    fn command_builtin(&mut self, call: &Call<'_>) -> Failed {
        let mut index = 1;
        while let Some(option) = call.argv.known_word(index).filter(|text| text.starts_with('-')) {
            match option {
                "-v" | "-V" | "-pv" | "-pV" | "-vp" => return None,
                "-p" | "--" => index += 1,
                _ => {
                    self.opaque(call.text, call.span, Code::Program);
                    return None;
                }
            }
        }
        self.run_rest(call, index)
    }

    fn eval(&mut self, call: &Call<'_>) {
        if !call.argv.is_known() {
            self.assign_anything();
            return self.opaque(call.text, call.span, Code::Evaluated);
        }
        let from = if call.argv.known_word(1) == Some("--") { 2 } else { 1 };
        let words: Vec<&str> = call.argv.iter().skip(from).filter_map(known).collect();
        let text = words.join(" ");
        self.script(&text, call.span);
    }

    fn source(&mut self, call: &Call<'_>) {
        if let Some(file) = call.argv.known_word(1)
            && let Some(paths) = self.paths(file, call.span)
        {
            self.facts.accesses.extend(paths.into_iter().map(openoxide_protocol::Access::Read));
        }
        self.assign_anything();
        self.state.lose_place();
        self.opaque(call.text, call.span, Code::Evaluated);
    }

    fn trap(&mut self, call: &Call<'_>) {
        let from = if call.argv.known_word(1) == Some("--") { 2 } else { 1 };
        let rest = call.argv.tail(from);
        match rest.iter().next() {
            None | Some(CommandWord::Known("-p" | "-l" | "-P" | "-" | "")) => {}
            // One word alone is the name of a signal.
            Some(CommandWord::Known(_)) if rest.len() == 1 && !rest.is_variadic() => {}
            Some(CommandWord::Known(text)) => {
                let text = text.to_owned();
                let changes = self.changes(|walk| {
                    walk.later_elsewhere(|walk| walk.script(&text, call.span));
                });
                let later = runs_at_the_end(&rest);
                self.seen.torn |= !later; // It may read what others are about to read.
                // The trap runs between any two later commands, and their meaning depends on it.
                // The changes of the functions that it calls are not distinguished.
                let calls = self.seen.defines_any() || self.known.defines_any();
                if (changes || calls) && !later {
                    self.opaque(call.text, call.span, Code::Evaluated);
                }
            }
            Some(_) => self.opaque(call.text, call.span, Code::Evaluated),
        }
    }

    /// Walks the text of a trap. It is not a part of the function around it, and may run after that
    /// function has ended.
    fn later_elsewhere(&mut self, walk: impl FnOnce(&mut Self)) {
        let inside = std::mem::take(&mut self.inside);
        self.called_later(walk);
        self.inside = inside;
    }

    /// Returns whether the walked part assigns to a variable or changes the working directory.
    fn changes(&mut self, walk: impl FnOnce(&mut Self)) -> bool {
        let assignments = self.seen.assignments();
        let moved = std::mem::take(&mut self.seen.moved);
        walk(self);
        let changes = self.seen.moved || self.seen.assignments() != assignments;
        self.seen.moved |= moved;
        changes
    }

    fn set(&mut self, call: &Call<'_>) {
        let mut words = call.argv.iter().skip(1);
        while let Some(word) = words.next() {
            let known = match word {
                CommandWord::Known("--" | "-") => {
                    self.seen.arguments = true;
                    return;
                }
                CommandWord::Known("-o" | "+o") => words.next().is_none_or(is_plain_option),
                CommandWord::Known(text) if text.starts_with(['-', '+']) => {
                    let letters = text.get(1..).unwrap_or_default();
                    let option = letters.strip_suffix('o');
                    let named = option.is_none() || words.next().is_none_or(is_plain_option);
                    named
                        && option
                            .unwrap_or(letters)
                            .bytes()
                            .all(|byte| b"efuvxCEThmbt".contains(&byte))
                }
                CommandWord::Known(_) => {
                    self.seen.arguments = true;
                    return;
                }
                CommandWord::KnownPrefix(_) | CommandWord::AnyWords => false,
            };
            if !known {
                return self.opaque(call.text, call.span, Code::Evaluated);
            }
        }
    }

    fn shopt(&mut self, call: &Call<'_>) {
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
        self.seen.globs |= call.argv.len() > 1;
        if !harmless {
            self.opaque(call.text, call.span, Code::Evaluated);
        }
    }

    /// `alias`, `hash -p`: another program under a name that rules know.
    fn rename(&mut self, call: &Call<'_>) {
        let harmless = call.argv.iter().skip(1).all(|word| match word {
            CommandWord::Known("-p") => call.argv.known_word(0) == Some("alias"),
            CommandWord::Known(text) => {
                matches!(text, "-r" | "-a" | "-l" | "-t" | "-d") || !text.contains(['=', '-'])
            }
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => false,
        });
        if !harmless {
            self.seen.reprogrammed = true;
            self.note(Code::Environment, call.span);
            // The list does not show what the name runs from now on. The caller of the shell
            // determines whether aliases are expanded (`-i`, `-O expand_aliases`, an agent's
            // start-up file).
            self.opaque(call.text, call.span, Code::Evaluated);
        }
    }

    /// `getopts [--] LETTERS NAME`.
    fn getopts(&mut self, call: &Call<'_>) {
        let letters = 1 + usize::from(call.argv.known_word(1) == Some("--"));
        match call.argv.iter().nth(letters) {
            // These can be several words, or `--`.
            Some(CommandWord::AnyWords) => self.unclear_names(call),
            Some(CommandWord::KnownPrefix(text)) if "--".starts_with(text) => {
                self.unclear_names(call);
            }
            _ => self.named_at(call, letters + 1, Value::Text),
        }
    }

    fn read_builtin(&mut self, call: &Call<'_>) {
        self.seen.arrays |= call.argv.iter().any(
            |word| matches!(word, CommandWord::Known(text) if text.starts_with('-') && text.contains('a')),
        );
        let names = self.named_options(call, "adinNptu", "a");
        let lines = names.is_some_and(|index| stdin::reads_lines(call, index));
        self.seen.torn |= !lines && self.stdin.is_some();
        match names {
            Some(index) if index < call.argv.len() => {
                let value = if lines { self.line(call, index) } else { Value::Text };
                self.named_from(call, index, &value);
            }
            Some(_) => self.assign("REPLY", Value::Text),
            None => self.unclear_names(call),
        }
    }

    /// Returns the value of the line that `read` assigns to one variable, as far as it is known.
    fn line(&self, call: &Call<'_>, index: usize) -> Value {
        let alone = call.argv.len() == index + 1;
        match self.inherited(call) {
            Some(paths) if alone => Value::Files(paths),
            _ => Value::Text,
        }
    }

    fn mapfile(&mut self, call: &Call<'_>) {
        let calls_back = call.argv.iter().any(
            |word| matches!(word, CommandWord::Known(text) if text.starts_with('-') && text.contains('C')),
        );
        if calls_back {
            return self.opaque(call.text, call.span, Code::Evaluated);
        }
        self.seen.arrays = true;
        self.seen.torn |= self.stdin.is_some();
        match self.named_options(call, "dnOsuc", "") {
            Some(index) if index < call.argv.len() => self.named_from(call, index, &Value::Text),
            Some(_) => self.assign("MAPFILE", Value::Text),
            None => self.unclear_names(call),
        }
    }

    fn unset(&mut self, call: &Call<'_>) {
        match self.named_options(call, "", "") {
            Some(index) => self.named_from(call, index, &Value::Text),
            None => self.unclear_names(call),
        }
    }

    fn wait(&mut self, call: &Call<'_>) {
        let tainted = (1..call.argv.len()).any(|index| call.tainted.has(index));
        if tainted || call.argv.is_known() && self.named_options(call, "p", "p").is_none() {
            self.unclear_names(call);
        }
    }

    fn let_builtin(&mut self, call: &Call<'_>) {
        for (index, word) in call.argv.iter().enumerate().skip(1) {
            let harmless = match word {
                CommandWord::Known(text) => self.is_plain_text(text),
                CommandWord::KnownPrefix(text) => {
                    let known = !call.tainted.has(index) && ends_unknown(&call.argv.tail(index));
                    known && self.is_plain_text(text)
                }
                CommandWord::AnyWords => false,
            };
            if !harmless {
                return self.opaque(call.text, call.span, Code::Evaluated);
            }
            if let CommandWord::Known(text) | CommandWord::KnownPrefix(text) = word {
                let text = text.to_owned();
                self.note_secrets(&text);
                self.number_assignments(&text, call.span);
            }
        }
        self.state.variables.clear();
    }

    fn compgen(&mut self, call: &Call<'_>) {
        let lists = call.argv.iter().skip(1).all(|word| match word {
            CommandWord::Known(text) => match text.strip_prefix('-') {
                Some(letters) => letters.bytes().all(|letter| b"abcdefgjksuvA".contains(&letter)),
                None => true,
            },
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => false,
        });
        if !lists {
            self.opaque(call.text, call.span, Code::Evaluated);
        }
    }

    /// A builtin assigns to variables that are not known.
    pub(super) fn unclear_names(&mut self, call: &Call<'_>) {
        self.assign_anything();
        self.opaque(call.text, call.span, Code::Evaluated);
    }
}

/// Returns the words after the options of `cd` that change nothing.
fn directory_operands(argv: &CommandWords) -> impl Iterator<Item = CommandWord<'_>> {
    argv.iter().skip(1).skip_while(|word| matches!(word, CommandWord::Known("-L" | "--")))
}

pub(super) fn known(word: CommandWord<'_>) -> Option<&str> {
    match word {
        CommandWord::Known(text) => Some(text),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => None,
    }
}

/// Returns whether bash abandons the line and continues with the next one if this builtin gets too
/// many operands.
fn gives_up(name: &str) -> bool {
    matches!(name, "break" | "continue" | "exit" | "logout" | "return" | "shift" | "suspend")
}

/// Returns whether `exit` or `return` has at most the number of operands that it accepts.
fn ends(argv: &CommandWords) -> bool {
    argv.len() <= 2 && !argv.is_variadic()
}

/// Returns whether a trap is only for the end of the shell.
fn runs_at_the_end(trap: &CommandWords) -> bool {
    trap.iter().skip(1).all(|signal| matches!(signal, CommandWord::Known("EXIT" | "0")))
}

/// Returns whether an option of `set -o` does not affect how the script is read.
fn is_plain_option(word: CommandWord<'_>) -> bool {
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
fn ends_unknown(words: &CommandWords) -> bool {
    let word = words.as_bytes().split(|byte| *byte == 0).next().unwrap_or_default();
    std::str::from_utf8(word).is_err_and(|error| error.valid_up_to() + 1 == word.len())
}

pub(super) fn may_be_option(beginning: &str) -> bool {
    beginning.is_empty() || beginning.starts_with('-')
}
