//! Tests of complete sandboxes, with the real kernel and a scripted reviewer. They check the
//! results on the host.

mod attributes;
mod hostile;

use std::{
    cell::Cell,
    collections::BTreeSet,
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::PathBuf,
    process::Command,
};

use openoxide_protocol::{AbsPath, NetworkAccess, SandboxRestrictions, TempDirectories};

use crate::{
    interface::{
        CommandOutcome, FileOperation, LaunchConfig, RequestedChange, ResourceLimits,
        RuntimeDecision, RuntimeRequest, SandboxDenial, SandboxReport,
    },
    supervisor::{run_confined, supervisor_main},
};

/// A workspace `w`, a directory next to it, and restricted directories.
struct Arena {
    directory: tempfile::TempDir,
    /// True if a request was withdrawn before its answer.
    gone: Cell<bool>,
}

/// The outcome of a run, with the requests that were reviewed.
#[derive(Debug)]
struct Outcome {
    report: SandboxReport,
    output: String,
    asked: Vec<RequestedChange>,
}

const SUPERVISOR: [&str; 5] =
    ["file_requests::tests::supervisor", "--exact", "--ignored", "--nocapture", "--test-threads=1"];

/// Runs the supervisor. This is not a test.
#[test]
#[ignore = "supervises, started by other tests"]
fn supervisor() {
    let words: Vec<String> = std::env::args().collect();
    if let [.., launch, wire] = words.as_slice()
        && launch.parse::<i32>().is_ok()
    {
        supervisor_main(launch, wire).unwrap();
    }
}

impl Arena {
    fn new() -> Self {
        // A directory below /tmp would be hidden, and the test would prove nothing.
        let place = std::env::current_exe().unwrap();
        let directory = tempfile::tempdir_in(place.parent().unwrap()).unwrap();
        let arena = Self { directory, gone: Cell::new(false) };
        for name in ["w/.git", "w/sub", "out/sub", "secret", "state"] {
            fs::create_dir_all(arena.path(name)).unwrap();
        }
        arena
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn abs(&self, name: &str) -> AbsPath {
        AbsPath::new(self.path(name).to_str().unwrap()).unwrap()
    }

    fn launch(&self, argv: &[&str]) -> LaunchConfig {
        let all = |names: &[&str]| names.iter().map(|name| self.abs(name)).collect::<BTreeSet<_>>();
        LaunchConfig {
            changeable_paths: std::collections::BTreeSet::new(),
            staging_directory: None,
            visible_paths: BTreeSet::new(),
            saved_files: BTreeSet::new(),
            profile: SandboxRestrictions {
                writable: all(&["w"]),
                protected: all(&["w/.git"]),
                unreadable: all(&["secret"]),
                network: NetworkAccess::Off,
                temp: TempDirectories::Private,
            },
            private_directories: Vec::new(),
            private_base: None,
            layer_directory: None,
            argv: argv.iter().map(Into::into).collect(),
            cwd: self.abs("w"),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            limits: ResourceLimits::default(),
            terminal: false,
            has_reviewer: false,
            granted_sockets: BTreeSet::new(),
            ssh_agent: None,
            readable_copies: Default::default(),
            reviews_file_changes: true,
            private_hosts: BTreeSet::new(),
            published_ports: BTreeSet::new(),
            published_on_listen: BTreeSet::new(),
            registry: self.abs("state/registry"),
        }
    }

    fn run(
        &self,
        argv: &[&str],
        mut say: impl FnMut(&RequestedChange) -> RuntimeDecision,
    ) -> Outcome {
        let mut asked = Vec::new();
        let report = run_confined(&self.launch(argv), &SUPERVISOR, &mut |question, gone| {
            let RuntimeRequest::Change(change) = question else { panic!("{question:?}") };
            let answer = say(&change);
            asked.push(change);
            self.gone.set(self.gone.get() || gone());
            answer
        });
        let output = fs::read_to_string(self.path("w/log")).unwrap_or_default();
        Outcome { report: report.unwrap(), output, asked }
    }

    /// Runs a script with the directories as `OUT` and `W`. Its output is captured.
    fn script(
        &self,
        script: &str,
        say: impl FnMut(&RequestedChange) -> RuntimeDecision,
    ) -> Outcome {
        self.run(&["bash", "-c", &format!("exec > log 2>&1\n{}", self.placed(script))], say)
    }

    fn python(
        &self,
        program: &str,
        say: impl FnMut(&RequestedChange) -> RuntimeDecision,
    ) -> Outcome {
        fs::write(self.path("w/program.py"), self.placed(program)).unwrap();
        self.run(&["bash", "-c", "exec python3 -B program.py > log 2>&1"], say)
    }

    fn placed(&self, text: &str) -> String {
        let out = self.path("out").display().to_string();
        text.replace("OUT", &out).replace("BASE", &self.path("").display().to_string())
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| format!("{name}: {error}"))
    }

