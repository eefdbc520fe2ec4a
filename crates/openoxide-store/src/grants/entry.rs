//! One entry of the file of grants: a rule, how far it reaches, and the proof that a person of this user granted it.

use std::{fs, os::unix::fs::MetadataExt as _, time::UNIX_EPOCH};

use hmac::{Hmac, KeyInit as _, Mac as _};
use openoxide_protocol::{AbsPath, GrantTerms};
use sha2::Sha256;
use toml_edit::{Item, Table, value};

use crate::audit::{DAY, Moment};

/// Comes first in what is authenticated: other uses of the key, and other forms of an entry, are told apart by it.
const PURPOSE: &str = "openoxide grant 4";
/// The same for an entry that says since when it counts.
const SINCE: &str = "openoxide grant 5";

/// Why a grant for a task does not count in another.
pub(super) const ELSEWHERE: &str = "granted for another task, or its task has ended";

/// The directory that a grant is for: its path, and what tells it from another directory at the same path later.
#[derive(Clone, Debug)]
pub(super) struct ProjectDirectory {
    pub(super) path: AbsPath,
    pub(super) identity: String,
}

impl ProjectDirectory {
    /// Looks at the directory: its number and the moment it was made, which no program can set. Where the file system does
    /// not keep that moment, the number of its device has to do.
    pub(super) fn look(path: &AbsPath) -> Self {
        let identity = fs::metadata(path.as_str()).map_or_else(
            |_| String::new(),
            |found| {
                let made = found.created().ok();
                let made = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
                match made {
                    Some(made) => format!("{}/{}", found.ino(), made.as_nanos()),
                    None => format!("{}/on {}", found.ino(), found.dev()),
                }
            },
        );
        Self { path: path.clone(), identity }
    }
}

/// How far a grant reaches, beside its rule. The default is without bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Bound {
    /// It ends with this moment.
    pub until: Option<Moment>,
    /// It was granted at this moment, if it ends by the clock. A clock that shows less was set back.
    pub since: Option<Moment>,
    /// It counts for commands that run in this directory or below.
    pub below: Option<AbsPath>,
    /// It counts for so many decisions.
    pub times: Option<u32>,
    /// It counts in this task.
    pub task: Option<String>,
}

impl Bound {
    /// Returns how far these terms reach, for a request of this task. Their time begins now. Nobody sees every task end, so what
    /// holds for one ends within a day.
    #[must_use]
    pub fn of(terms: &GrantTerms, task: Option<&str>) -> Self {
        let now = Moment::now();
        let ahead = |seconds: u64| Moment(now.0.saturating_add(seconds.saturating_mul(1_000)));
        let day = terms.task.then_some(DAY / 1_000);
        let seconds = terms.seconds.into_iter().chain(day).min();
        Self {
            until: seconds.map(ahead),
            since: seconds.map(|_| now),
            below: terms.below.clone(),
            times: terms.times,
            // A task without a name is that of nobody.
            task: terms.task.then(|| task.unwrap_or_default().to_owned()),
        }
    }

    /// Says whether there is any bound.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.count() > 0
    }
}

/// One entry of the file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Entry {
    /// Its name, by which it is known whether revoked and how often it counted.
    pub id: String,
    /// The rule, as it was granted.
    pub rule: String,
    /// How far it reaches.
    pub bound: Bound,
    /// The line that it stands on, from 1.
    pub line: u32,
    /// Why it grants nothing, if it does not.
    #[serde(skip)]
    pub ignored: Option<&'static str>,
}

impl Entry {
    /// Says whether it grants something, here or in the task that it is for.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.ignored.is_none_or(|why| why == ELSEWHERE)
    }

    /// Reads what a table says, and what it has for a proof. A bound that cannot be read is no bound that was granted: then the
    /// proof does not fit.
    pub(super) fn read(table: &Table, line: u32) -> (Self, String) {
        let text = |name: &str| table.get(name).and_then(Item::as_str);
        let field = |name| text(name).unwrap_or_default().to_owned();
        let times = table.get("times").and_then(Item::as_integer);
        let bound = Bound {
            until: text("until").and_then(Moment::parse),
            since: text("since").and_then(Moment::parse),
            below: text("below").and_then(|path| AbsPath::new(path).ok()),
            times: times.and_then(|times| u32::try_from(times).ok()),
            task: text("task").map(str::to_owned),
        };
        let known = ["id", "rule", "until", "since", "below", "times", "task", "mac"];
        let strange = table.iter().any(|(name, _)| !known.contains(&name));
        let bounds = ["until", "since", "below", "times", "task"].into_iter();
        let lost =
            bounds.filter(|name| table.contains_key(name)).count() != bound.count() || strange;
        let ignored = lost.then_some("it has an unknown or invalid key");
        (Self { id: field("id"), rule: field("rule"), bound, line, ignored }, field("mac"))
    }

    /// Returns the entry as a table, with its proof.
    pub(super) fn write(&self, key: &[u8], project: &ProjectDirectory) -> Table {
        let mut table = Table::new();
        table.insert("rule", value(&self.rule));
        if let Some(until) = self.bound.until {
            table.insert("until", value(until.to_string()));
        }
        if let Some(since) = self.bound.since {
            table.insert("since", value(since.to_string()));
        }
        if let Some(below) = &self.bound.below {
            table.insert("below", value(below.as_str()));
        }
        if let Some(times) = self.bound.times {
            table.insert("times", value(i64::from(times)));
        }
        if let Some(task) = &self.bound.task {
            table.insert("task", value(task));
        }
        table.insert("id", value(&self.id));
        let mac = self.mac(key, project).map(|mac| mac.finalize().into_bytes());
        let mac: String = mac.into_iter().flatten().map(|byte| format!("{byte:02x}")).collect();
        table.insert("mac", value(mac));
        table
    }

    /// Says whether this user granted it for this project. Compares in constant time.
    pub(super) fn is_ours(&self, key: &[u8], project: &ProjectDirectory, mac: &str) -> bool {
        let pairs = mac.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
        let bytes: Option<Vec<u8>> = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect();
        let (Some(bytes), Some(ours)) = (bytes, self.mac(key, project)) else { return false };
        ours.verify_slice(&bytes).is_ok()
    }

    fn mac(&self, key: &[u8], project: &ProjectDirectory) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        let Bound { until, since, below, times, task } = &self.bound;
        let (purpose, since) = match since {
            Some(since) => (SINCE, Some(since.to_string())),
            None => (PURPOSE, None),
        };
        let until = until.map(|until| until.to_string()).unwrap_or_default();
        let times = times.map(|times| times.to_string()).unwrap_or_default();
        let below = below.as_ref().map_or("", AbsPath::as_str);
        let ProjectDirectory { path, identity } = project;
        let parts = [purpose, path.as_str(), identity, &self.id, &self.rule, &until, below, &times];
        // Entries without a task are proved as they were before there were tasks.
        for part in parts.into_iter().chain(since.as_deref()).chain(task.as_deref()) {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac)
    }
}

impl Bound {
    fn count(&self) -> usize {
        let Self { until, since, below, times, task } = self;
        let clock = [until.is_some(), since.is_some()];
        let others = [below.is_some(), times.is_some(), task.is_some()];
        clock.into_iter().chain(others).filter(|there| *there).count()
    }
}
