//! Statistics and checks of the names and the prose of the crates.

mod check;
mod items;
mod prose;
mod spelling;
mod words;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use items::{ItemKind, NamedItem};
use words::{is_function_word, is_participle, is_participle_function, split_identifier};

use crate::{
    Failure,
    workspace::{self, crate_directories, sorted_entries},
};

/// The arguments that the help shows.
pub(crate) const ARGUMENTS: &str = "[--check | --list [CRATE] | --sample N [--seed N]]";

/// One source file with its items.
struct SourceFile {
    krate: String,
    path: PathBuf,
    text: String,
    items: Vec<NamedItem>,
}

/// Prints the statistics of all crates, a list of their items, or a random sample of names.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let files = read_crates()?;
    match words.as_slice() {
        [] => print!("{}", statistics(&files)),
        ["--check"] => check::check(&files)?,
        ["--list"] => print!("{}", list(&files, None)),
        ["--list", krate] => print!("{}", list(&files, Some(krate))),
        ["--sample", count] => print!("{}", sample(&files, number(count)?, 1)),
        ["--sample", count, "--seed", seed] => {
            print!("{}", sample(&files, number(count)?, number(seed)? as u64));
        }
        _ => return Err(Failure::Usage(format!("usage: cargo xtask naming {ARGUMENTS}"))),
    }
    Ok(())
}

fn number(text: &str) -> Result<usize, Failure> {
    text.parse().map_err(|_| Failure::Usage(format!("`{text}` is not a number")))
}

/// Reads `src/**/*.rs` of every crate, without files of tests.
fn read_crates() -> Result<Vec<SourceFile>, Failure> {
    let mut files = Vec::new();
    for krate in crate_directories()? {
        let name = krate.file_name().unwrap_or_default().to_string_lossy();
        let name = name.trim_start_matches("openoxide-").to_owned();
        read_directory(&name, &krate.join("src"), "", &mut files)?;
    }
    Ok(files)
}

fn read_directory(
    krate: &str,
    directory: &Path,
    module: &str,
    files: &mut Vec<SourceFile>,
) -> Result<(), Failure> {
    for path in sorted_entries(directory)? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_root = module.is_empty() && ["lib", "main"].contains(&stem.as_str());
        let inner = match (is_root, module) {
            (true, _) => String::new(),
            (false, "") => stem.clone(),
            (false, module) => format!("{module}::{stem}"),
        };
        if stem == "tests" {
            continue;
        } else if path.is_dir() {
            read_directory(krate, &path, &inner, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(read_file(krate, path, &inner)?);
        }
    }
    Ok(())
}

fn read_file(krate: &str, path: PathBuf, module: &str) -> Result<SourceFile, Failure> {
    let text = fs::read_to_string(&path)
        .map_err(|error| Failure::Work(format!("{}: {error}", path.display())))?;
    let parsed = syn::parse_file(&text)
        .map_err(|error| Failure::Work(format!("{}: {error}", path.display())))?;
    let items = items::collect_items(&parsed, module);
    Ok(SourceFile { krate: krate.to_owned(), path, text, items })
}

/// Returns the table of counts and percentages.
fn statistics(files: &[SourceFile]) -> String {
    let names = |kind| {
        let items = files.iter().flat_map(|file| &file.items);
        items.filter(move |item| item.kind == kind).map(|item| item.name.as_str())
    };
    let types: Vec<&str> = names(ItemKind::Type).collect();
    let functions: Vec<&str> = names(ItemKind::Function).collect();
    let single = |name: &&&str| split_identifier(name).len() == 1;
    let word_is = |name: &str, is: fn(&str) -> bool| {
        let words = split_identifier(name);
        matches!(words.as_slice(), [word] if is(word))
    };
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &types {
        *uses.entry(name).or_default() += 1;
    }
    let shared =
        types.iter().filter(|name| uses.get(*name).is_some_and(|count| *count > 1)).count();
    let participles = types.iter().filter(|name| word_is(name, is_participle)).count();
    let by_participle = functions.iter().filter(|name| word_is(name, is_participle_function));
    let by_function_word = functions.iter().filter(|name| word_is(name, is_function_word));
    let mut table = String::from("names\n");
    let mut row = |what: &str, count: usize, total: usize| {
        let share = 100.0 * count as f64 / total.max(1) as f64;
        let line = format!("  {what:<52} {count:>6} {share:>6.1} %\n");
        table.push_str(&line);
    };
    row("types", types.len(), types.len());
    row("types of one word", types.iter().filter(single).count(), types.len());
    row("types named by one participle", participles, types.len());
    row("types that share a name with another type", shared, types.len());
    row("functions", functions.len(), functions.len());
    row("functions of one word", functions.iter().filter(single).count(), functions.len());
    row("functions named by one participle", by_participle.count(), functions.len());
    row("functions named by a preposition or adverb", by_function_word.count(), functions.len());
    table + &prose::statistics(files.iter().map(|file| file.text.as_str()))
}

/// Returns one line for each item: place, kind, visibility, path, summary.
fn list(files: &[SourceFile], krate: Option<&str>) -> String {
    let mut lines = String::new();
    for file in files.iter().filter(|file| krate.is_none_or(|krate| file.krate == krate)) {
        let path = file.path.strip_prefix(workspace::root()).unwrap_or(&file.path);
        for item in &file.items {
            let kind = format!("{:?}", item.kind).to_lowercase();
            let visibility = if item.is_public { "pub" } else { "-" };
            let line = format!(
                "{}:{}:{}\t{kind}\t{visibility}\t{}::{}\t{}\n",
                path.display(),
                item.line,
                item.column,
                if item.path.is_empty() { file.krate.as_str() } else { &item.path },
                item.name,
                item.summary
            );
            lines.push_str(&line);
        }
    }
    lines
}

/// Returns the kind, the crate and the path of `count` public types and functions, chosen by `seed`.
fn sample(files: &[SourceFile], count: usize, seed: u64) -> String {
    let mut public: Vec<String> = Vec::new();
    for file in files {
        for item in &file.items {
            let kind = match item.kind {
                ItemKind::Type => "type",
                ItemKind::Function => "fn",
                _ => continue,
            };
            if item.is_public {
                let path =
                    if item.path.is_empty() { String::new() } else { format!("::{}", item.path) };
                public.push(format!("{kind} openoxide_{}{path}::{}\n", file.krate, item.name));
            }
        }
    }
    let mut chance = crate::chance::Chance::new(seed);
    let mut chosen = String::new();
    for _ in 0..count.min(public.len()) {
        chosen.push_str(&public.swap_remove(chance.below(public.len())));
    }
    chosen
}
