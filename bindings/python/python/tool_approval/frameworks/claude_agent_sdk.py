"""The Claude Agent SDK: a `PreToolUse` hook and a `can_use_tool` callback.

`with_approval` adds both to the options of a session:

```python
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
from tool_approval import ApprovalController, Engine
from tool_approval.frameworks.claude_agent_sdk import with_approval

async def main() -> None:
    controller = ApprovalController(engine=Engine())
    options = with_approval(ClaudeAgentOptions(cwd="."), controller)
    async with ClaudeSDKClient(options) as client:
        await client.query("Tidy up.")
        async for message in client.receive_response():
            print(message)
```
"""

from __future__ import annotations

import copy
import dataclasses
from collections import OrderedDict
from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal, cast

from claude_agent_sdk import (
    CanUseTool,
    ClaudeAgentOptions,
    HookCallback,
    HookContext,
    HookInput,
    HookJSONOutput,
    HookMatcher,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)
from claude_agent_sdk.types import HookEvent, PreToolUseHookSpecificOutput

from ..controller import ApprovalController
from ..types import ApprovalDecision
from ._calls import ApprovedCalls, RenamedTool, UncheckedTool, find_denial

__all__ = ["approval_hooks", "can_use_tool", "pre_tool_use_hook", "with_approval"]

DEFAULT_TIMEOUT = 3600.0
"""The seconds that a hook may take. Claude Code denies the call afterwards."""

_Tools = Mapping[str, object]
_Path = str | PathLike[str]


