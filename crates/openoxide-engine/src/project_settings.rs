//! Project files that make harmless programs run something or send environment variables.
//!
//! - `.npmrc` names the git that npm runs. Its URLs may contain variables (`https://x/${TOKEN}`),
//!   which npm sends.
//! - pnpm runs `.pnpmfile.cjs` for every command, even to print its version. It also runs the
//!   plugins and the version of itself that `package.json` names. So does corepack in place of yarn
//!   and npm.
//! - `.mvn/jvm.config` contains options of the virtual machine, also for `mvn --version`.
//! - `rust-toolchain.toml` and `global.json` (.NET 10) name directories with another compiler.
//! - `.tool-versions` names any program with `path:`.
//! - The `path` of `.bundle/config` contains the bundler that `bundle --version` starts.
//!
//! If such a file exists, the program is not harmless, whatever its arguments are.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use openoxide_permission::safety_floor::is_secret;
use openoxide_protocol::{
    AbsPath, Access, CauseCode, CommandClass, CommandWord, CommandWords, ExecAccess,
    steering_files::{
        DistrustCondition, FileReferenceKeys, SteeringFile, SteeringLocation, all_steering_files,
    },
};

use crate::{
    entered_places::{EnteredPlaces, changes_directory, has_unknown_place},
    real_path::real_path,
    script_edits::{PriorEdits, ScriptEdits},
    settings_checks,
    settings_files::{leads_to_other_name, read_short},
};

/// The reason of a question about a program that such a file configures.
const SETTINGS_CAUSE: &str = "can run or contact what files of this project name";

/// The maximum number of directories that contain the operands of a command.
const MOST_DIRECTORIES: usize = 512;

/// Makes such programs not harmless if one of their files exists, or if the script may edit one
/// before.
pub(crate) fn distrust_configured_programs(
    accesses: &mut [Access],
    edits: &ScriptEdits,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
) {
    let known = CommandPlaces::collect(accesses, cwd);
    // Scripts often repeat commands.
    let mut last: Option<(Option<AbsPath>, CommandWords, bool)> = None;
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        if exec.class == CommandClass::Unknown || changes_directory(exec) {
            continue;
        }
        let before = edits.edits_before(exec);
        let repeated = last.as_ref().filter(|(place, argv, _)| {
            before.is_empty() && *place == exec.cwd && *argv == exec.argv
        });
        let is_steered = match repeated {
            Some((.., is_steered)) => *is_steered,
            None => has_steering_file(exec, &before, &known, cwd, home),
        };
        last = before.is_empty().then(|| (exec.cwd.clone(), exec.argv.clone(), is_steered));
        if is_steered {
            exec.distrust(CauseCode::RunsProjectCode, SETTINGS_CAUSE);
        }
    }
}

fn has_steering_file(
    exec: &ExecAccess,
    before: &PriorEdits<'_>,
    known: &CommandPlaces,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
) -> bool {
    let programs = || {
        exec.argv.iter().filter_map(|word| match word {
            CommandWord::Known(text) => text.rsplit('/').next(),
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => None,
        })
    };
    let distrusted = |program| {
        all_steering_files()
            .filter(move |file| file.applies_to(program))
            .map(move |file| (file, program))
    };
    let settings: Vec<_> = programs().flat_map(distrusted).collect();
    if settings.is_empty() && before.is_empty() {
        return false;
    }
    // The root means that the directory is unknown, so any of these files could exist in it.
    if has_unknown_place(exec) {
        return settings.iter().any(|(file, _)| file.distrust != DistrustCondition::Never)
            || !before.is_empty() && programs().any(is_steerable)
            || known.entered.possible_places(exec, cwd).is_none_or(|entered| {
                entered.iter().any(|place| {
                    let exec = ExecAccess { cwd: Some(place.clone()), ..exec.clone() };
                    has_steering_file(&exec, before, known, cwd, home)
                })
            });
    }
    let places = path_spellings(exec.cwd.as_ref().unwrap_or(cwd));
    let first = exec.argv.known_word(0).and_then(|name| name.rsplit('/').next());
    if first.is_some_and(|program| before.may_replace(program))
        || programs().any(|program| before.may_steer(program, &places))
    {
        return true;
    }
    let home = home.map(|home| Path::new(home.as_str()));
    // Files in the home directory belong to the user.
    let steered_from = |above: &Path, file: &SteeringFile, program: &str| {
        home != Some(above) && distrusts_program(file, &above.join(file.pattern()), program, home)
    };
    let Some(below) = operand_directories(exec, &places, cwd) else { return !settings.is_empty() };
    let matched = known.directories_of_files(exec);
    if matched.len() > MOST_DIRECTORIES {
        return !settings.is_empty();
    }
    let above = || {
        let matched = matched.iter().flat_map(|directory| directory.ancestors());
        let below = below.iter().map(PathBuf::as_path).chain(matched);
        places.iter().flat_map(|place| place.ancestors()).chain(below)
    };
    settings.iter().any(|(file, program)| above().any(|above| steered_from(above, file, program)))
}