    fn mode(&self, name: &str) -> u32 {
        fs::symlink_metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
    }

    /// Returns the reviewed requests as text.
    fn asked(&self, outcome: &Outcome) -> Vec<String> {
        let short =
            |path: &AbsPath| path.strip_prefix(&self.abs("")).unwrap_or(path.as_str()).to_owned();
        let one = |change: &RequestedChange| match &change.target {
            Some(to) => format!("{:?} {} {}", change.operation, short(&change.path), short(to)),
            None => format!("{:?} {}", change.operation, short(&change.path)),
        };
        outcome.asked.iter().map(one).collect()
    }
}

const YES: fn(&RequestedChange) -> RuntimeDecision = |_| RuntimeDecision::Once;
const RULE: fn(&RequestedChange) -> RuntimeDecision = |_| RuntimeDecision::AllowedByRule;
const NO: fn(&RequestedChange) -> RuntimeDecision = |_| RuntimeDecision::Rejected;

#[test]
fn approved_changes_have_the_same_result_as_direct_ones() {
    let arena = Arena::new();
    fs::write(arena.path("out/there"), "hi\n").unwrap();
    let outcome = arena.script(
        "umask 027; echo new > OUT/new; echo more >> OUT/new\n\
         mkdir -m 1770 OUT/dir 2> /dev/null; mkdir OUT/plain OUT/slash/; rmdir OUT/slash/\n\
         (umask 0; echo x > OUT/open; mkdir OUT/opendir)\n\
         cp new-not-there OUT/x 2>/dev/null; echo c > c; cp c OUT/copied; chmod 755 c; cp -p c OUT/mode 2>/dev/null\n\
         sed -i s/hi/ho/ OUT/there; mv OUT/copied OUT/moved; mv OUT/new into-w; rm OUT/moved\n\
         git init -q OUT/repo 2>/dev/null; python3 -c 'open(\"OUT/py\", \"x\").write(\"py\")'; cat into-w",
        RULE,
    );
    assert_eq!(outcome.report.outcome, CommandOutcome::Exited(0), "{outcome:?}");
    assert_eq!(outcome.output, "new\nmore\n", "{outcome:?}");
    for (name, text) in [("there", "ho\n"), ("py", "py"), ("mode", "c\n"), ("open", "x\n")] {
        assert_eq!(arena.read(&format!("out/{name}")), text, "{outcome:?}");
    }
    for (name, mode) in [
        ("py", 0o640),
        ("open", 0o666),
        ("opendir", 0o777),
        ("plain", 0o750),
        ("mode", 0o755),
        ("repo/.git", 0o750),
    ] {
        assert_eq!(arena.mode(&format!("out/{name}")), mode, "{name} {outcome:?}");
    }
    let own = fs::metadata(arena.path("w")).unwrap().uid();
    assert_eq!(fs::metadata(arena.path("out/py")).unwrap().uid(), own);
    for gone in ["new", "moved", "copied", "slash"] {
        assert!(!arena.path("out").join(gone).exists(), "{gone} {outcome:?}");
    }
}

