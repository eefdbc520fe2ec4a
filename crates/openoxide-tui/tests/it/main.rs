//! The prompt at a pseudo-terminal.
#![cfg(unix)]

#[cfg(test)]
mod answers;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod pty;
#[cfg(test)]
#[path = "../../src/samples.rs"]
#[expect(dead_code, reason = "the unit tests use all of them")]
mod samples;
#[cfg(test)]
mod terminal;
