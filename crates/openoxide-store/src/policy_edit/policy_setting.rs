//! Reading, setting and removing one setting of a policy file, with the comments above it.

use toml_edit::{DocumentMut, Item, RawString, Table, value};

use super::policy_document::{PolicyEditError, parse_document};

/// The key of a setting whose value is a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingKey {
    /// The table that contains it, or `None` for the top of the file.
    pub table: Option<&'static str>,
    /// Its name.
    pub name: &'static str,
}

/// A setting of a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySetting {
    /// Its value.
    pub value: String,
    /// The lines above it: comments and empty lines, each with its line break.
    pub comment: String,
}

/// Returns a setting, or `None` if it is missing or is not a string.
///
/// # Errors
/// Returns an error if the text cannot be parsed.
pub fn read_setting(text: &str, key: SettingKey) -> Result<Option<PolicySetting>, PolicyEditError> {
    let mut document = parse_document(text)?;
    let Some(table) = find_table(&mut document, key) else { return Ok(None) };
    let value = table.get(key.name).and_then(Item::as_str).map(str::to_owned);
    Ok(value.map(|value| PolicySetting { value, comment: comment_above(table, key.name) }))
}

/// Returns the text with a setting. A comment after an existing value is preserved.
///
/// # Errors
/// Returns an error if the text cannot be changed.
pub fn with_setting(
    text: &str,
    key: SettingKey,
    setting: &PolicySetting,
) -> Result<String, PolicyEditError> {
    let mut document = parse_document(text)?;
    let table = match key.table {
        None => document.as_table_mut(),
        Some(name) => {
            let item = document.entry(name).or_insert_with(|| Item::Table(Table::new()));
            item.as_table_mut().filter(|table| !table.is_dotted()).ok_or_else(|| {
                PolicyEditError(format!("expected `{name}` to be a table with a header"))
            })?
        }
    };
    match table.get_mut(key.name).and_then(Item::as_value_mut) {
        Some(there) => {
            let decor = there.decor().clone();
            *there = setting.value.as_str().into();
            *there.decor_mut() = decor;
        }
        None => drop(table.insert(key.name, value(&setting.value))),
    }
    if let Some(mut key) = table.key_mut(key.name) {
        key.leaf_decor_mut().set_prefix(&setting.comment);
    }
    Ok(document.to_string())
}

/// Returns the text without a setting. The lines above it are replaced by `comment`, and a comment
/// after its value is preserved. A table that becomes empty is removed, unless it has comments.
///
/// # Errors
/// Returns an error if the text cannot be changed.
pub fn without_setting(
    text: &str,
    key: SettingKey,
    comment: &str,
) -> Result<String, PolicyEditError> {
    let mut document = parse_document(text)?;
    let Some(table) = find_table(&mut document, key) else { return Ok(text.to_owned()) };
    if !comment.trim().is_empty() || !trailing_comment(table, key.name).is_empty() {
        return replace_by_comment(text, key, comment);
    }
    if table.remove(key.name).is_none() {
        return Ok(text.to_owned());
    }
    let comment = table.decor().prefix().and_then(RawString::as_str).unwrap_or_default();
    let is_removed = table.is_empty() && comment.trim().is_empty();
    if let Some(name) = key.table.filter(|_| is_removed) {
        document.remove(name);
    }
    Ok(document.to_string())
}

/// Returns the text with a comment in place of a setting. The document cannot contain a comment
/// without an element that it belongs to, so the line is removed from the text.
fn replace_by_comment(
    text: &str,
    key: SettingKey,
    comment: &str,
) -> Result<String, PolicyEditError> {
    let mut value = "removed".to_owned();
    while text.contains(&value) {
        value.push('-');
    }
    let setting = PolicySetting { value: value.clone(), comment: comment.to_owned() };
    let marked = with_setting(text, key, &setting)?;
    let rest_of = |line: &str| match line.split_once(&value) {
        Some((_, rest)) => rest.trim_start_matches(['"', ' ', '\t', '\r', '\n']).to_owned(),
        None => line.to_owned(),
    };
    Ok(marked.split_inclusive('\n').map(rest_of).collect())
}

