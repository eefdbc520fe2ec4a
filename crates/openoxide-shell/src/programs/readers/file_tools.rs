//! Readers for programs that copy, link, pack and unpack files. The files that they write are
//! determined by their operands or by the contents of their input.

use openoxide_protocol::CommandClass;

use super::super::{
    ArgumentWord, CommandEffect, CommandMeaning, EffectTarget,
    command_arguments::CommandArguments,
    command_items::CommandItem,
    command_reading::read_without_custom_reader,
    command_spec::{OptionEffect, OptionSpec},
};

const UNKNOWN_FILES: &str = "it writes files that are not known";
const UNKNOWN_LINKS: &str = "it gives further names to files that are not known";

/// Reads a `cp` command. Files in a directory are copied under their own names, and `--parents`
/// preserves the directories before them. `-L` copies the files that symbolic links lead to, and
/// `-l` creates hard links.
pub(in super::super) fn read_cp(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let (mut recursive, mut merges, mut parents) = (false, false, false);
    let (mut links, mut follows) = (false, false);
    let mut operands = Vec::new();
    let mut target = None;
    for item in arguments.items() {
        match item {
            CommandItem::Option { option, value } => match option.name {
                "r" | "R" | "a" | "recursive" | "archive" => recursive = true,
                "T" | "no-target-directory" => merges = true,
                "parents" => parents = true,
                "l" | "link" => links = true,
                "H" | "L" | "dereference" => follows = true,
                "t" | "target-directory" => target = value,
                _ => {}
            },
            CommandItem::Operand(arg, _) => operands.push(arg),
            CommandItem::Number | CommandItem::Unclear => {}
        }
    }
    let place = if target.is_some() { target } else { operands.pop() };
    if follows {
        meaning.follow_links();
    }
    if links {
        // The copies are hard links to the same files, so write access to a copy changes the
        // original.
        operands.iter().for_each(|operand| meaning.add_write(*operand));
        if recursive {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect(UNKNOWN_LINKS);
        }
    }
    let Some(ArgumentWord::Known(place)) = place else { return meaning };
    let names = |arg: &ArgumentWord<'_>| matches!(arg, ArgumentWord::Known(text) if is_directory_contents(text));
    if recursive && (merges || operands.iter().any(names)) && may_hold_settings(place) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect(UNKNOWN_FILES);
    }
    if parents {
        for operand in &operands {
            let ArgumentWord::Known(source) = operand else { continue };
            meaning.add_write(ArgumentWord::Known(&format!("{place}/{source}")));
        }
    }
    meaning
}

/// Returns whether a path refers to the contents of a directory and not to the directory by its
/// name.
fn is_directory_contents(source: &str) -> bool {
    matches!(source.trim_end_matches('/').rsplit('/').next(), None | Some("" | "." | ".."))
}

/// Returns whether settings may be located in a directory: the working directory, one of its
/// parents, or any absolute path or home directory.
fn may_hold_settings(place: &str) -> bool {
    place.starts_with(['/', '~']) || place.split('/').all(|part| matches!(part, "" | "." | ".."))
}

/// Reads an `ln` command. The target of a symbolic link is relative to the location of the link. A
/// change of a hard link also changes its target.
pub(in super::super) fn read_ln(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let mut symbolic = false;
    let mut target = None;
    let mut operands = Vec::new();
    for item in arguments.items() {
        match item {
            CommandItem::Option { option: OptionSpec { name: "s" | "symbolic", .. }, .. } => {
                symbolic = true;
            }
            CommandItem::Option { option, value } if option.effect == OptionEffect::Into => {
                target = value;
            }
            CommandItem::Operand(arg, _) => operands.push(arg),
            CommandItem::Option { .. } | CommandItem::Number | CommandItem::Unclear => {}
        }
    }
    let place = match (target, operands.len()) {
        (Some(place), _) => Some(place),
        (None, 0 | 1) => None,
        (None, _) => operands.pop(),
    };
    if !symbolic {
        // The new name is a hard link to the same file, so write access to it changes the original.
        operands.iter().for_each(|operand| meaning.add_write(*operand));
    }
    let Some(ArgumentWord::Known(place)) = place.filter(|_| symbolic) else { return meaning };
    let above = place.trim_end_matches('/').rsplit_once('/').map_or(".", |(above, _)| above);
    for operand in &operands {
        let ArgumentWord::Known(source) = operand else { continue };
        if !source.starts_with('/') {
            // The target is relative to the location of the link, not to the working directory.
            let here = CommandEffect::Reads(EffectTarget::File((*source).to_owned()));
            meaning.effects.retain(|effect| *effect != here);
            meaning.add_read(ArgumentWord::Known(&format!("{above}/{source}")), false);
            meaning.add_read(ArgumentWord::Known(&format!("{place}/{source}")), false);
        }
    }
    meaning
}

