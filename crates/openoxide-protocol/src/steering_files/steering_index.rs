//! An index of the steering files by the first component of their patterns.

use std::collections::HashSet;

use super::{
    path_match::{matches_component, path_components},
    steering_file::SteeringFile,
    steering_list::all_steering_files,
};
use crate::AbsPath;

/// The steering files, grouped by the first component of their patterns.
#[derive(Debug)]
pub(super) struct SteeringIndex {
    by_key: Vec<Vec<&'static SteeringFile>>,
    wildcard_files: Vec<&'static SteeringFile>,
}

impl SteeringIndex {
    pub(super) fn new() -> Self {
        let mut index = Self { by_key: vec![Vec::new(); 512], wildcard_files: Vec::new() };
        for file in all_steering_files() {
            let first = file.components().next().unwrap_or_default();
            let is_wild = first.trim_start_matches('.').starts_with('*');
            match index.by_key.get_mut(bucket_key(first)) {
                Some(bucket) if !is_wild => bucket.push(file),
                _ => index.wildcard_files.push(file),
            }
        }
        index
    }

    /// Returns the files whose patterns may begin with one of the path's components.
    pub(super) fn candidates(&self, path: &AbsPath) -> impl Iterator<Item = &'static SteeringFile> {
        let keys = path_components(path.as_str()).map(bucket_key);
        let mut keys: Vec<_> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        let buckets = keys.into_iter().filter_map(|key| self.by_key.get(key));
        buckets.flatten().chain(&self.wildcard_files).copied()
    }
}

/// The components of all patterns.
#[derive(Debug)]
pub(super) struct PatternComponents {
    /// The components without a wildcard, in lower case.
    literals: HashSet<String>,
    wildcards: Vec<&'static str>,
}

impl PatternComponents {
    pub(super) fn new() -> Self {
        let all = || all_steering_files().flat_map(SteeringFile::components);
        let fixed = all().filter(|component| !component.contains('*'));
        let wildcards = all().filter(|component| component.contains('*')).collect();
        Self { literals: fixed.map(str::to_ascii_lowercase).collect(), wildcards }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.literals.contains(&name.to_ascii_lowercase())
            || self.wildcards.iter().any(|pattern| matches_component(pattern, name))
    }
}

/// Returns the index bucket of a name. It depends on the first letter and on whether the name has a
/// leading dot.
fn bucket_key(name: &str) -> usize {
    let dotted = name.strip_prefix('.');
    let letter = dotted.unwrap_or(name).bytes().next().unwrap_or_default();
    usize::from(letter.to_ascii_lowercase()) + if dotted.is_some() { 256 } else { 0 }
}
