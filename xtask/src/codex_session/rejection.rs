//! The text of a rejection, as Codex's model reads it: quoted twice in the way of Rust's `Debug`.

use std::str::Chars;

/// The beginnings of rejections that are not quoted: those about the arguments alone, before any
/// policy, and those about a patch.
const PLAIN: [&str; 5] = [
    "approval policy is ",
    "`justification` requires ",
    "patch rejected: ",
    "apply_patch verification failed: ",
    "apply_patch environment selection ",
];

/// Returns the text of a rejection, or `None` if `output` is not one.
pub(super) fn text(output: &str) -> Option<String> {
    if PLAIN.iter().any(|begin| output.starts_with(begin)) {
        return Some(output.to_owned());
    }
    // Up to 0.166 this text also contains the command.
    let (_, quoted) =
        output.strip_prefix("exec_command failed")?.split_once(": CreateProcess { message: \"")?;
    let message = unquoted(quoted.strip_suffix("\" }")?)?;
    unquoted(message.strip_prefix("Rejected(\"")?.strip_suffix("\")")?)
}

/// Returns the text that `Debug` has quoted, or `None` if the text is not quoted like that.
fn unquoted(quoted: &str) -> Option<String> {
    let mut chars = quoted.chars();
    let mut out = String::new();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => escaped(&mut chars)?,
            '"' => return None,
            c => c,
        });
    }
    Some(out)
}

fn escaped(chars: &mut Chars<'_>) -> Option<char> {
    match chars.next()? {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        '0' => Some('\0'),
        'u' => {
            let digits: String =
                chars.skip_while(|c| *c == '{').take_while(|c| *c != '}').collect();
            char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
        }
        c @ ('\\' | '"' | '\'') => Some(c),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Both outputs were recorded from Codex 0.169.
    #[test]
    fn the_quotes_of_a_rejection_are_undone() {
        let output = r#"exec_command failed: CreateProcess { message: "Rejected(\"`/bin/bash -lc 'curl x'` rejected: Use `fetch` instead.\")" }"#;
        assert_eq!(
            text(output).unwrap(),
            "`/bin/bash -lc 'curl x'` rejected: Use `fetch` instead."
        );
        let output = r#"exec_command failed: CreateProcess { message: "Rejected(\"`/bin/bash -c \\\"fb -c 'q r' \\\\\\\"rm -f z\\\\\\\"\\\"` rejected: policy forbids commands starting with `fb`\")" }"#;
        let expected = r#"`/bin/bash -c "fb -c 'q r' \"rm -f z\""` rejected: policy forbids commands starting with `fb`"#;
        assert_eq!(text(output).unwrap(), expected);
    }

    #[test]
    fn text_that_rust_quotes_is_unquoted() {
        for said in ["", "é\u{301}\n\t\r\0", "'\"\\", "\u{200b}\u{7f}x", "日本語 😀"] {
            let message = format!("Rejected({said:?})");
            let output = format!("exec_command failed: CreateProcess {{ message: {message:?} }}");
            assert_eq!(text(&output).as_deref(), Some(said));
        }
    }

    #[test]
    fn other_outputs_have_no_rejection_text() {
        assert_eq!(text("Chunk ID: 1\nProcess exited with code 0\nOutput:\n"), None);
        assert_eq!(text(r#"exec_command failed: CreateProcess { message: "Other(\"x\")" }"#), None);
    }
}
