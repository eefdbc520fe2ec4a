//! File selection of recursive searches: `grep -r`, `rg`, `ag`, `ack`.

use openoxide_protocol::FileSearch;

use super::super::{
    ArgumentWord, CommandEffect, CommandMeaning, EffectTarget, command_arguments::CommandArguments,
    command_items::CommandItem,
};

/// A pattern that matches no file. A command cannot contain it.
const NO_FILE: &str = "\0";

/// Records for each directory that is read which files below it are searched.
pub(super) fn add_search(meaning: &mut CommandMeaning, arguments: CommandArguments<'_>) {
    let name = arguments.called_name();
    let names_only = prints_only_names(arguments);
    // Errors show lines of the lists of ignored files that an option names.
    let names_list = arguments.items().any(
        |item| matches!(item, CommandItem::Option { option, .. } if option.name == "ignore-file"),
    );
    if names_only && !names_list {
        meaning.effects.retain(|effect| !matches!(effect, CommandEffect::Searches(..)));
        if !matches!(name, "rg" | "ripgrep") {
            return;
        }
    }
    let Some(mut search) = parse_search_scope(name, arguments) else { return };
    // Its errors show lines of lists of ignored files.
    if names_only {
        search = FileSearch {
            include_patterns: vec![NO_FILE.to_owned()],
            obeys_ignore_files: true,
            ..FileSearch::default()
        };
    }
    let searches: Vec<_> = read_targets(meaning)
        .into_iter()
        .flat_map(|target| narrow_to_found_names(meaning, target, &search))
        .collect();
    meaning.effects.extend(searches);
}

/// Returns the searches of a target. If another program has found names there that match patterns,
/// only these files, and what is below these directories, are searched.
fn narrow_to_found_names(
    meaning: &CommandMeaning,
    target: EffectTarget,
    search: &FileSearch,
) -> Vec<CommandEffect> {
    let is_named = meaning.effects.contains(&CommandEffect::Reads(target.clone()));
    let found = meaning.effects.iter().filter_map(|effect| match effect {
        CommandEffect::Searches(root, found) if *root == target => Some(found),
        _ => None,
    });
    let patterns: Vec<_> = found.map(|found| found.include_patterns.clone()).collect();
    if is_named || patterns.is_empty() || patterns.iter().any(Vec::is_empty) {
        return vec![CommandEffect::Searches(target, search.clone())];
    }
    let narrowed = |include_patterns| FileSearch {
        include_patterns,
        includes_matching_directories: true,
        obeys_ignore_files: search.obeys_ignore_files,
        ..FileSearch::all_files()
    };
    let to_effect = |patterns| CommandEffect::Searches(target.clone(), narrowed(patterns));
    patterns.into_iter().map(to_effect).collect()
}

/// Returns whether an option includes hidden, ignored or other files.
pub(in super::super) fn includes_hidden_files(option: &str) -> bool {
    matches!(
        option,
        "a" | "A"
            | "all"
            | "almost-all"
            | "o"
            | "others"
            | "i"
            | "ignored"
            | "H"
            | "hidden"
            | "u"
            | "unrestricted"
            | "I"
            | "no-ignore"
            | "no-index"
            | "untracked"
    )
}

/// Returns which files can have the names that a program prints, or `None` if they can be any
/// files.
pub(in super::super) fn find_printed_files(name: &str, all: bool) -> Option<Box<FileSearch>> {
    let search = match name {
        "ls-files" | "grep" | "diff" => {
            FileSearch { includes_hidden: true, includes_ignored: all, ..FileSearch::default() }
        }
        "ls" => {
            FileSearch { includes_hidden: all, includes_ignored: true, ..FileSearch::default() }
        }
        "rg" | "fd" | "ag" if !all => {
            FileSearch { obeys_ignore_files: name != "ag", ..FileSearch::default() }
        }
        _ => return None,
    };
    Some(Box::new(search))
}

/// Returns the files and directories that are read.
pub(super) fn read_targets(meaning: &CommandMeaning) -> Vec<EffectTarget> {
    let read = meaning.effects.iter().filter_map(|effect| match effect {
        CommandEffect::Reads(target @ (EffectTarget::File(_) | EffectTarget::Pattern(_))) => {
            Some(target.clone())
        }
        // The program follows symbolic links.
        CommandEffect::Reads(EffectTarget::Printed(root)) => Some(EffectTarget::File(root.clone())),
        _ => None,
    });
    read.collect()
}

/// Returns whether only names and numbers are printed.
fn prints_only_names(arguments: CommandArguments<'_>) -> bool {
    let ripgrep = arguments.spec.name() == "rg";
    // These options replace `-l` (ripgrep 15.1, ugrep 3.11).
    let prints_lines = arguments.items().any(|item| {
        matches!(item, CommandItem::Option { option, .. } if matches!(option.name, "json" | "format"))
    });
    !prints_lines
        && arguments.items().any(|item| {
            let CommandItem::Option { option, .. } = item else { return false };
            match option.name {
                "L" => !ripgrep,
                // For ugrep, the lines of a file match together.
                "files" => ripgrep,
                "l"
                | "files-with-matches"
                | "files-without-match"
                | "c"
                | "count"
                | "count-matches"
                | "q"
                | "quiet"
                | "silent"
                | "type-list" => true,
                _ => false,
            }
        })
}

