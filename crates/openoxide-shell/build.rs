//! Generation of static tables from the program descriptions in `programs/*.toml`. A hook runs as a
//! new process for each tool call, so parsing the tables at run time would be too slow.
#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::PathBuf,
};

use hash::name_slot;
use serde::Deserialize;

#[path = "build/effects.rs"]
mod effects;
#[path = "src/programs/hash.rs"]
mod hash;

/// One description file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Options that several programs share.
    #[serde(default)]
    set: BTreeMap<String, Options>,
    program: Vec<Row>,
}

/// Names of options, grouped by effect. The names are separated by blanks.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Options {
    flags: String,
    texts: String,
    optional: String,
    last: String,
    reads: String,
    writes: String,
    runs: String,
    reaches: String,
    mounts: String,
    reads_more: String,
    loads: String,
    loads_flags: String,
    loads_optional: String,
    asks: String,
    asks_flags: String,
    asks_optional: String,
    rest: String,
    ends: String,
    moves: String,
    into: String,
    writes_optional: String,
}

/// A program or subcommand.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Row {
    names: String,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    class: Option<String>,
    #[serde(default)]
    operands: String,
    #[serde(default)]
    given: String,
    #[serde(default)]
    here_with: String,
    #[serde(default)]
    cuts: String,
    #[serde(default)]
    searches: String,
    #[serde(default)]
    traits: String,
    #[serde(default)]
    opaque: String,
    #[serde(default)]
    except: String,
    #[serde(default)]
    plain_signs: String,
    #[serde(default)]
    reader: Option<String>,
    #[serde(default)]
    alone: Option<String>,
    #[serde(default, rename = "use")]
    sets: String,
    #[serde(default)]
    check: Option<String>,
    #[serde(default)]
    tokens: Option<String>,
    #[serde(default)]
    values: Option<String>,
    #[serde(default)]
    when: Vec<Condition>,
    #[serde(default)]
    sub: Vec<Self>,
    #[serde(default)]
    options: Options,
}

/// The overrides that apply if certain options are present.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Condition {
    with: String,
    class: Option<String>,
    operands: Option<String>,
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    prints_paths: bool,
}

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    println!("cargo::rerun-if-changed=programs");
    println!("cargo::rerun-if-changed=prefixes.toml");
    println!("cargo::rerun-if-changed=effects.toml");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/programs/hash.rs");
    let mut table = Table::default();
    let mut files: Vec<PathBuf> = fs::read_dir("programs")?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    for file in files {
        let place = file.display().to_string();
        table.file(&fs::read_to_string(&file)?).map_err(|error| format!("{place}: {error}"))?;
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let unproved = fs::read_to_string("programs/unproved.txt")?;
    let versions = fs::read_to_string("programs/versions.txt")?;
    let unproved = table.unproved(&unproved, &versions)?;
    fs::write(out.join("readers.rs"), table.functions()?)?;
    fs::write(out.join("programs.rs"), table.finish()? + &unproved)?;
    let prefixes = prefixes(&fs::read_to_string("prefixes.toml")?);
    fs::write(
        out.join("prefixes.rs"),
        prefixes.map_err(|error| format!("prefixes.toml: {error}"))?,
    )?;
    let effects = effects::effects(&fs::read_to_string("effects.toml")?);
    fs::write(out.join("effects.rs"), effects.map_err(|error| format!("effects.toml: {error}"))?)?;
    Ok(())
}

/// The prefixes that may be offered, and the prefixes that are never offered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Prefixes {
    words: BTreeMap<String, u8>,
    banned: BTreeMap<String, Vec<String>>,
}

