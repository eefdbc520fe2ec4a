//! What must stay as it is, found on the disk: which directories are pinned, and what is covered.

mod aliases;
mod links;
mod named;
mod opened;
mod repository;
mod sight;
mod sources;
mod steering;
mod user;
mod walk;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ffi::{OsStr, OsString},
    fs,
    io::{self, ErrorKind},
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path, PathBuf},
};

use openoxide_protocol::{AbsPath, Confined};

pub(crate) use links::with_other_names;
pub(crate) use opened::{Opened, with_access};
pub(crate) use repository::{common, holds_objects, hooks_elsewhere, leads_to};
pub(crate) use sight::{Sight, Stamp, is_git_name, stamp_of};
pub(crate) use sources::Source;
pub(crate) use walk::{FOR_A_WARNING, Walk};

use crate::{
    Found,
    git_config::{Setting, levels},
};
use named::{imported_documents, links_in, plain};
use steering::Steering;
use user::user_settings;

/// The kernel gives up after as many symbolic links, too (`MAXSYMLINKS`).
const LINKS: usize = 40;

/// What a profile protects, as the mounts need it.
///
/// Every path lies below a writable directory, and none of them leads through a symbolic link. First come the `pins`,
/// then the `guards`; both have directories before what lies in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guarded {
    /// Directories between a writable one and something guarded. Each is made a mount point (a recursive bind over
    /// itself, still writable), which nobody can rename or remove.
    pub pins: BTreeSet<PathBuf>,
    /// What is covered, and how.
    pub guards: BTreeMap<PathBuf, Guard>,
    /// Where repositories were not searched for, because there is too much or because we may not look.
    pub unsearched: Vec<Found>,
    /// Steering files that a person has allowed to be changed in this run.
    pub(crate) changeable: BTreeSet<PathBuf>,
    /// What can name programs.
    pub(crate) sources: Vec<Source>,
    /// What rebases had yet to do.
    pub(crate) todo: BTreeMap<PathBuf, Stamp>,
}

/// How one path is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// It is there, a file or a directory: a recursive read-only bind over itself.
    Present,
    /// It is a symbolic link: a read-only clone of the link itself over itself (`open_tree` with `AT_SYMLINK_NOFOLLOW`,
    /// `move_mount` without `MOVE_MOUNT_T_SYMLINKS`). Where it leads is guarded by itself.
    Link,
    /// It is not there. What [`Registry::hold`](crate::Registry::hold) puts there is covered like what was there.
    Missing(Placeholder),
}

/// What is put in the place of something that must not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// An empty directory that nobody can write.
    Directory,
    /// A file with this text that nobody can write. `git` stops where a directory lies in the place of `commondir`.
    File(&'static str),
}

/// The mounts that are made of it, when the placeholders are there.
#[derive(Clone, Debug)]
pub(crate) struct Mounted {
    pub(crate) pins: Vec<PathBuf>,
    /// Read-only.
    pub(crate) guards: Vec<PathBuf>,
    /// What is put inside alone, where nothing is, before it is covered.
    pub(crate) placeholders: Vec<(PathBuf, Placeholder)>,
}

impl Guarded {
    /// Says what is mounted when these places are left out, because nothing is there and nobody can put anything there.
    pub(crate) fn without(&self, missing: &[PathBuf]) -> Mounted {
        let guards = self.guards.keys().filter(|path| !missing.contains(path)).cloned().collect();
        Mounted { pins: self.pins.iter().cloned().collect(), guards, placeholders: Vec::new() }
    }

    /// Says what is mounted in a staged run: nothing is put on the host.
    pub(crate) fn staged(&self) -> Mounted {
        let missing = |(path, guard): (&PathBuf, &Guard)| match guard {
            Guard::Missing(placeholder) => Some((path.clone(), *placeholder)),
            Guard::Present | Guard::Link => None,
        };
        let placeholders = self.guards.iter().filter_map(missing).collect();
        Mounted { placeholders, ..self.without(&[]) }
    }

    /// Looks at the disk: where the protected and the unreadable paths of a profile lie, and which repositories there are
    /// below its writable directories. Of these the hooks and the configuration are guarded, and what makes `git` look for
    /// them elsewhere; the rest stays writable. Steering files in any directory are guarded, and so are the programs that
    /// guarded configuration names.
    ///
    /// # Errors
    /// When it cannot be told what lies at a protected path.
    pub fn find(profile: &Confined) -> io::Result<Self> {
        Self::find_except(profile, &BTreeSet::new())
    }

