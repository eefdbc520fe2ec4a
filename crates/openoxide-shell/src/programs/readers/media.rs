//! Programs for documents, pictures, sound and video: what they are given can be a format, a filter or an address.

use openoxide_protocol::CommandClass;

use super::super::{
    Arg, Arguments, Meaning,
    items::{Item, items},
    level::Level,
    reading::read_plainly,
};

const NOT_SHOWN: &str = "it can run something that its words do not show";

/// Returns the operands of a command.
fn operands<'a>(
    level: &'static Level,
    arguments: Arguments<'a>,
    from: usize,
) -> impl Iterator<Item = Arg<'a>> {
    items(level, arguments, from)
        .filter_map(|item| if let Item::Operand(arg, _) = item { Some(arg) } else { None })
}

/// `man`: a word with a slash is a file, and so is every word with `-l`.
pub(in super::super) fn man(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let is_local = |item| matches!(item, Item::Option { option, .. } if matches!(option.name, "l" | "local-file"));
    let local = items(level, arguments, from).any(is_local);
    for arg in operands(level, arguments, from) {
        if local || !matches!(arg, Arg::Known(text) if !text.contains('/')) {
            meaning.read(arg, false);
        }
    }
    meaning
}

/// Reads commands that show manual pages. A word that is not a plain name can be the path of a
/// file. `git help` passes the word to man(1) unchanged, or with `git-` before it.
pub(in super::super) fn manual(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    for arg in operands(level, arguments, from) {
        if matches!(arg, Arg::Known(text) if is_page_name(text)) {
            continue;
        }
        meaning.lower(CommandClass::Unknown);
        meaning.read(arg, false);
        if let Arg::Known(text) = arg
            && level.name() == "help"
        {
            meaning.read(Arg::Known(&format!("git-{text}")), false);
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
fn read_media(meaning: &mut Meaning, arg: Arg<'_>) {
    let Arg::Known(text) = arg else { return meaning.lower(CommandClass::Unknown) };
    match text.split_once(':') {
        // `concat:a|b`, `subfile:…`, `crypto:…`, `data:…`: not worth taking apart.
        Some((scheme, rest)) if !scheme.contains('/') && scheme.len() > 1 => {
            if rest.starts_with("//") || scheme == "file" {
                meaning.reach(arg);
            } else {
                meaning.lower(CommandClass::Unknown);
                meaning.cannot_tell(NOT_SHOWN);
            }
        }
        // Lists of other files.
        _ if text.ends_with(".m3u8") || text.ends_with(".ffconcat") || text.ends_with(".mpd") => {
            meaning.read(arg, false);
            meaning.lower(CommandClass::Unknown);
        }
        _ => meaning.read(arg, false),
    }
}

/// `-f concat` reads a list of files; `-vf movie=FILE` and libraries of filters hide in their texts.
pub(in super::super) fn ffmpeg_value(meaning: &mut Meaning, name: &str, value: Option<Arg<'_>>) {
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
    let (Arg::Known(text) | Arg::Begins(text)) = value else {
        return meaning.cannot_tell(NOT_SHOWN);
    };
    let whole = matches!(value, Arg::Known(_));
    let hides = match name {
        "i" => {
            // An address is reported as an address.
            if text.contains(':') {
                read_media(meaning, value);
            }
            false
        }
        "f" => matches!(text, "concat" | "lavfi" | "tee" | "segment" | "hls" | "dash") || !whole,
        _ if name.split(':').next().is_some_and(|name| {
            matches!(name, "af" | "vf" | "filter" | "filter_complex" | "lavfi")
        }) =>
        {
            !whole || !is_plain_graph(text) || HIDING.iter().any(|word| text.contains(word))
        }
        _ => false,
    };
    if hides {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell(NOT_SHOWN);
    }
}

/// The filters of ffmpeg that compute: none of their values is the name of a file, a library or an address.
const FILTERS: &str = "acompressor acopy adelay aecho aevalsrc afade aformat agate aloop alimiter amerge amix anull \
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
fn is_plain_graph(graph: &str) -> bool {
    // In quotes a `,` or `;` begins no filter, and `/name=` reads a value from a file.
    let pieces: Vec<&str> = graph.split('\'').collect();
    let outside: String = pieces.iter().step_by(2).copied().collect();
    let plain = |filter: &str| {
        let mut name = filter.trim();
        while let Some((_, rest)) = name.strip_prefix('[').and_then(|label| label.split_once(']')) {
            name = rest.trim_start();
        }
        let name = name.split(['=', '@', '[']).next().unwrap_or_default().trim();
        FILTERS.split_whitespace().any(|each| each == name)
    };
    pieces.len() % 2 == 1
        && !graph.contains(['\\', '\n'])
        && !["=/", ":/"].iter().any(|part| outside.contains(part))
        && outside.split([',', ';']).all(plain)
}

/// Reads an `ffmpeg` or `ffprobe` command. The operands are the outputs, or for ffprobe the input.
pub(in super::super) fn ffmpeg(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let probes = level.class == CommandClass::Harmless;
    let mut meaning = read_plainly(level, arguments, from);
    let ends = meaning.class == CommandClass::Harmless;
    let all: Vec<Arg<'_>> = operands(level, arguments, from).collect();
    if probes {
        // The operand is what makes the class worse; it only reads.
        let unclear = items(level, arguments, from).any(|item| matches!(item, Item::Unclear));
        if all.len() == 1 && !unclear && meaning.effects.is_empty() {
            meaning.class = CommandClass::Harmless;
        }
        all.iter().for_each(|arg| read_media(&mut meaning, *arg));
    } else if !ends {
        for arg in &all {
            match arg {
                Arg::Known(text) if text.contains("://") => meaning.reach(*arg),
                Arg::Known("-" | "pipe:1" | "pipe:") => {}
                _ => meaning.write(*arg),
            }
        }
    }
    meaning
}

/// The programs of ImageMagick: a word can name a format (`msl:FILE`), a file with words (`@FILE`) or an address.
pub(in super::super) fn imagemagick(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    const PLAIN: [&str; 22] = [
        "xc", "canvas", "gradient", "label", "caption", "plasma", "pattern", "logo", "rose",
        "null", "png", "jpg", "jpeg", "gif", "webp", "tiff", "bmp", "info", "png8", "png24",
        "png32", "json",
    ];
    // Formats of a file that the same word names.
    const OF_FILES: [&str; 12] = [
        "png", "jpg", "jpeg", "gif", "webp", "tiff", "bmp", "info", "png8", "png24", "png32",
        "json",
    ];
    let mut meaning = read_plainly(level, arguments, from);
    if meaning.class == CommandClass::Harmless {
        return meaning;
    }
    let only_reads = matches!(arguments.known(0), Some("identify"));
    for arg in arguments.iter(from) {
        let (Arg::Known(text) | Arg::Begins(text)) = arg else { continue };
        let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
        let file = rest.strip_prefix('@');
        if text.contains("://") && !text.contains(['"', '|', '`', '$', ';']) {
            meaning.reach(arg);
        } else if let Some(file) = file {
            meaning.read(Arg::Known(file), false);
            // The words in it can name formats that run and remove.
            if scheme.is_empty() {
                meaning.cannot_tell(NOT_SHOWN);
            }
        } else if OF_FILES.contains(&scheme.to_ascii_lowercase().as_str()) {
            if !matches!(rest, "" | "-") {
                meaning.read(Arg::Known(rest), false);
                if !only_reads {
                    meaning.write(Arg::Known(rest));
                }
            }
        } else if text.contains(':')
            && !PLAIN.contains(&scheme.to_ascii_lowercase().as_str())
            && !is_measure(scheme)
            || text.contains('|')
        {
            meaning.cannot_tell(NOT_SHOWN);
        }
    }
    let all: Vec<Arg<'_>> = arguments.iter(from).filter(|arg| names_file(*arg)).collect();
    for arg in &all {
        meaning.read(*arg, false);
    }
    match all.last() {
        Some(last) if !only_reads => meaning.write(*last),
        _ => {}
    }
    meaning
}

/// Returns whether the text before a `:` is a number of a geometry and not a format.
fn is_measure(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b"x+-%.".contains(&byte))
}

fn names_file(arg: Arg<'_>) -> bool {
    match arg {
        Arg::Known(text) => {
            let plain = !text.starts_with(['-', '+', '(', ')', '@'])
                && !text.contains(':')
                && !is_measure(text);
            plain && (text.contains(['.', '/']) || text.starts_with('.'))
        }
        Arg::Paths(_) => true,
        Arg::Begins(_) | Arg::Many => false,
    }
}

/// `exiftool`: it shows, unless a word sets a tag (`-TAG=…`) or is code.
pub(in super::super) fn exiftool(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    const CODE: &str = "if p printformat config @ api execute tagsfromfile addtagsfromfile alltagsfromfile efile \
        userparam use require common_args srcfile";
    // A value, where the next word is one: exiftool tells `-x` from `-X` and `-d` from `-D`.
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
    let mut meaning = Meaning::of(level.class);
    let mut words = arguments.iter(from).peekable();
    while let Some(word) = words.next() {
        let Arg::Known(text) = word else {
            meaning.read(word, false);
            continue;
        };
        let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
            meaning.read(word, false);
            continue;
        };
        let option = option.to_ascii_lowercase();
        // `-w+!`, `-if2`, `-p-`: what follows the letters changes how, not what.
        let end = option.find(|each: char| !each.is_ascii_alphabetic() && !"_@".contains(each));
        let name = option.get(..end.unwrap_or(option.len())).unwrap_or_default();
        let is_one_of = |names: &str| names.split_whitespace().any(|each| each == name);
        if is_one_of(CODE) {
            meaning.lower(CommandClass::Unknown);
            meaning.cannot_tell(NOT_SHOWN);
            words.next_if(|next| matches!(next, Arg::Known(next) if !next.starts_with('-')));
        } else if option.contains('=') || option.contains('<') || option.contains('>') {
            // The name of a file can be set, too.
            meaning.lower(CommandClass::Unknown);
            if option.starts_with("filename")
                || option.starts_with("directory")
                || option.starts_with("testname")
            {
                let (_, place) = text.split_once(['=', '<']).unwrap_or((text, ""));
                meaning.write(if text.contains('<') { Arg::Many } else { Arg::Known(place) });
            }
        } else if is_one_of(WRITES) && !matches!(option.as_str(), "csv" | "json") {
            meaning.lower(CommandClass::Unknown);
        } else if VALUED.contains(&text) {
            // A word that starts with a dash is checked as an option, too: not each of these takes
            // a value.
            words.next_if(|next| matches!(next, Arg::Known(next) if !next.starts_with('-')));
        }
    }
    // Code of Perl in any word.
    let holds_code = |arg| matches!(arg, Arg::Known(text) if text.contains(['$', '`', '|', ';']));
    if arguments.iter(from).any(holds_code) {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell(NOT_SHOWN);
    }
    meaning
}

/// `-t FILE.lua` and `-f FILE.lua` are code.
pub(in super::super) fn pandoc_value(meaning: &mut Meaning, name: &str, value: Option<Arg<'_>>) {
    if matches!(name, "f" | "r" | "t" | "w" | "from" | "to" | "read" | "write") {
        let plain = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte))
        };
        if !matches!(value, Some(Arg::Known(text)) if plain(text)) {
            meaning.lower(CommandClass::Unknown);
            meaning.cannot_tell(NOT_SHOWN);
        }
    }
}

