//! The referee of the table of programs: what the table calls harmless is run with the real program in a hostile project.
//!
//! Each command line is derived from the table and is run only if our own analysis calls it harmless in that very
//! directory. It runs without a network, under strace. A program that starts what the project brought, writes a file,
//! or contacts a host has broken the promise of its row.

mod candidates;
mod controls;
mod install;
mod installation;
mod judge;
mod machine;
mod packages;
mod results;
mod strace;
mod table;
mod trap;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Mutex,
};

use openoxide_engine::{CallLocation, collect_action_facts};
use openoxide_protocol::{AbsPath, Access, Action, CommandClass, OperationFacts};

use self::{
    candidates::Candidates,
    installation::Installation,
    judge::Bench,
    machine::Machine,
    packages::Packages,
    results::{Result as Outcome, Verdict},
    trap::{Selection, Trap},
};
use crate::{Failure, setup, workspace};

pub(crate) const ARGUMENTS: &str =
    "[--sample] [--controls] [--install] [--root DIR] [--each N] [--jobs N] [--write] [PROGRAM]…";

/// The programs that the referee itself needs.
const NEEDS: &[setup::Need] =
    &[("strace", "strace"), ("unshare", "util-linux"), ("git", "git"), ("setpriv", "util-linux")];

/// The programs of the sample, which the suite runs on every change. They come with the set-up or with the base system.
const SAMPLE: &[&str] = &[
    "[",
    "awk",
    "base64",
    "basename",
    "cat",
    "cmp",
    "comm",
    "cut",
    "date",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "env",
    "expr",
    "file",
    "find",
    "fold",
    "git",
    "grep",
    "gzip",
    "head",
    "ls",
    "md5sum",
    "nl",
    "od",
    "paste",
    "ps",
    "python3",
    "readlink",
    "realpath",
    "sed",
    "seq",
    "sha256sum",
    "sort",
    "stat",
    "strace",
    "tac",
    "tail",
    "tar",
    "test",
    "tr",
    "uniq",
    "wc",
    "which",
    "zcat",
];

/// The time limit of a command line, in seconds.
const SECONDS: u32 = 20;

/// The extent of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Every program.
    All,
    /// A few programs of this machine, and the controls of their traps.
    Sample,
    /// The controls of the traps alone.
    Controls,
}

/// The options of a run.
struct Options {
    extent: Extent,
    install: bool,
    write: bool,
    root: Option<PathBuf>,
    each: usize,
    jobs: usize,
    programs: Vec<String>,
}

/// Runs the referee.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::new(arguments)?;
    setup::programs(NEEDS)?;
    let packages = Packages::read()?;
    if options.install {
        let root = options.root.clone().unwrap_or_else(install::default_root);
        install::install(&root, &packages)?;
    }
    let machine = Machine::new(options.root.as_deref())?;
    let installation = Installation::read(machine.root());
    if options.extent != Extent::All {
        controls::run(&machine, &installation, options.jobs, |program| options.wants(program))?;
    }
    if options.extent == Extent::Controls {
        return Ok(());
    }
    let outcomes = examine(&options, &packages, &machine, &installation)?;
    report(&options, &outcomes)
}

impl Options {
    fn new(arguments: &[String]) -> Result<Self, Failure> {
        let mut options = Self {
            extent: Extent::All,
            install: false,
            write: false,
            root: None,
            each: 8,
            jobs: std::thread::available_parallelism().map_or(2, usize::from),
            programs: Vec::new(),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| Failure::Usage(format!("{word} needs a value")));
            match word.as_str() {
                "--sample" => options.extent = Extent::Sample,
                "--controls" => options.extent = Extent::Controls,
                "--install" => options.install = true,
                "--write" => options.write = true,
                "--root" => options.root = Some(PathBuf::from(value()?)),
                "--each" => options.each = number(value()?)?,
                "--jobs" => options.jobs = number(value()?)?,
                option if option.starts_with('-') => {
                    return Err(Failure::Usage(format!("unknown option `{option}`")));
                }
                program => options.programs.push(program.to_owned()),
            }
        }
        if options.install && options.root.is_none() {
            options.root = Some(install::default_root());
        }
        Ok(options)
    }

    /// Returns whether the program was asked for.
    fn wants(&self, program: &str) -> bool {
        match (self.programs.is_empty(), self.extent == Extent::Sample) {
            (true, true) => SAMPLE.contains(&program),
            (true, false) => true,
            (false, _) => self.programs.iter().any(|asked| asked == program),
        }
    }
}

fn number(text: &str) -> Result<usize, Failure> {
    text.parse().map_err(|_| Failure::Usage(format!("`{text}` is not a number")))
}

