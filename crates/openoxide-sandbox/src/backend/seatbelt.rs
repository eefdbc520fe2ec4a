//! The `sandbox-exec` of macOS: the text of its profile, and the clauses that it enforces.
//!
//! The project has no machine with macOS. The tests compare the text with a profile that was
//! written by hand, and it has never been executed. Seatbelt also cannot kill the processes that a
//! command leaves behind. Therefore it fully enforces no profile, and [`crate::choose_backend()`]
//! returns an error on macOS.

use std::fmt::Write as _;

use openoxide_protocol::{AbsPath, NetworkAccess, SandboxRestrictions, TempDirectories};

use crate::backend::{
    clause::{ClauseEnforcement, ProfileClause},
    host_features::HostFeatures,
};

/// The only path from which it is run. A program from a search path could be the project's.
pub const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// Returns how Seatbelt enforces a clause.
pub(super) fn clause_enforcement(
    clause: ProfileClause,
    profile: &SandboxRestrictions,
    support: &HostFeatures,
) -> ClauseEnforcement {
    if let Err(lack) = &support.seatbelt {
        return lack.into();
    }
    match clause {
        ProfileClause::Network
            if matches!(profile.network, NetworkAccess::Hosts(_) | NetworkAccess::Internet) =>
        {
            ClauseEnforcement::new_stricter("no host is reachable: connections cannot be reviewed")
        }
        ProfileClause::UnixSockets => ClauseEnforcement::new_stricter("no Unix sockets"),
        ProfileClause::Processes => {
            ClauseEnforcement::new_unenforced("names of other processes can be listed")
        }
        ProfileClause::ProcessTermination => ClauseEnforcement::new_unenforced(
            "macOS has no process namespaces: processes that leave the process group keep running",
        ),
        ProfileClause::Terminal => ClauseEnforcement::new_unenforced(
            "the program can write to the input of its own terminal",
        ),
        _ => ClauseEnforcement::ENFORCED,
    }
}

/// A profile for `sandbox-exec -p TEXT -D NAME=PATH…`. Paths are passed as parameters, so that they
/// cannot become a part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatbeltProfile {
    /// The text.
    pub text: String,
    /// The paths that the text refers to. If the profile has private directories for temporary
    /// files, the caller adds `TEMP`.
    pub parameters: Vec<(String, AbsPath)>,
}

/// The rules that every program needs. They give no access to other programs.
const BASE: &str = "(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read*)
(allow file-write-data (require-all (literal \"/dev/null\") (vnode-type CHARACTER-DEVICE)))
(allow file-write* (literal \"/dev/tty\"))
(allow pseudo-tty)
";

/// Returns the Seatbelt profile. Everything that is not allowed is denied. A later rule takes
/// precedence over an earlier one.
#[must_use]
pub fn build_profile(confined: &SandboxRestrictions) -> SeatbeltProfile {
    let mut to = SeatbeltWriter { text: BASE.to_owned(), parameters: Vec::new() };
    for root in confined.writable.iter().filter(|root| confined.may_write(root)) {
        to.allow_writes(root, confined);
    }
    if confined.temp == TempDirectories::Private {
        // Seatbelt has no mounts: `TEMP` is a new directory, which `TMPDIR` names too.
        to.text.push_str("(allow file-write* (subpath (param \"TEMP\")))\n");
    }
    for path in &confined.unreadable {
        let name = to.add_parameter("UNREADABLE", path);
        to.push_line(&format!("(deny file-read* file-write* (literal {name}) (subpath {name}))"));
    }
    if confined.network == NetworkAccess::On {
        to.push_line("(allow network*)");
        to.push_line("(deny network* (remote unix-socket))");
    }
    SeatbeltProfile { text: to.text, parameters: to.parameters }
}

struct SeatbeltWriter {
    text: String,
    parameters: Vec<(String, AbsPath)>,
}

impl SeatbeltWriter {
    fn push_line(&mut self, line: &str) {
        _ = writeln!(self.text, "{line}");
    }

    /// Adds a path as a parameter, and returns the expression that refers to it.
    fn add_parameter(&mut self, kind: &str, path: &AbsPath) -> String {
        let name = format!("{kind}_{}", self.parameters.len());
        let expression = format!("(param \"{name}\")");
        self.parameters.push((name, path.clone()));
        expression
    }

    /// Allows changes below a directory, except for the protected paths in it. The literal name of
    /// a protected path is excluded too, so that it cannot be created. The directories above it
    /// cannot be renamed, because Seatbelt protects only a name, not the file that it refers to.
    fn allow_writes(&mut self, root: &AbsPath, confined: &SandboxRestrictions) {
        let all = self.add_parameter("ROOT", root);
        let mut parts = format!("(subpath {all})");
        let inside = |path: &&AbsPath| path.strip_prefix(root).is_some();
        for path in confined.protected.iter().filter(inside) {
            let name = self.add_parameter("PROTECTED", path);
            _ = write!(parts, " (require-not (literal {name})) (require-not (subpath {name}))");
            for above in directories_between(root, path) {
                let name = self.add_parameter("ABOVE", &above);
                _ = write!(parts, " (require-not (literal {name}))");
            }
        }
        self.push_line(&format!("(allow file-write* (require-all {parts}))"));
    }
}

/// Returns the directories from a root to the parent of the path, including the root itself.
fn directories_between(root: &AbsPath, path: &AbsPath) -> Vec<AbsPath> {
    std::iter::successors(path.parent(), AbsPath::parent)
        .take_while(|above| above.strip_prefix(root).is_some())
        .collect()
}

#[cfg(test)]
mod tests;
