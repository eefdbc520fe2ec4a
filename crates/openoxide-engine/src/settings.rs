//! Files of a project that make harmless programs run something, or send what is in the environment.
//!
//! A `.npmrc` names the git that npm runs, and its addresses may hold variables (`https://x/${TOKEN}`): `npm view` sends them.
//! pnpm runs `.pnpmfile.cjs` whatever it is asked, its version included, and the plug-ins and the version of itself that
//! `package.json` names; so does corepack in the place of yarn and npm. `.mvn/jvm.config` holds options of the virtual machine, for `mvn --version`, too.
//! `rust-toolchain.toml` and `global.json` (.NET 10) name directories with another compiler, `.tool-versions` any program by `path:`,
//! and below the `path` of `.bundle/config` lies the bundler that `bundle --version` starts. Where such a file lies, the program is
//! not harmless, whatever its words are.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use openoxide_protocol::{
    AbsPath, Access, CommandClass, Exec, Word,
    steering_files::{Distrust, SteeringFile, steering_files},
};

use crate::script_edits::ScriptEdits;

/// What is looked for in a file at most; a longer one could say anything.
const MOST: usize = 64 * 1024;

/// Takes from such programs that they are harmless, where one of their files exists or the script may edit one before.
pub(crate) fn distrust(
    accesses: &mut [Access],
    edits: &ScriptEdits,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
) {
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        if exec.class != CommandClass::Unknown && is_steered(exec, edits, cwd, home) {
            exec.class = CommandClass::Unknown;
        }
    }
}

fn is_steered(exec: &Exec, edits: &ScriptEdits, cwd: &AbsPath, home: Option<&AbsPath>) -> bool {
    let before = edits.before(exec);
    let programs = || {
        exec.argv.iter().filter_map(|word| match word {
            Word::Known(text) => text.rsplit('/').next(),
            Word::Begins(_) | Word::Many => None,
        })
    };
    let distrusted = |program| {
        steering_files()
            .filter(move |file| file.distrust != Distrust::Never && file.steers(program))
            .map(move |file| (file, program))
    };
    let mut settings = programs().flat_map(distrusted);
    // The root stands for a place that is not known: any of these files could lie there.
    if exec.place.as_ref() == Some(&AbsPath::root()) {
        return settings.next().is_some() || !before.is_nothing() && programs().any(is_steerable);
    }
    let places = spellings(exec.place.as_ref().unwrap_or(cwd));
    let first = exec.argv.known(0).and_then(|name| name.rsplit('/').next());
    if first.is_some_and(|program| before.may_replace(program))
        || programs().any(|program| before.may_steer(program, &places))
    {
        return true;
    }
    let home = home.map(|home| Path::new(home.as_str()));
    // What lies in the home directory is the user's own.
    let steered_from = |above: &Path, file: &SteeringFile, program: &str| {
        home != Some(above) && is_distrusted(file, &above.join(file.pattern()), program)
    };
    let above = || places.iter().flat_map(|place| place.ancestors());
    settings.any(|(file, program)| above().any(|above| steered_from(above, file, program)))
}

fn is_steerable(program: &str) -> bool {
    steering_files().any(|file| file.steers(program))
}

/// Returns a directory as it is written and where it really is: programs look above the latter.
pub(crate) fn spellings(place: &AbsPath) -> Vec<PathBuf> {
    let written = PathBuf::from(place.as_str());
    let real = fs::canonicalize(&written).ok().filter(|real| *real != written);
    std::iter::once(written).chain(real).collect()
}

/// Says whether this file exists and steers the program.
fn is_distrusted(file: &SteeringFile, path: &Path, program: &str) -> bool {
    match file.distrust {
        Distrust::Never => false,
        Distrust::Present => path.exists(),
        Distrust::Contains(texts) => may_contain(path, texts),
        Distrust::ContainsFor(rows) => rows
            .iter()
            .filter(|(name, _)| *name == program)
            .any(|(_, texts)| may_contain(path, texts)),
    }
}

/// Returns whether a file exists and can contain one of the texts. A file that cannot be read, or not to its end, could
/// contain anything. A pipe is not waited for.
pub(crate) fn may_contain(path: &Path, texts: &[&str]) -> bool {
    let Ok(found) = fs::metadata(path) else { return false };
    if !found.is_file() {
        return true;
    }
    let mut text = Vec::new();
    let read = fs::File::open(path)
        .and_then(|open| open.take(MOST as u64 + 1).read_to_end(&mut text))
        .is_ok_and(|length| length <= MOST);
    let text = String::from_utf8_lossy(&text);
    !read || texts.iter().any(|wanted| text.contains(wanted))
}

#[cfg(test)]
mod tests {

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
        assert!(is_harmless("ack --version", &project, &home));
        fs::write(home.join("p/.ackrc"), "--follow\n").unwrap();
        assert!(!is_harmless("ack --version", &project, &home));
    }

    /// A hook that waits for ever is a hook that fails, and then its client goes on.
    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let project = home.join("p");
        fs::create_dir_all(project.join("rust-toolchain.toml")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(project.join("global.json")).status();
        assert!(made.unwrap().success());
        for script in ["cargo --version", "dotnet --version"] {
            assert!(!is_harmless(script, &project, &home), "{script}");
        }
    }

    #[test]
    fn a_file_steers_by_what_it_says() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let project = home.join("p");
        fs::create_dir_all(&project).unwrap();
        for (script, file, plain, steering) in [
            (
                "cargo --version",
                "rust-toolchain.toml",
                "[toolchain]\nchannel = \"1.90\"\n",
                "[toolchain]\npath = \"tc\"\n",
            ),
            (
                "rustc --version",
                "rust-toolchain",
                "stable\n",
                "[toolchain]\n\"p\\u0061th\" = \"tc\"\n",
            ),
            (
                "dotnet --version",
                "global.json",
                "{\"sdk\": {\"version\": \"10.0.100\"}}",
                "{\"sdk\": {\"paths\": [\".dotnet\"]}}",
            ),
            (
                "cd sub && node --version",
                ".tool-versions",
                "nodejs 22.1.0\n",
                "nodejs path:/tmp/x\n",
            ),
        ] {
            fs::create_dir_all(project.join("sub")).unwrap();
            fs::write(project.join(file), plain).unwrap();
            assert!(is_harmless(script, &project, &home), "{script}");
            fs::write(project.join(file), steering).unwrap();
            assert!(!is_harmless(script, &project, &home), "{script}");
            fs::write(project.join(file), " ".repeat(MOST + 1)).unwrap();
            assert!(!is_harmless(script, &project, &home), "{script}: too long");
            fs::remove_file(project.join(file)).unwrap();
        }
    }
}