/// Writes the table of prefixes.
fn prefixes(text: &str) -> Fallible<String> {
    let prefixes: Prefixes = toml::from_str(text)?;
    let mut all = BTreeMap::new();
    for (key, words) in prefixes.words {
        all.insert(key, format!("PrefixArity::Words({words})"));
    }
    for key in prefixes.banned.into_values().flatten() {
        if all.insert(key.clone(), "PrefixArity::Banned".to_owned()).is_some() {
            return Err(format!("`{key}` is listed twice").into());
        }
    }
    if let Some(long) = all.keys().find(|key| key.len() >= 32) {
        return Err(format!("`{long}` is longer than any key may be").into());
    }
    let mut code = String::new();
    let rows: Vec<_> = all.iter().map(|(key, value)| format!("({key:?}, {value})")).collect();
    writeln!(code, "static PREFIXES: &[(&str, PrefixArity)] = &[{}];", rows.join(", "))?;
    let slots = slots(all.keys())?;
    writeln!(code, "static SLOTS: [u16; {}] = {slots:?};", slots.len())?;
    Ok(code)
}

/// Returns a hash table that maps the hash of a name to its number. Numbers start at one; 0 is an
/// empty slot. At least half of the slots stay empty.
fn slots<'n>(names: impl ExactSizeIterator<Item = &'n String>) -> Fallible<Vec<usize>> {
    let mut slots = vec![0; (names.len() * 4).next_power_of_two()];
    for (number, name) in names.enumerate() {
        let count = slots.len();
        let free = (name_slot(name)..).map(|at| at % count).find(|at| slots.get(*at) == Some(&0));
        *free.and_then(|at| slots.get_mut(at)).ok_or("no room")? = number + 1;
    }
    Ok(slots)
}

/// The arrays of the table, in the form in which they are written (`src/programs/table.rs`).
#[derive(Default)]
struct Table {
    programs: BTreeMap<String, String>,
    levels: Vec<String>,
    subs: Vec<String>,
    whens: Vec<String>,
    sets: Vec<String>,
    options: Vec<String>,
    operands: Vec<String>,
    lists: Vec<String>,
    checks: Vec<String>,
    tokens: Vec<String>,
    values: Vec<String>,
    readers: Vec<String>,
    /// All texts, concatenated, and the position of each text.
    texts: String,
    places: BTreeMap<String, String>,
}

/// Adds rows to an array and returns their range.
fn add(array: &mut Vec<String>, rows: impl IntoIterator<Item = String>) -> Fallible<String> {
    let from = u16::try_from(array.len())?;
    array.extend(rows);
    let to = u16::try_from(array.len())?;
    Ok(format!("TableRange {{ start: {from}, end: {to} }}"))
}

/// Returns the number of a function, and adds the function if it is new.
fn function(array: &mut Vec<String>, kind: &str, name: Option<&String>) -> String {
    let Some(name) = name else { return "None".to_owned() };
    let name = format!("readers::{name} as {kind}");
    let found = array.iter().position(|each| *each == name);
    let number = found.unwrap_or(array.len());
    if found.is_none() {
        array.push(name);
    }
    format!("Some({number})")
}

impl Table {
    fn file(&mut self, text: &str) -> Fallible<()> {
        let file: File = toml::from_str(text)?;
        let mut sets = BTreeMap::new();
        for (name, options) in &file.set {
            sets.insert(
                name.clone(),
                self.options(options).map_err(|e| format!("set {name}: {e}"))?,
            );
        }
        for row in &file.program {
            if row.source.as_deref().unwrap_or_default().is_empty() {
                return Err(format!("{}: no source", row.names).into());
            }
            let level = self.level(row, &sets, "").map_err(|e| format!("{}: {e}", row.names))?;
            for name in row.names.split_whitespace() {
                if self.programs.insert(name.to_owned(), level.clone()).is_some() {
                    return Err(format!("`{name}` is listed twice").into());
                }
            }
        }
        Ok(())
    }

