//! The engine: the policy in force for one directory, and the decisions that it makes.

use std::{
    path::Path,
    sync::{Mutex, OnceLock, PoisonError},
};

use openoxide_permission::{
    AdditionalDirectory, CombiningAlgorithm, EvaluationContext, HiddenReason, Hook, Layer,
    LayerKind, PathAnchors, PolicyStack, default_layer, evaluate, explain, find_hidden_reason,
    forbidden_root_reason, parse_rule, system_directory_reason,
};
use openoxide_protocol::{
    AbsPath, Action, Decision, Effect, Operation, OperationFacts, PermissionMode, SandboxAutoAllow,
    SessionId,
};
use openoxide_store::{
    BrokenFile, GrantFile, LoadedPolicy, PolicySource, PublishSetting, ResolvedDirectory,
    SandboxSettings, UntrustedProject, UserEnvironment, find_policy_sources, find_project_root,
    load_policy, load_policy_uncached,
};

use crate::{
    audit_log::AuditLog,
    check_host::CheckHost,
    engine_call::EngineCall,
    engine_warning::EngineWarning,
    error::EngineOpenError,
    limited_grants::{self, GrantUseMode},
    operation_facts::CallLocation,
    shell_job::shell_job_task,
};

/// The source of the current task, which determines which task grants are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskSource {
    /// The task that the environment names.
    Environment,
    /// The shell job that this process belongs to, in this session. A job can end, so the task is
    /// determined again whenever the policy is reloaded.
    ShellJob(Option<SessionId>),
}

/// The options that select the policy and the directory.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The locations of the user's files.
    pub environment: UserEnvironment,
    /// The source of the current task.
    pub task: TaskSource,
    /// The working directory.
    pub cwd: AbsPath,
    /// The project directory, if a client names it. Otherwise it is found from the working
    /// directory.
    pub project: Option<AbsPath>,
    /// The policy files that a person named. If there are any, no other file is read.
    pub policy_files: Vec<PolicySource>,
    /// Additional rules that do not come from a policy file.
    pub extra_rules: Vec<(Effect, String)>,
    /// The mode that a person or a client chose.
    pub mode: Option<PermissionMode>,
    /// Directories that belong to the project, in addition to its own.
    pub extra_directories: Vec<AbsPath>,
    /// True to read the layers from the files themselves, for commands that display them.
    pub read_layers: bool,
    /// True if the managed policy applies in addition to explicitly named files, as it does for all
    /// executed operations.
    pub include_managed: bool,
    /// True if the caller runs a permitted command in the sandbox whenever the decision requires
    /// it ([`openoxide_protocol::Obligation::Sandboxed`]). If not, such commands are asked about.
    pub confines_commands: bool,
}

impl EngineOptions {
    /// Returns the options for the policy that applies to a directory.
    #[must_use]
    pub const fn new(environment: UserEnvironment, cwd: AbsPath) -> Self {
        Self {
            environment,
            task: TaskSource::Environment,
            cwd,
            project: None,
            policy_files: Vec::new(),
            extra_rules: Vec::new(),
            mode: None,
            extra_directories: Vec::new(),
            read_layers: false,
            include_managed: false,
            confines_commands: false,
        }
    }

    /// Returns the options for a program that executes the calls that it checks: the policy of its
    /// user and of its working directory. The managed policy always applies.
    ///
    /// # Errors
    /// Returns an error if the working directory is unknown or cannot be used.
    pub fn from_process() -> Result<Self, EngineOpenError> {
        let options = Self::new(UserEnvironment::from_process(), absolute_directory(None)?);
        Ok(Self { include_managed: true, ..options })
    }
}

/// The facts about a call, and the decision of the policy.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The accesses and findings.
    pub facts: OperationFacts,
    /// The decision, with the rules that matched and the rules that a reviewer could choose.
    pub decision: Decision,
}

