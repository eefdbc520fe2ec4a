//! From policy files to the policy that is in force.

use std::path::{Path, PathBuf};

use openoxide_permission::{
    AdditionalDirectory, CombiningAlgorithm, Hook, Layer, LayerKind, PathAnchors, PolicyStack,
    default_layer,
};
use openoxide_protocol::{AbsPath, Effect, PermissionMode};
use serde::{Deserialize, Serialize};

use crate::{
    file_access::{
        ReadError, find_replaceable_directory, is_writable_by_others, is_writable_only_by_root,
        metadata_if_present, read_text,
    },
    grant_file::{self, GrantEntry, GrantFile},
    hook_trust,
    policy_cache::{CacheMetadata, PolicyCache},
    policy_file::{ManagedSettings, PolicyProblem, SandboxSettings},
    policy_sources::{PolicySource, SourceUse, UserEnvironment},
    trust_store::{TrustStore, relative_name},
};

mod directories;
mod sandbox_settings;

pub(crate) use directories::resolve_directory;
pub use directories::{DirectoryState, ResolvedDirectory};
use sandbox_settings::LayerSandboxSettings;

/// No policy file is longer.
const MAX_POLICY_BYTES: u64 = 64 << 20;

/// A loaded policy.
#[derive(Clone, Debug, Default)]
pub struct LoadedPolicy {
    /// The policy in force, with the limited grants.
    pub(crate) policy: PolicyStack,
    /// Its layers, the most precedent first; none when the policy came from the cache.
    pub layers: Vec<Layer>,
    /// The hooks that count, in the order of the layers.
    pub hooks: Vec<Hook>,
    /// The hooks of projects that are ignored because they are not trusted; empty when the policy
    /// came from the cache.
    pub untrusted_hooks: Vec<Hook>,
    /// The additional directories that count as the project's, in each spelling.
    pub roots: Vec<AbsPath>,
    /// Each directory that a file names, in the order of the layers; none when the policy came from the cache.
    pub directories: Vec<ResolvedDirectory>,
    /// The sandbox settings.
    pub sandbox: SandboxSettings,
    /// Each directory that a file wants to be writable in it, in the order of the layers; none when the policy came from the cache.
    pub writable: Vec<ResolvedDirectory>,
    /// The reason why nothing may be allowed: rules that ask or deny may be missing.
    pub policy_error: Option<String>,
    /// The reason why nothing may be done: the managed policy has errors (DECISIONS 16).
    pub managed_policy_error: Option<String>,
    /// The files that have something wrong with them.
    pub broken_files: Vec<BrokenFile>,
    /// Further notes for the user.
    pub notes: Vec<String>,
    /// The projects with permissive settings that are not trusted.
    pub untrusted_projects: Vec<UntrustedProject>,
    /// The restrictions that an administrator sets for all users.
    pub managed: ManagedSettings,
    /// The locations of the settings that make every allow depend on an audit record; empty when
    /// the policy came from the cache.
    pub audit: Vec<String>,
    /// The limited grants, and the policy without them.
    pub(crate) limited_grants: Option<LimitedGrants>,
    /// The tasks other than this one in which grants are valid.
    other_tasks: Vec<String>,
    /// True if the policy depends on the files alone. A policy with hooks does not, because their
    /// scripts can change.
    is_cacheable: bool,
}

/// Grants that are valid for a number of uses, until a moment, or below a directory.
#[derive(Clone, Debug)]
pub(crate) struct LimitedGrants {
    /// Those that are in force.
    pub(crate) entries: Vec<GrantEntry>,
    /// The policy without them.
    pub(crate) policy_without: PolicyStack,
}

/// A project whose settings would loosen, and do not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntrustedProject {
    /// Its directory.
    pub project: AbsPath,
    /// The settings, as a person is shown them.
    pub settings: Vec<String>,
}

/// A file that has something wrong with it.
#[derive(Clone, Debug)]
pub struct BrokenFile {
    /// The path of the file.
    pub path: PathBuf,
    /// Its text; empty when it could not be read.
    pub text: String,
    /// The problems in the file.
    pub problems: Vec<PolicyProblem>,
}

