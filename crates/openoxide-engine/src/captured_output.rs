//! The output of a command, for a program that reads it.

use std::{
    io::{self, PipeReader, Read as _},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

/// The size up to which output is kept.
const MAX_BYTES: usize = 1 << 20;

/// The time to wait for the rest of the output of a command that has ended. Without a sandbox, a
/// program in the background can keep the streams open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The output of a command: standard output and standard error, in the order in which they arrive.
/// The first MiB is kept. Clones refer to the same output.
#[derive(Clone, Debug, Default)]
pub struct CapturedOutput(Arc<Mutex<OutputBuffer>>);

#[derive(Debug, Default)]
struct OutputBuffer {
    bytes: Vec<u8>,
    omitted: u64,
}

impl CapturedOutput {
    /// Returns the output so far, as text. Invalid UTF-8 is replaced. It is hostile: escape it
    /// before showing it in a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let buffer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&buffer.bytes).into_owned()
    }

    /// Returns the number of bytes that were not kept.
    #[must_use]
    pub fn omitted_bytes(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).omitted
    }

    /// Connects a command to this output, and to an empty input. `run` runs the command, and drops
    /// it.
    ///
    /// The streams have a pipe each: if they had the same one, the sandbox could not read the error
    /// output, which tells what it refused.
    pub(crate) fn capture<T>(
        &self,
        mut command: Command,
        run: impl FnOnce(Command) -> T,
    ) -> io::Result<T> {
        let ((reader, stdout), (error_reader, stderr)) = (io::pipe()?, io::pipe()?);
        let (end, ended) = mpsc::channel();
        self.clone().start_reading(reader, end.clone())?;
        self.clone().start_reading(error_reader, end)?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let result = run(command);
        ended.recv_timeout(DRAIN_TIMEOUT).ok(); // An error: everything was read.
        Ok(result)
    }

    /// Reads until all writers are closed, and closes `end` then.
    fn start_reading(self, mut reader: PipeReader, end: Sender<()>) -> io::Result<()> {
        let read = move || {
            let mut chunk = [0; 8192];
            while let Ok(count @ 1..) = reader.read(&mut chunk) {
                self.append(chunk.get(..count).unwrap_or_default());
            }
            drop(end);
        };
        thread::Builder::new().name("command output".to_owned()).spawn(read)?;
        Ok(())
    }

    fn append(&self, chunk: &[u8]) {
        let mut buffer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_BYTES.saturating_sub(buffer.bytes.len());
        let (kept, omitted) = chunk.split_at(room.min(chunk.len()));
        buffer.bytes.extend_from_slice(kept);
        buffer.omitted = buffer.omitted.saturating_add(omitted.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str) -> (CapturedOutput, bool) {
        let output = CapturedOutput::default();
        let mut command = Command::new("bash");
        command.args(["-c", script]);
        let status = output.capture(command, |mut command| command.status().unwrap()).unwrap();
        (output, status.success())
    }

    #[test]
    fn both_streams_are_captured() {
        let (output, is_ok) = run("echo one; echo two >&2; printf '\\377'; cat");
        let text = output.to_text();
        let has_all = ["one\n", "two\n", "\u{fffd}"].iter().all(|part| text.contains(part));
        assert!(is_ok && has_all, "{text}");
        assert_eq!(output.omitted_bytes(), 0);
    }

    #[test]
    fn the_beginning_of_a_long_output_is_kept_and_the_rest_is_read() {
        let (output, is_ok) = run("head -c 1500000 /dev/zero");
        assert!(is_ok);
        assert_eq!(output.to_text().len(), MAX_BYTES);
        assert_eq!(output.omitted_bytes(), 1_500_000 - MAX_BYTES as u64);
    }

    #[test]
    fn a_program_in_the_background_does_not_keep_the_wait_open() {
        let (output, is_ok) = run("sleep 60 & echo $!");
        assert!(is_ok);
        let background = output.to_text();
        assert!(Command::new("kill").arg(background.trim()).status().unwrap().success());
    }
}
