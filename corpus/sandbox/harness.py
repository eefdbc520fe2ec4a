"""Runs the attempts of battery.py and more.py, each in a sandbox of its own, and looks at the host afterwards.

usage: harness.py OPENOXIDE BASE UID [PREFIX,... [MODE]]     as root in a mount namespace of its own, or as the user UID itself
MODE is `live`, `stage` (under `openoxide run` with a policy that allows all changes inside, so that they are applied), or the name of a backend.
One line of JSON for each attempt: {"id", "verdict", "host", "inside"}. verdict is `escaped` when anything on the host is not as it was or
a secret was obtained (`host` says what), else `done` or `refused`, as the attempt itself saw it. The launcher `none` in place of
OPENOXIDE runs it unconfined: the positive control of this file. `bwrap`, `codex:PROGRAM` and `srt:CLI` are other programs' sandboxes.
Nothing below BASE/ws counts but what is protected there."""
import ctypes, fcntl, glob, hashlib, json, os, pty, shutil, signal, socket, stat, struct, subprocess, sys, termios, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE); import peers
OX, BASE, UID = sys.argv[1], sys.argv[2], int(sys.argv[3])
PICK = sys.argv[4].split(",") if len(sys.argv) > 4 else []
MODE = sys.argv[5] if len(sys.argv) > 5 else ""
BY = ["--backend", MODE] if MODE not in ("", "live", "stage") else ["--" + MODE] if MODE else []
WS, OUT, HOME = BASE + "/ws", BASE + "/outside", BASE + "/home"
SECRETS = ("SSHKEYSECRET", "ENVSECRET", "SIBSECRET", "KEYSECRET", "SHMSECRET", "escaped ")
PROTECTED = (".codex", ".agents", ".claude", "pp/keep")
# What makes git run programs. OpenOxide protects it by itself; the other sandboxes are given the whole directory.
STEERING = ("hooks", "commondir")
# The lines of a configuration that `git init` writes.
GIT_INIT = {"[core]", "\trepositoryformatversion = 0", "\tfilemode = true", "\tbare = false", "\tlogallrefupdates = true"}
# What no mount can hold: a file that had another name in the workspace before. It is warned of (Found::HardLink).
HARD_LINKS = {"w_hardlink_preexisting": "hl_target"}
# Another harness may run at the same time.
SHARED = 0x5b000000 | os.getpid()
libc = ctypes.CDLL(None, use_errno=True); libc.shmat.restype = ctypes.c_void_p
SIB = "import os, signal, sys, time\nt = 'SIBSECRET'\nsignal.signal(10, lambda *_: open(sys.argv[1] + '/signalled', 'w'))\nsignal.signal(29, lambda *_: open(sys.argv[1] + '/signalled', 'w'))\nopen(sys.argv[1] + '/ready', 'w')\nwhile True: time.sleep(1)\n"

def drop():
    if os.getuid() != UID: os.setgroups([]); os.setgid(UID); os.setuid(UID)

def write(path, text, mode=0o644):
    with open(path, "w") as f: f.write(text)
    os.chmod(path, mode)

