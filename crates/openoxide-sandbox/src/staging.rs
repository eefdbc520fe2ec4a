//! Staging: a program changes an overlay of its writable directories, and a person decides about
//! the changes afterwards.
//!
//! The upper layers are stored with the state of OpenOxide, accessible only to this user. Only data
//! that the kernel itself wrote is trusted there. A whiteout is a device that cannot be created in
//! a user namespace. The marks of directories are attributes that an overlay hides from programs
//! that write into it.
//!
//! The engine prepares a staging area before a run, `init` mounts its overlays, and the command line
//! shows and commits the changes.

mod change_contents;
mod change_source;
mod checkpoint;
mod checkpoint_record;
mod checkpoint_writer;
mod commit;
mod commit_entry;
mod commit_result;
mod comparison;
mod entry_state;
mod extended_attributes;
mod file_copy;
mod interrupted_commit;
mod private_commit;
mod private_copies;
mod repository_data;
mod stage_directory;
mod stage_record;
mod staged_change;
mod staging_area;
#[cfg(test)]
mod tests;
mod tree;
mod waiting_stages;

pub use change_contents::ChangeContents;
pub use checkpoint::{
    Checkpoint, CheckpointSummary, list_checkpoints, recover_checkpoints, remove_excess_checkpoints,
};
pub use checkpoint_writer::{CheckpointedCommit, NewCheckpoint};
pub use commit_result::CommitResult;
pub use entry_state::{EntryKind, EntryState};
pub(crate) use file_copy::copy_content;
pub(crate) use private_copies::stage_private_copies;
pub use stage_directory::new_stage_id;
pub(crate) use stage_directory::{OverlayLayer, remove_stale};
pub use staged_change::{SkippedChange, StagedChange, StagedChanges};
pub use staging_area::StagingArea;
pub(crate) use tree::remove_tree;
pub use waiting_stages::{
    WaitingStage, drop_waiting_stage, list_waiting_stages, remove_excess_stages,
};
