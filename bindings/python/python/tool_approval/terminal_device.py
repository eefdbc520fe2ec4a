"""The terminal of this process: its settings, its input, and who may use it."""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import os
import select
import signal
import termios
import threading
import time
from collections import deque
from collections.abc import Generator
from types import FrameType
from typing import Any

from .errors import ApprovalUnavailableError

__all__ = [
    "PromptTurns",
    "QuestionWithdrawnError",
    "TerminalDevice",
    "TerminalInterruptError",
    "WakePipe",
    "block_job_signals",
    "open_for_child",
    "prompt_turns",
    "restore_on_termination",
    "unblocked_job_signals",
]

_DEVICE = "/dev/tty"
"""The name of the controlling terminal of every process."""

_DEFAULT_SIZE = (80, 24)
"""The size of a terminal that does not know its size."""

_LOCK_INTERVAL = 0.1
"""The seconds between two attempts to lock a terminal that another process uses."""

_JOB_SIGNALS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
"""The signals that stop a process which uses its terminal in the background."""

_PSEUDO_TERMINALS = range(136, 144)
"""The major device numbers of pseudo terminals."""

_DISABLED_KEY = b"\0"
"""The setting of a key that has no effect."""

_PASTE_MARKS_ON = "\x1b[?2004h"
_PASTE_MARKS_OFF = "\x1b[?2004l"


class QuestionWithdrawnError(Exception):
    """The program that asked no longer waits for the answer."""


class TerminalInterruptError(Exception):
    """The reviewer pressed a key that sends a signal, such as Ctrl-C.

    Attributes:
        signal: The signal, which was not sent yet.
    """

    def __init__(self, signal_number: signal.Signals) -> None:
        super().__init__(signal_number.name)
        self.signal = signal_number

    @property
    def is_suspension(self) -> bool:
        """True if the key stops the job, as Ctrl-Z does."""
        return self.signal is signal.SIGTSTP


class WakePipe:
    """A pipe through which one thread wakes another that waits for a terminal."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_open = True
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def fileno(self) -> int:
        """Return the descriptor that is readable after `wake`."""
        return self._reader

    def wake(self) -> None:
        """Wake the thread. This does nothing if the pipe is closed."""
        with self._lock:
            if self._is_open:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._writer, b"w")

    def close(self) -> None:
        """Close the pipe."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                os.close(self._reader)
                os.close(self._writer)


