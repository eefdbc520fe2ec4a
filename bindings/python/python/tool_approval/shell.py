"""The shell tool: commands that are checked by rules and run in the OS sandbox."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import select
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from .config import SandboxConfig, ShellConfig, ToolConfig
from .descriptors import wait_until_readable
from .errors import OperationBlockedError, SandboxError
from .files import FileSandbox, native_paths
from .import_paths import warn_about_import_paths
from .os_sandbox import (
    OSProfile,
    base_directory,
    derive_os_sandbox_profile,
    interpreter_paths,
    supervisor_command,
)
from .sandbox_requirement import SandboxRequirement
from .tool_methods import tool_method
from .types import ApprovalContext, ApprovalPresentation, ApprovalRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .controller import ApprovalController
    from .engine import Engine

__all__ = ["SandboxDenial", "ShellResult", "ShellTool"]

_log = logging.getLogger("tool_approval")

_MAX_DESCRIBED = 50
"""The number of characters of a command in a generated description."""


@dataclass(frozen=True, slots=True)
class SandboxDenial:
    """Something that the OS sandbox refused.

    Attributes:
        kind: `write` or `read` for a file, `connect` for a host, and `unix_socket` for a service.
        target: The path, or the host and the port.
    """

    kind: Literal["write", "read", "connect", "unix_socket"]
    target: str

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShellResult:
    """The result of a command.

    Its `str` is a text for a model: the output, and what else happened.

    Attributes:
        command: The command.
        exit_status: The exit status, or `None` if the command was killed.
        stdout: The standard output. Bytes that are not UTF-8 are written as `\\xff`. If there was
            too much, the middle is left out, and a line says how much.
        stderr: The error output.
        signal: The number of the signal that killed the command.
        timed_out: True if the command was killed because its time was over.
        is_truncated: True if a part of the output is left out.
        denials: What the OS sandbox refused.
        warnings: What a person should know, such as new files that were quarantined.
    """

    command: str
    exit_status: int | None
    stdout: str
    stderr: str
    signal: int | None = None
    timed_out: bool = False
    is_truncated: bool = False
    denials: tuple[SandboxDenial, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if the command succeeded."""
        return self.exit_status == 0

    def __str__(self) -> str:
        parts = [self.stdout.rstrip("\n")]
        if self.stderr:
            parts.append(f"[stderr]\n{self.stderr.rstrip()}")
        if self.timed_out:
            parts.append("[timed out; killed]")
        elif self.signal is not None:
            parts.append(f"[killed by signal {self.signal}]")
        elif self.exit_status != 0:
            parts.append(f"[exit status {self.exit_status}]")
        parts += [f"[the sandbox refused: {denial}]" for denial in self.denials]
        parts += [f"[warning: {warning}]" for warning in self.warnings]
        return "\n".join(part for part in parts if part)


