"""Requests that are asked about together, because they are made at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from .types import ApprovalDecision, ApprovalRequest

__all__ = ["RequestGroups"]

_Ask = Callable[[list[ApprovalRequest]], Awaitable[ApprovalDecision]]


class RequestGroups:
    """The open groups of a controller.

    Args:
        ask: Asks one question about several requests.
    """

    def __init__(self, ask: _Ask) -> None:
        self._ask = ask
        self._open: dict[tuple[int, str], _Group] = {}

    async def ask(self, request: ApprovalRequest, group_id: str) -> ApprovalDecision:
        """Ask about a request, together with the others of its group.

        A group is closed after one step of the event loop, so it contains the requests that tasks
        make at the same time.
        """
        key = (id(asyncio.get_running_loop()), group_id)
        group = self._open.get(key)
        if group is None:
            group = self._open[key] = _Group()
            group.task = asyncio.ensure_future(self._run(key, group))
        return await group.join(request)

    async def _run(self, key: tuple[int, str], group: _Group) -> None:
        try:
            await asyncio.sleep(0)
        finally:
            self._open.pop(key, None)
        try:
            group.resolve(await self._ask([request for request, _ in group.members]))
        except asyncio.CancelledError:
            group.cancel()
            raise
        except Exception as error:
            group.fail(error)


class _Group:
    """Requests that wait for the same answer."""

    def __init__(self) -> None:
        self.members: list[tuple[ApprovalRequest, asyncio.Future[ApprovalDecision]]] = []
        self.task: asyncio.Future[None] | None = None

    async def join(self, request: ApprovalRequest) -> ApprovalDecision:
        """Add a request, and wait for the answer. The last member that is cancelled ends it."""
        answer: asyncio.Future[ApprovalDecision] = asyncio.get_running_loop().create_future()
        self.members.append((request, answer))
        try:
            return await answer
        finally:
            if self.task is not None and all(one.done() for _, one in self.members):
                self.task.cancel()

    def resolve(self, decision: ApprovalDecision) -> None:
        for _, answer in self.members:
            if not answer.done():
                answer.set_result(decision)

    def fail(self, error: Exception) -> None:
        for _, answer in self.members:
            if not answer.done():
                answer.set_exception(error)

    def cancel(self) -> None:
        for _, answer in self.members:
            answer.cancel()
