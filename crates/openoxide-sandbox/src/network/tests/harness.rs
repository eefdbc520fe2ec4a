//! A network namespace for tests. `unshare` creates it, and this test binary sets it up inside and
//! starts a program.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read as _, Write as _},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::{Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use openoxide_protocol::{HostPort, NetworkAccess};
use serde::{Deserialize, Serialize};

use crate::{
    host_sockets::{HostSocketHandler, SocketPermissions},
    interface::{RefusedAddress, RuntimeDecision, SandboxDenial},
    ipc::{InitMessage, ListenRequest, MessageSocket},
    network::{
        broker::ConnectionBroker,
        connection::ReachableHosts,
        host_network::HostNetwork,
        namespace_setup::{
            listen, listen_for_redirects, listen_without_notifications, mount_resolv_conf, prepare,
        },
        reviewer::{NetworkReviewer, ReviewedConnection},
        socket_diag::{SandboxSockets, open_diagnostics},
    },
    seccomp,
    supervisor::{PlaceholderDirectories, PortCapture, SyscallContext, seccomp_notify},
    sys,
};

/// The environment of a test program.
pub(crate) struct World {
    pub(crate) network: NetworkAccess,
    pub(crate) private_hosts: BTreeSet<HostPort>,
    pub(crate) reviewer: Option<Box<dyn NetworkReviewer>>,
    /// True to install the real filter, with a supervisor that answers connect(2).
    pub(crate) notify: bool,
    /// True to install the real filter without such a supervisor.
    pub(crate) deaf: bool,
    /// The standard input of the program.
    pub(crate) input: Option<OwnedFd>,
    pub(crate) outside: Arc<Internet>,
}

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) output: String,
    pub(crate) errors: String,
    pub(crate) denials: Vec<SandboxDenial>,
}

/// A simulated internet: the addresses of names, and the server of this machine that represents
/// each address.
#[derive(Default)]
pub(crate) struct Internet {
    pub(crate) names: Mutex<BTreeMap<String, Vec<IpAddr>>>,
    pub(crate) servers: Mutex<BTreeMap<SocketAddr, SocketAddr>>,
    pub(crate) own: Vec<IpAddr>,
    pub(crate) tried: Mutex<Vec<SocketAddr>>,
}

#[derive(Serialize, Deserialize)]
struct Inside {
    network: NetworkAccess,
    ask: bool,
    /// `None` if there is no filter, otherwise true if it has a listener.
    filter: Option<bool>,
    input: bool,
    argv: Vec<String>,
}

const MARK: &str = "\n=== the program ===\n";
const VARIABLE: &str = "OPENOXIDE_TEST_INSIDE";

impl World {
    /// Parses the hosts and ports that rules name, separated by spaces.
    pub(crate) fn of(rules: &str) -> Self {
        let hosts = rules.split_whitespace().map(|rule| rule.parse().unwrap()).collect();
        let outside = Arc::new(Internet::default());
        Self {
            network: NetworkAccess::Hosts(hosts),
            private_hosts: BTreeSet::new(),
            reviewer: None,
            notify: false,
            deaf: false,
            input: None,
            outside,
        }
    }

    /// Adds a name with its addresses, and a server that answers at one port of each of them.
    pub(crate) fn host(self, name: &str, addresses: &str, port: u16, server: SocketAddr) -> Self {
        let addresses: Vec<IpAddr> =
            addresses.split_whitespace().map(|address| address.parse().unwrap()).collect();
        for address in &addresses {
            let at = SocketAddr::new(*address, port);
            self.outside.servers.lock().unwrap().insert(at, server);
        }
        self.outside.names.lock().unwrap().insert(name.to_owned(), addresses);
        self
    }

    /// Lets these hosts lead to private addresses.
    pub(crate) fn with_private_hosts(self, hosts: &str) -> Self {
        let hosts = hosts.split_whitespace().map(|host| host.parse().unwrap()).collect();
        Self { private_hosts: hosts, ..self }
    }

    pub(crate) fn asking(
        self,
        reviewer: impl Fn(&str, u16) -> RuntimeDecision + Send + Sync + 'static,
    ) -> Self {
        struct Asked<F>(F);
        impl<F: Fn(&str, u16) -> RuntimeDecision + Send + Sync> NetworkReviewer for Asked<F> {
            fn ask(&self, connection: &ReviewedConnection) -> RuntimeDecision {
                let ReviewedConnection { host, private_address, port } = connection;
                match private_address {
                    Some(address) => (self.0)(&format!("{host} at {address}"), *port),
                    None => (self.0)(host, *port),
                }
            }
        }
        Self { reviewer: Some(Box::new(Asked(reviewer))), ..self }
    }

