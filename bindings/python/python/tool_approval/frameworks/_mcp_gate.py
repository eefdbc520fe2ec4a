"""The gate of an MCP server: it decides about calls, and asks the user of the client.

How a client is asked depends on its protocol version. Until 2025-11-25, the server sends a request
to the client while the call waits. Since 2026-07-28, the server answers the call with a question,
and the client repeats the call with the answer. The question stays open in this process between the
two, so that it can also be answered from another terminal.
"""

from __future__ import annotations

import asyncio
import copy
import json
import secrets
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

from mcp.server.context import ServerRequestContext
from mcp.server.request_state import authenticated_principal
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ..controller import ApprovalController
from ..display_text import escape_text
from ..errors import ApprovalUnavailableError
from ..types import ApprovalDecision, ApprovalRequest, ApprovalScope
from ._calls import RenamedTool, call_signature, find_denial

__all__ = ["Client", "ClientCall", "McpGate", "Permit", "Rejection"]

STATE_KEY = "tool_approval"
"""The key of the number of a repetition in the state of a result."""

QUESTION_SECONDS = 600.0
"""The seconds after which an open question is withdrawn."""

MAX_QUESTIONS = 256
"""The number of open questions. The oldest one is withdrawn if there are more."""

MAX_MESSAGE_LENGTH = 4000
"""The number of characters of a question."""

APPROVE_ONCE = "approve once"
APPROVE_SESSION = "approve for the session"
DENY = "deny"


@dataclass(frozen=True)
class Client:
    """The client of a call.

    Attributes:
        session: The session, which sends requests to the client.
        request_id: The id of the request that calls the tool.
        is_modern: True if the client repeats a call with the answer to a question.
        key: What identifies the client between its calls, or `None` if nothing does.
    """

    session: ServerSession
    request_id: Any
    is_modern: bool
    key: Hashable

    @classmethod
    def from_context(cls, context: ServerRequestContext[Any, Any]) -> Client:
        """Return the client of a request."""
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        return cls(
            session=context.session,
            request_id=context.request_id,
            is_modern=is_modern,
            key=_client_key(context, is_modern),
        )

    def can_be_asked(self) -> bool:
        """Return whether the user of the client can be asked."""
        capabilities = self.session.client_capabilities
        elicitation = None if capabilities is None else capabilities.elicitation
        if elicitation is None or (elicitation.form is None and elicitation.url is not None):
            return False
        return self.is_modern or self.session.can_send_request


def _client_key(context: ServerRequestContext[Any, Any], is_modern: bool) -> Hashable:
    principal = authenticated_principal(context)
    if principal is not None:
        return f"principal {principal}"
    if not is_modern:
        return getattr(context.session, "_connection", None)
    # A connection over standard input and output has one client. Over HTTP, each request of a
    # client that is not authenticated could come from any other client.
    return "process" if context.request is None else None


@dataclass(frozen=True)
class ClientCall:
    """A call of a tool.

    Attributes:
        tool_name: The name of the tool.
        args: The arguments, as the tool gets them. They are JSON values.
        tool: The tool, which may have a `check_approval` method.
        responses: The answers to the questions of an earlier result.
        state: The state of an earlier result.
    """

    tool_name: str
    args: dict[str, Any]
    tool: object
    responses: Mapping[str, Any]
    state: str | None


@dataclass(frozen=True)
class Rejection:
    """A call that does not run.

    Attributes:
        reason: The reason, for the model.
    """

    reason: str


@dataclass(frozen=True)
class Permit:
    """A call that may run.

    Attributes:
        responses: The answers to the questions of the tool itself.
        state: The state of the tool itself.
        signature: What was approved.
        key: The client that it was approved for.
    """

    responses: dict[str, Any]
    state: str | None
    signature: str
    key: Hashable


