//! Detection of sandbox denials: confirmed, suspected or none. Program output alone never confirms
//! a denial.
//!
//! Denied connections and system calls are known. The kernel does not report denied file accesses.
//! For these, the output of the program is a hint. It is used only if three things agree: an error
//! of the layer that restricts files, a path, and the restrictions on that path. Codex relies on
//! the output only and mistakes ordinary failures for denials (openai/codex issue 4859).

mod error_messages;
mod host_access;

use openoxide_protocol::{AbsPath, SandboxRestrictions};

pub(crate) use host_access::resolve_accessible;

use crate::{
    interface::SandboxDenial,
    supervisor::denial::{
        error_messages::{DenialErrno, find_errors},
        host_access::FileAccessMode,
    },
};

/// The maximum number of different denials in a report. The program could print any number of them,
/// and a person reads the report.
const MAX_DENIALS: usize = 16;
/// Directories that are private to a confined process. A message about a path there does not
/// concern the host.
const PRIVATE_DIRECTORIES: [&str; 3] = ["/proc", "/sys", "/dev"];
const TEMPORARY_DIRECTORIES: [&str; 2] = ["/tmp", "/var/tmp"];

/// A checker that compares printed errors with the restrictions of a run.
pub(crate) struct DenialChecker<'a> {
    /// The restrictions.
    pub(crate) profile: &'a SandboxRestrictions,
    /// The working directory of the program.
    pub(crate) cwd: &'a AbsPath,
    /// A function that returns the real path of a file, if the user could access it in this mode
    /// without a sandbox.
    pub(crate) resolve_on_host: &'a dyn Fn(&AbsPath, FileAccessMode) -> Option<AbsPath>,
}

/// The denials that were found in printed text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DetectedDenials {
    /// The confirmed denials, without duplicates.
    pub(crate) denials: Vec<SandboxDenial>,
    /// True if the text contains an error that looks like a denial and is not confirmed.
    pub(crate) has_suspected: bool,
}

/// Detects denials in the last part of a program's output.
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
    /// Returns the denial, if the restrictions on the path agree with the error. The layer that
    /// restricts files answers a write with `EROFS`, `EXDEV` or `EBUSY`. `EACCES` comes from the
    /// layer that hides files, but also from every ordinary missing permission.
    fn find_denial(&self, errno: DenialErrno, path: &str) -> Option<SandboxDenial> {
        let path = self.cwd.join(path);
        match errno {
            DenialErrno::Access => {
                let path = (self.resolve_on_host)(&path, FileAccessMode::Read)?;
                (!self.profile.may_read(&path)).then_some(SandboxDenial::Read { path })
            }
            // A file that is itself a writable root is a mount point. Removing or replacing it
            // changes its directory.
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

    /// Returns whether the confined process has its own version of a path, independent of the
    /// host's.
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
