//! One hook as a process: fed, heard out within bounds, and ended with all that it started when its time is up.

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

use super::INSIDE;
use crate::environment::without_steering;

/// So much of each of its outputs is heard; what is behind it is dropped.
pub(super) const LONGEST: usize = 64 << 10;

/// How a program's words name the project's directory; a script has it in its environment.
const PROJECT: &str = "${CLAUDE_PROJECT_DIR}";

/// So long is heard what somebody else still says after the hook itself has ended.
const AFTERWARDS: Duration = Duration::from_millis(500);

/// How a hook ended.
#[derive(Debug)]
pub(super) enum End {
    /// By itself.
    Ended {
        /// Its status.
        status: ExitStatus,
        /// What it wrote to its standard output.
        output: Heard,
        /// What it wrote to its standard error.
        error: Heard,
    },
    /// Not in time: it and all that it started was ended.
    TimedOut(Duration),
    /// It did not start, or could not be waited for.
    Failed(io::Error),
}

/// What was heard of one output.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Its beginning.
    pub(super) bytes: Vec<u8>,
    /// Whether that is all of it.
    pub(super) whole: bool,
}

/// A hook that is about to start.
#[derive(Debug)]
pub(super) struct Start {
    command: Command,
    limit: Duration,
}

impl Start {
    pub(super) fn new(hook: &Hook, cwd: &AbsPath, project: &AbsPath) -> Self {
        // What a person vouched for lies in the hook's own project, and a call's directory can be any.
        let (cwd, project) = hook.project.as_ref().map_or((cwd, project), |own| (own, own));
        let mut command = match &hook.command {
            HookCommand::Shell(script) => {
                let mut bash = Command::new("bash");
                bash.args(["--norc", "--noprofile", "-c", script]);
                bash
            }
            HookCommand::Program(words) => {
                let mut words = words.iter().map(|word| word.replace(PROJECT, project.as_str()));
                let mut program = Command::new(words.next().unwrap_or_default());
                program.args(words);
                program
            }
        };
        command.env_clear().envs(without_steering());
        command.env("CLAUDE_PROJECT_DIR", project.as_str()).env(INSIDE, "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.current_dir(cwd.as_str()).process_group(0).kill_on_drop(true);
        Self { command, limit: hook.timeout }
    }
}

/// Runs a hook to its end, or to the end of its time.
pub(super) async fn run(mut start: Start, payload: &[u8]) -> End {
    let deadline = Instant::now() + start.limit;
    let mut child = match start.command.spawn() {
        Ok(child) => child,
        Err(error) => return End::Failed(error),
    };
    let group = Group::of(&child);
    match timeout_at(deadline, hear(&mut child, payload)).await {
        Ok(end) => {
            group.release();
            end.unwrap_or_else(End::Failed)
        }
        Err(_) => {
            drop(group);
            drop(timeout(AFTERWARDS, child.wait()).await);
            End::TimedOut(start.limit)
        }
    }
}

/// A hook and all that it started: ended when it is dropped, which it is when nobody waits for the hook any more.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    /// Leaves what a hook left behind that has ended by itself.
    fn release(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    /// The leader was not waited for, so nobody else can have its number. That it ended meanwhile is fine, too.
    fn drop(&mut self) {
        let _ended = self.0.map(|group| kill_process_group(group, Signal::KILL));
    }
}

async fn hear(child: &mut Child, payload: &[u8]) -> io::Result<End> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut output, mut error) = (Heard::default(), Heard::default());
    let status = {
        let feed = feed(stdin, payload);
        let talk = async {
            tokio::join!(feed, listen(stdout, &mut output), listen(stderr, &mut error));
        };
        let mut talk = pin!(talk);
        tokio::select! {
            () = &mut talk => child.wait().await?,
            // A program that it left behind may hold its outputs open: then they are not whole.
            status = child.wait() => {
                drop(timeout(AFTERWARDS, talk).await);
                status?
            }
        }
    };
    Ok(End::Ended { status, output, error })
}

/// Tells a hook about the call. It need not listen.
async fn feed(to: Option<ChildStdin>, payload: &[u8]) {
    if let Some(mut to) = to {
        drop(to.write_all(payload).await);
    }
}

/// Hears an output to its end, and keeps its beginning.
async fn listen(from: Option<impl AsyncRead + Unpin>, to: &mut Heard) {
    let Some(mut from) = from else { return };
    let mut piece = vec![0; 8 << 10];
    let mut dropped = false;
    loop {
        match from.read(&mut piece).await {
            Ok(0) => break,
            Ok(length) => {
                let room = LONGEST.saturating_sub(to.bytes.len());
                to.bytes.extend(piece.iter().take(length.min(room)));
                dropped |= length > room;
            }
            Err(_) => return,
        }
    }
    to.whole = !dropped;
}
