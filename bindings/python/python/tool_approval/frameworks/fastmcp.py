"""MCP servers of the package `fastmcp`: tools whose calls need approval.

```python
from fastmcp import FastMCP
from tool_approval import ApprovalController, Engine, requires_approval
from tool_approval.frameworks.fastmcp import ApprovalMiddleware

server = FastMCP("files")
server.add_middleware(ApprovalMiddleware(ApprovalController(engine=Engine()), "files"))

@server.tool
@requires_approval()
def delete_file(path: str) -> str:
    return f"deleted {path}"
```
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, cast

from fastmcp.exceptions import ToolError
from fastmcp.server.context import Context
from fastmcp.server.dependencies import bind_request_context, without_injected_parameters
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import FunctionTool, Tool, ToolResult
from fastmcp.tools.base import InputRequiredToolResult
from fastmcp.utilities.versions import VersionSpec
from mcp.server.context import ServerRequestContext
from mcp_types import CallToolRequestParams, InputRequiredResult
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from ..controller import ApprovalController
from ._calls import UncheckedTool, mcp_prefix
from ._mcp_gate import Client, ClientCall, McpGate, Permit, Rejection

__all__ = ["ApprovalMiddleware"]


class ApprovalMiddleware(Middleware):
    """Middleware with which no tool of a server runs unless its call is approved.

    A call that is not approved is an error with the reason. The policy knows a tool as
    `mcp__SERVER__TOOL`. `check_approval` of the function gets the name of the tool itself, and the
    arguments as the function gets them.

    The user of the client is asked if the client supports elicitation, and the reviewer of the
    controller otherwise: see `tool_approval.frameworks.mcp.require_approval`.

    A tool whose function the middleware cannot see, because it is mounted, proxied or transformed,
    needs approval for every call that no rule allows.

    Add it after middleware that changes the arguments of calls, so that what was approved runs.

    Args:
        controller: Decides about the calls.
        server_name: The name of the server in rules.
        elicitation: True if the users of clients are asked.
    """

    def __init__(
        self, controller: ApprovalController, server_name: str, *, elicitation: bool = True
    ) -> None:
        self._gate = McpGate(controller, prefix=mcp_prefix(server_name), elicitation=elicitation)

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Decide about a call.

        Raises:
            ToolError: If the call is not approved.
        """
        server = context.fastmcp_context
        if server is None:
            raise ToolError("Approval denied: the call has no server")
        message = context.message
        tool = await server.fastmcp.get_tool(message.name, version=_requested_version(message))
        raw = copy.deepcopy(message.arguments or {})
        try:
            args = _read_arguments(tool, raw)
        except ValidationError as error:
            raise ToolError(str(error)) from error
        request = _request_context(server)
        call = ClientCall(
            tool_name=message.name if tool is None else tool.name,
            args=args,
            tool=tool.fn if isinstance(tool, FunctionTool) else UncheckedTool(),
            responses=server.input_responses or {},
            state=server.request_state,
        )
        client = None if request is None else Client.from_context(request)
        decision = await self._gate.decide(call, client)
        if isinstance(decision, Rejection):
            raise ToolError(decision.reason)
        if isinstance(decision, InputRequiredResult):
            return InputRequiredToolResult(decision)
        approved = message.model_copy(update={"arguments": raw, **_own_input(decision)})
        with nullcontext() if request is None else bind_request_context(_own(request, decision)):
            result = await call_next(context.copy(message=approved))
        if isinstance(result, InputRequiredToolResult):
            own = result.input_required
            state = self._gate.wrap_state(decision, own.request_state)
            return InputRequiredToolResult(own.model_copy(update={"request_state": state}))
        return result


def _requested_version(message: CallToolRequestParams) -> VersionSpec | None:
    """Return the version of the tool that a client has named."""
    meta = cast("Mapping[str, Any]", message.meta or {}).get("fastmcp")
    version = cast("Mapping[str, Any]", meta).get("version") if isinstance(meta, Mapping) else None
    if isinstance(version, Mapping):
        return VersionSpec(**cast("Mapping[str, Any]", version))
    return VersionSpec(eq=str(version)) if version is not None else None


def _request_context(server: Context) -> ServerRequestContext[Any, Any] | None:
    """Return the context of the request that calls the tool, or `None` if the program does."""
    request = server.request_context
    if request is None:
        return None
    # The wrapper has no public attribute for this.
    return request._srctx  # pyright: ignore[reportPrivateUsage]


def _own_input(permit: Permit) -> dict[str, Any]:
    """Return the answers and the state that belong to the tool itself."""
    return {"input_responses": permit.responses or None, "request_state": permit.state}


def _own(request: ServerRequestContext[Any, Any], permit: Permit) -> ServerRequestContext[Any, Any]:
    """Return the context of a request with the answers and the state of the tool itself."""
    params = dict(request.params or {})
    params.pop("requestState", None)
    params.pop("inputResponses", None)
    if permit.state is not None:
        params["requestState"] = permit.state
    if permit.responses:
        params["inputResponses"] = {
            name: answer.model_dump(by_alias=True, mode="json", exclude_none=True)
            for name, answer in permit.responses.items()
        }
    return replace(request, params=params)


def _read_arguments(tool: Tool | None, args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as the function gets them: converted, and with the defaults.

    Raises:
        ValidationError: If they do not fit the function.
    """
    if not isinstance(tool, FunctionTool):
        return args
    values = _argument_reader(tool.fn).validate_python(copy.deepcopy(args))
    return cast("dict[str, Any]", to_jsonable_python(values, fallback=repr))


def _argument_reader(function: Callable[..., Any]) -> TypeAdapter[dict[str, Any]]:
    """Return a validator that converts arguments like a call of the function does."""
    public = without_injected_parameters(function)

    def read(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = inspect.signature(public).bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    read.__signature__ = inspect.signature(public)  # type: ignore[attr-defined]
    read.__annotations__ = inspect.get_annotations(public, eval_str=True)
    return TypeAdapter(cast("Any", read))
