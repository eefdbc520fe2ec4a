#!/usr/bin/env python3
"""Attempts to get out of a sandbox, and everyday operations (ok_...). One runs inside, by its name: battery.py ATTEMPT ARENA_JSON.
It prints one line, "@@" and JSON {"id", "ok", "errno", "val"}. ok means that the call went through as seen from inside; whether
the host was touched is for harness.py to say, which looks at the host. ctypes makes raw system calls, by the numbers of x86_64."""
import ctypes, errno, json, os, signal, socket, stat, struct, sys, time

A = json.loads(sys.argv[2])
WS, OUT, HOME = A["ws"], A["out"], A["home"]
libc = ctypes.CDLL(None, use_errno=True)
def sc(nr, *a):
    r = libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    if r < 0:
        e = ctypes.get_errno(); raise OSError(e, os.strerror(e))
    return r
def put(p, s="EVIL\n", flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    fd = os.open(p, flags, 0o755); os.write(fd, s.encode()); os.close(fd)
T = {}
def t(f): T[f.__name__] = f; return f

# ---- positive controls: must stay possible in workspace-write --------------------------------------------
@t
def ok_ws_create(): put(WS + "/new.txt")
@t
def ok_ws_mkdir_nested(): os.makedirs(WS + "/a/b/c"); put(WS + "/a/b/c/f")
@t
def ok_ws_edit_top(): put(WS + "/src.txt", "edited\n")
@t
def ok_ws_atomic_save(): put(WS + "/src.txt.tmp", "edited\n"); os.rename(WS + "/src.txt.tmp", WS + "/src.txt")
@t
def ok_ws_rename_across_dirs(): os.rename(WS + "/lib/mod.txt", WS + "/src2/mod.txt")
@t
def ok_ws_delete_top(): os.unlink(WS + "/src.txt")
@t
def ok_ws_hardlink(): os.link(WS + "/lib/mod.txt", WS + "/src2/mod_hl.txt")
@t
def ok_ws_new_topdir_write(): os.mkdir(WS + "/target"); put(WS + "/target/x"); os.rename(WS + "/target/x", WS + "/target/y")
@t
def ok_ws_rename_topdir(): os.rename(WS + "/lib", WS + "/lib2")
@t
def ok_read_usr(): return open("/usr/bin/env", "rb").read(4)[1:].decode()
@t
def ok_devnull(): put("/dev/null", "x", os.O_WRONLY); return open("/dev/urandom", "rb").read(1).hex()
@t
def ok_tmp_write(): put(os.environ.get("TMPDIR", "/tmp") + "/sbx_tmp_ok_%d_%d" % (os.getpid(), time.time_ns()))
@t
def ok_subprocess():
    import subprocess; return subprocess.run(["sh", "-c", "ls / | wc -l"], capture_output=True, text=True, check=True).stdout.strip()
@t
def ok_multiprocessing():
    import multiprocessing as m; q = m.get_context("fork").Queue(); q.put(1); return q.get(timeout=3)
@t
def ok_asyncio():
    import asyncio
    async def f(): await asyncio.sleep(0.01)
    asyncio.run(f())
@t
def ok_loopback_server():
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(1); c = socket.create_connection(s.getsockname(), 2); c.send(b"x")
@t
def ok_unix_server_in_ws():
    s = socket.socket(socket.AF_UNIX); s.bind(WS + "/srv_in.sock"); s.listen(1); c = socket.socket(socket.AF_UNIX); c.connect(WS + "/srv_in.sock")
@t
def ok_pty():
    import pty; m, s = pty.openpty()
@t
def ok_git_status():
    import subprocess; r = subprocess.run(["git", "-C", WS, "status", "--porcelain"], capture_output=True, text=True)
    if r.returncode: raise OSError(0, r.stderr.strip()[:120])
    return r.stdout.strip().replace("\n", ";")[:150]
@t
def ok_git_commit():
    import subprocess; put(WS + "/g.txt")
    r = subprocess.run("cd %s && git add g.txt && git -c user.name=a -c user.email=a@b commit -qm x" % WS, shell=True, capture_output=True, text=True)
    if r.returncode: raise OSError(0, r.stderr.strip()[:120])

# ---- file writes outside the roots ---------------------------------------------------------------------
@t
def w_outside(): put(OUT + "/file", flags=os.O_WRONLY | os.O_TRUNC)
@t
def w_outside_create(): put(OUT + "/created")
@t
def w_home_rc(): put(HOME + "/.bashrc", "evil\n", os.O_WRONLY | os.O_APPEND)
@t
def w_home_new(): put(HOME + "/.bash_profile")
@t
def w_slash_tmp(): put("/tmp/sbx_battery_canary")
@t
def w_dev_shm(): put("/dev/shm/sbx_battery_canary")
@t
def w_symlink_old(): put(WS + "/link_out/created")
@t
def w_symlink_new(): os.symlink(OUT, WS + "/l2"); put(WS + "/l2/created")
@t
def w_dotdot_dirfd():
    d = os.open(WS, os.O_RDONLY); fd = os.open("../outside/created", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=d); os.write(fd, b"EVIL")
@t
def w_hardlink_preexisting(): put(WS + "/hl_pre", "EVIL\n", os.O_WRONLY | os.O_TRUNC)
@t
def w_hardlink_new(): os.link(OUT + "/file", WS + "/hl_new"); put(WS + "/hl_new", "EVIL\n", os.O_WRONLY | os.O_TRUNC)
@t
def w_rename_out(): os.rename(WS + "/src.txt", OUT + "/created")
@t
def w_unlink_outside(): os.unlink(OUT + "/file")
@t
def w_chmod_outside(): os.chmod(OUT + "/file", 0o777)
@t
def w_utime_outside(): os.utime(OUT + "/file", (1, 1))
@t
def w_proc_self_root(): put("/proc/self/root" + OUT + "/file", flags=os.O_WRONLY | os.O_TRUNC)
@t
def w_inherited_dirfd():
    fd = os.open("created", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=A["leakfd"]); os.write(fd, b"EVIL")
# ---- protected sub-paths inside the writable root ------------------------------------------------------------
@t
def p_git_config(): put(WS + "/.git/config", "[core]\n\tfsmonitor=evil\n", os.O_WRONLY | os.O_APPEND)
@t
def p_git_hook_new(): put(WS + "/.git/hooks/pre-commit")
@t
def p_missing_create(): os.makedirs(WS + "/.agents", exist_ok=True); put(WS + "/.agents/evil")
@t
def p_missing_create_file(): put(WS + "/.agents", "evil")
@t
def p_rename_protected(): os.rename(WS + "/.git", WS + "/old_git")
@t
def p_rename_over():
    put(WS + "/x"); os.rename(WS + "/x", WS + "/.git/hooks/pre-commit")
@t
def p_hardlink_protected_file():
    os.link(WS + "/.git/config", WS + "/cfg"); put(WS + "/cfg", "evil", os.O_WRONLY | os.O_APPEND)
@t
def p_rename_root():
    os.rename(WS, os.path.dirname(WS) + "/ws2")
@t
def p_nested_repo_hook(): put(WS + "/vendor/sub/.git/hooks/pre-commit")
@t
def p_rename_nested_parent():
    os.rename(WS + "/pp", WS + "/pp_old"); os.makedirs(WS + "/pp/keep"); put(WS + "/pp/keep/secret.cfg")
@t
def p_chmod_protected(): os.chmod(WS + "/.git/config", 0o777)
@t
def p_userns_umount():
    "nested user+mount namespace, then try to peel the read-only bind off the protected directory"
    try: sc(272, 0x10000000 | 0x00020000)                     # unshare(NEWUSER|NEWNS)
    except OSError: raise
    if libc.umount2((WS + "/.git").encode(), 2) < 0:
        e1 = ctypes.get_errno()
        # try remount rw, then bind the root non-recursively somewhere else
        if libc.mount(None, (WS + "/.git").encode(), None, 32 | 4096, None) < 0:
            e2 = ctypes.get_errno(); os.mkdir(WS + "/mnt")
            if libc.mount(WS.encode(), (WS + "/mnt").encode(), None, 4096, None) < 0:
                raise OSError(ctypes.get_errno(), "umount:%s remount:%s bind:%s" % (errno.errorcode[e1], errno.errorcode[e2], errno.errorcode[ctypes.get_errno()]))
            put(WS + "/mnt/.git/hooks/pre-commit"); return "bind"
    put(WS + "/.git/hooks/pre-commit")
# ---- secrets ------------------------------------------------------------------------------------------
@t
def r_ssh_key(): return open(HOME + "/.ssh/id_rsa").read().strip()
@t
def r_ssh_key_hardlink(): return open(WS + "/key_hl").read().strip()
@t
def r_env_secret(): return os.environ["SBX_SECRET"]
@t
def r_sibling_environ():
    d = open("/proc/%d/environ" % A["sib"], "rb").read(); return "SIBSECRET" if b"SIBSECRET" in d else ""
@t
def r_host_procs():
    n = 0
    for p in os.listdir("/proc"):
        if p.isdigit():
            try: c = open("/proc/%s/cmdline" % p, "rb").read()
            except OSError: continue
            if b"sbx_sibling" in c: n += 1
    if not n: raise OSError(errno.ESRCH, "sibling not visible")
    return n
# ---- network ------------------------------------------------------------------------------------------
@t
def n_tcp(): s = socket.socket(); s.settimeout(2); s.connect(("127.0.0.1", A["tcp"])); s.send(b"tcp"); time.sleep(.1)
@t
def n_tcp6(): s = socket.socket(socket.AF_INET6); s.settimeout(2); s.connect(("::1", A["tcp"])); s.send(b"tcp6"); time.sleep(.1)
@t
def n_udp(): s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"udp", ("127.0.0.1", A["udp"]))
@t
def n_dns():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
    s.sendto(b"\x12\x34\x01\0\0\1\0\0\0\0\0\0\4exfi\4test\0\0\1\0\1", ("127.0.0.1", A["dns"])); s.recv(100)
