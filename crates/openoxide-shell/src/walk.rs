//! The traversal of a syntax tree, which determines the programs that would run and their accesses.
//!
//! Each branch is walked once. The walk keeps what is certain about directories and variables at
//! each point, and records where something is uncertain. Loops and functions run their commands in
//! an order that the text does not show. A script that has them is walked twice, the second time
//! with the facts about the whole script from the first walk.

mod arithmetic;
mod assignments;
mod brace_expansion;
mod builtins;
mod carried_commands;
mod command_causes;
mod compound_commands;
mod declarations;
pub(crate) mod environment_variables;
mod expansion_walk;
mod loop_facts;
mod numeric_output;
mod patched;
mod path_resolution;
mod piped_input;
mod posix_differences;
mod printf_builtin;
mod program_execution;
mod redirections;
mod script_scan;
mod simple_commands;
mod state;
mod test_builtin;
mod word_expansion;
mod working_directories;

use openoxide_protocol::{Access, OperationFacts, Span};

use self::{
    piped_input::PipedInput, script_scan::ScriptScan, simple_commands::CommandCall,
    state::WalkState,
};
use crate::{
    AnalysisContext, ScriptTraits,
    findings::{self, FindingCode},
    programs::WordSource,
    syntax::{
        self, MAX_DEPTH,
        syntax_tree::{
            CommandList, ListItem, ListOperator, Pipeline, ShellCommand, SimpleCommand, SyntaxTree,
            WordPiece,
        },
    },
};

/// The maximum amount of text that may be parsed again, such as the argument of `eval`.
const MAX_NESTED_TEXT: usize = 256 * 1024;

/// The origin of a tree.
#[derive(Clone, Copy, Debug)]
struct WalkSource<'a, 't> {
    text: &'a str,
    /// The place in the outermost script, when the text is not a part of it.
    outer: Option<Span>,
    heredocs: &'t [Vec<WordPiece<'a>>],
}

/// One walk through a script.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct ScriptWalk<'s> {
    context: &'s AnalysisContext<'s>,
    facts: OperationFacts,
    /// The facts about the whole script from an earlier walk.
    previous_scan: ScriptScan,
    /// The facts about the whole script that this walk has found so far.
    current_scan: ScriptScan,
    state: WalkState,
    depth: u8,
    nested_text: usize,
    /// The functions whose bodies are being walked.
    active_functions: Vec<String>,
    /// The number of loops and functions around this point, up to the next subshell.
    repetition_depth: u32,
    /// The number of times that this point is walked, in the rounds of the loops around it.
    loop_rounds: usize,
    /// Whether this command is one of several in a pipeline or runs in the background.
    is_parallel: bool,
    /// Whether this command reads the output of another command.
    reads_pipe: bool,
    /// The files that are named by the lines that this command reads, if they are known.
    stdin: Option<PipedInput>,
    /// Whether the simple command that comes next writes into a pipe.
    writes_pipe: bool,
    /// The files that are named by the lines that the last simple command has printed, if they are
    /// known.
    printed_files: Option<WordSource>,
    /// The substitutions whose output is known to name files, by their position in the tree.
    substitution_outputs: Vec<(usize, WordSource)>,
    /// The certain state if an expansion has failed. bash then abandons the line and continues with
    /// the next one.
    expansion_failure_state: Option<WalkState>,
    /// Whether something was used that bash and a plain shell interpret differently.
    is_bash_only: bool,
    /// Whether something was used that zsh interprets differently from bash and a plain shell.
    only_without_zsh: bool,
    /// The index of the access of the command whose rules cover the tools that run now.
    carrier: Option<usize>,
    /// Whether a secret of the environment was expanded anywhere except in the words of a command.
    reveals: bool,
    /// The writes to standard output or standard error by their names in `/dev`. They are opaque if
    /// such a descriptor exists.
    descriptor_writes: Vec<Access>,
}

