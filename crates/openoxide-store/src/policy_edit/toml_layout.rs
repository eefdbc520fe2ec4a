//! The standard layout of a policy file.

use toml_edit::{Array, Decor, InlineTable, Item, Table, Value};

const INDENT: &str = "\n    ";

/// Formats a table and everything in it.
pub(super) fn format_table(table: &mut Table) {
    for (mut key, item) in table.iter_mut() {
        if item.is_value() {
            key.leaf_decor_mut().set_suffix(" ");
        }
        self::format_item(item);
    }
}

fn format_item(item: &mut Item) {
    match item {
        Item::None => {}
        Item::Value(found) => {
            let after = decor_text(found.decor(), false).trim().to_owned();
            format_value(found);
            let suffix = if after.is_empty() { after } else { format!(" {after}") };
            *found.decor_mut() = Decor::new(" ", suffix);
        }
        Item::Table(found) => format_table(found),
        Item::ArrayOfTables(all) => all.iter_mut().for_each(format_table),
    }
}

fn format_value(found: &mut Value) {
    match found {
        Value::String(text) => {
            let (decor, plain) = (text.decor().clone(), text.value().clone());
            *found = Value::from(plain);
            *found.decor_mut() = decor;
        }
        Value::Array(array) => format_list(array),
        Value::InlineTable(table) => format_inline_table(table),
        _ => {}
    }
}

fn format_inline_table(table: &mut InlineTable) {
    table.iter_mut().for_each(|(_, found)| format_value(found));
}

/// Returns whether a list needs more than one line.
pub(super) fn is_multiline(list: &Array) -> bool {
    let decor =
        |one: &Value| [decor_text(one.decor(), true), decor_text(one.decor(), false)].concat();
    list.trailing().as_str().is_some_and(|text| text.contains('\n'))
        || list.iter().any(|one| decor(one).contains('\n'))
}

/// Puts each item on its own line. A comment stays after the item that it follows, or above the
/// item that it precedes.
pub(super) fn format_list(list: &mut Array) {
    let mut before = String::new();
    for item in list.iter_mut() {
        format_value(item);
        before += decor_text(item.decor(), true);
        let prefix = format!("{}{INDENT}", render_comments(&before, INDENT).trim_end());
        before = decor_text(item.decor(), false).to_owned();
        *item.decor_mut() = Decor::new(prefix, "");
    }
    before += list.trailing().as_str().unwrap_or_default();
    let end = render_comments(&before, INDENT).trim_end().to_owned();
    let empty = list.is_empty() && end.is_empty();
    list.set_trailing(if empty { String::new() } else { format!("{end}\n") });
    list.set_trailing_comma(!list.is_empty());
}

/// Returns the comments of a text between two items. The first comment follows on the current line
/// if the text starts with it; the others have their own lines.
fn render_comments(text: &str, line: &str) -> String {
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

/// Moves the comments before an item to the next item, or to the end of the list, because they may
/// be about other items. A comment that follows the item on the same line is removed with it.
pub(super) fn move_comments_before(list: &mut Array, at: usize) {
    let before =
        list.get(at).map(|item| decor_text(item.decor(), true).to_owned()).unwrap_or_default();
    let without_first = |text: &str| match text.split_once('\n') {
        Some((_, rest)) => format!("\n{rest}"),
        None => String::new(),
    };
    match list.get_mut(at + 1) {
        Some(next) => {
            let text =
                before.trim_end().to_owned() + &without_first(decor_text(next.decor(), true));
            next.decor_mut().set_prefix(text);
        }
        None => {
            let trailing = list.trailing().as_str().unwrap_or_default();
            let text = before.trim_end().to_owned() + &without_first(trailing);
            list.set_trailing(text);
        }
    }
}

fn decor_text(decor: &Decor, before: bool) -> &str {
    let raw = if before { decor.prefix() } else { decor.suffix() };
    raw.and_then(|raw| raw.as_str()).unwrap_or_default()
}
