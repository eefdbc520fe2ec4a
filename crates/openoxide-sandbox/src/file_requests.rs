//! File changes outside of the profile: suspended, reviewed, and performed by the supervisor.
//!
//! The seccomp filter sends a notification for each system call that opens a file for writing, or
//! that creates, removes, renames or links a file, or changes its mode or times. The supervisor resolves the meaning of the call, with a
//! copy of its path. If the mounts allow the call, or if the supervisor would not perform it, the
//! call continues. This gives no additional access. Even if another thread has changed the memory
//! since, the same mounts and Landlock check the call.
//!
//! A call that the mounts would refuse is reviewed by its real path. The supervisor performs an
//! approved change itself, outside of the sandbox, in the directory that was resolved. The program
//! gets the open file, or the result. Its own call is never executed.
//!
//! Only `supervisor` uses this module.

mod file_request;
mod file_request_handler;
mod operations;
mod requested_path;
mod resolved_entry;
mod review_limits;
#[cfg(test)]
mod tests;
mod writable_roots;

pub(crate) use file_request::FileRequest;
pub(crate) use file_request_handler::FileRequestHandler;
pub(crate) use resolved_entry::ResolvedEntry;
