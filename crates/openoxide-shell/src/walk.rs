//! The traversal of a syntax tree, which determines the programs that would run and their accesses.
//!
//! Each branch is walked once. The walk tracks what is certain about directories and variables at
//! each point, and records where something is uncertain. Loops and functions run their commands in
//! an order that the text does not show. A script that contains them is walked twice, the second
//! time with the facts about the whole script from the first walk.

mod arithmetic;
mod assignments;
mod builtins;
mod carried_commands;
mod command_call;
mod command_causes;
mod command_effects;
mod command_text;
mod compound_commands;
mod declarations;
mod environment_changes;
pub(crate) mod environment_variables;
mod expanded_word;
mod expansion_walk;
mod loop_facts;
mod named_resources;
mod numeric_output;
mod parameter_lookup;
mod patched;
mod path_resolution;
mod piped_input;
mod posix_differences;
mod printf_builtin;
mod program_execution;
mod redirections;
mod script_scan;
mod script_walk;
mod simple_commands;
mod state;
mod test_builtin;
mod value_text;
mod word_expansion;
mod working_directories;

use openoxide_protocol::{Access, OperationFacts, Span};

use self::{
    command_call::CommandCall,
    script_scan::ScriptScan,
    script_walk::{PipedInput, ScriptWalk, WalkSource},
    state::WalkState,
};
use crate::{
    analysis_context::AnalysisContext,
    findings::{self, FindingCode},
    syntax::{
        self, MAX_DEPTH,
        syntax_tree::{
            CommandList, ListItem, ListOperator, Pipeline, ShellCommand, SimpleCommand, SyntaxTree,
        },
    },
};

/// The maximum amount of text that may be parsed again, such as the argument of `eval`.
const MAX_NESTED_TEXT: usize = 256 * 1024;

/// Returns the facts of `script`, if it consists only of a few literal words.
pub(crate) fn analyze_plain_script(
    script: &str,
    setting: &AnalysisContext<'_>,
) -> Option<OperationFacts> {
    let argv = syntax::split_plain_words(script)?;
    let mut walk = ScriptWalk::new(setting, ScriptScan::default());
    walk.search_rare_syntax(script, None);
    walk.run_command(&CommandCall::from_plain_words(script, argv), true);
    // Commands that also run later are walked twice.
    (!walk.current_scan.has_repetition).then(|| walk.into_facts())
}

/// Returns the facts of `script`.
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

/// Walks a whole script, twice if it has loops or functions.
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

/// Walks `script` as a whole. Returns `None` if the script is not parsed completely.
pub(crate) fn walk_whole_script<'s>(
    script: &str,
    setting: &'s AnalysisContext<'s>,
) -> Option<ScriptWalk<'s>> {
    let (tree, fault) = syntax::parse_script(script, 0);
    if fault.is_some() || tree.unusual_offset.is_some() {
        return None;
    }
    let mut walk = through(script, &tree, setting);
    walk.is_bash_only |= tree.uses_bashisms;
    Some(walk)
}

impl ScriptWalk<'_> {
    fn walk_tree<'a>(&mut self, text: &'a str, tree: &SyntaxTree<'a>) {
        let source = WalkSource { text, outer: None, heredocs: &tree.heredocs };
        self.search_rare_syntax(text, None);
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

    /// Walks a list. Leaves the state after success in `self`. Returns the state after failure, if
    /// it is different.
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
        // If a redirection fails, the command does not run.
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

    /// Parses and walks text that runs as a script.
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
        self.search_rare_syntax(text, Some(span));
        self.walk_lines(source, &tree.list);
        if let Some(inside) = std::mem::replace(&mut self.expansion_failure_state, escaped) {
            self.state.merge_branch(inside);
        }
        self.substitution_outputs.truncate(noted); // Other trees may be stored at the same address.
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
}
