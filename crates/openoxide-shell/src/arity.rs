//! How many leading words of a command say what it is about: `git push`, `npm run build`, `ls`.

mod banned;
mod table;

use openoxide_protocol::{Word, Words};

/// The most words that a prefix has.
const MOST: usize = 4;

/// Returns how many leading words "always allow" may keep of this command, or 0 if only all of its words.
///
/// A prefix is offered if it names one thing to do: every word of it is known and plain, no program in it runs
/// whatever it is told, and it has all the words that its program needs to be narrow (`git push`, never `git`).
#[must_use]
pub fn prefix_len(argv: &Words) -> u8 {
    let mut words = [""; MOST];
    let mut key = Key::default();
    for (slot, word) in words.iter_mut().zip(argv.iter()) {
        let Word::Known(text) = word else { break };
        *slot = text;
        key.push(text);
    }
    let wanted = wanted(&key, words);
    let count = usize::from(wanted);
    let plain = words.iter().take(count).all(|word| is_plain(word));
    if count <= key.len && plain && !is_banned(&key, count) { wanted } else { 0 }
}

/// Returns how many words the prefix needs: of all entries that fit, the longest counts.
fn wanted(key: &Key, [_, second, ..]: [&str; MOST]) -> u8 {
    let longest = (1..MOST).rev().find_map(|len| find(table::ARITIES, key.words(len)?));
    // Of an unknown program two words are kept, if the second looks like a subcommand.
    longest.copied().unwrap_or(if is_subcommand(second) { 2 } else { 0 })
}

/// Says whether some beginning of the prefix is banned.
fn is_banned(key: &Key, count: usize) -> bool {
    (1..=count).any(|len| key.words(len).is_some_and(|key| find(banned::BANNED, key).is_some()))
}

/// Finds words in a table. Its keys have a blank between the words, and a blank sorts before all that is in a word.
fn find<'t, T>(table: &'t [(&str, T)], words: &[u8]) -> Option<&'t T> {
    let at = table.binary_search_by(|(key, _)| key.as_bytes().cmp(words)).ok()?;
    table.get(at).map(|(_, value)| value)
}

/// The first words of a command with a blank between them. Words that are too long for any key are left out.
#[derive(Debug, Default)]
struct Key {
    text: [u8; 32],
    ends: [usize; MOST],
    len: usize,
    full: bool,
}

impl Key {
    fn push(&mut self, word: &str) {
        let start = self.ends.get(self.len.wrapping_sub(1)).map_or(0, |end| end + 1);
        let end = start.saturating_add(word.len());
        match self.text.get_mut(start..end) {
            Some(place) if !self.full => place.copy_from_slice(word.as_bytes()),
            _ => self.full = true,
        }
        self.text.get_mut(end..=end).into_iter().for_each(|blank| blank.fill(b' '));
        if let (false, Some(slot)) = (self.full, self.ends.get_mut(self.len)) {
            *slot = end;
        }
        self.len += 1;
    }

    /// Returns the first `len` words, if there are as many.
    fn words(&self, len: usize) -> Option<&[u8]> {
        let end = self.ends.get(len.checked_sub(1)?).filter(|end| len <= self.len && **end > 0)?;
        self.text.get(..*end)
    }
}

/// Says whether a word is neither an option nor a path and means nothing to a shell.
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
