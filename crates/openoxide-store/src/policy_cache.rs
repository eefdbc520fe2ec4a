//! The compiled policy on disk, so that a hook does not have to compile ten thousand rules to
//! evaluate one command.
//!
//! The file begins with the lengths of its parts, which are:
//!
//! - the signature: which files it was compiled from, and their state (any difference of state
//!   causes a new compilation)
//! - the metadata, such as notes for the user
//! - the data that is needed to decide
//! - the texts of the rules, of which only the text of the deciding rule is read
//!
//! The cache contains nothing that this user could not write anyway. It is only trusted if no other
//! user can write it.
//!
//! A policy with limited grants is stored together with the policy without them. It is used as long
//! as each of these grants is valid.
//!
//! The file is also the last good version of its sources until the next valid version replaces it.
//! A policy that must not be cached, because it has hooks, is only stored for this purpose.

use std::{
    fs::{self, File},
    io::Write as _,
    ops::Range,
    os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _},
    path::PathBuf,
    sync::Arc,
};

use openoxide_permission::PolicyStack;
use openoxide_protocol::AbsPath;
use serde::{Deserialize, Serialize};

use crate::{
    deferred_policy::{DeferredPolicy, StoredPolicy},
    file_access::open_regular,
    grant_file::{GrantEntry, GrantFile},
    loaded_policy::UntrustedProject,
    policy_file::SandboxSettings,
    policy_signature::PolicySignature,
    policy_sources::PolicySource,
    resolved_directory::resolve_directory,
    user_environment::UserEnvironment,
};

const MAX_CACHE_BYTES: u64 = 1 << 30;

/// The number of parts of the file: the source files, their state, the metadata, the policy, the
/// policy without limited grants, and the texts of the rules of both.
const PART_COUNT: usize = 7;

/// The prefix of the state of a policy that is only stored for its deny rules. The state of files
/// begins with 0, 1 or 2.
const LAST_GOOD_MARKER: &[u8] = b"last good";

/// The data that is stored next to the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CacheMetadata {
    pub(crate) notes: Vec<String>,
    pub(crate) untrusted: Vec<UntrustedProject>,
    /// The active additional directories, both as written and resolved.
    pub(crate) roots: Vec<AbsPath>,
    /// The sandbox settings.
    pub(crate) sandbox: SandboxSettings,
    /// Each directory that a file names, with the path that it resolved to.
    pub(crate) directory_targets: Vec<(AbsPath, Option<AbsPath>)>,
    /// The limited grants in force.
    pub(crate) limited_grants: Vec<GrantEntry>,
    /// The tasks other than this one in which grants are valid.
    pub(crate) other_tasks: Vec<String>,
}

impl CacheMetadata {
    /// Returns whether every named directory still resolves to the same path.
    fn is_current(&self) -> bool {
        self.directory_targets.iter().all(|(named, led)| resolve_directory(named) == *led)
    }
}

/// The location of the compiled policy of these sources.
#[derive(Debug)]
pub(crate) struct PolicyCache {
    path: PathBuf,
    signature: PolicySignature,
    /// The grants, to check whether limited grants are still valid.
    grants: Option<GrantFile>,
}

impl PolicyCache {
    /// Returns the cache for these sources. Returns `None` if there is no cache directory.
    pub(crate) fn for_sources(
        sources: &[PolicySource],
        environment: &UserEnvironment,
    ) -> Option<Self> {
        let directory = environment.cache.as_ref()?.join("openoxide");
        let name = sources.iter().fold(FileNameHash::default(), |name, source| {
            name.with_bytes(source.path.as_os_str().as_encoded_bytes())
        });
        let path = directory.join(format!("policy-{:016x}.bin", name.0));
        let grants = sources.iter().find(|source| source.is_grant_file);
        let grants = grants.map(|source| GrantFile::for_project(environment, &source.base));
        Some(Self { path, signature: PolicySignature::for_sources(sources, environment), grants })
    }

    /// Returns the policy if it is stored, undamaged, and compiled from exactly these files in
    /// their current state. The policy without limited grants, which few calls need, is read later.
    pub(crate) fn fetch(&self) -> Option<(PolicyStack, CacheMetadata, Option<DeferredPolicy>)> {
        self.signature.is_complete.then_some(())?;
        let kept = CacheEntry::open(self)?;
        (kept.state == self.signature.state).then_some(())?;
        let beside = match kept.metadata.as_slice() {
            [] => CacheMetadata::default(),
            bytes => serde_json::from_slice::<CacheMetadata>(bytes)
                .ok()
                .filter(CacheMetadata::is_current)?,
        };
        self.has_unchanged_grants(&beside).then_some(())?;
        let without = match beside.limited_grants.is_empty() {
            true => None,
            false if kept.policy_without_limited.length == 0 => return None,
            false => Some(DeferredPolicy::new(kept.policy_without_limited)),
        };
        Some((kept.policy.read()?, beside, without))
    }

