//! The limits on the memory and the processes of a run, by control groups, and its share of the
//! kernel objects that are limited for each user.
//!
//! `supervisor` creates them, and `init` applies them.

mod cgroup;
mod resource_shares;

pub(crate) use cgroup::ControlGroup;
pub(crate) use resource_shares::ResourceShares;
