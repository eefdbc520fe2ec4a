//! The tests of one mutant: they end with the first failure, or with their time.

use std::{
    io::{BufRead as _, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use super::compiling::TestProgram;

/// The result of the tests of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestResult {
    Passed,
    Failed,
    TimedOut,
}

/// Some tests of one program.
#[derive(Clone, Debug)]
pub(super) struct TestRun {
    pub(super) program: TestProgram,
    pub(super) arguments: Vec<String>,
    /// The processor time that they may take, in seconds.
    pub(super) seconds: u64,
}

impl TestRun {
    /// Runs the tests with a mutant, or with none.
    pub(super) fn run(&self, mutant: Option<usize>) -> Result<TestResult, String> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -t {}; exec \"$0\" \"$@\"", self.seconds));
        command.arg(&self.program.executable).args(&self.arguments);
        command.current_dir(&self.program.directory).envs(super::super::ENVIRONMENT);
        command.env_remove("OPENOXIDE_MUTANT");
        if let Some(mutant) = mutant {
            command.env("OPENOXIDE_MUTANT", mutant.to_string());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("cannot start a test: {error}"))?;
        // On a busy machine, much more time passes than the processor time that the tests use.
        wait(child, Duration::from_secs(self.seconds * 10)).map_err(|error| error.to_string())
    }
}

/// Waits for the first test that fails, or for the end.
fn wait(mut child: Child, limit: Duration) -> std::io::Result<TestResult> {
    let lines = lines_of(child.stdout.take());
    let result = first_failure(&lines, Instant::now() + limit);
    if result.is_some() {
        child.kill()?;
    }
    let status = child.wait()?;
    Ok(result.unwrap_or_else(|| match (status.code(), is_out_of_time(status)) {
        (Some(0), _) => TestResult::Passed,
        (_, true) => TestResult::TimedOut,
        _ => TestResult::Failed,
    }))
}

fn lines_of(output: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines());
        lines.map_while(Result::ok).try_for_each(|line| sender.send(line).ok())
    });
    receiver
}

/// Returns the result that ends a run early.
fn first_failure(lines: &Receiver<String>, end: Instant) -> Option<TestResult> {
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) if line.starts_with("test ") && line.ends_with(" FAILED") => {
                return Some(TestResult::Failed);
            }
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) => return Some(TestResult::TimedOut),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Returns whether the kernel ended it for the processor time that it took.
fn is_out_of_time(status: std::process::ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    const SIGKILL: i32 = 9;
    const SIGXCPU: i32 = 24;
    matches!(status.signal(), Some(SIGKILL | SIGXCPU))
}

/// Returns the arguments of a test program that select tests. The tests run one after the other, so
/// that few of them run after a failure.
pub(super) fn arguments(only: &[&str], skipped: &[&str]) -> Vec<String> {
    let skipped = skipped.iter().flat_map(|name| ["--skip", name]);
    let words = ["--test-threads=1"].into_iter().chain(skipped).chain(only.iter().copied());
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, limit: u64) -> TestResult {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        wait(command.spawn().unwrap(), Duration::from_millis(limit)).unwrap()
    }

    #[test]
    fn tests_end_with_the_first_failure_or_with_their_time() {
        assert_eq!(run("echo 'test a ... ok'", 60_000), TestResult::Passed);
        assert_eq!(run("echo 'test a ... FAILED'; sleep 60", 60_000), TestResult::Failed);
        assert_eq!(run("exit 101", 60_000), TestResult::Failed);
        assert_eq!(run("sleep 60", 50), TestResult::TimedOut);
        assert_eq!(run("kill -XCPU $$", 60_000), TestResult::TimedOut);
    }
}
