//! Files of a project that make harmless programs run something, or send what is in the environment.
//!
//! A `.npmrc` names the git that npm runs, and its addresses may hold variables (`https://x/${TOKEN}`): `npm view` sends them.
//! pnpm runs `.pnpmfile.cjs` whatever it is asked, its version included. `.mvn/jvm.config` holds options of the virtual machine, for `mvn --version`, too. Where such a file lies, the program is not
//! harmless, whatever its words are.

use std::path::Path;

use openoxide_protocol::{AbsPath, Access, CommandClass, Exec, Word};

/// Programs, and the files that they look for in the working directory and those above it.
const SETTINGS: &[(&[&str], &[&str])] = &[
    (&["npm"], &[".npmrc"]),
    (&["pnpm"], &[".pnpmfile.cjs", ".pnpmfile.mjs", ".npmrc", "pnpm-workspace.yaml"]),
    (&["bun"], &[".npmrc", "bunfig.toml"]),
    (&["cargo"], &[".cargo/config.toml", ".cargo/config"]),
    (&["mvn", "mvnd"], &[".mvn"]),
    (&["poetry"], &[".poetry"]),
    (&["mlr"], &[".mlrrc"]),
];

/// Takes from such programs that they are harmless, where one of their files lies.
pub(crate) fn distrust(accesses: &mut [Access], cwd: &AbsPath, home: Option<&AbsPath>) {
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        if exec.class == CommandClass::Harmless && is_steered(exec, cwd, home) {
            exec.class = CommandClass::Unknown;
        }
    }
}

fn is_steered(exec: &Exec, cwd: &AbsPath, home: Option<&AbsPath>) -> bool {
    let place = Path::new(exec.place.as_ref().unwrap_or(cwd).as_str());
    let home = home.map(|home| Path::new(home.as_str()));
    let programs = exec.argv.iter().filter_map(|word| match word {
        Word::Known(text) => text.rsplit('/').next(),
        Word::Begins(_) | Word::Many => None,
    });
    let files = programs.flat_map(|program| {
        let known = SETTINGS.iter().filter(move |(names, _)| names.contains(&program));
        known.flat_map(|(_, files)| files.iter())
    });
    // The root stands for a place that is not known: any of these files could lie there.
    if exec.place.as_ref() == Some(&AbsPath::root()) {
        return files.count() > 0;
    }
    // What lies in the home directory is the user's own.
    let mut places = files.flat_map(|file| place.ancestors().map(move |above| (above, file)));
    places.any(|(above, file)| home != Some(above) && above.join(file).exists())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use openoxide_protocol::{Action, Facts};

    use super::*;
    use crate::{Place, facts_of};

    fn is_harmless(script: &str, cwd: &Path, home: &Path) -> bool {
        let path = |path: &Path| AbsPath::new(path.to_str().unwrap()).unwrap();
        let (cwd, home) = (path(cwd), path(home));
        let action = Action::Command { script: script.to_owned() };
        let Facts { accesses, .. } =
            facts_of(&action, "Bash", Place { cwd: &cwd, home: Some(&home) });
        accesses.iter().all(
            |access| matches!(access, Access::Exec(exec) if exec.class == CommandClass::Harmless),
        )
    }

    #[test]
    fn in_a_place_that_is_not_known_any_file_could_lie() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let project = home.join("p");
        fs::create_dir_all(project.join("sub")).unwrap();
        assert!(is_harmless("npm view react", &project, &home));
        assert!(!is_harmless("test -d x && cd sub; npm view react", &project, &home));
    }

    #[test]
    fn a_file_of_the_project_steers_a_program() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let project = home.join("p/deep");
        fs::create_dir_all(&project).unwrap();
        fs::write(home.join(".npmrc"), "").unwrap();
        for script in ["npm view react", "cargo --version", "/usr/bin/npm view react"] {
            assert!(is_harmless(script, &project, &home), "{script}");
        }
        fs::write(home.join("p/.npmrc"), "registry=https://x/${TOKEN}").unwrap();
        fs::create_dir_all(home.join("p/.cargo")).unwrap();
        fs::write(home.join("p/.cargo/config.toml"), "").unwrap();
        for script in ["npm view react", "cargo --version", "/usr/bin/npm view react"] {
            assert!(!is_harmless(script, &project, &home), "{script}");
        }
        assert!(is_harmless("wc --version", &project, &home));
    }
}
