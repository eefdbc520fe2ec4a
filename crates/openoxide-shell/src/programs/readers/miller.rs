//! `mlr`: flags, then verbs with `then` between them, then files.

use openoxide_protocol::CommandClass;

use super::super::{Arg, Arguments, Meaning, level::Level};

/// The flags that only say how files are read and printed.
const FLAGS: &str = "--icsv --ocsv --csv --ijson --ojson --json --itsv --otsv --tsv --ixtab --oxtab --xtab --ipprint \
    --opprint --pprint --inidx --onidx --nidx --idkvp --odkvp --dkvp --ijsonl --ojsonl --jsonl --omd --imd --c2j --c2t \
    --c2p --c2l --c2m --c2d --c2n --c2x --c2b --t2c --t2j --t2p --j2c --j2t --j2p --j2l --j2m --l2c --l2j --l2p \
    --implicit-csv-header --headerless-csv-output --allow-ragged-csv-input --barred --right --jvstack --no-jvstack \
    --ragged --hi --ho -N -n -S -A --no-color -M --color -C --infer-none --infer-octal";

/// The flags with a value that is a text.
const VALUED: &str = "--ifs --ofs --fs --ips --ops --ps --irs --ors --rs --nr-progress-mod --ofmt --records-per-batch";

/// The verbs that neither write nor run anything.
const VERBS: &str = "altkv bar bootstrap bottom-up cat count count-distinct count-similar cut decimate fill-down \
    fill-empty flatten format-values fraction gap grep group-by group-like having-fields head histogram json-parse \
    json-stringify label least-frequent merge-fields most-frequent nest nothing regularize rename reorder repeat reshape \
    sec2gmt sec2gmtdate seqgen shuffle skip-trivial-records sort sort-within-records sort-within-records-values \
    sparsify stats1 stats2 step sub gsub ssub summary tac tail template top utf8-to-latin1 unflatten uniq unspace \
    unsparsify";

/// What a script of `put` and `filter` writes or runs with, and what shows the environment.
const ACTING: [&str; 18] = [
    "system", "exec", "os_type", "hostname", "ENV", "tee", "emit", "emit1", "emitp", "emitf",
    "emitx", "print", "printn", "eprint", "eprintn", "dump", "edump", "split",
];

/// Flags of the program itself, which some versions take behind the verbs, too: they write in place, load and read.
const MAIN: [&str; 6] = ["-I", "--load", "--mload", "--from", "--mfrom", "--files"];

/// Reads a whole command. Each word that could be a file is taken for one.
pub(in super::super) fn mlr(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    if matches!(arguments.known(from), Some("--version" | "version" | "help" | "--help")) {
        return meaning;
    }
    match judge(&mut meaning, arguments, from) {
        Some(true) => {}
        Some(false) => meaning.lower(CommandClass::Unknown),
        None => {
            meaning.lower(CommandClass::Unknown);
            meaning.cannot_tell("its flags or verbs can run programs or write files");
        }
    }
    meaning
}

/// Says whether everything is plain; nothing if something could run or write.
fn judge(meaning: &mut Meaning, arguments: Arguments<'_>, from: usize) -> Option<bool> {
    let mut words = arguments.iter(from).peekable();
    while let Some(Arg::Known(flag)) =
        words.next_if(|word| matches!(word, Arg::Known(text) if text.starts_with('-')))
    {
        match flag {
            "--from" => meaning.read(words.next()?, false),
            _ if VALUED.split_whitespace().any(|each| each == flag) => drop(words.next()?),
            _ if FLAGS.split_whitespace().any(|each| each == flag) => {}
            _ => return None,
        }
    }
    let mut verb = true;
    while let Some(word) = words.next() {
        let Arg::Known(text) = word else {
            meaning.read(word, false);
            if let Arg::Many | Arg::Begins(_) = word {
                return None;
            }
            continue;
        };
        if std::mem::take(&mut verb) {
            match text {
                "put" | "filter" => {
                    while words
                        .next_if(|word| matches!(word, Arg::Known("-q" | "-S" | "-x")))
                        .is_some()
                    {}
                    let Some(Arg::Known(script)) = words.next() else { return None };
                    is_plain(script).then_some(())?;
                }
                _ => VERBS.split_whitespace().any(|each| each == text).then_some(())?,
            }
        } else if text == "then" {
            verb = true;
        } else if !text.starts_with('-') {
            meaning.read(word, false);
        } else if text.contains("prepipe") || MAIN.contains(&text) {
            return None;
        }
    }
    Some(!verb)
}

fn is_plain(script: &str) -> bool {
    let word = |each: char| !each.is_ascii_alphanumeric() && each != '_';
    !script.starts_with('-') && !script.split(word).any(|each| ACTING.contains(&each))
}
