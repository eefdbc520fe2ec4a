//! Whether the sandbox stopped a program: confirmed, suspected or not at all. Never from words alone.
//!
//! What was refused to the network and to system calls is known. Of files the kernel says nothing; there the program's own
//! words are a hint, and they count where three agree: an error of the layer that holds files, a path, and what is held of
//! that path. Codex goes by the words, and takes honest failures for its own (openai/codex issue 4859).

mod error_messages;
mod host_access;

use openoxide_protocol::{AbsPath, SandboxRestrictions};

use error_messages::{DenialErrno, find_errors};
pub(crate) use host_access::resolve_accessible;

use crate::SandboxDenial;

/// More different ones are not told: the program prints them, and a person reads them.
const MAX_DENIALS: usize = 16;
/// Where a confined process has its own: what is said of a path there is not about the host.
const PRIVATE_DIRECTORIES: [&str; 3] = ["/proc", "/sys", "/dev"];
const TEMPORARY_DIRECTORIES: [&str; 2] = ["/tmp", "/var/tmp"];

/// Who knows what is held.
pub(crate) struct DenialChecker<'a> {
    /// What is held.
    pub(crate) profile: &'a SandboxRestrictions,
    /// Where the program was started.
    pub(crate) cwd: &'a AbsPath,
    /// Where a path really leads, if its user could touch it so without a sandbox.
    pub(crate) resolve_on_host: &'a dyn Fn(&AbsPath, FileAccessMode) -> Option<AbsPath>,
}

/// How a file is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileAccessMode {
    Read,
    Write,
}

/// What printed words say of files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DetectedDenials {
    /// What the sandbox refused, each once.
    pub(crate) denials: Vec<SandboxDenial>,
    /// Words of a refusal stand there that nothing confirms.
    pub(crate) has_suspected: bool,
}

/// Reads the end of what a program has printed.
pub(crate) fn detect_denials(text: &str, oracle: &DenialChecker<'_>) -> DetectedDenials {
    let mut all = DetectedDenials::default();
    for complaint in find_errors(text) {
        let denied =
            complaint.paths.iter().filter_map(|path| oracle.find_denial(complaint.errno, path));
        let denied: Vec<_> = denied.collect();
        all.has_suspected |= denied.is_empty();
        for denial in denied {
            if all.denials.len() < MAX_DENIALS && !all.denials.contains(&denial) {
                all.denials.push(denial);
            }
        }
    }
    all
}

impl DenialChecker<'_> {
    /// Says what was refused, if what is held of a path agrees with the error. The layer that holds files answers a write
    /// with EROFS, EXDEV or EBUSY; EACCES is the answer of what hides files, and of every missing right.
    fn find_denial(&self, errno: DenialErrno, path: &str) -> Option<SandboxDenial> {
        let path = self.cwd.join(path);
        match errno {
            DenialErrno::Access => {
                let path = (self.resolve_on_host)(&path, FileAccessMode::Read)?;
                (!self.profile.may_read(&path)).then_some(SandboxDenial::Read { path })
            }
            // A file that is writable by itself is mounted there: removing or replacing it changes its directory.
            DenialErrno::Busy if self.profile.writable.contains(&path) => {
                self.find_denial(DenialErrno::ReadOnly, path.parent()?.as_str())
            }
            DenialErrno::ReadOnly | DenialErrno::CrossDevice | DenialErrno::Busy => {
                let path = (self.resolve_on_host)(&path, FileAccessMode::Write)?;
                let denied = !self.profile.may_write(&path) && !self.is_private_path(&path);
                denied.then_some(SandboxDenial::Write { path })
            }
        }
    }

    /// Says whether a path is the confined process' own, whatever lies there on the host.
    fn is_private_path(&self, path: &AbsPath) -> bool {
        let below = |place: &&str| {
            AbsPath::new(place).is_ok_and(|place| path.strip_prefix(&place).is_some())
        };
        let held = self.profile.writable.iter().any(|root| path.strip_prefix(root).is_some());
        PRIVATE_DIRECTORIES.iter().any(below) || !held && TEMPORARY_DIRECTORIES.iter().any(below)
    }
}

#[cfg(test)]
mod tests;
