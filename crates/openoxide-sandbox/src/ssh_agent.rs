//! A filter in front of the user's SSH agent: it lets a confined program sign in to the hosts that
//! are permitted, and nothing else.
//!
//! | module | contains |
//! | --- | --- |
//! | `agent_message` | the frames of the protocol |
//! | `session_bind` | the proof that a session belongs to a host |
//! | `signature_request` | what a program wants to have signed |
//! | `known_hosts` | the hosts that a host key belongs to |
//! | `agent_filter` | the decision about each message |
//! | `agent_proxy` | the socket, and the connections to the agent |

mod agent_filter;
mod agent_message;
mod agent_proxy;
mod known_hosts;
mod session_bind;
mod signature_request;

pub(crate) use agent_filter::{AgentPolicy, AgentRefusal};
pub(crate) use agent_proxy::AgentProxy;
pub(crate) use known_hosts::KnownHostKeys;

#[cfg(test)]
mod tests;
