//! The supervisor. It runs outside of the sandbox, starts the first process inside, answers its
//! requests, and waits until the run has ended.
//!
//! It is the only module that uses all others. Callers of the crate start it in their own process
//! ([`supervise`]) or in a separate process ([`run_confined`]).

mod backend_attempt;
mod cleanup_process;
mod denial;
mod directory_modes;
mod directory_watches;
mod event_loop;
mod fallback;
mod host_placeholders;
mod limit_report;
pub(crate) mod listen_handler;
mod output_tail;
mod placeholder_directories;
mod port_capture;
mod post_run_scan;
mod refused_calls;
mod repeated_hooks;
mod repository_watch;
mod request_handler;
mod review_relay;
mod run_killer;
mod saved_files;
pub(crate) mod seccomp_notify;
mod socket_pairs;
mod stale_runs;
mod streams;
mod supervision;
mod supervisor_process;
mod terminal_lease;
mod terminal_relay;

#[cfg(test)]
pub(crate) use placeholder_directories::PlaceholderDirectories;
#[cfg(test)]
pub(crate) use port_capture::PortCapture;
#[cfg(test)]
pub(crate) use seccomp_notify::SyscallContext;
pub use supervision::{supervise, supervise_with_backend};
pub use supervisor_process::{
    ConfinedRun, RunCanceller, RuntimeReviewer, run_confined, supervisor_main,
};
pub use terminal_relay::has_terminal;
