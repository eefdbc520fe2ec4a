//! The cause of a command: the effect that is named when approval is required.

use openoxide_protocol::{CauseCode, CommandCause, CommandClass, CommandWords};

use super::{ScriptWalk, command_call::CommandCall, script_walk::ALTERED_ENVIRONMENT};
use crate::{
    effect_phrases,
    programs::{self, ArgvRef, CommandEffect, CommandMeaning},
};

impl ScriptWalk<'_> {
    /// Returns the cause of a command of this class, or `None` if it is harmless.
    pub(super) fn find_cause(
        &self,
        call: &CommandCall<'_>,
        argv: ArgvRef<'_>,
        meaning: &CommandMeaning,
        class: CommandClass,
    ) -> Option<CommandCause> {
        if class == CommandClass::Harmless {
            return None;
        }
        let name = argv.known_word(0).unwrap_or_default();
        let stated = |code, phrase| Some(CommandCause::Stated { code, phrase });
        if self.defines_function(name) {
            return stated(CauseCode::RunsCode, "runs a function that the script defines");
        }
        if is_outside_system_directories(name) {
            return Some(CommandCause::UnknownProgram);
        }
        if meaning.class == CommandClass::Harmless {
            if call.reveals_secret {
                let phrase = "uses a variable that looks like a secret";
                return stated(CauseCode::ReadsSecret, phrase);
            }
            if call.has_altered_environment {
                return stated(CauseCode::RunsCode, ALTERED_ENVIRONMENT);
            }
        }
        if asks_for_help(argv.words, meaning) {
            return stated(
                CauseCode::RunsProjectCode,
                "prints its version or help, which was not verified",
            );
        }
        let words = meaning.canonical_words.as_ref().unwrap_or(argv.words);
        match effect_phrases::find_stated_cause(words) {
            Some(CommandCause::Stated { code: CauseCode::RunsCode, phrase })
                if !is_code_of_file(name, argv.words, meaning) =>
            {
                stated(CauseCode::Opaque, phrase)
            }
            Some(CommandCause::Stated { code: CauseCode::RunsProjectCode, phrase })
                if runs_text_of_words(name, meaning) =>
            {
                stated(CauseCode::Opaque, phrase)
            }
            found => found.or_else(|| Some(derive_cause(name, meaning))),
        }
    }
}

/// Returns whether everything that a command runs and that its words do not show is the code of a
/// file or module that they name.
fn is_code_of_file(name: &str, words: &CommandWords, meaning: &CommandMeaning) -> bool {
    let is_python = programs::base_name(name).starts_with("python") && words.is_known();
    meaning.effects.iter().all(|effect| match effect {
        CommandEffect::Unknown(why) => is_python || why == programs::RUNS_SCRIPT_FILE,
        _ => true,
    })
}

/// Returns whether a program that runs recipes takes shell commands, or the shell, from its words:
/// `make --eval=…`, `make SHELL=…`. These are not the code of the project.
fn runs_text_of_words(name: &str, meaning: &CommandMeaning) -> bool {
    const RECIPE_PROGRAMS: [&str; 12] = [
        "make",
        "gmake",
        "remake",
        "colormake",
        "bmake",
        "pmake",
        "nmake",
        "smake",
        "dmake",
        "mk",
        "tup",
        "just",
    ];
    RECIPE_PROGRAMS.contains(&programs::base_name(name))
        && meaning.effects.iter().any(|effect| matches!(effect, CommandEffect::Unknown(_)))
}

/// Returns whether a command has no words but a program, perhaps a subcommand, and an option for a
/// version or help. Only programs that were run are known to do nothing else then.
fn asks_for_help(words: &CommandWords, meaning: &CommandMeaning) -> bool {
    const VERSION: [&str; 2] = ["--version", "-version"];
    const HELP: [&str; 2] = ["--help", "-help"];
    let is_subcommand = |word: &str| {
        word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !word.starts_with('-')
    };
    let known = |at| words.known_word(at);
    match (known(1), words.len()) {
        (Some(option), 2) => VERSION.contains(&option) || HELP.contains(&option),
        (Some(subcommand), 3) => {
            // The word can also be a host, or another program.
            is_subcommand(subcommand)
                && meaning.effects.is_empty()
                && known(2).is_some_and(|word| HELP.contains(&word))
        }
        _ => false,
    }
}

/// Returns the cause of a command that has no phrase.
fn derive_cause(name: &str, meaning: &CommandMeaning) -> CommandCause {
    let hides = |effect: &CommandEffect| matches!(effect, CommandEffect::Unknown(_));
    if !programs::is_known_program(name) {
        CommandCause::UnknownProgram
    } else if meaning.effects.iter().any(hides) {
        let phrase = "can do more than its words show";
        CommandCause::Stated { code: CauseCode::Opaque, phrase }
    } else if meaning.effects.iter().any(CommandEffect::is_command) {
        CommandCause::StartsPrograms
    } else {
        CommandCause::Derived
    }
}

/// Returns whether a program is named by a path outside the system directories.
fn is_outside_system_directories(name: &str) -> bool {
    let directory = name.rsplit_once('/').map(|(directory, _)| directory);
    directory.is_some_and(|directory| {
        !matches!(directory, "/bin" | "/usr/bin" | "/sbin" | "/usr/sbin" | "/usr/local/bin")
    })
}
