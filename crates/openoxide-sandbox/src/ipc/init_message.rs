//! The messages between the supervisor and the first process inside.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::interface::CommandOutcome;

/// A message between the supervisor and the init process. Descriptors are sent with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum InitMessage {
    /// From inside: something could not be set up, and nothing was run.
    Failed {
        /// The step that failed.
        step: String,
        /// The number of the error.
        error: i32,
    },
    /// From inside: the sockets at which connections arrive.
    Listeners {
        /// The requested port, or `None` for the listeners that always exist.
        port: Option<u16>,
    },
    /// From inside: a way to the kernel's list of the sockets there.
    Diagnostics,
    /// From inside: the outer end of the program's terminal.
    Terminal,
    /// From inside: the program is about to start. The descriptor at which connect(2) is heard of, if one could be had.
    RestrictionsApplied {
        /// True if Landlock also enforces the restrictions.
        landlock: bool,
    },
    /// From inside: an empty directory was put where something guarded has gone.
    PlaceholderCreated(PathBuf),
    /// From outside: connections to this port are wanted. The answer is `Listeners`.
    Listen(u16),
    /// From outside: send the program this signal.
    Signal(i32),
    /// From inside: the program has ended.
    Ended(CommandOutcome),
}
