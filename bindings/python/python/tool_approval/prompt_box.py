"""The box in which a request is shown, and the full view of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, cast

from .content_lines import content_lines, note_lines, whole_content
from .display_text import display_width, escape_text
from .presentation import to_json
from .styled_text import BOLD, DIM, StyledLine, TerminalStyle, TextRow, wrap_line
from .types import ApprovalPresentation, ApprovalRequest

__all__ = ["BoxRenderer", "PromptBox", "full_view_lines"]

_MIN_FRAMED_COLUMNS = 24
"""The width of a terminal from which on the box has a frame."""
_PREFERRED_COLUMNS = 80
"""The width of a box whose content is short, if the terminal has room for it."""
_MAX_COLUMNS = 140
"""The width of the widest box."""
_STATUS_ROWS = 1
"""The rows below the box."""
_BORDER_ROWS = 3
"""The rows of the border: at the top, above the keys, and at the bottom."""
_MIN_BODY_ROWS = 3
"""The rows for the request on a terminal that is too small for the whole box."""
_PREFERRED_BODY_ROWS = 8
"""The rows for the request that are more important than the rows about the session."""
_MAX_SHOWN_VALUE = 60
"""The number of characters up to which a value is in the line about the session."""
_MAX_SESSION_ROWS = 2
"""The rows about the session."""

_KEYS = (
    ("y", "Approve"),
    ("n", "Reject"),
    ("s", "Session"),
    ("v", "View full"),
    ("m", "Reject with note"),
)


@dataclass(frozen=True)
class PromptBox:
    """A box that is ready to be written to a terminal.

    Attributes:
        rows: The rows of the terminal, without line ends.
        hides_request: True if a part of the request is not in the box.
        hides_session_scope: True if the calls that a session approval would apply to are not in
            the box.
    """

    rows: list[str]
    hides_request: bool
    hides_session_scope: bool


class BoxRenderer:
    """Renders the box for a request, at any size.

    Args:
        request: The request, with a finished presentation.
        style: The abilities of the terminal.
    """

    def __init__(self, request: ApprovalRequest, style: TerminalStyle) -> None:
        self._request = request
        self._style = style
        self._body = _Body(request, style)

    def render(self, columns: int, rows: int) -> PromptBox:
        """Return the box for a terminal of this size.

        The box and the row below it are not higher than a terminal that has at least 9 rows. The
        box says how many lines it leaves out.
        """
        request, style = self._request, self._style
        frame = _Frame.fit(columns, self._body.longest_line(rows), style)
        width = frame.width
        keys = list(_key_rows(width, style))
        session, hides_session = _session_rows(request, width, style)
        room = rows - _STATUS_ROWS - _BORDER_ROWS - len(keys)
        shown = self._body.fit(width, max(_MIN_BODY_ROWS, room - len(session)))
        if shown.is_cut and room - len(session) < _PREFERRED_BODY_ROWS:
            session, hides_session = [], True
            shown = self._body.fit(width, max(_MIN_BODY_ROWS, room))
        title, is_title_cut = frame.title(request.tool_name)
        out = [title, *(_render_item(item, frame) for item in shown.items)]
        out.append(frame.separator(shown.describe_omission(width)))
        out.extend(frame.row(row) for row in (*session, *keys))
        out.append(frame.bottom())
        return PromptBox(out, shown.is_cut or is_title_cut, hides_session)


def _render_item(item: TextRow | _Separator, frame: _Frame) -> str:
    return frame.separator(item.note) if isinstance(item, _Separator) else frame.row(item)


def full_view_lines(request: ApprovalRequest, style: TerminalStyle) -> Iterator[StyledLine]:
    """Return everything about a request, for a pager."""
    yield StyledLine.from_text(_in_one_line(request.tool_name), BOLD)
    yield from _full_request_lines(request, style)
    yield StyledLine("")
    yield StyledLine("[s] also allows later calls of the same tool with exactly these arguments:")
    for part in _parts(request) or [request]:
        yield from _session_lines(part)


def _full_request_lines(request: ApprovalRequest, style: TerminalStyle) -> Iterator[StyledLine]:
    yield StyledLine(_in_one_line(request.description))
    shown = request.presentation
    parts = _parts(request)
    if parts:
        for number, part in enumerate(parts, start=1):
            yield StyledLine("")
            heading = f"{number} of {len(parts)}: {_in_one_line(part.tool_name)}"
            yield StyledLine.from_text(heading, BOLD)
            yield from _full_request_lines(part, style)
    elif shown is not None:
        yield from note_lines(shown)
        content, other = whole_content(shown)
        yield StyledLine("")
        # The content is indented, so that it cannot look like a heading.
        yield from (line.with_prefix("  ") for line in content_lines(shown, content, style))
        if other is not None:
            yield StyledLine("")
            yield StyledLine("The full content:")
            plain = shown.model_copy(update={"type": "text"})
            yield from (line.with_prefix("  ") for line in content_lines(plain, other, style))


# --- The body ------------------------------------------------------------------------------------


class _Separator(NamedTuple):
    """A horizontal line with a note in it."""

    note: str


@dataclass(frozen=True)
class _ShownBody:
    """The part of a request that fits into the box."""

    items: list[TextRow | _Separator]
    is_cut: bool
    shown_lines: int
    total_lines: int

    def describe_omission(self, width: int) -> str:
        """Return the note about the lines that are left out."""
        if not self.is_cut:
            return ""
        if self.shown_lines >= self.total_lines:
            return "there is more: press v"
        counts = f"{self.shown_lines:,} of {self.total_lines:,} lines"
        note = f"{counts} shown: press v for the rest"
        return note if len(note) + 4 <= width else f"{counts}: press v"


class _Body:
    """The description and the content of a request."""

    def __init__(self, request: ApprovalRequest, style: TerminalStyle) -> None:
        self._style = style
        self._head = [StyledLine(_in_one_line(request.description))]
        self._sections: list[tuple[str, list[StyledLine]]] = []
        self._has_more = False
        parts = _parts(request)
        for number, part in enumerate(parts, start=1):
            heading = f"{number} of {len(parts)}: {part.tool_name}"
            description = StyledLine.from_text(_in_one_line(part.description), BOLD)
            shown = part.presentation
            notes = note_lines(shown) if shown is not None else []
            self._sections.append((heading, [description, *notes, *self._content(shown)]))
        if not parts and request.presentation is not None:
            self._head.extend(note_lines(request.presentation))
            lines = self._content(request.presentation)
            if lines:
                self._sections.append(("", lines))

    def _content(self, shown: ApprovalPresentation | None) -> list[StyledLine]:
        if shown is None:
            return []
        content, other = whole_content(shown)
        self._has_more = self._has_more or other is not None
        return content_lines(shown, content, self._style)

    def longest_line(self, count: int) -> int:
        """Return the length of the longest of the first lines."""
        lines = (*self._head, *(line for _, lines in self._sections for line in lines[:count]))
        return max(len(line.text) for line in lines)

    def fit(self, width: int, room: int) -> _ShownBody:
        """Return the rows that fit into a box."""
        head_room = max(2, room // 2) if self._sections else room
        items: list[TextRow | _Separator] = list(
            islice(self._wrap(self._head, width), head_room + 1)
        )
        is_cut = len(items) > head_room
        del items[head_room:]
        shown_lines = 0
        for heading, lines in self._sections:
            rows = self._wrap(lines, width)
            # A separator without a row below it would be of no use.
            if room - len(items) >= 2:
                items.append(_Separator(heading))
                rows_shown = list(islice(rows, room - len(items)))
                items.extend(rows_shown)
                shown_lines += sum(row.starts_line for row in rows_shown)
            is_cut = is_cut or next(rows, None) is not None
        is_cut = is_cut or self._has_more
        total_lines = sum(len(lines) for _, lines in self._sections)
        return _ShownBody(items, is_cut, shown_lines, total_lines)

    def _wrap(self, lines: Iterable[StyledLine], width: int) -> Iterator[TextRow]:
        for line in lines:
            yield from wrap_line(line, width, self._style)


def _parts(request: ApprovalRequest) -> list[ApprovalRequest]:
    """Return the requests of a group, or nothing if the request is a single one."""
    parts = request.presentation.metadata.get("parts") if request.presentation else None
    if not isinstance(parts, list):
        return []
    try:
        return [ApprovalRequest.model_validate(part) for part in cast("list[object]", parts)]
    except TypeError:
        return []  # The metadata of a tool that is not a group. The content is shown.


# --- Keys ----------------------------------------------------------------------------------------


def _key_rows(width: int, style: TerminalStyle) -> Iterator[TextRow]:
    line, room = StyledLine(""), width
    for key, label in _KEYS:
        text = f"[{key}] {label}"
        if line.text and len(text) + 2 > room:
            yield from wrap_line(line, width, style)
            line, room = StyledLine(""), width
        gap = "  " if line.text else ""
        styles = (*line.styles, (len(gap), ""), (3, BOLD), (len(label) + 1, ""))
        line = StyledLine(f"{line.text}{gap}{text}", styles)
        room = width - len(line.text)
    yield from wrap_line(line, width, style)


def _session_lines(request: ApprovalRequest) -> Iterator[StyledLine]:
    """Return the tool and the arguments that a session approval would apply to, whole."""
    yield StyledLine(f"  {_in_one_line(request.tool_name)}")
    content = _shown_content(request)
    for key, value in request.payload.items():
        is_shown = isinstance(value, str) and len(value) > _MAX_SHOWN_VALUE and value in content
        if is_shown:
            yield StyledLine(f"    {_in_one_line(str(key))}: as shown above")
        elif isinstance(value, str) and "\n" in value:
            yield StyledLine(f"    {_in_one_line(str(key))}:")
            yield from (StyledLine(f"      {line}") for line in value.split("\n"))
        else:
            lines = f"{_in_one_line(str(key))}: {to_json(value, indent=2)}".split("\n")
            yield from (StyledLine(f"    {line}") for line in lines)


def _shown_content(request: ApprovalRequest) -> str:
    shown = request.presentation
    return whole_content(shown)[0] if shown is not None else ""


def _in_one_line(text: str) -> str:
    return text.replace("\n", "\\n")


def _session_rows(
    request: ApprovalRequest, width: int, style: TerminalStyle
) -> tuple[list[TextRow], bool]:
    """Return the rows about the calls that a session approval would apply to.

    The second value is true if they do not name all of them.
    """
    text, is_cut = _describe_session(request)
    line = StyledLine.from_text(text, DIM)
    rows = list(islice(wrap_line(line, width, style), _MAX_SESSION_ROWS + 1))
    return rows[:_MAX_SESSION_ROWS], is_cut or len(rows) > _MAX_SESSION_ROWS


def _describe_session(request: ApprovalRequest) -> tuple[str, bool]:
    shown = request.presentation
    parts = _parts(request)
    if parts:
        return "[s] also allows later calls that equal one of these", True
    calls = f"[s] also allows later {request.tool_name} calls"
    if not request.payload:
        return calls, False
    if shown is not None and shown.content == to_json(request.payload, indent=2):
        return f"{calls} with these arguments", False
    content = _shown_content(request)
    pairs: list[str] = []
    is_cut = False
    for key, value in request.payload.items():
        text = to_json(value)
        if len(text) > _MAX_SHOWN_VALUE:
            is_shown = isinstance(value, str) and value in content
            is_cut = is_cut or not is_shown
            text = "as shown" if is_shown else f"({len(text):,} characters)"
        pairs.append(f"{key}={text}")
    return f"{calls} with {', '.join(pairs)}", is_cut


# --- The frame -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Frame:
    """The border of a box.

    Attributes:
        columns: The width of the box, with its border.
        width: The width of the content.
        is_framed: True if there is a border. A very narrow terminal has no room for one.
    """

    columns: int
    width: int
    is_framed: bool
    style: TerminalStyle

    @classmethod
    def fit(cls, columns: int, longest_line: int, style: TerminalStyle) -> _Frame:
        """Return the frame for a terminal of this width."""
        if columns < _MIN_FRAMED_COLUMNS:
            columns = max(columns, 2)
            return cls(columns, columns - 1, False, style)
        wanted = min(max(longest_line + 4, _PREFERRED_COLUMNS), _MAX_COLUMNS)
        columns = min(columns, wanted)
        return cls(columns, columns - 4, True, style)

    def title(self, text: str) -> tuple[str, bool]:
        """Return the top border with a title, and whether the title is cut."""
        text = escape_text(text, ascii_only=not self.style.is_unicode)
        shown, is_cut = self._shorten(text, self.columns - 6 if self.is_framed else self.columns)
        if not self.is_framed:
            return self._styled(shown, BOLD), is_cut
        line = self._line(self.columns - 5 - display_width(shown))
        start, end = ("┌─", "┐") if self.style.is_unicode else ("+-", "+")
        return f"{start} {self._styled(shown, BOLD)} {line}{self._to_edge(shown)}{end}", is_cut

    def separator(self, note: str) -> str:
        """Return a horizontal line with a note."""
        start, end = ("├", "┤") if self.style.is_unicode else ("+", "+")
        if not self.is_framed:
            start = end = ""
        room = self.columns - len(start) - len(end)
        if not note:
            return f"{start}{self._line(room)}{end}"
        note, _ = self._shorten(
            escape_text(note, ascii_only=not self.style.is_unicode), max(1, room - 4)
        )
        line = self._line(max(0, room - 3 - display_width(note)))
        styled = self._styled(note, BOLD)
        return f"{start}{self._line(1)} {styled} {line}{self._to_edge(note)}{end}"

    def row(self, row: TextRow) -> str:
        """Return a row of the content, with a mark if it continues the row above."""
        mark = " " if row.starts_line else ("↪" if self.style.is_unicode else "\\")
        if not self.is_framed:
            return f"{mark}{row.text}"
        edge = "│" if self.style.is_unicode else "|"
        if not row.is_ascii and self.style.has_controls:
            # Terminals disagree about the width of some characters.
            return f"{edge}{mark}{row.text}{self._to_last_column()}{edge}"
        return f"{edge}{mark}{row.text}{' ' * (self.width - row.width + 1)}{edge}"

    def bottom(self) -> str:
        """Return the bottom border."""
        start, end = ("└", "┘") if self.style.is_unicode else ("+", "+")
        if not self.is_framed:
            return self._line(self.columns)
        return f"{start}{self._line(self.columns - 2)}{end}"

    def _line(self, length: int) -> str:
        return ("─" if self.style.is_unicode else "-") * length

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.style.has_colors else text

    def _to_edge(self, text: str) -> str:
        """Return what moves the cursor to the last column of the box behind this text."""
        if text.isascii() or not self.is_framed or not self.style.has_controls:
            return ""
        return self._to_last_column()

    def _to_last_column(self) -> str:
        return f"\x1b[{self.columns}G"

    def _shorten(self, text: str, width: int) -> tuple[str, bool]:
        if display_width(text) <= width:
            return text, False
        end = "…" if self.style.is_unicode else "..."
        while text and display_width(text) + len(end) > width:
            text = text[:-1]
        return text + end, True
