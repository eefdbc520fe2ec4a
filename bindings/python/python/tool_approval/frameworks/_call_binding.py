"""Helpers of the integrations: the call that was approved is the call that runs."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
from collections.abc import Iterable
from typing import Any, cast

from ..controller import find_check_approval
from ..errors import ApprovalDeniedError, UncomparablePayloadError
from ..types import ApprovalContext, ApprovalDecision, ApprovalRequest

__all__ = [
    "CombinedChecks",
    "copy_arguments",
    "denial_message",
    "fingerprint_call",
    "refusal_message",
    "unwrap_function",
]

CHANGED_MESSAGE = "the arguments of the call changed after it was approved"


def copy_arguments(tool_name: str, args: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the arguments that nothing else refers to.

    Raises:
        UncomparablePayloadError: If they cannot be copied.
    """
    try:
        return copy.deepcopy(args)
    except Exception as error:
        message = f"the arguments of `{tool_name}` cannot be copied: {error}"
        raise UncomparablePayloadError(message) from error


def fingerprint_call(call_id: str | None, tool_name: str, args: dict[str, Any]) -> str:
    """Return a hash of a call whose arguments are JSON values.

    Raises:
        UncomparablePayloadError: If an argument has no JSON form.
    """
    try:
        text = json.dumps([call_id, tool_name, args], sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the arguments of `{tool_name}` have no JSON form: {error}"
        raise UncomparablePayloadError(message) from error
    return hashlib.sha256(text.encode()).hexdigest()


def refusal_message(reason: str) -> str:
    """Return the text that the model gets in place of a result."""
    return f"The call was not executed. {reason}"


def denial_message(decision: ApprovalDecision) -> str:
    """Return the text that the model gets if a reviewer denied its call."""
    return refusal_message(str(ApprovalDeniedError(decision.note)))


def unwrap_function(function: object) -> object:
    """Return the function that a `functools.partial` calls."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


class CombinedChecks:
    """The `check_approval` of several objects. The first request applies, and each can block."""

    def __init__(self, tools: Iterable[object]) -> None:
        checks = [find_check_approval(tool) for tool in tools]
        distinct = {id(check): check for check in checks if check is not None}
        self._checks = list(distinct.values())

    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
        """Return the first request of the objects. Each of them is consulted.

        Raises:
            PermissionError: If one of them blocks the call.
        """
        answers = [check(ctx) for check in self._checks]
        requests = [answer for answer in answers if answer is not None]
        # The controller raises an exception if this is no request.
        return cast("ApprovalRequest", requests[0]) if requests else None
