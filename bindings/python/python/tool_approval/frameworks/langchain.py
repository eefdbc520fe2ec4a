"""Approval for the tools of LangChain agents.

```python
from langchain.agents import create_agent
from tool_approval import ApprovalController
from tool_approval.frameworks.langchain import ApprovalMiddleware

agent = create_agent(
    "openai:gpt-5", tools=[delete_file], middleware=[ApprovalMiddleware(ApprovalController())]
)
```
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, TypeGuard, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import (
    ContextT,
    ExtendedModelResponse,
    PrivateStateAttr,
    ResponseT,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt
from typing_extensions import NotRequired, TypedDict

from ..controller import ApprovalController, CallPreview, run_sync
from ..errors import UncomparablePayloadError
from ..types import ApprovalDecision
from ._call_binding import (
    CHANGED_MESSAGE,
    CombinedChecks,
    copy_arguments,
    denial_message,
    fingerprint_call,
    refusal_message,
)

__all__ = [
    "ActionRequest",
    "ApprovalMiddleware",
    "HumanInterrupt",
    "HumanInterruptConfig",
    "HumanResponse",
]

ContextMetadata = Callable[[Any], dict[str, Any]]
"""A function of the run's `context` that returns entries for `ApprovalContext.metadata`."""

_ToolResult = ToolMessage | Command[Any]


# --- The shapes of Agent Inbox --------------------------------------------------------------------


class ActionRequest(TypedDict):
    """The call that a person is asked about.

    Attributes:
        action: The name of the tool.
        args: The arguments.
    """

    action: str
    args: dict[str, Any]


class HumanInterruptConfig(TypedDict):
    """The kinds of answers that are possible."""

    allow_ignore: bool
    allow_respond: bool
    allow_edit: bool
    allow_accept: bool


class HumanInterrupt(TypedDict):
    """A question. The value of an interrupt is a list of them."""

    action_request: ActionRequest
    config: HumanInterruptConfig
    description: str | None


class HumanResponse(TypedDict):
    """The answer to a question. The answer to an interrupt is a list of them, in the same order.

    If there is one question, the answer may be one response without a list.

    Attributes:
        type: `accept` runs the call. `edit` runs it with other arguments. `ignore` denies it.
            `response` denies it with a message to the model. Any other type is a denial.
        args: The `ActionRequest` of an edit, or the text of a response.
    """

    type: str
    args: None | str | ActionRequest


# --- The state of a thread ------------------------------------------------------------------------


class _Question(TypedDict):
    """A call of the current step that a person is to be asked about."""

    tool_call_id: str
    name: str
    args: dict[str, Any]
    fingerprint: str
    description: str


class _Answer(TypedDict):
    """The answer to a question. `args` are the arguments of an edited call."""

    fingerprint: str
    is_approved: bool
    args: dict[str, Any] | None
    note: str | None


class _StepApprovals(TypedDict):
    """The questions and answers of the current step, which the checkpoints of a thread contain."""

    message_id: str | None
    questions: list[_Question]
    answers: dict[str, _Answer]


class _ApprovalState(AgentState[Any]):
    tool_approval: NotRequired[Annotated[_StepApprovals, PrivateStateAttr]]


_STATE_KEY: Final = "tool_approval"


