//! From policy files to the policy that is in force.

use std::path::{Path, PathBuf};

use openoxide_permission::{
    Anchors, Combining, Directory, Hook, Layer, LayerKind, PolicyStack, default_layer,
};
use openoxide_protocol::{AbsPath, Effect};
use serde::{Deserialize, Serialize};

use crate::{
    cache::{Beside, Cache},
    file::{
        ReadError, is_open_to_others, is_roots_alone, metadata_if_present, read_text,
        replaceable_by_others,
    },
    grants::{self, Entry, GrantFile},
    hook_trust,
    locations::{Environment, Source, SourceUse},
    policy_file::{Managed, Problem, SandboxSettings},
    trust::{Trust, name_in},
};

mod directories;
mod sandbox;

pub(crate) use directories::resolved;
pub use directories::{Additional, DirectoryState};
use sandbox::Said;

/// No policy file is longer.
const LONGEST: u64 = 64 << 20;

/// What was loaded.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The policy in force.
    pub policy: PolicyStack,
    /// Its layers, the most precedent first; none when the policy came from the cache.
    pub layers: Vec<Layer>,
    /// The hooks that count, in the order of the layers.
    pub hooks: Vec<Hook>,
    /// The hooks of projects that do not count, because nobody vouched for them; none when the policy came from the cache.
    pub unheeded: Vec<Hook>,
    /// The additional directories that count as the project's, in each spelling.
    pub roots: Vec<AbsPath>,
    /// Each directory that a file names, in the order of the layers; none when the policy came from the cache.
    pub directories: Vec<Additional>,
    /// What holds of the sandbox.
    pub sandbox: SandboxSettings,
    /// Each directory that a file wants to be writable in it, in the order of the layers; none when the policy came from the cache.
    pub writable: Vec<Additional>,
    /// Why nothing may be allowed: rules that ask or deny may be missing.
    pub doubt: Option<String>,
    /// Why nothing may be done at all: the managed policy cannot be relied on (DECISIONS 16).
    pub closed: Option<String>,
    /// The files that have something wrong with them.
    pub broken: Vec<Broken>,
    /// What else a person should know.
    pub notes: Vec<String>,
    /// The projects whose settings would loosen, and were not vouched for.
    pub untrusted: Vec<Untrusted>,
    /// What an administrator takes from everybody.
    pub managed: Managed,
    /// Where it is said that an allow counts only if it is written down; nothing when the policy came from the cache.
    pub audit: Vec<String>,
    /// The grants that count only so far, and the policy for where they do not count.
    pub bounded: Option<Bounded>,
    /// The tasks other than this one in which grants are valid.
    elsewhere: Vec<String>,
    /// Whether what was read is in the files alone: no hook, whose script can change.
    lasting: bool,
}

/// Grants that count only so far.
#[derive(Clone, Debug)]
pub struct Bounded {
    /// Those that are in force.
    pub entries: Vec<Entry>,
    /// The policy without them.
    pub without: PolicyStack,
}

/// A project whose settings would loosen, and do not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untrusted {
    /// Its directory.
    pub project: AbsPath,
    /// The settings, as a person is shown them.
    pub settings: Vec<String>,
}