/// Reads a `dd` command. Its words have the form `name=value`.
pub(in super::super) fn read_dd(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(CommandClass::Harmless);
    for arg in arguments.words() {
        match arg {
            ArgumentWord::Known("--help" | "--version" | "--") => {}
            ArgumentWord::Known(text) => match text.split_once('=') {
                Some(("if", file)) => meaning.add_read(ArgumentWord::Known(file), false),
                Some(("of", file)) => meaning.add_write(ArgumentWord::Known(file)),
                Some((
                    "bs" | "cbs" | "count" | "ibs" | "obs" | "iseek" | "oseek" | "seek" | "skip"
                    | "conv" | "iflag" | "oflag" | "status",
                    _,
                )) => {}
                _ => meaning.lower_class(CommandClass::Unknown),
            },
            ArgumentWord::Prefix(text) => match text.split_once('=') {
                Some(("if", beginning)) => meaning.add_read(ArgumentWord::Prefix(beginning), false),
                Some((name, _)) if !name.is_empty() && name != "of" => {
                    meaning.lower_class(CommandClass::Unknown);
                }
                _ => meaning.add_write(arg),
            },
            ArgumentWord::Files(_) | ArgumentWord::Many => meaning.add_write(arg),
        }
    }
    meaning
}

/// Returns whether an item is the option that chooses the extension of compressed files.
fn is_suffix_option(item: CommandItem<'_>) -> bool {
    matches!(item, CommandItem::Option { option: OptionSpec { name: "S" | "suffix", .. }, .. })
}

/// Reads commands of compressors. For each file, they create a file with an extension added or
/// removed.
pub(in super::super) fn read_compressor(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    if meaning.class == CommandClass::Harmless {
        if compresses_or_unpacks(arguments) {
            mark_files_changed(&mut meaning);
        } else {
            follow_recursive_links(&mut meaning, arguments);
            if unpacks(arguments) {
                meaning.add_compressed_names();
                if arguments.items().any(is_suffix_option) {
                    meaning.add_names_with_endings(&["*"]);
                }
            }
            return meaning;
        }
    }
    let mut suffix = None;
    for item in arguments.items() {
        match item {
            CommandItem::Option { option: OptionSpec { name: "S" | "suffix", .. }, value } => {
                suffix = value;
            }
            // The compressed file can contain the name of the output file.
            CommandItem::Option { option: OptionSpec { name: "N" | "name", .. }, .. } => {
                meaning.lower_class(CommandClass::Unknown);
                meaning.add_unknown_effect(UNKNOWN_FILES);
            }
            _ => {}
        }
    }
    let mut unpacked = Vec::new();
    for effect in &meaning.effects {
        let CommandEffect::Writes(EffectTarget::File(file)) = effect else { continue };
        match suffix {
            Some(ArgumentWord::Known(suffix)) => {
                unpacked.extend(file.strip_suffix(suffix).map(str::to_owned));
                if !unpacks(arguments) {
                    unpacked.push(format!("{file}{suffix}"));
                }
            }
            _ => unpacked.extend(file.rsplit_once('.').map(|(name, _)| name.to_owned())),
        }
        unpacked.extend(compressed_name(arguments, file));
        // gzip(1) also removes these endings.
        let other = ["-gz", "-z", "_z", "_gz"].into_iter();
        unpacked.extend(other.filter_map(|ending| file.strip_suffix(ending)).map(str::to_owned));
    }
    for file in unpacked.iter().filter(|file| !file.is_empty() && !file.ends_with('/')) {
        meaning.add_write(ArgumentWord::Known(file));
    }
    meaning
}

/// Returns the name of the compressed file, for programs that follow a link of this name. Other
/// programs refuse an existing file.
fn compressed_name(arguments: CommandArguments<'_>, file: &str) -> Option<String> {
    let has = |names: &[&str]| {
        arguments.items().any(|item| {
            matches!(item, CommandItem::Option { option, .. } if names.contains(&option.name))
        })
    };
    let names_output = match arguments.spec.name() {
        "zstd" => has(&["o", "output-dir-flat", "output-dir-mirror"]),
        "lz4" => arguments.operands().count() > 1 && !has(&["m", "multiple"]),
        _ => return None,
    };
    let ending = if arguments.spec.name() == "zstd" { "zst" } else { "lz4" };
    (!names_output && !unpacks(arguments)).then(|| format!("{file}.{ending}"))
}

