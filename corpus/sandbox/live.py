#!/usr/bin/env python3
"""What `--live` costs inside the writable directory, as a ratio: `live.py OPENOXIDE DIRECTORY`. Rounds take turns."""
import os, statistics, subprocess, sys, time

ROUNDS, OPENS, SOURCES = 7, 5000, 40
INSIDE = """
import os, sys, time
def measure(flags):
    began = time.perf_counter()
    for n in range(%d): os.close(os.open('f%%d' %% (n %% 50), flags, 0o600))
    return time.perf_counter() - began
write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
measure(write)
print(measure(write), measure(os.O_RDONLY))
""" % OPENS
BUILD = "rm -f *.o prog; for f in f*.c main.c; do cc -O1 -c $f -o ${f%.c}.o || exit 1; done; cc *.o -o prog"


def run(live, *words):
    launcher = [sys.argv[1], "sandbox", "run", *(["--live"] if live else []), "--"]
    began = time.perf_counter()
    done = subprocess.run([*launcher, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return [time.perf_counter() - began, *map(float, done.stdout.split())]


os.makedirs(sys.argv[2], exist_ok=True)
os.chdir(sys.argv[2])
for n in range(SOURCES):
    with open(f"f{n}.c", "w") as file:
        file.write(f"#include <stdio.h>\nint f{n}(int x) {{ return printf(\"%d\", x * {n}); }}\n")
with open("main.c", "w") as file:
    file.write("int main(void) { return 0; }\n")
took = {live: [] for live in (False, True)}
for _ in range(ROUNDS):
    for live in took:
        (build,) = run(live, "sh", "-c", BUILD)
        took[live].append([*run(live, "python3", "-c", INSIDE)[1:], build])
for name, without, live in zip(("open to write", "open to read", "build"), zip(*took[False]), zip(*took[True])):
    without, live = statistics.median(without), statistics.median(live)
    each = f", {without / OPENS * 1e6:.1f} and {live / OPENS * 1e6:.1f} us each" if name != "build" else ""
    print(f"{name}: {live / without:.2f} x{each}")
