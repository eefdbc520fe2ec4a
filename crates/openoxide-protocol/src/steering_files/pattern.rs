//! Matching paths against the patterns of steering files. Letters are compared without case: some file systems ignore it.

use std::collections::HashSet;

use super::{SteeringFile, steering_files};
use crate::AbsPath;

/// Says whether consecutive components of the path match the pattern, or its last components match the beginning of it.
pub(super) fn matches(file: &SteeringFile, path: &AbsPath) -> bool {
    let mut rest = names(path.as_str());
    loop {
        let Some(first) = rest.clone().next() else { return false };
        if file.components().next().is_some_and(|pattern| matches_name(pattern, first))
            && matches_here(file, rest.clone())
        {
            return true;
        }
        rest.next();
    }
}

/// Where the path ends before the pattern does, it is a directory that would hold the file. A single component of a pattern
/// that is no dotted name (`bin`, `etc`) is too common a name for that.
fn matches_here<'a>(file: &SteeringFile, mut path: impl Iterator<Item = &'a str>) -> bool {
    for (number, pattern) in file.components().enumerate() {
        match path.next() {
            Some(name) if matches_name(pattern, name) => {}
            Some(_) => return false,
            None => return number > 1 || file.pattern().starts_with('.'),
        }
    }
    true
}

fn names(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('/').filter(|name| !name.is_empty())
}

/// Says whether a name matches a component, which holds one `*` at most.
fn matches_name(pattern: &str, name: &str) -> bool {
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
pub(super) struct Index {
    by_key: Vec<Vec<&'static SteeringFile>>,
    wild: Vec<&'static SteeringFile>,
}

impl Index {
    pub(super) fn new() -> Self {
        let mut index = Self { by_key: vec![Vec::new(); 512], wild: Vec::new() };
        for file in steering_files() {
            let first = file.components().next().unwrap_or_default();
            let is_wild = first.trim_start_matches('.').starts_with('*');
            match index.by_key.get_mut(key(first)) {
                Some(bucket) if !is_wild => bucket.push(file),
                _ => index.wild.push(file),
            }
        }
        index
    }

    /// Returns the files whose patterns may begin with one of the path's components.
    pub(super) fn candidates(&self, path: &AbsPath) -> impl Iterator<Item = &'static SteeringFile> {
        let keys = names(path.as_str()).map(key);
        let mut keys: Vec<_> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        let buckets = keys.into_iter().filter_map(|key| self.by_key.get(key));
        buckets.flatten().chain(&self.wild).copied()
    }
}

/// The components of all patterns.
#[derive(Debug)]
pub(super) struct Components {
    /// In lower case.
    fixed: HashSet<String>,
    wild: Vec<&'static str>,
}

impl Components {
    pub(super) fn new() -> Self {
        let all = || steering_files().flat_map(SteeringFile::components);
        let fixed = all().filter(|component| !component.contains('*'));
        let wild = all().filter(|component| component.contains('*')).collect();
        Self { fixed: fixed.map(str::to_ascii_lowercase).collect(), wild }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.fixed.contains(&name.to_ascii_lowercase())
            || self.wild.iter().any(|pattern| matches_name(pattern, name))
    }
}

/// Whether a name is dotted, and its first letter.
fn key(name: &str) -> usize {
    let dotted = name.strip_prefix('.');
    let letter = dotted.unwrap_or(name).bytes().next().unwrap_or_default();
    usize::from(letter.to_ascii_lowercase()) + if dotted.is_some() { 256 } else { 0 }
}
