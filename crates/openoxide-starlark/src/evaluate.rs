//! One rule file, evaluated.
//!
//! Its size, its depth, its steps and its time are bounded, and it runs on a stack of its own. Its memory is only looked at every
//! thousand steps, and the program's bound holds what can be taken before that. It can reach nothing: no file, no clock, no other
//! module.

use std::{ops::Range, sync::mpsc, thread, time::Duration};

use openoxide_adapters::codex::exact::{Hosts, LONGEST, Said, Source, Unreadable};
use starlark::{
    codemap::FileSpan,
    environment::{GlobalsBuilder, Module},
    eval::Evaluator,
    syntax::{AstModule, Dialect},
};

use super::{
    depth,
    functions::{SAID, functions},
};

/// So many calls and rounds of loops, about; Codex has no bound.
const STEPS: u64 = 100_000;
/// So many bytes of values, about.
const MEMORY: usize = 64 << 20;
/// A step can be as long as numbers and texts are; what is not done by then is left to itself, and refused.
const PATIENCE: Duration = Duration::from_secs(5);
/// What so many steps can nest is shown, compared and dropped by recursion.
const STACK: usize = 256 << 20;

/// Evaluates a file. Examples are not checked.
///
/// # Errors
/// Where Codex would not take the file, in its words; and where the file goes over a bound.
pub fn evaluate(source: Source<'_>) -> Result<Said, Unreadable> {
    let (name, text) = (source.name.to_owned(), source.text.to_owned());
    let hosts = source.hosts.clone();
    alone(move || evaluated(&name, &text, hosts))
}

fn alone(
    work: impl FnOnce() -> Result<Said, Unreadable> + Send + 'static,
) -> Result<Said, Unreadable> {
    let (send, done) = mpsc::channel();
    let thread = thread::Builder::new().stack_size(STACK);
    let thread = thread.spawn(move || drop(send.send(work())));
    thread.map_err(|_| Unreadable::bound("there is no memory to read the file with"))?;
    done.recv_timeout(PATIENCE).unwrap_or_else(|why| {
        Err(Unreadable::bound(match why {
            mpsc::RecvTimeoutError::Timeout => "reading the file takes too long",
            mpsc::RecvTimeoutError::Disconnected => "reading the file failed",
        }))
    })
}

fn evaluated(name: &str, text: &str, hosts: Hosts) -> Result<Said, Unreadable> {
    if text.len() > LONGEST {
        return Err(Unreadable::bound("the file is longer than one MiB"));
    }
    if depth::too_deep(text) {
        return Err(Unreadable::bound("the file nests too deep"));
    }
    SAID.set(Said::after(hosts));
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