/// Returns whether a `grep` command that names no file searches the working directory if `grep` is
/// ugrep, as in the shell of Claude Code: a number is the depth of the search, `-` as an operand of a
/// recursive search is the working directory, and a pattern with a slash makes the search recursive
/// (ugrep 7.5). With `-d recurse`, no operand is needed (ugrep 3.11, GNU grep 3.8).
pub(super) fn searches_directory_in_ugrep(arguments: CommandArguments<'_>) -> bool {
    let (mut is_recursive, mut has_path_pattern, mut has_expression) = (false, false, false);
    let mut recurses_anyway = false;
    let mut operands = Vec::new();
    for item in arguments.items() {
        match item {
            CommandItem::Option { option, value } => match option.name {
                "r" | "R" | "recursive" | "dereference-recursive" => is_recursive = true,
                "d" | "directories" => {
                    is_recursive |= value != Some(ArgumentWord::Known("skip"));
                    recurses_anyway |= !matches!(value, Some(ArgumentWord::Known("skip" | "read")));
                }
                "include" | "exclude" | "include-dir" | "exclude-dir" => {
                    let is_name = matches!(value, Some(ArgumentWord::Known(pattern)) if !pattern.contains('/'));
                    has_path_pattern |= !is_name;
                }
                "e" | "regexp" | "f" | "file" => has_expression = true,
                _ => {}
            },
            CommandItem::Operand(word, ..) => operands.push(word),
            CommandItem::Number | CommandItem::Unclear => {}
        }
    }
    let mut files = operands.into_iter().skip(usize::from(!has_expression)).peekable();
    let has_files = files.peek().is_some();
    let names_no_file = files.all(|word| word == ArgumentWord::Known("-"));
    let searches = recurses_anyway || has_path_pattern || is_recursive && has_files;
    names_no_file && (has_depth(arguments) || searches)
}

fn has_depth(arguments: CommandArguments<'_>) -> bool {
    arguments.items().any(|item| match item {
        CommandItem::Number => true,
        CommandItem::Option { option, .. } => option.name == "depth",
        CommandItem::Operand(..) | CommandItem::Unclear => false,
    })
}

/// Returns which files are searched, or `None` if the command does not search directories.
fn parse_search_scope(name: &str, arguments: CommandArguments<'_>) -> Option<FileSearch> {
    let ripgrep = matches!(name, "rg" | "ripgrep");
    let silver = name == "ag";
    let ugrep = name == "ugrep";
    // grep(1) only reports that the operand is a directory. Other programs of that name (ugrep)
    // search the files in it.
    let mut recursive = true;
    let (mut unrestricted, mut negated) = (0, false);
    // GNU grep searches files that match no pattern, unless the first pattern includes files.
    let mut excludes_first = None;
    let mut added_types = Vec::new();
    let mut search = FileSearch {
        includes_hidden: !(ripgrep || silver),
        // ag reads the lists of ignored files in its own way.
        includes_ignored: !ripgrep,
        obeys_ignore_files: ripgrep,
        ..FileSearch::default()
    };
    for item in arguments.items() {
        let CommandItem::Option { option, value } = item else { continue };
        if let "include" | "exclude" | "exclude-from" = option.name {
            excludes_first.get_or_insert(option.name != "include");
        }
        match option.name {
            "r" | "R" | "recursive" | "dereference-recursive" if !ripgrep => recursive = true,
            "d" | "directories" => recursive = value != Some(ArgumentWord::Known("skip")),
            "u" | "unrestricted" => unrestricted += 1,
            "hidden" | "." => search.includes_hidden = true,
            // Any of them changes which lists apply, or what they mean.
            "no-ignore-messages" => {}
            "no-require-git" | "ignore-file-case-insensitive" if ripgrep => {
                search.includes_ignored = true;
            }
            option if ripgrep && option.starts_with("no-ignore") => search.includes_ignored = true,
            "t" | "type" if ripgrep => {
                search.include_patterns.extend(type_patterns(value).map(str::to_owned));
            }
            "type-add" if ripgrep => added_types.push(match value {
                Some(ArgumentWord::Known(text)) => {
                    text.rsplit(':').next().unwrap_or("*").to_owned()
                }
                _ => "*".to_owned(),
            }),
            // Lines of this file can include any file.
            "ignore-file" if ripgrep => {
                search.includes_hidden = true;
                search.includes_ignored = true;
            }
            "g" | "glob" if ugrep => add_file_filters(&mut search, value),
            // These options add files, also beside the patterns.
            "O" | "file-extension" | "t" | "file-type" | "M" | "file-magic" | "include-from"
                if ugrep =>
            {
                search.include_patterns.push("*".to_owned());
            }
            "g" | "glob" | "iglob" if !silver => add_file_filter(&mut search, value),
            // ugrep excludes patterns that begin with `!`, and grep(1) includes them.
            "include" if !silver => search.include_patterns.push(match value {
                Some(ArgumentWord::Known(pattern)) if !pattern.starts_with('!') => {
                    pattern.to_owned()
                }
                _ => "*".to_owned(),
            }),
            "exclude" | "exclude-dir" => match value {
                // ugrep includes these files again.
                Some(ArgumentWord::Known(pattern)) if pattern.starts_with('!') => negated = true,
                Some(ArgumentWord::Known(pattern)) if option.name == "exclude-dir" => {
                    search.excluded_directories.push(pattern.to_owned());
                }
                Some(ArgumentWord::Known(pattern)) => {
                    search.exclude_patterns.push(pattern.to_owned());
                }
                _ => {}
            },
            _ => {}
        }
    }
    if !search.include_patterns.is_empty() {
        search.include_patterns.extend(added_types);
    }
    // If both match, the last pattern applies.
    if negated || !search.include_patterns.is_empty() {
        search.exclude_patterns.clear();
    }
    if excludes_first == Some(true) {
        search.include_patterns.clear();
    }
    if negated || ripgrep && !search.include_patterns.is_empty() {
        search.excluded_directories.clear();
    }
    search.includes_ignored |= unrestricted > 0;
    search.includes_hidden |= unrestricted > usize::from(ripgrep);
    // For ugrep, a number is the depth of a recursive search, regardless of `-d`.
    (recursive || name == "grep" && has_depth(arguments)).then_some(search)
}

