//! From the arguments to the policy in force and the place it holds for.

use std::path::Path;

use openoxide_engine::Place;
use openoxide_permission::{
    Anchors, Combining, Context, Directory, Layer, LayerKind, PolicyStack, parse,
};
use openoxide_protocol::{AbsPath, Effect, Facts, PermissionMode, SessionId};
use openoxide_store::{
    Environment, GrantFile, Loaded, PolicyWatch, Source, load, load_fresh, project_root, sources,
};

use crate::{
    args::{Global, PolicyArgs},
    bounded,
    exact::worktree,
    exit::Exit,
    formats::Program,
    report, task,
};

/// What a decision needs beside the call itself.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) loaded: Loaded,
    pub(crate) mode: PermissionMode,
    pub(crate) cwd: AbsPath,
    pub(crate) home: Option<AbsPath>,
    /// The directories of the project, those of the command line, and those that the policy adds.
    pub(crate) roots: Vec<AbsPath>,
    project: AbsPath,
    /// The directories of the command line.
    added: Vec<AbsPath>,
    /// Where a yes is kept for good; nowhere if the policy was named.
    pub(crate) grants: Option<GrantFile>,
    hermetic: bool,
}

impl World {
    /// Loads the policy that the arguments name, or the one that is found. With `fresh`, its layers come along.
    pub(crate) fn of(args: &PolicyArgs, fresh: bool) -> Result<Self, String> {
        Self::load(args, fresh, None, named)
    }

    /// Loads the policy for something that is executed: the managed policy is in force beside files that a person named, and
    /// what was granted for a task of the session is valid.
    pub(crate) fn for_execution(
        args: &PolicyArgs,
        session: Option<SessionId>,
    ) -> Result<Self, String> {
        let with_managed = |args: &PolicyArgs, cwd: &AbsPath| {
            let mut all = sources(&Environment::default(), cwd);
            all.retain(|source| source.kind == LayerKind::Managed);
            all.extend(named(args, cwd)?);
            Ok(all)
        };
        Self::load(args, false, session, with_managed)
    }

    fn load(
        args: &PolicyArgs,
        fresh: bool,
        session: Option<SessionId>,
        named: impl Fn(&PolicyArgs, &AbsPath) -> Result<Vec<Source>, String>,
    ) -> Result<Self, String> {
        let environment = Environment { task: task::of_job(session), ..Environment::read() };
        let cwd = directory(args.cwd.as_deref())?;
        let hermetic = !args.policy.is_empty();
        let project =
            if hermetic { cwd.clone() } else { project_root(&cwd, environment.home.as_ref()) };
        let sources = if hermetic { named(args, &cwd)? } else { sources(&environment, &project) };
        let named = named_rules(args, &cwd, environment.home.as_ref())?;
        let mut loaded = if fresh || !named.rules.is_empty() {
            load_fresh(&sources, &environment, &[named])
        } else {
            load(&sources, &environment)
        };
        let mode = mode(args, &mut loaded);
        let grants = (!hermetic).then(|| GrantFile::of(&environment, &project));
        let mut added = Vec::new();
        for directory in &args.add_dir {
            added.extend(roots(self::directory(Some(directory))?));
        }
        let (home, none) = (environment.home, Vec::new());
        let world = Self { loaded, mode, cwd, home, roots: none, project, added, grants, hermetic };
        Ok(Self { roots: world.with_added(roots(world.project.clone())), ..world })
    }

    /// Returns a watch over the files of this policy; none where a person named them.
    pub(crate) fn watch(&self, args: &PolicyArgs) -> Result<Option<PolicyWatch>, String> {
        if self.hermetic {
            return Ok(None);
        }
        let environment = Environment { task: task::of_job(None), ..Environment::read() };
        let named = named_rules(args, &self.cwd, self.home.as_ref())?;
        let more = if named.rules.is_empty() { Vec::new() } else { vec![named] };
        let project = project_root(&self.cwd, self.home.as_ref());
        let sources = sources(&environment, &project);
        Ok(Some(PolicyWatch::new(sources, environment, more)))
    }

