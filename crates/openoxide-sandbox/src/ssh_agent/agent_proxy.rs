//! The socket that programs connect to in place of the agent's.

use std::{
    fs, io,
    os::{
        fd::OwnedFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::Path,
    process,
    sync::Arc,
    thread,
};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    net::{SocketAddrUnix, connect},
};

use crate::{
    seccomp::descriptor_path,
    ssh_agent::{
        agent_filter::{AgentFilter, AgentPolicy, FilteredMessage},
        agent_message::{read_message, write_message},
    },
};

const STACK_BYTES: usize = 512 * 1024;
/// The maximum number of connections at once. Further ones are closed.
const MAX_CONNECTIONS: usize = 32;

/// A function that connects to the user's agent.
pub(crate) type ConnectToAgent = Box<dyn Fn() -> io::Result<UnixStream> + Send + Sync>;

/// A proxy between programs and the user's agent. It works on its own threads.
#[derive(Debug)]
pub(crate) struct AgentProxy {
    socket_file: OwnedFd,
}

impl AgentProxy {
    /// Starts a proxy. Its socket is created in `directory`, which belongs to the user, and removed
    /// at once. Only [`Self::connect`] reaches it.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be created, or if there are no threads left.
    pub(crate) fn start(
        directory: &Path,
        policy: AgentPolicy,
        agent: ConnectToAgent,
    ) -> io::Result<Self> {
        let (listener, socket_file) = create_socket(directory)?;
        let shared = Arc::new((policy, agent));
        thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // Each connection has one reference, and this loop has another.
                if Arc::strong_count(&shared) > MAX_CONNECTIONS {
                    continue;
                }
                let shared = Arc::clone(&shared);
                let serve = move || drop(serve_client(&stream, &shared.0, &shared.1));
                drop(thread::Builder::new().stack_size(STACK_BYTES).spawn(serve));
            }
        })?;
        Ok(Self { socket_file })
    }

    /// Connects a socket of a program to the proxy.
    ///
    /// # Errors
    /// Returns the error of connect(2).
    pub(crate) fn connect(&self, socket: &OwnedFd) -> rustix::io::Result<()> {
        connect(socket, &SocketAddrUnix::new(descriptor_path(&self.socket_file))?)
    }
}

fn create_socket(directory: &Path) -> io::Result<(UnixListener, OwnedFd)> {
    // The path of a socket is limited to 107 bytes.
    let open = OFlags::PATH | OFlags::CLOEXEC;
    let directory = openat(CWD, directory, open | OFlags::DIRECTORY, Mode::empty())?;
    let path = format!("{}/ssh-agent-{}", descriptor_path(&directory), process::id());
    drop(fs::remove_file(&path));
    let listener = UnixListener::bind(&path)?;
    let file = openat(CWD, path.as_str(), open | OFlags::NOFOLLOW, Mode::empty());
    fs::remove_file(&path)?;
    Ok((listener, file?))
}

/// Serves one program until it closes its connection.
fn serve_client(
    client: &UnixStream,
    policy: &AgentPolicy,
    agent: &ConnectToAgent,
) -> io::Result<()> {
    let mut filter = AgentFilter::new(policy);
    let mut upstream = None;
    while let Some(message) = read_message(client)? {
        let answer = match filter.check(&message) {
            FilteredMessage::Answer(answer) => answer,
            FilteredMessage::Forward => {
                let stream = match &upstream {
                    Some(stream) => stream,
                    None => upstream.insert(agent()?),
                };
                write_message(stream, &message)?;
                read_message(stream)?.ok_or(io::ErrorKind::UnexpectedEof)?
            }
        };
        write_message(client, &answer)?;
    }
    Ok(())
}
