use std::{fs, path::Path};

use openoxide_protocol::{AbsPath, Access, Action, CommandClass, OperationFacts};

use super::*;
use crate::{CallLocation, operation_facts::collect_facts_within_budget};

/// Returns the facts of a script, and how many steps they took.
fn steps_of(script: &str, cwd: &Path) -> (OperationFacts, usize) {
    let cwd = AbsPath::new(cwd.to_str().unwrap()).unwrap();
    let action = Action::Command { script: script.to_owned() };
    let steps = StepBudget::new();
    let facts = collect_facts_within_budget(
        &action,
        "Bash",
        CallLocation { cwd: &cwd, home: None },
        &steps,
    );
    (facts, steps.used_steps())
}

fn has_opaque(facts: &OperationFacts) -> bool {
    facts.accesses.iter().any(|access| matches!(access, Access::Opaque { .. }))
}

#[test]
fn a_budget_ends_and_stays_at_its_end() {
    let steps = StepBudget::new();
    assert!(steps.take_steps(MAX_STEPS - 1) && steps.take_steps(1) && !steps.take_steps(1));
    let steps = StepBudget::new();
    assert!(!steps.take_steps(MAX_STEPS + 1) && !steps.take_steps(1));
}

#[test]
fn many_stars_cost_no_more_than_one() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..2_000 {
        fs::write(dir.path().join(format!("{:060}{number}", 0)), "").unwrap();
    }
    let root = dir.path().canonicalize().unwrap();
    let (facts, taken) = steps_of(&format!("cat {}b", "*".repeat(8_000)), &root);
    assert!(!has_opaque(&facts) && taken < 10_000, "{taken}");
    let (facts, _) = steps_of(&format!("cat{}", " *a*b7".repeat(1_000)), &root);
    assert!(has_opaque(&facts), "what was not examined is not understood");
    let everyday = "for f in *.rs; do wc -l \"$f\"; done; ls 00*7 00*8 *.md; cat *1999";
    let (facts, taken) = steps_of(everyday, &root);
    assert!(!has_opaque(&facts) && taken < 40_000, "{taken}");
}

#[test]
fn accesses_beyond_the_budget_are_opaque() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let deep = (0..1_000).fold(root.clone(), |path, _| path.join("d"));
    fs::create_dir_all(&deep).unwrap();
    let long = "d/".repeat(1_000);
    for script in [
        format!("cat{}", format!(" {long}x").repeat(60)),
        "cp -r d e; cat e/x;".repeat(4_000),
        format!("mv {long} e; cat e/x;").repeat(100),
        format!("cp{} e", " a".repeat(500)),
        format!("cp{} e", " a".repeat(30_000)),
    ] {
        let (facts, _) = steps_of(&script, &root);
        assert!(has_opaque(&facts), "{script:.40}");
    }
    let (facts, _) = steps_of(&"git -C d status; git -C d/d status;".repeat(2_000), &root);
    let harmless = |access: &Access| matches!(access, Access::Exec(exec) if exec.class == CommandClass::Harmless);
    assert!(!facts.accesses.iter().any(harmless), "git is not harmless then");
    let (facts, _) = steps_of("git status; git log", &root);
    assert!(facts.accesses.iter().any(harmless));
}

/// Each command is compared with each edit before it.
#[test]
fn many_edits_before_many_commands_are_beyond_the_budget() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let classes = |part: &str, count: usize| {
        let script: String = (0..count).map(|at| part.replace('N', &at.to_string())).collect();
        let (facts, _) = steps_of(&script, &root);
        let classes = facts.accesses.into_iter().filter_map(|access| {
            let Access::Exec(exec) = access else { return None };
            exec.text.starts_with(['g', 'c']).then_some(exec.class)
        });
        classes.collect::<Vec<_>>()
    };
    for part in ["touch src/N; git status; ", "touch src/N; cargo --version; "] {
        let few = classes(part, 30);
        assert!(
            few.len() == 30 && few.iter().all(|class| *class == CommandClass::Harmless),
            "{part}"
        );
        let many = classes(part, 500);
        assert!(many.iter().all(|class| *class == CommandClass::Unknown), "{part}");
    }
}

/// If a `cd` may fail, each command is examined in each directory that the script may have entered.
#[test]
fn many_commands_in_unknown_directories_are_not_examined() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir(root.join("sub")).unwrap();
    let classes = |count: usize| {
        let (facts, _) = steps_of(&"cd sub; ls; make --version; cd -; ".repeat(count), &root);
        let classes = facts.accesses.into_iter().filter_map(|access| {
            let Access::Exec(exec) = access else { return None };
            exec.text.starts_with("make").then_some(exec.class)
        });
        classes.collect::<Vec<_>>()
    };
    let few = classes(10);
    assert!(few.len() == 10 && few.iter().all(|class| *class == CommandClass::Harmless), "{few:?}");
    let many = classes(60);
    assert!(many.len() == 60 && !many.contains(&CommandClass::Harmless), "{many:?}");
}
