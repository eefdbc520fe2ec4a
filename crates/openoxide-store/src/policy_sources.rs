//! The locations of policy files.

use std::path::{Path, PathBuf};

use openoxide_permission::LayerKind;
use openoxide_protocol::AbsPath;

use crate::{
    file_access::metadata_if_present,
    grant_file::GrantFile,
    policy_format::PolicyFormat,
    user_environment::UserEnvironment,
    worktree::{find_main_checkout, unreadable_link_reason},
};

/// The path of the managed policy. It is compiled in, and no variable changes it.
pub(crate) const MANAGED_POLICY_PATH: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/OpenOxide/managed.toml"
} else {
    "/etc/openoxide/managed.toml"
};

/// The maximum number of nested projects. More are refused, because the settings of the outermost
/// ones would not be read.
const MAX_PROJECTS: usize = 32;

/// The part of a source that is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SourceUse {
    /// Everything in it.
    #[default]
    Complete,
    /// Only deny rules, ask rules and requirements. This applies to the policy of the account's
    /// home directory if `HOME` names another directory.
    RestrictionsOnly,
    /// Nothing, for this reason: the source cannot be located. Deny rules may be missing.
    Unavailable(String),
}

/// A policy file that applies if it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySource {
    /// The layer of the file.
    pub kind: LayerKind,
    /// The path of the file.
    pub path: PathBuf,
    /// The directory that a leading `/` refers to in its path patterns.
    pub base: AbsPath,
    /// The main checkout, if the file applies to a linked worktree of it. Trust in the main
    /// checkout is also valid here.
    pub main_checkout: Option<AbsPath>,
    /// True if its allow rules and its mode apply. Files in a project can only restrict until the
    /// project is trusted.
    pub may_loosen: bool,
    /// True if the file must exist because a person named it.
    pub required: bool,
    /// True if the file contains grants instead of a policy.
    pub is_grant_file: bool,
    /// The project of a file that a person named. Its rules apply because the file was named, but
    /// its hooks are programs and require trust.
    pub hook_project: Option<AbsPath>,
    /// The format of the file.
    pub format: PolicyFormat,
    /// The part of the file that is used.
    pub usage: SourceUse,
}

/// Returns the files that apply to a project, in descending order of precedence. A project inside
/// other projects also has their files. A linked worktree also has the person's local settings from
/// its main checkout.
#[must_use]
pub fn find_policy_sources(environment: &UserEnvironment, project: &AbsPath) -> Vec<PolicySource> {
    let mut sources =
        vec![new_source(LayerKind::Managed, PathBuf::from(MANAGED_POLICY_PATH), true)];
    let (projects, problem) = find_enclosing_projects(project, environment.home.as_ref());
    let problems = problem.into_iter().chain(projects.iter().filter_map(unreadable_link_reason));
    sources.extend(problems.map(|problem| PolicySource {
        usage: SourceUse::Unavailable(problem),
        ..new_source(LayerKind::Project, Path::new(project.as_str()).join(".git"), false)
    }));
    let projects: Vec<_> =
        projects.into_iter().map(|base| (base.clone(), find_main_checkout(&base))).collect();
    for (kind, name) in [(LayerKind::Local, "local.toml"), (LayerKind::Project, "policy.toml")] {
        for (base, main) in &projects {
            let settings = |place: &AbsPath| PolicySource {
                base: base.clone(),
                main_checkout: main.clone(),
                ..new_source(kind, Path::new(place.as_str()).join(".openoxide").join(name), false)
            };
            // Shared settings are checked out in each worktree. A person's local settings may only
            // be in the main checkout.
            let own = main.as_ref().filter(|_| kind == LayerKind::Local).map(settings);
            sources.extend([settings(base)].into_iter().chain(own));
        }
    }
    let granted = GrantFile::for_project(environment, project);
    let base = granted.project().clone();
    let granted = PolicySource {
        base,
        is_grant_file: true,
        ..new_source(LayerKind::Local, granted.path(), true)
    };
    let shared = sources.iter().position(|source| source.kind == LayerKind::Project);
    sources.insert(shared.unwrap_or(sources.len()), granted);
    if let Some(config) = &environment.config {
        sources.push(user_policy_source(config));
    }
    let account = environment.account_home.as_ref();
    let account = account.map(|home| Path::new(home.as_str()).join(".config"));
    let is_other = |path: &PathBuf| {
        let own = environment.config.as_ref();
        let real = own.and_then(|path| path.canonicalize().ok());
        Some(path) != own && (real.is_none() || path.canonicalize().ok() != real)
    };
    sources.extend(account.filter(is_other).map(|config| PolicySource {
        usage: SourceUse::RestrictionsOnly,
        ..user_policy_source(&config)
    }));
    sources.extend(environment.problem.as_ref().map(|problem| PolicySource {
        usage: SourceUse::Unavailable(problem.clone()),
        ..user_policy_source(Path::new("~/.config"))
    }));
    sources
}

