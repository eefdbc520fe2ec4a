//! The traversal of a syntax tree, which determines the programs that would run and their accesses.
//!
//! Each branch is walked once. The walk keeps what is certain about directories and variables at
//! each point, and records where something is uncertain. Loops and functions run their commands in
//! an order that the text does not show. A script that has them is walked twice, the second time
//! with the facts about the whole script from the first walk.

mod arithmetic;
mod assign;
mod bases;
mod braces;
mod builtins;
mod carried;
mod compound;
mod declare;
pub(crate) mod environment;
mod expand;
mod number;
mod patched;
mod paths;
mod portable;
mod printf;
mod program;
mod redirect;
mod simple;
mod state;
mod stdin;
mod test;
mod told;
mod visit;
mod whole;

use openoxide_protocol::{Access, OperationFacts, Span};

use self::{simple::Call, state::State, stdin::Stdin, whole::Whole};
use crate::{
    ScriptTraits, Setting,
    findings::{self, Code},
    programs::Paths,
    syntax::{
        self, MAX_DEPTH,
        tree::{Command, Item, Join, List, Piece, Pipeline, Simple, Tree},
    },
};

/// The maximum amount of text that may be parsed again, such as the argument of `eval`.
const MOST_NESTED_TEXT: usize = 256 * 1024;

/// The origin of a tree.
#[derive(Clone, Copy, Debug)]
struct Source<'a, 't> {
    text: &'a str,
    /// The place in the outermost script, when the text is not a part of it.
    outer: Option<Span>,
    heredocs: &'t [Vec<Piece<'a>>],
}

/// One walk through a script.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Walk<'s> {
    setting: &'s Setting<'s>,
    facts: OperationFacts,
    /// The facts about the whole script from an earlier walk.
    known: Whole,
    /// The facts about the whole script that this walk has found so far.
    seen: Whole,
    state: State,
    depth: u8,
    nested_text: usize,
    /// The functions whose bodies are being walked.
    inside: Vec<String>,
    /// The number of loops and functions around this point, up to the next subshell.
    repeats: u32,
    /// The number of times that this point is walked, in the rounds of the loops around it.
    rounds: usize,
    /// Whether this command is one of several in a pipeline or runs in the background.
    parallel: bool,
    /// Whether this command reads the output of another command.
    piped: bool,
    /// The files that are named by the lines that this command reads, if they are known.
    stdin: Option<Stdin>,
    /// The files that are named by the lines that the last simple command has printed, if they are
    /// known.
    prints: Option<Paths>,
    /// The substitutions whose output is known to name files, by their position in the tree.
    substituted: Vec<(usize, Paths)>,
    /// The certain state if an expansion has failed. bash then abandons the line and continues with
    /// the next one.
    escaped: Option<State>,
    /// Whether something was used that bash and a plain shell interpret differently.
    only_bash: bool,
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
pub(crate) fn plain_facts(script: &str, setting: &Setting<'_>) -> Option<OperationFacts> {
    let argv = syntax::plain_words(script)?;
    let mut walk = Walk::new(setting, Whole::default());
    walk.run(&Call::plain(script, argv), true);
    // What runs later as well is walked twice.
    (!walk.seen.repeats).then(|| walk.finish())
}

/// Returns what `script` means.
pub(crate) fn facts(script: &str, setting: &Setting<'_>) -> OperationFacts {
    let (tree, fault) = syntax::parse(script, 0);
    let mut walk = through(script, &tree, setting);
    if let Some(at) = tree.unusual {
        walk.opaque(script, Span::new(at.min(script.len()), script.len()), Code::Syntax);
    }
    if let Some(fault) = fault {
        let code = if fault.too_deep { Code::TooLong } else { Code::Syntax };
        walk.facts
            .findings
            .push(findings::at(code, Span::new(fault.at.min(script.len()), script.len())));
        let span = Span::new(0, script.len());
        walk.facts.accesses.push(Access::Opaque { text: script.to_owned(), span });
    }
    walk.finish()
}

/// Walks a whole script.
fn through<'s>(script: &str, tree: &Tree<'_>, setting: &'s Setting<'s>) -> Walk<'s> {
    let mut walk = Walk::new(setting, Whole::default());
    walk.tree(script, tree);
    if walk.seen.repeats {
        walk = Walk::new(setting, std::mem::take(&mut walk.seen));
        walk.tree(script, tree);
    }
    walk
}

