//! A copy of the workspace with all mutants of a target in it, and its compiled test programs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use super::{
    listing::ListedMutant,
    rewriting::{self, Rewritten},
};
use crate::{mutants::options::Target, workspace::cargo};

/// The code that is added to the crate. It reads the number of the active mutant from the
/// environment, once.
const CHOICE: &str = "
mod mutation {
    static CHOSEN: std::sync::LazyLock<Option<usize>> =
        std::sync::LazyLock::new(|| std::env::var(\"OPENOXIDE_MUTANT\").ok()?.parse().ok());
    pub(crate) fn active(number: usize) -> bool {
        *CHOSEN == Some(number)
    }
}
";

/// The maximum number of rounds. Each one leaves out the mutants with compiler errors.
const MOST_ROUNDS: usize = 50;

/// The reason for which a mutant is not in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// The mutant does not compile.
    Unviable,
    /// The mutant cannot be selected at run time.
    Unchoosable,
}

/// A copy of the workspace.
#[derive(Debug)]
pub(super) struct Copy {
    root: PathBuf,
}

/// A program that runs tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestProgram {
    pub(super) package: String,
    pub(super) executable: PathBuf,
    /// The directory that cargo starts it in.
    pub(super) directory: PathBuf,
}

impl Copy {
    /// Copies the files that git knows. Unchanged files are not written.
    pub(super) fn make(from: &Path, to: PathBuf) -> Result<Self, String> {
        let mut git = Command::new("git");
        git.current_dir(from).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let output = git.output().map_err(|error| format!("cannot start git: {error}"))?;
        let copy = Self { root: to };
        for name in String::from_utf8_lossy(&output.stdout).split_terminator('\0') {
            // A file that was removed and is still in the index.
            let Ok(content) = fs::read(from.join(name)) else { continue };
            copy.write(name, &content)?;
        }
        Ok(copy)
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), String> {
        let path = self.root.join(name);
        if fs::read(&path).is_ok_and(|old| old == content) {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(&self.root);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, content));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    fn cargo(&self) -> Command {
        let mut command = cargo();
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", self.root.join("target"));
        command
    }

    /// Compiles the mutants into the copy. Returns which of them are left out, and why.
    pub(super) fn compile_in(
        &self,
        from: &Path,
        target: &Target,
        mutants: &[ListedMutant],
    ) -> Result<BTreeMap<usize, LeftOut>, String> {
        let mut left_out = BTreeMap::new();
        let mut kept_const = BTreeSet::new();
        for round in 1..=MOST_ROUNDS {
            let places = self.rewrite(from, target, mutants, &mut left_out, &kept_const)?;
            let errors = self.errors(target.package)?;
            println!("==> round {round}: {} errors, {} left out", errors.len(), left_out.len());
            if errors.is_empty() {
                return Ok(left_out);
            }
            let before = (left_out.len(), kept_const.len());
            for error in &errors {
                if let Some((number, why)) = blame(error, &places, mutants) {
                    left_out.insert(number, why);
                }
            }
            if left_out.len() == before.0 {
                kept_const.extend(errors.iter().filter_map(called_in_const));
            }
            if (left_out.len(), kept_const.len()) == before {
                let text = errors.first().and_then(|error| error.get("rendered")?.as_str());
                return Err(format!("no mutant explains: {}", text.unwrap_or_default()));
            }
        }
        Err(format!("the mutants do not compile after {MOST_ROUNDS} rounds"))
    }

