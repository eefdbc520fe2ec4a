//! The number of leading words that identify what a command does: `git push`, `npm run build`,
//! `ls`.

use openoxide_protocol::{CommandWord, CommandWords};

use crate::programs::hash::Hash;

/// The most words that a prefix has.
const MOST: usize = 4;
/// No entry is as long.
const LONGEST: usize = 32;

/// Returns how many leading words of this command "always allow" may keep, or 0 if it must keep all
/// of them.
///
/// A prefix is offered if it names one kind of action. Every word of it must be known and plain, it
/// must not contain a program that runs arbitrary commands, and it must have all the words that its
/// program needs to be narrow (`git push`, never `git`).
#[must_use]
pub fn prefix_len(argv: &CommandWords) -> u8 {
    let mut key = Key::default();
    let (mut wanted, mut plain, mut banned) = (None, 0, usize::MAX);
    for (index, word) in argv.iter().take(MOST).enumerate() {
        let CommandWord::Known(text) = word else { break };
        plain += usize::from(plain == index && is_plain(text));
        match key.push(text).and_then(|()| key.find()) {
            Some(Prefix::Words(words)) if index + 1 < MOST => wanted = Some(words),
            Some(Prefix::Banned) => banned = banned.min(index + 1),
            _ => {}
        }
        if wanted.is_none() && index == 1 && is_subcommand(text) {
            // Of an unknown program two words are kept, if the second looks like a subcommand.
            wanted = Some(2);
        }
    }
    let wanted = wanted.unwrap_or_default();
    let count = usize::from(wanted);
    if count <= plain && count < banned { wanted } else { 0 }
}

/// A table entry for a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    /// The number of words that make the prefix narrow.
    Words(u8),
    /// A prefix that is never offered.
    Banned,
}

include!(concat!(env!("OUT_DIR"), "/prefixes.rs"));

/// The first words of a command with a blank between them, and their hash.
struct Key {
    text: [u8; LONGEST],
    len: usize,
    hash: Hash,
}

impl Default for Key {
    fn default() -> Self {
        Self { text: [0; LONGEST], len: 0, hash: Hash::new() }
    }
}

impl Key {
    /// Adds a word; nothing if no entry is as long.
    fn push(&mut self, word: &str) -> Option<()> {
        if self.len > 0 {
            self.add(b" ")?;
        }
        self.add(word.as_bytes())
    }

    fn add(&mut self, text: &[u8]) -> Option<()> {
        let end = self.len.checked_add(text.len())?;
        let place = self.text.get_mut(self.len..end);
        // What did not fit must not be taken for what follows it.
        self.len = end;
        place?.copy_from_slice(text);
        self.hash = self.hash.with(text);
        Some(())
    }

    /// Returns the entry of these words.
    fn find(&self) -> Option<Prefix> {
        let words = self.text.get(..self.len)?;
        let mut slot = self.hash.slot();
        loop {
            // INVARIANT: the build script leaves slots empty, so the search ends.
            let number = *SLOTS.get(slot % SLOTS.len())?;
            let (key, prefix) = PREFIXES.get(usize::from(number).checked_sub(1)?)?;
            if key.as_bytes() == words {
                return Some(*prefix);
            }
            slot += 1;
        }
    }
}

/// Returns whether a word is neither an option nor a path and has no special meaning to a shell.
fn is_plain(word: &str) -> bool {
    let plain = |each: char| each.is_ascii_alphanumeric() || "_-.:+@=".contains(each);
    word.starts_with(|each: char| each.is_ascii_alphanumeric() || each == '_')
        && word.chars().all(plain)
}

fn is_subcommand(word: &str) -> bool {
    word.starts_with(|each: char| each.is_ascii_lowercase())
        && word
            .chars()
            .all(|each| each.is_ascii_lowercase() || each.is_ascii_digit() || "_:-".contains(each))
}

#[cfg(test)]
mod tests;
