//! The configuration and the hooks of repositories in a staged run. The program changes private
//! copies, and its changes are staged when it has ended.

use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use rustix::{
    fs::{Mode, chmod, fstat, mkdirat},
    io::Errno,
};

use crate::{
    interface::PostRunFinding,
    post_run::{changed_configs, changed_hooks},
    protected_paths::{HookEntry, HookTree, MountPlan, outermost_roots, to_display_path},
    staging::{
        extended_attributes::{read_attributes, replace_attributes},
        stage_directory::OverlayLayer,
        tree::{self, descriptor_path},
    },
};

/// Stages what a program has changed in the private copies of a run, which are in a directory.
/// Returns findings about changes that cannot be staged.
pub(crate) fn stage_private_copies(
    copies: &OwnedFd,
    plan: &MountPlan,
    stage: &AbsPath,
    profile: &SandboxRestrictions,
) -> Vec<PostRunFinding> {
    let layers =
        StageLayers { stage: Path::new(stage.as_str()), roots: outermost_roots(&profile.writable) };
    let configs = changed_configs(copies, &plan.private_configs).into_iter().map(|changed| {
        let mode = changed.config.mode;
        let entry = HookEntry::File { content: changed.text, mode };
        (changed.config.path.clone(), HookTree::from_entry(entry))
    });
    let hooks = changed_hooks(copies, &plan.private_hooks);
    let hooks = hooks.into_iter().map(|changed| (changed.path, changed.tree));
    let staged = configs.chain(hooks).filter_map(|(path, tree)| {
        let error = layers.write(&path, &tree).err()?;
        let reason = error.to_string();
        Some(PostRunFinding::UnstagedChange { path: to_display_path(&path)?, reason })
    });
    staged.collect()
}

/// The layers in which the changes of a run are staged.
struct StageLayers<'a> {
    stage: &'a Path,
    roots: Vec<PathBuf>,
}

impl StageLayers<'_> {
    /// Creates the staged version of a path, which the program could not change itself.
    fn write(&self, path: &Path, tree: &HookTree) -> io::Result<()> {
        let mut roots = self.roots.iter().enumerate();
        let (number, root) =
            roots.find(|(_, root)| path.starts_with(root)).ok_or(io::ErrorKind::NotFound)?;
        let relative = path.strip_prefix(root).map_err(io::Error::other)?;
        let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let upper = tree::open_root(&OverlayLayer::new(self.stage, number).upper)?;
        let directory = open_or_create(upper, &tree::open_root(root)?, parent)?;
        tree.write(&Path::new(&descriptor_path(&directory)).join(name))
    }
}

/// Opens a directory below a staged one. Missing ones are created like those of the host.
fn open_or_create(upper: OwnedFd, host: &OwnedFd, relative: &Path) -> io::Result<OwnedFd> {
    let (mut directory, mut path) = (upper, PathBuf::new());
    for name in relative {
        path.push(name);
        let created = mkdirat(&directory, name, Mode::RWXU);
        directory = tree::open_below(&directory, Path::new(name))?;
        match created {
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
            Ok(()) => copy_metadata(host, &path, &directory)?,
        }
    }
    Ok(directory)
}

fn copy_metadata(host: &OwnedFd, path: &Path, new: &OwnedFd) -> io::Result<()> {
    let mode = fstat(tree::open_below(host, path)?)?.st_mode & 0o777;
    let attributes = read_attributes(host, path.as_os_str());
    replace_attributes(&descriptor_path(new), &Vec::new(), &attributes)?;
    Ok(chmod(descriptor_path(new), Mode::from_raw_mode(mode))?)
}
