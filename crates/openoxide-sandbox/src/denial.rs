//! Whether the sandbox stopped a program: confirmed, suspected or not at all. Never from words alone.
//!
//! What was refused to the network and to system calls is known. Of files the kernel says nothing; there the program's own
//! words are a hint, and they count where three agree: an error of the layer that holds files, a path, and what is held of
//! that path. Codex goes by the words, and takes honest failures for its own (openai/codex issue 4859).

mod host;
mod words;

use openoxide_protocol::{AbsPath, Confined};

pub(crate) use host::touchable;
use words::{Errno, complaints};

use crate::Denial;

/// More different ones are not told: the program prints them, and a person reads them.
const MOST: usize = 16;
/// Where a confined process has its own: what is said of a path there is not about the host.
const OWN: [&str; 3] = ["/proc", "/sys", "/dev"];
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Who knows what is held.
pub(crate) struct Oracle<'a> {
    /// What is held.
    pub(crate) profile: &'a Confined,
    /// Where the program was started.
    pub(crate) cwd: &'a AbsPath,
    /// Where a path really leads, if its user could touch it so without a sandbox.
    pub(crate) host: &'a dyn Fn(&AbsPath, Touch) -> Option<AbsPath>,
}

/// How a file is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Read,
    Write,
}

/// What printed words say of files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// What the sandbox refused, each once.
    pub(crate) denials: Vec<Denial>,
    /// Words of a refusal stand there that nothing confirms.
    pub(crate) suspected: bool,
}

/// Reads the end of what a program has printed.
pub(crate) fn said(text: &str, oracle: &Oracle<'_>) -> Said {
    let mut all = Said::default();
    for complaint in complaints(text) {
        let denied = complaint.paths.iter().filter_map(|path| oracle.denied(complaint.errno, path));
        let denied: Vec<_> = denied.collect();
        all.suspected |= denied.is_empty();
        for denial in denied {
            if all.denials.len() < MOST && !all.denials.contains(&denial) {
                all.denials.push(denial);
            }
        }
    }
    all
}

impl Oracle<'_> {
    /// Says what was refused, if what is held of a path agrees with the error. The layer that holds files answers a write
    /// with EROFS, EXDEV or EBUSY; EACCES is the answer of what hides files, and of every missing right.
    fn denied(&self, errno: Errno, path: &str) -> Option<Denial> {
        let path = self.cwd.join(path);
        match errno {
            Errno::Access => {
                let path = (self.host)(&path, Touch::Read)?;
                (!self.profile.may_read(&path)).then_some(Denial::Read { path })
            }
            // A file that is writable by itself is mounted there: removing or replacing it changes its directory.
            Errno::Busy if self.profile.writable.contains(&path) => {
                self.denied(Errno::ReadOnly, path.parent()?.as_str())
            }
            Errno::ReadOnly | Errno::CrossDevice | Errno::Busy => {
                let path = (self.host)(&path, Touch::Write)?;
                let denied = !self.profile.may_write(&path) && !self.own(&path);
                denied.then_some(Denial::Write { path })
            }
        }
    }

    /// Says whether a path is the confined process' own, whatever lies there on the host.
    fn own(&self, path: &AbsPath) -> bool {
        let below =
            |place: &&str| AbsPath::new(place).is_ok_and(|place| path.below(&place).is_some());
        let held = self.profile.writable.iter().any(|root| path.below(root).is_some());
        OWN.iter().any(below) || !held && TEMPORARY.iter().any(below)
    }
}

#[cfg(test)]
mod tests;
