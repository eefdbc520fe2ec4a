//! As much of HTTP/1.1 as one client on the loopback device needs: one request a connection.

use std::io::{self, BufRead as _, BufReader, Read, Write};

use serde_json::Value;

/// A request, read whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The verb.
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    /// The body, as long as the header said.
    pub(crate) body: Vec<u8>,
}

/// Reads one request from `stream`.
pub(crate) fn read(stream: impl Read) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let first = header_line(&mut reader)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut length = 0;
    loop {
        let line = header_line(&mut reader)?;
        if line.is_empty() {
            break;
        }
        length = content_length(&line).unwrap_or(length);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Request { method, path, body })
}

/// Answers with `value` in one piece.
pub(crate) fn write_json(stream: &mut impl Write, value: &Value) -> io::Result<()> {
    let body = value.to_string();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len(),
    )?;
    stream.flush()
}

/// Answers with `events` as a stream of server-sent events that ends with the connection.
pub(crate) fn write_events(
    stream: &mut impl Write,
    events: &[(&'static str, Value)],
) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
                connection: close\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    for (name, data) in events {
        write!(stream, "event: {name}\ndata: {data}\n\n")?;
    }
    stream.flush()
}

fn header_line(reader: &mut BufReader<impl Read>) -> io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn content_length(line: &str) -> Option<usize> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_is_read_to_the_length_that_it_gives() {
        let bytes = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\ncontent-LENGTH: 2\r\n\r\n{}rest";
        let request = read(&bytes[..]).unwrap();
        let (method, path) = ("POST".to_owned(), "/v1/messages".to_owned());
        assert_eq!(request, Request { method, path, body: b"{}".to_vec() });
    }

    #[test]
    fn a_request_that_breaks_off_is_an_error() {
        assert!(read(&b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n{}"[..]).is_err());
    }

    #[test]
    fn events_are_named_and_parted_by_blank_lines() {
        let mut out = Vec::new();
        write_events(&mut out, &[("ping", json!({ "type": "ping" }))]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.ends_with("\r\n\r\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"), "{text}");
    }
}
