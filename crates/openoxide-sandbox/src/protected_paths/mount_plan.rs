//! The mounts that protect paths in one run.

use std::path::{Path, PathBuf};

use crate::protected_paths::{
    git_config::private_config::PrivateConfig,
    guarded_paths::{GuardKind, PlaceholderKind, ProtectedPaths},
    placeholder_registry::may_be_placeholder,
    private_hooks::PrivateHooks,
};

/// The maximum number of directories with hooks that are copied. Further ones are read-only.
const MAX_PRIVATE_HOOKS: usize = 8;

/// The mounts that are created for the protected paths, after the placeholders exist.
#[derive(Clone, Debug)]
pub(crate) struct MountPlan {
    pub(crate) pins: Vec<PathBuf>,
    /// The paths that are mounted read-only.
    pub(crate) guards: Vec<PathBuf>,
    /// Placeholders that are created only inside the sandbox, where nothing exists, before they are
    /// covered.
    pub(crate) placeholders: Vec<(PathBuf, PlaceholderKind)>,
    /// The covered directories that are placeholders, also if another run has created them.
    pub(crate) placeholder_directories: Vec<PathBuf>,
    /// Configuration files of `git` that are covered with private copies.
    pub(crate) private_configs: Vec<PrivateConfig>,
    /// Directories with hooks that are covered with private copies.
    pub(crate) private_hooks: Vec<PrivateHooks>,
}

impl ProtectedPaths {
    /// Returns the mount plan without these paths, which do not exist and cannot be created.
    pub(crate) fn mount_plan_without(&self, missing: &[PathBuf]) -> MountPlan {
        let mut plan = self.private_mount_plan();
        plan.guards.retain(|path| !missing.contains(path));
        plan.placeholder_directories = self.placeholder_directories(missing);
        plan
    }

    /// Returns the mount plan with all paths and without placeholders.
    fn private_mount_plan(&self) -> MountPlan {
        let paths = |kind: GuardKind| {
            let guards = self.guards.iter().filter(move |(_, guard)| **guard == kind);
            guards.map(|(path, _)| path)
        };
        // What cannot be copied is mounted read-only.
        let private_configs: Vec<_> =
            paths(GuardKind::PrivateConfig).filter_map(|path| PrivateConfig::read(path)).collect();
        let hooks = paths(GuardKind::PrivateHooks).take(MAX_PRIVATE_HOOKS);
        let private_hooks: Vec<_> = hooks.filter_map(|path| PrivateHooks::read(path)).collect();
        let is_private = |path: &&PathBuf| {
            private_configs.iter().any(|one| one.path == **path)
                || private_hooks.iter().any(|one| one.path == **path)
        };
        MountPlan {
            pins: self.pins.iter().cloned().collect(),
            guards: self.guards.keys().filter(|path| !is_private(path)).cloned().collect(),
            placeholders: Vec::new(),
            placeholder_directories: Vec::new(),
            private_configs,
            private_hooks,
        }
    }

    /// Returns the mount plan of a staged run, which creates nothing on the host.
    pub(crate) fn staged_mount_plan(&self) -> MountPlan {
        let missing = |(path, guard): (&PathBuf, &GuardKind)| match guard {
            GuardKind::Missing(placeholder) => Some((path.clone(), *placeholder)),
            GuardKind::Present
            | GuardKind::Link
            | GuardKind::PrivateConfig
            | GuardKind::PrivateHooks => None,
        };
        MountPlan {
            placeholders: self.guards.iter().filter_map(missing).collect(),
            placeholder_directories: self.placeholder_directories(&[]),
            ..self.private_mount_plan()
        }
    }

    /// Returns the guarded directories that are placeholders, without these paths.
    fn placeholder_directories(&self, skipped: &[PathBuf]) -> Vec<PathBuf> {
        let is_placeholder = |path: &Path, guard: GuardKind| match guard {
            GuardKind::Missing(kind) => kind == PlaceholderKind::Directory,
            GuardKind::Present => path.is_dir() && may_be_placeholder(path),
            GuardKind::Link | GuardKind::PrivateConfig | GuardKind::PrivateHooks => false,
        };
        let guards = self.guards.iter();
        let guards = guards.filter(|(path, guard)| is_placeholder(path, **guard));
        guards.map(|(path, _)| path).filter(|path| !skipped.contains(path)).cloned().collect()
    }
}
