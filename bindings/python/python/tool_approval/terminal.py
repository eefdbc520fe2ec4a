"""The prompt: it shows a request in the terminal and reads the answer of a reviewer."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import signal
import threading
import time

from .display_text import display_width, escape_text
from .engine import ANSWERED_ELSEWHERE
from .errors import ApprovalUnavailableError
from .pager import find_pager, show_in_pager, show_pages
from .presentation import with_presentation
from .prompt_box import BoxRenderer, full_view_lines
from .styled_text import TerminalStyle
from .terminal_device import (
    QuestionWithdrawnError,
    TerminalDevice,
    TerminalInterruptError,
    WakePipe,
    block_job_signals,
    prompt_turns,
    restore_on_termination,
)
from .terminal_keys import Key, KeyKind, KeyReader
from .types import ApprovalDecision, ApprovalRequest, ApprovalScope

__all__ = ["TerminalPrompt"]

_READING_SECONDS = 0.4
"""The seconds after a question appears in which keys are ignored. It has not been read yet."""

_CHECK_INTERVAL = 0.25
"""The seconds between two checks of the size and the settings of the terminal."""

_CLOSING_SECONDS = 5.0
"""The seconds to wait until an interrupted question has restored the terminal."""

_MAX_NOTE_LENGTH = 2000
"""The number of characters of the longest note."""

_KEY_NAMES = "y, n, s, v or m"


class TerminalPrompt:
    """Asks a reviewer in the terminal of the process.

    The terminal is `/dev/tty`, so this works if the standard streams are pipes. One question is
    asked at a time, in this process and in others on the same terminal. Further ones wait.

    | key | meaning |
    | --- | --- |
    | `y` | Approve this call. |
    | `n`, Esc | Reject it. |
    | `s` | Approve this call and equal ones for the session. |
    | `v` | View everything in the pager: `$PAGER`, or `less`. |
    | `m` | Write a note to the model, and reject the call with it. |

    While a part of the request is not on the screen, `y` and `s` open the full view first. Keys
    that are pressed before the question can have been read, and pasted text, are ignored.

    Example:
        ```python
        from tool_approval import ApprovalRequest, TerminalPrompt

        def confirm(command: str) -> bool:
            request = ApprovalRequest(
                tool_name="shell", description="Run a command", payload={"command": command}
            )
            return TerminalPrompt().ask_sync(request).approved
        ```
    """

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Show a request, and return the answer of the reviewer.

        Cancelling this coroutine closes the question. It ends when the terminal is restored.
        Ctrl-C closes the question, too, and interrupts the process as usual.

        Raises:
            ApprovalUnavailableError: If there is no terminal, the process is in its background, or
                the question is closed without an answer.
        """
        question = _Question(request)
        with restore_on_termination():
            question.start()
            answer = asyncio.wrap_future(question.answer)
            try:
                return await asyncio.shield(answer)
            except asyncio.CancelledError as cancelled:
                question.withdraw(is_answered=ANSWERED_ELSEWHERE in cancelled.args)
                while not answer.done():
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.wait({answer})
                answer.exception()  # Otherwise, asyncio logs that it was never retrieved.
                raise
            except GeneratorExit:
                question.withdraw()
                raise

    def ask_sync(self, request: ApprovalRequest) -> ApprovalDecision:
        """Do the same as `ask`, and block until there is an answer.

        Raises:
            ApprovalUnavailableError: As `ask` does.
            RuntimeError: If this thread runs an event loop. Use `ask` there.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            raise RuntimeError("this thread runs an event loop: await `ask` instead")
        question = _Question(request)
        with restore_on_termination():
            question.start()
            try:
                return question.answer.result()
            except BaseException:
                question.withdraw()
                question.join()
                raise


class _Question:
    """A question that is asked in a thread of its own."""

    def __init__(self, request: ApprovalRequest) -> None:
        if not isinstance(request, ApprovalRequest):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"expected an `ApprovalRequest`, not {type(request).__name__}")
        self.answer: concurrent.futures.Future[ApprovalDecision] = concurrent.futures.Future()
        self._request = request
        self._wake = WakePipe()
        self._withdrawn = threading.Event()
        self._is_answered_elsewhere = False
        # A thread that waits for a key must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="tool-approval-prompt", daemon=True)

    def start(self) -> None:
        """Ask. `answer` is set when the terminal is restored."""
        self.answer.set_running_or_notify_cancel()
        try:
            self._thread.start()
        except BaseException:
            self._wake.close()
            raise

    def withdraw(self, *, is_answered: bool = False) -> None:
        """Close the question without an answer."""
        self._is_answered_elsewhere = is_answered
        self._withdrawn.set()
        self._wake.wake()
        prompt_turns().notify()

    def join(self) -> None:
        """Wait until the terminal is restored, even if Ctrl-C is pressed again."""
        deadline = time.monotonic() + _CLOSING_SECONDS
        while self._thread.is_alive() and time.monotonic() < deadline:
            with contextlib.suppress(KeyboardInterrupt):
                self._thread.join(0.1)

    def _run(self) -> None:
        try:
            block_job_signals()
            decision = self._ask_in_turn()
        except TerminalInterruptError as interrupt:
            _signal_job(interrupt.signal)  # The terminal is restored.
            self.answer.set_exception(
                ApprovalUnavailableError(
                    f"the question was interrupted ({interrupt}), so the call is not approved"
                )
            )
        except QuestionWithdrawnError:
            self.answer.set_exception(
                ApprovalUnavailableError("the question was withdrawn, so the call is not approved")
            )
        except BaseException as error:
            self.answer.set_exception(error)
        else:
            self.answer.set_result(decision)
        finally:
            self._wake.close()

    def _ask_in_turn(self) -> ApprovalDecision:
        with prompt_turns().turn(self._wake, self._withdrawn):
            style = TerminalStyle.from_environment(os.environ)
            device = TerminalDevice(self._wake, marks_pastes=style.has_controls)
            try:
                device.check_foreground()
                request = with_presentation(self._request)
                device.acquire()
                dialog = _Dialog(request, device, style)
                try:
                    return dialog.run()
                except QuestionWithdrawnError:
                    dialog.close(self._withdrawal_text())
                    raise
                except TerminalInterruptError:
                    dialog.close("Interrupted: the call is not approved.")
                    raise
            finally:
                device.close()

    def _withdrawal_text(self) -> str:
        if self._is_answered_elsewhere:
            return "Answered elsewhere."
        return "Withdrawn: the answer is no longer needed."


def _signal_job(number: signal.Signals) -> None:
    """Send a signal to every process of this job, as the terminal does for a key."""
    try:
        os.killpg(os.getpgrp(), number)
    except OSError:
        os.kill(os.getpid(), number)


class _Dialog:
    """The dialog about a request, from the box to the answer."""

    def __init__(
        self, request: ApprovalRequest, device: TerminalDevice, style: TerminalStyle
    ) -> None:
        self._request = request
        self._device = device
        self._style = style
        self._renderer = BoxRenderer(request, style)
        self._keys = KeyReader(device)
        self._size = device.size()
        self._drawn_rows: int | None = None
        """The rows between the first row of the box and the cursor, if they can be erased."""
        self._hides_request = True
        self._hides_session_scope = True
        self._is_viewed = False
        self._ready_at = 0.0

    def run(self) -> ApprovalDecision:
        """Return the answer of the reviewer."""
        self._device.discard_input()
        self._draw()
        while True:
            try:
                decision = self._next_decision()
            except TerminalInterruptError as interrupt:
                if not self._suspend(interrupt):
                    raise
                continue
            if decision is not None:
                self.close(_describe(decision))
                return decision

    def close(self, text: str) -> None:
        """Write how the question ended."""
        self._device.write_last(f"{self._status(text)}\r\n")

    # --- Keys ------------------------------------------------------------------------------------

    def _next_decision(self) -> ApprovalDecision | None:
        """Handle one key, and return the decision if it makes one."""
        key = self._keys.read(_CHECK_INTERVAL)
        if not self._device.check_settings() or self._device.size() != self._size:
            # The key may have been an answer to a box that was not wholly visible.
            self._draw()
            return None
        if key is None:
            return None
        if time.monotonic() < self._ready_at:
            self._wait_for_reader()
            self._show_status("Key pressed before the question was shown: ignored.")
            return None
        return self._handle_key(key)

    def _handle_key(self, key: Key) -> ApprovalDecision | None:
        if key.kind is KeyKind.ESCAPE:
            return _rejected(None)
        if key.kind is KeyKind.PASTE:
            self._show_status(f"Pasted text is ignored. Press one key: {_KEY_NAMES}.")
            return None
        if key.kind is KeyKind.REDRAW:
            self._draw()
            return None
        letter = key.text.lower()
        if letter == "y":
            return self._approve(ApprovalScope.ONCE)
        if letter == "s":
            return self._approve(ApprovalScope.SESSION)
        if letter == "n":
            return _rejected(None)
        if letter == "v":
            self._view()
            return None
        if letter == "m":
            note = self._read_note()
            return None if note is None else _rejected(note)
        self._show_status(f"Press one of the keys {_KEY_NAMES}.")
        return None

    def _approve(self, scope: ApprovalScope) -> ApprovalDecision | None:
        is_hidden = self._hides_request
        if scope is ApprovalScope.SESSION:
            is_hidden = is_hidden or self._hides_session_scope
        if is_hidden and not self._is_viewed:
            # What is approved is what was shown.
            self._view()
            return None
        return ApprovalDecision(True, scope, answered_by="terminal")

    def _suspend(self, interrupt: TerminalInterruptError) -> bool:
        """Stop the process if the key does that, and draw the box again when it continues."""
        if not interrupt.is_suspension:
            return False
        self.close("Suspended: the question waits.")
        self._drawn_rows = None
        self._device.suspend()
        self._device.discard_input()
        self._draw()
        return True

    # --- The screen ------------------------------------------------------------------------------

    def _draw(self, status: str = "") -> None:
        """Draw the box, in place of the one before if that is possible."""
        self._size = self._device.size()
        box = self._renderer.render(*self._size)
        self._hides_request = box.hides_request
        self._hides_session_scope = box.hides_session_scope
        text = "".join(f"{row}\r\n" for row in box.rows)
        self._device.write(f"{self._erasure()}{text}")
        self._drawn_rows = len(box.rows)
        self._device.write(self._status(status))
        self._wait_for_reader()

    def _erasure(self) -> str:
        """Return what erases the box, or moves the cursor below it."""
        if self._drawn_rows is None:
            return ""
        if not self._style.has_controls:
            return "\r\n"
        return f"\r\x1b[{self._drawn_rows}A\x1b[J"

    def _wait_for_reader(self) -> None:
        self._ready_at = time.monotonic() + _READING_SECONDS

    def _show_status(self, text: str) -> None:
        self._device.write(self._status(text))

    def _status(self, text: str) -> str:
        """Return what replaces the row below the box."""
        shown = escape_text(text, ascii_only=not self._style.is_unicode)
        if not self._style.has_controls:
            return f"\r\n> {shown}" if shown else "> "
        width = max(self._size[0] - 3, 1)
        while display_width(shown) > width:
            shown = shown[:-1]
        return f"\r\x1b[K> {shown}"

    def _view(self) -> None:
        """Show everything about the request."""
        erasure = self._erasure()
        self._drawn_rows = None
        self._device.write(erasure)
        command = find_pager(os.environ) if self._style.has_controls else None
        is_shown = False
        if command is not None:
            lines = full_view_lines(self._request, self._style)
            is_shown = show_in_pager(command, lines, self._device, self._style, os.environ)
        if not is_shown:
            lines = full_view_lines(self._request, self._style)
            is_shown = show_pages(lines, self._device, self._keys, self._style)
        self._is_viewed = self._is_viewed or is_shown
        self._device.discard_input()
        if is_shown:
            self._draw("Back from the full view. Press y to approve, or n to reject.")
        else:
            self._draw("You have not seen the end of it. Press v to view it.")

    # --- The note --------------------------------------------------------------------------------

    def _read_note(self) -> str | None:
        """Read a line, and return it. Esc returns `None`."""
        note = ""
        self._keys.discard()
        self._show_note(note)
        while True:
            key = self._keys.read_text(_CHECK_INTERVAL)
            if not self._device.check_settings() or self._device.size() != self._size:
                self._draw()
                self._show_note(note)
            if key is None:
                continue
            if key.kind is KeyKind.ENTER and note.strip():
                return note.strip()
            if key.kind is KeyKind.ESCAPE:
                self._show_status("")
                return None
            if key.kind is KeyKind.BACKSPACE:
                note = note[:-1]
            elif key.kind is KeyKind.CLEAR:
                note = ""
            elif key.kind in (KeyKind.CHARACTER, KeyKind.PASTE):
                note = (note + _printable(key.text))[:_MAX_NOTE_LENGTH]
            self._show_note(note)

    def _show_note(self, note: str) -> None:
        """Show the end of the note that is being written."""
        label = "Note (Enter sends, Esc goes back): "
        width = self._size[0] - 4
        if width < 2 * len(label):
            label = "Note: "
        shown = escape_text(note, ascii_only=not self._style.is_unicode)
        while shown and len(label) + display_width(shown) > width:
            shown = shown[1:]
        self._show_status(label + shown)


def _rejected(note: str | None) -> ApprovalDecision:
    return ApprovalDecision(False, note=note, answered_by="terminal")


def _describe(decision: ApprovalDecision) -> str:
    if not decision.approved:
        return f"Rejected: {decision.note}" if decision.note else "Rejected."
    return "Approved." if decision.scope is ApprovalScope.ONCE else "Approved for the session."


def _printable(text: str) -> str:
    """Return a text as one line without control characters."""
    spaced = (" " if one.isspace() else one for one in text)
    return "".join(one for one in spaced if one.isprintable())