class PromptTurns:
    """The order in which the threads of this process ask: one at a time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[WakePipe] = deque()

    @contextlib.contextmanager
    def turn(self, wake: WakePipe, withdrawn: threading.Event) -> Generator[None, None, None]:
        """Wait for a turn, and hold it.

        Raises:
            QuestionWithdrawnError: If `withdrawn` is set before.
        """
        with self._changed:
            self._waiting.append(wake)
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting[0] is wake or withdrawn.is_set())
            if withdrawn.is_set():
                raise QuestionWithdrawnError
            yield
        finally:
            with self._changed:
                self._waiting.remove(wake)
                self._changed.notify_all()

    def notify(self) -> None:
        """Let the waiting threads look whether their question was withdrawn."""
        with self._changed:
            self._changed.notify_all()


_turns = PromptTurns()
_devices: set[TerminalDevice] = set()
"""The terminals that are in raw mode, at most one."""


def prompt_turns() -> PromptTurns:
    """Return the turns of this process. A forked child has its own."""
    return _turns


def _reset_after_fork() -> None:
    """Give up what belongs to the threads of the parent, which a forked child does not have."""
    global _turns
    _turns = PromptTurns()
    for device in _devices:
        device.disown()
    _devices.clear()


os.register_at_fork(after_in_child=_reset_after_fork)


@atexit.register
def _restore_at_exit() -> None:
    for device in list(_devices):
        device.restore()


class TerminalDevice:
    """The controlling terminal of this process.

    All methods are called by one thread, except for `restore`.

    Args:
        wake: Ends the methods that wait, with `QuestionWithdrawnError`.
        marks_pastes: True if an escape sequence tells the terminal to mark pasted text.

    Raises:
        ApprovalUnavailableError: If there is no terminal, or the process is in its background.
    """

    def __init__(self, wake: WakePipe, *, marks_pastes: bool) -> None:
        self._wake = wake
        self._marks_pastes = marks_pastes
        self._lock_descriptor: int | None = None
        self._saved: list[Any] | None = None
        self._raw: list[Any] | None = None
        flags = os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            self._descriptor = os.open(_DEVICE, flags)
        except OSError as error:
            raise ApprovalUnavailableError(
                "approval required, but there is no terminal to ask on "
                f"({os.strerror(error.errno or 0)}): run the program in a terminal, or give the "
                "controller an engine and `wait`, so that `openoxide approve` can answer"
            ) from None

    # --- Use by one process at a time ------------------------------------------------------------

    def acquire(self) -> None:
        """Wait until no other process asks on this terminal, and enter raw mode."""
        self.check_foreground()
        if self._lock_descriptor is None:
            self._lock_descriptor = _open_lock()
        while not _try_lock(self._lock_descriptor):
            if self._poll(0, _LOCK_INTERVAL):
                raise QuestionWithdrawnError
            self.check_foreground()
        self._enter_raw_mode()

    def close(self) -> None:
        """Restore the settings, and close the terminal."""
        self.restore()
        _devices.discard(self)
        for descriptor in (self._lock_descriptor, self._descriptor):
            if descriptor is not None:
                os.close(descriptor)
        self._lock_descriptor = None

    def disown(self) -> None:
        """Give up the lock in a forked child, where it belongs to the parent."""
        if self._lock_descriptor is not None:
            os.close(self._lock_descriptor)
            self._lock_descriptor = None
        self._saved = None

    def check_foreground(self) -> None:
        """Check that this process may use the terminal.

        Raises:
            ApprovalUnavailableError: If it may not.
        """
        try:
            is_foreground = os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:
            raise _closed() from None
        if not is_foreground:
            raise ApprovalUnavailableError(
                "approval required, but the program runs in the background of its terminal: bring "
                "it to the foreground with `fg`, and repeat the call"
            )

    # --- Settings --------------------------------------------------------------------------------

    def size(self) -> tuple[int, int]:
        """Return the number of columns and rows."""
        try:
            columns, rows = os.get_terminal_size(self._descriptor)
        except OSError:
            return _DEFAULT_SIZE
        return columns or _DEFAULT_SIZE[0], rows or _DEFAULT_SIZE[1]

    def check_settings(self) -> bool:
        """Return whether the settings are still those of raw mode. If not, enter it again.

        Another program changes them if this process was stopped and continued.

        Raises:
            ApprovalUnavailableError: If the process is in the background, or the terminal closed.
        """
        self.check_foreground()
        is_raw = self._settings() == self._raw
        if not is_raw:
            self._enter_raw_mode()
        return is_raw

    def _enter_raw_mode(self) -> None:
        settings = self._settings()
        if self._saved is None or settings != self._raw:
            self._saved = settings
        _devices.add(self)
        self._apply(_raw_settings(self._saved))
        self._raw = self._settings()
        if self._marks_pastes:
            self.write(_PASTE_MARKS_ON)

    def _settings(self) -> list[Any]:
        try:
            return termios.tcgetattr(self._descriptor)
        except termios.error:
            raise _closed() from None

    def _apply(self, settings: list[Any]) -> None:
        try:
            termios.tcsetattr(self._descriptor, termios.TCSANOW, settings)
        except termios.error:
            raise _closed() from None

    def lend(self) -> None:
        """Set the terminal up for a child process of the same job, until `reclaim`.

        Ctrl-Z has no effect then: it would stop this process, but perhaps not the child.
        """
        if self._marks_pastes:
            self.write(_PASTE_MARKS_OFF)
        self._apply(_without_suspension(self._saved or self._settings()))

    def reclaim(self) -> None:
        """Return to raw mode after `lend`.

        Raises:
            ApprovalUnavailableError: If the process is in the background, or the terminal closed.
        """
        self.check_foreground()
        self._apply(_raw_settings(self._saved or self._settings()))
        if self._marks_pastes:
            self.write(_PASTE_MARKS_ON)

    def restore(self) -> None:
        """Restore the settings, and let other processes ask.

        In the background, the settings belong to another process, so they are not changed.
        """
        saved, self._saved = self._saved, None
        if saved is None:
            return
        with contextlib.suppress(OSError, termios.error, ApprovalUnavailableError):
            self.check_foreground()
            if self._marks_pastes:
                self.write_last(_PASTE_MARKS_OFF)
            # Keys that were typed after the answer are not input for other programs.
            termios.tcflush(self._descriptor, termios.TCIFLUSH)
            termios.tcsetattr(self._descriptor, termios.TCSANOW, saved)
        if self._lock_descriptor is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(self._lock_descriptor, fcntl.LOCK_UN)

    def control_keys(self) -> dict[bytes, signal.Signals]:
        """Return the keys that send signals, as the user has configured them."""
        keys = (
            (termios.VINTR, signal.SIGINT),
            (termios.VQUIT, signal.SIGQUIT),
            (termios.VSUSP, signal.SIGTSTP),
        )
        characters: list[bytes] = self._saved[6] if self._saved is not None else []
        found = {characters[index]: number for index, number in keys if characters}
        found.pop(_DISABLED_KEY, None)
        return found

    def suspend(self) -> None:
        """Stop this job, as Ctrl-Z does, and return when it continues.

        Raises:
            ApprovalUnavailableError: If it continues in the background.
        """
        self.restore()
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        # Another thread takes the signal, which stops this thread a moment later.
        deadline = time.monotonic() + 1
        while signal.SIGTSTP in signal.sigpending() and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(0.05)
        self.acquire()

    # --- Input and output ------------------------------------------------------------------------

    def write(self, text: str) -> None:
        """Write a text, which must be escaped.

        Raises:
            QuestionWithdrawnError: If the terminal does not accept it, and the question is
                withdrawn.
            ApprovalUnavailableError: If the terminal closed.
        """
        data = text.encode("utf-8", "replace")
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:
                if self._poll(select.POLLOUT, None):
                    raise QuestionWithdrawnError from None
            except OSError:
                raise _closed() from None

    def write_last(self, text: str) -> None:
        """Write a text if the terminal accepts it at once. This does not fail."""
        with contextlib.suppress(OSError):
            os.write(self._descriptor, text.encode("utf-8", "replace"))

    def discard_input(self) -> None:
        """Discard what was typed until now."""
        with contextlib.suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def read(self, timeout: float) -> bytes:
        """Return input, or nothing if there is none within this number of seconds.

        Raises:
            QuestionWithdrawnError: If the question is withdrawn.
            ApprovalUnavailableError: If the terminal closed.
        """
        if self._poll(select.POLLIN, timeout):
            raise QuestionWithdrawnError
        try:
            data = os.read(self._descriptor, 4096)
        except BlockingIOError:
            return b""
        except OSError as error:
            if error.errno == errno.EIO:
                self.check_foreground()
            raise _closed() from None
        if not data:
            raise _closed()
        return data

    def wait_for_withdrawal(self, timeout: float) -> bool:
        """Return whether the question is withdrawn within this number of seconds."""
        return self._poll(0, timeout)

    def _poll(self, events: int, timeout: float | None) -> bool:
        """Wait for the terminal, and return whether the question is withdrawn."""
        poll = select.poll()
        poll.register(self._wake.fileno(), select.POLLIN)
        if events:
            poll.register(self._descriptor, events)
        found = poll.poll(None if timeout is None else timeout * 1000)
        return any(descriptor == self._wake.fileno() for descriptor, _ in found)


def open_for_child() -> int:
    """Open the terminal for a child process, which expects reads and writes to wait."""
    return os.open(_DEVICE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)


def block_job_signals() -> None:
    """Let calls of this thread fail in the background, instead of stopping the process."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _JOB_SIGNALS)