/// Returns the properties of `script`.
pub(crate) fn traits(script: &str, setting: &Setting<'_>) -> ScriptTraits {
    let (tree, fault) = syntax::parse(script, 0);
    if fault.is_some() || tree.unusual.is_some() {
        return ScriptTraits::default();
    }
    let walk = through(script, &tree, setting);
    let is_portable = !tree.bashisms && !walk.only_bash && !walk.only_without_zsh;
    let last = walk.state.bases.known(setting.cwd).map(|bases| bases.cloned().collect());
    let known = walk.known.assigned_names();
    let assigned = walk.seen.assigned_names().zip(known).map(|(mut names, known)| {
        names.extend(known);
        names
    });
    ScriptTraits { is_portable, assigned, last_directories: last }
}

impl<'s> Walk<'s> {
    fn new(setting: &'s Setting<'s>, known: Whole) -> Self {
        Self {
            setting,
            facts: OperationFacts::default(),
            known,
            seen: Whole::default(),
            state: State::default(),
            depth: 0,
            nested_text: 0,
            inside: Vec::new(),
            repeats: 0,
            rounds: 1,
            parallel: false,
            piped: false,
            stdin: None,
            prints: None,
            substituted: Vec::new(),
            escaped: None,
            only_bash: false,
            only_without_zsh: false,
            carrier: None,
            reveals: false,
            descriptor_writes: Vec::new(),
        }
    }

