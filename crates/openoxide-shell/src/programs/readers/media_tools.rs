//! Readers for programs for documents, images, audio and video. Their operands can be formats,
//! filters or addresses.

use openoxide_protocol::CommandClass;

use super::super::{
    ArgumentWord, CommandMeaning, command_arguments::CommandArguments, command_items::CommandItem,
    command_reading::read_without_custom_reader, command_spec::OptionEffect,
};

const HIDDEN_EXECUTION: &str = "it can run something that its words do not show";

/// Reads a `man` command. A word with a slash is a file, and so is every word with `-l`.
pub(in super::super) fn read_man(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let is_local = |item| matches!(item, CommandItem::Option { option, .. } if matches!(option.name, "l" | "local-file"));
    let local = arguments.items().any(is_local);
    for arg in arguments.operands() {
        if local || !matches!(arg, ArgumentWord::Known(text) if !text.contains('/')) {
            meaning.add_read(arg, false);
        }
    }
    meaning
}

/// Reads commands that show manual pages. A word that is not a plain name can be the path of a
/// file. `git help` passes the word to man(1) unchanged, or with `git-` before it.
pub(in super::super) fn read_manual_viewer(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    for arg in arguments.operands() {
        if matches!(arg, ArgumentWord::Known(text) if is_page_name(text)) {
            continue;
        }
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_read(arg, false);
        if let ArgumentWord::Known(text) = arg
            && arguments.spec.name() == "help"
        {
            meaning.add_read(ArgumentWord::Known(&format!("git-{text}")), false);
        }
    }
    meaning
}

/// Returns whether a word has the form of a name of a manual page, module or function: `git-log`,
/// `printf.3`, `File::Find`.
fn is_page_name(text: &str) -> bool {
    let plain = |each: char| each.is_ascii_alphanumeric() || "_-+.:".contains(each);
    !text.starts_with('.') && !text.contains("..") && text.chars().all(plain)
}

/// Adds the effect of an input of ffmpeg: a file, an address, or something with another protocol.
fn add_media_input(meaning: &mut CommandMeaning, arg: ArgumentWord<'_>) {
    let ArgumentWord::Known(text) = arg else { return meaning.lower_class(CommandClass::Unknown) };
    match text.split_once(':') {
        // `concat:a|b`, `subfile:…`, `crypto:…` and `data:…` are not parsed.
        Some((scheme, rest)) if !scheme.contains('/') && scheme.len() > 1 => {
            if rest.starts_with("//") || scheme == "file" {
                meaning.add_host(arg);
            } else {
                meaning.lower_class(CommandClass::Unknown);
                meaning.add_unknown_effect(HIDDEN_EXECUTION);
            }
        }
        // Lists of other files.
        _ if text.ends_with(".m3u8") || text.ends_with(".ffconcat") || text.ends_with(".mpd") => {
            meaning.add_read(arg, false);
            meaning.lower_class(CommandClass::Unknown);
        }
        _ => meaning.add_read(arg, false),
    }
}

/// Adds the effects of an option of ffmpeg. `-f concat` reads a list of files. The texts of filters
/// can contain file names (`-vf movie=FILE`) and libraries.
pub(in super::super) fn add_ffmpeg_value(
    meaning: &mut CommandMeaning,
    name: &str,
    value: Option<ArgumentWord<'_>>,
) {
    const HIDING: [&str; 16] = [
        "movie",
        "ladspa",
        "lv2",
        "frei0r",
        "filename",
        "file=",
        "sendcmd",
        "zmq",
        "subtitles",
        "ass=",
        "textfile",
        "fontfile",
        "lut3d",
        "program",
        "metadata",
        "drawtext",
    ];
    let Some(value) = value else { return };
    let (ArgumentWord::Known(text) | ArgumentWord::Prefix(text)) = value else {
        return meaning.add_unknown_effect(HIDDEN_EXECUTION);
    };
    let whole = matches!(value, ArgumentWord::Known(_));
    let hides = match name {
        "i" => {
            // An address is reported as an address.
            if text.contains(':') {
                add_media_input(meaning, value);
            }
            false
        }
        "f" => matches!(text, "concat" | "lavfi" | "tee" | "segment" | "hls" | "dash") || !whole,
        _ if name.split(':').next().is_some_and(|name| {
            matches!(name, "af" | "vf" | "filter" | "filter_complex" | "lavfi")
        }) =>
        {
            !whole
                || !is_harmless_filter_graph(text)
                || HIDING.iter().any(|word| text.contains(word))
        }
        _ => false,
    };
    if hides {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect(HIDDEN_EXECUTION);
    }
}

