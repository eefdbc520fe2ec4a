"""The controller: it decides about requests, asks a reviewer, and remembers session approvals."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args

from ._native import SessionApprovals, note_fork
from .decorator import simple_approval_request
from .errors import (
    ApprovalDeniedError,
    ForkedProcessError,
    OperationBlockedError,
)
from .request_groups import RequestGroups
from .types import ApprovalContext, ApprovalDecision, ApprovalRequest, ApprovalScope

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from typing_extensions import Self

    from .engine import AnswerChannel, Effect, Engine

__all__ = ["ApprovalController", "CallPreview", "ControllerMode", "Reviewer"]

ControllerMode = Literal["interactive", "approve_all", "strict"]
"""The modes of a controller."""

Reviewer = Callable[[ApprovalRequest], Awaitable[ApprovalDecision]]
"""A function that shows a request to a person and returns the answer."""

os.register_at_fork(after_in_child=note_fork)

_Result = TypeVar("_Result")

STRICT_NOTE = "Strict mode: approval required"


def find_check_approval(tool: object) -> Callable[[ApprovalContext], object] | None:
    """Return the `check_approval` of a tool, or of the object whose method it is."""
    check = getattr(tool, "check_approval", None)
    if check is None:
        check = getattr(getattr(tool, "__self__", None), "check_approval", None)
    return check


@dataclass(frozen=True, slots=True)
class CallPreview:
    """The decision about a call that a controller would make now.

    Attributes:
        effect: `allow` if the call would run, `deny` if it would not, and `ask` if a reviewer
            would be asked.
        reason: The reason of the tool, the policy or the mode, if there is one.
        request: The request that the reviewer would see, if the effect is `ask`.
    """

    effect: Effect
    reason: str | None = None
    request: ApprovalRequest | None = None


class ApprovalController:
    """Decides about requests for approval.

    | `check_approval` | `interactive` | `approve_all` | `strict` |
    | --- | --- | --- | --- |
    | returns `None` | run | run | run |
    | returns a request | ask a reviewer | run | deny |
    | raises `PermissionError` | block | block | block |

    A controller may be used by several threads and event loops. A subclass that has another user
    interface overrides `_prompt_user`.

    Args:
        mode: The handling of requests.
        engine: The policy to consult. It can allow or deny a call without a question, it records
            each decision, and other terminals can answer its questions with `openoxide approve`.
        wait: The seconds to wait for an answer from another terminal if this process has no
            terminal. With `None`, such a request raises `ApprovalUnavailableError` at once. It
            needs an engine.
    """

    def __init__(
        self,
        mode: ControllerMode = "interactive",
        *,
        engine: Engine | None = None,
        wait: float | None = None,
    ) -> None:
        if mode not in get_args(ControllerMode):
            names = ", ".join(f"`{name}`" for name in get_args(ControllerMode))
            raise ValueError(f"`mode` must be one of {names}, not {mode!r}")
        if wait is not None and engine is None:
            raise ValueError("`wait` needs an engine, whose queue other terminals can answer")
        self.mode: ControllerMode = mode
        self.engine = engine
        self.wait = wait
        self.session_approvals = SessionApprovals()
        self._process = os.getpid()
        self._groups = RequestGroups(self._ask)
        self._asking = threading.Lock()
        self._reviewer: Reviewer | None = None
        self._cwd: str | None = None

    def with_options(
        self,
        *,
        reviewer: Reviewer | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Return a controller with other options for a call.

        It has the same policy, mode and session approvals.

        Args:
            reviewer: Asks instead of `_prompt_user`. Its questions do not wait for those of others.
            cwd: The working directory of the call, if it is not that of the engine.
        """
        self._check_process()
        copied = copy.copy(self)
        if reviewer is not None:
            copied._reviewer = reviewer
            copied._asking = threading.Lock()
        if cwd is not None:
            copied._cwd = os.fspath(cwd)
        copied._groups = RequestGroups(copied._ask)
        return copied

    def new_session(self) -> Self:
        """Return a controller with the same options and no session approvals.

        A server with several clients uses one for each client, so that "approve for session" does
        not apply to the calls of other clients.
        """
        copied = self.with_options()
        copied.session_approvals = SessionApprovals()
        return copied

    # --- Session approvals -----------------------------------------------------------------------

    def is_session_approved(self, request: ApprovalRequest) -> bool:
        """Return whether an equal request was approved for the session.

        Raises:
            UncomparablePayloadError: If the payload has a value that cannot be compared.
        """
        return self.session_approvals.contains(request.tool_name, request.payload)

    def add_session_approval(self, request: ApprovalRequest) -> None:
        """Approve this request and equal ones for the session.

        The payload is copied, so later changes of it do not extend the approval.

        Raises:
            UncomparablePayloadError: If the payload has a value that cannot be compared or copied.
        """
        self._check_process()
        self.session_approvals.add(request.tool_name, request.payload)

    def clear_session_approvals(self) -> None:
        """Forget every session approval."""
        self.session_approvals.clear()

    # --- Requests --------------------------------------------------------------------------------

    async def request_approval(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decide about a request, and ask a reviewer if necessary.

        Requests with the same `group_id` that are made at the same time are shown together, and
        one answer applies to all of them.

        Raises:
            ApprovalUnavailableError: If a reviewer has to be asked and none can be reached.
            UncomparablePayloadError: If the payload has a value that cannot be compared.
            ForkedProcessError: If the controller was created before a fork.
        """
        decision = self._decide_without_question(request)
        if decision is not None:
            return decision
        if request.group_id is not None:
            return await self._groups.ask(request, request.group_id)
        return await self._ask([request])

    async def request_approvals(
        self, requests: Iterable[ApprovalRequest]
    ) -> list[ApprovalDecision]:
        """Decide about several requests. Those with the same `group_id` are asked together.

        Returns:
            The decisions, in the order of the requests.
        """
        tasks = [asyncio.ensure_future(self.request_approval(request)) for request in requests]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    def request_approval_sync(self, request: ApprovalRequest) -> ApprovalDecision:
        """Do the same as `request_approval`, and block until there is a decision.

        Raises:
            RuntimeError: If this thread runs an event loop. Use `request_approval` there.
        """
        decision = self._decide_without_question(request)
        return decision if decision is not None else run_sync(self.request_approval(request))

    # --- Calls -----------------------------------------------------------------------------------

    async def approve_call(
        self,
        tool_name: str,
        args: dict[str, Any],
        *,
        tool: object = None,
        metadata: dict[str, Any] | None = None,
    ) -> ApprovalDecision:
        """Decide about a call of a tool: by the tool itself, the policy, and a reviewer.

        1. If the tool is approval-aware, its `check_approval` is called.
        2. If there is an engine, its policy is consulted. A deny blocks the call. A rule that
           allows the call answers the request of the tool. If the policy asks, a reviewer is asked.
        3. Otherwise, a request of the tool goes to `request_approval`.

        A tool that is not approval-aware runs without approval if there is no engine.

        Args:
            tool_name: The name of the tool, as the model sees it.
            args: The arguments of the call.
            tool: The tool, if it may have a `check_approval` method.
            metadata: Data of the framework, for `ApprovalContext.metadata`.

        Raises:
            OperationBlockedError: If the policy denies the call.
            PermissionError: If the tool blocks the call.
            ApprovalUnavailableError: If a reviewer has to be asked and none can be reached.
        """
        request = self._check_tool(tool_name, args, tool, metadata)
        if self.engine is None:
            if request is None:
                return ApprovalDecision(True)
            return await self.request_approval(request)
        return await self._approve_with_engine(self.engine, tool_name, args, request)

    async def require_approval(
        self,
        tool_name: str,
        args: dict[str, Any],
        *,
        tool: object = None,
        metadata: dict[str, Any] | None = None,
    ) -> ApprovalDecision:
        """Do the same as `approve_call`, and raise an exception unless the call is approved.

        Raises:
            ApprovalDeniedError: If the call was denied.
        """
        decision = await self.approve_call(tool_name, args, tool=tool, metadata=metadata)
        if not decision.approved:
            raise ApprovalDeniedError(decision.note)
        return decision

    def approve_call_sync(
        self,
        tool_name: str,
        args: dict[str, Any],
        *,
        tool: object = None,
        metadata: dict[str, Any] | None = None,
    ) -> ApprovalDecision:
        """Do the same as `approve_call`, and block until there is a decision.

        Raises:
            RuntimeError: If this thread runs an event loop. Use `approve_call` there.
        """
        return run_sync(self.approve_call(tool_name, args, tool=tool, metadata=metadata))

    def require_approval_sync(
        self,
        tool_name: str,
        args: dict[str, Any],
        *,
        tool: object = None,
        metadata: dict[str, Any] | None = None,
    ) -> ApprovalDecision:
        """Do the same as `require_approval`, and block until there is a decision.

        Raises:
            RuntimeError: If this thread runs an event loop. Use `require_approval` there.
        """
        return run_sync(self.require_approval(tool_name, args, tool=tool, metadata=metadata))

    # --- Calls that are asked about elsewhere ----------------------------------------------------

    def preview_call(
        self,
        tool_name: str,
        args: dict[str, Any],
        *,
        tool: object = None,
        metadata: dict[str, Any] | None = None,
    ) -> CallPreview:
        """Return what would happen to a call, without effects.

        No reviewer is asked, no hook of the policy runs, and nothing is recorded. A call whose effect
        is `allow` still needs `check_call` or `approve_call` before it runs.
        """
        try:
            request = self._check_tool(tool_name, args, tool, metadata)
        except PermissionError as error:
            return CallPreview("deny", str(error))
        reason = None
        if self.engine is not None:
            decision = self.engine.evaluate(tool_name, args, cwd=self._cwd)
            reason = decision.reason
            if decision.effect == "deny":
                return CallPreview("deny", f"Blocked by the policy: {reason}")
            if decision.effect == "allow" and (request is None or decision.is_explicit):
                return CallPreview("allow", reason)
            request = request or simple_approval_request(tool_name, args)
        if request is None:
            return CallPreview("allow")
        direct = self._decide_without_question(request)
        if direct is None or (direct.approved and self.engine is not None):
            return CallPreview("ask", reason, request)
        return CallPreview("allow" if direct.approved else "deny", direct.note)

    def check_call(
        self,
        tool_name: str,
        args: dict[str, Any],
        *,
        tool: object = None,
        metadata: dict[str, Any] | None = None,
    ) -> ApprovalDecision | None:
        """Decide about a call without asking a reviewer.

        This is for programs that ask in another way, such as a framework that pauses its run. They
        pass the answer to `apply_answer`.

        Returns:
            The decision, or `None` if a reviewer has to be asked. With an engine, this includes
            calls that the mode or a session approval would approve: `approve_call` does so.

        Raises:
            OperationBlockedError: If the policy denies the call.
            PermissionError: If the tool blocks the call.
        """
        request = self._check_tool(tool_name, args, tool, metadata)
        if self.engine is None:
            if request is None:
                return ApprovalDecision(True)
            return self._decide_without_question(request)
        decision, _ = self._check_policy(self.engine, tool_name, args, request)
        if decision is None and self.mode == "strict":
            return _strict_denial()
        return decision

    async def apply_answer(
        self,
        answer: ApprovalDecision,
        tool_name: str,
        args: dict[str, Any],
        *,
        tool: object = None,
        metadata: dict[str, Any] | None = None,
    ) -> ApprovalDecision:
        """Decide about a call that a reviewer has answered elsewhere.

        The tool and the policy are consulted again, and a deny of theirs applies whatever the
        answer is. So does the mode `strict`. The policy records the answer.

        Args:
            answer: The answer of the reviewer.
            tool_name: The name of the tool.
            args: The arguments of the call, as they were approved.
            tool: The tool, if it may have a `check_approval` method.
            metadata: Data of the framework, for `ApprovalContext.metadata`.

        Raises:
            OperationBlockedError: If the policy denies the call.
            PermissionError: If the tool blocks the call.
        """
        if self.mode == "strict" and answer.approved:
            checked = self.check_call(tool_name, args, tool=tool, metadata=metadata)
            return checked or _strict_denial()
        request = self._check_tool(tool_name, args, tool, metadata)
        decision = answer
        if self.engine is not None:
            title = (request or simple_approval_request(tool_name, args)).description
            call = self.engine.begin(
                tool_name, args, title=title, requires_answer=True, cwd=self._cwd
            )
            if await call.question() is not None:
                call.answer(answer)
            decision = await call.wait()
            if not answer.approved:
                return answer
        if request is not None:
            self._remember(request, decision)
        return decision

    def apply_answer_sync(
        self,
        answer: ApprovalDecision,
        tool_name: str,
        args: dict[str, Any],
        *,
        tool: object = None,
        metadata: dict[str, Any] | None = None,
    ) -> ApprovalDecision:
        """Do the same as `apply_answer`, and block until there is a decision.

        Raises:
            RuntimeError: If this thread runs an event loop. Use `apply_answer` there.
        """
        return run_sync(self.apply_answer(answer, tool_name, args, tool=tool, metadata=metadata))

    # --- For subclasses --------------------------------------------------------------------------

    async def _enrich_presentation(self, request: ApprovalRequest) -> ApprovalRequest:
        """Return the request with a presentation. This is only called if a reviewer is asked."""
        from .presentation import with_presentation

        return await asyncio.to_thread(with_presentation, request)

    async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
        """Show a request and wait for the answer. The default asks in the terminal.

        Cancelling this coroutine closes the question.

        Raises:
            ApprovalUnavailableError: If there is no terminal.
        """
        from .terminal import TerminalPrompt

        return await TerminalPrompt().ask(request)

    # --- Implementation --------------------------------------------------------------------------

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise ForkedProcessError(
                "this controller was created before a fork; create another one in the child process"
            )

    def _decide_without_question(self, request: ApprovalRequest) -> ApprovalDecision | None:
        self._check_process()
        if self.mode == "approve_all":
            return ApprovalDecision(True, answered_by="approve_all")
        if self.mode == "strict":
            return _strict_denial()
        if self.is_session_approved(request):
            return _session_approval()
        return None

    def _check_tool(
        self,
        tool_name: str,
        args: dict[str, Any],
        tool: object,
        metadata: dict[str, Any] | None,
    ) -> ApprovalRequest | None:
        self._check_process()
        check = find_check_approval(tool)
        if check is None:
            return None
        # The tool gets a copy: it cannot change the arguments that the policy sees.
        context = ApprovalContext(
            tool_name=tool_name, args=copy.deepcopy(args), metadata=metadata or {}
        )
        request = check(context)
        if request is not None and not isinstance(request, ApprovalRequest):
            raise TypeError(
                "`check_approval` must return an `ApprovalRequest` or `None`, "
                f"not {type(request).__name__}"
            )
        return request

    async def _ask(self, requests: list[ApprovalRequest]) -> ApprovalDecision:
        """Ask a reviewer one question about these requests. Questions are asked one by one."""
        requests = [self._with_own_payload(request) for request in requests]
        async with _locked(self._asking):
            remaining = [one for one in requests if not self.is_session_approved(one)]
            if not remaining:
                return _session_approval()
            decision = await self._prompt(await self._combine(remaining))
            for request in remaining:
                self._remember(request, decision)
            return decision

    def _with_own_payload(self, request: ApprovalRequest) -> ApprovalRequest:
        """Return the request with a copy of its payload, so that what is shown is remembered."""
        payload = self.session_approvals.copy_payload(request.payload)
        return request.model_copy(update={"payload": payload})

    async def _combine(self, requests: list[ApprovalRequest]) -> ApprovalRequest:
        """Return one request, with a presentation, that stands for several."""
        enriched = [await self._enrich_presentation(request) for request in requests]
        if len(enriched) == 1:
            return enriched[0]
        from .presentation import group_presentation

        return ApprovalRequest(
            tool_name=", ".join(sorted({request.tool_name for request in requests})),
            description=f"{len(requests)} related calls",
            payload={"calls": [request.payload for request in requests]},
            presentation=group_presentation(enriched),
            group_id=requests[0].group_id,
        )

    async def _prompt(self, request: ApprovalRequest) -> ApprovalDecision:
        # An override may return anything.
        decision = cast(object, await (self._reviewer or self._prompt_user)(request))
        if not isinstance(decision, ApprovalDecision):
            name = "_prompt_user" if self._reviewer is None else "reviewer"
            raise TypeError(
                f"`{name}` must return an `ApprovalDecision`, "
                f"not {type(decision).__name__}"
            )
        return decision

    def _remember(self, request: ApprovalRequest, decision: ApprovalDecision) -> None:
        is_remembered = decision.approved and decision.scope is ApprovalScope.SESSION
        if is_remembered and not self.is_session_approved(request):
            self.add_session_approval(request)

    # --- With an engine --------------------------------------------------------------------------

    async def _approve_with_engine(
        self,
        engine: Engine,
        tool_name: str,
        args: dict[str, Any],
        request: ApprovalRequest | None,
    ) -> ApprovalDecision:
        decision, requires_answer = self._check_policy(engine, tool_name, args, request)
        if decision is not None:
            return decision
        if request is None:
            request = simple_approval_request(tool_name, args)
        decision = await self._ask_with_engine(engine, tool_name, args, request, requires_answer)
        if decision.approved:
            # The policy may have changed since the question was asked.
            current = engine.evaluate(tool_name, args, cwd=self._cwd)
            if current.effect == "deny":
                current = engine.check(tool_name, args, cwd=self._cwd)
                raise OperationBlockedError(f"Blocked by the policy: {current.reason}")
        return decision

    def _check_policy(
        self,
        engine: Engine,
        tool_name: str,
        args: dict[str, Any],
        request: ApprovalRequest | None,
    ) -> tuple[ApprovalDecision | None, bool]:
        """Return the decision of the policy if it needs no question, and whether the tool asks."""
        preview = engine.evaluate(tool_name, args, cwd=self._cwd)
        is_answered = preview.effect == "allow" and (request is None or preview.is_explicit)
        if is_answered or preview.effect == "deny":
            checked = engine.check(tool_name, args, cwd=self._cwd)
            if checked.effect == "deny":
                raise OperationBlockedError(f"Blocked by the policy: {checked.reason}")
            if checked.effect == "allow":
                return ApprovalDecision(True, note=checked.reason, answered_by="policy"), False
        return None, preview.effect == "allow"

    async def _ask_with_engine(
        self,
        engine: Engine,
        tool_name: str,
        args: dict[str, Any],
        request: ApprovalRequest,
        requires_answer: bool,
    ) -> ApprovalDecision:
        """Ask here and in the queue of the engine. The first answer applies."""
        direct = self._decide_without_question(request)
        if direct is None:
            request = await self._enrich_presentation(self._with_own_payload(request))
        call = engine.begin(
            tool_name,
            args,
            title=request.description,
            presentation=_presentation_fields(request),
            requires_answer=requires_answer,
            cwd=self._cwd,
            timeout=self.wait,
        )
        question = await call.question()
        if question is None:
            return await call.wait()
        needs_person = question.requires_explicit_approval and not requires_answer
        if direct is not None and not (direct.approved and needs_person):
            call.answer(direct)
            return await call.wait()
        decision = await call.answer_with(
            lambda: self._ask([request]),
            has_queue=self.wait is not None,
            channel=self._channel(),
        )
        self._remember(request, decision)
        return decision

    def _channel(self) -> AnswerChannel:
        """Return the channel of the answers, for the audit log."""
        is_default = type(self)._prompt_user is ApprovalController._prompt_user
        return "terminal" if is_default and self._reviewer is None else "application"


def _session_approval() -> ApprovalDecision:
    return ApprovalDecision(True, ApprovalScope.SESSION, answered_by="session approval")


def _strict_denial() -> ApprovalDecision:
    return ApprovalDecision(False, note=STRICT_NOTE, answered_by="strict")


def _presentation_fields(request: ApprovalRequest) -> dict[str, Any] | None:
    return None if request.presentation is None else request.presentation.model_dump()


@contextlib.asynccontextmanager
async def _locked(lock: threading.Lock) -> AsyncGenerator[None, None]:
    """Hold a lock that other threads and event loops may hold, without blocking this loop."""
    while not lock.acquire(blocking=False):
        await asyncio.sleep(0.01)
    try:
        yield
    finally:
        lock.release()


def run_sync(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine in a thread that runs no event loop.

    Raises:
        RuntimeError: If this thread runs an event loop.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    coroutine.close()
    raise RuntimeError("this thread runs an event loop: await the method without `_sync` instead")
