//! Where policy files lie (DECISIONS 2, 3, 16).

use std::path::{Path, PathBuf};

use openoxide_permission::LayerKind;
use openoxide_protocol::AbsPath;

use crate::{format::Format, grants::GrantFile, worktree::main_checkout};

/// The managed policy. The path is compiled in, and no variable moves it.
pub(crate) const MANAGED: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/OpenOxide/managed.toml"
} else {
    "/etc/openoxide/managed.toml"
};

/// So many projects inside of each other have settings that count.
const MOST_PROJECTS: usize = 4;

/// What the environment says of this user.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `HOME`.
    pub home: Option<AbsPath>,
    /// `XDG_CONFIG_HOME`, or `~/.config`.
    pub config: Option<PathBuf>,
    /// `XDG_CACHE_HOME`, or `~/.cache`.
    pub cache: Option<PathBuf>,
    /// `XDG_STATE_HOME`, or `~/.local/state`.
    pub state: Option<PathBuf>,
    /// The task that is worked on, if its end can be told: grants for it count.
    pub task: Option<String>,
}

impl Environment {
    /// Reads the environment. As the XDG base directory specification wants it, relative paths do not count.
    #[must_use]
    pub fn read() -> Self {
        let absolute = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let home = absolute("HOME");
        let below = |directory: &str| home.as_ref().map(|home| home.join(directory));
        Self {
            config: absolute("XDG_CONFIG_HOME").or_else(|| below(".config")),
            cache: absolute("XDG_CACHE_HOME").or_else(|| below(".cache")),
            state: absolute("XDG_STATE_HOME").or_else(|| below(".local/state")),
            task: None,
            home: home.and_then(|home| AbsPath::new(home.to_str()?).ok()),
        }
    }
}

/// A policy file that counts, if it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The layer that it makes.
    pub kind: LayerKind,
    /// Where it lies.
    pub path: PathBuf,
    /// What `/` stands for in its path patterns.
    pub base: AbsPath,
    /// The main checkout, if the file counts for a linked worktree of it: what was vouched for there counts here.
    pub main: Option<AbsPath>,
    /// Whether its allows and its mode count: what lies inside a project can only tighten, until the project is trusted.
    pub may_loosen: bool,
    /// Whether it must be there: a person named it.
    pub required: bool,
    /// Whether it holds what a person granted here, and no policy.
    pub grants: bool,
    /// The project of a file that a person named, whose rules count therefore: its hooks are programs, and count once they are
    /// vouched for.
    pub hooks_of: Option<AbsPath>,
    /// How its text is read.
    pub format: Format,
}

/// Returns the files that count for a project, the most precedent first. A project inside of others has theirs, too,
/// and a linked worktree has what a person keeps for themselves in its main checkout.
#[must_use]
pub fn sources(environment: &Environment, project: &AbsPath) -> Vec<Source> {
    let mut sources = vec![source(LayerKind::Managed, PathBuf::from(MANAGED), true)];
    let projects = projects(project, environment.home.as_ref()).into_iter();
    let projects: Vec<_> = projects.map(|base| (base.clone(), main_checkout(&base))).collect();
    for (kind, name) in [(LayerKind::Local, "local.toml"), (LayerKind::Project, "policy.toml")] {
        for (base, main) in &projects {
            let settings = |place: &AbsPath| Source {
                base: base.clone(),
                main: main.clone(),
                ..source(kind, Path::new(place.as_str()).join(".openoxide").join(name), false)
            };
            // What is shared is checked out in each worktree; what a person keeps for themselves lies in one.
            let own = main.as_ref().filter(|_| kind == LayerKind::Local).map(settings);
            sources.extend([settings(base)].into_iter().chain(own));
        }
    }
    let granted = GrantFile::of(environment, project);
    let base = granted.project().clone();
    let granted = Source { base, grants: true, ..source(LayerKind::Local, granted.path(), true) };
    let shared = sources.iter().position(|source| source.kind == LayerKind::Project);
    sources.insert(shared.unwrap_or(sources.len()), granted);
    if let Some(config) = &environment.config {
        sources.push(source(LayerKind::User, config.join("openoxide").join("policy.toml"), true));
    }
    sources
}

