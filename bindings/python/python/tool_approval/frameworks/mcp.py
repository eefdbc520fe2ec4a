"""MCP servers of the package `mcp`: tools whose calls need approval.

`require_approval` gates all tools of a server:

```python
from mcp.server.mcpserver import MCPServer
from tool_approval import ApprovalController, Engine, requires_approval
from tool_approval.frameworks.mcp import require_approval

server = MCPServer("files")
require_approval(server, ApprovalController(engine=Engine()))

@server.tool()
@requires_approval()
def delete_file(path: str) -> str:
    return f"deleted {path}"
```

The module `tool_approval.frameworks.fastmcp` has the same for the package `fastmcp`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolRequestParams, CallToolResult, InputRequiredResult, TextContent
from mcp_types.methods import is_input_required
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from ..controller import ApprovalController
from ._calls import mcp_prefix
from ._mcp_gate import Client, ClientCall, McpGate, Permit, Rejection

__all__ = ["require_approval"]


def require_approval(
    server: MCPServer[Any],
    controller: ApprovalController,
    *,
    server_name: str | None = None,
    elicitation: bool = True,
) -> None:
    """Gate all tools of a server, also those that are added later.

    A call runs only if it is approved. Otherwise, its result is an error with the reason. The
    policy knows a tool as `mcp__SERVER__TOOL`. `check_approval` of the function gets the name of
    the tool itself, and the arguments as the function gets them.

    Who is asked:

    1. the user of the client, if the client supports elicitation,
    2. otherwise, the reviewer of the controller: the terminal of the server, or another terminal
       with `openoxide approve`.

    An answer of the client is as trustworthy as the client. Pass `elicitation=False` if the client
    must not approve its own calls.

    "Approve for session" applies to the calls of one client. A client that nothing identifies,
    because it uses HTTP without a session and without authentication, is not offered it.

    Calls that the program makes itself with `server.call_tool` are not gated.

    Args:
        server: The server.
        controller: Decides about the calls.
        server_name: The name of the server in rules. Without it, the name of the server.
        elicitation: True if the users of clients are asked.
    """
    prefix = mcp_prefix(server_name or server.name)
    gate = McpGate(controller, prefix=prefix, elicitation=elicitation)
    server.middleware.append(_ToolCallMiddleware(server, gate))


class _ToolCallMiddleware:
    """Middleware that decides about every call of a tool."""

    def __init__(self, server: MCPServer[Any], gate: McpGate) -> None:
        self._server = server
        self._gate = gate

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        if ctx.method != "tools/call":
            return await call_next(ctx)
        # This raises for a call that the server cannot read.
        params = CallToolRequestParams.model_validate(ctx.params or {}, by_name=False)
        tool = self._find_tool(params.name)
        if tool is None:
            return await call_next(ctx)
        raw = copy.deepcopy(params.arguments or {})
        try:
            args = _read_arguments(tool, raw)
        except ValidationError as error:
            return _error_result(ctx, f"Error executing tool {tool.name}: {error}")
        call = ClientCall(
            tool_name=tool.name,
            args=args,
            tool=tool.fn,
            responses=params.input_responses or {},
            state=params.request_state,
        )
        decision = await self._gate.decide(call, Client.from_context(ctx))
        if isinstance(decision, Rejection):
            return _error_result(ctx, decision.reason)
        if isinstance(decision, InputRequiredResult):
            return decision.model_dump(by_alias=True, mode="json", exclude_none=True)
        return await self._run(ctx, call_next, tool.name, raw, decision)

    def _find_tool(self, name: str) -> Tool | None:
        # The server has no public method for this.
        return self._server._tool_manager.get_tool(name)  # pyright: ignore[reportPrivateUsage]

    async def _run(
        self,
        ctx: ServerRequestContext[Any, Any],
        call_next: CallNext,
        tool_name: str,
        args: dict[str, Any],
        permit: Permit,
    ) -> HandlerResult:
        """Run a tool with the arguments that were approved."""
        params: dict[str, Any] = {**(ctx.params or {}), "name": tool_name, "arguments": args}
        params.pop("requestState", None)
        params.pop("inputResponses", None)
        if permit.state is not None:
            params["requestState"] = permit.state
        if permit.responses:
            params["inputResponses"] = _dump(permit.responses)
        result = await call_next(replace(ctx, params=params))
        if not is_input_required(result):
            return result
        if isinstance(result, Mapping):
            state = result.get("requestState")
            wrapped = self._gate.wrap_state(permit, state)
            return {**result, "requestState": wrapped}
        wrapped = self._gate.wrap_state(permit, result.request_state)
        return result.model_copy(update={"request_state": wrapped})


def _read_arguments(tool: Tool, args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as the function gets them: converted, and with the defaults.

    Raises:
        ValidationError: If they do not fit the function.
    """
    values = tool.fn_metadata.validate_arguments(copy.deepcopy(args))
    return cast("dict[str, Any]", to_jsonable_python(values, fallback=repr))


def _dump(responses: dict[str, Any]) -> dict[str, Any]:
    return {
        name: response.model_dump(by_alias=True, mode="json", exclude_none=True)
        for name, response in responses.items()
    }


def _error_result(ctx: ServerRequestContext[Any, Any], text: str) -> dict[str, Any]:
    result = CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
    fields = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    if not Client.from_context(ctx).is_modern:
        fields.pop("resultType", None)
    return fields
