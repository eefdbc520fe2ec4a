//! A search of a script's text for shell syntax that commands rarely use.
//!
//! Whether a script is read-only is the result of the parser and the walk. This search is a second,
//! independent check. It recognizes quotes and little else of the language. It finds the parts of
//! bash whose meaning depends on values at run time: variables that are evaluated as arithmetic or
//! as a name, subscripts, tilde prefixes of the directory stack, and similar ones. A script that
//! contains any of them requires approval, even if the walk found it read-only.

mod arithmetic;
mod builtins;
mod parameters;
mod script_text;

use openoxide_protocol::Span;

use self::{
    arithmetic::NumericNames,
    script_text::{is_name_byte, text_window},
};

pub(crate) use self::builtins::is_rare_builtin_call;

/// Rare syntax in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RareSyntax {
    pub(crate) span: Span,
    /// A noun phrase for a message.
    pub(crate) description: &'static str,
}

/// The quotes around a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

/// Variables that are arrays or change the shell, and variables whose assignment is evaluated as
/// arithmetic.
const SPECIAL_VARIABLES: [&str; 18] = [
    "BASH_ARGV0",
    "BASH_ENV",
    "COMPREPLY",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "FUNCNEST",
    "GLOBIGNORE",
    "GROUPS",
    "HISTCMD",
    "LINENO",
    "OPTIND",
    "PROMPT_COMMAND",
    "PS4",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
    "TMOUT",
];

/// Returns the first rare syntax in `script`.
pub(crate) fn find_rare_syntax(script: &str) -> Option<RareSyntax> {
    let bytes = script.as_bytes();
    if !bytes.iter().any(|byte| matches!(byte, b'$' | b'(' | b'~' | b'[' | b'=' | b'{'))
        && !script.contains("coproc")
    {
        return None;
    }
    let search = Search { script, numeric: NumericNames::new(script), quotes: Quotes::None };
    search.run()
}

/// A search in progress.
struct Search<'s> {
    script: &'s str,
    numeric: NumericNames<'s>,
    quotes: Quotes,
}