    /// Adds a level and returns its index.
    fn level(
        &mut self,
        row: &Row,
        sets: &BTreeMap<String, String>,
        above: &str,
    ) -> Fallible<String> {
        let class = class(row.class.as_deref())?;
        // All subcommands inherit the spelling of options and the version control systems that the
        // program starts.
        let traits_here = format!("{above} {}", row.traits);
        let inherited = |name: &&str| {
            matches!(*name, "single-dash" | "abbreviations" | "starts-git" | "starts-vcs")
        };
        let below: Vec<&str> = traits_here.split_whitespace().filter(inherited).collect();
        let below = below.join(" ");
        let mut options = vec![self.options(&row.options)?];
        for name in row.sets.split_whitespace() {
            options.push(sets.get(name).ok_or(format!("no set `{name}`"))?.clone());
        }
        let mut subs = BTreeMap::new();
        for sub in &row.sub {
            let level = self.level(sub, sets, &below).map_err(|e| format!("{}: {e}", sub.names))?;
            for name in sub.names.split_whitespace() {
                if subs.insert(name.to_owned(), level.clone()).is_some() {
                    return Err(format!("`{name}` is listed twice").into());
                }
            }
        }
        let subs = self.named(&subs);
        let whens: Fallible<Vec<_>> = row.when.iter().map(|when| self.when(when)).collect();
        let name = row.names.split_whitespace().next().unwrap_or_default();
        let alone = row.alone.as_ref().map(|text| self.text(text)).transpose()?;
        let level = format!(
            "CommandSpec {{ name: {}, class: {class}, operands: {}, options: {}, option_overrides: {}, subcommands: {}, given: {}, here_with: {}, \
             cuts: {}, searches: {}, opaque: {}, except: {}, plain_signs: {}, check: {}, tokens: {}, values: {}, reader: {}, alone: {}, traits: {} }}",
            self.text(name)?,
            self.operands(&row.operands)?,
            add(&mut self.sets, options)?,
            add(&mut self.whens, whens?)?,
            add(&mut self.subs, subs?)?,
            self.list(&row.given)?,
            self.list(&row.here_with)?,
            self.list(&row.cuts)?,
            self.list(&row.searches)?,
            self.list(&row.opaque)?,
            self.list(&row.except)?,
            self.list(&row.plain_signs)?,
            function(&mut self.checks, "OptionCheck", row.check.as_ref()),
            function(&mut self.tokens, "TokenOutputCheck", row.tokens.as_ref()),
            function(&mut self.values, "OptionValueReader", row.values.as_ref()),
            function(&mut self.readers, "CommandReader", row.reader.as_ref()),
            optional(alone),
            traits(&traits_here)?,
        );
        self.levels.push(level);
        Ok((self.levels.len() - 1).to_string())
    }

    fn when(&mut self, when: &Condition) -> Fallible<String> {
        let with = self.list(&when.with)?;
        let class = optional(when.class.as_deref().map(class_of).transpose()?);
        let operands = when.operands.as_ref().map(|text| self.operands(text)).transpose()?;
        let (operands, strict, paths) = (optional(operands), when.strict, when.prints_paths);
        Ok(format!(
            "OptionOverride {{ with: {with}, class: {class}, operands: {operands}, strict: {strict}, prints_paths: {paths} }}"
        ))
    }

    /// Adds a set of options and returns its range.
    fn options(&mut self, options: &Options) -> Fallible<String> {
        let kinds = [
            (&options.flags, "Nothing", "Nothing"),
            (&options.texts, "Value", "Nothing"),
            (&options.optional, "Attached", "Nothing"),
            (&options.last, "Last", "Nothing"),
            (&options.reads, "Value", "Reads"),
            (&options.writes, "Value", "Writes"),
            (&options.runs, "Value", "Runs"),
            (&options.reaches, "Value", "Reaches"),
            (&options.mounts, "Value", "Mounts"),
            (&options.reads_more, "Value", "ReadsMore"),
            (&options.loads, "Value", "Loads"),
            (&options.loads_flags, "Nothing", "Loads"),
            (&options.loads_optional, "Attached", "Loads"),
            (&options.asks, "Value", "Asks"),
            (&options.asks_flags, "Nothing", "Asks"),
            (&options.asks_optional, "Attached", "Asks"),
            (&options.rest, "Rest", "Asks"),
            (&options.ends, "Nothing", "Ends"),
            (&options.moves, "Value", "Moves"),
            (&options.into, "Value", "Into"),
            (&options.writes_optional, "Attached", "Writes"),
        ];
        let mut all = BTreeMap::new();
        for (text, takes, does) in kinds {
            for name in text.split_whitespace() {
                let text = self.text(name)?;
                let code = format!(
                    "OptionRow {{ name: {text}, value: OptionValueKind::{takes}, effect: OptionEffect::{does} }}"
                );
                if all.insert(name, code).is_some() {
                    return Err(format!("option `{name}` is listed twice").into());
                }
            }
        }
        add(&mut self.options, all.into_values())
    }

