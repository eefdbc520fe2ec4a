//! Reading of files that a hostile program can replace.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Opens a regular file for reading. A named pipe in its place does not block.
///
/// # Errors
/// Returns an error if the file cannot be opened or is not a regular file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_named_pipe_does_not_block() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("config");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(open_regular(&path).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(
            open_regular(&place.path().join("missing")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
