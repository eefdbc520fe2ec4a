//! The service that reads one file from standard input and writes its rules to standard output.

use std::io::{self, Read, Write};

use openoxide_codex::exact_semantics::{
    HostExecutables, MAX_RULE_FILE_SIZE, RuleFileError, RuleFileSource,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Deserialize;

/// The memory limit of the process. It includes the stack of the evaluation, most of which is never
/// used.
const MAX_MEMORY_BYTES: u64 = 1 << 30;
/// The maximum processor time in seconds.
const MAX_CPU_SECONDS: u64 = 10;
/// The maximum size of the input. Escapes and program paths make it larger than the file.
const MAX_INPUT_BYTES: u64 = 8 * MAX_RULE_FILE_SIZE as u64;

/// The rule file and its context, as read from the input.
#[derive(Deserialize)]
struct EvaluationRequest {
    name: String,
    text: String,
    hosts: HostExecutables,
}

/// Reads a file from `input` and writes its rules, or the error, to `output`.
///
/// # Errors
/// Returns an error if the limits cannot be set or the input cannot be read. The file is not
/// evaluated then.
pub fn serve_evaluation(input: impl Read, mut output: impl Write) -> io::Result<()> {
    for (resource, most) in
        [(Resource::As, MAX_MEMORY_BYTES), (Resource::Cpu, MAX_CPU_SECONDS), (Resource::Core, 0)]
    {
        set_resource_limit(resource, most)?;
    }
    let asked: EvaluationRequest = serde_json::from_reader(input.take(MAX_INPUT_BYTES))?;
    let source = RuleFileSource { name: &asked.name, text: &asked.text, hosts: &asked.hosts };
    let said = super::evaluate_rule_file(source);
    let said: Result<_, &RuleFileError> = said.as_ref();
    serde_json::to_writer(&mut output, &said)?;
    output.flush()
}

/// Sets a resource limit. A stricter limit is kept, because only root can raise it.
fn set_resource_limit(resource: Resource, most: u64) -> io::Result<()> {
    let least = getrlimit(resource).maximum.map_or(most, |held| held.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(least), maximum: Some(least) })?)
}
