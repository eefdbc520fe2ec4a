//! From policy files to the policy that is in force.

use std::path::{Path, PathBuf};

use openoxide_permission::{
    Anchors, Combining, Hook, Layer, LayerKind, PolicyStack, default_layer,
};
use openoxide_protocol::{AbsPath, Effect};

use crate::{
    cache,
    file::{ReadError, is_open_to_others, is_roots_alone, read_text},
    grants::{self, Entry, GrantFile},
    hook_trust,
    locations::{Environment, Source},
    policy_file::{Managed, Problem},
    trust::Trust,
};

/// No policy file is longer.
const LONGEST: u64 = 64 << 20;

/// What was loaded.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The policy in force.
    pub policy: PolicyStack,
    /// Its layers, the most precedent first; none when the policy came from the cache.
    pub layers: Vec<Layer>,
    /// The hooks that count, in the order of the layers.
    pub hooks: Vec<Hook>,
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
    /// The grants that count only so far, and the policy for where they do not count.
    pub bounded: Option<Bounded>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrusted {
    /// Its directory.
    pub project: AbsPath,
    /// The settings, as a person is shown them.
    pub settings: Vec<String>,
}

/// A file that has something wrong with it.
#[derive(Debug)]
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
/// programs that it starts, that costs nothing, and no hook can be lost or change unseen.
#[must_use]
pub fn load(sources: &[Source], environment: &Environment) -> Loaded {
    let key = cache::Key::of(sources, environment);
    if let Some(policy) = key.as_ref().and_then(cache::Key::fetch) {
        return Loaded { policy, ..Loaded::default() };
    }
    let loaded = load_fresh(sources, environment, &[]);
    let flawless = loaded.broken.is_empty() && loaded.notes.is_empty() && loaded.doubt.is_none();
    // A grant can be over before a file has changed.
    let plain = loaded.hooks.is_empty() && loaded.bounded.is_none() && loaded.closed.is_none();
    if let (Some(key), true) = (&key, flawless && plain) {
        key.store(&loaded.policy);
    }
    loaded
}

#[derive(Default)]
struct Reading {
    /// Each with its project, if it lies in one.
    layers: Vec<(Option<AbsPath>, Layer)>,
    /// Likewise.
    hooks: Vec<(Option<AbsPath>, Hook)>,
    broken: Vec<Broken>,
    notes: Vec<String>,
    untrusted: Vec<Untrusted>,
    managed: Managed,
    bounded: Vec<Entry>,
    doubt: Option<String>,
    closed: Option<String>,
}