    /// Writes each file with those of its mutants that are not left out, and returns where they are.
    fn rewrite(
        &self,
        from: &Path,
        target: &Target,
        mutants: &[ListedMutant],
        left_out: &mut BTreeMap<usize, LeftOut>,
        kept_const: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, Places>, String> {
        let mut files: BTreeMap<&str, Vec<(usize, &ListedMutant)>> = BTreeMap::new();
        for (number, mutant) in mutants.iter().enumerate() {
            let file = files.entry(&mutant.mutant.file).or_default();
            if !left_out.contains_key(&number) {
                file.push((number, mutant));
            }
        }
        let library = format!("crates/{}/src/lib.rs", target.package);
        files.entry(&library).or_default();
        let mut places = BTreeMap::new();
        for (file, mutants) in files {
            let source = fs::read_to_string(from.join(file));
            let source = source.map_err(|error| format!("cannot read {file}: {error}"))?;
            let mut done = rewriting::rewrite(&source, &mutants, kept_const)?;
            left_out.extend(done.unplaced.iter().map(|number| (*number, LeftOut::Unchoosable)));
            if file == library {
                done.text += CHOICE;
            }
            self.write(file, done.text.as_bytes())?;
            let Rewritten { branches, enclosed, .. } = done;
            places.insert(file.to_owned(), Places { branches, enclosed });
        }
        Ok(places)
    }

    /// Returns the errors of the compiler.
    fn errors(&self, package: &str) -> Result<Vec<Value>, String> {
        let mut command = self.cargo();
        command.args(["check", "--quiet", "--message-format=json", "--package", package]);
        let output = command.stderr(Stdio::null()).output();
        let output = output.map_err(|error| format!("cannot start cargo: {error}"))?;
        let messages =
            messages(&output.stdout).filter_map(|mut one| Some(one.get_mut("message")?.take()));
        let is_error = |message: &Value| message.get("level").is_some_and(|level| level == "error");
        let with_place = |message: &Value| {
            message.get("spans").is_some_and(|spans| spans != &Value::Array(Vec::new()))
        };
        let errors: Vec<Value> = messages.filter(is_error).filter(with_place).collect();
        match errors.is_empty() && !output.status.success() {
            true => Err(format!("`cargo check` of `{package}` failed, and names no place")),
            false => Ok(errors),
        }
    }

    /// Compiles the tests of some packages.
    pub(super) fn test_programs(
        &self,
        packages: &BTreeSet<&str>,
    ) -> Result<Vec<TestProgram>, String> {
        let mut command = self.cargo();
        command.args(["test", "--no-run", "--message-format=json-render-diagnostics"]);
        for package in packages {
            command.args(["--package", package]);
        }
        command.stderr(Stdio::inherit());
        let output = command.output().map_err(|error| format!("cannot start cargo: {error}"))?;
        if !output.status.success() {
            return Err("the tests do not compile".to_owned());
        }
        Ok(messages(&output.stdout).filter_map(|message| test_program(&message)).collect())
    }
}

/// The positions of the mutants in the text of a file.
#[derive(Debug)]
struct Places {
    branches: Vec<(Range<usize>, usize)>,
    enclosed: Vec<(Range<usize>, usize)>,
}

fn messages(output: &[u8]) -> impl Iterator<Item = Value> {
    let lines: Vec<_> = output.split(|byte| *byte == b'\n').map(serde_json::from_slice).collect();
    lines.into_iter().flatten()
}

fn test_program(message: &Value) -> Option<TestProgram> {
    let is_test = message.get("profile")?.get("test")?.as_bool()?;
    let executable = PathBuf::from(message.get("executable")?.as_str()?);
    let manifest = Path::new(message.get("manifest_path")?.as_str()?);
    let directory = manifest.parent()?.to_owned();
    let package = directory.file_name()?.to_str()?.to_owned();
    is_test.then_some(TestProgram { package, executable, directory })
}

/// Returns the mutant that an error comes from. Where the branch of a mutant is the place of the error, it does not compile;
/// elsewhere a mutant that encloses the place disturbs the code around it.
fn blame(
    error: &Value,
    files: &BTreeMap<String, Places>,
    mutants: &[ListedMutant],
) -> Option<(usize, LeftOut)> {
    let spans = error.get("spans")?.as_array()?;
    let primary = spans.iter().filter(|span| span.get("is_primary") == Some(&Value::Bool(true)));
    let places = primary.chain(spans).filter_map(|span| {
        let at = usize::try_from(span.get("byte_start")?.as_u64()?).ok()?;
        Some((files.get(span.get("file_name")?.as_str()?)?, at))
    });
    let places = places.collect::<Vec<_>>();
    let is_arm = |number: usize| mutants.get(number).is_some_and(|one| one.genre == "MatchArm");
    let branch = || places.iter().find_map(|(file, at)| smallest(&file.branches, *at, |_| true));
    let enclosed = || places.iter().find_map(|(file, at)| smallest(&file.enclosed, *at, |_| true));
    let arm = || places.iter().find_map(|(file, at)| smallest(&file.enclosed, *at, is_arm));
    match code(error) {
        Some(NOT_EXHAUSTIVE) => Some((arm()?, LeftOut::Unviable)),
        Some(NOT_CONST) => Some((branch()?, LeftOut::Unchoosable)),
        _ => branch()
            .map(|number| (number, LeftOut::Unviable))
            .or_else(|| Some((enclosed()?, LeftOut::Unchoosable))),
    }
}

/// The compiler's code for a match without an arm that it needs.
const NOT_EXHAUSTIVE: &str = "E0004";

/// The compiler's code for a call of a function that is not `const` where only those may be called.
const NOT_CONST: &str = "E0015";

fn smallest(
    ranges: &[(Range<usize>, usize)],
    at: usize,
    is_of_kind: impl Fn(usize) -> bool,
) -> Option<usize> {
    let around = ranges.iter().filter(|(range, one)| range.contains(&at) && is_of_kind(*one));
    around.min_by_key(|(range, _)| range.len()).map(|(_, number)| *number)
}

fn code(error: &Value) -> Option<&str> {
    error.get("code")?.get("code")?.as_str()
}

/// Returns the name of the function that should be `const` according to an error.
fn called_in_const(error: &Value) -> Option<String> {
    let message = error.get("message")?.as_str().filter(|_| code(error) == Some(NOT_CONST))?;
    let path = message.split('`').nth(1)?;
    Some(path.rsplit("::").next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(code: &str, at: usize) -> Value {
        let span = json!({ "file_name": "a.rs", "byte_start": at, "is_primary": true });
        json!({ "code": { "code": code }, "spans": [span],
            "message": "cannot call non-const function `a::b::f` in constants" })
    }

    #[test]
    fn an_error_leaves_out_the_mutant_that_it_comes_from() {
        let branches = vec![(10..20, 1), (30..40, 2)];
        let enclosed = vec![(5..50, 1), (25..45, 2)];
        let files = BTreeMap::from([("a.rs".to_owned(), Places { branches, enclosed })]);
        let blame = |code, at| blame(&error(code, at), &files, &[]);
        assert_eq!(blame("E0308", 12), Some((1, LeftOut::Unviable)));
        assert_eq!(blame("E0015", 35), Some((2, LeftOut::Unchoosable)));
        assert_eq!(blame("E0308", 42), Some((2, LeftOut::Unchoosable)));
        assert_eq!(blame("E0308", 60), None);
        assert_eq!(blame("E0004", 12), None);
        assert_eq!(called_in_const(&error("E0015", 60)).as_deref(), Some("f"));
        assert_eq!(called_in_const(&error("E0308", 60)), None);
    }
}
