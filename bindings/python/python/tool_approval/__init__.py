"""Approval, policies, an OS sandbox and an audit log for the tools of Python agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .controller import ApprovalController, CallPreview, ControllerMode
from .decorator import requires_approval, simple_approval_request
from .engine import Decision, Effect, Engine, PendingCall, PermissionMode, Policy
from .errors import (
    ApprovalDeniedError,
    ApprovalUnavailableError,
    ForkedProcessError,
    OperationBlockedError,
    PolicyError,
    SandboxError,
    UncomparablePayloadError,
)
from .types import (
    ApprovalAware,
    ApprovalContext,
    ApprovalDecision,
    ApprovalPresentation,
    ApprovalRequest,
    ApprovalScope,
)

if TYPE_CHECKING:
    from .config import (
        PathConfig,
        SandboxConfig,
        ShellConfig,
        ShellDefault,
        ShellRule,
        ToolConfig,
        load_config,
    )
    from .files import FileSandbox
    from .os_sandbox import OSProfile, derive_os_sandbox_profile
    from .presentation import truncate_for_display
    from .shell import SandboxDenial, ShellResult, ShellTool
    from .terminal import TerminalPrompt

__all__ = [
    "ApprovalAware",
    "ApprovalContext",
    "ApprovalController",
    "ApprovalDecision",
    "ApprovalDeniedError",
    "ApprovalPresentation",
    "ApprovalRequest",
    "ApprovalScope",
    "ApprovalUnavailableError",
    "CallPreview",
    "ControllerMode",
    "Decision",
    "Effect",
    "Engine",
    "FileSandbox",
    "ForkedProcessError",
    "OSProfile",
    "OperationBlockedError",
    "PathConfig",
    "PendingCall",
    "PermissionMode",
    "Policy",
    "PolicyError",
    "SandboxConfig",
    "SandboxDenial",
    "SandboxError",
    "ShellConfig",
    "ShellDefault",
    "ShellResult",
    "ShellRule",
    "ShellTool",
    "TerminalPrompt",
    "ToolConfig",
    "UncomparablePayloadError",
    "derive_os_sandbox_profile",
    "load_config",
    "requires_approval",
    "simple_approval_request",
    "truncate_for_display",
]

# Modules that most programs do not need are imported at the first use of a name.
_LAZY = {
    "FileSandbox": "files",
    "OSProfile": "os_sandbox",
    "PathConfig": "config",
    "SandboxConfig": "config",
    "SandboxDenial": "shell",
    "ShellConfig": "config",
    "ShellDefault": "config",
    "ShellResult": "shell",
    "ShellRule": "config",
    "ShellTool": "shell",
    "TerminalPrompt": "terminal",
    "ToolConfig": "config",
    "derive_os_sandbox_profile": "os_sandbox",
    "load_config": "config",
    "truncate_for_display": "presentation",
}


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value