/// Returns the facts of `script`, if it consists only of a few literal words.
pub(crate) fn analyze_plain_script(
    script: &str,
    setting: &AnalysisContext<'_>,
) -> Option<OperationFacts> {
    let argv = syntax::split_plain_words(script)?;
    let mut walk = ScriptWalk::new(setting, ScriptScan::default());
    walk.run_command(&CommandCall::from_plain_words(script, argv), true);
    // What runs later as well is walked twice.
    (!walk.current_scan.has_repetition).then(|| walk.into_facts())
}

/// Returns what `script` means.
pub(crate) fn analyze_walk(script: &str, setting: &AnalysisContext<'_>) -> OperationFacts {
    let (tree, fault) = syntax::parse_script(script, 0);
    let mut walk = through(script, &tree, setting);
    if let Some(at) = tree.unusual_offset {
        walk.add_opaque_access(
            script,
            Span::new(at.min(script.len()), script.len()),
            FindingCode::Syntax,
        );
    }
    if let Some(fault) = fault {
        let code = if fault.too_deep { FindingCode::TooLong } else { FindingCode::Syntax };
        walk.facts.findings.push(findings::new_finding(
            code,
            Span::new(fault.offset.min(script.len()), script.len()),
        ));
        let span = Span::new(0, script.len());
        walk.facts.accesses.push(Access::Opaque { text: script.to_owned(), span });
    }
    walk.into_facts()
}

/// Walks a whole script.
fn through<'s>(
    script: &str,
    tree: &SyntaxTree<'_>,
    setting: &'s AnalysisContext<'s>,
) -> ScriptWalk<'s> {
    let mut walk = ScriptWalk::new(setting, ScriptScan::default());
    walk.walk_tree(script, tree);
    if walk.current_scan.has_repetition {
        walk = ScriptWalk::new(setting, std::mem::take(&mut walk.current_scan));
        walk.walk_tree(script, tree);
    }
    walk
}

/// Returns the properties of `script`.
pub(crate) fn traits(script: &str, setting: &AnalysisContext<'_>) -> ScriptTraits {
    let (tree, fault) = syntax::parse_script(script, 0);
    if fault.is_some() || tree.unusual_offset.is_some() {
        return ScriptTraits::default();
    }
    let walk = through(script, &tree, setting);
    let is_portable = !tree.uses_bashisms && !walk.is_bash_only && !walk.only_without_zsh;
    let last = walk
        .state
        .working_directories
        .known_directories(setting.cwd)
        .map(|bases| bases.cloned().collect());
    let known = walk.previous_scan.assigned_names();
    let assigned = walk.current_scan.assigned_names().zip(known).map(|(mut names, known)| {
        names.extend(known);
        names
    });
    ScriptTraits { is_portable, assigned, last_directories: last }
}

impl<'s> ScriptWalk<'s> {
    fn new(context: &'s AnalysisContext<'s>, previous_scan: ScriptScan) -> Self {
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

    fn walk_tree<'a>(&mut self, text: &'a str, tree: &SyntaxTree<'a>) {
        let source = WalkSource { text, outer: None, heredocs: &tree.heredocs };
        self.walk_lines(source, &tree.list);
    }

