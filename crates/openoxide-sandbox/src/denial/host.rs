//! What a user could do without the sandbox: what they could not do anyway, it did not refuse.

use std::{fs, path::Path};

use openoxide_protocol::AbsPath;
use rustix::fs::{Access, access};

use super::Touch;

/// Returns where a path really leads, if this process could touch it so. Of what is not there, its directory is asked.
pub(crate) fn touchable(path: &AbsPath, touch: Touch) -> Option<AbsPath> {
    let wanted = match touch {
        Touch::Read => Access::READ_OK,
        Touch::Write => Access::WRITE_OK,
    };
    if let Ok(real) = fs::canonicalize(path.as_str()) {
        return able(&real, wanted);
    }
    let directory = fs::canonicalize(path.parent()?.as_str()).ok()?;
    Some(able(&directory, wanted | Access::EXEC_OK)?.join(path.name()?))
}

fn able(path: &Path, wanted: Access) -> Option<AbsPath> {
    access(path, wanted).ok()?;
    AbsPath::new(path.to_str()?).ok()
}
