//! From policy files to the policy that is in force.

use std::path::{Path, PathBuf};

use openoxide_permission::{Anchors, Layer, LayerKind, PolicyStack, default_layer};
use openoxide_protocol::{AbsPath, Effect};

use crate::{
    cache,
    file::{ReadError, read_text},
    locations::{Environment, Source},
    policy_file::Problem,
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
    /// Why nothing may be allowed: rules that ask or deny may be missing.
    pub doubt: Option<String>,
    /// Why nothing may be done at all: the managed policy cannot be relied on (DECISIONS 16).
    pub closed: Option<String>,
    /// The files that have something wrong with them.
    pub broken: Vec<Broken>,
    /// What else a person should know: rules of a project that do not count.
    pub notes: Vec<String>,
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
/// the cache when no file has changed since, and put there when nothing is wrong.
#[must_use]
pub fn load(sources: &[Source], environment: &Environment) -> Loaded {
    let key = cache::Key::of(sources, environment);
    if let Some(policy) = key.as_ref().and_then(cache::Key::fetch) {
        return Loaded { policy, ..Loaded::default() };
    }
    let loaded = load_fresh(sources, environment.home.as_ref());
    let flawless = loaded.broken.is_empty() && loaded.notes.is_empty() && loaded.doubt.is_none();
    if let (Some(key), true) = (&key, flawless && loaded.closed.is_none()) {
        key.store(&loaded.policy);
    }
    loaded
}

#[derive(Default)]
struct Reading {
    layers: Vec<Layer>,
    broken: Vec<Broken>,
    notes: Vec<String>,
    doubt: Option<String>,
    closed: Option<String>,
}

/// As [`load`], but from the files themselves, with their layers.
#[must_use]
pub fn load_fresh(sources: &[Source], home: Option<&AbsPath>) -> Loaded {
    let mut reading = Reading::default();
    for source in sources {
        reading.source(source, home);
    }
    reading.layers.push(default_layer());
    let policy = PolicyStack::compile(&reading.layers).or_else(|error| {
        reading.doubt.get_or_insert_with(|| error.to_string());
        PolicyStack::compile(&[default_layer()])
    });
    let Ok(policy) = policy else { return nothing() };
    let Reading { layers, broken, notes, doubt, closed } = reading;
    Loaded { policy, layers, doubt, closed, broken, notes }
}

/// What is left when not even the built-in layer can be compiled: nothing is allowed.
fn nothing() -> Loaded {
    let closed = Some("the built-in policy cannot be compiled".to_owned());
    Loaded { doubt: closed.clone(), closed, ..Loaded::default() }
}

impl Reading {
    fn source(&mut self, source: &Source, home: Option<&AbsPath>) {
        // The usual way to name no policy at all.
        if source.path == Path::new("/dev/null") {
            return;
        }
        match read_text(&source.path, LONGEST) {
            Ok(text) => self.text(source, text, home),
            Err(ReadError::Missing) if !source.required => {}
            Err(error) => self.unreadable(source, &error),
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
        let layer = if source.may_loosen { file.layer } else { self.tightened(file.layer) };
        self.layers.push(layer);
    }

    /// Leaves out what would loosen, and says so.
    fn tightened(&mut self, mut layer: Layer) -> Layer {
        let before = layer.rules.len();
        layer.rules.retain(|rule| rule.effect != Effect::Allow);
        let dropped = before - layer.rules.len() + usize::from(layer.mode.take().is_some());
        if dropped > 0 {
            let name = layer.file.as_deref().unwrap_or_default();
            self.notes.push(format!(
                "{name}: {dropped} settings that would allow more do not count, because files inside a project can only tighten"
            ));
        }
        layer
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

#[cfg(test)]
mod tests {
    use std::fs;

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
