//! One entry of the grant file: a rule, its limits, and the MAC that proves that this user granted
//! it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use openoxide_protocol::{AbsPath, GrantTerms};
use sha2::Sha256;
use toml_edit::{Item, Table, value};

use crate::{
    audit::{MILLIS_PER_DAY, UtcTimestamp},
    directory_identity,
};

/// The first part of the authenticated data. It separates this use of the key from other uses, and
/// this format of an entry from other formats.
const MAC_PURPOSE: &str = "openoxide grant 4";
/// The same for an entry that contains the time at which it was granted.
const MAC_PURPOSE_WITH_START: &str = "openoxide grant 5";

/// The reason why a grant for one task is not valid in another task.
pub(super) const OTHER_TASK_REASON: &str = "granted for another task, or its task has ended";

/// The reason why a grant with a limited number of uses is no longer valid.
pub(super) const USED_UP_REASON: &str = "use limit reached";

/// The reason why a grant with a limited time is no longer valid.
pub(super) const EXPIRED_REASON: &str = "expired";

/// The directory that a grant is for: its path, and an identity that a later directory at the same
/// path does not have.
#[derive(Clone, Debug)]
pub(super) struct ProjectDirectory {
    pub(super) path: AbsPath,
    pub(super) identity: String,
}

impl ProjectDirectory {
    /// Examines the directory.
    pub(super) fn from_path(path: &AbsPath) -> Self {
        Self { path: path.clone(), identity: directory_identity(path) }
    }
}

/// The limits of a grant, in addition to its rule. The default has no limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GrantLimits {
    /// The time at which the grant expires.
    pub expires_at: Option<UtcTimestamp>,
    /// The time at which the grant was made, if it expires. If the current time is earlier, the
    /// clock was set back.
    pub granted_at: Option<UtcTimestamp>,
    /// The directory in which, or below which, commands must run.
    pub directory: Option<AbsPath>,
    /// The number of decisions that the grant is valid for.
    pub max_uses: Option<u32>,
    /// The task that the grant is limited to.
    pub task: Option<String>,
}

impl GrantLimits {
    /// Returns the limits of these terms, for a request of this task. Durations start now. The end
    /// of a task cannot always be observed, so a grant for a task expires within a day.
    #[must_use]
    pub fn from_terms(terms: &GrantTerms, task: Option<&str>) -> Self {
        let now = UtcTimestamp::now();
        let ahead =
            |seconds: u64| UtcTimestamp(now.0.saturating_add(seconds.saturating_mul(1_000)));
        let day = terms.until_task_end.then_some(MILLIS_PER_DAY / 1_000);
        let seconds = terms.expires_in_seconds.into_iter().chain(day).min();
        Self {
            expires_at: seconds.map(ahead),
            granted_at: seconds.map(|_| now),
            directory: terms.directory.clone(),
            max_uses: terms.max_uses,
            // No task has an empty name.
            task: terms.until_task_end.then(|| task.unwrap_or_default().to_owned()),
        }
    }

    /// Returns whether the grant has any limit.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        self.count_limits() > 0
    }
}

/// One entry of the grant file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GrantEntry {
    /// The id, under which revocation and uses are recorded.
    pub id: String,
    /// The rule, in the text that was granted.
    pub rule: String,
    /// The limits of the grant.
    pub limits: GrantLimits,
    /// The line of the entry, starting at 1.
    pub line: u32,
    /// The reason why the entry grants nothing, or `None` if it is valid.
    #[serde(skip)]
    pub ignored_reason: Option<&'static str>,
}

impl GrantEntry {
    /// Returns whether the entry is valid here or in the task that it is limited to.
    #[must_use]
    pub fn is_active_in_any_task(&self) -> bool {
        self.ignored_reason.is_none_or(|why| why == OTHER_TASK_REASON)
    }

