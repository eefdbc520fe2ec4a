//! Reading policy files in order.

use std::path::{Path, PathBuf};

use openoxide_permission::{AdditionalDirectory, Hook, Layer, LayerKind, PathAnchors};
use openoxide_protocol::AbsPath;

use super::sandbox_settings::LayerSandboxSettings;
use crate::{
    file_access::{
        FileReadError, find_replaceable_directory, is_writable_by_others, is_writable_only_by_root,
        metadata_if_present, read_text,
    },
    grant_file::{GrantEntry, GrantFile},
    loaded_policy::{BrokenFile, UntrustedProject},
    policy_file::{ManagedSettings, PolicyProblem},
    policy_sources::{PolicySource, SourceUse},
    resolved_directory::ResolvedDirectory,
    user_environment::UserEnvironment,
};

/// The maximum size of a policy file.
const MAX_POLICY_BYTES: u64 = 64 << 20;

/// The policy files that were read so far.
#[derive(Default)]
pub(super) struct PolicyLoader {
    /// The layers, each with its project if the file is inside one.
    pub(super) layers: Vec<(Option<AbsPath>, Layer)>,
    /// The hooks, each with the path for which a trust record is required: a project, or a file
    /// that a person named.
    pub(super) hooks: Vec<(Option<AbsPath>, Hook)>,
    pub(super) untrusted_hooks: Vec<Hook>,
    /// The additional directories, each with the directory for which a trust record is required, if
    /// any.
    pub(super) directories: Vec<(Option<AbsPath>, ResolvedDirectory)>,
    /// The directories that are writable in the sandbox, each with the directory for which a trust
    /// record is required, if any.
    pub(super) writable: Vec<(Option<AbsPath>, ResolvedDirectory)>,
    /// The sandbox settings of each file, with its project if the file is inside one.
    pub(super) sandbox: Vec<(Option<AbsPath>, LayerSandboxSettings)>,
    /// Linked worktrees, each with its main checkout.
    pub(super) worktrees: Vec<(AbsPath, AbsPath)>,
    pub(super) broken_files: Vec<BrokenFile>,
    pub(super) notes: Vec<String>,
    pub(super) untrusted_projects: Vec<UntrustedProject>,
    pub(super) managed: ManagedSettings,
    pub(super) audit: Vec<String>,
    pub(super) asks_unproved: bool,
    pub(super) limited_grants: Vec<GrantEntry>,
    /// The tasks other than this one in which grants are valid.
    pub(super) other_tasks: Vec<String>,
    pub(super) policy_error: Option<String>,
    pub(super) managed_policy_error: Option<String>,
}

impl PolicyLoader {
    /// Reads one source, if it exists.
    pub(super) fn read_source(&mut self, source: &PolicySource, environment: &UserEnvironment) {
        let home = environment.home.as_ref();
        // `/dev/null` is the usual way to specify an empty policy.
        if source.path == Path::new("/dev/null") {
            return;
        }
        if let SourceUse::Unavailable(problem) = &source.usage {
            return self.add_unreadable(
                source,
                &FileReadError::Io(std::io::Error::other(problem.clone())),
            );
        }
        if source.is_grant_file {
            let granted = GrantFile::for_project(environment, &source.base).load_layer(home);
            self.notes.extend(granted.notes);
            self.limited_grants.extend(granted.limited);
            self.other_tasks.extend(granted.other_tasks);
            self.layers.push((None, granted.layer));
            return;
        }
        match read_text(&source.path, MAX_POLICY_BYTES) {
            Ok(text) => {
                self.check_owner(source, environment);
                self.parse_source(source, text, environment);
            }
            Err(FileReadError::Missing) if !source.required => {
                if let Err(error) = metadata_if_present(&source.path) {
                    self.add_unreadable(source, &FileReadError::Io(error));
                }
            }
            Err(error) => self.add_unreadable(source, &error),
        }
    }