    /// Puts another policy in force.
    pub(crate) fn put(&mut self, args: &PolicyArgs, loaded: &Loaded) {
        self.loaded = loaded.clone();
        self.mode = mode(args, &mut self.loaded);
        self.roots = self.with_added(roots(self.project.clone()));
    }

    /// Returns the directories of a project, and those that count beside it.
    fn with_added(&self, mut project: Vec<AbsPath>) -> Vec<AbsPath> {
        project.extend(self.added.iter().chain(&self.loaded.roots).cloned());
        project
    }

    /// Says why nothing may run unconfined, if that is so. What an administrator says counts beside files that a person named, too;
    /// and where a file cannot be relied on, it may have said so.
    pub(crate) fn confinement_required(&self) -> Option<String> {
        let own = requirement(&self.loaded);
        own.or_else(|| {
            let environment = Environment::read();
            let mut managed = sources(&environment, &self.project);
            managed.retain(|source| source.kind == LayerKind::Managed && self.hermetic);
            requirement(&load_fresh(&managed, &environment, &[]))
        })
    }

    /// Returns the additional directories that the files of the policy name, whether they count or not.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Directory> {
        self.loaded.directories.iter().map(|one| &one.directory)
    }

    /// Returns the context of decisions in the directory of the arguments.
    pub(crate) fn context(&self) -> Context<'_> {
        self.context_in(&self.cwd, &self.roots)
    }

    /// Returns the context of decisions in another directory, with the project that it belongs to.
    pub(crate) fn context_in<'a>(&'a self, cwd: &'a AbsPath, roots: &'a [AbsPath]) -> Context<'a> {
        let doubt = self.loaded.closed.as_deref().or(self.loaded.doubt.as_deref());
        Context { mode: self.mode, cwd, roots, doubt }
    }

    /// Returns the policy that counts for what is only looked at: no grant is used up.
    pub(crate) fn policy(&self, context: &Context<'_>, facts: &Facts) -> &PolicyStack {
        bounded::policy(&self.loaded, context, facts, self.grants.as_ref(), false)
    }

    /// Returns the directories of the project that `cwd` belongs to.
    pub(crate) fn roots_of(&self, cwd: &AbsPath) -> Vec<AbsPath> {
        if cwd == &self.cwd {
            self.roots.clone()
        } else if self.hermetic {
            self.with_added(roots(cwd.clone()))
        } else {
            self.with_added(roots(project_root(cwd, self.home.as_ref())))
        }
    }

    /// Returns the place of calls in this directory.
    pub(crate) fn place<'a>(&'a self, cwd: &'a AbsPath) -> Place<'a> {
        Place { cwd, home: self.home.as_ref() }
    }

    /// Says whether the policy can be relied on.
    pub(crate) fn is_sound(&self) -> bool {
        let Loaded { broken, doubt, closed, .. } = &self.loaded;
        broken.is_empty() && doubt.is_none() && closed.is_none()
    }

    /// Reports everything that is wrong with the policy. Where something is, nothing should be decided on its grounds.
    pub(crate) fn sound(&self, global: Global) -> Result<(), Exit> {
        for note in &self.loaded.notes {
            report::note(note);
        }
        for broken in &self.loaded.broken {
            report::broken(broken, global.color);
        }
        let doubt = self.loaded.closed.as_ref().or(self.loaded.doubt.as_ref());
        if let (Some(doubt), true) = (doubt, self.loaded.broken.is_empty()) {
            report::failure(doubt);
        }
        if self.is_sound() { Ok(()) } else { Err(Exit::Usage) }
    }
}

fn requirement(loaded: &Loaded) -> Option<String> {
    let said = loaded.sandbox.require.as_ref();
    let said =
        said.map(|said| format!("{} says `require = \"{}\"`", said.place, said.how.as_str()));
    let doubt = loaded.closed.as_ref().or(loaded.doubt.as_ref());
    said.or_else(|| doubt.map(|doubt| format!("the policy may require it: {doubt}")))
}

