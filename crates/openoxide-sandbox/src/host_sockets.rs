//! Connections to Unix sockets of services outside of the sandbox, which rules and people permit.

mod agent_socket;
mod host_socket;
mod host_socket_handler;
mod socket_permissions;

pub(crate) use agent_socket::AgentSocket;
pub(crate) use host_socket_handler::HostSocketHandler;
pub(crate) use socket_permissions::{AskAboutSocket, SocketPermissions};
