//! The input of a command from the preceding pipe: the files that its lines name, and the point
//! from which this is no longer certain.

use openoxide_protocol::CommandWord;

use super::{
    command_call::{CommandCall, StdinSource},
    script_walk::{PipedInput, ScriptWalk},
};
use crate::{
    programs::{CommandEffect, CommandMeaning, WordSource},
    syntax::syntax_tree::ShellRedirection,
};

impl ScriptWalk<'_> {
    /// Walks a part of the script that has a different standard input from the commands around it.
    pub(super) fn walk_with_other_stdin<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        let stdin = self.stdin.take();
        let result = walk(self);
        self.stdin = stdin;
        result
    }

    /// Records that several commands read from the same pipe.
    pub(super) fn mark_stdin_shared(&mut self) {
        if let Some(stdin) = &mut self.stdin {
            stdin.is_shared = true;
        }
    }

    /// Returns the files that are named by the lines that a command reads from standard input, if
    /// the command reads them from the beginning.
    pub(super) fn find_inherited_files(&self, call: &CommandCall<'_>) -> Option<WordSource> {
        let PipedInput { paths, working_directories: bases, is_shared: shared } =
            self.stdin.as_ref()?;
        let whole = !shared
            || !self.current_scan.has_partial_reads && !self.previous_scan.has_partial_reads;
        let same = whole
            && call.input == StdinSource::Inherited
            && *bases == self.state.working_directories;
        same.then(|| paths.clone())
    }

    /// Records that a program may have read a part of a line and left the rest to the next reader.
    pub(super) fn note_partial_read(
        &mut self,
        call: &CommandCall<'_>,
        name: &str,
        meaning: &CommandMeaning,
    ) {
        let shared = self.stdin.as_ref().is_some_and(|stdin| stdin.is_shared);
        if shared && call.input == StdinSource::Inherited && may_read_stdin(call, name, meaning) {
            self.current_scan.has_partial_reads = true;
        }
    }
}

/// Returns whether one of these redirections affects standard input.
pub(super) fn redirects_stdin(redirects: &[ShellRedirection<'_>]) -> bool {
    redirects.iter().any(|redirect| redirect.feeds_stdin)
}

/// Returns whether a program may read from standard input. Most programs that name their files do
/// not.
fn may_read_stdin(call: &CommandCall<'_>, name: &str, meaning: &CommandMeaning) -> bool {
    // They include builtins that run other commands, because those commands are checked separately.
    const NEVER: &[&str] = &[
        ":", "[", "basename", "break", "builtin", "cd", "command", "continue", "date", "declare",
        "dirname", "echo", "eval", "exec", "exit", "export", "false", "getopts", "hostname", "id",
        "let", "local", "mkdir", "mktemp", "nproc", "printf", "pwd", "read", "readlink",
        "readonly", "realpath", "return", "rmdir", "seq", "set", "shift", "shopt", "sleep", "stat",
        "test", "touch", "trap", "true", "type", "uname", "unset", "wait", "whoami",
    ];
    const ALWAYS: &[&str] = &["dd", "ffmpeg", "ssh"];
    if NEVER.contains(&name) {
        return false;
    }
    let names_files = meaning
        .effects
        .iter()
        .any(|effect| matches!(effect, CommandEffect::Reads(_) | CommandEffect::ReadsMetadata(_)));
    let asks = |word| matches!(word, CommandWord::Known("-" | "-i" | "/dev/stdin" | "/dev/fd/0"));
    !names_files || ALWAYS.contains(&name) || call.argv.iter().any(asks)
}

/// Returns whether `read` reads whole lines from standard input. `names` is the index of its first
/// name. Names of files contain no NUL.
pub(super) fn reads_whole_lines(call: &CommandCall<'_>, names: usize) -> bool {
    let options: Vec<_> = call.argv.iter().take(names).skip(1).collect();
    options.iter().enumerate().all(|(index, word)| match word {
        CommandWord::Known("-d" | "-rd") => {
            matches!(options.get(index + 1), Some(CommandWord::Known("")))
        }
        CommandWord::Known(option) if option.starts_with('-') => {
            // The text after `p` is a prompt.
            let letters = option.split('p').next().unwrap_or_default();
            letters.bytes().all(|letter| b"-rsa".contains(&letter))
        }
        _ => true,
    })
}