/// Loads the files that exist and compiles them, together with the built-in layer.
///
/// The compiled policy is taken from the cache if no file has changed since. It is stored there if
/// there are no errors. A policy with hooks is read each time, so that no hook is lost or changes
/// unnoticed. Compared with the programs that it starts, this costs nothing. Of such a policy, only
/// the last good version is stored, for its denies, in case a file becomes invalid. The last good
/// version contains no limited grants.
#[must_use]
pub fn load_policy(sources: &[PolicySource], environment: &UserEnvironment) -> LoadedPolicy {
    let cache = PolicyCache::for_sources(sources, environment);
    if let Some((policy, beside, without)) = cache.as_ref().and_then(PolicyCache::fetch) {
        let CacheMetadata {
            notes,
            untrusted,
            roots,
            sandbox,
            limited_grants: entries,
            other_tasks: elsewhere,
            ..
        } = beside;
        let bounded = without.map(|without| LimitedGrants { entries, policy_without: without });
        let loaded = LoadedPolicy {
            policy,
            notes,
            untrusted_projects: untrusted,
            roots,
            sandbox,
            limited_grants: bounded,
            other_tasks: elsewhere,
            ..LoadedPolicy::default()
        };
        return LoadedPolicy { is_cacheable: true, ..loaded };
    }
    let loaded = read_sources(sources, environment, &[]);
    if let (Some(cache), true) = (&cache, loaded.is_free_of_errors()) {
        loaded.store_in_cache(sources, cache);
    }
    loaded.with_cached_denies(sources, cache.as_ref())
}

/// As [`load_policy`], but from the files themselves, with their layers, and with layers that were made elsewhere (the command line);
/// these rank behind the managed one.
#[must_use]
pub fn load_policy_uncached(
    sources: &[PolicySource],
    environment: &UserEnvironment,
    more: &[Layer],
) -> LoadedPolicy {
    let loaded = read_sources(sources, environment, more);
    let cache = if loaded.policy_error.is_some() {
        PolicyCache::for_sources(sources, environment)
    } else {
        None
    };
    loaded.with_cached_denies(sources, cache.as_ref())
}

impl LoadedPolicy {
    /// Returns the policy for an operation. `are_within_limits` receives the policy with all limited
    /// grants, and these grants. It returns whether the operation keeps to the limits of each grant
    /// that it would use; otherwise none of them applies. It is not called if there are none.
    #[must_use]
    pub fn policy_within_limits(
        &self,
        are_within_limits: impl FnOnce(&PolicyStack, &[GrantEntry]) -> bool,
    ) -> &PolicyStack {
        match &self.limited_grants {
            Some(limited) if !are_within_limits(&self.policy, &limited.entries) => {
                &limited.policy_without
            }
            _ => &self.policy,
        }
    }

    /// Returns the policy without the limited grants, for questions that no command grant answers:
    /// what a sandbox restricts, which tools are denied.
    #[must_use]
    pub fn policy_without_limited_grants(&self) -> &PolicyStack {
        self.limited_grants.as_ref().map_or(&self.policy, |limited| &limited.policy_without)
    }

    /// Replaces the policy by one that has no limited grants.
    pub fn set_policy(&mut self, policy: PolicyStack) {
        self.policy = policy;
        self.limited_grants = None;
    }

    /// Returns the mode that the policy sets.
    #[must_use]
    pub fn mode(&self) -> Option<PermissionMode> {
        self.policy.mode()
    }

    /// Returns the mode that is in force if `mode` is chosen: the managed policy can disable modes.
    #[must_use]
    pub fn effective_mode(&self, mode: PermissionMode) -> PermissionMode {
        self.policy.effective_mode(mode)
    }

    /// Returns whether every allow depends on an audit record.
    #[must_use]
    pub fn requires_audit(&self) -> bool {
        self.policy.requires_audit()
    }

    /// Returns whether a rule counts repetitions of a call.
    #[must_use]
    pub fn has_repetition_rules(&self) -> bool {
        self.policy.has_repetition_rules()
    }

    /// Returns whether every file could be read and contains no errors.
    pub(crate) fn is_free_of_errors(&self) -> bool {
        self.broken_files.is_empty()
            && self.policy_error.is_none()
            && self.managed_policy_error.is_none()
    }

