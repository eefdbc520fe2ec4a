//! The decision whether a program repeats the creation of files that make `git` run something.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use crate::protected_paths::{GitSetting, find_external_hooks, open_regular};

/// The files that were quarantined while the program ran.
///
/// All hooks and the configuration of one repository count as one occasion, because programs that
/// install hooks create several. A file of another repository is the second occasion, and so is the
/// same file again.
#[derive(Debug)]
pub(super) struct RepeatedHooks {
    first_repository: Option<PathBuf>,
    paths: BTreeSet<PathBuf>,
    /// The directories with the hooks that `git` copies into each new repository.
    template_hooks: Vec<PathBuf>,
}

impl RepeatedHooks {
    /// Creates an empty record. `global_settings` are those of the user and the system.
    pub(super) fn new(global_settings: &[GitSetting]) -> Self {
        let templates = global_settings.iter().filter(|one| one.name() == "init.templatedir");
        let template_hooks = find_external_hooks(Path::new("/"), templates)
            .into_iter()
            .map(|template| template.join("hooks"))
            .collect();
        Self { first_repository: None, paths: BTreeSet::new(), template_hooks }
    }

    /// Adds a file, and returns whether it is the second occasion. `held` is its name in
    /// quarantine.
    pub(super) fn is_repetition(
        &mut self,
        path: &Path,
        held: Option<&Path>,
        repository: &Path,
    ) -> bool {
        if held.is_some_and(|held| self.is_from_template(path, held)) {
            return false;
        }
        let first = self.first_repository.get_or_insert_with(|| repository.to_owned());
        let is_new = self.paths.insert(path.to_owned());
        first.as_path() != repository || !is_new
    }

    /// Returns whether the user has this hook in each new repository.
    fn is_from_template(&self, path: &Path, held: &Path) -> bool {
        let name = path.file_name().unwrap_or(OsStr::new(""));
        let is_same = |hooks: &PathBuf| {
            read(&hooks.join(name)).is_ok_and(|text| read(held).is_ok_and(|new| new == text))
        };
        self.template_hooks.iter().any(is_same)
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn another_repository_or_the_same_file_is_a_repetition() {
        let mut hooks = RepeatedHooks::new(&[]);
        let mut add = |path: &str, repository: &str| {
            hooks.is_repetition(Path::new(path), None, Path::new(repository))
        };
        assert!(!add("/w/a/.git/hooks/pre-commit", "/w/a/.git"));
        assert!(!add("/w/a/.git/hooks/pre-push", "/w/a/.git"));
        assert!(!add("/w/a/.git/config", "/w/a/.git"));
        assert!(add("/w/a/.git/config", "/w/a/.git"));
        assert!(add("/w/b/.git/config", "/w/b/.git"));
    }

    #[test]
    fn hooks_of_the_users_template_are_no_repetition() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("template/hooks")).unwrap();
        fs::write(path("template/hooks/pre-commit"), "mine").unwrap();
        fs::write(path("same"), "mine").unwrap();
        fs::write(path("other"), "theirs").unwrap();
        let setting = GitSetting {
            section: "init".to_owned(),
            subsection: None,
            key: "templatedir".to_owned(),
            value: path("template").display().to_string(),
        };
        let mut hooks = RepeatedHooks::new(&[setting]);
        let mut add = |repository: &str, held: &str| {
            let repository = Path::new(repository);
            hooks.is_repetition(&repository.join("hooks/pre-commit"), Some(&path(held)), repository)
        };
        assert!(!add("/w/a", "same") && !add("/w/b", "same"));
        assert!(!add("/w/c", "other"));
        assert!(add("/w/d", "other"));
    }
}
