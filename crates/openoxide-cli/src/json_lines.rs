//! Lines on standard input, an answer to each on standard output.

use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write};

/// No line is longer, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Answers each non-empty line, until the input ends or the answers are no longer read.
///
/// # Errors
///
/// If standard input cannot be read, or an answer cannot be written.
pub(crate) fn answer_each_line(
    mut answer: impl FnMut(&[u8], &mut dyn Write) -> io::Result<()>,
) -> Result<(), String> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin());
    let mut output = BufWriter::new(io::stdout().lock());
    let mut line = Vec::new();
    while read_line(&mut input, &mut line)? {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let mut answered = answer(&line, &mut output);
        // Who waits for an answer before asking on gets it; who sends many at once gets them together.
        if input.buffer().is_empty() {
            answered = answered.and_then(|()| output.flush());
        }
        if let Err(error) = answered {
            return ignore_broken_pipe(&error);
        }
    }
    output.flush().or_else(|error| ignore_broken_pipe(&error))
}

/// Reads the next line and returns whether there was one. At most [`MAX_LINE_BYTES`] bytes and one
/// more are kept.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, String> {
    let unreadable = |error| format!("cannot read standard input: {error}");
    line.clear();
    let read = input.take(MAX_LINE_BYTES + 1).read_until(b'\n', line).map_err(unreadable)?;
    if line.len() as u64 > MAX_LINE_BYTES && line.last() != Some(&b'\n') {
        input.skip_until(b'\n').map_err(unreadable)?;
    }
    Ok(read > 0)
}

/// Returns a line as one JSON object, or why it is none.
///
/// # Errors
/// When it is too long, or not an object of this shape.
pub(crate) fn parse_object<'a, T: serde::Deserialize<'a>>(line: &'a [u8]) -> Result<T, String> {
    if line.len() as u64 > MAX_LINE_BYTES {
        return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
    }
    // A list would be read as the fields in their order.
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err("a line is one JSON object".to_owned());
    }
    serde_json::from_slice(line).map_err(|error| format!("the line was not understood: {error}"))
}

/// Treats a closed pipe as success: the reader needs no more output.
fn ignore_broken_pipe(error: &io::Error) -> Result<(), String> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(format!("the answer cannot be written: {error}")),
    }
}
