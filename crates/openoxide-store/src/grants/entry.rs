//! One entry of the file of grants: a rule, how far it reaches, and the proof that a person of this user granted it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use openoxide_protocol::{AbsPath, GrantTerms};
use sha2::Sha256;
use toml_edit::{Item, Table, value};

use crate::audit::Moment;

/// Comes first in what is authenticated: other uses of the key, and other forms of an entry, are told apart by it.
const PURPOSE: &str = "openoxide grant 2";

/// How far a grant reaches, beside its rule. The default is without bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// It ends with this moment.
    pub until: Option<Moment>,
    /// It counts for commands that run in this directory or below.
    pub below: Option<AbsPath>,
    /// It counts for so many decisions.
    pub times: Option<u32>,
}

impl Bound {
    /// Says whether there is any bound.
    #[must_use]
    pub const fn is_some(&self) -> bool {
        self.until.is_some() || self.below.is_some() || self.times.is_some()
    }
}

impl From<&GrantTerms> for Bound {
    /// Their time begins now.
    fn from(terms: &GrantTerms) -> Self {
        let ahead = |seconds: u64| Moment::now().0.saturating_add(seconds.saturating_mul(1_000));
        Self {
            until: terms.seconds.map(|seconds| Moment(ahead(seconds))),
            below: terms.below.clone(),
            times: terms.times,
        }
    }
}

/// One entry of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, by which it is known whether it was taken back and how often it counted.
    pub id: String,
    /// The rule, as it was granted.
    pub rule: String,
    /// How far it reaches.
    pub bound: Bound,
    /// The line that it stands on, from 1.
    pub line: u32,
    /// Why it grants nothing, if it does not.
    pub ignored: Option<&'static str>,
}

impl Entry {
    /// Reads what a table says, and what it has for a proof. A bound that cannot be read is no bound that was granted: then the
    /// proof does not fit.
    pub(super) fn read(table: &Table, line: u32) -> (Self, String) {
        let text = |name: &str| table.get(name).and_then(Item::as_str);
        let field = |name| text(name).unwrap_or_default().to_owned();
        let times = table.get("times").and_then(Item::as_integer);
        let bound = Bound {
            until: text("until").and_then(Moment::parse),
            below: text("below").and_then(|path| AbsPath::new(path).ok()),
            times: times.and_then(|times| u32::try_from(times).ok()),
        };
        let known = ["id", "rule", "until", "below", "times", "mac"];
        let strange = table.iter().any(|(name, _)| !known.contains(&name));
        let read = ["until", "below", "times"].into_iter().filter(|name| table.contains_key(name));
        let lost = read.count() != bound.count() || strange;
        let ignored = lost.then_some("it says something that is not understood");
        (Self { id: field("id"), rule: field("rule"), bound, line, ignored }, field("mac"))
    }

    /// Returns the entry as a table, with its proof.
    pub(super) fn write(&self, key: &[u8], project: &AbsPath) -> Table {
        let mut table = Table::new();
        table.insert("rule", value(&self.rule));
        if let Some(until) = self.bound.until {
            table.insert("until", value(until.to_string()));
        }
        if let Some(below) = &self.bound.below {
            table.insert("below", value(below.as_str()));
        }
        if let Some(times) = self.bound.times {
            table.insert("times", value(i64::from(times)));
        }
        table.insert("id", value(&self.id));
        let mac = self.mac(key, project).map(|mac| mac.finalize().into_bytes());
        let mac: String = mac.into_iter().flatten().map(|byte| format!("{byte:02x}")).collect();
        table.insert("mac", value(mac));
        table
    }

    /// Says whether this user granted it for this project. Compares in constant time.
    pub(super) fn is_ours(&self, key: &[u8], project: &AbsPath, mac: &str) -> bool {
        let pairs = mac.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
        let bytes: Option<Vec<u8>> = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect();
        let (Some(bytes), Some(ours)) = (bytes, self.mac(key, project)) else { return false };
        ours.verify_slice(&bytes).is_ok()
    }

    fn mac(&self, key: &[u8], project: &AbsPath) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        let Bound { until, below, times } = &self.bound;
        let until = until.map(|until| until.to_string()).unwrap_or_default();
        let times = times.map(|times| times.to_string()).unwrap_or_default();
        let below = below.as_ref().map_or("", AbsPath::as_str);
        for part in [PURPOSE, project.as_str(), &self.id, &self.rule, &until, below, &times] {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac)
    }
}

impl Bound {
    fn count(&self) -> usize {
        let bounds = [self.until.is_some(), self.below.is_some(), self.times.is_some()];
        bounds.into_iter().filter(|there| *there).count()
    }
}
