//! Readers for compilers, linkers and build tools. Their words can start programs in many ways.

use openoxide_protocol::CommandClass;

use super::{
    super::{
        ArgumentWord, CommandMeaning, command_arguments::CommandArguments,
        command_reading::read_without_custom_reader,
    },
    HIDDEN_EXECUTION,
};
use crate::walk::environment_variables;

/// Prefixes of words that make a compiler or linker load or run something. `@` introduces a file
/// with further options.
const HIDDEN_EXECUTION_OPTIONS: [&str; 31] = [
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

/// Options whose value is the next word and is neither a source file nor written.
const VALUE_OPTIONS: [&str; 25] = [
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
const OUTPUT_OPTIONS: [&str; 7] = ["-o", "-MF", "-MJ", "--output", "-dumpdir", "-Map", "-aux-info"];

/// Reads a command of `gcc`, `clang`, `ld` or `as`.
pub(in super::super) fn read_compiler(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    let mut words = arguments.words();
    while let Some(word) = words.next() {
        let (ArgumentWord::Known(text) | ArgumentWord::Prefix(text)) = word else { continue };
        if VALUE_OPTIONS.contains(&text) {
            words.next();
        } else if HIDDEN_EXECUTION_OPTIONS.iter().any(|start| text.starts_with(start)) {
            meaning.add_unknown_effect(HIDDEN_EXECUTION);
        } else if let Some(rest) =
            OUTPUT_OPTIONS.iter().find_map(|option| text.strip_prefix(option))
        {
            let attached = ArgumentWord::Known(rest.trim_start_matches('='));
            let file = if rest.is_empty() { words.next() } else { Some(attached) };
            file.into_iter().for_each(|file| meaning.add_write(file));
        } else if !text.starts_with('-') {
            meaning.add_read(word, false);
        }
    }
    if is_info_only(arguments) { CommandMeaning::new(CommandClass::Harmless) } else { meaning }
}

/// Returns whether the command only prints information about itself.
fn is_info_only(arguments: CommandArguments<'_>) -> bool {
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
    // `cpp -v` and `as -v` print a version and then process standard input.
    let reads_input = matches!(arguments.called_name(), "cpp" | "as" | "gas" | "yasm");
    let alone = arguments.len() == 1;
    alone
        && (arguments.known_argument(0).is_some_and(telling)
            || !reads_input && arguments.known_argument(0) == Some("-v"))
}

/// Variables of make that name the programs of its rules.
const MAKE_PROGRAM_VARIABLES: [&str; 24] = [
    "AR", "AS", "AWK", "CARGO", "CC", "CPP", "CXX", "ECHO", "FC", "GO", "INSTALL", "LD", "LEX",
    "LN", "MAKE", "MKDIR", "MV", "NODE", "NPM", "PYTHON", "RM", "SED", "TEX", "YACC",
];

/// Returns whether make runs something because of an assignment on its command line: `x!=COMMAND`,
/// the program of a rule with extra words, or an environment variable that changes the programs in
/// its recipes.
fn assignment_runs_command(text: &str) -> bool {
    let Some((name, value)) = text.split_once('=') else { return false };
    let name = name.trim_end();
    let plain = name.trim_end_matches(['!', ':', '+', '?']).trim();
    if MAKE_PROGRAM_VARIABLES.contains(&plain) {
        return name.ends_with('!') || value.trim().contains(char::is_whitespace);
    }
    if plain.ends_with("FLAGS") {
        let loads = |word: &str| {
            HIDDEN_EXECUTION_OPTIONS.iter().any(|start| word.starts_with(start))
                || word.contains("toolexec")
                || word.contains("linker")
        };
        return name.ends_with('!') || value.split_whitespace().any(loads);
    }
    name.ends_with('!')
        || environment_variables::is_program_variable(plain)
        || environment_variables::is_shell_startup_variable(plain)
}

/// Reads a `make` command. A variable on the command line becomes part of recipes, so it must not
/// contain shell syntax.
pub(in super::super) fn read_make(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let hides = |arg| match arg {
        // A makefile that is read from standard input.
        ArgumentWord::Known("-") => true,
        ArgumentWord::Known("/dev/stdin") => true,
        ArgumentWord::Known(text) if text.starts_with('-') => {
            let file = text.rsplit_once('=').map_or(text, |(_, file)| file);
            let file = file.trim_start_matches("-f");
            matches!(file, "-" | "/dev/stdin") || text.ends_with("f-")
        }
        ArgumentWord::Known(text) => {
            assignment_runs_command(text)
                || text.contains('=') && text.contains([';', '|', '&', '`', '$', '<', '>', '\n'])
        }
        // An assignment of a variable with an unknown value.
        ArgumentWord::Prefix(text) => text.contains('='),
        _ => false,
    };
    if arguments.words().any(hides) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect(HIDDEN_EXECUTION);
    }
    meaning
}

/// Reads commands of `just` and similar programs, whose recipes pass words to a shell unchanged.
pub(in super::super) fn read_recipe_runner(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_make(arguments);
    let hides = |arg| matches!(arg, ArgumentWord::Known(text) if text.contains([';', '|', '&', '`', '$', '<', '>', '\n']));
    if arguments.words().any(hides) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect(HIDDEN_EXECUTION);
    }
    meaning
}

