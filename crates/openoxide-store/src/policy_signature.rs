//! The signature of a policy: its files, and the state of each file.

use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::{Duration, SystemTime},
};

use openoxide_protocol::AbsPath;

use crate::{
    file_access::metadata_if_present,
    grant_file::GrantFile,
    policy_sources::{PolicySource, SourceUse},
    trust_store::TrustStore,
    user_environment::UserEnvironment,
};

/// The minimum age of a change. A file that changed more recently could change again within the
/// resolution of the clock, unnoticed.
pub(crate) const STABLE_AFTER: Duration = Duration::from_secs(2);

/// The files that a policy was compiled from, and their state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicySignature {
    /// The sources: this program's version and built-in rules, the home directory, and for each
    /// source its path and how it is used.
    pub(crate) files: Vec<u8>,
    /// The state of each file: its device, inode, size, owner, mode and times.
    pub(crate) state: Vec<u8>,
    /// True if no file has changed for a while.
    pub(crate) is_stable: bool,
    /// True if the state of every file could be determined. If not, no cached policy matches it.
    pub(crate) is_complete: bool,
}

impl PolicySignature {
    /// Examines every source, and the files that decide which of its rules apply: the key of the
    /// grants, and the trust records.
    pub(crate) fn for_sources(sources: &[PolicySource], environment: &UserEnvironment) -> Self {
        let (files, state) = (Vec::with_capacity(512), Vec::with_capacity(512));
        let mut all = Self { files, state, is_stable: true, is_complete: true };
        let home = environment.home.as_ref().map_or("", |home| home.as_str());
        write_field(&mut all.files, env!("CARGO_PKG_VERSION").as_bytes());
        for text in openoxide_permission::default_rule_texts().flatten() {
            write_field(&mut all.files, text.as_bytes());
        }
        write_field(&mut all.files, home.as_bytes());
        let trust = TrustStore::for_user(environment);
        for source in sources {
            all.add_source(source);
            all.add_file(&source.path);
            all.add_directories(source, environment);
            if source.is_grant_file {
                let grants = GrantFile::for_project(environment, &source.base);
                // A new directory at the path of a project has none of the grants of the old
                // directory.
                write_field(&mut all.state, grants.directory_identity().as_bytes());
                // A revoked grant is no longer valid, even if its entry still exists.
                let paths = [grants.key_path(), grants.usage_directory().ok()];
                paths.iter().flatten().for_each(|path| all.add_file(path));
            }
            // Some settings require trust even in files that may loosen the policy.
            let counts = source.is_grant_file || source.required && source.may_loosen;
            let bases =
                [Some(&source.base), source.main_checkout.as_ref()].into_iter().flatten().cloned();
            let vouched = bases.filter(|_| !counts).chain(source.trust_path());
            vouched
                .filter_map(|place| trust.record_path(&place))
                .for_each(|path| all.add_file(&path));
        }
        all
    }

    /// Returns whether the files or their states differ.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        self.files != other.files || self.state != other.state
    }

    fn add_source(&mut self, source: &PolicySource) {
        write_field(&mut self.files, source.path.as_os_str().as_encoded_bytes());
        write_field(&mut self.files, source.base.as_str().as_bytes());
        write_field(
            &mut self.files,
            source.main_checkout.as_ref().map_or("", AbsPath::as_str).as_bytes(),
        );
        write_field(&mut self.files, source.format.name.as_bytes());
        self.files.extend([
            source.kind as u8,
            u8::from(source.may_loosen),
            u8::from(source.required) | u8::from(source.is_grant_file) << 1,
            match source.usage {
                SourceUse::Complete => 0,
                SourceUse::RestrictionsOnly => 1,
                SourceUse::Unavailable(_) => 2,
            },
        ]);
        self.is_complete &= !matches!(source.usage, SourceUse::Unavailable(_));
    }

    /// Adds the owners and modes of the directories that decide whether a file is accepted.
    fn add_directories(&mut self, source: &PolicySource, environment: &UserEnvironment) {
        for directory in source.guarded_directories(environment) {
            match metadata_if_present(&directory) {
                Ok(meta) => {
                    let owned = meta.map(|meta| (meta.mode(), meta.uid()));
                    let (mode, owner) = owned.unwrap_or_default();
                    self.state.extend(mode.to_le_bytes().into_iter().chain(owner.to_le_bytes()));
                }
                Err(error) => self.add_unknown(&error),
            }
        }
    }

    /// Adds the state of a file.
    fn add_file(&mut self, path: &Path) {
        match metadata_if_present(path) {
            Ok(Some(meta)) => {
                write_metadata(&mut self.state, &meta);
                self.is_stable &= is_stable(&meta);
            }
            Ok(None) => self.state.push(0),
            Err(error) => self.add_unknown(&error),
        }
    }

    /// Adds a file that may exist but cannot be examined.
    fn add_unknown(&mut self, error: &std::io::Error) {
        self.state.push(2);
        self.state.extend(error.raw_os_error().unwrap_or(0).to_le_bytes());
        (self.is_stable, self.is_complete) = (false, false);
    }
}

fn write_field(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&bytes.len().to_le_bytes());
    out.extend_from_slice(bytes);
}

fn write_metadata(out: &mut Vec<u8>, meta: &Metadata) {
    out.push(1);
    for number in
        [meta.dev(), meta.ino(), meta.size(), u64::from(meta.mode()), u64::from(meta.uid())]
    {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for number in [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()] {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

fn is_stable(meta: &Metadata) -> bool {
    let Ok(now) = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) else { return false };
    let time = |seconds: i64, nanos: i64| {
        Some(Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?))
    };
    let times = [time(meta.mtime(), meta.mtime_nsec()), time(meta.ctime(), meta.ctime_nsec())];
    times.iter().all(|time| time.is_some_and(|time| time + STABLE_AFTER < now))
}