/// Reads commands that create files with a mode. Special bits make a file run as its owner.
pub(in super::super) fn read_with_mode(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let is_special = |item| match item {
        CommandItem::Option { option: OptionSpec { name: "m" | "mode", .. }, value } => {
            !matches!(value, Some(ArgumentWord::Known(mode)) if is_plain_mode(mode))
        }
        _ => false,
    };
    if arguments.items().any(is_special) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("sets special mode bits");
    }
    meaning
}

fn is_plain_mode(mode: &str) -> bool {
    let is_octal = mode.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    is_octal && mode.trim_start_matches('0').len() <= 3
        || !is_octal && mode.bytes().all(|byte| b"augorwxX+-=,".contains(&byte))
}

/// Returns whether a compressor reads a compressed file.
fn unpacks(arguments: CommandArguments<'_>) -> bool {
    let looks = |item| match item {
        CommandItem::Option { option, .. } => {
            matches!(option.name, "d" | "decompress" | "uncompress" | "t" | "test" | "l" | "list")
        }
        _ => false,
    };
    arguments.called_name().contains("un") || arguments.items().any(looks)
}

/// Returns whether compressing or unpacking is requested. Of `-t`, `-l`, `-d` and `-z` the last one
/// applies to most programs, but bzip2 reads all short options before the long ones. Output that is
/// printed with `-c` is never written to a file.
fn compresses_or_unpacks(arguments: CommandArguments<'_>) -> bool {
    let unordered = arguments.spec.name() == "bzip2";
    let mut acts = false;
    for item in arguments.items() {
        let CommandItem::Option { option, .. } = item else { continue };
        match option.name {
            "c" | "stdout" | "to-stdout" => return false,
            "t" | "l" | "test" | "list" if !unordered => acts = false,
            "d" | "z" | "compress" | "decompress" | "uncompress" => acts = true,
            _ => {}
        }
    }
    acts
}

/// Records that symbolic links below directories are followed. `gzip -cr` and `zstd -cfr` print the
/// files that they lead to.
fn follow_recursive_links(meaning: &mut CommandMeaning, arguments: CommandArguments<'_>) {
    let recursive = |item| {
        let CommandItem::Option { option, .. } = item else { return false };
        matches!(option.name, "r" | "recursive")
    };
    if arguments.items().any(recursive) {
        meaning.follow_links();
    }
}

/// Reads `dos2unix` and similar programs. They read their words in order: files before `-i` or `-O`
/// are converted, and so are files after `-n`, `-o` or `-iso`, which is not `-i` with a value.
pub(in super::super) fn read_line_ending_converter(
    arguments: CommandArguments<'_>,
) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let is_mode = |word: ArgumentWord<'_>| matches!(word, ArgumentWord::Known(text) if text.starts_with("-i") || matches!(text, "-O" | "--info" | "--to-stdout") || text.starts_with("--info="));
    let in_order = arguments.words().next().is_some_and(is_mode);
    let converts = arguments.words().any(|word| word == ArgumentWord::Known("-iso"));
    let has_mode = meaning.class == CommandClass::Harmless && in_order && !converts;
    let names_target = has_option(arguments, &["n", "newfile", "o", "oldfile"]);
    if names_target || meaning.class == CommandClass::Harmless && !has_mode {
        mark_files_changed(&mut meaning);
    }
    meaning
}

/// Reads `ar`. With `s`, it also writes the index of an archive that it lists.
pub(in super::super) fn read_ar(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_unpacker(arguments);
    if meaning.class == CommandClass::Harmless && has_option(arguments, &["s"]) {
        mark_files_changed(&mut meaning);
    }
    meaning
}

fn has_option(arguments: CommandArguments<'_>, names: &[&str]) -> bool {
    arguments.items().any(
        |item| matches!(item, CommandItem::Option { option, .. } if names.contains(&option.name)),
    )
}

/// Adds a write of each file that is read.
fn mark_files_changed(meaning: &mut CommandMeaning) {
    meaning.lower_class(CommandClass::Edits);
    for effect in std::mem::take(&mut meaning.effects) {
        meaning.effects.push(effect.clone());
        if let CommandEffect::Reads(target) = effect {
            meaning.effects.push(CommandEffect::Writes(target));
        }
    }
}

/// Reads a program that lists the contents of an archive.
///
/// unzip expands patterns in the name of an archive itself. Without such a file, it tries the name
/// with an extension.
pub(in super::super) fn read_archive_lister(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    add_archive_names(&mut meaning, arguments);
    meaning
}

