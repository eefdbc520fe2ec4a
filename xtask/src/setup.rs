//! Set-up: finds the programs that the tasks need, and installs missing ones from Debian packages.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::{steps::succeed, workspace::cargo};

/// A program on the search path, with its Debian package.
pub(crate) type Need = (&'static str, &'static str);

/// The programs that building and testing need. `cc` is listed because the target directory may
/// have been copied from another machine. Without a linker, this program could not have been built
/// here.
pub(crate) const TESTS: &[Need] = &[
    ("cc", "gcc libc6-dev"),
    ("bash", "bash"),
    ("git", "git"),
    ("strace", "strace"),
    ("bwrap", "bubblewrap"),
    ("python3", "python3"),
    ("unshare", "util-linux"),
    ("curl", "curl"),
    ("ip", "iproute2"),
    ("make", "make"),
    ("dash", "dash"),
    ("sshd", "openssh-server"),
    ("ssh", "openssh-client"),
];

/// The programs that the fuzzers need. Their engine is C++.
pub(crate) const FUZZERS: &[Need] = &[("c++", "g++ libc6-dev")];

/// The programs that the referee needs.
pub(crate) const REFEREE: &[Need] = &[
    ("cc", "gcc libc6-dev"),
    ("bash", "bash"),
    ("dash", "dash"),
    ("strace", "strace"),
    ("bwrap", "bubblewrap"),
    ("setpriv", "util-linux"),
];

/// The programs that the language fuzzers need: all implementations in Debian.
pub(crate) const LANGUAGES: &[Need] = &[
    ("cc", "gcc libc6-dev"),
    ("mawk", "mawk"),
    ("gawk", "gawk"),
    ("original-awk", "original-awk"),
    ("busybox", "busybox"),
    ("jq", "jq"),
    ("gojq", "gojq"),
    ("sed", "sed"),
    ("sqlite3", "sqlite3"),
];

/// The programs that the fuzzer for slowness needs, with the Python package for file systems.
pub(crate) const SLOWNESS: &[Need] =
    &[("fusermount3", "fuse3 python3-fusepy"), ("python3", "python3")];

/// The programs that the Python package needs.
pub(crate) const PYTHON: &[Need] =
    &[("cc", "gcc libc6-dev"), ("python3", "python3"), ("less", "less"), ("tmux", "tmux")];

/// The modules of Python that Debian leaves out of the package `python3`.
const VENV_MODULES: &str = "import ensurepip, venv";

/// Checks that `python3` can create virtual environments, and installs the package for it.
pub(crate) fn python_environments() -> Result<(), String> {
    let usable = || quiet(Command::new("python3").args(["-c", VENV_MODULES]));
    if usable() {
        return Ok(());
    }
    let packages = ["python3-venv"];
    install(&packages)?;
    if usable() { Ok(()) } else { Err(by_hand("installed in vain", &packages)) }
}

