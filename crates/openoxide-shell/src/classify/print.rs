//! Programs whose operands are texts, dates or numbers.

use openoxide_protocol::{Word, Words};

use super::Known;
use crate::options::{Grammar, Item, options};

/// `exit`, `return`, `break`, `continue`: some shells compute their operand, so it must be a number.
pub(super) fn number(argv: &Words) -> Option<Known> {
    let digits = |word| matches!(word, Word::Known(text) if !text.is_empty() && is_digits(text));
    (argv.len() <= 2 && argv.iter().skip(1).all(digits)).then(Known::harmless)
}

/// Says whether there are only digits.
pub(super) fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `cd`: looks at one directory.
pub(super) fn change_directory(argv: &Words) -> Option<Known> {
    let mut known = Known { lists: true, ..Known::harmless() };
    let mut operands = 0;
    for item in options(argv, 1, Grammar::leading("LPe", &[])) {
        match item {
            Item::Option { .. } => {}
            Item::Operand(word) => {
                operands += 1;
                known.read_word(word)?;
            }
            Item::Unclear => return None,
        }
    }
    (operands <= 1).then_some(known)
}

/// `printf`: as a builtin, `-v` and `%n` set a variable, and some shells compute the numbers.
pub(super) fn printf(argv: &Words) -> Option<Known> {
    let mut words = argv.iter().skip(1);
    let format = match words.next()? {
        Word::Known("--") => words.next()?,
        Word::Known(text) if text.starts_with('-') => return None,
        word => word,
    };
    let Word::Known(format) = format else { return None };
    let plain = |word| matches!(word, Word::Known(text) if !text.contains(['[', '$', '`']));
    (!computes(format)? || words.all(plain)).then(Known::harmless)
}

/// Says whether some conversion takes a number; nothing if one is unknown or sets a variable.
fn computes(format: &str) -> Option<bool> {
    let mut computes = false;
    let mut rest = format;
    while let Some((_, conversion)) = rest.split_once('%') {
        let end =
            conversion.trim_start_matches(|each: char| "-+ #0123456789.'hlLjzt*".contains(each));
        let width = conversion.len() - end.len();
        computes |= conversion.get(..width)?.contains('*');
        let mut letters = end.chars();
        match letters.next()? {
            '%' | 's' | 'b' | 'q' | 'Q' | 'c' => {}
            '(' => letters = letters.as_str().split_once(")T")?.1.chars(),
            letter if "diouxXeEfFgGaA".contains(letter) => computes = true,
            _ => return None,
        }
        rest = letters.as_str();
    }
    Some(computes)
}

/// `date`: shows a date; any operand but a format would set the clock.
pub(super) fn date(argv: &Words) -> Option<Known> {
    const DATE: Grammar = Grammar::exact(
        "uRI?d:r<f<",
        &["date: file< iso-8601? reference< rfc-3339: rfc-email utc universal help version"],
    );
    let mut known = Known::harmless();
    for item in options(argv, 1, DATE) {
        match item {
            Item::Option { name: "f" | "r" | "file" | "reference", value: Some(file), .. } => {
                known.read_word(file)?;
            }
            Item::Option { .. } => {}
            Item::Operand(Word::Known(text) | Word::Begins(text)) if text.starts_with('+') => {}
            Item::Operand(_) | Item::Unclear => return None,
        }
    }
    Some(known)
}
