//! Changes of the environment that a program starts with.

use openoxide_protocol::{CommandWord, CommandWords, Span};

use super::{command_call::CommandCall, environment_variables, script_walk::ScriptWalk};
use crate::findings::FindingCode;

impl ScriptWalk<'_> {
    /// Returns whether `env NAME=value` or a similar command changes what the program inside does.
    pub(super) fn alters_inner_program(
        &mut self,
        call: &CommandCall<'_>,
        name: &str,
        argv: &CommandWords,
    ) -> bool {
        let mut altered = false;
        if matches!(name, "sudo" | "doas" | "su" | "runuser") {
            // `HOME` is the home directory of the other user.
            self.current_scan.assign_for_program("HOME");
        }
        if !matches!(name, "env" | "sudo" | "doas") {
            return altered;
        }
        for word in argv.iter().skip(1) {
            let (CommandWord::Known(text) | CommandWord::KnownPrefix(text)) = word else {
                continue;
            };
            let Some((variable, value)) = text.split_once('=') else { continue };
            let whole = matches!(word, CommandWord::Known(_));
            self.current_scan.assign_for_program(variable);
            if environment_variables::is_program_variable(variable) {
                self.add_finding(FindingCode::Environment, call.span);
            }
            self.note_alteration(variable, call.span);
            let selects_files = environment_variables::names_locale(variable)
                && !(whole && environment_variables::is_harmless_locale(variable, value));
            if environment_variables::is_shell_startup_variable(variable)
                || environment_variables::names_place(variable)
                || selects_files
            {
                self.add_opaque_access(call.text, call.span, FindingCode::Environment);
            }
            altered |= !environment_variables::is_harmless_variable(variable);
        }
        altered || name == "env" && takes_away(argv)
    }

    /// Adds a finding if a program is given a variable that is not known to leave it unchanged.
    /// Variables that are known to change programs are recorded wherever they are assigned.
    pub(super) fn note_alteration(&mut self, variable: &str, span: Span) {
        if !environment_variables::is_harmless_variable(variable)
            && !environment_variables::is_program_variable(variable)
        {
            self.add_finding(FindingCode::Environment, span);
        }
    }
}

/// Returns whether `env` sets or removes a variable that is not known to leave the program
/// unchanged.
pub(super) fn alters_environment(argv: &CommandWords) -> bool {
    takes_away(argv)
        || argv.iter().any(|word| match word {
            CommandWord::Known(text) | CommandWord::KnownPrefix(text) => {
                text.split_once('=').is_some_and(|(variable, _)| {
                    !environment_variables::is_harmless_variable(variable)
                })
            }
            CommandWord::AnyWords => true,
        })
}

/// Returns whether `env` removes all variables, or one that affects programs. Without `PAGER=cat`,
/// programs start a pager of their choice.
fn takes_away(argv: &CommandWords) -> bool {
    let mut words = argv.iter().skip(1);
    while let Some(word) = words.next() {
        let CommandWord::Known(text) = word else { return false };
        let (letters, removed) = match text.strip_prefix("--") {
            None if text == "-" => return true,
            None if text.contains('=') => continue,
            None => match text.strip_prefix('-') {
                None => return false,
                Some(letters) => {
                    letters.split_once('u').map_or((letters, None), |(letters, name)| {
                        (letters, Some(name).filter(|name| !name.is_empty()))
                    })
                }
            },
            Some(long) => {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
                let all = !name.is_empty() && "ignore-environment".starts_with(name);
                let one = !name.is_empty() && "unset".starts_with(name);
                (
                    if all {
                        "i"
                    } else if one {
                        "u"
                    } else {
                        ""
                    },
                    value.filter(|_| one),
                )
            }
        };
        let takes_next = removed.is_none() && (text.ends_with('u') || letters == "u");
        let next = if takes_next { words.next() } else { None };
        let name = removed.map(CommandWord::Known).or(next);
        let obeyed = match name {
            Some(CommandWord::Known(name)) => environment_variables::is_program_variable(name),
            Some(_) => true,
            None => false,
        };
        if letters.contains('i') || obeyed {
            return true;
        }
    }
    false
}
