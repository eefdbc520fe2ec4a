//! Word lists and the parts of identifiers.

/// Participles that do not end in `-ed`.
const IRREGULAR_PARTICIPLES: &[&str] = &[
    "been",
    "begun",
    "bound",
    "broken",
    "brought",
    "built",
    "caught",
    "chosen",
    "cut",
    "done",
    "drawn",
    "driven",
    "drawn",
    "fallen",
    "felt",
    "forgotten",
    "found",
    "given",
    "gone",
    "grown",
    "heard",
    "held",
    "hidden",
    "kept",
    "known",
    "laid",
    "left",
    "lent",
    "lost",
    "made",
    "meant",
    "met",
    "paid",
    "put",
    "read",
    "said",
    "seen",
    "sent",
    "set",
    "shown",
    "shut",
    "sought",
    "spent",
    "spoken",
    "split",
    "stuck",
    "struck",
    "sworn",
    "taken",
    "taught",
    "thought",
    "told",
    "torn",
    "understood",
    "worn",
    "woven",
    "written",
];

/// Irregular participles that are also the imperative or a noun, and so usual names of functions.
const ALSO_IMPERATIVES: &[&str] =
    &["bound", "built", "cut", "found", "put", "read", "set", "split"];

/// Words in `-ed` that are not participles.
const NOT_PARTICIPLES: &[&str] = &["bed", "embed", "feed", "led", "need", "seed", "shed", "speed"];

/// Prepositions, conjunctions and adverbs, which have no meaning as the name of a function.
const FUNCTION_WORDS: &[&str] = &[
    "about",
    "above",
    "across",
    "after",
    "again",
    "against",
    "ahead",
    "alike",
    "all",
    "alone",
    "along",
    "already",
    "among",
    "anew",
    "anywhere",
    "apart",
    "around",
    "aside",
    "at",
    "away",
    "back",
    "before",
    "behind",
    "below",
    "beneath",
    "beside",
    "besides",
    "between",
    "beyond",
    "but",
    "by",
    "down",
    "during",
    "else",
    "elsewhere",
    "even",
    "everywhere",
    "except",
    "far",
    "for",
    "forth",
    "here",
    "how",
    "if",
    "in",
    "inside",
    "instead",
    "like",
    "near",
    "nearby",
    "not",
    "now",
    "of",
    "off",
    "on",
    "once",
    "only",
    "onto",
    "otherwise",
    "out",
    "outside",
    "over",
    "past",
    "per",
    "since",
    "so",
    "somewhere",
    "still",
    "than",
    "then",
    "there",
    "through",
    "till",
    "together",
    "too",
    "toward",
    "under",
    "until",
    "up",
    "upon",
    "what",
    "when",
    "where",
    "while",
    "who",
    "whose",
    "why",
    "within",
    "without",
];

/// Returns the words of an identifier in camel case or snake case, in lower case.
pub(super) fn split_identifier(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in name.trim_start_matches("r#").chars() {
        if letter == '_' {
            words.push(String::new());
        } else {
            if letter.is_uppercase() && after_lower {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(letter.to_lowercase());
            }
        }
        after_lower = letter.is_lowercase() || letter.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns whether `word` is a past participle, regular or not.
pub(super) fn is_participle(word: &str) -> bool {
    let regular = word.len() > 3 && word.ends_with("ed") && !NOT_PARTICIPLES.contains(&word);
    regular || IRREGULAR_PARTICIPLES.contains(&word)
}

/// Returns whether a function with this one-word name is named by a participle. `set` and `read`
/// are also verbs.
pub(super) fn is_participle_function(word: &str) -> bool {
    is_participle(word) && !ALSO_IMPERATIVES.contains(&word)
}

/// Returns whether `word` is a preposition, a conjunction or an adverb.
pub(super) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_at_capitals_and_underscores() {
        assert_eq!(split_identifier("PendingRequest"), ["pending", "request"]);
        assert_eq!(split_identifier("to_rule_text"), ["to", "rule", "text"]);
        assert_eq!(split_identifier("Said"), ["said"]);
        assert_eq!(split_identifier("TCPSocket"), ["tcpsocket"]);
    }

    #[test]
    fn participles_are_distinguished_from_other_words() {
        assert!(is_participle("held") && is_participle("settled") && is_participle("put"));
        assert!(!is_participle("seed") && !is_participle("red") && !is_participle("rule"));
        assert!(is_participle_function("settled") && !is_participle_function("read"));
    }
}
