//! Changing a native policy file. Comments and order are preserved, and a result that cannot be
//! parsed is not written.

use std::{fs, io, io::Write as _, os::unix::fs::PermissionsExt as _, path::Path};

use openoxide_permission::PathAnchors;
use openoxide_protocol::Effect;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value, value};

mod policy_document;
mod policy_setting;
mod toml_layout;

pub use policy_document::PolicyEditError;
use policy_document::parse_document;
pub use policy_setting::{PolicySetting, SettingKey, read_setting, with_setting, without_setting};

/// The permissions of a new policy file.
const NEW_FILE_MODE: u32 = 0o644;

/// The lists of short rules.
const RULE_LISTS: [Effect; 3] = [Effect::Deny, Effect::Ask, Effect::Allow];

/// Returns the text with a rule added at the end of its list. A rule that is already in the list is
/// not added again. With a reason, the rule is added as a long rule.
///
/// # Errors
/// Returns an error if the text cannot be changed.
pub fn with_rule(
    text: &str,
    effect: Effect,
    rule: &str,
    reason: Option<&str>,
) -> Result<String, PolicyEditError> {
    let mut document = parse_document(text)?;
    let permissions = permissions_table(&mut document)?;
    match reason {
        Some(reason) => add_long_rule(permissions, effect, rule, reason)?,
        None => add_short_rule(permissions, effect, rule)?,
    }
    Ok(document.to_string())
}

/// Returns the text without a rule, and the number of occurrences that were removed.
///
/// # Errors
/// Returns an error if the text cannot be changed.
pub fn without_rule(text: &str, rule: &str) -> Result<(String, usize), PolicyEditError> {
    let mut document = parse_document(text)?;
    let Some(permissions) = document.get_mut("permissions").and_then(Item::as_table_mut) else {
        return Ok((text.to_owned(), 0));
    };
    let mut count = 0;
    for effect in RULE_LISTS {
        let list = permissions.get_mut(effect.as_str()).and_then(Item::as_array_mut);
        count += list.map_or(0, |list| remove_from_list(list, rule));
    }
    if let Some(tables) = permissions.get_mut("rule").and_then(Item::as_array_of_tables_mut) {
        let before = tables.len();
        tables.retain(|table| short_rule_text(table).as_deref() != Some(rule));
        count += before - tables.len();
    }
    Ok((if count == 0 { text.to_owned() } else { document.to_string() }, count))
}

/// Returns the text in the standard layout: one rule per line, double quotes where no escape is
/// needed, one space on each side of `=`.
///
/// # Errors
/// Returns an error if the text cannot be parsed.
pub fn format_policy(text: &str) -> Result<String, PolicyEditError> {
    let mut document = parse_document(text)?;
    toml_layout::format_table(document.as_table_mut());
    let text = document.to_string();
    Ok(if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" })
}

fn permissions_table(document: &mut DocumentMut) -> Result<&mut Table, PolicyEditError> {
    let item = document.entry("permissions").or_insert_with(|| Item::Table(Table::new()));
    item.as_table_mut()
        .ok_or_else(|| PolicyEditError("expected `permissions` to be a table".to_owned()))
}

fn add_short_rule(
    permissions: &mut Table,
    effect: Effect,
    rule: &str,
) -> Result<(), PolicyEditError> {
    let item = permissions.entry(effect.as_str()).or_insert_with(|| value(Array::new()));
    let Some(list) = item.as_array_mut() else {
        return Err(PolicyEditError(format!("expected `{}` to be an array", effect.as_str())));
    };
    if list.iter().any(|one| one.as_str() == Some(rule)) {
        return Ok(());
    }
    let many_lines = toml_layout::is_multiline(list);
    let behind = list.trailing().as_str().unwrap_or_default().to_owned();
    list.push(rule);
    if many_lines {
        // A comment after the last rule stays with it.
        list.set_trailing("");
        if let Some(last) = list.len().checked_sub(1).and_then(|at| list.get_mut(at)) {
            last.decor_mut().set_prefix(behind);
        }
        toml_layout::format_list(list);
    }
    Ok(())
}

fn add_long_rule(
    permissions: &mut Table,
    effect: Effect,
    rule: &str,
    reason: &str,
) -> Result<(), PolicyEditError> {
    let (permission, pattern) = split_short_rule(rule);
    let item =
        permissions.entry("rule").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let Some(tables) = item.as_array_of_tables_mut() else {
        return Err(PolicyEditError(
            "expected `rule` to be an array of tables (`[[permissions.rule]]`)".to_owned(),
        ));
    };
    let mut table = Table::new();
    for (key, text) in [
        ("permission", permission),
        ("pattern", pattern),
        ("action", effect.as_str()),
        ("reason", reason),
    ] {
        table.insert(key, value(text));
    }
    tables.push(table);
    Ok(())
}

/// Splits the short form of a rule into the fields of a long rule: the permission and the pattern.
fn split_short_rule(rule: &str) -> (&str, &str) {
    let inside =
        rule.split_once('(').and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?)));
    inside.unwrap_or((rule, "*"))
}