#[test]
fn rejected_changes_fail_as_they_do_without_reviews() {
    let arena = Arena::new();
    fs::write(arena.path("out/there"), "x").unwrap();
    let outcome = arena.script(
        "echo x > OUT/new; echo x >> OUT/there; mkdir OUT/d; rm OUT/there; mv OUT/there OUT/z; rmdir OUT/sub; true",
        NO,
    );
    assert_eq!(outcome.output.matches("Read-only file system").count(), 6, "{outcome:?}");
    assert_eq!(arena.read("out/there"), "x");
    let deeds = [
        FileOperation::Write,
        FileOperation::Write,
        FileOperation::MakeDirectory,
        FileOperation::Remove,
        FileOperation::Rename,
        FileOperation::Remove,
    ];
    assert_eq!(outcome.asked.iter().map(|one| one.operation).collect::<Vec<_>>(), deeds);
    let denied = ["new", "there", "d", "z", "sub"]
        .map(|name| SandboxDenial::Write { path: arena.abs(&format!("out/{name}")) });
    assert_eq!(outcome.report.denials, denied, "{outcome:?}");
}

#[test]
fn an_answer_for_the_session_is_not_asked_again_and_one_for_once_is() {
    let arena = Arena::new();
    let script = "for n in 1 2 3; do echo $n >> OUT/a; done";
    let outcome = arena.script(script, |_| RuntimeDecision::Session);
    assert_eq!(arena.asked(&outcome), ["Write out/a"]);
    assert_eq!(arena.read("out/a"), "1\n2\n3\n");
    assert_eq!(arena.script(script, YES).asked.len(), 3);
    assert_eq!(arena.script(script, NO).asked.len(), 1, "a no is not asked again");
}

#[test]
fn the_same_question_from_many_at_once_is_one() {
    let arena = Arena::new();
    let outcome =
        arena.script("for n in 1 2 3 4 5 6 7 8; do echo $n >> OUT/a & done; wait", |_| {
            std::thread::sleep(std::time::Duration::from_millis(1500));
            RuntimeDecision::Once
        });
    assert_eq!(arena.asked(&outcome), ["Write out/a"], "{outcome:?}");
    let mut lines: Vec<_> = arena.read("out/a").lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines.concat(), "12345678", "{outcome:?}");
}

/// System calls whose results are compared between two runs: one without a sandbox, and one with
/// reviews where every request is approved.
const CALLS: &str = r#"
import os, errno, ctypes, fcntl
libc = ctypes.CDLL(None, use_errno=True)
os.chdir('OUT')
fd = os.open('.', os.O_RDONLY | os.O_DIRECTORY)
def say(*what): print(*what, flush=True)
def of(call, *rest, **more):
    try: got = call(*rest, **more)
    except OSError as e: return say(call.__name__, rest[0] if rest else '', errno.errorcode[e.errno])
    if call is os.open:
        flags = fcntl.fcntl(got, fcntl.F_GETFL) & ~os.O_NOFOLLOW
        got = (oct(flags), fcntl.fcntl(got, fcntl.F_GETFD), os.fstat(got).st_size, oct(os.fstat(got).st_mode), os.close(got))
    say(call.__name__, rest[0] if rest else '', got)
