//! Tests of merges.

use std::path::Path;

use super::merge_changes;

const BASE: &str = "[core]\n\tbare = false\n\tpager = less\n[user]\n\tname = A\n";

fn merge(before: &str, after: &str, now: &str) -> Option<(String, Vec<String>)> {
    let merged = merge_changes(
        before.as_bytes(),
        after.as_bytes(),
        now.as_bytes(),
        Path::new("/none/config"),
    )?;
    Some((String::from_utf8(merged.harmless).unwrap(), merged.conflicts.into_iter().collect()))
}

#[test]
fn harmless_changes_are_separated_from_others() {
    let after = "[core]\n\tbare = false\n\tpager = evil\n[user]\n\tname = B\n[remote \"o\"]\n\turl = https://x/y\n\tfetch = refs/heads/a:refs/remotes/o/a\n\tfetch = refs/heads/b:refs/remotes/o/b\n[alias]\n\tx = !y\n";
    let expected = "[core]\n\tbare = false\n\tpager = less\n[user]\n\tname = B\n[remote \"o\"]\n\turl = https://x/y\n\tfetch = refs/heads/a:refs/remotes/o/a\n\tfetch = refs/heads/b:refs/remotes/o/b\n";
    assert_eq!(merge(BASE, after, BASE), Some((expected.to_owned(), vec![])));
}

#[test]
fn nothing_is_applied_if_other_settings_are_removed() {
    assert_eq!(merge(BASE, "", BASE), Some((BASE.to_owned(), vec![])));
    let after = "[user]\n\tname = B\n";
    assert_eq!(merge(BASE, after, BASE), Some((BASE.to_owned(), vec![])));
}

#[test]
fn changes_of_both_are_merged_and_conflicts_are_named() {
    let after = BASE.replace("name = A", "name = B\n\temail = b");
    let now = format!("# mine\n{}[pull]\n\trebase = true\n", BASE.replace("less", "more"));
    let expected = now.replace("name = A", "name = B\n\temail = b");
    assert_eq!(merge(BASE, &after, &now), Some((expected, vec![])));
    let now = BASE.replace("name = A", "name = C");
    let expected = now.replace("name = C", "name = C\n\temail = b");
    assert_eq!(merge(BASE, &after, &now), Some((expected, vec!["user.name".to_owned()])));
}

#[test]
fn files_with_other_layouts_are_not_merged() {
    for after in [
        "[core] bare = true\n",
        "[core]\n\tbare = tr\\\nue\n",
        "[core]\n\tbare = true\r\n",
        "[core\n",
    ] {
        assert_eq!(merge(BASE, after, BASE), None, "{after}");
        assert_eq!(merge(BASE, BASE, after), None, "{after}");
    }
}
