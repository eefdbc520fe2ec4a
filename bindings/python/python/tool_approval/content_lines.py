"""The content of a presentation as styled lines, by its type."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, cast

from .presentation import presentation_notes
from .styled_text import BOLD, DIM, StyledLine, TerminalStyle
from .truncation import split_truncated
from .types import ApprovalPresentation

__all__ = ["content_lines", "note_lines", "whole_content"]

_ADDED = "32"
_REMOVED = "31"
_HUNK = "36"

_MAX_HIGHLIGHTED = 1 << 16
"""The number of characters that are highlighted. The time for it depends on the content."""


def whole_content(presentation: ApprovalPresentation) -> tuple[str, str | None]:
    """Return the content to show, and the full content if it is another text.

    If the content is the truncated beginning of the full content, the full content is shown as far
    as there is room.
    """
    content = presentation.content
    whole = presentation.metadata.get("full_content")
    if not isinstance(whole, str) or whole == content:
        return content, None
    beginning, is_truncated = split_truncated(content)
    if is_truncated and whole.startswith(beginning):
        return whole, None
    return content, whole


def note_lines(presentation: ApprovalPresentation) -> list[StyledLine]:
    """Return the lines about the content: its summary, the directory and the details."""
    return [StyledLine.from_text(note, DIM) for note in presentation_notes(presentation)]


def content_lines(
    presentation: ApprovalPresentation, content: str, style: TerminalStyle
) -> list[StyledLine]:
    """Return the lines of a content. An empty content has none."""
    if not content:
        return []
    if presentation.type == "diff":
        return [_diff_line(line) for line in content.split("\n")]
    if presentation.type == "command":
        return _command_lines(content)
    language = presentation.language
    if presentation.type == "file_content":
        content = content.removesuffix("\n")  # The end of the last line begins no other line.
    if presentation.type == "structured":
        content, is_json = _indent_json(content)
        language = language or ("json" if is_json else None)
    elif presentation.type == "text":
        language = None
    if style.has_colors and presentation.type != "text":
        path = presentation.metadata.get("path")
        return _highlight(content, language, path if isinstance(path, str) else None)
    return [StyledLine(line) for line in content.split("\n")]


def _command_lines(content: str) -> list[StyledLine]:
    first, *others = content.split("\n")
    return [
        StyledLine.from_text(first, BOLD).with_prefix("$ ", DIM),
        *(StyledLine.from_text(line, BOLD).with_prefix("  ") for line in others),
    ]


def _diff_line(line: str) -> StyledLine:
    if line.startswith(("+++ ", "--- ")):
        return StyledLine.from_text(line, BOLD)
    for mark, style in (("+", _ADDED), ("-", _REMOVED), ("@@", _HUNK), ("\\", DIM)):
        if line.startswith(mark):
            return StyledLine.from_text(line, style)
    return StyledLine(line)


# --- JSON ----------------------------------------------------------------------------------------

_OPENING = ("{", "[")
_CLOSING = ("}", "]")


def _indent_json(content: str) -> tuple[str, bool]:
    """Return JSON with one value per line, and whether the content is JSON.

    Only spaces between the tokens change: the content is not parsed and written again, which could
    change numbers and drop repeated keys.
    """
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return content, False
    if "\n" in content.strip():
        return content, True
    return "".join(_indented_tokens(content)), True


def _indented_tokens(content: str) -> Iterator[str]:
    depth = 0
    tokens = list(_json_tokens(content))
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token in _OPENING and following in _CLOSING:
            yield token
        elif token in _OPENING:
            depth += 1
            yield f"{token}\n{'  ' * depth}"
        elif token in _CLOSING and tokens[index - 1] in _OPENING:
            yield token
        elif token in _CLOSING:
            depth -= 1
            yield f"\n{'  ' * depth}{token}"
        elif token == ",":
            yield f",\n{'  ' * depth}"
        else:
            yield ": " if token == ":" else token


def _json_tokens(content: str) -> Iterator[str]:
    """Iterate over the tokens of valid JSON."""
    position, end = 0, len(content)
    while position < end:
        start, first = position, content[position]
        position += 1
        if first in " \t\r\n":
            continue
        if first == '"':
            while content[position] != '"':
                position += 2 if content[position] == "\\" else 1
            position += 1
        elif first not in "{}[],:":
            while position < end and content[position] not in '{}[],:" \t\r\n':
                position += 1
        yield content[start:position]


# --- Highlighting --------------------------------------------------------------------------------

_TOKEN_STYLES = {
    "Comment": DIM,
    "Keyword": "36",
    "Name.Attribute": "36",
    "Name.Builtin": "36",
    "Name.Class": BOLD,
    "Name.Decorator": "35",
    "Name.Function": BOLD,
    "Name.Tag": "36",
    "Literal.Number": "35",
    "Literal.String": "33",
    "Generic.Deleted": _REMOVED,
    "Generic.Heading": BOLD,
    "Generic.Inserted": _ADDED,
    "Generic.Subheading": BOLD,
    "Generic.Strong": BOLD,
}


def _highlight(content: str, language: str | None, path: str | None) -> list[StyledLine]:
    """Return the lines of a content with the styles of its language, if it is known."""
    tokens = _highlighted_tokens(content[:_MAX_HIGHLIGHTED], language, path)
    lines: list[StyledLine] = []
    text, styles = "", list[tuple[int, str]]()
    shown = sum(len(token) for _, token in tokens)
    for style, token in [*tokens, ("", content[shown:])]:
        first, *others = token.split("\n")
        text += first
        styles.append((len(first), style))
        for part in others:
            lines.append(StyledLine(text, styles))
            text, styles = part, [(len(part), style)]
    return [*lines, StyledLine(text, styles)]


def _highlighted_tokens(
    content: str, language: str | None, path: str | None
) -> Sequence[tuple[str, str]]:
    """Return the tokens of a text with their styles, or nothing if there is no lexer for it."""
    try:
        lexer = _find_lexer(language, path)
        if lexer is None:
            return ()
        found: list[tuple[str, str]] = [
            (_token_style(kind), text) for _, kind, text in lexer.get_tokens_unprocessed(content)
        ]
    except Exception:
        # A lexer that fails must not prevent the question.
        return ()
    # What is shown is the content, whatever the lexer returns.
    return found if "".join(text for _, text in found) == content else ()


def _find_lexer(language: str | None, path: str | None) -> Any:
    lexers = cast("Any", import_module("pygments.lexers"))
    not_found = cast("Any", import_module("pygments.util")).ClassNotFound
    try:
        if language:
            return lexers.get_lexer_by_name(language)
        return lexers.get_lexer_for_filename(os.path.basename(path)) if path else None
    except not_found:
        return None


def _token_style(kind: Any) -> str:
    """Return the style of a kind of token, or that of the nearest kind that includes it."""
    names = str(kind).split(".")[1:]
    for length in range(len(names), 0, -1):
        style = _TOKEN_STYLES.get(".".join(names[:length]))
        if style is not None:
            return style
    return ""
