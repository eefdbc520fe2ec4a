//! New directories with settings of several programs: each is quarantined once, as a whole.

use super::Arena;

#[test]
fn each_new_directory_is_quarantined_once() {
    let arena = Arena::new();
    let script = "mkdir -p .devcontainer/sub .amazonq/rules .kiro/steering .husky/_; \
        echo '{}' > .devcontainer/devcontainer.json; echo '{}' > .devcontainer/sub/devcontainer.json; \
        echo x > .amazonq/rules/a.md; echo x > .kiro/steering/a.md; echo x > .husky/pre-commit";
    let output = arena.run(&[], &["sh", "-ec", script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("could not be quarantined"), "{said}");
    for (directory, file) in [
        (".devcontainer", "sub/devcontainer.json"),
        (".amazonq", "rules/a.md"),
        (".kiro", "steering/a.md"),
        (".husky", "pre-commit"),
    ] {
        let held = arena.path(&format!("w/{directory}.held-by-openoxide/{file}"));
        assert!(held.exists() && !arena.path(&format!("w/{directory}")).exists(), "{said}");
        assert_eq!(said.matches(&format!("{directory}.held-by-openoxide")).count(), 1, "{said}");
    }
}
