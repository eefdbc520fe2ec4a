"""Helpers of the integrations: the identity of a call, and the memory of approved calls."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import re
from collections import OrderedDict
from collections.abc import Coroutine
from typing import Any, cast

from ..types import ApprovalContext, ApprovalDecision, ApprovalRequest

__all__ = [
    "ApprovedCalls",
    "RenamedTool",
    "UncheckedTool",
    "call_signature",
    "find_denial",
    "mcp_prefix",
]

_log = logging.getLogger("tool_approval")

_MAX_APPROVED_CALLS = 4096
"""The number of approved calls that are remembered until they run."""


def call_signature(tool_name: str, args: dict[str, Any]) -> str:
    """Return a text that two calls share if they have the same tool and equal arguments.

    Raises:
        TypeError: If an argument is no JSON value.
        ValueError: If the arguments contain themselves.
    """
    return json.dumps([tool_name, args], sort_keys=True)


def mcp_prefix(server_name: str) -> str:
    """Return the beginning of the names of a server's tools in rules.

    As in Claude Code, every character of the server's name that is not a letter of ASCII, a digit,
    `-` or `_` is `_`.
    """
    return f"mcp__{re.sub(r'[^a-zA-Z0-9_-]', '_', server_name)}__"


async def find_denial(
    tool_name: str, deciding: Coroutine[Any, Any, ApprovalDecision]
) -> str | None:
    """Wait for the decision about a call. Returns the reason if the call must not run.

    Every error is a denial. Only the cancellation of the caller is raised: the decision is no
    longer awaited, and the call does not run.
    """
    try:
        task = asyncio.get_running_loop().create_task(deciding)
    except RuntimeError:
        deciding.close()
        return "Approval denied: approval needs an event loop of asyncio"
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    if task.cancelled():
        return "Approval denied: the request was withdrawn"
    error = task.exception()
    if error is None:
        decision = task.result()
        if decision.approved is True:
            return None
        return f"Approval denied: {decision.note}" if decision.note else "Approval denied"
    if isinstance(error, PermissionError):
        return str(error)
    # The text of the exception may contain arguments of the call, and those may be secret.
    name = type(error).__name__
    _log.error("the approval check of `%s` failed with %s; the call is denied", tool_name, name)
    _log.debug("the approval check failed", exc_info=error)
    return f"Approval denied: the approval check failed with {name}"


class ApprovedCalls:
    """The calls that were approved and have not run yet, by their id.

    An approval applies to one call with the arguments that were approved. If there are too many,
    the oldest ones are forgotten, and those calls need approval again.
    """

    def __init__(self) -> None:
        self._signatures: OrderedDict[str, str] = OrderedDict()

    def add(self, call_id: str, tool_name: str, args: dict[str, Any]) -> None:
        """Remember that a call was approved."""
        self._signatures[call_id] = call_signature(tool_name, args)
        while len(self._signatures) > _MAX_APPROVED_CALLS:
            self._signatures.popitem(last=False)

    def take(self, call_id: str, tool_name: str, args: dict[str, Any]) -> bool:
        """Return whether this very call was approved, and forget it."""
        return self._signatures.pop(call_id, None) == call_signature(tool_name, args)


class RenamedTool:
    """A tool whose `check_approval` gets the name that the tool itself knows.

    The policy may know a tool by a longer name, such as `mcp__files__write_file`. That name is
    also the one of the request, so that an approval for the session does not apply to a tool of
    the same name from another server.

    Args:
        tool: The tool.
        tool_name: The name for `ApprovalContext.tool_name`.
    """

    def __init__(self, tool: object, tool_name: str) -> None:
        # A method is checked by its object.
        owner = tool if hasattr(tool, "check_approval") else getattr(tool, "__self__", None)
        self._check = getattr(owner, "check_approval", None)
        self._tool_name = tool_name

    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
        """Return the request of the tool. A tool that is not approval-aware makes none."""
        if self._check is None:
            return None
        own = ctx.model_copy(update={"tool_name": self._tool_name, "args": copy.deepcopy(ctx.args)})
        request = self._check(own)
        if not isinstance(request, ApprovalRequest):
            return cast("None", request)  # `None`, or a value that the controller refuses.
        return request.model_copy(update={"tool_name": ctx.tool_name})


class UncheckedTool:
    """A tool that requires approval for every call."""

    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest:
        """Return a request that shows the name and all arguments."""
        from ..decorator import simple_approval_request

        return simple_approval_request(ctx.tool_name, ctx.args)