/// Returns the short form of a long rule.
fn short_rule_text(table: &Table) -> Option<String> {
    let text = |key: &str| table.get(key).and_then(Item::as_str);
    let (permission, pattern) = (text("permission")?, text("pattern")?);
    Some(match pattern {
        "*" => permission.to_owned(),
        pattern => format!("{permission}({pattern})"),
    })
}

fn remove_from_list(list: &mut Array, rule: &str) -> usize {
    let many_lines = toml_layout::is_multiline(list);
    let mut count = 0;
    let place = |list: &Array| list.iter().position(|one| one.as_str() == Some(rule));
    while let Some(at) = place(list) {
        toml_layout::move_comments_before(list, at);
        list.remove(at);
        count += 1;
    }
    match (count, list.get_mut(0)) {
        (0, _) => {}
        _ if many_lines => toml_layout::format_list(list),
        (_, Some(first)) => first.decor_mut().set_prefix(""),
        (_, None) => {}
    }
    count
}

/// Returns whether two texts are equivalent policies. Texts with errors are never equivalent.
#[must_use]
pub fn is_equivalent_policy(before: &str, after: &str, anchors: PathAnchors<'_>) -> bool {
    let read = |text: &str| {
        let kind = openoxide_permission::LayerKind::User;
        let mut file = crate::read_policy(text, kind, "policy.toml", anchors);
        file.layer.rules.iter_mut().for_each(|rule| rule.line = 0);
        let directories = file.directories.iter_mut().chain(&mut file.writable);
        directories.for_each(|one| one.line = 0);
        file.sandbox.require.iter_mut().for_each(|one| one.location.clear());
        file
    };
    let (before, after) = (read(before), read(after));
    let sound = before.problems.is_empty() && after.problems.is_empty();
    let directories = before.directories == after.directories;
    let sandbox = before.sandbox == after.sandbox && before.writable == after.writable;
    sound
        && directories
        && sandbox
        && before.layer == after.layer
        && before.managed == after.managed
}

/// Replaces the content of a file atomically. The file and its directory are created if they do not
/// exist.
///
/// # Errors
/// Returns an error if the operating system refuses. The file is unchanged then.
pub fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    // The file can be a symbolic link to a person's settings. The link is preserved.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = fs::metadata(&path).map_or(NEW_FILE_MODE, |meta| meta.permissions().mode() & 0o777);
    write_next_to(&path, text, mode)?.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

/// Creates a file with its content, and its directory if it does not exist.
///
/// # Errors
/// Returns an error if the file exists, or if the operating system refuses.
pub fn create_file(path: &Path, text: &str) -> io::Result<()> {
    let file = write_next_to(path, text, NEW_FILE_MODE)?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

/// Writes a text to a temporary file in the directory of `path`.
fn write_next_to(path: &Path, text: &str, mode: u32) -> io::Result<tempfile::NamedTempFile> {
    let Some(directory) = path.parent() else { return Err(io::ErrorKind::InvalidInput.into()) };
    fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Returns a text as a quoted TOML string.
#[must_use]
pub fn quote_toml(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