    fn tree<'a>(&mut self, text: &'a str, tree: &Tree<'a>) {
        let source = Source { text, outer: None, heredocs: &tree.heredocs };
        self.lines(source, &tree.list);
    }

    /// Walks the lines of a script.
    fn lines<'a>(&mut self, source: Source<'a, '_>, list: &List<'a>) {
        let mut failed = None;
        for item in list {
            self.settle(failed.take());
            if let (true, Some(escaped)) = (item.begins, &mut self.escaped) {
                self.state.merge(std::mem::take(escaped));
                self.escaped = None;
            }
            failed = self.item(source, item);
        }
        self.settle(failed);
    }

    /// Notes that an expansion may fail here.
    fn may_fail(&mut self) {
        let state = self.state.clone();
        match &mut self.escaped {
            Some(escaped) => escaped.merge(state),
            None => self.escaped = Some(state),
        }
    }

    /// Returns the facts. A change of programs also affects the programs before it, because it may
    /// be in a loop.
    fn finish(mut self) -> OperationFacts {
        if self.seen.reprogrammed || self.reveals {
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
        if self.seen.reads_on_descriptor {
            self.facts.accesses.append(&mut self.descriptor_writes);
        }
        self.facts
    }

    /// Walks a list. Afterwards the state is that of success; the returned one is that of failure, if it is another.
    fn list<'a>(&mut self, source: Source<'a, '_>, list: &List<'a>) -> Option<State> {
        let mut failed = None;
        for item in list {
            self.settle(failed.take());
            failed = self.item(source, item);
        }
        failed
    }

    /// Goes on, whether the last command succeeded or not.
    fn settle(&mut self, failed: Option<State>) {
        if let Some(failed) = failed {
            self.state.merge(failed);
        }
    }

    fn item<'a>(&mut self, source: Source<'a, '_>, item: &Item<'a>) -> Option<State> {
        if item.background {
            let was = std::mem::replace(&mut self.parallel, true);
            self.apart(|walk| {
                walk.chain(source, item);
            });
            self.parallel = was;
            return None;
        }
        self.chain(source, item)
    }

    fn chain<'a>(&mut self, source: Source<'a, '_>, item: &Item<'a>) -> Option<State> {
        let mut failed = self.pipeline(source, &item.first);
        for (join, pipeline) in &item.rest {
            failed = match join {
                Join::And => self.and(source, pipeline, failed),
                Join::Or => self.or(source, pipeline, failed),
            };
        }
        failed
    }

    fn and<'a>(
        &mut self,
        source: Source<'a, '_>,
        next: &Pipeline<'a>,
        failed: Option<State>,
    ) -> Option<State> {
        let mut all_failed = failed.unwrap_or_else(|| self.state.clone());
        let failed = self.pipeline(source, next);
        all_failed.merge(failed.unwrap_or_else(|| self.state.clone()));
        Some(all_failed)
    }

    fn or<'a>(
        &mut self,
        source: Source<'a, '_>,
        next: &Pipeline<'a>,
        failed: Option<State>,
    ) -> Option<State> {
        let succeeded = self.state.clone();
        if let Some(failed) = failed {
            self.state = failed;
        }
        let failed = self.pipeline(source, next);
        let failed = failed.unwrap_or_else(|| self.state.clone());
        self.state.merge(succeeded);
        Some(failed)
    }

    fn pipeline<'a>(&mut self, source: Source<'a, '_>, pipeline: &Pipeline<'a>) -> Option<State> {
        if let [command] = pipeline.commands.as_slice() {
            let failed = self.command(source, command);
            if !pipeline.negated {
                return failed;
            }
            self.settle(failed);
            return None;
        }
        let was = (self.parallel, self.piped);
        self.parallel = true;
        let stdin = self.stdin.clone();
        for (index, command) in pipeline.commands.iter().enumerate() {
            self.piped = index > 0 || was.1;
            self.prints = None;
            self.apart(|walk| {
                walk.command(source, command);
            });
            let simple = matches!(command, Command::Simple(_));
            self.stdin = self.prints.take().filter(|_| simple).map(|paths| Stdin {
                paths,
                bases: self.state.bases.clone(),
                shared: false,
            });
        }
        (self.parallel, self.piped) = was;
        self.prints = self.stdin.take().map(|stdin| stdin.paths);
        self.stdin = stdin;
        None
    }

    /// Walks a part that runs in a separate process. Its changes to the shell are discarded.
    fn apart(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = self.state.clone();
        let repeats = std::mem::take(&mut self.repeats);
        let escaped = self.escaped.take(); // Where an expansion fails in there, that process ends.
        walk(self);
        self.repeats = repeats;
        self.escaped = escaped;
        self.state = before;
    }

    fn command<'a>(&mut self, source: Source<'a, '_>, command: &Command<'a>) -> Option<State> {
        let (Command::Simple(Simple { redirects, .. }) | Command::Compound(_, redirects)) = command;
        if redirects.is_empty() {
            return self.redirected(source, command);
        }
        // A redirection that fails is a command that never ran.
        let mut before = self.state.clone();
        let failed = if stdin::feeds(redirects) {
            self.fed_elsewhere(|walk| walk.redirected(source, command))
        } else {
            self.redirected(source, command)
        };
        before.merge(failed.unwrap_or_else(|| self.state.clone()));
        Some(before)
    }

    /// Walks a command whose redirections succeed.
    fn redirected<'a>(&mut self, source: Source<'a, '_>, command: &Command<'a>) -> Option<State> {
        match command {
            Command::Simple(simple) => self.simple(source, simple),
            Command::Compound(compound, redirects) => {
                for redirect in redirects {
                    self.redirect(source, redirect);
                }
                self.share_stdin();
                self.compound(source, compound)
            }
        }
    }

    /// Reads and walks text that runs as a script.
    fn script(&mut self, text: &str, span: Span) {
        self.nested_text = self.nested_text.saturating_add(text.len());
        if self.depth >= MAX_DEPTH || self.nested_text > MOST_NESTED_TEXT {
            return self.opaque(text, span, Code::TooLong);
        }
        self.depth += 1;
        let (tree, fault) = syntax::parse(text, self.depth);
        self.only_bash |= tree.bashisms;
        let source = Source { text, outer: Some(span), heredocs: &tree.heredocs };
        let noted = self.substituted.len();
        let escaped = self.escaped.take();
        self.share_stdin();
        self.lines(source, &tree.list);
        if let Some(inside) = std::mem::replace(&mut self.escaped, escaped) {
            self.state.merge(inside);
        }
        self.substituted.truncate(noted); // Other trees will stand where this one stood.
        self.depth -= 1;
        if tree.unusual.is_some() {
            self.opaque(text, span, Code::Syntax);
        }
        if let Some(fault) = fault {
            self.opaque(text, span, if fault.too_deep { Code::TooLong } else { Code::Syntax });
        }
    }

    /// Records that something was not understood, and the reason.
    fn opaque(&mut self, text: &str, span: Span, code: Code) {
        self.facts.accesses.push(Access::Opaque { text: text.to_owned(), span });
        self.facts.findings.push(findings::at(code, span));
    }

    /// Returns the place of `span` in the outermost script.
    fn span(&self, source: Source<'_, '_>, span: Span) -> Span {
        source.outer.unwrap_or(span)
    }
}

impl<'a> Source<'a, '_> {
    /// Returns the text at `span`.
    fn slice(&self, span: Span) -> &'a str {
        let at = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
        self.text.get(at(span.start)..at(span.end)).unwrap_or(self.text)
    }
}