/// The directories that the commands of a script can use.
struct CommandPlaces {
    entered: EnteredPlaces,
    /// The directories of the files that commands access, with the start of each access in the
    /// script, sorted. The files that a pattern matches are among them.
    accessed: Vec<(u32, PathBuf)>,
}

impl CommandPlaces {
    fn collect(accesses: &[Access], cwd: &AbsPath) -> Self {
        let entered = EnteredPlaces::collect(accesses, cwd);
        let directories = accesses.iter().filter_map(|access| {
            let (Access::Read(file) | Access::Edit(file)) = access else { return None };
            let directory = |path: &AbsPath| Path::new(path.as_str()).parent().map(Path::to_owned);
            let places = file.paths().filter_map(directory);
            Some(places.map(|place| (file.span.start, place)).collect::<Vec<_>>())
        });
        let mut accessed: Vec<_> = directories.flatten().collect();
        accessed.sort_unstable();
        accessed.dedup();
        Self { entered, accessed }
    }

    /// Returns the directories of the files that a command accesses.
    fn directories_of_files(&self, exec: &ExecAccess) -> BTreeSet<&Path> {
        let from = self.accessed.partition_point(|(start, _)| *start < exec.span.start);
        let rest = self.accessed.get(from..).unwrap_or_default();
        let own = rest.iter().take_while(|(start, _)| *start < exec.span.end);
        own.map(|(_, directory)| directory.as_path()).collect()
    }
}

/// Returns the directories of the files that a command names, and their parents that are not
/// parents of its working directory. Formatters look for their configuration next to each file.
/// Returns `None` if there are too many.
fn operand_directories(
    exec: &ExecAccess,
    places: &[PathBuf],
    cwd: &AbsPath,
) -> Option<BTreeSet<PathBuf>> {
    let mut directories = BTreeSet::new();
    let place = places.first()?;
    let cwd = Path::new(cwd.as_str());
    // A file counts from the directory in which the command was started, not from that of an option.
    let between = place.ancestors().skip(1).take_while(|above| above.starts_with(cwd));
    let bases: Vec<_> = std::iter::once(place.as_path())
        .chain(between)
        .chain((!place.starts_with(cwd)).then_some(cwd))
        .collect();
    for word in exec.argv.iter().skip(1) {
        let (CommandWord::Known(text) | CommandWord::KnownPrefix(text)) = word else { continue };
        for file in attached_files(text) {
            for base in &bases {
                let path = base.join(file);
                let new = path.ancestors().take_while(|above| !place.starts_with(above));
                directories.extend(new.map(Path::to_path_buf));
            }
        }
        if directories.len() > MOST_DIRECTORIES {
            return None;
        }
    }
    Some(directories)
}

/// The maximum number of letters of options before a value that is attached to the last of them.
const MAX_BUNDLED_OPTIONS: usize = 8;

