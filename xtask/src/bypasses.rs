//! The page of known bypasses: an introduction, and a table of all rows that the tests check.

use std::{fs, path::Path};

use crate::{Failure, workspace::root};

/// The page, and its introduction.
const PAGE: &str = "docs/bypasses.md";
const PROSE: &str = "corpus/bypasses/overview.md";

/// The maximum length of a displayed command.
const LONGEST: usize = 90;

/// A file of rows: its description, its test, and the column of the last cell of the table.
struct Table {
    file: &'static str,
    title: &'static str,
    test: &'static str,
    source: usize,
    heading: &'static str,
}

const TABLES: [Table; 4] = [
    Table {
        file: "corpus/bypasses/published.tsv",
        title: "Published tricks",
        test: "no_published_bypass_is_allowed_under_the_rule_that_looks_harmless",
        source: 5,
        heading: "source",
    },
    Table {
        file: "corpus/bypasses/attacks.tsv",
        title: "The first collection",
        test: "no_attack_is_allowed_under_the_rule_that_looks_harmless",
        source: 5,
        heading: "source",
    },
    Table {
        file: "corpus/bypasses/members.tsv",
        title: "Further members of classes",
        test: "no_member_of_a_class_is_allowed",
        source: 4,
        heading: "what it does",
    },
    Table {
        file: "corpus/bypasses/still-allowed.tsv",
        title: "What must stay allowed",
        test: "harmless_calls_stay_allowed_under_the_same_rules",
        source: 3,
        heading: "why it is harmless",
    },
];

/// Generates the page.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(stranger) = arguments.first() {
        return Err(Failure::Usage(format!("`cargo xtask bypasses` takes no `{stranger}`")));
    }
    fs::write(root().join(PAGE), page(root())?)
        .map_err(|error| format!("cannot write {PAGE}: {error}"))?;
    println!("wrote {PAGE}");
    Ok(())
}

/// Returns the text of the page.
fn page(root: &Path) -> Result<String, String> {
    let mut page = read(root, PROSE)?;
    for table in &TABLES {
        page.push_str(&section(table, &read(root, table.file)?));
    }
    Ok(page)
}

fn read(root: &Path, name: &str) -> Result<String, String> {
    fs::read_to_string(root.join(name)).map_err(|error| format!("cannot read {name}: {error}"))
}

/// Returns a heading and a table for a file of rows.
fn section(table: &Table, text: &str) -> String {
    let Table { file, title, test, heading, .. } = table;
    let rows: String = text.lines().skip(1).filter_map(|line| row(table, line)).collect();
    let count = rows.lines().count();
    format!(
        "\n## {title}\n{count} rows of [{file}](../{file}), judged by `{test}`.\n\n\
         | id | command | rule | {heading} |\n| --- | --- | --- | --- |\n{rows}"
    )
}

/// Returns a row of the table, or `None` if the line is too short.
fn row(table: &Table, line: &str) -> Option<String> {
    let columns: Vec<_> = line.split('\t').collect();
    let [id, command, rule, ..] = columns.as_slice() else { return None };
    let source = columns.get(table.source)?;
    let (command, rule) = (code(&shortened(command)), code(rule));
    Some(format!("| {id} | {command} | {rule} | {} |\n", escaped(source)))
}

/// Returns the command as it is written in the file, truncated. Deceptive characters are escaped
/// there.
fn shortened(command: &str) -> String {
    let plain = command.replace("\\\"", "\"");
    let mut short: String = plain.chars().take(LONGEST).collect();
    if short.len() < plain.len() {
        short.push('…');
    }
    short
}

/// Returns text as code in a table. The text may contain backticks.
fn code(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let text = text.replace('|', "\\|");
    match text.starts_with('`') || text.ends_with('`') {
        true => format!("{fence} {text} {fence}"),
        false => format!("{fence}{text}{fence}"),
    }
}

/// Returns text with the special characters of a table escaped.
fn escaped(text: &str) -> String {
    let special = |letter| matches!(letter, '\\' | '|' | '*' | '_' | '`' | '<' | '[' | '~' | '$');
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if special(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_up_to_date_with_the_corpus() {
        let there = fs::read_to_string(root().join(PAGE)).unwrap();
        assert!(there == page(root()).unwrap(), "out of date: run `cargo xtask bypasses`");
    }

    #[test]
    fn the_tests_that_the_page_names_exist() {
        let text = read(root(), "crates/openoxide-cli/tests/it/corpus.rs").unwrap();
        for table in &TABLES {
            assert!(text.contains(&format!("fn {}(", table.test)), "{}", table.test);
        }
    }

    #[test]
    fn the_text_of_a_row_is_escaped_in_a_table() {
        let [table, ..] = &TABLES;
        let line = "B1\techo `a` | \\\"x\\\"\tBash(echo *)\task\twhy\tG_M|x";
        let expected = "| B1 | ``echo `a` \\| \"x\"`` | `Bash(echo *)` | G\\_M\\|x |\n";
        assert_eq!(row(table, line).unwrap(), expected);
        assert_eq!(row(table, "B1\techo"), None);
        assert_eq!(code("`a`"), "`` `a` ``");
    }

    #[test]
    fn a_long_command_is_cut() {
        assert_eq!(shortened("ls"), "ls");
        assert_eq!(shortened(&"é".repeat(91)).chars().count(), 91);
    }
}
