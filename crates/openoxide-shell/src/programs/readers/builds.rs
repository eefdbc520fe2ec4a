//! Compilers, linkers and build tools: their words hide programs in many ways.

use openoxide_protocol::CommandClass;

use super::{
    super::{Arg, Arguments, Meaning, level::Level, reading::read_plainly},
    NOT_SHOWN,
};
use crate::walk::environment;

/// Beginnings of words that make a compiler or linker load or run something. `@` is a file of further options.
const HIDING: [&str; 31] = [
    "@",
    "-wrapper",
    "-fplugin",
    "-fpass-plugin",
    "-B",
    "-specs",
    "--specs",
    "-fuse-ld=/",
    "-fuse-ld=.",
    "--ld-path",
    "-plugin",
    "--plugin",
    "-load",
    "-Xclang",
    "-cc1",
    "-Wl,-plugin",
    "-Wl,--plugin",
    "-Wl,@",
    "-Wl,-o",
    "-Xlinker",
    "-no-canonical-prefixes",
    "--config",
    "-dynamic-linker",
    "--dynamic-linker",
    "-Xpreprocessor",
    "-Xassembler",
    "-ccbin",
    "--compiler-bindir",
    "-iplugin",
    "--gcc-toolchain",
    "-mllvm",
];

/// Options whose value in the next word is neither written nor a source.
const TAKING: [&str; 25] = [
    "-I",
    "-isystem",
    "-idirafter",
    "-iquote",
    "-L",
    "-D",
    "-U",
    "-l",
    "-x",
    "-framework",
    "-arch",
    "-target",
    "-MT",
    "-MQ",
    "-u",
    "-z",
    "-F",
    "-isysroot",
    "--sysroot",
    "-G",
    "-e",
    "-m",
    "-soname",
    "-h",
    "-rpath",
];

/// Options whose value, attached or in the next word, is a file that is written.
const WRITING: [&str; 7] = ["-o", "-MF", "-MJ", "--output", "-dumpdir", "-Map", "-aux-info"];

/// `gcc`, `clang`, `ld`, `as`.
pub(in super::super) fn compiler(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    let mut words = arguments.iter(from);
    while let Some(word) = words.next() {
        let (Arg::Known(text) | Arg::Begins(text)) = word else { continue };
        if TAKING.contains(&text) {
            words.next();
        } else if HIDING.iter().any(|start| text.starts_with(start)) {
            meaning.cannot_tell(NOT_SHOWN);
        } else if let Some(rest) = WRITING.iter().find_map(|option| text.strip_prefix(option)) {
            let attached = Arg::Known(rest.trim_start_matches('='));
            let file = if rest.is_empty() { words.next() } else { Some(attached) };
            file.into_iter().for_each(|file| meaning.write(file));
        } else if !text.starts_with('-') {
            meaning.read(word, false);
        }
    }
    if tells_only(arguments, from) { Meaning::of(CommandClass::Harmless) } else { meaning }
}

/// Returns whether the command only prints information about itself.
fn tells_only(arguments: Arguments<'_>, from: usize) -> bool {
    let telling = |text| {
        matches!(
            text,
            "--version"
                | "--help"
                | "-dumpversion"
                | "-dumpfullversion"
                | "-dumpmachine"
                | "-print-search-dirs"
                | "-print-sysroot"
                | "-print-multi-lib"
                | "-print-libgcc-file-name"
        ) || text.starts_with("-print-file-name=")
            || text.starts_with("-print-prog-name=")
    };
    let alone = arguments.words.len() == from + 1;
    alone && (arguments.known(from).is_some_and(telling) || arguments.known(from) == Some("-v"))
}

/// Variables of make that name the programs of its rules.
const PROGRAMS: [&str; 24] = [
    "AR", "AS", "AWK", "CARGO", "CC", "CPP", "CXX", "ECHO", "FC", "GO", "INSTALL", "LD", "LEX",
    "LN", "MAKE", "MKDIR", "MV", "NODE", "NPM", "PYTHON", "RM", "SED", "TEX", "YACC",
];