/// Returns a project, and the next ones around it that have settings, the innermost first.
fn projects(project: &AbsPath, home: Option<&AbsPath>) -> Vec<AbsPath> {
    let mut found = vec![project.clone()];
    let mut place = project.parent();
    while let Some(directory) =
        place.filter(|place| Some(place) != home && found.len() < MOST_PROJECTS)
    {
        place = directory.parent();
        if Path::new(directory.as_str()).join(".openoxide").is_dir() {
            found.push(directory);
        }
    }
    found
}

/// Returns the source of a file that stands for itself.
fn source(kind: LayerKind, path: PathBuf, may_loosen: bool) -> Source {
    let base = path.parent().and_then(|parent| AbsPath::new(parent.to_str()?).ok());
    Source {
        kind,
        path,
        base: base.unwrap_or_else(AbsPath::root),
        main: None,
        may_loosen,
        required: false,
        grants: false,
        hooks_of: None,
        format: Format::NATIVE,
    }
}

impl Source {
    /// Returns the source of a file that a person named on the command line.
    #[must_use]
    pub fn named(path: PathBuf) -> Self {
        Self { required: true, ..source(LayerKind::Cli, path, true) }
    }

    /// Returns what a person vouches for where its hooks shall count: the project, or a file that was named. None where they count
    /// as they are.
    pub(crate) fn vouched_as(&self) -> Option<AbsPath> {
        match (self.may_loosen, &self.hooks_of) {
            (false, _) => Some(self.base.clone()),
            (true, Some(_)) => AbsPath::new(self.path.to_str()?).ok().or(self.hooks_of.clone()),
            (true, None) => None,
        }
    }
}

/// Returns the directory that holds `.git` or `.openoxide`, at or above `cwd`; otherwise `cwd` itself.
///
/// Home itself and the root are no projects: a stray `.git` there would make everything the project's own.
#[must_use]
pub fn project_root(cwd: &AbsPath, home: Option<&AbsPath>) -> AbsPath {
    let mut place = Some(cwd.clone());
    while let Some(directory) = place {
        if Some(&directory) == home || directory == AbsPath::root() {
            break;
        }
        let path = Path::new(directory.as_str());
        if path.join(".git").exists() || path.join(".openoxide").is_dir() {
            return directory;
        }
        place = directory.parent();
    }
    cwd.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_where_its_repository_is() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        let deep = root.join("a/b");
        std::fs::create_dir_all(deep.as_str()).unwrap();
        assert_eq!(project_root(&deep, None), deep);
        std::fs::create_dir(root.join(".git").as_str()).unwrap();
        assert_eq!(project_root(&deep, None), root);
        assert_eq!(project_root(&deep, Some(&root)), deep, "home is no project");
    }

    #[test]
    fn the_projects_around_a_project_have_their_say() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        for place in ["home/.openoxide", "home/a/.openoxide", "home/a/b/c"] {
            std::fs::create_dir_all(root.join(place).as_str()).unwrap();
        }
        let home = Some(root.join("home"));
        let environment = Environment { home, ..Environment::default() };
        let found = sources(&environment, &root.join("home/a/b/c"));
        let bases = |kind| {
            let files = found.iter().filter(move |source| source.kind == kind && !source.grants);
            files.map(|source| &source.base)
        };
        let expected = [root.join("home/a/b/c"), root.join("home/a")];
        assert!(bases(LayerKind::Project).eq(&expected));
        assert!(bases(LayerKind::Local).eq(&expected));
    }

    #[test]
    fn what_lies_in_a_project_cannot_loosen() {
        let project = AbsPath::new("/p").unwrap();
        let found =
            sources(&Environment { config: Some("/c".into()), ..Environment::default() }, &project);
        let kinds: Vec<_> = found.iter().map(|source| (source.kind, source.may_loosen)).collect();
        let expected = [
            (LayerKind::Managed, true),
            (LayerKind::Local, false),
            (LayerKind::Local, true), // What was granted: each entry proves itself.
            (LayerKind::Project, false),
            (LayerKind::User, true),
        ];
        assert_eq!(kinds, expected);
        assert_eq!(found[2].base, project);
    }
}