    fn operands(&mut self, text: &str) -> Fallible<String> {
        let (first, repeated, last) = operands(text)?;
        let (first, last) = (add(&mut self.operands, first)?, add(&mut self.operands, last)?);
        let repeated = optional(repeated);
        Ok(format!("OperandSpecRow {{ first: {first}, repeated: {repeated}, last: {last} }}"))
    }

    /// Adds the words of a text as a list of texts.
    fn list(&mut self, text: &str) -> Fallible<String> {
        let texts: Fallible<Vec<_>> = text.split_whitespace().map(|text| self.text(text)).collect();
        Ok(format!("TableTexts({})", add(&mut self.lists, texts?)?))
    }

    /// Adds a text if the table does not contain it yet.
    fn text(&mut self, text: &str) -> Fallible<String> {
        if let Some(place) = self.places.get(text) {
            return Ok(place.clone());
        }
        let (at, length) = (u32::try_from(self.texts.len())?, u8::try_from(text.len())?);
        let at = at.checked_mul(256).ok_or("too many texts")?;
        let place = format!("TableText({})", at + u32::from(length));
        self.texts.push_str(text);
        self.places.insert(text.to_owned(), place.clone());
        Ok(place)
    }

    /// Returns the rows of levels by their names.
    fn named(&mut self, levels: &BTreeMap<String, String>) -> Fallible<Vec<String>> {
        let row = |(name, level): (&String, &String)| {
            Ok(format!("NameEntry {{ name: {}, level: {level} }}", self.text(name)?))
        };
        levels.iter().map(row).collect()
    }

    /// Returns the statics that mark the programs of a list, and those of them whose version is not
    /// proved otherwise.
    fn unproved(&self, list: &str, versions: &str) -> Fallible<String> {
        let of = |file: &str, list: &str| {
            let names = list.lines().filter(|line| !line.starts_with('#'));
            let names: Vec<_> = names.filter_map(|line| line.split('\t').next()).collect();
            let set: BTreeSet<&str> = names.iter().copied().collect();
            if !names.is_sorted() || set.len() != names.len() {
                return Err(format!("{file}: the names are not sorted, or one is listed twice"));
            }
            match set.iter().find(|name| !self.programs.contains_key(**name)) {
                Some(unknown) => Err(format!("{file}: `{unknown}` is not in the table")),
                None => Ok(names.into_iter().map(str::to_owned).collect::<BTreeSet<_>>()),
            }
        };
        let unproved = of("unproved.txt", list)?;
        let versions = of("versions.txt", versions)?;
        if let Some(proved) = versions.iter().find(|name| !unproved.contains(*name)) {
            return Err(format!("versions.txt: `{proved}` is not unproved").into());
        }
        let open = &unproved - &versions;
        Ok(self.marks("UNPROVED", &unproved) + &self.marks("UNPROVED_VERSIONS", &open))
    }

    /// Returns the static that marks programs, with one bit for each program of the table.
    fn marks(&self, name: &str, names: &BTreeSet<String>) -> String {
        let mut marks = vec![0_u8; self.programs.len().div_ceil(8)];
        for (number, key) in self.programs.keys().enumerate() {
            if let Some(byte) = marks.get_mut(number / 8).filter(|_| names.contains(key)) {
                *byte |= 1 << (number % 8);
            }
        }
        format!("pub(super) static {name}: [u8; {}] = {marks:?};\n", marks.len())
    }

    fn finish(mut self) -> Fallible<String> {
        let slots = slots(self.programs.keys())?;
        let programs = std::mem::take(&mut self.programs);
        let programs = self.named(&programs)?;
        let slots: Vec<_> = slots.iter().map(ToString::to_string).collect();
        let mut code = format!("static TEXTS: &str = {:?};\n", self.texts);
        for (name, kind, rows) in [
            ("PROGRAMS", "NameEntry", programs),
            ("SLOTS", "u16", slots),
            ("LEVELS", "CommandSpec", self.levels),
            ("SUBS", "NameEntry", self.subs),
            ("WHENS", "OptionOverride", self.whens),
            ("SETS", "TableRange", self.sets),
            ("OPTIONS", "OptionRow", self.options),
            ("OPERANDS", "OperandKind", self.operands),
            ("LISTS", "TableText", self.lists),
        ] {
            add_static(&mut code, name, kind, &rows)?;
        }
        Ok(code)
    }

