"""The full view of a request, in the pager of the user or page by page."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import islice
from typing import IO

from .styled_text import StyledLine, TerminalStyle, TextRow, render_line, wrap_line
from .terminal_device import (
    QuestionWithdrawnError,
    TerminalDevice,
    open_for_child,
    unblocked_job_signals,
)
from .terminal_keys import KeyKind, KeyReader

__all__ = ["find_pager", "show_in_pager", "show_pages"]

_POLL_INTERVAL = 0.05
"""The seconds between two checks whether the pager has ended."""

_CHECK_INTERVAL = 0.25
"""The seconds between two checks whether the terminal is still in raw mode."""

_LINES_PER_CHECK = 1000
"""The number of lines that are prepared between two checks whether the question is withdrawn."""

_TERMINATION_SECONDS = 1.0
"""The seconds that a pager has to end when the question is withdrawn."""

_NEXT_PAGE = "[space] next page  [q] back to the question"
_LAST_PAGE = "(END)  [q] back to the question"

_LESS_OPTIONS = f"-R -Ps?e{_LAST_PAGE}:{_NEXT_PAGE}.$"


def find_pager(environment: Mapping[str, str]) -> list[str] | None:
    """Return the command of the pager, or `None` if there is none.

    It is `$PAGER`, or `less -R` if that variable is not set. `cat` is no pager.
    """
    try:
        command = shlex.split(environment.get("PAGER", "less -R"))
    except ValueError:
        return None
    if not command or os.path.basename(command[0]) == "cat":
        return None
    return command if shutil.which(command[0], path=environment.get("PATH")) else None


def show_in_pager(
    command: list[str],
    lines: Iterable[StyledLine],
    device: TerminalDevice,
    style: TerminalStyle,
    environment: Mapping[str, str],
) -> bool:
    """Show lines in a pager, and return whether it ended without an error.

    Raises:
        QuestionWithdrawnError: If the question is withdrawn. The pager is ended before.
        ApprovalUnavailableError: If the terminal closed.
    """
    is_less = os.path.basename(command[0]) == "less"
    # Other pagers may show escape sequences as text.
    style = TerminalStyle(style.has_controls, style.has_colors and is_less, style.is_unicode)
    try:
        # The file has no name, and other users cannot read it.
        file = tempfile.TemporaryFile()
    except OSError:
        return False
    with file:
        for number, line in enumerate(lines):
            if number % _LINES_PER_CHECK == 0 and device.wait_for_withdrawal(0):
                raise QuestionWithdrawnError
            file.write(f"{render_line(line, style)}\n".encode("utf-8", "replace"))
        file.seek(0)
        device.lend()
        try:
            return _run_pager(command, file, device, environment)
        finally:
            device.reclaim()


def _run_pager(
    command: list[str], file: IO[bytes], device: TerminalDevice, environment: Mapping[str, str]
) -> bool:
    variables = {
        name: value for name, value in environment.items() if not name.startswith("LESS")
    }
    # The text is hostile, so `less` does not run other programs and opens no other files.
    variables.update(LESS=_LESS_OPTIONS, LESSSECURE="1", LESSHISTFILE="-")
    terminal = open_for_child()
    try:
        with unblocked_job_signals():
            process = subprocess.Popen(
                command, stdin=file, stdout=terminal, stderr=terminal, env=variables
            )
    except OSError:
        return False
    finally:
        os.close(terminal)
    with _terminated(process):
        while process.poll() is None:
            if device.wait_for_withdrawal(_POLL_INTERVAL):
                raise QuestionWithdrawnError
    return process.returncode == 0


@contextlib.contextmanager
def _terminated(process: subprocess.Popen[bytes]) -> Generator[None, None, None]:
    """End a process when the block ends."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_TERMINATION_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def show_pages(
    lines: Iterable[StyledLine], device: TerminalDevice, keys: KeyReader, style: TerminalStyle
) -> bool:
    """Show lines page by page, and return whether the last page was shown.

    Raises:
        TerminalInterruptError: If a key sends a signal.
        QuestionWithdrawnError: If the question is withdrawn.
        ApprovalUnavailableError: If the terminal closed.
    """
    columns, _ = device.size()
    rows = _wrap_lines(lines, columns, style)
    page = _next_page(rows, device)
    while page:
        device.write("".join(f"{_row_mark(row, style)}{row.text}\r\n" for row in page))
        page = _next_page(rows, device)
        label = _NEXT_PAGE if page else _LAST_PAGE
        if not _wants_more(label, device, keys, style) and page:
            return False
    return True


def _wrap_lines(
    lines: Iterable[StyledLine], columns: int, style: TerminalStyle
) -> Iterator[TextRow]:
    for line in lines:
        yield from wrap_line(line, max(columns - 2, 1), style)


def _row_mark(row: TextRow, style: TerminalStyle) -> str:
    if row.starts_line:
        return " "
    return "↪" if style.is_unicode else "\\"


def _next_page(rows: Iterator[TextRow], device: TerminalDevice) -> list[TextRow]:
    _, height = device.size()
    return list(islice(rows, max(height - 1, 1)))


def _wants_more(
    label: str, device: TerminalDevice, keys: KeyReader, style: TerminalStyle
) -> bool:
    device.write(label)
    try:
        while True:
            key = keys.read(_CHECK_INTERVAL)
            if key is None:
                device.check_settings()
            elif key.kind is KeyKind.ENTER or key.text == " ":
                return True
            elif key.kind is KeyKind.ESCAPE or key.text in ("q", "Q"):
                return False
    finally:
        device.write("\r\x1b[K" if style.has_controls else "\r\n")