/// The filters of ffmpeg that only compute. None of their values is the name of a file, a library
/// or an address.
const PLAIN_FILTERS: &str = "acompressor acopy adelay aecho aevalsrc afade aformat agate aloop alimiter amerge amix anull \
    anullsrc apad areverse aresample asetpts asetrate ashowinfo asplit astats atempo atrim bass blackdetect blackframe \
    blend boxblur bwdif channelmap channelsplit chromakey color colorbalance colorchannelmixer colorkey compand concat \
    copy crop cropdetect decimate deband delogo drawbox drawgrid dynaudnorm ebur128 eq equalizer fade fieldmatch format \
    fps framerate framestep gblur gradfun highpass hflip hqdn3d hstack hue idet interleave kerndeint loop loudnorm lowpass \
    mandelbrot minterpolate mpdecimate negate nlmeans noise normalize null nullsrc overlay pad palettegen paletteuse pan \
    pixelize pp pullup reverse rotate scale select aselect separatefields setdar setfield setparams setpts setsar sharpen \
    showinfo showspectrum showspectrumpic showvolume showwaves showwavespic silencedetect silenceremove sine smptebars \
    split stereo3d testsrc testsrc2 thumbnail tile tonemap tpad transpose treble trim unsharp vflip vignette volume \
    volumedetect vstack weave xfade acrossfade xstack yadif zoompan zscale";

/// Returns whether a graph consists only of filters that compute.
fn is_harmless_filter_graph(graph: &str) -> bool {
    // A `,` or `;` in quotes does not begin a filter, and `/name=` reads a value from a file.
    let pieces: Vec<&str> = graph.split('\'').collect();
    let outside: String = pieces.iter().step_by(2).copied().collect();
    let plain = |filter: &str| {
        let mut name = filter.trim();
        while let Some((_, rest)) = name.strip_prefix('[').and_then(|label| label.split_once(']')) {
            name = rest.trim_start();
        }
        let name = name.split(['=', '@', '[']).next().unwrap_or_default().trim();
        PLAIN_FILTERS.split_whitespace().any(|each| each == name)
    };
    pieces.len() % 2 == 1
        && !graph.contains(['\\', '\n'])
        && !["=/", ":/"].iter().any(|part| outside.contains(part))
        && outside.split([',', ';']).all(plain)
}

/// Reads an `ffmpeg` or `ffprobe` command. The operands are the outputs, or for ffprobe the input.
pub(in super::super) fn read_ffmpeg(arguments: CommandArguments<'_>) -> CommandMeaning {
    let probes = arguments.spec.class == CommandClass::Harmless;
    let mut meaning = read_without_custom_reader(arguments);
    let ends = meaning.class == CommandClass::Harmless;
    let all: Vec<ArgumentWord<'_>> = arguments.operands().collect();
    if probes {
        // The operand lowers the class, but the program only reads it.
        let unclear = arguments.items().any(|item| match item {
            CommandItem::Unclear => true,
            CommandItem::Option { option, .. } => option.effect >= OptionEffect::Asks,
            CommandItem::Operand(..) | CommandItem::Number => false,
        });
        if all.len() == 1 && !unclear && meaning.effects.is_empty() {
            meaning.class = CommandClass::Harmless;
        }
        all.iter().for_each(|arg| add_media_input(&mut meaning, *arg));
    } else if !ends {
        for arg in &all {
            match arg {
                ArgumentWord::Known(text) if text.contains("://") => meaning.add_host(*arg),
                ArgumentWord::Known("-" | "pipe:1" | "pipe:") => {}
                _ => meaning.add_write(*arg),
            }
        }
    }
    meaning
}

