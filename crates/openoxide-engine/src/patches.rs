//! Steering files that are changed by the patches that a command applies.
//!
//! `git apply FIX.patch` names only the patch. Each file in it that would configure shells, tools
//! or agents is added as a separate edit with its own name.

use std::{fs, path::Path};

use openoxide_permission::safety_floor::is_protected;
use openoxide_protocol::{AbsPath, Access, AccessRoute, ExecAccess, PathAccess};
use openoxide_shell::{applies_patch, patched_files};
use openoxide_store::read_regular_file;

use crate::{script_edits::ScriptEdits, step_budget::StepBudget};

/// The maximum size of a patch that is examined.
const LONGEST: u64 = 4 << 20;

/// Adds an edit for each steering file that a patch changes. A patch that cannot be examined, or
/// that the script may have changed, is opaque.
pub(crate) fn check(
    accesses: &mut Vec<Access>,
    edits: &ScriptEdits,
    cwd: &AbsPath,
    steps: &StepBudget,
) {
    let mut added = Vec::new();
    for (index, access) in accesses.iter().enumerate() {
        let Access::Exec(exec) = access else { continue };
        if !applies_patch(exec.normalized_argv.as_ref().unwrap_or(&exec.argv), exec.class) {
            continue;
        }
        let place = exec.cwd.as_ref().unwrap_or(cwd);
        let before = edits.before_by_others(exec);
        for patch in patches(accesses, index) {
            let unchanged = patch.paths().all(|path| !before.may_change(Path::new(path.as_str())));
            match unchanged.then(|| steering_files(&patch.path, place, steps)).flatten() {
                Some(found) => added.extend(found.into_iter().map(|path| {
                    let (span, touch) = (exec.span, AccessRoute::Program);
                    Access::Edit(PathAccess { span, route: touch, ..PathAccess::new(path) })
                })),
                None => added.push(unknown(exec, patch)),
            }
        }
    }
    accesses.append(&mut added);
}

/// Makes each patch opaque, because the script was not examined.
pub(crate) fn refuse(accesses: &mut Vec<Access>) {
    let applies = |access: &Access| {
        let Access::Exec(exec) = access else { return None };
        let applies =
            applies_patch(exec.normalized_argv.as_ref().unwrap_or(&exec.argv), exec.class);
        applies.then(|| Access::Opaque { text: exec.text.clone(), span: exec.span })
    };
    let refused: Vec<_> = accesses.iter().filter_map(applies).collect();
    accesses.extend(refused);
}

fn unknown(exec: &ExecAccess, patch: &PathAccess) -> Access {
    let text = format!("{}: what {} changes is not known", exec.text, patch.raw_path);
    Access::Opaque { text, span: exec.span }
}

/// Returns the files that a command reads. Those of its redirections precede it in the list of
/// accesses, and the others follow it.
fn patches(accesses: &[Access], index: usize) -> impl Iterator<Item = &PathAccess> {
    let (before, rest) = accesses.split_at(index);
    let redirected = before.iter().rev().map_while(|access| {
        let Access::Read(path) = access else { return None };
        (path.route == AccessRoute::Direct).then_some(path)
    });
    let own = rest.iter().skip(1).take_while(|access| !matches!(access, Access::Exec(_)));
    let named = own.filter_map(|access| {
        let Access::Read(path) = access else { return None };
        (path.route != AccessRoute::Metadata && path.search.is_none()).then_some(path)
    });
    redirected.chain(named)
}

/// Returns the steering files that a patch changes, or `None` if they cannot be determined.
fn steering_files(patch: &AbsPath, place: &AbsPath, steps: &StepBudget) -> Option<Vec<AbsPath>> {
    let Ok(meta) = fs::metadata(patch.as_str()) else { return Some(Vec::new()) };
    let size = usize::try_from(meta.len()).ok()?;
    (meta.is_file() && meta.len() <= LONGEST && steps.take_steps(size / 256)).then_some(())?;
    let bytes = read_regular_file(Path::new(patch.as_str()), LONGEST).ok()?;
    let files = patched_files(&String::from_utf8_lossy(&bytes));
    steps.take_steps(files.len()).then_some(())?;
    Some(files.iter().map(|file| place.join(file)).filter(is_protected).collect())
}
