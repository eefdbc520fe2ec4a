//! Which process asks, so that others can tell whether it still waits.

use std::{fmt, fs, process};

/// One process of one run of the machine: its number alone would come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    boot: String,
    namespace: String,
    id: u32,
    start: String,
}

impl Process {
    /// Returns this very process. What the system does not tell stays empty, and nobody then takes it for gone.
    #[must_use]
    pub fn this() -> Self {
        let id = process::id();
        let State::Since(start) = state(id) else {
            return Self { boot: String::new(), namespace: namespace(), id, start: String::new() };
        };
        Self { boot: boot(), namespace: namespace(), id, start }
    }

    /// Says whether the process is gone for certain. Of one that lives in another namespace nobody can tell.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        if self.boot.is_empty() || self.start.is_empty() {
            return false;
        }
        match boot() {
            now if now.is_empty() => false,
            now if now != self.boot => true,
            _ if namespace() != self.namespace => false,
            _ => match state(self.id) {
                State::Since(start) => start != self.start,
                State::Ended => true,
                State::Untold => false,
            },
        }
    }

    /// Reads what was written down.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('/').map(str::to_owned);
        let (boot, namespace) = (parts.next()?, parts.next()?);
        Some(Self { boot, namespace, id: parts.next()?.parse().ok()?, start: parts.next()? })
    }
}

impl fmt::Display for Process {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}/{}/{}", self.boot, self.namespace, self.id, self.start)
    }
}

fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}

fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid");
    link.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What the system tells of a process.
enum State {
    /// It was started so many ticks after the boot.
    Since(String),
    /// It has ended.
    Ended,
    /// Nothing.
    Untold,
}

/// Asks the system (proc(5), `/proc/pid/stat`, fields 3 and 22).
fn state(id: u32) -> State {
    match fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(text) => read_state(&text).unwrap_or(State::Untold),
        Err(_) if fs::metadata("/proc/self/stat").is_ok() => State::Ended,
        Err(_) => State::Untold,
    }
}

fn read_state(text: &str) -> Option<State> {
    // The name stands in parentheses and may hold anything, these too.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X" | "x");
    let start = fields.nth(18)?.to_owned();
    Some(if ended { State::Ended } else { State::Since(start) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_gone_when_it_has_ended_and_not_before() {
        let this = Process::this();
        assert!(!this.is_gone(), "{this}");
        assert_eq!(Process::read(&this.to_string()), Some(this.clone()));
        // The same number, started at another time, is another process; so is one from before the machine was started.
        assert!(Process { start: "1".to_owned(), ..this.clone() }.is_gone());
        assert!(Process { boot: "before".to_owned(), ..this.clone() }.is_gone());
        assert!(
            !Process { namespace: "elsewhere".to_owned(), start: "1".to_owned(), ..this }.is_gone()
        );
    }

    #[test]
    fn who_was_killed_and_not_yet_collected_is_gone() {
        let mut child = process::Command::new("sleep").arg("60").spawn().unwrap();
        let State::Since(start) = state(child.id()) else { panic!("it was just started") };
        let asker = Process { id: child.id(), start, ..Process::this() };
        assert!(!asker.is_gone());
        child.kill().unwrap();
        while !asker.is_gone() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.wait().unwrap();
        assert!(asker.is_gone());
    }
}
