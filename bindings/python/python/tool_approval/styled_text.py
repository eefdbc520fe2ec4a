"""Text with styles, and its division into rows that fit a terminal without loss of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from .display_text import iter_glyphs

__all__ = [
    "BOLD",
    "DIM",
    "StyledLine",
    "TerminalStyle",
    "TextRow",
    "render_line",
    "wrap_line",
]

BOLD = "1"
DIM = "2"
_ESCAPED = "7"
"""Reverse video. It distinguishes an escaped character from the same text in the content."""


@dataclass(frozen=True)
class TerminalStyle:
    """The abilities of a terminal.

    Attributes:
        has_controls: True if it interprets escape sequences.
        has_colors: True if text may have colors and other attributes.
        is_unicode: True if it displays characters outside of ASCII.
    """

    has_controls: bool = True
    has_colors: bool = True
    is_unicode: bool = True

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> TerminalStyle:
        """Return the abilities that the variables `TERM`, `NO_COLOR`, `LC_ALL` etc. indicate."""
        has_controls = environment.get("TERM", "") not in ("", "dumb")
        return cls(
            has_controls=has_controls,
            has_colors=has_controls and not environment.get("NO_COLOR"),
            is_unicode=_is_unicode_locale(environment),
        )


def _is_unicode_locale(environment: Mapping[str, str]) -> bool:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        value = environment.get(name)
        if value:
            return "utf8" in value.lower().replace("-", "")
    return True


class StyledLine(NamedTuple):
    """One line of text with its styles.

    Attributes:
        text: The text, not escaped.
        styles: Pairs of a number of characters and the style of them, as the parameter of a
            terminal's SGR sequence. Characters behind the last pair have no style.
    """

    text: str
    styles: Sequence[tuple[int, str]] = ()

    @classmethod
    def from_text(cls, text: str, style: str) -> StyledLine:
        """Return a line with the same style everywhere."""
        return cls(text, ((len(text), style),))

    def with_prefix(self, prefix: str, style: str = "") -> StyledLine:
        """Return the line with a text before it."""
        return StyledLine(prefix + self.text, ((len(prefix), style), *self.styles))


class TextRow(NamedTuple):
    """One row of a terminal.

    Attributes:
        text: The text, escaped, with escape sequences for its style.
        width: The number of columns that the text occupies at most.
        starts_line: True if a line begins in this row. Otherwise, the row continues the line above.
        is_ascii: True if the width is certain on every terminal.
    """

    text: str
    width: int
    starts_line: bool = True
    is_ascii: bool = True


class _Cell(NamedTuple):
    shown: str
    width: int
    style: str


def wrap_line(line: StyledLine, width: int, style: TerminalStyle) -> Iterator[TextRow]:
    """Divide a line into rows. A row is filled, or ends after a space if one is near its end.

    Every character of the line is in one of the rows, and there is at least one row.
    """
    row: list[_Cell] = []
    used, starts_line = 0, True
    for cell in _cells(line, style):
        while row and used + cell.width > width:
            end = _row_end(row)
            yield _to_row(row[:end], starts_line, style)
            del row[:end]
            used, starts_line = sum(one.width for one in row), False
        row.append(cell)
        used += cell.width
    yield _to_row(row, starts_line, style)


def render_line(line: StyledLine, style: TerminalStyle) -> str:
    """Return a line as escaped text, with escape sequences for its style."""
    if line.text.isascii() and line.text.isprintable():
        return _render_plain(line, style)
    return _render_cells(_cells(line, style), style)


def _render_plain(line: StyledLine, style: TerminalStyle) -> str:
    """Do the same as `render_line` for a text without characters to escape, but faster."""
    if not style.has_colors or not line.styles:
        return line.text
    parts: list[str] = []
    start = 0
    for length, sgr in (*line.styles, (len(line.text), "")):
        text = line.text[start : start + length]
        start += length
        parts.append(f"\x1b[{sgr}m{text}\x1b[0m" if sgr and text else text)
    return "".join(parts)


def _cells(line: StyledLine, style: TerminalStyle) -> Iterator[_Cell]:
    styles = _iter_styles(line.styles)
    for glyph in iter_glyphs(line.text, keep_tabs=True, ascii_only=not style.is_unicode):
        own = next(styles, "")
        yield _Cell(glyph.shown, glyph.width, _ESCAPED if glyph.is_escaped else own)


def _iter_styles(styles: Iterable[tuple[int, str]]) -> Iterator[str]:
    for length, style in styles:
        for _ in range(length):
            yield style


def _row_end(row: Sequence[_Cell]) -> int:
    for index in range(len(row) - 1, len(row) // 2, -1):
        if row[index].shown == " ":
            return index + 1
    return len(row)


def _to_row(cells: Sequence[_Cell], starts_line: bool, style: TerminalStyle) -> TextRow:
    return TextRow(
        text=_render_cells(cells, style),
        width=sum(cell.width for cell in cells),
        starts_line=starts_line,
        is_ascii=all(cell.shown.isascii() for cell in cells),
    )


def _render_cells(cells: Iterable[_Cell], style: TerminalStyle) -> str:
    parts: list[str] = []
    for sgr, run in groupby(cells, key=lambda cell: cell.style):
        text = "".join(cell.shown for cell in run)
        parts.append(f"\x1b[{sgr}m{text}\x1b[0m" if sgr and style.has_colors else text)
    return "".join(parts)
