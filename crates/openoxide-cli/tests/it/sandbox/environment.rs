//! The environment of confined programs.

use super::Arena;

/// Runs a script with these variables, and returns its output and the messages.
fn run(options: &[&str], variables: &[(&str, &str)], script: &str) -> (String, String) {
    let arena = Arena::new();
    let mut run = arena.run(options, &["sh", "-c", script]);
    let output = run.envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn harmless_values_are_passed_without_a_note() {
    let variables =
        [("CFLAGS", "-O2 -Wall"), ("NODE_OPTIONS", "--max-old-space-size=512"), ("CC", "gcc")];
    let (output, said) = run(&[], &variables, "echo $CFLAGS $NODE_OPTIONS $CC");
    assert_eq!(output, "-O2 -Wall --max-old-space-size=512 gcc\n");
    assert_eq!(said, "");
}

#[test]
fn other_values_are_named_in_one_note_and_its_hint_works() {
    let variables = [
        ("CFLAGS", "-fplugin=./x.so"),
        ("NODE_OPTIONS", "--require ./x.js"),
        ("API_TOKEN", "secret"),
        ("LD_PRELOAD", ""),
    ];
    let script = "echo \"<$CFLAGS$NODE_OPTIONS$API_TOKEN>\"";
    let (output, said) = run(&[], &variables, script);
    assert_eq!(output, "<>\n");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("`CFLAGS`, `NODE_OPTIONS`") && said.contains("--env CFLAGS"), "{said}");
    assert!(!said.contains("plugin") && !said.contains("TOKEN"), "{said}");
    let (output, said) = run(&["--env", "CFLAGS", "--env", "NODE_OPTIONS"], &variables, script);
    assert_eq!(output, "<-fplugin=./x.so--require ./x.js>\n");
    assert_eq!(said, "");
}
