//! What lies on disk: policy files, and the compiled policy beside them.
//!
//! This crate reads and writes; it never decides. Whatever it cannot read, it says so, and then nothing is allowed that the
//! unread lines might have held back.
#![forbid(unsafe_code)]

mod cache;
mod file;
mod format;
mod load;
mod locations;
mod policy_file;

pub use file::{ReadError, read_regular};
pub use format::{Format, Reader};
pub use load::{Broken, Loaded, load, load_fresh};
pub use locations::{Environment, Source, project_root, sources};
pub use policy_file::{PolicyFile, Problem, read as read_policy};
