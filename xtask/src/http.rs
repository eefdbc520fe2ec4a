//! A minimal HTTP/1.1 server for clients on the loopback device, with one request per connection.

use std::{
    io::{self, BufRead as _, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::Value;

/// The time limit for reading a request.
const SILENCE: Duration = Duration::from_secs(30);

/// A running server. It stops when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
}

impl Server {
    /// Starts a server that answers each request by `answer`.
    pub(crate) fn start(
        answer: impl Fn(&Request, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let (address, stopped) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let (end, answer) = (Arc::clone(&stopped), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().take_while(|_| !end.load(Ordering::SeqCst)).flatten()
            {
                let answer = Arc::clone(&answer);
                // A client that disconnects during a request is not an error of the server.
                thread::spawn(move || serve(stream, &*answer).ok());
            }
        });
        Ok(Self { address, stopped })
    }

    /// Returns the address of the server.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, so that it stops.
        drop(TcpStream::connect(self.address));
    }
}

fn serve(
    mut stream: TcpStream,
    answer: impl Fn(&Request, &mut TcpStream) -> io::Result<()>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    let request = read(&stream)?;
    answer(&request, &mut stream)
}

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The method.
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    /// The body, with the length from the header.
    pub(crate) body: Vec<u8>,
}

/// Reads one request from `stream`.
fn read(stream: impl Read) -> io::Result<Request> {
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

/// Answers with the JSON `value`.
pub(crate) fn write_json(stream: &mut impl Write, value: &Value) -> io::Result<()> {
    write_body(stream, "application/json", &value.to_string())
}

/// Answers with a text.
pub(crate) fn write_text(stream: &mut impl Write, text: &str) -> io::Result<()> {
    write_body(stream, "text/plain", text)
}

fn write_body(stream: &mut impl Write, content_type: &str, body: &str) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\
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
