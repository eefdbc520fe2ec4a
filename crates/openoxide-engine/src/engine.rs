//! The engine: the policy in force for one directory, and the decisions that it makes.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use openoxide_permission::{
    Anchors, Combining, Context, Directory, Hidden, Hook, Layer, LayerKind, PolicyStack,
    default_layer, evaluate, explain, hidden, parse,
};
use openoxide_protocol::{
    AbsPath, Action, Decision, Effect, Facts, Operation, PermissionMode, SessionId,
};
use openoxide_store::{
    Additional, Broken, Environment, GrantFile, Loaded, SandboxSettings, Source, Untrusted, load,
    load_fresh, project_root, sources,
};

use crate::{
    AuditLog, Call, CheckHost, OpenError, Place, Warning,
    limited_grants::{self, GrantUse},
    task_of_shell_job,
};

/// How the task is determined for which grants are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskSource {
    /// It is the task of the environment.
    Environment,
    /// It is the shell job that this process is part of, in this session. A job can end: it is determined again whenever the policy is
    /// loaded again.
    ShellJob(Option<SessionId>),
}

/// Which policy to load, and for which directory.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Where the files of the user are.
    pub environment: Environment,
    /// How the task is determined.
    pub task: TaskSource,
    /// The working directory.
    pub cwd: AbsPath,
    /// The project, where a client names it; else it is found from the working directory.
    pub project: Option<AbsPath>,
    /// The policy files that a person named: where there are any, no other file is read.
    pub named: Vec<Source>,
    /// Rules given beside the files.
    pub rules: Vec<(Effect, String)>,
    /// The mode that a person or a client chose.
    pub mode: Option<PermissionMode>,
    /// Directories that belong to the project, beside its own.
    pub added: Vec<AbsPath>,
    /// Whether to read the layers from the files themselves, for commands that show them.
    pub read_layers: bool,
    /// Whether the managed policy applies beside named files, as it does for everything that is executed.
    pub with_managed: bool,
}

impl EngineOptions {
    /// Returns the options for the policy that is found from a directory.
    #[must_use]
    pub const fn new(environment: Environment, cwd: AbsPath) -> Self {
        Self {
            environment,
            task: TaskSource::Environment,
            cwd,
            project: None,
            named: Vec::new(),
            rules: Vec::new(),
            mode: None,
            added: Vec::new(),
            read_layers: false,
            with_managed: false,
        }
    }
}

/// The facts about a call, and the decision of the policy.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Each access and finding.
    pub facts: Facts,
    /// The decision, with the rules that matched and the rules that a reviewer could choose.
    pub decision: Decision,
}

/// The policy in force for one directory: rules, grants, trust, hooks and the audit log.
///
/// Every command decides through it. [`Self::evaluate`] has no effects. [`Self::prepare`] and [`Self::decide_for_agent`] run hooks, use
/// limited grants up and write the audit record.
///
/// ```
/// use openoxide_engine::{Call, Engine, EngineOptions};
/// use openoxide_protocol::{AbsPath, Effect};
/// use openoxide_store::Environment;
/// use serde_json::json;
///
/// let project = AbsPath::new("/work/project")?;
/// let mut options = EngineOptions::new(Environment::default(), project.clone());
/// options.rules = vec![(Effect::Deny, "Bash(git push *)".to_owned())];
/// let engine = Engine::open(options)?;
/// let call = Call::from_tool("Bash", &json!({ "command": "git push --force" }), project);
/// let decision = engine.evaluate(&call).decision;
/// assert_eq!(decision.effect, Effect::Deny);
/// assert_eq!(decision.rule.unwrap().text, "deny Bash(git push *)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    pub(crate) loaded: Loaded,
    pub(crate) mode: PermissionMode,
    pub(crate) roots: Vec<AbsPath>,
    pub(crate) project: AbsPath,
    pub(crate) grants: Option<GrantFile>,
    pub(crate) audit: AuditLog,
    pub(crate) options: EngineOptions,
    /// The last directory that was asked about, with its project's directories: most calls of a batch are in the same one.
    last: Mutex<Option<(AbsPath, Vec<AbsPath>)>>,
}

