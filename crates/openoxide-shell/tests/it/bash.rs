//! The referee: bash itself, with nothing to run and nowhere to go.
#![expect(clippy::disallowed_methods, reason = "the referee runs; the crate itself stays pure")]

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The user ID of `nobody` on every common Linux distribution.
const NOBODY: u32 = 65_534;
const PATIENCE: Duration = Duration::from_millis(800);
/// Limits for the shell that runs the script: processor time, size of files, memory.
const START: &str = "ulimit -t 1 -f 4 -v 1000000 -c 0; [ $EUID = 65534 ] && ulimit -u 400
exec \"$BASH\" --norc --noprofile -c \"$0\"";

/// The output of programs. They print numbers where the analysis expects them.
const PRINT: &str =
    "case $1 in wc|seq|date|nproc|id|grep) builtin echo '1 2' ;; *) builtin echo 'q 7' ;; esac";

/// A directory in which scripts are run, one after the other.
#[derive(Debug)]
pub(crate) struct Yard {
    root: tempfile::TempDir,
    bash: PathBuf,
    privileged: bool,
}

/// The effects of a run of bash.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    /// The programs that it looked for, with their arguments.
    pub(crate) programs: Vec<Vec<String>>,
    /// The files that it made, below the working directory.
    pub(crate) files: Vec<String>,
}

impl Yard {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let privileged = fs::metadata(root.path()).unwrap().uid() == 0;
        open(root.path());
        Self { root, bash: bash(), privileged }
    }

    /// The working directory of the scripts: deep enough for some `cd ..`.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("1/2/3/4/5/work")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Returns whether a script may be run here. A mistake in this test must not do any damage.
    pub(crate) fn accepts(&self, script: &str) -> bool {
        const NEVER: &[&str] = &[
            "kill", "bin/", "/proc", "/sys", "/dev/s", "/dev/t", "/dev/u", "ulimit", "suspend",
            "disown",
        ];
        let slashes = script.replace("/dev/null", "");
        !NEVER.iter().any(|word| script.contains(word))
            && (self.privileged || !slashes.contains('/') && !slashes.contains(".."))
            && slashes.matches("cd").count() < 12
    }

    /// Runs `script`, and returns what it did. Every program that it looks for ends with `status`.
    pub(crate) fn run(&self, script: &str, status: u8) -> Deeds {
        let record = self.prepare();
        let mut child = self.start(script, status, &record);
        wait(&mut child);
        let mut programs = Vec::new();
        for file in fs::read_dir(&record).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            programs.extend(commands(&String::from_utf8_lossy(&bytes)));
        }
        let mut files = Vec::new();
        list(&self.work(), "", &mut files);
        Deeds { programs, files }
    }

    fn prepare(&self) -> PathBuf {
        for old in ["1", "record"] {
            drop(fs::remove_dir_all(self.root.path().join(old)));
        }
        for directory in ["1/2/3/4/5/work/a/a", "1/2/3/4/5/work/b", "home", "tmp", "record"] {
            let mut path = self.root.path().to_path_buf();
            fs::create_dir_all(path.join(directory)).unwrap();
            for part in directory.split('/') {
                path.push(part);
                open(&path);
            }
        }
        self.root.path().join("record")
    }

    fn start(&self, script: &str, status: u8, record: &Path) -> Child {
        let handler = format!(
            "() {{ builtin printf '%s\\0' $# \"$@\" >>{}/$BASHPID; {PRINT}; builtin return {status}; }}",
            record.display()
        );
        let mut command = Command::new(&self.bash);
        command
            .args(["--norc", "--noprofile", "-c", START, script])
            .env_clear()
            .env("PATH", "/nonexistent")
            .env("HOME", self.home())
            .env("TMPDIR", self.root.path().join("tmp"))
            .env("BASH_FUNC_command_not_found_handle%%", handler)
            .current_dir(self.work())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        if self.privileged {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.spawn().unwrap()
    }
}

/// Reads the record: for each command the number of its words, and these.
fn commands(record: &str) -> Vec<Vec<String>> {
    // The limits may have cut the last word.
    let whole = record.rfind('\0').map_or("", |end| record.get(..end).unwrap());
    let mut words = whole.split('\0');
    let mut commands = Vec::new();
    while let Some(count) = words.next().and_then(|count| count.parse::<usize>().ok()) {
        let command: Vec<_> = words.by_ref().take(count).map(str::to_owned).collect();
        if command.len() == count {
            commands.push(command);
        }
    }
    commands
}

/// Returns where bash is: it is looked for before the search path is taken away.
fn bash() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|directory| directory.join("bash"));
    places.find(|place| place.exists()).expect("bash is there: it is the referee of these tests")
}

fn open(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
}

/// Waits for the shell and for what it left behind.
fn wait(child: &mut Child) {
    let group = child.id();
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if since.elapsed() > PATIENCE {
            signal("-9", group);
            drop(child.kill());
            child.wait().unwrap();
            return;
        }
        thread::sleep(Duration::from_micros(300));
    }
    // Background commands and substitutions go on for a moment.
    while signal("-0", group) {
        if since.elapsed() > PATIENCE {
            signal("-9", group);
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Sends a signal to the processes of a group. Returns whether there are any.
fn signal(name: &str, group: u32) -> bool {
    let status = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &format!("kill {name} -- -{group}")])
        .stderr(Stdio::null())
        .status();
    status.unwrap().success()
}

fn list(directory: &Path, below: &str, files: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            list(&entry.path(), &format!("{name}/"), files);
        } else {
            files.push(name);
        }
    }
}
