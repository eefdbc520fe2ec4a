"""A controller whose reviewer answers by a function, and remembers what was asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tool_approval import ApprovalController, ApprovalDecision, ApprovalRequest, ApprovalScope

APPROVE = ApprovalDecision(True)
APPROVE_SESSION = ApprovalDecision(True, ApprovalScope.SESSION)
DENY = ApprovalDecision(False, note="not today")


class ScriptedReviewer(ApprovalController):
    """Answers with a decision, or with the result of a function of the request."""

    def __init__(
        self,
        answer: ApprovalDecision | Callable[[ApprovalRequest], Any] = DENY,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.answer = answer
        self.asked: list[ApprovalRequest] = []

    async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(request)
        answer = self.answer(request) if callable(self.answer) else self.answer
        return await answer if hasattr(answer, "__await__") else answer