/// The policy in force for one directory: rules, grants, trust, hooks and the audit log.
///
/// Every command decides through it. [`Self::evaluate`] has no effects. [`Self::prepare_call`] and
/// [`Self::decide_for_agent`] run hooks, use limited grants and write the audit record.
///
/// ```
/// use openoxide_engine::{EngineCall, Engine, EngineOptions};
/// use openoxide_protocol::{AbsPath, Effect};
/// use openoxide_store::UserEnvironment;
/// use serde_json::json;
///
/// let project = AbsPath::new("/work/project")?;
/// let mut options = EngineOptions::new(UserEnvironment::default(), project.clone());
/// options.extra_rules = vec![(Effect::Deny, "Bash(git push *)".to_owned())];
/// let engine = Engine::open(options)?;
/// let call = EngineCall::from_tool("Bash", &json!({ "command": "git push --force" }), project);
/// let decision = engine.evaluate(&call).decision;
/// assert_eq!(decision.effect, Effect::Deny);
/// assert_eq!(decision.rule.unwrap().text, "deny Bash(git push *)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    pub(crate) loaded_policy: LoadedPolicy,
    pub(crate) mode: PermissionMode,
    pub(crate) roots: Vec<AbsPath>,
    pub(crate) project: AbsPath,
    pub(crate) grant_file: Option<GrantFile>,
    pub(crate) audit_log: AuditLog,
    pub(crate) options: EngineOptions,
    /// The last directory of a call, with the directories of its project. Most calls of a batch
    /// have the same directory.
    last_roots: Mutex<Option<(AbsPath, Vec<AbsPath>)>>,
    /// The layers of a policy that came from the cache, which does not contain them.
    uncached_layers: OnceLock<Vec<Layer>>,
}

impl Engine {
    /// Discovers and loads the policy. An error in a policy file is not an error of this function.
    /// It is recorded in the loaded policy, and no operation is then allowed without approval.
    ///
    /// # Errors
    /// Returns an error if a rule of the options is not valid.
    pub fn open(mut options: EngineOptions) -> Result<Self, EngineOpenError> {
        if let TaskSource::ShellJob(session) = options.task {
            options.environment.task = shell_job_task(session);
        }
        let EngineOptions { environment, cwd, .. } = &options;
        let project = match (&options.project, options.policy_files.is_empty()) {
            (Some(project), _) => project.clone(),
            (None, true) => find_project_root(cwd, environment.home.as_ref()),
            (None, false) => cwd.clone(),
        };
        let sources = options.policy_sources(&project);
        let rules = options.rule_layer()?;
        let mut loaded = if options.read_layers || !rules.rules.is_empty() {
            load_policy_uncached(&sources, environment, &[rules])
        } else {
            load_policy(&sources, environment)
        };
        let mode = choose_mode(options.mode, &mut loaded);
        let grants =
            options.policy_files.is_empty().then(|| GrantFile::for_project(environment, &project));
        let audit = AuditLog::new(environment.clone());
        let (roots, last) = (Vec::new(), Mutex::default());
        let engine = Self {
            loaded_policy: loaded,
            mode,
            roots,
            project,
            grant_file: grants,
            audit_log: audit,
            options,
            last_roots: last,
            uncached_layers: OnceLock::new(),
        };
        Ok(Self { roots: engine.with_extra_directories(project_roots(&engine.project)), ..engine })
    }

    /// Returns an engine with the current policy and the same options.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::open`].
    pub fn reopen(&self) -> Result<Self, EngineOpenError> {
        Self::open(self.options.clone())
    }

    /// Replaces the policy by one layer and the built-in one.
    ///
    /// # Errors
    /// If the layer is too large to be compiled.
    pub fn with_layer(mut self, layer: &Layer) -> Result<Self, EngineOpenError> {
        self.loaded_policy.set_policy(PolicyStack::compile(&[layer.clone(), default_layer()])?);
        self.mode = layer.mode.unwrap_or_default();
        Ok(self)
    }

    /// Puts another version of the policy in force.
    pub(crate) fn replace_policy(&mut self, loaded: &LoadedPolicy) {
        self.loaded_policy = loaded.clone();
        self.mode = choose_mode(self.options.mode, &mut self.loaded_policy);
        self.roots = self.with_extra_directories(project_roots(&self.project));
        self.last_roots = Mutex::default();
        self.uncached_layers = OnceLock::new();
    }

    /// Returns these directories of a project, and its additional directories.
    fn with_extra_directories(&self, mut project: Vec<AbsPath>) -> Vec<AbsPath> {
        let added = self.options.extra_directories.iter().flat_map(project_roots);
        project.extend(added.chain(self.loaded_policy.roots.iter().cloned()));
        project
    }

