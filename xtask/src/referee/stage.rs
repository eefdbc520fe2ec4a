//! The stage: a namespace without a network in which only memory is writable. In it, strace records
//! a driver that runs scripts one after the other.

mod programs;

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::{Child, ChildStderr, ChildStdin, Command, Stdio},
};

use super::{
    deeds::Deeds,
    options::Shell,
    trace::{Line, Record},
    work::Case,
};
use crate::{setup::is_root, steps::succeed};

/// The directory of the scripts, and the home directory. The driver has the same paths.
pub(crate) const WORK: &str = "/w/1/2/3/4/work";
pub(crate) const HOME: &str = "/w/home";

/// Root must not be root inside of the namespace.
const DROP_ROOT: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// Separate namespaces, an empty environment, and read-only system directories.
const NAMESPACE: &[&str] = &[
    "bwrap",
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/bin",
    "/bin",
    "--symlink",
    "usr/sbin",
    "/sbin",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--ro-bind-try",
    "/etc/ld.so.cache",
    "/etc/ld.so.cache",
    "--ro-bind-try",
    "/etc/alternatives",
    "/etc/alternatives",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--size",
    "67108864",
    "--tmpfs",
    "/w",
];

/// The system calls that start a program, create a process, or create, change or remove a file.
const CALLS: &str = "trace=execve,execveat,clone,clone3,fork,vfork,open,openat,creat,truncate,\
    rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,symlink,symlinkat,link,linkat,\
    mknod,mknodat";

const WATCH: &[&str] =
    &["/usr/bin/strace", "-f", "--seccomp-bpf", "-qq", "-xx", "-y", "-s", "65536"];

/// The number of scripts after which a namespace is replaced by a new one.
const MOST_SCRIPTS: u32 = 5_000;

/// The files that every stage needs, built once.
#[derive(Debug)]
pub(crate) struct Ground {
    folder: tempfile::TempDir,
}

/// One namespace.
#[derive(Debug)]
pub(crate) struct Stage {
    child: Child,
    input: Option<ChildStdin>,
    log: BufReader<ChildStderr>,
    number: u32,
}

impl Ground {
    /// Builds the driver and the stubs.
    pub(crate) fn build() -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("openoxide-referee-").tempdir();
        let folder = folder.map_err(|error| format!("cannot make a folder: {error}"))?;
        let ground = Self { folder };
        ground.furnish().map_err(|error| format!("cannot furnish the stage: {error}"))?;
        ground.compile("driver", include_str!("stage/driver.c"))?;
        ground.compile("not-found", include_str!("stage/stub.c"))?;
        ground.link().map_err(|error| format!("cannot link the programs: {error}"))?;
        Ok(ground)
    }

    fn furnish(&self) -> io::Result<()> {
        for name in ["", "ox", "s"] {
            let path = self.folder.path().join(name);
            fs::create_dir_all(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        fs::write(self.folder.path().join("passwd"), "me:x:65534:65534::/w/home:/bin/bash\n")
    }

    fn compile(&self, name: &str, source: &str) -> Result<(), String> {
        let file = self.folder.path().join(format!("{name}.c"));
        fs::write(&file, source)
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-static", "-o"]).arg(self.folder.path().join("ox").join(name));
        succeed(compiler.arg(file))
    }

    /// Fills the search path: real programs if they do no harm, and the stub under every other
    /// name.
    fn link(&self) -> io::Result<()> {
        let place = self.folder.path().join("s");
        let stub = self.folder.path().join("ox/not-found");
        for name in programs::real() {
            symlink(Path::new("/usr/bin").join(name), place.join(name))?;
        }
        for name in programs::stubs() {
            fs::hard_link(&stub, place.join(name))?;
        }
        Ok(())
    }
}

impl Stage {
    /// Opens a namespace on the processor that `index` selects.
    pub(crate) fn open(ground: &Ground, index: usize) -> Result<Self, String> {
        let mut command = confined(ground.folder.path(), index);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = piped.spawn().map_err(|error| format!("cannot open a stage: {error}"))?;
        let input = child.stdin.take();
        let log = child.stderr.take().ok_or("the stage has no record")?;
        Ok(Self { child, input, log: BufReader::with_capacity(1 << 16, log), number: 0 })
    }

    /// Returns whether the stage has run enough scripts and is to be replaced.
    pub(crate) const fn is_worn(&self) -> bool {
        self.number >= MOST_SCRIPTS
    }

    /// Runs a script, and returns its actions.
    pub(crate) fn run(&mut self, case: &Case) -> Result<Deeds, String> {
        self.number += 1;
        self.send(case).map_err(|error| format!("{error}: {}", self.last_words()))?;
        let mut record = Record::default();
        let mut noise: Vec<String> = Vec::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            match self.log.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return Err(format!("the stage fell: {}", noise.join(" "))),
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&line);
            match record.line(text.trim_end_matches('\n')) {
                Line::Ended(status) => return Ok(Deeds::of(&record, status)),
                Line::Noise => noise.push(text.chars().take(300).collect()),
                Line::Known => {}
            }
        }
    }

    fn send(&mut self, case: &Case) -> io::Result<()> {
        let length = u32::try_from(case.script.len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::new();
        for word in [self.number, case.luck, u32::from(case.shell == Shell::Dash), length] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(case.script.as_bytes());
        self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&bytes)
    }

    fn last_words(&mut self) -> String {
        let mut words = String::new();
        for line in (&mut self.log).lines().take(5).map_while(Result::ok) {
            words.push_str(&line);
            words.push(' ');
        }
        words
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Without input the driver ends, and with it everything in the namespace.
        drop(self.input.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the command that enters a namespace and drives scripts there.
fn confined(folder: &Path, index: usize) -> Command {
    let mut command = Command::new("env");
    if is_root() {
        command.args(DROP_ROOT);
    }
    command.args(NAMESPACE);
    for (from, to) in [("ox", "/ox"), ("s", "/s"), ("passwd", "/etc/passwd")] {
        command.arg("--ro-bind").arg(folder.join(from)).arg(to);
    }
    command.args(["--remount-ro", "/", "--chdir", "/", "/ox/driver"]);
    command.arg(index.to_string());
    command.args(WATCH).args(["-e", "signal=none", "-e", CALLS, "/ox/driver", "run"]);
    command
}
