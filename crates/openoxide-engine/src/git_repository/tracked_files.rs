//! The files that repositories track.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;

use super::git_index::index_above;

/// The names of an index below its working tree, or `None` if they are not known.
type TrackedNames = Option<(AbsPath, HashSet<String>)>;

/// The files that the repositories of a search track. Each repository is read once.
#[derive(Default)]
pub(crate) struct TrackedFiles(RefCell<HashMap<PathBuf, TrackedNames>>);

impl TrackedFiles {
    /// Returns whether git may track a file. Lists of ignored files do not apply to it then.
    pub(crate) fn may_track(&self, path: &AbsPath) -> bool {
        self.is_listed(path, |names, below| names.contains(below)).unwrap_or(false)
    }

    /// Returns whether a file is in a repository and certainly not in its index, under the name
    /// that it has below its working tree or below `root`. Some commands of git print names that
    /// are relative to the working tree. Some file systems do not distinguish upper and lower case.
    pub(crate) fn is_untracked(&self, path: &AbsPath, root: &AbsPath) -> bool {
        let from_root = path.strip_prefix(root).unwrap_or_default();
        let is_name = |names: &HashSet<String>, below: &str| {
            names.contains(below)
                || names
                    .iter()
                    .any(|name| [below, from_root].iter().any(|it| name.eq_ignore_ascii_case(it)))
        };
        self.is_listed(path, is_name) == Some(false)
    }

    /// Returns whether a directory is in a repository and certainly contains no file of its index.
    pub(crate) fn has_no_tracked_file(&self, directory: &AbsPath) -> bool {
        let is_within = |name: &String, below: &str| {
            let (start, rest) = name.split_at_checked(below.len()).unwrap_or_default();
            start.eq_ignore_ascii_case(below) && (rest.is_empty() || rest.starts_with('/'))
        };
        let has = |names: &HashSet<String>, below: &str| {
            !below.is_ascii() || names.iter().any(|name| is_within(name, below))
        };
        self.is_listed(directory, has) == Some(false)
    }

    /// Returns whether the index of a repository above a file may have its name, or `None` if there
    /// is no repository. All of them are examined: a repository or an empty `.git` in between does
    /// not remove a file from the index of the outer one.
    fn is_listed(
        &self,
        path: &AbsPath,
        has: impl Fn(&HashSet<String>, &str) -> bool,
    ) -> Option<bool> {
        let above = Path::new(path.as_str()).ancestors().skip(1);
        let trees = above.filter(|above| above.join(".git").symlink_metadata().is_ok());
        let listed: Vec<bool> = trees.map(|tree| self.is_listed_in(tree, path, &has)).collect();
        (!listed.is_empty()).then(|| listed.contains(&true))
    }

