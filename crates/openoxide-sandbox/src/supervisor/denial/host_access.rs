//! Access checks without the sandbox. If the user lacks an access anyway, the sandbox did not deny
//! it.

use std::{fs, path::Path};

use openoxide_protocol::AbsPath;
use rustix::fs::{Access, access};

/// The mode of a file access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileAccessMode {
    Read,
    Write,
}

/// Returns the real path of a file, if this process could access it in this mode. If the file does
/// not exist, its directory is checked.
pub(crate) fn resolve_accessible(path: &AbsPath, touch: FileAccessMode) -> Option<AbsPath> {
    let wanted = match touch {
        FileAccessMode::Read => Access::READ_OK,
        FileAccessMode::Write => Access::WRITE_OK,
    };
    if let Ok(real) = fs::canonicalize(path.as_str()) {
        return check_access(&real, wanted);
    }
    let directory = fs::canonicalize(path.parent()?.as_str()).ok()?;
    Some(check_access(&directory, wanted | Access::EXEC_OK)?.join(path.file_name()?))
}

fn check_access(path: &Path, wanted: Access) -> Option<AbsPath> {
    access(path, wanted).ok()?;
    AbsPath::new(path.to_str()?).ok()
}
