//! The results of a run in a file: a run that was stopped is continued, and runs are combined.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::Command,
};

use super::{options::Options, results::Result as Outcome};
use crate::workspace;

/// The results so far.
#[derive(Default)]
pub(super) struct Progress {
    /// The file to which new results are appended.
    file: Option<File>,
    results: BTreeMap<String, Outcome>,
}

impl Progress {
    /// Reads the results of a run that was stopped, or begins a file.
    ///
    /// # Errors
    /// Returns an error if the file is of another commit, or of a run with other options.
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let state = format!("# commit {} each {} seed {}", commit()?, options.each, options.seed);
        let mut progress = Self::default();
        if path.exists() {
            let (before, results) = read(path)?;
            if before != state {
                return Err(format!("{}: `{before}`, and now `{state}`", path.display()));
            }
            progress.results =
                results.into_iter().map(|each| (each.program.clone(), each)).collect();
        } else {
            fs::write(path, format!("{state}\n")).map_err(failed)?;
        }
        progress.file = Some(File::options().append(true).open(path).map_err(failed)?);
        Ok(progress)
    }

    /// Returns whether there is a result of this program.
    pub(super) fn has(&self, program: &str) -> bool {
        self.results.contains_key(program)
    }

    /// Adds the result of a program.
    pub(super) fn add(&mut self, result: Outcome) -> std::io::Result<()> {
        if let Some(file) = &mut self.file {
            writeln!(file, "{}", result.line())?;
        }
        drop(self.results.insert(result.program.clone(), result));
        Ok(())
    }

    /// Adds the command lines of runs with other seeds, and returns all results.
    ///
    /// # Errors
    /// Returns an error if a run was at another commit.
    pub(super) fn into_results(
        mut self,
        others: &[impl AsRef<Path>],
    ) -> Result<Vec<Outcome>, String> {
        for path in others {
            let (state, results) = read(path.as_ref())?;
            let expected = format!("# commit {} ", commit()?);
            if !state.starts_with(&expected) {
                return Err(format!("{}: `{state}` is not `{expected}`", path.as_ref().display()));
            }
            for other in results {
                if let Some(result) = self.results.get_mut(&other.program) {
                    result.merge(other);
                }
            }
        }
        Ok(self.results.into_values().collect())
    }
}

/// Returns the first line of a file of results, and the results.
fn read(path: &Path) -> Result<(String, Vec<Outcome>), String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut lines = text.lines();
    let state = lines.next().unwrap_or_default().to_owned();
    Ok((state, lines.filter_map(Outcome::parse).collect()))
}

/// Returns the commit of the workspace, with `+` if files of it were changed.
pub(super) fn commit() -> Result<String, String> {
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).current_dir(workspace::root()).output();
        let output = output.map_err(|error| format!("git: {error}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=10", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Ok(if changes.is_empty() { commit } else { format!("{commit}+") })
}
