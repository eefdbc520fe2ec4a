//! Probing of the system's `bwrap`: its owner, its version, and whether it works.

use std::{
    fmt, fs,
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Command, Stdio},
};

use crate::backend::{
    bubblewrap::BWRAP,
    host_features::{BubblewrapVersion, FeatureSupport, MissingFeature},
};

/// The first version with `--perms`, which is needed to protect missing names.
const OLDEST_VERSION: BubblewrapVersion = BubblewrapVersion(0, 5, 0);

/// Probes the `bwrap` at its fixed path. Ubuntu's AppArmor has an exception only for that path, and
/// a `bwrap` from a search path could be the project's.
pub(super) fn probe() -> FeatureSupport<BubblewrapVersion> {
    is_system_owned(Path::new(BWRAP))?;
    let inside = probe_version();
    match inside.or_else(|| run_version_command(&["--version"])) {
        None => Err(MissingFeature::new("it does not report its version")),
        Some(version) if version < OLDEST_VERSION => Err(MissingFeature::new(format!(
            "its version {version} is older than {OLDEST_VERSION}"
        ))),
        Some(_) => inside.ok_or_else(|| {
            MissingFeature::new("it cannot create a sandbox here, either")
                .with_help("`bwrap --unshare-all --ro-bind / / --proc /proc true` shows the reason")
        }),
    }
}

/// Checks that only root can change the file and the directories above it.
fn is_system_owned(path: &Path) -> FeatureSupport {
    let file = fs::symlink_metadata(path).map_err(|_| {
        MissingFeature::new(format!("{BWRAP} does not exist"))
            .with_help("install the package `bubblewrap`")
    })?;
    if !file.is_file() {
        return Err(MissingFeature::new(format!("{BWRAP} is not a regular file")));
    }
    let foreign = path.ancestors().find(|part| !is_root_owned(part));
    match foreign {
        Some(part) => Err(MissingFeature::new(format!(
            "{} is writable by users other than root",
            part.display()
        ))),
        None => Ok(()),
    }
}

fn is_root_owned(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0)
}

/// Returns the version of `bwrap`, as reported from inside a sandbox. Success shows that the
/// required sandbox features work.
fn probe_version() -> Option<BubblewrapVersion> {
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
    run_version_command(&[&NEEDED[..], &[BWRAP, "--version"]].concat())
}

fn run_version_command(arguments: &[&str]) -> Option<BubblewrapVersion> {
    let mut command = Command::new(BWRAP);
    command.args(arguments).env_clear().current_dir("/").stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    parse_version(std::str::from_utf8(&output.stdout).ok()?)
}

fn parse_version(text: &str) -> Option<BubblewrapVersion> {
    let mut numbers = text.trim().strip_prefix("bubblewrap ")?.split('.').map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some(BubblewrapVersion(next()?, next()?, next().unwrap_or(0)))
}

impl fmt::Display for BubblewrapVersion {
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
        assert_eq!(parse_version("bubblewrap 0.8.0\n"), Some(BubblewrapVersion(0, 8, 0)));
        assert_eq!(parse_version("bubblewrap 0.11"), Some(BubblewrapVersion(0, 11, 0)));
        assert!(
            BubblewrapVersion(0, 11, 0) > OLDEST_VERSION
                && BubblewrapVersion(0, 4, 1) < OLDEST_VERSION
        );
        for other in ["", "0.8.0", "bubblewrap", "bubblewrap x.1", "bubblewrap 1"] {
            assert_eq!(parse_version(other), None, "{other}");
        }
    }

    #[test]
    fn a_program_that_others_could_change_is_not_the_systems() {
        let own = tempfile::tempdir().unwrap();
        let file = own.path().join("bwrap");
        assert!(is_system_owned(&file).unwrap_err().reason.contains("does not exist"));
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(
            is_system_owned(&file)
                .unwrap_err()
                .reason
                .contains("writable by users other than root")
        );
        let link = own.path().join("link");
        std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
        assert!(is_system_owned(&link).unwrap_err().reason.contains("not a regular file"));
    }
}
