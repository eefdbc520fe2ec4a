//! From compiled patterns back to texts: how a rule that came from elsewhere is written in our own words.

use openoxide_protocol::{AbsPath, Effect};

use crate::{
    cover::{covers, pattern_covers},
    glob::{self, Step},
    rule::{Anchors, Pattern, Rule, Space},
    syntax::parse,
};

/// A text for a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelled {
    /// The short form. Its paths count from the root or from the working directory.
    pub text: String,
    /// Whether it says the same; otherwise an allow is narrower, and what holds back is wider.
    pub same: bool,
}

/// Writes one pattern of a rule as a text that is never looser; nothing if there is none.
#[must_use]
pub fn spell(rule: &Rule, pattern: &Pattern) -> Option<Spelled> {
    let root = AbsPath::root();
    let text = written(pattern)?;
    let read = parse(&text, rule.effect, Anchors { home: None, base: &root }).ok()?;
    let read_covers = |one: &Pattern| {
        read.patterns.iter().any(|wide| pattern_covers((wide, read.effect), (one, rule.effect)))
    };
    let (wider, narrower) = (read_covers(pattern), covers(rule, &read));
    let sound = if rule.effect == Effect::Allow { narrower } else { wider };
    sound.then_some(Spelled { text, same: wider && narrower })
}

fn written(pattern: &Pattern) -> Option<String> {
    if pattern.space == Space::Tool {
        return names(&pattern.code);
    }
    let name = pattern.space.name();
    let here = matches!(pattern.space, Space::ReadHere | Space::EditHere | Space::ExternalHere);
    let whole = glob::steps(&pattern.code).eq([Step::Any]);
    if whole {
        return Some(if here { format!("{name}(**)") } else { name.to_owned() });
    }
    let inside = match pattern.space {
        Space::Exec => command(&pattern.code)?,
        Space::Fetch => format!("domain:{}", host(&pattern.code)?),
        Space::Delegate | Space::DoomLoop => names(&pattern.code)?,
        _ => path(&pattern.code, here)?,
    };
    Some(format!("{name}({inside})"))
}

/// Returns words with a blank between them; a star is a star.
fn command(code: &[u8]) -> Option<String> {
    let (mut text, mut word) = (String::new(), String::new());
    let mut begun = false; // whether the word has anything in it
    for step in glob::steps(code) {
        match step {
            Step::Literal(bytes) => {
                for found in std::str::from_utf8(bytes).ok()?.chars() {
                    if found == '\0' {
                        text += if begun { &word } else { "''" };
                        text.push(' ');
                        word.clear();
                    } else {
                        literal(found, &mut word);
                    }
                    begun = found != '\0';
                }
            }
            Step::Any => {
                word.push('*');
                begun = true;
            }
            _ => return None,
        }
    }
    text += &word;
    Some(if begun { text } else { text.strip_suffix(' ')?.to_owned() })
}

fn literal(found: char, to: &mut String) {
    let plain = found.is_alphanumeric() || "-_./:=,@+%^~!?[]{}#&|;<>$()".contains(found);
    if !plain {
        to.push('\\');
    }
    to.push(found);
}

fn path(code: &[u8], here: bool) -> Option<String> {
    let mut text = String::from(if here { "" } else { "//" });
    let steps: Vec<Step<'_>> = glob::steps(code).collect();
    let last = steps.len().checked_sub(1)?;
    for (at, step) in steps.into_iter().enumerate() {
        match step {
            Step::Literal(bytes) => {
                for found in std::str::from_utf8(bytes).ok()?.chars() {
                    if matches!(found, '*' | '?' | '[' | '\\' | '{' | '}') {
                        text.push('\\');
                    }
                    text.push(found);
                }
            }
            Step::AnyInPart => text.push('*'),
            Step::One => text.push('?'),
            Step::AnyParts => text += "**/",
            // What names a directory covers what lies below it.
            Step::Any if at == last && text.ends_with('/') => {}
            Step::Any if at == last => text.push('*'),
            Step::Some if at == last && text.ends_with('/') => text += "**",
            _ => return None,
        }
    }
    let trimmed = text.trim_end_matches('/');
    // At any depth is what a bare name says.
    let bare = trimmed.strip_prefix("**/").filter(|rest| !rest.contains('/'));
    Some(bare.unwrap_or(trimmed).to_owned())
}

/// Returns labels in the order in which people write them.
fn host(code: &[u8]) -> Option<String> {
    let mut text = String::new();
    for step in glob::steps(code) {
        match step {
            Step::Literal(bytes) => text += std::str::from_utf8(bytes).ok()?,
            Step::AnyInPart => text.push('*'),
            Step::Some => text += "*.",
            _ => return None,
        }
    }
    let labels: Vec<&str> = text.strip_suffix('.')?.rsplit('.').collect();
    Some(labels.join("."))
}

fn names(code: &[u8]) -> Option<String> {
    let mut text = String::new();
    for step in glob::steps(code) {
        match step {
            Step::Literal(bytes) => text += std::str::from_utf8(bytes).ok()?,
            Step::Any => text.push('*'),
            _ => return None,
        }
    }
    Some(text.strip_suffix('\0').unwrap_or(&text).to_owned())
}

#[cfg(test)]
mod tests;
