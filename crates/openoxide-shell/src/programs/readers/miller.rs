//! Reader for `mlr`. Its words are flags, then verbs separated by `then`, then files. A script of
//! `put` or `filter` is harmless if it belongs to a closed subset of the language and a search of
//! its text finds no action.

use openoxide_protocol::CommandClass;

use super::super::{ArgumentWord, CommandMeaning, command_arguments::CommandArguments};

/// The flags that only affect how files are read and printed.
const PLAIN_FLAGS: &str = "--icsv --ocsv --csv --ijson --ojson --json --itsv --otsv --tsv --ixtab --oxtab --xtab --ipprint \
    --opprint --pprint --inidx --onidx --nidx --idkvp --odkvp --dkvp --ijsonl --ojsonl --jsonl --omd --imd --c2j --c2t \
    --c2p --c2l --c2m --c2d --c2n --c2x --c2b --t2c --t2j --t2p --j2c --j2t --j2p --j2l --j2m --l2c --l2j --l2p \
    --implicit-csv-header --headerless-csv-output --allow-ragged-csv-input --barred --right --jvstack --no-jvstack \
    --ragged --hi --ho -N -n -S -A --no-color -M --color -C --infer-none --infer-octal";

/// The flags that take a text as their value.
const VALUE_FLAGS: &str = "--ifs --ofs --fs --ips --ops --ps --irs --ors --rs --nr-progress-mod --ofmt --records-per-batch";

/// The verbs that neither write nor run anything.
const PLAIN_VERBS: &str = "altkv bar bootstrap bottom-up cat count count-distinct count-similar cut decimate fill-down \
    fill-empty flatten format-values fraction gap grep group-by group-like having-fields head histogram json-parse \
    json-stringify label least-frequent merge-fields most-frequent nest nothing regularize rename reorder repeat reshape \
    sec2gmt sec2gmtdate seqgen shuffle skip-trivial-records sort sort-within-records sort-within-records-values \
    sparsify stats1 stats2 step sub gsub ssub summary tac tail template top utf8-to-latin1 unflatten uniq unspace \
    unsparsify";

/// The words with which a script of `put` and `filter` writes or runs something or shows the
/// environment.
const ACTION_WORDS: [&str; 18] = [
    "system", "exec", "os_type", "hostname", "ENV", "tee", "emit", "emit1", "emitp", "emitf",
    "emitx", "print", "printn", "eprint", "eprintn", "dump", "edump", "split",
];

/// Flags of the program itself, which some versions also accept after the verbs. They write in
/// place, load code and read files.
const MAIN_FLAGS: [&str; 6] = ["-I", "--load", "--mload", "--from", "--mfrom", "--files"];

/// Reads a whole command. Each word that could be a file is treated as a file.
pub(in super::super) fn read_mlr(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    if matches!(arguments.known_argument(0), Some("--version" | "version" | "help" | "--help")) {
        return meaning;
    }
    match check_command(&mut meaning, arguments) {
        Some(true) => {}
        Some(false) => meaning.lower_class(CommandClass::Unknown),
        None => {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect("its flags or verbs can run programs or write files");
        }
    }
    meaning
}

