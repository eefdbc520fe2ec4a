//! Git over SSH with the user's agent: the real sshd, ssh, ssh-agent and git, and a program that
//! wants more from the agent.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::{
        fs::{PermissionsExt as _, chown},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use super::{is_root, staged::Place};
use crate::support::{code, stderr, stdout};

const SSHD: &str = "/usr/sbin/sshd";

/// A user with a key in an agent, a project, and a server that accepts the key.
struct World {
    place: Place,
    port: u16,
    programs: Vec<Child>,
}

impl Drop for World {
    fn drop(&mut self) {
        for program in &mut self.programs {
            drop(program.kill());
            drop(program.wait());
        }
    }
}

impl World {
    /// Creates a world.
    fn new(rules: &str) -> Self {
        for program in [SSHD, "/usr/bin/ssh", "/usr/bin/ssh-agent"] {
            assert!(Path::new(program).exists(), "`{program}` is missing");
        }
        let place = Place::new("", None);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut world = Self { place, port, programs: Vec::new() };
        world.allow(rules);
        world.host(&world.setup());
        let agent =
            world.command("ssh-agent", &["-D", "-a", world.path("home/agent").to_str().unwrap()]);
        world.start(agent);
        wait_until(|| world.path("home/agent").exists());
        world.host("ssh-add -q ~/.ssh/id_ed25519");
        world
    }

    fn setup(&self) -> String {
        format!(
            "mkdir -m 700 ~/.ssh; mkdir ~/srv; cd ~/srv
            ssh-keygen -q -t ed25519 -N '' -f host; ssh-keygen -q -t ed25519 -N '' -C ann -f ~/.ssh/id_ed25519
            cp ~/.ssh/id_ed25519.pub authorized; chmod 600 authorized
            echo \"[localhost]:{0} $(cut -d' ' -f1,2 host.pub)\" > ~/.ssh/known_hosts
            git init -q --bare -b main r.git; cd ../../w; git init -q -b main
            git config --global user.name Ann; git config --global user.email ann@example.org
            git config --global core.sshCommand \"ssh -F none -o UserKnownHostsFile=$HOME/.ssh/known_hosts\"
            echo a > a; git add a; git commit -qm first; git remote add origin ssh://localhost:{0}$HOME/srv/r.git",
            self.port
        )
    }

