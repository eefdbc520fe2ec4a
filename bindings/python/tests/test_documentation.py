"""The code blocks of the documentation run as written, and print what the pages say.

The Python blocks of a page run in their order, in one namespace, in an empty directory. A `text`
block directly after a Python block is what that block prints. A block after the comment
`<!-- not run -->` is only compiled.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import re
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent
PAGES = sorted([PACKAGE / "README.md", *PACKAGE.glob("docs/**/*.md")])

FENCE = re.compile(
    r"^(?P<mark><!-- not run -->\n+)?```python\n(?P<code>.*?)^```$"
    r"(?:\n+```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass
class Block:
    """A Python block of a page, with the output that the page shows."""

    line: int
    code: str
    output: str | None
    runs: bool


def read_blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(
            line=text.count("\n", 0, match.start("code")) + 1,
            code=match["code"],
            output=match["output"],
            runs=match["mark"] is None,
        )
        for match in FENCE.finditer(text)
    ]


def run_block(block: Block, page: Path, namespace: dict[str, object]) -> str:
    # The lines of a traceback are those of the page.
    source = "\n" * (block.line - 1) + block.code
    code = compile(source, str(page), "exec", flags=PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if not block.runs:
        return block.output or ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(eval(code, namespace))
        else:
            exec(code, namespace)
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PACKAGE)))
def test_the_blocks_of_a_page_run_as_written(page: Path, project: Path) -> None:
    namespace: dict[str, object] = {"__name__": "documentation"}
    for block in read_blocks(page):
        printed = run_block(block, page, namespace)
        assert block.output is None or printed == block.output, f"{page.name}:{block.line}"


def test_there_are_blocks() -> None:
    counts = {page.name: len(read_blocks(page)) for page in PAGES}
    assert counts["README.md"] >= 2
    assert sum(counts.values()) >= 30
    assert all("```py\n" not in page.read_text() for page in PAGES)
