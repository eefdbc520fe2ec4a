//! Trust records: the permissive settings of a project's files that a person has trusted, by
//! content.
//!
//! The records are kept in this user's state directory, in one file per project. The file is named
//! after the project's path and contains it. A project that was moved or copied is another project.
//! Records inside the project itself are not valid.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;
use serde::{Deserialize, Serialize};

use crate::{
    file_access::{
        find_replaceable_directory, metadata_if_present, open_regular, read_regular_file,
    },
    user_environment::UserEnvironment,
};

/// The version of the file format.
const SCHEMA: u32 = 1;
const MAX_RECORD_BYTES: u64 = 4 << 20;

/// The trust decision of a person about a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustRecord {
    schema: u32,
    /// The project's directory.
    pub project: AbsPath,
    /// True if these settings are trusted. False if a person was asked about them and refused.
    pub trusted: bool,
    /// The permissive settings, as they were shown.
    pub settings: Vec<String>,
}

impl TrustRecord {
    fn trusts_settings(&self, settings: &[String]) -> bool {
        self.trusted && settings.iter().all(|each| self.settings.contains(each))
    }
}

/// Returns the name of a file relative to the first of these directories that contains it.
pub(crate) fn relative_name<'a>(file: &'a str, directories: &[&AbsPath]) -> &'a str {
    let below = |directory: &&AbsPath| {
        let rest = file.strip_prefix(directory.as_str().trim_end_matches('/'))?;
        rest.strip_prefix('/')
    };
    directories.iter().find_map(below).unwrap_or_else(|| file.trim_start_matches('/'))
}

/// The store of the trust records.
#[derive(Clone, Debug)]
pub struct TrustStore {
    directory: Option<PathBuf>,
}

impl TrustStore {
    /// Returns the trust store of this user.
    #[must_use]
    pub fn for_user(environment: &UserEnvironment) -> Self {
        let directory = environment.state.as_ref();
        Self { directory: directory.map(|state| state.join("openoxide").join("trust")) }
    }

    /// Returns the trust record of a project. Records that other users could have written, or that
    /// cannot be read, are ignored.
    #[must_use]
    pub fn find(&self, project: &AbsPath) -> Option<TrustRecord> {
        let path = self.record_path(project)?;
        if find_replaceable_directory(&self.record_directories()).is_some() {
            return None;
        }
        let (_, meta) = open_regular(&path, MAX_RECORD_BYTES).ok()?;
        let own = fs::metadata("/proc/self").ok()?.uid();
        if meta.mode() & 0o022 != 0 || meta.uid() != own {
            return None;
        }
        let vouched: TrustRecord =
            serde_json::from_slice(&read_regular_file(&path, MAX_RECORD_BYTES).ok()?).ok()?;
        (vouched.schema == SCHEMA && vouched.project == *project).then_some(vouched)
    }

    /// Returns the directories that contain the records.
    fn record_directories(&self) -> Vec<&Path> {
        self.directory.iter().flat_map(|path| path.ancestors().take(2)).collect()
    }

    /// Returns whether there is, or may be, a record of a project that cannot be used.
    fn has_unusable_record(&self, project: &AbsPath) -> bool {
        let path = self.record_path(project);
        let is_there = |path: PathBuf| !matches!(metadata_if_present(&path), Ok(None));
        path.is_some_and(is_there) && self.find(project).is_none()
    }

    /// Returns the reason why no trust record is valid, or `None` if records are valid.
    pub(crate) fn directory_problem(&self) -> Option<String> {
        let open = find_replaceable_directory(&self.record_directories())?.display();
        Some(format!(
            "{open}: other users can write to this directory, so no project is trusted; run \
             `chmod go-w {open}`"
        ))
    }

    /// Returns whether all of these settings are trusted. The trust record may contain more
    /// settings.
    #[must_use]
    pub fn is_trusted(&self, project: &AbsPath, settings: &[String]) -> bool {
        self.find(project).is_some_and(|said| said.trusts_settings(settings))
    }

    /// Returns whether the settings are trusted like [`Self::is_trusted`], but for a linked
    /// worktree. Trust in its main checkout is enough, unless a person refused to trust the
    /// worktree itself.
    pub(crate) fn is_worktree_trusted(
        &self,
        worktree: &AbsPath,
        main: &AbsPath,
        settings: &[String],
    ) -> bool {
        match self.find(worktree) {
            Some(said) if !said.trusted => false,
            Some(said) if said.trusts_settings(settings) => true,
            // A record that cannot be used may be a refusal.
            None if self.has_unusable_record(worktree) => false,
            _ => self.is_trusted(main, settings),
        }
    }

