//! The servers that the scripts contact. They record everything that they receive.

use std::{
    io::{self, Read as _, Write as _},
    net::{TcpListener, TcpStream, UdpSocket},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// The ports for connections. The last one is that of the reverse shell.
const PORTS: [u16; 4] = [80, 443, 5758, REVERSE_SHELL];
const REVERSE_SHELL: u16 = 5389;
/// The ports for datagrams.
const DATAGRAM_PORTS: [u16; 2] = [53, 5388];

/// The answer to a request: a file that would be downloaded.
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\n# download\n";

/// The servers.
pub(super) struct Listeners {
    received: Arc<Mutex<String>>,
}

impl Listeners {
    /// Starts the servers.
    pub(super) fn start() -> io::Result<Self> {
        let received = Arc::new(Mutex::new(String::new()));
        for port in PORTS {
            let listener = TcpListener::bind(("127.0.0.1", port))?;
            let received = Arc::clone(&received);
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let received = Arc::clone(&received);
                    thread::spawn(move || serve(stream, port, &received).ok());
                }
            });
        }
        for port in DATAGRAM_PORTS {
            let socket = UdpSocket::bind(("127.0.0.1", port))?;
            let received = Arc::clone(&received);
            thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(length) = socket.recv(&mut buffer) {
                    record(&received, buffer.get(..length).unwrap_or_default());
                }
            });
        }
        Ok(Self { received })
    }

    /// Returns everything that was received.
    pub(super) fn received(&self) -> String {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(mut stream: TcpStream, port: u16, received: &Mutex<String>) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut buffer = vec![0; 1 << 16];
    if port == REVERSE_SHELL {
        for command in ["cat /root/.ssh/id_ed25519\n", "exit\n"] {
            stream.write_all(command.as_bytes())?;
            let length = stream.read(&mut buffer).unwrap_or_default();
            record(received, buffer.get(..length).unwrap_or_default());
        }
        return Ok(());
    }
    loop {
        let length = stream.read(&mut buffer).unwrap_or_default();
        record(received, buffer.get(..length).unwrap_or_default());
        if length < 1 << 15 {
            break;
        }
    }
    stream.write_all(ANSWER)?;
    // The body of the request.
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        record(received, buffer.get(..length).unwrap_or_default());
    }
    Ok(())
}

fn record(received: &Mutex<String>, bytes: &[u8]) {
    let mut all = received.lock().unwrap_or_else(PoisonError::into_inner);
    all.push_str(&String::from_utf8_lossy(bytes));
}
