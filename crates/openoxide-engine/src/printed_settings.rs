//! Credentials in the settings that harmless commands print: a proxy, a registry or a mirror whose
//! URL contains a password or a token.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, ExecAccess};

use crate::{
    project_settings::path_spellings,
    url_credentials::{file_has_credentials, has_password},
};

/// A command that prints settings.
struct PrintingCommand {
    programs: &'static [&'static str],
    /// The command prints settings if one of its words is one of these.
    words: &'static [&'static str],
    /// The beginning of the names of variables that it prints, in lower case.
    variables: Option<&'static str>,
    /// The files with the settings: `~/FILE`, `./FILE` (in the working directory and above it),
    /// `$VARIABLE` (a list of files), `$VARIABLE/FILE`, or an absolute path. A path that ends with
    /// a slash names all files of a directory.
    files: &'static [&'static str],
}

/// The manual pages and the documentation of the programs. `go env`, `apt-config dump`
/// and `gem environment` were run.
const COMMANDS: &[PrintingCommand] = &[
    PrintingCommand {
        programs: &["go"],
        words: &["env"],
        variables: Some("go"),
        files: &["$GOENV", "$XDG_CONFIG_HOME/go/env", "~/.config/go/env"],
    },
    PrintingCommand {
        programs: &["apt-config", "apt-cache", "apt"],
        words: &["dump", "shell", "policy"],
        variables: None,
        files: &[
            "$APT_CONFIG",
            "/etc/apt/apt.conf",
            "/etc/apt/apt.conf.d/",
            "/etc/apt/sources.list",
            "/etc/apt/sources.list.d/",
        ],
    },
    PrintingCommand {
        programs: &["npm", "pnpm", "yarn"],
        words: &["get", "list", "ls"],
        variables: Some("npm_config_"),
        files: &[
            "$NPM_CONFIG_USERCONFIG",
            "$npm_config_userconfig",
            "~/.npmrc",
            "./.npmrc",
            "/etc/npmrc",
            "~/.yarnrc.yml",
            "./.yarnrc.yml",
        ],
    },
    PrintingCommand {
        programs: &["helm"],
        words: &["repo"],
        variables: None,
        files: &[
            "$HELM_REPOSITORY_CONFIG",
            "$HELM_CONFIG_HOME/repositories.yaml",
            "$XDG_CONFIG_HOME/helm/repositories.yaml",
            "~/.config/helm/repositories.yaml",
        ],
    },
    PrintingCommand {
        programs: &["gem"],
        words: &["environment", "env", "sources"],
        variables: None,
        files: &[
            "$GEMRC",
            "$XDG_CONFIG_HOME/gem/gemrc",
            "~/.config/gem/gemrc",
            "~/.gemrc",
            "/etc/gemrc",
        ],
    },
    PrintingCommand {
        programs: &["kubectl", "oc"],
        words: &["view", "cluster-info"],
        variables: None,
        files: &["$KUBECONFIG", "~/.kube/config"],
    },
    PrintingCommand {
        programs: &["dotnet", "nuget"],
        words: &["source", "sources"],
        variables: None,
        files: &[
            "$XDG_CONFIG_HOME/NuGet/NuGet.Config",
            "~/.config/NuGet/NuGet.Config",
            "~/.nuget/NuGet/NuGet.Config",
            "./nuget.config",
            "./NuGet.config",
            "./NuGet.Config",
        ],
    },
    PrintingCommand {
        programs: &["dnf", "dnf5", "yum", "zypper"],
        words: &["repoinfo", "repolist", "lr", "repos", "ls", "services", "repo"],
        variables: None,
        files: &[
            "/etc/dnf/dnf.conf",
            "/etc/yum.conf",
            "/etc/yum.repos.d/",
            "/etc/zypp/repos.d/",
            "/etc/zypp/services.d/",
        ],
    },
    PrintingCommand {
        programs: &["flatpak"],
        words: &["remotes"],
        variables: None,
        files: &[
            "/var/lib/flatpak/repo/config",
            "$XDG_DATA_HOME/flatpak/repo/config",
            "~/.local/share/flatpak/repo/config",
        ],
    },
    PrintingCommand {
        programs: &["conda", "mamba", "micromamba"],
        words: &["info"],
        variables: None,
        files: &[
            "$CONDARC",
            "$XDG_CONFIG_HOME/conda/.condarc",
            "~/.config/conda/.condarc",
            "~/.conda/.condarc",
            "~/.condarc",
            "/etc/conda/.condarc",
        ],
    },
];

