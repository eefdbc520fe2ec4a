//! What is kept as it is inside writable directories, as mounts.

use openoxide_protocol::{AbsPath, Confined};

/// The mounts that keep protected paths, in the order in which they are made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guards(pub(crate) Vec<Guard>);

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) path: AbsPath,
    pub(crate) kind: Kind,
}

/// How a path is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is a mount point, and so cannot be moved away or removed; what is in it can be changed.
    Pin,
    /// It cannot be changed.
    ReadOnly,
}

impl Guards {
    pub(crate) fn find(profile: &Confined) -> Self {
        let mut guards: Vec<Guard> = Vec::new();
        for path in &profile.protected {
            if !std::path::Path::new(path.as_str()).exists() {
                drop(std::fs::create_dir(path.as_str()));
            }
            let mut above = path.parent();
            let mut pins = Vec::new();
            while let Some(dir) = above {
                if profile.writable.contains(&dir) {
                    guards
                        .extend(pins.into_iter().rev().map(|path| Guard { path, kind: Kind::Pin }));
                    break;
                }
                above = dir.parent();
                pins.push(dir);
            }
            guards.push(Guard { path: path.clone(), kind: Kind::ReadOnly });
        }
        Self(guards)
    }
}
