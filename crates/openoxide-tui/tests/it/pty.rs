//! A program at a pseudo-terminal, as a person would see and use it.

use std::{
    env, fs,
    io::{Read, Write},
    num::NonZeroU16,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use openoxide_protocol::ApprovalRequest;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Longer than this nothing takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);
/// A little longer than keys are refused for.
const READING: Duration = Duration::from_millis(450);
const ROWS: u16 = 100;

/// The program `ask` at a pseudo-terminal.
pub(crate) struct Pty {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    written: Arc<Mutex<Vec<u8>>>,
    modes: String,
    answers: PathBuf,
    width: u16,
}

/// The result of a run.
pub(crate) struct End {
    /// The standard output of the program.
    pub(crate) answers: String,
    /// The bytes that the program wrote to the terminal.
    pub(crate) bytes: Vec<u8>,
    pub(crate) success: bool,
}

impl Pty {
    /// Starts `ask` about these requests.
    pub(crate) fn ask(requests: &[ApprovalRequest]) -> Self {
        Self::run(requests, "exec \"$0\" \"$1\" > \"$2\"", "xterm-256color")
    }

    /// Starts a shell script in which `$0` is the program, `$1` the requests and `$2` the file for its answers.
    pub(crate) fn run(requests: &[ApprovalRequest], script: &str, term: &str) -> Self {
        let size = PtySize { rows: ROWS, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let modes = modes(&*pair.master);
        let (file, answers) = (file("json"), file("out"));
        fs::write(&file, serde_json::to_vec(requests).unwrap()).unwrap();
        let mut command = CommandBuilder::new("/bin/sh");
        command.args(["-c", script]);
        command.args([example(), file, answers.clone()]);
        command.env("TERM", term);
        command.env_remove("NO_COLOR");
        let child = pair.slave.spawn_command(command).unwrap();
        let written = Arc::new(Mutex::new(Vec::new()));
        collect(pair.master.try_clone_reader().unwrap(), Arc::clone(&written));
        let keys = pair.master.take_writer().unwrap();
        Self { master: pair.master, keys, child, written, modes, answers, width: 80 }
    }

    /// Types.
    pub(crate) fn send(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Types once `text` is on the screen.
    pub(crate) fn after(&mut self, text: &str, keys: &str) {
        self.wait_for(text);
        // Keys are ignored until the question can have been read.
        thread::sleep(READING);
        self.send(keys);
    }

    /// Types once the question is there.
    pub(crate) fn answer(&mut self, keys: &str) {
        self.after("stop the agent", keys);
    }

    pub(crate) fn wait_for(&self, text: &str) {
        let start = Instant::now();
        while !self.screen().contains(text) {
            assert!(start.elapsed() < PATIENCE, "no {text:?} in:\n{}", self.screen());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns what a person sees.
    pub(crate) fn screen(&self) -> String {
        screen(&self.written.lock().unwrap(), self.width)
    }

    pub(crate) fn resize(&mut self, width: u16) {
        let size = PtySize { rows: ROWS, cols: width, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).unwrap();
        self.width = width;
    }

    /// Waits for the end. The terminal must be as it was before.
    pub(crate) fn end(mut self) -> End {
        let written = Arc::clone(&self.written);
        let success = wait(&mut *self.child, || screen(&written.lock().unwrap(), self.width));
        assert_eq!(modes(&*self.master), self.modes, "the terminal is not as it was");
        let bytes = self.settled();
        let paste =
            |mode: &str| String::from_utf8_lossy(&bytes).rfind(&format!("\x1b[?2004{mode}"));
        assert!(paste("l") >= paste("h"), "bracketed paste is still on");
        let answers = fs::read_to_string(&self.answers).unwrap_or_default().trim().to_owned();
        End { answers, bytes, success }
    }

    /// Returns the written bytes once no more arrive.
    fn settled(&self) -> Vec<u8> {
        let mut before = usize::MAX;
        loop {
            let bytes = self.written.lock().unwrap().clone();
            if bytes.len() == before {
                return bytes;
            }
            before = bytes.len();
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Waits for the end of `child` and returns whether it succeeded. A child that hangs is killed.
pub(crate) fn wait(child: &mut (dyn Child + Send + Sync), screen: impl Fn() -> String) -> bool {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.success();
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("it hangs:\n{}", screen());
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn screen(bytes: &[u8], width: u16) -> String {
    let size = |n| NonZeroU16::new(n).unwrap();
    let mut parser = vt100::Parser::new(size(ROWS), size(width), 0);
    parser.process(bytes);
    parser.screen().contents()
}

/// Returns the modes of the terminal: echo, line editing, signals and all others.
fn modes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().unwrap())
}

fn collect(mut reader: Box<dyn Read + Send>, written: Arc<Mutex<Vec<u8>>>) {
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            written.lock().unwrap().extend_from_slice(&buffer[..count]);
        }
    });
}

/// Returns the path of a new file.
pub(crate) fn file(extension: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{number}.{extension}", std::process::id());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Returns the path of the example, building it if this test was built alone.
pub(crate) fn example() -> PathBuf {
    static BUILD: Mutex<()> = Mutex::new(());
    let _one = BUILD.lock().unwrap();
    let test = env::current_exe().unwrap();
    let path = test.parent().unwrap().with_file_name("examples").join("ask");
    if !path.exists() {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build
            .args(["build", "--quiet", "--example", "ask"])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(build.status().unwrap().success(), "the example does not build");
    }
    path
}
