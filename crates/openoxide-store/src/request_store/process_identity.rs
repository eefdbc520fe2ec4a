//! The identity of the process that made a request, so that other processes can detect whether it
//! is still waiting.

use std::{fmt, fs, process};

/// The maximum number of ancestors of a process that are examined.
const MAX_ANCESTORS: usize = 256;

/// The descent of the current process from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descent {
    /// The other process, or one of its descendants, started the current one.
    Descendant,
    /// The current process does not descend from the other one. A descendant that has left the
    /// process tree is not recognized.
    Unrelated,
    /// The descent is unknown. The process ids of another PID namespace have another meaning.
    Unknown,
}

/// The identity of a process on one boot of the machine. A process id alone is reused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    boot_id: String,
    namespace: String,
    id: u32,
    start: String,
}

impl ProcessIdentity {
    /// Returns the identity of the current process. Values that the system does not report stay
    /// empty. Such a process is never considered exited.
    #[must_use]
    pub fn current() -> Self {
        let id = process::id();
        let ProcessState::StartedAt(start) = query_state(id) else {
            return Self {
                boot_id: String::new(),
                namespace: read_pid_namespace(),
                id,
                start: String::new(),
            };
        };
        Self { boot_id: read_boot_id(), namespace: read_pid_namespace(), id, start }
    }

    /// Returns the identity of a running process of this namespace. Returns `None` if the system
    /// does not report all of its values.
    #[must_use]
    pub fn of_running(id: u32) -> Option<Self> {
        let ProcessState::StartedAt(start) = query_state(id) else { return None };
        let (boot_id, namespace) = (read_boot_id(), read_pid_namespace());
        let is_known = !boot_id.is_empty() && !namespace.is_empty();
        is_known.then_some(Self { boot_id, namespace, id, start })
    }

    /// Returns whether the process has certainly exited. This is unknown for a process in another
    /// namespace.
    #[must_use]
    pub fn has_exited(&self) -> bool {
        if self.boot_id.is_empty() || self.start.is_empty() {
            return false;
        }
        match read_boot_id() {
            now if now.is_empty() => false,
            now if now != self.boot_id => true,
            _ if read_pid_namespace() != self.namespace => false,
            _ => match query_state(self.id) {
                ProcessState::StartedAt(start) => start != self.start,
                ProcessState::Exited => true,
                ProcessState::Unknown => false,
            },
        }
    }

    /// Returns whether the current process descends from this one.
    #[must_use]
    pub fn descent(&self) -> Descent {
        self.descent_from(&[self.id])
    }

    /// Returns whether the current process descends from the program that started this one, or from
    /// its parent: an agent starts its hook with a shell or directly.
    #[must_use]
    pub fn descent_from_starters(&self) -> Descent {
        let starters: Vec<u32> = ancestors(self.id).take(2).collect();
        self.descent_from(&starters)
    }

    /// Returns whether the current process descends from one of these processes of this namespace.
    fn descent_from(&self, ids: &[u32]) -> Descent {
        let is_known = !self.boot_id.is_empty() && !self.namespace.is_empty();
        if !is_known || read_boot_id() != self.boot_id || read_pid_namespace() != self.namespace {
            return Descent::Unknown;
        }
        match ancestors(process::id()).any(|ancestor| ids.contains(&ancestor)) {
            true => Descent::Descendant,
            false => Descent::Unrelated,
        }
    }

    /// Parses the text form of an identity.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/').map(str::to_owned);
        let (boot, namespace) = (parts.next()?, parts.next()?);
        Some(Self {
            boot_id: boot,
            namespace,
            id: parts.next()?.parse().ok()?,
            start: parts.next()?,
        })
    }
}

impl fmt::Display for ProcessIdentity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}/{}/{}", self.boot_id, self.namespace, self.id, self.start)
    }
}

fn read_boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}

fn read_pid_namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid");
    link.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The state of a process, as the system reports it.