/// Runs the candidates of every program that was asked for, in several threads.
fn examine(
    options: &Options,
    packages: &Packages,
    machine: &Machine,
    installation: &Installation,
) -> Result<Vec<Outcome>, Failure> {
    let trap = |name: &str, selection| Trap::new(machine.work(), name, selection);
    let traps = [
        trap("hostile", Selection::All)?,
        trap("settled", Selection::Unguarded { home: true })?,
        trap("plain-home", Selection::Unguarded { home: false })?,
    ];
    let candidates = Candidates::read()?;
    let versions = install::versions(options.root.as_deref());
    let names: Vec<&str> = candidates.programs().filter(|name| options.wants(name)).collect();
    let queue = Mutex::new(names.into_iter());
    let outcomes = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while let Some(name) = queue.lock().ok().and_then(|mut names| names.next()) {
                    let mut outcome =
                        program(name, options, machine, installation, &traps, &candidates);
                    outcome.describe(packages.package(name), &versions);
                    eprintln!("{}", outcome.line());
                    if let Ok(mut all) = outcomes.lock() {
                        all.insert(name.to_owned(), outcome);
                    }
                }
            });
        }
    });
    Ok(outcomes.into_inner().map_err(|_| "a thread failed".to_owned())?.into_values().collect())
}

/// Runs the command lines of one program.
fn program(
    name: &str,
    options: &Options,
    machine: &Machine,
    installation: &Installation,
    traps: &[Trap],
    candidates: &Candidates,
) -> Outcome {
    let mut outcome = Outcome::new(name);
    if !machine.has(name) {
        return outcome;
    }
    outcome.verdict = Verdict::NothingHarmless;
    let accepted = results::accepted(name);
    for script in candidates.of(name) {
        if outcome.commands.len() >= options.each {
            break;
        }
        // A guard that refuses the hostile project is respected; the rest is tried in the one without that trap.
        let Some(trap) = traps.iter().find(|trap| is_harmless(&script, trap)) else { continue };
        let deeds = match machine.run(&script, trap, SECONDS) {
            Ok(record) => {
                outcome.stopped += usize::from(record.stopped);
                let is_harmless = |command: &str| is_harmless_helper(command, trap);
                let bench = Bench { trap, installation, is_harmless: &is_harmless };
                judge::deeds(&record, &script, &bench)
            }
            Err(error) => vec![judge::Deed::failed(&error)],
        };
        outcome.add(&script, deeds, &accepted);
    }
    outcome
}

/// Returns whether the analysis calls each part of the script harmless in the project of the trap.
fn is_harmless(script: &str, trap: &Trap) -> bool {
    let Some((facts, cwd)) = facts(script, trap) else { return false };
    let inside = |path: &AbsPath| {
        path.strip_prefix(&cwd).is_some() || ["/dev/null", "/etc/hostname"].contains(&path.as_str())
    };
    let harmless = |access: &Access| match access {
        Access::Exec(exec) => exec.class == CommandClass::Harmless,
        Access::Read(path) => path.paths().all(inside),
        _ => false,
    };
    !facts.accesses.is_empty() && facts.findings.is_empty() && facts.accesses.iter().all(harmless)
}

/// Returns whether the analysis calls a command harmless that a program starts. What such a command may read is not asked:
/// the program could read it, too.
fn is_harmless_helper(script: &str, trap: &Trap) -> bool {
    let Some((facts, _)) = facts(script, trap) else { return false };
    let harmless = |access: &Access| match access {
        Access::Exec(exec) => exec.class == CommandClass::Harmless,
        Access::Read(_) | Access::ExternalDirectory(_) => true,
        _ => false,
    };
    !facts.accesses.is_empty() && facts.findings.is_empty() && facts.accesses.iter().all(harmless)
}

/// Returns the facts of the analysis about a script in the project of the trap, and that directory.
fn facts(script: &str, trap: &Trap) -> Option<(OperationFacts, AbsPath)> {
    let absolute = |path: &Path| path.to_str().and_then(|path| AbsPath::new(path).ok());
    let (cwd, home) = (absolute(&trap.project())?, absolute(&trap.home())?);
    let action = Action::Command { script: script.to_owned() };
    let facts =
        collect_action_facts(&action, "Bash", CallLocation { cwd: &cwd, home: Some(&home) });
    Some((facts, cwd))
}

/// Prints the results, writes them to files on request, and fails if a row broke its promise.
fn report(options: &Options, outcomes: &[Outcome]) -> Result<(), Failure> {
    let ran = outcomes.iter().filter(|outcome| !outcome.commands.is_empty());
    let (programs, commands) =
        (ran.clone().count(), ran.map(|outcome| outcome.commands.len()).sum::<usize>());
    let broken: Vec<_> = outcomes.iter().filter(|each| each.verdict == Verdict::Broken).collect();
    println!(
        "{programs} programs ran {commands} command lines; {} broke the promise",
        broken.len()
    );
    for outcome in &broken {
        println!("{}", outcome.line());
    }
    if options.write {
        results::write(&workspace::root().join("corpus/programs/results.tsv"), outcomes)?;
        results::write_unproved(&table::directory().join("unproved.txt"), outcomes)?;
    }
    if options.extent == Extent::Sample {
        let missing: Vec<_> = outcomes
            .iter()
            .filter(|each| each.commands.is_empty())
            .map(|each| each.program.clone())
            .collect();
        if !missing.is_empty() {
            return Err(format!("programs of the sample did not run: {}", missing.join(" ")).into());
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err("a program broke the promise of its row".to_owned().into())
    }
}
