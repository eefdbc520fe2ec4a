//! Reading of the two outputs of a command until it has ended.

use std::{
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    os::fd::AsFd as _,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::ioctl_fionbio,
};

use crate::output_buffer::OutputBuffer;

/// The size of one read.
const CHUNK: usize = 1 << 16;

/// The number of reads after which the other output is read.
const READS_AT_ONCE: usize = 16;

/// The output of a command.
#[derive(Default)]
pub(crate) struct CapturedOutput {
    pub(crate) stdout: OutputBuffer,
    pub(crate) stderr: OutputBuffer,
}

/// A capture of both outputs.
///
/// It ends when it is stopped, and not at the end of the pipes: a process that forked at the wrong
/// time could keep them open.
pub(crate) struct OutputCapture {
    streams: [CapturedStream; 2],
    stopped: PipeReader,
}

/// A handle that stops a capture.
pub(crate) struct CaptureStop(PipeWriter);

/// One of the two outputs.
struct CapturedStream {
    pipe: PipeReader,
    buffer: OutputBuffer,
    is_open: bool,
}

impl OutputCapture {
    /// Returns a capture that keeps at most `limit` bytes of each output, and the handle that stops
    /// it.
    ///
    /// # Errors
    /// Returns an error if the pipes cannot be set up.
    pub(crate) fn new(pipes: [PipeReader; 2], limit: usize) -> io::Result<(Self, CaptureStop)> {
        let (stopped, stop) = io::pipe()?;
        let [stdout, stderr] = pipes;
        let streams = [CapturedStream::new(stdout, limit)?, CapturedStream::new(stderr, limit)?];
        Ok((Self { streams, stopped }, CaptureStop(stop)))
    }

    /// Reads until the capture is stopped, and then what is left in the pipes.
    pub(crate) fn run(mut self) -> CapturedOutput {
        let mut chunk = vec![0; CHUNK];
        loop {
            let is_stopped = wait_for_data(&self.streams, &self.stopped);
            let reads = if is_stopped { usize::MAX } else { READS_AT_ONCE };
            for stream in &mut self.streams {
                stream.read_available(&mut chunk, reads);
            }
            if is_stopped {
                let [stdout, stderr] = self.streams.map(|stream| stream.buffer);
                return CapturedOutput { stdout, stderr };
            }
        }
    }
}

impl CaptureStop {
    /// Stops the capture.
    pub(crate) fn stop(mut self) {
        // If the other end is closed, the capture has ended.
        drop(self.0.write_all(&[0]));
    }
}

/// Waits until something can be read. Returns whether the capture is stopped.
fn wait_for_data(streams: &[CapturedStream; 2], stopped: &PipeReader) -> bool {
    let mut waits = vec![PollFd::new(stopped, PollFlags::IN)];
    let open = streams.iter().filter(|stream| stream.is_open);
    waits.extend(open.map(|stream| PollFd::new(&stream.pipe, PollFlags::IN)));
    // If a signal interrupts the wait, nothing is ready, and the next wait follows.
    _ = poll(&mut waits, None);
    waits.first().is_some_and(|stopped| !stopped.revents().is_empty())
}

impl CapturedStream {
    fn new(pipe: PipeReader, limit: usize) -> io::Result<Self> {
        ioctl_fionbio(pipe.as_fd(), true)?;
        Ok(Self { pipe, buffer: OutputBuffer::new(limit), is_open: true })
    }

    /// Reads until the pipe is empty, but at most `reads` times.
    fn read_available(&mut self, chunk: &mut [u8], reads: usize) {
        for _ in 0..reads {
            if !self.is_open {
                return;
            }
            match self.pipe.read(chunk) {
                Ok(0) => self.is_open = false,
                Ok(length) => self.buffer.push(chunk.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.is_open = false,
            }
        }
    }
}
