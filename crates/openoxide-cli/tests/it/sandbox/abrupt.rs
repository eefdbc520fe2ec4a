//! Abrupt ends of the program and of the processes around it: the reports are correct each time.
//!
//! The test runs each kind of end a few times. A campaign sets `OPENOXIDE_ABRUPT_RUNS` to the total
//! number of runs.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::Arena;

const PROGRAM: &str = include_str!("abrupt.py");
const THREADS: usize = 4;
/// Runs of the test as it is.
const RUNS: usize = 2 * KINDS.len();

/// The process that is killed from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Program,
    Init,
    Supervisor,
}

/// A kind of end of a run, with the expected status.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// By the program itself.
    Own(&'static str, i32),
    /// The program waits, and is ended by this signal to this process once it runs.
    Killed(&'static str, Target, i32, i32),
    /// One of the processes is killed at any moment.
    Anytime(Target),
    /// The program is not there.
    NotFound,
}

const KINDS: [Kind; 26] = [
    Kind::Own("connect", 0),
    Kind::Own("connects", 7),
    Kind::Own("held", 3),
    Kind::Own("threads", 9),
    Kind::Own("closed", 5),
    Kind::Own("orphan", 4),
    Kind::Own("missing", 6),
    Kind::Own("9", 137),
    Kind::Own("11", 139),
    Kind::Own("6", 134),
    Kind::Own("15", 143),
    Kind::Own("2", 130),
    Kind::Own("12", 140),
    Kind::Killed("wait", Target::Program, libc_kill::KILL, 137),
    Kind::Killed("wait", Target::Init, libc_kill::KILL, 137),
    Kind::Killed("wait", Target::Supervisor, libc_kill::KILL, 137),
    Kind::Killed("wait-connected", Target::Program, libc_kill::KILL, 137),
    Kind::Killed("wait-connected", Target::Init, libc_kill::KILL, 137),
    Kind::Killed("wait-connected", Target::Supervisor, libc_kill::KILL, 137),
    Kind::Killed("wait", Target::Program, libc_kill::TERM, 143),
    Kind::Killed("wait", Target::Supervisor, libc_kill::TERM, 143),
    Kind::Killed("wait", Target::Supervisor, libc_kill::INT, 130),
    Kind::Anytime(Target::Program),
    Kind::Anytime(Target::Init),
    Kind::Anytime(Target::Supervisor),
    Kind::NotFound,
];

/// The numbers of signals, which `kill` takes.
mod libc_kill {
    pub(super) const INT: i32 = 2;
    pub(super) const KILL: i32 = 9;
    pub(super) const TERM: i32 = 15;
}

/// A run and its parameters.
struct Run<'a> {
    arena: &'a Arena,
    number: usize,
    kind: Kind,
}

