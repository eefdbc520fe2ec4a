"""The exceptions of this package.

Every exception that means "the call must not run" is a `PermissionError`, so that code which
handles `PermissionError` handles all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .types import ApprovalRequest

__all__ = [
    "ApprovalDeniedError",
    "ApprovalUnavailableError",
    "ForkedProcessError",
    "OperationBlockedError",
    "PolicyError",
    "SandboxError",
    "UncomparablePayloadError",
]


class ApprovalDeniedError(PermissionError):
    """A reviewer, or the mode of the controller, denied a call.

    Attributes:
        request: The request that was denied, or `None` if the policy denied the call.
        note: The reason, for the model and for the log.
    """

    def __init__(self, note: str | None, request: ApprovalRequest | None = None) -> None:
        self.note = note
        self.request = request
        super().__init__(f"Approval denied: {note}" if note else "Approval denied")


class OperationBlockedError(PermissionError):
    """A tool or the policy blocks a call in every mode. No reviewer is asked."""


class ApprovalUnavailableError(PermissionError):
    """A reviewer has to be asked, and none can be reached."""


class ForkedProcessError(RuntimeError):
    """An object of this package was used in a forked child of the process that created it.

    Locks and waiting requests do not survive a fork. Create the object again in the child.
    """


class PolicyError(ValueError):
    """A policy or a configuration has an error. The message names the file and the line."""


class SandboxError(RuntimeError):
    """The OS sandbox cannot be set up, so nothing was run."""


class UncomparablePayloadError(TypeError):
    """The payload of a request has a value that cannot be compared or copied.

    Such a request cannot be approved for the session, and it is not executed.
    """