    /// Evaluates a call. This has no effects: no hook runs, no grant is used, and nothing is
    /// recorded.
    #[must_use]
    pub fn evaluate(&self, call: &EngineCall) -> Evaluation {
        let facts = self.collect_facts(call);
        let roots = self.call_roots(call);
        let context = self.call_context(call, &roots);
        let policy = self.policy_without_spending(&context, &facts);
        let decision = evaluate(policy, &context, &facts);
        Evaluation { facts, decision }
    }

    /// Evaluates a call as [`Self::evaluate`] does, and adds the overridden rules. This requires
    /// [`EngineOptions::read_layers`].
    #[must_use]
    pub fn explain(&self, call: &EngineCall) -> Evaluation {
        let Evaluation { facts, decision } = self.evaluate(call);
        let roots = self.call_roots(call);
        let decision =
            explain(&self.loaded_policy.layers, &self.call_context(call, &roots), decision);
        Evaluation { facts, decision }
    }

    /// Evaluates an operation with known facts under the current policy. Grants and rules may have
    /// changed since the facts were collected.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::open`].
    pub fn reevaluate(
        &self,
        operation: &Operation,
        facts: &OperationFacts,
        usage: GrantUseMode,
        host: &dyn CheckHost,
    ) -> Result<Decision, EngineOpenError> {
        let now = self.reopen()?;
        let context = now.directory_context(&operation.cwd, &now.roots);
        Ok(evaluate(now.operation_policy(&context, facts, usage, host), &context, facts))
    }

    /// Returns the reason for which calls of a tool can never be allowed, if there is one. Such a
    /// tool need not be offered to a model.
    #[must_use]
    pub fn hidden_reason(&self, tool: &str, action: &Action) -> Option<HiddenReason> {
        let context = self.directory_context(&self.options.cwd, &self.roots);
        find_hidden_reason(
            self.loaded_policy.policy_without_limited_grants(),
            &self.loaded_policy.layers,
            &context,
            (tool, action),
        )
    }

    /// Returns the facts about a call: its accesses and findings.
    #[must_use]
    pub fn collect_facts(&self, call: &EngineCall) -> OperationFacts {
        call.collect_facts(CallLocation { cwd: call.cwd(), home: self.home() })
    }

    fn call_roots(&self, call: &EngineCall) -> Vec<AbsPath> {
        call.roots().map_or_else(|| self.directory_roots(call.cwd()), <[AbsPath]>::to_vec)
    }