W, R, C, X, T, A = os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_EXCL, os.O_TRUNC, os.O_APPEND
for name, flags, mode in [
    ('a', W, 0o666), ('a', W | C, 0o642), ('a', W | C | X, 0o666), ('b', R | C | X, 0o1777), ('b', W | A, 0),
    ('link', W, 0), ('link', W | os.O_NOFOLLOW, 0), ('link', R | C | X, 0o600), ('there', R | os.O_CLOEXEC, 0), ('there', W | T, 0),
    ('there', os.O_RDONLY | C, 0o600), ('there', os.O_RDONLY | T, 0), ('there', W | os.O_DIRECTORY, 0), ('made', W, 0), ('made', R | C, 0),
    ('no/such', W | C, 0o600), ('there/x', W | C, 0o600), ('', W | C, 0o600), ('c/', W | C, 0o600), ('fifo', W | os.O_NONBLOCK, 0),
    ('d' * 256, W | C, 0o600), ('x/' * 2100, W | C, 0), ('e', os.O_RDONLY | C, 0o400), ('e', R, 0), ('made/../f', W | C, 0o600),
    ('made/.', W, 0), ('..', W, 0), ('there', os.O_PATH | W, 0), ('g', W | C | os.O_SYNC | os.O_NOATIME, 0o777), ('g', W | os.O_NONBLOCK, 0),
]: of(os.open, name, flags, mode)
of(os.open, 'h', W | C, 0o600, dir_fd=fd); of(os.open, 'h', W, dir_fd=999)
for name in ['made', 'm', 'm/', 'm2//', 'm/.', 'no/m', 'there/m', '.', '..', 'link', 'm3/..']: of(os.mkdir, name, 0o750)
of(os.mkdir, 'm4', dir_fd=fd)
open('m/x', 'w').close()
for name in ['m', 'm2', 'm4/', 'there', 'no', '.', 'm/.', 'link']: of(os.rmdir, name)
for name in ['no', 'made', 'a', 'a/', 'no/a', 'b', 'm/x', 'm']: of(os.unlink, name)
for one, two in [('no', 'x'), ('there', 'g'), ('g', 'no/x'), ('g', 'made'), ('g', 'g'), ('g', 'made/g'), ('made/g', '../out/i'), ('i', 'i/')]:
    of(os.rename, one, two)
of(os.rename, 'i', 'j', src_dir_fd=fd, dst_dir_fd=fd)
def raw(number, *what):
    say(number, what[0] if isinstance(what[0], bytes) else '', 'ok' if libc.syscall(number, *what) >= 0 else errno.errorcode[ctypes.get_errno()])
raw(2, ctypes.c_void_p(8), 1, 0); raw(83, ctypes.c_void_p(8), 0); raw(85, b'k', 0o600); raw(2, b'k', 1, 0); raw(2, b'k', 3, 0)
raw(83, b'l', 0o700); raw(84, b'l'); raw(82, b'k', b'n'); raw(87, b'n'); raw(316, -100, b'j', -100, b'there2', 1); raw(316, -100, b'there2', -100, b'there', 1)
raw(264, -100, b'there2', -100, b'z'); raw(263, -100, b'z', 0); raw(263, -100, b'made', 0x200); raw(258, -100, b'made', 0o700)
for name in sorted(os.listdir('.')): s = os.lstat(name); say(name, oct(s.st_mode), s.st_size)
"#;

/// Guards I23.
#[test]
fn calls_end_as_the_kernel_would_end_them() {
    let (free, arena) = (Arena::new(), Arena::new());
    for arena in [&free, &arena] {
        let script = "mkdir made; printf text > there; ln -s there link; mkfifo fifo";
        let mut sh = Command::new("sh");
        assert!(
            sh.args(["-ec", script]).current_dir(arena.path("out")).status().unwrap().success()
        );
    }
    let program =
        format!("umask 022; exec python3 -B -c '{}'", free.placed(CALLS).replace('\'', "'\\''"));
    let kernel = Command::new("bash").args(["-c", &program]).output().unwrap();
    let kernel = String::from_utf8(kernel.stdout).unwrap();
    let live = arena.python(&format!("import os; os.umask(0o022)\n{CALLS}"), RULE);
    // Calls that fail in any case are left to the kernel, which checks first that nothing can be
    // written there.
    let is_error = |line: &str| line.rsplit(' ').next().is_some_and(|last| last.starts_with('E'));
    let left = |live: &str| live.ends_with("EROFS") || live.ends_with("fifo EACCES");
    let same = |(kernel, live): &(&str, &str)| kernel == live || is_error(kernel) && left(live);
    let differences: Vec<_> =
        kernel.lines().zip(live.output.lines()).filter(|both| !same(both)).collect();
    assert!(kernel.lines().count() > 80, "{kernel}");
    assert_eq!(differences, Vec::<(&str, &str)>::new(), "{live:?}");
    assert_eq!(kernel.lines().count(), live.output.lines().count(), "{live:?}");
    assert!(live.asked.len() > 20, "{live:?}");
}
