//! The mounts of the sandbox. Everything is read-only, and on top of that are the writable, the
//! protected and the hidden paths.
//!
//! All mounts are made in place: a path that is not mentioned stays where it is. The order matters,
//! because each step reads the lower mounts before it covers them.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use openoxide_protocol::{AbsPath, TempDirectories};

use crate::{
    init::{
        devices, hidden_paths,
        mount_operations::{
            attach_tree, attach_tree_at, bind_over_itself, bind_read_only, clone_tree,
            open_without_links, set_path_attributes,
        },
        private_configs::PrivateConfigLayer,
        private_overlays,
        private_tmpfs::{self, PrivateTmpfs},
        proc_mount, staged_overlays,
        temporary_directories::is_temporary,
    },
    interface::{LaunchConfig, SandboxError, SetupContext as _},
    protected_paths::MountPlan,
    sys::{MountAttributes, set_attributes},
};

/// The private trees that the supervisor reads after the run.
pub(super) struct ReportedTrees {
    /// The directory with the private copies of configuration.
    pub(super) configs: OwnedFd,
    /// The directories for temporary files.
    pub(super) temporary: Vec<(&'static str, OwnedFd)>,
}

/// Creates all mounts.
pub(super) fn mount_all(
    launch: &LaunchConfig,
    guards: &MountPlan,
) -> Result<ReportedTrees, SandboxError> {
    set_path_attributes(
        "/",
        MountAttributes { private: true, recursive: true, ..MountAttributes::default() },
    )
    .with_step(|| "making mounts private".to_owned())?;
    let devices = devices::clone_device_nodes().with_step(|| "cloning device nodes".to_owned())?;
    let (writable, shown) = (clone_writable_trees(launch)?, clone_visible_trees(launch)?);
    let private = create_private_trees(launch, guards)
        .with_step(|| "creating directories for temporary files".to_owned())?;
    let everything = MountAttributes {
        set: MountAttributes::READ_ONLY | MountAttributes::NO_SETUID | MountAttributes::NO_DEVICES,
        recursive: true,
        ..MountAttributes::default()
    };
    set_path_attributes("/", everything).with_step(|| "making all files read-only".to_owned())?;
    mount_private_trees(&private, &shown)?;
    devices::mount_dev(devices, private.shared_memory).with_step(|| "making devices".to_owned())?;
    proc_mount::mount_proc().with_step(|| "mounting /proc".to_owned())?;
    attach_trees(&writable)?;
    staged_overlays::create_placeholders(&guards.placeholders)?;
    for pin in &guards.pins {
        bind_over_itself(pin, MountAttributes::default())
            .with_step(|| format!("pinning `{}`", pin.display()))?;
    }
    for path in &guards.guards {
        bind_read_only(path).with_step(|| format!("guarding `{}`", path.display()))?;
    }
    let configs = private.configs.attach(guards)?;
    let own = launch.staging_directory.iter().chain(&launch.layer_directory);
    for path in launch.profile.unreadable.iter().chain(own) {
        hidden_paths::hide_path(path, &launch.readable_copies)
            .with_step(|| format!("hiding `{path}`"))?;
    }
    Ok(ReportedTrees { configs, temporary: private.temporary })
}

/// The trees that are private to the run.
struct PrivateTrees {
    temporary: Vec<(&'static str, OwnedFd)>,
    tool_directories: Vec<private_overlays::PrivateTree>,
    shared_memory: OwnedFd,
    configs: PrivateConfigLayer,
}

/// Creates the private trees, before everything becomes read-only.
fn create_private_trees(launch: &LaunchConfig, guards: &MountPlan) -> io::Result<PrivateTrees> {
    let memory = PrivateTmpfs::mount(launch.limits)?;
    let is_private = launch.profile.temp == TempDirectories::Private;
    let (temporary, tool_directories) = if is_private {
        let temporary = memory.create_temporary_directories()?;
        (temporary, private_overlays::clone_private_trees(launch, &memory))
    } else {
        (Vec::new(), Vec::new())
    };
    let shared_memory = memory.create_shared_directory("shm")?;
    let configs = PrivateConfigLayer::create(guards, &memory)?;
    memory.detach()?;
    Ok(PrivateTrees { temporary, tool_directories, shared_memory, configs })
}

/// Mounts the directories for temporary files, and the private directories of tools.
fn mount_private_trees(
    private: &PrivateTrees,
    shown: &[(AbsPath, OwnedFd)],
) -> Result<(), SandboxError> {
    let mounting = || "mounting private directories".to_owned();
    for (place, tree) in &private.temporary {
        let place = open_without_links(*place).with_step(mounting)?;
        attach_tree_at(tree, place).with_step(mounting)?;
    }
    if !private.temporary.is_empty() {
        attach_trees(shown)?;
    }
    private_overlays::attach_private_trees(&private.tool_directories).with_step(mounting)
}

/// Clones the trees that stay writable, before everything becomes read-only.
fn clone_writable_trees(launch: &LaunchConfig) -> Result<Vec<(AbsPath, OwnedFd)>, SandboxError> {
    let taken = match &launch.staging_directory {
        Some(place) => staged_overlays::create_overlays(place, &launch.profile)?,
        None => clone_unstaged_trees(launch)?,
    };
    for (path, tree) in &taken {
        let plain = MountAttributes {
            set: MountAttributes::NO_SETUID | MountAttributes::NO_DEVICES,
            recursive: true,
            ..MountAttributes::default()
        };
        set_attributes(tree.as_fd(), c"", plain).with_step(|| format!("opening `{path}`"))?;
    }
    Ok(taken)
}

/// Clones, read-only, the trees that stay visible although a private directory for temporary files
/// hides them: the working directory and the visible paths.
fn clone_visible_trees(launch: &LaunchConfig) -> Result<Vec<(AbsPath, OwnedFd)>, SandboxError> {
    let within = |path: &AbsPath, of: &AbsPath| path.strip_prefix(of).is_some();
    let is_writable =
        |path: &AbsPath| launch.profile.writable.iter().any(|root| within(path, root));
    let mut shown: Vec<(AbsPath, OwnedFd)> = Vec::new();
    for path in launch.visible_paths.iter().chain([&launch.cwd]) {
        let seen = shown.iter().any(|(other, _)| within(path, other));
        if !is_temporary(path) || is_writable(path) || seen {
            continue;
        }
        let tree = match clone_tree(path.as_str()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            tree => tree.with_step(|| format!("opening `{path}`"))?,
        };
        let read_only = MountAttributes {
            set: MountAttributes::READ_ONLY
                | MountAttributes::NO_SETUID
                | MountAttributes::NO_DEVICES,
            recursive: true,
            ..MountAttributes::default()
        };
        set_attributes(tree.as_fd(), c"", read_only).with_step(|| format!("opening `{path}`"))?;
        shown.push((path.clone(), tree));
    }
    Ok(shown)
}

/// Attaches cloned trees, each at its own path.
fn attach_trees(trees: &[(AbsPath, OwnedFd)]) -> Result<(), SandboxError> {
    for (path, tree) in trees {
        private_tmpfs::recreate_mount_point(path, tree).with_step(|| format!("making `{path}`"))?;
        attach_tree(tree, path).with_step(|| format!("mounting `{path}`"))?;
    }
    Ok(())
}

fn clone_unstaged_trees(launch: &LaunchConfig) -> Result<Vec<(AbsPath, OwnedFd)>, SandboxError> {
    let one = |path: &AbsPath| {
        let tree = clone_tree(path.as_str()).with_step(|| format!("opening `{path}`"))?;
        Ok((path.clone(), tree))
    };
    launch.profile.writable.iter().map(one).collect()
}