/// A file that has something wrong with it.
#[derive(Clone, Debug)]
pub struct Broken {
    /// Where it lies.
    pub path: PathBuf,
    /// Its text; empty when it could not be read.
    pub text: String,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// Loads the files that are there and compiles them, together with the built-in layer. The compiled policy is taken from
/// the cache when no file has changed since, and put there when nothing is wrong. A policy with hooks is read each time: beside the
/// programs that it starts, that costs nothing, and no hook can be lost or change unseen. Of it, and of one with grants that can end, only
/// the denies are kept, for when a file turns wrong.
#[must_use]
pub fn load(sources: &[Source], environment: &Environment) -> Loaded {
    let cache = Cache::of(sources, environment);
    if let Some((policy, beside, without)) = cache.as_ref().and_then(Cache::fetch) {
        let Beside { notes, untrusted, roots, sandbox, bounded: entries, elsewhere, .. } = beside;
        let bounded = without.map(|without| Bounded { entries, without });
        let loaded = Loaded {
            policy,
            notes,
            untrusted,
            roots,
            sandbox,
            bounded,
            elsewhere,
            ..Loaded::default()
        };
        return Loaded { lasting: true, ..loaded };
    }
    let loaded = read(sources, environment, &[]);
    if let (Some(cache), true) = (&cache, loaded.is_good()) {
        loaded.keep(sources, cache);
    }
    loaded.held_by_the_last(sources, cache.as_ref())
}

/// As [`load`], but from the files themselves, with their layers, and with layers that were made elsewhere (the command line);
/// these rank behind the managed one.
#[must_use]
pub fn load_fresh(sources: &[Source], environment: &Environment, more: &[Layer]) -> Loaded {
    let loaded = read(sources, environment, more);
    let cache = if loaded.doubt.is_some() { Cache::of(sources, environment) } else { None };
    loaded.held_by_the_last(sources, cache.as_ref())
}

impl Loaded {
    /// Says whether every file could be read and nothing is wrong with it.
    pub(crate) fn is_good(&self) -> bool {
        self.broken.is_empty() && self.doubt.is_none() && self.closed.is_none()
    }

    /// Returns what is kept beside the compiled policy.
    fn beside(&self) -> Beside {
        let (notes, untrusted) = (self.notes.clone(), self.untrusted.clone());
        let (roots, sandbox) = (self.roots.clone(), self.sandbox.clone());
        let led = self.directories.iter().chain(&self.writable);
        let led = led.map(|one| (one.directory.path.clone(), one.real.clone())).collect();
        let bounded = self.bounded.iter().flat_map(|bounded| bounded.entries.clone()).collect();
        let elsewhere = self.elsewhere.clone();
        Beside { notes, untrusted, roots, sandbox, led, bounded, elsewhere }
    }

    /// Says whether both decide the same and tell a person the same.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        let grounds = |of: &Self| (of.doubt.clone(), of.closed.clone(), of.notes.clone());
        let bounded = |of: &Self| of.bounded.as_ref().map(|bounded| bounded.without.clone());
        self.policy == other.policy
            && self.hooks == other.hooks
            && self.roots == other.roots
            && self.sandbox == other.sandbox
            && bounded(self) == bounded(other)
            && grounds(self) == grounds(other)
    }

    /// Keeps what can be kept of a good policy.
    fn keep(&self, sources: &[Source], cache: &Cache) {
        if self.lasting {
            let without = self.bounded.as_ref().map(|bounded| &bounded.without);
            cache.store(&self.policy, &self.beside(), without);
        } else if !named(sources) {
            let lasting = self.bounded.as_ref().map_or(&self.policy, |bounded| &bounded.without);
            cache.store_last_good(lasting);
        }
    }

    /// Where rules may be missing, what the last good version of the same files denies stays denied. Files that a person named
    /// stand for themselves.
    fn held_by_the_last(self, sources: &[Source], cache: Option<&Cache>) -> Self {
        match cache {
            Some(cache) if self.doubt.is_some() && !named(sources) => {
                self.held_by(cache.last_good())
            }
            _ => self,
        }
    }

    /// Lets the denies of an older policy hold.
    pub(crate) fn held_by(self, before: Option<PolicyStack>) -> Self {
        let Some(before) = before else { return self };
        let held = |policy: PolicyStack| policy.held_by(before.clone());
        let bounded =
            self.bounded.map(|bounded| Bounded { without: held(bounded.without), ..bounded });
        Self { policy: held(self.policy), bounded, ..self }
    }
}

fn named(sources: &[Source]) -> bool {
    sources.iter().any(|source| source.required)
}

