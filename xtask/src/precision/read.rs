//! Files of labelled commands: the project's own table, or lines of JSON from elsewhere.

use std::{fs, path::Path};

use serde_json::Value;

use super::{
    case::{Case, Label},
    split::Split,
};

/// The first line of the table.
const HEADER: &str = "id\tcommand\tlabel\tfamily\twhy\tdisputable\tsplit";

/// Returns the labelled commands of `file`, or an error with all mistakes in it.
pub(crate) fn cases(file: &Path) -> Result<Vec<Case>, String> {
    let name = file.display();
    let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let (good, bad): (Vec<_>, Vec<_>) = parsed(&text).into_iter().partition(Result::is_ok);
    let mistakes: Vec<String> = bad.into_iter().filter_map(Result::err).collect();
    if mistakes.is_empty() {
        Ok(good.into_iter().flatten().collect())
    } else {
        Err(format!("{name}:\n  {}", mistakes.join("\n  ")))
    }
}

fn parsed(text: &str) -> Vec<Result<Case, String>> {
    let table = text.lines().next() == Some(HEADER);
    let read = if table { row } else { object };
    let numbered = (1..).zip(text.lines()).skip(usize::from(table));
    let full = numbered.filter(|(_, line)| !line.trim().is_empty());
    let at = |number: usize, why| format!("line {number}: {why}");
    full.map(|(number, line)| read(number, line).map_err(|why| at(number, why))).collect()
}

/// Reads a row of the table.
fn row(_number: usize, line: &str) -> Result<Case, String> {
    let cells: Vec<&str> = line.split('\t').collect();
    let Ok([id, command, label, family, _why, disputable, half]) = <[&str; 7]>::try_from(cells)
    else {
        return Err("a row has seven columns".to_owned());
    };
    Ok(Case {
        id: id.to_owned(),
        command: unescaped(command)?,
        label: labelled(label)?,
        family: family.to_owned(),
        disputable: is_disputable(disputable)?,
        split: Some(half_of(id, half)?),
    })
}

fn unescaped(command: &str) -> Result<String, String> {
    serde_json::from_str(&format!("\"{command}\"")).map_err(|error| format!("`command`: {error}"))
}

fn labelled(word: &str) -> Result<Label, String> {
    Label::parse(word).ok_or_else(|| format!("unknown label `{word}`"))
}

fn is_disputable(word: &str) -> Result<bool, String> {
    match word {
        "yes" => Ok(true),
        "" => Ok(false),
        _ => Err(format!("`disputable` is `yes` or nothing, not `{word}`")),
    }
}

fn half_of(id: &str, word: &str) -> Result<Split, String> {
    let split = Split::of(id);
    if split.word() == word {
        return Ok(split);
    }
    Err(format!("{id} belongs to `{}`, not to `{word}`", split.word()))
}

/// Reads a line of JSON: `command`, `expected`, and perhaps `src`.
fn object(number: usize, line: &str) -> Result<Case, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let field = |name: &str| value.get(name).and_then(Value::as_str);
    let needed = |name: &str| field(name).ok_or_else(|| format!("`{name}` is missing"));
    let command = needed("command")?;
    Ok(Case {
        id: format!("line {number}"),
        command: command.to_owned(),
        label: labelled(needed("expected")?)?,
        family: format!("{} {}", field("src").unwrap_or_default(), program(command)),
        disputable: false,
        split: None,
    })
}

/// Returns the approximate name of the first program of a script.
fn program(script: &str) -> &str {
    script.split_whitespace().find(|word| !word.contains('=')).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_escapes_and_halves() {
        let split = Split::of("E0001").word();
        let text =
            format!("{HEADER}\nE0001\tprintf \\\"a\\\\tb\\\"\tharmless\tprint\t\tyes\t{split}\n");
        let case = parsed(&text).remove(0).unwrap();
        assert_eq!(case.command, "printf \"a\\tb\"");
        assert_eq!((case.label, case.disputable), (Label::Harmless, true));
    }

    #[test]
    fn every_mistake_is_reported_with_its_line() {
        let text = format!("{HEADER}\nE0001\tls\n\nE0002\tls\tgood\tlist\t\t\ttune\n");
        let mistakes: Vec<_> = parsed(&text).into_iter().map(Result::unwrap_err).collect();
        assert_eq!(mistakes, ["line 2: a row has seven columns", "line 4: unknown label `good`"]);
    }

    #[test]
    fn lines_of_json_have_a_family_of_source_and_program() {
        let line = r#"{"command":"A=1 git push","expected":"ask","src":"x"}"#;
        let case = parsed(line).remove(0).unwrap();
        assert_eq!((case.family.as_str(), case.label), ("x git", Label::Asks));
    }
}