    /// Returns whether the time, the use counts and the task leave the set of valid grants
    /// unchanged.
    fn has_unchanged_grants(&self, beside: &CacheMetadata) -> bool {
        if beside.limited_grants.is_empty() && beside.other_tasks.is_empty() {
            return true;
        }
        self.grants.as_ref().is_some_and(|grants| {
            let begins = |task: &String| grants.current_task() == Some(task);
            beside.limited_grants.iter().all(|entry| grants.is_in_force(entry))
                && !beside.other_tasks.iter().any(begins)
        })
    }

    /// Returns the policy that was compiled from the same files in an earlier state without errors.
    pub(crate) fn load_last_good(&self) -> Option<PolicyStack> {
        let kept = CacheEntry::open(self)?;
        // Rules of limited grants must not remain in force through the last good version.
        match kept.policy_without_limited.length {
            0 => kept.policy.read(),
            _ => kept.policy_without_limited.read(),
        }
    }

    /// Stores a policy. If this fails, the next load is slower, and the deny rules are lost if the
    /// files become invalid.
    pub(crate) fn store(
        &self,
        policy: &PolicyStack,
        beside: &CacheMetadata,
        without: Option<&PolicyStack>,
    ) {
        if self.signature.is_stable {
            drop(self.try_store(&self.signature.state, policy, beside, without));
        }
    }

    /// Stores a policy only as the last good version. It is never fetched, because its state
    /// differs from every state of files.
    pub(crate) fn store_last_good(&self, policy: &PolicyStack) {
        let state = [LAST_GOOD_MARKER, &self.signature.state].concat();
        let kept = || CacheEntry::open(self).is_some_and(|kept| kept.state == state);
        if self.signature.is_stable && !kept() {
            drop(self.try_store(&state, policy, &CacheMetadata::default(), None));
        }
    }

    fn try_store(
        &self,
        state: &[u8],
        policy: &PolicyStack,
        beside: &CacheMetadata,
        without: Option<&PolicyStack>,
    ) -> std::io::Result<()> {
        let Some(directory) = self.path.parent() else { return Ok(()) };
        let beside = match *beside == CacheMetadata::default() {
            true => Vec::new(),
            false => serde_json::to_vec(beside)?,
        };
        let details = [policy.details(), without.map(PolicyStack::details).unwrap_or_default()];
        let without = without.map_or(&[][..], PolicyStack::as_bytes);
        let [texts, texts_without] = &details;
        let files = &self.signature.files;
        let parts: [&[u8]; PART_COUNT] =
            [files, state, &beside, policy.as_bytes(), without, texts, texts_without];
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        // A new file with mode 0600 replaces the old one atomically.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        for part in parts {
            file.write_all(&(part.len() as u64).to_le_bytes())?;
        }
        for part in parts {
            file.write_all(part)?;
        }
        file.persist(&self.path)?;
        Ok(())
    }
}

/// An existing cache file of the same sources.
struct CacheEntry {
    state: Vec<u8>,
    metadata: Vec<u8>,
    policy: StoredPolicy,
    /// The policy without limited grants; its length is 0 if there are none.
    policy_without_limited: StoredPolicy,
}

impl CacheEntry {
    fn open(cache: &PolicyCache) -> Option<Self> {
        let (file, meta) = open_regular(&cache.path, MAX_CACHE_BYTES).ok()?;
        let own = fs::metadata("/proc/self").ok()?.uid();
        if meta.mode() & 0o022 != 0 || meta.uid() != own {
            return None;
        }
        let [files, state, metadata, policy, without, texts, texts_without] =
            part_ranges(&file, meta.len())?;
        let read = |part: &Range<usize>| {
            let mut bytes = vec![0; part.len()];
            file.read_exact_at(&mut bytes, part.start as u64).ok()?;
            Some(bytes)
        };
        let (is_same, state, metadata) =
            (read(&files)? == cache.signature.files, read(&state)?, read(&metadata)?);
        let file = Arc::new(file);
        let stored = |part: &Range<usize>, texts: &Range<usize>| StoredPolicy {
            file: Arc::clone(&file),
            start: part.start,
            length: part.len(),
            details_start: texts.start,
        };
        let (policy, policy_without_limited) =
            (stored(&policy, &texts), stored(&without, &texts_without));
        is_same.then_some(Self { state, metadata, policy, policy_without_limited })
    }
}

/// Returns the range of each part of a cache file.
fn part_ranges(file: &File, file_length: u64) -> Option<[Range<usize>; PART_COUNT]> {
    let mut lengths = [0; PART_COUNT * size_of::<u64>()];
    file.read_exact_at(&mut lengths, 0).ok()?;
    let mut end = lengths.len();
    let mut ranges: [Range<usize>; PART_COUNT] = Default::default();
    for (range, length) in ranges.iter_mut().zip(lengths.chunks_exact(size_of::<u64>())) {
        let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
        let start = end;
        end = start.checked_add(length).filter(|end| *end as u64 <= file_length)?;
        *range = start..end;
    }
    Some(ranges)
}

/// Computes a file name from the paths of the sources (FNV-1a). Sources with the same name
/// overwrite each other's file.
struct FileNameHash(u64);

impl Default for FileNameHash {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl FileNameHash {
    fn with_bytes(self, bytes: &[u8]) -> Self {
        let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        Self(bytes.iter().chain(&[0]).fold(self.0, step))
    }
}