/// Reads a command of ImageMagick. A word can name a format (`msl:FILE`), a file with words
/// (`@FILE`) or an address.
pub(in super::super) fn read_imagemagick(arguments: CommandArguments<'_>) -> CommandMeaning {
    const PLAIN: [&str; 22] = [
        "xc", "canvas", "gradient", "label", "caption", "plasma", "pattern", "logo", "rose",
        "null", "png", "jpg", "jpeg", "gif", "webp", "tiff", "bmp", "info", "png8", "png24",
        "png32", "json",
    ];
    // Formats of a file that is named in the same word.
    const OF_FILES: [&str; 12] = [
        "png", "jpg", "jpeg", "gif", "webp", "tiff", "bmp", "info", "png8", "png24", "png32",
        "json",
    ];
    let mut meaning = read_without_custom_reader(arguments);
    if meaning.class == CommandClass::Harmless {
        return meaning;
    }
    let only_reads = matches!(arguments.argv.known_word(0), Some("identify"));
    for arg in arguments.words() {
        let (ArgumentWord::Known(text) | ArgumentWord::Prefix(text)) = arg else { continue };
        let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
        let file = rest.strip_prefix('@');
        if text.contains("://") && !text.contains(['"', '|', '`', '$', ';']) {
            meaning.add_host(arg);
        } else if let Some(file) = file {
            meaning.add_read(ArgumentWord::Known(file), false);
            // The words in the file can name formats that run programs and remove files.
            if scheme.is_empty() {
                meaning.add_unknown_effect(HIDDEN_EXECUTION);
            }
        } else if OF_FILES.contains(&scheme.to_ascii_lowercase().as_str()) {
            if !matches!(rest, "" | "-") {
                meaning.add_read(ArgumentWord::Known(rest), false);
                if !only_reads {
                    meaning.add_write(ArgumentWord::Known(rest));
                }
            }
        } else if text.contains(':')
            && !PLAIN.contains(&scheme.to_ascii_lowercase().as_str())
            && !is_geometry(scheme)
            || text.contains('|')
        {
            meaning.add_unknown_effect(HIDDEN_EXECUTION);
        }
    }
    let all: Vec<ArgumentWord<'_>> = arguments.words().filter(|arg| is_file_name(*arg)).collect();
    for arg in &all {
        meaning.add_read(*arg, false);
    }
    match all.last() {
        Some(last) if !only_reads => meaning.add_write(*last),
        _ => {}
    }
    meaning
}

/// Returns whether the text before a `:` is part of a geometry and not a format.
fn is_geometry(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b"x+-%.".contains(&byte))
}

fn is_file_name(arg: ArgumentWord<'_>) -> bool {
    match arg {
        ArgumentWord::Known(text) => {
            let plain = !text.starts_with(['-', '+', '(', ')', '@'])
                && !text.contains(':')
                && !is_geometry(text);
            plain && (text.contains(['.', '/']) || text.starts_with('.'))
        }
        ArgumentWord::Files(_) => true,
        ArgumentWord::Prefix(_) | ArgumentWord::Many => false,
    }
}

