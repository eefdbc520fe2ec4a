//! Turns what is known of programs (`programs/*.toml`) into statics: a hook is a process for each tool call, and has no
//! time to read tables.
#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files")]

use std::{collections::BTreeMap, env, error::Error, fmt::Write as _, fs, path::PathBuf};

use hash::slot;
use serde::Deserialize;

#[path = "src/programs/hash.rs"]
mod hash;

/// One file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Options that several programs share.
    #[serde(default)]
    set: BTreeMap<String, Options>,
    program: Vec<Row>,
}

/// Names of options, by what they do. Blanks stand between the names.
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
    traits: String,
    #[serde(default)]
    opaque: String,
    #[serde(default)]
    except: String,
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

/// What holds instead with certain options.
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
    fs::write(out.join("programs.rs"), table.finish()?)?;
    let prefixes = prefixes(&fs::read_to_string("prefixes.toml")?);
    fs::write(
        out.join("prefixes.rs"),
        prefixes.map_err(|error| format!("prefixes.toml: {error}"))?,
    )?;
    Ok(())
}

/// Which prefixes may be offered, and which never.
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
        all.insert(key, format!("Prefix::Words({words})"));
    }
    for key in prefixes.banned.into_values().flatten() {
        if all.insert(key.clone(), "Prefix::Banned".to_owned()).is_some() {
            return Err(format!("`{key}` is there twice").into());
        }
    }
    if let Some(long) = all.keys().find(|key| key.len() >= 32) {
        return Err(format!("`{long}` is longer than any key may be").into());
    }
    let mut code = String::new();
    let rows: Vec<_> = all.iter().map(|(key, value)| format!("({key:?}, {value})")).collect();
    writeln!(code, "static PREFIXES: &[(&str, Prefix)] = &[{}];", rows.join(", "))?;
    let slots = slots(all.keys())?;
    writeln!(code, "static SLOTS: [u16; {}] = {slots:?};", slots.len())?;
    Ok(code)
}

/// Returns a table that leads from a name's hash to its number, counted from one; 0 is nobody. Half of it and more stays empty.
fn slots<'n>(names: impl ExactSizeIterator<Item = &'n String>) -> Fallible<Vec<usize>> {
    let mut slots = vec![0; (names.len() * 4).next_power_of_two()];
    for (number, name) in names.enumerate() {
        let count = slots.len();
        let free = (slot(name)..).map(|at| at % count).find(|at| slots.get(*at) == Some(&0));
        *free.and_then(|at| slots.get_mut(at)).ok_or("no room")? = number + 1;
    }
    Ok(slots)
}

