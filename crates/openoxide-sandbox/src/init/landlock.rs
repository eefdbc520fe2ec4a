//! A second layer in addition to the mounts: Landlock (landlock(7)).
//!
//! The rules of a ruleset only add access, so Landlock cannot enforce protected paths. Its
//! restrictions do not depend on mounts. No file outside the writable directories can be changed
//! through any descriptor or path, including kernel settings. No process outside can be signalled
//! or traced. No abstract socket of the host can be reached.

use std::io;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use openoxide_protocol::{SandboxRestrictions, TempDirectories};

use crate::{
    init::{mount_operations::open_without_links, proc_mount::has_writable_processes},
    interface::PrivateDirectory,
};

/// The newest version whose rights are requested. Older kernels restrict the rights that they
/// support.
const NEWEST_ABI: ABI = ABI::V6;

/// Restricts this thread and all that it starts, permanently. Returns whether the kernel enforces
/// any of the ruleset.
pub(crate) fn restrict_self(
    profile: &SandboxRestrictions,
    private: &[PrivateDirectory],
) -> io::Result<bool> {
    let all = AccessFs::from_all(NEWEST_ABI);
    let mut rules = Ruleset::default()
        .handle_access(all)
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST_ABI)))
        .and_then(Ruleset::create)
        .map_err(io::Error::other)?;
    rules = add_rule(rules, "/", AccessFs::from_read(NEWEST_ABI))?;
    for path in &profile.writable {
        rules = add_rule(rules, path.as_str(), all)?;
    }
    for directory in private {
        // In a private directory, a program can have put a link in place of another one.
        if let Ok(place) = open_without_links(directory.path.as_str()) {
            rules = rules.add_rule(PathBeneath::new(place, all)).map_err(io::Error::other)?;
        }
    }
    rules = add_rule(rules, "/dev", all)?;
    if has_writable_processes() {
        rules = add_rule(rules, "/proc", AccessFs::WriteFile | AccessFs::Truncate)?;
    }
    if profile.temp == TempDirectories::Private {
        for path in ["/tmp", "/var/tmp"] {
            rules = add_rule(rules, path, all)?;
        }
    }
    let status = rules.restrict_self().map_err(io::Error::other)?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

fn add_rule(
    rules: landlock::RulesetCreated,
    path: &str,
    access: BitFlags<AccessFs>,
) -> io::Result<landlock::RulesetCreated> {
    let Ok(place) = PathFd::new(path) else { return Ok(rules) };
    rules.add_rule(PathBeneath::new(place, access)).map_err(io::Error::other)
}
