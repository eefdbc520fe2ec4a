"""The OpenAI Agents SDK: tools that need approval, and runs that ask for it.

`require_approval` gates a tool, and `run_with_approval` runs an agent, asks about the calls that
need approval, and resumes the run:

```python
from agents import Agent
from tool_approval import ApprovalController, requires_approval
from tool_approval.frameworks.openai_agents import require_approval, run_with_approval

controller = ApprovalController()

@requires_approval()
def delete_file(path: str) -> str:
    return f"deleted {path}"

agent = Agent(name="files", tools=[require_approval(delete_file, controller)])

async def main() -> None:
    result = await run_with_approval(agent, "Delete a.txt", controller)
    print(result.final_output)
```
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypedDict, TypeVar, cast

from agents import (
    Agent,
    FunctionTool,
    RunContextWrapper,
    Runner,
    RunResult,
    RunState,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    function_tool,
)
from agents.function_schema import FuncSchema, function_schema
from agents.items import ToolApprovalItem, TResponseInputItem
from agents.tool_context import ToolContext
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from ..controller import ApprovalController, CallPreview
from ..errors import OperationBlockedError
from ..types import ApprovalDecision
from ._calls import ApprovedCalls, RenamedTool, UncheckedTool, mcp_prefix

__all__ = [
    "McpServerOptions",
    "answer_interruptions",
    "approval_guardrail",
    "mcp_server_options",
    "needs_approval",
    "require_approval",
    "run_with_approval",
]

APPROVED_IN_STATE = "approved in the state of the run"
"""The note of an approval that the application has made with the SDK."""

_Context = TypeVar("_Context")
_NeedsApproval = Callable[[RunContextWrapper[Any], dict[str, Any], str], Awaitable[bool]]


class McpServerOptions(TypedDict):
    """Options for the constructor of an MCP server of the SDK."""

    require_approval: str
    tool_input_guardrails: list[ToolInputGuardrail[Any]]


def require_approval(
    tool: FunctionTool | Callable[..., Any],
    controller: ApprovalController,
    *,
    check: object = None,
    **options: Any,
) -> FunctionTool:
    """Return a tool whose calls run only if they are approved.

    A call that the policy allows runs without an interruption. A call that needs approval
    interrupts the run: see `run_with_approval` and `answer_interruptions`. Right before an
    approved call runs, the policy and the tool are consulted again. A call that is blocked does
    not run, and the model gets the reason.

    Args:
        tool: A function, or a tool that `function_tool` has created.
        controller: Decides about the calls.
        check: The object whose `check_approval` is consulted. Without it, the function itself.
        options: More options of `function_tool`, if `tool` is a function.

    Raises:
        ValueError: If the tool has a `needs_approval` function of its own, which cannot be
            combined with that of the controller.
        TypeError: If there are options, but `tool` is a tool already.
    """
    if not isinstance(tool, FunctionTool):
        tool = function_tool(tool, **options)
    elif options:
        raise TypeError("options apply to a function; this is a `FunctionTool` already")
    if callable(tool.needs_approval):
        raise ValueError(
            f"the tool `{tool.name}` has a `needs_approval` function; remove it, and let "
            "`check_approval` return a request for the calls that need approval"
        )
    function = _wrapped_function(tool)
    if tool.needs_approval:
        check = UncheckedTool() if check is None else check
    gate = _ToolGate(
        controller,
        check=function if check is None else check,
        schema=None if function is None else _schema(function),
    )
    guardrails = [*(tool.tool_input_guardrails or ()), gate.guardrail()]
    return dataclasses.replace(
        tool,
        needs_approval=gate.needs_approval_function(tool.name),
        tool_input_guardrails=guardrails,
    )


def needs_approval(
    controller: ApprovalController, tool_name: str, *, check: object = None
) -> _NeedsApproval:
    """Return a function for `function_tool(needs_approval=...)`.

    It returns true if a reviewer has to be asked, and also if the call is blocked: then
    `answer_interruptions` rejects the call. `require_approval` also consults the policy right
    before a call, so it is the better choice where it can be used.

    Args:
        controller: Decides about the calls.
        tool_name: The name of the tool.
        check: The object whose `check_approval` is consulted.

    Example:
        ```python
        from agents import function_tool
        from tool_approval import ApprovalController, Engine
        from tool_approval.frameworks.openai_agents import needs_approval

        controller = ApprovalController(engine=Engine())

        @function_tool(needs_approval=needs_approval(controller, "delete_file"))
        def delete_file(path: str) -> str:
            return f"deleted {path}"
        ```
    """
    return _ToolGate(controller, check=check).needs_approval_function(tool_name)


def approval_guardrail(
    controller: ApprovalController, *, check: object = None
) -> ToolInputGuardrail[Any]:
    """Return a guardrail that decides about a call right before it runs.

    An interruption that was approved counts as the answer of a reviewer. A call that needs
    approval and was not interrupted is asked about while the run waits.

    Args:
        controller: Decides about the calls.
        check: The object whose `check_approval` is consulted.
    """
    return _ToolGate(controller, check=check).guardrail()


def mcp_server_options(
    controller: ApprovalController, server_name: str, *, check: object = None
) -> McpServerOptions:
    """Return the options that gate all tools of an MCP server of the SDK.

    Every call of the server interrupts the run, and `run_with_approval` resumes it without a
    question if the policy allows the call. The policy knows a tool as `mcp__SERVER__TOOL`.

    Args:
        controller: Decides about the calls.
        server_name: The name of the server in rules.
        check: The object whose `check_approval` is consulted.

    Example:
        ```python
        from agents.mcp import MCPServerStdio
        from tool_approval import ApprovalController, Engine
        from tool_approval.frameworks.openai_agents import mcp_server_options

        controller = ApprovalController(engine=Engine())
        server = MCPServerStdio(
            {"command": "my-mcp-server"}, **mcp_server_options(controller, "files")
        )
        ```
    """
    gate = _ToolGate(controller, check=check, prefix=mcp_prefix(server_name))
    return {"require_approval": "always", "tool_input_guardrails": [gate.guardrail()]}


async def run_with_approval(
    agent: Agent[_Context],
    input: str | list[TResponseInputItem] | RunState[_Context],
    controller: ApprovalController,
    **options: Any,
) -> RunResult:
    """Run an agent, and ask about every call that needs approval, until the run is done.

    Args:
        agent: The agent.
        input: The input, or a saved state of a run.
        controller: Decides about the calls.
        options: More options of `Runner.run`.

    Raises:
        Exception: Whatever `Runner.run` raises, and exceptions of `check_approval` that are no
            `PermissionError`. The calls of that step do not run.
    """
    state: Any = input
    if isinstance(input, RunState):
        await answer_interruptions(input, controller)
    result = await Runner.run(agent, state, **options)
    # The state of the run has the context.
    resume = {key: value for key, value in options.items() if key != "context"}
    while result.interruptions:
        state = result.to_state()
        await answer_interruptions(state, controller)
        result = await Runner.run(agent, state, **resume)
    return result


async def answer_interruptions(state: RunState[Any], controller: ApprovalController) -> None:
    """Approve or reject every pending call of a state. Resume the run with the state afterwards.

    Calls are asked about in their order. Those whose requests have the same `group_id` are asked
    about together. A note of the reviewer becomes the message to the model.

    "Approve for session" is an approval of the controller: it applies to equal calls.
    `always_approve` of the SDK is not used, because it applies to every later call of the tool.

    Args:
        state: The state, from `result.to_state()` or `RunState.from_json`.
        controller: Decides about the calls.

    Example:
        ```python
        from agents import Agent, Runner
        from tool_approval import ApprovalController
        from tool_approval.frameworks.openai_agents import answer_interruptions

        async def resume(agent: Agent, result, controller: ApprovalController):
            state = result.to_state()
            await answer_interruptions(state, controller)
            return await Runner.run(agent, state)
        ```
    """
    calls = [_Interruption(item, controller) for item in state.get_interruptions()]
    groups: dict[object, list[_Interruption]] = {}
    for number, interruption in enumerate(calls):
        groups.setdefault(interruption.group_id() or number, []).append(interruption)
    rejections: dict[int, str | None] = {}
    for group in groups.values():
        answers = await _gather(one.find_rejection() for one in group)
        rejections.update(zip(map(id, group), answers, strict=True))
    for interruption in calls:
        rejection = rejections[id(interruption)]
        if rejection is None:
            state.approve(interruption.item)
        else:
            state.reject(interruption.item, rejection_message=rejection)


async def _gather(coroutines: Iterable[Coroutine[Any, Any, str | None]]) -> list[str | None]:
    """Run coroutines at the same time. If one fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


