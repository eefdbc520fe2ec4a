//! The number of leading words that identify what a command does: `git push`, `npm run build`,
//! `ls`.

use openoxide_protocol::{CommandWord, CommandWords};

use crate::programs::hash::FnvHash;

/// The maximum number of words in a prefix.
const MAX_WORDS: usize = 4;
/// The size of the key buffer. It is larger than every key in the table.
const MAX_KEY_LENGTH: usize = 32;

/// Returns how many leading words of this command "always allow" may keep, or 0 if it must keep all
/// of them.
///
/// A prefix is offered if it names one kind of action. Every word of it must be known and plain, it
/// must not contain a program that runs arbitrary commands, and it must have all the words that its
/// program needs to be narrow (`git push`, never `git`).
#[must_use]
pub fn always_prefix_len(argv: &CommandWords) -> u8 {
    let mut key = PrefixKey::default();
    let (mut wanted, mut plain, mut banned) = (None, 0, usize::MAX);
    for (index, word) in argv.iter().take(MAX_WORDS).enumerate() {
        let CommandWord::Known(text) = word else { break };
        plain += usize::from(plain == index && is_plain_word(text));
        match key.push_word(text).and_then(|()| key.find_entry()) {
            Some(PrefixArity::Words(words)) if index + 1 < MAX_WORDS => wanted = Some(words),
            Some(PrefixArity::Banned) => banned = banned.min(index + 1),
            _ => {}
        }
        if wanted.is_none() && index == 1 && is_subcommand_name(text) {
            // For an unknown program, two words are kept if the second looks like a subcommand.
            wanted = Some(2);
        }
    }
    let wanted = wanted.unwrap_or_default();
    let count = usize::from(wanted);
    if count <= plain && count < banned { wanted } else { 0 }
}

/// A table entry for a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrefixArity {
    /// The number of words that make the prefix narrow.
    Words(u8),
    /// A prefix that is never offered.
    Banned,
}

include!(concat!(env!("OUT_DIR"), "/prefixes.rs"));

/// The first words of a command, separated by blanks, and their hash.
struct PrefixKey {
    text: [u8; MAX_KEY_LENGTH],
    len: usize,
    hash: FnvHash,
}

impl Default for PrefixKey {
    fn default() -> Self {
        Self { text: [0; MAX_KEY_LENGTH], len: 0, hash: FnvHash::new() }
    }
}

impl PrefixKey {
    /// Appends a word. Returns `None` if the key becomes longer than every entry.
    fn push_word(&mut self, word: &str) -> Option<()> {
        if self.len > 0 {
            self.append_text(b" ")?;
        }
        self.append_text(word.as_bytes())
    }

    fn append_text(&mut self, text: &[u8]) -> Option<()> {
        let end = self.len.checked_add(text.len())?;
        let place = self.text.get_mut(self.len..end);
        // Text that did not fit must not be replaced by the text after it.
        self.len = end;
        place?.copy_from_slice(text);
        self.hash = self.hash.update(text);
        Some(())
    }

    /// Returns the entry of these words.
    fn find_entry(&self) -> Option<PrefixArity> {
        let words = self.text.get(..self.len)?;
        let mut slot = self.hash.first_slot();
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
fn is_plain_word(word: &str) -> bool {
    let plain = |each: char| each.is_ascii_alphanumeric() || "_-.:+@=".contains(each);
    word.starts_with(|each: char| each.is_ascii_alphanumeric() || each == '_')
        && word.chars().all(plain)
}

fn is_subcommand_name(word: &str) -> bool {
    word.starts_with(|each: char| each.is_ascii_lowercase())
        && word
            .chars()
            .all(|each| each.is_ascii_lowercase() || each.is_ascii_digit() || "_:-".contains(each))
}

#[cfg(test)]
mod tests;