def with_approval(
    options: ClaudeAgentOptions,
    controller: ApprovalController,
    *,
    tools: _Tools | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> ClaudeAgentOptions:
    """Return options with which no tool runs unless the controller approves its call.

    A hook decides about every call, and asks if necessary. A `can_use_tool` callback confirms what
    the hook has approved. If other hooks have changed the input since, the callback decides again,
    about the input that the tool gets. Both happen in every permission mode. The SDK warns that the
    mode `bypassPermissions` shadows the callback. With the hook, it does not.

    Args:
        options: The options of the session. Their hooks are kept.
        controller: Decides about the calls.
        tools: Approval-aware objects by the name of the tool, such as `{"Bash": ShellTool(...)}`.
            A tool that is not among them is decided by the policy. Without an engine, each of its
            calls needs approval.
        timeout: The seconds that the hook may take.

    Raises:
        ValueError: If the options have a `can_use_tool` callback already.
    """
    if options.can_use_tool is not None:
        raise ValueError("the options have a `can_use_tool` callback already; remove it")
    gate = _ToolUseGate(controller, tools)
    matcher = HookMatcher(hooks=[gate.decide_first], timeout=timeout)
    hooks: dict[HookEvent, list[HookMatcher]] = dict(options.hooks or {})
    hooks["PreToolUse"] = [matcher, *hooks.get("PreToolUse", [])]
    return dataclasses.replace(options, hooks=hooks, can_use_tool=gate.can_use_tool)


def approval_hooks(
    controller: ApprovalController,
    *,
    tools: _Tools | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> dict[HookEvent, list[HookMatcher]]:
    """Return `hooks` for `ClaudeAgentOptions`, with `pre_tool_use_hook` for every tool.

    Args:
        controller: Decides about the calls.
        tools: See `with_approval`.
        timeout: The seconds that the hook may take.

    Example:
        ```python
        from claude_agent_sdk import ClaudeAgentOptions
        from tool_approval import ApprovalController, Engine
        from tool_approval.frameworks.claude_agent_sdk import approval_hooks

        controller = ApprovalController(engine=Engine())
        options = ClaudeAgentOptions(hooks=approval_hooks(controller))
        ```
    """
    hook = pre_tool_use_hook(controller, tools=tools)
    return {"PreToolUse": [HookMatcher(hooks=[hook], timeout=timeout)]}


def pre_tool_use_hook(
    controller: ApprovalController, *, tools: _Tools | None = None
) -> HookCallback:
    """Return a `PreToolUse` hook that decides about every call, and asks if necessary.

    Claude Code consults it in every permission mode. It never raises an exception, because Claude
    Code continues without a hook that fails: whatever goes wrong is a denial.

    Claude Code runs all hooks of a call at the same time, and the input of the last one that
    changes it applies. Do not combine this hook with hooks that return `updatedInput`. Use
    `with_approval` for that.

    Args:
        controller: Decides about the calls.
        tools: See `with_approval`.
    """
    return _ToolUseGate(controller, tools).decide


def can_use_tool(
    controller: ApprovalController,
    *,
    tools: _Tools | None = None,
    cwd: _Path | None = None,
) -> CanUseTool:
    """Return a `can_use_tool` callback, which answers the questions of Claude Code.

    Claude Code calls it only if its own rules and its permission mode ask. So a call needs an
    answer here: of a rule of the policy, or of a reviewer. What the policy allows by default is
    not an answer.

    Args:
        controller: Decides about the calls.
        tools: See `with_approval`.
        cwd: The working directory of the session, if it is not that of the engine.
    """
    return _ToolUseGate(controller, tools, cwd=cwd, always_asks=True).can_use_tool


class _ToolUseGate:
    """Decides about the calls of a session."""

    def __init__(
        self,
        controller: ApprovalController,
        tools: _Tools | None,
        *,
        cwd: _Path | None = None,
        always_asks: bool = False,
    ) -> None:
        self._controller = controller
        self._tools = dict(tools or {})
        self._cwd = cwd
        self._always_asks = always_asks or controller.engine is None
        self._approved = ApprovedCalls()
        self._directories = _RecentDirectories()

    async def decide(
        self, input: HookInput, tool_use_id: str | None, context: HookContext
    ) -> HookJSONOutput:
        """Decide in the hook."""
        try:
            return await self._decide(input)
        except Exception:
            return _hook_output("deny", FAILED_CHECK)

    async def _decide(self, input: object) -> HookJSONOutput:
        call = _read_call(input)
        if call is None:
            return _hook_output("deny", MALFORMED_CALL)
        denial = await self._find_denial(call.tool_name, call.args, call.cwd, call.metadata)
        if denial is not None:
            return _hook_output("deny", denial)
        # The input is returned, so that the input of an earlier hook does not apply.
        return _hook_output("allow", "approved", call.args)

    async def decide_first(
        self, input: HookInput, tool_use_id: str | None, context: HookContext
    ) -> HookJSONOutput:
        """Decide in the hook, and let `can_use_tool` confirm an approval for the final input."""
        try:
            return await self._decide_first(input)
        except Exception:
            return _hook_output("deny", FAILED_CHECK)

    async def _decide_first(self, input: object) -> HookJSONOutput:
        call = _read_call(input)
        if call is None or call.tool_use_id is None:
            return _hook_output("deny", MALFORMED_CALL)
        denial = await self._find_denial(call.tool_name, call.args, call.cwd, call.metadata)
        if denial is not None:
            return _hook_output("deny", denial)
        self._approved.add(call.tool_use_id, call.tool_name, call.args)
        self._directories.add(call.tool_use_id, call.cwd)
        # The input is not returned: it would compete with that of other hooks.
        return _hook_output("ask", "the application confirms this call")

    async def can_use_tool(
        self, tool_name: str, input: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        """Decide in the callback."""
        try:
            args = copy.deepcopy(input)
        except Exception:
            return PermissionResultDeny(message=MALFORMED_CALL)
        cwd = self._directories.find(context.tool_use_id) or self._cwd
        metadata = {"tool_use_id": context.tool_use_id, "agent_id": context.agent_id}
        deciding = self._confirm(tool_name, args, cwd, metadata)
        denial = await find_denial(tool_name, deciding)
        if denial is not None:
            return PermissionResultDeny(message=denial)
        return PermissionResultAllow(updated_input=args)

    async def _confirm(
        self,
        tool_name: str,
        args: dict[str, Any],
        cwd: _Path | None,
        metadata: dict[str, Any],
    ) -> ApprovalDecision:
        """Decide about a call, unless the hook has approved this very call."""
        tool_use_id = metadata["tool_use_id"]
        if tool_use_id is not None and self._approved.take(tool_use_id, tool_name, args):
            preview = self._controller_for(cwd).preview_call(
                tool_name, args, tool=self._tool(tool_name), metadata=metadata
            )
            if preview.effect != "deny":
                return ApprovalDecision(True)
        return await self._approve(tool_name, args, cwd, metadata)

    async def _find_denial(
        self,
        tool_name: str,
        args: dict[str, Any],
        cwd: _Path | None,
        metadata: dict[str, Any],
    ) -> str | None:
        return await find_denial(tool_name, self._approve(tool_name, args, cwd, metadata))

    async def _approve(
        self,
        tool_name: str,
        args: dict[str, Any],
        cwd: _Path | None,
        metadata: dict[str, Any],
    ) -> ApprovalDecision:
        return await self._controller_for(cwd).approve_call(
            tool_name, copy.deepcopy(args), tool=self._tool(tool_name), metadata=metadata
        )

    def _controller_for(self, cwd: _Path | None) -> ApprovalController:
        return self._controller if cwd is None else self._controller.with_options(cwd=cwd)

    def _tool(self, tool_name: str) -> object:
        tool = self._tools.get(tool_name)
        if tool is not None:
            # The tool knows its own name, without that of its MCP server.
            return RenamedTool(tool, tool_name.rsplit("__", 1)[-1])
        return UncheckedTool() if self._always_asks else None


FAILED_CHECK = "Approval denied: the approval check failed"
MALFORMED_CALL = "Approval denied: the call cannot be read"


@dataclasses.dataclass(frozen=True)
class _Call:
    """A call, as a hook gets it."""

    tool_name: str
    args: dict[str, Any]
    cwd: str | None
    tool_use_id: str | None
    metadata: dict[str, Any]


_METADATA = ("session_id", "tool_use_id", "permission_mode", "agent_id", "agent_type")


def _read_call(input: object) -> _Call | None:
    """Return the call of a `PreToolUse` hook, or `None` if it cannot be read."""
    if not isinstance(input, Mapping):
        return None
    fields = cast("Mapping[str, Any]", input)
    tool_name, args, cwd = (fields.get(name) for name in ("tool_name", "tool_input", "cwd"))
    if not isinstance(tool_name, str) or not isinstance(args, dict):
        return None
    if cwd is not None and not isinstance(cwd, str):
        return None
    tool_use_id = fields.get("tool_use_id")
    return _Call(
        tool_name=tool_name,
        args=cast("dict[str, Any]", args),
        cwd=cwd,
        tool_use_id=tool_use_id if isinstance(tool_use_id, str) else None,
        metadata={name: fields[name] for name in _METADATA if name in fields},
    )


def _hook_output(
    decision: Literal["allow", "ask", "deny"],
    reason: str,
    updated_input: dict[str, Any] | None = None,
) -> HookJSONOutput:
    output: PreToolUseHookSpecificOutput = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }
    if updated_input is not None:
        output["updatedInput"] = updated_input
    return {"hookSpecificOutput": output}


class _RecentDirectories:
    """The working directories of calls that a hook has seen. `can_use_tool` gets none."""

    def __init__(self) -> None:
        self._directories: OrderedDict[str, str] = OrderedDict()

    def add(self, tool_use_id: str | None, cwd: str | None) -> None:
        if tool_use_id is not None and cwd is not None:
            self._directories[tool_use_id] = cwd
            while len(self._directories) > 4096:
                self._directories.popitem(last=False)

    def find(self, tool_use_id: str | None) -> str | None:
        return None if tool_use_id is None else self._directories.get(tool_use_id)
