//! The native module of the Python package `tool_approval`.
//!
//! It converts values, and releases the interpreter while the engine works. The rules are those of
//! the engine.
#![forbid(unsafe_code)]

mod anchored_open;
mod confined_run;
mod decision;
mod engine;
mod error;
mod file_sandbox;
mod fork_guard;
mod host;
mod json_value;
mod launch_plan;
mod output_buffer;
mod output_capture;
mod question;
mod real_path;
mod run_result;
mod sandbox_paths;
mod sandbox_support;
mod session_approvals;
mod shell_policy;
mod tool_config;

use pyo3::prelude::*;

/// The native part of `tool_approval`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        confined_run::{ConfinedRun, start_command, supervise},
        decision::Decision,
        engine::Engine,
        file_sandbox::{FileCheck, FileSandbox},
        fork_guard::note_fork,
        question::Question,
        sandbox_support::sandbox_problem,
        session_approvals::SessionApprovals,
        shell_policy::{ShellDecision, ShellPolicy},
        tool_config::parse_tool_config,
    };
}