/// Returns whether all words are plain, or `None` if a word could run programs or write files.
fn check_command(meaning: &mut CommandMeaning, arguments: CommandArguments<'_>) -> Option<bool> {
    let mut words = arguments.words().peekable();
    while let Some(ArgumentWord::Known(flag)) =
        words.next_if(|word| matches!(word, ArgumentWord::Known(text) if text.starts_with('-')))
    {
        match flag {
            "--from" => meaning.add_read(words.next()?, false),
            _ if VALUE_FLAGS.split_whitespace().any(|each| each == flag) => drop(words.next()?),
            _ if PLAIN_FLAGS.split_whitespace().any(|each| each == flag) => {}
            _ => return None,
        }
    }
    let (mut verb, mut understood) = (true, true);
    while let Some(word) = words.next() {
        let ArgumentWord::Known(text) = word else {
            meaning.add_read(word, false);
            if let ArgumentWord::Many | ArgumentWord::Prefix(_) = word {
                return None;
            }
            continue;
        };
        if std::mem::take(&mut verb) {
            match text {
                "put" | "filter" => {
                    while words
                        .next_if(|word| matches!(word, ArgumentWord::Known("-q" | "-S" | "-x")))
                        .is_some()
                    {}
                    let Some(ArgumentWord::Known(script)) = words.next() else { return None };
                    understood &= is_harmless_script(script)?;
                }
                _ => PLAIN_VERBS.split_whitespace().any(|each| each == text).then_some(())?,
            }
        } else if text == "then" {
            verb = true;
        } else if !text.starts_with('-') {
            meaning.add_read(word, false);
        } else if text.contains("prepipe") || MAIN_FLAGS.contains(&text) {
            return None;
        }
    }
    Some(!verb && understood)
}

/// The functions and keywords that may precede a `(` in a script that is understood.
const KNOWN_FUNCTIONS: &str = "abs all any append apply asserting_not_null bitcount boolean capitalize ceiling concat contains count \
    crc32 depth elif every exp expm1 filter flatten float floor fmtifnum fmtnum fold for format format_values get_keys \
    get_values gmt2sec gsub haskey hexfmt if index int is_absent is_empty is_error is_map is_nan is_not_empty is_not_null \
    is_null is_numeric is_present is_string joink joinkv joinv json_decode json_encode kurtosis latin1_to_utf8 leafcount \
    leftpad length log log10 log1p lstrip mapdiff mapexcept mapselect mapsum max maxlen md5 mean median min minlen mode \
    percentile percentiles pow regextract regextract_or_else reverse rightpad round roundm sec2date sec2dhms sec2gmt \
    sec2gmtdate select sgn sha1 sha256 sha512 sort sort_by_key splita splitax splitkv splitkvx splitnv splitnvx sqrt ssub \
    stddev strftime strftime_local string strip strlen strptime strptime_local strrev sub substr substr0 substr1 sum \
    tolower toupper truncate typeof unflatten unformat utf8_to_latin1 var variance while";

/// Returns whether a script of `put` or `filter` is understood, or `None` if a search of its text
/// finds an action.
fn is_harmless_script(script: &str) -> Option<bool> {
    let word = |each: char| !each.is_ascii_alphanumeric() && each != '_';
    let acts =
        script.starts_with('-') || script.split(word).any(|each| ACTION_WORDS.contains(&each));
    (!acts).then(|| has_known_tokens(script))
}

/// Returns whether a script consists only of names, numbers, plain texts and operators, and calls
/// only functions on the list.
fn has_known_tokens(script: &str) -> bool {
    // Every second piece is in quotes.
    let mut pieces = script.split('"').enumerate();
    let operator = |each: char| " \t\n$@{}[](),;:=<>!&|^~?+-*/%._".contains(each);
    let plain = |each: char| each.is_ascii_alphanumeric() || operator(each);
    script.matches('"').count().is_multiple_of(2)
        && !script.contains('\\')
        && pieces.all(|(at, piece)| {
            at % 2 == 1 || piece.chars().all(plain) && calls_only_known_functions(piece)
        })
}

/// Returns whether each word before a `(` is on the list.
fn calls_only_known_functions(code: &str) -> bool {
    let mut heads = code.split('(').collect::<Vec<_>>();
    heads.pop();
    heads.into_iter().all(|head| {
        let head = head.trim_end_matches([' ', '\t', '\n']);
        let rest = head.trim_end_matches(|each: char| each.is_ascii_alphanumeric() || each == '_');
        let name = head.strip_prefix(rest).unwrap_or(head);
        name.is_empty() || KNOWN_FUNCTIONS.split_whitespace().any(|each| each == name)
    })
}
