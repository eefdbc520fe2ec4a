//! Conversion of compiled patterns to rule texts, for rules of other programs.

use openoxide_protocol::{AbsPath, Effect};

use crate::{
    glob::{self, GlobStep},
    rule::{PathAnchors, Pattern, Rule, SubjectKind},
    rule_syntax::parse_rule,
    subsumption::{pattern_subsumes, subsumes},
};

/// The text for a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText {
    /// The short form. Its paths are relative to the root or to the working directory.
    pub text: String,
    /// True if the text is equivalent to the pattern. Otherwise a rule that allows becomes
    /// narrower, and a rule that asks or denies becomes wider.
    pub is_equivalent: bool,
}

/// Returns a text for one pattern of a rule that is never less strict, or `None` if there is none.
#[must_use]
pub fn to_rule_text(rule: &Rule, pattern: &Pattern) -> Option<RuleText> {
    let root = AbsPath::root();
    let text = render_pattern(pattern)?;
    let read = parse_rule(&text, rule.effect, PathAnchors { home: None, base: &root }).ok()?;
    let read_covers = |one: &Pattern| {
        read.patterns.iter().any(|wide| pattern_subsumes((wide, read.effect), (one, rule.effect)))
    };
    let (wider, narrower) = (read_covers(pattern), subsumes(rule, &read));
    let sound = if rule.effect == Effect::Allow { narrower } else { wider };
    sound.then_some(RuleText { text, is_equivalent: wider && narrower })
}

fn render_pattern(pattern: &Pattern) -> Option<String> {
    if pattern.kind == SubjectKind::Tool {
        return render_name(&pattern.program);
    }
    let name = pattern.kind.rule_name();
    let here = matches!(
        pattern.kind,
        SubjectKind::ReadFromCwd | SubjectKind::EditFromCwd | SubjectKind::ExternalFromCwd
    );
    let whole = glob::decode_steps(&pattern.program).eq([GlobStep::Any]);
    if whole {
        return Some(if here { format!("{name}(**)") } else { name.to_owned() });
    }
    let inside = match pattern.kind {
        SubjectKind::Exec => render_command(&pattern.program)?,
        SubjectKind::Fetch => format!("domain:{}", render_host(&pattern.program)?),
        SubjectKind::Delegate | SubjectKind::DoomLoop => render_name(&pattern.program)?,
        SubjectKind::Socket => render_socket(&pattern.program)?,
        _ => render_path(&pattern.program, here)?,
    };
    Some(format!("{name}({inside})"))
}

/// Returns the words with a space between them. A wildcard becomes `*`.
fn render_command(code: &[u8]) -> Option<String> {
    let (mut text, mut word) = (String::new(), String::new());
    let mut begun = false; // whether the word is not empty
    for step in glob::decode_steps(code) {
        match step {
            GlobStep::Literal(bytes) => {
                for found in std::str::from_utf8(bytes).ok()?.chars() {
                    if found == '\0' {
                        text += if begun { &word } else { "''" };
                        text.push(' ');
                        word.clear();
                    } else {
                        push_escaped(found, &mut word);
                    }
                    begun = found != '\0';
                }
            }
            GlobStep::Any => {
                word.push('*');
                begun = true;
            }
            _ => return None,
        }
    }
    text += &word;
    Some(if begun { text } else { text.strip_suffix(' ')?.to_owned() })
}

fn push_escaped(found: char, to: &mut String) {
    let plain = found.is_alphanumeric() || "-_./:=,@+%^~!?[]{}#&|;<>$()".contains(found);
    if !plain {
        to.push('\\');
    }
    to.push(found);
}

fn render_path(code: &[u8], here: bool) -> Option<String> {
    let mut text = String::from(if here { "" } else { "//" });
    let steps: Vec<GlobStep<'_>> = glob::decode_steps(code).collect();
    let last = steps.len().checked_sub(1)?;
    for (at, step) in steps.into_iter().enumerate() {
        match step {
            GlobStep::Literal(bytes) => {
                for found in std::str::from_utf8(bytes).ok()?.chars() {
                    if matches!(found, '*' | '?' | '[' | '\\' | '{' | '}') {
                        text.push('\\');
                    }
                    text.push(found);
                }
            }
            GlobStep::AnyInPart => text.push('*'),
            GlobStep::AnyChar => text.push('?'),
            GlobStep::AnyParts => text += "**/",
            // A pattern that names a directory covers everything below it.
            GlobStep::Any if at == last && text.ends_with('/') => {}
            GlobStep::Any if at == last => text.push('*'),
            GlobStep::NonEmpty if at == last && text.ends_with('/') => text += "**",
            _ => return None,
        }
    }
    let trimmed = text.trim_end_matches('/');
    // A bare name matches at any depth.
    let bare = trimmed.strip_prefix("**/").filter(|rest| !rest.contains('/'));
    Some(bare.unwrap_or(trimmed).to_owned())
}

/// Returns the path or the name of a socket.
fn render_socket(code: &[u8]) -> Option<String> {
    let text = render_path(code, false)?;
    match text.strip_prefix("//\0") {
        Some(name) => Some(name.replacen('/', ":", 1)),
        None => Some(text),
    }
}

/// Returns the labels in the usual order.
fn render_host(code: &[u8]) -> Option<String> {
    let mut text = String::new();
    for step in glob::decode_steps(code) {
        match step {
            GlobStep::Literal(bytes) => text += std::str::from_utf8(bytes).ok()?,
            GlobStep::AnyInPart => text.push('*'),
            GlobStep::NonEmpty => text += "*.",
            _ => return None,
        }
    }
    let labels: Vec<&str> = text.strip_suffix('.')?.rsplit('.').collect();
    Some(labels.join("."))
}

fn render_name(code: &[u8]) -> Option<String> {
    let mut text = String::new();
    for step in glob::decode_steps(code) {
        match step {
            GlobStep::Literal(bytes) => text += std::str::from_utf8(bytes).ok()?,
            GlobStep::Any => text.push('*'),
            _ => return None,
        }
    }
    Some(text.strip_suffix('\0').unwrap_or(&text).to_owned())
}

#[cfg(test)]
mod tests;
