"""More attempts than battery.py has: what was tried against ours. Verdicts are the host's."""
import ctypes, errno, fcntl, mmap, os, signal, socket, stat, struct, sys, time

def add(T, G):
    WS, OUT, HOME, A, sc, put, libc = (G[n] for n in "WS OUT HOME A sc put libc".split())
    CWD = -100
    def t(f): T[f.__name__] = f
    def z(s): return ctypes.create_string_buffer(s.encode() if isinstance(s, str) else s)
    def gone(*calls):
        "runs all; the first that goes through is the answer, else the last error is raised"
        first = last = None
        for call in calls:
            try: answer = "%r" % (call(),); first = first or answer
            except OSError as e: last = e
        if first is None: raise last
        return first
    def raw(name, nr, *a):
        def f(): return sc(nr, *a)
        f.__name__ = name; T[name] = f
    def reach(name, nr, *a, none=(errno.ENOSYS, errno.EPERM, errno.EACCES)):
        "the call must be refused before the kernel looks at its arguments"
        def f():
            try: return "reached %r" % sc(nr, *a)
            except OSError as e:
                if e.errno in none: raise
                return "reached " + errno.errorcode[e.errno]
        f.__name__ = name; T[name] = f
    RO = os.O_RDONLY

    # ---- files outside -------------------------------------------------------------------------------
    @t
    def w2_proc1_root(): put("/proc/1/root" + OUT + "/created")
    @t
    def w2_proc1_cwd(): put("/proc/1/cwd" + OUT + "/created")
    @t
    def w2_every_fd():
        "whatever descriptor of whatever process can be seen"
        n = 0
        for p in [p for p in os.listdir("/proc") if p.isdigit()] + ["self"]:
            try: fds = os.listdir("/proc/%s/fd" % p)
            except OSError: continue
            for fd in fds:
                for name in ("/created", "/../created", "/../outside/created", OUT + "/created"):
                    try: put("/proc/%s/fd/%s%s" % (p, fd, name)); n += 1
                    except OSError: pass
        if not n: raise OSError(errno.EACCES, "none")
        return n
    @t
    def w2_all_own_fds():
        "descriptors that should not be there"
        return gone(*[lambda f=f: put("created", "E", os.O_WRONLY | os.O_CREAT) if False else os.close(os.open("created", os.O_WRONLY | os.O_CREAT, dir_fd=f)) for f in range(3, 64)])
    @t
    def w2_stdin_chmod(): os.fchmod(0, 0o4777)
    @t
    def w2_stdin_utime(): os.utime(0, (1, 1))
    @t
    def w2_stdin_xattr(): os.setxattr(0, "user.sbx", b"x")
    @t
    def w2_stdin_reopen(): put("/proc/self/fd/0", flags=os.O_WRONLY | os.O_TRUNC)
    @t
    def w2_stdin_flags(): fcntl.ioctl(0, 0x40086602, struct.pack("i", 0x10))
    @t
    def w2_stdout_suid(): os.fchmod(1, 0o4777)
    @t
    def w2_stdindir_chmod(): os.chmod("file", 0o777, dir_fd=9)
    @t
    def w2_stdindir_utime(): os.utime("file", (1, 1), dir_fd=9)
    @t
    def w2_stdindir_create(): os.close(os.open("created", os.O_WRONLY | os.O_CREAT, dir_fd=9))
    @t
    def w2_stdindir_mkdir(): os.mkdir("created", dir_fd=9)
    @t
    def w2_stdindir_xattr():
        os.fchdir(9); os.setxattr("file", "user.sbx", b"x")
    @t
    def w2_stdindir_up(): os.fchdir(9); os.chdir(".."); os.chmod("outside/file", 0o777)
    @t
    def w2_device_mode(): gone(lambda: os.chmod("/dev/null", 0o600), lambda: os.utime("/dev/zero", (1, 1)), lambda: os.chown("/dev/full", 1, 1), lambda: os.chmod("/dev/tty", 0))
    @t
    def w2_stdin_device_mode(): os.fchmod(0, 0o600)
    @t
    def w2_open_tree():
        fd = sc(428, CWD, z(OUT), 1 | 0x8000); sc(429, fd, z(""), CWD, z(WS + "/lib"), 4); put(WS + "/lib/created")
    @t
    def w2_fsopen(): sc(430, z("tmpfs"), 0)
    @t
    def w2_mount_setattr(): sc(442, CWD, z("/"), 0x8000, struct.pack("QQQQ", 0, 1, 0, 0), 32); put(OUT + "/created")
    @t
    def w2_fspick(): sc(433, CWD, z("/"), 0)
    @t
    def w2_o_path():
        d = os.open(OUT, os.O_PATH); gone(lambda: os.close(os.open("created", os.O_WRONLY | os.O_CREAT, dir_fd=d)), lambda: put("/proc/self/fd/%d/created" % d), lambda: os.chmod("/proc/self/fd/%d/file" % d, 0o777))
    @t
    def w2_openat2():
        d = os.open(OUT, RO); sc(437, d, z("created"), struct.pack("QQQ", os.O_WRONLY | os.O_CREAT, 0o644, 0x10), 24)
    @t
    def w2_handle():
        h = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + b"\0" * 128); m = ctypes.c_int()
        sc(303, CWD, z(OUT + "/file"), h, ctypes.byref(m), 0); d = os.open(WS, RO); fd = sc(304, d, h, os.O_WRONLY); os.write(fd, b"EVIL")
    @t
    def w2_tmpfile_link():
        fd = os.open(WS, os.O_TMPFILE | os.O_WRONLY); sc(265, CWD, z("/proc/self/fd/%d" % fd), CWD, z(OUT + "/created"), 0x400)
    @t
    def w2_link_of_fd():
        fd = os.open(OUT + "/file", RO); gone(lambda: sc(265, fd, z(""), CWD, z(WS + "/hl2"), 0x1000), lambda: sc(265, CWD, z("/proc/self/fd/%d" % fd), CWD, z(WS + "/hl2"), 0x400)); put(WS + "/hl2", flags=os.O_WRONLY | os.O_TRUNC)
    @t
    def w2_mmap(): fd = os.open(OUT + "/file", RO); m = mmap.mmap(fd, 4, mmap.MAP_SHARED, mmap.PROT_WRITE); m[0] = 1
    @t
    def w2_fd_attributes():
        fd = os.open(OUT + "/file", RO)
        gone(lambda: os.fchmod(fd, 0o777), lambda: os.chown(fd, os.getuid(), os.getgid()), lambda: os.setxattr(fd, "user.sbx", b"x"), lambda: os.utime(fd, (1, 1)), lambda: fcntl.ioctl(fd, 0x40086602, struct.pack("i", 0x10)), lambda: os.truncate(fd, 0), lambda: os.posix_fallocate(fd, 0, 10))
    @t
    def w2_paths():
        f, d = OUT + "/file", OUT + "/created"
        gone(lambda: os.truncate(f, 0), lambda: os.mkdir(d), lambda: os.mkfifo(d), lambda: os.symlink("x", d), lambda: os.rename(OUT, OUT + "2"), lambda: os.rename(f, WS + "/stolen"), lambda: sc(316, CWD, z(f), CWD, z(WS + "/src.txt"), 2), lambda: os.setxattr(f, "user.sbx", b"x"), lambda: os.removexattr(f, "user.old"), lambda: os.chown(f, 1, 1), lambda: os.link(WS + "/src.txt", d), lambda: os.rmdir(OUT + "/empty"))
    @t
    def w2_everywhere():
        "a new file in each directory that can be seen"
        mine = [WS, "/proc", "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/dev/openoxide"]; hit = []; n = 0
        # Private directories of tools: changes stay in the upper layer of an overlay.
        private = [l.split() for l in open("/proc/self/mountinfo")]
        mine += [f[4] for f in private if f[f.index("-") + 1] == "overlay" and f[4].startswith(HOME + "/")]
        for at, ds, _ in os.walk("/"):
            ds[:] = [d for d in ds if os.path.join(at, d) not in mine]
            n += 1
            if n > 6000: break
            try: os.close(os.open(at + "/sbx_created", os.O_WRONLY | os.O_CREAT | os.O_EXCL)); hit.append(at); os.unlink(at + "/sbx_created")
            except OSError: pass
            try: s = os.stat(at); os.utime(at, ns=(s.st_atime_ns, s.st_mtime_ns)); hit.append("utime " + at)
            except OSError: pass
        if not hit: raise OSError(errno.EROFS, "nowhere")
        return "escaped " + str(hit[:5])
    @t
    def w2_running_program(): gone(lambda: os.open("/proc/1/exe", os.O_WRONLY), lambda: os.open("/proc/self/exe", os.O_WRONLY), lambda: os.open(sys.executable, os.O_WRONLY), lambda: put("/etc/ld.so.preload"))
    @t
    def w2_self_mem():
        "a private page of a file outside is changed through /proc/self/mem: it must stay private"
        fd = os.open(OUT + "/file", RO); m = mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE); m2 = mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ)
        for l in open("/proc/self/maps"):
            if OUT + "/file" in l:
                g = os.open("/proc/self/mem", os.O_RDWR); os.pwrite(g, b"EVIL", int(l.split("-")[0], 16))
    @t
    def w2_mount_points():
        "the way out through the directory above a mount"
        os.chdir(WS); os.chdir(".."); gone(lambda: put("outside/created"), lambda: os.mkdir("created"))
    @t
    def w2_root_parent_rename(): os.rename(os.path.dirname(WS), os.path.dirname(WS) + "2")
    @t
    def w2_suid_left():
        "as root a set-user-id file in the workspace is one on the host"
        put(WS + "/suid"); os.chmod(WS + "/suid", 0o4755)
    @t
    def w2_suid_created(): os.umask(0); os.close(os.open(WS + "/suid", os.O_WRONLY | os.O_CREAT, 0o4755))
    @t
    def w2_suid_openat2(): os.umask(0); sc(437, CWD, z(WS + "/suid"), struct.pack("QQQ", os.O_WRONLY | os.O_CREAT, 0o4755, 0), 24)
    @t
    def w2_suid_fchmodat2(): put(WS + "/suid"); sc(452, CWD, z(WS + "/suid"), 0o4755, 0)
    @t
    def w2_suid_mknod(): os.umask(0); os.mknod(WS + "/suid", 0o4755 | stat.S_IFREG)
    @t
    def w2_suid_x32(): put(WS + "/suid"); sc(90 | 0x40000000, z(WS + "/suid"), 0o4755)
    @t
    def w2_suid_tmp(): put(WS + "/suid"); fd = os.open(WS + "/suid", RO); os.fchmod(fd, 0o6755)
    @t
    def w2_file_caps(): put(WS + "/caps"); os.setxattr(WS + "/caps", "security.capability", struct.pack("<IIIII", 0x02000001, 0xffffffff, 0, 0, 0))
    @t
    def w2_mknod(): gone(lambda: os.mknod(WS + "/n", 0o666 | stat.S_IFCHR, os.makedev(1, 1)), lambda: os.mknod(WS + "/n", 0o666 | stat.S_IFBLK, os.makedev(7, 0)), lambda: os.mknod("/tmp/n", 0o666 | stat.S_IFCHR, os.makedev(1, 1)))
    @t
    def w2_core_file():
        import resource; resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    @t
    def w2_whiteout(): os.mknod(WS + "/wh", 0o600 | stat.S_IFCHR, 0); return "in"

    # ---- protected paths --------------------------------------------------------------------------------
    G_ = WS + "/.git"; N = WS + "/vendor/sub/.git"
    @t
    def p2_chmod_any(): gone(lambda: os.chmod(G_, 0o777), lambda: os.chmod(G_ + "/hooks", 0o777), lambda: os.utime(G_ + "/config", (1, 1)), lambda: os.setxattr(G_ + "/config", "user.x", b"1"), lambda: os.chown(G_ + "/config", os.getuid(), os.getgid()), lambda: os.truncate(G_ + "/config", 0))
    @t
    def p2_chmod_by_fd():
        fd = os.open(G_ + "/config", RO); p = os.open(G_ + "/config", os.O_PATH)
        gone(lambda: os.fchmod(fd, 0o777), lambda: os.chmod("/proc/self/fd/%d" % p, 0o777), lambda: put("/proc/self/fd/%d" % p, flags=os.O_WRONLY), lambda: os.utime(fd, (1, 1)), lambda: fcntl.ioctl(fd, 0x40086602, struct.pack("i", 0x20)))
    @t
    def p2_git_config():
        import subprocess
        if subprocess.run(["git", "-C", WS, "config", "core.pager", "evil"], capture_output=True).returncode: raise OSError(errno.EROFS, "git")
    @t
    def p2_config_lock(): gone(lambda: put(G_ + "/config.lock"), lambda: os.rename(WS + "/src.txt", G_ + "/config"))
    @t
    def p2_remove(): gone(lambda: os.unlink(G_ + "/config"), lambda: os.unlink(G_ + "/HEAD"), lambda: os.rmdir(G_ + "/hooks"), lambda: os.rmdir(WS + "/.agents"))
    @t
    def p2_exchange(): os.mkdir(WS + "/e"); gone(*[lambda p=p: sc(316, CWD, z(WS + "/e"), CWD, z(WS + p), 2) for p in ("/.git", "/.codex", "/.agents", "/pp", "/pp/keep", "/vendor", "/vendor/sub", "/vendor/sub/.git")])
    @t
    def p2_rename_over(): os.mkdir(WS + "/e"); gone(*[lambda p=p: os.rename(WS + "/e", WS + p) for p in ("/.agents", "/.codex", "/pp/keep")])
    @t
    def p2_symlink_in_place(): gone(lambda: os.symlink("evil", WS + "/.agents"), lambda: os.symlink("/tmp", WS + "/.codex/x"))
    @t
    def p2_placeholder_mode(): os.chmod(WS + "/.agents", 0o777); put(WS + "/.agents/x")
    @t
    def p2_link_target(): put(WS + "/linked/evil")
    @t
    def p2_link_itself(): gone(lambda: os.unlink(WS + "/.claude"), lambda: os.rename(WS + "/.claude", WS + "/c"), lambda: os.rename(WS + "/src.txt", WS + "/.claude"), lambda: os.chown(WS + "/.claude", os.getuid(), os.getgid(), follow_symlinks=False), lambda: os.utime(WS + "/.claude", (1, 1), follow_symlinks=False))
    @t
    def p2_link_target_moved(): gone(lambda: os.rename(WS + "/linked", WS + "/l3"), lambda: os.rmdir(WS + "/linked"))
    @t
    def p2_hard_link(): gone(lambda: os.link(G_ + "/config", WS + "/c2"), lambda: os.link(G_ + "/config", G_ + "/c2"), lambda: sc(265, os.open(G_ + "/config", RO), z(""), CWD, z(WS + "/c3"), 0x1000))
    @t
    def p2_nested_config(): gone(lambda: put(N + "/config", "[core]\npager=evil\n"), lambda: os.rename(WS + "/src.txt", N + "/config"), lambda: os.unlink(N + "/config"))
    @t
    def p2_nested_commondir(): gone(lambda: put(N + "/commondir", "../../evil"), lambda: os.unlink(N + "/commondir"), lambda: os.rename(WS + "/src.txt", N + "/commondir"))
    @t
    def p2_nested_moved(): gone(lambda: os.rename(N, N + "2"), lambda: os.rename(WS + "/vendor", WS + "/v2"), lambda: os.rename(N + "/hooks", N + "/h2"), lambda: os.rename(WS + "/vendor/sub", WS + "/s2"))
    @t
    def p2_nested_removed():
        import subprocess; subprocess.run(["rm", "-rf", N], capture_output=True); os.makedirs(N + "/hooks", exist_ok=True); put(N + "/hooks/post-checkout")
    @t
    def p2_new_repository():
        "made by hand: it may be made, and is put aside"
        import subprocess; subprocess.run(["git", "init", "-q", WS + "/nr"], check=True); put(WS + "/nr/.git/hooks/post-checkout", "#!/bin/sh\n"); os.chmod(WS + "/nr/.git/hooks/post-checkout", 0o755)
    @t
    def p2_new_bare():
        "HEAD, objects and refs are a repository wherever they lie"
        os.makedirs(WS + "/nb/objects"); os.makedirs(WS + "/nb/refs"); put(WS + "/nb/HEAD", "ref: refs/heads/m\n"); put(WS + "/nb/config", "[core]\nfsmonitor=evil\nbare=false\nworktree=..\n")
    @t
    def p2_new_gitfile():
        os.makedirs(WS + "/ng/deep/objects"); os.makedirs(WS + "/ng/deep/refs"); put(WS + "/ng/deep/HEAD", "ref: refs/heads/m\n"); put(WS + "/ng/deep/config", "[core]\nfsmonitor=evil\n"); put(WS + "/ng/.git", "gitdir: deep\n")
    @t
    def p2_case(): os.mkdir(WS + "/.GIT"); return "another name here"
    @t
    def p2_unicode(): os.mkdir(WS + "/.g\u200cit"); return "another name here"
    @t
    def p2_userns_clone(): sc(56, 0x10000000 | 17, 0, 0, 0, 0)
    @t
    def p2_userns_clone3(): sc(435, ctypes.create_string_buffer(struct.pack("Q", 0x10000000 | 0x20000) + b"\0" * 24 + struct.pack("Q", 17) + b"\0" * 48), 88)
    @t
    def p2_umount(): gone(lambda: sc(166, z(G_), 2), lambda: sc(166, z(WS), 2), lambda: sc(165, 0, z(G_), 0, 32 | 4096, 0), lambda: sc(155, z(WS), z(WS + "/lib")))

    # ---- processes --------------------------------------------------------------------------------------
    @t
    def x2_kill_first(): gone(lambda: os.kill(1, signal.SIGKILL), lambda: os.kill(1, signal.SIGSTOP), lambda: os.kill(1, signal.SIGTERM), lambda: os.kill(os.getppid(), 9)); time.sleep(.2); return "alive"
    @t
    def x2_kill_all(): signal.signal(signal.SIGTERM, signal.SIG_IGN); os.kill(-1, signal.SIGTERM)
    @t
    def x2_first_memory(): gone(lambda: os.open("/proc/1/mem", os.O_RDWR), lambda: os.open("/proc/1/environ", RO) and open("/proc/1/environ").read(), lambda: open("/proc/1/maps").read(), lambda: sc(101, 16, 1, 0, 0), lambda: os.readlink("/proc/1/exe")); return "escaped"
    @t
    def x2_first_fds():
        p = sc(434, 1, 0)
        return gone(*[lambda n=n: "escaped %d" % sc(438, p, n, 0) for n in range(20)])
    @t
    def x2_sibling_limits(): gone(lambda: sc(302, A["sib"], 7, struct.pack("QQ", 64, 64), 0), lambda: os.setpriority(os.PRIO_PROCESS, A["sib"], 19), lambda: os.sched_setaffinity(A["sib"], {0}), lambda: put("/proc/%d/oom_score_adj" % A["sib"], "500"))
    @t
    def x2_sibling_pidfd(): p = sc(434, A["sib"], 0); gone(lambda: sc(424, p, 10, 0, 0), lambda: sc(438, p, 0, 0))
    @t
    def x2_user_signal_all(): gone(lambda: sc(62, -A["sib"], 10), lambda: sc(234, A["sib"], A["sib"], 10), lambda: sc(129, A["sib"], 10, ctypes.create_string_buffer(128)))
    @t
    def x2_fown():
        "F_SETOWN sends SIGIO to whom one says"
        r, w = os.pipe(); fcntl.fcntl(r, fcntl.F_SETOWN, A["sib"]); fcntl.fcntl(r, 10, 10); fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); os.write(w, b"x")
    @t
    def x2_int80_tiocsti():
        m = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, 7); b = ctypes.addressof(ctypes.c_char.from_buffer(m))
        m[512] = 90
        code = b"\x53\xb8\x36\0\0\0\xbb\0\0\0\0\xb9" + struct.pack("I", 0x5412) + b"\xba" + struct.pack("I", b + 512) + b"\xcd\x80\x5b\xc3"
        m[:len(code)] = code; r = ctypes.CFUNCTYPE(ctypes.c_int)(b)()
        if r < 0: raise OSError(-r, os.strerror(-r))
    @t
    def x2_int80_open():
        m = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, 7); b = ctypes.addressof(ctypes.c_char.from_buffer(m)); p = (OUT + "/created").encode() + b"\0"; m[512:512 + len(p)] = p
        code = b"\x53\xb8\x05\0\0\0\xbb" + struct.pack("I", b + 512) + b"\xb9" + struct.pack("I", 0o101) + b"\xba\xa4\x01\0\0\xcd\x80\x5b\xc3"
        m[:len(code)] = code; r = ctypes.CFUNCTYPE(ctypes.c_int)(b)()
        if r < 0: raise OSError(-r, os.strerror(-r))
    @t
    def x2_x32_tiocsti(): sc(514 | 0x40000000, 0, 0x5412, z("Z"))
    @t
    def x2_tiocsti_wide(): sc(16, 0, 0x5412 | 1 << 40, z("Z"))
    @t
    def x2_tty_ioctls(): gone(lambda: fcntl.ioctl(0, 0x541C, b"\2\0"), lambda: fcntl.ioctl(0, 0x541D), lambda: fcntl.ioctl(0, 0x540E, 1), lambda: fcntl.ioctl(0, 0x5423, struct.pack("i", 3)))
    @t
    def x2_host_ptys():
        if not (n := [p for p in os.listdir("/dev/pts") if p.isdigit()]): raise OSError(errno.ENOENT, "none")
        return n
    @t
    def x2_session_keyring(): gone(lambda: sc(250, 1, z("sbx")), lambda: sc(250, 0, -3, 0), lambda: sc(249, z("user"), z("sbx_hostkey"), 0, -3))
    @t
    def x2_posix_queue(): sc(240, z("sbx_q"), os.O_CREAT | os.O_RDWR, 0o666, 0); return "own"
    @t
    def x2_sysv(): gone(lambda: sc(29, A["shmkey"], 0, 0), lambda: sc(31, 0, 2, ctypes.create_string_buffer(256)))
    @t
    def x2_sigstop_parent(): os.kill(os.getppid(), signal.SIGSTOP)
    @t
    def x2_daemon_everywhere():
        for _ in range(20):
            if os.fork() == 0:
                os.setsid()
                for s in range(1, 32):
                    if s not in (9, 19, 17): signal.signal(s, signal.SIG_IGN)
                time.sleep(30); os._exit(0)

    # ---- network -------------------------------------------------------------------------------------------
    for fam, name in ((40, "vsock"), (38, "alg"), (15, "key"), (44, "xdp"), (31, "bluetooth"), (30, "tipc"), (29, "can"), (39, "nfc"), (17, "packet"), (41, "kcm"), (43, "smc"), (21, "rds"), (9, "x25"), (4, "ipx"), (5, "appletalk"), (24, "pppox"), (45, "mctp"), (42, "qipcrtr")):
        reach("n2_" + name, 41, fam, 5 if fam in (40, 38, 21, 30) else 3, 0, none=(errno.EPERM, errno.EACCES, errno.EAFNOSUPPORT, errno.ESOCKTNOSUPPORT, errno.EPROTONOSUPPORT))
    @t
    def n2_tfo(): s = socket.socket(); s.sendto(b"tfo", 0x20000000, ("127.0.0.1", A["tcp"])); time.sleep(.1)
    @t
    def n2_mptcp(): s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); s.settimeout(2); s.connect(("127.0.0.1", A["tcp"])); s.send(b"mptcp"); time.sleep(.1)
    @t
    def n2_sctp(): socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)
    @t
    def n2_udp_connected(): s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("127.0.0.1", A["udp"])); s.send(b"udpc")
    @t
    def n2_udp_sendmsg(): s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.sendmsg([b"x"], [], 0, ("::ffff:127.0.0.1", A["udp"]))
    @t
    def n2_unspec():
        "connect to AF_UNSPEC first, then elsewhere"
        s = socket.socket(); s.settimeout(2); sc(42, s.fileno(), b"\0" * 16, 16); s.connect(("127.0.0.1", A["tcp"])); s.send(b"x")
    @t
    def n2_unix_by_fd():
        "a socket reached by the descriptor of its place"
        d = os.open(OUT, os.O_PATH); s = socket.socket(socket.AF_UNIX); s.connect("/proc/self/fd/%d/srv.sock" % d); s.send(b"fd")
    @t
    def n2_unix_relative(): os.chdir(OUT); s = socket.socket(socket.AF_UNIX); s.connect("srv.sock"); s.send(b"rel")
    @t
    def n2_unix_link(): os.symlink(OUT + "/srv.sock", WS + "/sl"); s = socket.socket(socket.AF_UNIX); s.connect(WS + "/sl"); s.send(b"link")
    @t
    def n2_unix_dgram(): s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b"dg", OUT + "/dg.sock")
    @t
    def n2_unix_dgram_msg(): s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendmsg([b"dg"], [], 0, OUT + "/dg.sock")
    @t
    def n2_unix_dgram_mmsg():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); a = ctypes.create_string_buffer(struct.pack("H", 1) + (OUT + "/dg.sock").encode()); b = z("dg"); i = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(b), 2))
        h = ctypes.create_string_buffer(struct.pack("QIIQQQQiIQ", ctypes.addressof(a), 110, 0, ctypes.addressof(i), 1, 0, 0, 0, 0, 0)); sc(307, s.fileno(), h, 1, 0)
    @t
    def n2_unix_dgram_connected(): s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect(OUT + "/dg.sock"); s.send(b"dgc")
    @t
    def n2_unix_seqpacket(): s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(OUT + "/srv.sock")
    @t
    def n2_netlink_uevent(): s = socket.socket(16, socket.SOCK_RAW, 15); s.bind((0, 1))
    @t
    def n2_netlink_audit(): s = socket.socket(16, socket.SOCK_RAW, 9); s.send(struct.pack("IHHII", 16, 1000, 5, 1, 0)); return s.recv(100)[:4].hex()
    @t
    def n2_listen_any(): s = socket.socket(); s.bind(("0.0.0.0", A["bindport"])); s.listen(1); time.sleep(1); return "own"
    @t
    def n2_all_fds():
        "whatever socket was left open"
        return gone(*[lambda f=f: os.write(f, b"left") for f in range(3, 64)])

    # ---- kernel ---------------------------------------------------------------------------------------------
    @t
    def k2_sweep_settings():
        "everything below /proc/sys and /sys, and the rest of /proc, opened to be written"
        hit = []
        for top in ("/proc/sys", "/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/driver"):
            for at, _, fs in os.walk(top):
                for f in fs:
                    try: os.close(os.open(at + "/" + f, os.O_WRONLY)); hit.append(at + "/" + f)
                    except OSError: pass
        for f in os.listdir("/proc"):
            try:
                if os.path.isfile("/proc/" + f): os.close(os.open("/proc/" + f, os.O_WRONLY)); hit.append(f)
            except OSError: pass
        if not hit: raise OSError(errno.EACCES, "none")
        return "escaped " + str(hit[:5])
    @t
    def k2_devices():
        odd = [at + "/" + f for at, _, fs in os.walk("/dev") for f in fs if at != "/dev/pts" and not at.startswith("/dev/openoxide") and f not in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "stdin", "stdout", "stderr", "fd")]
        if not odd: raise OSError(errno.ENOENT, "none")
        return "escaped " + str(odd[:5])
    @t
    def k2_cgroups():
        hit = []
        for l in open("/proc/self/mounts"):
            m = l.split()
            if m[2].startswith("cgroup"): hit += [lambda p=p, m=m: p(m[1]) for p in (lambda d: os.mkdir(d + "/sbx_evil"), lambda d: os.open(d + "/release_agent", os.O_WRONLY), lambda d: put(d + "/cgroup.procs", "0"))]
        if not hit: raise OSError(errno.ENOENT, "none")
        return gone(*hit)
    @t
    def k2_dmesg(): sc(103, 3, ctypes.create_string_buffer(64), 64); return "read"
    P = 1 << 12
    for name, nr, a in (("kexec_load", 246, (0, 0, 0, 0)), ("kexec_file", 320, (-1, -1, 0, 0, 0)), ("swapon", 167, (0, 0)), ("swapoff", 168, (0,)), ("quotactl", 179, (0, 0, 0, 0)), ("quotactl_fd", 443, (-1, 0, 0, 0)), ("acct", 163, (1,)),
                        ("reboot", 169, (0, 0, 0, 0)), ("sethostname", 170, (0, 0)), ("setdomainname", 171, (0, 0)), ("settimeofday", 164, (1, 0)), ("clock_settime", 227, (0, 1)),
                        ("iopl", 172, (3,)), ("ioperm", 173, (0, 1, 1)), ("pivot_root", 155, (1, 1)), ("umount2", 166, (1, 0)), ("mount", 165, (1, 1, 1, 0, 0)), ("init_module", 175, (1, 1, 1)),
                        ("delete_module", 176, (1, 0)), ("finit_module", 313, (-1, 1, 0)), ("bpf", 321, (0, 0, 0)), ("perf_event_open", 298, (0, 0, 0, 0, 0)), ("userfaultfd", 323, (0,)), ("fanotify_init", 300, (0, 0)),
                        ("io_uring_setup", 425, (1, 0)), ("io_uring_enter", 426, (-1, 0, 0, 0, 0)), ("io_uring_register", 427, (-1, 0, 0, 0)), ("setns", 308, (-1, 0)), ("unshare", 272, (0x20000,)), ("open_by_handle_at", 304, (-1, 0, 0)),
                        ("kcmp", 312, (1, 1, 0, 0, 0)), ("add_key", 248, (0, 0, 0, 0, 0)), ("request_key", 249, (0, 0, 0, 0)), ("keyctl", 250, (99,)), ("lookup_dcookie", 212, (0, 0, 0)), ("vhangup", 153, ()), ("chroot", 161, (1,)),
                        ("fsopen", 430, (1, 0)), ("fsconfig", 431, (-1, 0, 0, 0, 0)), ("fsmount", 432, (-1, 0, 0)), ("move_mount", 429, (-1, 1, -1, 1, 0)), ("open_tree", 428, (-1, 1, 0)), ("mount_setattr", 442, (-1, 1, 0, 0, 0)), ("open_tree_attr", 467, (-1, 1, 0, 0, 0))):
        reach("k2_" + name, nr, *a)
    @t
    def k2_modify_clock(): gone(lambda: time.clock_settime(time.CLOCK_REALTIME, 1), lambda: sc(159, ctypes.create_string_buffer(struct.pack("I", 1) + b"\0" * 204)) if os.geteuid() == -1 else sc(305, 0, ctypes.create_string_buffer(struct.pack("IIqqq", 2, 0, 0, 0, 0) + b"\0" * 180)))
    @t
    def k2_memfd_exec():
        fd = os.memfd_create("x"); os.write(fd, b"#!/bin/sh\necho > %s/created\n" % OUT.encode()); os.fchmod(fd, 0o755); p = os.fork()
        if p == 0: os.execve("/proc/self/fd/%d" % fd, ["x"], {})
        _, s = os.waitpid(p, 0)
        if s: raise OSError(errno.EACCES, "status %d" % s)
