//! The commands, with one module each.

pub(crate) mod allow;
pub(crate) mod audit;
pub(crate) mod call_operation;
pub(crate) mod check;
pub(crate) mod codex;
pub(crate) mod config;
pub(crate) mod confirmation;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod generated_docs;
pub(crate) mod grants;
pub(crate) mod hook;
pub(crate) mod init;
pub(crate) mod pending;
pub(crate) mod request_answers;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod sandbox;
pub(crate) mod schema;
pub(crate) mod stage;
pub(crate) mod status;
pub(crate) mod tools;
pub(crate) mod trust;