#[derive(Default)]
struct Reading {
    /// Each with its project, if it lies in one.
    layers: Vec<(Option<AbsPath>, Layer)>,
    /// Each with what it has to be vouched for with: a project, or a file that was named.
    hooks: Vec<(Option<AbsPath>, Hook)>,
    unheeded: Vec<Hook>,
    /// Each with the directory under which a person has to vouch for it, if somebody has to.
    directories: Vec<(Option<AbsPath>, Additional)>,
    /// The same of those that shall be writable in the sandbox.
    writable: Vec<(Option<AbsPath>, Additional)>,
    /// What each file says of the sandbox, with its project, if it lies in one.
    sandbox: Vec<(Option<AbsPath>, Said)>,
    /// Linked worktrees, each with its main checkout.
    worktrees: Vec<(AbsPath, AbsPath)>,
    broken: Vec<Broken>,
    notes: Vec<String>,
    untrusted: Vec<Untrusted>,
    managed: Managed,
    audit: Vec<String>,
    asks_unproved: bool,
    bounded: Vec<Entry>,
    /// The tasks other than this one in which grants are valid.
    elsewhere: Vec<String>,
    doubt: Option<String>,
    closed: Option<String>,
}

/// Reads the files as they are.
fn read(sources: &[Source], environment: &Environment, more: &[Layer]) -> Loaded {
    let mut reading = Reading::default();
    for source in sources {
        reading.source(source, environment);
    }
    let at =
        reading.layers.iter().take_while(|(_, layer)| layer.kind == LayerKind::Managed).count();
    reading.layers.splice(at..at, more.iter().cloned().map(|layer| (None, layer)));
    let lasting = reading.hooks.is_empty();
    reading.ask_for_trust(&Trust::of(environment));
    Loaded { lasting, ..reading.finish() }
}

/// What is left when not even the built-in layer can be compiled: nothing is allowed.
fn nothing() -> Loaded {
    let closed = Some("the built-in policy cannot be compiled".to_owned());
    Loaded { doubt: closed.clone(), closed, ..Loaded::default() }
}

impl Reading {
    fn source(&mut self, source: &Source, environment: &Environment) {
        let home = environment.home.as_ref();
        // The usual way to name no policy at all.
        if source.path == Path::new("/dev/null") {
            return;
        }
        if let SourceUse::Unavailable(problem) = &source.usage {
            return self.unreadable(source, &ReadError::Io(std::io::Error::other(problem.clone())));
        }
        if source.grants {
            let granted = GrantFile::of(environment, &source.base).layer(home);
            self.notes.extend(granted.notes);
            self.bounded.extend(granted.bounded);
            self.elsewhere.extend(granted.elsewhere);
            self.layers.push((None, granted.layer));
            return;
        }
        match read_text(&source.path, LONGEST) {
            Ok(text) => {
                self.check_owner(source, environment);
                self.text(source, text, environment);
            }
            Err(ReadError::Missing) if !source.required => {
                if let Err(error) = metadata_if_present(&source.path) {
                    self.unreadable(source, &ReadError::Io(error));
                }
            }
            Err(error) => self.unreadable(source, &error),
        }
    }

    /// A file that others could have written may have lost the rules that hold back.
    fn check_owner(&mut self, source: &Source, environment: &Environment) {
        let name = source.path.display();
        let directories = source.guarded_directories(environment);
        let directories: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
        match source.kind {
            LayerKind::Managed if !is_roots_alone(&source.path) => {
                self.distrust(
                    source,
                    &format!("{name}: others than root can write it, or its directory"),
                );
            }
            LayerKind::User if is_open_to_others(&source.path) => {
                self.distrust(source, &format!("{name}: others than you can write it"));
            }
            LayerKind::User => {
                if let Some(open) = replaceable_by_others(&directories) {
                    let open = open.display();
                    let why = format!(
                        "{name}: others than you can replace it, because they can write the directory `{open}`; \
                         run `chmod o-w {open}`"
                    );
                    self.distrust(source, &why);
                }
            }
            // What lies in a project counts by its content.
            _ => {}
        }
    }

