"""Job control of a run in an interactive bash, which has a terminal of its own.

Arguments: the call of OpenOxide up to `--`. Prints one line for each check that failed.
"""

import os
import pty
import re
import select
import shlex
import signal
import sys
import termios
import time

# Tests that a shell without job control runs in the background ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
OPENOXIDE = shlex.join(sys.argv[1:])
# The counter starts no process: a shell that waits in vfork(2) for a child that Ctrl-Z has stopped
# cannot be stopped itself, with or without a sandbox.
SCRIPTS = {
    "count.py": """#!/usr/bin/env python3
import time
for number in range(1, 1200):
    with open("count", "w") as file:
        file.write(str(number))
    time.sleep(0.05)
""",
    "background.sh": "#!/bin/sh\nsleep 0.5; echo text; echo x > done\n",
    "stops.sh": "#!/bin/sh\nkill -TSTP 0; echo again > again; sleep 1\n",
}
for script, lines in SCRIPTS.items():
    with open(script, "w") as file:
        file.write(lines)
    os.chmod(script, 0o755)

shell, terminal = pty.fork()
if shell == 0:
    os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], {**os.environ, "PS1": "READY> ", "TERM": "dumb"})
screen = b""


def read(seconds):
    global screen
    if select.select([terminal], [], [], seconds)[0]:
        screen += os.read(terminal, 65536)


def wait_for(pattern, what):
    """Waits for text of the terminal, and forgets everything up to its end."""
    global screen
    end = time.time() + 30
    while not (found := re.search(pattern, screen, re.DOTALL)):
        if time.time() > end:
            print("not seen:", what, screen[-300:])
            os.kill(shell, 9)
            sys.exit()
        read(0.1)
    screen = screen[found.end():]


def type_text(text):
    os.write(terminal, text.encode())


def count():
    try:
        return int(open("count").read() or 0)
    except (OSError, ValueError):
        return 0


def counts():
    """Whether the program runs."""
    before, end = count(), time.time() + 10
    while time.time() < end:
        read(0.05)
        if count() > before:
            return True
    return False


def rests():
    """Whether the program is stopped."""
    time.sleep(0.5)
    before = count()
    time.sleep(0.7)
    return count() == before


def check(name, good):
    if not good:
        print("failed:", name)


def finish(name):
    """Ends the program with Ctrl-C, and checks the shell."""
    type_text("\x03")
    end = time.time() + 30
    while not rests():
        read(0.1)
        if time.time() > end:
            print("failed:", name, "Ctrl-C")
            raise SystemExit
    type_text("echo en$((2))d\n")
    wait_for(rb"en2d.*READY> ", name + ": the prompt after Ctrl-C")
    if os.path.exists("count"):
        os.remove("count")


wait_for(rb"READY> ", "the first prompt")
modes = termios.tcgetattr(terminal)
for name, line in [("a terminal", f"{OPENOXIDE} -- ./count.py"), ("a pipe", f"{OPENOXIDE} -- ./count.py | cat")]:
    type_text(line + "\n")
    check(f"{name}: it starts", counts())
    for _ in range(2):
        type_text("\x1a")
        wait_for(rb"Stopped.*READY> ", f"{name}: Ctrl-Z stops the job")
        check(f"{name}: it is stopped", rests())
        check(f"{name}: the modes of the terminal", termios.tcgetattr(terminal) == modes)
        type_text("fg\n")
        check(f"{name}: it continues in the foreground", counts())
    type_text("\x1a")
    wait_for(rb"Stopped.*READY> ", f"{name}: Ctrl-Z stops it once more")
    check(f"{name}: it is stopped once more", rests())
    type_text("bg\n")
    check(f"{name}: it continues in the background", counts())
    type_text("echo an$((1))swer\n")
    wait_for(rb"an1swer", f"{name}: the shell has the terminal")
    type_text("fg\n")
    wait_for(rb"fg\r\n", f"{name}: fg")
    check(f"{name}: it runs on", counts())
    time.sleep(0.3)
    finish(name)
# A job that is started in the background runs to its end.
type_text(f"{OPENOXIDE} -- ./background.sh &\n")
wait_for(rb"\btext\r+\n", "the output of a background job")
time.sleep(1)
type_text("wait; echo status $?\n")
wait_for(rb"status 0.*READY> ", "the end of a background job")
time.sleep(0.3)  # The shell prepares to read a line.
check("the background job ran", os.path.exists("done"))
check("the modes of the terminal at the end", termios.tcgetattr(terminal) == modes)
# An editor stops itself with the signal.
type_text(f"{OPENOXIDE} -- ./stops.sh\n")
wait_for(rb"Stopped.*READY> ", "a program that stops itself")
check("it waits", not os.path.exists("again"))
type_text("fg\n")
wait_for(rb"READY> ", "the end after fg")
check("it ran on", os.path.exists("again"))
os.kill(shell, 9)
