//! The socket of an app server: its path, the check of its owner, and messages over it.
//!
//! The protocol is WebSocket, with one JSON-RPC message (without `jsonrpc`) in each text frame.

use std::{
    env, fmt, fs,
    io::ErrorKind,
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _},
        net::UnixStream,
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use openoxide_codex::app_server::{ServerMessage, parse_server_message};
use serde_json::{Value, json};
use tungstenite::{
    Error, HandshakeError, Message, WebSocket, client::client_with_config,
    protocol::WebSocketConfig,
};

/// The maximum time to wait for a message before other work is done.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The maximum time for a server to complete the handshake, and to accept a message.
const SERVER_TIMEOUT: Duration = Duration::from_secs(10);
/// No message is longer.
const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// The path of the socket of Codex's daemon, relative to Codex's home directory.
const DEFAULT_SOCKET: &str = "app-server-control/app-server-control.sock";

/// The reason for which the server is no longer available.
#[derive(Debug)]
pub(super) enum ServerError {
    /// The server has ended, or has closed the connection.
    Closed,
    /// The server sent a message above the size limit.
    MessageTooLong,
    /// Anything else.
    Failed(String),
}

/// A connection to a server.
pub(super) struct AppServer {
    socket: WebSocket<UnixStream>,
    last_call_id: i64,
}

/// Returns the path of the socket that is named, or of the usual one.
///
/// # Errors
/// Neither is known.
pub(super) fn socket_path(named: Option<&Path>) -> Result<PathBuf, String> {
    let directory = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let home = || directory("CODEX_HOME").map(PathBuf::from);
    let usual = || directory("HOME").map(|home| Path::new(&home).join(".codex"));
    let place =
        named.map(Path::to_owned).or_else(|| Some(home().or_else(usual)?.join(DEFAULT_SOCKET)));
    place.ok_or_else(|| "no home directory is known: name the socket with `--socket`".to_owned())
}

impl AppServer {
    /// Connects to a server and introduces this client. With `asks`, the server also sends requests
    /// that only a person may answer.
    ///
    /// # Errors
    /// When no server listens there, when other users have access to the socket, or when the
    /// handshake fails.
    pub(super) fn connect(path: &Path, asks: bool) -> Result<Self, String> {
        let real = check_socket_owner(path)?;
        let stream =
            UnixStream::connect(real).map_err(|error| format_connect_error(path, &error))?;
        let failed = |error| format!("{}: {error}", path.display());
        let mut server = Self::handshake(stream).map_err(failed)?;
        server.initialize(asks).map_err(|error| failed(error.to_string()))?;
        Ok(server)
    }

    fn handshake(stream: UnixStream) -> Result<Self, String> {
        let limits = |stream: &UnixStream| {
            stream.set_write_timeout(Some(SERVER_TIMEOUT))?;
            stream.set_read_timeout(Some(SERVER_TIMEOUT))
        };
        limits(&stream).map_err(|error| error.to_string())?;
        let bounded = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let greeted = client_with_config("ws://localhost/", stream, Some(bounded));
        let (socket, _) = greeted.map_err(|error| match error {
            HandshakeError::Interrupted(_) => "it does not answer".to_owned(),
            HandshakeError::Failure(error) => format!("it does not use WebSocket: {error}"),
        })?;
        let waits = socket.get_ref().set_read_timeout(Some(POLL_INTERVAL));
        waits.map_err(|error| error.to_string())?;
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
                    return Err(ServerError::Failed(error));
                }
                _ => {}
            }
        }
        Err(ServerError::Failed("it does not answer".to_owned()))
    }

    /// Calls a method; the answer comes with the name that is returned.
    ///
    /// # Errors
    /// The server is gone.
    pub(super) fn send_call(&mut self, method: &str, params: &Value) -> Result<i64, ServerError> {
        self.last_call_id += 1;
        self.send_message(&json!({ "id": self.last_call_id, "method": method, "params": params }))?;
        Ok(self.last_call_id)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The server is gone.
    pub(super) fn send_message(&mut self, message: &Value) -> Result<(), ServerError> {
        self.socket.send(Message::text(message.to_string())).map_err(from_websocket_error)
    }

    /// Returns the next message, or nothing if there is none for a moment.
    ///
    /// # Errors
    /// The server is gone, or what it sends is not understood.
    pub(super) fn receive_message(&mut self) -> Result<Option<Value>, ServerError> {
        match self.socket.read() {
            Ok(Message::Text(text)) => {
                let read = serde_json::from_str(&text).map(Some);
                read.map_err(|error| ServerError::Failed(format!("it sent invalid JSON: {error}")))
            }
            Ok(Message::Close(_)) => Err(ServerError::Closed),
            Ok(_) => Ok(None),
            Err(Error::Io(error)) if is_timeout(error.kind()) => Ok(None),
            Err(error) => Err(from_websocket_error(error)),
        }
    }
}

const fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn from_websocket_error(error: Error) -> ServerError {
    match error {
        Error::Capacity(_) => ServerError::MessageTooLong,
        Error::ConnectionClosed | Error::AlreadyClosed | Error::Protocol(_) => ServerError::Closed,
        Error::Io(error) if !is_timeout(error.kind()) => ServerError::Closed,
        Error::Io(_) => ServerError::Failed("it takes nothing any more".to_owned()),
        error => ServerError::Failed(error.to_string()),
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => out.write_str("the app server has ended, or has closed the connection"),
            Self::MessageTooLong => {
                write!(
                    out,
                    "the app server sent a message of more than {} MiB",
                    MAX_MESSAGE_BYTES >> 20
                )
            }
            Self::Failed(why) => write!(out, "the app server: {why}"),
        }
    }
}

/// Returns the real path of the socket (Codex puts a link into its home), after a check that no
/// other user could have put it there. The socket, its directory and the directory of the link must
/// belong to this user, and the directories must be closed to others.
fn check_socket_owner(path: &Path) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format_connect_error(path, &error);
    let refused = |why: &str| format!("{}: {why}; nothing was sent", path.display());
    let own = fs::metadata("/proc/self").map_err(failed)?.uid();
    let real = fs::canonicalize(path).map_err(failed)?;
    let socket = fs::symlink_metadata(&real).map_err(failed)?;
    if !socket.file_type().is_socket() {
        return Err(refused("it is no socket"));
    }
    for place in [path, &real] {
        let directory = fs::metadata(parent_directory(place)).map_err(failed)?;
        if socket.uid() != own || directory.uid() != own {
            return Err(refused("it or its directory belongs to another user"));
        }
        if directory.mode() & 0o077 != 0 {
            return Err(refused("its directory is open to others: `chmod 700` closes it"));
        }
    }
    Ok(real)
}

fn parent_directory(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Returns a message that no server listens there, and a way to start one.
fn format_connect_error(path: &Path, error: &std::io::Error) -> String {
    let path = path.display();
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => format!(
            "no app server listens at {path}; `codex app-server --listen unix://` starts one, and `codex --remote unix://` works with it"
        ),
        _ => format!("{path}: {error}"),
    }
}