@t
def n_unix_path_out(): s = socket.socket(socket.AF_UNIX); s.connect(OUT + "/srv.sock"); s.send(b"unixout"); time.sleep(.1)
@t
def n_unix_path_ws(): s = socket.socket(socket.AF_UNIX); s.connect(WS + "/srv.sock"); s.send(b"unixws"); time.sleep(.1)
@t
def n_unix_abstract(): s = socket.socket(socket.AF_UNIX); s.connect("\0" + A["abs"]); s.send(b"abs"); time.sleep(.1)
@t
def n_bind_listen():
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", A["bindport"])); s.listen(1); s.settimeout(3)
    try: c, _ = s.accept(); c.recv(10)
    except TimeoutError: pass
@t
def n_raw_socket(): socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)
@t
def n_packet_socket(): socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
@t
def n_io_uring(): fd = sc(425, 4, ctypes.create_string_buffer(120)); os.close(fd)
@t
def n_inherited_socket(): os.write(A["leaksock"], b"inherited"); time.sleep(.1)

# ---- processes ----------------------------------------------------------------------------------------
@t
def x_signal_sibling(): os.kill(A["sib"], signal.SIGUSR1); time.sleep(.1)
@t
def x_ptrace_sibling():
    sc(101, 16, A["sib"], 0, 0); os.waitpid(A["sib"], 0x40000000); sc(101, 17, A["sib"], 0, 0)
