//! Credentials in the configuration of a repository: a URL with a password, or a header with a
//! token.
//!
//! Such a file is a secret like `.netrc`, and git prints it: `git remote -v` shows whole URLs.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, Access, CauseCode, CommandClass, ExecAccess};
use openoxide_store::read_regular_file;

use crate::{
    entered_places::EnteredPlaces,
    printed_settings::prints_credentials,
    project_settings::path_spellings,
    url_credentials::{MAX_CONFIG_BYTES, file_has_credentials},
};

/// The reason of a question about such a command.
const CREDENTIALS_CAUSE: &str = "prints settings that contain credentials";

/// The maximum depth of included files.
const MAX_INCLUDE_DEPTH: usize = 5;

/// Makes commands that print the configuration of a repository require approval if it contains
/// credentials.
pub(crate) fn check_credential_output(
    accesses: &mut Vec<Access>,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
) {
    let mut shown = Vec::new();
    let entered = EnteredPlaces::collect(accesses, cwd);
    for access in accesses.iter_mut() {
        if let Access::Read(path) = access
            && path.paths().any(|path| is_git_config(path) && has_credentials(path))
        {
            let text = format!("{}: it contains credentials", path.path);
            shown.push(Access::Opaque { text, span: path.span });
        } else if let Access::Exec(exec) = access
            && exec.class != CommandClass::Unknown
        {
            let places = entered.possible_places(exec, cwd);
            let prints_git = prints_git_settings(exec)
                && (places.as_ref().is_none_or(|places| places.iter().any(has_secret_repository))
                    || prints_user_settings(exec) && user_configs_have_credentials(home));
            // Most of these settings are not those of a directory.
            let mut places = places.unwrap_or_else(|| vec![cwd.clone()]).into_iter();
            if prints_git || places.any(|place| prints_credentials(exec, &place, home)) {
                exec.distrust(CauseCode::ReadsSecret, CREDENTIALS_CAUSE);
            }
        }
    }
    accesses.append(&mut shown);
}

/// Returns whether a directory is in a repository whose configuration contains credentials.
fn has_secret_repository(place: &AbsPath) -> bool {
    path_spellings(place)
        .iter()
        .flat_map(|place| place.ancestors())
        .any(|above| file_has_credentials(&above.join(".git/config")))
}

/// Returns whether a git command prints URLs or other settings.
fn prints_git_settings(exec: &ExecAccess) -> bool {
    let has = |name: &str| exec.argv.known_words(1).any(|word| word == Some(name));
    let is_git = exec.argv.known_word(0).is_some_and(|name| name.rsplit('/').next() == Some("git"));
    is_git && ["remote", "config", "var", "--get-url"].into_iter().any(has)
}

/// Returns whether a git command prints settings of the user: URLs with the replacements of
/// `url.*.insteadOf`, or settings that it does not name.
fn prints_user_settings(exec: &ExecAccess) -> bool {
    const PRINTED: [&str; 9] =
        ["-l", "--l", "list", "--get-r", "--get-u", "url", "http", "credential", "include"];
    let words = || exec.argv.known_words(1);
    let is_general = |word: Option<&str>| {
        word.is_none_or(|word| {
            let word = word.to_ascii_lowercase();
            PRINTED.iter().any(|beginning| word.starts_with(beginning))
        })
    };
    !words().any(|word| word == Some("config")) || words().any(is_general)
}

/// Returns whether a configuration of the user or of the system contains credentials.
fn user_configs_have_credentials(home: Option<&AbsPath>) -> bool {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = home.map(|home| Path::new(home.as_str()));
    let files = [
        named("GIT_CONFIG_GLOBAL"),
        named("GIT_CONFIG_SYSTEM"),
        named("XDG_CONFIG_HOME").map(|directory| directory.join("git/config")),
        home.map(|home| home.join(".gitconfig")),
        home.map(|home| home.join(".config/git/config")),
        Some(PathBuf::from("/etc/gitconfig")),
    ];
    files.into_iter().flatten().any(|file| includes_credentials(&file, home, MAX_INCLUDE_DEPTH))
}

/// Returns whether a file or one that it includes contains credentials.
fn includes_credentials(file: &Path, home: Option<&Path>, depth: usize) -> bool {
    if file_has_credentials(file) {
        return true;
    }
    let Ok(bytes) = read_regular_file(file, MAX_CONFIG_BYTES) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    let above = file.parent().unwrap_or(Path::new("/"));
    let included = text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let value = value.trim().trim_matches('"');
        let name = name.rsplit(']').next().unwrap_or(name).trim();
        name.eq_ignore_ascii_case("path").then(|| match (value.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => above.join(value),
        })
    });
    included.into_iter().any(|file| {
        fs::metadata(&file).is_ok() && (depth == 0 || includes_credentials(&file, home, depth - 1))
    })
}

/// Returns whether a path is the configuration of a repository, with credentials.
pub(crate) fn is_secret_config(path: &AbsPath) -> bool {
    is_git_config(path) && has_credentials(path)
}

fn is_git_config(path: &AbsPath) -> bool {
    let name = path.file_name();
    matches!(name, Some("config" | "config.worktree")) && path.as_str().contains("/.git/")
}

fn has_credentials(path: &AbsPath) -> bool {
    file_has_credentials(Path::new(path.as_str()))
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{Action, OperationFacts};

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    fn is_free(script: &str, config: &str) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().canonicalize().unwrap();
        for below in [".git/objects", ".git/refs", "sub"] {
            fs::create_dir_all(project.join(below)).unwrap();
        }
        fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(project.join(".git/config"), config).unwrap();
        let cwd = AbsPath::new(project.to_str().unwrap()).unwrap();
        let action = Action::Command { script: script.to_owned() };
        let OperationFacts { accesses, .. } =
            collect_action_facts(&action, "Bash", CallLocation { cwd: &cwd, home: None });
        accesses.iter().all(|access| {
            if let Access::Exec(exec) = access {
                exec.class == CommandClass::Harmless
            } else {
                !matches!(access, Access::Opaque { .. })
            }
        })
    }

    #[test]
    fn a_configuration_with_credentials_is_a_secret() {
        const PLAIN: &str = "[remote \"origin\"]\n\turl = https://github.com/a/b\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";
        const SSH: &str = "[remote \"origin\"]\n\turl = ssh://git@github.com/a/b\n";
        const TOKEN: &str = "[remote \"origin\"]\n\turl = https://x:ghp_fake@github.com/a/b\n";
        const USER: &str = "[remote \"origin\"]\n\turl = \"https://ghp_fake@github.com/a/b\"\n";
        for script in [
            "git remote -v",
            "git remote get-url origin",
            "git config remote.origin.url",
            "cat .git/config",
            "head -n 5 .git/config",
            "cd sub && git remote -v",
        ] {
            for config in [PLAIN, SSH] {
                assert!(is_free(script, config), "{script} {config}");
            }
            for config in [TOKEN, USER] {
                assert!(!is_free(script, config), "{script} {config}");
            }
        }
        assert!(is_free("git status", TOKEN));
        let header = "[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic x\n";
        assert!(!is_free("cat .git/config", header));
    }
}