    fn text(&mut self, source: &Source, text: String, environment: &Environment) {
        let anchors = Anchors { home: source.home(environment), base: &source.base };
        let name = source.path.to_string_lossy();
        let mut file = (source.format.read)(&text, source.kind, &name, anchors);
        if source.usage == SourceUse::RestrictionsOnly {
            file.keep_restrictions();
        }
        self.notes.extend(file.notes);
        if file.problems.iter().any(|problem| problem.loses_restraint) {
            self.distrust(source, &format!("{name} has errors, so a rule may be missing"));
        }
        if !file.problems.is_empty() {
            let path = source.path.clone();
            self.broken.push(Broken { path, text, problems: file.problems });
        }
        if source.kind == LayerKind::Managed {
            self.managed = file.managed;
        }
        self.audit.extend(file.audit.map(|line| format!("{name}:{line}")));
        self.asks_unproved |= file.asks_unproved;
        self.worktrees.extend(source.main.clone().map(|main| (source.base.clone(), main)));
        self.directories.extend(looked_at(file.directories, source, environment));
        self.writable.extend(looked_at(file.writable, source, environment));
        for (_, one) in self.directories.iter().chain(&self.writable) {
            self.notes.extend(one.note().filter(|note| !self.notes.contains(note)));
        }
        let project = (!source.may_loosen).then(|| source.base.clone());
        let said = Said { kind: source.kind, file: name.to_string(), settings: file.sandbox };
        self.sandbox.push((project.clone(), said));
        let (vouched, own) = (source.vouched_as(), project.as_ref().or(source.hooks_of.as_ref()));
        let hooks = file.hooks.into_iter().map(|hook| Hook { project: own.cloned(), ..hook });
        self.hooks.extend(hooks.map(|hook| (vouched.clone(), hook)));
        self.layers.push((project, file.layer));
    }