    /// Returns the code of the functions that the table names.
    fn functions(&self) -> Fallible<String> {
        let mut code = String::new();
        for (name, kind, rows) in [
            ("CHECKS", "OptionCheck", &self.checks),
            ("TOKENS", "TokenOutputCheck", &self.tokens),
            ("VALUES", "OptionValueReader", &self.values),
            ("READERS", "CommandReader", &self.readers),
        ] {
            add_static(&mut code, name, kind, rows)?;
        }
        Ok(code)
    }
}

/// Adds the code of an array.
fn add_static(code: &mut String, name: &str, kind: &str, rows: &[String]) -> Fallible<()> {
    let (count, rows) = (rows.len(), rows.join(", "));
    Ok(writeln!(code, "static {name}: [{kind}; {count}] = [{rows}];")?)
}

fn optional(code: Option<impl std::fmt::Display>) -> String {
    code.map_or("None".to_owned(), |code| format!("Some({code})"))
}

fn class(text: Option<&str>) -> Fallible<&'static str> {
    text.map_or(Ok("CommandClass::Unknown"), class_of)
}

fn class_of(text: &str) -> Fallible<&'static str> {
    Ok(match text {
        "harmless" => "CommandClass::Harmless",
        "edits" => "CommandClass::Edits",
        "asks" => "CommandClass::Unknown",
        _ => return Err(format!("no class `{text}`").into()),
    })
}

/// The first operands, the operand that repeats, and the last operands.
type Operands = (Vec<String>, Option<String>, Vec<String>);

fn operands(text: &str) -> Fallible<Operands> {
    let (mut first, mut last, mut repeated) = (Vec::new(), Vec::new(), None);
    for word in text.split_whitespace() {
        let kind = word.strip_suffix("...").unwrap_or(word);
        let code = match kind {
            "text" => "Text",
            "reads" => "Reads",
            "revision" => "Revision",
            "pathspec" => "Pathspec",
            "peg" => "Peg",
            "package" => "Package",
            "remote" => "Remote",
            "writes" => "Writes",
            "into" => "Into",
            "changes" => "Changes",
            "reaches" => "Reaches",
            "asks" => "Asks",
            "runs" => "Runs",
            "script" => "Script",
            "loads" => "Loads",
            "tool" => "Tool",
            "plugin" => "Plugin",
            "guest" => "Guest",
            _ => return Err(format!("no kind of operand `{kind}`").into()),
        };
        let code = format!("OperandKind::{code}");
        match (kind.len() < word.len(), &repeated) {
            (true, None) => repeated = Some(code),
            (true, Some(_)) => return Err("two kinds of operands repeat".into()),
            (false, None) => first.push(code),
            (false, Some(_)) => last.push(code),
        }
    }
    Ok((first, repeated, last))
}

fn traits(text: &str) -> Fallible<String> {
    const ALL: [&str; 21] = [
        "aliases",
        "anything",
        "here",
        "lists",
        "leading",
        "abbreviations",
        "single-dash",
        "bundled",
        "separate-values",
        "numbers",
        "plus",
        "toolchains",
        "inert",
        "assignments",
        "prints-paths",
        "passes",
        "mixed",
        "copies",
        "stdout",
        "starts-git",
        "starts-vcs",
    ];
    let given: Vec<&str> = text.split_whitespace().collect();
    if let Some(unknown) = given.iter().find(|name| !ALL.contains(name)) {
        return Err(format!("no trait `{unknown}`").into());
    }
    let fields: Vec<String> = ALL
        .iter()
        .map(|name| format!("{}: {}", name.replace('-', "_"), given.contains(name)))
        .collect();
    Ok(format!("CommandTraits {{ {} }}", fields.join(", ")))
}
