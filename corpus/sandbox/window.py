#!/usr/bin/env python3
"""Measures the time from the creation of a file that makes git run something until it is quarantined.

    window.py PROGRAM [TRIES] [KIND…]

PROGRAM is `openoxide`. Each try is a run of its own. `start` creates a repository as the first
action of the program, `new` after half a second, and `late` adds a setting to the configuration of
a repository that is already known. The program inside looks at the name without a pause, so the
numbers include everything that the host could see.
"""

import os, subprocess, sys, tempfile

INSIDE = r"""
import os, sys, time
kind = sys.argv[1]
evil = "[core]\n\tbare = false\n\tfsmonitor = \"touch /tmp/x; true\"\n"
def repository(config):
    for name in ("sub/.git/objects", "sub/.git/refs"):
        os.makedirs(name)
    with open("sub/.git/HEAD", "w") as head:
        head.write("ref: refs/heads/x\n")
    with open("sub/.git/config", config[0]) as file:
        file.write(config[1])
if kind != "start":
    time.sleep(0.5)
if kind == "late":
    repository(("w", "[core]\n\tbare = false\n"))
    time.sleep(0.3)
    begin = time.monotonic()
    with open("sub/.git/config", "a") as file:
        file.write(evil)
else:
    begin = time.monotonic()
    repository(("w", evil))
while os.path.lexists("sub/.git/config"):
    if time.monotonic() - begin > 20:
        break
print(time.monotonic() - begin)
"""


def measure(program, kind):
    with tempfile.TemporaryDirectory(dir=os.getcwd(), prefix=".window-") as place:
        for name in ("w", "home"):
            os.mkdir(f"{place}/{name}")
        environment = {"PATH": os.environ["PATH"], "HOME": f"{place}/home"}
        command = [program, "sandbox", "run", "--", "python3", "-c", INSIDE, kind]
        run = subprocess.run(command, cwd=f"{place}/w", env=environment, capture_output=True)
        return float(run.stdout) * 1000


def main():
    program, tries = os.path.abspath(sys.argv[1]), int((sys.argv[2:3] or ["100"])[0])
    for kind in sys.argv[3:] or ["start", "new", "late"]:
        times = sorted(measure(program, kind) for _ in range(tries))
        shown = [times[len(times) // 2], times[len(times) * 95 // 100], times[-1]]
        print(f"{kind}: {tries} tries, median %.1f ms, 95 %% %.1f ms, longest %.1f ms" % tuple(shown))


main()
