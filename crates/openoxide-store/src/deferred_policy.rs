//! Compiled policies in a cache file that are read on first use.

use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    sync::{Arc, OnceLock},
};

use openoxide_permission::{PolicyDetailsReader, PolicyStack};

/// The location of a compiled policy in a cache file. The file is replaced as a whole and never
/// changed, so the location stays valid while the file is open.
#[derive(Clone, Debug)]
pub(crate) struct StoredPolicy {
    /// The cache file.
    pub(crate) file: Arc<File>,
    /// The offset of the data that decisions require.
    pub(crate) start: usize,
    /// The length of that data; 0 if there is no policy.
    pub(crate) length: usize,
    /// The offset of the texts of the rules.
    pub(crate) details_start: usize,
}

impl StoredPolicy {
    /// Reads the policy. Returns `None` if there is none or it is damaged.
    pub(crate) fn read(&self) -> Option<PolicyStack> {
        let mut bytes = vec![0; self.length];
        self.file.read_exact_at(&mut bytes, u64::try_from(self.start).ok()?).ok()?;
        let details = FileDetails { file: Arc::clone(&self.file), start: self.details_start };
        PolicyStack::from_parts(bytes, Arc::new(details)).ok()
    }
}

/// The details of a policy, which are read from its cache file.
#[derive(Debug)]
struct FileDetails {
    file: Arc<File>,
    start: usize,
}

impl PolicyDetailsReader for FileDetails {
    fn read(&self, at: usize, length: usize) -> Option<Vec<u8>> {
        let place = u64::try_from(self.start.checked_add(at)?).ok()?;
        let left = usize::try_from(self.file.metadata().ok()?.len().checked_sub(place)?).ok()?;
        let mut bytes = vec![0; length.min(left)];
        self.file.read_exact_at(&mut bytes, place).ok()?;
        (bytes.len() == length).then_some(bytes)
    }
}

/// A policy that is read when it is first needed.
#[derive(Clone, Debug)]
pub(crate) struct DeferredPolicy {
    policy: OnceLock<PolicyStack>,
    stored: Option<StoredPolicy>,
}

impl DeferredPolicy {
    /// Creates a policy that is read on first use.
    pub(crate) const fn new(stored: StoredPolicy) -> Self {
        Self { policy: OnceLock::new(), stored: Some(stored) }
    }

    /// Returns the policy. If it cannot be read, returns a policy that allows nothing and has the
    /// deny rules of `restrictive`.
    pub(crate) fn get_or_restrict(&self, restrictive: &PolicyStack) -> &PolicyStack {
        self.policy.get_or_init(|| {
            self.stored
                .as_ref()
                .and_then(StoredPolicy::read)
                .unwrap_or_else(|| PolicyStack::default().with_fallback_denies(restrictive.clone()))
        })
    }
}

impl From<PolicyStack> for DeferredPolicy {
    fn from(policy: PolicyStack) -> Self {
        Self { policy: policy.into(), stored: None }
    }
}
