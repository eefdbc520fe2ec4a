//! The changes of files that a confined program requests while it runs (`--live`), as operations.

use openoxide_engine::ProfileContext;
use openoxide_permission::forbidden_root_reason;
use openoxide_protocol::{AbsPath, Action, Operation};
use openoxide_sandbox::{FileOperation, RequestedChange};
use openoxide_store::UserEnvironment;
use serde_json::{Value, json};

use crate::commands::call_operation;

/// Returns whether a change of this path is denied without a question under every policy.
pub(crate) fn is_always_unchangeable(around: ProfileContext<'_>, path: &AbsPath) -> bool {
    let own = UserEnvironment::from_process().openoxide_directories();
    around.write_refusal_reason(path).is_some()
        || own.iter().any(|place| path.strip_prefix(place).is_some())
}

/// Returns a change as an edit operation.
pub(crate) fn edit_operation(change: &RequestedChange, cwd: &AbsPath) -> Operation {
    let paths = changed_paths(change).iter().map(AbsPath::to_string).collect();
    call_operation::new_person_operation(
        "Edit".to_owned(),
        Action::Edit { paths },
        change_input(change),
        cwd,
    )
}

/// Returns the paths that a change concerns.
pub(crate) fn changed_paths(change: &RequestedChange) -> Vec<AbsPath> {
    [change.path.clone()].into_iter().chain(change.target.clone()).collect()
}

/// Returns the directory whose changes can be approved together with this one: that of the changed
/// files, or the new directory itself. A directory that is too large to be approved, such as the home
/// directory, is not offered.
pub(crate) fn offered_directory(
    change: &RequestedChange,
    home: Option<&AbsPath>,
) -> Option<AbsPath> {
    let directory = match change.operation {
        FileOperation::MakeDirectory => change.path.clone(),
        _ => change.path.parent()?,
    };
    // The target of a new symbolic link is not changed.
    let other = change.target.as_ref().filter(|_| change.operation != FileOperation::MakeSymlink);
    let is_common = other.is_none_or(|other| other.parent().as_ref() == Some(&directory));
    let is_wide = forbidden_root_reason(&directory, home).is_some();
    (is_common && !is_wide).then_some(directory)
}

/// Returns the input of the operation, as it is shown to a person and recorded.
fn change_input(change: &RequestedChange) -> Value {
    let mut input = json!({ "file_path": change.path, "wants": describe_change(change) });
    if let (Value::Object(all), Some(to)) = (&mut input, &change.target) {
        all.insert("to".to_owned(), json!(to));
    }
    input
}

/// Returns a description of the change without the name of the file.
fn describe_change(change: &RequestedChange) -> String {
    let what = match change.operation {
        FileOperation::Write => "write this file",
        FileOperation::MakeDirectory => "make this directory",
        FileOperation::MakePipe => "make this named pipe",
        FileOperation::MakeSymlink => "make this symbolic link",
        FileOperation::Link => "make another name (a hard link) for this file",
        FileOperation::Remove => "remove this file or directory",
        FileOperation::Rename => "rename this file or directory, replacing an existing file",
        FileOperation::SetMode => "set the mode of this file or directory",
        FileOperation::SetTimes => "set the times of this file or directory",
    };
    match change.other_links {
        0 => match change.mode {
            Some(mode) => format!("{what} to {mode:04o}"),
            None => what.to_owned(),
        },
        more => format!("{what}, which has {more} more hard links elsewhere"),
    }
}
