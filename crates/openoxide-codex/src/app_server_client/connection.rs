//! The connection to an app server: the check of the socket's owner, and messages over the socket.
//!
//! The protocol is WebSocket, with one JSON-RPC message (without `jsonrpc`) in each text frame.

use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _},
        net::UnixStream,
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use thiserror::Error;
use tungstenite::{
    HandshakeError, Message, WebSocket, client::client_with_config, protocol::WebSocketConfig,
};

use crate::app_server::{ServerMessage, parse_server_message};

/// The maximum time to wait for a message before other work is done.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The maximum time for a server to complete the handshake, and to accept a message.
const SERVER_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum length of a message.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// The reason for which the server is no longer available.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The server has ended, or has closed the connection.
    #[error("the app server has ended, or has closed the connection")]
    Closed,
    /// The server sent a message above the size limit.
    #[error("the app server sent a message of more than {} MiB", MAX_MESSAGE_BYTES >> 20)]
    MessageTooLong,
    /// The server sent a message that is not JSON.
    #[error("the app server: it sent invalid JSON: {0}")]
    InvalidJson(#[source] serde_json::Error),
    /// The server did not accept a message in time.
    #[error("the app server no longer accepts messages")]
    NotReading,
    /// The server did not answer in time.
    #[error("the app server does not answer")]
    NoAnswer,
    /// The server refused a call. Contains the server's error message.
    #[error("the app server: {0}")]
    CallRefused(String),
    /// Another error of the connection.
    #[error("the app server: {0}")]
    WebSocket(#[source] Box<tungstenite::Error>),
}

/// The reason for which no connection could be made.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// No server listens at this path.
    #[error(
        "no app server listens at {}; `codex app-server --listen unix://` starts one, and \
         `codex --remote unix://` works with it",
        .0.display()
    )]
    NotListening(PathBuf),
    /// The socket cannot be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path of the socket.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The socket is not safe to use.
    #[error("{}: {reason}; nothing was sent", path.display())]
    Unsafe {
        /// The path of the socket.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// The server did not answer the handshake.
    #[error("{}: no answer", .0.display())]
    NoHandshake(PathBuf),
    /// The server did not complete the handshake.
    #[error("{}: it does not use WebSocket: {source}", path.display())]
    Handshake {
        /// The path of the socket.
        path: PathBuf,
        /// The error of the protocol.
        source: Box<tungstenite::Error>,
    },
    /// The server did not accept this client.
    #[error("{}: {source}", path.display())]
    Initialize {
        /// The path of the socket.
        path: PathBuf,
        /// The error of the server.
        source: ServerError,
    },
}

impl ConnectError {
    fn from_io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => Self::NotListening(path),
            _ => Self::Io { path, source },
        }
    }
}

/// A connection to a server.
#[derive(Debug)]
pub struct AppServer {
    socket: WebSocket<UnixStream>,
    last_call_id: i64,
}

impl AppServer {
    /// Connects to a server and introduces this client. With `asks`, the server also sends requests
    /// that only a person may answer.
    ///
    /// # Errors
    /// Returns an error if no server listens at the path, if other users have access to the socket,
    /// or if the handshake fails.
    pub fn connect(path: &Path, asks: bool) -> Result<Self, ConnectError> {
        let real = check_socket_owner(path)?;
        let stream =
            UnixStream::connect(real).map_err(|error| ConnectError::from_io(path, error))?;
        let mut server = Self::handshake(path, stream)?;
        server
            .initialize(asks)
            .map_err(|source| ConnectError::Initialize { path: path.to_owned(), source })?;
        Ok(server)
    }

    fn handshake(path: &Path, stream: UnixStream) -> Result<Self, ConnectError> {
        let failed = |source| ConnectError::Io { path: path.to_owned(), source };
        stream.set_write_timeout(Some(SERVER_TIMEOUT)).map_err(failed)?;
        stream.set_read_timeout(Some(SERVER_TIMEOUT)).map_err(failed)?;
        let bounded = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let greeted = client_with_config("ws://localhost/", stream, Some(bounded));
        let (socket, _) = greeted.map_err(|error| match error {
            HandshakeError::Interrupted(_) => ConnectError::NoHandshake(path.to_owned()),
            HandshakeError::Failure(source) => {
                ConnectError::Handshake { path: path.to_owned(), source: Box::new(source) }
            }
        })?;
        socket.get_ref().set_read_timeout(Some(POLL_INTERVAL)).map_err(failed)?;
        Ok(Self { socket, last_call_id: 0 })
    }