    /// Returns the directories of the project that a directory belongs to.
    fn directory_roots(&self, cwd: &AbsPath) -> Vec<AbsPath> {
        if cwd == &self.options.cwd {
            return self.roots.clone();
        }
        let mut last = self.last_roots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, roots)) = last.as_ref().filter(|(known, _)| known == cwd) {
            return roots.clone();
        }
        let project = match self.options.policy_files.is_empty() {
            true => find_project_root(cwd, self.home()),
            false => cwd.clone(),
        };
        let roots = self.with_extra_directories(project_roots(&project));
        *last = Some((cwd.clone(), roots.clone()));
        roots
    }

    fn call_context<'a>(
        &'a self,
        call: &'a EngineCall,
        roots: &'a [AbsPath],
    ) -> EvaluationContext<'a> {
        let mode = call.mode().map_or(self.mode, |mode| self.loaded_policy.effective_mode(mode));
        let auto_allow = self.auto_allow_in(mode, roots);
        let mode = self.mode_in(mode, roots);
        EvaluationContext { mode, auto_allow, ..self.directory_context(call.cwd(), roots) }
    }

    pub(crate) fn directory_context<'a>(
        &'a self,
        cwd: &'a AbsPath,
        roots: &'a [AbsPath],
    ) -> EvaluationContext<'a> {
        EvaluationContext {
            mode: self.mode_in(self.mode, roots),
            cwd,
            roots,
            policy_error: self.policy_error(),
            auto_allow: self.auto_allow_in(self.mode, roots),
        }
    }

    /// Returns the mode for calls in the project of this engine.
    pub(crate) fn effective_mode(&self) -> PermissionMode {
        self.mode_in(self.mode, &self.roots)
    }

    /// Returns the mode for calls in a project with these roots: outside of a project,
    /// `accept_edits` allows no edits.
    fn mode_in(&self, mode: PermissionMode, roots: &[AbsPath]) -> PermissionMode {
        if mode == PermissionMode::AcceptEdits && self.has_wide_root(roots) {
            PermissionMode::Default
        } else {
            mode
        }
    }

    /// Returns whether one of these directories contains more than a project: it would be writable
    /// in the sandbox. This is the case if an agent works in a directory without a project.
    fn has_wide_root(&self, roots: &[AbsPath]) -> bool {
        let homes = self.environment().home_directories().homes;
        let is_forbidden = |root: &AbsPath| {
            let homes = homes.iter().map(Some).chain([None]);
            homes.into_iter().any(|home| forbidden_root_reason(root, home).is_some())
        };
        // A person may name a directory of the system as an additional one.
        let is_named = |root: &AbsPath| {
            self.options.extra_directories.contains(root) || self.loaded_policy.roots.contains(root)
        };
        let is_system = |root: &AbsPath| {
            let has_repository = || Path::new(root.as_str()).join(".git").exists();
            system_directory_reason(root, false).is_some()
                && system_directory_reason(root, has_repository()).is_some()
        };
        roots.iter().any(|root| is_forbidden(root) || !is_named(root) && is_system(root))
    }

    /// Returns the commands that need no approval in a mode, because the caller confines them.
    pub(crate) fn auto_allow(&self, mode: PermissionMode) -> SandboxAutoAllow {
        self.auto_allow_in(mode, &self.roots)
    }

    /// Returns the commands that need no approval in a project with these roots.
    fn auto_allow_in(&self, mode: PermissionMode, roots: &[AbsPath]) -> SandboxAutoAllow {
        if !self.options.confines_commands {
            return SandboxAutoAllow::Off;
        }
        let by_mode = match mode {
            PermissionMode::Sandboxed => SandboxAutoAllow::Project,
            PermissionMode::Default
            | PermissionMode::AcceptEdits
            | PermissionMode::Plan
            | PermissionMode::DontAsk
            | PermissionMode::BypassPermissions => SandboxAutoAllow::Off,
        };
        let setting = self.sandbox_settings().auto_allow.unwrap_or(by_mode);
        if setting != SandboxAutoAllow::Off && self.has_wide_root(roots) {
            SandboxAutoAllow::Off
        } else {
            setting
        }
    }

    /// Returns the policy for an evaluation without effects.
    pub(crate) fn policy_without_spending(
        &self,
        context: &EvaluationContext<'_>,
        facts: &OperationFacts,
    ) -> &PolicyStack {
        let (grants, ignored) = (self.grant_file.as_ref(), |_: EngineWarning| {});
        limited_grants::applicable_policy(
            &self.loaded_policy,
            context,
            facts,
            grants,
            GrantUseMode::Preview,
            &ignored,
        )
    }

    /// Returns the policy for an operation; with [`GrantUseMode::Spend`], limited grants are used.
    pub(crate) fn operation_policy(
        &self,
        context: &EvaluationContext<'_>,
        facts: &OperationFacts,
        usage: GrantUseMode,
        host: &dyn CheckHost,
    ) -> &PolicyStack {
        let warn = |warning: EngineWarning| host.warn(warning);
        limited_grants::applicable_policy(
            &self.loaded_policy,
            context,
            facts,
            self.grant_file.as_ref(),
            usage,
            &warn,
        )
    }

    /// Returns the reason why commands must run in a sandbox, if they must. The managed policy is
    /// consulted even if a person named other files. A file with errors is treated as if it
    /// contained this requirement.
    #[must_use]
    pub fn sandbox_requirement(&self) -> Option<String> {
        format_sandbox_requirement(&self.loaded_policy)
            .or_else(|| format_sandbox_requirement(&self.replaced_managed_policy()))
    }

    /// Returns whether the policy forbids to publish ports. The managed policy is read even if
    /// named policy files replace it.
    #[must_use]
    pub fn forbids_publishing(&self) -> bool {
        let is_off = |policy: &LoadedPolicy| policy.sandbox.publish == PublishSetting::Off;
        is_off(&self.loaded_policy) || is_off(&self.replaced_managed_policy())
    }

    /// Returns the managed policy if named policy files replace it, or an empty policy.
    fn replaced_managed_policy(&self) -> LoadedPolicy {
        let environment = &self.options.environment;
        let mut managed = find_policy_sources(environment, &self.project);
        let named = !self.options.policy_files.is_empty();
        managed.retain(|source| source.kind == LayerKind::Managed && named);
        load_policy_uncached(&managed, environment, &[])
    }

    /// Returns the mode in force.
    #[must_use]
    pub const fn mode(&self) -> PermissionMode {
        self.mode
    }

    /// Returns the working directory.
    #[must_use]
    pub const fn cwd(&self) -> &AbsPath {
        &self.options.cwd
    }

    /// Returns the user's home directory, if it is known.
    #[must_use]
    pub const fn home(&self) -> Option<&AbsPath> {
        self.options.environment.home.as_ref()
    }

    /// Returns the locations of the files of the user.
    #[must_use]
    pub const fn environment(&self) -> &UserEnvironment {
        &self.options.environment
    }

    /// Returns the directories of the project, including those that the options and the policy add.
    #[must_use]
    pub fn roots(&self) -> &[AbsPath] {
        &self.roots
    }

    /// Returns the grant file of the project, or `None` if a person named the policy files.
    #[must_use]
    pub const fn grant_file(&self) -> Option<&GrantFile> {
        self.grant_file.as_ref()
    }

    /// Returns the current task, if the calls belong to one.
    pub(crate) fn current_task(&self) -> Option<String> {
        self.grant_file().and_then(GrantFile::current_task).map(str::to_owned)
    }

    /// Returns the audit log.
    #[must_use]
    pub const fn audit_log(&self) -> &AuditLog {
        &self.audit_log
    }

    /// Returns the layers, also if the policy came from the cache. They are read once then.
    pub(crate) fn known_layers(&self) -> &[Layer] {
        if !self.loaded_policy.layers.is_empty() {
            return &self.loaded_policy.layers;
        }
        self.uncached_layers.get_or_init(|| {
            let sources = self.options.policy_sources(&self.project);
            load_policy_uncached(&sources, &self.options.environment, &[]).layers
        })
    }

    /// Returns the layers, highest precedence first. This requires [`EngineOptions::read_layers`].
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.loaded_policy.layers
    }

    /// Returns the hooks in force, in the order of the layers.
    #[must_use]
    pub fn hooks(&self) -> &[Hook] {
        &self.loaded_policy.hooks
    }

    /// Returns the hooks of projects that are not trusted. This requires
    /// [`EngineOptions::read_layers`].
    #[must_use]
    pub fn untrusted_hooks(&self) -> &[Hook] {
        &self.loaded_policy.untrusted_hooks
    }

    /// Returns the projects with permissive settings that are not trusted.
    #[must_use]
    pub fn untrusted_projects(&self) -> &[UntrustedProject] {
        &self.loaded_policy.untrusted_projects
    }

    /// Returns each additional directory that a policy file names, in force or not. This requires
    /// [`EngineOptions::read_layers`].
    #[must_use]
    pub fn additional_directories(&self) -> &[ResolvedDirectory] {
        &self.loaded_policy.directories
    }

    /// Returns the additional directories as they are configured.
    pub fn configured_directories(&self) -> impl Iterator<Item = &AdditionalDirectory> {
        self.loaded_policy.directories.iter().map(|one| &one.directory)
    }

    /// Returns each directory that a policy file makes writable in the sandbox. This requires
    /// [`EngineOptions::read_layers`].
    #[must_use]
    pub fn writable_directories(&self) -> &[ResolvedDirectory] {
        &self.loaded_policy.writable
    }

    /// Returns the sandbox settings of the policy.
    #[must_use]
    pub const fn sandbox_settings(&self) -> &SandboxSettings {
        &self.loaded_policy.sandbox
    }

    /// Returns the locations of the settings that require audit records. This requires
    /// [`EngineOptions::read_layers`].
    #[must_use]
    pub fn audit_requirements(&self) -> &[String] {
        &self.loaded_policy.audit
    }

    /// Returns whether the policy requires audit records.
    #[must_use]
    pub fn requires_audit(&self) -> bool {
        self.loaded_policy.requires_audit()
    }

    /// Returns the notes about the policy for a person.
    #[must_use]
    pub fn policy_notes(&self) -> &[String] {
        &self.loaded_policy.notes
    }

    /// Returns the policy files with errors.
    #[must_use]
    pub fn broken_files(&self) -> &[BrokenFile] {
        &self.loaded_policy.broken_files
    }

    /// Returns the error of the managed policy, if it has one. Every operation is then refused.
    #[must_use]
    pub fn managed_policy_error(&self) -> Option<&str> {
        self.loaded_policy.managed_policy_error.as_deref()
    }

    /// Returns the error because of which every operation requires approval, if the policy has one.
    #[must_use]
    pub fn policy_error(&self) -> Option<&str> {
        self.loaded_policy
            .managed_policy_error
            .as_deref()
            .or(self.loaded_policy.policy_error.as_deref())
    }

    /// Returns whether the policy has no errors.
    #[must_use]
    pub fn is_policy_valid(&self) -> bool {
        self.loaded_policy.broken_files.is_empty() && self.policy_error().is_none()
    }
}