/// Returns the mode that counts: a person's choice, or the policy's, unless an administrator has taken it away.
fn mode(args: &PolicyArgs, loaded: &mut Loaded) -> PermissionMode {
    let wanted = args.mode.or(loaded.policy.mode()).unwrap_or_default();
    let mode = loaded.policy.permitted(wanted);
    if mode != wanted {
        let (wanted, mode) = (wanted.as_str(), mode.as_str());
        let note =
            format!("the managed policy does not let anybody choose `{wanted}`: `{mode}` counts");
        loaded.notes.push(note);
    }
    mode
}

/// Returns the layer of the rules that stand on the command line.
fn named_rules(args: &PolicyArgs, cwd: &AbsPath, home: Option<&AbsPath>) -> Result<Layer, String> {
    let mut rules = Vec::new();
    let lists =
        [(Effect::Deny, &args.deny), (Effect::Ask, &args.ask), (Effect::Allow, &args.allow)];
    for (effect, texts) in lists {
        for text in texts {
            let rule = parse(text, effect, Anchors { home, base: cwd });
            rules.push(rule.map_err(|error| {
                let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
                format!("`--{} {text}`: {}{help}", effect.as_str(), error.message)
            })?);
        }
    }
    let combining = Combining::Strictest;
    Ok(Layer { kind: LayerKind::Cli, file: None, combining, rules, mode: None })
}

/// Returns the files that a person named.
pub(crate) fn named(args: &PolicyArgs, cwd: &AbsPath) -> Result<Vec<Source>, String> {
    args.policy.iter().map(|path| named_file(path, args.format, cwd)).collect()
}

/// Returns one file that a person named. The hooks of a settings file are programs of the project that it lies in, but for those in the
/// person's own home.
pub(crate) fn named_file(
    path: &Path,
    format: Option<Program>,
    cwd: &AbsPath,
) -> Result<Source, String> {
    let program = Program::of(path, format)?;
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let mut source = Source { format: program.format(), ..Source::named(path) };
    // OpenCode counts from the root of the repository, Claude Code from what holds `.claude`.
    match program {
        Program::Native | Program::Codex | Program::LlmDo => {}
        Program::Opencode => source.base = worktree(cwd).unwrap_or_else(AbsPath::root),
        Program::Claude => {
            let own = own_settings();
            if source.base.name() == Some(".claude") {
                source.base = source.base.parent().unwrap_or_else(AbsPath::root);
            }
            source.hooks_of = (source.path.parent() != own.as_deref()).then(|| source.base.clone());
        }
    }
    Ok(source)
}

/// Returns the directory of a person's own settings of Claude Code.
fn own_settings() -> Option<std::path::PathBuf> {
    Environment::read().home.map(|home| Path::new(home.as_str()).join(".claude"))
}

/// Returns the project's directories, in both spellings.
pub(crate) fn roots(project: AbsPath) -> Vec<AbsPath> {
    // The whole disk is no project.
    if project == AbsPath::root() {
        return Vec::new();
    }
    let real = std::fs::canonicalize(project.as_str()).ok();
    let real = real.and_then(|path| AbsPath::new(path.to_str()?).ok());
    let real = real.filter(|real| *real != project);
    [Some(project), real].into_iter().flatten().collect()
}

/// Returns the directory that a person named, or the one that the program was started in.
pub(crate) fn directory(named: Option<&Path>) -> Result<AbsPath, String> {
    let path = std::path::absolute(named.unwrap_or(Path::new(".")))
        .map_err(|error| format!("the working directory is not known: {error}"))?;
    let text = path.to_str().ok_or_else(|| format!("`{}` is not UTF-8", path.display()))?;
    AbsPath::new(text).map_err(|error| format!("`{text}`: {error}"))
}
