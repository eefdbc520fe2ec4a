//! The process next to a sandbox that `bwrap` creates. It starts `bwrap`, and takes the role that
//! the init process has with the namespaces backend.
//!
//! It has its own session. If the program has a terminal, it is the controlling terminal of that
//! session. The program then has no controlling terminal: it reads and writes a terminal and
//! receives interrupts from keys, but it has no job control.

mod bwrap_arguments;
mod bwrap_command;
mod bwrap_status;
mod monitor;
#[cfg(test)]
mod real;
mod setup;

pub(crate) use setup::run;
