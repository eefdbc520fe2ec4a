//! The state of a walk through a script, and the facts found so far.

use openoxide_protocol::{AbsPath, Access, CauseCode, CommandClass, OperationFacts, Span};

use super::{script_scan::ScriptScan, state::WalkState, working_directories::CwdSet};
use crate::{
    analysis_context::AnalysisContext,
    findings::{self, FindingCode},
    programs::WordSource,
    rare_syntax,
    syntax::syntax_tree::WordPiece,
};

/// The phrase for a command that is harmless with other variables.
pub(super) const ALTERED_ENVIRONMENT: &str = "runs with variables that can change what it does";

/// The origin of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkSource<'a, 't> {
    pub(super) text: &'a str,
    /// The span in the outermost script, if the text is not a part of it.
    pub(super) outer: Option<Span>,
    pub(super) heredocs: &'t [Vec<WordPiece<'a>>],
}

/// One walk through a script.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct ScriptWalk<'s> {
    pub(super) context: &'s AnalysisContext<'s>,
    pub(super) facts: OperationFacts,
    /// The facts about the whole script from an earlier walk.
    pub(super) previous_scan: ScriptScan,
    /// The facts about the whole script that this walk has found so far.
    pub(super) current_scan: ScriptScan,
    pub(super) state: WalkState,
    pub(super) depth: u8,
    pub(super) nested_text: usize,
    /// The functions whose bodies are being walked.
    pub(super) active_functions: Vec<String>,
    /// The number of loops and functions around this point, up to the next subshell.
    pub(super) repetition_depth: u32,
    /// The number of times that this point is walked, in the rounds of the loops around it.
    pub(super) loop_rounds: usize,
    /// Whether this command is one of several in a pipeline or runs in the background.
    pub(super) is_parallel: bool,
    /// Whether this command reads the output of another command.
    pub(super) reads_pipe: bool,
    /// The files that are named by the lines that this command reads, if they are known.
    pub(super) stdin: Option<PipedInput>,
    /// Whether the next simple command writes into a pipe.
    pub(super) writes_pipe: bool,
    /// The files that are named by the lines that the last simple command has printed, if they are
    /// known.
    pub(super) printed_files: Option<WordSource>,
    /// The substitutions whose output is known to name files, by their position in the tree.
    pub(super) substitution_outputs: Vec<(usize, WordSource)>,
    /// The certain state if an expansion has failed. bash then abandons the line and continues with
    /// the next one.
    pub(super) expansion_failure_state: Option<WalkState>,
    /// Whether the script uses something that bash and a plain shell interpret differently.
    pub(super) is_bash_only: bool,
    /// Whether the script uses something that zsh interprets differently from bash and a plain
    /// shell.
    pub(super) only_without_zsh: bool,
    /// The index of the access of the command whose rules cover the tools that are being walked.
    pub(super) carrier: Option<usize>,
    /// Whether a secret of the environment was expanded anywhere except in the words of a command.
    pub(super) reveals: bool,
    /// The writes to standard output or standard error by their names in `/dev`. They are opaque if
    /// such a descriptor exists.
    pub(super) descriptor_writes: Vec<Access>,
}

/// The data that comes through a pipe.
#[derive(Clone, Debug)]
pub(super) struct PipedInput {
    /// The files that the lines name.
    pub(super) paths: WordSource,
    pub(super) working_directories: CwdSet,
    /// Whether several commands read from it, one after the other. Each begins where the previous
    /// one stopped, which may be in the middle of a name.
    pub(super) is_shared: bool,
}

impl<'s> ScriptWalk<'s> {
    /// Creates a walk with the facts from an earlier walk.
    pub(super) fn new(context: &'s AnalysisContext<'s>, previous_scan: ScriptScan) -> Self {
        Self {
            context,
            facts: OperationFacts::default(),
            previous_scan,
            current_scan: ScriptScan::default(),
            state: WalkState::default(),
            depth: 0,
            nested_text: 0,
            active_functions: Vec::new(),
            repetition_depth: 0,
            loop_rounds: 1,
            is_parallel: false,
            reads_pipe: false,
            stdin: None,
            writes_pipe: false,
            printed_files: None,
            substitution_outputs: Vec::new(),
            expansion_failure_state: None,
            is_bash_only: false,
            only_without_zsh: false,
            carrier: None,
            reveals: false,
            descriptor_writes: Vec::new(),
        }
    }

