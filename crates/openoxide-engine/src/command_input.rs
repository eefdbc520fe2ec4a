//! Fields of a command's input that select its working directory, its environment variables and its
//! shell.

use openoxide_protocol::{AbsPath, Access, OperationFacts, PathAccess, Span};
use serde_json::Value;

use crate::{directory_changes, path_resolution::resolve_path, step_budget::StepBudget};

/// The input fields that name the working directory, in Codex, OpenCode, Gemini CLI and other
/// common tools.
const DIRECTORIES: &[&str] =
    &["workdir", "cwd", "working_directory", "workingDirectory", "directory", "dir_path"];

/// The input fields with environment variables.
const VARIABLES: &[&str] = &["env", "environment"];

/// The shells whose scripts are analysed.
const SHELLS: &[&str] = &["bash", "/bin/bash", "/usr/bin/bash"];

/// Returns the working directory in the input of a command, if exactly one field names it.
#[must_use]
pub(crate) fn working_directory(input: &Value, cwd: &AbsPath) -> Option<AbsPath> {
    let mut named = directories(input);
    let first = named.next()?.as_str()?;
    named.all(|other| other == first).then(|| cwd.join(first))
}

/// Adds the access to the directory in the input of a command, and an opaque access for each field
/// that is not examined. `facts` are those of the command in that directory. The call is made in
/// `cwd`.
pub(crate) fn check(facts: &mut OperationFacts, input: &Value, cwd: &AbsPath, steps: &StepBudget) {
    if !input.is_object() {
        return;
    }
    if let Some(place) = working_directory(input, cwd) {
        let written = directories(input).find_map(Value::as_str).unwrap_or_default().to_owned();
        let mut entered = OperationFacts::default();
        let path = PathAccess { raw_path: written, ..PathAccess::new(place.clone()) };
        entered.accesses.push(Access::ExternalDirectory(path));
        directory_changes::check(&mut entered, cwd, steps);
        entered.accesses.retain_mut(|access| {
            let Access::ExternalDirectory(path) = access else { return true };
            let known = resolve_path(path, cwd, steps);
            !(known && path.paths().all(|spelling| spelling.strip_prefix(cwd).is_some()))
        });
        facts.accesses.append(&mut entered.accesses);
        name_place(facts, &place);
    } else if directories(input).next().is_some() {
        facts.accesses.push(unknown("a working directory that is not known"));
    }
    if VARIABLES.iter().filter_map(|field| input.get(field)).any(|value| !is_empty(value)) {
        facts.accesses.push(unknown("variables of the environment beside the command"));
    }
    let shell = input.get("shell").filter(|value| !is_empty(value));
    if shell.is_some_and(|shell| !shell.as_str().is_some_and(|shell| SHELLS.contains(&shell))) {
        facts.accesses.push(unknown("another shell"));
    }
}

/// Sets the working directory of each program that does not have one yet.
fn name_place(facts: &mut OperationFacts, place: &AbsPath) {
    for access in &mut facts.accesses {
        if let Access::Exec(exec) = access {
            exec.cwd.get_or_insert_with(|| place.clone());
        }
    }
}

fn directories(input: &Value) -> impl Iterator<Item = &Value> {
    let named = DIRECTORIES.iter().filter_map(|field| input.get(field));
    named.filter(|value| !is_empty(value))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

fn unknown(what: &str) -> Access {
    Access::Opaque { text: what.to_owned(), span: Span::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(input: &Value) -> Vec<String> {
        let (mut facts, cwd) = (OperationFacts::default(), AbsPath::new("/p").unwrap());
        check(&mut facts, input, &cwd, &StepBudget::new());
        facts
            .accesses
            .iter()
            .map(|access| format!("{} {}", access.permission_name(), access.summary()))
            .collect()
    }

    #[test]
    fn fields_that_change_what_a_command_does_are_examined() {
        for (input, expected) in [
            (json!({ "cmd": "ls", "workdir": "/q" }), "external_directory /q"),
            (json!({ "cmd": "ls", "cwd": "../q" }), "external_directory /q"),
            (
                json!({ "cmd": "ls", "workdir": ["/q"] }),
                "opaque a working directory that is not known",
            ),
            (
                json!({ "cmd": "ls", "workdir": "a", "cwd": "b" }),
                "opaque a working directory that is not known",
            ),
            (
                json!({ "cmd": "ls", "env": { "A": "b" } }),
                "opaque variables of the environment beside the command",
            ),
            (json!({ "cmd": "ls", "shell": "zsh" }), "opaque another shell"),
        ] {
            assert_eq!(found(&input), [expected], "{input}");
        }
        for input in [
            json!({ "cmd": "ls" }),
            json!({ "cmd": "ls", "workdir": "sub", "env": {}, "shell": "bash" }),
            json!({ "cmd": "ls", "workdir": "", "env": null, "shell": null }),
            json!("workdir"),
        ] {
            assert_eq!(found(&input), [""; 0], "{input}");
        }
    }
}