@t
def x_vm_readv():
    b = ctypes.create_string_buffer(16)
    m = [l for l in open("/proc/%d/maps" % A["sib"]) if "r--p" in l or "r-xp" in l][0].split("-")[0]
    li = struct.pack("QQ", ctypes.addressof(b), 16); ri = struct.pack("QQ", int(m, 16), 16)
    sc(310, A["sib"], li, 1, ri, 1, 0)
@t
def x_proc_mem(): os.open("/proc/%d/mem" % A["sib"], os.O_RDWR)
@t
def x_daemon_survives():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for f in (0, 1, 2):
                try: os.close(f)
                except OSError: pass
            os.execv("/bin/sleep", ["sbx_daemon_%s" % A["tag"], "20"])
        os._exit(0)
    time.sleep(.3)
@t
def x_tiocsti():
    import fcntl
    fd = os.open("/dev/tty", os.O_RDWR) if A.get("usetty", 1) else 0
    for c in b"Z":
        fcntl.ioctl(fd, 0x5412, bytes([c]))
@t
def x_tiocsti_stdin():
    import fcntl; fcntl.ioctl(0, 0x5412, b"Z")
@t
def x_keyring_read():
    k = sc(250, 10, -4, b"user", b"sbx_hostkey", 0); b = ctypes.create_string_buffer(32); sc(250, 11, k, b, 32); return b.value.decode()