fn find_table(document: &mut DocumentMut, key: SettingKey) -> Option<&mut Table> {
    match key.table {
        None => Some(document.as_table_mut()),
        Some(name) => document.get_mut(name)?.as_table_mut(),
    }
}

fn comment_above(table: &Table, name: &str) -> String {
    let decor = table.key(name).map(toml_edit::Key::leaf_decor);
    let prefix = decor.and_then(|decor| decor.prefix()).and_then(RawString::as_str);
    prefix.unwrap_or_default().to_owned()
}

fn trailing_comment<'a>(table: &'a Table, name: &str) -> &'a str {
    let decor = table.get(name).and_then(Item::as_value).map(toml_edit::Value::decor);
    let suffix = decor.and_then(|decor| decor.suffix()).and_then(RawString::as_str);
    suffix.unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODE: SettingKey = SettingKey { table: None, name: "mode" };
    const AUTO_ALLOW: SettingKey = SettingKey { table: Some("sandbox"), name: "auto_allow" };
    const OWN: &str = "# my policy\n[permissions]\nallow = [\"Bash(make *)\"] # mine\n";

    fn setting(value: &str, comment: &str) -> PolicySetting {
        PolicySetting { value: value.to_owned(), comment: comment.to_owned() }
    }

    #[test]
    fn a_setting_is_added_and_removed_and_the_rest_stays() {
        for before in ["", OWN, "# only a comment\n", "[sandbox]\nrequire = true\n"] {
            let (mode, auto) = (setting("plan", "# why\n"), setting("all", "# why\n"));
            let text = with_setting(before, MODE, &mode).unwrap();
            let text = with_setting(&text, AUTO_ALLOW, &auto).unwrap();
            assert!(text.contains("# why\nmode = \"plan\"\n"), "{text}");
            assert!(text.contains("# why\nauto_allow = \"all\"\n"), "{text}");
            assert!(before.lines().all(|line| text.contains(line)), "{text}");
            assert_eq!(read_setting(&text, MODE).unwrap(), Some(mode));
            assert_eq!(read_setting(&text, AUTO_ALLOW).unwrap(), Some(auto));
            let text = without_setting(&text, AUTO_ALLOW, "").unwrap();
            assert_eq!(without_setting(&text, MODE, "").unwrap(), before);
        }
    }

    #[test]
    fn a_value_is_replaced_with_its_comments() {
        let before = "# a\nmode = \"plan\" # b\n";
        let old = read_setting(before, MODE).unwrap().unwrap();
        assert_eq!(old, setting("plan", "# a\n"));
        let text = with_setting(before, MODE, &setting("default", "# a\n# new\n")).unwrap();
        assert_eq!(text, "# a\n# new\nmode = \"default\" # b\n");
        assert_eq!(with_setting(&text, MODE, &old).unwrap(), before);
    }

    #[test]
    fn comments_of_a_removed_setting_are_preserved() {
        let text = "# a\n# b\nmode = \"plan\" # c\n\n# d\n[sandbox]\nauto_allow = \"all\" # e\n";
        let text = without_setting(text, MODE, "# a\n").unwrap();
        assert_eq!(text, "# a\n# c\n\n# d\n[sandbox]\nauto_allow = \"all\" # e\n");
        let text = without_setting(&text, AUTO_ALLOW, "").unwrap();
        assert_eq!(text, "# a\n# c\n\n# d\n[sandbox]\n# e\n");
        let text = "# removed\nmode = \"plan\"\n[permissions]\n";
        let text = without_setting(text, MODE, "# removed\n").unwrap();
        assert_eq!(text, "# removed\n[permissions]\n");
    }

    #[test]
    fn other_forms_of_the_table_are_not_changed() {
        for text in ["sandbox = { require = true }\n", "sandbox.require = true\n", "sandbox = 1\n"]
        {
            assert!(with_setting(text, AUTO_ALLOW, &setting("all", "")).is_err(), "{text}");
            assert_eq!(read_setting(text, AUTO_ALLOW).unwrap(), None);
            assert_eq!(without_setting(text, AUTO_ALLOW, "").unwrap(), text);
        }
    }
}
