//! The frequency of idioms in comments that other projects do not use.

/// Idioms, each with the ways it is written.
const IDIOMS: &[(&str, &[&str])] = &[
    ("said, say, says", &["said", "say", "says"]),
    ("stand, stands", &["stand", "stands", "stood"]),
    ("lie, lies", &["lie", "lies", "lay"]),
    ("nobody, somebody, whoever", &["nobody", "somebody", "whoever", "anybody"]),
    ("yes", &["yes"]),
    ("counts", &["counts"]),
];

/// Idioms of two words.
const PAIRS: &[(&str, &[(&str, &str)])] = &[
    (
        "what is, was, are, were",
        &[("what", "is"), ("what", "was"), ("what", "are"), ("what", "were")],
    ),
    ("is no", &[("is", "no")]),
    ("so many", &[("so", "many")]),
];

/// Returns a table of idioms per 10,000 words of comments, and of the percentage of doc comments
/// that begin with *What* or *Says*.
pub(super) fn statistics<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut words: Vec<String> = Vec::new();
    let (mut paragraphs, mut begin_with) = (0_usize, [0_usize; 2]);
    for text in texts {
        let mut in_docs = false;
        for line in text.lines() {
            let line = line.trim_start();
            let docs = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            if let Some(first) =
                docs.filter(|_| !in_docs).and_then(|rest| rest.split_whitespace().next())
            {
                paragraphs += 1;
                begin_with[0] += usize::from(first == "What");
                begin_with[1] += usize::from(first == "Says");
            }
            in_docs = docs.is_some();
            if let Some(comment) = line.strip_prefix("//") {
                words.extend(plain_words(comment));
            }
        }
    }
    let mut table = format!("words of comments: {}, idioms per 10,000 of them\n", words.len());
    for (what, spellings) in IDIOMS {
        let count = words.iter().filter(|word| spellings.contains(&word.as_str())).count();
        table.push_str(&row(what, per_ten_thousand(count, words.len())));
    }
    for (what, pairs) in PAIRS {
        let follows = |pair: &&[String]| pairs.iter().any(|(a, b)| **pair == [*a, *b]);
        let count = words.windows(2).filter(follows).count();
        table.push_str(&row(what, per_ten_thousand(count, words.len())));
    }
    table.push_str("doc comments whose first word is, in percent\n");
    for (word, count) in ["What", "Says"].iter().zip(begin_with) {
        table.push_str(&row(word, 100.0 * count as f64 / paragraphs.max(1) as f64));
    }
    table
}

fn row(what: &str, value: f64) -> String {
    format!("  {what:<52} {value:>6.1}\n")
}

fn per_ten_thousand(count: usize, total: usize) -> f64 {
    10_000.0 * count as f64 / total.max(1) as f64
}

fn plain_words(comment: &str) -> impl Iterator<Item = String> {
    let words = comment.split(|letter: char| !letter.is_alphanumeric() && letter != '\'');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}