    /// The same, but for steering files below the writable directories that a person has allowed to be changed by their names.
    ///
    /// # Errors
    /// When it cannot be told what lies at a protected path.
    pub fn find_except(profile: &Confined, changeable: &BTreeSet<AbsPath>) -> io::Result<Self> {
        let mut search = Search::new(profile);
        search.changeable = changeable.iter().map(|path| PathBuf::from(path.as_str())).collect();
        for path in profile.protected.iter().chain(&profile.unreadable) {
            search.hold_whole(Path::new(path.as_str()))?;
        }
        search.hold_repositories()?;
        Ok(search.guarded())
    }

    /// Says whether this directory could not be searched before the run.
    pub(crate) fn was_unsearched(&self, path: &Path) -> bool {
        let found = unsearched_at(path);
        found.is_some_and(|found| self.unsearched.contains(&found))
    }

    /// Says whether this path stays as it is.
    #[must_use]
    pub fn holds(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.guards.contains_key(above))
    }
}

/// Returns the writable directories that lie in no other one.
pub(crate) fn outermost(roots: &BTreeSet<AbsPath>) -> Vec<PathBuf> {
    let inner =
        |path: &AbsPath| roots.iter().any(|other| other != path && path.below(other).is_some());
    roots.iter().filter(|path| !inner(path)).map(|path| PathBuf::from(path.as_str())).collect()
}

struct Search {
    roots: Vec<PathBuf>,
    all_roots: BTreeSet<PathBuf>,
    pins: BTreeSet<PathBuf>,
    guards: BTreeMap<PathBuf, Guard>,
    repositories: BTreeSet<PathBuf>,
    unsearched: Vec<Found>,
    changeable: BTreeSet<PathBuf>,
    /// The configuration that counts in every repository.
    levels: Vec<Setting>,
    sources: Vec<Source>,
    todo: BTreeMap<PathBuf, Stamp>,
}

impl Search {
    fn new(profile: &Confined) -> Self {
        Self {
            roots: outermost(&profile.writable),
            all_roots: profile.writable.iter().map(|path| PathBuf::from(path.as_str())).collect(),
            pins: BTreeSet::new(),
            guards: BTreeMap::new(),
            repositories: BTreeSet::new(),
            unsearched: Vec::new(),
            changeable: BTreeSet::new(),
            levels: levels::of_every_repository(),
            sources: Vec::new(),
            todo: BTreeMap::new(),
        }
    }

