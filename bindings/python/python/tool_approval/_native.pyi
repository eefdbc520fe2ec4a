"""The native module. The package documents it; import from `tool_approval` instead."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, final

@final
class Decision:
    """A decision of the policy about a call."""

    @property
    def effect(self) -> Literal["allow", "ask", "deny"]: ...
    @property
    def reason(self) -> str: ...
    @property
    def rule(self) -> dict[str, Any] | None: ...
    @property
    def is_explicit(self) -> bool: ...
    @property
    def parts(self) -> list[dict[str, Any]]: ...
    @property
    def findings(self) -> list[dict[str, Any]]: ...
    @property
    def suggested_rules(self) -> list[str]: ...
    @property
    def warnings(self) -> list[str]: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Engine:
    def __init__(
        self,
        *,
        cwd: str | PathLike[str] | None = None,
        project: str | PathLike[str] | None = None,
        policy_files: Sequence[str | PathLike[str]] = ...,
        rules: Sequence[tuple[str, str]] = ...,
        mode: str | None = None,
        directories: Sequence[str | PathLike[str]] = ...,
        explain: bool = False,
    ) -> None: ...
    def evaluate(
        self, tool: str, args: dict[str, Any], *, cwd: str | PathLike[str] | None = None
    ) -> Decision: ...
    def _time_evaluations(self, tool: str, args: dict[str, Any], count: int) -> float: ...
    def check(
        self, tool: str, args: dict[str, Any], *, cwd: str | PathLike[str] | None = None
    ) -> Decision: ...
    def ask(
        self,
        tool: str,
        args: dict[str, Any],
        *,
        cwd: str | PathLike[str] | None = None,
        title: str | None = None,
        presentation: dict[str, Any] | None = None,
        requires_answer: bool = False,
        requester: str = "python",
        timeout: float | None = None,
    ) -> Question: ...
    @property
    def mode(self) -> str: ...
    @property
    def cwd(self) -> str: ...
    @property
    def roots(self) -> list[str]: ...
    @property
    def notes(self) -> list[str]: ...

def note_fork() -> None: ...

@final
class Question:
    def fileno(self) -> int: ...
    def next_event(self) -> dict[str, Any]: ...
    def answer(
        self,
        approved: bool,
        *,
        scope: str = "once",
        channel: str = "application",
    ) -> None: ...
    def cancel(self) -> None: ...

@final
class SessionApprovals:
    """The requests that were approved for a session."""

    def __init__(self) -> None: ...
    def contains(self, tool_name: str, payload: dict[str, Any]) -> bool: ...
    def add(self, tool_name: str, payload: dict[str, Any]) -> None: ...
    def clear(self) -> None: ...
    def copy_payload(self, payload: dict[str, Any]) -> dict[str, Any]: ...
    def __len__(self) -> int: ...

def parse_config(text: str, file: str, base: str) -> tuple[dict[str, Any], list[str]]: ...
def sandbox_problem(profile: dict[str, Any]) -> str | None: ...
@final
class FileCheck:
    """The result of a check of a file."""

    sandbox: str
    path: str
    real_path: str
    needs_approval: bool
    note: str | None

@final
class FileSandbox:
    def __init__(
        self, base: str, paths: dict[str, Any], *, uses_openat2: bool = True
    ) -> None: ...
    def check(self, operation: str, path: str) -> FileCheck: ...
    def read(self, path: str, expected: str | None) -> bytes: ...
    def write(self, path: str, content: bytes, expected: str | None) -> None: ...
    def list(self, path: str, pattern: str, expected: str | None) -> list[str]: ...

@final
class ShellDecision:
    """The decision about a command."""

    effect: Literal["allow", "ask", "deny"]
    reason: str
    rule: str | None
    description: str | None

@final
class ShellPolicy:
    def __init__(self, shell: dict[str, Any], paths: dict[str, Any], cwd: str) -> None: ...
    def check(self, command: str) -> ShellDecision: ...
    def unknown_sandboxes(self) -> list[str]: ...

@final
class ConfinedRun:
    def fileno(self) -> int: ...
    def cancel(self) -> None: ...
    def end(self) -> None: ...
    def result(self) -> dict[str, Any]: ...

def start_command(
    policy: ShellPolicy,
    command: str,
    *,
    profile: dict[str, Any],
    argv: Sequence[str],
    variables: Sequence[tuple[str, str]],
    seconds: int | None,
    max_output: int,
    supervisor: Sequence[str],
) -> ConfinedRun: ...
def supervise(launch: str, socket: str) -> None: ...
