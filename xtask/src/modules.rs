//! The modules of each crate and their imports, to find modules that import from each other.

mod import_cycles;
mod imports;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use import_cycles::{ImportGraph, find_cycles};
use imports::{FileImports, read_imports};

use crate::{Failure, workspace};

/// The arguments that the help shows.
pub(crate) const ARGUMENTS: &str = "[CRATE]";

/// The maximum number of modules that re-export the same item one from another.
const MAX_REEXPORTS: usize = 8;

/// The modules of a crate that are files, each with its path below the root module.
type ModuleFiles = BTreeMap<Vec<String>, PathBuf>;

/// Checks that in no crate two modules import from each other, directly or through other modules.
///
/// Each module is a file. A module imports from another one if a `use` declaration or a path in its
/// code names the other module or an item in it. Tests are left out.
///
/// # Errors
/// Returns an error that names the imports of each cycle, and for a file that cannot be read.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let selected = match arguments {
        [] => None,
        [krate] => Some(krate.trim_start_matches("openoxide-")),
        _ => return Err(Failure::Usage(format!("usage: cargo xtask modules {ARGUMENTS}"))),
    };
    let (mut count, mut cycles) = (0, Vec::new());
    for krate in workspace::crate_directories()? {
        let name = krate.file_name().unwrap_or_default().to_string_lossy();
        let name = name.trim_start_matches("openoxide-");
        if selected.is_some_and(|selected| selected != name) {
            continue;
        }
        let graph = import_graph(&krate.join("src"))?;
        count += graph.len();
        cycles.extend(find_cycles(&graph).iter().map(|cycle| describe_cycle(name, cycle, &graph)));
    }
    match (count, cycles.is_empty()) {
        (0, _) => Err(Failure::Usage(format!("there is no crate `{}`", arguments.join(" ")))),
        (_, true) => {
            println!("{count} modules, no cycle of imports");
            Ok(())
        }
        (_, false) => Err(Failure::Work(cycles.join("\n"))),
    }
}

/// Returns the modules below `source` with the modules that each imports from.
fn import_graph(source: &Path) -> Result<ImportGraph, Failure> {
    let mut files = ModuleFiles::new();
    collect_modules(source, &mut Vec::new(), &mut files)?;
    let mut imports = BTreeMap::new();
    for (module, file) in files {
        let parsed = workspace::parse_source(&file)?;
        let of_module = read_imports(&parsed, &module);
        imports.insert(module, of_module);
    }
    let targets = |module: &Vec<String>, of_module: &FileImports| {
        let defining = of_module.paths.iter().filter_map(|path| defining_module(path, &imports));
        defining.filter(|target| target != module).map(|target| target.join("::")).collect()
    };
    Ok(imports
        .iter()
        .map(|(name, of_module)| (name.join("::"), targets(name, of_module)))
        .collect())
}

/// Adds the files below `directory`, which is the directory of the module `parent`.
fn collect_modules(
    directory: &Path,
    parent: &mut Vec<String>,
    files: &mut ModuleFiles,
) -> Result<(), Failure> {
    for path in workspace::sorted_entries(directory)? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_root = parent.is_empty() && ["lib", "main"].contains(&stem.as_str());
        let is_test = stem == "tests" || stem.ends_with("_tests");
        let is_program = parent.is_empty() && stem == "bin";
        if is_test || is_program {
            continue;
        }
        if !is_root {
            parent.push(stem);
        }
        if path.is_dir() {
            collect_modules(&path, parent, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(parent.clone(), path);
        }
        if !is_root {
            parent.pop();
        }
    }
    Ok(())
}

/// Returns the module that defines the item at `path`. A module that re-exports the item does not
/// define it.
fn defining_module(
    path: &[String],
    imports: &BTreeMap<Vec<String>, FileImports>,
) -> Option<Vec<String>> {
    let mut path = path.to_vec();
    for _ in 0..MAX_REEXPORTS {
        let length = (0..=path.len())
            .rev()
            .find(|length| path.get(..*length).is_some_and(|path| imports.contains_key(path)))?;
        let rest = path.split_off(length);
        let reexport = rest.first().and_then(|name| imports.get(&path)?.names.get(name));
        match reexport {
            Some(original) => path = [original, rest.get(1..).unwrap_or_default()].concat(),
            None => return Some(path),
        }
    }
    None
}

/// Returns a line for the cycle and a line for each import in it.
fn describe_cycle(krate: &str, cycle: &[String], graph: &ImportGraph) -> String {
    let shown =
        |module: &str| if module.is_empty() { "crate root".to_owned() } else { module.to_owned() };
    let mut lines = vec![format!("openoxide-{krate}: {} modules import each other:", cycle.len())];
    for module in cycle {
        let targets = graph.get(module).into_iter().flatten();
        let targets = targets.filter(|target| cycle.contains(target)).map(|target| shown(target));
        let targets: Vec<String> = targets.collect();
        lines.push(format!("  {} -> {}", shown(module), targets.join(", ")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn cycles_through_parents_paths_and_other_modules_are_found() {
        let source = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = source.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\n");
        write("a.rs", "mod inner;\nuse inner::I;\npub struct A(I);\npub struct S;\n");
        write("a/inner.rs", "use super::S;\npub struct I(S);\n");
        write("b.rs", "pub fn b() { crate::c::c() }\n");
        write(
            "c.rs",
            "use crate::a::{A, S};\npub fn c() {}\n#[cfg(test)]\nmod tests { use crate::b::b; }\n",
        );
        let graph = import_graph(source.path()).unwrap();
        assert_eq!(find_cycles(&graph), [["a", "a::inner"]]);
        let text = describe_cycle("x", &find_cycles(&graph)[0], &graph);
        assert!(text.contains("  a::inner -> a"), "{text}");
        write("c.rs", "pub fn c() { crate::b::b(); crate::A; }\n");
        let graph = import_graph(source.path()).unwrap();
        assert_eq!(graph["c"], ["a".to_owned(), "b".to_owned()].into());
        assert_eq!(find_cycles(&graph), [["a", "a::inner"], ["b", "c"]]);
    }
}
