use openoxide_protocol::AbsPath;

use super::*;

const POLICY: &str = r#"# My rules.
mode="default"   # ask me

[permissions]
combining = 'strictest'
deny  = [ "Bash(rm *)",   'Read(~/.ssh/**)' ]  # never
ask = [
  "Bash(git push *)", # it leaves the house
  # Two that change production.
  "Bash(terraform apply *)",

  "Bash(kubectl apply *)" # both
  ]
allow = []

# Long ones.
[[permissions.rule]]
permission='bash'
pattern = 'echo "x" *'
action = "ask"
match = ["echo \"x\" y"]
"#;

const USUAL: &str = r#"# My rules.
mode = "default" # ask me

[permissions]
combining = "strictest"
deny = [
    "Bash(rm *)",
    "Read(~/.ssh/**)",
] # never
ask = [
    "Bash(git push *)", # it leaves the house
    # Two that change production.
    "Bash(terraform apply *)",
    "Bash(kubectl apply *)", # both
]
allow = []

# Long ones.
[[permissions.rule]]
permission = "bash"
pattern = 'echo "x" *'
action = "ask"
match = [
    'echo "x" y',
]
"#;

fn means_the_same(before: &str, after: &str) -> bool {
    let base = AbsPath::new("/p").unwrap();
    is_equivalent_policy(before, after, PathAnchors { home: Some(&base), base: &base })
}

#[test]
fn the_layout_changes_and_the_meaning_and_the_comments_do_not() {
    let found = format_policy(POLICY).unwrap();
    assert_eq!(found, USUAL);
    assert_eq!(format_policy(&found).unwrap(), found);
    assert!(means_the_same(POLICY, &found));
    assert!(!means_the_same(POLICY, &found.replace("rm", "mv")));
    assert!(format_policy("deny = [").is_err());
    assert_eq!(format_policy("").unwrap(), "");
}

#[test]
fn a_rule_comes_last_in_its_list_and_nothing_else_changes() {
    let found = with_rule(USUAL, Effect::Ask, "Bash(make *)", None).unwrap();
    let expected = USUAL.replace(
        "\"Bash(kubectl apply *)\", # both\n",
        "\"Bash(kubectl apply *)\", # both\n    \"Bash(make *)\",\n",
    );
    assert_eq!(found, expected);
    assert_eq!(with_rule(&found, Effect::Ask, "Bash(make *)", None).unwrap(), found);
    let inline =
        with_rule("[permissions]\nallow = [\"Bash(a)\"] # x\n", Effect::Allow, "Bash(b)", None);
    assert_eq!(inline.unwrap(), "[permissions]\nallow = [\"Bash(a)\", \"Bash(b)\"] # x\n");
    let first = with_rule("", Effect::Deny, "Bash(b)", None).unwrap();
    assert_eq!(first, "[permissions]\ndeny = [\"Bash(b)\"]\n");
    let long = with_rule(&first, Effect::Ask, "mcp__a__b", Some("it posts")).unwrap();
    let table = "\n[[permissions.rule]]\npermission = \"mcp__a__b\"\npattern = \"*\"\naction = \"ask\"\nreason = \"it posts\"\n";
    assert_eq!(long, first.clone() + table);
    assert_eq!(without_rule(&long, "mcp__a__b").unwrap(), (first, 1));
    assert!(with_rule("permissions = 1", Effect::Deny, "Bash(b)", None).is_err());
}

#[test]
fn a_removed_rule_takes_only_its_own_comment_along() {
    let (found, count) = without_rule(USUAL, "Bash(terraform apply *)").unwrap();
    assert_eq!(count, 1);
    assert_eq!(found, USUAL.replace("    \"Bash(terraform apply *)\",\n", ""));
    let (found, _) = without_rule(USUAL, "Bash(kubectl apply *)").unwrap();
    assert_eq!(found, USUAL.replace("    \"Bash(kubectl apply *)\", # both\n", ""));
    let (found, _) = without_rule("[permissions]\nallow = [\"a\", \"b\"]\n", "a").unwrap();
    assert_eq!(found, "[permissions]\nallow = [\"b\"]\n");
    assert_eq!(without_rule(USUAL, "bash(echo \"x\" *)").unwrap().1, 1);
    assert_eq!(without_rule(USUAL, "Bash(x)").unwrap(), (USUAL.to_owned(), 0));
}

#[test]
fn a_file_is_replaced_with_its_mode_and_through_its_link() {
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real"), dir.path().join("link"));
    fs::write(&real, "a").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    replace_file(&link, "b").unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "b");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    let new = dir.path().join("deep/new");
    replace_file(&new, "c").unwrap();
    assert_eq!(fs::metadata(&new).unwrap().permissions().mode() & 0o777, 0o644);
}
