"""Approval for the tools of PydanticAI agents.

`ToolApproval` is a capability for all tools of an agent:

```python
from pydantic_ai import Agent
from tool_approval import ApprovalController
from tool_approval.frameworks.pydantic_ai import ToolApproval

agent = Agent("openai:gpt-5", capabilities=[ToolApproval(ApprovalController())])
```

`ApprovalToolset` does the same for one toolset. `approval_check`, `deferred_call_handler` and
`answer_deferred_calls` are for programs that use the deferred tools of PydanticAI themselves.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard, cast

from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import (
    AgentDepsT,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDefinition,
    ToolDenied,
)
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_ai.toolsets.function import FunctionToolsetTool
from pydantic_core import PydanticSerializationError, to_jsonable_python

from ..controller import ApprovalController
from ..decorator import simple_approval_request
from ..errors import UncomparablePayloadError
from ..types import ApprovalContext, ApprovalDecision, ApprovalRequest
from ._call_binding import (
    CHANGED_MESSAGE,
    CombinedChecks,
    copy_arguments,
    denial_message,
    fingerprint_call,
    refusal_message,
    unwrap_function,
)

__all__ = [
    "METADATA_KEY",
    "ApprovalToolset",
    "ToolApproval",
    "answer_deferred_calls",
    "approval_check",
    "deferred_call_handler",
]

METADATA_KEY = "tool_approval"
"""The key of this package in the metadata of deferred calls."""

ContextMetadata = Callable[[RunContext[Any]], dict[str, Any]]
"""A function that returns entries for `ApprovalContext.metadata`."""


# --- Wrappers of tools ----------------------------------------------------------------------------


@dataclass
class ApprovalToolset(WrapperToolset[AgentDepsT]):
    """A toolset that asks the controller before it calls a tool.

    The controller consults the `check_approval` of the tool's function, of the object whose method
    the function is, and of the toolset. It then consults the policy of its engine, and asks a
    reviewer if necessary. Tools with `requires_approval=True` are always asked about.

    If a call is denied or blocked, the tool does not run, and the model gets the reason as a
    failed result. A tool runs with a copy of the arguments that were approved.

    Calls that the framework resumes with an approval are checked by the tool and the policy again.

    Args:
        wrapped: The toolset.
        controller: The controller.
        defer: True if calls that need approval are deferred, as the framework defines it: they
            become `DeferredToolRequests`, which a handler or a later run answers. By default, the
            toolset waits for the answer.
        metadata: A function that returns entries for `ApprovalContext.metadata`.

    Example:
        ```python
        agent = Agent(model, toolsets=[ApprovalToolset(files, ApprovalController())])
        ```
    """

    controller: ApprovalController
    defer: bool = field(default=False, kw_only=True)
    metadata: ContextMetadata | None = field(default=None, kw_only=True)

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """Return the tools. This toolset asks for those that the framework would defer itself."""
        tools = await super().get_tools(ctx)
        return {
            name: _declare(tool) if tool.tool_def.kind == "unapproved" else tool
            for name, tool in tools.items()
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentDepsT],
        tool: ToolsetTool[AgentDepsT],
    ) -> Any:
        """Call a tool, unless the call is denied or blocked.

        Raises:
            ToolFailed: If the call is denied or blocked.
            ApprovalRequired: If a reviewer has to be asked and calls are deferred.
        """
        checks: object = CombinedChecks(_find_checked_objects(tool, self.wrapped))
        if isinstance(tool, _DeclaredTool):
            tool, checks = tool.unwrap(), _AlwaysAsking(checks)
        elif tool.tool_def.kind == "unapproved":
            checks = _AlwaysAsking(checks)
        call = _Call(
            name=name,
            args=copy_arguments(name, tool_args),
            tool=checks,
            metadata=_context_metadata(ctx, self.metadata),
        )
        if ctx.tool_call_approved:
            await self._check_approved_call(call, ctx)
        elif self.defer:
            _check_or_defer(self.controller, call, ctx)
        else:
            await _refuse_unless_approved(
                lambda: self.controller.approve_call(name, call.args, **call.options)
            )
        # The copy that was approved, even if `tool_args` was changed in between.
        return await super().call_tool(name, call.args, ctx, tool)

    async def _check_approved_call(self, call: _Call, ctx: RunContext[AgentDepsT]) -> None:
        """Check a call that the framework says is approved, because the policy may have changed."""
        try:
            record = _read_record(ctx.tool_call_metadata)
        except PermissionError as error:
            raise ToolFailed(refusal_message(f"Approval denied: {error}")) from error
        if record is not None and not record.is_for(call, ctx.tool_call_id):
            raise ToolFailed(refusal_message(f"Approval denied: {CHANGED_MESSAGE}"))
        if record is not None and record.is_answered_by_controller:
            preview = self.controller.preview_call(call.name, call.args, **call.options)
            if preview.effect == "deny":
                _record_denial(self.controller, call)
                raise ToolFailed(refusal_message(preview.reason or "Approval denied"))
            return
        # Another call asked the reviewer.
        answer = ApprovalDecision(True)
        await _refuse_unless_approved(
            lambda: self.controller.apply_answer(answer, call.name, call.args, **call.options)
        )


@dataclass
class ToolApproval(AbstractCapability[AgentDepsT]):
    """A capability that asks the controller before the agent calls a tool.

    It applies to all tools of the agent, and is the innermost capability: no other one changes the
    arguments between the approval and the call. Events of a run contain the deferred calls and
    the answers.

    Args:
        controller: The controller.
        resolve: True if the run waits for the answers. Otherwise it ends with
            `DeferredToolRequests`, and `answer_deferred_calls` answers them later.
        metadata: A function that returns entries for `ApprovalContext.metadata`.

    Example:
        ```python
        agent = Agent(model, tools=[delete_file], capabilities=[ToolApproval(controller)])
        ```
    """

    controller: ApprovalController
    resolve: bool = field(default=True, kw_only=True)
    metadata: ContextMetadata | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.defer_loading:
            raise ValueError("`ToolApproval` cannot be loaded by the model: remove `defer_loading`")

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return `None`: a controller has no serialized form."""
        return None

    def get_ordering(self) -> CapabilityOrdering:
        """Return the position next to the tools."""
        return CapabilityOrdering(position="innermost")

    def get_wrapper_toolset(
        self, toolset: AbstractToolset[AgentDepsT]
    ) -> AbstractToolset[AgentDepsT]:
        """Return the toolset of the agent with a check before each call."""
        return ApprovalToolset(toolset, self.controller, defer=True, metadata=self.metadata)

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[AgentDepsT], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Ask the controller about the deferred calls, unless a later run is to answer them."""
        if not self.resolve:
            return None
        return await deferred_call_handler(self.controller)(ctx, requests)


# --- Deferred calls -------------------------------------------------------------------------------


def approval_check(
    controller: ApprovalController, *, metadata: ContextMetadata | None = None
) -> Callable[[RunContext[Any], ToolDefinition, dict[str, Any]], bool]:
    """Return a function for `AbstractToolset.approval_required`.

    It never waits. If the call is denied or blocked, the model gets the reason. If a reviewer has
    to be asked, the call is deferred. `ApprovalToolset` also checks the call when it is resumed,
    and that the arguments did not change in between: prefer it.

    Args:
        controller: The controller.
        metadata: A function that returns entries for `ApprovalContext.metadata`.

    Example:
        ```python
        toolset = files.approval_required(approval_check(controller))
        ```
    """

    def is_approval_required(
        ctx: RunContext[Any], tool_def: ToolDefinition, tool_args: dict[str, Any]
    ) -> bool:
        tool = _find_dispatched_tool(ctx, tool_def)
        checks: object = CombinedChecks(_find_checked_objects(tool)) if tool is not None else None
        call = _Call(
            name=tool_def.name,
            args=copy_arguments(tool_def.name, tool_args),
            # A tool that cannot be found may be approval-aware.
            tool=_AlwaysAsking(None) if tool is None else checks,
            metadata=_context_metadata(ctx, metadata),
        )
        _check_or_defer(controller, call, ctx)
        return False

    return is_approval_required


def deferred_call_handler(
    controller: ApprovalController,
    *,
    answered_by: str = "reviewer",
) -> Callable[[RunContext[Any], DeferredToolRequests], Awaitable[DeferredToolResults]]:
    """Return a handler for the capability `HandleDeferredToolCalls`.

    It asks the controller about each call that needs approval, and leaves calls of external tools
    to other handlers.

    Args:
        controller: The controller.
        answered_by: The name of the reviewer, for answers whose origin the controller does not
            know.

    Example:
        ```python
        agent = Agent(
            model,
            toolsets=[files.approval_required(approval_check(controller))],
            capabilities=[HandleDeferredToolCalls(deferred_call_handler(controller))],
        )
        ```
    """

    async def handle(
        ctx: RunContext[Any], requests: DeferredToolRequests
    ) -> DeferredToolResults:
        def find_tool(name: str) -> object:
            tools = ctx.tool_manager.tools if ctx.tool_manager is not None else None
            tool = tools.get(name) if tools is not None else None
            return CombinedChecks(_find_checked_objects(tool)) if tool is not None else None

        metadata = _context_metadata(ctx, None)
        return await _answer_calls(controller, requests, find_tool, answered_by, metadata)

    return handle


async def answer_deferred_calls(
    requests: DeferredToolRequests,
    controller: ApprovalController,
    *,
    tools: Mapping[str, object] | None = None,
    answered_by: str = "reviewer",
    metadata: dict[str, Any] | None = None,
) -> DeferredToolResults:
    """Return the answers of the controller to calls that ended a run.

    Pass them to the next run as `deferred_tool_results`. The metadata of the requests has to be
    stored with them: it binds an answer to the arguments, and it contains what a reviewer sees.
    Calls of external tools stay without a result.

    Args:
        requests: The output of the run.
        controller: The controller, which may be another one than that of the run.
        tools: Approval-aware tools by name, for calls that `ToolApproval` or `ApprovalToolset` did
            not defer.
        answered_by: The name of the reviewer, for answers whose origin the controller does not
            know.
        metadata: Data for `ApprovalContext.metadata`.

    Example:
        ```python
        result = await agent.run("Clean up", output_type=[str, DeferredToolRequests])
        if isinstance(result.output, DeferredToolRequests):
            results = await answer_deferred_calls(result.output, controller)
            result = await agent.run(
                message_history=result.all_messages(), deferred_tool_results=results
            )
        ```
    """
    known = tools or {}
    return await _answer_calls(controller, requests, known.get, answered_by, metadata or {})


async def _answer_calls(
    controller: ApprovalController,
    requests: DeferredToolRequests,
    find_tool: Callable[[str], object],
    answered_by: str,
    metadata: dict[str, Any],
) -> DeferredToolResults:
    async def answer(call: ToolCallPart) -> _Answer:
        call_metadata = requests.metadata.get(call.tool_call_id)
        return await _answer_call(controller, call, call_metadata, find_tool, metadata)

    results = DeferredToolResults()
    calls = requests.approvals
    answers = await _gather([answer(call) for call in calls])
    for call, (result, origin) in zip(calls, answers, strict=True):
        call_id = call.tool_call_id
        results.approvals[call_id] = result
        results.answered_by[call_id] = origin or answered_by
        call_metadata = requests.metadata.get(call_id)
        if call_metadata is not None:
            results.metadata[call_id] = _with_answer(call_metadata)
    return results


_Answer = tuple[ToolApproved | ToolDenied, str | None]
"""The answer to a deferred call, and its origin if it is known."""


async def _answer_call(
    controller: ApprovalController,
    call: ToolCallPart,
    call_metadata: dict[str, Any] | None,
    find_tool: Callable[[str], object],
    metadata: dict[str, Any],
) -> _Answer:
    """Decide about one call. A call that cannot be read is denied."""
    context = {**metadata, "tool_call_id": call.tool_call_id}
    try:
        record = _read_record(call_metadata)
        if record is None:
            approved = ToolApproved(override_args=_read_arguments(call))
            args = copy_arguments(call.tool_name, approved.override_args or {})
            tool = _AlwaysAsking(find_tool(call.tool_name))
            decision = await controller.approve_call(
                call.tool_name, args, tool=tool, metadata=context
            )
        else:
            approved = ToolApproved()
            if not record.is_consistent(call.tool_call_id):
                raise PermissionError("the stored request belongs to another call")
            decision = await controller.approve_call(
                record.tool_name, record.args, tool=record, metadata=context
            )
    except PermissionError as error:
        return ToolDenied(refusal_message(str(error))), "policy"
    if decision.approved:
        return approved, decision.answered_by
    return ToolDenied(denial_message(decision)), decision.answered_by


def _read_arguments(call: ToolCallPart) -> dict[str, Any]:
    try:
        return copy_arguments(call.tool_name, call.args_as_dict(raise_if_invalid=True))
    except (AssertionError, ValueError) as error:
        raise PermissionError(f"the arguments of the call are malformed: {error}") from error


async def _gather(answers: list[Awaitable[_Answer]]) -> list[_Answer]:
    """Wait for all answers. If one fails, the other questions are closed."""
    tasks = [asyncio.ensure_future(answer) for answer in answers]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


# --- Calls ----------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class _Call:
    """A call that is being decided. Nothing else refers to its arguments."""

    name: str
    args: dict[str, Any]
    tool: object
    metadata: dict[str, Any]

    @property
    def options(self) -> dict[str, Any]:
        return {"tool": self.tool, "metadata": self.metadata}

    def fingerprint(self, call_id: str | None) -> str:
        args = _to_json(self.name, self.args)
        return fingerprint_call(call_id, self.name, args)


async def _refuse_unless_approved(decide: Callable[[], Awaitable[ApprovalDecision]]) -> None:
    try:
        decision = await decide()
    except PermissionError as error:
        raise ToolFailed(refusal_message(str(error))) from error
    if not decision.approved:
        raise ToolFailed(denial_message(decision))


def _check_or_defer(controller: ApprovalController, call: _Call, ctx: RunContext[Any]) -> None:
    """Return if the call may run.

    Raises:
        ToolFailed: If the call is denied or blocked.
        ApprovalRequired: If a reviewer has to be asked.
    """
    try:
        decision = controller.check_call(call.name, call.args, **call.options)
        if decision is None:
            preview = controller.preview_call(call.name, call.args, **call.options)
            raise ApprovalRequired(_new_metadata(call, ctx, preview.request))
    except PermissionError as error:
        raise ToolFailed(refusal_message(str(error))) from error
    if not decision.approved:
        raise ToolFailed(denial_message(decision))


def _record_denial(controller: ApprovalController, call: _Call) -> None:
    """Let the policy record that it denies a call."""
    try:
        controller.check_call(call.name, call.args, **call.options)
    except PermissionError:
        pass


def _context_metadata(
    ctx: RunContext[Any], metadata: ContextMetadata | None
) -> dict[str, Any]:
    known = {
        "run_id": ctx.run_id,
        "session_id": ctx.conversation_id,
        "tool_call_id": ctx.tool_call_id,
    }
    return {**known, **(metadata(ctx) if metadata is not None else {})}


# --- Metadata of deferred calls -------------------------------------------------------------------


@dataclass(kw_only=True)
class _DeferralRecord:
    """What the metadata of a deferred call says about it. Its values are JSON values."""

    tool_name: str
    args: dict[str, Any]
    request: ApprovalRequest
    fingerprint: str
    is_answered_by_controller: bool

    def is_consistent(self, call_id: str | None) -> bool:
        """Return whether a reviewer sees the arguments that the call was deferred with."""
        return self.fingerprint == fingerprint_call(call_id, self.tool_name, self.args)

    def is_for(self, call: _Call, call_id: str | None) -> bool:
        """Return whether a call has the arguments that a reviewer sees."""
        return self.is_consistent(call_id) and self.fingerprint == call.fingerprint(call_id)

    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest:
        """Return the request of the tool when the call was deferred."""
        return self.request


def _new_metadata(
    call: _Call, ctx: RunContext[Any], request: ApprovalRequest | None
) -> dict[str, Any]:
    args = _to_json(call.name, call.args)
    if request is None:
        request = simple_approval_request(call.name, args)
    record = {
        "tool_name": call.name,
        "args": args,
        "request": _to_json(call.name, request.model_dump()),
        "fingerprint": fingerprint_call(ctx.tool_call_id, call.name, args),
    }
    return {METADATA_KEY: record}


def _read_record(metadata: object) -> _DeferralRecord | None:
    """Return the record in the metadata of a deferred call, or `None` if there is none.

    Raises:
        PermissionError: If the record has been damaged.
    """
    if not _is_mapping(metadata) or METADATA_KEY not in metadata:
        return None
    fields: Any = metadata[METADATA_KEY]
    try:
        return _DeferralRecord(
            tool_name=str(fields["tool_name"]),
            args=dict(fields["args"]),
            request=ApprovalRequest.model_validate(fields["request"]),
            fingerprint=str(fields["fingerprint"]),
            is_answered_by_controller=fields.get("is_answered_by_controller") is True,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PermissionError(f"the stored request is damaged: {error!r}") from error


def _with_answer(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a call with the note that the controller has answered."""
    record = metadata.get(METADATA_KEY)
    if not _is_mapping(record):
        return metadata
    return {**metadata, METADATA_KEY: {**record, "is_answered_by_controller": True}}


