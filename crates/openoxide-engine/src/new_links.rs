//! Links that a script creates.
//!
//! The target of a path is determined before anything runs. If the script creates `q/x` as a link,
//! `q/x/a` is another file afterwards, and `q/x/../a` is not `q/a`.

use std::{
    collections::HashMap,
    fs,
    path::{Component, Path, PathBuf},
};

use openoxide_permission::safety_floor::is_protected;
use openoxide_protocol::{
    AbsPath, Access, AccessRoute, CommandClass, ExecAccess, OperationFacts, PathAccess, Span,
};

use crate::{
    link_commands::{creates_links, keeps_links, moves_links, program_name},
    step_budget::StepBudget,
};

/// Adds an edit for each protected file that a command makes a link to, because a later command can
/// change the file under the name of the link.
pub(crate) fn check_links_to_protected_files(facts: &mut OperationFacts) {
    let (mut links, mut added) = (None, Vec::new());
    for access in &facts.accesses {
        if let Access::Exec(exec) = access {
            links = Some(exec.span).filter(|_| creates_links(exec));
        }
        let Access::Read(path) = access else { continue };
        let mut targets = [Some(&path.path), path.resolved.as_ref()].into_iter().flatten();
        if links.is_some_and(|span| contains(span, path.span)) && targets.any(is_protected) {
            added.push(Access::Edit(path.clone()));
        }
    }
    facts.accesses.extend(added);
}

/// Adds an opaque access for each file that a command accesses at or below a path where another
/// command may create a link, or move one to: the file that was checked is another one. The order of
/// the commands does not matter, as in loops.
pub(crate) fn check_files_behind_new_links(facts: &mut OperationFacts, steps: &StepBudget) {
    let links = new_links(&facts.accesses);
    if links.is_empty() {
        return;
    }
    let places = count_places(&facts.accesses);
    let mut added = Vec::new();
    let mut command: Option<(usize, &ExecAccess)> = None;
    for (index, access) in facts.accesses.iter().enumerate() {
        if let Access::Exec(exec) = access {
            let place = (exec.span.start, exec.span.end);
            command = Some((index, exec)).filter(|_| places.get(&place) == Some(&1));
        }
        let Some(path) = accessed_path(access) else { continue };
        let own = command.filter(|(_, exec)| contains(exec.span, path.span));
        let replaces = own.is_some_and(|(_, exec)| replaces_links(exec));
        let is_behind = |(link, creator): &(&AbsPath, usize)| {
            own.is_none_or(|(at, _)| at != *creator)
                && path.path.strip_prefix(link).is_some()
                && !(replaces && path.path == **link)
        };
        let looks = steps.take_steps(1 + links.len() / 16);
        if path.route != AccessRoute::Metadata && (!looks || links.iter().any(is_behind)) {
            let text = format!("{} (a link can be there)", path.raw_path);
            added.push(Access::Opaque { text, span: path.span });
        }
    }
    facts.accesses.extend(added);
}

/// Returns the paths where commands may create links or move them to, with the index of the command.
fn new_links(accesses: &[Access]) -> Vec<(&AbsPath, usize)> {
    if !accesses.iter().any(|access| matches!(access, Access::Exec(exec) if creates_links(exec))) {
        return Vec::new();
    }
    let mut command = None;
    let mut links = Vec::new();
    for (index, access) in accesses.iter().enumerate() {
        if let Access::Exec(exec) = access {
            let makes_links = creates_links(exec) || moves_links(exec) && keeps_links(exec);
            command = Some((index, exec.span)).filter(|_| makes_links);
        }
        let Access::Edit(path) = access else { continue };
        if let Some((index, _)) = command.filter(|(_, span)| contains(*span, path.span)) {
            links.push((&path.path, index));
        }
    }
    links
}

