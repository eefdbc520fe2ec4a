//! The fuzzer for slowness: payloads that are made to take long, and how long the hook takes for each.
//!
//! A hook that answers too late is as good as none. What bounds its work is counted in steps, which the tests hold
//! (`openoxide-session`, `steps`); this campaign measures what the steps cost.

mod payloads;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{Failure, crash::chance::Chance, workspace::test_program};

use self::payloads::{KINDS, payload};

/// What the verb takes.
pub(crate) const ARGUMENTS: &str = "[--cases N] [--seed S] [--most-ms M] [--program FILE]";

/// So many hooks run side by side: more than one would measure the others' load.
const WORKERS: u64 = 2;

/// What was asked for.
struct Settings {
    cases: u64,
    seed: u64,
    most: Duration,
    program: PathBuf,
}

/// The slowest payload of each kind.
#[derive(Default)]
struct Slowest(Mutex<Vec<(Duration, u64)>>);

/// Runs the hook on as many payloads as `arguments` ask for. Fails if one took too long or had no answer.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let settings = Settings::read(arguments)?;
    let world = World::new()?;
    let (next, slowest) = (AtomicU64::new(0), Slowest::default());
    let since = Instant::now();
    let results: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let work = || {
            loop {
                let case = next.fetch_add(1, Ordering::Relaxed);
                if case >= settings.cases {
                    return Ok(());
                }
                let taken = world.hook(&settings, case)?;
                slowest.note(case, taken);
            }
        };
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".to_owned())))
            .collect()
    });
    results.into_iter().collect::<Result<(), String>>()?;
    let worst = slowest.print();
    let (cases, seconds) = (settings.cases, since.elapsed().as_secs_f64());
    println!(
        "{cases} payloads (seed {}) in {seconds:.0} s; the worst took {} ms",
        settings.seed,
        worst.as_millis()
    );
    match worst > settings.most {
        true => Err(format!("the worst may take {} ms", settings.most.as_millis()).into()),
        false => Ok(()),
    }
}

impl Settings {
    fn read(arguments: &[String]) -> Result<Self, Failure> {
        let (mut cases, mut seed, mut most, mut program) = (1_000, 1, 500, None);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value =
                words.next().ok_or_else(|| Failure::Usage(format!("`{word}` needs a value")))?;
            let number = || {
                value.parse::<u64>().map_err(|_| Failure::Usage(format!("`{word}` needs a number")))
            };
            match word.as_str() {
                "--cases" => cases = number()?,
                "--seed" => seed = number()?,
                "--most-ms" => most = number()?,
                "--program" => program = Some(PathBuf::from(value)),
                _ => {
                    return Err(Failure::Usage(format!(
                        "`cargo xtask slowness` takes no `{word}`"
                    )));
                }
            }
        }
        let program = program.map_or_else(|| test_program("openoxide-cli"), Ok)?;
        Ok(Self { cases, seed, most: Duration::from_millis(most), program })
    }
}

impl Slowest {
    fn note(&self, case: u64, taken: Duration) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.resize(KINDS.len(), (Duration::ZERO, 0));
        let kind = usize::try_from(case).unwrap_or(0) % KINDS.len();
        if let Some(worst) = all.get_mut(kind).filter(|worst| worst.0 < taken) {
            *worst = (taken, case);
        }
    }

    /// Prints the slowest payload of each kind, and returns the slowest time.
    fn print(&self) -> Duration {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, (taken, case)) in KINDS.iter().zip(all.iter()) {
            println!("{kind:<28} {:>6} ms  case {case}", taken.as_millis());
        }
        all.iter().map(|(taken, _)| *taken).max().unwrap_or_default()
    }
}

/// A hostile project, and a home with many rules.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot make the hostile project: {error}");
        let world = Self { folder: tempfile::tempdir().map_err(failed)? };
        world.fill().map_err(failed)?;
        Ok(world)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// 5,000 files with long names, a tree of 400 levels, 2,000 links, 2,000 directories and 3,000 rules.
    fn fill(&self) -> std::io::Result<()> {
        for name in ["p/.git", "p/many", "p/links", "p/wide", "config/openoxide"] {
            fs::create_dir_all(self.path(name))?;
        }
        for number in 0..5_000 {
            fs::write(self.path(&format!("p/many/{}{number}", "a".repeat(200))), "")?;
        }
        let mut deep = self.path("p/deep");
        for _ in 0..400 {
            deep.push("d");
        }
        fs::create_dir_all(&deep)?;
        for number in 0..2_000 {
            let link = self.path(&format!("p/links/{number}"));
            std::os::unix::fs::symlink(format!("../links/{}", number + 1), link)?;
            fs::create_dir(self.path(&format!("p/wide/{number}")))?;
        }
        let rules: String = (0..3_000)
            .map(|number| format!("    \"Bash(tool{number} * --flag *x*)\",\n"))
            .collect();
        let policy = format!("[permissions]\ndeny = [\n{rules}]\nallow = [\"Bash(cat *)\"]\n");
        fs::write(self.path("config/openoxide/policy.toml"), policy)
    }

    /// Has the hook answer one payload, and returns how long that took.
    fn hook(&self, settings: &Settings, case: u64) -> Result<Duration, String> {
        let project = self.path("p");
        let mut chance = Chance::new(settings.seed.wrapping_mul(1 << 32).wrapping_add(case));
        let payload = payload(case, &project, &mut chance);
        let since = Instant::now();
        let output = self.answer(&settings.program, &project, payload.as_bytes())?;
        let taken = since.elapsed();
        let answer: serde_json::Value = serde_json::from_slice(&output)
            .map_err(|error| format!("case {case} has no single answer: {error}"))?;
        let effect = answer.pointer("/hookSpecificOutput/permissionDecision");
        match effect.and_then(serde_json::Value::as_str) {
            Some("allow" | "ask" | "deny") => Ok(taken),
            _ => Err(format!("case {case} has another answer: {answer}")),
        }
    }

    fn answer(&self, program: &Path, project: &Path, payload: &[u8]) -> Result<Vec<u8>, String> {
        let failed = |error: std::io::Error| format!("cannot run the hook: {error}");
        let mut hook = Command::new(program);
        hook.args(["hook", "claude"]).current_dir(project).env_clear();
        hook.env("HOME", self.folder.path()).env("XDG_CONFIG_HOME", self.path("config"));
        hook.env("PATH", "/usr/bin:/bin").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hook = hook.stderr(Stdio::null()).spawn().map_err(failed)?;
        if let Some(mut input) = hook.stdin.take() {
            input.write_all(payload).map_err(failed)?;
        }
        Ok(hook.wait_with_output().map_err(failed)?.stdout)
    }
}
