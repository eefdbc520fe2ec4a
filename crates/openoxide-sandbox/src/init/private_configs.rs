//! Private copies of the configuration and the hooks of repositories. The program changes the copies.
//! After the run, the supervisor applies what is harmless and quarantines the rest.
//!
//! A copy of a directory with hooks is mounted over it. A symbolic link to the copy is mounted over
//! each configuration file. `git` follows the link, creates its lock next to the copy, and renames
//! it there. The host never sees a copy.

use std::{
    fs::{self, Permissions},
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::fs::{PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
};

use crate::{
    init::{
        mount_operations::{attach_tree_at, clone_tree, mount_link, open_without_links},
        private_tmpfs::PrivateTmpfs,
    },
    interface::{SandboxError, SetupContext as _},
    protected_paths::MountPlan,
    sys::{MountAttributes, set_attributes},
};

/// The directory inside with the copies, each in a directory of its own with a number as its name.
const COPIES: &str = "/dev/openoxide/git";
/// The directory inside with the links to the copies. The program cannot change it.
const LINKS: &str = "/dev/openoxide/git-links";

/// The copies and links, before they are attached.
pub(super) struct PrivateConfigLayer {
    copies: OwnedFd,
    links: OwnedFd,
    /// Copies of directories with hooks.
    hooks: Vec<OwnedFd>,
}

impl PrivateConfigLayer {
    /// Creates the copies and the links.
    pub(super) fn create(plan: &MountPlan, memory: &PrivateTmpfs) -> io::Result<Self> {
        let copies = memory.create_private_directory("git")?;
        let links = memory.create_private_directory("git-links")?;
        for (number, config) in plan.private_configs.iter().enumerate() {
            let name = config.path.file_name().unwrap_or_default();
            let directory = Path::new(&copies).join(number.to_string());
            fs::create_dir(&directory)?;
            fs::write(directory.join(name), &config.text)?;
            fs::set_permissions(directory.join(name), Permissions::from_mode(config.mode))?;
            let target = Path::new(COPIES).join(number.to_string()).join(name);
            symlink(target, Path::new(&links).join(number.to_string()))?;
        }
        let mut hooks = Vec::new();
        for (number, directory) in plan.private_hooks.iter().enumerate() {
            let copy = format!("{copies}/hooks-{number}");
            fs::create_dir(&copy)?;
            directory.tree.write(Path::new(&copy))?;
            hooks.push(clone_tree(&copy)?);
        }
        let (copies, links) = (clone_tree(&copies)?, clone_tree(&links)?);
        let fixed =
            MountAttributes { set: MountAttributes::READ_ONLY, ..MountAttributes::default() };
        set_attributes(links.as_fd(), c"", fixed)?;
        Ok(Self { copies, links, hooks })
    }

    /// Attaches the copies, and covers each file with the link to its copy. Returns the directory
    /// with the copies.
    pub(super) fn attach(self, plan: &MountPlan) -> Result<OwnedFd, SandboxError> {
        let place = |tree: &OwnedFd, path: &str| attach_tree_at(tree, open_without_links(path)?);
        place(&self.copies, COPIES)
            .and_then(|()| place(&self.links, LINKS))
            .with_step(|| "mounting the configuration of git".to_owned())?;
        for (number, config) in plan.private_configs.iter().enumerate() {
            let path = &config.path;
            cover(path, number).with_step(|| format!("guarding `{}`", path.display()))?;
        }
        for (tree, directory) in self.hooks.iter().zip(&plan.private_hooks) {
            let path = &directory.path;
            open_without_links(path)
                .and_then(|place| attach_tree_at(tree, place))
                .with_step(|| format!("guarding `{}`", path.display()))?;
        }
        Ok(self.copies)
    }
}

/// Creates the mount points, while `/dev` is writable.
pub(super) fn create_mount_points() -> io::Result<()> {
    fs::create_dir_all(COPIES)?;
    fs::create_dir_all(LINKS)
}

/// Covers a configuration file with the link to its copy.
pub(super) fn cover(path: &Path, number: usize) -> io::Result<()> {
    mount_link(&PathBuf::from(LINKS).join(number.to_string()), path)
}