/// Returns how many commands have each place. In `bash -c '…'` and `find -exec`, all commands have the
/// place of the outer one, and which of them accesses a file is not known.
fn count_places(accesses: &[Access]) -> HashMap<(u32, u32), usize> {
    let mut places = HashMap::new();
    for access in accesses {
        if let Access::Exec(exec) = access {
            *places.entry((exec.span.start, exec.span.end)).or_default() += 1;
        }
    }
    places
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Returns whether a command removes, moves or replaces a link instead of following it.
fn replaces_links(exec: &ExecAccess) -> bool {
    matches!(program_name(exec), Some("rm" | "unlink" | "mv" | "ln" | "gln" | "gmv"))
}

/// Programs that change files, but create no link.
const NEVER_LINK: [&str; 16] = [
    "cd", "chgrp", "chmod", "chown", "dd", "mkdir", "mkfifo", "mktemp", "printf", "rm", "rmdir",
    "sed", "tee", "touch", "truncate", "unlink",
];

/// Adds an opaque access for each path in which `..` follows a directory that may be a link when the
/// path is used, because a command of the script can create links. The order of the commands does not matter: a
/// loop, a function, a job or a trap can run an earlier command later.
pub(crate) fn check_parents_of_new_links(
    facts: &mut OperationFacts,
    cwd: &AbsPath,
    steps: &StepBudget,
) {
    let Some(first) = facts.accesses.iter().position(may_create_link) else { return };
    let own = OwnOperands::find(&facts.accesses, first);
    let edited: Vec<_> = facts.accesses.iter().filter_map(edited_path).collect();
    let places = places_of(&facts.accesses, cwd);
    let is_doubtful = |(index, access): &(usize, &Access)| {
        let Some(path) = accessed_path(access) else { return false };
        let may_be_link =
            |place: &&AbsPath| names_parent_of_possible_link(place, &path.raw_path, &edited, steps);
        let is_own = *index > first && own.contains(*index, path.span);
        !is_own && places.get(*index).is_some_and(|places| places.iter().any(may_be_link))
    };
    let doubtful = facts.accesses.iter().enumerate().filter(is_doubtful);
    let paths = doubtful.filter_map(|(_, access)| accessed_path(access));
    // The access stays, so that a rule that denies it applies.
    let added: Vec<_> = paths
        .map(|path| {
            let text = format!("{} (a link can be created there)", path.raw_path);
            Access::Opaque { text, span: path.span }
        })
        .collect();
    facts.accesses.extend(added);
}

fn accessed_path(access: &Access) -> Option<&PathAccess> {
    let (Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path)) = access else {
        return None;
    };
    Some(path)
}

fn edited_path(access: &Access) -> Option<&AbsPath> {
    let Access::Edit(path) = access else { return None };
    Some(&path.path)
}

/// Returns for each access the directories of the commands before and after it. An access of a
/// redirection precedes its command.
fn places_of<'a>(accesses: &'a [Access], cwd: &'a AbsPath) -> Vec<[&'a AbsPath; 2]> {
    let place = |access: &'a Access| {
        let Access::Exec(exec) = access else { return None };
        Some(exec.cwd.as_ref().unwrap_or(cwd))
    };
    let mut last = cwd;
    let mut places: Vec<[&AbsPath; 2]> = accesses
        .iter()
        .map(|access| {
            last = place(access).unwrap_or(last);
            [last, last]
        })
        .collect();
    let mut next = last;
    for (access, places) in accesses.iter().zip(&mut places).rev() {
        next = place(access).unwrap_or(next);
        let [before, _] = *places;
        *places = [before, next];
    }
    places
}

/// The operands of the first command that can create a link. It accesses them before.
struct OwnOperands {
    /// The index of the next command. Redirections of that command precede it.
    next: usize,
    span: Span,
}

impl OwnOperands {
    /// Returns no operands if the spans of the commands overlap: those of a nested script are the
    /// same.
    fn find(accesses: &[Access], first: usize) -> Self {
        let mut commands = accesses.iter().enumerate().skip(first).filter_map(|(index, access)| {
            let Access::Exec(exec) = access else { return None };
            Some((index, exec.span))
        });
        let span = commands.next().map(|(_, span)| span).unwrap_or_default();
        let (next, other) = commands.next().unwrap_or((accesses.len(), Span::default()));
        let overlaps = span.start < other.end && other.start < span.end;
        Self { next: if overlaps { first } else { next }, span }
    }

    const fn contains(&self, index: usize, operand: Span) -> bool {
        index < self.next && self.span.start <= operand.start && operand.end <= self.span.end
    }
}

fn may_create_link(access: &Access) -> bool {
    let Access::Exec(exec) = access else { return false };
    let name = exec.argv.known_word(0);
    exec.class != CommandClass::Harmless && !name.is_some_and(|name| NEVER_LINK.contains(&name))
}