/// The programs that are needed to run the real agents.
pub(crate) const AGENTS: &[Need] = &[
    ("bash", "bash"),
    ("git", "git"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("ip", "iproute2"),
    ("unshare", "util-linux"),
    ("setpriv", "util-linux"),
    ("prlimit", "util-linux"),
];

/// Checks that every program of `needs` can be started. Installs missing packages if no password is
/// needed.
pub(crate) fn programs(needs: &[Need]) -> Result<(), String> {
    let packages = missing(needs, |program| find(program).is_some());
    if packages.is_empty() {
        return Ok(());
    }
    install(&packages)?;
    let still = missing(needs, |program| find(program).is_some());
    if still.is_empty() { Ok(()) } else { Err(by_hand("installed in vain", &still)) }
}

/// A subcommand of cargo, with its package and version.
pub(crate) type CargoNeed = (&'static str, &'static str);

/// The programs that mutation testing needs.
pub(crate) const MUTANTS: &[CargoNeed] =
    &[("mutants", "cargo-mutants@27.1.0"), ("nextest", "cargo-nextest@0.9.143")];

/// Installs the cargo subcommands that are missing.
pub(crate) fn cargo_programs(needs: &[CargoNeed]) -> Result<(), String> {
    for (name, package) in needs {
        if !quiet(cargo().args([*name, "--version"])) {
            println!("==> setup: installing {package}");
            succeed(cargo().args(["install", "--locked", package]))?;
        }
    }
    Ok(())
}

/// Installs rustfmt and clippy if they are missing.
pub(crate) fn components() -> Result<(), String> {
    for component in ["fmt", "clippy"] {
        let answers = quiet(cargo().args([component, "--version"]));
        if !answers {
            let name = if component == "fmt" { "rustfmt" } else { component };
            return Err(format!(
                "`cargo {component}` is missing: run `rustup component add {name}`"
            ));
        }
    }
    Ok(())
}

/// Returns whether this process runs as root.
pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Returns the path of `program` on the search path. The system directories are always searched.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders = env::split_paths(&path).chain(system);
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn missing(needs: &[Need], present: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let absent = needs.iter().filter(|(program, _)| !present(program));
    let mut packages: Vec<_> = absent.flat_map(|(_, package)| package.split(' ')).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn install(packages: &[&str]) -> Result<(), String> {
    if find("apt-get").is_none() {
        return Err(by_hand("missing, and there is no apt-get", packages));
    }
    let prefix: &[&str] = if is_root() {
        &[]
    } else if quiet(Command::new("sudo").args(["-n", "true"])) {
        &["sudo", "-n"]
    } else {
        return Err(by_hand("missing, and installing needs root", packages));
    };
    println!("==> setup: installing {}", packages.join(" "));
    let mut attempt = apt(prefix, &["install", "--no-install-recommends"], packages);
    if succeed(&mut attempt).is_err() {
        // A fresh machine has no package lists yet.
        succeed(&mut apt(prefix, &["update"], &[]))?;
        succeed(&mut apt(prefix, &["install", "--no-install-recommends"], packages))?;
    }
    Ok(())
}

fn apt(prefix: &[&str], verb: &[&str], packages: &[&str]) -> Command {
    let mut command = Command::new("env");
    let words = ["DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--quiet"];
    if let Some((program, rest)) = prefix.split_first() {
        command = Command::new(program);
        command.args(rest).arg("env");
    }
    command.args(words).args(verb).args(packages).stdin(Stdio::null());
    command
}

fn by_hand(why: &str, packages: &[&str]) -> String {
    let names = packages.join(" ");
    format!("{why}: {names}\nhint: install them with `apt-get install {names}` or their like")
}

fn quiet(command: &mut Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_package_is_named_once() {
        let present = |program: &str| program == "git" || program == "bash";
        assert_eq!(missing(AGENTS, present), ["iproute2", "nodejs", "npm", "util-linux"]);
        let all = [
            "bash",
            "bubblewrap",
            "curl",
            "dash",
            "gcc",
            "git",
            "iproute2",
            "libc6-dev",
            "make",
            "openssh-client",
            "openssh-server",
            "python3",
            "strace",
            "util-linux",
        ];
        assert_eq!(missing(TESTS, |_| false), all);
    }

    #[test]
    fn nothing_is_missing_if_everything_is_present() {
        assert!(missing(TESTS, |_| true).is_empty());
    }

    #[test]
    fn without_apt_the_message_names_the_packages_to_install() {
        let message = by_hand("missing", &["git", "strace"]);
        assert!(message.contains("apt-get install git strace"));
    }

    #[test]
    fn apt_runs_through_sudo_without_root() {
        let shown = crate::steps::show(&apt(&["sudo", "-n"], &["install"], &["git"]));
        assert!(shown.starts_with("sudo -n env DEBIAN_FRONTEND=noninteractive apt-get"), "{shown}");
    }
}
