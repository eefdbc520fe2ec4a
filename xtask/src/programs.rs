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
mod options;
mod packages;
mod progress;
mod results;
mod strace;
mod table;
mod trap;

use std::{collections::BTreeSet, path::Path, sync::Mutex};

use openoxide_engine::{CallLocation, collect_action_facts};
use openoxide_protocol::{AbsPath, Access, Action, CommandClass, OperationFacts};

pub(crate) use self::options::ARGUMENTS;
use self::{
    candidates::Candidates,
    installation::Installation,
    judge::{Bench, Deed},
    machine::Machine,
    options::{Extent, Options},
    packages::Packages,
    progress::Progress,
    results::{AcceptedActions, Result as Outcome, Verdict},
    trap::{Selection, Trap},
};
use crate::{Failure, setup, workspace};

/// The programs that the referee itself needs.
const NEEDS: &[setup::Need] =
    &[("strace", "strace"), ("unshare", "util-linux"), ("git", "git"), ("setpriv", "util-linux")];

/// The time limit of a command line, in seconds.
const SECONDS: u32 = 20;

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

/// The context of a run: what is run, where, and what is accepted.
struct Referee<'r> {
    options: &'r Options,
    machine: &'r Machine,
    installation: &'r Installation,
    traps: [Trap; 3],
    candidates: Candidates,
    accepted: AcceptedActions,
}

/// Runs the candidates of every program that was asked for, in several threads.
fn examine(
    options: &Options,
    packages: &Packages,
    machine: &Machine,
    installation: &Installation,
) -> Result<Vec<Outcome>, Failure> {
    let trap = |name: &str, selection| Trap::new(machine.work(), name, selection);
    let referee = Referee {
        options,
        machine,
        installation,
        traps: [
            trap("hostile", Selection::All)?,
            trap("settled", Selection::Unguarded { home: true })?,
            trap("plain-home", Selection::Unguarded { home: false })?,
        ],
        candidates: Candidates::read(options.seed)?,
        accepted: AcceptedActions::read()?,
    };
    let versions = install::versions(options.root.as_deref());
    let progress = options.resume.as_deref().map(|file| Progress::open(file, options));
    let progress = progress.transpose()?.unwrap_or_default();
    let wanted = referee.candidates.programs().filter(|name| options.wants(name));
    let names: Vec<&str> = wanted.filter(|name| !progress.has(name)).collect();
    let queue = Mutex::new(names.into_iter());
    let progress = Mutex::new(progress);
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while let Some(name) = queue.lock().ok().and_then(|mut names| names.next()) {
                    let mut outcome = referee.program(name);
                    outcome.describe(packages.package(name), &versions);
                    eprintln!("{}", outcome.line());
                    let added = progress.lock().map(|mut progress| progress.add(outcome));
                    if !added.is_ok_and(|added| added.is_ok()) {
                        eprintln!("{name}: the result cannot be saved");
                    }
                }
            });
        }
    });
    let progress = progress.into_inner().map_err(|_| "a thread failed".to_owned())?;
    Ok(progress.into_results(&options.add)?)
}

impl Referee<'_> {
    /// Runs the command lines of one program.
    fn program(&self, name: &str) -> Outcome {
        let mut outcome = Outcome::new(name);
        if !self.machine.has(name) {
            return outcome;
        }
        outcome.verdict = Verdict::NothingHarmless;
        let accepted = self.accepted.of(name);
        for script in self.candidates.ends_of(name) {
            self.examine(script, &mut outcome, &accepted);
        }
        let most = outcome.commands.len() + self.options.each;
        for script in self.candidates.of(name) {
            if outcome.commands.len() >= most {
                break;
            }
            self.examine(&script, &mut outcome, &accepted);
        }
        outcome
    }

    /// Runs a command line if it is harmless in one of the projects, and adds what it did. A guard that refuses the hostile
    /// project is respected: the line is tried in the one without that trap.
    fn examine(&self, script: &str, outcome: &mut Outcome, accepted: &BTreeSet<String>) {
        if outcome.commands.iter().any(|before| before == script) {
            return;
        }
        if let Some(trap) = self.traps.iter().find(|trap| is_harmless(script, trap)) {
            let deeds = self.deeds(script, trap, outcome);
            outcome.add(script, deeds, accepted);
        }
    }

    /// Runs a command line, and returns what it did.
    fn deeds(&self, script: &str, trap: &Trap, outcome: &mut Outcome) -> Vec<Deed> {
        match self.machine.run(script, trap, SECONDS) {
            Ok(record) => {
                outcome.stopped += usize::from(record.is_stopped());
                outcome.failed += usize::from(record.status != Some(0));
                let is_harmless = |command: &str| is_harmless_helper(command, trap);
                let bench =
                    Bench { trap, installation: self.installation, is_harmless: &is_harmless };
                judge::deeds(&record, script, &bench)
            }
            Err(error) => vec![Deed::failed(&error)],
        }
    }
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
    let sum = |count: fn(&Outcome) -> usize| ran.clone().map(count).sum::<usize>();
    let (programs, commands) = (ran.clone().count(), sum(|outcome| outcome.commands.len()));
    let (failed, stopped) = (sum(|outcome| outcome.failed), sum(|outcome| outcome.stopped));
    let broken: Vec<_> = outcomes.iter().filter(|each| each.verdict == Verdict::Broken).collect();
    println!(
        "{programs} programs ran {commands} command lines: {failed} failed, {stopped} were stopped; \
         {} programs broke the promise",
        broken.len()
    );
    for outcome in &broken {
        println!("{}", outcome.line());
    }
    if options.write {
        results::write(
            &workspace::root().join("corpus/programs/results.tsv"),
            outcomes,
            &progress::commit()?,
        )?;
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