/// Returns whether a command prints settings of the user, the system or the project that contain
/// credentials. `place` is the directory in which it runs.
pub(crate) fn prints_credentials(
    exec: &ExecAccess,
    place: &AbsPath,
    home: Option<&AbsPath>,
) -> bool {
    let name = exec.argv.known_word(0).and_then(|name| name.rsplit('/').next());
    let words = || exec.argv.known_words(1);
    let prints = |command: &&PrintingCommand| {
        name.is_some_and(|name| command.programs.contains(&name))
            && words().any(|word| word.is_none_or(|word| command.words.contains(&word)))
    };
    COMMANDS.iter().filter(prints).any(|command| {
        command.variables.is_some_and(variables_have_credentials)
            || command.files.iter().any(|file| {
                find_files(file, place, home).iter().any(|file| may_have_credentials(file))
            })
    })
}

fn variables_have_credentials(beginning: &str) -> bool {
    env::vars_os().any(|(name, value)| {
        name.to_string_lossy().to_ascii_lowercase().starts_with(beginning)
            && has_password(&value.to_string_lossy())
    })
}

/// Returns whether a file of settings, or a file in a directory of settings, contains credentials.
fn may_have_credentials(path: &Path) -> bool {
    if !path.is_dir() {
        return file_has_credentials(path);
    }
    let Ok(entries) = fs::read_dir(path) else { return false };
    entries.filter_map(Result::ok).any(|entry| file_has_credentials(&entry.path()))
}

/// Returns the paths that an entry of [`PrintingCommand::files`] stands for.
fn find_files(file: &str, place: &AbsPath, home: Option<&AbsPath>) -> Vec<PathBuf> {
    if let Some(name) = file.strip_prefix('$') {
        let (name, rest) =
            name.split_once('/').map_or((name, None), |(name, rest)| (name, Some(rest)));
        let value = env::var_os(name).filter(|value| !value.is_empty()).unwrap_or_default();
        let named = env::split_paths(&value);
        return named.map(|path| rest.map_or(path.clone(), |rest| path.join(rest))).collect();
    }
    if let Some(rest) = file.strip_prefix("~/") {
        return home.map(|home| Path::new(home.as_str()).join(rest)).into_iter().collect();
    }
    if let Some(rest) = file.strip_prefix("./") {
        let spellings = path_spellings(place);
        let above = spellings.iter().flat_map(|place| place.ancestors());
        return above.map(|directory| directory.join(rest)).collect();
    }
    vec![PathBuf::from(file)]
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{Access, OperationFacts};
    use openoxide_protocol::{Action, CommandClass};

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    fn is_free(script: &str, project: &Path, home: &Path) -> bool {
        let path = |path: &Path| AbsPath::new(path.to_str().unwrap()).unwrap();
        let (cwd, home) = (path(project), path(home));
        let action = Action::Command { script: script.to_owned() };
        let OperationFacts { accesses, .. } =
            collect_action_facts(&action, "Bash", CallLocation { cwd: &cwd, home: Some(&home) });
        accesses.iter().all(
            |access| matches!(access, Access::Exec(exec) if exec.class == CommandClass::Harmless),
        )
    }

    #[test]
    fn commands_that_print_credentials_of_settings_are_not_harmless() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let project = home.join("p");
        fs::create_dir_all(project.join("sub")).unwrap();
        for (file, with, without, scripts) in [
            (
                ".config/go/env",
                "GOPROXY=https://ann:tok_fake@proxy.example",
                "GOPROXY=https://proxy.example",
                &["go env", "go env GOPROXY", "go env -json"][..],
            ),
            (
                ".npmrc",
                "registry=https://ann:tok_fake@npm.example/",
                "registry=https://npm.example/",
                &["npm config get registry"],
            ),
            (
                ".config/helm/repositories.yaml",
                "- url: https://ann:tok_fake@charts.example",
                "- url: https://charts.example",
                &["helm repo list", "helm repo ls"],
            ),
            (
                ".gemrc",
                ":sources:\n- https://ann:tok_fake@gems.example/",
                ":sources:\n- https://gems.example/",
                &["gem environment"],
            ),
            (
                ".kube/config",
                "  proxy-url: http://ann:tok_fake@proxy.example",
                "  server: https://k8s.example",
                &["kubectl config view"],
            ),
            (
                ".nuget/NuGet/NuGet.Config",
                "<add key=\"x\" value=\"https://ann:tok_fake@nuget.example\" />",
                "<add key=\"x\" value=\"https://nuget.example\" />",
                &["dotnet nuget list source"],
            ),
        ] {
            let path = home.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            for script in scripts {
                fs::write(&path, without).unwrap();
                assert!(is_free(script, &project, &home), "{script}");
                fs::write(&path, with).unwrap();
                assert!(!is_free(script, &project, &home), "{script}");
            }
            assert!(is_free("go version; npm --version", &project, &home));
        }
    }
}