class ApprovalMiddleware(AgentMiddleware[_ApprovalState, ContextT, ResponseT]):
    """A middleware that asks the controller before a tool runs.

    The controller consults the `check_approval` of the tool or of its function. It then consults
    the policy of its engine, and asks a reviewer if necessary. If a call is denied or blocked, the
    tool does not run, and the model gets a `ToolMessage` with the status `error` and the reason.

    Put it last in the list of middleware. It then sees the arguments that the others have changed,
    and a tool runs with a copy of the arguments that were approved.

    By default, the middleware waits for the answer of the controller's reviewer. With `interrupt`,
    the run pauses instead, and the agent needs a checkpointer. The value of the LangGraph interrupt
    is a list with a `HumanInterrupt`, the shape of Agent Inbox, for each call of the step that
    needs approval. The run is resumed with a list of a `HumanResponse` for each of them, such as
    `Command(resume=[{"type": "accept", "args": None}])`.

    The questions and answers are part of the thread: an answer applies to one tool call with these
    arguments, however often the run is resumed. When the call runs, the tool and the policy are
    consulted again, and a deny of theirs wins. A call that was denied never runs. If another
    middleware changes the arguments after the question, the call does not run.

    Args:
        controller: The controller.
        interrupt: True if the run pauses with an interrupt when a reviewer has to be asked.
        allow_edit: True if the answer to an interrupt may change the arguments. The policy checks
            the changed call again.
        metadata: A function of the run's `context` that returns entries for
            `ApprovalContext.metadata`.

    Example:
        ```python
        agent = create_agent(
            model,
            tools=[delete_file],
            middleware=[ApprovalMiddleware(controller, interrupt=True)],
            checkpointer=InMemorySaver(),
        )
        ```
    """

    state_schema: type[_ApprovalState] = _ApprovalState

    def __init__(
        self,
        controller: ApprovalController,
        *,
        interrupt: bool = False,
        allow_edit: bool = True,
        metadata: ContextMetadata | None = None,
    ) -> None:
        super().__init__()
        self.controller = controller
        self.interrupt = interrupt
        self.allow_edit = allow_edit
        self.metadata = metadata

    # --- Tools -----------------------------------------------------------------------------------

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], _ToolResult],
    ) -> _ToolResult:
        """Run a tool, unless the call is denied or blocked."""
        outcome = run_sync(self._decide(request))
        if isinstance(outcome, ToolMessage):
            return outcome
        return outcome.annotate(handler(outcome.to_request(request)))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[_ToolResult]],
    ) -> _ToolResult:
        """Run a tool, unless the call is denied or blocked."""
        outcome = await self._decide(request)
        if isinstance(outcome, ToolMessage):
            return outcome
        return outcome.annotate(await handler(outcome.to_request(request)))

    async def _decide(self, request: ToolCallRequest) -> _Call | ToolMessage:
        """Return the call that may run, or the message that the model gets instead."""
        name = request.tool_call["name"]
        tool = request.tool
        if tool is None:
            return _refuse(request, f"`{name}` is not an available tool")
        if tool.name != name:
            return _refuse(request, f"the call of `{name}` would run `{tool.name}`")
        call = _Call(
            name=name,
            args=copy_arguments(name, request.tool_call["args"]),
            tool=_find_checks(tool),
            metadata=self._context_metadata(_runtime(request), request.tool_call["id"]),
        )
        try:
            if self.interrupt:
                call, decision = await self._apply_answer(request, call)
            else:
                decision = await self.controller.approve_call(name, call.args, **call.options)
        except PermissionError as error:
            return _refuse(request, str(error))
        return call if decision.approved else _refuse(request, denial=decision)

    async def _apply_answer(
        self, request: ToolCallRequest, call: _Call
    ) -> tuple[_Call, ApprovalDecision]:
        """Decide about a call by the answer in the thread."""
        answer = _find_answer(request)
        if answer is None:
            decision = self.controller.check_call(call.name, call.args, **call.options)
            if decision is None:
                raise PermissionError(
                    "Approval denied: no reviewer was asked about this call, because the policy or "
                    "the call has changed"
                )
            return call, decision
        if answer["fingerprint"] != call.fingerprint(request.tool_call["id"]):
            raise PermissionError(f"Approval denied: {CHANGED_MESSAGE}")
        if answer["args"] is not None:
            call = call.with_arguments(answer["args"])
        decision = await self.controller.apply_answer(
            ApprovalDecision(answer["is_approved"], note=answer["note"], answered_by="reviewer"),
            call.name,
            call.args,
            **call.options,
        )
        return call, decision

    # --- Questions -------------------------------------------------------------------------------

    def wrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]],
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        """Find the calls of the model that a person is to be asked about."""
        return self._with_questions(request, handler(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        """Find the calls of the model that a person is to be asked about."""
        return self._with_questions(request, await handler(request))

    def _with_questions(
        self, request: ModelRequest[ContextT], response: ModelResponse[ResponseT]
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        if not self.interrupt:
            return response
        calls = [
            call
            for message in response.result
            if isinstance(message, AIMessage)
            for call in message.tool_calls
        ]
        tools = {tool.name: tool for tool in request.tools if isinstance(tool, BaseTool)}
        ids = [call["id"] for call in calls]
        questions: list[_Question] = []
        for call in calls:
            tool = tools.get(call["name"])
            # A tool that is not known here, and a call whose id is not unique, is not asked about,
            # and does not run if it needs approval.
            if tool is not None and ids.count(call["id"]) == 1:
                question = self._new_question(call, tool, request.runtime)
                questions += [question] if question is not None else []
        approvals = _StepApprovals(message_id=None, questions=questions, answers={})
        return ExtendedModelResponse(response, Command(update={_STATE_KEY: approvals}))

    def _new_question(
        self, tool_call: ToolCall, tool: BaseTool, runtime: Any
    ) -> _Question | None:
        call_id = tool_call["id"]
        if call_id is None:
            return None
        call = _Call(
            name=tool_call["name"],
            args=copy_arguments(tool_call["name"], tool_call["args"]),
            tool=_find_checks(tool),
            metadata=self._context_metadata(runtime, call_id),
        )
        preview = self.controller.preview_call(call.name, call.args, **call.options)
        if preview.effect != "ask":
            return None
        return _Question(
            tool_call_id=call_id,
            name=call.name,
            args=call.args,
            fingerprint=call.fingerprint(call_id),
            description=_describe(preview),
        )

    def after_model(
        self, state: _ApprovalState, runtime: Runtime[ContextT]
    ) -> dict[str, Any] | None:
        """Ask the questions of this step with one interrupt."""
        if not self.interrupt:
            return None
        message = _last_model_message(state)
        approvals = state.get(_STATE_KEY)
        answers: dict[str, _Answer] = {}
        if message is not None and approvals is not None:
            # The questions are those of the checkpoint, whatever the policy says now. There is one
            # interrupt, because an answer that LangGraph stores may be given to a later interrupt
            # of the same node when the run is continued.
            calls = {_fingerprint(call) for call in message.tool_calls}
            questions = [one for one in approvals["questions"] if one["fingerprint"] in calls]
            answers = self._ask(questions) if questions else {}
        message_id = message.id if message is not None else None
        asked = _StepApprovals(message_id=message_id, questions=[], answers=answers)
        return {_STATE_KEY: asked}

    async def aafter_model(
        self, state: _ApprovalState, runtime: Runtime[ContextT]
    ) -> dict[str, Any] | None:
        """Ask the questions of this step with one interrupt."""
        return self.after_model(state, runtime)

    def _ask(self, questions: list[_Question]) -> dict[str, _Answer]:
        """Return the answers by the ids of the tool calls."""
        value = [
            HumanInterrupt(
                action_request=ActionRequest(action=one["name"], args=one["args"]),
                config=HumanInterruptConfig(
                    allow_ignore=True,
                    allow_respond=True,
                    allow_edit=self.allow_edit,
                    allow_accept=True,
                ),
                description=one["description"],
            )
            for one in questions
        ]
        responses = _read_responses(interrupt(value), len(questions))
        return {
            question["tool_call_id"]: _read_response(response, question, self.allow_edit)
            for question, response in zip(questions, responses, strict=True)
        }

    def _context_metadata(self, runtime: Any, call_id: str | None) -> dict[str, Any]:
        execution = getattr(runtime, "execution_info", None)
        known = {
            "run_id": getattr(execution, "run_id", None),
            "session_id": getattr(execution, "thread_id", None),
            "tool_call_id": call_id,
        }
        context = getattr(runtime, "context", None)
        return {**known, **(self.metadata(context) if self.metadata is not None else {})}


# --- Calls ----------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class _Call:
    """A call that is being decided. Nothing else refers to its arguments.

    Attributes:
        is_edited: True if a reviewer changed the arguments.
    """

    name: str
    args: dict[str, Any]
    tool: object
    metadata: dict[str, Any]
    is_edited: bool = False

    @property
    def options(self) -> dict[str, Any]:
        return {"tool": self.tool, "metadata": self.metadata}

    def fingerprint(self, call_id: str | None) -> str:
        return fingerprint_call(call_id, self.name, self.args)

    def with_arguments(self, args: dict[str, Any]) -> _Call:
        return replace(self, args=copy_arguments(self.name, args), is_edited=True)

    def to_request(self, request: ToolCallRequest) -> ToolCallRequest:
        tool_call: ToolCall = {**request.tool_call, "args": self.args}
        return request.override(tool_call=tool_call)

    def annotate(self, result: _ToolResult) -> _ToolResult:
        """Return the result with a note for the model if a reviewer changed the arguments."""
        if not self.is_edited or not isinstance(result, ToolMessage):
            return result
        note = f"A reviewer changed the arguments of this call to {json.dumps(self.args)}."
        content: Any = result.content
        if isinstance(content, str):
            content = f"{note}\n{content}"
        else:
            content = [{"type": "text", "text": note}, *content]
        return result.model_copy(update={"content": content})


def _runtime(request: Any) -> Any:
    return request.runtime


def _refuse(
    request: ToolCallRequest, reason: str = "", *, denial: ApprovalDecision | None = None
) -> ToolMessage:
    return ToolMessage(
        content=refusal_message(reason) if denial is None else denial_message(denial),
        name=request.tool_call["name"],
        tool_call_id=request.tool_call["id"] or "",
        status="error",
    )


def _find_checks(tool: BaseTool) -> CombinedChecks:
    """Return the `check_approval` of a tool and of its functions."""
    return CombinedChecks([tool, getattr(tool, "coroutine", None), getattr(tool, "func", None)])


def _fingerprint(tool_call: ToolCall) -> str | None:
    try:
        return fingerprint_call(tool_call["id"], tool_call["name"], tool_call["args"])
    except UncomparablePayloadError:
        return None


def _describe(preview: CallPreview) -> str:
    """Return the text that a person sees next to the arguments."""
    request = preview.request
    parts = [] if request is None else [request.description]
    if preview.reason:
        parts.append(preview.reason)
    if request is not None and request.presentation is not None:
        content = request.presentation.content
        fence = "```"
        while fence in content:
            fence += "`"
        parts.append(f"{fence}{request.presentation.language or ''}\n{content}\n{fence}")
    return "\n\n".join(parts)


# --- Answers --------------------------------------------------------------------------------------


def _last_model_message(state: Any) -> AIMessage | None:
    messages: list[Any] = state.get("messages", []) if _is_mapping(state) else []
    return next((one for one in reversed(messages) if isinstance(one, AIMessage)), None)


def _find_answer(request: ToolCallRequest) -> _Answer | None:
    """Return the answer to this call in the state of the thread."""
    state: Any = request.state
    call_id = request.tool_call["id"]
    if not _is_mapping(state) or call_id is None:
        return None
    approvals = cast("_StepApprovals | None", state.get(_STATE_KEY))
    message = _last_model_message(state)
    if approvals is None or message is None or approvals["message_id"] != message.id:
        return None
    return approvals["answers"].get(call_id)


def _read_responses(answer: object, count: int) -> list[object]:
    """Return the responses to several questions. A malformed answer is no response to any."""
    responses = cast("list[object]", answer) if isinstance(answer, list) else [answer]
    return responses if len(responses) == count else [None] * count


def _read_response(response: object, question: _Question, allow_edit: bool) -> _Answer:
    """Return the answer that a person gave. A malformed response is a denial."""
    is_approved = False
    edited: dict[str, Any] | None = None
    note: str | None = "the answer is malformed"
    if _is_mapping(response):
        kind, args = response.get("type"), response.get("args")
        if kind == "accept" and (args is None or _read_action(args, question) == question["args"]):
            is_approved, note = True, None
        elif kind == "edit" and allow_edit:
            edited = _read_action(args, question)
            is_approved, note = edited is not None, note if edited is None else None
        elif kind == "ignore":
            note = None
        elif kind == "response" and isinstance(args, str):
            note = args or None
    return _Answer(
        fingerprint=question["fingerprint"], is_approved=is_approved, args=edited, note=note
    )


def _read_action(action: object, question: _Question) -> dict[str, Any] | None:
    """Return the arguments of a call of the same tool.

    Agent Inbox turns all values into text. A text that stands for the value of the question is
    replaced by that value.
    """
    if not _is_mapping(action) or action.get("action") != question["name"]:
        return None
    args = action.get("args")
    if not _is_mapping(args) or not all(isinstance(name, str) for name in args):
        return None
    asked = question["args"]
    return {
        name: asked[name] if name in asked and _is_text_of(value, asked[name]) else value
        for name, value in args.items()
    }


def _is_text_of(text: object, value: object) -> bool:
    return isinstance(text, str) and text in {str(value), json.dumps(value)}


def _is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)
