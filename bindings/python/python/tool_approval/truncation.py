"""Truncation of long content for display."""

from __future__ import annotations

import re

from .types import ApprovalPresentation

__all__ = ["split_truncated", "truncate_for_display", "truncated"]

_MARKER = re.compile(r"\n\n\.\.\. \[[0-9]+ more lines\]\Z")


def truncate_for_display(content: str, max_lines: int = 50) -> str:
    r"""Return the first lines of a text, with a note about the number of lines that are left out.

    A text that is not longer is returned unchanged. A tool that truncates the content of a
    presentation puts the whole into `metadata["full_content"]`. Without it, the reviewer cannot
    see the rest.

    Raises:
        ValueError: If `max_lines` is less than 1.

    Example:
        ```python
        >>> from tool_approval import truncate_for_display
        >>> truncate_for_display("a\nb\nc", max_lines=2)
        'a\nb\n\n... [1 more lines]'

        ```
    """
    if max_lines < 1:
        raise ValueError(f"`max_lines` must be at least 1, not {max_lines}")
    lines = content.split("\n")
    if len(lines) <= max_lines:
        return content
    return "\n".join(lines[:max_lines]) + f"\n\n... [{len(lines) - max_lines} more lines]"


def truncated(presentation: ApprovalPresentation) -> ApprovalPresentation:
    """Return a presentation whose content is truncated. The metadata then has the whole."""
    whole = presentation.content
    shown = truncate_for_display(whole)
    if shown == whole:
        return presentation
    return presentation.model_copy(
        update={
            "content": shown,
            "metadata": {**presentation.metadata, "full_content": whole},
        }
    )


def split_truncated(content: str) -> tuple[str, bool]:
    """Return a content without the note of `truncate_for_display`, and whether it had one."""
    found = _MARKER.search(content)
    return (content, False) if found is None else (content[: found.start()], True)
