//! The process of a hook: its input, its bounded output, and its end with all processes that it
//! started.

use std::{
    io,
    pin::pin,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use openoxide_permission::{Hook, HookCommand};
use openoxide_protocol::AbsPath;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, Command},
    time::{Instant, timeout, timeout_at},
};

use crate::environment::sanitized_env;

/// The maximum number of bytes that are kept of each output. The rest is dropped.
pub(super) const MAX_OUTPUT_BYTES: usize = 64 << 10;

/// A variable that is set for hooks. Programs that they start run no hooks, which prevents an
/// endless recursion.
pub(super) const HOOK_VARIABLE: &str = "OPENOXIDE_HOOK";

/// The placeholder for the project directory in the arguments of a program. A script finds the
/// directory in its environment.
const PROJECT_VARIABLE: &str = "${CLAUDE_PROJECT_DIR}";

/// The time during which output of other processes is still read after the hook itself has exited.
const OUTPUT_GRACE_PERIOD: Duration = Duration::from_millis(500);

/// The end of a hook process.
#[derive(Debug)]
pub(super) enum HookExit {
    /// The hook exited.
    Exited {
        /// The exit status.
        status: ExitStatus,
        /// The captured standard output.
        output: CapturedOutput,
        /// The captured standard error.
        error: CapturedOutput,
    },
    /// The hook timed out, and was killed with all processes that it started.
    TimedOut(Duration),
    /// The hook could not be started or waited for.
    Failed(io::Error),
}

/// The captured part of one output.
#[derive(Debug, Default)]
pub(super) struct CapturedOutput {
    /// The beginning of the output.
    pub(super) bytes: Vec<u8>,
    /// True if the output was captured completely.
    pub(super) is_complete: bool,
}

/// A hook that is about to start.
#[derive(Debug)]
pub(super) struct HookProcess {
    command: Command,
    timeout: Duration,
}

impl HookProcess {
    pub(super) fn new(hook: &Hook, cwd: &AbsPath, project: &AbsPath) -> Self {
        // The trusted files are in the hook's own project. The directory of a call can be any
        // directory.
        let (cwd, project) = hook.project.as_ref().map_or((cwd, project), |own| (own, own));
        let mut command = match &hook.command {
            HookCommand::Shell(script) => {
                let mut bash = Command::new("bash");
                bash.args(["--norc", "--noprofile", "-c", script]);
                bash
            }
            HookCommand::Program(words) => {
                let mut words =
                    words.iter().map(|word| word.replace(PROJECT_VARIABLE, project.as_str()));
                let mut program = Command::new(words.next().unwrap_or_default());
                program.args(words);
                program
            }
        };
        command.env_clear().envs(sanitized_env());
        command.env("CLAUDE_PROJECT_DIR", project.as_str()).env(HOOK_VARIABLE, "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.current_dir(cwd.as_str()).process_group(0).kill_on_drop(true);
        Self { command, timeout: hook.timeout }
    }
}

/// Runs a hook until it exits or times out.
pub(super) async fn run_hook(mut start: HookProcess, payload: &[u8]) -> HookExit {
    let deadline = Instant::now() + start.timeout;
    let mut child = match start.command.spawn() {
        Ok(child) => child,
        Err(error) => return HookExit::Failed(error),
    };
    let group = ProcessGroup::from_child(&child);
    match timeout_at(deadline, wait_with_output(&mut child, payload)).await {
        Ok(end) => {
            group.release();
            end.unwrap_or_else(HookExit::Failed)
        }
        Err(_) => {
            drop(group);
            drop(timeout(OUTPUT_GRACE_PERIOD, child.wait()).await);
            HookExit::TimedOut(start.timeout)
        }
    }
}

/// The process group of a hook and of all processes that it started. They are killed on drop, which
/// happens when the hook is no longer awaited.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn from_child(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    /// Keeps the processes that a hook left behind after a normal exit.
    fn release(mut self) {
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    /// Kills the process group. The leader was not waited for, so its process ID cannot have been
    /// reused. An error because the group has already exited is ignored.
    fn drop(&mut self) {
        let _ended = self.0.map(|group| kill_process_group(group, Signal::KILL));
    }
}

async fn wait_with_output(child: &mut Child, payload: &[u8]) -> io::Result<HookExit> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut output, mut error) = (CapturedOutput::default(), CapturedOutput::default());
    let status = {
        let feed = write_payload(stdin, payload);
        let talk = async {
            tokio::join!(feed, read_output(stdout, &mut output), read_output(stderr, &mut error));
        };
        let mut talk = pin!(talk);
        tokio::select! {
            () = &mut talk => child.wait().await?,
            // A process that the hook left behind may keep the outputs open. Then they are
            // incomplete.
            status = child.wait() => {
                drop(timeout(OUTPUT_GRACE_PERIOD, talk).await);
                status?
            }
        }
    };
    Ok(HookExit::Exited { status, output, error })
}

/// Writes the payload to a hook. The hook may ignore it.
async fn write_payload(to: Option<ChildStdin>, payload: &[u8]) {
    if let Some(mut to) = to {
        drop(to.write_all(payload).await);
    }
}

/// Reads an output to its end, and returns its beginning.
async fn read_output(from: Option<impl AsyncRead + Unpin>, to: &mut CapturedOutput) {
    let Some(mut from) = from else { return };
    let mut piece = vec![0; 8 << 10];
    let mut dropped = false;
    loop {
        match from.read(&mut piece).await {
            Ok(0) => break,
            Ok(length) => {
                let room = MAX_OUTPUT_BYTES.saturating_sub(to.bytes.len());
                to.bytes.extend(piece.iter().take(length.min(room)));
                dropped |= length > room;
            }
            Err(_) => return,
        }
    }
    to.is_complete = !dropped;
}
