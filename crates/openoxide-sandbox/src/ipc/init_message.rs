//! The messages between the supervisor and the first process inside.

use std::{net::IpAddr, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::interface::CommandOutcome;

/// A request to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ListenRequest {
    /// On this port of all addresses.
    Port(u16),
    /// At this address, on a port that programs rarely use.
    Address(IpAddr),
}

/// A message between the supervisor and the init process. Descriptors are sent with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum InitMessage {
    /// From inside: a step of the setup failed, and nothing was run.
    Failed {
        /// The step that failed.
        step: String,
        /// The number of the error.
        error: i32,
    },
    /// From inside: the sockets that accept connections.
    Listeners {
        /// The request, or `None` for the listeners that always exist.
        request: Option<ListenRequest>,
    },
    /// From inside: a socket to the kernel's list of the sockets inside.
    Diagnostics,
    /// From inside: the outer end of the program's terminal.
    Terminal,
    /// From inside: the directory with the private copies of configuration of `git`.
    PrivateConfigs,
    /// From inside: the private directories for temporary files, with their paths.
    TemporaryDirectories(Vec<PathBuf>),
    /// From inside: the program is about to start. The seccomp listener for connect(2) is sent with
    /// it, if there is one.
    RestrictionsApplied {
        /// True if Landlock also enforces the restrictions.
        landlock: bool,
    },
    /// From inside: an empty directory was created where a protected path had disappeared.
    PlaceholderCreated(PathBuf),
    /// From outside: programs want to connect to another host. The answer is `Listeners`.
    Listen(ListenRequest),
    /// From outside: create two connected sockets. The answer is `SocketPair`.
    CreateSocketPair,
    /// From inside: two connected sockets, or none if they could not be created.
    SocketPair,
    /// From outside: open sockets for a connection to a program inside. The answer is `Sockets`.
    OpenSockets,
    /// From inside: the sockets, which are not connected. There are none if that failed.
    Sockets,
    /// From outside: send the program this signal.
    Signal(i32),
    /// From inside: the program was stopped at its terminal.
    Stopped,
    /// From inside: the program has ended.
    Ended(CommandOutcome),
}