class McpGate:
    """Decides about the calls of a server.

    Args:
        controller: Decides about the calls.
        prefix: The beginning of the names of the tools in rules.
        elicitation: True if the users of clients are asked.
    """

    def __init__(
        self, controller: ApprovalController, *, prefix: str, elicitation: bool
    ) -> None:
        self._prefix = prefix
        self._elicitation = elicitation
        self._sessions = _SessionControllers(controller)
        self._rounds = _Rounds()

    async def decide(
        self, call: ClientCall, client: Client | None
    ) -> Permit | Rejection | InputRequiredResult:
        """Decide about a call. A question for the client is a result of the call.

        Args:
            call: The call.
            client: The client, or `None` if the program itself calls the tool.
        """
        try:
            signature = call_signature(call.tool_name, call.args)
            nonce, state = _read_state(call.state)
            key = None if client is None else client.key
            waiting = self._rounds.take(nonce, signature, key)
            responses = dict(call.responses)
            answer = None if nonce is None else responses.pop(_question_key(nonce), None)
            permit = Permit(responses, state, signature, key)
            controller = self._sessions.find(key)
            if isinstance(waiting, _Approved):
                return self._recheck(controller, call) or permit
            if client is None or not client.is_modern or not self._can_ask(client):
                if isinstance(waiting, _OpenQuestion):
                    waiting.close()
                denial = await self._ask_inline(controller, call, client)
            else:
                question = waiting or self._open_question(controller, call, client)
                is_answered = waiting is not None and answer is not None
                if not is_answered and not await question.is_decided():
                    nonce = self._rounds.add(question, signature, key)
                    return question.to_result(nonce, state)
                denial = await question.find_denial(answer if is_answered else None)
        except Exception as error:
            return Rejection(f"Approval denied: the approval check failed with {_name(error)}")
        return permit if denial is None else Rejection(denial)

    def wrap_state(self, permit: Permit, state: str | None) -> str:
        """Return the state of a result with which an approved tool asks for input itself.

        The client repeats the call with it, and the call is not asked about again.
        """
        return _write_state(self._rounds.add(_Approved(), permit.signature, permit.key), state)

    def _can_ask(self, client: Client) -> bool:
        return self._elicitation and client.can_be_asked()

    def _recheck(self, controller: ApprovalController, call: ClientCall) -> Rejection | None:
        """Consult the policy about a call that was approved in an earlier round."""
        name, tool = self._prefix + call.tool_name, RenamedTool(call.tool, call.tool_name)
        preview = controller.preview_call(name, copy.deepcopy(call.args), tool=tool)
        if preview.effect != "deny":
            return None
        return Rejection(preview.reason or "Approval denied")

    async def _ask_inline(
        self, controller: ApprovalController, call: ClientCall, client: Client | None
    ) -> str | None:
        if client is not None and self._can_ask(client):
            controller = controller.with_options(reviewer=_ElicitingReviewer(client).ask)
        return await find_denial(call.tool_name, self._approve(controller, call))

    def _open_question(
        self, controller: ApprovalController, call: ClientCall, client: Client
    ) -> _OpenQuestion:
        question = _OpenQuestion(offers_session=client.key is not None)
        reviewed = controller.with_options(reviewer=question.ask)
        question.start(find_denial(call.tool_name, self._approve(reviewed, call)))
        return question

    async def _approve(
        self, controller: ApprovalController, call: ClientCall
    ) -> ApprovalDecision:
        return await controller.approve_call(
            self._prefix + call.tool_name,
            copy.deepcopy(call.args),
            tool=RenamedTool(call.tool, call.tool_name),
        )


class _SessionControllers:
    """A controller for each client, so that clients do not share session approvals."""

    def __init__(self, controller: ApprovalController) -> None:
        self._controller = controller
        self._by_object: WeakKeyDictionary[object, ApprovalController] = WeakKeyDictionary()
        self._by_name: OrderedDict[str, ApprovalController] = OrderedDict()

    def find(self, key: Hashable) -> ApprovalController:
        if key is None:
            return self._controller.new_session()
        if not isinstance(key, str):
            if key not in self._by_object:
                self._by_object[key] = self._controller.new_session()
            return self._by_object[key]
        if key not in self._by_name:
            self._by_name[key] = self._controller.new_session()
            if len(self._by_name) > 1024:
                self._by_name.popitem(last=False)
        self._by_name.move_to_end(key)
        return self._by_name[key]


class _ElicitingReviewer:
    """Asks the user of a client while the call waits."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        offers_session = self._client.key is not None
        try:
            answer = await self._client.session.elicit_form(
                _question_text(request),
                _question_schema(offers_session),
                related_request_id=self._client.request_id,
            )
        except MCPError as error:
            message = f"the client cannot ask its user: {error.error.message}"
            raise ApprovalUnavailableError(message) from None
        except ValidationError:
            return _malformed_answer()
        return _read_answer(answer, offers_session)


class _Approved:
    """A call that was approved, and whose tool asks for input itself."""

    def close(self) -> None:
        """Forget the call."""


class _OpenQuestion:
    """A question that a client answers with its next request."""

    def __init__(self, *, offers_session: bool) -> None:
        loop = asyncio.get_running_loop()
        self._offers_session = offers_session
        self._request: asyncio.Future[ApprovalRequest] = loop.create_future()
        self._answer: asyncio.Future[ApprovalDecision] = loop.create_future()
        self._task: asyncio.Task[str | None] | None = None

    def start(self, deciding: Any) -> None:
        self._task = asyncio.get_running_loop().create_task(deciding)

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Make the request the question, and wait for the answer."""
        if not self._request.done():
            self._request.set_result(request)
        return await self._answer

    async def is_decided(self) -> bool:
        """Wait until there is a question for the client, or a decision without one."""
        task = self._deciding()
        events: set[asyncio.Future[Any]] = {task, self._request}
        try:
            await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.close()
            raise
        return task.done()

    async def find_denial(self, response: object) -> str | None:
        """Apply the answer of the client. Returns the reason if the call must not run."""
        answer = None
        if response is not None:
            answer = _read_answer(response, self._offers_session)
            if not self._answer.done():
                self._answer.set_result(answer)
        task = self._deciding()
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            self.close()
            raise
        if task.cancelled():
            return "Approval denied: the question was withdrawn"
        denial = task.result()
        if denial is None and answer is not None and not answer.approved:
            # Another answer approved the call first.
            return "Approval denied"
        return denial

    def to_result(self, nonce: str, state: str | None) -> InputRequiredResult:
        """Return the result that asks the client."""
        params = ElicitRequestFormParams(
            message=_question_text(self._request.result()),
            requested_schema=_question_schema(self._offers_session),
        )
        return InputRequiredResult(
            input_requests={_question_key(nonce): ElicitRequest(params=params)},
            request_state=_write_state(nonce, state),
        )

    def close(self) -> None:
        """Withdraw the question."""
        self._deciding().cancel()

    def _deciding(self) -> asyncio.Task[str | None]:
        if self._task is None:
            raise RuntimeError("the question was not started")
        return self._task