    fn initialize(&mut self, asks: bool) -> Result<(), ServerError> {
        let client = json!({ "name": "openoxide", "title": "OpenOxide", "version": env!("CARGO_PKG_VERSION") });
        let able = json!({ "experimentalApi": true, "requiredHumanApproval": asks });
        let called =
            self.send_call("initialize", &json!({ "clientInfo": client, "capabilities": able }))?;
        let until = Instant::now() + SERVER_TIMEOUT;
        while Instant::now() < until {
            match self.receive_message()?.map(parse_server_message) {
                Some(ServerMessage::CallResponse(id, Ok(_))) if id == called => {
                    return self.send_message(&json!({ "method": "initialized" }));
                }
                Some(ServerMessage::CallResponse(id, Err(error))) if id == called => {
                    return Err(ServerError::CallRefused(error.to_string()));
                }
                _ => {}
            }
        }
        Err(ServerError::NoAnswer)
    }

    /// Calls a method. Returns the id of the call, which the response repeats.
    ///
    /// # Errors
    /// Returns an error if the server is no longer available.
    pub(super) fn send_call(&mut self, method: &str, params: &Value) -> Result<i64, ServerError> {
        self.last_call_id += 1;
        self.send_message(&json!({ "id": self.last_call_id, "method": method, "params": params }))?;
        Ok(self.last_call_id)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Returns an error if the server is no longer available.
    pub(super) fn send_message(&mut self, message: &Value) -> Result<(), ServerError> {
        self.socket.send(Message::text(message.to_string())).map_err(from_websocket_error)
    }

    /// Returns the next message, or `None` if none arrives within a short time.
    ///
    /// # Errors
    /// Returns an error if the server is no longer available, or if its message cannot be parsed.
    pub(super) fn receive_message(&mut self) -> Result<Option<Value>, ServerError> {
        match self.socket.read() {
            Ok(Message::Text(text)) => {
                let read = serde_json::from_str(&text).map(Some);
                read.map_err(ServerError::InvalidJson)
            }
            Ok(Message::Close(_)) => Err(ServerError::Closed),
            Ok(_) => Ok(None),
            Err(tungstenite::Error::Io(error)) if is_timeout(error.kind()) => Ok(None),
            Err(error) => Err(from_websocket_error(error)),
        }
    }
}

const fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn from_websocket_error(error: tungstenite::Error) -> ServerError {
    use tungstenite::Error;
    match error {
        Error::Capacity(_) => ServerError::MessageTooLong,
        Error::ConnectionClosed | Error::AlreadyClosed | Error::Protocol(_) => ServerError::Closed,
        Error::Io(error) if !is_timeout(error.kind()) => ServerError::Closed,
        Error::Io(_) => ServerError::NotReading,
        error => ServerError::WebSocket(Box::new(error)),
    }
}

/// Returns the real path of the socket (Codex puts a link into its home), after a check that no
/// other user could have created it. The socket, its directory and the directory of the link must
/// belong to this user, and other users must have no access to the directories.
fn check_socket_owner(path: &Path) -> Result<PathBuf, ConnectError> {
    let failed = |error| ConnectError::from_io(path, error);
    let refused = |reason| ConnectError::Unsafe { path: path.to_owned(), reason };
    let own = fs::metadata("/proc/self").map_err(failed)?.uid();
    let real = fs::canonicalize(path).map_err(failed)?;
    let socket = fs::symlink_metadata(&real).map_err(failed)?;
    if !socket.file_type().is_socket() {
        return Err(refused("it is not a socket"));
    }
    for place in [path, &real] {
        let directory = fs::metadata(parent_directory(place)).map_err(failed)?;
        if socket.uid() != own || directory.uid() != own {
            return Err(refused("it or its directory belongs to another user"));
        }
        if directory.mode() & 0o077 != 0 {
            return Err(refused("its directory is accessible to other users; run `chmod 700`"));
        }
    }
    Ok(real)
}

fn parent_directory(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}
