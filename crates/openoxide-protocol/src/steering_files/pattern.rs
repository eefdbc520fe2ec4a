//! Matching paths against the patterns of steering files. Letters are compared without case: some file systems ignore it.

use std::collections::HashSet;

use super::{SteeringFile, all_steering_files};
use crate::AbsPath;

/// Returns whether consecutive components of the path match the pattern, or its last components
/// match the beginning of the pattern.
pub(super) fn matches_path(file: &SteeringFile, path: &AbsPath) -> bool {
    let mut rest = path_components(path.as_str());
    loop {
        let Some(first) = rest.clone().next() else { return false };
        if file.components().next().is_some_and(|pattern| matches_component(pattern, first))
            && matches_components(file, rest.clone())
        {
            return true;
        }
        rest.next();
    }
}

/// Returns whether the components of a path match those of the pattern.
///
/// If the path ends before the pattern does, it is a directory that would contain the file. A
/// single component without a leading dot (`bin`, `etc`) is too common a name for such a match.
fn matches_components<'a>(file: &SteeringFile, mut path: impl Iterator<Item = &'a str>) -> bool {
    for (number, pattern) in file.components().enumerate() {
        match path.next() {
            Some(name) if matches_component(pattern, name) => {}
            Some(_) => return false,
            None => return number > 1 || file.pattern().starts_with('.'),
        }
    }
    true
}

fn path_components(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('/').filter(|name| !name.is_empty())
}

/// Returns whether a name matches a component, which contains at most one `*`.
fn matches_component(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern.eq_ignore_ascii_case(name);
    };
    let Some(rest) = name.len().checked_sub(tail.len()).filter(|at| *at >= head.len()) else {
        return false;
    };
    let same = |part: Option<&str>, wanted: &str| {
        part.is_some_and(|part| part.eq_ignore_ascii_case(wanted))
    };
    same(name.get(..head.len()), head) && same(name.get(rest..), tail)
}

/// The steering files by the beginning of their patterns.
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
    /// In lower case.
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