    /// Records that an expansion may fail here.
    pub(super) fn note_possible_failure(&mut self) {
        let state = self.state.clone();
        match &mut self.expansion_failure_state {
            Some(escaped) => escaped.merge_branch(state),
            None => self.expansion_failure_state = Some(state),
        }
    }

    /// Returns the facts. A change of programs also affects the programs before it, because it may
    /// be in a loop.
    pub(super) fn into_facts(mut self) -> OperationFacts {
        if self.current_scan.changes_programs || self.reveals {
            for access in &mut self.facts.accesses {
                if let Access::Exec(exec) = access {
                    if self.current_scan.changes_programs {
                        exec.distrust(CauseCode::RunsCode, ALTERED_ENVIRONMENT);
                    }
                    exec.class = CommandClass::Unknown;
                }
            }
        }
        let runs = |access: &Access| matches!(access, Access::Exec(_));
        if self.reveals && !self.facts.accesses.iter().any(runs) {
            // Error messages of the shell itself contain the secret: `${x?$TOKEN}`.
            let text = "a secret of the environment".to_owned();
            self.facts.accesses.push(Access::Opaque { text, span: Span::default() });
        }
        if self.current_scan.reads_on_descriptor {
            self.facts.accesses.append(&mut self.descriptor_writes);
        }
        self.facts
    }

    /// Continues with the state after success or failure of the last command.
    pub(super) fn merge_failure(&mut self, failed: Option<WalkState>) {
        if let Some(failed) = failed {
            self.state.merge_branch(failed);
        }
    }

    /// Walks a part that runs in a separate process. Its changes to the shell are discarded.
    pub(super) fn walk_in_subprocess(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = self.state.clone();
        let repeats = std::mem::take(&mut self.repetition_depth);
        // If an expansion fails in the subprocess, that process ends.
        let escaped = self.expansion_failure_state.take();
        walk(self);
        self.repetition_depth = repeats;
        self.expansion_failure_state = escaped;
        self.state = before;
    }

    /// Records that something was not understood, and the reason.
    pub(super) fn add_opaque_access(&mut self, text: &str, span: Span, code: FindingCode) {
        self.facts.accesses.push(Access::Opaque { text: text.to_owned(), span });
        self.facts.findings.push(findings::new_finding(code, span));
    }

    /// Returns the span in the outermost script for `span`.
    pub(super) fn outer_span(&self, source: WalkSource<'_, '_>, span: Span) -> Span {
        source.outer.unwrap_or(span)
    }

    /// Searches `text`, which runs as a script, for rare syntax. `outer` is its place in the
    /// outermost script, if the text is not a part of it.
    pub(super) fn search_rare_syntax(&mut self, text: &str, outer: Option<Span>) {
        if let Some(rare) = rare_syntax::find_rare_syntax(text) {
            self.add_rare_syntax(rare.description, outer.unwrap_or(rare.span));
        }
    }

    /// Adds the finding of rare syntax, at most once for a script.
    pub(super) fn add_rare_syntax(&mut self, description: &str, span: Span) {
        let finding = findings::new_rare_syntax_finding(description, span);
        if !self.facts.findings.iter().any(|known| known.code == finding.code) {
            self.facts.findings.push(finding);
        }
    }

    /// Adds a finding without a separate access.
    pub(super) fn add_finding(&mut self, code: FindingCode, span: Span) {
        self.facts.findings.push(findings::new_finding(code, span));
    }

    /// Returns whether a POSIX shell and zsh read the script like bash, as far as the walk shows.
    pub(crate) fn is_portable(&self) -> bool {
        !self.is_bash_only && !self.only_without_zsh
    }

    /// Returns the variables that the script assigns, or [`None`] if they are unknown.
    pub(crate) fn assigned_variables(&self) -> Option<Vec<String>> {
        let known = self.previous_scan.assigned_names();
        self.current_scan.assigned_names().zip(known).map(|(mut names, known)| {
            names.extend(known);
            names
        })
    }

    /// Returns the possible working directories of the shell at the end, or [`None`] if they are
    /// unknown.
    pub(crate) fn last_directories(&self) -> Option<Vec<AbsPath>> {
        let directories = self.state.working_directories.known_directories(self.context.cwd);
        directories.map(|directories| directories.cloned().collect())
    }
}

impl<'a> WalkSource<'a, '_> {
    /// Returns the text at `span`.
    pub(super) fn text_at(&self, span: Span) -> &'a str {
        let at = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
        self.text.get(at(span.start)..at(span.end)).unwrap_or(self.text)
    }
}
