//! The network of a confined process: a separate one, in which every connection ends at the
//! supervisor.
//!
//! Inside, all addresses are local, so that a connection to any of them reaches a listener of the
//! supervisor. A name resolves to an address that represents only that name ([`namespace_setup`]).
//! Outside, connections are accepted from these listeners, and each one is checked by the name that
//! was looked up. It is refused, suspended while a person is asked, or made outside and joined to
//! the one inside ([`ConnectionBroker`]). The kernel denies every direct connection. The supervisor
//! grants one only by making it itself, so a connection that no listener accepts goes nowhere.
//!
//! In the other direction, a port of the host's loopback can be published: the supervisor listens
//! there, and forwards each connection to a program inside ([`PortForwarder`]). A port can be
//! published before the program runs, or when it listens ([`PortPublisher`]).
//!
//! `init` sets up the inner side ([`namespace_setup`]), and `supervisor` runs the outer one.

mod address_pool;
mod broker;
mod byte_stream;
mod concurrency_limit;
mod connection;
mod contacted_hosts;
mod dns;
mod forwarded_connection;
mod host_network;
mod listener_set;
mod listening_ports;
pub(crate) mod namespace_setup;
mod netlink;
mod port_forwarder;
mod port_publisher;
mod published_listeners;
mod reviewer;
mod socket_diag;
#[cfg(test)]
pub(crate) mod tests;
mod verdict;

pub(crate) use address_pool::is_own_address;
pub(crate) use broker::ConnectionBroker;
pub(crate) use concurrency_limit::ConcurrencyLimit;
pub(crate) use connection::ReachableHosts;
pub(crate) use contacted_hosts::ContactedHosts;
pub(crate) use listening_ports::{ListeningPorts, listening_port};
pub(crate) use namespace_setup::{FIRST_UNPRIVILEGED_PORT, is_allowed_stream};
pub(crate) use port_forwarder::{InnerSockets, PortForwarder};
pub(crate) use port_publisher::PortPublisher;
pub(crate) use published_listeners::PublishedListener;
pub(crate) use reviewer::{NetworkReviewer, ReviewedConnection};
pub(crate) use socket_diag::{SandboxSockets, open_diagnostics};