    /// Leaves out what would loosen in each project that nobody has vouched for, and says so.
    fn ask_for_trust(&mut self, trust: &Trust) {
        self.notes.extend(trust.problem());
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
            let settings = self.loosening(&project);
            if settings.is_empty() || self.is_vouched_for(trust, &project, &settings) {
                continue;
            }
            let before = self.was_vouched_for(trust, &project);
            self.tighten(&project, before);
            self.notes.push(unheeded(&project, settings.len()));
            self.untrusted.push(Untrusted { project, settings });
        }
        self.hold_back_unclear_hooks();
    }

    /// Returns what the files of a project would loosen, a line each.
    fn loosening(&self, project: &AbsPath) -> Vec<String> {
        fn of<'a, T>(
            all: &'a [(Option<AbsPath>, T)],
            project: &AbsPath,
        ) -> impl Iterator<Item = &'a T> {
            all.iter().filter(move |(of, _)| of.as_ref() == Some(project)).map(|(_, one)| one)
        }
        let checkouts: Vec<&AbsPath> =
            std::iter::once(project).chain(self.main_of(project)).collect();
        let layers = of(&self.layers, project).flat_map(|layer| loosening(layer, &checkouts));
        let directories = of(&self.directories, project)
            .filter_map(|one| one.setting("directory", &checkouts))
            .chain(
                of(&self.writable, project)
                    .filter_map(|one| one.setting("sandbox writable", &checkouts)),
            );
        let sandbox = of(&self.sandbox, project).flat_map(|said| said.loosening(&checkouts));
        let hooks = of(&self.hooks, project);
        let hooks = hooks.map(|hook| {
            let base = hook.project.as_ref().unwrap_or(project);
            let places = [&[base], checkouts.as_slice()].concat();
            hook_trust::setting(hook, base, &places)
        });
        layers.chain(directories).chain(sandbox).chain(hooks).collect()
    }

    fn main_of(&self, project: &AbsPath) -> Option<&AbsPath> {
        let found = self.worktrees.iter().find(|(worktree, _)| worktree == project);
        found.map(|(_, main)| main)
    }

    fn is_vouched_for(&self, trust: &Trust, project: &AbsPath, settings: &[String]) -> bool {
        match self.main_of(project) {
            Some(main) => trust.covers_worktree(project, main, settings),
            None => trust.covers(project, settings),
        }
    }

    /// Says whether a person has vouched for this project when it said something else.
    fn was_vouched_for(&self, trust: &Trust, project: &AbsPath) -> bool {
        let places = std::iter::once(project).chain(self.main_of(project));
        places.filter_map(|place| trust.find(place)).any(|said| said.trusted)
    }

    /// Leaves out what would loosen in a project.
    fn tighten(&mut self, project: &AbsPath, before: bool) {
        let own = |of: &Option<AbsPath>| of.as_ref() == Some(project);
        self.layers.iter_mut().filter(|(of, _)| own(of)).for_each(|(_, layer)| tighten(layer));
        let directories = self.directories.iter_mut().chain(&mut self.writable);
        directories.filter(|(of, _)| own(of)).for_each(|(_, one)| one.distrust());
        self.sandbox.iter_mut().filter(|(of, _)| own(of)).for_each(|(_, said)| said.tighten());
        self.leave_out_hooks(project, before);
    }

    /// Leaves out the hooks of a project. Of a file that a person named the allows count, so its hooks stay, and ask; so do those
    /// that a person relied on `before` they changed: whoever changes a guard must not get rid of it.
    fn leave_out_hooks(&mut self, project: &AbsPath, before: bool) {
        let (of_it, mut kept): (Vec<_>, Vec<_>) =
            self.hooks.drain(..).partition(|(of, _)| of.as_ref() == Some(project));
        for (of, hook) in of_it {
            let hook = Hook { vouched: false, ..hook };
            let found = self.layers.iter().any(|(own, _)| own.as_ref() == Some(project));
            if found && !before { self.unheeded.push(hook) } else { kept.push((of, hook)) }
        }
        self.hooks = kept;
    }

    /// Does not run those hooks of projects of which nobody can tell which files they run: these could change unseen.
    fn hold_back_unclear_hooks(&mut self) {
        let of_projects = self.hooks.iter_mut().filter(|(of, _)| of.is_some());
        for (_, hook) in of_projects.filter(|(_, hook)| !hook_trust::is_plain(&hook.command)) {
            hook.vouched = false;
            let (file, line) = (&hook.file, hook.line);
            self.notes.push(format!(
                "{file}:{line}: hook skipped: cannot determine which files it runs; use literal paths \
                 below `\"$CLAUDE_PROJECT_DIR\"/`, or move the command into a script"
            ));
        }
    }

    fn finish(mut self) -> Loaded {
        if self.managed.allow_managed_rules_only {
            let others =
                self.layers.iter_mut().filter(|(_, layer)| layer.kind != LayerKind::Managed);
            others.for_each(|(_, layer)| layer.rules.clear());
            let directories = self.directories.iter_mut().chain(&mut self.writable);
            directories.for_each(|(_, one)| one.leave_to_the_administrator());
            let others = self.sandbox.iter_mut().map(|(_, said)| said);
            others.filter(|said| said.kind != LayerKind::Managed).for_each(Said::tighten);
        }
        let directories: Vec<_> = self.directories.drain(..).map(|(_, one)| one).collect();
        let writable: Vec<_> = self.writable.drain(..).map(|(_, one)| one).collect();
        let sandbox = sandbox::together(self.sandbox.drain(..).map(|(_, said)| said), &writable);
        let roots = directories.iter().flat_map(Additional::roots).collect();
        let hooks = self.counting_hooks();
        let mut layers: Vec<Layer> = self.layers.into_iter().map(|(_, layer)| layer).collect();
        layers.push(default_layer());
        let policy = PolicyStack::compile(&layers).or_else(|error| {
            self.doubt.get_or_insert_with(|| error.to_string());
            PolicyStack::compile(&[default_layer()])
        });
        let Ok(policy) = policy else { return nothing() };
        let bars = |policy: PolicyStack| {
            let no_bypass = self.managed.disable_bypass_permissions;
            let policy = if no_bypass { policy.without_bypass() } else { policy };
            let policy = if self.asks_unproved { policy.with_unproved_asks() } else { policy };
            if self.audit.is_empty() { policy } else { policy.with_audit() }
        };
        let bounded = bounded(self.bounded, &layers)
            .map(|bounded| Bounded { without: bars(bounded.without), ..bounded });
        let policy = bars(policy);
        let Self { unheeded, broken, notes, untrusted, managed, audit, doubt, closed, .. } = self;
        let elsewhere = self.elsewhere;
        Loaded {
            policy,
            layers,
            hooks,
            unheeded,
            roots,
            directories,
            sandbox,
            writable,
            doubt,
            closed,
            broken,
            notes,
            untrusted,
            managed,
            audit,
            bounded,
            elsewhere,
            lasting: false,
        }
    }

    /// Returns the hooks that an administrator leaves. Where no other rules count, other hooks allow nothing.
    fn counting_hooks(&mut self) -> Vec<Hook> {
        let managed = self.managed;
        let mut hooks: Vec<Hook> = self.hooks.drain(..).map(|(_, hook)| hook).collect();
        hooks.retain(|hook| hook.layer == LayerKind::Managed || !managed.allow_managed_hooks_only);
        for hook in hooks.iter_mut().filter(|hook| hook.layer != LayerKind::Managed) {
            hook.may_allow &= !managed.allow_managed_rules_only;
        }
        hooks
    }

    fn unreadable(&mut self, source: &Source, error: &ReadError) {
        let name = source.path.display();
        self.distrust(source, &format!("{name} cannot be read: {error}"));
        let message = format!("the policy cannot be read: {error}");
        let problem = Problem { message, help: None, span: 0..0, loses_restraint: true };
        let path = source.path.clone();
        self.broken.push(Broken { path, text: String::new(), problems: vec![problem] });
    }

    fn distrust(&mut self, source: &Source, why: &str) {
        let place =
            if source.kind == LayerKind::Managed { &mut self.closed } else { &mut self.doubt };
        place.get_or_insert_with(|| why.to_owned());
    }
}