    /// Saves the trust decision about these settings of a project, and replaces the previous one.
    ///
    /// # Errors
    /// Returns an error if there is no state directory, or if the record cannot be written.
    pub fn save(&self, project: &AbsPath, settings: &[String], trusted: bool) -> io::Result<()> {
        let (Some(path), Some(directory)) = (self.record_path(project), &self.directory) else {
            return Err(io::Error::other("no state directory: set HOME or XDG_STATE_HOME"));
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let (project, settings) = (project.clone(), settings.to_vec());
        let vouched = TrustRecord { schema: SCHEMA, project, trusted, settings };
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(&serde_json::to_vec_pretty(&vouched)?)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    /// Removes the trust record of a project. Returns whether there was one.
    ///
    /// # Errors
    /// Returns an error if the record cannot be removed.
    pub fn revoke(&self, project: &AbsPath) -> io::Result<bool> {
        let Some(path) = self.record_path(project) else { return Ok(false) };
        match fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the path of a project's record. Its name is the FNV-1a hash of the project's path;
    /// the file contains the path itself.
    pub(crate) fn record_path(&self, project: &AbsPath) -> Option<PathBuf> {
        let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        let name = project.as_str().bytes().fold(0xCBF2_9CE4_8422_2325, step);
        Some(self.directory.as_ref()?.join(format!("{name:016x}.json")))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).unwrap()
    }

    fn trust() -> (tempfile::TempDir, TrustStore) {
        let dir = tempfile::tempdir().unwrap();
        let state = Some(dir.path().to_owned());
        (dir, TrustStore::for_user(&UserEnvironment { state, ..UserEnvironment::default() }))
    }

    /// Guards I10.
    #[test]
    fn trust_is_bound_to_the_project_and_its_content() {
        let (_dir, trust) = trust();
        let settings = ["allow Bash(make *)".to_owned(), "mode accept_edits".to_owned()];
        assert!(!trust.is_trusted(&path("/p"), &settings));
        trust.save(&path("/p"), &settings, true).unwrap();
        assert!(trust.is_trusted(&path("/p"), &settings));
        assert!(trust.is_trusted(&path("/p"), &settings[..1]), "less than was vouched for");
        assert!(!trust.is_trusted(&path("/q"), &settings), "another project");
        assert!(
            !trust.is_trusted(&path("/p"), &["allow Bash".to_owned()]),
            "more than was vouched for"
        );
        assert!(trust.revoke(&path("/p")).unwrap());
        assert!(!trust.is_trusted(&path("/p"), &settings));
        assert!(!trust.revoke(&path("/p")).unwrap());
    }

    #[test]
    fn a_worktree_has_the_trust_of_its_main_checkout_unless_it_was_refused() {
        let (_dir, trust) = trust();
        let settings = ["allow Bash(make *)".to_owned()];
        let covers = || trust.is_worktree_trusted(&path("/w"), &path("/p"), &settings);
        assert!(!covers());
        trust.save(&path("/p"), &settings, true).unwrap();
        assert!(covers());
        trust.save(&path("/w"), &["allow Bash".to_owned()], true).unwrap();
        assert!(covers(), "other settings were vouched for there");
        trust.save(&path("/w"), &settings, false).unwrap();
        assert!(!covers(), "a no to the worktree stands");
        let record = trust.record_path(&path("/w")).unwrap();
        fs::write(&record, "damaged").unwrap();
        assert!(!covers(), "a record that cannot be read may be a no");
        fs::remove_file(&record).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", &record).unwrap();
        assert!(!covers(), "as may a link without a target");
        fs::remove_file(&record).unwrap();
        assert!(covers());
        trust.save(&path("/w"), &settings, true).unwrap();
        trust.revoke(&path("/p")).unwrap();
        assert!(covers(), "a yes to the worktree stands for itself");
    }

    #[test]
    fn a_file_is_named_relative_to_the_directory_that_contains_it() {
        let places = [&path("/w/p"), &path("/w/p2")];
        assert_eq!(relative_name("/w/p/.openoxide/x", &places), ".openoxide/x");
        assert_eq!(relative_name("/w/p2/.openoxide/x", &places), ".openoxide/x");
        assert_eq!(relative_name("/w/p3/x", &places), "w/p3/x");
    }

    #[test]
    fn a_refusal_is_remembered_and_is_not_trust() {
        let (_dir, trust) = trust();
        trust.save(&path("/p"), &["allow Bash".to_owned()], false).unwrap();
        assert!(!trust.is_trusted(&path("/p"), &["allow Bash".to_owned()]));
        assert!(!trust.find(&path("/p")).unwrap().trusted);
    }

    #[test]
    fn records_that_others_could_have_written_are_ignored() {
        let (_dir, trust) = trust();
        trust.save(&path("/p"), &[], true).unwrap();
        let file = trust.record_path(&path("/p")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(trust.find(&path("/p")), None);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        for (mode, valid) in [(0o777, false), (0o1777, true), (0o700, true)] {
            let directory = trust.directory.as_ref().unwrap();
            fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(trust.find(&path("/p")).is_some(), valid, "{mode:o}");
            assert_eq!(trust.directory_problem().is_none(), valid, "{mode:o}");
        }
        // A renamed record of one project is not valid for another project.
        fs::rename(&file, trust.record_path(&path("/q")).unwrap()).unwrap();
        assert_eq!(trust.find(&path("/q")), None);
    }
}
