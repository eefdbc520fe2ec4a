//! Brace expansion: `a{b,c}` and `{1..3}`.
//!
//! Braces expand first and as text. The shell reads the resulting words once more, so braces can
//! form an expansion that the script does not show: `{$,b}NAME` expands `$NAME`.

use openoxide_protocol::Span;

use super::syntax_tree::{ArraySubscript, WordPiece};

/// The maximum number of words that one word expands to. A larger expansion counts as any number of
/// words.
const MAX_WORDS: usize = 64;
const MAX_GROUPS: usize = 16;

/// A part of a word: one unquoted letter, or a piece that brace expansion treats as a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BracePart<'p, 'a> {
    Letter(char),
    Piece(&'p WordPiece<'a>),
}

/// Returns whether braces in these pieces may expand.
pub(crate) fn may_expand(pieces: &[WordPiece<'_>]) -> bool {
    let plain = |mark: &str| {
        pieces.iter().any(|piece| matches!(piece, WordPiece::Unquoted(text) if text.contains(mark)))
    };
    plain("{") && plain("}") && (plain(",") || plain(".."))
}

/// Returns whether these pieces, which are not expanded here, may name files that are determined
/// only by their text.
pub(crate) fn are_obscure(pieces: &[WordPiece<'_>]) -> bool {
    !is_made_of_numbers(pieces) && !names_parameter(pieces)
}

/// Returns whether braces contain only numbers: `{1..1000}`.
fn is_made_of_numbers(pieces: &[WordPiece<'_>]) -> bool {
    let is_number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b"{}.,-".contains(&byte));
    pieces.iter().all(|piece| matches!(piece, WordPiece::Unquoted(text) if is_number(text)))
}

/// Returns whether these pieces contain a variable. In that case, the variable names the files.
fn names_parameter(pieces: &[WordPiece<'_>]) -> bool {
    pieces.iter().any(|piece| match piece {
        WordPiece::Quoted(inner) => names_parameter(inner),
        piece => matches!(piece, WordPiece::Parameter(_)),
    })
}

/// Returns how many words these pieces expand to, or one if that is not certain.
pub(crate) fn count_words(pieces: &[WordPiece<'_>]) -> usize {
    if may_expand(pieces) { expand_pieces(pieces).map_or(1, |words| words.len()) } else { 1 }
}

/// Returns the words that these pieces expand to, or `None` if that is not certain.
pub(crate) fn expand_pieces<'p, 'a>(
    pieces: &'p [WordPiece<'a>],
) -> Option<Vec<Vec<BracePart<'p, 'a>>>> {
    let mut parts = Vec::new();
    for piece in pieces {
        match piece {
            WordPiece::Unquoted(text) => parts.extend(text.chars().map(BracePart::Letter)),
            piece if has_ambiguous_braces(piece) => return None,
            piece => parts.push(BracePart::Piece(piece)),
        }
    }
    if parts.split(|part| is_letter_part(part, '{')).skip(1).all(starts_with_parameter_name) {
        return Some(vec![parts]);
    }
    // Each group is one level of recursion and at least doubles the number of words.
    let groups = parts.iter().filter(|part| is_letter_part(part, '{')).count();
    let words = if groups > MAX_GROUPS { None } else { expand_parts(&parts, 0) };
    words.filter(|words| !words.iter().any(|word| extends_piece(word)))
}

/// Returns whether braces may form an expansion or quotes that the pieces do not show. `source`
/// returns the text of a span of the script.
pub(super) fn may_form_expansion<'s>(
    pieces: &[WordPiece<'_>],
    source: &dyn Fn(Span) -> &'s str,
) -> bool {
    if !may_expand(pieces) {
        return false;
    }
    let is_hazard = |piece: &WordPiece<'_>| match piece {
        WordPiece::Unquoted(text) => has_mixed_sequence(text),
        WordPiece::Literal(text) => text == "$",
        piece => hides_quotes(piece, source) || has_ambiguous_braces(piece),
    };
    pieces.iter().any(is_hazard) || precedes_brace_syntax(pieces) && expand_pieces(pieces).is_none()
}

/// Returns whether text contains a sequence between an uppercase and a lowercase letter. Between
/// these, ASCII has the backquote, the backslash and brackets: `{Z..a}`. A letter that is not ASCII
/// can be one character or several, depending on the locale.
fn has_mixed_sequence(text: &str) -> bool {
    let is_mixed = |from: char, to: char| {
        !from.is_ascii()
            || !to.is_ascii()
            || from.is_ascii_alphabetic()
                && to.is_ascii_alphabetic()
                && from.is_ascii_lowercase() != to.is_ascii_lowercase()
    };
    text.match_indices("..").any(|(at, dots)| {
        let from = text.get(..at).and_then(|text| text.chars().next_back());
        let to = text.get(at + dots.len()..).and_then(|text| text.chars().next());
        from.zip(to).is_some_and(|(from, to)| is_mixed(from, to))
    })
}

/// Returns whether there may be quotes in a piece which brace expansion pairs differently: the
/// inner quotes of `"${x:-"a,b"}"`, and those in backquotes.
fn hides_quotes<'s>(piece: &WordPiece<'_>, source: &dyn Fn(Span) -> &'s str) -> bool {
    match piece {
        WordPiece::Quoted(pieces) => pieces.iter().any(|piece| hides_quotes(piece, source)),
        WordPiece::Parameter(parameter) => source(parameter.span).contains(['"', '\'', '`', '\\']),
        WordPiece::Backquote(..) | WordPiece::Translated(_) => true,
        _ => false,
    }
}

/// Returns whether a piece that absorbs the text after it is next to a brace or a comma.
fn precedes_brace_syntax(pieces: &[WordPiece<'_>]) -> bool {
    pieces.windows(2).any(|pair| match pair {
        [piece, WordPiece::Unquoted(text)] => {
            absorbs_following_text(piece) && text.starts_with(['{', '}', ','])
        }
        _ => false,
    })
}

/// Returns whether a piece changes because of the text after it: `$x{1,2}` is `$x1 $x2`.
fn extends_piece(word: &[BracePart<'_, '_>]) -> bool {
    word.windows(2).any(|pair| match pair {
        [BracePart::Piece(WordPiece::Literal(text)), _] => text == "$",
        [BracePart::Piece(piece), BracePart::Letter(next)] => {
            absorbs_following_text(piece)
                && (next.is_ascii_alphanumeric() || matches!(next, '_' | '['))
        }
        _ => false,
    })
}

/// Returns whether letters after a piece may become a part of it. This is so for `$x`, but not for
/// `${x}`.
fn absorbs_following_text(piece: &WordPiece<'_>) -> bool {
    match piece {
        WordPiece::Parameter(parameter) => {
            let length = parameter.span.end.saturating_sub(parameter.span.start);
            usize::try_from(length).is_ok_and(|length| length == parameter.name.len() + 1)
        }
        _ => false,
    }
}

/// Returns whether there are braces inside `${…}`. bash counts all of them before it looks for
/// the end of the parameter, so the brace of `{a,b${x:-,{c,d}}` never closes.
fn has_ambiguous_braces(piece: &WordPiece<'_>) -> bool {
    let holds = |text: &str| text.contains(['{', '}']);
    let parameter = match piece {
        WordPiece::Quoted(pieces) => return pieces.iter().any(has_ambiguous_braces),
        WordPiece::Parameter(parameter) => parameter,
        _ => return false,
    };
    let inside = match &parameter.subscript {
        Some(ArraySubscript::Text(pieces)) => pieces.as_slice(),
        _ => &[],
    };
    parameter.operand.iter().chain(inside).any(|piece| match piece {
        WordPiece::Unquoted(text) => holds(text),
        WordPiece::Literal(text) => holds(text),
        WordPiece::Parameter(_) => has_ambiguous_braces(piece),
        _ => true,
    })
}

/// Returns whether these parts begin with a name and a closing brace, and no other closing brace
/// follows. This is true after each opening brace where nothing expands, as in `@{upstream}..HEAD`.
fn starts_with_parameter_name(parts: &[BracePart<'_, '_>]) -> bool {
    let is_name = |part: &&BracePart<'_, '_>| matches!(part, BracePart::Letter(letter) if letter.is_ascii_alphanumeric());
    let name = parts.iter().take_while(is_name).count();
    let braces = parts.iter().filter(|part| is_letter_part(part, '}')).count();
    name > 0 && braces == 1 && parts.get(name).is_some_and(|part| is_letter_part(part, '}'))
}

fn expand_parts<'p, 'a>(
    parts: &[BracePart<'p, 'a>],
    depth: u8,
) -> Option<Vec<Vec<BracePart<'p, 'a>>>> {
    let Some(open) = parts.iter().position(|part| is_letter_part(part, '{')) else {
        return Some(vec![parts.to_vec()]);
    };
    let (before, rest) = parts.split_at_checked(open)?;
    let inside = rest.get(1..)?;
    let close = find_closing_brace(inside)?;
    let (inside, after) = inside.split_at_checked(close)?;
    let after = expand_parts(after.get(1..)?, depth)?;
    let choices = expand_choices(inside, depth)?;
    if choices.len() * after.len() > MAX_WORDS {
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

fn expand_choices<'p, 'a>(
    inside: &[BracePart<'p, 'a>],
    depth: u8,
) -> Option<Vec<Vec<BracePart<'p, 'a>>>> {
    if depth > 8 {
        return None;
    }
    let mut choices = Vec::new();
    let (mut from, mut open) = (0, 0_u32);
    for (index, part) in inside.iter().enumerate() {
        match part {
            BracePart::Letter('{') => open += 1,
            BracePart::Letter('}') => open = open.checked_sub(1)?,
            BracePart::Letter(',') if open == 0 => {
                choices.extend(expand_parts(inside.get(from..index)?, depth + 1)?);
                from = index + 1;
            }
            _ => {}
        }
        if choices.len() > MAX_WORDS {
            return None;
        }
    }
    if from == 0 {
        return expand_sequence(inside);
    }
    choices.extend(expand_parts(inside.get(from..)?, depth + 1)?);
    Some(choices)
}

/// Returns the expansion of `1..3` or `a..c`, or `None` for other forms.
fn expand_sequence<'p, 'a>(inside: &[BracePart<'p, 'a>]) -> Option<Vec<Vec<BracePart<'p, 'a>>>> {
    let text: Option<String> = inside
        .iter()
        .map(|part| match part {
            BracePart::Letter(letter) => Some(*letter),
            BracePart::Piece(_) => None,
        })
        .collect();
    let text = text?;
    let (from, to) = text.split_once("..")?;
    let words: Vec<String> = match (parse_simple_number(from), parse_simple_number(to)) {
        (Some(from), Some(to)) => {
            expand_range(from, to)?.map(|number| number.to_string()).collect()
        }
        _ => {
            let (from, to) = (parse_letter(from)?, parse_letter(to)?);
            expand_range(u32::from(from), u32::from(to))?
                .filter_map(char::from_u32)
                .map(String::from)
                .collect()
        }
    };
    Some(words.iter().map(|word| word.chars().map(BracePart::Letter).collect()).collect())
}

fn expand_range(from: u32, to: u32) -> Option<Box<dyn Iterator<Item = u32>>> {
    if usize::try_from(from.abs_diff(to)).ok()? >= MAX_WORDS {
        return None;
    }
    Some(if from <= to { Box::new(from..=to) } else { Box::new((to..=from).rev()) })
}

/// Parses a number without a sign or leading zeros.
fn parse_simple_number(text: &str) -> Option<u32> {
    let plain = text == "0" || !text.starts_with('0');
    (plain && text.len() < 9 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

fn parse_letter(text: &str) -> Option<char> {
    let mut letters = text.chars();
    letters.next().filter(|letter| letter.is_ascii_lowercase() && letters.next().is_none())
}

/// Returns the position of the brace that closes the group around `inside`.
fn find_closing_brace(inside: &[BracePart<'_, '_>]) -> Option<usize> {
    let mut open = 0_u32;
    for (index, part) in inside.iter().enumerate() {
        match part {
            BracePart::Letter('{') => open += 1,
            BracePart::Letter('}') if open == 0 => return Some(index),
            BracePart::Letter('}') => open -= 1,
            _ => {}
        }
    }
    None
}

fn is_letter_part(part: &BracePart<'_, '_>, wanted: char) -> bool {
    matches!(part, BracePart::Letter(letter) if *letter == wanted)
}
