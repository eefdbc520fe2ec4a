"""The box: its layout at every size, what it leaves out, and what it reports about that."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
import wcwidth
from tool_approval import ApprovalPresentation, ApprovalRequest
from tool_approval.content_lines import content_lines
from tool_approval.display_text import escape_text
from tool_approval.presentation import group_presentation, with_presentation
from tool_approval.prompt_box import BoxRenderer, PromptBox, full_view_lines
from tool_approval.styled_text import StyledLine, TerminalStyle, render_line, wrap_line

PLAIN = TerminalStyle(has_controls=False, has_colors=False)
COLORED = TerminalStyle(has_controls=False)
ASCII = TerminalStyle(has_controls=False, has_colors=False, is_unicode=False)

ALPHABETS = [
    "abc def ",
    "世界 日本語。",
    "e\u0301a\u0308o\u0302 ñ",
    "🚀🎉 x",
    "\x1b[31m\x07\r\t\u202e\u200b",
    "x" * 50 + "\n",
    "שלום مرحبا ไทย हिन्दी ",
    "{}[]\",:\\ 0123",
]


def request(
    content: str = "",
    *,
    kind: Any = "text",
    name: str = "tool",
    description: str = "Do it",
    payload: dict[str, Any] | None = None,
    **metadata: Any,
) -> ApprovalRequest:
    return ApprovalRequest(
        tool_name=name,
        description=description,
        payload={} if payload is None else payload,
        presentation=ApprovalPresentation(type=kind, content=content, metadata=metadata),
    )


def render_box(
    request: ApprovalRequest, columns: int, rows: int, style: TerminalStyle
) -> PromptBox:
    return BoxRenderer(request, style).render(columns, rows)


def random_text(source: random.Random) -> str:
    alphabet = "".join(source.sample(ALPHABETS, 3))
    return "".join(source.choice(alphabet) for _ in range(source.randrange(400)))


def without_colors(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def width(text: str) -> int:
    return sum(max(wcwidth.wcwidth(one), 0) for one in without_colors(text))


# --- Layout --------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", [PLAIN, COLORED, ASCII])
def test_every_row_of_a_box_has_the_same_width(style: TerminalStyle) -> None:
    source = random.Random(7)
    kinds = ["text", "diff", "file_content", "command", "structured"]
    for _ in range(150):
        # A mark that takes up a column of its own is narrower on some terminals. These get an
        # escape sequence that moves to the border.
        texts = [re.sub("[\u0900-\u0963]", "", random_text(source)) for _ in range(4)]
        asked = request(
            texts[0],
            kind=source.choice(kinds),
            name=texts[1][:60],
            description=texts[2][:120],
            payload={"key": texts[3]},
            summary=texts[3][:50],
        )
        columns, rows = source.randrange(24, 160), source.randrange(5, 60)
        box = render_box(asked, columns, rows, style)
        widths = {width(row) for row in box.rows}
        assert len(widths) == 1, "\n".join(box.rows)
        assert widths.pop() <= columns
        assert all(without_colors(row).isprintable() for row in box.rows)


@pytest.mark.parametrize("columns", range(1, 24))
def test_a_very_narrow_box_has_no_frame(columns: int) -> None:
    box = render_box(request("some content", payload={"a": 1}), columns, 24, PLAIN)
    assert not any("│" in row for row in box.rows)
    text = "".join(row[1:] for row in box.rows)
    assert "some" in text.replace(" ", "") or columns < 8


def test_a_box_fits_the_terminal() -> None:
    asked = request("\n".join(map(str, range(500))), payload={"key": "x" * 50})
    for rows in range(9, 80):
        box = render_box(asked, 80, rows, PLAIN)
        assert len(box.rows) + 1 <= rows
        assert box.hides_request


def test_short_content_gets_a_small_box_and_long_lines_a_wide_one() -> None:
    assert len(render_box(request("x"), 200, 60, PLAIN).rows[0]) == 80
    assert len(render_box(request("x" * 100), 200, 60, PLAIN).rows[0]) == 104
    assert len(render_box(request("x" * 1000), 200, 60, PLAIN).rows[0]) == 140


def test_a_continued_line_has_a_mark_outside_of_the_content() -> None:
    rows = render_box(request("x" * 100 + "\n↪x"), 80, 24, PLAIN).rows
    assert rows[3] == f"│ {'x' * 76} │"
    assert rows[4] == f"│↪{'x' * 24}{' ' * 53}│"
    assert rows[5] == f"│ ↪x{' ' * 75}│"


def test_the_last_line_end_of_a_file_begins_no_line() -> None:
    assert [line.text for line in lines_of("file_content", "a\n\n")] == ["a", ""]
    assert [line.text for line in lines_of("file_content", "\n")] == [""]
    assert [line.text for line in lines_of("text", "a\n")] == ["a", ""]


def test_rows_with_wide_characters_move_to_the_border() -> None:
    row = render_box(request("世界"), 80, 24, TerminalStyle(has_colors=False)).rows[3]
    assert row == "│ 世界\x1b[80G│"


# --- What is left out ----------------------------------------------------------------------------


def test_everything_is_shown_if_there_is_room() -> None:
    box = render_box(request("a\nb", payload={"path": "x"}), 80, 24, PLAIN)
    assert not box.hides_request
    assert not box.hides_session_scope


@pytest.mark.parametrize(
    "asked",
    [
        request("x\n" * 100),
        request("x" * 10_000),
        request("x", description="y" * 10_000),
        request("x", name="z" * 100),
        request("x", full_content="another text"),
        request("", description="y" * 10_000),
        request("x", summary="y" * 10_000),
        request("x", details={"key": "y" * 10_000}),
    ],
)
def test_what_does_not_fit_is_reported(asked: ApprovalRequest) -> None:
    assert render_box(asked, 80, 24, PLAIN).hides_request


def test_nothing_is_hidden_without_a_report() -> None:
    source = random.Random(3)
    for _ in range(300):
        text = random_text(source)
        columns, rows = source.randrange(24, 120), source.randrange(8, 40)
        box = render_box(request(text), columns, rows, PLAIN)
        shown = "".join(row[2:-2].rstrip(" ") for row in box.rows)
        wanted = "".join(escape_text(text, keep_lines=True).split())
        if not box.hides_request:
            assert wanted in "".join(shown.split())


def test_the_number_of_lines_is_that_of_the_whole() -> None:
    whole = "\n".join(map(str, range(300)))
    asked = with_presentation(
        ApprovalRequest(
            tool_name="write_file",
            description="Do it",
            payload={"path": "/none/f", "content": whole},
        )
    )
    text = "\n".join(render_box(asked, 80, 24, PLAIN).rows)
    assert "├─ 15 of 300 lines shown: press v for the rest ─" in text
    text = "\n".join(render_box(asked, 80, 90, PLAIN).rows)
    assert "├─ 81 of 300 lines shown: press v for the rest ─" in text


def test_a_session_is_described_by_its_arguments() -> None:
    def session_text(asked: ApprovalRequest, columns: int = 140) -> str:
        rows = render_box(asked, columns, 40, PLAIN).rows
        return next((row[2:-2].rstrip() for row in rows if row[2:].startswith("[s]")), "")

    assert session_text(request("x")) == "[s] also allows later tool calls"
    assert session_text(request("x", payload={"path": "a", "force": True})) == (
        '[s] also allows later tool calls with path="a", force=true'
    )
    payload = {"a": 1}
    structured = with_presentation(
        ApprovalRequest(tool_name="t", description="d", payload=payload)
    )
    assert session_text(structured) == "[s] also allows later t calls with these arguments"
    long = "x" * 100
    assert session_text(request(long, payload={"body": long})) == (
        "[s] also allows later tool calls with body=as shown"
    )
    hidden = request("x", payload={"body": long})
    assert session_text(hidden) == "[s] also allows later tool calls with body=(102 characters)"
    assert render_box(hidden, 140, 40, PLAIN).hides_session_scope
    assert not render_box(hidden, 140, 40, PLAIN).hides_request


def test_a_small_terminal_leaves_the_session_to_the_full_view() -> None:
    assert not render_box(request("x\ny", payload={"a": 1}), 80, 12, PLAIN).hides_session_scope
    box = render_box(request("x\n" * 9, payload={"a": 1}), 80, 12, PLAIN)
    assert box.hides_session_scope
    assert not any("[s] also" in row for row in box.rows)


# --- Types ---------------------------------------------------------------------------------------


def lines_of(kind: Any, content: str, **fields: Any) -> list[StyledLine]:
    shown = ApprovalPresentation(type=kind, content=content, **fields)
    return content_lines(shown, content, TerminalStyle())


def test_the_lines_of_a_diff_have_colors() -> None:
    lines = lines_of("diff", "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same\n\\ No newline")
    assert [styles[0][1] if styles else "" for _, styles in lines] == [
        "1", "1", "36", "31", "32", "", "2",
    ]  # fmt: skip


def test_a_command_has_a_prompt() -> None:
    assert [line.text for line in lines_of("command", "a\nb")] == ["$ a", "  b"]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ('{"a":1,"b":[true,null],"c":{}}',
         '{\n  "a": 1,\n  "b": [\n    true,\n    null\n  ],\n  "c": {}\n}'),
        ('{"a": 1, "a": 2}', '{\n  "a": 1,\n  "a": 2\n}'),
        ("[1e400, 0.10000000000000000000001]", "[\n  1e400,\n  0.10000000000000000000001\n]"),
        ('"a \\" {b}: [,]"', '"a \\" {b}: [,]"'),
        ("[]", "[]"),
        ("3", "3"),
        ('{\n "a": 1}', '{\n "a": 1}'),
        ("{not json}", "{not json}"),
        ("key: value\nother: 1", "key: value\nother: 1"),
        ("[" * 100_000, "[" * 100_000),
    ],
)  # fmt: skip
def test_structured_content_is_indented(content: str, shown: str) -> None:
    assert "\n".join(line.text for line in lines_of("structured", content)) == shown


def test_indenting_changes_no_value() -> None:
    source = random.Random(5)

    def value(depth: int) -> Any:
        kind = source.randrange(7 if depth else 5)
        if kind == 5:
            return [value(depth - 1) for _ in range(source.randrange(4))]
        if kind == 6:
            return {random_text(source)[:9]: value(depth - 1) for _ in range(source.randrange(4))}
        return [None, True, source.random(), source.randrange(99), random_text(source)[:20]][kind]

    for _ in range(200):
        wanted = value(4)
        text = json.dumps(wanted)
        shown = "\n".join(line.text for line in lines_of("structured", text))
        assert json.loads(shown) == wanted


def test_highlighting_keeps_the_text() -> None:
    source = random.Random(11)
    for language in ("python", "json", "bash", "html", "c", "yaml", "rst", "console", "diff"):
        for _ in range(20):
            text = random_text(source)
            lines = lines_of("file_content", text, language=language)
            assert "\n".join(line.text for line in lines) == text.removesuffix("\n")


def test_a_language_is_found_by_name_or_file_name() -> None:
    def styles(**fields: Any) -> set[str]:
        lines = lines_of("file_content", "import os\n", **fields)
        return {style for line in lines for _, style in line.styles} - {""}

    assert styles(language="python") == {"36"}
    assert styles(metadata={"path": "dir/a.py"}) == {"36"}
    assert styles(metadata={"path": "dir/a.unknown"}) == set()
    assert styles(language="no such language") == set()
    assert styles() == set()


def test_line_ends_of_other_systems_are_shown() -> None:
    rows = render_box(request("a\r\nb\rc", kind="file_content", path="a.py"), 80, 24, PLAIN).rows
    assert [row[2:10].rstrip() for row in rows[3:5]] == ["a\\r", "b\\rc"]


def test_long_content_is_highlighted_at_its_beginning() -> None:
    lines = lines_of("file_content", "import os\n" * 20_000, language="python")
    assert len(lines) == 20_000
    assert lines[0].styles != lines[-1].styles


# --- The full view -------------------------------------------------------------------------------


def full_text(asked: ApprovalRequest) -> str:
    return "\n".join(render_line(line, PLAIN) for line in full_view_lines(asked, PLAIN))


def test_the_full_view_has_everything() -> None:
    asked = request(
        "beginning",
        description="Do\nit",
        payload={"path": "a", "body": "one\ntwo", "list": [1]},
        full_content="the\x1bwhole",
        summary="Changes a",
    )
    assert full_text(asked) == (
        "tool\nDo\\nit\nChanges a\n\n  beginning\n\nThe full content:\n  the\\x1bwhole\n\n"
        "[s] also allows later calls of the same tool with exactly these arguments:\n"
        '  tool\n    path: "a"\n    body:\n      one\n      two\n    list: [\n      1\n    ]'
    )


def test_the_full_view_of_a_group_has_every_request() -> None:
    parts = [
        with_presentation(
            ApprovalRequest(tool_name="shell", description=text, payload={"command": command})
        )
        for text, command in (("Build it", "make"), ("Install it", "make install\n3 of 2: x"))
    ]
    asked = ApprovalRequest(
        tool_name="shell",
        description="2 related calls",
        payload={},
        presentation=group_presentation(parts),
    )
    lines = full_text(asked).split("\n")
    assert [line for line in lines if not line.startswith(" ")] == [
        "shell",
        "2 related calls",
        "",
        "1 of 2: shell",
        "Build it",
        "",
        "",
        "2 of 2: shell",
        "Install it",
        "",
        "",
        "[s] also allows later calls of the same tool with exactly these arguments:",
    ]
    assert "  $ make" in lines
    assert "    3 of 2: x" in lines


def test_parts_that_are_no_requests_are_ignored() -> None:
    for parts in ("text", [1], [{"tool_name": "x"}], [{"unknown": 1}]):
        box = render_box(request("content", parts=parts), 80, 24, PLAIN)
        assert any("content" in row for row in box.rows)


# --- Wrapping ------------------------------------------------------------------------------------


def wrapped(text: str, width: int) -> list[tuple[str, bool]]:
    return [(row.text, row.starts_line) for row in wrap_line(StyledLine(text), width, PLAIN)]


def test_rows_break_by_column_or_after_a_space() -> None:
    assert wrapped("", 4) == [("", True)]
    assert wrapped("abcdef", 4) == [("abcd", True), ("ef", False)]
    assert wrapped("世界x", 4) == [("世界", True), ("x", False)]
    assert wrapped("a世界", 4) == [("a世", True), ("界", False)]
    assert wrapped("abcdef gh", 8) == [("abcdef ", True), ("gh", False)]
    assert wrapped("ab cdefghij", 8) == [("ab cdefg", True), ("hij", False)]
    assert wrapped("ab\x1b", 4) == [("ab", True), (r"\x1b", False)]


def test_no_character_is_lost() -> None:
    text = "git  push --force\t  origin\x1b[2Jmain 世界 e\u0301 x"
    for columns in range(1, 30):
        shown = "".join(row for row, _ in wrapped(text, columns))
        assert shown == escape_text(text, keep_lines=True)


def test_plain_lines_are_rendered_as_others() -> None:
    line = StyledLine("abcdef", ((2, "1"), (0, "2"), (1, ""), (9, "3")))
    assert render_line(line, TerminalStyle()) == "\x1b[1mab\x1b[0mc\x1b[3mdef\x1b[0m"
    assert next(wrap_line(line, 80, TerminalStyle())).text == render_line(line, TerminalStyle())
    assert render_line(line, PLAIN) == "abcdef"


def test_escaped_characters_are_distinguished_from_the_same_text() -> None:
    assert render_line(StyledLine("\x1b"), TerminalStyle()) == "\x1b[7m\\x1b\x1b[0m"
    assert render_line(StyledLine(r"\x1b"), TerminalStyle()) == r"\x1b"


# --- The abilities of terminals ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "abilities"),
    [
        ({"TERM": "xterm"}, (True, True, True)),
        ({"TERM": "dumb"}, (False, False, True)),
        ({}, (False, False, True)),
        ({"TERM": "xterm", "NO_COLOR": "1"}, (True, False, True)),
        ({"TERM": "xterm", "NO_COLOR": ""}, (True, True, True)),
        ({"TERM": "xterm", "LANG": "de_DE.UTF-8"}, (True, True, True)),
        ({"TERM": "xterm", "LANG": "de_DE.utf8"}, (True, True, True)),
        ({"TERM": "xterm", "LANG": "C"}, (True, True, False)),
        ({"TERM": "xterm", "LC_ALL": "POSIX", "LANG": "C.UTF-8"}, (True, True, False)),
        ({"TERM": "xterm", "LC_CTYPE": "C.UTF-8", "LANG": "C"}, (True, True, True)),
    ],
)
def test_abilities_of_terminals(
    environment: dict[str, str], abilities: tuple[bool, bool, bool]
) -> None:
    style = TerminalStyle.from_environment(environment)
    assert (style.has_controls, style.has_colors, style.is_unicode) == abilities
