//! Directories that are not projects, although an agent can work in them: those of the system, and
//! those that contain the projects of all users.

use openoxide_protocol::AbsPath;

/// The reason why a directory is not a project: it belongs to the system.
const SYSTEM: &str = "it belongs to the system";
/// The reason for directories that contain projects.
const SHARED: &str = "it contains more than one project";
/// The reason for home directories of other users.
const HOME: &str = "it is a home directory";

/// Directories of the system. Nothing in them is a project.
const SYSTEM_TREES: &[&str] = &[
    "/Applications",
    "/Library",
    "/System",
    "/bin",
    "/boot",
    "/dev",
    "/efi",
    "/etc",
    "/gnu",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/lost+found",
    "/nix",
    "/private/etc",
    "/proc",
    "/run",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
];

/// Directories in which only a repository is a project: programs install themselves there, and some
/// people keep projects there.
const REPOSITORIES_ONLY: &[&str] =
    &["/opt", "/private/var", "/run/media", "/usr/local/src", "/usr/src", "/var"];

/// Directories in which each directory is a project.
const PROJECT_PLACES: &[&str] = &[
    "/private/tmp",
    "/private/var/folders",
    "/srv",
    "/tmp",
    "/var/folders",
    "/var/tmp",
    "/var/www",
];

/// Directories that contain home directories or disks, none of which is a project.
const HOME_PLACES: &[&str] = &["/Users", "/home", "/media", "/mnt", "/var/home"];

/// Returns the reason why the directory is not a project: in it, no mode and no sandbox setting
/// allows changes. `has_repository` tells whether it is the root of a repository.
///
/// ```
/// # use openoxide_permission::system_directory_reason;
/// # use openoxide_protocol::AbsPath;
/// let reason = |path| system_directory_reason(&AbsPath::new(path).unwrap(), false);
/// assert_eq!(reason("/usr/local/bin"), Some("it belongs to the system"));
/// assert_eq!(reason("/home/ann/project"), None);
/// ```
#[must_use]
pub fn system_directory_reason(path: &AbsPath, has_repository: bool) -> Option<&'static str> {
    let is_below = |place: &&str| {
        let place = AbsPath::new(place).ok();
        place.is_some_and(|place| &place != path && path.strip_prefix(&place).is_some())
    };
    let is = |place: &&str| path.as_str() == *place;
    let contains = |places: &[&str], test: &dyn Fn(&&str) -> bool| places.iter().any(test);
    let parent_is_home_place =
        || path.parent().is_some_and(|above| HOME_PLACES.contains(&above.as_str()));
    if path.parent().is_none() || contains(PROJECT_PLACES, &is) || contains(HOME_PLACES, &is) {
        return Some(SHARED);
    }
    if contains(PROJECT_PLACES, &is_below) {
        return None;
    }
    if path.as_str() == "/root" || !has_repository && parent_is_home_place() {
        return Some(HOME);
    }
    if contains(HOME_PLACES, &is_below) || has_repository && contains(REPOSITORIES_ONLY, &is_below)
    {
        return None;
    }
    let is_system = |places| contains(places, &is) || contains(places, &is_below);
    (is_system(REPOSITORIES_ONLY) || is_system(SYSTEM_TREES)).then_some(SYSTEM)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(path: &str, has_repository: bool) -> Option<&'static str> {
        system_directory_reason(&AbsPath::new(path).unwrap(), has_repository)
    }

    /// The directories of the Filesystem Hierarchy Standard and of macOS.
    #[test]
    fn directories_of_the_system_are_no_projects() {
        for path in [
            "/",
            "/tmp",
            "/var/tmp",
            "/srv",
            "/home",
            "/root",
            "/mnt",
            "/media",
            "/usr",
            "/usr/local",
            "/usr/local/bin",
            "/usr/lib",
            "/usr/lib/python3",
            "/etc",
            "/etc/ssh",
            "/boot",
            "/boot/efi",
            "/run",
            "/run/user/0",
            "/run/systemd",
            "/bin",
            "/sbin",
            "/lib",
            "/lib64",
            "/dev/shm",
            "/proc/self",
            "/sys/kernel",
            "/nix/store",
            "/snap/x",
            "/Library/x",
            "/System",
            "/Applications",
            "/private/etc",
            "/usr/src",
        ] {
            assert!(reason(path, false).is_some() && reason(path, true).is_some(), "{path}");
        }
        for path in [
            "/var",
            "/var/lib",
            "/var/lib/x",
            "/var/spool/cron",
            "/opt",
            "/opt/x",
            "/opt/x/bin",
            "/usr/src/app",
            "/usr/src/linux",
            "/home/ann",
            "/Users/ann",
            "/mnt/c",
        ] {
            assert!(reason(path, false).is_some(), "{path}");
        }
    }

    #[test]
    fn directories_of_users_and_repositories_are_projects() {
        for path in [
            "/home/ann/project",
            "/Users/ann/src/x",
            "/srv/app",
            "/tmp/x",
            "/var/www/site",
            "/app",
            "/work/x",
            "/workspace",
            "/workspaces/x",
            "/mnt/c/src",
            "/root/project",
            "/data/x",
            "/private/tmp/x",
            "/var/home/ann/x",
            "/usrlocal",
            "/optional",
        ] {
            assert_eq!(reason(path, false), None, "{path}");
        }
        for path in ["/opt/app", "/usr/src/app", "/var/lib/ci/workspace/x", "/usr/local/src/x"] {
            assert_eq!(reason(path, true), None, "{path}");
        }
    }
}
