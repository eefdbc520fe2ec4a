//! The arguments of `stage` and `undo`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum StageCommand {
    /// List the staged changes that wait for a decision.
    List {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Show staged changes with their differences.
    Show {
        /// The name of the changes, or an unambiguous beginning of it.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Decide about staged changes as at the end of a run, and make them.
    Commit {
        /// The name of the changes, or an unambiguous beginning of it.
        id: String,
        /// Make only the changes at or below these paths; the others stay staged.
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Delete staged changes.
    Drop {
        /// The name of the changes, or an unambiguous beginning of it.
        id: String,
    },
}

#[derive(Clone, Debug, Args)]
pub(crate) struct UndoArgs {
    /// The checkpoint, or an unambiguous beginning of its name [default: the last one of this
    /// project that was not undone].
    pub(crate) id: Option<String>,
    /// List the checkpoints.
    #[arg(long, conflicts_with_all = ["id", "skip_changed"])]
    pub(crate) list: bool,
    /// Print one JSON object per line.
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
    /// Leave files that were changed after the run as they are, and undo the other changes.
    #[arg(long)]
    pub(crate) skip_changed: bool,
}