class _GatedNeedsApproval:
    """A `needs_approval` function of a gate."""

    def __init__(self, gate: _ToolGate, tool_name: str) -> None:
        self.gate = gate
        self._tool_name = tool_name

    async def __call__(
        self, context: RunContextWrapper[Any], args: dict[str, Any], call_id: str
    ) -> bool:
        preview = self.gate.preview(self._tool_name, self.gate.read_arguments(args))
        return preview.effect != "allow"


class _Interruption:
    """A pending call, and the gate of its tool."""

    def __init__(self, item: ToolApprovalItem, controller: ApprovalController) -> None:
        self.item = item
        self._controller = controller
        self._tool_name = item.tool_name or item.name or "unknown tool"
        self._gate = _find_gate(item) or _ToolGate(
            controller, check=UncheckedTool(), prefix=_hosted_prefix(item)
        )

    def group_id(self) -> str | None:
        """Return the group of the request, if the call has one."""
        try:
            request = self._gate.preview(self._tool_name, self._arguments()).request
        except PermissionError:
            return None
        return None if request is None else request.group_id

    async def find_rejection(self) -> str | None:
        """Decide about the call. Returns the message to the model if it is rejected."""
        try:
            args = self._arguments()
            decision = await self._gate.approve(
                self._controller, self._tool_name, args, self.item.call_id
            )
        except PermissionError as error:
            return str(error)
        if not decision.approved:
            return _rejection_message(decision.note)
        if self.item.call_id is not None:
            self._gate.remember(self.item.call_id, self._tool_name, args)
        return None

    def _arguments(self) -> dict[str, Any]:
        return self._gate.read_arguments(_item_arguments(self.item))


