//! OpenOxide in its own sandbox.

use super::{is_root, staged::Place};
use crate::support::{stderr, stdout};

/// A sandbox in the sandbox runs nothing, and the message does not recommend to do without one.
#[test]
fn a_nested_run_says_what_to_do() {
    let users = if is_root() { vec![None, Some(1234)] } else { vec![None] };
    for user in users {
        let place = Place::new("", user);
        let program = place.path("openoxide");
        // The directory around the project is hidden.
        std::fs::copy(&program, place.path("w/own")).unwrap();
        let nested: [&[&str]; 4] = [
            &["sandbox", "run", "--", "touch", "made"],
            &["sandbox", "run", "--stage", "--", "touch", "made"],
            &["run", "-c", "touch made"],
            &["--no-input", "run", "--sandbox", "read-only", "-c", "ls"],
        ];
        for inner in nested {
            let head = ["sandbox", "run", "--", "./own"];
            let output = place.command(&program, &[&head, inner].concat()).output().unwrap();
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(125), "{inner:?}: {said}");
            let error = "nothing was run: this is already a sandbox of OpenOxide";
            let hint = "run the command itself, without `openoxide";
            assert!(said.contains(error) && said.contains(hint), "{inner:?}: {said}");
            assert_eq!(said.lines().count(), 2, "{said}");
            assert!(!said.contains("off"), "{said}");
            assert!(!place.path("w/made").exists(), "{inner:?}");
        }
        let head = ["sandbox", "run", "--", "./own", "sandbox", "status"];
        let output = place.command(&program, &head).output().unwrap();
        let text = stdout(&output);
        assert!(text.contains("this is already a sandbox of OpenOxide"), "{text}");
    }
}

/// Only the name of the first process is evaluated. Outside, that process belongs to the machine.
#[test]
fn variables_and_names_of_programs_claim_no_sandbox() {
    let place = Place::new("", None);
    let program = place.path("openoxide");
    let script = "printf openoxide-init > /proc/self/comm; \
        OPENOXIDE_SANDBOX=1 container=openoxide exec \"$0\" sandbox run -- touch made";
    let arguments = ["-c", script, program.to_str().unwrap()];
    let output = place.command("/bin/bash".as_ref(), &arguments).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(place.path("w/made").exists());
}
