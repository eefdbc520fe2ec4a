//! Connections to Unix sockets of services outside of the sandbox, which rules and people permit.

mod host_socket;
mod host_socket_handler;

pub(crate) use host_socket_handler::{AskAboutSocket, HostSocketHandler};