@contextlib.contextmanager
def unblocked_job_signals() -> Generator[None, None, None]:
    """Undo `block_job_signals` while a child process is started, which inherits it."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _JOB_SIGNALS)
    try:
        yield
    finally:
        block_job_signals()


def _raw_settings(settings: list[Any]) -> list[Any]:
    """Return the settings in which every key is read at once, and is not shown."""
    raw: list[Any] = [*settings[:6], list(settings[6])]
    raw[0] &= ~(termios.IXON | termios.ICRNL | termios.INLCR | termios.IGNCR | termios.ISTRIP)
    raw[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
    raw[6][termios.VMIN] = 1
    raw[6][termios.VTIME] = 0
    return raw


def _without_suspension(settings: list[Any]) -> list[Any]:
    """Return the settings in which no key stops the job."""
    changed: list[Any] = [*settings[:6], list(settings[6])]
    changed[6][termios.VSUSP] = _DISABLED_KEY
    return changed


def _open_lock() -> int:
    """Open the device whose lock tells other processes that a question is open on it."""
    flags = os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    for name in _device_names():
        with contextlib.suppress(OSError):
            return os.open(name, flags)
    # The terminal has no name here, or belongs to another user. This device is shared by all
    # terminals, so questions on other terminals may wait, too.
    return os.open(_DEVICE, flags)


def _device_names() -> list[str]:
    """Return the names that the terminal may have. Every process has its own `/dev/tty`."""
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            # The name of the program, in parentheses, may contain anything.
            device = int(file.read().rpartition(")")[2].split()[4]) & 0xFFFFFFFF
    except (OSError, ValueError, IndexError):
        return []
    major, minor = os.major(device), os.minor(device)
    names = [f"/dev/char/{major}:{minor}"]
    if major in _PSEUDO_TERMINALS:
        names.insert(0, f"/dev/pts/{(major - _PSEUDO_TERMINALS.start) * 256 + minor}")
    return names


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise ApprovalUnavailableError(
            f"approval required, but the terminal cannot be locked: {error.strerror}"
        ) from None
    return True


def _closed() -> ApprovalUnavailableError:
    return ApprovalUnavailableError(
        "the terminal was closed before there was an answer: run the program in a terminal, and "
        "repeat the call"
    )


# --- Signals that end the process ----------------------------------------------------------------

_guards = 0
"""The number of questions for which the main thread handles SIGTERM."""


@contextlib.contextmanager
def restore_on_termination() -> Generator[None, None, None]:
    """Restore the terminal if SIGTERM ends the process.

    This applies only in the main thread, and only if the program does not handle SIGTERM itself.
    """
    global _guards
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if _guards == 0 and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _handle_termination)
    _guards += 1
    try:
        yield
    finally:
        _guards -= 1
        # The garbage collector can end this block in another thread.
        is_main = threading.current_thread() is threading.main_thread()
        is_own = signal.getsignal(signal.SIGTERM) is _handle_termination
        if _guards == 0 and is_main and is_own:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _handle_termination(number: int, _frame: FrameType | None) -> None:
    for device in list(_devices):
        device.restore()
        device.write_last("\r\n")
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