    /// Returns the metadata that is stored next to the compiled policy.
    fn cache_metadata(&self) -> CacheMetadata {
        let (notes, untrusted) = (self.notes.clone(), self.untrusted_projects.clone());
        let (roots, sandbox) = (self.roots.clone(), self.sandbox.clone());
        let led = self.directories.iter().chain(&self.writable);
        let led = led.map(|one| (one.directory.path.clone(), one.resolved_path.clone())).collect();
        let bounded =
            self.limited_grants.iter().flat_map(|bounded| bounded.entries.clone()).collect();
        let elsewhere = self.other_tasks.clone();
        CacheMetadata {
            notes,
            untrusted,
            roots,
            sandbox,
            directory_targets: led,
            limited_grants: bounded,
            other_tasks: elsewhere,
        }
    }

    /// Returns whether both policies decide the same and report the same to the user.
    pub(crate) fn is_equivalent(&self, other: &Self) -> bool {
        let grounds = |of: &Self| {
            (of.policy_error.clone(), of.managed_policy_error.clone(), of.notes.clone())
        };
        let bounded =
            |of: &Self| of.limited_grants.as_ref().map(|bounded| bounded.policy_without.clone());
        self.policy == other.policy
            && self.hooks == other.hooks
            && self.roots == other.roots
            && self.sandbox == other.sandbox
            && bounded(self) == bounded(other)
            && grounds(self) == grounds(other)
    }

    /// Keeps what can be kept of a good policy.
    fn store_in_cache(&self, sources: &[PolicySource], cache: &PolicyCache) {
        if self.is_cacheable {
            let without = self.limited_grants.as_ref().map(|bounded| &bounded.policy_without);
            cache.store(&self.policy, &self.cache_metadata(), without);
        } else if !has_named_source(sources) {
            cache.store_last_good(self.policy_without_limited_grants());
        }
    }

    /// Keeps the denies of the last good version of the same files in force if rules may be
    /// missing. Does not apply to files that a person named.
    fn with_cached_denies(self, sources: &[PolicySource], cache: Option<&PolicyCache>) -> Self {
        match cache {
            Some(cache) if self.policy_error.is_some() && !has_named_source(sources) => {
                self.with_fallback_denies(cache.load_last_good())
            }
            _ => self,
        }
    }

    /// Lets the denies of an older policy hold.
    pub(crate) fn with_fallback_denies(self, before: Option<PolicyStack>) -> Self {
        let Some(before) = before else { return self };
        let held = |policy: PolicyStack| policy.with_fallback_denies(before.clone());
        let bounded = self.limited_grants.map(|bounded| LimitedGrants {
            policy_without: held(bounded.policy_without),
            ..bounded
        });
        Self { policy: held(self.policy), limited_grants: bounded, ..self }
    }
}

fn has_named_source(sources: &[PolicySource]) -> bool {
    sources.iter().any(|source| source.required)
}

#[derive(Default)]
struct PolicyLoader {
    /// The layers, each with its project if the file is in one.
    layers: Vec<(Option<AbsPath>, Layer)>,
    /// The hooks, each with the path for which a trust record is required: a project, or a file
    /// that was named.
    hooks: Vec<(Option<AbsPath>, Hook)>,
    untrusted_hooks: Vec<Hook>,
    /// The additional directories, each with the directory for which a trust record is required, if
    /// any.
    directories: Vec<(Option<AbsPath>, ResolvedDirectory)>,
    /// The same of those that shall be writable in the sandbox.
    writable: Vec<(Option<AbsPath>, ResolvedDirectory)>,
    /// The sandbox settings of each file, with its project if the file is in one.
    sandbox: Vec<(Option<AbsPath>, LayerSandboxSettings)>,
    /// Linked worktrees, each with its main checkout.
    worktrees: Vec<(AbsPath, AbsPath)>,
    broken_files: Vec<BrokenFile>,
    notes: Vec<String>,
    untrusted_projects: Vec<UntrustedProject>,
    managed: ManagedSettings,
    audit: Vec<String>,
    asks_unproved: bool,
    limited_grants: Vec<GrantEntry>,
    /// The tasks other than this one in which grants are valid.
    other_tasks: Vec<String>,
    policy_error: Option<String>,
    managed_policy_error: Option<String>,
}

/// Reads the files as they are.
fn read_sources(
    sources: &[PolicySource],
    environment: &UserEnvironment,
    more: &[Layer],
) -> LoadedPolicy {
    let mut reading = PolicyLoader::default();
    for source in sources {
        reading.read_source(source, environment);
    }
    let at =
        reading.layers.iter().take_while(|(_, layer)| layer.kind == LayerKind::Managed).count();
    reading.layers.splice(at..at, more.iter().cloned().map(|layer| (None, layer)));
    let lasting = reading.hooks.is_empty();
    reading.apply_trust(&TrustStore::for_user(environment));
    LoadedPolicy { is_cacheable: lasting, ..reading.finish() }
}

