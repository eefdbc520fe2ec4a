//! Directories that the program reads, and whose changes are private: caches, settings and data of
//! tools.
//!
//! Tools fail if they cannot write these. Tools outside would trust anything that a confined
//! program wrote into the real ones. So the program sees parts of an overlay instead. One overlay
//! has its upper layer in the memory of the sandbox. Another one on top of it stores its upper
//! layer in the layer directory of the project. Both show the whole home directory, of which only
//! the private directories are mounted. Directories on other file systems have their own overlays.
//!
//! Programs have written the layers of earlier runs, so a stored layer can contain anything, such as
//! a symbolic link in place of a directory. Names in it are resolved without links. If something
//! must be mounted on a path that the layer hides, the directory is taken from memory.

use std::{
    io,
    os::fd::{AsFd, AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{
        AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, mkdirat, openat2,
        statx,
    },
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags, fsconfig_create,
        fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, open_tree,
    },
};

use crate::{
    init::{
        mount_operations::{attach_tree_at, open_without_links},
        private_tmpfs::PrivateTmpfs,
    },
    interface::{LaunchConfig, PrivateDirectory},
    private_layers::LayerPaths,
};

/// A private directory and the tree to mount on it.
pub(super) type PrivateTree = (AbsPath, OwnedFd);

/// Creates the overlays, and clones the private directories from them. This must be done before
/// everything becomes read-only: an overlay keeps its own reference to the directory that stores
/// the changes.
///
/// Some file systems cannot be a layer of an overlay, and older kernels do not support overlays in
/// a user namespace. Directories without an overlay are left out, and stay read-only.
pub(super) fn clone_private_trees(
    launch: &LaunchConfig,
    memory: &PrivateTmpfs,
) -> Vec<PrivateTree> {
    let mut trees = Vec::new();
    for (number, base) in overlay_bases(launch).iter().enumerate() {
        let directories: Vec<_> =
            launch.private_directories.iter().filter(|one| base_of(launch, one) == *base).collect();
        if let Ok(overlays) = BaseOverlays::create(launch, base, &directories, number, memory) {
            let cloned = directories.iter().filter_map(|one| overlays.clone_directory(launch, one));
            trees.extend(cloned);
        }
    }
    // A directory comes before the ones below it.
    trees.sort_by(|(a, _), (b, _)| a.cmp(b));
    trees
}

