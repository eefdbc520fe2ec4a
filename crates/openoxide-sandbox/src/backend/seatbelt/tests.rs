use super::*;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

/// The lines after the base, written by hand from the reference. Each root has one rule, which
/// excludes the literal and the subpath of each protected path, and the literal of each directory
/// above it.
#[test]
fn a_workspace_profile_reads_as_worked_out() {
    let confined = SandboxRestrictions {
        writable: [path("/p"), path("/q")].into(),
        protected: [path("/p/.git"), path("/p/sub/.codex")].into(),
        unreadable: [path("/h/.ssh")].into(),
        ..SandboxRestrictions::default()
    };
    let SeatbeltProfile { text, parameters } = build_profile(&confined);
    let expected = r#"(allow file-write* (require-all (subpath (param "ROOT_0")) (require-not (literal (param "PROTECTED_1"))) (require-not (subpath (param "PROTECTED_1"))) (require-not (literal (param "ABOVE_2"))) (require-not (literal (param "PROTECTED_3"))) (require-not (subpath (param "PROTECTED_3"))) (require-not (literal (param "ABOVE_4"))) (require-not (literal (param "ABOVE_5")))))
(allow file-write* (require-all (subpath (param "ROOT_6"))))
(allow file-write* (subpath (param "TEMP")))
(deny file-read* file-write* (literal (param "UNREADABLE_7")) (subpath (param "UNREADABLE_7")))
"#;
    assert_eq!(text.strip_prefix(BASE), Some(expected));
    let paths: Vec<_> = parameters.iter().map(|(_, path)| path.as_str()).collect();
    assert_eq!(paths, ["/p", "/p/.git", "/p", "/p/sub/.codex", "/p/sub", "/p", "/q", "/h/.ssh"]);
    assert!(text.starts_with("(version 1)\n(deny default)\n"));
}

#[test]
fn a_read_only_profile_writes_nothing_and_reaches_nothing() {
    let confined =
        SandboxRestrictions { temp: TempDirectories::ReadOnly, ..SandboxRestrictions::default() };
    assert_eq!(build_profile(&confined).text, BASE);
    assert!(!BASE.contains("network") && !BASE.contains("subpath"));
}

#[test]
fn no_path_becomes_a_part_of_the_text() {
    let evil = path("/p\") (allow default) (\"");
    let confined =
        SandboxRestrictions { writable: [evil.clone()].into(), ..SandboxRestrictions::default() };
    let found = build_profile(&confined);
    assert!(!found.text.contains("allow default"));
    assert_eq!(found.parameters, [("ROOT_0".to_owned(), evil)]);
}

#[test]
fn the_whole_network_is_never_the_sockets_of_services() {
    let confined = SandboxRestrictions {
        network: NetworkAccess::On,
        temp: TempDirectories::ReadOnly,
        ..SandboxRestrictions::default()
    };
    let text = build_profile(&confined).text;
    assert_eq!(
        text.strip_prefix(BASE),
        Some("(allow network*)\n(deny network* (remote unix-socket))\n")
    );
}
