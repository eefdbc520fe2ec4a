//! Rare forms of parameter expansions, of elements of arrays and of escapes.

use super::{arithmetic::NumericNames, script_text::is_name_byte};

const ELEMENT: &str = "an element of an array whose subscript is not a number";

/// Describes a rare parameter expansion. `text` is the text after `${`.
pub(super) fn describe_rare_parameter(
    text: &str,
    numeric: &NumericNames<'_>,
) -> Option<&'static str> {
    let text = text.strip_prefix('#').unwrap_or(text);
    if text.starts_with('!') {
        return Some("an indirect expansion (`${!…}`)");
    }
    let rest =
        text.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
    let rest = match rest.strip_prefix('[') {
        Some(subscript) if is_plain_subscript(subscript) => subscript.split_once(']')?.1,
        Some(_) => return Some(ELEMENT),
        None => rest,
    };
    match rest.strip_prefix(':') {
        Some(offset) if !offset.starts_with(['-', '=', '?', '+']) => {
            let inside = offset.split('}').next().unwrap_or_default();
            (!numeric.is_plain_offset(inside))
                .then_some("an offset that is not a number (`${x:…}`)")
        }
        _ if rest.starts_with('@') => Some("a transformation (`${x@…}`)"),
        _ => None,
    }
}

/// Returns whether a subscript, which begins after `[`, is a number, `@` or `*`.
fn is_plain_subscript(text: &str) -> bool {
    let subscript = text.split(']').next().unwrap_or_default();
    matches!(subscript, "@" | "*")
        || !subscript.is_empty() && subscript.bytes().all(|byte| byte.is_ascii_digit())
}

/// Describes `[…]=` after a name, which assigns an element of an array.
pub(super) fn describe_element(text: &str) -> Option<&'static str> {
    let (subscript, rest) = text.get(1..)?.split_once(']')?;
    let assigns = rest.starts_with('=') || rest.starts_with("+=");
    (assigns && !is_plain_subscript(subscript)).then_some(ELEMENT)
}

/// Describes `{name}` before a redirection, which assigns the number of a descriptor.
pub(super) fn describe_descriptor_variable(text: &str) -> Option<&'static str> {
    let (name, rest) = text.get(1..)?.split_once('}')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| is_name_byte(byte) || byte == b'[');
    (is_name && rest.starts_with(['<', '>'])).then_some("a redirection that assigns a variable")
}

/// Describes escapes in `$'…'` other than those of white space and quotes. `text` is the text after
/// the quote.
pub(super) fn describe_rare_escape(text: &str) -> Option<&'static str> {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\'' => return None,
            b'\\' if !matches!(bytes.next(), Some(b'n' | b't' | b'r' | b'\\' | b'\'' | b'"')) => {
                return Some("an escape in `$'…'` that hides a character");
            }
            _ => {}
        }
    }
    None
}
