//! Detection of programs that the user's configuration of git takes from a project.
//!
//! Programs with plain names or absolute paths belong to the user. A relative path, such as
//! `.githooks` for `core.hooksPath`, is a file of the repository in which git runs.

use std::{
    env,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;
use openoxide_store::{FileReadError, read_text};

/// The maximum size of a configuration.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The maximum depth of included files.
const MAX_INCLUDE_DEPTH: usize = 10;

/// Programs whose operands can be scripts.
const INTERPRETERS: [&str; 14] = [
    "ash", "bash", "bun", "dash", "deno", "env", "ksh", "node", "perl", "php", "python", "ruby",
    "sh", "zsh",
];

/// The paths at which builds of git look for the system configuration.
const SYSTEM_FILES: [&str; 3] =
    ["/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"];

/// The maximum number of settings in the environment that are examined.
const MOST_SETTINGS: usize = 256;

/// Returns whether the configuration of the user or of the system can make git run a file of the
/// repository in `place`.
pub(crate) fn runs_project_files(place: &AbsPath, home: Option<&AbsPath>) -> bool {
    runs_files_in(place, home, &|name| env::var_os(name))
}

/// Like [`runs_project_files`], with this environment.
///
/// `GIT_CONFIG_GLOBAL` replaces the two files of the user, and `GIT_CONFIG_NOSYSTEM` disables the
/// file of the system. They are examined anyway, because `env -u GIT_CONFIG_GLOBAL git status`
/// reads them.
fn runs_files_in(
    place: &AbsPath,
    home: Option<&AbsPath>,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> bool {
    let named = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = home.map(|home| Path::new(home.as_str()));
    let place = Path::new(place.as_str());
    let chosen = [
        named("GIT_CONFIG_GLOBAL"),
        named("GIT_CONFIG_SYSTEM"),
        named("XDG_CONFIG_HOME").map(|directory| directory.join("git/config")),
    ];
    let own = home
        .into_iter()
        .flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
    let chosen: Vec<PathBuf> = chosen.into_iter().flatten().collect();
    // A project is untrusted content. The home directory and its parents belong to the user.
    let is_project = home.is_none_or(|home| !home.starts_with(place));
    let is_content = |file: &PathBuf| file.is_relative() || is_project && file.starts_with(place);
    if chosen.iter().any(is_content) || runs_by_settings(place, variable) {
        return true;
    }
    let mut files = chosen.into_iter().chain(own).chain(SYSTEM_FILES.map(PathBuf::from));
    files.any(|file| config_runs_files(&file, place, home, MAX_INCLUDE_DEPTH))
}

/// Returns whether settings in the environment run a file of the repository.
/// `GIT_CONFIG_PARAMETERS` is not parsed.
fn runs_by_settings(place: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    let text = |name: &str| variable(name)?.into_string().ok();
    if variable("GIT_CONFIG_PARAMETERS").is_some_and(|value| !value.is_empty()) {
        return true;
    }
    let Some(count) = variable("GIT_CONFIG_COUNT").filter(|count| !count.is_empty()) else {
        return false;
    };
    let count = count.to_str().and_then(|count| count.trim().parse::<usize>().ok());
    let Some(count) = count.filter(|count| *count <= MOST_SETTINGS) else { return true };
    (0..count).any(|index| {
        let key = text(&format!("GIT_CONFIG_KEY_{index}"));
        let value = text(&format!("GIT_CONFIG_VALUE_{index}"));
        let (Some(key), Some(value)) = (key, value) else { return true };
        let key = key.to_ascii_lowercase();
        let section = key.split('.').next().unwrap_or_default();
        let name = key.rsplit('.').next().unwrap_or_default();
        // Included files are not examined here.
        matches!(section, "include" | "includeif") || runs_setting(section, name, &value, place)
    })
}

/// Like [`runs_project_files`], for one file and those that it includes.
fn config_runs_files(file: &Path, place: &Path, home: Option<&Path>, deep: usize) -> bool {
    if file == Path::new("/dev/null") {
        return false;
    }
    let text = match read_text(file, MAX_CONFIG_BYTES) {
        Ok(text) => text,
        Err(FileReadError::Missing) => return false,
        // A file that cannot be read may name anything.
        Err(FileReadError::Io(error)) => return error.kind() != io::ErrorKind::NotADirectory,
        Err(_) => return true,
    };
    let mut section = String::new();
    logical_lines(&text).iter().any(|line| {
        let line = match parse_section_header(line) {
            Some((name, rest)) => {
                section = name.to_ascii_lowercase();
                rest
            }
            None => line.as_str(),
        };
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        let (name, value) = (name.trim().to_ascii_lowercase(), unquote(value));
        match (section.split([' ', '.', '\t']).next().unwrap_or_default(), name.as_str()) {
            ("include" | "includeif", "path") => {
                let above = file.parent().unwrap_or(Path::new("/"));
                let included = resolve_include(&value, above, home);
                included.starts_with(place)
                    || deep == 0
                    || config_runs_files(&included, place, home, deep - 1)
            }
            (section, name) => runs_setting(section, name, &value, place),
        }
    })
}

/// Returns whether one setting runs a file of the repository in `place`.
fn runs_setting(section: &str, name: &str, value: &str, place: &Path) -> bool {
    if (section, name) == ("core", "hookspath") {
        return !is_absolute_path(value)
            && !value.is_empty()
            && place.ancestors().any(|above| above.join(value).exists());
    }
    is_program_setting(section, name) && runs_relative_file(value)
}

/// Returns the lines. A line that ends with `\` continues on the next line.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for line in text.lines() {
        let (part, goes_on) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        if let Some(last) = lines.last_mut() {
            last.push_str(part);
        }
        if !goes_on {
            lines.push(String::new());
        }
    }
    lines
}