def _to_json(tool_name: str, value: Any) -> Any:
    """Return arguments as JSON values. The elements of a set are sorted.

    Raises:
        UncomparablePayloadError: If a value has no JSON form.
    """
    if _is_mapping(value):
        return {str(key): _to_json(tool_name, one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(tool_name, one) for one in cast("list[Any]", value)]
    if isinstance(value, (set, frozenset)):
        elements = [_to_json(tool_name, one) for one in cast("set[Any]", value)]
        return sorted(elements, key=json.dumps)
    try:
        return to_jsonable_python(value)
    except (PydanticSerializationError, ValueError) as error:
        message = f"the arguments of `{tool_name}` have no JSON form: {error}"
        raise UncomparablePayloadError(message) from error


def _is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


# --- Tools ----------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class _DeclaredTool(ToolsetTool[AgentDepsT]):
    """A tool with `requires_approval=True`, whose calls the framework does not defer itself."""

    source_tool: ToolsetTool[AgentDepsT]

    def unwrap(self) -> ToolsetTool[AgentDepsT]:
        tool_def = replace(self.tool_def, kind=self.source_tool.tool_def.kind)
        return replace(self.source_tool, tool_def=tool_def)


def _declare(tool: ToolsetTool[AgentDepsT]) -> _DeclaredTool[AgentDepsT]:
    return _DeclaredTool(
        toolset=tool.toolset,
        tool_def=replace(tool.tool_def, kind="function"),
        max_retries=tool.max_retries,
        args_validator=tool.args_validator,
        args_validator_func=tool.args_validator_func,
        source_tool=tool,
    )


class _AlwaysAsking:
    """The check of a tool with `requires_approval=True`: its own request, or one for any call."""

    def __init__(self, checks: object) -> None:
        self._checks = CombinedChecks([checks])

    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest:
        request = self._checks.check_approval(ctx)
        return request or simple_approval_request(ctx.tool_name, ctx.args)


def _find_checked_objects(
    tool: ToolsetTool[Any], wrapped: AbstractToolset[Any] | None = None
) -> list[object]:
    """Return the objects whose `check_approval` applies to a tool: function and toolsets.

    Raises:
        TypeError: If the function of the tool cannot be found. It may be approval-aware.
    """
    while (source := _source_tool(tool)) is not None:
        tool = source
    objects: list[object] = []
    if isinstance(tool, FunctionToolsetTool):
        schema = getattr(tool.call_func, "__self__", None)
        function = getattr(schema, "function", None)
        if function is None:
            raise TypeError(f"cannot find the function of the tool `{tool.tool_def.name}`")
        objects += [function, unwrap_function(function)]
    for toolset in (tool.toolset, wrapped):
        layer: object = toolset
        while layer is not None:
            objects.append(layer)
            layer = getattr(layer, "wrapped", None)
    return list({id(one): one for one in objects}.values())


def _source_tool(tool: ToolsetTool[Any]) -> ToolsetTool[Any] | None:
    """Return the tool that a tool of a wrapping or combining toolset stands for."""
    source = getattr(tool, "source_tool", None)
    return source if _is_tool(source) else None


def _is_tool(value: object) -> TypeGuard[ToolsetTool[Any]]:
    return isinstance(value, ToolsetTool)


def _find_dispatched_tool(
    ctx: RunContext[Any], tool_def: ToolDefinition
) -> ToolsetTool[Any] | None:
    """Return the tool that a run is calling, or `None` if it cannot be told with certainty."""
    tools = ctx.tool_manager.tools if ctx.tool_manager is not None else None
    if tools is None:
        return None
    # The name that the model used. The toolsets around this one may have renamed the tool.
    name = getattr(ctx, "_dispatched_tool_name", None)
    if isinstance(name, str):
        return tools.get(name)
    tool = tools.get(tool_def.name)
    return tool if tool is not None and tool.tool_def == tool_def else None