fn add_archive_names(meaning: &mut CommandMeaning, arguments: CommandArguments<'_>) {
    if let Some(ArgumentWord::Known(archive)) = arguments.operands().next() {
        if archive.contains(['*', '?', '[']) {
            let pattern = EffectTarget::Pattern(archive.to_owned());
            meaning.effects.push(CommandEffect::Reads(pattern));
        }
        for ending in [".zip", ".ZIP"] {
            meaning.add_read(ArgumentWord::Known(&format!("{archive}{ending}")), false);
        }
    }
}

/// Reads programs that write the contents of an archive, by default to the working directory.
pub(in super::super) fn read_unpacker(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    if arguments.called_name() == "unzip" {
        add_archive_names(&mut meaning, arguments);
    }
    let ends = arguments.items()
        .any(|item| matches!(item, CommandItem::Option { option, .. } if option.effect == OptionEffect::Ends));
    let writes = meaning.effects.iter().any(|effect| matches!(effect, CommandEffect::Writes(_)));
    if meaning.class != CommandClass::Harmless && !writes && !ends {
        meaning.add_write(ArgumentWord::Known("."));
    }
    meaning
}

/// Reads a `7z` command. With `-spf` it uses the full paths in an archive.
pub(in super::super) fn read_seven_zip(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let extracts = matches!(arguments.known_argument(0), Some("e" | "x"));
    let writes = meaning.effects.iter().any(|effect| matches!(effect, CommandEffect::Writes(_)));
    let prints = arguments.words().any(|arg| arg == ArgumentWord::Known("-so"));
    // An archive can name other files as its volumes or disks, so the printed contents are not
    // known.
    if extracts && !writes && !prints {
        meaning.add_write(ArgumentWord::Known("."));
    }
    let whole = |arg| match arg {
        ArgumentWord::Known(text) | ArgumentWord::Prefix(text) => text.starts_with("-spf"),
        ArgumentWord::Files(_) | ArgumentWord::Many => false,
    };
    if arguments.words().any(whole) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect(UNKNOWN_FILES);
    }
    for arg in arguments.words() {
        let ArgumentWord::Known(text) = arg else { continue };
        if let Some(list) = text.strip_prefix('@') {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_read(ArgumentWord::Known(list), false);
        }
        // These options remove the packed files, or send the archive.
        if text.starts_with("-sdel") || text.starts_with("-seml") {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect(UNKNOWN_FILES);
        }
    }
    meaning
}

/// Reads programs whose files can be on another host: `host:path`, `host::module`, `rsync://host`.
pub(in super::super) fn read_rsync(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = convert_remote_files(read_without_custom_reader(arguments), |file| {
        let before = file.split('/').next().unwrap_or_default();
        before.contains(':')
    });
    let follows = |item| {
        let CommandItem::Option { option, .. } = item else { return false };
        matches!(option.name, "L" | "k" | "copy-links" | "copy-dirlinks" | "copy-unsafe-links")
    };
    if arguments.items().any(follows) {
        meaning.follow_links();
    }
    meaning
}

/// Reads a `zip` command. Without `-y` it packs the files that symbolic links lead to.
pub(in super::super) fn read_zip(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let keeps = |item| matches!(item, CommandItem::Option { option, .. } if matches!(option.name, "y" | "symlinks"));
    if !arguments.items().any(keeps) {
        meaning.follow_links();
    }
    meaning
}

/// Reads a command for a Helm chart. It prints files below the directory of the chart and follows
/// symbolic links there.
pub(in super::super) fn chart(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    meaning.read_whole_directories();
    meaning.follow_links();
    meaning
}

/// Reads programs whose files can be addresses.
pub(in super::super) fn read_files_or_urls(arguments: CommandArguments<'_>) -> CommandMeaning {
    convert_remote_files(read_without_custom_reader(arguments), |file| {
        let before = file.split('/').next().unwrap_or_default();
        before.len() > 2 && before.ends_with(':') || before.starts_with("file:")
    })
}

fn convert_remote_files(
    mut meaning: CommandMeaning,
    is_elsewhere: impl Fn(&str) -> bool,
) -> CommandMeaning {
    for effect in &mut meaning.effects {
        let (CommandEffect::Reads(EffectTarget::File(file))
        | CommandEffect::Writes(EffectTarget::File(file))) = effect
        else {
            continue;
        };
        if is_elsewhere(file) {
            *effect = CommandEffect::Reaches(std::mem::take(file));
            meaning.class = CommandClass::Unknown;
        }
    }
    meaning
}
