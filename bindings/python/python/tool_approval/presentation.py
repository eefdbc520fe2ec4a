"""Presentations of requests: created only when somebody is asked."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .types import ApprovalPresentation, ApprovalRequest

__all__ = ["group_presentation", "truncate_for_display", "with_presentation"]


def truncate_for_display(content: str, max_lines: int = 50) -> str:
    """Return the first lines of a text, with a note about the number of lines that are left out."""
    lines = content.split("\n")
    if len(lines) <= max_lines:
        return content
    return "\n".join(lines[:max_lines]) + f"\n\n... [{len(lines) - max_lines} more lines]"


def with_presentation(request: ApprovalRequest) -> ApprovalRequest:
    """Return a request with a presentation. A presentation of the tool is kept."""
    if request.presentation is not None:
        return request
    content = json.dumps(request.payload, indent=2, ensure_ascii=False, default=repr)
    shown = ApprovalPresentation(type="structured", content=content, language="json")
    return request.model_copy(update={"presentation": shown})


def group_presentation(requests: Sequence[ApprovalRequest]) -> ApprovalPresentation:
    """Return the presentation of several requests that are asked about together."""
    content = "\n".join(f"{request.tool_name}: {request.description}" for request in requests)
    return ApprovalPresentation(type="text", content=content)
