//! One rule file, evaluated.
//!
//! It is a program, and a project may have written it: its size, its depth, its steps and its memory are bounded, and it runs on a
//! stack of its own. It can reach nothing: no file, no clock, no other module.

use std::{ops::Range, thread};

use starlark::{
    codemap::FileSpan,
    environment::{GlobalsBuilder, Module},
    eval::Evaluator,
    syntax::{AstModule, Dialect},
};

use super::{
    LONGEST, depth,
    example::Examples,
    functions::{SAID, functions},
    network::NetworkRule,
    place::Place,
    policy::{Hosts, Policy},
    refusal::Unreadable,
    rule::PrefixRule,
};

/// So many calls and rounds of loops, about; Codex has no bound.
const STEPS: u64 = 100_000;
/// So many bytes of values, about.
const MEMORY: usize = 64 << 20;
/// What so many steps can nest is shown, compared and dropped by recursion.
const STACK: usize = 256 << 20;

/// What one file says, call by call.
#[derive(Debug, Default)]
pub(in crate::codex) struct Said {
    pub(in crate::codex) rules: Vec<(Vec<PrefixRule>, Range<usize>)>,
    pub(in crate::codex) hosts: Hosts,
    pub(in crate::codex) network: Vec<(NetworkRule, Range<usize>)>,
    examples: Vec<Examples>,
}

impl Said {
    pub(super) fn prefix(&mut self, examples: Examples, at: Range<usize>) {
        self.rules.push((examples.rules.clone(), at));
        self.examples.push(examples);
    }

    pub(super) fn host(&mut self, name: &str, paths: Vec<String>) {
        self.hosts.insert(name.to_owned(), paths);
    }

    pub(super) fn network(&mut self, rule: NetworkRule, at: Range<usize>) {
        self.network.push((rule, at));
    }

    /// Evaluates a file. `hosts` is what the files before it say of programs.
    ///
    /// # Errors
    /// Where Codex would not take the file, in its words; and where the file goes over a bound.
    pub(in crate::codex) fn read(
        name: &str,
        text: &str,
        hosts: Hosts,
        place: &Place<'_>,
    ) -> Result<Self, Unreadable> {
        let said = alone(|| evaluated(name, text, hosts))?;
        for (examples, (_, at)) in said.examples.iter().zip(&said.rules) {
            let wrong = |refusal: super::refusal::Refusal| Unreadable {
                message: refusal.to_string(),
                reason: refusal.to_string(),
                span: Some(at.clone()),
            };
            examples.check(&said.hosts, place).map_err(wrong)?;
        }
        Ok(said)
    }
}

impl Policy {
    /// Adds the rules of a file.
    ///
    /// # Errors
    /// Where Codex would not take the file, in its words; and where the file goes over a bound of ours.
    pub fn read(&mut self, name: &str, text: &str, place: &Place<'_>) -> Result<(), Unreadable> {
        let said = Said::read(name, text, self.hosts.clone(), place)?;
        said.rules.into_iter().flat_map(|(rules, _)| rules).for_each(|rule| self.rules.add(rule));
        self.network.extend(said.network.into_iter().map(|(rule, _)| rule));
        self.hosts = said.hosts;
        Ok(())
    }
}

fn refused(what: &str) -> Unreadable {
    let reason = what.to_owned();
    Unreadable { message: reason.clone(), reason, span: None }
}

fn alone<T: Send>(work: impl FnOnce() -> Result<T, Unreadable> + Send) -> Result<T, Unreadable> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let thread = thread.map_err(|_| refused("there is no memory to read the file with"))?;
        thread.join().unwrap_or_else(|_| Err(refused("reading the file failed")))
    })
}

fn evaluated(name: &str, text: &str, hosts: Hosts) -> Result<Said, Unreadable> {
    if text.len() > LONGEST {
        return Err(refused("the file is longer than one MiB"));
    }
    if depth::too_deep(text) {
        return Err(refused("the file nests too deep"));
    }
    SAID.set(Said { hosts, ..Said::default() });
    run(name, text).map_err(|error| unreadable(&error))?;
    Ok(SAID.take())
}

fn run(name: &str, text: &str) -> starlark::Result<()> {
    let dialect = Dialect { enable_f_strings: true, ..Dialect::Extended };
    let tree = AstModule::parse(name, text.to_owned(), &dialect)?;
    let globals = GlobalsBuilder::standard().with(functions).build();
    Module::with_temp_heap(|module| {
        let mut evaluator = Evaluator::new(&module);
        // Nothing lives long here, and collecting walks through values by recursion.
        evaluator.disable_gc();
        evaluator.set_max_tick_count(STEPS).map_err(starlark::Error::new_other)?;
        evaluator.set_max_heap_size(MEMORY).map_err(starlark::Error::new_other)?;
        evaluator.eval_module(tree, &globals).map(drop)
    })
}

fn unreadable(error: &starlark::Error) -> Unreadable {
    Unreadable {
        message: format!("starlark error: {error}"),
        reason: error.without_diagnostic().to_string(),
        span: error.span().map(bytes),
    }
}

/// Returns a place in a file as byte offsets.
pub(super) fn bytes(place: &FileSpan) -> Range<usize> {
    place.span.begin().get() as usize..place.span.end().get() as usize
}
