//! Addresses that git reaches with `ssh`.
//!
//! Such an address is a host only if nothing changes where `ssh` connects to, or what it runs. The
//! decision is also about commands that run without a sandbox. Otherwise, the address stays opaque.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, ExecAccess};
use openoxide_store::{UserEnvironment, read_regular_file};

use crate::{git_repository, ssh_config, url_host};

/// The maximum size of a configuration that is examined.
const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// Parts of settings that replace addresses or the program, or that include other files.
const STEERING_SETTINGS: [&str; 4] = ["sshcommand", "insteadof", "include", "variant"];
/// The beginnings of variables that do the same (git(1)).
const STEERING_VARIABLES: [&str; 3] = ["GIT_SSH", "GIT_CONFIG", "GIT_DIR"];

/// Returns the directory that a program works in, if it is git.
pub(crate) fn working_directory(exec: &ExecAccess, cwd: &AbsPath) -> Option<AbsPath> {
    let name = exec.argv.known_word(0)?.rsplit('/').next();
    (name == Some("git")).then(|| exec.cwd.as_ref().unwrap_or(cwd).clone())
}

/// Returns the host of an address that git reaches with `ssh` from a directory, if the
/// configuration of both is plain.
pub(crate) fn find_host(url: &str, place: &AbsPath, home: Option<&AbsPath>) -> Option<String> {
    let host = url_host::parse_ssh_host(url)?;
    let is_plain = !has_steering_variable()
        && has_plain_git_settings(place, home)
        && home_directories(home).iter().all(|home| ssh_config::is_plain(home, &host));
    is_plain.then_some(host)
}

fn has_steering_variable() -> bool {
    env::vars_os().any(|(name, _)| {
        let name = name.to_string_lossy();
        STEERING_VARIABLES.iter().any(|beginning| name.starts_with(beginning))
    })
}

/// Returns whether no configuration that git reads there contains a steering setting.
fn has_plain_git_settings(place: &AbsPath, home: Option<&AbsPath>) -> bool {
    let user = home.map(|home| Path::new(home.as_str()));
    let in_config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let files = [
        user.map(|home| home.join(".gitconfig")),
        user.map(|home| home.join(".config/git/config")),
        in_config.map(|directory| directory.join("git/config")),
        Some(PathBuf::from("/etc/gitconfig")),
    ];
    let is_plain = |text: &str| {
        let text = text.to_ascii_lowercase();
        !STEERING_SETTINGS.iter().any(|setting| text.contains(setting))
    };
    git_repository::read_settings(place).is_some_and(|text| is_plain(&text))
        && files.iter().flatten().all(|file| {
            fs::symlink_metadata(file).is_err()
                || read_small(file).is_some_and(|text| is_plain(&text))
        })
}

fn read_small(file: &Path) -> Option<String> {
    let bytes = read_regular_file(file, MAX_CONFIG_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the directories whose `.ssh` the program may read: `ssh` uses the account's.
fn home_directories(home: Option<&AbsPath>) -> Vec<AbsPath> {
    let account = UserEnvironment::from_process().account_home;
    let mut homes: Vec<_> = home.cloned().into_iter().chain(account).collect();
    homes.dedup();
    homes
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{Access, Action};

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    /// Returns the hosts and the opaque texts of a command in a repository with these files.
    fn reached(script: &str, git: &str, ssh: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        for below in ["p/.git/objects", "p/.git/refs", ".ssh"] {
            fs::create_dir_all(home.join(below)).unwrap();
        }
        fs::write(home.join("p/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(home.join("p/.git/config"), git).unwrap();
        fs::write(home.join(".ssh/config"), ssh).unwrap();
        let at = |path: &Path| AbsPath::new(path.to_str().unwrap()).unwrap();
        let (cwd, home) = (at(&home.join("p")), at(&home));
        let action = Action::Command { script: script.to_owned() };
        let place = CallLocation { cwd: &cwd, home: Some(&home) };
        let facts = collect_action_facts(&action, "Bash", place);
        let mut named = Vec::new();
        for access in facts.accesses {
            if let Access::Fetch { host, .. } = access {
                named.push(host);
            } else if matches!(access, Access::Opaque { .. }) {
                named.push("?".to_owned());
            }
        }
        named
    }

    /// The forms of git(1), "GIT URLS".
    #[test]
    fn an_address_of_git_is_a_host() {
        for (address, host) in [
            ("git@x.io:a/b.git", "x.io"),
            ("ann@x.io:a", "x.io"),
            ("x.io:a", "x.io"),
            ("ssh://x.io/a", "x.io"),
            ("ssh://git@X.io:2222/~ann/a", "x.io"),
        ] {
            for verb in ["fetch", "clone", "ls-remote", "pull", "push"] {
                let found = reached(&format!("git {verb} {address}"), "", "");
                assert_eq!(found, [host], "{verb} {address}");
            }
        }
    }

    #[test]
    fn an_odd_address_stays_opaque() {
        for address in [
            "ssh://-oProxyCommand=x/a",
            "ssh://a@-oProxyCommand=x/a",
            "-oProxyCommand=x@-x:a",
            "ssh://x.io?y@evil.io/a",
            "ssh://x.io#y@evil.io/a",
            "ssh://x%2eio/a",
            "ssh://a%40b@x.io/a",
            "ssh://user:password@x.io/a",
            "ssh://-x@x.io/a",
            "a@b@x.io:p",
            "x y:a",
            "ssh://git@[::1]:22/a",
            "ext::ssh:a",
            "git+ssh://x.io/a",
            "ssh://0x7f.1/a",
        ] {
            let found = reached(&format!("git fetch -- '{address}'"), "", "");
            assert!(found.iter().any(|host| host == "?"), "{address}: {found:?}");
        }
    }

    #[test]
    fn settings_that_steer_ssh_keep_the_address_opaque() {
        for git in [
            "[core]\n\tsshCommand = ./x\n",
            "[url \"ssh://evil.io/\"]\n\tinsteadOf = ssh://x.io/\n",
            "[url \"ssh://evil.io/\"]\n\tpushInsteadOf = ssh://x.io/\n",
            "[ssh]\n\tvariant = plink\n",
            "[include]\n\tpath = other\n",
        ] {
            assert_eq!(reached("git fetch git@x.io:a", git, ""), ["?"], "{git}");
        }
        let set = "git config core.sshCommand ./x; git fetch git@x.io:a";
        assert!(reached(set, "", "").contains(&"?".to_owned()));
    }

    #[test]
    fn other_programs_and_ssh_settings_keep_it_opaque() {
        assert!(reached("hg clone ssh://x.io/a b", "", "").contains(&"?".to_owned()));
        let proxy = "Host x.io\n  ProxyCommand nc %h %p\n";
        assert_eq!(reached("git fetch git@x.io:a", "", proxy), ["?"]);
        assert_eq!(reached("git fetch git@y.io:a", "", proxy), ["y.io"]);
    }
}