impl Engine {
    /// Discovers and loads the policy. What is wrong with a policy file is no error: it is part of what was loaded, and then
    /// nothing is allowed on the strength of it.
    ///
    /// # Errors
    /// When a rule of the options is not valid.
    pub fn open(mut options: EngineOptions) -> Result<Self, OpenError> {
        if let TaskSource::ShellJob(session) = options.task {
            options.environment.task = task_of_shell_job(session);
        }
        let EngineOptions { environment, cwd, .. } = &options;
        let project = match (&options.project, options.named.is_empty()) {
            (Some(project), _) => project.clone(),
            (None, true) => project_root(cwd, environment.home.as_ref()),
            (None, false) => cwd.clone(),
        };
        let sources = options.sources(&project);
        let rules = options.rule_layer()?;
        let mut loaded = if options.read_layers || !rules.rules.is_empty() {
            load_fresh(&sources, environment, &[rules])
        } else {
            load(&sources, environment)
        };
        let mode = choose_mode(options.mode, &mut loaded);
        let grants = options.named.is_empty().then(|| GrantFile::of(environment, &project));
        let audit = AuditLog::new(environment.clone());
        let (roots, last) = (Vec::new(), Mutex::default());
        let engine = Self { loaded, mode, roots, project, grants, audit, options, last };
        Ok(Self { roots: engine.with_added(project_roots(&engine.project)), ..engine })
    }

