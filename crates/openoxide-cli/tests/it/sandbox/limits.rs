//! Limits on what a program may use and what it may do to others: resource limits, leases, the
//! network, temporary files.

use std::{
    fs,
    io::Read as _,
    net::TcpListener,
    process::{Output, Stdio},
    thread,
};

use super::Arena;

/// Runs Python, confined with these arguments.
fn python(arena: &Arena, arguments: &[&str], program: &str) -> Output {
    arena.run(arguments, &["python3", "-c", program]).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Returns whether the resources of the program were limited. If no control group can be created, a
/// note has to report it.
fn is_bounded(output: &Output) -> bool {
    let text = said(output);
    let noted = text.contains("cannot create a control group with these limits");
    assert!(noted || !text.contains("used all"), "{text}");
    !noted
}

#[test]
fn memory_includes_files_in_memory() {
    let arena = Arena::new();
    let write = "import os, sys\nfile = FILE\nfor _ in range(400): os.write(file, b'x' * (1 << 20))\nprint('used all')";
    for file in ["os.memfd_create('x')", "os.open('/dev/shm/x', os.O_RDWR | os.O_CREAT)"] {
        let output = python(&arena, &["--memory", "200"], &write.replace("FILE", file));
        is_bounded(&output);
    }
    let output = python(
        &arena,
        &["--memory", "200"],
        "import os\nfor name in ('/tmp/a', '/var/tmp/b', '/dev/shm/c'):\n  open(name, 'wb').write(b'x' * (40 << 20))\nprint('used all')",
    );
    // Each of them would fit; together they are more than the bound of all temporary files, with or without a control group.
    assert!(!said(&output).contains("used all"), "{}", said(&output));
}

#[test]
fn all_temporary_files_share_one_bound() {
    let arena = Arena::new();
    let output = python(
        &arena,
        &[],
        "import os\nsizes = {os.statvfs(at).f_blocks for at in ('/tmp', '/var/tmp', '/dev/shm')}\n\
         open('/tmp/x', 'wb').write(b'x' * (8 << 20))\nos.sync()\n\
         free = {os.statvfs(at).f_bfree for at in ('/tmp', '/var/tmp', '/dev/shm')}\nprint(len(sizes), len(free))",
    );
    assert_eq!(said(&output), "1 1\n");
}

#[test]
fn processes_are_bounded() {
    let arena = Arena::new();
    let program = "import os, time\nfor _ in range(60):\n  if os.fork() == 0:\n    time.sleep(3); os._exit(0)\nprint('used all')";
    let output = python(&arena, &["--processes", "30"], program);
    if is_bounded(&output) {
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    }
}

#[test]
fn no_lease_is_taken_and_inotify_is_left_to_the_host() {
    let arena = Arena::new();
    fs::write(arena.path("outside/file"), "x").unwrap();
    let file = arena.path("outside/file").to_str().unwrap().to_owned();
    let program = format!(
        "import ctypes, fcntl, os\nfile = os.open({file:?}, os.O_RDONLY)\n\
         for command in (1024, 1026):\n  try: fcntl.fcntl(file, command, 1); print('taken')\n  except PermissionError: pass\n\
         c = ctypes.CDLL(None)\nmade = 0\nwhile made < 200 and c.inotify_init() >= 0: made += 1\n\
         most = int(open('/proc/sys/fs/inotify/max_user_instances').read())\nprint(made <= most // 2)"
    );
    assert_eq!(said(&python(&arena, &[], &program)), "True\n");
}

/// Starts a server on the host, which counts its connections.
fn server() -> (u16, thread::JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = thread::spawn(move || {
        let mut count = 0;
        for mut stream in listener.incoming().map(Result::unwrap) {
            let mut word = [0; 4];
            match stream.read(&mut word) {
                Ok(4) if &word == b"stop" => return count,
                _ => count += 1,
            }
        }
        count
    });
    (port, serving)
}

const CONNECT: &str = "import socket, sys\nfor host in ('localhost', '127.0.0.1', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::'):\n  \
    try: socket.create_connection((host, PORT), 3).close()\n  except OSError: pass";

fn connections(network: &str) -> usize {
    let (arena, (port, serving)) = (Arena::new(), server());
    let network = network.replace("PORT", &port.to_string());
    python(&arena, &["--net", &network], &CONNECT.replace("PORT", &port.to_string()));
    let mut last = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    std::io::Write::write_all(&mut last, b"stop").unwrap();
    serving.join().unwrap()
}

#[test]
fn the_internet_is_not_this_machine() {
    assert_eq!(connections("internet"), 0);
    assert_eq!(connections("on"), 0);
}

#[test]
fn localhost_and_host_are_this_machine() {
    assert!(connections("localhost:PORT") > 0);
    assert!(connections("host") > 0);
}

#[test]
fn a_program_that_listens_is_named() {
    let arena = Arena::new();
    let listen = "import socket\none = socket.socket()\none.bind(('0.0.0.0', 9099))\none.listen()";
    let text = said(&python(&arena, &[], listen));
    let note = "a program listened on port 9099, reachable only inside the sandbox; \
                `--publish 9099` publishes a port on this machine";
    assert!(text.contains(note), "{text}");
    // With what the note names, there is nothing to say.
    assert_eq!(said(&python(&arena, &["--publish", "9099"], listen)), "");
    let text = said(&python(&arena, &[], &listen.replace("9099", "0")));
    assert_eq!(text, "", "a port that the kernel chose is nobody's to connect to");
}

#[test]
fn a_home_below_tmp_is_visible() {
    let arena = Arena::new();
    let home = tempfile::tempdir_in("/tmp").unwrap();
    fs::write(home.path().join("file"), "mine").unwrap();
    let mut run = arena.run(&[], &["sh", "-c", "cat ~/file; echo x > ~/file"]);
    let output = run.env("HOME", home.path()).stdin(Stdio::null()).output().unwrap();
    assert!(output.stdout == b"mine" && !output.status.success(), "{}", said(&output));
    assert_eq!(fs::read_to_string(home.path().join("file")).unwrap(), "mine");
}

#[test]
fn few_descriptors_are_an_error_and_no_crash() {
    let arena = Arena::new();
    let program = env!("CARGO_BIN_EXE_openoxide");
    for limit in [6, 8, 12, 16] {
        let mut shell = std::process::Command::new("sh");
        let line = format!("ulimit -n {limit}; exec {program} run --no-input -- true");
        shell.args(["-c", &line]).env("HOME", arena.path("home")).current_dir(arena.path("w"));
        let output = shell.stdin(Stdio::null()).output().unwrap();
        assert!(!said(&output).contains("panicked"), "{limit}: {}", said(&output));
    }
}

/// Simultaneous runs have separate parts of the resources that the kernel counts per user.
#[test]
fn two_runs_together_leave_inotify_to_the_host() {
    let arena = Arena::new();
    let take = "import ctypes, sys\nc = ctypes.CDLL(None)\nmade = 0\nwhile made < 500 and c.inotify_init() >= 0: made += 1\n\
                print(made, flush=True)\nsys.stdin.read()";
    let number = |text: &str| text.trim().parse::<u64>().unwrap();
    let mut first = arena.run(&[], &["python3", "-c", take]);
    let mut first = first.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut reader = std::io::BufReader::new(first.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
    let second = python(&arena, &[], take);
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    let most = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances").unwrap();
    let (first, second, most) = (number(&line), number(&said(&second)), number(&most));
    assert!(first > 0 && first + second <= most / 2, "{first} and {second} of {most}");
}

#[test]
fn system_wide_resources_are_refused_and_signals_are_limited() {
    let program = "import ctypes, platform, resource\nc = ctypes.CDLL(None, use_errno=True)\n\
                   number = 0 if platform.machine() == 'aarch64' else 206\ncontext = ctypes.c_ulong(0)\n\
                   print(c.syscall(number, 8, ctypes.byref(context)), ctypes.get_errno())\n\
                   print(max(resource.getrlimit(resource.RLIMIT_SIGPENDING)) <= 4096)";
    assert_eq!(said(&python(&Arena::new(), &[], program)), "-1 38\nTrue\n");
}

/// The first process inside belongs to the same user, and restores the covers of protected files.
#[test]
fn the_first_process_keeps_its_limits_and_priority() {
    let program = "import os, resource as r\n\
        def tried(name, call):\n  try: call(); print(name, 'done')\n  except OSError as error: print(name, error.errno)\n\
        idle = os.sched_param(0)\n\
        for pid in (1, 0):\n  \
          tried('limit', lambda: r.prlimit(pid, r.RLIMIT_NOFILE, (64, 64)))\n  \
          tried('affinity', lambda: os.sched_setaffinity(pid, os.sched_getaffinity(0)))\n  \
          tried('scheduler', lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, idle))\n  \
          tried('process', lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))\n  \
          tried('group', lambda: os.setpriority(os.PRIO_PGRP, pid, 19))\n\
        tried('user', lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19))";
    let expected = "limit 1\naffinity 1\nscheduler 1\nprocess 1\ngroup 1\nlimit done\naffinity done\nscheduler done\nprocess done\ngroup done\nuser 1\n";
    assert_eq!(said(&python(&Arena::new(), &[], program)), expected);
}

/// The kernel counts terminals for the whole machine.
#[test]
fn terminals_are_limited() {
    let program = "import os, resource as r\nmost = r.getrlimit(r.RLIMIT_NOFILE)[1]\n\
        r.setrlimit(r.RLIMIT_NOFILE, (most, most))\nmade = []\n\
        try:\n  while len(made) < 400: made.append(os.openpty())\n\
        except OSError as error: print(0 < len(made) <= 256, error.errno)";
    assert_eq!(said(&python(&Arena::new(), &[], program)), "True 28\n");
}

#[test]
fn low_limits_of_the_shell_are_errors_and_no_crash() {
    let arena = Arena::new();
    let program = env!("CARGO_BIN_EXE_openoxide");
    for (limit, reason) in [("-f 0", "File too large"), ("-s 64", "")] {
        for verb in ["run --no-input", "sandbox run"] {
            let mut shell = std::process::Command::new("sh");
            let line =
                format!("ulimit {limit}; exec {program} {verb} -- sh -c 'echo ran; ulimit -f'");
            shell.args(["-c", &line]).env("HOME", arena.path("home")).current_dir(arena.path("w"));
            let output = shell.stdin(Stdio::null()).output().unwrap();
            let text = said(&output);
            assert!(output.status.code().is_some_and(|code| code < 128), "{limit} {verb}: {text}");
            assert!(output.status.success() || text.contains(reason), "{limit} {verb}: {text}");
        }
    }
}

/// The names of control groups are those of their files, where a JVM searches its limits.
#[test]
fn control_groups_are_found_in_the_file_system() {
    let arena = Arena::new();
    let output = arena.run(&[], &["cat", "/proc/self/mountinfo"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let groups: Vec<_> = text.lines().filter(|line| line.contains(" - cgroup")).collect();
    assert!(!groups.iter().any(|line| line.contains(" /..")), "{groups:?}");
}