impl Search<'_> {
    fn run(mut self) -> Option<RareSyntax> {
        // A comment or here-document can contain an unpaired quote. In that case single quotes hide
        // nothing.
        let hides = !self.script.contains('#') && !self.script.contains("<<");
        // A command inside double quotes has its own quotes.
        let double_hides = !self.script.contains("$(") && !self.script.contains('`');
        let mut at = 0;
        while let Some(byte) = self.byte(at) {
            let found = match (byte, self.quotes) {
                (b'\'', Quotes::None) if hides => {
                    self.quotes = Quotes::Single;
                    None
                }
                (b'\'', Quotes::Single) | (b'"', Quotes::Double) => {
                    self.quotes = Quotes::None;
                    None
                }
                (_, Quotes::Single) => None,
                (b'"', Quotes::None) => {
                    self.quotes = Quotes::Double;
                    None
                }
                (b'\\', _) => {
                    at += 1;
                    None
                }
                (b'$', _) => self.describe_dollar(at),
                (_, Quotes::Double) if double_hides => None,
                _ => self.describe_unquoted(at, byte),
            };
            if let Some(description) = found {
                return Some(RareSyntax { span: Span::new(at, self.script.len()), description });
            }
            at += 1;
        }
        None
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.script.as_bytes().get(at).copied()
    }

    /// Returns the text from `at` on, up to the maximum length of a construct.
    fn rest(&self, at: usize) -> &str {
        text_window(self.script, at)
    }

    /// Describes rare syntax that begins with the `$` at `at`, in double quotes or without quotes.
    fn describe_dollar(&self, at: usize) -> Option<&'static str> {
        let rest = self.rest(at + 1);
        match self.byte(at + 1)? {
            b'(' if rest.starts_with("((") => {
                let is_plain = self.numeric.is_plain_arithmetic(rest.get(2..)?, "))");
                (!is_plain).then_some("arithmetic with a value that may not be a number")
            }
            b'[' => Some("`$[`"),
            b'{' => parameters::describe_rare_parameter(rest.get(1..)?, &self.numeric),
            b'\'' if self.quotes == Quotes::None => {
                parameters::describe_rare_escape(rest.get(1..)?)
            }
            b'"' if self.quotes == Quotes::None => Some("a translated string (`$\"…\"`)"),
            _ => None,
        }
    }

    /// Describes rare syntax that begins at `at` without quotes.
    fn describe_unquoted(&self, at: usize, byte: u8) -> Option<&'static str> {
        let (rest, before) = (self.rest(at), self.byte(at.wrapping_sub(1)));
        match byte {
            b'(' if rest.starts_with("((") && before != Some(b'$') => {
                let is_plain = self.numeric.is_plain_arithmetic(rest.get(2..)?, "))");
                (!is_plain).then_some("arithmetic with a value that may not be a number")
            }
            b'(' if matches!(before, Some(b'@' | b'!' | b'?' | b'*' | b'+')) => {
                Some("an extended pattern (`@(…)`)")
            }
            b'~' if !before.is_some_and(is_revision_byte) => {
                let prefix = self.byte(at + 1)?;
                matches!(prefix, b'+' | b'-' | b'0'..=b'9')
                    .then_some("a tilde prefix of the directory stack")
            }
            b'[' if rest.starts_with("[[") => self.describe_condition(rest),
            b'[' if before.is_some_and(is_name_byte) => parameters::describe_element(rest),
            b'{' => parameters::describe_descriptor_variable(rest),
            b'=' => self.describe_assignment(at),
            b'c' if rest.starts_with("coproc") && !before.is_some_and(is_name_byte) => {
                Some("`coproc`")
            }
            _ => None,
        }
    }

    /// Describes rare syntax in `[[ … ]]`: arithmetic, and tests of variables by name.
    fn describe_condition(&self, rest: &str) -> Option<&'static str> {
        let Some((condition, _)) = rest.split_once("]]") else {
            return Some("a condition (`[[`) that does not end soon");
        };
        let words: Vec<&str> = condition.split_whitespace().collect();
        let mut tests = words.windows(2).filter(|pair| matches!(pair[..], ["-v" | "-R", _]));
        if tests.any(|pair| !pair.iter().skip(1).all(|name| name.bytes().all(is_name_byte))) {
            return Some("a test of a variable whose name is computed");
        }
        let compares = |word: &&str| matches!(*word, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
        let is_plain = |at: usize| {
            words.get(at).is_some_and(|word| self.numeric.is_plain_operand(word.trim_matches('"')))
        };
        let mut operators = words.iter().enumerate().filter(|(_, word)| compares(word));
        let is_rare = operators.any(|(at, _)| !is_plain(at.wrapping_sub(1)) || !is_plain(at + 1));
        is_rare.then_some("arithmetic with a value that may not be a number")
    }

    /// Describes an assignment to a special variable before the `=` at `at`.
    fn describe_assignment(&self, at: usize) -> Option<&'static str> {
        let before = self.script.get(..at)?.trim_end_matches('+');
        let start = before.bytes().rposition(|byte| !is_name_byte(byte)).map_or(0, |at| at + 1);
        let name = before.get(start..)?;
        if SPECIAL_VARIABLES.contains(&name) {
            return Some("an assignment to a special variable");
        }
        let is_for_read = || {
            let command = self.rest(at).split([';', '\n', '|', '&']).next().unwrap_or_default();
            command.split_whitespace().any(|word| word == "read")
        };
        (name == "IFS" && !is_for_read()).then_some("an assignment to `IFS`")
    }
}

/// Returns whether a `~` after `byte` belongs to a revision of git (`HEAD~1`, `@~2`, `HEAD^~1`).
const fn is_revision_byte(byte: u8) -> bool {
    is_name_byte(byte) || matches!(byte, b'^' | b'@' | b'}' | b'~')
}

#[cfg(test)]
mod tests;
