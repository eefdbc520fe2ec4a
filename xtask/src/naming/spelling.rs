//! Misspelled words in comments, strings and documents.

use std::borrow::Cow;

use typos::{
    Dictionary, Status,
    tokens::{Identifier, Tokenizer, Word},
};
use unicase::UniCase;

/// Words that the list of misspellings contains and that are right here: letters of options, filters
/// of ffmpeg, flags of `open`, the end of look-alikes, and a misspelled command in the documented
/// bypasses.
const ALLOWED_WORDS: &[&str] = &["adin", "alikes", "anull", "isntall", "wronly"];

/// Shorter words are names of programs, options and abbreviations more often than misspellings.
const MIN_WORD_LENGTH: usize = 4;

/// The list of frequent misspellings, each with its corrections.
struct Misspellings;

impl Dictionary for Misspellings {
    fn correct_ident<'s>(&'s self, _: Identifier<'_>) -> Option<Status<'s>> {
        None
    }

    fn correct_word<'s>(&'s self, word: Word<'_>) -> Option<Status<'s>> {
        let word = word.token();
        let is_allowed = ALLOWED_WORDS.contains(&word.to_ascii_lowercase().as_str());
        if is_allowed || word.len() < MIN_WORD_LENGTH {
            return Some(Status::Valid);
        }
        let corrections = typos_dict::WORD.find(&UniCase::new(word))?;
        Some(Status::Corrections(corrections.iter().copied().map(Cow::Borrowed).collect()))
    }
}

/// Returns the misspelled words in the prose of a file, one line for each.
pub(super) fn spelling_violations(path: &str, prose: &[(usize, String)]) -> Vec<String> {
    let tokenizer = Tokenizer::new();
    let mut found = Vec::new();
    for (line, text) in prose {
        for typo in typos::check_str(text, &tokenizer, &Misspellings) {
            let corrections = match &typo.corrections {
                Status::Corrections(corrections) => corrections.join(" or "),
                Status::Valid | Status::Invalid => continue,
            };
            found.push(format!("{path}:{line}: `{}` is misspelled: {corrections}", typo.typo));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_words_are_found_with_their_line_and_correction() {
        let prose = [(3, "the comand of O_WRONLY".to_owned()), (4, "the command".to_owned())];
        let found = spelling_violations("docs/x.md", &prose);
        assert_eq!(found, ["docs/x.md:3: `comand` is misspelled: command"]);
    }
}
