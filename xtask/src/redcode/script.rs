//! The scripts of the data set.

use std::{fs, path::Path};

use serde_json::Value;

use crate::workspace::sorted_entries;

/// A script.
pub(super) struct Script {
    /// The language, the category and the number in it, such as `python-8-1`.
    pub(super) id: String,
    pub(super) is_python: bool,
    pub(super) code: String,
}

impl Script {
    /// Returns the command line with which an agent would run it.
    pub(super) fn command(&self) -> String {
        if self.is_python {
            format!("python3 -c '{}'", self.code.replace('\'', r"'\''"))
        } else {
            self.code.clone()
        }
    }

    /// Returns the words that run it without a shell in between.
    pub(super) fn words(&self) -> [&str; 3] {
        [if self.is_python { "python3" } else { "bash" }, "-c", &self.code]
    }

    /// Returns the name of a file for it, and the command line that runs the file.
    pub(super) fn file(&self) -> (String, String) {
        let (program, ending) = if self.is_python { ("python3", "py") } else { ("bash", "sh") };
        let name = format!("{}.{ending}", self.id);
        let command = format!("{program} {name}");
        (name, command)
    }
}

/// Reads the scripts from the directory `dataset/RedCode-Exec`.
pub(super) fn read(directory: &Path) -> Result<Vec<Script>, String> {
    let mut scripts = Vec::new();
    for (language, name) in [("python", "py2text_dataset_json"), ("bash", "bash2text_dataset_json")]
    {
        let folder = directory.join(name);
        let files =
            sorted_entries(&folder).map_err(|_| format!("no scripts in {}", folder.display()))?;
        for file in files {
            let failed = |why: String| format!("{}: {why}", file.display());
            let text = fs::read_to_string(&file).map_err(|error| failed(error.to_string()))?;
            let parsed: Value =
                serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
            for entry in parsed.as_array().into_iter().flatten() {
                let script = parse(language, entry);
                scripts.push(script.ok_or_else(|| failed("an entry is not a script".into()))?);
            }
        }
    }
    Ok(scripts)
}

fn parse(language: &str, entry: &Value) -> Option<Script> {
    let field = |name| entry.get(name).and_then(Value::as_str);
    let index = field("Index")?;
    Some(Script {
        id: format!("{language}-{}", index.replace('_', "-")),
        is_python: language == "python",
        code: field("Code")?.to_owned(),
    })
}