/// Returns the patterns of a file type (`rg --type-list`), or `*` if the type is not known.
fn type_patterns(value: Option<ArgumentWord<'_>>) -> impl Iterator<Item = &'static str> {
    const TYPES: [(&str, &str); 34] = [
        ("asm", "*.asm *.s *.S"),
        ("c", "*.c *.h *.cats"),
        ("clojure", "*.clj *.cljc *.cljs *.cljx"),
        ("cpp", "*.c++ *.cc *.cpp *.cxx *.h *.hh *.hpp *.hxx *.inl"),
        ("cs", "*.cs"),
        ("csharp", "*.cs"),
        ("css", "*.css *.scss"),
        ("dart", "*.dart"),
        ("elixir", "*.eex *.ex *.exs *.heex *.leex *.livemd"),
        ("erlang", "*.erl *.hrl"),
        ("go", "*.go"),
        ("haskell", "*.c2hs *.cpphs *.hs *.hsc *.lhs"),
        ("html", "*.ejs *.htm *.html"),
        ("java", "*.java *.jsp *.jspx *.properties"),
        ("js", "*.cjs *.js *.jsx *.mjs *.vue"),
        ("json", "*.json* *.sarif composer.lock"),
        ("kotlin", "*.kt *.kts"),
        ("lua", "*.lua"),
        ("make", "*.mak *.mk *akefile*"),
        ("markdown", "*.markdown *.md *.mdown *.mdwn *.mdx *.mkd *.mkdn"),
        ("md", "*.markdown *.md *.mdown *.mdwn *.mdx *.mkd *.mkdn"),
        ("perl", "*.PL *.perl *.pl *.plh *.plx *.pm *.t"),
        ("php", "*.php*"),
        ("proto", "*.proto"),
        ("py", "*.py *.pyi"),
        ("python", "*.py *.pyi"),
        ("rust", "*.rs"),
        ("scala", "*.sbt *.scala"),
        ("sql", "*.psql *.sql"),
        ("svelte", "*.svelte*"),
        ("swift", "*.swift"),
        ("toml", "*.toml Cargo.lock"),
        ("ts", "*.cts *.mts *.ts *.tsx"),
        ("yaml", "*.yaml *.yml"),
    ];
    let patterns = TYPES.iter().find(|(name, _)| value == Some(ArgumentWord::Known(name)));
    patterns.map_or("*", |(_, patterns)| patterns).split(' ')
}

/// Adds the filters of ugrep, which are separated by commas, also in brackets and after a backslash
/// (ugrep 3.11).
fn add_file_filters(search: &mut FileSearch, value: Option<ArgumentWord<'_>>) {
    match value {
        Some(ArgumentWord::Known(patterns)) => {
            for pattern in patterns.split(',') {
                add_file_filter(search, Some(ArgumentWord::Known(pattern)));
            }
        }
        _ => add_file_filter(search, value),
    }
}

fn add_file_filter(search: &mut FileSearch, value: Option<ArgumentWord<'_>>) {
    match value {
        Some(ArgumentWord::Known(pattern)) => match pattern.strip_prefix('!') {
            Some(excluded) => {
                search.exclude_patterns.push(excluded.to_owned());
                search.excluded_directories.push(excluded.trim_end_matches('/').to_owned());
            }
            None => search.include_patterns.push(pattern.to_owned()),
        },
        // The value could be any pattern.
        _ => search.include_patterns.push("*".to_owned()),
    }
}
