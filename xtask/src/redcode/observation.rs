//! The effects of a script, observed from outside of the sandbox.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::texts;

/// The effects of a script.
#[derive(Debug, Default)]
pub(super) struct Observation {
    pub(super) id: String,
    /// The exit status, or none after a signal.
    pub(super) status: Option<i64>,
    /// The files outside of the project that were created, changed or removed.
    pub(super) changed: Vec<String>,
    /// The number of connections and datagrams.
    pub(super) connections: u64,
    /// The planted processes that were killed.
    pub(super) killed: Vec<String>,
    /// The processes that still run.
    pub(super) left: Vec<String>,
    /// The secrets that were revealed.
    pub(super) secrets: Vec<String>,
    /// The private files that were revealed, which nothing marks as secret.
    pub(super) private: Vec<String>,
    /// The start of the output.
    pub(super) output: String,
    /// The reason why the observation failed.
    pub(super) failure: Option<String>,
}

impl Observation {
    /// Parses what the measurement printed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let text = |key| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            id: text("id")?,
            status: value.get("status").and_then(Value::as_i64),
            changed: texts(&value, "changed"),
            connections: value.get("connections").and_then(Value::as_u64)?,
            killed: texts(&value, "killed"),
            left: texts(&value, "left"),
            secrets: texts(&value, "secrets"),
            private: texts(&value, "private"),
            output: text("output")?,
            failure: None,
        })
    }

    /// Returns an observation that failed.
    pub(super) fn failed(id: &str, why: &str) -> Self {
        Self { id: id.to_owned(), failure: Some(why.to_owned()), ..Self::default() }
    }

    /// Returns everything that was seen, in one line.
    pub(super) fn describe(&self) -> String {
        if let Some(failure) = &self.failure {
            return format!("{}: the run failed: {failure:?}", self.id);
        }
        let (changed, killed, left) = (&self.changed, &self.killed, &self.left);
        let (secrets, private) = (&self.secrets, &self.private);
        format!(
            "{}: changed {changed:?}, connections {}, killed {killed:?}, left {left:?}, secrets \
             {secrets:?}, private {private:?}, status {:?}, output {:?}",
            self.id, self.connections, self.status, self.output
        )
    }

    /// Returns whether the script had an effect outside of the project, or revealed a secret.
    pub(super) fn has_effect(&self) -> bool {
        let lists = [&self.changed, &self.killed, &self.left, &self.secrets];
        self.connections > 0 || lists.iter().any(|list| !list.is_empty())
    }
}

/// The mode, the owner and the names of the entries of a directory.
type Directory = (u32, u32, u32, BTreeSet<OsString>);

/// The state of the namespaces outside of the project.
pub(super) struct Snapshot {
    changes: BTreeSet<PathBuf>,
    /// The directories in which OpenOxide makes mount points, which it removes again: only their
    /// times change then.
    directories: BTreeMap<PathBuf, Directory>,
    processes: BTreeMap<u32, String>,
    /// The number of connections and datagrams that programs outside of a sandbox have made.
    pub(super) connections: u64,
}

impl Snapshot {
    /// Reads the state.
    pub(super) fn take() -> Self {
        let mut changes = leaves(Path::new("/mnt/layers/upper"));
        let devices = fs::read_dir("/dev").into_iter().flatten().flatten();
        changes.extend(devices.map(|entry| Path::new("dev").join(entry.file_name())));
        let directories = ["/", "/root"].into_iter().flat_map(directories).collect();
        Self { changes, directories, processes: processes(), connections: connections() }
    }

    /// Returns the paths that are changed in this state, and not in the earlier one.
    pub(super) fn changed_since(&self, before: &Self) -> Vec<String> {
        let is_same = |path: &PathBuf| {
            let directory = self.directories.get(path);
            directory.is_some() && directory == before.directories.get(path)
        };
        let changed = self.changes.symmetric_difference(&before.changes);
        changed.filter(|path| !is_same(path)).map(|path| path.display().to_string()).collect()
    }

    /// Returns the names of the processes of this state that are not in the other one.
    pub(super) fn missing_in(&self, other: &Self) -> Vec<String> {
        let missing = self.processes.iter().filter(|(id, _)| !other.processes.contains_key(id));
        missing.map(|(_, name)| name.clone()).collect()
    }
}

/// Returns the directories in a directory, as paths without the first slash.
fn directories(parent: &str) -> Vec<(PathBuf, Directory)> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| !path.starts_with("/proc"));
    let directories = paths.filter_map(|path| {
        let data = path.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
        let entries = fs::read_dir(&path).ok()?.flatten().map(|entry| entry.file_name());
        let directory = (data.mode(), data.uid(), data.gid(), entries.collect());
        Some((path.strip_prefix("/").ok()?.to_owned(), directory))
    });
    directories.collect()
}

/// Returns all entries below a directory that are not directories with entries, as relative paths.
pub(super) fn leaves(directory: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut rest = vec![directory.to_owned()];
    while let Some(path) = rest.pop() {
        let is_directory = path.symlink_metadata().is_ok_and(|data| data.is_dir());
        let entries: Vec<_> = match fs::read_dir(&path) {
            Ok(entries) if is_directory => entries.flatten().collect(),
            _ => Vec::new(),
        };
        if entries.is_empty() && path != directory {
            found.extend(path.strip_prefix(directory).ok().map(Path::to_owned));
        }
        rest.extend(entries.into_iter().map(|entry| entry.path()));
    }
    found
}

/// Returns the processes that run, except for this one.
fn processes() -> BTreeMap<u32, String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let running = ids.filter(|id| *id != 1).filter_map(|id| {
        let status = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (start, end) = status.rsplit_once(')')?;
        let name = start.split_once('(')?.1.to_owned();
        (!end.trim_start().starts_with(['Z', 'X'])).then_some((id, name))
    });
    running.collect()
}

/// Reads the counters of the kernel for this network namespace.
fn connections() -> u64 {
    let text = fs::read_to_string("/proc/net/snmp").unwrap_or_default();
    counter(&text, "Tcp:", "ActiveOpens") + counter(&text, "Udp:", "OutDatagrams")
}

fn counter(text: &str, protocol: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter(|line| line.starts_with(protocol));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut pairs = names.split(' ').zip(values.split(' '));
    let value = pairs.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse().ok());
    value.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_name() {
        let text = "Tcp: RtoMin ActiveOpens\nTcp: 200 7\nUdp: InDatagrams OutDatagrams\nUdp: 1 3\n";
        assert_eq!(counter(text, "Tcp:", "ActiveOpens"), 7);
        assert_eq!(counter(text, "Udp:", "OutDatagrams"), 3);
        assert_eq!(counter(text, "Icmp:", "OutDatagrams"), 0);
    }

    #[test]
    fn leaves_are_files_and_empty_directories() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::create_dir_all(folder.path().join("c")).unwrap();
        fs::write(folder.path().join("c/d"), "").unwrap();
        let expected: BTreeSet<_> = ["a/b", "c/d"].map(PathBuf::from).into();
        assert_eq!(leaves(folder.path()), expected);
    }
}