    /// Starts the server, as the user of the tests.
    fn serve(&mut self) {
        if is_root() {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let mut server = Command::new(SSHD);
        let keys = format!("AuthorizedKeysFile={}", self.path("home/srv/authorized").display());
        server.args(["-D", "-f", "/dev/null", "-p", &self.port.to_string(), "-h"]);
        server.arg(self.path("home/srv/host")).args(["-o", &keys, "-o", "ListenAddress=127.0.0.1"]);
        for option in ["StrictModes=no", "PidFile=none", "UsePAM=no", "PermitRootLogin=yes"] {
            server.args(["-o", option]);
        }
        self.start(server);
        let port = self.port;
        wait_until(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    fn start(&mut self, mut command: Command) {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.programs.push(command.spawn().unwrap());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    fn allow(&self, rules: &str) {
        let text = format!(
            "permissions.allow = [\"Bash(git *)\", \"Bash(./do.sh)\", \"WebFetch(domain:localhost)\", {rules}]\n"
        );
        fs::write(self.path("home/.config/openoxide/policy.toml"), text).unwrap();
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = self.place.command(Path::new(program), arguments);
        command.env("SSH_AUTH_SOCK", self.path("home/agent"));
        command
    }

    /// Runs a script on the host. Returns its output.
    fn host(&self, script: &str) -> String {
        let output = self.command("/bin/bash", &["-ec", script]).output().unwrap();
        assert!(output.status.success(), "{script}\n{}", stderr(&output));
        stdout(&output)
    }

    /// Runs a command in the sandbox.
    fn run(&self, line: &str) -> Output {
        let program = self.path("openoxide");
        let arguments = ["run", "--no-input", "-c", line];
        self.command(program.to_str().unwrap(), &arguments).output().unwrap()
    }

    /// Runs a script in the sandbox.
    fn script(&self, name: &str, text: &str) -> Output {
        let file = self.path("w/do.sh");
        fs::write(&file, format!("#!/usr/bin/env {name}\n{text}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        self.run("./do.sh")
    }
}

fn wait_until(mut is_done: impl FnMut() -> bool) {
    for _ in 0..200 {
        if is_done() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("a program did not start");
}

/// Guards I22.
#[test]
fn git_pushes_fetches_and_clones_with_the_agent() {
    let mut world = World::new("\"Socket(ssh-agent:localhost)\"");
    world.serve();
    let pushed = world.run("git push -q origin main");
    assert_eq!(code(&pushed), 0, "{}", stderr(&pushed));
    let server = |arguments: &str| world.host(&format!("git -C ~/srv/r.git {arguments}"));
    assert_eq!(server("rev-parse main"), world.host("git rev-parse main"));
    for line in ["git fetch -q origin", "git ls-remote origin"] {
        let output = world.run(line);
        assert_eq!(code(&output), 0, "{line}: {}", stderr(&output));
    }
    let url = world.host("git remote get-url origin");
    let cloned = world.script("bash", &format!("git clone -q {} copy && cat copy/a", url.trim()));
    assert_eq!((code(&cloned), stdout(&cloned).as_str()), (0, "a\n"), "{}", stderr(&cloned));
    let known = world.host("cat ~/.ssh/known_hosts");
    let listed = world.script(
        "bash",
        "ls ~/.ssh; cat ~/.ssh/id_ed25519 ~/.ssh/id_ed25519.pub; echo x >> ~/.ssh/known_hosts",
    );
    assert_eq!(stdout(&listed), "known_hosts\n", "{}", stderr(&listed));
    assert_eq!(world.host("cat ~/.ssh/known_hosts"), known);
}

#[test]
fn without_a_rule_the_printed_one_permits_the_sign_in() {
    for rule in ["", "\"Socket(ssh-agent:other.example)\""] {
        let mut world = World::new(rule);
        world.serve();
        let refused = world.run("git push -q origin main");
        let said = stderr(&refused);
        assert_ne!(code(&refused), 0, "{said}");
        assert_eq!(world.host("git -C ~/srv/r.git for-each-ref"), "");
        let hint = said.split("a rule `").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
        assert_eq!(hint, "Socket(ssh-agent:localhost)", "{said}");
        world.allow(&format!("\"{hint}\""));
        let pushed = world.run("git push -q origin main");
        assert_eq!(code(&pushed), 0, "{}", stderr(&pushed));
    }
}

/// A revoked key, a host that is not known, and a deny.
///
/// Guards I22.
#[test]
fn known_hosts_and_denies_apply() {
    let mut world = World::new("\"Socket(ssh-agent)\"");
    world.serve();
    // The program does not verify the host's key; the filter does.
    world.host("git config --global core.sshCommand \"ssh -F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null\"");
    let push = |world: &World| {
        let output = world.run("git push -q origin main");
        (code(&output) == 0, stderr(&output))
    };
    world.host(
        "mv ~/.ssh/known_hosts ~/kept; ssh-keygen -q -t ed25519 -N '' -f ~/other
        echo \"[localhost]:22 $(cut -d' ' -f1,2 ~/other.pub)\" > ~/.ssh/known_hosts",
    );
    let (passed, said) = push(&world);
    assert!(!passed && said.contains("is not in `known_hosts`"), "{said}");
    world.host("cp ~/kept ~/.ssh/known_hosts; echo \"@revoked * $(cut -d' ' -f1,2 ~/srv/host.pub)\" >> ~/.ssh/known_hosts");
    let (passed, said) = push(&world);
    assert!(!passed && said.contains("is not in `known_hosts`"), "{said}");
    world.host("cp ~/kept ~/.ssh/known_hosts; ssh-keygen -q -H -f ~/.ssh/known_hosts 2>&1");
    let (passed, said) = push(&world);
    assert!(passed, "a hashed name: {said}");
    world.host("git commit -q --allow-empty -m second");
    world.allow("\"Socket(ssh-agent)\"]\npermissions.deny = [\"Socket(ssh-agent:localhost)\"");
    assert!(!push(&world).0);
    let agent = world.path("home/agent");
    world.allow(&format!(
        "\"Socket(ssh-agent)\"]\npermissions.deny = [\"Socket({})\"",
        agent.display()
    ));
    assert!(!push(&world).0);
}

/// Messages to the agent without a sign-in, and after the real one.
const HOSTILE: &str = r"
import os, socket, struct
def ask(message):
    one = socket.socket(socket.AF_UNIX); one.connect(os.environ['SSH_AUTH_SOCK'])
    one.settimeout(20)
    one.sendall(struct.pack('>I', len(message)) + message)
    size = one.recv(4)
    return one.recv(struct.unpack('>I', size)[0])[:5].hex() if len(size) == 4 else 'closed'
def text(*parts): return b''.join(struct.pack('>I', len(p)) + p for p in parts)
key = b'k' * 51
print('list', ask(b'\x0b'))
print('sign', ask(b'\x0d' + text(key, b'anything') + b'\0' * 4))
print('commit', ask(b'\x0d' + text(key, b'SSHSIG' + b'x' * 40) + b'\0' * 4))
print('add', ask(b'\x11' + text(b'ssh-ed25519', b'p' * 32, b's' * 64, b'evil')))
print('remove', ask(b'\x12' + text(key)))
print('remove all', ask(b'\x13'))
print('card', ask(b'\x14' + text(b'/tmp/x.so', b'')))
print('lock', ask(b'\x16' + text(b'secret')))
print('query', ask(b'\x1b' + text(b'query')))
print('bind', ask(b'\x1b' + text(b'session-bind@openssh.com', key, b'i' * 32, b's' * 83) + b'\0'))
print('forwarded', ask(b'\x1b' + text(b'session-bind@openssh.com', key, b'i' * 32, b's' * 83) + b'\1'))
print('empty', ask(b''))
";

/// The answers: SSH_AGENT_FAILURE (5), and an empty list (12).
const REFUSED: &str = "list 0c00000000\nsign 05\ncommit 05\nadd 05\nremove 05\nremove all 05\n\
    card 05\nlock 05\nquery 05\nbind 05\nforwarded 05\nempty closed\n";

/// Guards I22.
#[test]
fn a_program_gets_nothing_else_from_the_agent() {
    let world = World::new("\"Socket(ssh-agent)\", \"Socket\"");
    let keys = world.host("ssh-add -l");
    let output = world.script("python3", HOSTILE);
    assert_eq!(stdout(&output), REFUSED, "{}", stderr(&output));
    for reason in [
        "sees keys only while it signs in",
        "can use keys only to sign in",
        "cannot sign commits or files",
        "is not a sign-in",
        "has not signed the session",
        "is not forwarded",
    ] {
        assert!(stderr(&output).contains(reason), "{reason}: {}", stderr(&output));
    }
    assert_eq!(world.host("ssh-add -l"), keys);
}

/// An agent that must not be connected to. OpenSSH's own programs need an entry in the list of
/// users.
///
/// Guards I22.
#[test]
fn another_user_gets_nothing_else_either() {
    if !is_root() {
        return;
    }
    let user = Some(1234);
    let place = Place::new("permissions.allow = [\"Bash(./do.sh)\", \"Socket\"]\n", user);
    let socket = place.path("home/agent");
    let listener = UnixListener::bind(&socket).unwrap();
    chown(&socket, user, user).unwrap();
    listener.set_nonblocking(true).unwrap();
    let file = place.path("w/do.sh");
    fs::write(&file, format!("#!/usr/bin/env python3\n{HOSTILE}")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let program = place.path("openoxide");
    let mut command = place.command(&program, &["run", "--no-input", "--", "./do.sh"]);
    let output = command.env("SSH_AUTH_SOCK", &socket).output().unwrap();
    assert_eq!(stdout(&output), REFUSED, "{}", stderr(&output));
    assert!(listener.accept().is_err(), "the agent was connected to");
}
