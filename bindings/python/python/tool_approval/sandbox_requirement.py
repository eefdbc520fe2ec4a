"""The requirement that the OS sandbox is available."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .config import ShellConfig
from .errors import OperationBlockedError, SandboxError
from .os_sandbox import OSProfile, derive_os_sandbox_profile, sandbox_problem

if TYPE_CHECKING:
    from .config import SandboxConfig

__all__ = ["SandboxRequirement"]


class SandboxRequirement:
    """The requirement of a configuration, checked when a tool is created.

    Args:
        config: The configuration.
        base: The directory that relative roots are relative to.
        profile: The profile that must be enforced. Without one, it is derived.

    Raises:
        SandboxError: If the OS sandbox is required and not available, and the fallback is
            `fail_fast`.
    """

    def __init__(
        self, config: SandboxConfig, base: str, profile: OSProfile | None = None
    ) -> None:
        self._problem: str | None = None
        if not config.require_os_sandbox:
            return
        if profile is None:
            profile = derive_os_sandbox_profile(config, ShellConfig(), base=base)
        self._problem = sandbox_problem(profile)
        if self._problem is not None and config.os_sandbox_fallback == "fail_fast":
            raise SandboxError(f"the OS sandbox is required and not available: {self._problem}")

    def check(self) -> None:
        """Check the requirement before a call.

        Raises:
            PermissionError: If the OS sandbox is required and not available.
        """
        if self._problem is not None:
            raise OperationBlockedError(
                f"the OS sandbox is required and not available: {self._problem}"
            )