    pub(crate) fn notified(self) -> Self {
        Self { notify: true, ..self }
    }

    pub(crate) fn python(self, program: &str) -> Outcome {
        self.run(&["python3", "-c", program])
    }

    /// Runs a program inside until it ends.
    pub(crate) fn run(self, argv: &[&str]) -> Outcome {
        let (outer, inner) = MessageSocket::pair().unwrap();
        let inside = Inside {
            network: self.network.clone(),
            ask: self.reviewer.is_some(),
            filter: (self.notify || self.deaf).then_some(self.notify),
            input: self.input.is_some(),
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
        };
        let mut child = started(&inside, &inner);
        drop(inner);
        let supervised = supervise(self, outer);
        let mut output = child.stdout.take().unwrap();
        let mut errors = child.stderr.take().unwrap();
        let errors = thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).map(|_| text).unwrap()
        });
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        let (status, errors) = (child.wait().unwrap().code(), errors.join().unwrap());
        let broker = supervised.unwrap_or_else(|| panic!("{status:?} {text} {errors}"));
        let output = text.split_once(MARK).map_or(text.clone(), |(_, own)| own.to_owned());
        Outcome { status, output, errors, denials: broker.denials() }
    }
}

fn started(inside: &Inside, wire: &MessageSocket) -> std::process::Child {
    let test = [concat!(module_path!(), "::inside").split_once("::").unwrap().1, "--exact"];
    let mut command = Command::new("unshare");
    let namespaces = if inside.network == NetworkAccess::On { "-Urm" } else { "-Urnm" };
    command.args([namespaces, "--propagation", "private"]).arg(std::env::current_exe().unwrap());
    command.args(test).args(["--ignored", "--nocapture", "--test-threads=1"]);
    command.env(VARIABLE, serde_json::to_string(inside).unwrap());
    for proxy in
        ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
    {
        command.env_remove(proxy);
    }
    let wire = wire.descriptor().try_clone().unwrap();
    command.stdin(wire).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs the part outside of the namespace.
fn supervise(world: World, wire: MessageSocket) -> Option<Arc<ConnectionBroker>> {
    let (InitMessage::Listeners { .. }, listeners) = wire.receive().ok()?? else { return None };
    if let Some(input) = world.input {
        wire.send(&InitMessage::Terminal, &[input]).unwrap();
    }
    let outside = Box::new(Arc::clone(&world.outside));
    let hosts = ReachableHosts {
        network: world.network.clone(),
        private_hosts: world.private_hosts.clone(),
    };
    let broker = ConnectionBroker::start_with(listeners, hosts, world.reviewer, outside).unwrap();
    let broker = Arc::new(broker);
    if world.notify {
        let (InitMessage::Diagnostics, mut own) = wire.receive().ok()?? else { return None };
        let (InitMessage::RestrictionsApplied { .. }, mut listener) = wire.receive().ok()?? else {
            return None;
        };
        let (own, listener) = (own.pop().unwrap(), listener.pop().unwrap());
        let ask = move |request| {
            wire.send(&InitMessage::Listen(request), &[])?;
            let answer: Option<(InitMessage, _)> = wire.receive()?;
            Ok(answer.map(|(_, sockets)| sockets).unwrap_or_default())
        };
        let capture = matches!(world.network, NetworkAccess::Hosts(_));
        let capture = capture.then(|| PortCapture::new(Arc::clone(&broker), ask));
        let own = (world.network != NetworkAccess::On)
            .then(|| Arc::new(SandboxSockets::new(own).unwrap()));
        let context = SyscallContext {
            capture,
            sandbox_sockets: own,
            denials: broker.denial_log(),
            listen_handler: None,
            host_sockets: HostSocketHandler::new(
                Arc::new(SocketPermissions::new(Default::default(), broker.denial_log(), None)),
                None,
            ),
            file_requests: None,
            socket_pairs: None,
            placeholders: PlaceholderDirectories::default(),
        };
        thread::spawn(move || seccomp_notify::serve_notifications(listener, context));
    }
    Some(broker)
}

/// Runs the part inside the namespace. This is not a test.
#[test]
#[ignore = "runs in a network namespace, started by other tests"]
fn inside() {
    let Ok(said) = std::env::var(VARIABLE) else { return };
    let inside: Inside = serde_json::from_str(&said).unwrap();
    let wire = MessageSocket::from(io::stdin().as_fd().try_clone_to_owned().unwrap());
    let mut sockets = prepare(&inside.network, inside.ask).unwrap();
    if inside.filter != Some(true) {
        let reserved = BTreeSet::new();
        sockets
            .extend(listen_without_notifications(&inside.network, inside.ask, &reserved).unwrap());
    }
    mount_resolv_conf().unwrap();
    wire.send(&InitMessage::Listeners { request: None }, &sockets).unwrap();
    let own = open_diagnostics().unwrap();
    let input = inside.input.then(|| {
        let given: Option<(InitMessage, Vec<OwnedFd>)> = wire.receive().unwrap();
        Stdio::from(given.unwrap().1.pop().unwrap())
    });
    print!("{MARK}");
    io::stdout().flush().unwrap();
    let Some(worker) = sys::fork_into_namespaces(sys::NamespaceFlags::NONE).unwrap() else {
        rustix::thread::set_no_new_privs(true).unwrap();
        if let Some(listen) = inside.filter {
            let filter = seccomp::build_filter(seccomp::FilterOptions {
                notify_connect: listen,
                notified_changes: seccomp::NotifiedChanges::None,
                allow_tracing: true,
            });
            if let Some(listener) = sys::install_filter(&filter, listen).unwrap() {
                wire.send(&InitMessage::Diagnostics, &[own]).unwrap();
                wire.send(&InitMessage::RestrictionsApplied { landlock: false }, &[listener])
                    .unwrap();
            }
        }
        let (program, arguments) = inside.argv.split_first().unwrap();
        let mut command = Command::new(program);
        command.args(arguments).env_remove(VARIABLE).stdin(input.unwrap_or_else(Stdio::null));
        panic!("{}", command.exec());
    };
    thread::spawn(move || serve(&wire));
    let status = rustix::process::waitpid(Some(worker), rustix::process::WaitOptions::empty());
    let status = status.unwrap().unwrap().1;
    sys::exit_process(status.exit_status().unwrap_or(200));
}

fn serve(wire: &MessageSocket) {
    while let Ok(Some((message, _))) = wire.receive() {
        if let InitMessage::Listen(request) = message {
            let listeners = match request {
                ListenRequest::Port(port) => listen(port),
                ListenRequest::Address(address) => {
                    listen_for_redirects(address).map(|one| vec![one])
                }
            };
            let answer = InitMessage::Listeners { request: Some(request) };
            wire.send(&answer, &listeners.unwrap_or_default()).unwrap();
        }
    }
}

impl HostNetwork for Arc<Internet> {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let names = self.names.lock().unwrap();
        names.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn connect(&self, to: SocketAddr, _: Duration) -> io::Result<TcpStream> {
        self.tried.lock().unwrap().push(to);
        let server = self.servers.lock().unwrap().get(&to).copied();
        TcpStream::connect(server.ok_or(io::ErrorKind::ConnectionRefused)?)
    }

    fn is_local_address(&self, address: IpAddr) -> bool {
        self.own.contains(&address)
    }

    fn is_listening(&self, at: SocketAddr) -> bool {
        self.servers.lock().unwrap().contains_key(&at)
    }
}

/// Starts a server that calls `each` for every connection. The results are sent to the receiver in
/// order.
pub(crate) fn server<T: Send + 'static>(
    each: impl Fn(TcpStream) -> T + Send + 'static,
) -> (SocketAddr, mpsc::Receiver<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (say, hear) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            if say.send(each(stream.unwrap())).is_err() {
                break;
            }
        }
    });
    (address, hear)
}

/// Starts a web server that reports the host that was requested.
pub(crate) fn web(text: &'static str) -> (SocketAddr, mpsc::Receiver<String>) {
    server(move |mut stream| {
        let (mut request, mut bytes) = (Vec::new(), [0; 1024]);
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read(&mut bytes) {
                Ok(length) if length > 0 => request.extend(&bytes[..length]),
                _ => break,
            }
        }
        let length = text.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{text}"
        );
        drop(stream.write_all(answer.as_bytes()));
        let request = String::from_utf8_lossy(&request).to_lowercase();
        let host = request.lines().find_map(|line| line.strip_prefix("host: ").map(str::to_owned));
        host.unwrap_or_default()
    })
}

pub(crate) fn refused(host: &str, port: u16) -> SandboxDenial {
    SandboxDenial::Connect { host: host.to_owned(), port, address: None }
}

/// The refusal of a name that leads to this address, which is that of a neighbour or of this machine.
pub(crate) fn refused_at(
    host: &str,
    port: u16,
    address: &str,
    is_neighbour: bool,
) -> SandboxDenial {
    let address = Some(RefusedAddress { address: address.parse().unwrap(), is_neighbour });
    SandboxDenial::Connect { host: host.to_owned(), port, address }
}
