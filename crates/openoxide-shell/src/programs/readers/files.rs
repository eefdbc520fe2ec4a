//! Readers for programs that copy, link, pack and unpack files. The files that they write are
//! determined by their operands or by the contents of their input.

use openoxide_protocol::CommandClass;

use super::super::{
    Arg, Arguments, Effect, Meaning, Target,
    items::{Item, items},
    level::{Does, Level, Opt},
    reading::read_plainly,
};

const UNKNOWN_FILES: &str = "it writes files that are not known";
const UNKNOWN_LINKS: &str = "it gives further names to files that are not known";

/// `cp`: the files in a directory are copied to the place under their own names; `--parents` keeps the directories before it. With
/// `-L` the files that links lead to are copied, with `-l` files get a further name.
pub(in super::super) fn copies(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let (mut recursive, mut merges, mut parents) = (false, false, false);
    let (mut links, mut follows) = (false, false);
    let mut operands = Vec::new();
    let mut target = None;
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option, value } => match option.name {
                "r" | "R" | "a" | "recursive" | "archive" => recursive = true,
                "T" | "no-target-directory" => merges = true,
                "parents" => parents = true,
                "l" | "link" => links = true,
                "H" | "L" | "dereference" => follows = true,
                "t" | "target-directory" => target = value,
                _ => {}
            },
            Item::Operand(arg, _) => operands.push(arg),
            Item::Number | Item::Unclear => {}
        }
    }
    let place = if target.is_some() { target } else { operands.pop() };
    if follows {
        meaning.follow();
    }
    if links {
        // The copies are further names of the same files: who may write to one changes the original.
        operands.iter().for_each(|operand| meaning.write(*operand));
        if recursive {
            meaning.lower(CommandClass::Unknown);
            meaning.cannot_tell(UNKNOWN_LINKS);
        }
    }
    let Some(Arg::Known(place)) = place else { return meaning };
    let names = |arg: &Arg<'_>| matches!(arg, Arg::Known(text) if is_contents(text));
    if recursive && (merges || operands.iter().any(names)) && holds_settings(place) {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell(UNKNOWN_FILES);
    }
    if parents {
        for operand in &operands {
            let Arg::Known(source) = operand else { continue };
            meaning.write(Arg::Known(&format!("{place}/{source}")));
        }
    }
    meaning
}

/// Returns whether a path means the contents of a directory instead of the directory by its name.
fn is_contents(source: &str) -> bool {
    matches!(source.trim_end_matches('/').rsplit('/').next(), None | Some("" | "." | ".."))
}

/// Returns whether settings may be located in a directory: the working directory, one of its
/// parents, or any absolute path or home directory.
fn holds_settings(place: &str) -> bool {
    place.starts_with(['/', '~']) || place.split('/').all(|part| matches!(part, "" | "." | ".."))
}

/// Reads an `ln` command. The target of a symbolic link is relative to the location of the link. A
/// change of a hard link also changes its target.
pub(in super::super) fn links(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let mut symbolic = false;
    let mut target = None;
    let mut operands = Vec::new();
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option: Opt { name: "s" | "symbolic", .. }, .. } => symbolic = true,
            Item::Option { option, value } if option.does == Does::Into => target = value,
            Item::Operand(arg, _) => operands.push(arg),
            Item::Option { .. } | Item::Number | Item::Unclear => {}
        }
    }
    let place = match (target, operands.len()) {
        (Some(place), _) => Some(place),
        (None, 0 | 1) => None,
        (None, _) => operands.pop(),
    };
    if !symbolic {
        // The new name is one more of the same file: who may write to it changes the original.
        operands.iter().for_each(|operand| meaning.write(*operand));
    }
    let Some(Arg::Known(place)) = place.filter(|_| symbolic) else { return meaning };
    let above = place.trim_end_matches('/').rsplit_once('/').map_or(".", |(above, _)| above);
    for operand in &operands {
        let Arg::Known(source) = operand else { continue };
        if !source.starts_with('/') {
            // It leads from where the link is, not from here.
            let here = Effect::Reads(Target::File((*source).to_owned()));
            meaning.effects.retain(|effect| *effect != here);
            meaning.read(Arg::Known(&format!("{above}/{source}")), false);
            meaning.read(Arg::Known(&format!("{place}/{source}")), false);
        }
    }
    meaning
}

/// `dd`: its words are `name=value`.
pub(in super::super) fn dd(_: &'static Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    let mut meaning = Meaning::of(CommandClass::Harmless);
    for arg in arguments.iter(from) {
        match arg {
            Arg::Known("--help" | "--version" | "--") => {}
            Arg::Known(text) => match text.split_once('=') {
                Some(("if", file)) => meaning.read(Arg::Known(file), false),
                Some(("of", file)) => meaning.write(Arg::Known(file)),
                Some((
                    "bs" | "cbs" | "count" | "ibs" | "obs" | "iseek" | "oseek" | "seek" | "skip"
                    | "conv" | "iflag" | "oflag" | "status",
                    _,
                )) => {}
                _ => meaning.lower(CommandClass::Unknown),
            },
            Arg::Begins(text) => match text.split_once('=') {
                Some(("if", beginning)) => meaning.read(Arg::Begins(beginning), false),
                Some((name, _)) if !name.is_empty() && name != "of" => {
                    meaning.lower(CommandClass::Unknown);
                }
                _ => meaning.write(arg),
            },
            Arg::Paths(_) | Arg::Many => meaning.write(arg),
        }
    }
    meaning
}