/// Reads an `exiftool` command. It only shows metadata, unless a word sets a tag (`-TAG=…`) or is
/// code.
pub(in super::super) fn read_exiftool(arguments: CommandArguments<'_>) -> CommandMeaning {
    const CODE: &str = "if p printformat config @ api execute tagsfromfile addtagsfromfile alltagsfromfile efile \
        userparam use require common_args srcfile";
    // The options whose value is the next word. exiftool distinguishes `-x` from `-X` and `-d` from
    // `-D`.
    const VALUED: [&str; 17] = [
        "-d",
        "-dateFormat",
        "-charset",
        "-ext",
        "-extension",
        "--ext",
        "-i",
        "-ignore",
        "-lang",
        "-x",
        "-exclude",
        "-c",
        "-coordFormat",
        "-sep",
        "-separator",
        "-fileOrder",
        "-password",
    ];
    const WRITES: &str = "o out w wext tagoutext wm writemode textout tagout overwrite_original overwrite_original_in_place delete_original \
        restore_original geotag stay_open csv json plot diff";
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    let mut words = arguments.words().peekable();
    while let Some(word) = words.next() {
        let ArgumentWord::Known(text) = word else {
            meaning.add_read(word, false);
            continue;
        };
        let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
            meaning.add_read(word, false);
            continue;
        };
        let option = option.to_ascii_lowercase();
        // In `-w+!`, `-if2` and `-p-`, the characters after the letters change how the option
        // works, but not what it does.
        let end = option.find(|each: char| !each.is_ascii_alphabetic() && !"_@".contains(each));
        let name = option.get(..end.unwrap_or(option.len())).unwrap_or_default();
        let is_one_of = |names: &str| names.split_whitespace().any(|each| each == name);
        if is_one_of(CODE) {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect(HIDDEN_EXECUTION);
            words.next_if(
                |next| matches!(next, ArgumentWord::Known(next) if !next.starts_with('-')),
            );
        } else if option.contains('=') || option.contains('<') || option.contains('>') {
            // An assignment to a tag can also set the name of the file.
            meaning.lower_class(CommandClass::Unknown);
            if option.starts_with("filename")
                || option.starts_with("directory")
                || option.starts_with("testname")
            {
                let (_, place) = text.split_once(['=', '<']).unwrap_or((text, ""));
                meaning.add_write(if text.contains('<') {
                    ArgumentWord::Many
                } else {
                    ArgumentWord::Known(place)
                });
            }
        } else if is_one_of(WRITES) && !matches!(option.as_str(), "csv" | "json") {
            meaning.lower_class(CommandClass::Unknown);
        } else if VALUED.contains(&text) {
            // A word that starts with a dash is also checked as an option, because not all of these
            // options take a value.
            words.next_if(
                |next| matches!(next, ArgumentWord::Known(next) if !next.starts_with('-')),
            );
        }
    }
    // Any word can contain Perl code.
    let holds_code =
        |arg| matches!(arg, ArgumentWord::Known(text) if text.contains(['$', '`', '|', ';']));
    if arguments.words().any(holds_code) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect(HIDDEN_EXECUTION);
    }
    meaning
}

/// Adds the effects of `-t FILE.lua` and `-f FILE.lua`, which are code.
pub(in super::super) fn add_pandoc_value(
    meaning: &mut CommandMeaning,
    name: &str,
    value: Option<ArgumentWord<'_>>,
) {
    if matches!(name, "f" | "r" | "t" | "w" | "from" | "to" | "read" | "write") {
        let plain = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte))
        };
        if !matches!(value, Some(ArgumentWord::Known(text)) if plain(text)) {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect(HIDDEN_EXECUTION);
        }
    }
}

/// Reads a `pandoc` command. With output to standard output it only reads, if the input includes no
/// other files.
pub(in super::super) fn read_pandoc(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    if meaning.class == CommandClass::Harmless {
        return meaning;
    }
    for arg in arguments.operands() {
        match arg {
            ArgumentWord::Known(text) if text.contains("://") => meaning.add_host(arg),
            _ => meaning.add_read(arg, false),
        }
    }
    meaning
}

/// Reads a TeX command. An operand with a backslash or a `|` is code.
pub(in super::super) fn read_tex(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let is_code =
        |arg| !matches!(arg, ArgumentWord::Known(text) if !text.contains(['\\', '|', '&']));
    if arguments.words().any(is_code) && meaning.class != CommandClass::Harmless {
        meaning.add_unknown_effect(HIDDEN_EXECUTION);
    }
    // `-output-directory` and `-jobname` together determine the files that are written.
    let is_job = |arg| matches!(arg, ArgumentWord::Known(text) if text.trim_start_matches('-').starts_with("jobname"));
    let job = arguments.words().position(is_job).and_then(|at| {
        let text = arguments.known_argument(at)?;
        text.split_once('=').map(|(_, name)| name).or_else(|| arguments.known_argument(at + 1))
    });
    if let Some(job) = job {
        meaning.add_write(ArgumentWord::Known(job));
    }
    meaning
}

/// Reads a `pdftotext FILE TEXT` command. Without the second operand, the program derives the name
/// of the output from the first.
pub(in super::super) fn read_pdftotext(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    if arguments.operands().count() == 1 {
        meaning.lower_class(CommandClass::Unknown);
    }
    meaning
}
