//! One module for each verb.

pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod hook;
pub(crate) mod run;
pub(crate) mod schema;
