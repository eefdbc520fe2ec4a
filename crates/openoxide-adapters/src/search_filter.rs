//! The patterns with which the search tools of agents select files.

/// A pattern that matches all files, including ignored ones. A search without a pattern uses `*`.
pub(crate) const ALL_FILES: &str = "**";

/// Returns the patterns of the files to which a search is limited. Agents split the text at white
/// space, and at commas outside of braces. A pattern that excludes files does not limit the search.
pub(crate) fn filter_patterns(text: &str) -> Vec<&str> {
    fn split(part: &str) -> Vec<&str> {
        match part.contains('{') {
            true => vec![part],
            false => part.split(',').collect(),
        }
    }
    let parts = text.split_whitespace().flat_map(split).filter(|part| !part.is_empty());
    let mut patterns: Vec<_> = parts
        .map(|part| match part {
            "*" => ALL_FILES,
            _ if part.contains(['!', '\0']) => "*",
            _ if !is_plain_filter(part) => ALL_FILES,
            _ => part,
        })
        .collect();
    if patterns.is_empty() {
        // Agents omit the filter then.
        patterns.push(ALL_FILES);
    }
    patterns
}

/// Returns whether all search programs read a filter as the same pattern. ripgrep reads it as a line
/// of a `.gitignore`, in which `#` begins a comment and trailing blanks are ignored, and ignores a
/// brace that closes nothing. For ugrep, `^` negates.
#[must_use]
pub fn is_plain_filter(pattern: &str) -> bool {
    let is_plain = |character: char| character.is_alphanumeric() || PLAIN.contains(character);
    pattern.chars().all(is_plain) && has_matching_braces(pattern)
}

/// The characters other than letters and digits that a plain filter can contain.
const PLAIN: &str = "._-*?/{},[]+@~=%";

fn has_matching_braces(pattern: &str) -> bool {
    let mut depth = 0_usize;
    for character in pattern.chars() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return false,
            '}' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

/// Returns the directory that a pattern names before its first wildcard, if any. The directory can
/// also be a link.
pub(crate) fn find_fixed_prefix(place: &str, pattern: &str) -> Option<String> {
    let wild = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    let (fixed, rest) = pattern.split_at_checked(wild)?;
    // After a wildcard, dots can lead to any directory, and braces and classes can produce dots and
    // slashes.
    let (before, last) = rest.rsplit_once('/').unwrap_or(("", rest));
    let strange = before.contains(['{', '[', '\\']) || last.contains('\\');
    if rest.contains("..") || strange {
        return Some("/".to_owned());
    }
    let absolute = fixed.starts_with(['/', '~']);
    match (absolute, fixed.rsplit_once('/').map(|(directory, _)| directory)) {
        (true, None | Some("")) => Some("/".to_owned()),
        (true, Some(directory)) => Some(directory.to_owned()),
        (false, Some(directory)) => Some(format!("{place}/{directory}")),
        (false, None) => None,
    }
}
