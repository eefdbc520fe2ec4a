//! A control group for one run (cgroups(7)). It limits memory, including files in memory, and
//! processes, also for root.
//!
//! Version 2 is used if the memory and pids controllers are enabled for the children of a group
//! above this process and a group can be created there. Otherwise version 1 is used, if it allows
//! this user to create a group. The group is removed when the run has ended.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Pid;

use crate::{
    interface::{ReachedLimit, ResourceLimits},
    sys,
};

const GROUP_PREFIX: &str = "openoxide-";
/// The number of processes of a run that do not belong to the program: the first one inside.
const OWN_PROCESSES: u64 = 1;
/// The maximum time that the kernel takes to release a group whose processes have ended.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(1);
const REMOVE_RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// The group of a run. It has one directory with version 2, and one for each controller with
/// version 1.
#[derive(Debug)]
pub(crate) struct ControlGroup(Vec<ControllerGroup>);

#[derive(Debug)]
struct ControllerGroup {
    /// The directory of the group.
    own: PathBuf,
    /// The directory of the group that this process belongs to.
    home: PathBuf,
}

/// A mounted hierarchy.
#[derive(Debug, PartialEq, Eq)]
struct CgroupHierarchy {
    /// The mount point.
    mount: PathBuf,
    /// The part of the hierarchy that is mounted there.
    root: String,
    /// The group of this process in it.
    group: String,
}