#[test]
fn reports_after_an_abrupt_end_are_correct() {
    let asked = std::env::var("OPENOXIDE_ABRUPT_RUNS").ok().and_then(|text| text.parse().ok());
    let (runs, next) = (asked.unwrap_or(RUNS), AtomicUsize::new(0));
    let ended: usize = thread::scope(|scope| {
        let work = || {
            let arena = arena();
            let mut recorded = 0;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= runs {
                    break;
                }
                let kind = KINDS[number % KINDS.len()];
                recorded += usize::from(Run { arena: &arena, number, kind }.go());
            }
            assert_eq!(outcomes(&arena), recorded, "each end is recorded, and nothing else");
            recorded
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(ended >= runs * 20 / KINDS.len(), "{ended} of {runs} ended by themselves");
    if asked.is_some() {
        println!("{runs} runs: {ended} with an end, {} where nothing was run", runs - ended);
    }
}

fn arena() -> Arena {
    let arena = Arena::new();
    fs::write(arena.path("w/p.py"), PROGRAM).unwrap();
    let git = Command::new("git").args(["init", "-q"]).current_dir(arena.path("w")).status();
    assert!(git.unwrap().success());
    fs::create_dir_all(arena.path("home/.config/openoxide")).unwrap();
    let policy = "[permissions]\nallow = [\"Bash(python3 *)\", \"Bash(/nonexistent/*)\"]\n";
    fs::write(arena.path("home/.config/openoxide/policy.toml"), policy).unwrap();
    arena
}

/// Returns the number of ends in the audit journal.
fn outcomes(arena: &Arena) -> usize {
    let log = arena.command().args(["audit", "log", "--json", "--limit", "1000000"]).output();
    let log = log.unwrap();
    assert!(log.status.success(), "{}", String::from_utf8_lossy(&log.stderr));
    String::from_utf8_lossy(&log.stdout).matches("\"record\":\"outcome\"").count()
}

impl Run<'_> {
    /// Executes the run and checks its messages. Returns whether an end has to be recorded.
    fn go(&self) -> bool {
        let mut command = self.arena.command();
        command.args(["run", "--no-input", "--"]).args(self.words());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        match self.kind {
            Kind::Killed(_, target, signal, _) => self.end(&child, target, signal),
            Kind::Anytime(target) => self.end_anytime(&child, target),
            Kind::Own(..) | Kind::NotFound => {}
        }
        let output = child.wait_with_output().unwrap();
        self.judge(&output)
    }

    fn words(&self) -> Vec<String> {
        let way = match self.kind {
            Kind::Own(way, _) | Kind::Killed(way, ..) => way,
            Kind::Anytime(_) => "wait",
            Kind::NotFound => return vec!["/nonexistent/program".to_owned()],
        };
        ["python3", "p.py", way, &self.mark()].map(str::to_owned).into()
    }

    fn mark(&self) -> String {
        format!("ran-{}", self.number)
    }

    fn ran(&self) -> bool {
        fs::read(self.arena.path("w").join(self.mark())).is_ok_and(|text| !text.is_empty())
    }

    /// Ends a process once the program runs.
    fn end(&self, child: &Child, target: Target, signal: i32) {
        until(|| self.ran());
        let mut found = None;
        until(|| {
            found = process(child, target);
            found.is_some()
        });
        kill(found.unwrap(), signal);
    }

    /// Kills a process as soon as it is there and a time that differs from run to run is over.
    fn end_anytime(&self, child: &Child, target: Target) {
        let mut found = None;
        until(|| {
            found = process(child, target);
            found.is_some()
        });
        thread::sleep(Duration::from_micros(self.number as u64 * 7919 % 40_000));
        kill(found.unwrap(), libc_kill::KILL);
    }

    fn judge(&self, output: &Output) -> bool {
        let (code, said) = (output.status.code(), String::from_utf8_lossy(&output.stderr));
        let about = format!("{:?}, run {}: {code:?}\n{said}", self.kind, self.number);
        let nothing = said.contains("nothing was run");
        assert_eq!(said.contains("--sandbox off"), nothing, "{about}");
        match self.kind {
            Kind::Own(_, status) | Kind::Killed(.., status) => {
                assert!(code == Some(status) && !nothing && self.ran(), "{about}");
                let text = fs::read_to_string(self.arena.path("w").join(self.mark())).unwrap();
                assert_eq!(text, "ran\n", "it ran once: {about}");
            }
            Kind::Anytime(_) if nothing => assert!(code == Some(125) && !self.ran(), "{about}"),
            Kind::Anytime(_) => assert_eq!(code, Some(137), "{about}"),
            Kind::NotFound => assert!(code == Some(127) && !nothing, "{about}"),
        }
        !nothing
    }
}

fn until(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < end, "it never came to that");
        thread::sleep(Duration::from_micros(500));
    }
}

fn kill(process: u32, signal: i32) {
    drop(Command::new("kill").args([format!("-{signal}"), process.to_string()]).output());
}

/// Finds a process of a run: the supervisor is the child of the caller; of its children, the first process inside has the program
/// for a child, and the other one only waits.
fn process(caller: &Child, target: Target) -> Option<u32> {
    let supervisor = *children(caller.id()).first()?;
    let inside = || {
        let all = children(supervisor);
        all.into_iter().find_map(|one| Some((one, *children(one).first()?)))
    };
    match target {
        Target::Supervisor => Some(supervisor),
        Target::Init => inside().map(|(init, _)| init),
        Target::Program => inside().map(|(_, program)| program),
    }
}

fn children(of: u32) -> Vec<u32> {
    let tasks = PathBuf::from(format!("/proc/{of}/task"));
    let tasks = fs::read_dir(tasks).into_iter().flatten().flatten();
    let text = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    text.flat_map(|all| all.split(' ').filter_map(|one| one.parse().ok()).collect::<Vec<_>>())
        .collect()
}
