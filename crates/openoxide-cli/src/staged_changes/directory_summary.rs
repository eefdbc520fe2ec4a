//! A summary of many changes by directory.

use std::collections::BTreeMap;

/// A directory, and the changes in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DirectoryGroup {
    /// The path with a slash at the end, or the path of a single file.
    pub(super) path: String,
    /// The indices of the paths.
    pub(super) members: Vec<usize>,
}

/// Groups paths by directory: as deep as the number of groups permits, the largest groups first.
pub(super) fn group_by_directory(paths: &[String], max_groups: usize) -> Vec<DirectoryGroup> {
    let all = DirectoryGroup { path: String::new(), members: (0..paths.len()).collect() };
    let mut groups = vec![all];
    let mut whole: Vec<DirectoryGroup> = Vec::new();
    while !groups.is_empty() {
        groups.sort_by_key(|group| group.members.len());
        let Some(group) = groups.pop() else { break };
        let parts = split_group(&group, paths);
        let fits = groups.len() + whole.len() + parts.len() <= max_groups;
        if group.members.len() > 1 && fits {
            groups.extend(parts);
        } else {
            whole.push(name_single_file(group, paths));
        }
    }
    whole.sort_by(|a, b| a.path.cmp(&b.path));
    whole
}

/// Names the file itself if the group contains only one.
fn name_single_file(group: DirectoryGroup, paths: &[String]) -> DirectoryGroup {
    let path = match group.members.as_slice() {
        [only] => paths.get(*only).cloned(),
        _ => None,
    };
    DirectoryGroup { path: path.unwrap_or(group.path), members: group.members }
}

/// Splits a group by the next component of the paths.
fn split_group(group: &DirectoryGroup, paths: &[String]) -> Vec<DirectoryGroup> {
    let mut parts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for at in &group.members {
        let rest = paths.get(*at).and_then(|path| path.get(group.path.len()..)).unwrap_or_default();
        let end = rest.find('/').map_or(rest.len(), |at| at + 1);
        let part = format!("{}{}", group.path, rest.get(..end).unwrap_or_default());
        parts.entry(part).or_default().push(*at);
    }
    parts.into_iter().map(|(path, members)| DirectoryGroup { path, members }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(paths: &[String]) -> Vec<(String, usize)> {
        let groups = group_by_directory(paths, 40).into_iter();
        groups.map(|group| (group.path, group.members.len())).collect()
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
        assert!(found.len() <= 40, "{}", found.len());
        assert_eq!(found.iter().map(|(_, count)| count).sum::<usize>(), 5_000);
    }
}
