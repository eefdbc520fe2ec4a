//! Constructs that bash and a plain shell parse in the same way but execute differently.

use openoxide_protocol::{CommandWord, CommandWords};

use super::{expanded_word::ParameterValue, script_walk::ScriptWalk, value_text::stays_one_word};
use crate::syntax::syntax_tree::{ExpansionForm, ParameterExpansion, ShellWord, WordPiece};

/// Builtins of bash that are programs in a plain shell, or do not exist there.
const BASH_ONLY_BUILTINS: &[&str] = &[
    "bind",
    "builtin",
    "caller",
    "compgen",
    "complete",
    "compopt",
    "declare",
    "dirs",
    "disown",
    "enable",
    "help",
    "history",
    "let",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "readarray",
    "shopt",
    "source",
    "suspend",
    "typeset",
];

/// The special builtins. In a plain shell, variables that are assigned before them keep their
/// values.
const SPECIAL_BUILTINS: &[&str] = &[
    ".", ":", "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set",
    "shift", "times", "trap", "unset",
];

/// Returns whether a plain shell runs something else with these words, or does not have the
/// builtin.
pub(super) fn differs_in_posix_shell(argv: &CommandWords) -> bool {
    let Some(name) = argv.known_word(0) else { return false };
    // There, `eval -- x` and `exec -a x y` run programs named `--` and `-a`.
    let option = matches!(name, "eval" | "exec")
        && matches!(argv.iter().nth(1), Some(CommandWord::Known(word)) if word.starts_with('-'));
    option || BASH_ONLY_BUILTINS.contains(&name) || prints_otherwise(name, argv)
}

/// Returns whether the `echo` of a plain shell prints different text, or its `printf` does not
/// assign a variable because it has no `-v`.
fn prints_otherwise(name: &str, argv: &CommandWords) -> bool {
    let first = argv.iter().nth(1);
    match name {
        "printf" => match first {
            None => false,
            Some(CommandWord::Known(word)) => word.starts_with("-v"),
            Some(CommandWord::KnownPrefix(word)) => word.is_empty() || word.starts_with('-'),
            Some(CommandWord::AnyWords) => true,
        },
        "echo" => {
            let option = matches!(first, Some(CommandWord::Known(word))
                if word.starts_with('-') && word != "-n");
            option
                || argv
                    .iter()
                    .any(|word| matches!(word, CommandWord::Known(text) if text.contains('\\')))
        }
        _ => false,
    }
}

/// Returns whether variables that are assigned before these words keep their values after the
/// command in a plain shell.
pub(super) fn keeps_assignments(argv: &CommandWords) -> bool {
    argv.known_word(0).is_some_and(|name| SPECIAL_BUILTINS.contains(&name))
}

/// The variables to which a plain shell gives a different value or none.
const BASH_GIVES: &[&str] = &[
    "COLUMNS",
    "DIRSTACK",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HOSTNAME",
    "HOSTTYPE",
    "LINES",
    "MACHTYPE",
    "OSTYPE",
    "PIPESTATUS",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHELLOPTS",
    "SHLVL",
    "SRANDOM",
    "UID",
    "_",
];

impl ScriptWalk<'_> {
    /// Records whether a plain shell or zsh expands these pieces differently.
    pub(super) fn note_differences(&mut self, pieces: &[WordPiece<'_>], quoted: bool) {
        let mut follows_dollar = false;
        for (index, piece) in pieces.iter().enumerate() {
            let text = match piece {
                WordPiece::Unquoted(text) => text,
                WordPiece::Literal(text) => &**text,
                _ => "",
            };
            self.only_without_zsh |=
                has_zsh_flag(text) || follows_dollar && text.starts_with(ZSH_FLAGS);
            follows_dollar = text.ends_with('$');
            match piece {
                WordPiece::Unquoted(text) => {
                    self.is_bash_only |= index == 0 && is_bash_tilde(text);
                    // In zsh, `=ls` is the path of `ls`, and `**` matches any number of
                    // directories.
                    self.only_without_zsh |= index == 0 && text.starts_with('=') && text.len() > 1;
                    self.only_without_zsh |= text.contains("**");
                }
                WordPiece::Parameter(parameter) => {
                    self.note_parameter(parameter, pieces.get(index + 1), quoted);
                }
                WordPiece::Quoted(inner) => self.note_differences(inner, true),
                _ => {}
            }
        }
    }

    fn note_parameter(
        &mut self,
        parameter: &ParameterExpansion<'_>,
        next: Option<&WordPiece<'_>>,
        quoted: bool,
    ) {
        let name = parameter.name;
        self.is_bash_only |= matches!(
            parameter.form,
            ExpansionForm::Indirect | ExpansionForm::Names | ExpansionForm::Prompt
        ) || BASH_GIVES.contains(&name)
            || ["BASH", "COMP_", "EPOCH", "HIST"].iter().any(|own| name.starts_with(own));
        // In zsh, `$x:h` and `$x[1]` are parts of a value, and `$#x` is the length of one.
        let length = parameter.span.end.saturating_sub(parameter.span.start);
        let braced = usize::try_from(length).is_ok_and(|length| length > name.len() + 1);
        self.only_without_zsh |= !braced
            && match next {
                Some(WordPiece::Unquoted(text)) => is_part(text) || name == "#" && is_named(text),
                Some(WordPiece::Literal(text)) => is_part(text) || name == "#" && is_named(text),
                _ => false,
            };
        // zsh does not split values.
        self.only_without_zsh |= !quoted && self.is_split(name);
    }
}

/// Returns whether a word with redirections names a variable in zsh: `{name} < FILE` assigns the
/// number of a new file descriptor to it.
pub(super) fn names_descriptor(word: &ShellWord<'_>) -> bool {
    let [WordPiece::Unquoted(text)] = word.pieces.as_slice() else { return false };
    text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(is_named)
}

/// The flags that zsh accepts between `$` and a name.
const ZSH_FLAGS: [char; 4] = ['=', '~', '^', '+'];

fn has_zsh_flag(text: &str) -> bool {
    text.split('$').skip(1).any(|rest| rest.starts_with(ZSH_FLAGS))
}

fn is_named(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphanumeric() || first == '_')
}

impl ScriptWalk<'_> {
    /// Returns whether the unquoted value of a variable is several words or a pattern.
    fn is_split(&self, name: &str) -> bool {
        matches!(self.lookup_variable(name), ParameterValue::Known(value)
            if !value.is_empty() && !stays_one_word(&value))
    }
}

fn is_bash_tilde(text: &str) -> bool {
    text.strip_prefix('~').is_some_and(|rest| {
        rest.starts_with(['+', '-']) || rest.starts_with(|first: char| first.is_ascii_digit())
    })
}

fn is_part(text: &str) -> bool {
    let letter = |rest: &str| rest.starts_with(|first: char| first.is_ascii_alphabetic());
    text.starts_with('[') || text.strip_prefix(':').is_some_and(letter)
}