/// The statics, as they are written.
#[derive(Default)]
struct Table {
    code: String,
    statics: usize,
    programs: BTreeMap<String, String>,
    /// The names of all options, one behind the other, and where each begins.
    names: String,
    places: BTreeMap<String, usize>,
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
                    return Err(format!("`{name}` is there twice").into());
                }
            }
        }
        Ok(())
    }

    /// Writes a level, and returns the name of its static.
    fn level(
        &mut self,
        row: &Row,
        sets: &BTreeMap<String, String>,
        above: &str,
    ) -> Fallible<String> {
        let class = class(row.class.as_deref())?;
        // How options are spelled is the same for all subcommands.
        let traits_here = format!("{above} {}", row.traits);
        let spelled = |name: &&str| matches!(*name, "single-dash" | "abbreviations");
        let below: Vec<&str> = traits_here.split_whitespace().filter(spelled).collect();
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
                    return Err(format!("`{name}` is there twice").into());
                }
            }
        }
        let subs: Vec<_> =
            subs.iter().map(|(name, level)| format!("({name:?}, &{level})")).collect();
        let mut whens = Vec::new();
        for when in &row.when {
            let class = match &when.class {
                Some(text) => format!("Some({})", class_of(text)?),
                None => "None".to_owned(),
            };
            let operands = match &when.operands {
                Some(text) => format!("Some({})", operands(text)?),
                None => "None".to_owned(),
            };
            let with = names(&when.with);
            let (strict, paths) = (when.strict, when.prints_paths);
            whens.push(format!(
                "When {{ with: &{with}, class: {class}, operands: {operands}, strict: {strict}, prints_paths: {paths} }}"
            ));
        }
        let function = |name: &Option<String>| match name {
            Some(name) => format!("Some(readers::{name})"),
            None => "None".to_owned(),
        };
        let (check, reader) = (function(&row.check), function(&row.reader));
        let tokens = function(&row.tokens);
        let values = function(&row.values);
        let name = self.name("LEVEL");
        writeln!(
            self.code,
            "static {name}: Level = Level {{ name: {:?}, class: {class}, operands: {}, options: &[{}], whens: &[{}], subs: &[{}], \
             given: &{}, here_with: &{}, cuts: &{}, opaque: &{}, except: &{}, check: {check}, tokens: {tokens}, values: {values}, reader: {reader}, alone: {:?}, traits: {} }};",
            row.names.split_whitespace().next().unwrap_or_default(),
            operands(&row.operands)?,
            options.join(", "),
            whens.join(", "),
            subs.join(", "),
            names(&row.given),
            names(&row.here_with),
            names(&row.cuts),
            names(&row.opaque),
            names(&row.except),
            row.alone,
            traits(&traits_here)?,
        )?;
        Ok(name)
    }

    /// Writes a set of options, and returns the name of its static.
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
                let (at, length) = (self.place(name), u8::try_from(name.len())?);
                let code = format!(
                    "OptRow {{ at: {at}, length: {length}, takes: Takes::{takes}, does: Does::{does} }}"
                );
                if all.insert(name, code).is_some() {
                    return Err(format!("option `{name}` is there twice").into());
                }
            }
        }
        if all.is_empty() {
            return Ok("&[]".to_owned());
        }
        let name = self.name("OPTIONS");
        let all: Vec<String> = all.into_values().collect();
        writeln!(self.code, "static {name}: &[OptRow] = &[{}];", all.join(", "))?;
        Ok(name)
    }

    /// Returns where a name stands among all of them.
    fn place(&mut self, name: &str) -> usize {
        if let Some(at) = self.places.get(name) {
            return *at;
        }
        let at = self.names.len();
        self.names.push_str(name);
        self.places.insert(name.to_owned(), at);
        at
    }

    fn name(&mut self, kind: &str) -> String {
        self.statics += 1;
        format!("{kind}_{}", self.statics)
    }

    fn finish(mut self) -> Fallible<String> {
        let rows: Vec<_> =
            self.programs.iter().map(|(name, level)| format!("({name:?}, &{level})")).collect();
        writeln!(self.code, "static NAMES: &str = {:?};", self.names)?;
        writeln!(self.code, "static PROGRAMS: &[(&str, &Level)] = &[{}];", rows.join(", "))?;
        let slots = slots(self.programs.keys())?;
        writeln!(self.code, "static SLOTS: [u16; {}] = {slots:?};", slots.len())?;
        Ok(self.code)
    }
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

fn names(text: &str) -> String {
    let names: Vec<String> = text.split_whitespace().map(|name| format!("{name:?}")).collect();
    format!("[{}]", names.join(", "))
}

fn operands(text: &str) -> Fallible<String> {
    let (mut first, mut last, mut repeated) = (Vec::new(), Vec::new(), None);
    for word in text.split_whitespace() {
        let kind = word.strip_suffix("...").unwrap_or(word);
        let code = match kind {
            "text" => "Text",
            "reads" => "Reads",
            "revision" => "Revision",
            "pathspec" => "Pathspec",
            "peg" => "Peg",
            "remote" => "Remote",
            "writes" => "Writes",
            "into" => "Into",
            "changes" => "Changes",
            "reaches" => "Reaches",
            "asks" => "Asks",
            "runs" => "Runs",
            "script" => "Script",
            "loads" => "Loads",
            _ => return Err(format!("no kind of operand `{kind}`").into()),
        };
        let code = format!("Operand::{code}");
        match (kind.len() < word.len(), &repeated) {
            (true, None) => repeated = Some(code),
            (true, Some(_)) => return Err("two kinds of operands repeat".into()),
            (false, None) => first.push(code),
            (false, Some(_)) => last.push(code),
        }
    }
    let repeated = repeated.map_or("None".to_owned(), |code| format!("Some({code})"));
    let (first, last) = (first.join(", "), last.join(", "));
    Ok(format!("Operands {{ first: &[{first}], repeated: {repeated}, last: &[{last}] }}"))
}

fn traits(text: &str) -> Fallible<String> {
    const ALL: [&str; 16] = [
        "aliases",
        "anything",
        "here",
        "lists",
        "leading",
        "abbreviations",
        "single-dash",
        "bundled",
        "numbers",
        "plus",
        "inert",
        "assignments",
        "prints-paths",
        "passes",
        "mixed",
        "stdout",
    ];
    let given: Vec<&str> = text.split_whitespace().collect();
    if let Some(unknown) = given.iter().find(|name| !ALL.contains(name)) {
        return Err(format!("no trait `{unknown}`").into());
    }
    let fields: Vec<String> = ALL
        .iter()
        .map(|name| format!("{}: {}", name.replace('-', "_"), given.contains(name)))
        .collect();
    Ok(format!("Traits {{ {} }}", fields.join(", ")))
}
