//! Programs of a project that take the place of programs of the system, because a directory of the
//! project comes first in `PATH`: an activated `.venv`, `node_modules/.bin`, a `bin` of direnv.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, Access, CommandClass, OperationFacts};

use crate::step_budget::StepBudget;

/// Makes commands not harmless whose program is one of the project in the place of one of the
/// system, and adds an opaque access for each edit in such a directory.
pub(crate) fn check(
    facts: &mut OperationFacts,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
    steps: &StepBudget,
) {
    let Some(path) = env::var_os("PATH").filter(|path| !path.is_empty()) else { return };
    let directories: Vec<_> = env::split_paths(&path).collect();
    check_with_path(facts, cwd, home, (&directories, steps));
}

fn check_with_path(
    facts: &mut OperationFacts,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
    (directories, steps): (&[PathBuf], &StepBudget),
) {
    let root = project_root(cwd);
    if root == Path::new("/") || home.is_some_and(|home| root == Path::new(home.as_str())) {
        return;
    }
    let is_own = |directory: &PathBuf| !directory.is_absolute() || directory.starts_with(&root);
    if !directories.iter().any(is_own) {
        return;
    }
    let mut added = Vec::new();
    for access in &mut facts.accesses {
        if let Access::Exec(exec) = access {
            let place = Path::new(exec.cwd.as_ref().unwrap_or(cwd).as_str());
            let name = exec.argv.known_word(0).filter(|name| !name.contains('/'));
            let found = |directory: &&PathBuf| {
                name.is_some_and(|name| is_file(&place.join(directory).join(name), steps))
            };
            let mut found = directories.iter().filter(found);
            if found.next().is_some_and(is_own) && found.any(|directory| !is_own(directory)) {
                exec.class = CommandClass::Unknown;
            }
        } else if let Access::Edit(edit) = access {
            let parent = Path::new(edit.path.as_str()).parent();
            let place = Path::new(cwd.as_str());
            let is_above = |directory: &PathBuf| {
                is_own(directory) && parent == Some(place.join(directory).as_path())
            };
            if directories.iter().any(is_above) {
                let text = format!("{} (a program in a directory of `PATH`)", edit.path);
                added.push(Access::Opaque { text, span: edit.span });
            }
        }
    }
    facts.accesses.append(&mut added);
}

/// Returns whether a file exists, or may exist.
fn is_file(path: &Path, steps: &StepBudget) -> bool {
    !steps.take_steps(1) || fs::metadata(path).is_ok_and(|found| found.is_file())
}

/// Returns the root of the repository that contains a directory, or the directory itself.
fn project_root(cwd: &AbsPath) -> PathBuf {
    let cwd = Path::new(cwd.as_str());
    let mut above = cwd.ancestors();
    above.find(|place| place.join(".git").symlink_metadata().is_ok()).unwrap_or(cwd).to_path_buf()
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::Action;

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    #[test]
    fn a_program_of_the_project_in_the_place_of_one_of_the_system_is_not_harmless() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (own, system) = (root.join("p/.venv/bin"), root.join("usr/bin"));
        for directory in [&own, &system] {
            fs::create_dir_all(directory).unwrap();
        }
        for file in [own.join("touch"), own.join("ruff"), system.join("touch"), system.join("ls")] {
            fs::write(file, "").unwrap();
        }
        let cwd = AbsPath::new(root.join("p").to_str().unwrap()).unwrap();
        let check = |script: &str, directories: &[PathBuf]| {
            let action = Action::Command { script: script.to_owned() };
            let place = CallLocation { cwd: &cwd, home: None };
            let mut facts = collect_action_facts(&action, "Bash", place);
            check_with_path(&mut facts, &cwd, None, (directories, &StepBudget::new()));
            facts.accesses.iter().any(|access| {
                matches!(access, Access::Exec(exec) if exec.class == CommandClass::Unknown)
                    || matches!(access, Access::Opaque { .. })
            })
        };
        let activated = [own.clone(), system.clone()];
        assert!(check("touch x", &activated));
        assert!(check("cp a .venv/bin/ls", &activated), "the next `ls` would run it");
        assert!(check("ls && touch x", &[PathBuf::from(".venv/bin"), system.clone()]));
        assert!(!check("ls", &activated) && !check("cp a b", &activated));
        assert!(!check("ruff --version", &activated), "nothing of the system has this name");
        assert!(!check("touch x", &[system.clone(), own]), "the system comes first");
        assert!(!check("touch x", &[system]));
    }
}
