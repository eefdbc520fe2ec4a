//! One module for each verb.

pub(crate) mod answer;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod codex;
pub(crate) mod config;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod grants;
pub(crate) mod hook;
pub(crate) mod init;
pub(crate) mod pending;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod sandbox;
pub(crate) mod schema;
pub(crate) mod tools;
pub(crate) mod trust;