/// Mounts the private directories.
pub(super) fn attach_private_trees(trees: &[PrivateTree]) -> io::Result<()> {
    for (path, tree) in trees {
        match open_directory(CWD, path.as_str()) {
            Ok(place) => attach_tree_at(tree, place)?,
            // The directory is below one that has no overlay, so it could not be created.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn overlay_bases(launch: &LaunchConfig) -> Vec<&AbsPath> {
    let mut bases: Vec<_> =
        launch.private_directories.iter().map(|directory| base_of(launch, directory)).collect();
    bases.sort();
    bases.dedup();
    bases
}

/// Returns the directory whose overlay contains a private directory: the base of the launch, or the
/// directory itself if another mount is in between, which an overlay would not show.
fn base_of<'a>(launch: &'a LaunchConfig, directory: &'a PrivateDirectory) -> &'a AbsPath {
    let base = launch.private_base.as_ref();
    base.filter(|base| is_below_on_same_mount(base, &directory.path)).unwrap_or(&directory.path)
}

fn is_below_on_same_mount(base: &AbsPath, path: &AbsPath) -> bool {
    let Some(rest) = path.strip_prefix(base).filter(|rest| !rest.is_empty()) else { return false };
    let mut place = base.clone();
    rest.split('/').all(|name| {
        place = place.join(name);
        let found = statx(CWD, place.as_str(), AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
        !found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
    })
}

/// The overlays of one base directory.
struct BaseOverlays<'a> {
    base: &'a AbsPath,
    in_memory: OwnedFd,
    stored: Option<OwnedFd>,
}

impl<'a> BaseOverlays<'a> {
    fn create(
        launch: &LaunchConfig,
        base: &'a AbsPath,
        directories: &[&PrivateDirectory],
        number: usize,
        memory: &PrivateTmpfs,
    ) -> io::Result<Self> {
        let [upper, work, place, stored] = ["upper", "work", "memory", "stored"].map(|name| {
            memory.create_private_directory(&format!("{name}-{number}")).map(PathBuf::from)
        });
        let (place, stored_place) = (place?, stored?);
        mount_overlay(Path::new(base.as_str()), &upper?, &work?, &place, false)?;
        let in_memory = open_directory(CWD, &place)?;
        for directory in directories {
            create_below(&in_memory, directory.path.strip_prefix(base).unwrap_or_default())?;
        }
        let layers = launch
            .layer_directory
            .as_ref()
            .filter(|_| directories.iter().any(|one| one.is_persistent));
        let layer = layers.and_then(|layers| LayerPaths::new(Path::new(layers.as_str()), base));
        let stored = layer.and_then(|layer| {
            layer.create().ok()?;
            mount_overlay(&place, &layer.upper, &layer.work, &stored_place, true).ok()?;
            open_directory(CWD, &stored_place).ok()
        });
        Ok(Self { base, in_memory, stored })
    }

    fn clone_directory(
        &self,
        launch: &LaunchConfig,
        directory: &PrivateDirectory,
    ) -> Option<PrivateTree> {
        let path = &directory.path;
        let rest = path.strip_prefix(self.base)?;
        let stored = self.stored.as_ref().filter(|_| directory.is_persistent);
        let place = stored
            .and_then(|stored| self.open_stored(stored, launch, path).ok())
            .or_else(|| open_below(&self.in_memory, rest).ok())?;
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH;
        Some((path.clone(), open_tree(&place, c"", flags).ok()?))
    }

    /// Opens a directory of the stored layer, if everything that is mounted in it can be.
    fn open_stored(
        &self,
        stored: &OwnedFd,
        launch: &LaunchConfig,
        path: &AbsPath,
    ) -> io::Result<OwnedFd> {
        let directory = open_below(stored, path.strip_prefix(self.base).unwrap_or_default())?;
        let profile = &launch.profile;
        let mounted = profile.writable.iter().chain(&profile.unreadable).chain(&profile.protected);
        let private = launch.private_directories.iter().map(|private| &private.path);
        for mounted in mounted.chain(private).chain([&launch.cwd]) {
            let Some(rest) = mounted.strip_prefix(path) else { continue };
            let in_memory = mounted.strip_prefix(self.base).unwrap_or_default();
            if open_entry_below(&self.in_memory, in_memory).is_ok() {
                open_entry_below(&directory, rest)?;
            }
        }
        Ok(directory)
    }
}

/// Creates a directory and those above it, without following links.
fn create_below(above: &OwnedFd, rest: &str) -> io::Result<()> {
    if rest.is_empty() || open_below(above, rest).is_ok() {
        return Ok(());
    }
    let mut directory = open_below(above, "")?;
    for name in rest.split('/') {
        match mkdirat(&directory, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => directory = open_below(&directory, name)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn open_below(directory: &OwnedFd, rest: &str) -> io::Result<OwnedFd> {
    open_directory(directory, if rest.is_empty() { "." } else { rest })
}

fn open_directory(directory: impl AsFd, path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat2(directory, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// Opens an entry of any type, which can be a link.
fn open_entry_below(directory: &OwnedFd, rest: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let rest = if rest.is_empty() { "." } else { rest };
    Ok(openat2(directory, rest, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// Mounts an overlay. Directories are passed as descriptors, so that no character of a path has a
/// special meaning, and no link can be replaced in the meantime.
fn mount_overlay(
    lower: &Path,
    upper: &Path,
    work: &Path,
    place: &Path,
    is_stored: bool,
) -> io::Result<()> {
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let mut kept = Vec::new();
    for (key, path) in [("lowerdir", lower), ("upperdir", upper), ("workdir", work)] {
        let directory = open_without_links(path)?;
        fsconfig_set_string(&overlay, key, format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
        kept.push(directory);
    }
    fsconfig_set_string(&overlay, "index", "off")?;
    fsconfig_set_flag(&overlay, "userxattr")?;
    if is_stored {
        // Without it, the end of each run writes the whole file system to the disk. After a power
        // failure, a cache can lack what was written last.
        fsconfig_set_flag(&overlay, "volatile")?;
    }
    fsconfig_create(&overlay)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let tree = fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
    attach_tree_at(&tree, open_without_links(place)?)
}
