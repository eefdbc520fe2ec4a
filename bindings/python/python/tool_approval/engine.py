"""The engine: the policy that applies to a directory, and its decisions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Literal

from . import _native
from ._native import Decision
from .descriptors import wait_until_readable
from .errors import ApprovalUnavailableError, OperationBlockedError
from .types import ApprovalDecision, ApprovalScope

__all__ = [
    "ANSWERED_ELSEWHERE",
    "AnswerChannel",
    "Decision",
    "Effect",
    "Engine",
    "PendingCall",
    "PermissionMode",
    "Policy",
    "ReviewQuestion",
]

Effect = Literal["allow", "ask", "deny"]
"""The effects of a rule."""

PermissionMode = Literal[
    "default", "plan", "accept_edits", "sandboxed", "dont_ask", "bypass_permissions", "auto"
]
"""The modes of the engine."""

AnswerChannel = Literal["terminal", "application"]
"""The ways in which this process asks a reviewer."""

ANSWERED_ELSEWHERE = "answered elsewhere"
"""The message with which a question is cancelled if another process has answered it."""

_Path = str | PathLike[str]

_log = logging.getLogger("tool_approval")


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """A selection of rules: the files of the user and the project, or files that are named.

    Attributes:
        files: Policy files. If there are any, no other file applies, except for the managed policy
            of the machine. The format is detected from the name: OpenOxide (`*.toml`), Claude Code
            (`settings.json`), OpenCode (`opencode.json`), and llm-do (`*.yaml`).
        rules: Additional rules, as pairs of an effect and a rule, such as
            `("deny", "Bash(git push *)")`.
        mode: The mode, if it differs from that of the files.
        directories: Directories that belong to the project, in addition to its own.
    """

    files: tuple[_Path, ...] = ()
    rules: tuple[tuple[Effect, str], ...] = ()
    mode: PermissionMode | None = None
    directories: tuple[_Path, ...] = ()

    @classmethod
    def load(
        cls,
        *files: _Path,
        rules: Iterable[tuple[Effect, str]] = (),
        mode: PermissionMode | None = None,
        directories: Iterable[_Path] = (),
        cwd: _Path | None = None,
    ) -> Policy:
        """Return a policy after checking that it has no errors.

        Raises:
            PolicyError: If a file or a rule has an error. The message names the file and the line.
        """
        policy = cls(
            files=tuple(files), rules=tuple(rules), mode=mode, directories=tuple(directories)
        )
        Engine(policy, cwd=cwd)
        return policy

    def explain(
        self, tool_name: str, args: dict[str, Any], *, cwd: _Path | None = None
    ) -> Decision:
        """Return the decision about a call, with the rules that were overridden."""
        return Engine(self, cwd=cwd, explain=True).evaluate(tool_name, args)


class Engine:
    """Decides about calls under a policy. It may be used by several threads.

    The files of the user and the project are watched: a change applies within 0.2 seconds. Files
    that the policy names are read once.

    Args:
        policy: The policy. Without one, the files of the user and the project apply.
        cwd: The working directory, which relative paths of calls are relative to. Without one, the
            current directory of the process.
        project: The directory of the project. Without one, it is found from `cwd`.
        requester: The name of the program that asks, for the people who answer its questions.
        explain: True if decisions contain the rules that were overridden. This is slower.

    Raises:
        PolicyError: If a policy file or a rule has an error.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        cwd: _Path | None = None,
        project: _Path | None = None,
        requester: str = "python",
        explain: bool = False,
    ) -> None:
        policy = policy or Policy()
        self.policy = policy
        self.requester = requester
        self._native = _native.Engine(
            cwd=cwd,
            project=project,
            policy_files=list(policy.files),
            rules=list(policy.rules),
            mode=policy.mode,
            directories=list(policy.directories),
            explain=explain,
        )
        self.evaluate = self._native.evaluate

    evaluate: Callable[..., Decision]
    """Decide about a call without effects: no hook runs, and nothing is recorded.

    The arguments are the name of the tool, its arguments, and optionally `cwd`.
    """

    @property
    def mode(self) -> str:
        """The mode in force."""
        return self._native.mode

    @property
    def cwd(self) -> str:
        """The working directory."""
        return self._native.cwd

    def check(
        self, tool_name: str, args: dict[str, Any], *, cwd: _Path | None = None
    ) -> Decision:
        """Decide about a call: run the hooks of the policy, use limited grants, and record it.

        A call whose effect is `ask` needs the answer of a reviewer: see `ask`.
        """
        decision = self._native.check(tool_name, args, cwd=cwd)
        _log_warnings(decision.warnings)
        return decision

    def explain(
        self, tool_name: str, args: dict[str, Any], *, cwd: _Path | None = None
    ) -> Decision:
        """Return the decision about a call, with the rules that were overridden."""
        explaining = Engine(self.policy, cwd=self.cwd, explain=True)
        return explaining.evaluate(tool_name, args, cwd=cwd)

    async def ask(
        self,
        tool_name: str,
        args: dict[str, Any],
        *,
        title: str | None = None,
        cwd: _Path | None = None,
        timeout: float | None = None,
    ) -> ApprovalDecision:
        """Decide about a call, and wait for the answer of a reviewer if the policy asks.

        `openoxide pending` lists the request, and `openoxide approve` and `openoxide deny` answer
        it. Cancelling this coroutine withdraws it.

        Args:
            tool_name: The name of the tool.
            args: The arguments of the call.
            title: One line that says what the call does.
            cwd: The working directory of the call.
            timeout: The seconds after which the request expires.

        Raises:
            OperationBlockedError: If the policy denies the call.
            ApprovalUnavailableError: If there is no answer within the timeout.
        """
        call = self.begin(tool_name, args, title=title, cwd=cwd, timeout=timeout)
        return await call.wait()

    def begin(
        self,
        tool_name: str,
        args: dict[str, Any],
        *,
        title: str | None = None,
        presentation: dict[str, Any] | None = None,
        requires_answer: bool = False,
        cwd: _Path | None = None,
        timeout: float | None = None,
    ) -> PendingCall:
        """Begin to decide about a call, for a program that answers questions itself.

        Args:
            tool_name: The name of the tool.
            args: The arguments of the call.
            title: One line that says what the call does.
            presentation: The fields of an `ApprovalPresentation`, for other terminals.
            requires_answer: True if the policy alone cannot allow the call.
            cwd: The working directory of the call.
            timeout: The seconds after which the request expires.
        """
        question = self._native.ask(
            tool_name,
            args,
            cwd=cwd,
            title=title,
            presentation=presentation,
            requires_answer=requires_answer,
            requester=self.requester,
            timeout=timeout,
        )
        return PendingCall(question)