    /// Returns an engine with the policy as it is now, for the same options.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn reopen(&self) -> Result<Self, OpenError> {
        Self::open(self.options.clone())
    }

    /// Replaces the policy by one layer and the built-in one.
    ///
    /// # Errors
    /// When the layer is larger than can be compiled.
    pub fn with_layer(mut self, layer: &Layer) -> Result<Self, OpenError> {
        self.loaded.policy = PolicyStack::compile(&[layer.clone(), default_layer()])?;
        self.loaded.bounded = None;
        self.mode = layer.mode.unwrap_or_default();
        Ok(self)
    }

    /// Puts another version of the policy in force.
    pub(crate) fn replace_policy(&mut self, loaded: &Loaded) {
        self.loaded = loaded.clone();
        self.mode = choose_mode(self.options.mode, &mut self.loaded);
        self.roots = self.with_added(project_roots(&self.project));
        self.last = Mutex::default();
    }

    /// Returns these directories of a project, with those that belong to it besides.
    fn with_added(&self, mut project: Vec<AbsPath>) -> Vec<AbsPath> {
        let added = self.options.added.iter().flat_map(project_roots);
        project.extend(added.chain(self.loaded.roots.iter().cloned()));
        project
    }

    /// Evaluates a call. It has no effects: no hook runs, no grant is used up, nothing is recorded.
    #[must_use]
    pub fn evaluate(&self, call: &Call) -> Evaluation {
        let facts = self.facts(call);
        let roots = self.roots_for(call);
        let context = self.context_for(call, &roots);
        let policy = self.policy_without_use(&context, &facts);
        let decision = evaluate(policy, &context, &facts);
        Evaluation { facts, decision }
    }

    /// Evaluates a call as [`Self::evaluate`] does, and adds the matching rules that did not decide. It needs
    /// [`EngineOptions::read_layers`].
    #[must_use]
    pub fn explain(&self, call: &Call) -> Evaluation {
        let Evaluation { facts, decision } = self.evaluate(call);
        let roots = self.roots_for(call);
        let decision = explain(&self.loaded.layers, &self.context_for(call, &roots), decision);
        Evaluation { facts, decision }
    }

    /// Evaluates an operation whose facts are known under the policy as it is now: a grant or a rule may have changed since.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn evaluate_now(
        &self,
        operation: &Operation,
        facts: &Facts,
        usage: GrantUse,
        host: &dyn CheckHost,
    ) -> Result<Decision, OpenError> {
        let now = self.reopen()?;
        let context = now.context_in(&operation.cwd, &now.roots);
        Ok(evaluate(now.policy_for(&context, facts, usage, host), &context, facts))
    }

    /// Returns whether calls of a tool can never be allowed, and why: the tool need not be offered to a model.
    #[must_use]
    pub fn hidden_tool(&self, tool: &str, action: &Action) -> Option<Hidden> {
        let context = self.context_in(&self.options.cwd, &self.roots);
        hidden(&self.loaded.policy, &self.loaded.layers, &context, (tool, action))
    }

    /// Returns what a call does: each access and finding.
    #[must_use]
    pub fn facts(&self, call: &Call) -> Facts {
        call.facts(Place { cwd: call.cwd(), home: self.home() })
    }

    fn roots_for(&self, call: &Call) -> Vec<AbsPath> {
        call.roots().map_or_else(|| self.roots_of(call.cwd()), <[AbsPath]>::to_vec)
    }

    /// Returns the directories of the project that a directory belongs to.
    fn roots_of(&self, cwd: &AbsPath) -> Vec<AbsPath> {
        if cwd == &self.options.cwd {
            return self.roots.clone();
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, roots)) = last.as_ref().filter(|(known, _)| known == cwd) {
            return roots.clone();
        }
        let project = match self.options.named.is_empty() {
            true => project_root(cwd, self.home()),
            false => cwd.clone(),
        };
        let roots = self.with_added(project_roots(&project));
        *last = Some((cwd.clone(), roots.clone()));
        roots
    }

    fn context_for<'a>(&'a self, call: &'a Call, roots: &'a [AbsPath]) -> Context<'a> {
        let mode = call.mode().map_or(self.mode, |mode| self.loaded.policy.permitted(mode));
        Context { mode, ..self.context_in(call.cwd(), roots) }
    }

    pub(crate) fn context_in<'a>(&'a self, cwd: &'a AbsPath, roots: &'a [AbsPath]) -> Context<'a> {
        Context { mode: self.mode, cwd, roots, doubt: self.policy_problem() }
    }

    /// Returns the policy for an evaluation without effects.
    pub(crate) fn policy_without_use(&self, context: &Context<'_>, facts: &Facts) -> &PolicyStack {
        let (grants, ignored) = (self.grants.as_ref(), |_: Warning| {});
        limited_grants::policy_for(&self.loaded, context, facts, grants, GrantUse::Keep, &ignored)
    }

    /// Returns the policy for an operation; with [`GrantUse::Spend`], limited grants are used up.
    pub(crate) fn policy_for(
        &self,
        context: &Context<'_>,
        facts: &Facts,
        usage: GrantUse,
        host: &dyn CheckHost,
    ) -> &PolicyStack {
        let warn = |warning: Warning| host.warn(warning);
        limited_grants::policy_for(&self.loaded, context, facts, self.grants.as_ref(), usage, &warn)
    }

    /// Returns why nothing may run without a sandbox, if that is so. The managed policy is heard beside files that a person named;
    /// and a file with errors may have required it.
    #[must_use]
    pub fn confinement_required(&self) -> Option<String> {
        requirement(&self.loaded).or_else(|| {
            let environment = &self.options.environment;
            let mut managed = sources(environment, &self.project);
            let named = !self.options.named.is_empty();
            managed.retain(|source| source.kind == LayerKind::Managed && named);
            requirement(&load_fresh(&managed, environment, &[]))
        })
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

    /// Returns where the files of the user are.
    #[must_use]
    pub const fn environment(&self) -> &Environment {
        &self.options.environment
    }

    /// Returns the directories of the project, those of the options, and those that the policy adds.
    #[must_use]
    pub fn roots(&self) -> &[AbsPath] {
        &self.roots
    }

    /// Returns where grants of the project are kept; nothing where a person named the policy.
    #[must_use]
    pub const fn grants(&self) -> Option<&GrantFile> {
        self.grants.as_ref()
    }

    /// Returns the audit log.
    #[must_use]
    pub const fn audit(&self) -> &AuditLog {
        &self.audit
    }

    /// Returns the layers, the most precedent first. It needs [`EngineOptions::read_layers`].
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.loaded.layers
    }

    /// Returns the hooks in force, in the order of the layers.
    #[must_use]
    pub fn hooks(&self) -> &[Hook] {
        &self.loaded.hooks
    }

    /// Returns the hooks of projects that are not trusted. It needs [`EngineOptions::read_layers`].
    #[must_use]
    pub fn untrusted_hooks(&self) -> &[Hook] {
        &self.loaded.unheeded
    }

    /// Returns the projects with permissive settings that are not trusted.
    #[must_use]
    pub fn untrusted_projects(&self) -> &[Untrusted] {
        &self.loaded.untrusted
    }

    /// Returns each additional directory that a policy file names, in force or not. It needs [`EngineOptions::read_layers`].
    #[must_use]
    pub fn additional_directories(&self) -> &[Additional] {
        &self.loaded.directories
    }

    /// Returns the additional directories as the files name them.
    pub fn directories(&self) -> impl Iterator<Item = &Directory> {
        self.loaded.directories.iter().map(|one| &one.directory)
    }

    /// Returns each directory that a policy file makes writable in the sandbox. It needs [`EngineOptions::read_layers`].
    #[must_use]
    pub fn writable_directories(&self) -> &[Additional] {
        &self.loaded.writable
    }

    /// Returns what the policy says about the sandbox.
    #[must_use]
    pub const fn sandbox_settings(&self) -> &SandboxSettings {
        &self.loaded.sandbox
    }

    /// Returns where the policy requires audit records. It needs [`EngineOptions::read_layers`].
    #[must_use]
    pub fn audit_requirements(&self) -> &[String] {
        &self.loaded.audit
    }

    /// Returns whether the policy requires audit records.
    #[must_use]
    pub fn requires_audit(&self) -> bool {
        self.loaded.policy.wants_audit()
    }

    /// Returns what a person should know about the policy.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.loaded.notes
    }

    /// Returns the policy files with errors.
    #[must_use]
    pub fn broken_files(&self) -> &[Broken] {
        &self.loaded.broken
    }

    /// Returns why nothing may be done at all, if the managed policy has errors.
    #[must_use]
    pub fn managed_policy_error(&self) -> Option<&str> {
        self.loaded.closed.as_deref()
    }

    /// Returns why nothing may be allowed without a question, if the policy has errors.
    #[must_use]
    pub fn policy_problem(&self) -> Option<&str> {
        self.loaded.closed.as_deref().or(self.loaded.doubt.as_deref())
    }

    /// Returns whether the policy has no errors.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.loaded.broken.is_empty() && self.policy_problem().is_none()
    }
}