/// Returns whether make runs something because of an assignment on its command line: `x!=COMMAND`,
/// the program of a rule with extra words, or an environment variable that changes the programs in
/// its recipes.
fn runs_by_assignment(text: &str) -> bool {
    let Some((name, value)) = text.split_once('=') else { return false };
    let name = name.trim_end();
    let plain = name.trim_end_matches(['!', ':', '+', '?']).trim();
    if PROGRAMS.contains(&plain) {
        return name.ends_with('!') || value.trim().contains(char::is_whitespace);
    }
    if plain.ends_with("FLAGS") {
        let loads = |word: &str| {
            HIDING.iter().any(|start| word.starts_with(start))
                || word.contains("toolexec")
                || word.contains("linker")
        };
        return name.ends_with('!') || value.split_whitespace().any(loads);
    }
    name.ends_with('!') || environment::changes_programs(plain) || environment::runs_code(plain)
}

/// `make`: a variable of the command line becomes part of recipes, so it must not hold anything of a shell.
pub(in super::super) fn make(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let hides = |arg| match arg {
        // A makefile from standard input.
        Arg::Known("-") => true,
        Arg::Known("/dev/stdin") => true,
        Arg::Known(text) if text.starts_with('-') => {
            let file = text.rsplit_once('=').map_or(text, |(_, file)| file);
            let file = file.trim_start_matches("-f");
            matches!(file, "-" | "/dev/stdin") || text.ends_with("f-")
        }
        Arg::Known(text) => {
            runs_by_assignment(text)
                || text.contains('=') && text.contains([';', '|', '&', '`', '$', '<', '>', '\n'])
        }
        // It begins as a variable, and its value is not known.
        Arg::Begins(text) => text.contains('='),
        _ => false,
    };
    if arguments.iter(from).any(hides) {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell(NOT_SHOWN);
    }
    meaning
}

/// `just` and its like: their recipes hand words to a shell as they are.
pub(in super::super) fn recipes(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = make(level, arguments, from);
    let hides = |arg| matches!(arg, Arg::Known(text) if text.contains([';', '|', '&', '`', '$', '<', '>', '\n']));
    if arguments.iter(from).any(hides) {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell(NOT_SHOWN);
    }
    meaning
}

/// Reads a `cmake` command. `-DNAME=x` can name the compiler, `-E` is a separate program, and the
/// words after `--` are for the build tool.
pub(in super::super) fn cmake(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    match arguments.known(from) {
        Some("-E") => command(level, arguments, from + 1),
        Some("--build") => build(level, arguments, from + 1),
        Some(text)
            if text.starts_with("-h") || text.starts_with("--h") || text.starts_with("--v") =>
        {
            read_plainly(level, arguments, from)
        }
        _ => configure(level, arguments, from),
    }
}

fn build(level: &Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    let mut words = arguments.iter(from);
    words.next().into_iter().for_each(|place| meaning.read(place, true));
    if words.skip_while(|arg| *arg != Arg::Known("--")).nth(1).is_some() {
        meaning.cannot_tell(NOT_SHOWN);
    }
    meaning
}

/// Parts of the names of variables that name programs or scripts.
const NAMING: [&str; 15] = [
    "_COMPILER",
    "_LAUNCHER",
    "_PROGRAM",
    "TOOLCHAIN",
    "_LINKER",
    "INCLUDE_BEFORE",
    "INCLUDE_AFTER",
    "_INCLUDE",
    "EMULATOR",
    "EXECUTABLE",
    "OVERRIDE",
    "MODULE_PATH",
    "PREFIX_PATH",
    "SOURCE_DIR_",
    "_COMMAND",
];