def build():
    for d in (WS, OUT, HOME): shutil.rmtree(d, ignore_errors=True)
    if os.path.exists(BASE + "/tpl"):
        for d in (WS, OUT, HOME): subprocess.run(["cp", "-a", BASE + "/tpl/" + os.path.basename(d), d], check=True)
        os.link(OUT + "/hl_target", WS + "/hl_pre"); os.link(HOME + "/.ssh/id_rsa", WS + "/key_hl"); return
    os.makedirs(BASE + "/tpl")
    for d in ("/lib", "/src2", "/.codex", "/vendor/sub", "/pp/keep", "/linked"): os.makedirs(WS + d)
    for d in (OUT + "/empty", HOME + "/.ssh"): os.makedirs(d)
    for f in (WS + "/src.txt", WS + "/lib/mod.txt", WS + "/.codex/config.toml", WS + "/pp/keep/secret.cfg", OUT + "/file", OUT + "/hl_target", HOME + "/.bashrc"): write(f, "orig\n")
    write(HOME + "/.ssh/id_rsa", "SSHKEYSECRET\n", 0o600); os.mkdir(WS + "/.claude") if MODE == "bubblewrap" else os.symlink("linked", WS + "/.claude"); os.symlink(OUT, WS + "/link_out")
    for d in (WS, WS + "/vendor/sub"): subprocess.run(["git", "init", "-q", d], check=True, env={"PATH": os.environ["PATH"], "HOME": HOME})
    for name in ("battery.py", "more.py"): shutil.copy(HERE + "/" + name, BASE + "/" + name)
    if os.getuid() == 0:
        subprocess.run(["chown", "-hR", str(UID) + ":" + str(UID), WS, OUT, HOME], check=True)
        shutil.copy("/usr/bin/id", OUT + "/suid_helper"); os.chmod(OUT + "/suid_helper", 0o4755)
    if MODE == "stage": policy()
    for d in (WS, OUT, HOME): subprocess.run(["cp", "-a", d, BASE + "/tpl/"], check=True)
    build()

def policy():
    "what `sandbox run` is told by options, for `run`"
    os.makedirs(HOME + "/.config/openoxide")
    write(HOME + "/.config/openoxide/policy.toml", 'mode = "bypass_permissions"\n[sandbox]\nnetwork = "off"\nunreadable = ["%s/.ssh"]\nprotected = %s\n' % (HOME, json.dumps([WS + "/" + p for p in PROTECTED])))
    if os.getuid() == 0: subprocess.run(["chown", "-R", "%d:%d" % (UID, UID), HOME + "/.config"], check=True)

def state(path, deep=True):
    "what a file is: everything but its times of reading"
    try: s = os.lstat(path)
    except OSError: return None
    x = {n: os.getxattr(path, n, follow_symlinks=False).hex() for n in os.listxattr(path, follow_symlinks=False)} if not stat.S_ISLNK(s.st_mode) else {}
    c = hashlib.sha256(open(path, "rb").read()).hexdigest() if stat.S_ISREG(s.st_mode) else os.readlink(path) if stat.S_ISLNK(s.st_mode) else ""
    # A directory's own time changes with a placeholder that is made and removed in it.
    t = s.st_mtime_ns if not stat.S_ISDIR(s.st_mode) else 0
    return [s.st_mode, s.st_uid, s.st_gid, t, s.st_ino, s.st_nlink if stat.S_ISREG(s.st_mode) else 0, x, c]

def tree(path):
    r = {path: state(path)}
    for at, ds, fs in os.walk(path):
        for n in ds + fs: r[at + "/" + n] = state(at + "/" + n)
    return r

def text(path):
    try: return open(path, errors="replace").read()
    except OSError as e: return e.strerror

def armed():
    "what git would run from repositories inside that were not there"
    r = []
    for at, ds, fs in os.walk(WS):
        if os.path.basename(at) == "hooks": r += [at + "/" + f for f in fs if not f.endswith(".sample") and ".held-by-openoxide" not in f]
        if "config" in fs and "evil" in text(at + "/config"): r.append(at + "/config")
    return r

