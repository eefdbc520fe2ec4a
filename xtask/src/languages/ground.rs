//! The preparation of the fuzzers: the enclosure, the programs, and a directory with the files that
//! these read.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{
    enclosure::{self, Compiled, Enclosure},
    language::Language,
    sql::{HOSTILE_BASE, PLAIN_BASE},
};
use crate::{setup, steps::succeed, workspace::root};

/// The file of the database.
pub(crate) const BASE: &str = "t.db";

/// The version of jaq, which is not in Debian.
const JAQ: &str = "3.1.2";

const TEXT: &str = "1 2 3\nid,x y\nstart a/b\n\nend \"q\" 4\n";
const JSON: &str = r##"{"name":"n","a":1,"b":false,"l":[1,2,3],"x":{"id":7},"env":{"x":2},"scripts":{"build":"id"}}"##;

/// The content of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// Views and triggers with code. Harmless programs must not run it.
    Hostile,
    /// Only tables. A program that a rule can allow may run stored code, so it is tested without
    /// any.
    Plain,
}

/// The state that all workers share.
#[derive(Debug)]
pub(crate) struct Ground {
    folder: tempfile::TempDir,
    enclosure: Compiled,
    programs: HashMap<&'static str, String>,
}

impl Ground {
    /// Builds the enclosure, and finds the programs of the languages.
    pub(crate) fn build(languages: &[&'static Language]) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("openoxide-languages-").tempdir();
        let folder = folder.map_err(|error| format!("cannot make a folder: {error}"))?;
        let enclosure = enclosure::compile(folder.path())?;
        let mut programs = HashMap::new();
        for implementation in languages.iter().flat_map(|language| language.implementations) {
            programs.insert(implementation.file, file_of(implementation.file)?);
        }
        let ground = Self { folder, enclosure, programs };
        ground.make_base()?;
        Ok(ground)
    }

    /// Creates the database from which the others are copied.
    fn make_base(&self) -> Result<(), String> {
        for (kind, text) in [(Base::Hostile, HOSTILE_BASE), (Base::Plain, PLAIN_BASE)] {
            let mut command = Command::new("sqlite3");
            succeed(command.arg(self.base(kind)).arg(text).stdin(Stdio::null()))?;
        }
        Ok(())
    }

    fn base(&self, kind: Base) -> PathBuf {
        self.folder.path().join(format!("{kind:?}"))
    }

    /// Starts an enclosure in a separate directory.
    pub(crate) fn enclosure(&self, index: usize) -> Result<Enclosure, String> {
        let place = self.folder.path().join(index.to_string());
        self.furnish(&place).map_err(|error| format!("cannot furnish a directory: {error}"))?;
        Enclosure::start(&self.enclosure, &place)
    }

    fn furnish(&self, place: &Path) -> io::Result<()> {
        fs::create_dir_all(place)?;
        fs::write(place.join("a"), TEXT)?;
        fs::write(place.join("a.json"), JSON)?;
        fs::write(place.join("secret"), "x\n")?;
        fs::copy(self.base(Base::Hostile), place.join(BASE)).map(drop)
    }

    /// Returns the file of a program.
    pub(crate) fn program(&self, name: &str) -> Result<String, String> {
        self.programs.get(name).cloned().ok_or_else(|| format!("there is no {name}"))
    }

    /// Copies a database into the directory `place`.
    pub(crate) fn put_base(&self, kind: Base, place: &Path) -> Result<(), String> {
        for rest in ["t.db-journal", "t.db-wal", "t.db-shm"] {
            drop(fs::remove_file(place.join(rest)));
        }
        let copied = fs::copy(self.base(kind), place.join(BASE));
        copied.map(drop).map_err(|error| format!("cannot copy the data base: {error}"))
    }

    /// Returns whether the database in the directory `place` has changed.
    pub(crate) fn is_changed(&self, kind: Base, place: &Path) -> Result<bool, String> {
        let read = |path: PathBuf| {
            fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        let journal = place.join("t.db-journal").exists();
        Ok(journal || read(place.join(BASE))? != read(self.base(kind))?)
    }
}

/// Returns the file of a program. jaq is built if it is missing.
fn file_of(name: &str) -> Result<String, String> {
    let found = setup::find(name).or_else(|| {
        let built = root().join("target/languages/bin").join(name);
        built.is_file().then_some(built)
    });
    let file = match found {
        Some(file) => file,
        None if name == "jaq" => build_jaq()?,
        None => return Err(format!("there is no {name}")),
    };
    let real = fs::canonicalize(&file)
        .map_err(|error| format!("cannot find {}: {error}", file.display()))?;
    Ok(real.display().to_string())
}

fn build_jaq() -> Result<PathBuf, String> {
    println!("==> setup: building jaq {JAQ}");
    let place = root().join("target/languages");
    let mut command = crate::workspace::cargo();
    command.args(["install", "--quiet", "--locked", "--version", JAQ, "jaq", "--root"]);
    succeed(command.arg(&place))?;
    Ok(place.join("bin/jaq"))
}