impl EngineOptions {
    /// Returns the policy files, highest precedence first.
    fn policy_sources(&self, project: &AbsPath) -> Vec<PolicySource> {
        if self.policy_files.is_empty() {
            return find_policy_sources(&self.environment, project);
        }
        let mut all = Vec::new();
        if self.include_managed {
            all = find_policy_sources(&UserEnvironment::default(), &self.cwd);
            all.retain(|source| source.kind == LayerKind::Managed);
        }
        all.extend(self.policy_files.iter().cloned());
        all
    }

    /// Returns the layer of the additional rules that do not come from a file.
    pub(crate) fn rule_layer(&self) -> Result<Layer, EngineOpenError> {
        let anchors = PathAnchors { home: self.environment.home.as_ref(), base: &self.cwd };
        let rules = self.extra_rules.iter().map(|(effect, text)| {
            parse_rule(text, *effect, anchors).map_err(|error| EngineOpenError::InvalidRule {
                effect: effect.as_str(),
                text: text.clone(),
                message: error.message,
                help: error.help,
            })
        });
        let (kind, combining) = (LayerKind::Cli, CombiningAlgorithm::Strictest);
        let rules = rules.collect::<Result<_, _>>()?;
        Ok(Layer { kind, file: None, combining_algorithm: combining, rules, mode: None })
    }
}

