//! Package registries: the hosts from which the client of each ecosystem installs packages.
//!
//! This is the only table of these hosts. It contains what a client contacts with its default
//! settings to resolve and download packages, and nothing that only publishes or signs in. An upload
//! to crates.io or PyPI uses another host; the registry of npm has one host for everything.

use crate::{CommandWord, CommandWords};

/// A package registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackageRegistry {
    /// The name that rules use: `npm` in `WebFetch(registry:npm)`.
    pub name: &'static str,
    /// The hosts that clients contact with their default settings.
    pub hosts: &'static [&'static str],
    /// The variables that set how often clients try again after a failed connection.
    pub retry_variables: &'static [&'static str],
    /// The commands that install packages into the project, or fetch them. A word can name
    /// alternatives: `npm install|ci`. None of these commands uploads anything.
    commands: &'static [&'static str],
    /// True if `user/name` and `host:user/name` are packages in git repositories.
    has_shorthands: bool,
}

impl PackageRegistry {
    /// Returns the registry with this name.
    #[must_use]
    pub fn with_name(name: &str) -> Option<&'static Self> {
        REGISTRIES.iter().find(|registry| registry.name == name)
    }

    /// Returns the registry that a host belongs to.
    ///
    /// ```
    /// use openoxide_protocol::registries::PackageRegistry;
    ///
    /// let name = |host| PackageRegistry::with_host(host).map(|registry| registry.name);
    /// assert_eq!(name("static.crates.io"), Some("crates"));
    /// assert_eq!(name("crates.io"), None); // uploads
    /// ```
    #[must_use]
    pub fn with_host(host: &str) -> Option<&'static Self> {
        REGISTRIES.iter().find(|registry| registry.hosts.contains(&host))
    }

    /// Returns the registry from which a command installs packages into the project, by its words.
    /// The program must be a name without a directory. Installations outside of the project
    /// (`npm install --global`) do not belong to a registry.
    #[must_use]
    pub fn of_command(words: &CommandWords) -> Option<&'static Self> {
        let is_outside =
            |word| matches!(word, CommandWord::Known(text) if OUTSIDE_OPTIONS.contains(&text));
        let starts = |command: &&str| {
            command.split(' ').enumerate().all(|(index, names)| {
                let word = words.known_word(index);
                word.is_some_and(|word| names.split('|').any(|name| name == word))
            })
        };
        REGISTRIES
            .iter()
            .find(|registry| registry.commands.iter().any(&starts))
            .filter(|_| !words.iter().any(is_outside))
    }

    /// Returns whether a command that belongs to this registry names no package of another place:
    /// all of its words are known, and none is an address, a path outside of the project or the
    /// name of a git repository. Modules of Go have names with hosts, and come from its registry.
    #[must_use]
    pub fn contains_packages(&self, words: &CommandWords) -> bool {
        let program = words.known_word(0);
        let names_project_part = |before: Option<&str>| {
            program.zip(before).is_some_and(|pair| PROJECT_PART_OPTIONS.contains(&pair))
        };
        words.iter().skip(1).zip(words.known_words(0)).all(|(word, before)| match word {
            CommandWord::Known(text) if names_project_part(before) => !names_outside_place(text),
            CommandWord::Known(text) if text.starts_with('-') => !may_set_place(text),
            CommandWord::Known(text) => {
                // The names of other packages contain no colon: it belongs to `git@host:name`.
                let is_repository = match self.has_shorthands {
                    true => is_git_shorthand(text),
                    false => text.contains(':'),
                };
                !names_outside_place(text) && !is_repository
            }
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => false,
        })
    }

    /// Returns the rule that allows all hosts of this registry.
    #[must_use]
    pub fn allow_rule(&self) -> String {
        format!("WebFetch(registry:{})", self.name)
    }
}

/// The options with which packages are installed for all projects.
const OUTSIDE_OPTIONS: &[&str] =
    &["-g", "--global", "--location", "--location=global", "--prefix", "--system", "--user"];

