//! The usual layout of a policy file.

use toml_edit::{Array, Decor, InlineTable, Item, Table, Value};

const INDENT: &str = "\n    ";

/// Lays out a table and everything in it.
pub(super) fn table(table: &mut Table) {
    for (mut key, item) in table.iter_mut() {
        if item.is_value() {
            key.leaf_decor_mut().set_suffix(" ");
        }
        self::item(item);
    }
}

fn item(item: &mut Item) {
    match item {
        Item::None => {}
        Item::Value(found) => {
            let after = text_of(found.decor(), false).trim().to_owned();
            value(found);
            let suffix = if after.is_empty() { after } else { format!(" {after}") };
            *found.decor_mut() = Decor::new(" ", suffix);
        }
        Item::Table(found) => table(found),
        Item::ArrayOfTables(all) => all.iter_mut().for_each(table),
    }
}

fn value(found: &mut Value) {
    match found {
        Value::String(text) => {
            let (decor, plain) = (text.decor().clone(), text.value().clone());
            *found = Value::from(plain);
            *found.decor_mut() = decor;
        }
        Value::Array(array) => list(array),
        Value::InlineTable(table) => inline(table),
        _ => {}
    }
}

fn inline(table: &mut InlineTable) {
    table.iter_mut().for_each(|(_, found)| value(found));
}

/// Says whether a list takes more than one line.
pub(super) fn has_lines(list: &Array) -> bool {
    let decor = |one: &Value| [text_of(one.decor(), true), text_of(one.decor(), false)].concat();
    list.trailing().as_str().is_some_and(|text| text.contains('\n'))
        || list.iter().any(|one| decor(one).contains('\n'))
}

/// Puts each item on its own line. A comment stays behind the item that it stands behind, or above the one that it stands above.
pub(super) fn list(list: &mut Array) {
    let mut before = String::new();
    for item in list.iter_mut() {
        value(item);
        before += text_of(item.decor(), true);
        let prefix = format!("{}{INDENT}", comments(&before, INDENT).trim_end());
        before = text_of(item.decor(), false).to_owned();
        *item.decor_mut() = Decor::new(prefix, "");
    }
    before += list.trailing().as_str().unwrap_or_default();
    let end = comments(&before, INDENT).trim_end().to_owned();
    let empty = list.is_empty() && end.is_empty();
    list.set_trailing(if empty { String::new() } else { format!("{end}\n") });
    list.set_trailing_comma(!list.is_empty());
}

/// Returns the comments of a text between two items: the first where a line was begun before, the others on their own lines.
fn comments(text: &str, line: &str) -> String {
    let mut all = String::new();
    for (at, part) in text.split('\n').enumerate() {
        let comment = part.trim();
        if at == 0 && !comment.is_empty() {
            all = format!(" {comment}");
        } else if !comment.is_empty() {
            all = format!("{all}{line}{comment}");
        }
    }
    all
}

/// What stands before an item may be about others: it goes to the next one, or to the end. What stands behind the item on its
/// own line goes with it.
pub(super) fn keep_comments_before(list: &mut Array, at: usize) {
    let before =
        list.get(at).map(|item| text_of(item.decor(), true).to_owned()).unwrap_or_default();
    let without_first = |text: &str| match text.split_once('\n') {
        Some((_, rest)) => format!("\n{rest}"),
        None => String::new(),
    };
    match list.get_mut(at + 1) {
        Some(next) => {
            let text = before.trim_end().to_owned() + &without_first(text_of(next.decor(), true));
            next.decor_mut().set_prefix(text);
        }
        None => {
            let trailing = list.trailing().as_str().unwrap_or_default();
            let text = before.trim_end().to_owned() + &without_first(trailing);
            list.set_trailing(text);
        }
    }
}

fn text_of(decor: &Decor, before: bool) -> &str {
    let raw = if before { decor.prefix() } else { decor.suffix() };
    raw.and_then(|raw| raw.as_str()).unwrap_or_default()
}
