//! OpenCode's wildcards: `*` matches any text, `?` matches one UTF-16 code unit, and a trailing `
//! *` may be missing as a whole.

/// Returns whether a pattern matches a whole text. A backslash is treated as a slash in both.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (utf16_units(pattern), utf16_units(text));
    let optional = pattern.strip_suffix(&[SPACE, STAR]);
    optional.is_some_and(|start| matches_units(start, &text)) || matches_units(&pattern, &text)
}

const SPACE: u16 = b' ' as u16;
const STAR: u16 = b'*' as u16;
const QUESTION_MARK: u16 = b'?' as u16;

fn utf16_units(text: &str) -> Vec<u16> {
    let slashed = |unit| if unit == u16::from(b'\\') { u16::from(b'/') } else { unit };
    text.encode_utf16().map(slashed).collect()
}

/// Returns whether a pattern matches a whole text. Backtracks only to the last star, because a
/// longer match of an earlier star is never necessary.
fn matches_units(pattern: &[u16], text: &[u16]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(unit) = text.get(read) {
        match pattern.get(at) {
            Some(&STAR) => {
                star = Some((at, read));
                at += 1;
            }
            Some(wanted) if *wanted == QUESTION_MARK || wanted == unit => {
                (at, read) = (at + 1, read + 1);
            }
            _ => match star {
                Some((place, taken)) => {
                    star = Some((place, taken + 1));
                    (at, read) = (place + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|unit| *unit == STAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The table of observed facts. The corpus has many more.
    #[test]
    fn the_measured_facts_hold() {
        for (pattern, yes, no) in [
            ("src/?.ts", ["src/é.ts", "src/a.ts"], ["src/😀.ts", "src/.ts"]),
            ("ls *", ["ls", "ls -la"], ["lsof", "ls\n-la"]),
            (" *", ["", " x"], ["x", "x "]),
            (r"a\b", ["a/b", r"a\b"], ["a|b", "ab"]),
            (r"\*", ["/etc", r"\x"], ["*", "a"]),
            ("a*b*c", ["abc", "a\nb/bcc"], ["ab", "acb"]),
            ("[x]{a,b}", ["[x]{a,b}", "[x]{a,b}"], ["xa", "x"]),
        ] {
            assert!(yes.iter().all(|text| matches(pattern, text)), "{pattern}");
            assert!(!no.iter().any(|text| matches(pattern, text)), "{pattern}");
        }
    }
}
