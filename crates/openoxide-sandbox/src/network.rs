//! The network of a confined process: its own, in which every connection ends at us.
//!
//! Inside, all addresses of the world are local, so that a connection to any of them reaches a listener of ours, and a name is
//! answered with an address that stands for just that name ([`inside`]). Outside, where the listeners are accepted from,
//! each connection is judged by the name that was looked up; it is then refused, held while a person is asked, or made
//! and joined to the one inside ([`ConnectionBroker`]). The kernel denies, and we only grant, by doing it ourselves: what no
//! listener takes goes nowhere.

mod address_pool;
mod broker;
mod concurrency_limit;
mod connection;
mod denial_log;
mod dns;
mod host_network;
mod listener_set;
pub mod namespace_setup;
mod netlink;
mod reviewer;
#[cfg(test)]
pub(crate) mod tests;
mod verdict;

pub use broker::ConnectionBroker;
pub(crate) use concurrency_limit::ConcurrencyLimit;
pub(crate) use denial_log::DenialLog;
pub(crate) use netlink::build_message;
pub use reviewer::NetworkReviewer;
