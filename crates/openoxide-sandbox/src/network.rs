//! The network of a confined process: its own, in which every connection ends at us.
//!
//! Inside, all addresses of the world are local, so that a connection to any of them reaches a listener of ours, and a name is
//! answered with an address that stands for just that name ([`inside`]). Outside, where the listeners are accepted from,
//! each connection is judged by the name that was looked up; it is then refused, held while a person is asked, or made
//! and joined to the one inside ([`Broker`]). The kernel denies, and we only grant, by doing it ourselves: what no
//! listener takes goes nowhere.

mod broker;
mod connection;
mod dns;
pub mod inside;
mod judge;
mod listening;
mod netlink;
mod outside;
mod pool;
mod refused;
mod reviewer;
mod slots;
#[cfg(test)]
pub(crate) mod tests;

pub use broker::Broker;
pub(crate) use netlink::message;
pub(crate) use refused::Refused;
pub use reviewer::NetworkReviewer;
pub(crate) use slots::Slots;