/// Returns whether `..` in a path follows a directory that does not exist, is a link, or is at or below
/// an edited path.
fn names_parent_of_possible_link(
    place: &AbsPath,
    path: &str,
    edited: &[&AbsPath],
    steps: &StepBudget,
) -> bool {
    let mut walked = PathBuf::new();
    let joined = Path::new(place.as_str()).join(path);
    joined.components().any(|part| {
        if part != Component::ParentDir {
            walked.push(part);
            return false;
        }
        if !steps.take_steps(1 + edited.len() / 16) {
            return true;
        }
        let is_directory = fs::symlink_metadata(&walked).is_ok_and(|found| found.is_dir());
        let is_edited = edited.iter().any(|edit| walked.starts_with(edit.as_str()));
        walked.pop();
        !is_directory || is_edited
    })
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::Action;

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    #[test]
    fn a_link_to_a_protected_file_is_an_edit_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        fs::create_dir_all(dir.path().join(".git/hooks")).unwrap();
        fs::write(dir.path().join("plain"), "").unwrap();
        std::os::unix::fs::symlink(".git/hooks", dir.path().join("link")).unwrap();
        for (script, expected) in [
            ("ln -s .git/hooks g; cp plain g", true),
            ("ln -s \"$PWD/.git/hooks\" g; touch g/pre-commit", true),
            ("ln -s .git/config g; echo x >> g", true),
            ("cp -s .git/config g; echo x >> g", true),
            ("cp -rs .git/hooks g; echo x >> g/a", true),
            ("cp -P link g; cp plain g", true),
            ("mv link g; cp plain g", true),
            ("ln -s plain g; echo x >> g", false),
            ("cp plain g; echo x >> g", false),
        ] {
            let action = Action::Command { script: script.to_owned() };
            let place = CallLocation { cwd: &root, home: None };
            let facts = collect_action_facts(&action, "Bash", place);
            let is_asked = facts.accesses.iter().any(|access| {
                matches!(access, Access::Edit(path) if is_protected(&path.path))
                    || matches!(access, Access::Opaque { text, .. } if text.contains("lead elsewhere"))
            });
            assert_eq!(is_asked, expected, "{script}");
        }
    }

    #[test]
    fn files_behind_new_links_are_not_understood() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        for file in ["plain", "sub/f", "zz/sub/g", "ok/sub/g"] {
            let file = dir.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        std::os::unix::fs::symlink("../../../victim", dir.path().join("zz/sub/f")).unwrap();
        std::os::unix::fs::symlink("zz/sub", dir.path().join("alias")).unwrap();
        for (script, expected) in [
            ("mkdir -p q/e; ln -s ../x q/e/l; mv q/e/l l; echo a > l", true),
            ("mkdir -p q/e; ln -s .. q/e/l; mv q/e/l l; grep -r KEY l/", true),
            ("mkdir -p q/e; ln -s .. q/e/l; mv q/e e2; echo a > e2/l", true),
            ("mkdir -p q/e; ln -s .. q/e/l; cp -P q/e/l l; cp plain l/git", true),
            ("mkdir -p q/e; ln -s .. q/e/l; mv q/e/l l; cd l && touch a", true),
            ("ln -s . g; grep -r KEY g/", true),
            ("ln -s plain c; cp sub/f c", true),
            ("ln -s plain c; ls -l c", false),
            ("rm -f c && ln -s plain c", false),
            ("ln -sf plain c && ln -sf plain d", false),
            ("for i in 1 2; do echo a > l; ln -s ../x l; done", true),
            ("ln -s plain c; cat plain", false),
            ("mv plain c; cat c", false),
            ("bash -c 'ln -s . g; grep -r KEY g/'", true),
            ("eval 'ln -s . g; grep -r KEY g/'", true),
            ("find . -maxdepth 0 -exec ln -s . g \\; -exec grep -r KEY g/ \\;", true),
            ("cp plain p2; ln -s p2 p3; cat p2", false),
            ("cp -r sub/. alias", true),
            ("cp -r sub/. alias/.", true),
            ("cp -r sub zz", true),
            ("cp -rT sub zz/sub", true),
            ("cp -a sub/. zz/sub", true),
            ("cp -r sub ok", false),
            ("cp plain zz", false),
        ] {
            let action = Action::Command { script: script.to_owned() };
            let place = CallLocation { cwd: &root, home: None };
            let facts = collect_action_facts(&action, "Bash", place);
            let reasons = ["a link can be there", "links below it lead elsewhere"];
            let is_opaque = facts.accesses.iter().any(|access| {
                matches!(access, Access::Opaque { text, .. } if reasons.iter().any(|it| text.contains(it)))
            });
            assert_eq!(is_opaque, expected, "{script}: {:?}", facts.accesses);
        }
    }

    #[test]
    fn the_parent_of_a_directory_that_can_become_a_link_is_not_understood() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        std::os::unix::fs::symlink("sub", dir.path().join("link")).unwrap();
        let is_opaque = |script: &str| {
            let action = Action::Command { script: script.to_owned() };
            let place = CallLocation { cwd: &root, home: None };
            let facts = collect_action_facts(&action, "Bash", place);
            facts.accesses.iter().any(|access| {
                matches!(access, Access::Opaque { text, .. } if text.contains("a link can be created"))
            })
        };
        for script in [
            "mkdir q && ln -s .. q/x && touch q/x/../f",
            "ln -s .. sub/x && echo a > sub/x/../../f",
            "cd sub && ln -s .. x && cd x && echo a > ../f",
            "cp -r src dst && cat dst/../f",
            "install -D a new/a; touch new/../f",
            "bash -c 'ln -s .. sub/x; echo a > sub/x/../../f'",
            "mkdir q; for i in 1 2; do touch q/x/../../f; ln -s .. q/x; done",
            "{ sleep 1; touch q/x/../../f; } & ln -s .. q/x",
            "f() { touch q/x/../f; }; ln -s .. q/x; f",
            "ln -sfn . link && touch link/../f",
            "mv sub old && ln -s . sub && touch sub/../f",
        ] {
            assert!(is_opaque(script), "{script}");
        }
        for script in [
            "mkdir -p build && cd build && touch ../f",
            "mkdir -p a/b && touch a/b/../f",
            "cp a b && touch sub/../f",
            "ln -s a b && cd sub && touch ../f",
            "touch q/x/../f",
            "ln -s ../README.md docs/intro.md",
            "ln -s ../README.md docs/intro.md && ls",
        ] {
            assert!(!is_opaque(script), "{script}");
        }
    }
}