_Round = tuple[str, Hashable, _OpenQuestion | _Approved]
"""The signature of a call, its client, and what is remembered about it."""


class _Rounds:
    """Calls that a client repeats, by a number that is valid for one repetition."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, _Round] = OrderedDict()
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def add(
        self, waiting: _OpenQuestion | _Approved, signature: str, key: Hashable
    ) -> str:
        """Remember a call, and return the number of its repetition."""
        nonce = secrets.token_urlsafe(16)
        self._waiting[nonce] = (signature, key, waiting)
        loop = asyncio.get_running_loop()
        self._timers[nonce] = loop.call_later(QUESTION_SECONDS, self._close, nonce)
        if len(self._waiting) > MAX_QUESTIONS:
            self._close(next(iter(self._waiting)))
        return nonce

    def take(
        self, nonce: str | None, signature: str, key: Hashable
    ) -> _OpenQuestion | _Approved | None:
        """Return what is remembered about a call, and forget it."""
        found = None if nonce is None else self._forget(nonce)
        if found is None:
            return None
        if found[:2] != (signature, key):
            found[2].close()
            return None
        return found[2]

    def _forget(self, nonce: str) -> _Round | None:
        timer = self._timers.pop(nonce, None)
        if timer is not None:
            timer.cancel()
        return self._waiting.pop(nonce, None)

    def _close(self, nonce: str) -> None:
        found = self._forget(nonce)
        if found is not None:
            found[2].close()


def _read_state(state: str | None) -> tuple[str | None, str | None]:
    """Return the number in a state, and the state of the tool itself."""
    try:
        fields: object = json.loads(state or "")
    except (ValueError, RecursionError):
        return None, state
    if not isinstance(fields, dict):
        return None, state
    own = cast("dict[str, object]", fields)
    nonce, inner = own.get(STATE_KEY), own.get("state")
    if own.keys() != {STATE_KEY, "state"} or not isinstance(nonce, str):
        return None, state
    return nonce, inner if isinstance(inner, str) else None


def _write_state(nonce: str, state: str | None) -> str:
    return json.dumps({STATE_KEY: nonce, "state": state})


def _question_key(nonce: str) -> str:
    """Return the key of a question. Each has its own, because several servers can ask in turn."""
    return f"{STATE_KEY}_{nonce}"


def _question_text(request: ApprovalRequest) -> str:
    """Return the text of a question. Nothing in it controls the terminal of the client."""
    lines = [f"Allow {escape_text(request.tool_name)}?", escape_text(request.description)]
    if request.presentation is not None:
        lines += ["", escape_text(request.presentation.content, keep_lines=True)]
    text = "\n".join(lines)
    if len(text) <= MAX_MESSAGE_LENGTH:
        return text
    hidden = len(text) - MAX_MESSAGE_LENGTH
    return f"{text[:MAX_MESSAGE_LENGTH]}\n\n... [{hidden} more characters]"


def _question_schema(offers_session: bool) -> dict[str, Any]:
    choices = _choices(offers_session)
    return {
        "type": "object",
        "properties": {
            "decision": {"type": "string", "title": "Decision", "enum": list(choices)},
            "message": {"type": "string", "title": "Message to the agent, if you deny"},
        },
        "required": ["decision"],
    }


def _choices(offers_session: bool) -> list[str]:
    return [APPROVE_ONCE, *([APPROVE_SESSION] if offers_session else []), DENY]


def _read_answer(answer: object, offers_session: bool) -> ApprovalDecision:
    """Return the decision of an answer. Everything that is not an approval is a denial."""
    if not isinstance(answer, ElicitResult):
        return _malformed_answer()
    if answer.action in {"decline", "cancel"}:
        return _denial("the user has declined")
    content: Mapping[str, Any] = answer.content or {}
    decision, message = content.get("decision"), content.get("message")
    if answer.action != "accept" or decision not in _choices(offers_session):
        return _malformed_answer()
    if decision == DENY:
        return _denial(message if isinstance(message, str) and message else None)
    scope = ApprovalScope.SESSION if decision == APPROVE_SESSION else ApprovalScope.ONCE
    return ApprovalDecision(True, scope, answered_by=ANSWERED_BY)


ANSWERED_BY = "the user of the client"


def _denial(note: str | None) -> ApprovalDecision:
    return ApprovalDecision(False, note=note, answered_by=ANSWERED_BY)


def _malformed_answer() -> ApprovalDecision:
    return _denial("the answer of the client is malformed")


def _name(error: Exception) -> str:
    return type(error).__name__