@dataclass(frozen=True, slots=True)
class ReviewQuestion:
    """A question that waits for the answer of a reviewer.

    Attributes:
        id: The id of the request, for `openoxide approve` and `openoxide deny`.
        title: One line that says what the call does.
        reason: The reason of the policy for asking.
        requires_explicit_approval: True if only an answer to this very request can allow the call.
        request: All fields of the request, as `openoxide pending --json` prints them.
    """

    id: str
    title: str
    reason: str
    requires_explicit_approval: bool
    request: dict[str, Any] = field(repr=False)


class PendingCall:
    """A call that is being decided."""

    def __init__(self, question: _native.Question) -> None:
        self._question = question
        self._decision: ApprovalDecision | None = None
        self._own_answer: ApprovalDecision | None = None

    async def question(self) -> ReviewQuestion | None:
        """Return the question, or `None` if the policy has decided without one."""
        event = await self._next_event()
        if event["event"] != "question":
            self._decision = self._to_decision(event)
            return None
        return ReviewQuestion(
            id=str(event["id"]),
            title=event["title"],
            reason=event["reason"],
            requires_explicit_approval=event["requires_explicit_approval"],
            request=event["request"],
        )

    async def wait(self) -> ApprovalDecision:
        """Return the decision. Cancelling this coroutine withdraws the question.

        Raises:
            OperationBlockedError: If the policy denies the call.
            ApprovalUnavailableError: If there is no answer.
        """
        while self._decision is None:
            event = await self._next_event()
            if event["event"] != "question":
                self._decision = self._to_decision(event)
        return self._decision

    def answer(
        self,
        decision: ApprovalDecision,
        *,
        channel: AnswerChannel = "application",
    ) -> None:
        """Answer the question. The first answer applies: this one, or that of another process."""
        self._own_answer = decision
        self._question.answer(decision.approved, scope=decision.scope.value, channel=channel)

    async def answer_with(
        self,
        prompt: Callable[[], Awaitable[ApprovalDecision]],
        *,
        has_queue: bool,
        channel: AnswerChannel = "application",
    ) -> ApprovalDecision:
        """Ask with `prompt` while other processes may answer, too. The first answer applies.

        Args:
            prompt: Asks a reviewer. It is cancelled with the message `ANSWERED_ELSEWHERE` if
                another process answers.
            has_queue: True if the question waits for another process when `prompt` raises
                `ApprovalUnavailableError`.
            channel: The channel of the answers of `prompt`, for the audit log.
        """
        asking = asyncio.ensure_future(prompt())
        deciding = asyncio.ensure_future(self.wait())
        try:
            await asyncio.wait({asking, deciding}, return_when=asyncio.FIRST_COMPLETED)
            if not deciding.done():
                await self._pass_answer(asking, has_queue, channel)
            return await deciding
        finally:
            is_decided = deciding.done() and not deciding.cancelled()
            is_answered = is_decided and deciding.exception() is None
            self.cancel()
            asking.cancel(ANSWERED_ELSEWHERE if is_answered else None)
            deciding.cancel()
            await asyncio.gather(asking, deciding, return_exceptions=True)

    async def _pass_answer(
        self,
        asking: asyncio.Future[ApprovalDecision],
        has_queue: bool,
        channel: AnswerChannel,
    ) -> None:
        try:
            decision = await asking
        except ApprovalUnavailableError:
            if not has_queue:
                raise
            return
        self.answer(decision, channel=channel)

    def cancel(self) -> None:
        """Withdraw the question. The call must not run."""
        self._question.cancel()

    def _to_decision(self, event: dict[str, Any]) -> ApprovalDecision:
        """Return the decision of the last event of a call."""
        kind, own, answered_by = event["event"], self._own_answer, event.get("answered_by")
        note = own.note if own is not None else None
        if answered_by:
            note = f"answered by {answered_by}"
        if kind == "approved":
            # A grant for the project is saved by the engine. For this process, it is a session.
            is_once = event.get("scope", "once") == "once"
            scope = ApprovalScope.ONCE if is_once else ApprovalScope.SESSION
            return ApprovalDecision(True, scope, note, answered_by)
        if kind == "denied":
            note = event.get("message") or note
            return ApprovalDecision(False, note=note, answered_by=answered_by)
        if kind == "blocked":
            raise OperationBlockedError(f"Blocked by the policy: {event['reason']}")
        if kind == "expired":
            raise ApprovalUnavailableError("the request expired without an answer")
        if kind == "cancelled":
            raise asyncio.CancelledError("the request was withdrawn")
        raise ApprovalUnavailableError(f"the request has no answer: {event.get('reason', kind)}")

    async def _next_event(self) -> dict[str, Any]:
        try:
            await wait_until_readable(self._question.fileno())
            event = self._question.next_event()
        except BaseException:
            self.cancel()
            raise
        _log_warnings(event.get("warnings", ()))
        return event


def _log_warnings(warnings: Iterable[str]) -> None:
    for warning in warnings:
        _log.warning("%s", warning)