/// The options whose value is a part of the project, each with its program (`npm install -w
/// packages/a`). For pnpm, `-w` takes no value.
const PROJECT_PART_OPTIONS: &[(&str, &str)] =
    &[("npm", "-w"), ("npm", "--workspace"), ("pnpm", "-F"), ("pnpm", "--filter")];

/// Returns whether a word is an address, or a path that does not lead below the directory, also
/// behind a name or an option (`x@../y`, `--path=../x`).
fn names_outside_place(word: &str) -> bool {
    let leads_outside = |path: &str| {
        path.starts_with('/') || path.starts_with("~/") || path.split('/').any(|name| name == "..")
    };
    word.contains("://")
        || word.starts_with('~')
        || word.split(['@', '=', ',', ' ']).any(leads_outside)
}

/// Returns whether an option may name another place than the registry. After a single dash, it is
/// not known where a value begins (`-e../x`, `-qe/x`).
fn may_set_place(option: &str) -> bool {
    let has_attached_path =
        !option.starts_with("--") && (option.contains(['/', '~']) || option.contains(".."));
    names_outside_place(option)
        || has_attached_path
        || option.contains(':')
        || option.starts_with("--git")
}

/// Returns whether a word names a package in a git repository (npm-install(1)): `user/name`,
/// `github:user/name`, `git@host:name`, also behind `alias@`.
fn is_git_shorthand(word: &str) -> bool {
    let is_path = word.starts_with("./");
    // The name of a package can begin with `@scope/`.
    let scoped = word.strip_prefix('@').and_then(|rest| rest.split_once('/'));
    let name = scoped.map_or(word, |(_, name)| name);
    let (name, version) = name.split_once('@').unwrap_or((name, ""));
    let is_place = |text: &str| text.contains(['/', ':']);
    !is_path && (is_place(name) || !version.starts_with("npm:") && is_place(version))
}

