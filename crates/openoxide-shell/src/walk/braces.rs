//! Brace expansion: `a{b,c}` and `{1..3}`.

use crate::syntax::tree::{Piece, Subscript};

/// A word that makes more words than this is taken for any number of words.
const MOST: usize = 64;
const MOST_GROUPS: usize = 16;

/// A part of a word: one unquoted letter, or a piece that braces do not look into.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'p, 'a> {
    Letter(char),
    Piece(&'p Piece<'a>),
}

/// Returns whether braces in these pieces may expand.
pub(super) fn may_expand(pieces: &[Piece<'_>]) -> bool {
    let plain = |mark: &str| {
        pieces.iter().any(|piece| matches!(piece, Piece::Plain(text) if text.contains(mark)))
    };
    plain("{") && plain("}") && (plain(",") || plain(".."))
}

/// Returns whether these pieces, which are not expanded here, may name files that are determined
/// only by their text.
pub(super) fn are_obscure(pieces: &[Piece<'_>]) -> bool {
    !is_made_of_numbers(pieces) && !names_parameter(pieces)
}

/// Returns whether braces contain only numbers: `{1..1000}`.
fn is_made_of_numbers(pieces: &[Piece<'_>]) -> bool {
    let is_number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b"{}.,-".contains(&byte));
    pieces.iter().all(|piece| matches!(piece, Piece::Plain(text) if is_number(text)))
}

/// Returns whether these pieces contain a variable. In that case, the variable names the files.
fn names_parameter(pieces: &[Piece<'_>]) -> bool {
    pieces.iter().any(|piece| match piece {
        Piece::Quoted(inner) => names_parameter(inner),
        piece => matches!(piece, Piece::Parameter(_)),
    })
}

/// Returns how many words these pieces make; where that is not certain, one.
pub(super) fn width(pieces: &[Piece<'_>]) -> usize {
    if may_expand(pieces) { expanded(pieces).map_or(1, |words| words.len()) } else { 1 }
}

/// Returns the words that these pieces make, or nothing where that is not certain.
pub(super) fn expanded<'p, 'a>(pieces: &'p [Piece<'a>]) -> Option<Vec<Vec<Part<'p, 'a>>>> {
    let mut parts = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Plain(text) => parts.extend(text.chars().map(Part::Letter)),
            piece if grows(piece) || confuses(piece) => return None,
            piece => parts.push(Part::Piece(piece)),
        }
    }
    if parts.split(|part| is(part, '{')).skip(1).all(begins_with_name) {
        return Some(vec![parts]);
    }
    // Each group is one level of recursion, and doubles the words at least.
    let groups = parts.iter().filter(|part| is(part, '{')).count();
    if groups > MOST_GROUPS { None } else { expand(&parts, 0) }
}

/// Returns whether text that braces append may turn a piece into another one: `$x{1,2}` is `$x1
/// $x2`.
fn grows(piece: &Piece<'_>) -> bool {
    match piece {
        Piece::Fixed(text) => text == "$",
        Piece::Parameter(parameter) => {
            let length = parameter.span.end.saturating_sub(parameter.span.start);
            usize::try_from(length).is_ok_and(|length| length == parameter.name.len() + 1)
        }
        _ => false,
    }
}

/// Returns whether there are braces inside of `${…}`. bash counts all of them before it looks for
/// the end of the parameter, so the brace of `{a,b${x:-,{c,d}}` never closes.
fn confuses(piece: &Piece<'_>) -> bool {
    let holds = |text: &str| text.contains(['{', '}']);
    let Piece::Parameter(parameter) = piece else { return false };
    let inside = match &parameter.subscript {
        Some(Subscript::Text(pieces)) => pieces.as_slice(),
        _ => &[],
    };
    parameter.operand.iter().chain(inside).any(|piece| match piece {
        Piece::Plain(text) => holds(text),
        Piece::Fixed(text) => holds(text),
        Piece::Parameter(_) => confuses(piece),
        _ => true,
    })
}

/// Returns whether these parts begin with a name and a closing brace, and no other closing brace
/// follows. This is true after each opening brace where nothing expands, as in `@{upstream}..HEAD`.
fn begins_with_name(parts: &[Part<'_, '_>]) -> bool {
    let is_name = |part: &&Part<'_, '_>| matches!(part, Part::Letter(letter) if letter.is_ascii_alphanumeric());
    let name = parts.iter().take_while(is_name).count();
    let braces = parts.iter().filter(|part| is(part, '}')).count();
    name > 0 && braces == 1 && parts.get(name).is_some_and(|part| is(part, '}'))
}

fn expand<'p, 'a>(parts: &[Part<'p, 'a>], depth: u8) -> Option<Vec<Vec<Part<'p, 'a>>>> {
    let Some(open) = parts.iter().position(|part| is(part, '{')) else {
        return Some(vec![parts.to_vec()]);
    };
    let (before, rest) = parts.split_at_checked(open)?;
    let inside = rest.get(1..)?;
    let close = closing(inside)?;
    let (inside, after) = inside.split_at_checked(close)?;
    let after = expand(after.get(1..)?, depth)?;
    let choices = choices(inside, depth)?;
    if choices.len() * after.len() > MOST {
        return None;
    }
    let mut words = Vec::new();
    for choice in &choices {
        for end in &after {
            words.push([before, choice, end].concat());
        }
    }
    Some(words)
}

fn choices<'p, 'a>(inside: &[Part<'p, 'a>], depth: u8) -> Option<Vec<Vec<Part<'p, 'a>>>> {
    if depth > 8 {
        return None;
    }
    let mut choices = Vec::new();
    let (mut from, mut open) = (0, 0_u32);
    for (index, part) in inside.iter().enumerate() {
        match part {
            Part::Letter('{') => open += 1,
            Part::Letter('}') => open = open.checked_sub(1)?,
            Part::Letter(',') if open == 0 => {
                choices.extend(expand(inside.get(from..index)?, depth + 1)?);
                from = index + 1;
            }
            _ => {}
        }
        if choices.len() > MOST {
            return None;
        }
    }
    if from == 0 {
        return sequence(inside);
    }
    choices.extend(expand(inside.get(from..)?, depth + 1)?);
    Some(choices)
}

/// Returns the expansion of `1..3` or `a..c`. Other forms are left uncertain.
fn sequence<'p, 'a>(inside: &[Part<'p, 'a>]) -> Option<Vec<Vec<Part<'p, 'a>>>> {
    let text: Option<String> = inside
        .iter()
        .map(|part| match part {
            Part::Letter(letter) => Some(*letter),
            Part::Piece(_) => None,
        })
        .collect();
    let text = text?;
    let (from, to) = text.split_once("..")?;
    let words: Vec<String> = match (simple_number(from), simple_number(to)) {
        (Some(from), Some(to)) => between(from, to)?.map(|number| number.to_string()).collect(),
        _ => {
            let (from, to) = (letter(from)?, letter(to)?);
            between(u32::from(from), u32::from(to))?
                .filter_map(char::from_u32)
                .map(String::from)
                .collect()
        }
    };
    Some(words.iter().map(|word| word.chars().map(Part::Letter).collect()).collect())
}

fn between(from: u32, to: u32) -> Option<Box<dyn Iterator<Item = u32>>> {
    if usize::try_from(from.abs_diff(to)).ok()? >= MOST {
        return None;
    }
    Some(if from <= to { Box::new(from..=to) } else { Box::new((to..=from).rev()) })
}

/// Reads a number without a sign or leading zeros.
fn simple_number(text: &str) -> Option<u32> {
    let plain = text == "0" || !text.starts_with('0');
    (plain && text.len() < 9 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

fn letter(text: &str) -> Option<char> {
    let mut letters = text.chars();
    letters.next().filter(|letter| letter.is_ascii_lowercase() && letters.next().is_none())
}

/// Returns where the brace that opened before `inside` closes.
fn closing(inside: &[Part<'_, '_>]) -> Option<usize> {
    let mut open = 0_u32;
    for (index, part) in inside.iter().enumerate() {
        match part {
            Part::Letter('{') => open += 1,
            Part::Letter('}') if open == 0 => return Some(index),
            Part::Letter('}') => open -= 1,
            _ => {}
        }
    }
    None
}

fn is(part: &Part<'_, '_>, wanted: char) -> bool {
    matches!(part, Part::Letter(letter) if *letter == wanted)
}