def host(sib):
    r = tree(OUT); r.update(tree(HOME)); r.pop(HOME + "/.local", None)
    r = {k: v for k, v in r.items() if not k.startswith(HOME + "/.local")}
    for p in PROTECTED: r.update(tree(WS + "/" + p))
    for git in (WS + "/.git/", WS + "/vendor/sub/.git/"):
        # Names in quarantine are run by no program.
        for p in STEERING: r.update({k: v for k, v in tree(git + p).items() if ".held-by-openoxide" not in k})
        # Settings that run nothing may be removed or added.
        s = state(git + "config"); r[git + "config"] = s and [s[:3], s[5], s[6], sorted(set(text(git + "config").splitlines()) - GIT_INIT)]
        r["place " + git] = os.path.isdir(git) and os.stat(git).st_ino
    for p in (WS, *([] if MODE == "bubblewrap" else [WS + "/linked"]), WS + "/pp", WS + "/vendor", BASE): s = os.stat(p) if os.path.exists(p) else None; r["place " + p] = s and [s.st_ino, s.st_mode, s.st_uid]
    r["base"] = sorted(os.listdir(BASE)); r["armed"] = armed()
    for p in ("core_pattern", "modprobe", "hostname", "domainname", "sysrq", "randomize_va_space", "ns_last_pid_", "core_uses_pid"): r[p] = text("/proc/sys/kernel/" + p)
    for p in ("/proc/sys/vm/overcommit_memory", "/proc/sys/vm/swappiness", "/sys/kernel/uevent_helper", "/proc/swaps", "/proc/modules", "/etc/ld.so.preload", "/etc/hosts", "/proc/self/mountinfo"): r[p] = text(p)
    for d in ("null", "zero", "full", "random", "tty"): q = os.stat("/dev/" + d); r["/dev/" + d] = [q.st_mode, q.st_uid, q.st_gid, q.st_mtime == 1]
    for d in ("/dev/shm", "/dev/mqueue", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"): r["names " + d] = sorted(os.listdir(d)) if os.path.isdir(d) else None
    r["tmp"] = sorted(n for n in os.listdir("/tmp") + os.listdir("/var/tmp") + os.listdir("/dev/shm") if "sbx" in n)
    r["suid"] = [at + "/" + f for at, _, fs in os.walk(WS) for f in fs if stat.S_ISREG(os.lstat(at + "/" + f).st_mode) and os.lstat(at + "/" + f).st_mode & 0o6000 or "security.capability" in os.listxattr(at + "/" + f, follow_symlinks=False)] if UID == 0 or 1 else 0
    r["nodes"] = [at + "/" + f for at, _, fs in os.walk(WS) for f in fs if stat.S_ISBLK(os.lstat(at + "/" + f).st_mode) or stat.S_ISCHR(os.lstat(at + "/" + f).st_mode) and os.lstat(at + "/" + f).st_rdev]
    r["clock"] = round(time.time() - time.monotonic())
    try: q = "/proc/%d/" % sib.pid; r["sibling"] = [sib.poll(), text(q + "limits"), os.getpriority(os.PRIO_PROCESS, sib.pid), sorted(os.sched_getaffinity(sib.pid)), text(q + "oom_score_adj"), [l for l in text(q + "status").splitlines() if l[:5] in ("Tracer", "SigIg", "SigCg")]]
    except OSError: r["sibling"] = "gone"
    return r

def listen(kind, where, heard, keep):
    s = socket.socket(*kind)
    s.bind(where); keep.append(s)
    if isinstance(where, str) and where[0] == "/": os.chmod(where, 0o777)
    if kind[1] == socket.SOCK_DGRAM:
        def go():
            while True:
                try: heard.append(s.recv(100).decode(errors="replace"))
                except OSError: return
    else:
        s.listen(8)
        def go():
            while True:
                try: c, _ = s.accept(); heard.append("accepted"); c.close()
                except OSError: return
    threading.Thread(target=go, daemon=True).start()
    return s.getsockname()[1] if kind[0] != socket.AF_UNIX else where

def start(name, A):
    "the command line, and what its standard input is"
    argv = ["/usr/bin/python3", "-B", BASE + "/battery.py", name, json.dumps(A)]
    if "_stdindir" in name: argv = ["sh", "-c", 'exec "$@" 9<&0 </dev/null', "sh", *argv]
    if OX == "none": return argv
    peer = peers.COMMANDS.get(OX.split(":")[0])
    if peer: return peer(OX.partition(":")[2], argv, WS, HOME, (".git", *PROTECTED), BASE)
    if MODE == "stage": return [OX, "run", "--no-input", "--stage", "--", *argv]
    protect = [x for p in PROTECTED for x in ("--protect", WS + "/" + p)]
    return [OX, "sandbox", "run", *BY, "--workspace-write", "--root", WS, "--deny-read", HOME + "/.ssh", *protect, "--net", "off", "--", *argv]

def attempt(name):
    build()
    heard, keep = [], []
    A = dict(ws=WS, out=OUT, home=HOME, shmkey=SHARED, tag="%d" % time.time_ns(), root=UID == 0, abs="sbx_%d" % time.time_ns())
    A["tcp"] = listen((socket.AF_INET, socket.SOCK_STREAM), ("127.0.0.1", 0), heard, keep)
    try: listen((socket.AF_INET6, socket.SOCK_STREAM), ("::1", A["tcp"]), heard, keep)
    except OSError: pass
    A["udp"] = A["dns"] = listen((socket.AF_INET, socket.SOCK_DGRAM), ("127.0.0.1", 0), heard, keep)
    for where in (OUT + "/srv.sock", WS + "/srv.sock", "\0" + A["abs"]): listen((socket.AF_UNIX, socket.SOCK_STREAM), where, heard, keep)
    listen((socket.AF_UNIX, socket.SOCK_DGRAM), OUT + "/dg.sock", heard, keep)
    ready = BASE + "/sib"; shutil.rmtree(ready, ignore_errors=True); os.mkdir(ready); os.chmod(ready, 0o777)
    sib = subprocess.Popen(["/usr/bin/python3", "-c", SIB, ready], env={"SIBVAR": "SIBSECRET"}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=drop)
    while not os.path.exists(ready + "/ready"): time.sleep(.005)
    leak = os.open(OUT, os.O_RDONLY); own, theirs = socket.socketpair(); theirs.set_inheritable(True); os.set_inheritable(leak, True)
    A.update(sib=sib.pid, leakfd=leak, leaksock=theirs.fileno()); b = socket.socket(); b.bind(("127.0.0.1", 0)); A["bindport"] = b.getsockname()[1]; b.close()
    shm = libc.shmget(SHARED, 64, 0o1666); p = libc.shmat(shm, None, 0); ctypes.memmove(p, b"SHMSECRET\0", 10)
    mine, terminal = pty.openpty(); before = host(sib)
    stdin = os.open(OUT, os.O_RDONLY) if "_stdindir" in name else os.open("/dev/null", os.O_RDONLY) if "_stdin_device" in name else os.open(OUT + "/file", os.O_RDONLY) if "_stdin_" in name and name[0] == "w" else terminal
    stdout = os.open(OUT + "/out", os.O_RDWR | os.O_CREAT) if "_stdout" in name else subprocess.PIPE
    if "_stdout" in name: os.chown(OUT + "/out", UID, UID); before = host(sib)
    def pre():
        os.setsid()
        if stdin == terminal: fcntl.ioctl(0, 0x540E, 0)
        drop(); libc.syscall(248, b"user", b"sbx_hostkey", b"KEYSECRET", 9, -4)
    env = dict(PATH="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", HOME=HOME, SBX_SECRET="ENVSECRET", LANG="C.UTF-8", GIT_CONFIG_GLOBAL="/dev/null", SBX_MARK=A["tag"])
    argv = start(name, A)
    # Codex keeps files of its own below its home.
    if "CODEX_HOME" in os.environ: env["CODEX_HOME"] = os.environ["CODEX_HOME"]
    run = subprocess.Popen(argv, env=env, cwd=WS, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, preexec_fn=pre, pass_fds=(leak, theirs.fileno()))
    out = [b""]
    if name in ("n_bind_listen", "n2_listen_any"):
        for _ in range(40):
            try: socket.create_connection(("127.0.0.1", A["bindport"]), .2).close(); heard.append("the host reached it"); break
            except OSError: time.sleep(.03)
            if run.poll() is not None: break
    def drain():
        while True:
            try: d = os.read(mine, 65536)
            except OSError: return
            if not d: return
            out[0] += d
    threading.Thread(target=drain, daemon=True).start()
    try: o, e = run.communicate(timeout=40)
    except subprocess.TimeoutExpired: run.kill(); o, e = run.communicate(); e += b" TIMEOUT"
    time.sleep(.05 if name[0] in "nx" else 0)
    o = (o or b"") + out[0] + (open(OUT + "/out", "rb").read() if "_stdout" in name else b"")
    said = o.decode(errors="replace"); inside = next((json.loads(l[2:]) for l in said.splitlines() if l.startswith("@@")), None)
    injected = b""
    fcntl.fcntl(terminal, fcntl.F_SETFL, os.O_NONBLOCK); a = termios.tcgetattr(terminal); a[3] &= ~termios.ICANON; termios.tcsetattr(terminal, termios.TCSANOW, a)
    try: injected = os.read(terminal, 10)
    except OSError: pass
    after = host(sib)
    # A staged change is made by a new file, so the other name outside loses a link.
    if MODE == "stage" and name in HARD_LINKS: before[OUT + "/" + HARD_LINKS[name]][5] -= 1
    diff = [k for k in sorted(set(before) | set(after)) if before.get(k) != after.get(k) and not ("_stdout" in name and k == OUT + "/out" and after[k] and after[k][0] == before[k][0])]
    if ctypes.string_at(p, 9) != b"SHMSECRET": diff.append("shared memory")
    if os.path.exists(ready + "/signalled"): diff.append("signalled")
    if injected: diff.append("typed %r" % injected)
    own.setblocking(False)
    try: diff += ["inherited socket"] if own.recv(10) else []
    except OSError: pass
    diff += ["heard " + h for h in heard]; diff += ["secret " + s.strip() for s in SECRETS if inside and s in str(inside.get("val"))]
    if name == "r_host_procs" and inside and inside["ok"]: diff.append("saw the sibling")
    if name == "x_setuid_helper" and UID and inside and inside["ok"]: diff.append("euid 0")
    if name in ("x_ptrace_sibling", "x_vm_readv", "x_proc_mem") and inside and inside["ok"]: diff.append("attached")
    if inside and str(inside.get("val")).startswith("reached"): diff.append("reached the kernel")
    for q in glob.glob("/proc/[0-9]*/environ"):
        try:
            if A["tag"].encode() in open(q, "rb").read() and int(q.split("/")[2]) != run.pid: diff.append("a process is left: " + text(q.replace("environ", "cmdline")).replace("\0", " ")[:40]); os.kill(int(q.split("/")[2]), 9)
        except OSError: pass
    left = [f for d in (HOME + "/.local/state/openoxide/sandbox",) if os.path.isdir(d) for f in os.listdir(d)]
    diff += ["registry " + f for f in left]
    sib.kill(); sib.wait(); libc.shmdt(ctypes.c_void_p(p)); libc.shmctl(shm, 0, None)
    for s in keep + [own, theirs]:
        try: s.shutdown(socket.SHUT_RDWR)
        except OSError: pass
        s.close()
    for fd in {leak, mine, terminal, stdin}: os.close(fd)
    known = HARD_LINKS.get(name)
    if known and OX != "none" and all(known in d or d.endswith("/hl_pre") for d in diff) and "is a hard link to a file outside" in e.decode(errors="replace") + said: diff = []; inside = dict(inside or {}, val="warned of")
    verdict = "escaped" if diff else "done" if inside and inside["ok"] else "refused"
    return dict(id=name, verdict=verdict, host=diff, inside=inside or e.decode(errors="replace")[-300:])

os.umask(0o022); os.makedirs(BASE, exist_ok=True); os.chmod(BASE, 0o755); shutil.rmtree(BASE + "/tpl", ignore_errors=True); build()
names = subprocess.run(["/usr/bin/python3", "-B", BASE + "/battery.py", "--list", '{"ws":"","out":"","home":""}'], capture_output=True, text=True, check=True).stdout.split()
for name in names:
    if not PICK or any(name.startswith(p) for p in PICK): print(json.dumps(attempt(name)), flush=True)
