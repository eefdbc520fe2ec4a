//! Compound commands, and the facts that are certain in each of their branches and after them.

use openoxide_protocol::Span;

use super::{
    Source, Walk,
    assign::{Value, width},
    state::{Certain, State},
    told::Told,
};
use crate::syntax::tree::{Command, Compound, List, Test, Word};

impl Walk<'_> {
    /// Walks a compound command.
    pub(super) fn compound<'a>(
        &mut self,
        source: Source<'a, '_>,
        compound: &Compound<'a>,
    ) -> Option<State> {
        match compound {
            Compound::Group(list) => return self.list(source, list),
            Compound::Subshell(list) => self.apart(|walk| {
                walk.list(source, list);
            }),
            Compound::If { arms, otherwise } => self.conditional(source, arms, otherwise),
            Compound::While { condition, body, until } => {
                self.repeated(|walk| walk.round(source, condition, body, *until));
            }
            Compound::For { name, words, body, select } => {
                let values = self.for_words(source, name, words.as_deref());
                if *select {
                    self.assign("REPLY", Value::Text);
                }
                let was = self.rounds;
                self.rounds = was.saturating_mul(width(words.as_deref().unwrap_or_default()));
                self.repeated(|walk| match values.filter(|_| !*select) {
                    Some(values) => walk.each_round(source, name, values, body),
                    None => walk.body(source, body),
                });
                self.rounds = was;
                self.state.variables.forget(name);
            }
            Compound::ForArithmetic { parts, body } => {
                let whole = self.span(source, Span::new(0, source.text.len()));
                self.repeated(|walk| {
                    parts.iter().for_each(|part| walk.arithmetic(source, part, whole));
                    walk.body(source, body);
                });
            }
            Compound::Case { word, arms } => {
                self.visit_word(source, word);
                self.arms(source, arms);
            }
            Compound::Condition(tests) => {
                tests.iter().for_each(|test| self.condition(source, test));
            }
            Compound::Arithmetic(pieces) => {
                let whole = self.span(source, Span::new(0, source.text.len()));
                self.arithmetic(source, pieces, whole);
            }
            Compound::Function { name, body } => self.function(source, name, body),
            Compound::Coprocess { name, body } => {
                self.check_value(name, &Value::Digits, Span::default(), name);
                self.assign(name, Value::Digits);
                self.assign(&format!("{name}_PID"), Value::Digits);
                self.apart(|walk| {
                    walk.fed_elsewhere(|walk| walk.command(source, body));
                });
            }
        }
        None
    }

    fn conditional<'a>(
        &mut self,
        source: Source<'a, '_>,
        arms: &[(List<'a>, List<'a>)],
        otherwise: &List<'a>,
    ) {
        let mut ends = Vec::with_capacity(arms.len());
        for (condition, body) in arms {
            let failed = self.list(source, condition);
            let failed = failed.unwrap_or_else(|| self.state.clone());
            let last = self.list(source, body);
            self.settle(last);
            ends.push(std::mem::replace(&mut self.state, failed));
        }
        let last = self.list(source, otherwise);
        self.settle(last);
        ends.into_iter().for_each(|end| self.state.merge(end));
    }

    /// Walks what may run never, once, or again and again.
    fn repeated(&mut self, walk: impl FnOnce(&mut Self)) {
        self.seen.repeats = true;
        self.repeats += 1;
        self.forget_what_changes();
        let before = self.state.clone();
        let assignments = self.seen.assignments();
        walk(self);
        self.repeats -= 1;
        self.state.merge(before);
        // `break` can leave from anywhere, so the assignments inside of the loop are not certain
        // after it.
        if self.seen.assignments() != assignments {
            self.state.variables.clear();
        }
    }

    fn body<'a>(&mut self, source: Source<'a, '_>, body: &List<'a>) {
        let failed = self.list(source, body);
        self.settle(failed);
    }

    /// Walks the body of a loop once for each value of its variable. Nothing but the value is certain of any round.
    fn each_round<'a>(
        &mut self,
        source: Source<'a, '_>,
        name: &str,
        values: Vec<String>,
        body: &List<'a>,
    ) {
        let (start, mut end) = (self.state.clone(), State { ended: true, ..State::default() });
        let mut told = Told::after(&self.facts);
        for value in values {
            self.state = start.clone();
            self.state.variables.set(name, Certain::Text(value));
            self.body(source, body);
            told.drop_repeated(&mut self.facts);
            end.merge(std::mem::take(&mut self.state));
        }
        self.state = end;
    }

    /// Drops what another round, or another call, may have changed before it comes here.
    fn forget_what_changes(&mut self) {
        let known = &self.known;
        self.state.variables.retain(|name, _| known.assigned_once(name));
        if self.known.moves {
            self.state.lose_place();
        }
    }

    fn round<'a>(
        &mut self,
        source: Source<'a, '_>,
        condition: &List<'a>,
        body: &List<'a>,
        until: bool,
    ) {
        let failed = self.list(source, condition);
        let failed = failed.unwrap_or_else(|| self.state.clone());
        let (from, leave) = if until {
            (failed, std::mem::take(&mut self.state))
        } else {
            (std::mem::take(&mut self.state), failed)
        };
        self.state = from;
        let last = self.list(source, body);
        self.settle(last);
        self.state.merge(leave);
    }

    fn arms<'a>(&mut self, source: Source<'a, '_>, arms: &[(Vec<Word<'a>>, List<'a>)]) {
        // `;&` falls through: an arm may begin where the one before it ends.
        let mut all = self.state.clone();
        for (patterns, body) in arms {
            patterns.iter().for_each(|pattern| self.visit_word(source, pattern));
            all.merge(self.state.clone()); // They are expanded also where none of them matches.
            let last = self.list(source, body);
            self.settle(last);
            all.merge(self.state.clone());
            self.state = all.clone();
        }
    }

    fn condition<'a>(&mut self, source: Source<'a, '_>, test: &Test<'a>) {
        match test {
            Test::One(word) => self.visit_word(source, word),
            Test::Unary(operator, word) => {
                self.visit_word(source, word);
                if matches!(*operator, "-v" | "-R") {
                    self.may_fail();
                    self.variable_word(source, word);
                }
            }
            Test::Binary(left, operator, right) => {
                self.visit_word(source, left);
                self.visit_word(source, right);
                match *operator {
                    "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                        self.arithmetic_word(source, left);
                        self.arithmetic_word(source, right);
                    }
                    "=~" => self.assign("BASH_REMATCH", Value::Text),
                    _ => {}
                }
            }
        }
    }

    fn function<'a>(&mut self, source: Source<'a, '_>, name: &str, body: &Command<'a>) {
        self.seen.define(name);
        self.inside.push(name.to_owned());
        self.called_later(|walk| {
            walk.command(source, body);
        });
        self.inside.pop();
    }

    /// Walks what runs later, from any place: the body of a function, the text of a trap.
    pub(super) fn called_later(&mut self, walk: impl FnOnce(&mut Self)) {
        self.seen.repeats = true;
        let before = self.state.clone();
        let (piped, parallel) = (self.piped, std::mem::take(&mut self.parallel));
        let escaped = self.escaped.take();
        let stdin = self.stdin.take();
        self.piped = true;
        self.repeats += 1;
        self.forget_what_changes();
        if self.known.moved {
            self.state.lose_place();
        }
        walk(self);
        self.repeats -= 1;
        (self.piped, self.parallel) = (piped, parallel);
        self.escaped = escaped;
        self.stdin = stdin;
        self.state = before;
    }
}
