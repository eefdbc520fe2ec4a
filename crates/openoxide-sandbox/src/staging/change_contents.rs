//! The contents before and after a change, to show them.

use std::{
    fs::File,
    io::{self, Read as _},
};

use crate::staging::{
    change_source::ChangeSource,
    checkpoint::Checkpoint,
    staged_change::StagedChange,
    staging_area::StagingArea,
    tree::{self, TreeOwner},
};

/// The contents of the files that changes replace and write.
pub trait ChangeContents {
    /// Reads at most `most` bytes of the file that a change would replace.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    fn read_before(&self, change: &StagedChange, most: u64) -> io::Result<Vec<u8>>;

    /// Reads at most `most` bytes of the file that a change would write.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    fn read_after(&self, change: &StagedChange, most: u64) -> io::Result<Vec<u8>>;
}

impl ChangeContents for StagingArea {
    fn read_before(&self, change: &StagedChange, most: u64) -> io::Result<Vec<u8>> {
        read_current(self, change, most)
    }

    fn read_after(&self, change: &StagedChange, most: u64) -> io::Result<Vec<u8>> {
        read_prefix(self.open_content(change)?, most)
    }
}

impl ChangeContents for Checkpoint {
    fn read_before(&self, change: &StagedChange, most: u64) -> io::Result<Vec<u8>> {
        read_current(self, change, most)
    }

    fn read_after(&self, change: &StagedChange, most: u64) -> io::Result<Vec<u8>> {
        read_prefix(self.open_content(change)?, most)
    }
}

fn read_current(
    source: &dyn ChangeSource,
    change: &StagedChange,
    most: u64,
) -> io::Result<Vec<u8>> {
    let root = source.root_directory(change)?;
    read_prefix(tree::open_file(TreeOwner::Host, root, &change.relative_path)?, most)
}

fn read_prefix(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