/// Returns the name of the section of a section header, and the rest of the line.
fn parse_section_header(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_start().strip_prefix('[')?;
    rest.rsplit_once(']')
}

/// Returns a value without quotes and without the comment after it.
fn unquote(value: &str) -> String {
    let mut quoted = false;
    let mut plain = String::new();
    let mut letters = value.trim().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => quoted = !quoted,
            '\\' => plain.extend(letters.next()),
            '#' | ';' if !quoted => break,
            _ => plain.push(letter),
        }
    }
    plain.trim().to_owned()
}

/// Returns the file that an `include` names. A relative path is relative to the file with the
/// `include`.
fn resolve_include(value: &str, above: &Path, home: Option<&Path>) -> PathBuf {
    match (value.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => above.join(value),
    }
}

/// Returns whether a setting is a program or a script that git starts.
fn is_program_setting(section: &str, name: &str) -> bool {
    match section {
        "pager" => true,
        "core" => matches!(
            name,
            "fsmonitor"
                | "pager"
                | "editor"
                | "sshcommand"
                | "askpass"
                | "gitproxy"
                | "alternaterefscommand"
        ),
        _ => {
            [
                "command", "program", "cmd", "helper", "driver", "external", "textconv", "clean",
                "smudge",
            ]
            .iter()
            .any(|end| name.ends_with(end))
                || matches!(
                    name,
                    "process" | "difffilter" | "editor" | "path" | "packobjectshook" | "vcs"
                )
        }
    }
}

/// Returns whether a command names a file by a relative path, or passes one to an interpreter.
fn runs_relative_file(command: &str) -> bool {
    let plain = |word: &str| {
        word.trim_matches(['!', '(', ')', '\'', '"', ';', '{', '}', '&', '|']).to_owned()
    };
    let words: Vec<String> = command.split_whitespace().map(plain).collect();
    let relative = |word: &String| {
        word.contains('/')
            && !is_absolute_path(word)
            && !word.starts_with(['$', '-', '%'])
            && !word.contains("://")
    };
    let interprets = |word: &String| {
        let name = word.rsplit('/').next().unwrap_or_default();
        INTERPRETERS
            .contains(&name.trim_end_matches(|each: char| each.is_ascii_digit() || each == '.'))
    };
    let script = |pair: &[String]| match pair {
        [program, script] => {
            interprets(program)
                && !script.is_empty()
                && !is_absolute_path(script)
                && !script.starts_with(['-', '$', '%'])
        }
        _ => false,
    };
    words.iter().any(relative) || words.windows(2).any(script)
}