    fn writable(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    fn below_a_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path != root && path.starts_with(root))
    }

    /// Guards a path, and, if it is a repository's, what that leads to.
    fn hold_whole(&mut self, path: &Path) -> io::Result<()> {
        let Some(end) = self.hold(path)? else { return Ok(()) };
        if path.file_name() != Some(OsStr::new(".git")) {
            return Ok(());
        }
        let directory = leads_to(&end).unwrap_or(end);
        for directory in [common(&directory), Some(directory)].into_iter().flatten() {
            self.hold(&directory)?;
            self.hold_what_it_is_sent_to(&directory)?;
            self.add_sources(&directory);
        }
        Ok(())
    }

    /// Goes to a path, one name after the other, as the kernel does, and guards where it ends and each link on the way.
    /// Returns the place without links, if there is something.
    fn hold(&mut self, path: &Path) -> io::Result<Option<PathBuf>> {
        self.hold_roots_below(path);
        let (mut at, mut links) = (PathBuf::from("/"), 0);
        let mut ahead: VecDeque<OsString> = names(path);
        while let Some(name) = ahead.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            at.push(name);
            // Roots and what lies above them are resolved, and are looked at only on a way that left them.
            match at.symlink_metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    self.guard(&at, Guard::Missing(placeholder(&at)));
                    return Ok(None);
                }
                Err(error) => return self.hold_unseen(&at, &error).map(|()| None),
                Ok(kind) if kind.is_symlink() => {
                    links += 1;
                    if links > LINKS {
                        return Ok(None);
                    }
                    self.guard(&at, Guard::Link);
                    let target = fs::read_link(&at).map_err(|error| with_path(&at, &error))?;
                    at.pop();
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    names(&target).into_iter().rev().for_each(|name| ahead.push_front(name));
                }
                Ok(kind) if kind.is_dir() && !ahead.is_empty() => {}
                Ok(_) => {
                    self.guard(&at, Guard::Present);
                    return Ok(Some(at));
                }
            }
        }
        self.guard(&at, Guard::Present);
        Ok(Some(at))
    }

    /// Where we may not look, nobody of ours may; but a directory of ours that refuses can be opened by who is confined.
    fn hold_unseen(&mut self, path: &Path, error: &io::Error) -> io::Result<()> {
        match path.parent() {
            _ if !self.below_a_root(path) => Ok(()),
            Some(parent) if self.below_a_root(parent) => {
                self.guard(parent, Guard::Present);
                Ok(())
            }
            _ => Err(with_path(path, error)),
        }
    }

    /// A root inside of something protected is not writable at all.
    fn hold_roots_below(&mut self, path: &Path) {
        let below = self.all_roots.iter().filter(|root| root.starts_with(path));
        self.guards.extend(below.map(|root| (root.clone(), Guard::Present)));
    }

    fn guard(&mut self, path: &Path, how: Guard) {
        if !self.below_a_root(path) {
            return;
        }
        self.guards.insert(path.to_owned(), how);
        let between = path.ancestors().skip(1);
        let between = between.take_while(|above| self.below_a_root(above)).map(Path::to_owned);
        self.pins.extend(between.collect::<Vec<_>>());
    }

    fn hold_repositories(&mut self) -> io::Result<()> {
        let mut sight = Sight::of(&self.roots, &|path| self.guards.contains_key(path), &|_| false);
        self.unsearched = sight.unsearched.iter().filter_map(|path| unsearched_at(path)).collect();
        self.todo = sight.todo;
        for path in sight.named_git {
            self.hold_indirection(&path, &mut sight.repositories)?;
        }
        sight.repositories.iter().try_for_each(|directory| self.hold_parts(directory))?;
        sight
            .steering
            .iter()
            .try_for_each(|(path, steering)| self.hold_steering(path, steering))?;
        self.hold_what_the_user_names()?;
        self.hold_named_programs()
    }

    /// Guards a steering file, unless a person has allowed changing it.
    fn hold_steering(&mut self, path: &Path, steering: &Steering) -> io::Result<()> {
        if !self.changeable.contains(path) {
            self.hold(path)?;
        }
        if steering.executes {
            let bases = vec![steering.base.clone()];
            self.sources.push(Source::Files { path: path.to_owned(), bases });
            return Ok(());
        }
        let imported = imported_documents(path).into_iter();
        imported
            .filter(|document| !self.changeable.contains(document))
            .collect::<Vec<_>>()
            .iter()
            .try_for_each(|document| self.hold(document).map(|_| ()))
    }

    /// Guards the files that the user's configuration of `git` includes, and remembers the settings of the user's agents: both
    /// may name files of the writable directories.
    fn hold_what_the_user_names(&mut self) -> io::Result<()> {
        for path in levels::included_files() {
            self.hold(&path)?;
            // In the place of a file that `git` reads, a directory would be an error.
            if let Some(guard @ Guard::Missing(_)) = self.guards.get_mut(&plain(&path)) {
                *guard = Guard::Missing(Placeholder::File(""));
            }
        }
        let bases: Vec<_> = self.all_roots.iter().cloned().collect();
        for path in user_settings() {
            self.sources.push(Source::UserSettings { path, bases: bases.clone() });
        }
        Ok(())
    }

    /// Remembers what in a git directory can name programs: its configuration, that of the user and the system, and hooks.
    fn add_sources(&mut self, directory: &Path) {
        let bases = vec![repository::worktree(directory).to_owned(), directory.to_owned()];
        for text in repository::commands(directory, &self.levels) {
            self.sources.push(Source::Command { text, bases: bases.clone() });
        }
        let hooks = repository::sent_to(directory, &self.levels);
        for path in hooks.into_iter().chain([directory.join("hooks")]) {
            self.sources.push(Source::Files { path, bases: bases.clone() });
        }
    }

    /// Guards the programs that configuration names, and where links among hooks and settings lead.
    fn hold_named_programs(&mut self) -> io::Result<()> {
        for source in self.sources.clone() {
            let links = match &source {
                Source::Files { path, .. } => links_in(path),
                Source::Command { .. } | Source::UserSettings { .. } => Vec::new(),
            };
            for directory in source.modules() {
                if !self.all_roots.iter().any(|root| root.starts_with(&directory)) {
                    self.hold(&directory)?;
                }
            }
            let named = source.programs().into_iter().chain(links).chain(source.missing_program());
            for path in named {
                if !self.changeable.contains(&path) {
                    self.hold(&path)?;
                }
            }
        }
        Ok(())
    }

    /// A `.git` that is not a directory leads to one.
    fn hold_indirection(&mut self, path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
        if path.symlink_metadata().is_ok_and(|kind| !kind.is_dir()) {
            self.hold_link_or_file(path)?;
            let directory = leads_to(path).unwrap_or_else(|| path.to_owned());
            found.extend(common(&directory));
            found.push(directory);
        }
        Ok(())
    }

    /// Guards a `.git` that is a link without guarding all of where it leads.
    fn hold_link_or_file(&mut self, path: &Path) -> io::Result<()> {
        if path.symlink_metadata()?.is_symlink() {
            self.guard(path, Guard::Link);
            return Ok(());
        }
        self.hold(path).map(|_| ())
    }

    /// Guards what in a git directory makes `git` run something. Programs that attributes name are named in the
    /// configuration, so that attributes need no guard.
    fn hold_parts(&mut self, directory: &Path) -> io::Result<()> {
        let Ok(directory) = directory.canonicalize() else { return Ok(()) };
        if !self.writable(&directory) || !self.repositories.insert(directory.clone()) {
            return Ok(());
        }
        self.hold(&directory.join("commondir"))?;
        if repository::has_config_of_worktrees(&directory) {
            self.hold(&directory.join("config.worktree"))?;
        }
        if common(&directory).is_none() {
            self.hold(&directory.join("hooks"))?;
            self.hold(&directory.join("config"))?;
        }
        self.add_sources(&directory);
        self.hold_what_it_is_sent_to(&directory)
    }

    /// Guards hooks and configuration that are kept outside of the git directory, if they lie in a writable one. Nobody
    /// who keeps hooks at the top of a project gets all of it guarded: there is nothing that could be done then.
    fn hold_what_it_is_sent_to(&mut self, directory: &Path) -> io::Result<()> {
        for path in repository::sent_to(directory, &self.levels) {
            let end = path.canonicalize().unwrap_or_else(|_| path.clone());
            if !self.all_roots.iter().any(|root| root.starts_with(&end)) {
                self.hold(&path)?;
            }
        }
        Ok(())
    }

    /// What lies in something guarded needs no guard and no pin of its own.
    fn guarded(self) -> Guarded {
        let Self { guards, pins, all_roots, unsearched, changeable, sources, todo, .. } = self;
        let covered =
            |path: &Path| path.ancestors().skip(1).any(|above| guards.contains_key(above));
        let mounted = |path: &PathBuf| guards.contains_key(path) || all_roots.contains(path);
        Guarded {
            pins: pins.into_iter().filter(|pin| !mounted(pin) && !covered(pin)).collect(),
            guards: guards
                .iter()
                .filter(|(path, _)| !covered(path))
                .map(|(path, how)| (path.clone(), *how))
                .collect(),
            unsearched,
            changeable,
            sources,
            todo,
        }
    }
}

/// Returns a finding, if the path can be said.
pub(crate) fn unsearched_at(path: &Path) -> Option<Found> {
    said(path).map(|path| Found::Unsearched { path })
}

/// The path as a person is shown it: bytes that are no letters are replaced.
pub(crate) fn said(path: &Path) -> Option<AbsPath> {
    AbsPath::new(&String::from_utf8_lossy(path.as_os_str().as_bytes())).ok()
}

/// In a git directory files are put where `git` wants to read files: texts that change nothing.
fn placeholder(path: &Path) -> Placeholder {
    let in_git = path.parent().is_some_and(|parent| parent.join("HEAD").symlink_metadata().is_ok());
    match path.file_name().and_then(OsStr::to_str) {
        Some("commondir") if in_git => Placeholder::File(".\n"),
        Some("config" | "config.worktree") if in_git => Placeholder::File(""),
        // Clients that read it find no servers.
        Some(".mcp.json") => Placeholder::File("{}"),
        _ => Placeholder::Directory,
    }
}

fn names(path: &Path) -> VecDeque<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(name).collect()
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
