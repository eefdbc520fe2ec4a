//! Quoting of words for a POSIX shell, which parses the line into the same words.

/// Quotes words for a POSIX shell and joins them with blanks.
#[must_use]
pub fn quote_words<W: AsRef<str>>(words: &[W]) -> String {
    words.iter().map(|word| quote_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(
            quote_words(&["git", "commit", "-m", "it's; rm"]),
            r"git commit -m 'it'\''s; rm'"
        );
        assert_eq!(quote_words(&["", "a=b", "~"]), "'' 'a=b' '~'");
    }
}