enum ProcessState {
    /// The process exists. Contains its start time in clock ticks after the boot.
    StartedAt(String),
    /// The process has exited.
    Exited,
    /// The state is unknown.
    Unknown,
}

/// Returns the state of a process from proc(5), `/proc/pid/stat`, fields 3 and 22.
fn query_state(id: u32) -> ProcessState {
    match fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(text) => parse_stat(&text).unwrap_or(ProcessState::Unknown),
        Err(_) if fs::metadata("/proc/self/stat").is_ok() => ProcessState::Exited,
        Err(_) => ProcessState::Unknown,
    }
}

fn parse_stat(text: &str) -> Option<ProcessState> {
    let mut fields = stat_fields(text)?;
    let ended = matches!(fields.next()?, "Z" | "X" | "x");
    let start = fields.nth(18)?.to_owned();
    Some(if ended { ProcessState::Exited } else { ProcessState::StartedAt(start) })
}

/// Returns the fields of `/proc/pid/stat` from field 3, the state.
fn stat_fields(text: &str) -> Option<impl Iterator<Item = &str>> {
    // The name is in parentheses and may contain anything, including parentheses.
    Some(text.get(text.rfind(')')? + 1..)?.split_whitespace())
}

/// Returns the ids of the processes that started a process, the nearest first, without the first
/// process of the system.
fn ancestors(id: u32) -> impl Iterator<Item = u32> {
    let parent = |id: &u32| Some(read_parent_and_start(*id)?.0).filter(|parent| *parent > 1);
    std::iter::successors(parent(&id), parent).take(MAX_ANCESTORS)
}

/// Returns the id of the parent of a process, and the start time of the process in clock ticks
/// after the boot.
pub(crate) fn read_parent_and_start(id: u32) -> Option<(u32, u64)> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = stat_fields(&text)?.skip(1);
    Some((fields.next()?.parse().ok()?, fields.nth(17)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descent_of_a_process_is_known_within_its_namespace() {
        let this = ProcessIdentity::current();
        assert_eq!(this.descent(), Descent::Unrelated, "a process is not its own descendant");
        let parent = ProcessIdentity::of_running(std::os::unix::process::parent_id()).unwrap();
        assert_eq!(parent.descent(), Descent::Descendant);
        assert_eq!(this.descent_from_starters(), Descent::Descendant);
        let first = ProcessIdentity::of_running(1).unwrap();
        assert_eq!(first.descent_from_starters(), Descent::Unrelated, "it has no ancestors");
        for namespace in ["", "pid:[1]"] {
            let other = ProcessIdentity { namespace: namespace.to_owned(), ..parent.clone() };
            assert_eq!(other.descent(), Descent::Unknown, "{namespace:?}");
            assert_eq!(other.descent_from_starters(), Descent::Unknown, "{namespace:?}");
        }
    }

    #[test]
    fn a_process_is_gone_when_it_has_ended_and_not_before() {
        let this = ProcessIdentity::current();
        assert!(!this.has_exited(), "{this}");
        assert_eq!(ProcessIdentity::parse(&this.to_string()), Some(this.clone()));
        // The same id with a different start time is a different process. So is a process from
        // before the last boot.
        assert!(ProcessIdentity { start: "1".to_owned(), ..this.clone() }.has_exited());
        assert!(ProcessIdentity { boot_id: "before".to_owned(), ..this.clone() }.has_exited());
        assert!(
            !ProcessIdentity { namespace: "elsewhere".to_owned(), start: "1".to_owned(), ..this }
                .has_exited()
        );
    }

    #[test]
    fn a_killed_process_that_was_not_yet_reaped_has_exited() {
        let mut child = process::Command::new("sleep").arg("60").spawn().unwrap();
        let ProcessState::StartedAt(start) = query_state(child.id()) else {
            panic!("it was just started")
        };
        let asker = ProcessIdentity { id: child.id(), start, ..ProcessIdentity::current() };
        assert!(!asker.has_exited());
        child.kill().unwrap();
        while !asker.has_exited() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.wait().unwrap();
        assert!(asker.has_exited());
    }
}