class _ToolGate:
    """Decides about the calls of a tool, or of all tools of an MCP server."""

    def __init__(
        self,
        controller: ApprovalController,
        *,
        check: object = None,
        schema: FuncSchema | None = None,
        prefix: str = "",
    ) -> None:
        self._controller = controller
        self._check = check
        self._schema = schema
        self._prefix = prefix
        self._approved = ApprovedCalls()

    def guardrail(self) -> ToolInputGuardrail[Any]:
        return ToolInputGuardrail(guardrail_function=self.guard, name="tool_approval")

    def needs_approval_function(self, tool_name: str) -> _NeedsApproval:
        return _GatedNeedsApproval(self, tool_name)

    def preview(self, tool_name: str, args: dict[str, Any]) -> CallPreview:
        return self._controller.preview_call(
            self._prefix + tool_name, args, tool=RenamedTool(self._check, tool_name)
        )

    async def approve(
        self,
        controller: ApprovalController,
        tool_name: str,
        args: dict[str, Any],
        call_id: str | None,
        *,
        answer: ApprovalDecision | None = None,
    ) -> ApprovalDecision:
        """Decide about a call, with this answer of a reviewer if there is one."""
        name = self._prefix + tool_name
        tool = RenamedTool(self._check, tool_name)
        metadata = {"call_id": call_id}
        if answer is None:
            return await controller.approve_call(name, args, tool=tool, metadata=metadata)
        return await controller.apply_answer(answer, name, args, tool=tool, metadata=metadata)

    def remember(self, call_id: str, tool_name: str, args: dict[str, Any]) -> None:
        """Remember that a call was approved, and will run when the run is resumed."""
        self._approved.add(call_id, tool_name, args)

    async def guard(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        """Decide about a call right before it runs."""
        try:
            rejection = await self._find_rejection(data.context)
        except PermissionError as error:
            rejection = str(error)
        if rejection is None:
            return ToolGuardrailFunctionOutput.allow()
        return ToolGuardrailFunctionOutput.reject_content(rejection)

    async def _find_rejection(self, context: ToolContext[Any]) -> str | None:
        """Return the message to the model if a call must not run."""
        tool_name, call_id = context.tool_name, context.tool_call_id
        args = self.read_arguments(_parse_arguments(context.tool_arguments))
        if self._approved.take(call_id, tool_name, args):
            preview = self.preview(tool_name, args)
            return _reason(preview) if preview.effect == "deny" else None
        is_approved = context.is_tool_approved(tool_name, call_id) is True
        answer = ApprovalDecision(True, note=APPROVED_IN_STATE) if is_approved else None
        decision = await self.approve(self._controller, tool_name, args, call_id, answer=answer)
        return None if decision.approved else _rejection_message(decision.note)

    def read_arguments(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as the function gets them: converted, and with the defaults.

        Arguments that do not fit the function are returned unchanged. The SDK does not call the
        function with them.
        """
        if self._schema is None:
            return args
        try:
            parsed = self._schema.params_pydantic_model(**copy.deepcopy(args))
        except (ValidationError, TypeError):
            return args
        values = {name: getattr(parsed, name) for name in type(parsed).model_fields}
        readable: dict[str, Any] = to_jsonable_python(values, fallback=repr)
        return readable


def _find_gate(item: ToolApprovalItem) -> _ToolGate | None:
    """Return the gate of the tool that an interruption is about."""
    for tool in item.agent.tools:
        if isinstance(tool, FunctionTool) and tool.name == item.tool_name:
            gate = _gate_of(tool.tool_input_guardrails)
            if gate is None and isinstance(tool.needs_approval, _GatedNeedsApproval):
                return tool.needs_approval.gate
            return gate
    origin = item.tool_origin
    if origin is not None and origin.mcp_server_name is not None:
        for server in item.agent.mcp_servers:
            if server.name == origin.mcp_server_name:
                return _gate_of(server.tool_input_guardrails)
    return None


def _gate_of(guardrails: Sequence[ToolInputGuardrail[Any]] | None) -> _ToolGate | None:
    for guardrail in guardrails or ():
        gate = getattr(guardrail.guardrail_function, "__self__", None)
        if isinstance(gate, _ToolGate):
            return gate
    return None


def _raw_fields(item: ToolApprovalItem) -> dict[str, Any]:
    """Return the fields of the call that an interruption is about."""
    raw = to_jsonable_python(item.raw_item, fallback=repr)
    return cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}


def _hosted_prefix(item: ToolApprovalItem) -> str:
    """Return the prefix of the name of a tool of an MCP server that the model provider runs."""
    server = _raw_fields(item).get("server_label")
    return mcp_prefix(server) if isinstance(server, str) else ""


def _item_arguments(item: ToolApprovalItem) -> dict[str, Any]:
    """Return the arguments of an interruption."""
    call = _raw_fields(item)
    kind = call.get("type")
    if kind in {"function_call", "mcp_approval_request"}:
        return _parse_arguments(item.arguments or "")
    if kind == "shell_call":
        action = {key: value for key, value in call.get("action", {}).items() if value is not None}
        commands: list[str] = action.get("commands", [])
        # The policy can judge a single command. Several commands are shown as they are.
        if len(commands) == 1 and not _changes_shell(action):
            return {"command": commands[0]}
    return {key: value for key, value in call.items() if key not in {"id", "call_id", "status"}}


def _changes_shell(action: dict[str, Any]) -> bool:
    """Return whether a shell call has more than commands and limits, such as a directory."""
    return not action.keys() <= {"commands", "max_output_length", "timeout_ms", "type"}


def _parse_arguments(text: str) -> dict[str, Any]:
    """Return the arguments of a call.

    Raises:
        OperationBlockedError: If they are not a JSON object, because they cannot be checked then.
    """
    try:
        args: object = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        args = None
    if not isinstance(args, dict):
        raise OperationBlockedError("the arguments of the call are not a JSON object")
    return cast("dict[str, Any]", args)


def _wrapped_function(tool: FunctionTool) -> Callable[..., Any] | None:
    """Return the function that `function_tool` made this tool of, if it did."""
    find = getattr(tool.on_invoke_tool, "_get_wrapped_callable", None)
    function = None if find is None else find()
    return function if callable(function) else None


def _schema(function: Callable[..., Any]) -> FuncSchema:
    return function_schema(function, use_docstring_info=False, strict_json_schema=False)


def _reason(preview: CallPreview) -> str:
    return preview.reason or "the call is blocked"


def _rejection_message(note: str | None) -> str:
    return f"Approval denied: {note}" if note else "Approval denied"
