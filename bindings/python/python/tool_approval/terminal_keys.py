"""The keys that a reviewer presses at a terminal."""

from __future__ import annotations

import time
from collections import deque
from enum import Enum
from typing import NamedTuple

from .terminal_device import TerminalDevice, TerminalInterruptError

__all__ = ["Key", "KeyKind", "KeyReader"]

_BURST_INTERVAL = 0.025
"""The seconds between two keys. Keys that arrive faster were not pressed one by one."""

_ESCAPE_INTERVAL = 0.05
"""The seconds within which the rest of an escape sequence arrives."""

_PASTE_INTERVAL = 1.0
"""The seconds within which the rest of a paste arrives."""

_PASTE_START = b"\x1b[200~"
_PASTE_END = b"\x1b[201~"
_ENTER = (b"\r", b"\n")
_END_OF_INPUT = b"\x04"


class KeyKind(Enum):
    """The kinds of input."""

    CHARACTER = "character"
    """A single character."""
    ENTER = "enter"
    ESCAPE = "escape"
    """Esc, or Ctrl-D, which ends the input."""
    BACKSPACE = "backspace"
    CLEAR = "clear"
    """Ctrl-U, which clears a line."""
    REDRAW = "redraw"
    """Ctrl-L, which draws the screen again."""
    PASTE = "paste"
    """Several characters at once."""
    OTHER = "other"
    """A key without a character, such as an arrow key."""


class Key(NamedTuple):
    """An input of the reviewer.

    Attributes:
        kind: The kind of input.
        text: The character, or the pasted text.
    """

    kind: KeyKind
    text: str = ""


_SINGLE_KEYS = {
    b"\r": KeyKind.ENTER,
    b"\n": KeyKind.ENTER,
    b"\x1b": KeyKind.ESCAPE,
    _END_OF_INPUT: KeyKind.ESCAPE,
    b"\x7f": KeyKind.BACKSPACE,
    b"\x08": KeyKind.BACKSPACE,
    b"\x15": KeyKind.CLEAR,
    b"\x0c": KeyKind.REDRAW,
}


class KeyReader:
    """Reads keys from a terminal in raw mode."""

    def __init__(self, device: TerminalDevice) -> None:
        self._device = device
        self._typed: deque[Key] = deque()
        """The keys of a text that were read and not returned yet."""

    def read(self, timeout: float) -> Key | None:
        """Return the next input, or `None` if there is none within this number of seconds.

        A character counts only if no other arrives at the same time, so a paste does not answer.
        An Enter after it is ignored: it may be part of an answer by line.

        Raises:
            TerminalInterruptError: If the key sends a signal.
            QuestionWithdrawnError: If the question is withdrawn.
            ApprovalUnavailableError: If the terminal closed.
        """
        data = self._device.read(timeout)
        if not data:
            return None
        data = self._read_burst(data)
        if data.startswith(_PASTE_START):
            return Key(KeyKind.PASTE, self._read_paste(data[len(_PASTE_START) :]))
        self._check_signals(data)
        return _parse_key(data)

    def read_text(self, timeout: float) -> Key | None:
        """Do the same as `read` for a text, of which characters may arrive at any speed."""
        if self._typed:
            return self._typed.popleft()
        data = self._device.read(timeout)
        if not data:
            return None
        data = self._read_burst(data)
        if data.startswith(_PASTE_START):
            return Key(KeyKind.PASTE, self._read_paste(data[len(_PASTE_START) :]))
        self._check_signals(data)
        if data.startswith(b"\x1b"):
            return Key(KeyKind.ESCAPE if data == b"\x1b" else KeyKind.OTHER)
        for character in data.decode("utf-8", "replace"):
            kind = _SINGLE_KEYS.get(character.encode(), KeyKind.CHARACTER)
            self._typed.append(Key(kind, character))
        return self._typed.popleft()

    def discard(self) -> None:
        """Discard the keys of a text that were not returned."""
        self._typed.clear()

    def _read_burst(self, data: bytes) -> bytes:
        """Return the input together with what arrives at the same time."""
        while True:
            pause = _ESCAPE_INTERVAL if data.endswith(b"\x1b") else _BURST_INTERVAL
            more = self._device.read(pause)
            if not more:
                return data
            data += more

    def _read_paste(self, data: bytes) -> str:
        end = time.monotonic() + _PASTE_INTERVAL
        while _PASTE_END not in data and time.monotonic() < end:
            more = self._device.read(_PASTE_INTERVAL)
            if more:
                data += more
                end = time.monotonic() + _PASTE_INTERVAL
        return data.split(_PASTE_END)[0].decode("utf-8", "replace")

    def _check_signals(self, data: bytes) -> None:
        for key, number in self._device.control_keys().items():
            if key in data:
                raise TerminalInterruptError(number)


def _parse_key(data: bytes) -> Key:
    kind = _SINGLE_KEYS.get(data)
    if kind is not None:
        return Key(kind)
    if data.startswith(b"\x1b"):
        return Key(KeyKind.OTHER)
    text = data.decode("utf-8", "replace")
    answer = text[:-1] if data.endswith(_ENTER) else text
    if len(answer) == 1 and answer.isprintable():
        return Key(KeyKind.CHARACTER, answer)
    return Key(KeyKind.PASTE, text) if len(text) > 1 else Key(KeyKind.OTHER)