/// Compressors: each file becomes another with an ending more, or one less.
pub(in super::super) fn compresses(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    if meaning.class == CommandClass::Harmless {
        if acts_after_all(level, arguments, from) {
            put_in_their_places(&mut meaning);
        } else {
            return meaning;
        }
    }
    let mut suffix = None;
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option: Opt { name: "S" | "suffix", .. }, value } => {
                suffix = value;
            }
            // The file can hold the name that it gets.
            Item::Option { option: Opt { name: "N" | "name", .. }, .. } => {
                meaning.lower(CommandClass::Unknown);
                meaning.cannot_tell(UNKNOWN_FILES);
            }
            _ => {}
        }
    }
    let mut unpacked = Vec::new();
    for effect in &meaning.effects {
        let Effect::Writes(Target::File(file)) = effect else { continue };
        let ending = match suffix {
            Some(Arg::Known(suffix)) => file.strip_suffix(suffix),
            _ => file.rsplit_once('.').map(|(name, _)| name),
        };
        unpacked.extend(ending.map(str::to_owned));
    }
    for file in unpacked.iter().filter(|file| !file.is_empty() && !file.ends_with('/')) {
        meaning.write(Arg::Known(file));
    }
    meaning
}

/// Returns whether the last requested operation is compressing or unpacking. Of `-t`, `-l`, `-d`
/// and `-z` the last one applies. Output that is printed with `-c` is never written to a file.
fn acts_after_all(level: &'static Level, arguments: Arguments<'_>, from: usize) -> bool {
    let mut acts = false;
    for item in items(level, arguments, from) {
        let Item::Option { option, .. } = item else { continue };
        match option.name {
            "c" | "stdout" | "to-stdout" => return false,
            "t" | "l" | "test" | "list" => acts = false,
            "d" | "z" | "compress" | "decompress" | "uncompress" => acts = true,
            _ => {}
        }
    }
    acts
}

/// Adds a write of each file that is read.
fn put_in_their_places(meaning: &mut Meaning) {
    meaning.lower(CommandClass::Edits);
    for effect in std::mem::take(&mut meaning.effects) {
        meaning.effects.push(effect.clone());
        if let Effect::Reads(target) = effect {
            meaning.effects.push(Effect::Writes(target));
        }
    }
}

/// Programs that write what an archive holds: without another place, into the working directory.
pub(in super::super) fn unpacks(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let ends = items(level, arguments, from)
        .any(|item| matches!(item, Item::Option { option, .. } if option.does == Does::Ends));
    let writes = meaning.effects.iter().any(|effect| matches!(effect, Effect::Writes(_)));
    if meaning.class != CommandClass::Harmless && !writes && !ends {
        meaning.write(Arg::Known("."));
    }
    meaning
}

/// `7z`: `-spf` takes the whole paths that an archive holds.
pub(in super::super) fn seven_zip(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let extracts = matches!(arguments.known(from), Some("e" | "x"));
    let writes = meaning.effects.iter().any(|effect| matches!(effect, Effect::Writes(_)));
    let prints = arguments.iter(from).any(|arg| arg == Arg::Known("-so"));
    if extracts && prints && meaning.class == level.class && !writes {
        meaning.class = CommandClass::Harmless;
    } else if extracts && !writes {
        meaning.write(Arg::Known("."));
    }
    let whole = |arg| match arg {
        Arg::Known(text) | Arg::Begins(text) => text.starts_with("-spf"),
        Arg::Paths(_) | Arg::Many => false,
    };
    if arguments.iter(from).any(whole) {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell(UNKNOWN_FILES);
    }
    for arg in arguments.iter(from) {
        let Arg::Known(text) = arg else { continue };
        if let Some(list) = text.strip_prefix('@') {
            meaning.lower(CommandClass::Unknown);
            meaning.read(Arg::Known(list), false);
        }
        // These options remove the packed files, or send the archive.
        if text.starts_with("-sdel") || text.starts_with("-seml") {
            meaning.lower(CommandClass::Unknown);
            meaning.cannot_tell(UNKNOWN_FILES);
        }
    }
    meaning
}

/// Programs whose files can be those of another host: `host:path`, `host::module`, `rsync://host`.
pub(in super::super) fn rsync_remote(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = reaching(read_plainly(level, arguments, from), |file| {
        let before = file.split('/').next().unwrap_or_default();
        before.contains(':')
    });
    let follows = |item| {
        let Item::Option { option, .. } = item else { return false };
        matches!(option.name, "L" | "k" | "copy-links" | "copy-dirlinks" | "copy-unsafe-links")
    };
    if items(level, arguments, from).any(follows) {
        meaning.follow();
    }
    meaning
}

/// `zip`: without `-y` the files that links lead to are packed.
pub(in super::super) fn packs(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let keeps = |item| matches!(item, Item::Option { option, .. } if matches!(option.name, "y" | "symlinks"));
    if !items(level, arguments, from).any(keeps) {
        meaning.follow();
    }
    meaning
}

/// A chart of Helm: it prints files below its directory, and follows links there.
pub(in super::super) fn chart(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    meaning.read_whole();
    meaning.follow();
    meaning
}

/// Programs whose files can be addresses.
pub(in super::super) fn addresses(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    reaching(read_plainly(level, arguments, from), |file| {
        let before = file.split('/').next().unwrap_or_default();
        before.len() > 2 && before.ends_with(':') || before.starts_with("file:")
    })
}

fn reaching(mut meaning: Meaning, is_elsewhere: impl Fn(&str) -> bool) -> Meaning {
    for effect in &mut meaning.effects {
        let (Effect::Reads(Target::File(file)) | Effect::Writes(Target::File(file))) = effect
        else {
            continue;
        };
        if is_elsewhere(file) {
            *effect = Effect::Reaches(std::mem::take(file));
            meaning.class = CommandClass::Unknown;
        }
    }
    meaning
}
