//! The share that a run has of the kernel objects that are limited for each user. Concurrent runs
//! have different shares, and some objects are left for the programs of the host.

use std::{
    fs::{self, DirBuilder, File},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::Path,
    time::{Duration, Instant},
};

use rustix::process::{Resource, geteuid, getrlimit};

/// The settings of inotify(7) that limit the instances and the watches of a user.
const INSTANCES_SETTING: &str = "max_user_instances";
const WATCHES_SETTING: &str = "max_user_watches";

/// The number of runs that have separate shares. Together these are at most three quarters.
const MAX_SLOTS: usize = 42;

/// The time limit for counting the objects that are in use. After it, the usage is unknown, and
/// only the number of runs determines the share.
const COUNT_TIMEOUT: Duration = Duration::from_millis(5);

/// The maximum number of pending signals. Signals and timers wait in queues that the kernel counts
/// for each user. Programs have only a few of them at a time.
const MAX_PENDING_SIGNALS: u64 = 4096;
const PENDING_SIGNALS_SHARE: u64 = 8;

/// The share of one run. Its slot is free again when all processes that have it open have ended.
#[derive(Debug)]
pub(crate) struct ResourceShares {
    /// Instances of inotify(7).
    pub(crate) instances: Option<u64>,
    /// Watches of inotify(7).
    pub(crate) watches: Option<u64>,
    /// Pending signals, and timers.
    pub(crate) pending_signals: Option<u64>,
    _slot: Option<File>,
}

impl ResourceShares {
    /// Acquires the first share that no other run of this registry has. It is reserved until the
    /// returned value is dropped.
    pub(crate) fn acquire(registry: &Path) -> Self {
        let (slot, number) = match lock_slot(registry) {
            Some((slot, number)) => (Some(slot), number),
            None => (None, MAX_SLOTS),
        };
        let used = InotifyUsage::count().unwrap_or_default();
        let of = |name: &str, used: u64| Some(compute_share(read_limit(name)?, used, number));
        Self {
            instances: of(INSTANCES_SETTING, used.instances),
            watches: of(WATCHES_SETTING, used.watches),
            pending_signals: pending_signal_share(),
            _slot: slot,
        }
    }
}

/// Returns the share of the run with this number. The number determines the share, which is at most
/// half of the remaining objects.
fn compute_share(most: u64, used: u64, number: usize) -> u64 {
    let by_number = match number {
        0 => most / 4,
        1 => most / 8,
        2..10 => most / 64,
        10..MAX_SLOTS => (most / 1024).max(1),
        _ => 0,
    };
    by_number.min(most.saturating_sub(used) / 2)
}

fn read_limit(name: &str) -> Option<u64> {
    let text = fs::read_to_string(Path::new("/proc/sys/fs/inotify").join(name)).ok()?;
    text.trim().parse().ok()
}

/// Locks the first file that no other run has locked, in a directory next to the registry.
fn lock_slot(registry: &Path) -> Option<(File, usize)> {
    let mut directory = registry.as_os_str().to_owned();
    directory.push("-shares");
    DirBuilder::new().recursive(true).mode(0o700).create(&directory).ok()?;
    (0..MAX_SLOTS).find_map(|number| {
        let path = Path::new(&directory).join(number.to_string());
        let file = File::options().create(true).append(true).open(path).ok()?;
        file.try_lock().ok().map(|()| (file, number))
    })
}

/// Returns a share of the signals that may be pending. `SigQ` contains the number of pending
/// signals and the maximum (proc_pid_status(5)).
fn pending_signal_share() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("SigQ:"))?;
    let (used, _) = line.trim().split_once('/')?;
    let most = getrlimit(Resource::Sigpending).current.unwrap_or(u64::MAX);
    let left = most.saturating_sub(used.parse().ok()?);
    Some((left / PENDING_SIGNALS_SHARE).min(MAX_PENDING_SIGNALS))
}

/// The inotify(7) objects that processes of this user have in use.
#[derive(Debug, Default, PartialEq, Eq)]
struct InotifyUsage {
    instances: u64,
    watches: u64,
}

impl InotifyUsage {
    /// Counts them through the descriptors of all processes. An instance that several processes
    /// have open is counted several times.
    fn count() -> Option<Self> {
        let (mut used, until, own) = (Self::default(), Instant::now() + COUNT_TIMEOUT, geteuid());
        for process in fs::read_dir("/proc").ok()?.flatten() {
            let is_process = process.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
            if !is_process || !process.metadata().is_ok_and(|found| found.uid() == own.as_raw()) {
                continue;
            }
            for descriptor in
                fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten()
            {
                if Instant::now() > until {
                    return None;
                }
                let target = fs::read_link(descriptor.path());
                if target.is_ok_and(|target| target.as_os_str() == "anon_inode:inotify") {
                    used.add_descriptor(
                        &process.path().join("fdinfo").join(descriptor.file_name()),
                    );
                }
            }
        }
        Some(used)
    }

    fn add_descriptor(&mut self, information: &Path) {
        let text = fs::read_to_string(information).unwrap_or_default();
        let watches = text.lines().filter(|line| line.starts_with("inotify ")).count();
        self.instances += 1;
        self.watches = self.watches.saturating_add(u64::try_from(watches).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_runs_together_leave_something() {
        for most in [128, 1024, 8192, 192_536, 1 << 20] {
            let all: u64 = (0..1000).map(|number| compute_share(most, 0, number)).sum();
            assert!(all <= most / 4 * 3, "{most}: {all}");
            assert!((0..MAX_SLOTS).all(|number| compute_share(most, 0, number) > 0), "{most}");
        }
    }

    #[test]
    fn a_run_gets_at_most_half_of_the_remaining_resources() {
        assert_eq!(compute_share(128, 0, 0), 32);
        assert_eq!(compute_share(128, 100, 0), 14);
        assert_eq!(compute_share(128, 128, 0), 0);
        assert_eq!(compute_share(128, 200, 1), 0);
    }

    #[test]
    fn runs_at_the_same_time_have_different_parts() {
        let directory = tempfile::tempdir().unwrap();
        let registry = directory.path().join("sandbox");
        let first = lock_slot(&registry).unwrap();
        let second = lock_slot(&registry).unwrap();
        assert_eq!((first.1, second.1), (0, 1));
        drop(first);
        assert_eq!(lock_slot(&registry).unwrap().1, 0);
    }

    #[test]
    fn inotify_usage_is_counted() {
        let instance =
            rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC).unwrap();
        let flags = rustix::fs::inotify::WatchFlags::CREATE;
        rustix::fs::inotify::add_watch(&instance, "/", flags).unwrap();
        let mut used = InotifyUsage::default();
        let number = std::os::fd::AsRawFd::as_raw_fd(&instance);
        used.add_descriptor(Path::new(&format!("/proc/self/fdinfo/{number}")));
        assert_eq!(used, InotifyUsage { instances: 1, watches: 1 });
    }
}