/// Returns the texts in a word that may name a file: the word itself, or the values that are attached
/// to an option (`--config-path=DIR`, `-CDIR`, `-vCDIR`).
fn attached_files(word: &str) -> impl Iterator<Item = &str> {
    let is_option = word.starts_with('-');
    let is_short = is_option && !word.starts_with("--");
    let whole = Some(word).filter(|_| !is_option);
    let after_equals = word.split_once('=').map(|(_, value)| value).filter(|_| is_option);
    let after_letters = word
        .char_indices()
        .skip(2)
        .take(if is_short { MAX_BUNDLED_OPTIONS } else { 0 })
        .filter_map(|(at, _)| word.get(at..));
    whole.into_iter().chain(after_equals).chain(after_letters)
}

/// Returns whether a program obeys any steering file.
pub(crate) fn is_steerable(program: &str) -> bool {
    all_steering_files().any(|file| file.applies_to(program))
}

/// Returns a directory as it is written and with links resolved. Programs search the parents of the
/// latter.
pub(crate) fn path_spellings(place: &AbsPath) -> Vec<PathBuf> {
    let written = PathBuf::from(place.as_str());
    let real = real_path(&written).ok().filter(|real| *real != written);
    std::iter::once(written).chain(real).collect()
}

/// Returns whether this file exists and makes the program untrusted.
fn distrusts_program(file: &SteeringFile, path: &Path, program: &str, home: Option<&Path>) -> bool {
    if is_renamed_link(file, path) {
        return true;
    }
    match file.distrust {
        DistrustCondition::Never => false,
        DistrustCondition::IfPresent => path.exists(),
        DistrustCondition::IfContains(texts) => may_contain(path, texts),
        DistrustCondition::IfContainsForProgram(rows) => rows
            .iter()
            .filter(|(name, _)| *name == program)
            .any(|(_, texts)| may_contain(path, texts)),
        DistrustCondition::NamesFiles(keys) => {
            spelled(path, keys).iter().any(|path| may_name(path, keys))
        }
        DistrustCondition::FailsCheck(check) => settings_checks::fails(check, path, home),
    }
}

/// Returns whether a settings file is a link to a file with another name. A program prints settings
/// that it does not understand in its error messages.
fn is_renamed_link(file: &SteeringFile, path: &Path) -> bool {
    let is_of_project = matches!(file.location, SteeringLocation::Anywhere(_));
    is_of_project && !file.is_directory() && leads_to_other_name(path)
}

/// Returns the files of this name. The case may differ.
fn spelled(path: &Path, keys: FileReferenceKeys) -> Vec<PathBuf> {
    if !keys.ignores_case {
        return vec![path.to_path_buf()];
    }
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(above) else { return vec![path.to_path_buf()] };
    let found = entries.filter_map(Result::ok).map(|entry| entry.path());
    found.filter(|path| path.file_name().is_some_and(|at| at.eq_ignore_ascii_case(name))).collect()
}

/// Returns whether a configuration file can include another one, or names a file elsewhere.
fn may_name(path: &Path, keys: FileReferenceKeys) -> bool {
    if fs::symlink_metadata(path).is_err() {
        return false;
    }
    if leads_to_other_name(path) {
        return true;
    }
    let Some(text) = read_short(path) else { return true };
    let text = format!("\n{text}");
    let has = |keys: &[&str]| keys.iter().any(|key| text.contains(key));
    let above = path.parent().unwrap_or(Path::new("/"));
    has(keys.includes) || has(keys.names) && names_elsewhere(&text, above)
}

/// Returns whether one of the words of a text is a path that leads out of a directory, lexically or
/// through a link.
fn names_elsewhere(text: &str, above: &Path) -> bool {
    let between = |at: char| at.is_whitespace() || "\"'`,[](){}".contains(at);
    text.split(between).filter(|word| !word.is_empty()).any(|word| {
        let comment = matches!(word, "//" | "/*" | "*/");
        let spelled = word.starts_with(['/', '~']) || word.starts_with("file:");
        !comment
            && (spelled
                || word.split('/').any(|part| part == "..")
                || is_linked(word, above)
                || names_secret(word, above))
    })
}