impl EngineOptions {
    /// Returns the policy files, the most precedent first.
    fn sources(&self, project: &AbsPath) -> Vec<Source> {
        if self.named.is_empty() {
            return sources(&self.environment, project);
        }
        let mut all = Vec::new();
        if self.with_managed {
            all = sources(&Environment::default(), &self.cwd);
            all.retain(|source| source.kind == LayerKind::Managed);
        }
        all.extend(self.named.iter().cloned());
        all
    }

    /// Returns the layer of the rules that were given beside the files.
    pub(crate) fn rule_layer(&self) -> Result<Layer, OpenError> {
        let anchors = Anchors { home: self.environment.home.as_ref(), base: &self.cwd };
        let rules = self.rules.iter().map(|(effect, text)| {
            parse(text, *effect, anchors).map_err(|error| OpenError::InvalidRule {
                effect: effect.as_str(),
                text: text.clone(),
                message: error.message,
                help: error.help,
            })
        });
        let (kind, combining) = (LayerKind::Cli, Combining::Strictest);
        let rules = rules.collect::<Result<_, _>>()?;
        Ok(Layer { kind, file: None, combining, rules, mode: None })
    }
}

fn requirement(loaded: &Loaded) -> Option<String> {
    let required = loaded.sandbox.require.as_ref();
    let required =
        required.map(|one| format!("{} says `require = \"{}\"`", one.place, one.how.as_str()));
    let problem = loaded.closed.as_ref().or(loaded.doubt.as_ref());
    required.or_else(|| problem.map(|problem| format!("the policy may require it: {problem}")))
}

/// Returns the mode in force: the one that was chosen, or the policy's, unless the managed policy disables it.
fn choose_mode(chosen: Option<PermissionMode>, loaded: &mut Loaded) -> PermissionMode {
    let wanted = chosen.or(loaded.policy.mode()).unwrap_or_default();
    let mode = loaded.policy.permitted(wanted);
    if mode != wanted {
        let (wanted, mode) = (wanted.as_str(), mode.as_str());
        let note = format!("mode `{wanted}` is disabled by the managed policy; using `{mode}`");
        loaded.notes.push(note);
    }
    mode
}

/// Returns the directories of a project, as it is named and with links resolved. The root directory is not a project.
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

/// Returns a directory as an absolute path; without one, the directory that the program was started in.
///
/// # Errors
/// When the working directory is unknown, or the path cannot be used.
pub fn absolute_directory(named: Option<&Path>) -> Result<AbsPath, OpenError> {
    let path = std::path::absolute(named.unwrap_or(Path::new(".")))
        .map_err(OpenError::UnknownDirectory)?;
    let text = path.to_str().ok_or_else(|| OpenError::NotUtf8(path.display().to_string()))?;
    AbsPath::new(text).map_err(|error| OpenError::InvalidPath {
        path: text.to_owned(),
        message: error.to_string(),
    })
}
