//! The arguments of `stage`.

use std::path::PathBuf;

use clap::Subcommand;

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