fn format_sandbox_requirement(loaded: &LoadedPolicy) -> Option<String> {
    let required = loaded.sandbox.require.as_ref();
    let required = required
        .map(|one| format!("{} sets `require = \"{}\"`", one.location, one.action.as_str()));
    let problem = loaded.managed_policy_error.as_ref().or(loaded.policy_error.as_ref());
    required.or_else(|| problem.map(|problem| format!("the policy may require it: {problem}")))
}

/// Returns the mode in force: the selected one or that of the policy, unless the managed policy
/// disables it.
fn choose_mode(chosen: Option<PermissionMode>, loaded: &mut LoadedPolicy) -> PermissionMode {
    let wanted = chosen.or(loaded.mode()).unwrap_or_default();
    let mode = loaded.effective_mode(wanted);
    if mode != wanted {
        let (wanted, mode) = (wanted.as_str(), mode.as_str());
        let note = format!("mode `{wanted}` is disabled by the managed policy; using `{mode}`");
        loaded.notes.push(note);
    }
    mode
}

/// Returns the directory of a project as it is named, and with links resolved. The root directory
/// is not a project.
#[must_use]
pub fn project_roots(project: &AbsPath) -> Vec<AbsPath> {
    if *project == AbsPath::root() {
        return Vec::new();
    }
    let real = std::fs::canonicalize(project.as_str()).ok();
    let real = real.and_then(|path| AbsPath::new(path.to_str()?).ok());
    let real = real.filter(|real| real != project);
    [Some(project.clone()), real].into_iter().flatten().collect()
}

/// Returns a directory as an absolute path. Without a directory, returns the working directory.
///
/// # Errors
/// If the working directory is unknown, or the path cannot be used.
pub fn absolute_directory(named: Option<&Path>) -> Result<AbsPath, EngineOpenError> {
    let path = std::path::absolute(named.unwrap_or(Path::new(".")))
        .map_err(EngineOpenError::UnknownDirectory)?;
    let text = path.to_str().ok_or_else(|| EngineOpenError::NotUtf8(path.display().to_string()))?;
    AbsPath::new(text).map_err(|error| EngineOpenError::InvalidPath {
        path: text.to_owned(),
        message: error.to_string(),
    })
}
