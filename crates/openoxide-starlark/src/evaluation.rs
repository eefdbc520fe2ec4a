//! Evaluation of one rule file.
//!
//! The size, the nesting depth, the number of steps and the time are limited, and the evaluation
//! runs on its own stack. The memory is checked only every thousand steps. The limit of the process
//! covers allocations between two checks. The file can access nothing else: no file, no clock and
//! no other module.

use std::{sync::mpsc, thread, time::Duration};

use openoxide_codex::exact_semantics::{
    HostExecutables, MAX_RULE_FILE_SIZE, ParsedRuleFile, RuleFileError, RuleFileSource,
};
use starlark::{
    environment::{GlobalsBuilder, Module},
    eval::Evaluator,
    syntax::{AstModule, Dialect},
};

use super::{
    nesting_depth,
    rule_functions::{DEFINED_RULES, functions, to_byte_range},
};

/// The approximate maximum number of calls and loop iterations. Codex has no limit.
const MAX_STEPS: u64 = 100_000;
/// The approximate maximum size of all values in bytes.
const MAX_HEAP_BYTES: usize = 64 << 20;
/// The time limit of an evaluation. One step can take long, because numbers and strings can be
/// large. An evaluation that exceeds the limit is left running, and the file is rejected.
const EVALUATION_TIMEOUT: Duration = Duration::from_secs(5);
/// The stack size of the evaluation. Values can be nested as deeply as the step limit permits, and
/// they are printed, compared and dropped recursively.
const STACK_BYTES: usize = 256 << 20;

/// Evaluates a file. Examples are not checked.
///
/// # Errors
/// Returns Codex's error if Codex would reject the file, and an error if the file exceeds a limit.
pub fn evaluate_rule_file(source: RuleFileSource<'_>) -> Result<ParsedRuleFile, RuleFileError> {
    let (name, text) = (source.name.to_owned(), source.text.to_owned());
    let hosts = source.hosts.clone();
    run_with_timeout(move || evaluate_text(&name, &text, hosts))
}

fn run_with_timeout(
    work: impl FnOnce() -> Result<ParsedRuleFile, RuleFileError> + Send + 'static,
) -> Result<ParsedRuleFile, RuleFileError> {
    let (send, done) = mpsc::channel();
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(move || drop(send.send(work())));
    thread
        .map_err(|_| RuleFileError::limit_exceeded("there is no memory to read the file with"))?;
    done.recv_timeout(EVALUATION_TIMEOUT).unwrap_or_else(|why| {
        Err(RuleFileError::limit_exceeded(match why {
            mpsc::RecvTimeoutError::Timeout => "reading the file takes too long",
            mpsc::RecvTimeoutError::Disconnected => "reading the file failed",
        }))
    })
}

fn evaluate_text(
    name: &str,
    text: &str,
    hosts: HostExecutables,
) -> Result<ParsedRuleFile, RuleFileError> {
    if text.len() > MAX_RULE_FILE_SIZE {
        return Err(RuleFileError::limit_exceeded("the file is longer than one MiB"));
    }
    if nesting_depth::is_too_deep(text) {
        return Err(RuleFileError::limit_exceeded("the file nests too deep"));
    }
    DEFINED_RULES.set(ParsedRuleFile::with_host_executables(hosts));
    run_module(name, text).map_err(|error| to_unreadable_error(&error))?;
    Ok(DEFINED_RULES.take())
}

fn run_module(name: &str, text: &str) -> starlark::Result<()> {
    let dialect = Dialect { enable_f_strings: true, ..Dialect::Extended };
    let tree = AstModule::parse(name, text.to_owned(), &dialect)?;
    let globals = GlobalsBuilder::standard().with(functions).build();
    Module::with_temp_heap(|module| {
        let mut evaluator = Evaluator::new(&module);
        // An evaluation is short, and the garbage collector traverses values recursively.
        evaluator.disable_gc();
        evaluator.set_max_tick_count(MAX_STEPS).map_err(starlark::Error::new_other)?;
        evaluator.set_max_heap_size(MAX_HEAP_BYTES).map_err(starlark::Error::new_other)?;
        evaluator.eval_module(tree, &globals).map(drop)
    })
}

fn to_unreadable_error(error: &starlark::Error) -> RuleFileError {
    RuleFileError {
        message: format!("starlark error: {error}"),
        reason: error.without_diagnostic().to_string(),
        span: error.span().map(to_byte_range),
    }
}
