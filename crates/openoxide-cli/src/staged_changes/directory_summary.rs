//! A summary of many changes by directory.

use std::collections::BTreeMap;

/// The maximum number of lines of a summary.
const MAX_GROUPS: usize = 40;

/// A directory, and the number of changes in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DirectoryGroup {
    /// The path with a slash at the end, or the path of a single file.
    pub(super) path: String,
    pub(super) count: usize,
}

/// Groups paths by directory: as deep as the number of lines permits, the largest groups first.
pub(super) fn group_by_directory(paths: &[String]) -> Vec<DirectoryGroup> {
    let all: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut groups: Vec<(String, Vec<&str>)> = vec![(String::new(), all)];
    let mut whole: Vec<(String, Vec<&str>)> = Vec::new();
    while !groups.is_empty() {
        groups.sort_by_key(|(_, members)| members.len());
        let Some((prefix, members)) = groups.pop() else { break };
        let parts = split_group(&prefix, &members);
        let fits = groups.len() + whole.len() + parts.len() <= MAX_GROUPS;
        if members.len() > 1 && fits {
            groups.extend(parts);
        } else {
            whole.push((prefix, members));
        }
    }
    whole.sort();
    whole.into_iter().map(new_group).collect()
}

fn new_group((directory, members): (String, Vec<&str>)) -> DirectoryGroup {
    match members.as_slice() {
        [file] => DirectoryGroup { path: (*file).to_owned(), count: 1 },
        _ => DirectoryGroup { path: directory, count: members.len() },
    }
}

/// Splits a group by the next component of the paths.
fn split_group<'a>(prefix: &str, members: &[&'a str]) -> Vec<(String, Vec<&'a str>)> {
    let mut parts: BTreeMap<String, Vec<&'a str>> = BTreeMap::new();
    for path in members {
        let rest = path.get(prefix.len()..).unwrap_or_default();
        let end = rest.find('/').map_or(rest.len(), |at| at + 1);
        let part = format!("{prefix}{}", rest.get(..end).unwrap_or_default());
        parts.entry(part).or_default().push(path);
    }
    parts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(paths: &[String]) -> Vec<(String, usize)> {
        group_by_directory(paths).into_iter().map(|group| (group.path, group.count)).collect()
    }

    #[test]
    fn directories_are_split_as_far_as_the_lines_permit() {
        let mut paths: Vec<String> =
            (0..500).map(|number| format!("node_modules/a/dist/f{number}")).collect();
        paths.extend((0..300).map(|number| format!("node_modules/b/p{number}/index.js")));
        paths.extend(["src/main.rs".to_owned(), "README.md".to_owned()]);
        let expected = [
            ("README.md", 1),
            ("node_modules/a/dist/", 500),
            ("node_modules/b/", 300),
            ("src/main.rs", 1),
        ];
        assert_eq!(groups(&paths), expected.map(|(path, count)| (path.to_owned(), count)));
        assert_eq!(groups(&[]), [(String::new(), 0)]);
    }

    #[test]
    fn the_number_of_lines_is_limited_and_no_file_is_lost() {
        let paths: Vec<String> = (0..5_000)
            .map(|number| format!("d{}/e{}/f{number}", number % 39, number % 7))
            .collect();
        let found = groups(&paths);
        assert!(found.len() <= MAX_GROUPS, "{}", found.len());
        assert_eq!(found.iter().map(|(_, count)| count).sum::<usize>(), 5_000);
    }
}