    /// Returns the reason if a limit of the grant is why it does not apply. Such an entry was
    /// created by the user, which is not certain for entries that are ignored for other reasons.
    #[must_use]
    pub fn limit_reason(&self) -> Option<&'static str> {
        let reasons = [USED_UP_REASON, EXPIRED_REASON, OTHER_TASK_REASON];
        self.ignored_reason.filter(|why| reasons.contains(why))
    }

    /// Reads an entry and its MAC from a table. An entry with an invalid limit or an unknown key is
    /// ignored, because its content differs from what was granted.
    pub(super) fn from_table(table: &Table, line: u32) -> (Self, String) {
        let text = |name: &str| table.get(name).and_then(Item::as_str);
        let field = |name| text(name).unwrap_or_default().to_owned();
        let times = table.get("times").and_then(Item::as_integer);
        let bound = GrantLimits {
            expires_at: text("until").and_then(UtcTimestamp::parse),
            granted_at: text("since").and_then(UtcTimestamp::parse),
            directory: text("below").and_then(|path| AbsPath::new(path).ok()),
            max_uses: times.and_then(|times| u32::try_from(times).ok()),
            task: text("task").map(str::to_owned),
        };
        let known = ["id", "rule", "until", "since", "below", "times", "task", "mac"];
        let strange = table.iter().any(|(name, _)| !known.contains(&name));
        let bounds = ["until", "since", "below", "times", "task"].into_iter();
        let lost = bounds.filter(|name| table.contains_key(name)).count() != bound.count_limits()
            || strange;
        let ignored = lost.then_some("it has an unknown or invalid key");
        (
            Self {
                id: field("id"),
                rule: field("rule"),
                limits: bound,
                line,
                ignored_reason: ignored,
            },
            field("mac"),
        )
    }

    /// Returns the entry as a table, with its MAC.
    pub(super) fn to_table(&self, key: &[u8], project: &ProjectDirectory) -> Table {
        let mut table = Table::new();
        table.insert("rule", value(&self.rule));
        if let Some(until) = self.limits.expires_at {
            table.insert("until", value(until.to_string()));
        }
        if let Some(since) = self.limits.granted_at {
            table.insert("since", value(since.to_string()));
        }
        if let Some(below) = &self.limits.directory {
            table.insert("below", value(below.as_str()));
        }
        if let Some(times) = self.limits.max_uses {
            table.insert("times", value(i64::from(times)));
        }
        if let Some(task) = &self.limits.task {
            table.insert("task", value(task));
        }
        table.insert("id", value(&self.id));
        let mac = self.compute_mac(key, project).map(|mac| mac.finalize().into_bytes());
        let mac: String = mac.into_iter().flatten().map(|byte| format!("{byte:02x}")).collect();
        table.insert("mac", value(mac));
        table
    }

    /// Returns whether this user granted the entry for this project. Compares in constant time.
    pub(super) fn has_valid_mac(&self, key: &[u8], project: &ProjectDirectory, mac: &str) -> bool {
        let pairs = mac.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
        let bytes: Option<Vec<u8>> = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect();
        let (Some(bytes), Some(ours)) = (bytes, self.compute_mac(key, project)) else {
            return false;
        };
        ours.verify_slice(&bytes).is_ok()
    }

    fn compute_mac(&self, key: &[u8], project: &ProjectDirectory) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        let GrantLimits {
            expires_at: until,
            granted_at: since,
            directory: below,
            max_uses: times,
            task,
        } = &self.limits;
        let (purpose, since) = match since {
            Some(since) => (MAC_PURPOSE_WITH_START, Some(since.to_string())),
            None => (MAC_PURPOSE, None),
        };
        let until = until.map(|until| until.to_string()).unwrap_or_default();
        let times = times.map(|times| times.to_string()).unwrap_or_default();
        let below = below.as_ref().map_or("", AbsPath::as_str);
        let ProjectDirectory { path, identity } = project;
        let parts = [purpose, path.as_str(), identity, &self.id, &self.rule, &until, below, &times];
        // The MAC of an entry without a task is the same as before tasks existed.
        for part in parts.into_iter().chain(since.as_deref()).chain(task.as_deref()) {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac)
    }
}

impl GrantLimits {
    fn count_limits(&self) -> usize {
        let Self { expires_at: until, granted_at: since, directory: below, max_uses: times, task } =
            self;
        let clock = [until.is_some(), since.is_some()];
        let others = [below.is_some(), times.is_some(), task.is_some()];
        clock.into_iter().chain(others).filter(|there| *there).count()
    }
}
