//! The fuzzer for slowness: payloads that are made to take long, and how long the hook takes for each.
//!
//! A hook that answers too late is as good as none. What bounds its work is counted in steps, which the tests hold
//! (`openoxide-engine`, `steps`); this campaign measures what the steps cost.

mod payloads;

use std::{
    fs,
    io::{Read as _, Write as _},
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

/// The arguments of the verb.
pub(crate) const ARGUMENTS: &str =
    "[--cases N] [--seed S] [--from CASE] [--most-ms M] [--program FILE]";

/// The number of hooks that run at once. More would measure the load of the others.
const WORKERS: u64 = 2;

/// The settings of a run.
struct Settings {
    cases: u64,
    seed: u64,
    /// The first case.
    from: u64,
    /// The processor time that one payload may take.
    most: Duration,
    program: PathBuf,
}

/// The duration of one call of the hook.
#[derive(Clone, Copy, Default)]
struct Taken {
    /// Of the clock, which other work on the machine lengthens.
    clock: Duration,
    /// Of the processors.
    processor: Duration,
}

/// The payload of each kind that took most processor time, and the longest time of the clock of that kind.
#[derive(Default)]
struct Slowest(Mutex<Vec<(Taken, u64)>>);

/// Runs the hook on as many payloads as `arguments` ask for. Fails if one took too long or had no answer.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let settings = Settings::read(arguments)?;
    let world = World::new()?;
    let (next, slowest) = (AtomicU64::new(settings.from), Slowest::default());
    let since = Instant::now();
    let results: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let work = || {
            loop {
                let case = next.fetch_add(1, Ordering::Relaxed);
                if case >= settings.from + settings.cases {
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
        "{cases} payloads (seed {}) in {seconds:.0} s; the worst took {} ms of processor time",
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
        let (mut cases, mut seed, mut from, mut most, mut program) = (1_000, 1, 0, 500, None);
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
                "--from" => from = number()?,
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
        Ok(Self { cases, seed, from, most: Duration::from_millis(most), program })
    }
}

impl Slowest {
    fn note(&self, case: u64, taken: Taken) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.resize(KINDS.len(), (Taken::default(), 0));
        let kind = usize::try_from(case).unwrap_or(0) % KINDS.len();
        if let Some((worst, worst_case)) = all.get_mut(kind) {
            worst.clock = worst.clock.max(taken.clock);
            if worst.processor <= taken.processor {
                (worst.processor, *worst_case) = (taken.processor, case);
            }
        }
    }

    /// Prints the slowest payload of each kind, and returns the most processor time.
    fn print(&self) -> Duration {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        println!("{:<28} {:>9} {:>9}", "kind", "processor", "clock");
        for (kind, (taken, case)) in KINDS.iter().zip(all.iter()) {
            let (processor, clock) = (taken.processor.as_millis(), taken.clock.as_millis());
            println!("{kind:<28} {processor:>6} ms {clock:>6} ms  case {case}");
        }
        all.iter().map(|(taken, _)| taken.processor).max().unwrap_or_default()
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

    /// Runs the hook on one payload, and returns the time that it took.
    fn hook(&self, settings: &Settings, case: u64) -> Result<Taken, String> {
        let project = self.path("p");
        let mut chance = Chance::new(settings.seed.wrapping_mul(1 << 32).wrapping_add(case));
        let payload = payload(case, &project, &mut chance);
        let since = Instant::now();
        let (output, processor) = self.answer(&settings.program, &project, payload.as_bytes())?;
        let taken = Taken { clock: since.elapsed(), processor };
        let answer: serde_json::Value = serde_json::from_slice(&output)
            .map_err(|error| format!("case {case} has no single answer: {error}"))?;
        let effect = answer.pointer("/hookSpecificOutput/permissionDecision");
        match effect.and_then(serde_json::Value::as_str) {
            Some("allow" | "ask" | "deny") => Ok(taken),
            _ => Err(format!("case {case} has another answer: {answer}")),
        }
    }

    /// Returns what the hook prints, and its processor time.
    fn answer(
        &self,
        program: &Path,
        project: &Path,
        payload: &[u8],
    ) -> Result<(Vec<u8>, Duration), String> {
        let failed = |error: std::io::Error| format!("cannot run the hook: {error}");
        let mut hook = Command::new(program);
        hook.args(["hook", "claude"]).current_dir(project).env_clear();
        hook.env("HOME", self.folder.path()).env("XDG_CONFIG_HOME", self.path("config"));
        hook.env("PATH", "/usr/bin:/bin").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hook = hook.stderr(Stdio::null()).spawn().map_err(failed)?;
        if let Some(mut input) = hook.stdin.take() {
            input.write_all(payload).map_err(failed)?;
        }
        let mut output = Vec::new();
        if let Some(mut printed) = hook.stdout.take() {
            printed.read_to_end(&mut output).map_err(failed)?;
        }
        let processor = processor_time_of_ended(hook.id())?;
        hook.wait().map_err(failed)?;
        Ok((output, processor))
    }
}

/// Waits until a child has ended, and returns the processor time of all its threads (proc(5), `stat`). The child is not
/// waited for, so that its number stays its own.
fn processor_time_of_ended(child: u32) -> Result<Duration, String> {
    let failed =
        |error: &dyn std::fmt::Display| format!("cannot read the time of the hook: {error}");
    loop {
        let text =
            fs::read_to_string(format!("/proc/{child}/stat")).map_err(|error| failed(&error))?;
        let fields: Vec<&str> =
            text.rsplit(") ").next().unwrap_or_default().split_whitespace().collect();
        if fields.first() == Some(&"Z") {
            let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
            let (Some(user), Some(system)) = (ticks(11), ticks(12)) else {
                return Err(failed(&"it has no times"));
            };
            return Ok(Duration::from_millis((user + system) * 10));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}
