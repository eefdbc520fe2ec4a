//! Comparison of paths with the patterns of steering files. Case is ignored, because some file
//! systems ignore it.

use crate::AbsPath;

/// Returns whether consecutive components of the path match the pattern, or its last components
/// match the beginning of the pattern.
pub(super) fn matches_path(pattern: &str, path: &AbsPath) -> bool {
    let mut rest = path_components(path.as_str());
    loop {
        let Some(first) = rest.clone().next() else { return false };
        if path_components(pattern).next().is_some_and(|begin| matches_component(begin, first))
            && matches_components(pattern, rest.clone())
        {
            return true;
        }
        rest.next();
    }
}

/// Returns whether a path matches the pattern in one of the usual home directories.
pub(super) fn matches_below_home(pattern: &str, path: &AbsPath) -> bool {
    let mut rest = path_components(path.as_str());
    match rest.next() {
        Some("root") => {}
        Some("home" | "Users") => drop(rest.next()),
        Some("var") if rest.next() == Some("home") => drop(rest.next()),
        _ => return false,
    }
    matches_components(pattern, rest)
}

/// Returns whether the components of a path match those of the pattern.
///
/// If the path ends before the pattern does, it is a directory that would contain the file. A
/// single component without a leading dot (`bin`, `etc`) is too common a name for such a match.
fn matches_components<'a>(pattern: &str, mut path: impl Iterator<Item = &'a str>) -> bool {
    for (number, component) in path_components(pattern).enumerate() {
        match path.next() {
            Some(name) if matches_component(component, name) => {}
            Some(_) => return false,
            None => return number > 1 || pattern.starts_with('.'),
        }
    }
    true
}

/// Returns the components of a path or a pattern.
pub(super) fn path_components(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('/').filter(|name| !name.is_empty())
}

/// Returns whether a name matches a component, which contains at most one `*`.
pub(super) fn matches_component(pattern: &str, name: &str) -> bool {
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