fn user_policy_source(config: &Path) -> PolicySource {
    new_source(LayerKind::User, config.join("openoxide").join("policy.toml"), true)
}

/// Returns a project and the enclosing projects that have settings, starting with the innermost,
/// and a problem if there are too many.
fn find_enclosing_projects(
    project: &AbsPath,
    home: Option<&AbsPath>,
) -> (Vec<AbsPath>, Option<String>) {
    let mut found = vec![project.clone()];
    let mut place = project.parent();
    while let Some(directory) = place.filter(|place| Some(place) != home) {
        place = directory.parent();
        if has_settings(Path::new(directory.as_str())) {
            if found.len() == MAX_PROJECTS {
                let problem = format!("more than {MAX_PROJECTS} projects contain each other");
                return (found, Some(problem));
            }
            found.push(directory);
        }
    }
    (found, None)
}

/// Returns whether a directory has settings. True if this cannot be determined, because reading
/// them reports the error.
fn has_settings(directory: &Path) -> bool {
    metadata_if_present(&directory.join(".openoxide")).map_or(true, |meta| meta.is_some())
}

/// Returns the source of a single file with default settings. Its base is the directory of the
/// file.
fn new_source(kind: LayerKind, path: PathBuf, may_loosen: bool) -> PolicySource {
    let base = path.parent().and_then(|parent| AbsPath::new(parent.to_str()?).ok());
    PolicySource {
        kind,
        path,
        base: base.unwrap_or_else(AbsPath::root),
        main_checkout: None,
        may_loosen,
        required: false,
        is_grant_file: false,
        hook_project: None,
        format: PolicyFormat::NATIVE,
        usage: SourceUse::default(),
    }
}

impl PolicySource {
    /// Returns the source of a file that a person named on the command line.
    #[must_use]
    pub fn from_command_line(path: PathBuf) -> Self {
        Self { required: true, ..new_source(LayerKind::Cli, path, true) }
    }

    /// Returns the directory that `~` expands to in its rules. In the policy of the account's home
    /// directory, that is the account's home directory.
    pub(crate) fn home_directory<'a>(
        &self,
        environment: &'a UserEnvironment,
    ) -> Option<&'a AbsPath> {
        let holds = |home: &&AbsPath| self.path.starts_with(home.as_str());
        let account = environment.account_home.as_ref().filter(|_| self.kind == LayerKind::User);
        let own = environment.home.as_ref();
        if own.is_some_and(|home| holds(&home)) { own } else { account.filter(holds).or(own) }
    }

    /// Returns the directories in which another user could replace this file, if they decide
    /// whether it is accepted.
    pub(crate) fn guarded_directories(&self, environment: &UserEnvironment) -> Vec<PathBuf> {
        let parents = |path: &Path| path.ancestors().skip(1).take(2).map(Path::to_owned).collect();
        match (self.kind, self.is_grant_file) {
            (_, true) => {
                let state = environment.state.iter();
                state.map(|state| state.join("openoxide")).collect()
            }
            (LayerKind::User | LayerKind::Managed, _) => parents(&self.path),
            _ => Vec::new(),
        }
    }

    /// Returns the path that must be trusted before the hooks of this file apply: the project, or a
    /// file that a person named. Returns `None` if no trust is required.
    pub(crate) fn trust_path(&self) -> Option<AbsPath> {
        match (self.may_loosen, &self.hook_project) {
            (false, _) => Some(self.base.clone()),
            (true, Some(_)) => AbsPath::new(self.path.to_str()?).ok().or(self.hook_project.clone()),
            (true, None) => None,
        }
    }
}

