//! The packages that provide each program.

use std::{collections::BTreeMap, fs};

use crate::workspace;

/// A package of one of the registries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Package {
    pub(super) registry: String,
    pub(super) name: String,
}

/// The packages, and the programs of each.
pub(super) struct Packages {
    pub(super) all: BTreeMap<Package, Vec<String>>,
}

impl Packages {
    pub(super) fn read() -> Result<Self, String> {
        let path = workspace::root().join("corpus/programs/packages.tsv");
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut all: BTreeMap<Package, Vec<String>> = BTreeMap::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [registry, name, programs] = fields[..] else {
                return Err(format!("packages.tsv: `{line}` has not three fields"));
            };
            let package = Package { registry: registry.to_owned(), name: name.to_owned() };
            let programs = programs.split_whitespace().map(str::to_owned);
            all.entry(package).or_default().extend(programs);
        }
        Ok(Self { all })
    }

    /// Returns the packages of a registry, and the programs of each.
    pub(super) fn of(&self, registry: &str) -> impl Iterator<Item = (&Package, &Vec<String>)> {
        self.all.iter().filter(move |(package, _)| package.registry == registry)
    }

    /// Returns the package that brings a program; of several the first, Debian's before the others'.
    pub(super) fn package(&self, program: &str) -> Option<&Package> {
        let brings = |programs: &Vec<String>| programs.iter().any(|each| each == program);
        let found = |debian: bool| {
            self.all.iter().find(|(package, programs)| {
                (package.registry == "debian") == debian && brings(programs)
            })
        };
        found(true).or_else(|| found(false)).map(|(package, _)| package)
    }
}
