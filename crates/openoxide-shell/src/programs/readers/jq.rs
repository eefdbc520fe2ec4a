//! `jq` and `yq`: a filter can read the environment and other files, so it is searched for the words that do.

use openoxide_protocol::CommandClass;

use super::super::{
    Arg, Arguments, Meaning,
    items::{Item, items},
    level::{Does, Level, Opt},
    reading::read_plainly,
};

/// The builtins and keywords of jq that reach beyond the input.
pub(super) const OF_JQ: [&str; 6] =
    ["env", "ENV", "import", "include", "modulemeta", "get_search_list"];

/// Those of yq; `system` runs a command.
const OF_YQ: [&str; 15] = [
    "env",
    "ENV",
    "import",
    "include",
    "modulemeta",
    "get_search_list",
    "strenv",
    "envsubst",
    "load",
    "load_str",
    "load_base64",
    "load_props",
    "load_xml",
    "eval",
    "system",
];

/// Reads a whole command of jq.
pub(in super::super) fn jq(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    let (mut filter, mut ends) = (None, false);
    let mut items = items(level, arguments, from);
    while let Some(item) = items.next() {
        match item {
            Item::Option { option: Opt { name: "arg" | "argjson", .. }, .. } => {
                // The second word of its value.
                if !matches!(items.next(), Some(Item::Operand(..))) {
                    meaning.lower(CommandClass::Unknown);
                }
            }
            Item::Option { option: Opt { name: "rawfile" | "slurpfile", .. }, .. } => {
                match items.next() {
                    Some(Item::Operand(file, _)) => meaning.read(file, false),
                    _ => meaning.lower(CommandClass::Unknown),
                }
            }
            Item::Option { option, value } if option.does >= Does::Asks => {
                value.into_iter().for_each(|file| meaning.read(file, false));
                reaches_out(&mut meaning);
                filter = filter.or(Some(Arg::Known(".")));
            }
            Item::Option { option, .. } => ends |= option.does == Does::Ends,
            Item::Operand(arg, _) if filter.is_none() => filter = Some(arg),
            Item::Operand(arg, _) => meaning.read(arg, false),
            Item::Number => {}
            Item::Unclear => meaning.lower(CommandClass::Unknown),
        }
    }
    let plain = match filter {
        None => ends,
        Some(Arg::Known(filter)) => {
            if !stays_within(filter, &OF_JQ) {
                reaches_out(&mut meaning);
            }
            true
        }
        Some(_) => {
            reaches_out(&mut meaning);
            false
        }
    };
    if !plain {
        meaning.lower(CommandClass::Unknown);
    }
    meaning
}

fn reaches_out(meaning: &mut Meaning) {
    meaning.lower(CommandClass::Unknown);
    meaning.cannot_tell("its filter can read the environment and other files");
}

/// Reads a whole command of yq. A single operand is the file, if there is one of this name.
pub(in super::super) fn yq(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let (mut filter, mut in_place, mut first) = (None, false, true);
    let mut files = Vec::new();
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option: Opt { name: "expression", .. }, value } => filter = value,
            Item::Option { option: Opt { name: "i" | "inplace" | "in-place", .. }, .. } => {
                in_place = true;
            }
            Item::Operand(Arg::Known("e" | "eval" | "ea" | "eval-all"), _)
                if std::mem::take(&mut first) => {}
            Item::Operand(arg, _) => files.push(arg),
            Item::Option { .. } | Item::Number | Item::Unclear => {}
        }
    }
    let mut files = files.as_slice();
    if let (None, Some((expression, rest))) = (filter, files.split_first()) {
        filter = Some(*expression);
        files = if rest.is_empty() { files } else { rest };
    }
    for file in files {
        meaning.read(*file, false);
        if in_place {
            meaning.write(*file);
        }
    }
    match filter {
        Some(Arg::Known(filter)) if stays_within(filter, &OF_YQ) => {}
        Some(_) => reaches_out(&mut meaning),
        None => meaning.lower(CommandClass::Unknown),
    }
    meaning
}

/// Says whether a filter holds none of these words but as names of fields, and in texts that are nothing else.
pub(super) fn stays_within(filter: &str, reaching: &[&str]) -> bool {
    let mut rest = filter;
    let mut before = ' ';
    while let Some(letter) = rest.chars().next() {
        let end = if letter == '"' {
            match end_of_text(rest) {
                Some(end) => end,
                // A text with code in it: its words count, wherever they stand.
                None => return !words(rest).any(|word| reaching.contains(&word)),
            }
        } else {
            let word = words(rest).next().unwrap_or_default();
            let end = if is_word(letter) { word.len() } else { letter.len_utf8() };
            if is_word(letter) && before != '.' && reaching.contains(&word) {
                return false;
            }
            end
        };
        // `..` and `.` in front of a blank are no fields.
        before = if before == '.' && letter == '.' { ' ' } else { letter };
        rest = rest.get(end..).unwrap_or_default();
    }
    true
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|each: char| !is_word(each))
}

/// Returns where a text ends that holds no code.
fn end_of_text(quoted: &str) -> Option<usize> {
    let mut letters = quoted.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some(at + 1),
            '\\' => drop(letters.next().filter(|(_, each)| *each != '(')?),
            _ => {}
        }
    }
    None
}