class ShellTool:
    """A tool that runs commands in bash, confined by the OS sandbox.

    A command is analyzed, and every program that it would start is decided by itself: by the first
    rule whose words begin it, or else by the default. The strictest decision applies, so
    `git status; rm -rf x` is not covered by a rule for `git status`. What the analysis does not
    understand needs approval at least.

    A confined command can change only the writable directories of the configuration. It has no
    network unless `network` is true, it reads no known secrets, and it gets no input and only
    those environment variables that programs need to find their files. A command is never run
    without the OS sandbox.

    The methods `run` and `arun` are tools: each has `check_approval`. The tool itself can be
    called, too.

    Args:
        config: The rules.
        sandbox: The directories that commands can change. Without them, commands can change
            nothing.
        engine: A policy that is consulted, too. The stricter decision applies.
        controller: The controller that is asked before each call. Without one, a direct call runs
            without approval, and the framework asks before it calls a tool. Commands that the
            rules block are never run.
        cwd: The working directory of commands. Without one, it is the base directory of the
            sandbox.
        profile: A profile that limits commands further.
        environment: Additional environment variables. Commands can read them.
        timeout: The seconds after which a command is killed, rounded up.
        max_output_bytes: The maximum size of each of the two outputs.
        name: The name of the tool.

    Raises:
        PolicyError: If the pattern of a rule is not understood.
        SandboxError: If the configuration requires the OS sandbox, it is not available, and the
            fallback is `fail_fast`.

    Example:
        ```python
        from tool_approval import ApprovalContext, ShellConfig, ShellRule, ShellTool

        config = ShellConfig(
            rules=(
                ShellRule(pattern="echo", approval=False),
                ShellRule(pattern="rm", allowed=False),
            ),
        )
        shell = ShellTool(config)
        ctx = ApprovalContext(tool_name="shell", args={"command": "echo hello"})
        assert shell.check_approval(ctx) is None
        assert shell.run("echo hello").stdout == "hello\\n"
        ```
    """

    def __init__(
        self,
        config: ShellConfig | ToolConfig,
        *,
        sandbox: FileSandbox | SandboxConfig | None = None,
        engine: Engine | None = None,
        controller: ApprovalController | None = None,
        cwd: str | os.PathLike[str] | None = None,
        profile: OSProfile | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float | None = 120,
        max_output_bytes: int = 1 << 18,
        name: str = "shell",
    ) -> None:
        if isinstance(config, ToolConfig):
            sandbox = config.sandbox if sandbox is None else sandbox
            config = config.shell
        directories, base = _sandbox_of(sandbox)
        self.config = config
        self.engine = engine
        self.controller = controller
        self.cwd = os.path.realpath(base if cwd is None else cwd)
        self.profile = derive_os_sandbox_profile(directories, config, profile, base=base)
        self.timeout = timeout
        self.max_output_bytes = max_output_bytes
        self.name = name
        self.tool_names = {"run": name, "arun": name}
        self._has_own_directory = cwd is not None
        self._seconds = None if timeout is None else _to_seconds(timeout)
        self._environment = _check_environment(environment or {})
        self._requirement = SandboxRequirement(directories, base, self.profile)
        self._policy = _native.ShellPolicy(
            asdict(config), native_paths(directories, base), self.cwd
        )
        warn_about_import_paths(self.profile.permits_write)
        for unknown in self._policy.unknown_sandboxes():
            _log.warning("`sandbox_paths` names the sandbox `%s`, which does not exist", unknown)

    # --- Approval --------------------------------------------------------------------------------

    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
        """Return the request for approval of a command, or `None` if it needs none.

        Raises:
            PermissionError: If a rule or the policy blocks the command, or if the OS sandbox is
                required and not available.
        """
        return self._check_tool(self.name, ctx)

    def _check_tool(self, tool: str, ctx: ApprovalContext) -> ApprovalRequest | None:
        self._requirement.check()
        command = _check_command(ctx.args.get("command"))
        decision = self._check_rules(command)
        policy_reason = self._check_policy(command)
        if decision.effect == "allow" and policy_reason is None:
            return None
        description = decision.description or f"Execute: {_shorten(command)}"
        payload = {"command": command}
        if decision.rule is not None and decision.effect == "ask":
            payload["rule"] = decision.rule
        if self._has_own_directory:
            payload["cwd"] = self.cwd
        reason = policy_reason if decision.effect == "allow" else decision.reason
        return ApprovalRequest(
            tool_name=ctx.tool_name,
            description=description,
            payload=payload,
            presentation=ApprovalPresentation(
                type="command",
                content=command,
                language="bash",
                metadata={"cwd": self.cwd, "reason": reason},
            ),
        )

    def _check_rules(self, command: str) -> _native.ShellDecision:
        decision = self._policy.check(command)
        if decision.effect == "deny":
            raise OperationBlockedError(f"Command blocked: {decision.reason}")
        return decision

    def _check_policy(self, command: str) -> str | None:
        """Return the reason why the policy asks, or `None` if it allows the command."""
        if self.engine is None:
            return None
        decision = self.engine.evaluate("Bash", {"command": command}, cwd=self.cwd)
        if decision.effect == "deny":
            raise OperationBlockedError(f"Command blocked by the policy: {decision.reason}")
        return decision.reason if decision.effect == "ask" else None

    # --- Tools -----------------------------------------------------------------------------------

    @tool_method
    def run(self, command: str) -> ShellResult:
        """Run a command in bash, and wait for its end.

        Ctrl-C and other exceptions kill all processes of the command.

        Args:
            command: The command.

        Raises:
            PermissionError: If the command is blocked or not approved.
            SandboxError: If the OS sandbox cannot be set up. Nothing was run.
        """
        command = self._before_run(command)
        if self.controller is not None:
            self.controller.require_approval_sync(self.name, {"command": command}, tool=self)
        run = self._start(command)
        try:
            poll = select.poll()
            poll.register(run.fileno(), select.POLLIN)
            poll.poll()
        except BaseException:
            run.end()
            raise
        return _to_result(command, run.result())

    @tool_method
    async def arun(self, command: str) -> ShellResult:
        """Run a command in bash. Cancelling this coroutine kills all processes of the command.

        Args:
            command: The command.

        Raises:
            PermissionError: If the command is blocked or not approved.
            SandboxError: If the OS sandbox cannot be set up. Nothing was run.
        """
        command = self._before_run(command)
        if self.controller is not None:
            await self.controller.require_approval(self.name, {"command": command}, tool=self)
        run = self._start(command)
        try:
            await wait_until_readable(run.fileno())
        except asyncio.CancelledError:
            await _end_run(run)
            raise
        except BaseException:
            run.end()
            raise
        return _to_result(command, run.result())

    def __call__(self, command: str) -> ShellResult:
        """Do the same as `run`."""
        return self.run(command)

    def tools(self) -> list[Callable[..., Any]]:
        """Return the tool, for frameworks that take a list of functions."""
        return [self.arun]

    # --- Implementation --------------------------------------------------------------------------

    def _before_run(self, command: object) -> str:
        self._requirement.check()
        command = _check_command(command)
        self._check_rules(command)
        self._check_policy(command)
        return command

    def _start(self, command: str) -> _native.ConfinedRun:
        if not os.path.isdir(self.cwd):
            raise SandboxError(f"nothing was run: the directory `{self.cwd}` does not exist")
        return _native.start_command(
            self._policy,
            command,
            profile=self.profile.to_restrictions(interpreter_paths()),
            # The last word is the name of the shell in messages.
            argv=[_find_bash(), "--norc", "--noprofile", "-c", "--", command, "bash"],
            variables=self._environment,
            seconds=self._seconds,
            max_output=self.max_output_bytes,
            supervisor=supervisor_command(),
        )