/// Returns whether a word is the path of a secret below a directory.
fn names_secret(word: &str, above: &Path) -> bool {
    let above = above.to_str().and_then(|above| AbsPath::new(above).ok());
    above.is_some_and(|above| is_secret(&above.join(word)))
}

/// Returns whether a relative path goes through a link.
fn is_linked(word: &str, above: &Path) -> bool {
    let mut path = above.to_path_buf();
    word.split('/').any(|part| {
        path.push(part);
        fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink())
    })
}

/// Returns whether this file exists and makes any program untrusted.
pub(crate) fn is_distrusted_by_any(file: &SteeringFile, path: &Path) -> bool {
    file.distrust != DistrustCondition::Never
        && file.programs.iter().any(|program| distrusts_program(file, path, program, None))
}

/// Returns whether a file exists and can contain one of the texts. A file that cannot be read, or
/// not to its end, could contain anything. The function does not wait for a pipe.
pub(crate) fn may_contain(path: &Path, texts: &[&str]) -> bool {
    if fs::metadata(path).is_err() {
        return false;
    }
    read_short(path).is_none_or(|text| texts.iter().any(|wanted| text.contains(wanted)))
}

#[cfg(test)]
mod tests {

    use openoxide_protocol::{Action, OperationFacts};

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};
    use crate::settings_files::MAX_FILE_BYTES;

    fn is_harmless(script: &str, cwd: &Path, home: &Path) -> bool {
        let path = |path: &Path| AbsPath::new(path.to_str().unwrap()).unwrap();
        let (cwd, home) = (path(cwd), path(home));
        let action = Action::Command { script: script.to_owned() };
        let OperationFacts { accesses, .. } =
            collect_action_facts(&action, "Bash", CallLocation { cwd: &cwd, home: Some(&home) });
        accesses.iter().all(
            |access| matches!(access, Access::Exec(exec) if exec.class == CommandClass::Harmless),
        )
    }

    #[test]
    fn any_file_could_exist_in_an_unknown_directory() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let project = home.join("p");
        fs::create_dir_all(project.join("sub")).unwrap();
        assert!(is_harmless("npm ls react", &project, &home));
        assert!(!is_harmless("test -d x && cd sub; npm ls react", &project, &home));
    }

    #[test]
    fn a_file_of_the_project_configures_a_program() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let project = home.join("p/deep");
        fs::create_dir_all(&project).unwrap();
        fs::write(home.join(".npmrc"), "").unwrap();
        for script in ["npm ls react", "cargo --version", "/usr/bin/npm ls react"] {
            assert!(is_harmless(script, &project, &home), "{script}");
        }
        fs::write(home.join("p/.npmrc"), "registry=https://x/${TOKEN}").unwrap();
        fs::create_dir_all(home.join("p/.cargo")).unwrap();
        fs::write(home.join("p/.cargo/config.toml"), "").unwrap();
        for script in ["npm ls react", "cargo --version", "/usr/bin/npm ls react"] {
            assert!(!is_harmless(script, &project, &home), "{script}");
        }
        assert!(is_harmless("wc --version", &project, &home));
        assert!(is_harmless("ack --version", &project, &home));
        fs::write(home.join("p/.ackrc"), "--follow\n").unwrap();
        assert!(!is_harmless("ack --version", &project, &home));
    }

    /// A hook that waits forever fails, and then its client continues.
    #[test]
    fn a_fifo_or_directory_does_not_block() {
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
    fn a_file_steers_depending_on_its_content() {
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
            fs::write(project.join(file), " ".repeat(MAX_FILE_BYTES + 1)).unwrap();
            assert!(!is_harmless(script, &project, &home), "{script}: too long");
            fs::remove_file(project.join(file)).unwrap();
        }
    }
}
