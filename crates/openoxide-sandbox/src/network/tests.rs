//! Real programs in a network of their own, with real connections.

pub(crate) mod harness;
mod hostile;
mod programs;
