//! Patches that a command reads from its standard input.

use openoxide_protocol::{Access, AccessRoute, CommandWords, PathAccess};

use super::{
    command_call::{CommandCall, StdinSource},
    script_walk::ScriptWalk,
};
use crate::{
    findings,
    patch::{applies_patch, is_from_stdin, patched_files},
    programs::{CommandEffect, CommandMeaning},
};

const UNKNOWN_PATCH: &str = "applies a patch that is not known";

impl ScriptWalk<'_> {
    /// Adds the files that a patch from standard input changes. An unknown patch can change any
    /// file.
    ///
    /// Patches that are named by words or a redirection are files. They are examined where the file
    /// system is accessible.
    pub(super) fn patches(
        &mut self,
        call: &CommandCall<'_>,
        words: &CommandWords,
        meaning: &CommandMeaning,
    ) {
        let plain = meaning.canonical_words.as_ref().unwrap_or(words);
        if !applies_patch(plain, meaning.class) {
            return;
        }
        let reads = |effect: &CommandEffect| matches!(effect, CommandEffect::Reads(_));
        let named = meaning.effects.iter().any(reads) && !is_from_stdin(plain);
        match &call.input {
            StdinSource::Text(text) => {
                for file in patched_files(text) {
                    let paths = self.candidate_paths(&file, call.span).into_iter().flatten();
                    let paths =
                        paths.map(|path| PathAccess { route: AccessRoute::Program, ..path });
                    self.facts.accesses.extend(paths.map(Access::Edit));
                }
            }
            StdinSource::File => {}
            StdinSource::Inherited if named => {}
            StdinSource::Inherited | StdinSource::Other => {
                let text = call.text.to_owned();
                self.facts.accesses.push(Access::Opaque { text, span: call.span });
                self.facts
                    .findings
                    .push(findings::new_hidden_effect_finding(UNKNOWN_PATCH, call.span));
            }
        }
    }
}