    /// Reports a file that other users could have written, because it may have lost restrictive
    /// rules.
    fn check_owner(&mut self, source: &PolicySource, environment: &UserEnvironment) {
        let name = source.path.display();
        let directories = source.guarded_directories(environment);
        let directories: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
        match source.kind {
            LayerKind::Managed if !is_writable_only_by_root(&source.path) => {
                self.record_policy_error(
                    source,
                    &format!("{name}: users other than root can write it or its directory"),
                );
            }
            LayerKind::User if is_writable_by_others(&source.path) => {
                self.record_policy_error(source, &format!("{name}: other users can write it"));
            }
            LayerKind::User => {
                if let Some(open) = find_replaceable_directory(&directories) {
                    let open = open.display();
                    let why = format!(
                        "{name}: other users can replace it, because they can write to the \
                         directory `{open}`; run `chmod o-w {open}`"
                    );
                    self.record_policy_error(source, &why);
                }
            }
            // Files in a project are trusted by their content.
            _ => {}
        }
    }

    fn parse_source(&mut self, source: &PolicySource, text: String, environment: &UserEnvironment) {
        let anchors = PathAnchors { home: source.home_directory(environment), base: &source.base };
        let name = source.path.to_string_lossy();
        let mut file = (source.format.read)(&text, source.kind, &name, anchors);
        if source.usage == SourceUse::RestrictionsOnly {
            file.keep_restrictions();
        }
        self.notes.extend(file.notes);
        if let Some(first) = file.problems.iter().find(|problem| problem.loses_restriction) {
            let (line, why) = (first.line_in(&text), &first.message);
            let error = format!("{name}:{line}: {why}; a rule may be missing");
            self.record_policy_error(source, &error);
        }
        if !file.problems.is_empty() {
            let path = source.path.clone();
            self.broken_files.push(BrokenFile { path, text, problems: file.problems });
        }
        if source.kind == LayerKind::Managed {
            self.managed = file.managed;
        }
        self.audit.extend(file.audit.map(|line| format!("{name}:{line}")));
        self.asks_unproved |= file.asks_unproved;
        self.worktrees.extend(source.main_checkout.clone().map(|main| (source.base.clone(), main)));
        self.directories.extend(resolve_directories(file.directories, source, environment));
        self.writable.extend(resolve_directories(file.writable, source, environment));
        for (_, one) in self.directories.iter().chain(&self.writable) {
            self.notes.extend(one.forbidden_note().filter(|note| !self.notes.contains(note)));
        }
        let project = (!source.may_loosen).then(|| source.base.clone());
        let said = LayerSandboxSettings {
            kind: source.kind,
            file: name.to_string(),
            settings: file.sandbox,
        };
        self.sandbox.push((project.clone(), said));
        let (vouched, own) =
            (source.trust_path(), project.as_ref().or(source.hook_project.as_ref()));
        let hooks = file.hooks.into_iter().map(|hook| Hook { project: own.cloned(), ..hook });
        self.hooks.extend(hooks.map(|hook| (vouched.clone(), hook)));
        self.layers.push((project, file.layer));
    }

    fn add_unreadable(&mut self, source: &PolicySource, error: &FileReadError) {
        let name = source.path.display();
        self.record_policy_error(source, &format!("{name} cannot be read: {error}"));
        let message = format!("the policy cannot be read: {error}");
        let problem = PolicyProblem { message, help: None, span: 0..0, loses_restriction: true };
        let path = source.path.clone();
        self.broken_files.push(BrokenFile { path, text: String::new(), problems: vec![problem] });
    }

    fn record_policy_error(&mut self, source: &PolicySource, why: &str) {
        let place = if source.kind == LayerKind::Managed {
            &mut self.managed_policy_error
        } else {
            &mut self.policy_error
        };
        place.get_or_insert_with(|| why.to_owned());
    }
}

/// Resolves the directories of a file, each with the directory for which a trust record is
/// required, if any.
fn resolve_directories(
    found: Vec<AdditionalDirectory>,
    source: &PolicySource,
    environment: &UserEnvironment,
) -> impl Iterator<Item = (Option<AbsPath>, ResolvedDirectory)> {
    let look = |one| ResolvedDirectory::resolve(one, environment);
    found.into_iter().map(look).map(|one| (one.required_trust_root(source, environment), one))
}