    /// Walks the lines of a script.
    fn walk_lines<'a>(&mut self, source: WalkSource<'a, '_>, list: &CommandList<'a>) {
        let mut failed = None;
        for item in list {
            self.merge_failure(failed.take());
            if let (true, Some(escaped)) = (item.starts_line, &mut self.expansion_failure_state) {
                self.state.merge_branch(std::mem::take(escaped));
                self.expansion_failure_state = None;
            }
            failed = self.walk_item(source, item);
        }
        self.merge_failure(failed);
    }

    /// Notes that an expansion may fail here.
    fn note_possible_failure(&mut self) {
        let state = self.state.clone();
        match &mut self.expansion_failure_state {
            Some(escaped) => escaped.merge_branch(state),
            None => self.expansion_failure_state = Some(state),
        }
    }

    /// Returns the facts. A change of programs also affects the programs before it, because it may
    /// be in a loop.
    fn into_facts(mut self) -> OperationFacts {
        if self.current_scan.changes_programs || self.reveals {
            for access in &mut self.facts.accesses {
                if let Access::Exec(exec) = access {
                    exec.class = openoxide_protocol::CommandClass::Unknown;
                }
            }
        }
        let runs = |access: &Access| matches!(access, Access::Exec(_));
        if self.reveals && !self.facts.accesses.iter().any(runs) {
            // Errors of the shell itself hold it: `${x?$TOKEN}`.
            let text = "a secret of the environment".to_owned();
            self.facts.accesses.push(Access::Opaque { text, span: Span::default() });
        }
        if self.current_scan.reads_on_descriptor {
            self.facts.accesses.append(&mut self.descriptor_writes);
        }
        self.facts
    }

    /// Walks a list. Afterwards the state is that of success; the returned one is that of failure, if it is another.
    fn walk_list<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        list: &CommandList<'a>,
    ) -> Option<WalkState> {
        let mut failed = None;
        for item in list {
            self.merge_failure(failed.take());
            failed = self.walk_item(source, item);
        }
        failed
    }

    /// Goes on, whether the last command succeeded or not.
    fn merge_failure(&mut self, failed: Option<WalkState>) {
        if let Some(failed) = failed {
            self.state.merge_branch(failed);
        }
    }

    fn walk_item<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        item: &ListItem<'a>,
    ) -> Option<WalkState> {
        if item.is_background {
            let was = std::mem::replace(&mut self.is_parallel, true);
            self.walk_in_subprocess(|walk| {
                walk.walk_and_or_list(source, item);
            });
            self.is_parallel = was;
            return None;
        }
        self.walk_and_or_list(source, item)
    }

    fn walk_and_or_list<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        item: &ListItem<'a>,
    ) -> Option<WalkState> {
        let mut failed = self.walk_pipeline(source, &item.first);
        for (join, pipeline) in &item.rest {
            failed = match join {
                ListOperator::And => self.walk_and(source, pipeline, failed),
                ListOperator::Or => self.walk_or(source, pipeline, failed),
            };
        }
        failed
    }

    fn walk_and<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        next: &Pipeline<'a>,
        failed: Option<WalkState>,
    ) -> Option<WalkState> {
        let mut all_failed = failed.unwrap_or_else(|| self.state.clone());
        let failed = self.walk_pipeline(source, next);
        all_failed.merge_branch(failed.unwrap_or_else(|| self.state.clone()));
        Some(all_failed)
    }

    fn walk_or<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        next: &Pipeline<'a>,
        failed: Option<WalkState>,
    ) -> Option<WalkState> {
        let succeeded = self.state.clone();
        if let Some(failed) = failed {
            self.state = failed;
        }
        let failed = self.walk_pipeline(source, next);
        let failed = failed.unwrap_or_else(|| self.state.clone());
        self.state.merge_branch(succeeded);
        Some(failed)
    }

    fn walk_pipeline<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        pipeline: &Pipeline<'a>,
    ) -> Option<WalkState> {
        if let [command] = pipeline.commands.as_slice() {
            let failed = self.walk_command(source, command);
            if !pipeline.is_negated {
                return failed;
            }
            self.merge_failure(failed);
            return None;
        }
        let was = (self.is_parallel, self.reads_pipe);
        self.is_parallel = true;
        let stdin = self.stdin.clone();
        for (index, command) in pipeline.commands.iter().enumerate() {
            self.reads_pipe = index > 0 || was.1;
            let simple = matches!(command, ShellCommand::Simple(_));
            self.writes_pipe = simple && index + 1 < pipeline.commands.len();
            self.printed_files = None;
            self.walk_in_subprocess(|walk| {
                walk.walk_command(source, command);
            });
            self.stdin = self.printed_files.take().filter(|_| simple).map(|paths| PipedInput {
                paths,
                working_directories: self.state.working_directories.clone(),
                is_shared: false,
            });
        }
        (self.is_parallel, self.reads_pipe) = was;
        self.printed_files = self.stdin.take().map(|stdin| stdin.paths);
        self.stdin = stdin;
        None
    }

    /// Walks a part that runs in a separate process. Its changes to the shell are discarded.
    fn walk_in_subprocess(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = self.state.clone();
        let repeats = std::mem::take(&mut self.repetition_depth);
        let escaped = self.expansion_failure_state.take(); // Where an expansion fails in there, that process ends.
        walk(self);
        self.repetition_depth = repeats;
        self.expansion_failure_state = escaped;
        self.state = before;
    }

    fn walk_command<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        command: &ShellCommand<'a>,
    ) -> Option<WalkState> {
        let (ShellCommand::Simple(SimpleCommand { redirects, .. })
        | ShellCommand::Compound(_, redirects)) = command;
        if redirects.is_empty() {
            return self.walk_redirected_command(source, command);
        }
        // A redirection that fails is a command that never ran.
        let mut before = self.state.clone();
        let failed = if piped_input::redirects_stdin(redirects) {
            self.walk_with_other_stdin(|walk| walk.walk_redirected_command(source, command))
        } else {
            self.walk_redirected_command(source, command)
        };
        before.merge_branch(failed.unwrap_or_else(|| self.state.clone()));
        Some(before)
    }

    /// Walks a command whose redirections succeed.
    fn walk_redirected_command<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        command: &ShellCommand<'a>,
    ) -> Option<WalkState> {
        match command {
            ShellCommand::Simple(simple) => self.walk_simple_command(source, simple),
            ShellCommand::Compound(compound, redirects) => {
                for redirect in redirects {
                    self.walk_redirection(source, redirect);
                }
                self.mark_stdin_shared();
                self.walk_compound(source, compound)
            }
        }
    }

    /// Reads and walks text that runs as a script.
    fn walk_script(&mut self, text: &str, span: Span) {
        self.nested_text = self.nested_text.saturating_add(text.len());
        if self.depth >= MAX_DEPTH || self.nested_text > MAX_NESTED_TEXT {
            return self.add_opaque_access(text, span, FindingCode::TooLong);
        }
        self.depth += 1;
        let (tree, fault) = syntax::parse_script(text, self.depth);
        self.is_bash_only |= tree.uses_bashisms;
        let source = WalkSource { text, outer: Some(span), heredocs: &tree.heredocs };
        let noted = self.substitution_outputs.len();
        let escaped = self.expansion_failure_state.take();
        self.mark_stdin_shared();
        self.walk_lines(source, &tree.list);
        if let Some(inside) = std::mem::replace(&mut self.expansion_failure_state, escaped) {
            self.state.merge_branch(inside);
        }
        self.substitution_outputs.truncate(noted); // Other trees will stand where this one stood.
        self.depth -= 1;
        if tree.unusual_offset.is_some() {
            self.add_opaque_access(text, span, FindingCode::Syntax);
        }
        if let Some(fault) = fault {
            self.add_opaque_access(
                text,
                span,
                if fault.too_deep { FindingCode::TooLong } else { FindingCode::Syntax },
            );
        }
    }

    /// Records that something was not understood, and the reason.
    fn add_opaque_access(&mut self, text: &str, span: Span, code: FindingCode) {
        self.facts.accesses.push(Access::Opaque { text: text.to_owned(), span });
        self.facts.findings.push(findings::new_finding(code, span));
    }

    /// Returns the place of `span` in the outermost script.
    fn outer_span(&self, source: WalkSource<'_, '_>, span: Span) -> Span {
        source.outer.unwrap_or(span)
    }
}

impl<'a> WalkSource<'a, '_> {
    /// Returns the text at `span`.
    fn text_at(&self, span: Span) -> &'a str {
        let at = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
        self.text.get(at(span.start)..at(span.end)).unwrap_or(self.text)
    }
}