/// Looks at the directories of a file, each with the directory under which a person has to vouch for it, if somebody has to.
fn looked_at(
    found: Vec<Directory>,
    source: &Source,
    environment: &Environment,
) -> impl Iterator<Item = (Option<AbsPath>, Additional)> {
    let look = |one| Additional::of(one, environment);
    found.into_iter().map(look).map(|one| (one.to_be_trusted(source, environment), one))
}

/// Returns what a project's layer would loosen, a line each. Where the order of rules decides, each rule could.
fn loosening(layer: &Layer, checkouts: &[&AbsPath]) -> Vec<String> {
    let file = name_in(layer.file.as_deref().unwrap_or_default(), checkouts);
    let allows = layer.rules.iter().any(|rule| rule.effect == Effect::Allow);
    let ordered = allows && layer.combining != Combining::Strictest;
    let rules = layer.rules.iter().enumerate().filter_map(|(at, rule)| {
        let text = format!("{} {}", rule.effect.as_str(), rule.text);
        match rule.effect {
            _ if ordered => Some(format!("{file}: {}. {text}", at + 1)),
            Effect::Allow => Some(format!("{file}: {text}")),
            Effect::Ask | Effect::Deny => None,
        }
    });
    let combining = ordered.then(|| format!("{file}: combining {}", layer.combining.as_str()));
    let mode = layer.mode.map(|mode| format!("{file}: mode {}", mode.as_str()));
    mode.into_iter().chain(combining).chain(rules).collect()
}

/// Compiles the policy without the grants that have bounds. If that cannot be, there is nothing that they could not reach.
fn bounded(entries: Vec<Entry>, layers: &[Layer]) -> Option<Bounded> {
    if entries.is_empty() {
        return None;
    }
    let mut layers = layers.to_vec();
    let granted = layers.iter_mut().filter(|layer| grants::is_layer(layer));
    granted.for_each(|layer| {
        layer.rules.retain(|rule| entries.iter().all(|entry| entry.line != rule.line));
    });
    Some(Bounded { entries, without: PolicyStack::compile(&layers).unwrap_or_default() })
}

fn unheeded(project: &AbsPath, settings: usize) -> String {
    let settings = match settings {
        1 => "1 permissive setting".to_owned(),
        more => format!("{more} permissive settings"),
    };
    let named =
        if Path::new(project.as_str()).is_file() { format!(" {project}") } else { String::new() };
    format!("{project}: {settings} ignored: project not trusted (run `openoxide trust{named}`)")
}

fn tighten(layer: &mut Layer) {
    layer.rules.retain(|rule| rule.effect != Effect::Allow);
    layer.mode = None;
}

#[cfg(test)]
mod tests;
