//! Reading lines from standard input and answering each on standard output.

use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write};

use openoxide_protocol::escape::escape_json;

use crate::error::{call_error::LineError, stream_error::StreamError};

/// The maximum size of a line.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Answers each non-empty line, until the input ends or the answers are no longer read.
///
/// # Errors
///
/// If standard input cannot be read, or an answer cannot be written.
pub(crate) fn answer_each_line(
    mut answer: impl FnMut(&[u8], &mut dyn Write) -> io::Result<()>,
) -> Result<(), StreamError> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin());
    let mut output = BufWriter::new(io::stdout().lock());
    let (mut line, mut json) = (Vec::new(), Vec::new());
    while read_line(&mut input, &mut line)? {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        json.clear();
        let mut answered = answer(&line, &mut json).and_then(|()| {
            output.write_all(escape_json(&String::from_utf8_lossy(&json)).as_bytes())
        });
        // If no further line is buffered, the client may wait for this answer.
        if input.buffer().is_empty() {
            answered = answered.and_then(|()| output.flush());
        }
        if let Err(error) = answered {
            return ignore_broken_pipe(error);
        }
    }
    output.flush().or_else(ignore_broken_pipe)
}

/// Reads the next line and returns whether there was one. At most [`MAX_LINE_BYTES`] bytes and one
/// more are kept.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, StreamError> {
    line.clear();
    let read =
        input.take(MAX_LINE_BYTES + 1).read_until(b'\n', line).map_err(StreamError::Unreadable)?;
    if line.len() as u64 > MAX_LINE_BYTES && line.last() != Some(&b'\n') {
        input.skip_until(b'\n').map_err(StreamError::Unreadable)?;
    }
    Ok(read > 0)
}

/// Parses a line that contains one JSON object.
///
/// # Errors
///
/// If the line is too long, or is not an object of this shape.
pub(crate) fn parse_object<'a, T: serde::Deserialize<'a>>(line: &'a [u8]) -> Result<T, LineError> {
    if line.len() as u64 > MAX_LINE_BYTES {
        return Err(LineError::TooLong(MAX_LINE_BYTES));
    }
    // An array would be parsed as the fields in their order.
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err(LineError::NotObject);
    }
    serde_json::from_slice(line).map_err(LineError::InvalidJson)
}

/// Treats a closed pipe as success: the reader needs no more output.
fn ignore_broken_pipe(error: io::Error) -> Result<(), StreamError> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(StreamError::Unwritable(error)),
    }
}
