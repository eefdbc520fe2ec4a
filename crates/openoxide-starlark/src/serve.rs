//! One file on standard input, what it says on standard output.

use std::io::{self, Read, Write};

use openoxide_adapters::codex::exact::{Hosts, LONGEST, Source, Unreadable};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Deserialize;

/// All memory that the program can have. The stack of the evaluation is a part of it, most of which is never touched.
const MEMORY: u64 = 1 << 30;
/// So many seconds of processor time.
const SECONDS: u64 = 10;
/// Escapes make a text longer, and so do paths of programs.
const LONGEST_INPUT: u64 = 8 * LONGEST as u64;

/// The file, as it is handed over.
#[derive(Deserialize)]
struct Asked {
    name: String,
    text: String,
    hosts: Hosts,
}

/// Reads a file from `input` and writes what it says, or why it says nothing.
///
/// # Errors
/// When the bounds cannot be set, or the input cannot be read; nothing is evaluated then.
pub fn serve(input: impl Read, mut output: impl Write) -> io::Result<()> {
    for (resource, most) in [(Resource::As, MEMORY), (Resource::Cpu, SECONDS), (Resource::Core, 0)]
    {
        hold(resource, most)?;
    }
    let asked: Asked = serde_json::from_reader(input.take(LONGEST_INPUT))?;
    let source = Source { name: &asked.name, text: &asked.text, hosts: &asked.hosts };
    let said = super::evaluate(source);
    let said: Result<_, &Unreadable> = said.as_ref();
    serde_json::to_writer(&mut output, &said)?;
    output.flush()
}

/// Sets a bound. One that is tighter already stays: only root could loosen it.
fn hold(resource: Resource, most: u64) -> io::Result<()> {
    let least = getrlimit(resource).maximum.map_or(most, |held| held.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(least), maximum: Some(least) })?)
}
