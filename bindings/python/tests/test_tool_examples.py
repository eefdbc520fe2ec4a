"""The examples of the file tools and the shell tool run as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"

FILES = """\
read_file docs/style.md
  > Short sentences.
write_file cache/summary.txt
  > Wrote 17 bytes to cache/summary.txt
write_file notes/today.md
  ? Write to notes:notes/today.md: New file notes/today.md: 1 line, 8 B
  > Wrote 8 bytes to notes/today.md
write_file notes/today.sh
  > refused: `notes/today.sh` does not have a permitted suffix (`notes`: `.md`, `.txt`)
write_file docs/style.md
  > refused: `docs/style.md` is read-only in the sandbox `docs`
read_file notes/../../secret.txt
  > refused: `notes/../../secret.txt` is not in any sandbox (sandboxes: `cache`, `docs`, `notes`)
read_file cache/link-to-the-secret
  > refused: `cache/link-to-the-secret` is not in any sandbox (sandboxes: `cache`, `docs`, `notes`)
list_files \n\
  > ['cache/summary.txt', 'docs/style.md', 'notes/today.md']
"""

SHELL = """\
$ ls
  output
  tools.yaml
$ touch output/report.txt && ls output
  report.txt
$ touch report.txt
  ? Execute: touch report.txt: no
  refused: Approval denied: Work in `output`.
$ ls; rm -rf output
  refused: Command blocked: the rule `rm` does not allow `rm -rf output`
$ ls $(rm -rf output)
  refused: Command blocked: the rule `rm` does not allow `rm -rf output`
$ python3 -c 'import sys; sys.tracebacklimit = 0; open("/etc/motd", "w")'
  ? Run a Python program: yes
  [stderr]
  OSError: [Errno 30] Read-only file system: '/etc/motd'
  [exit status 1]
  [the sandbox refused: write /etc/motd]
$ curl https://example.com
  refused: Command blocked: `https://example.com` contacts a host, and `network` is off
"""


def run_example(name: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_example_of_the_file_tools_runs() -> None:
    assert run_example("file_tools_approval.py") == FILES


def test_the_example_of_the_shell_tool_runs() -> None:
    assert run_example("shell_tool_approval.py") == SHELL
