//! Checks of a script's text for size and for characters that display something other than what
//! runs.

use openoxide_protocol::{Access, Finding, OperationFacts, Span};

use crate::findings::{self, FindingCode};

/// The maximum size of a script that is analyzed.
pub const MAX_SCRIPT_SIZE: usize = 64 * 1024;

/// Returns the facts of a script that is rejected without parsing, or `None` if it is accepted.
pub(crate) fn reject_unreadable(script: &str) -> Option<OperationFacts> {
    let code = match script {
        _ if script.len() > MAX_SCRIPT_SIZE => FindingCode::TooLong,
        _ if script.as_bytes().contains(&0) => FindingCode::ControlCharacter,
        _ => return None,
    };
    let span = Span::new(0, script.len());
    let access = Access::Opaque { text: script.to_owned(), span };
    Some(OperationFacts {
        accesses: vec![access],
        findings: vec![findings::new_finding(code, span)],
    })
}

/// Adds a finding for the first character of each deceptive kind.
pub(crate) fn add_deceptive_findings(script: &str, findings: &mut Vec<Finding>) {
    if script.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return;
    }
    for (code, deceives) in [
        (FindingCode::ControlCharacter, is_control_character as fn(char) -> bool),
        (FindingCode::OddBlank, is_odd_blank),
    ] {
        if let Some((at, letter)) = script.char_indices().find(|(_, letter)| deceives(*letter)) {
            findings.push(findings::new_finding(code, Span::new(at, at + letter.len_utf8())));
        }
    }
}

/// Returns whether `letter` is invisible, moves the cursor, or reverses the direction of the text.
fn is_control_character(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\t')
        || matches!(
            letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e01ef}'
        )
}

/// Returns whether `letter` looks like a blank but is a different character.
fn is_odd_blank(letter: char) -> bool {
    letter.is_whitespace() && !matches!(letter, ' ' | '\n' | '\t') && !letter.is_control()
        || matches!(letter, '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
}