/// All known registries.
pub const REGISTRIES: &[PackageRegistry] = &[
    // npm-config(7), `registry` and `fetch-retries`; pnpm reads the same, and bun uses this host
    // (bun.com/docs/install/registries).
    PackageRegistry {
        name: "npm",
        hosts: &["registry.npmjs.org"],
        retry_variables: &["npm_config_fetch_retries"],
        commands: &[
            "npm install|i|add|ci|update|up|upgrade",
            "pnpm install|i|add|update|up",
            "bun install|add|update",
        ],
        has_shorthands: true,
    },
    // Yarn's settings, `npmRegistryServer`.
    PackageRegistry {
        name: "yarn",
        hosts: &["registry.yarnpkg.com"],
        retry_variables: &[],
        commands: &["yarn install|add|up|upgrade"],
        has_shorthands: true,
    },
    // pip's options, `--index-url` and `--retries`: the index names the files on the other host
    // (docs.pypi.org/api/index-api). uv's variables, `UV_HTTP_RETRIES`. Uploads use
    // upload.pypi.org.
    PackageRegistry {
        name: "pypi",
        hosts: &["pypi.org", "files.pythonhosted.org"],
        retry_variables: &["PIP_RETRIES", "UV_HTTP_RETRIES"],
        // `pip` installs into the project only if it is the one of a virtual environment there.
        commands: &["uv add|sync|lock", "uv pip install|sync|compile", "poetry add|install|lock"],
        has_shorthands: false,
    },
    // The Cargo book, "Registry index" and `net.retry`: `dl` in index.crates.io/config.json names
    // the host of the files. Uploads use crates.io.
    PackageRegistry {
        name: "crates",
        hosts: &["index.crates.io", "static.crates.io"],
        retry_variables: &["CARGO_NET_RETRY"],
        commands: &["cargo add|fetch|update|generate-lockfile"],
        has_shorthands: false,
    },
    // `go help environment`: the defaults of `GOPROXY` and `GOSUMDB`. Go does not try again.
    PackageRegistry {
        name: "go",
        hosts: &["proxy.golang.org", "sum.golang.org"],
        retry_variables: &[],
        commands: &["go get", "go mod download|tidy"],
        has_shorthands: false,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_hosts_are_unique() {
        let names: BTreeSet<_> = REGISTRIES.iter().map(|registry| registry.name).collect();
        assert_eq!(names.len(), REGISTRIES.len());
        let hosts: Vec<_> = REGISTRIES.iter().flat_map(|registry| registry.hosts).collect();
        assert_eq!(hosts.iter().collect::<BTreeSet<_>>().len(), hosts.len());
    }

    #[test]
    fn only_installations_into_the_project_belong_to_a_registry() {
        let registry = |command: &str| {
            let words = command.split(' ').collect();
            PackageRegistry::of_command(&words).map(|registry| registry.name)
        };
        for (command, expected) in [
            ("npm ci", Some("npm")),
            ("npm install left-pad", Some("npm")),
            ("uv pip install six", Some("pypi")),
            ("cargo fetch", Some("crates")),
            ("go mod download", Some("go")),
            ("npm install -g left-pad", None),
            ("npm publish", None),
            ("npm", None),
            ("pip install six", None),
            ("uv publish", None),
            ("cargo publish", None),
            ("cargo install ripgrep", None),
            ("twine upload", None),
        ] {
            assert_eq!(registry(command), expected, "{command}");
        }
    }

    #[test]
    fn packages_of_other_places_are_not_those_of_the_registry() {
        let is_contained = |words: &CommandWords| {
            PackageRegistry::of_command(words).unwrap().contains_packages(words)
        };
        for (command, expected) in [
            ("npm install @types/node@^20 left-pad@1.3 ./packages/a", true),
            ("npm install -w packages/a x@npm:@scope/y@1", true),
            ("uv pip install -e . -r requirements/dev.txt", true),
            ("go get example.com/x/y@v1", true),
            ("cargo add serde --features derive", true),
            ("npm install https://h.example/x.tgz", false),
            ("npm install x@https://h.example/x.tgz", false),
            ("npm install git+ssh://h.example/x", false),
            ("npm install user/repository", false),
            ("npm install x@user/repository", false),
            ("npm install @s/x@github:user/repository", false),
            ("npm install git@h.example:x.git", false),
            ("pnpm add -F packages/a x", true),
            ("pnpm add -w user/repository", false),
            ("npm install ../x", false),
            ("npm install a/../../x", false),
            ("npm install -w ../x", false),
            ("npm install --registry=http://h.example", false),
            ("npm install /x", false),
            ("yarn add user/repository", false),
            ("uv add git+https://h.example/x", false),
            ("cargo add --git git@h.example:x", false),
            ("cargo add x --path ../x", false),
            ("cargo add x --path=../x", false),
            ("cargo add x --path=/x", false),
            ("cargo add x --path=crates/x", true),
            ("uv pip install -e../x", false),
            ("uv pip install -e..", false),
            ("uv pip install -e/x", false),
            ("uv pip install -qe/x", false),
            ("uv pip install --editable=../x", false),
            ("uv pip install -egit@h.example:x", false),
            ("uv add x@../x", false),
            ("uv add x@/x", false),
            ("uv add six~=1.0 x==2,<3 --dev", true),
            ("npm install left-pad@~1.3", true),
            ("npm install x@~/x", false),
            ("npm install --prefer-offline -D x", true),
            ("poetry add git+git@h.example:x.git", false),
            ("poetry add git@h.example:x.git", false),
            ("poetry add git+h.example:x", false),
            ("poetry add x@^2", true),
        ] {
            assert_eq!(is_contained(&command.split(' ').collect()), expected, "{command}");
        }
        let mut words: CommandWords = ["npm", "install"].into_iter().collect();
        assert!(is_contained(&words));
        words.push_any_words();
        assert!(!is_contained(&words), "unknown words");
    }

    #[test]
    fn hosts_that_receive_uploads_are_not_in_the_table() {
        for host in ["crates.io", "upload.pypi.org", "test.pypi.org", "npmjs.org", "github.com"] {
            assert_eq!(PackageRegistry::with_host(host), None, "{host}");
        }
    }
}