    fn is_listed_in(
        &self,
        tree: &Path,
        path: &AbsPath,
        has: &impl Fn(&HashSet<String>, &str) -> bool,
    ) -> bool {
        let mut known = self.0.borrow_mut();
        let names = known.entry(tree.to_path_buf()).or_insert_with(|| {
            let tree = AbsPath::new(tree.to_str()?).ok()?;
            let index = index_above(&tree).ok()?;
            let names = index.map(|index| {
                index.entries.into_iter().map(|entry| entry.name).collect::<HashSet<_>>()
            });
            Some((tree, names.unwrap_or_default()))
        });
        names.as_ref().is_none_or(|(tree, names)| {
            path.strip_prefix(tree).is_none_or(|below| has(names, below))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use openoxide_permission::safety_floor::is_secret;
    use openoxide_protocol::{Access, Action, CommandClass};

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    fn bash(place: &AbsPath, script: &str) -> String {
        let done = Command::new("bash").args(["-c", script]).current_dir(place.as_str()).output();
        String::from_utf8(done.unwrap().stdout).unwrap()
    }

    /// A repository with a secret that git does not track, and one that it tracks.
    fn repository() -> (tempfile::TempDir, AbsPath) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let place = AbsPath::new(root.to_str().unwrap()).unwrap();
        bash(
            &place,
            "git init -q . && git config user.email a@b.c && git config user.name a && \
             mkdir sub && echo 1 > sub/a.rs && echo KEY > .env && git add . && git commit -qm 1 && \
             git rm -q --cached .env && git commit -qm 2 && \
             echo KEY > sub/x.pem && git add sub && git commit -qm 3 && echo 2 > sub/a.rs",
        );
        (dir, place)
    }

    /// Returns whether a script needs no approval because of a secret or an unknown command.
    fn is_harmless(place: &AbsPath, script: &str) -> bool {
        let action = Action::Command { script: script.to_owned() };
        let facts = collect_action_facts(&action, "Bash", CallLocation { cwd: place, home: None });
        facts.accesses.iter().all(|access| {
            let harmless =
                !matches!(access, Access::Exec(exec) if exec.class != CommandClass::Harmless);
            let reads_secret = matches!(access, Access::Read(path) if is_secret(&path.path));
            harmless && !reads_secret && !matches!(access, Access::Opaque { .. })
        })
    }

    #[test]
    fn printed_names_of_tracked_files_are_no_untracked_secrets() {
        let (_dir, project) = repository();
        for script in [
            "git ls-files '*.rs' | xargs cat",
            "cat $(git ls-files -m -- 'sub/*.rs' '*.go')",
            "git rm -q --cached sub/x.pem; true; git ls-files | xargs cat",
        ] {
            let printed = bash(&project, script);
            assert!(printed.contains('2') && !printed.contains("KEY"), "{script}: {printed}");
        }
        bash(&project, "git commit -qm 4");
        for script in [
            "git ls-files | xargs cat",
            "git ls-files '*.rs' | xargs cat",
            "cat $(git ls-files -m -- 'sub/*.rs' '*.go')",
            "git diff --name-only | xargs cat",
            "git diff --name-only | while read f; do cat \"$f\"; done",
        ] {
            assert!(!bash(&project, script).contains("KEY"), "{script}");
            assert!(is_harmless(&project, script), "{script}");
        }
    }

    #[test]
    fn other_printed_names_can_be_secrets() {
        let (_dir, project) = repository();
        for script in [
            "git ls-files | xargs cat",
            "git ls-files '*.rs' '*.pem' | xargs cat",
            "git ls-files '*.rs' sub | xargs cat",
            "git ls-files -o | xargs cat",
            "git ls-files --with-tree=HEAD~2 | xargs cat",
            "git diff --name-only HEAD~2 | xargs cat",
            "git diff --name-only HEAD~2 HEAD~1 | xargs cat",
            "git add -f .env; git ls-files '.e*' | xargs cat; git rm -q --cached .env",
            "git rm -q --cached sub/x.pem; git diff --name-only --cached | xargs cat; git add sub",
        ] {
            assert!(bash(&project, script).contains("KEY"), "{script}");
            assert!(!is_harmless(&project, script), "{script}");
        }
        // The name is relative to the working tree, and another file has it below `sub`.
        bash(&project, "mkdir -p sub/sub && echo KEY > sub/sub/x.pem && echo 2 > sub/x.pem");
        let sub = project.join("sub");
        let script = "git diff --name-only | xargs cat";
        assert!(bash(&sub, script).contains("KEY"));
        assert!(!is_harmless(&sub, script));
    }

    /// A word of a printed name can be a complete path, also if the file was removed.
    #[test]
    fn names_of_removed_files_are_no_paths_elsewhere() {
        let (_dir, project) = repository();
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().canonicalize().unwrap().join("note");
        std::fs::write(&secret, "OUTSIDE").unwrap();
        bash(
            &project,
            &format!(
                "git rm -q --cached sub/x.pem && git commit -qm 4 && \
                 mkdir -p 'a {dir}' && echo 1 > 'a {secret}' && git add a* && git commit -qm 5 && \
                 rm -r a*",
                dir = outside.path().canonicalize().unwrap().display(),
                secret = secret.display(),
            ),
        );
        let scripts = [
            "git ls-files | xargs cat",
            "cat $(git ls-files -d)",
            "git diff --name-only | xargs cat",
            "git grep --cached -l 1 | xargs cat",
        ];
        for script in scripts {
            assert!(bash(&project, script).contains("OUTSIDE"), "{script}");
            assert!(!is_harmless(&project, script), "{script}");
        }
        bash(&project, "git commit -qam 6 && rm .env sub/x.pem");
        for script in [
            "git diff --name-only HEAD~1 | xargs cat",
            "git diff --name-only HEAD~2 HEAD~1 | xargs cat",
            "git diff --name-only HEAD~2..HEAD~1 | xargs cat",
            "git diff --name-only --diff-filter=D HEAD~1 | xargs head",
            "cat $(git diff HEAD~1 --name-only)",
            "f=$(git diff HEAD~1 --name-only); cat $f",
            "git ls-files --with-tree=HEAD~1 | xargs cat",
            "git grep -l 1 HEAD~1 | xargs cat",
            "git grep -l 1 HEAD~1 -- a* | xargs cat",
            "git diff --name-only --diff-filter= HEAD~1 | xargs cat",
            "git diff --name-only --diff-filter=D --diff-filter=A HEAD~1 | xargs cat",
            "git diff --name-only --diff-filter=A 'HEAD~1^!' | xargs cat",
            "git reset -q --soft HEAD~1; git diff --name-only --cached | xargs cat; git reset -q --soft ORIG_HEAD",
        ] {
            assert!(bash(&project, script).contains("OUTSIDE"), "{script}");
            assert!(!is_harmless(&project, script), "{script}");
        }
        for script in scripts.into_iter().chain([
            "git diff --name-only --diff-filter=d HEAD~1 | xargs cat",
            "git diff --name-only --diff-filter=ACM HEAD~1 | xargs cat",
            "git diff --name-only -- sub | xargs cat",
            "git diff --name-only --diff-filter=ACMR --cached -- '*.rs' | xargs cat",
            "git diff --name-only HEAD~1 | while read -r f; do cat \"$f\"; done",
            "git diff --name-only HEAD~1 | xargs -d '\\n' cat",
            "git grep -l 1 -- '*.rs' | xargs cat",
            "git grep -l -e 1 | xargs cat",
        ]) {
            assert!(!bash(&project, script).contains("OUTSIDE"), "{script}");
            assert!(is_harmless(&project, script), "{script}");
        }
    }
}
