//! What Codex makes of a patch before it applies it (reference of 0.169, §6.3): run it, ask, or refuse.
//!
//! The files themselves are not looked at. Codex also refuses a patch whose files are not there, or not as it expects them; that comes
//! before its policy, and is not known here.

mod change;
mod read;
mod script;

use std::collections::BTreeSet;

pub use change::{FileChange, Writable};

use self::change::Patch;
use super::{
    approval::AskForApproval,
    decide::{Answer, Verdict},
    dialect::Dialect,
    judge::Judge,
    place::normal,
};

/// Stands before what is wrong with a patch.
const UNVERIFIED: &str = "apply_patch verification failed: ";
/// A patch names a machine, and there is only one.
const ONE_MACHINE: &str = "apply_patch environment selection is unavailable for this turn";
/// A script is a patch, and calls nothing.
const UNCALLED: &str =
    r#"patch detected without explicit call to apply_patch. Rerun as ["apply_patch", "<patch>"]"#;

impl Judge<'_> {
    /// Returns what becomes of a call of the tool; its paths count from where Codex was started.
    #[must_use]
    pub fn patch(&self, text: &str) -> Answer {
        self.read(text, self.place.cwd, |patch| !patch.names_a_machine)
    }

    /// Returns what becomes of a script that is a patch, or a call of `apply_patch`: no process is started for it. A machine that it
    /// names is not looked at.
    pub(super) fn patch_of_script(&self, script: &str, cwd: &str) -> Option<Answer> {
        let may_be_one = script.trim_start().starts_with(['*', '<']);
        if may_be_one && Patch::read(script).is_ok() {
            return Some(Answer::refused(format!("{UNVERIFIED}{UNCALLED}")));
        }
        let call = script::call(script)?;
        let at = call.directory.map_or_else(|| cwd.to_owned(), |to| joined(cwd, &to));
        Some(self.read(&call.patch, &at, |_| true))
    }

    fn read(&self, text: &str, cwd: &str, is_here: impl Fn(&Patch<'_>) -> bool) -> Answer {
        let answer = match Patch::read(text) {
            Ok(patch) if !is_here(&patch) => Err(ONE_MACHINE.to_owned()),
            Ok(patch) => self.changes(&patch, cwd),
            Err(why) => Err(format!("{UNVERIFIED}{why}")),
        };
        answer.unwrap_or_else(Answer::refused)
    }

    fn changes(&self, patch: &Patch<'_>, cwd: &str) -> Result<Answer, String> {
        let changes: Vec<FileChange> =
            patch.changes.iter().map(|change| change.at(|path| joined(cwd, path))).collect();
        if let Some(wrong) = self.wrong(&changes) {
            return Err(format!("{UNVERIFIED}{wrong}"));
        }
        if changes.is_empty() {
            return Err("patch rejected: empty patch".to_owned());
        }
        let verdict = self.verdict(&changes)?;
        Ok(Answer { changes: Some(changes), ..Answer::of(verdict, None, false) })
    }

    /// Returns what is wrong with the paths. Until 0.145 a file might come up twice.
    fn wrong(&self, changes: &[FileChange]) -> Option<String> {
        let mut seen = BTreeSet::new();
        for change in changes {
            if let Some(odd) = change.written.iter().find(|path| path.contains('\0')) {
                return Some(format!("'{odd}' is invalid on 'linux'"));
            }
            if !seen.insert(&change.path) && self.dialect != Dialect::V0145 {
                return Some(format!("invalid patch: multiple operations target {}", change.path));
            }
        }
        None
    }

    fn verdict(&self, changes: &[FileChange]) -> Result<Verdict, String> {
        if self.approval == AskForApproval::UnlessTrusted {
            return Ok(Verdict::Prompt);
        }
        let paths = changes.iter().flat_map(FileChange::touches);
        let writable = !self.sandbox.restricts() || self.writable.has_all(self.place.cwd, paths);
        match (self.sandbox.writes() && writable, self.may_ask()) {
            (true, _) => Ok(Verdict::Run),
            (false, true) => Ok(Verdict::Prompt),
            (false, false) if self.sandbox.writes() => {
                Err(refusal("writing outside of the project"))
            }
            (false, false) => Err(refusal("writing is blocked by read-only sandbox")),
        }
    }

    const fn may_ask(&self) -> bool {
        match self.approval {
            AskForApproval::Never => false,
            AskForApproval::Granular(granular) => granular.sandbox_approval,
            AskForApproval::UnlessTrusted | AskForApproval::OnRequest => true,
        }
    }
}

fn refusal(why: &str) -> String {
    format!("patch rejected: {why}; rejected by user approval settings")
}

/// Returns a path that counts from a directory; nothing is looked up.
fn joined(cwd: &str, path: &str) -> String {
    if path.starts_with('/') { normal(path) } else { normal(&format!("{cwd}/{path}")) }
}

#[cfg(test)]
mod tests;