/// Returns the policy for the case that even the built-in layer cannot be compiled: nothing is
/// allowed.
fn closed_policy() -> LoadedPolicy {
    let closed = Some("the built-in policy cannot be compiled".to_owned());
    LoadedPolicy {
        policy_error: closed.clone(),
        managed_policy_error: closed,
        ..LoadedPolicy::default()
    }
}

impl PolicyLoader {
    fn read_source(&mut self, source: &PolicySource, environment: &UserEnvironment) {
        let home = environment.home.as_ref();
        // `/dev/null` is the usual way to name no policy.
        if source.path == Path::new("/dev/null") {
            return;
        }
        if let SourceUse::Unavailable(problem) = &source.usage {
            return self
                .add_unreadable(source, &ReadError::Io(std::io::Error::other(problem.clone())));
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
            Err(ReadError::Missing) if !source.required => {
                if let Err(error) = metadata_if_present(&source.path) {
                    self.add_unreadable(source, &ReadError::Io(error));
                }
            }
            Err(error) => self.add_unreadable(source, &error),
        }
    }

    /// A file that others could have written may have lost its restrictive rules.
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
                        "{name}: others than you can replace it, because they can write the directory `{open}`; \
                         run `chmod o-w {open}`"
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
        if file.problems.iter().any(|problem| problem.loses_restriction) {
            self.record_policy_error(
                source,
                &format!("{name} has errors, so a rule may be missing"),
            );
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

    /// Drops the permissive settings of each project that is not trusted, and adds a note about it.
    fn apply_trust(&mut self, trust: &TrustStore) {
        self.notes.extend(trust.directory_problem());
        let mut projects: Vec<AbsPath> = Vec::new();
        let of_layers = self.layers.iter().filter_map(|(of, _)| of.as_ref());
        let of_hooks = self.hooks.iter().filter_map(|(of, _)| of.as_ref());
        let of_directories = self.directories.iter().chain(&self.writable);
        let of_directories = of_directories.filter_map(|(of, _)| of.as_ref());
        for project in of_layers.chain(of_hooks).chain(of_directories) {
            if !projects.contains(project) {
                projects.push(project.clone());
            }
        }
        for project in projects {
            let settings = self.describe_loosening(&project);
            if settings.is_empty() || self.is_trusted(trust, &project, &settings) {
                continue;
            }
            let before = self.was_trusted(trust, &project);
            self.drop_loosening(&project, before);
            self.notes.push(untrusted_message(&project, settings.len()));
            self.untrusted_projects.push(UntrustedProject { project, settings });
        }
        self.disable_unclear_hooks();
    }

    /// Returns what the files of a project would loosen, a line each.
    fn describe_loosening(&self, project: &AbsPath) -> Vec<String> {
        fn of<'a, T>(
            all: &'a [(Option<AbsPath>, T)],
            project: &AbsPath,
        ) -> impl Iterator<Item = &'a T> {
            all.iter().filter(move |(of, _)| of.as_ref() == Some(project)).map(|(_, one)| one)
        }
        let checkouts: Vec<&AbsPath> =
            std::iter::once(project).chain(self.main_checkout(project)).collect();
        let layers =
            of(&self.layers, project).flat_map(|layer| describe_layer_loosening(layer, &checkouts));
        let directories = of(&self.directories, project)
            .filter_map(|one| one.describe_setting("directory", &checkouts))
            .chain(
                of(&self.writable, project)
                    .filter_map(|one| one.describe_setting("sandbox writable", &checkouts)),
            );
        let sandbox =
            of(&self.sandbox, project).flat_map(|said| said.describe_loosening(&checkouts));
        let hooks = of(&self.hooks, project);
        let hooks = hooks.map(|hook| {
            let base = hook.project.as_ref().unwrap_or(project);
            let places = [&[base], checkouts.as_slice()].concat();
            hook_trust::describe_setting(hook, base, &places)
        });
        layers.chain(directories).chain(sandbox).chain(hooks).collect()
    }

    fn main_checkout(&self, project: &AbsPath) -> Option<&AbsPath> {
        let found = self.worktrees.iter().find(|(worktree, _)| worktree == project);
        found.map(|(_, main)| main)
    }

    fn is_trusted(&self, trust: &TrustStore, project: &AbsPath, settings: &[String]) -> bool {
        match self.main_checkout(project) {
            Some(main) => trust.is_worktree_trusted(project, main, settings),
            None => trust.is_trusted(project, settings),
        }
    }

    /// Returns whether a person trusted this project with other settings.
    fn was_trusted(&self, trust: &TrustStore, project: &AbsPath) -> bool {
        let places = std::iter::once(project).chain(self.main_checkout(project));
        places.filter_map(|place| trust.find(place)).any(|said| said.trusted)
    }

    /// Leaves out what would loosen in a project.
    fn drop_loosening(&mut self, project: &AbsPath, before: bool) {
        let own = |of: &Option<AbsPath>| of.as_ref() == Some(project);
        self.layers
            .iter_mut()
            .filter(|(of, _)| own(of))
            .for_each(|(_, layer)| drop_layer_loosening(layer));
        let directories = self.directories.iter_mut().chain(&mut self.writable);
        directories.filter(|(of, _)| own(of)).for_each(|(_, one)| one.mark_untrusted());
        self.sandbox
            .iter_mut()
            .filter(|(of, _)| own(of))
            .for_each(|(_, said)| said.drop_loosening());
        self.drop_untrusted_hooks(project, before);
    }

    /// Drops the hooks of an untrusted project. In two cases they stay and ask instead. The first
    /// is a file that a person named, because its allows apply. The second is a project that was
    /// trusted `before` its settings changed, because changing a hook must not disable it.
    fn drop_untrusted_hooks(&mut self, project: &AbsPath, before: bool) {
        let (of_it, mut kept): (Vec<_>, Vec<_>) =
            self.hooks.drain(..).partition(|(of, _)| of.as_ref() == Some(project));
        for (of, hook) in of_it {
            let hook = Hook { is_trusted: false, ..hook };
            let found = self.layers.iter().any(|(own, _)| own.as_ref() == Some(project));
            if found && !before { self.untrusted_hooks.push(hook) } else { kept.push((of, hook)) }
        }
        self.hooks = kept;
    }

    /// Disables the hooks of projects for which the files that they run cannot be determined. These
    /// files could change unnoticed.
    fn disable_unclear_hooks(&mut self) {
        let of_projects = self.hooks.iter_mut().filter(|(of, _)| of.is_some());
        for (_, hook) in
            of_projects.filter(|(_, hook)| !hook_trust::has_literal_paths(&hook.command))
        {
            hook.is_trusted = false;
            let (file, line) = (&hook.file, hook.line);
            self.notes.push(format!(
                "{file}:{line}: hook skipped: cannot determine which files it runs; use literal paths \
                 below `\"$CLAUDE_PROJECT_DIR\"/`, or move the command into a script"
            ));
        }
    }

    fn finish(mut self) -> LoadedPolicy {
        if self.managed.allow_managed_rules_only {
            let others =
                self.layers.iter_mut().filter(|(_, layer)| layer.kind != LayerKind::Managed);
            others.for_each(|(_, layer)| layer.rules.clear());
            let directories = self.directories.iter_mut().chain(&mut self.writable);
            directories.for_each(|(_, one)| one.ignore_unless_managed());
            let others = self.sandbox.iter_mut().map(|(_, said)| said);
            others
                .filter(|said| said.kind != LayerKind::Managed)
                .for_each(LayerSandboxSettings::drop_loosening);
        }
        let directories: Vec<_> = self.directories.drain(..).map(|(_, one)| one).collect();
        let writable: Vec<_> = self.writable.drain(..).map(|(_, one)| one).collect();
        let sandbox = sandbox_settings::merge_settings(
            self.sandbox.drain(..).map(|(_, said)| said),
            &writable,
        );
        let roots = directories.iter().flat_map(ResolvedDirectory::active_spellings).collect();
        let hooks = self.take_effective_hooks();
        let mut layers: Vec<Layer> = self.layers.into_iter().map(|(_, layer)| layer).collect();
        layers.push(default_layer());
        let policy = PolicyStack::compile(&layers).or_else(|error| {
            self.policy_error.get_or_insert_with(|| error.to_string());
            PolicyStack::compile(&[default_layer()])
        });
        let Ok(policy) = policy else { return closed_policy() };
        let bars = |policy: PolicyStack| {
            let no_bypass = self.managed.disable_bypass_permissions;
            let policy = if no_bypass { policy.without_bypass() } else { policy };
            let policy = if self.asks_unproved { policy.with_unproved_asks() } else { policy };
            if self.audit.is_empty() { policy } else { policy.with_audit() }
        };
        let bounded = compile_limited_grants(self.limited_grants, &layers).map(|bounded| {
            LimitedGrants { policy_without: bars(bounded.policy_without), ..bounded }
        });
        let policy = bars(policy);
        let Self {
            untrusted_hooks: unheeded,
            broken_files: broken,
            notes,
            untrusted_projects: untrusted,
            managed,
            audit,
            policy_error: doubt,
            managed_policy_error: closed,
            ..
        } = self;
        let elsewhere = self.other_tasks;
        LoadedPolicy {
            policy,
            layers,
            hooks,
            untrusted_hooks: unheeded,
            roots,
            directories,
            sandbox,
            writable,
            policy_error: doubt,
            managed_policy_error: closed,
            broken_files: broken,
            notes,
            untrusted_projects: untrusted,
            managed,
            audit,
            limited_grants: bounded,
            other_tasks: elsewhere,
            is_cacheable: false,
        }
    }

    /// Returns the hooks that an administrator leaves. Where no other rules count, other hooks allow nothing.
    fn take_effective_hooks(&mut self) -> Vec<Hook> {
        let managed = self.managed;
        let mut hooks: Vec<Hook> = self.hooks.drain(..).map(|(_, hook)| hook).collect();
        hooks.retain(|hook| hook.layer == LayerKind::Managed || !managed.allow_managed_hooks_only);
        for hook in hooks.iter_mut().filter(|hook| hook.layer != LayerKind::Managed) {
            hook.may_allow &= !managed.allow_managed_rules_only;
        }
        hooks
    }

    fn add_unreadable(&mut self, source: &PolicySource, error: &ReadError) {
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

/// Returns what a project's layer would loosen, a line each. Where the order of rules decides, each rule could.
fn describe_layer_loosening(layer: &Layer, checkouts: &[&AbsPath]) -> Vec<String> {
    let file = relative_name(layer.file.as_deref().unwrap_or_default(), checkouts);
    let allows = layer.rules.iter().any(|rule| rule.effect == Effect::Allow);
    let ordered = allows && layer.combining_algorithm != CombiningAlgorithm::Strictest;
    let rules = layer.rules.iter().enumerate().filter_map(|(at, rule)| {
        let text = format!("{} {}", rule.effect.as_str(), rule.text);
        match rule.effect {
            _ if ordered => Some(format!("{file}: {}. {text}", at + 1)),
            Effect::Allow => Some(format!("{file}: {text}")),
            Effect::Ask | Effect::Deny => None,
        }
    });
    let combining =
        ordered.then(|| format!("{file}: combining {}", layer.combining_algorithm.as_str()));
    let mode = layer.mode.map(|mode| format!("{file}: mode {}", mode.as_str()));
    mode.into_iter().chain(combining).chain(rules).collect()
}

/// Compiles the policy without the limited grants. If it cannot be compiled, neither can the policy
/// with them, and the built-in layer replaces both.
fn compile_limited_grants(entries: Vec<GrantEntry>, layers: &[Layer]) -> Option<LimitedGrants> {
    if entries.is_empty() {
        return None;
    }
    let mut layers = layers.to_vec();
    let granted = layers.iter_mut().filter(|layer| grant_file::is_grant_layer(layer));
    granted.for_each(|layer| {
        layer.rules.retain(|rule| entries.iter().all(|entry| entry.line != rule.line));
    });
    let compiled = PolicyStack::compile(&layers);
    let compiled = compiled.or_else(|_| PolicyStack::compile(&[default_layer()]));
    Some(LimitedGrants { entries, policy_without: compiled.unwrap_or_default() })
}

fn untrusted_message(project: &AbsPath, settings: usize) -> String {
    let settings = match settings {
        1 => "1 permissive setting".to_owned(),
        more => format!("{more} permissive settings"),
    };
    let named =
        if Path::new(project.as_str()).is_file() { format!(" {project}") } else { String::new() };
    format!("{project}: {settings} ignored: project not trusted (run `openoxide trust{named}`)")
}

fn drop_layer_loosening(layer: &mut Layer) {
    layer.rules.retain(|rule| rule.effect != Effect::Allow);
    layer.mode = None;
}

#[cfg(test)]
mod tests;
