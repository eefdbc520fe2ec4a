"""Attempts to trace processes, from inside a sandbox. Prints one line for each that had an effect.

Arguments: the process IDs of processes on the host, and the path of a socket on the host.
"""

import ctypes
import errno
import os
import platform
import signal
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long
libc.syscall.restype = ctypes.c_long
X86 = platform.machine() == "x86_64"
VM_READV, VM_WRITEV, KCMP = (310, 311, 312) if X86 else (270, 271, 272)
PIDFD_OPEN, PIDFD_GETFD = 434, 438
TRACEME, CONT, ATTACH, DETACH, SYSCALL, SETOPTIONS, SEIZE = 0, 7, 16, 17, 24, 0x4200, 0x4206


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def call(number, *arguments):
    return check(libc.syscall(ctypes.c_long(number), *[ctypes.c_long(one) for one in arguments]))


def ptrace(request, process, address=0, data=0):
    return check(libc.ptrace(request, process, address, data))


def vector(memory):
    return ctypes.create_string_buffer(struct.pack("PP", ctypes.addressof(memory), len(memory)), 16)


def move_memory(number, process, memory):
    """Copies memory at the same address of another process."""
    ours = vector(memory)
    return call(number, process, ctypes.addressof(ours), 1, ctypes.addressof(ours), 1, 0)


def take_descriptor(process, descriptor):
    return call(PIDFD_GETFD, call(PIDFD_OPEN, process, 0), descriptor, 0)


def waiting_child(action):
    child = os.fork()
    if child == 0:
        action()
        os._exit(0)
    return child


def own_child():
    """Everything that a debugger does to its own child works."""
    memory = ctypes.create_string_buffer(b"of the parent", 16)
    reading, writing = os.pipe()

    def act():
        memory.value = b"of the child"
        signal.pause()

    child = waiting_child(act)
    ptrace(SEIZE, child)
    while memory.value != b"of the child":
        move_memory(VM_READV, child, memory)
    os.write(take_descriptor(child, writing), b"x")
    assert os.read(reading, 1) == b"x" and call(KCMP, os.getpid(), child, 0, reading, reading) == 0
    os.kill(child, signal.SIGSTOP)
    assert os.WIFSTOPPED(os.waitpid(child, 0x40000000)[1])
    ptrace(DETACH, child, 0, 0)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print("own child: traced")


def attempt(name, action):
    try:
        action()
        print("reached:", name)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ESRCH, errno.EACCES, errno.ENOENT):
            print("unexpected:", name, error)


def others(processes):
    """The first process inside, and processes of the host, by their numbers there."""
    memory = ctypes.create_string_buffer(16)
    for process in [1, *processes]:
        # A number of the host may also be the number of a process inside.
        if process != 1 and os.path.exists(f"/proc/{process}"):
            continue
        attempt(f"attach {process}", lambda: ptrace(ATTACH, process))
        attempt(f"seize {process}", lambda: ptrace(SEIZE, process))
        attempt(f"read {process}", lambda: move_memory(VM_READV, process, memory))
        attempt(f"write {process}", lambda: move_memory(VM_WRITEV, process, memory))
        for descriptor in range(12):
            attempt(f"descriptor {process}", lambda: take_descriptor(process, descriptor))
        attempt(f"compare {process}", lambda: call(KCMP, os.getpid(), process, 1, 0, 0))
        for name in ("mem", "environ", "maps", "fd/3", "root", "cwd"):
            attempt(f"open {name} of {process}", lambda: os.open(f"/proc/{process}/{name}", 0))


def rewritten(path):
    """A tracer replaces the system call of its child after it was made (ptrace(2))."""
    if not X86:
        return
    ORIG_RAX, RAX, RDI, RSI, RDX, R10 = [8 * one for one in (15, 10, 14, 13, 12, 7)]
    address = socket.AF_UNIX.to_bytes(2, "little") + path.encode() + b"\0"
    memory = ctypes.create_string_buffer(address, 110)
    client = socket.socket(socket.AF_UNIX)
    target = (client.fileno(), ctypes.addressof(memory), len(address), 0)
    proc = ctypes.create_string_buffer(b"/proc\0")
    calls = [
        # The socket of a staged file is not the one that the host listens on.
        ("connect", 42, target, errno.EACCES, errno.ECONNREFUSED),
        ("mount", 165, (ctypes.addressof(proc),) * 3 + (0,), errno.EPERM),
        ("unshare", 272, (0x10000000, 0, 0, 0), errno.EPERM),
        ("keyctl", 250, (0, -4 & 0xFFFFFFFF, 0, 0), errno.EPERM),
        ("socket", 41, (17, 3, 0, 0), errno.EPERM),
        ("io_uring_setup", 425, (4, ctypes.addressof(memory), 0, 0), errno.ENOSYS),
        ("x32 mount", 0x40000000 | 165, (ctypes.addressof(proc),) * 3 + (0,), errno.ENOSYS),
    ]

    def act():
        ptrace(TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        for _ in calls:
            libc.syscall(ctypes.c_long(186))  # gettid
        os._exit(0)

    child = waiting_child(act)
    os.waitpid(child, 0)
    attempt("suspend seccomp", lambda: ptrace(SETOPTIONS, child, 0, 1 << 21))
    wanted = list(calls)
    while wanted:
        ptrace(SYSCALL, child)
        if os.WIFEXITED(os.waitpid(child, 0)[1]):
            break
        if check(libc.ptrace(3, child, ORIG_RAX, 0) or 0) != 186:
            ptrace(SYSCALL, child)
            os.waitpid(child, 0)
            continue
        name, number, arguments, *expected = wanted.pop(0)
        for at, value in [(ORIG_RAX, number), *zip((RDI, RSI, RDX, R10), arguments)]:
            ptrace(6, child, at, value)
        ptrace(SYSCALL, child)
        os.waitpid(child, 0)
        result = ctypes.c_long(libc.ptrace(3, child, RAX, 0)).value
        if -result not in expected:
            print("reached:", name, result)
    os.kill(child, signal.SIGKILL)
    print("rewritten:", len(calls) - len(wanted))


def raced(path):
    """Another process rewrites the address of a connect(2) that the supervisor is checking."""
    inner = socket.socket(socket.AF_UNIX)
    inner.bind("/tmp/inner")
    inner.listen(200)
    name = lambda text: socket.AF_UNIX.to_bytes(2, "little") + text.encode().ljust(108, b"\0")
    memory = ctypes.create_string_buffer(name("/tmp/inner"), 110)

    def write():
        choices = [name("/tmp/inner"), name(path)]
        while True:
            for choice in choices:
                memory.raw = choice
                move_memory(VM_WRITEV, os.getppid(), memory)

    writer = waiting_child(write)
    number = 42 if X86 else 203
    results = {"connected": 0, "refused": 0}
    for _ in range(300):
        with socket.socket(socket.AF_UNIX) as client:
            try:
                call(number, client.fileno(), ctypes.addressof(memory), 110)
                results["connected"] += 1
                inner.accept()[0].close()
            except OSError:
                results["refused"] += 1
    os.kill(writer, signal.SIGKILL)
    print("raced:", all(results.values()) or results)


own_child()
others([int(one) for one in sys.argv[2:]])
rewritten(sys.argv[1])
raced(sys.argv[1])
