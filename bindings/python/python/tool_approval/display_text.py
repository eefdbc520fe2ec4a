"""Escaping of text for display, and its width on a terminal.

Every text from a model, a tool or a file passes through this module before it reaches a terminal.
Characters that could control the terminal or deceive a reader are replaced by their numbers. The
module does not handle letters that only look similar (a Cyrillic `а`), nor the order in which a
terminal displays Hebrew or Arabic letters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Glyph", "display_width", "escape_text", "iter_glyphs"]

_TAB_SPACES = "    "
"""The spaces that replace a tab if lines are kept."""

_MAX_MARKS_PER_LETTER = 2
"""The number of marks on one letter. More marks could paint over other lines."""


class Glyph(NamedTuple):
    """One character as it is displayed.

    Attributes:
        shown: The text that is displayed for the character.
        width: The number of columns that the text occupies at most.
        is_escaped: True if `shown` is the number of the character.
    """

    shown: str
    width: int
    is_escaped: bool


def escape_text(text: str, *, keep_lines: bool = False, ascii_only: bool = False) -> str:
    r"""Return a text with every character that could control a terminal replaced by its number.

    These are control characters, characters that change the direction of the text, characters
    without width, spaces other than the ordinary one, line separators, variation selectors,
    private-use and unassigned characters, and marks without a letter.

    Args:
        text: The text.
        keep_lines: True if line feeds begin a line and tabs are shown as four spaces. Otherwise,
            they are shown as `\n` and `\t`.
        ascii_only: True if every character outside of ASCII is replaced, too.

    Example:
        ```python
        >>> from tool_approval.display_text import escape_text
        >>> print(escape_text("ls\x1b[2J\u202e"))
        ls\x1b[2J\u{202e}
        >>> print(escape_text("ls\n\tpwd"))
        ls\n\tpwd

        ```
    """
    if not keep_lines:
        return "".join(glyph.shown for glyph in iter_glyphs(text, ascii_only=ascii_only))
    return "\n".join(
        "".join(
            glyph.shown for glyph in iter_glyphs(line, keep_tabs=True, ascii_only=ascii_only)
        )
        for line in text.split("\n")
    )


def display_width(text: str) -> int:
    """Return the number of columns that an escaped text occupies at most."""
    if text.isascii():
        return len(text)
    return sum(_classify(character)[1] for character in text)


def iter_glyphs(
    text: str, *, keep_tabs: bool = False, ascii_only: bool = False
) -> Iterator[Glyph]:
    """Iterate over the characters of a text as they are displayed."""
    room_for_marks = 0
    for character in text:
        kind, width = _classify(character)
        if kind is _Kind.PLAIN:
            room_for_marks = 0
        elif kind is _Kind.LETTER:
            room_for_marks = _MAX_MARKS_PER_LETTER
        elif kind is _Kind.MARK and room_for_marks:
            room_for_marks -= 1
        else:
            kind, room_for_marks = _Kind.UNSAFE, 0
        if kind is not _Kind.UNSAFE and not (ascii_only and not character.isascii()):
            yield Glyph(character, width, False)
        elif character == "\t" and keep_tabs:
            yield Glyph(_TAB_SPACES, len(_TAB_SPACES), False)
        else:
            escaped = _escape_character(character)
            yield Glyph(escaped, len(escaped), True)


def _escape_character(character: str) -> str:
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{{{code:x}}}"


class _Kind(Enum):
    """How a character may be displayed."""

    PLAIN = "plain"
    """It may be shown anywhere."""
    LETTER = "letter"
    """It may be shown anywhere, and marks may follow."""
    MARK = "mark"
    """It is drawn onto the letter before it."""
    UNSAFE = "unsafe"
    """It is never shown."""


@lru_cache(maxsize=4096)
def _classify(character: str) -> tuple[_Kind, int]:
    """Return the kind of a character and the number of columns that it occupies at most."""
    if character.isascii():
        kind = _Kind.LETTER if character.isalpha() else _Kind.PLAIN
        return (kind, 1) if character.isprintable() else (_Kind.UNSAFE, 0)
    code = ord(character)
    if not character.isprintable() or _is_invisible(code):
        return _Kind.UNSAFE, 0
    category = unicodedata.category(character)
    if category in ("Mn", "Me"):
        return (_Kind.UNSAFE, 0) if _paints_over(code) else (_Kind.MARK, 0)
    width = 2 if _is_wide(character, code) else 1
    is_letter = character.isalpha() or category in ("Mc", "Nl")
    return (_Kind.LETTER if is_letter else _Kind.PLAIN), width


def _is_wide(character: str, code: int) -> bool:
    may_be_wide = any(first <= code <= last for first, last in _DISPUTED_RANGES)
    return may_be_wide or unicodedata.east_asian_width(character) in ("W", "F")


def _paints_over(code: int) -> bool:
    """Return whether a mark strikes out or encloses a letter."""
    return 0x334 <= code <= 0x338 or code in (0x488, 0x489) or 0x20D0 <= code <= 0x20FF


_DISPUTED_RANGES = (
    (0x2630, 0x2637),  # trigrams
    (0x268A, 0x268F),  # monograms and digrams
    (0x4DC0, 0x4DFF),  # hexagrams
    (0x1D300, 0x1D376),  # symbols of the Tai Xuan Jing, and counting rods
    (0x1F1E6, 0x1F1FF),  # regional indicators
)
"""Characters that are one column wide on some terminals and two on others."""

_INVISIBLE_RANGES = (
    (0x34F, 0x34F),  # combining grapheme joiner
    (0x115F, 0x11FF),  # Hangul filler; vowels and final consonants, which join the letter before
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian variation selectors
    (0x2800, 0x2800),  # Braille blank
    (0x3164, 0x3164),  # Hangul filler
    (0xD7B0, 0xD7FF),  # Hangul vowels and final consonants
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFFA0, 0xFFA0),  # half-width Hangul filler
    (0xFFFC, 0xFFFC),  # object replacement character
    (0x1D159, 0x1D159),  # musical null notehead
    (0xE0100, 0xE01EF),  # variation selectors
)
"""Characters that Unicode classifies as printable but that may be drawn without a shape."""


def _is_invisible(code: int) -> bool:
    return any(first <= code <= last for first, last in _INVISIBLE_RANGES)
