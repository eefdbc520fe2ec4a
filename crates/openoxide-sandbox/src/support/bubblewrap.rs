//! The system's `bwrap`: whose it is, which version, and whether it works.

use std::{
    fmt, fs,
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Command, Stdio},
};

use super::{Able, Lack};
use crate::backend::bubblewrap::BWRAP;

/// A version of bubblewrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

/// The first one with `--perms`, which protects names that are missing.
const OLDEST: Version = Version(0, 5, 0);

/// Looks at the one at its fixed place: Ubuntu's AppArmor has an exception for that path alone, and one from a search path could
/// be the project's.
pub(super) fn probe() -> Able<Version> {
    is_the_systems(Path::new(BWRAP))?;
    let inside = version_inside();
    match inside.or_else(|| version(&["--version"])) {
        None => Err(Lack::new("it does not say its version")),
        Some(version) if version < OLDEST => {
            Err(Lack::new(format!("its version {version} is older than {OLDEST}")))
        }
        Some(_) => inside.ok_or_else(|| {
            Lack::new("it cannot confine here, either")
                .help("`bwrap --unshare-all --ro-bind / / --proc /proc true` says why")
        }),
    }
}

/// Root's alone: neither the file nor a directory above it can be changed by anybody else.
fn is_the_systems(path: &Path) -> Able {
    let file = fs::symlink_metadata(path).map_err(|_| {
        Lack::new(format!("there is no {BWRAP}")).help("install the package `bubblewrap`")
    })?;
    if !file.is_file() {
        return Err(Lack::new(format!("{BWRAP} is no plain file")));
    }
    let foreign = path.ancestors().find(|part| !is_roots(part));
    match foreign {
        Some(part) => Err(Lack::new(format!(
            "{} is not root's alone: others could change it",
            part.display()
        ))),
        None => Ok(()),
    }
}

fn is_roots(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0)
}

/// Asks for the version from inside: what is needed of a sandbox has worked then.
fn version_inside() -> Option<Version> {
    const NEEDED: [&str; 12] = [
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-net",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--",
    ];
    version(&[&NEEDED[..], &[BWRAP, "--version"]].concat())
}

fn version(arguments: &[&str]) -> Option<Version> {
    let mut command = Command::new(BWRAP);
    command.args(arguments).env_clear().current_dir("/").stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    parse(std::str::from_utf8(&output.stdout).ok()?)
}

fn parse(text: &str) -> Option<Version> {
    let mut numbers = text.trim().strip_prefix("bubblewrap ")?.split('.').map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some(Version(next()?, next()?, next().unwrap_or(0)))
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn versions_are_read_as_bwrap_prints_them() {
        assert_eq!(parse("bubblewrap 0.8.0\n"), Some(Version(0, 8, 0)));
        assert_eq!(parse("bubblewrap 0.11"), Some(Version(0, 11, 0)));
        assert!(Version(0, 11, 0) > OLDEST && Version(0, 4, 1) < OLDEST);
        for other in ["", "0.8.0", "bubblewrap", "bubblewrap x.1", "bubblewrap 1"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_program_that_others_could_change_is_not_the_systems() {
        let own = tempfile::tempdir().unwrap();
        let file = own.path().join("bwrap");
        assert!(is_the_systems(&file).unwrap_err().why.contains("there is no"));
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(is_the_systems(&file).unwrap_err().why.contains("others could change it"));
        let link = own.path().join("link");
        std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
        assert!(is_the_systems(&link).unwrap_err().why.contains("no plain file"));
    }
}
