//! Other paths of unreadable files. A hard link is the same file, and the target of a symbolic link
//! has its own path. Hiding a directory does not hide them.

use std::{
    collections::BTreeSet,
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};

use crate::{
    interface::PostRunFinding,
    protected_paths::{
        directory_walk::{DirectoryWalk, WARNING_SCAN_LIMIT},
        displayed_paths::unsearched_finding,
        link_targets::hidden_target,
        mount_aliases,
        repository::is_object_directory,
        writable_roots::outermost_roots,
    },
};

/// The maximum number of times that the targets of links are searched for further links.
const MAX_ROUNDS: usize = 8;

/// A profile with all paths of its unreadable files.
pub(crate) struct AliasedProfile {
    /// The profile.
    pub(crate) restrictions: SandboxRestrictions,
    /// The unreadable directories that contain too many entries to find all links in them.
    pub(crate) unsearched_findings: Vec<PostRunFinding>,
}

/// The files and links in unreadable directories that have other paths.
#[derive(Default)]
struct UnreadableFiles {
    hard_linked: BTreeSet<(u64, u64)>,
    links: Vec<PathBuf>,
}

/// Returns the profile with the aliases of its unreadable paths: the targets of links in them, their
/// other mount points, and the other names that these files have in writable directories. The
/// writable directories are searched only if one of the files has another name somewhere.
///
/// Names in other directories are not searched for, because that would mean the whole disk.
///
/// # Errors
/// Returns an error if the other mount points cannot be determined.
pub(crate) fn with_aliases(
    profile: &SandboxRestrictions,
    cwd: &AbsPath,
) -> io::Result<AliasedProfile> {
    let mut profile = profile.clone();
    let mut unsearched = Vec::new();
    let mut secrets = BTreeSet::new();
    let mut places = profile.unreadable.clone();
    for _ in 0..MAX_ROUNDS {
        let mut files = UnreadableFiles::default();
        let left = visit_files(to_paths(&places), &mut |path, found| files.add(path, found));
        // The program cannot list a directory that this user cannot list.
        unsearched.extend(left.into_iter().filter(|path| fs::read_dir(path).is_ok()));
        secrets.append(&mut files.hard_linked);
        let targets = files.links.iter().filter_map(|link| hidden_target(link, &profile, cwd));
        places = targets.collect();
        if places.is_empty() {
            break;
        }
        profile.unreadable.extend(places.iter().cloned());
    }
    if !secrets.is_empty() {
        let mut names = Vec::new();
        visit_files(outermost_roots(&profile.writable), &mut |path, found| {
            let is_secret = is_hard_linked(found) && secrets.contains(&(found.dev(), found.ino()));
            names.extend(is_secret.then(|| path.to_owned()));
        });
        let said = names.iter().filter_map(|name| AbsPath::new(name.to_str()?).ok());
        profile.unreadable.extend(said);
    }
    mount_aliases::add_aliases(&mut profile.unreadable)?;
    let unsearched_findings = unsearched.iter().filter_map(|path| unsearched_finding(path));
    Ok(AliasedProfile { unsearched_findings: unsearched_findings.collect(), restrictions: profile })
}

impl UnreadableFiles {
    fn add(&mut self, path: &Path, found: &Metadata) {
        if found.is_symlink() {
            self.links.push(path.to_owned());
        } else if is_hard_linked(found) {
            self.hard_linked.insert((found.dev(), found.ino()));
        }
    }
}

fn to_paths(paths: &BTreeSet<AbsPath>) -> Vec<PathBuf> {
    paths.iter().map(|path| PathBuf::from(path.as_str())).collect()
}

fn is_hard_linked(found: &Metadata) -> bool {
    found.is_file() && found.nlink() > 1
}

/// Visits all files at and below these paths. Returns the directories that were not searched.
fn visit_files(places: Vec<PathBuf>, see: &mut dyn FnMut(&Path, &Metadata)) -> Vec<PathBuf> {
    let mut visit = |path: &Path| {
        if let Ok(found) = path.symlink_metadata() {
            see(path, &found);
        }
    };
    places.iter().for_each(|place| visit(place));
    let directories = places.into_iter().filter(|place| place.is_dir());
    let walk = DirectoryWalk {
        is_relevant: &|_| true,
        is_skipped: &is_object_directory,
        make_accessible: &|_| false,
        before_listing: &|_| {},
        max_names: WARNING_SCAN_LIMIT,
    };
    walk.run(directories, |listing| {
        listing.names.iter().for_each(|name| visit(&listing.path.join(name)));
    })
}