/// Returns whether a path does not depend on the working directory.
fn is_absolute_path(path: &str) -> bool {
    path.starts_with(['/', '~']) || path.starts_with("%(prefix)/")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn runs(config: &str) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("p/.githooks")).unwrap();
        fs::write(home.join("p/evil.inc"), "[core]\n\tpager = less\n").unwrap();
        fs::write(home.join("more.inc"), "[core]\n\tfsmonitor = ./x\n").unwrap();
        fs::write(home.join("plain.inc"), "[user]\n\tname = x\n").unwrap();
        fs::write(home.join(".gitconfig"), config.replace("HOME", home.to_str().unwrap())).unwrap();
        let path = |path: PathBuf| AbsPath::new(path.to_str().unwrap()).unwrap();
        let (place, home) = (path(home.join("p")), path(home));
        runs_files_in(&place, Some(&home), &|_| None)
    }

    fn runs_with(variables: &[(&str, &str)]) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (file, text) in [
            ("p/config", "[user]\n\tname = x\n"),
            ("bad", "[core]\n\tfsmonitor = ./x\n"),
            ("good", "[core]\n\tpager = less\n"),
            ("xdg/git/config", "[core]\n\tpager = ./x\n"),
        ] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), text).unwrap();
        }
        let path = |name: &str| AbsPath::new(root.join(name).to_str().unwrap()).unwrap();
        let value = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(OsString::from(found.1.replace("ROOT", root.to_str().unwrap())))
        };
        runs_files_in(&path("p"), Some(&path("home")), &value)
    }

    #[test]
    fn the_files_that_the_environment_names_are_examined() {
        // Git 2.47.3 read each of them: `git config --show-origin a.b` under these variables.
        for variables in [
            &[("GIT_CONFIG_GLOBAL", "ROOT/bad")][..],
            &[("GIT_CONFIG_SYSTEM", "ROOT/bad")],
            &[("XDG_CONFIG_HOME", "ROOT/xdg")],
            &[("GIT_CONFIG_GLOBAL", "ROOT/p/config")],
            &[("GIT_CONFIG_GLOBAL", "config")],
            &[("GIT_CONFIG_GLOBAL", "ROOT/p")],
            &[("XDG_CONFIG_HOME", "x")],
            &[("GIT_CONFIG_PARAMETERS", "'core.fsmonitor'='./x'")],
            &[
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", "core.fsMonitor"),
                ("GIT_CONFIG_VALUE_0", "./x"),
            ],
            &[("GIT_CONFIG_COUNT", "1")],
            &[("GIT_CONFIG_COUNT", "x")],
        ] {
            assert!(runs_with(variables), "{variables:?}");
        }
        for variables in [
            &[][..],
            &[("GIT_CONFIG_GLOBAL", "ROOT/good")],
            &[("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")],
            &[("GIT_CONFIG_GLOBAL", "ROOT/missing")],
            &[("GIT_CONFIG_GLOBAL", "")],
            &[("XDG_CONFIG_HOME", "ROOT/elsewhere")],
            &[
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", "safe.directory"),
                ("GIT_CONFIG_VALUE_0", "*"),
            ],
        ] {
            assert!(!runs_with(variables), "{variables:?}");
        }
    }

    #[test]
    fn a_relative_path_is_a_file_of_the_project() {
        for config in [
            "[core]\n\thooksPath = .githooks\n",
            "[core] hooksPath = \".githooks\"\n",
            "[core]\n\tHOOKSPATH = \\\n.githooks\n",
            "[core]\n\tfsmonitor = ./x\n",
            "[core]\n\tfsmonitor = tools/x --flag\n",
            "[core]\n\tpager = sh pager.sh\n",
            "[core]\n\tpager = python3 pager.py\n",
            "[diff]\n\texternal = ../x\n",
            "[diff \"pdf\"]\n\ttextconv = ./x\n",
            "[diff \"pdf\"]\n\tcommand = /usr/bin/env bin/x\n",
            "[filter \"x\"]\n\tclean = ./x %f\n",
            "[filter \"x\"]\n\tprocess = sh -c ./x\n",
            "[gpg]\n\tprogram = bin/gpg\n",
            "[gpg \"ssh\"]\n\tdefaultKeyCommand = ./key\n",
            "[credential]\n\thelper = !./x\n",
            "[include]\n\tpath = more.inc\n",
            "[include]\n\tpath = ~/more.inc\n",
            "[includeIf \"gitdir:/x/\"]\n\tpath = more.inc\n",
            "[include]\n\tpath = HOME/p/evil.inc\n",
        ] {
            assert!(runs(config), "{config}");
        }
    }

    #[test]
    fn names_and_absolute_paths_belong_to_the_user() {
        for config in [
            "",
            "[user]\n\tname = A/B\n",
            "[core]\n\thooksPath = ~/.githooks\n\tpager = less -FRX\n\teditor = /usr/bin/vim # x/y\n",
            "[core]\n\thooksPath = .nothere\n",
            "[core]\n\tfsmonitor = true\n\texcludesFile = .ignore\n",
            "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tprocess = git-lfs filter-process\n",
            "[credential \"https://github.com/a\"]\n\thelper = !/usr/bin/gh auth git-credential\n",
            "[pager]\n\tdiff = delta\n",
            "[alias]\n\tup = log origin/main..\n",
            "[include]\n\tpath = plain.inc\n",
            "[include]\n\tpath = missing.inc\n",
            "[url \"git@github.com:\"]\n\tinsteadOf = https://github.com/\n",
        ] {
            assert!(!runs(config), "{config}");
        }
    }
}
