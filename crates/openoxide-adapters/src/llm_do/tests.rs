//! A configuration of llm-do, and how its `check_approval` handles it.

use openoxide_permission::{EvaluationContext, PolicyStack, decide_access};
use openoxide_protocol::{AbsPath, Access, PathAccess};

use super::*;

const SEED: &str = "
sandbox:
  paths:
    notes:
      root: ./notes
      mode: rw
      suffixes: [.txt, .log]
      write_approval: true
      read_approval: false
    cache:
      root: ./cache
      mode: rw
      write_approval: false
    data: { root: /data }
shell:
  default: { allowed: true, approval: true }
  rules:
    - pattern: \"git status\"
      approval: false
    - pattern: \"git add\"
      approval: true
      description: \"Stage files for commit\"
    - pattern: \"rm\"
      allowed: false
    - pattern: \"pytest\"
      approval: false
      sandbox_paths: [output]
";

fn read(text: &str) -> Result<PolicyTranslation, Vec<PolicyTextError>> {
    let (home, base) = (AbsPath::new("/h").unwrap(), AbsPath::new("/p").unwrap());
    translate_config(text, LayerKind::Cli, "x.yaml", PathAnchors { home: Some(&home), base: &base })
}

fn decided(text: &str, access: &Access) -> Effect {
    let layer = read(text).unwrap().layer;
    let policy = PolicyStack::compile(&[layer]).unwrap();
    let cwd = AbsPath::new("/p").unwrap();
    let (mode, roots) = (policy.mode().unwrap_or_default(), std::slice::from_ref(&cwd));
    decide_access(
        &policy,
        &EvaluationContext {
            mode,
            cwd: &cwd,
            roots,
            policy_error: None,
            auto_allow: Default::default(),
        },
        access,
    )
    .effect
}

fn run(text: &str, command: &str) -> Effect {
    decided(text, &crate::policy_translation::build_exec_access(command))
}

fn place(path: &str) -> PathAccess {
    PathAccess::new(AbsPath::new(path).unwrap())
}

#[test]
fn the_first_rule_that_matches_a_command_decides() {
    use Effect::{Allow, Ask, Deny};
    for (command, expected) in [
        ("git status", Allow),
        ("git status -s", Allow),
        ("git stash", Ask),
        ("git add x", Ask),
        ("rm x", Deny),
        ("/bin/rm x", Deny),
        ("rmdir x", Ask),
        ("pytest output", Ask),
        ("make", Ask),
    ] {
        assert_eq!(run(SEED, command), expected, "{command}");
    }
    let first = "shell: {rules: [{pattern: git push}, {pattern: git, allowed: false}]}";
    assert_eq!((run(first, "git push x"), run(first, "git log")), (Ask, Deny));
    let closed = "shell: {default: {allowed: false}, rules: [{pattern: ls, approval: false}]}";
    assert_eq!((run(closed, "ls -l"), run(closed, "make")), (Allow, Deny));
    let open = "shell: {default: {approval: false}}";
    assert_eq!(run(open, "make"), Allow);
}

#[test]
fn a_rule_about_paths_is_never_less_strict_than_later_rules() {
    use Effect::{Ask, Deny};
    let rules = |after: &str| {
        format!("shell: {{rules: [{{pattern: pytest, sandbox_paths: [x]}}, {after}]}}")
    };
    assert_eq!(run(&rules("{pattern: pytest, approval: false}"), "pytest x"), Ask);
    assert_eq!(run(&rules("{pattern: pytest, allowed: false}"), "pytest x"), Deny);
    assert_eq!(run(&rules("{pattern: pytest -k, allowed: false}"), "pytest -k x"), Deny);
}

#[test]
fn the_sandbox_of_a_file_decides() {
    use Effect::{Allow, Ask, Deny};
    for (path, read, write) in [
        ("/p/notes/a.txt", Allow, Ask),
        ("/p/notes/deep/a.log", Allow, Ask),
        ("/p/notes/a.rs", Deny, Deny),
        ("/p/notes/a.txt/b.rs", Deny, Deny),
        ("/p/notes/.txt", Deny, Deny),
        ("/p/notes", Ask, Ask),
        ("/p/cache/x", Allow, Allow),
        ("/p/cache", Allow, Allow),
        ("/p/cachex", Deny, Deny),
        ("/data/x", Allow, Deny),
        ("/p/src/x", Deny, Deny),
    ] {
        assert_eq!(decided(SEED, &Access::Read(place(path))), read, "read {path}");
        assert_eq!(decided(SEED, &Access::Edit(place(path))), write, "write {path}");
    }
    let nested =
        "sandbox: {paths: {a: {root: x, mode: rw, write_approval: false}, b: {root: x/y}}}";
    assert_eq!(decided(nested, &Access::Edit(place("/p/x/y/z"))), Deny);
    assert_eq!(decided("shell: {}", &Access::Read(place("/p/x"))), Allow);
}

// From the table of modes: a call that requires approval is asked about, approved or denied; a
// blocked call stays blocked.
#[test]
fn the_modes_are_those_of_its_controller() {
    use Effect::{Allow, Deny};
    let with = |mode: &str| format!("{SEED}mode: {mode}\n");
    assert_eq!(run(&with("strict"), "git add x"), Deny);
    assert_eq!(run(&with("strict"), "git status"), Allow);
    assert_eq!(run(&with("approve_all"), "rm x"), Deny);
    assert_eq!(run(&with("interactive"), "git add x"), Effect::Ask);
    assert_eq!(
        read(&with("approve_all")).unwrap().layer.mode,
        Some(PermissionMode::BypassPermissions)
    );
}

#[test]
fn parse_errors_point_at_their_location() {
    for (text, said, at) in [
        ("shell:\n  rulez: []\n", "rulez", "rulez"),
        ("shell:\n  rules:\n    - pattern: rm\n      allowed: maybe\n", "bool", "maybe"),
        ("sandbox:\n  paths:\n    a: {mode: rw}\n", "root", "mode"),
        (
            "shell:\n  rules:\n    - pattern: 'rm | x'\n      allowed: false\n",
            "cannot be expressed",
            "'rm | x'",
        ),
        ("sandbox: {paths: {a: {root: ~x}}}", "not a directory", "~x"),
        ("shell: {}\nshell: {}\n", "uplicate", "shell: {}\n"),
    ] {
        let faults = match read(text) {
            Ok(translation) => translation.errors,
            Err(faults) => faults,
        };
        let [fault] = faults.as_slice() else { panic!("{text}: {faults:?}") };
        assert!(fault.message.contains(said), "{text}: {fault:?}");
        let found = text.get(fault.span.start..).unwrap_or_default();
        assert!(found.starts_with(at.get(..2).unwrap()), "{text}: {fault:?} at `{found}`");
        assert!(fault.loses_restriction);
    }
    let bomb = format!("a: {}", "[".repeat(100_000));
    assert!(read(&bomb).is_err());
}

#[test]
fn an_untranslatable_allow_rule_is_left_out_with_a_note() {
    let text = "shell: {rules: [{pattern: 'git *', approval: false}]}";
    assert_eq!(run(text, "git status"), Effect::Ask);
    let notes = read(text).unwrap().notes;
    assert!(matches!(notes.as_slice(), [note] if note.contains("x.yaml:1")), "{notes:?}");
}
