//! Tests of real programs in a separate network, with real connections.

pub(crate) mod harness;
mod hostile;
mod programs;