/// Returns the nearest directory at or above `cwd` that contains `.git` or `.openoxide`; otherwise
/// `cwd` itself.
///
/// The home directory and the root are never projects: a stray `.git` there would make every file
/// part of the project.
#[must_use]
pub fn find_project_root(cwd: &AbsPath, home: Option<&AbsPath>) -> AbsPath {
    let mut place = Some(cwd.clone());
    while let Some(directory) = place {
        if Some(&directory) == home || directory == AbsPath::root() {
            break;
        }
        let path = Path::new(directory.as_str());
        let has_repository = metadata_if_present(&path.join(".git"));
        if has_repository.map_or(true, |meta| meta.is_some()) || has_settings(path) {
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
        assert_eq!(find_project_root(&deep, None), deep);
        std::fs::create_dir(root.join(".git").as_str()).unwrap();
        assert_eq!(find_project_root(&deep, None), root);
        assert_eq!(find_project_root(&deep, Some(&root)), deep, "home is no project");
    }

    #[test]
    fn the_settings_of_enclosing_projects_apply() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        for place in ["home/.openoxide", "home/a/.openoxide", "home/a/b/c"] {
            std::fs::create_dir_all(root.join(place).as_str()).unwrap();
        }
        let home = Some(root.join("home"));
        let environment = UserEnvironment { home, ..UserEnvironment::default() };
        let found = find_policy_sources(&environment, &root.join("home/a/b/c"));
        let bases = |kind| {
            let files =
                found.iter().filter(move |source| source.kind == kind && !source.is_grant_file);
            files.map(|source| &source.base)
        };
        let expected = [root.join("home/a/b/c"), root.join("home/a")];
        assert!(bases(LayerKind::Project).eq(&expected));
        assert!(bases(LayerKind::Local).eq(&expected));
    }

    #[test]
    fn settings_that_cannot_be_examined_belong_to_a_project() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        std::fs::create_dir_all(root.join("outer/.git").as_str()).unwrap();
        let inner = root.join("outer/inner");
        std::fs::create_dir_all(inner.join("deep").as_str()).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", inner.join(".openoxide").as_str()).unwrap();
        assert_eq!(find_project_root(&inner.join("deep"), None), inner);
        let (found, problem) = find_enclosing_projects(&inner.join("deep"), None);
        assert!(found.contains(&inner) && problem.is_none());
    }

    #[test]
    fn projects_that_are_too_deep_are_a_problem_and_not_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        let nested = |levels: usize| root.join(&vec!["a"; levels].join("/"));
        for level in 0..=MAX_PROJECTS {
            std::fs::create_dir_all(nested(level).join(".openoxide").as_str()).unwrap();
        }
        let environment =
            UserEnvironment { home: Some(root.clone()), ..UserEnvironment::default() };
        let problems = |levels| {
            let found = find_policy_sources(&environment, &nested(levels));
            found.iter().filter(|one| matches!(one.usage, SourceUse::Unavailable(_))).count()
        };
        assert_eq!((problems(MAX_PROJECTS), problems(MAX_PROJECTS + 1)), (0, 1));
    }

    #[test]
    fn the_accounts_policy_restricts_where_home_is_another_one() {
        let project = AbsPath::new("/p").unwrap();
        let user = |environment: &UserEnvironment| {
            let found = find_policy_sources(environment, &project).into_iter();
            let found = found.filter(|source| source.kind == LayerKind::User);
            found.map(|source| (source.path, source.usage)).collect::<Vec<_>>()
        };
        let config = Some(PathBuf::from("/a/.config"));
        let policy = |path: &str| PathBuf::from(path).join("openoxide/policy.toml");
        let account_home = AbsPath::new("/b").ok();
        let both = UserEnvironment { config, account_home, ..UserEnvironment::default() };
        let expected = [
            (policy("/a/.config"), SourceUse::Complete),
            (policy("/b/.config"), SourceUse::RestrictionsOnly),
        ];
        assert_eq!(user(&both), expected);
        let problem = Some("no home".to_owned());
        let none = UserEnvironment { problem, ..UserEnvironment::default() };
        let expected = SourceUse::Unavailable("no home".to_owned());
        assert_eq!(user(&none), [(policy("~/.config"), expected)]);
    }

    /// Guards I10.
    #[test]
    fn files_in_a_project_cannot_loosen_the_policy() {
        let project = AbsPath::new("/p").unwrap();
        let found = find_policy_sources(
            &UserEnvironment { config: Some("/c".into()), ..UserEnvironment::default() },
            &project,
        );
        let kinds: Vec<_> = found.iter().map(|source| (source.kind, source.may_loosen)).collect();
        let expected = [
            (LayerKind::Managed, true),
            (LayerKind::Local, false),
            (LayerKind::Local, true), // Grants: each entry has a MAC.
            (LayerKind::Project, false),
            (LayerKind::User, true),
        ];
        assert_eq!(kinds, expected);
        assert_eq!(found[2].base, project);
    }
}