/// Reads a `cmake` command. `-DNAME=x` can name the compiler, `-E` is a separate program, and the
/// words after `--` are for the build tool.
pub(in super::super) fn read_cmake(arguments: CommandArguments<'_>) -> CommandMeaning {
    match arguments.known_argument(0) {
        Some("-E") => read_cmake_command(arguments.skip(1)),
        Some("--build") => read_cmake_build(arguments.skip(1)),
        Some(text)
            if text.starts_with("-h") || text.starts_with("--h") || text.starts_with("--v") =>
        {
            read_without_custom_reader(arguments)
        }
        _ => read_cmake_configure(arguments),
    }
}

fn read_cmake_build(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    let mut words = arguments.words();
    words.next().into_iter().for_each(|place| meaning.add_read(place, true));
    if words.skip_while(|arg| *arg != ArgumentWord::Known("--")).nth(1).is_some() {
        meaning.add_unknown_effect(HIDDEN_EXECUTION);
    }
    meaning
}

/// Parts of the names of CMake variables that name programs or scripts.
const CMAKE_PROGRAM_VARIABLE_PARTS: [&str; 15] = [
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

/// Reads the configure step of `cmake`. Even with `-N`, it runs `PreLoad.cmake` in the working
/// directory.
fn read_cmake_configure(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    let mut words = arguments.words();
    while let Some(word) = words.next() {
        let (ArgumentWord::Known(text) | ArgumentWord::Prefix(text)) = word else { continue };
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
            || text.contains('=')
                && CMAKE_PROGRAM_VARIABLE_PARTS.iter().any(|part| text.contains(part))
        {
            meaning.add_unknown_effect(HIDDEN_EXECUTION);
        } else if let Some(rest) = written {
            let file = if rest.is_empty() { words.next() } else { Some(ArgumentWord::Known(rest)) };
            file.into_iter().for_each(|file| meaning.add_write(file));
        } else if !text.starts_with('-') {
            meaning.add_read(word, true);
        }
    }
    meaning
}

/// Reads a `cmake -E …` command. A few of these commands only read and print, and the others
/// remove, copy or run.
fn read_cmake_command(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    let files = arguments.skip(1).words();
    match arguments.known_argument(0) {
        Some("echo" | "echo_append" | "capabilities" | "true" | "false") => {
            return CommandMeaning::new(CommandClass::Harmless);
        }
        Some("cat" | "compare_files" | "md5sum" | "sha1sum" | "sha256sum" | "sha512sum") => {
            meaning = CommandMeaning::new(CommandClass::Harmless);
            files.for_each(|file| meaning.add_read(file, false));
        }
        Some(
            "rm" | "remove" | "remove_directory" | "make_directory" | "touch" | "touch_nocreate"
            | "rename" | "copy" | "copy_directory" | "copy_if_different" | "create_symlink"
            | "create_hardlink",
        ) => {
            let file = |arg: &ArgumentWord<'_>| !matches!(arg, ArgumentWord::Known(text) if text.starts_with('-'));
            files.filter(file).for_each(|file| meaning.add_write(file));
        }
        _ => meaning.add_unknown_effect(HIDDEN_EXECUTION),
    }
    meaning
}

/// Returns whether an option prints to standard output only. `rustc --print KIND=FILE` writes a
/// file.
pub(in super::super) fn is_stdout_print_option(
    name: &str,
    value: Option<ArgumentWord<'_>>,
) -> bool {
    name != "print" || matches!(value, Some(ArgumentWord::Known(kind)) if !kind.contains('='))
}

/// Reads a `cargo fmt -- --check` command. The words after `--` are for rustfmt.
pub(in super::super) fn read_cargo_fmt(arguments: CommandArguments<'_>) -> CommandMeaning {
    let known = |arg| match arg {
        ArgumentWord::Known(text) => text,
        _ => "",
    };
    let mut words = arguments.words().map(known);
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
        return CommandMeaning::new(CommandClass::Harmless);
    }
    let mut meaning = read_without_custom_reader(arguments);
    after
        .iter()
        .filter(|word| !word.starts_with('-'))
        .for_each(|file| meaning.add_write(ArgumentWord::Known(file)));
    meaning
}

/// Returns whether an option selects a harmless tool. Some tools of `ninja -t` print, and others
/// remove files.
pub(in super::super) fn is_harmless_ninja_tool(
    name: &str,
    value: Option<ArgumentWord<'_>>,
) -> bool {
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
    name != "t" || matches!(value, Some(ArgumentWord::Known(tool)) if PRINT.contains(&tool))
}