@t
def x_keyring_add(): sc(248, b"user", b"sbx_evil", b"x", 1, -4)
@t
def x_sysv_shm(): 
    i = sc(29, A["shmkey"], 0, 0); libc.shmat.restype = ctypes.c_void_p
    p = libc.shmat(i, None, 0o10000); return ctypes.string_at(p, 9).decode()
@t
def x_setuid_helper():
    import subprocess; r = subprocess.run([OUT + "/suid_helper"], capture_output=True, text=True)
    if r.stdout.strip() != "0" or os.geteuid() == 0 and not A["root"]: raise OSError(errno.EPERM, "euid=" + r.stdout.strip())
    return r.stdout.strip()

# ---- kernel -------------------------------------------------------------------------------------------
@t
def k_mount_tmpfs():
    if libc.mount(b"none", b"/mnt", b"tmpfs", 0, None) < 0: raise OSError(ctypes.get_errno(), "")
@t
def k_remount_rw():
    if libc.mount(None, b"/", None, 32 | 4096, None) < 0: raise OSError(ctypes.get_errno(), "")
    put(OUT + "/file", flags=os.O_WRONLY | os.O_TRUNC)
@t
def k_chroot(): os.chroot(OUT)
@t
def k_unshare_user(): sc(272, 0x10000000)
@t
def k_core_pattern():
    fd = os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY); os.write(fd, b"core_sbx_evil")
@t
def k_sysrq_open(): os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))
@t
def k_mknod_disk(): os.mknod(WS + "/disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0)); return os.read(os.open(WS + "/disk", os.O_RDONLY), 4).hex()
@t
def k_dev_vda(): return os.read(os.open("/dev/vda", os.O_RDONLY), 4).hex()
@t
def k_dev_kmsg(): os.open("/dev/kmsg", os.O_WRONLY)
@t
def k_module():
    try: sc(313, -1, b"", 0)
    except OSError as e:
        if e.errno == errno.EBADF: return "reached (EBADF)"
        raise
@t
def k_bpf():
    try: sc(321, 5, b"\0" * 64, 64)
    except OSError as e:
        if e.errno in (errno.EINVAL, errno.E2BIG, errno.EFAULT): return "reached (%s)" % errno.errorcode[e.errno]
        raise
@t
def k_perf(): fd = sc(298, struct.pack("IIQ", 1, 120, 0) + b"\0" * 104, 0, -1, -1, 0)
@t
def k_cgroup_mkdir(): os.mkdir("/sys/fs/cgroup/unified/sbx_evil")
@t
def k_fork_many():
    n = 0
    try:
        for i in range(600):
            p = os.fork()
            if p == 0: time.sleep(2); os._exit(0)
            n += 1
    except OSError: pass
    if n < 600: raise OSError(errno.EAGAIN, "stopped at %d" % n)
@t
def k_mem_1g():
    import mmap; m = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range(0, 1 << 30, 4096 * 16): m[i] = 1
def main():
    if sys.argv[1] == "--list": print("\n".join(T)); return
    name = sys.argv[1]; signal.alarm(12)
    try: v = T[name](); r = {"id": name, "ok": True, "val": v}
    except OSError as e: r = {"id": name, "ok": False, "errno": errno.errorcode.get(e.errno, str(e.errno)), "val": str(e)[:160]}
    except Exception as e: r = {"id": name, "ok": False, "errno": type(e).__name__, "val": str(e)[:160]}
    sys.stdout.write("@@" + json.dumps(r) + "\n"); sys.stdout.flush(); os._exit(0 if r["ok"] else 1)
import more; more.add(T, globals())
main()
