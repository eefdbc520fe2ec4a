"""Random operations on paths and sockets, inside a sandbox: weaker.py SEED COUNT JSON, with JSON {"roots", "names", "outside"}.
One line of JSON for each operation that the kernel let through and that changes something: [number, operation, [place, ...]], where a place is
[path of the directory without links, name]: where the name that was changed really lies. Who reads it asks the oracle about each of them.
It is said before the operation where each place is, as the kernel would find it, by descriptors and not by the letters."""
import ctypes, json, os, random, socket, stat, sys

SEED, COUNT, A = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
R = random.Random(SEED)
libc = ctypes.CDLL(None, use_errno=True)
def sc(nr, *a):
    r = libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    if r < 0: e = ctypes.get_errno(); raise OSError(e, os.strerror(e))
    return r
NAMES = ["a", "b", "c", "d", "sub", ".git", "hooks", "config", ".codex", ".agents", ".mcp.json", "link", "out", "up", "pp", "keep", "x.txt"]

def path():
    "a path that may lead anywhere: through roots, links, .., missing names and descriptors"
    base = R.choice(A["roots"] * 6 + A["names"] * 4 + A["outside"] * 2 + ["", "/proc/self/cwd", "/proc/self/root" + R.choice(A["roots"] + A["outside"]), "/proc/self/fd/%d" % R.choice(FDS)])
    parts = [R.choice(NAMES + ["..", ".", R.choice(["a", "b", "link"])]) for _ in range(R.choice((0, 1, 1, 1, 2, 2, 3)))]
    return "/".join([base] + parts) if base else "/".join(parts) or "a"

def real(p, follow=True):
    "the directory that the last name lies in, and that name; a link at the end is followed if the operation would"
    for _ in range(40):
        p = p.rstrip("/") or "/"; d, n = os.path.split(p)
        if n in ("", ".", ".."): return os.path.realpath(p), ""
        d = os.path.realpath(d or ".")
        if not (follow and os.path.islink(os.path.join(d, n))): return d, n
        p = os.path.join(d, os.readlink(os.path.join(d, n)))
    return d, n
def at(p, follow=True):
    d, n = real(p, follow); return [d, n]
def below(p):
    return at(p, False)

def op_write(p): fl = R.choice((os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND)); w = at(p); fd = os.open(p, fl | os.O_NONBLOCK); os.write(fd, b"x"); os.close(fd); return [w]
def op_create(p): w = at(p); os.close(os.open(p, os.O_WRONLY | os.O_CREAT | R.choice((0, os.O_EXCL)) | os.O_NONBLOCK, 0o644)); return [w]
def op_tmpfile(p): fd = os.open(p, os.O_TMPFILE | os.O_WRONLY); q = path(); w = below(q); sc(265, -100, ctypes.c_char_p(b"/proc/self/fd/%d" % fd), -100, ctypes.c_char_p(os.fsencode(q)), 0x400); os.close(fd); return [w]
def op_mkdir(p): w = below(p); os.mkdir(p); return [w]
def op_unlink(p): w = below(p); os.unlink(p); return [w]
def is_gone(w):
    try: os.lstat(os.path.join(*w))
    except (FileNotFoundError, NotADirectoryError): return True
    except OSError: pass
    return False
# An empty placeholder stays, although the call succeeds.
def op_rmdir(p): w = below(p); os.rmdir(p); return [w] if is_gone(w) else []
def op_rename(p): q = path(); w = [below(p), below(q)]; os.rename(p, q); return w
def op_exchange(p): q = path(); w = [below(p), below(q)]; sc(316, -100, ctypes.c_char_p(os.fsencode(p)), -100, ctypes.c_char_p(os.fsencode(q)), 2); return w
def op_link(p): q = path(); w = [below(q), below(p)]; os.link(p, q, follow_symlinks=False); return w
def op_symlink(p): w = below(p); os.symlink(path(), p); return [w]
def op_truncate(p): w = at(p); os.truncate(p, R.choice((0, 3))); return [w]
def op_chmod(p): w = at(p); os.chmod(p, R.choice((0o644, 0o755, 0o700))); return [w]
def op_utime(p): f = R.random() < .7; w = at(p, f); os.utime(p, (1, 1), follow_symlinks=f); return [w]
def op_chown(p): f = R.random() < .7; w = at(p, f); os.chown(p, os.getuid(), os.getgid(), follow_symlinks=f); return [w]
def op_setxattr(p): w = at(p); os.setxattr(p, "user.x", b"1"); return [w]
def op_mkfifo(p): w = below(p); os.mkfifo(p); return [w]
def op_mksock(p): w = below(p); s = socket.socket(socket.AF_UNIX); s.bind(p); s.close(); return [w]
def op_readfd(p):
    w = at(p); fd = os.open(p, os.O_RDONLY | os.O_NONBLOCK)
    try: os.fchmod(fd, 0o755)
    finally: os.close(fd)
    return [w]
def op_pathfd(p):
    fd = os.open(p, os.O_PATH)
    try: n = R.choice(NAMES); d = os.path.realpath(p); os.close(os.open(n, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644, dir_fd=fd)); return [[d, n]]
    finally: os.close(fd)
def op_chdir(p): os.chdir(p); return []
def op_connect(p):
    s = socket.socket(R.choice((socket.AF_INET, socket.AF_INET6)), R.choice((socket.SOCK_STREAM, socket.SOCK_DGRAM))); s.settimeout(.05)
    h = R.choice(("127.0.0.1", "10.0.0.1", "169.254.169.254", "1.1.1.1", "0.0.0.0")) if s.family == socket.AF_INET else R.choice(("::1", "::ffff:127.0.0.1", "fe80::1", "2001:db8::1"))
    try: s.connect((h, R.choice(A["ports"]))); s.send(b"never")
    finally: s.close()
    return []
OPS = [f for n, f in sorted(globals().items()) if n.startswith("op_")] + [op_write, op_create, op_rename, op_rename, op_mkdir, op_unlink]
os.chdir(A["roots"][0]); FDS = [os.open(p, os.O_PATH) for p in A["roots"] + A["outside"]]
out = sys.stdout; done = 0
for number in range(COUNT):
    if number % 50 == 0:
        try: os.chdir(R.choice(A["roots"]))
        except OSError: pass
    f = R.choice(OPS); p = path()
    if f is op_connect and R.random() < .9: continue
    try: places = f(p)
    except (OSError, ValueError): continue
    if len(places) == 2 and places[0] == places[1]: continue  # renamed to itself: nothing has changed
    done += 1
    if places: out.write(json.dumps([number, f.__name__, p, places], ensure_ascii=True) + "\n")
out.write(json.dumps(["end", COUNT, done]) + "\n"); out.flush()