impl ControlGroup {
    /// Creates a group with these limits. Returns `None` if the limits need no group.
    ///
    /// # Errors
    /// Returns an error if there is no place where a group can be created.
    pub(crate) fn create(limits: ResourceLimits) -> io::Result<Option<Self>> {
        if limits.memory.is_none() && limits.processes.is_none() {
            return Ok(None);
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let groups = fs::read_to_string("/proc/self/cgroup")?;
        Self::create_v2(limits, &mounts, &groups)
            .or_else(|_| Self::create_v1(limits, &mounts, &groups))
            .map(Some)
    }

    fn create_v2(limits: ResourceLimits, mounts: &str, groups: &str) -> io::Result<Self> {
        let none = || io::Error::from(ErrorKind::NotFound);
        let hierarchy = CgroupHierarchy::find(mounts, groups, "").ok_or_else(none)?;
        let home = hierarchy.own_directory().ok_or_else(none)?;
        let above = home.ancestors().take_while(|path| path.starts_with(&hierarchy.mount));
        let enabled = |path: &&Path| {
            let text = fs::read_to_string(path.join("cgroup.subtree_control")).unwrap_or_default();
            required_controllers(limits)
                .all(|controller| text.split_whitespace().any(|one| one == controller))
        };
        let mut made = Err(none());
        for parent in above.filter(enabled) {
            made = made.or_else(|_: io::Error| {
                Self::create_child_group(parent, &home, |group| {
                    if let Some(memory) = limits.memory {
                        fs::write(group.join("memory.max"), memory.to_string())?;
                        // A kernel without swap does not have this file.
                        drop(fs::write(group.join("memory.swap.max"), "0"));
                    }
                    set_process_limit(group, limits)
                })
            });
        }
        made
    }

    fn create_v1(limits: ResourceLimits, mounts: &str, groups: &str) -> io::Result<Self> {
        let mut all = Self(Vec::new());
        for controller in required_controllers(limits) {
            let none = || io::Error::from(ErrorKind::NotFound);
            let hierarchy = CgroupHierarchy::find(mounts, groups, controller).ok_or_else(none)?;
            let home = hierarchy.own_directory().ok_or_else(none)?;
            let one = Self::create_child_group(&home, &home, |group| {
                match (controller, limits.memory) {
                    ("memory", Some(memory)) => {
                        fs::write(group.join("memory.limit_in_bytes"), memory.to_string())?;
                        forbid_swap_v1(group, memory);
                        Ok(())
                    }
                    _ => set_process_limit(group, limits),
                }
            })?;
            all.0.extend(one.into_parts());
        }
        Ok(all)
    }

    /// Creates a group below another one. Groups of supervisors that no longer exist are removed
    /// from there first.
    fn create_child_group(
        parent: &Path,
        home: &Path,
        set: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<Self> {
        remove_stale_groups(parent);
        let own = parent.join(format!("{GROUP_PREFIX}{}", std::process::id()));
        fs::create_dir(&own)?;
        let group = Self(vec![ControllerGroup { own: own.clone(), home: home.to_owned() }]);
        set(&own)?;
        // Both files are needed, to enter the group and to leave it again.
        for place in [own.as_path(), home] {
            fs::OpenOptions::new().write(true).open(place.join("cgroup.procs"))?;
        }
        Ok(group)
    }

    fn into_parts(mut self) -> Vec<ControllerGroup> {
        std::mem::take(&mut self.0)
    }

    /// Creates a child process that is a member of the group, as are all of its descendants.
    ///
    /// # Errors
    /// Returns an error if this process could not enter the group, and no process was created, or
    /// if it could not leave the group again.
    pub(crate) fn fork_into_group(
        &self,
        namespaces: sys::NamespaceFlags,
    ) -> io::Result<Option<Pid>> {
        for part in &self.0 {
            join_group(&part.own)?;
        }
        let made = sys::fork_into_namespaces(namespaces);
        if matches!(made, Ok(None)) {
            return made;
        }
        for part in &self.0 {
            join_group(&part.home)?;
        }
        made
    }

    /// Returns the limits that have stopped a process of the group.
    pub(crate) fn reached_limits(&self, limits: ResourceLimits) -> Vec<ReachedLimit> {
        // Version 2 has the first and the last file, and version 1 the second and the last.
        let has_event = |file: &str, event: &str| {
            let mut texts = self.0.iter().map(|part| fs::read_to_string(part.own.join(file)));
            texts.any(|text| text.is_ok_and(|text| event_count(&text, event) > 0))
        };
        let killed = ["memory.events", "memory.oom_control"];
        let killed = killed.into_iter().any(|file| has_event(file, "oom_kill"));
        let memory = limits.memory.filter(|_| killed).map(ReachedLimit::Memory);
        let refused = || has_event("pids.events", "max");
        let processes = limits.processes.filter(|_| refused()).map(ReachedLimit::Processes);
        memory.into_iter().chain(processes).collect()
    }

    /// Removes the group, after its processes have ended.
    pub(crate) fn remove(&self) {
        let until = Instant::now() + REMOVE_TIMEOUT;
        for part in &self.0 {
            while fs::remove_dir(&part.own)
                .is_err_and(|error| error.kind() == ErrorKind::ResourceBusy)
                && Instant::now() < until
            {
                thread::sleep(REMOVE_RETRY_INTERVAL);
            }
        }
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Returns the number of an event in a file with one event and its number on each line.
fn event_count(text: &str, event: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let count = lines.find_map(|(name, count)| (name == event).then(|| count.trim().parse().ok()));
    count.flatten().unwrap_or_default()
}

/// Returns the controllers that the limits need, always in the same order.
fn required_controllers(limits: ResourceLimits) -> impl Iterator<Item = &'static str> {
    let all = [("memory", limits.memory), ("pids", limits.processes)];
    all.into_iter().filter(|(_, limit)| limit.is_some()).map(|(name, _)| name)
}

/// Keeps a group of version 1 out of the swap space, which its memory limit does not include.
fn forbid_swap_v1(group: &Path, memory: u64) {
    // The limit of memory and swap space together. It must not be lower than that of memory alone.
    let with_swap = group.join("memory.memsw.limit_in_bytes");
    // A kernel that does not count the swap space of groups does not have this file.
    if fs::write(with_swap, memory.to_string()).is_err() {
        drop(fs::write(group.join("memory.swappiness"), "0"));
    }
}

fn set_process_limit(group: &Path, limits: ResourceLimits) -> io::Result<()> {
    let Some(processes) = limits.processes else { return Ok(()) };
    fs::write(group.join("pids.max"), processes.saturating_add(OWN_PROCESSES).to_string())
}

fn join_group(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), "0")
}

/// Removes groups of supervisors that no longer exist. A group with processes cannot be removed.
fn remove_stale_groups(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(GROUP_PREFIX));
        let process = process.and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists()) {
            drop(fs::remove_dir(entry.path()));
        }
    }
}

