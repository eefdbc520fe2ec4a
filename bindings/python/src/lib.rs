//! The native module of the Python package `tool_approval`.
//!
//! It converts values, releases the interpreter while the engine works, and decides nothing itself.
#![forbid(unsafe_code)]

mod decision;
mod engine;
mod error;
mod fork_guard;
mod host;
mod json_value;
mod question;
mod session_approvals;

use pyo3::prelude::*;

/// The native part of `tool_approval`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        decision::Decision, engine::Engine, fork_guard::note_fork, question::Question,
        session_approvals::SessionApprovals,
    };
}
