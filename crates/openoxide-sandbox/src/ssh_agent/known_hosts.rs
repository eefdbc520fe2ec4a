//! The host keys that the user knows (`known_hosts`, sshd(8)).

use std::{collections::BTreeSet, fs, path::Path, str::FromStr as _};

use hmac::{Hmac, KeyInit as _, Mac as _};
use openoxide_protocol::matches_host_pattern;
use sha1::Sha1;
use ssh_key::known_hosts::{Entry, HostPatterns, Marker};

/// The maximum size of a file.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// The port without which names are written.
const DEFAULT_PORT: u16 = 22;

/// A host that a program has connected to, with the port.
pub(crate) type ContactedHost = (String, u16);

/// The known host keys. They are read before the program runs, so that it cannot change them.
#[derive(Debug, Default)]
pub(crate) struct KnownHostKeys {
    lines: Vec<KnownHostLine>,
}

#[derive(Debug)]
struct KnownHostLine {
    marker: Option<Marker>,
    hosts: HostPatterns,
    key: Vec<u8>,
}

impl KnownHostKeys {
    /// Reads files. Missing files and lines that are not understood are left out.
    pub(crate) fn read<'a>(files: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut known = Self::default();
        for file in files {
            let is_small = fs::metadata(file).is_ok_and(|found| found.len() <= MAX_FILE_BYTES);
            if let (true, Ok(bytes)) = (is_small, fs::read(file)) {
                known.add_text(&String::from_utf8_lossy(&bytes));
            }
        }
        known
    }

    pub(super) fn add_text(&mut self, text: &str) {
        self.lines.extend(text.lines().filter_map(KnownHostLine::parse));
    }

    /// Returns a name of the host that has this key: one that was contacted, if possible. Returns
    /// `None` if no host has it, or if the key is revoked.
    ///
    /// A hashed name or a pattern is known only if a contacted host matches it. A line for a
    /// certificate authority is never the key of a host.
    pub(super) fn host_name(
        &self,
        key: &[u8],
        contacted: &BTreeSet<ContactedHost>,
    ) -> Option<String> {
        let lines: Vec<_> = self.lines.iter().filter(|line| line.key == key).collect();
        if lines.iter().any(|line| matches!(line.marker, Some(Marker::Revoked))) {
            return None;
        }
        let lines: Vec<_> = lines.into_iter().filter(|line| line.marker.is_none()).collect();
        let found = contacted.iter().find(|host| lines.iter().any(|line| line.matches(host)));
        match found {
            Some((name, _)) => Some(name.to_ascii_lowercase()),
            None => lines.iter().find_map(|line| line.plain_name()),
        }
    }
}

impl KnownHostLine {
    /// Parses a line. `ssh` separates fields by any blanks and ignores what follows the key.
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim_start();
        if line.starts_with('#') {
            return None;
        }
        let fields = if line.starts_with('@') { 4 } else { 3 };
        let words: Vec<_> = line.split_ascii_whitespace().take(fields).collect();
        let entry = Entry::from_str(&words.join(" ")).ok()?;
        let key = entry.public_key().to_bytes().ok()?;
        Some(Self { marker: entry.marker().copied(), hosts: entry.into(), key })
    }

    fn matches(&self, (host, port): &ContactedHost) -> bool {
        let host = host.to_ascii_lowercase();
        let with_port = format!("[{host}]:{port}");
        // If no line has the port, `ssh` searches for the name alone.
        let names = if *port == DEFAULT_PORT { vec![host] } else { vec![with_port, host] };
        names.iter().any(|name| self.matches_name(name))
    }

    fn matches_name(&self, name: &str) -> bool {
        match &self.hosts {
            HostPatterns::HashedName { salt, hash } => has_hash(name, salt, hash),
            HostPatterns::Patterns(patterns) => {
                let is = |pattern: &str| matches_host_pattern(&pattern.to_ascii_lowercase(), name);
                let mut negated = patterns.iter().filter_map(|pattern| pattern.strip_prefix('!'));
                !negated.any(is)
                    && patterns.iter().any(|pattern| !pattern.starts_with('!') && is(pattern))
            }
        }
    }

    /// Returns the first name that is neither hashed nor a pattern, without its port.
    fn plain_name(&self) -> Option<String> {
        let HostPatterns::Patterns(patterns) = &self.hosts else { return None };
        if patterns.iter().any(|pattern| pattern.starts_with('!')) {
            return None;
        }
        let mut names = patterns.iter().map(|pattern| strip_port(pattern));
        names.find(|name| is_plain_name(name)).map(str::to_ascii_lowercase)
    }
}

/// Returns whether a name has this hash: HMAC-SHA1, with the salt as the key.
fn has_hash(name: &str, salt: &[u8], hash: &[u8; 20]) -> bool {
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(salt) else { return false };
    mac.update(name.as_bytes());
    mac.verify_slice(hash).is_ok()
}

fn strip_port(pattern: &str) -> &str {
    let bracketed = pattern.strip_prefix('[').and_then(|rest| rest.split_once("]:"));
    bracketed.map_or(pattern, |(name, _)| name)
}

fn is_plain_name(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    !name.is_empty() && name.chars().all(fine)
}
