//! Communication between the processes of a run: a socket for messages, and a pipe that records the
//! start and the end of the program.
//!
//! `init` and `supervisor` use this module.

mod caller_message;
mod init_message;
mod message_socket;
mod progress;
mod readiness;

pub(crate) use caller_message::{CallerMessage, SupervisorMessage};
pub(crate) use init_message::{InitMessage, ListenRequest};
pub(crate) use message_socket::MessageSocket;
pub(crate) use progress::{ProgressEvent, ProgressReader, ProgressWriter, create_pipe};
pub(crate) use readiness::is_readable;