/// `pandoc`: what goes to standard output only reads, if the input includes nothing else.
pub(in super::super) fn pandoc(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    if meaning.class == CommandClass::Harmless {
        return meaning;
    }
    for arg in operands(level, arguments, from) {
        match arg {
            Arg::Known(text) if text.contains("://") => meaning.reach(arg),
            _ => meaning.read(arg, false),
        }
    }
    meaning
}

/// TeX: an operand with a backslash or a `|` is code.
pub(in super::super) fn tex(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let is_code = |arg| !matches!(arg, Arg::Known(text) if !text.contains(['\\', '|', '&']));
    if arguments.iter(from).any(is_code) && meaning.class != CommandClass::Harmless {
        meaning.cannot_tell(NOT_SHOWN);
    }
    // `-output-directory` and `-jobname` together determine the files that are written.
    let is_job = |arg| matches!(arg, Arg::Known(text) if text.trim_start_matches('-').starts_with("jobname"));
    let job = arguments.iter(from).position(is_job).and_then(|at| {
        let text = arguments.known(from + at)?;
        text.split_once('=').map(|(_, name)| name).or_else(|| arguments.known(from + at + 1))
    });
    if let Some(job) = job {
        meaning.write(Arg::Known(job));
    }
    meaning
}

/// `pdftotext FILE TEXT`: without the second name it makes one up.
pub(in super::super) fn pdftotext(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    if operands(level, arguments, from).count() == 1 {
        meaning.lower(CommandClass::Unknown);
    }
    meaning
}
