"""A program in a real pseudo terminal, with a model of its screen."""

from __future__ import annotations

import os
import signal
import sys
import termios
import textwrap
import time
from pathlib import Path
from typing import Any

import pexpect
import pyte

TIMEOUT = float(os.environ.get("TERMINAL_TEST_TIMEOUT", "60"))
"""The seconds after which a test fails. Nothing waits for this if the program works."""

PREAMBLE = """
import asyncio, os, signal, subprocess, sys, threading, time
from tool_approval import (
    ApprovalController, ApprovalDecision, ApprovalPresentation, ApprovalRequest,
    ApprovalUnavailableError, Engine, Policy, TerminalPrompt, terminal
)
terminal._READING_SECONDS = {reading_seconds}

def request(name="shell", description="Run a command", presentation=None, **payload):
    payload = payload or {{"command": "make test"}}
    return ApprovalRequest(
        tool_name=name, description=description, payload=payload, presentation=presentation
    )

prompt = TerminalPrompt()
"""


class Terminal:
    """A pseudo terminal in which a program runs.

    Args:
        program: The command line, or Python source for a script after `PREAMBLE`.
        directory: The current directory of the program, which has the script, too.
        columns: The width of the terminal.
        rows: The height of the terminal.
        reading_seconds: The seconds in which the prompt ignores keys.
        variables: Environment variables, in addition to those of the test.
    """

    def __init__(
        self,
        program: str | list[str],
        directory: Path,
        *,
        columns: int = 80,
        rows: int = 24,
        reading_seconds: float = 0.0,
        variables: dict[str, str | None] | None = None,
    ) -> None:
        if isinstance(program, str):
            script = directory / "script.py"
            preamble = PREAMBLE.format(reading_seconds=reading_seconds)
            script.write_text(preamble + textwrap.dedent(program))
            program = [sys.executable, str(script)]
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("NO_COLOR", "PAGER", "LESS", "LC_ALL", "LC_CTYPE")
        }
        environment |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": package_path()}
        for name, value in (variables or {}).items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.output = b""
        self.process = pexpect.spawn(
            program[0],
            program[1:],
            cwd=str(directory),
            env=environment,
            dimensions=(rows, columns),
            timeout=TIMEOUT,
        )
        self.process.delaybeforesend = None
        self.settings_before = self.settings()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self.process.close(force=True)
        if error is None:
            assert b"never retrieved" not in self.output

    # --- Output ----------------------------------------------------------------------------------

    def read(self, timeout: float = 0.05) -> bool:
        """Read output, and return false if the program has ended."""
        try:
            data = self.process.read_nonblocking(65536, timeout)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.output += data
        self._stream.feed(data)
        return True

    def text(self) -> str:
        """Return the rows of the screen, without blanks at their ends."""
        return "\n".join(row.rstrip() for row in self.screen.display).rstrip()

    def wait_for(self, text: str) -> None:
        """Wait until a text is on the screen."""
        self.wait_until(lambda: text in self.text(), text)

    def wait_for_output(self, text: str, count: int = 1) -> None:
        """Wait until the program has written a text this number of times."""
        self.wait_until(lambda: self.output.count(text.encode()) >= count, text)

    def wait_until(self, is_fulfilled: Any, what: object) -> None:
        """Wait until a condition is fulfilled."""
        end = time.monotonic() + TIMEOUT
        while not is_fulfilled():
            is_running = self.read()
            if is_fulfilled():
                return
            if not is_running or time.monotonic() > end:
                state = "timeout" if is_running else "the program ended"
                raise AssertionError(f"{state} before {what!r}:\n{self.text()}")

    def wait_for_prompt(self) -> None:
        """Wait until a question is on the screen and the cursor is below it."""
        self.wait_until(self.is_prompting, "a question")

    def is_prompting(self) -> bool:
        """Return whether the cursor is in the row below a box."""
        above = self.screen.display[max(self.screen.cursor.y - 1, 0)]
        here = self.screen.display[self.screen.cursor.y]
        return above[:1] in ("└", "+") and here.startswith("> ")

    def wait_for_end(self) -> int:
        """Wait until the program ends, and return its exit status, or the negative signal."""
        end = time.monotonic() + TIMEOUT
        while self.read():
            assert time.monotonic() < end, f"the program does not end:\n{self.text()}"
        self.process.wait()
        if self.process.signalstatus is not None:
            return -int(self.process.signalstatus)
        return int(self.process.exitstatus or 0)

    # --- Input -----------------------------------------------------------------------------------

    def press(self, keys: str) -> None:
        """Send keys at once."""
        self.process.send(keys.encode())

    def interrupt(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        os.kill(self.process.pid, number)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal."""
        self.read(0)
        self.screen.resize(rows, columns)
        self.process.setwinsize(rows, columns)

    def hang_up(self) -> None:
        """Close the terminal while the program runs."""
        self.process.ptyproc.fileobj.close()
        self.process.closed = self.process.ptyproc.closed = True

    # --- Settings --------------------------------------------------------------------------------

    def settings(self) -> list[Any]:
        """Return the settings of the terminal."""
        return termios.tcgetattr(self.process.child_fd)

    def is_raw(self) -> bool:
        """Return whether keys are read one by one."""
        return not self.settings()[3] & termios.ICANON

    def is_restored(self) -> bool:
        """Return whether the settings are those from before the program."""
        return self.settings() == self.settings_before


def package_path() -> str:
    """Return the directory from which the tests import the package."""
    import tool_approval

    return str(Path(tool_approval.__file__).parent.parent)