impl CgroupHierarchy {
    /// Finds the hierarchy of a controller. The hierarchy of version 2 has an empty name.
    fn find(mounts: &str, groups: &str, controller: &str) -> Option<Self> {
        let group = groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (names, group) = rest.split_once(':')?;
            names.split(',').any(|name| name == controller).then(|| group.to_owned())
        })?;
        let (mount, root) = mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let mut before = before.split(' ').skip(3);
            let (root, mount) = (before.next()?, before.next()?);
            let mut after = after.split(' ');
            let (kind, options) = (after.next()?, after.nth(1)?);
            let is_it = match controller {
                "" => kind == "cgroup2",
                name => kind == "cgroup" && options.split(',').any(|option| option == name),
            };
            is_it.then(|| (PathBuf::from(mount), root.to_owned()))
        })?;
        Some(Self { mount, root, group })
    }

    /// Returns the directory of this process's group. Returns `None` if the group is not in the
    /// mounted part.
    fn own_directory(&self) -> Option<PathBuf> {
        let below = Path::new(&self.group).strip_prefix(&self.root).ok()?;
        let outside = below.components().any(|part| part == std::path::Component::ParentDir);
        (!outside).then(|| self.mount.join(below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mounts of version 2 under systemd, and of both versions on older systems (cgroups(7),
    /// proc_pid_mountinfo(5)).
    const UNIFIED: &str =
        "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const BOTH: &str = "30 29 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        31 29 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        32 29 0:29 /docker/x /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
        33 29 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const GROUPS: &str = "12:pids:/docker/x/y\n9:cpu,cpuacct:/a\n4:memory:/m\n0::/user.slice/u\n";

    fn directory(mounts: &str, controller: &str) -> Option<String> {
        let found = CgroupHierarchy::find(mounts, GROUPS, controller)?.own_directory()?;
        Some(found.to_str().unwrap().to_owned())
    }

    #[test]
    fn the_group_of_this_process_is_found() {
        let is = |found: &str| Some(found.to_owned());
        assert_eq!(directory(UNIFIED, ""), is("/sys/fs/cgroup/user.slice/u"));
        assert_eq!(directory(BOTH, ""), is("/sys/fs/cgroup/unified/user.slice/u"));
        assert_eq!(directory(BOTH, "memory"), is("/sys/fs/cgroup/memory/m"));
        assert_eq!(directory(BOTH, "pids"), is("/sys/fs/cgroup/pids/y"));
        assert_eq!(directory(UNIFIED, "memory"), None);
        assert_eq!(directory(BOTH, "freezer"), None);
    }

    #[test]
    fn a_group_outside_of_the_mounted_part_has_no_directory() {
        let find = |group: &str| {
            CgroupHierarchy::find(UNIFIED, &format!("0::{group}\n"), "").unwrap().own_directory()
        };
        assert_eq!(find("/../x"), None);
        let elsewhere =
            CgroupHierarchy { mount: "/c".into(), root: "/a".into(), group: "/b".into() };
        assert_eq!(elsewhere.own_directory(), None);
    }

    #[test]
    fn groups_of_processes_that_are_gone_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(name);
        let own = format!("{GROUP_PREFIX}{}", std::process::id());
        for name in [own.as_str(), "openoxide-999999999", "openoxide-x", "else"] {
            fs::create_dir(path(name)).unwrap();
        }
        remove_stale_groups(parent.path());
        assert!(!path("openoxide-999999999").exists());
        assert!(path(&own).exists() && path("openoxide-x").exists() && path("else").exists());
    }

    /// From "Memory Interface Files" and "PID" of the kernel's documentation of version 2, and
    /// `memory.oom_control` of version 1.
    #[test]
    fn events_of_both_versions_are_counted() {
        let unified = "low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n";
        assert_eq!(event_count(unified, "oom_kill"), 1);
        assert_eq!(event_count("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill"), 3);
        assert_eq!(event_count("max 7\n", "max"), 7);
        assert_eq!(event_count("oom_kill_disable 1\n", "oom_kill"), 0);
    }

    #[test]
    fn the_memory_limit_of_version_1_includes_the_swap_space() {
        let limits = ResourceLimits { memory: Some(1 << 26), ..ResourceLimits::default() };
        // Only root can create groups.
        let Ok(Some(group)) = ControlGroup::create(limits) else { return };
        for part in &group.0 {
            let file = part.own.join("memory.memsw.limit_in_bytes");
            if file.exists() {
                assert_eq!(fs::read_to_string(file).unwrap().trim(), "67108864");
            }
        }
    }

    #[test]
    fn no_limit_needs_no_group() {
        let seconds = ResourceLimits { seconds: Some(1), ..ResourceLimits::default() };
        assert!(ControlGroup::create(seconds).unwrap().is_none());
    }
}
