//! Compound commands, and the facts that are certain in each branch and after them.

use openoxide_protocol::Span;

use super::{
    assignments::{AssignedValue, brace_word_count},
    loop_facts::LoopFacts,
    script_walk::{ScriptWalk, WalkSource},
    state::{KnownValue, WalkState},
};
use crate::syntax::syntax_tree::{
    CommandList, CompoundCommand, ConditionTest, ShellCommand, ShellWord,
};

impl ScriptWalk<'_> {
    /// Walks a compound command.
    pub(super) fn walk_compound<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        compound: &CompoundCommand<'a>,
    ) -> Option<WalkState> {
        match compound {
            CompoundCommand::Group(list) => return self.walk_list(source, list),
            CompoundCommand::Subshell(list) => self.walk_in_subprocess(|walk| {
                walk.walk_list(source, list);
            }),
            CompoundCommand::If { arms, else_body: otherwise } => {
                self.walk_if(source, arms, otherwise);
            }
            CompoundCommand::While { condition, body, until } => {
                self.walk_repeated(|walk| walk.walk_while_round(source, condition, body, *until));
            }
            CompoundCommand::For { name, words, body, select } => {
                let values = self.walk_for_words(source, name, words.as_deref());
                if *select {
                    self.note_assignment("REPLY", AssignedValue::Text);
                }
                let was = self.loop_rounds;
                self.loop_rounds =
                    was.saturating_mul(brace_word_count(words.as_deref().unwrap_or_default()));
                self.walk_repeated(|walk| match values.filter(|_| !*select) {
                    Some(values) => walk.walk_loop_values(source, name, values, body),
                    None => walk.walk_body(source, body),
                });
                self.loop_rounds = was;
                self.state.variables.forget(name);
            }
            CompoundCommand::ForArithmetic { parts, body } => {
                let whole = self.outer_span(source, Span::new(0, source.text.len()));
                self.walk_repeated(|walk| {
                    parts.iter().for_each(|part| walk.walk_arithmetic(source, part, whole));
                    walk.walk_body(source, body);
                });
            }
            CompoundCommand::Case { word, arms } => {
                self.walk_word(source, word);
                self.walk_case_arms(source, arms);
            }
            CompoundCommand::Condition(tests) => {
                tests.iter().for_each(|test| self.walk_condition(source, test));
            }
            CompoundCommand::Arithmetic(pieces) => {
                let whole = self.outer_span(source, Span::new(0, source.text.len()));
                self.walk_arithmetic(source, pieces, whole);
            }
            CompoundCommand::Function { name, body } => self.walk_function(source, name, body),
            CompoundCommand::Coprocess { name, body } => {
                self.check_special_variable(name, &AssignedValue::Digits, Span::default(), name);
                self.current_scan.has_arrays = true;
                self.note_assignment(name, AssignedValue::Digits);
                self.note_assignment(&format!("{name}_PID"), AssignedValue::Digits);
                self.walk_in_subprocess(|walk| {
                    walk.walk_with_other_stdin(|walk| walk.walk_command(source, body));
                });
            }
        }
        None
    }

    fn walk_if<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        arms: &[(CommandList<'a>, CommandList<'a>)],
        otherwise: &CommandList<'a>,
    ) {
        let mut ends = Vec::with_capacity(arms.len());
        for (condition, body) in arms {
            let failed = self.walk_list(source, condition);
            let failed = failed.unwrap_or_else(|| self.state.clone());
            let last = self.walk_list(source, body);
            self.merge_failure(last);
            ends.push(std::mem::replace(&mut self.state, failed));
        }
        let last = self.walk_list(source, otherwise);
        self.merge_failure(last);
        ends.into_iter().for_each(|end| self.state.merge_branch(end));
    }

    /// Walks commands that may run any number of times.
    fn walk_repeated(&mut self, walk: impl FnOnce(&mut Self)) {
        self.current_scan.has_repetition = true;
        self.repetition_depth += 1;
        self.forget_changed_state();
        let before = self.state.clone();
        let assignments = self.current_scan.count_assignments();
        walk(self);
        self.repetition_depth -= 1;
        self.state.merge_branch(before);
        // `break` can leave from anywhere, so the assignments inside the loop are not certain
        // after it.
        if self.current_scan.count_assignments() != assignments {
            self.forget_values();
        }
    }

    fn walk_body<'a>(&mut self, source: WalkSource<'a, '_>, body: &CommandList<'a>) {
        let failed = self.walk_list(source, body);
        self.merge_failure(failed);
    }

    /// Walks the body of a loop once for each value of its variable. In each round, only that value
    /// is certain.
    fn walk_loop_values<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        name: &str,
        values: Vec<String>,
        body: &CommandList<'a>,
    ) {
        let (start, mut end) =
            (self.state.clone(), WalkState { has_exited: true, ..WalkState::default() });
        let mut told = LoopFacts::start_after(&self.facts);
        for value in values {
            self.state = start.clone();
            self.state.variables.set(name, KnownValue::Text(value));
            self.walk_body(source, body);
            told.drop_repeated(&mut self.facts);
            end.merge_branch(std::mem::take(&mut self.state));
        }
        self.state = end;
    }

    /// Drops the facts that another round or call may have changed before this point.
    fn forget_changed_state(&mut self) {
        let known = &self.previous_scan;
        self.state.variables.retain_or_weaken(
            |name| known.is_assigned_once(name),
            |name| !known.is_tainted_variable(name),
        );
        if self.previous_scan.changes_cwd_repeatedly {
            self.state.forget_working_directory();
        }
    }

    fn walk_while_round<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        condition: &CommandList<'a>,
        body: &CommandList<'a>,
        until: bool,
    ) {
        let failed = self.walk_list(source, condition);
        let failed = failed.unwrap_or_else(|| self.state.clone());
        let (from, leave) = if until {
            (failed, std::mem::take(&mut self.state))
        } else {
            (std::mem::take(&mut self.state), failed)
        };
        self.state = from;
        let last = self.walk_list(source, body);
        self.merge_failure(last);
        self.state.merge_branch(leave);
    }

    fn walk_case_arms<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        arms: &[(Vec<ShellWord<'a>>, CommandList<'a>)],
    ) {
        // `;&` falls through, so an arm may begin where the previous one ends.
        let mut all = self.state.clone();
        for (patterns, body) in arms {
            patterns.iter().for_each(|pattern| self.walk_word(source, pattern));
            // The patterns are expanded even if none of them matches.
            all.merge_branch(self.state.clone());
            let last = self.walk_list(source, body);
            self.merge_failure(last);
            all.merge_branch(self.state.clone());
            self.state = all.clone();
        }
    }

    fn walk_condition<'a>(&mut self, source: WalkSource<'a, '_>, test: &ConditionTest<'a>) {
        match test {
            ConditionTest::One(word) => self.walk_word(source, word),
            ConditionTest::Unary(operator, word) => {
                self.walk_word(source, word);
                if matches!(*operator, "-v" | "-R") {
                    self.note_possible_failure();
                    self.check_variable_word(source, word);
                }
            }
            ConditionTest::Binary(left, operator, right) => {
                self.walk_word(source, left);
                self.walk_word(source, right);
                match *operator {
                    "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                        self.walk_arithmetic_word(source, left);
                        self.walk_arithmetic_word(source, right);
                    }
                    "=~" => self.note_assignment("BASH_REMATCH", AssignedValue::Text),
                    _ => {}
                }
            }
        }
    }

    fn walk_function<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        name: &str,
        body: &ShellCommand<'a>,
    ) {
        self.current_scan.add_function(name);
        self.active_functions.push(name.to_owned());
        self.walk_deferred(|walk| {
            walk.walk_command(source, body);
        });
        self.active_functions.pop();
    }

    /// Walks commands that run later, from any point: the body of a function, the text of a trap.
    pub(super) fn walk_deferred(&mut self, walk: impl FnOnce(&mut Self)) {
        self.current_scan.has_repetition = true;
        let before = self.state.clone();
        let (piped, parallel) = (self.reads_pipe, std::mem::take(&mut self.is_parallel));
        let escaped = self.expansion_failure_state.take();
        let stdin = self.stdin.take();
        self.reads_pipe = true;
        self.repetition_depth += 1;
        self.forget_changed_state();
        if self.previous_scan.changes_cwd {
            self.state.forget_working_directory();
        }
        walk(self);
        self.repetition_depth -= 1;
        (self.reads_pipe, self.is_parallel) = (piped, parallel);
        self.expansion_failure_state = escaped;
        self.stdin = stdin;
        self.state = before;
    }
}
