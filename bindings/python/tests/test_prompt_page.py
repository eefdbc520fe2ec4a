"""The screens on the page about the prompt are those of the real program.

A `text` block after the comment `<!-- screen COLUMNSxROWS -->` is the screen that the Python blocks
above it produce. Set `UPDATE_SCREENS=1` to write the screens into the page.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from pseudo_terminal import Terminal

PAGE = Path(__file__).parent.parent / "docs" / "prompt.md"

SCREEN = re.compile(
    r"<!-- not run -->\n\n```python\n(?P<code>(?:(?!```).)*)```\n\n"
    r"<!-- screen (?P<columns>\d+)x(?P<rows>\d+) -->\n\n```text\n(?P<screen>(?:(?!```).)*)```",
    re.DOTALL,
)


def read_screens() -> list[re.Match[str]]:
    return list(SCREEN.finditer(PAGE.read_text()))


@pytest.mark.parametrize("index", range(len(read_screens())))
def test_a_screen_of_the_page_is_that_of_the_program(index: int, tmp_path: Path) -> None:
    screens = read_screens()
    imports = screens[0]["code"].split("\n\n")[1] if index else ""
    match = screens[index]
    script = tmp_path / "script.py"
    script.write_text(f"{imports}\n{match['code']}")
    columns, rows = int(match["columns"]), int(match["rows"])
    with Terminal(
        [sys.executable, str(script)], tmp_path, columns=columns, rows=rows
    ) as terminal:
        terminal.wait_for_prompt()
        shown = f"{terminal.text()}\n"
        terminal.press("\x03")
    if os.environ.get("UPDATE_SCREENS"):
        text = PAGE.read_text()
        start, end = match.span("screen")
        PAGE.write_text(text[:start] + shown + text[end:])
    else:
        assert shown == match["screen"]


def test_there_are_screens() -> None:
    assert len(read_screens()) == PAGE.read_text().count("<!-- screen") == 5