def _sandbox_of(sandbox: FileSandbox | SandboxConfig | None) -> tuple[SandboxConfig, str]:
    """Return the directories and the base directory."""
    if isinstance(sandbox, FileSandbox):
        return sandbox.config, sandbox.base
    config = SandboxConfig() if sandbox is None else sandbox
    return config, base_directory(config, None)


def _check_command(command: object) -> str:
    if not isinstance(command, str):
        raise OperationBlockedError(f"`command` must be a str, not {type(command).__name__}")
    if "\0" in command:
        raise OperationBlockedError("the command contains a NUL character")
    # A string of a subclass could change what it is between the check and the run.
    return str.__str__(command)


def _to_seconds(timeout: float) -> int:
    if not 0 < timeout < math.inf:
        raise ValueError(f"`timeout` must be a positive number of seconds, not {timeout!r}")
    return math.ceil(timeout)


def _check_environment(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    for name, value in environment.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"invalid environment variable {name!r}")
    return list(environment.items())


def _find_bash() -> str:
    for path in ("/bin/bash", "/usr/bin/bash"):
        if os.path.exists(path):
            return path
    return shutil.which("bash") or "bash"


def _shorten(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= _MAX_DESCRIBED else f"{line[:_MAX_DESCRIBED]}..."


def _to_result(command: str, fields: dict[str, Any]) -> ShellResult:
    (stdout, cut_stdout), (stderr, cut_stderr) = (
        _decode_output(fields[name]) for name in ("stdout", "stderr")
    )
    return ShellResult(
        command=command,
        exit_status=fields["exit_status"],
        stdout=stdout,
        stderr=stderr,
        signal=fields["signal"],
        timed_out=fields["timed_out"],
        is_truncated=cut_stdout or cut_stderr,
        denials=tuple(SandboxDenial(kind, target) for kind, target in fields["denials"]),
        warnings=tuple(fields["warnings"]),
    )


def _decode_output(parts: tuple[bytes, int, bytes]) -> tuple[str, bool]:
    """Return an output as text, and whether a part of it is left out."""
    head, omitted, tail = parts
    if not omitted:
        return (head + tail).decode("utf-8", "backslashreplace"), False
    texts = [part.decode("utf-8", "backslashreplace") for part in (head, tail)]
    return f"\n[... {omitted} bytes are left out ...]\n".join(texts), True


async def _end_run(run: _native.ConfinedRun) -> None:
    """Kill all processes of a command, and wait until they have ended, whatever happens."""
    run.cancel()
    ended = asyncio.ensure_future(wait_until_readable(run.fileno()))
    while not ended.done():
        # Another cancellation changes nothing: the command is being killed already.
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(ended)
    run.end()