/// As [`load`], but from the files themselves, with their layers, and with layers that were made elsewhere (the command line);
/// these rank behind the managed one.
#[must_use]
pub fn load_fresh(sources: &[Source], environment: &Environment, more: &[Layer]) -> Loaded {
    let mut reading = Reading::default();
    for source in sources {
        reading.source(source, environment);
    }
    let at =
        reading.layers.iter().take_while(|(_, layer)| layer.kind == LayerKind::Managed).count();
    reading.layers.splice(at..at, more.iter().cloned().map(|layer| (None, layer)));
    reading.ask_for_trust(&Trust::of(environment));
    reading.finish()
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
        if source.grants {
            let granted = GrantFile::of(environment, &source.base).layer(home);
            self.notes.extend(granted.notes);
            self.bounded.extend(granted.bounded);
            self.layers.push((None, granted.layer));
            return;
        }
        match read_text(&source.path, LONGEST) {
            Ok(text) => {
                self.check_owner(source);
                self.text(source, text, home);
            }
            Err(ReadError::Missing) if !source.required => {}
            Err(error) => self.unreadable(source, &error),
        }
    }

    /// A file that others could have written may have lost the rules that hold back.
    fn check_owner(&mut self, source: &Source) {
        let name = source.path.display();
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
            // What lies in a project counts by its content.
            _ => {}
        }
    }

    fn text(&mut self, source: &Source, text: String, home: Option<&AbsPath>) {
        let anchors = Anchors { home, base: &source.base };
        let name = source.path.to_string_lossy();
        let file = (source.format.read)(&text, source.kind, &name, anchors);
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
        let project = (!source.may_loosen).then(|| source.base.clone());
        self.hooks.extend(file.hooks.into_iter().map(|hook| (project.clone(), hook)));
        self.layers.push((project, file.layer));
    }

    /// Leaves out what would loosen in each project that nobody has vouched for, and says so.
    fn ask_for_trust(&mut self, trust: &Trust) {
        let mut projects: Vec<AbsPath> = Vec::new();
        for project in self.layers.iter().filter_map(|(project, _)| project.clone()) {
            if !projects.contains(&project) {
                projects.push(project);
            }
        }
        for project in projects {
            let own = |layer: &&mut (Option<AbsPath>, Layer)| layer.0.as_ref() == Some(&project);
            let layers = || self.layers.iter().filter(|layer| layer.0.as_ref() == Some(&project));
            let hooks = self.hooks.iter().filter(|hook| hook.0.as_ref() == Some(&project));
            let hooks = hooks.map(|(_, hook)| hook_trust::setting(hook, &project));
            let settings: Vec<String> =
                layers().flat_map(|(_, layer)| loosening(layer, &project)).chain(hooks).collect();
            if settings.is_empty() || trust.covers(&project, &settings) {
                continue;
            }
            self.layers.iter_mut().filter(own).for_each(|(_, layer)| tighten(layer));
            self.hooks.retain(|(of, _)| of.as_ref() != Some(&project));
            self.notes.push(unheeded(&project, settings.len()));
            self.untrusted.push(Untrusted { project, settings });
        }
    }

    fn finish(mut self) -> Loaded {
        if self.managed.allow_managed_rules_only {
            let others =
                self.layers.iter_mut().filter(|(_, layer)| layer.kind != LayerKind::Managed);
            others.for_each(|(_, layer)| layer.rules.clear());
        }
        let hooks = self.counting_hooks();
        let mut layers: Vec<Layer> = self.layers.into_iter().map(|(_, layer)| layer).collect();
        layers.push(default_layer());
        let policy = PolicyStack::compile(&layers).or_else(|error| {
            self.doubt.get_or_insert_with(|| error.to_string());
            PolicyStack::compile(&[default_layer()])
        });
        let Ok(policy) = policy else { return nothing() };
        let bars = |policy: PolicyStack| {
            if self.managed.disable_bypass_permissions { policy.without_bypass() } else { policy }
        };
        let bounded = bounded(self.bounded, &layers)
            .map(|bounded| Bounded { without: bars(bounded.without), ..bounded });
        let policy = bars(policy);
        let Self { broken, notes, untrusted, managed, doubt, closed, .. } = self;
        Loaded { policy, layers, hooks, doubt, closed, broken, notes, untrusted, managed, bounded }
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

/// Returns what a project's layer would loosen, a line each. Where the order of rules decides, each rule could.
fn loosening(layer: &Layer, project: &AbsPath) -> Vec<String> {
    let file = layer.file.as_deref().unwrap_or_default();
    let file = file.strip_prefix(project.as_str()).unwrap_or(file).trim_start_matches('/');
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
    let (settings, do_not, them) = match settings {
        1 => ("1 setting".to_owned(), "does not", "it"),
        more => (format!("{more} settings"), "do not", "them"),
    };
    format!(
        "{project}: {settings} that would allow more {do_not} count, because nobody vouched for {them} \
         (`openoxide trust` shows {them})"
    )
}

fn tighten(layer: &mut Layer) {
    layer.rules.retain(|rule| rule.effect != Effect::Allow);
    layer.mode = None;
}

#[cfg(test)]
mod tests {
    use std::fs;

    use openoxide_protocol::PermissionMode;

    use super::*;

    struct Disk {
        dir: tempfile::TempDir,
        environment: Environment,
    }

    impl Disk {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let environment =
                Environment { cache: Some(dir.path().join("cache")), ..Environment::default() };
            Self { dir, environment }
        }

        fn write(&self, name: &str, text: &str) -> Source {
            let path = self.dir.path().join(name);
            fs::write(&path, text).unwrap();
            Source::named(path)
        }

        fn cached(&self) -> usize {
            fs::read_dir(self.dir.path().join("cache/openoxide")).map_or(0, Iterator::count)
        }
    }

    const GOOD: &str = "[permissions]\ndeny = [\"Bash(rm *)\"]\nallow = [\"Bash(ls *)\"]\n";

    fn age(path: &std::path::Path) {
        let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        fs::File::options().append(true).open(path).unwrap().set_modified(past).unwrap();
    }

    #[test]
    fn a_project_file_only_tightens() {
        let disk = Disk::new();
        let source = Source { may_loosen: false, ..disk.write("p.toml", GOOD) };
        let loaded = load(&[source], &disk.environment);
        assert_eq!(loaded.policy.rule_count(), default_layer().rules.len() + 1);
        assert_eq!(loaded.notes.len(), 1);
        assert_eq!(loaded.doubt, None);
    }

    #[test]
    fn the_order_of_rules_is_part_of_what_is_vouched_for() {
        let disk = Disk::new();
        let state = Some(disk.dir.path().join("state"));
        let environment = Environment { state, ..Environment::default() };
        let write = |rules: &str| {
            let text = format!("[permissions]\ncombining = \"last-match\"\n{rules}");
            Source { may_loosen: false, ..disk.write("p.toml", &text) }
        };
        let first = write("deny = [\"Bash(rm *)\"]\nallow = [\"Bash(ls *)\"]\n");
        let loaded = load_fresh(std::slice::from_ref(&first), &environment, &[]);
        let [untrusted] = loaded.untrusted.as_slice() else { panic!("{loaded:?}") };
        Trust::of(&environment).keep(&untrusted.project, &untrusted.settings, true).unwrap();
        assert_eq!(load_fresh(&[first], &environment, &[]).untrusted, []);
        let turned = write("allow = [\"Bash(ls *)\"]\ndeny = [\"Bash(rm *)\"]\n");
        assert_eq!(load_fresh(&[turned], &environment, &[]).untrusted.len(), 1);
        let gone = write("allow = [\"Bash(ls *)\"]\n");
        assert_eq!(load_fresh(&[gone], &environment, &[]).untrusted.len(), 1);
    }

    #[test]
    fn an_administrator_takes_rules_and_bypass_away() {
        let disk = Disk::new();
        let text = "[managed]\ndisable_bypass_permissions = true\nallow_managed_rules_only = true\n[permissions]\ndeny = [\"Bash(rm *)\"]\n";
        let managed = Source { kind: LayerKind::Managed, ..disk.write("m.toml", text) };
        let user = disk.write("u.toml", GOOD);
        let loaded = load_fresh(&[managed, user], &Environment::default(), &[]);
        assert_eq!(loaded.policy.rule_count(), default_layer().rules.len() + 1);
        let permitted = |mode| loaded.policy.permitted(mode);
        assert_eq!(permitted(PermissionMode::BypassPermissions), PermissionMode::Default);
        assert_eq!(permitted(PermissionMode::AcceptEdits), PermissionMode::AcceptEdits);
        let elsewhere = disk.write("x.toml", text);
        assert_eq!(load_fresh(&[elsewhere], &Environment::default(), &[]).broken.len(), 1);
    }

    const HOOK: &str = "[[hooks]]\nevent = \"pre_tool_use\"\ncommand = \"guard\"\n";

    #[test]
    fn a_hook_of_a_project_counts_once_somebody_vouched_for_it() {
        let disk = Disk::new();
        let state = Some(disk.dir.path().join("state"));
        let environment = Environment { state, ..Environment::default() };
        let write = |text: &str| Source { may_loosen: false, ..disk.write("p.toml", text) };
        let source = write(HOOK);
        let loaded = load_fresh(std::slice::from_ref(&source), &environment, &[]);
        assert_eq!(loaded.hooks, []);
        let [untrusted] = loaded.untrusted.as_slice() else { panic!("{loaded:?}") };
        let expected = ["p.toml: hook pre_tool_use *, 30 s: \"guard\""];
        assert_eq!(untrusted.settings, expected);
        Trust::of(&environment).keep(&untrusted.project, &untrusted.settings, true).unwrap();
        assert_eq!(load_fresh(&[source], &environment, &[]).hooks.len(), 1);
        for other in [HOOK.replace("guard", "other"), format!("{HOOK}timeout = 9\n")] {
            assert_eq!(load_fresh(&[write(&other)], &environment, &[]).hooks, []);
        }
    }

    #[test]
    fn an_administrator_takes_hooks_or_their_allows_away() {
        let disk = Disk::new();
        let count = |switch: &str| {
            let text = format!("[managed]\n{switch} = true\n{HOOK}");
            let managed = Source { kind: LayerKind::Managed, ..disk.write("m.toml", &text) };
            let user = disk.write("u.toml", HOOK);
            let hooks = load_fresh(&[managed, user], &Environment::default(), &[]).hooks;
            hooks.iter().map(|hook| (hook.layer, hook.may_allow)).collect::<Vec<_>>()
        };
        let (managed, other) = (LayerKind::Managed, LayerKind::Cli);
        assert_eq!(count("disable_bypass_permissions"), [(managed, true), (other, true)]);
        assert_eq!(count("allow_managed_hooks_only"), [(managed, true)]);
        assert_eq!(count("allow_managed_rules_only"), [(managed, true), (other, false)]);
    }

    #[test]
    fn a_policy_with_hooks_is_never_cached() {
        let disk = Disk::new();
        let source = disk.write("p.toml", &format!("{GOOD}{HOOK}"));
        std::thread::sleep(cache::SETTLED + std::time::Duration::from_millis(100));
        for _ in 0..2 {
            let loaded = load(std::slice::from_ref(&source), &disk.environment);
            assert_eq!((loaded.hooks.len(), disk.cached()), (1, 0));
        }
    }

    #[test]
    fn a_managed_file_that_others_can_write_closes_everything() {
        use std::os::unix::fs::PermissionsExt as _;
        let disk = Disk::new();
        let managed = Source { kind: LayerKind::Managed, ..disk.write("m.toml", GOOD) };
        fs::set_permissions(&managed.path, fs::Permissions::from_mode(0o664)).unwrap();
        assert!(load_fresh(&[managed], &Environment::default(), &[]).closed.is_some());
    }

    #[test]
    fn a_file_that_cannot_be_read_puts_the_policy_in_doubt() {
        let disk = Disk::new();
        let missing = Source::named(disk.dir.path().join("none.toml"));
        assert!(load(&[missing], &disk.environment).doubt.is_some());
        let directory = Source::named(disk.dir.path().to_path_buf());
        assert!(load(&[directory], &disk.environment).doubt.is_some());
        let wrong = disk.write("w.toml", "[permissions]\ndeny = [\"Bash(\"]\n");
        let loaded = load(&[wrong], &disk.environment);
        assert!(loaded.doubt.is_some());
        assert_eq!(loaded.broken.len(), 1);
        let optional =
            Source { required: false, ..Source::named(disk.dir.path().join("none.toml")) };
        assert_eq!(load(&[optional], &disk.environment).doubt, None);
    }

    #[test]
    fn a_managed_file_that_is_wrong_closes_everything() {
        let disk = Disk::new();
        let wrong = disk.write("w.toml", "deny = \n");
        let managed = Source { kind: LayerKind::Managed, ..wrong };
        let loaded = load(&[managed], &disk.environment);
        assert!(loaded.closed.is_some());
    }

    #[test]
    fn the_cache_gives_the_same_policy_until_a_file_changes() {
        let disk = Disk::new();
        let source = disk.write("p.toml", GOOD);
        age(&source.path);
        // The change time cannot be set back: until it is old enough, nothing is stored.
        let first = load(std::slice::from_ref(&source), &disk.environment);
        assert_eq!(disk.cached(), 0);
        std::thread::sleep(cache::SETTLED + std::time::Duration::from_millis(100));
        let second = load(std::slice::from_ref(&source), &disk.environment);
        assert_eq!(disk.cached(), 1);
        let third = load(std::slice::from_ref(&source), &disk.environment);
        assert_eq!((&first.policy, &second.policy), (&second.policy, &third.policy));
        fs::write(&source.path, "[permissions]\n").unwrap();
        let changed = load(std::slice::from_ref(&source), &disk.environment);
        assert_eq!(changed.policy.rule_count(), default_layer().rules.len());
    }

    #[test]
    fn a_damaged_cache_is_not_used() {
        let disk = Disk::new();
        let source = disk.write("p.toml", GOOD);
        std::thread::sleep(cache::SETTLED + std::time::Duration::from_millis(100));
        let first = load(std::slice::from_ref(&source), &disk.environment);
        let directory = disk.dir.path().join("cache/openoxide");
        let file = fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
        for at in [0, 60, 400] {
            let mut bytes = fs::read(&file).unwrap();
            bytes[at] ^= 1;
            fs::write(&file, &bytes).unwrap();
            let again = load(std::slice::from_ref(&source), &disk.environment);
            assert_eq!(again.policy, first.policy);
        }
        fs::write(&file, b"").unwrap();
        assert_eq!(load(&[source], &disk.environment).policy, first.policy);
    }
}