/// Even with `-N` it runs `PreLoad.cmake` of the working directory.
fn configure(level: &Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    let mut words = arguments.iter(from);
    while let Some(word) = words.next() {
        let (Arg::Known(text) | Arg::Begins(text)) = word else { continue };
        let value =
            |option: &str| text.strip_prefix(option).map(|rest| rest.trim_start_matches('='));
        let scripts =
            ["-P", "-C", "--toolchain", "--project-file", "-DCMAKE_PROJECT", "--debugger"];
        let written = value("-B")
            .or(value("--install-prefix"))
            .or(value("--graphviz"))
            .or(value("--trace-redirect"))
            .or(value("--profiling-output"))
            .or(value("--sarif-output"));
        if scripts.iter().any(|option| text.starts_with(option))
            || text.contains('=') && NAMING.iter().any(|part| text.contains(part))
        {
            meaning.cannot_tell(NOT_SHOWN);
        } else if let Some(rest) = written {
            let file = if rest.is_empty() { words.next() } else { Some(Arg::Known(rest)) };
            file.into_iter().for_each(|file| meaning.write(file));
        } else if !text.starts_with('-') {
            meaning.read(word, true);
        }
    }
    meaning
}

/// `cmake -E …`: a few of its commands read and print, the others remove, copy and run.
fn command(level: &Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    let files = arguments.iter(from + 1);
    match arguments.known(from) {
        Some("echo" | "echo_append" | "capabilities" | "true" | "false") => {
            return Meaning::of(CommandClass::Harmless);
        }
        Some("cat" | "compare_files" | "md5sum" | "sha1sum" | "sha256sum" | "sha512sum") => {
            meaning = Meaning::of(CommandClass::Harmless);
            files.for_each(|file| meaning.read(file, false));
        }
        Some(
            "rm" | "remove" | "remove_directory" | "make_directory" | "touch" | "touch_nocreate"
            | "rename" | "copy" | "copy_directory" | "copy_if_different" | "create_symlink"
            | "create_hardlink",
        ) => {
            let file = |arg: &Arg<'_>| !matches!(arg, Arg::Known(text) if text.starts_with('-'));
            files.filter(file).for_each(|file| meaning.write(file));
        }
        _ => meaning.cannot_tell(NOT_SHOWN),
    }
    meaning
}

/// `rustc --print KIND=FILE` writes.
pub(in super::super) fn prints_here(name: &str, value: Option<Arg<'_>>) -> bool {
    name != "print" || matches!(value, Some(Arg::Known(kind)) if !kind.contains('='))
}

/// `cargo fmt -- --check`: what follows `--` is rustfmt's.
pub(in super::super) fn cargo_fmt(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let known = |arg| match arg {
        Arg::Known(text) => text,
        _ => "",
    };
    let mut words = arguments.iter(from).map(known);
    let before = words.by_ref().take_while(|word| *word != "--");
    let plain =
        |word: &str| matches!(word, "--all" | "--check" | "-q" | "--quiet" | "-v" | "--verbose");
    let before: Vec<&str> = before.collect();
    let plain_before = before.iter().all(|word| plain(word));
    let after: Vec<&str> = words.collect();
    let quiet = |word: &&str| {
        matches!(*word, "--check" | "-l" | "--files-with-diff" | "-q" | "--quiet" | "--color=never")
    };
    if plain_before && after.contains(&"--check") && after.iter().all(quiet) {
        return Meaning::of(CommandClass::Harmless);
    }
    let mut meaning = read_plainly(level, arguments, from);
    after
        .iter()
        .filter(|word| !word.starts_with('-'))
        .for_each(|file| meaning.write(Arg::Known(file)));
    meaning
}

/// `ninja -t`: some tools print, others remove.
pub(in super::super) fn ninja_tool(name: &str, value: Option<Arg<'_>>) -> bool {
    const PRINT: [&str; 10] = [
        "targets",
        "commands",
        "query",
        "graph",
        "deps",
        "missingdeps",
        "inputs",
        "compdb",
        "rules",
        "list",
    ];
    name != "t" || matches!(value, Some(Arg::Known(tool)) if PRINT.contains(&tool))
}
