"""The file tools: reading, writing and listing files in configured directories."""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from .config import SandboxConfig, ToolConfig
from .errors import OperationBlockedError
from .import_paths import warn_about_import_paths
from .os_sandbox import base_directory, resolve_root
from .sandbox_requirement import SandboxRequirement
from .tool_methods import tool_method
from .types import ApprovalContext, ApprovalPresentation, ApprovalRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .controller import ApprovalController

__all__ = ["FileSandbox"]

_Operation = Literal["read", "write", "list"]

_OPERATIONS: dict[str, _Operation] = {
    "read_file": "read",
    "write_file": "write",
    "list_files": "list",
}

_VERBS = {"read": "Read from", "write": "Write to", "list": "List"}

_MAX_REMEMBERED = 1024
"""The number of checks that are remembered."""


class FileSandbox:
    """File tools that can access only the configured directories.

    Symbolic links and `..` are resolved before a path is checked, and no link is followed when the
    file is opened, so a path that changes in between is refused. Writing replaces a file in one
    step and keeps its permissions. Only regular files are accessed.

    The methods `read_file`, `write_file` and `list_files` are tools: each has `check_approval`.
    Relative paths are relative to the base directory.

    Args:
        config: The directories.
        base: The directory that relative paths are relative to. Without one, it is that of the
            configuration, or the working directory.
        controller: The controller that is asked before each call. Without one, a direct call runs
            without approval, and the framework asks before it calls a tool.

    Raises:
        SandboxError: If the configuration requires the OS sandbox, it is not available, and the
            fallback is `fail_fast`.
        ValueError: If the root of a path is not a directory name.

    Example:
        ```python
        from pathlib import Path

        from tool_approval import ApprovalContext, FileSandbox, PathConfig, SandboxConfig

        Path("notes").mkdir()
        config = SandboxConfig(paths={"notes": PathConfig(root="./notes", mode="rw")})
        sandbox = FileSandbox(config)

        args = {"path": "notes/log.txt", "content": "Meeting notes"}
        request = sandbox.check_approval(ApprovalContext(tool_name="write_file", args=args))
        assert request.payload == {"sandbox": "notes", "path": "notes/log.txt"}

        sandbox.write_file(**args)
        assert sandbox.read_file("notes/log.txt") == "Meeting notes"
        ```
    """

    def __init__(
        self,
        config: SandboxConfig | ToolConfig,
        *,
        base: str | os.PathLike[str] | None = None,
        controller: ApprovalController | None = None,
    ) -> None:
        if isinstance(config, ToolConfig):
            config = config.sandbox
        self.config = config
        self.base = base_directory(config, base)
        self.controller = controller
        self._requirement = SandboxRequirement(config, self.base)
        self._native = _native.FileSandbox(self.base, native_paths(config, self.base))
        warn_about_import_paths(self._can_write_module)
        self._checked: dict[tuple[str, str], str] = {}

    # --- Approval --------------------------------------------------------------------------------

    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
        """Return the request for approval of a call, or `None` if it needs none.

        Besides the calls that the configuration asks about, writing a file that configures shells,
        tools or agents needs approval, and so does reading a file that usually contains secrets.

        Raises:
            PermissionError: If the path is in no sandbox, has another suffix, or is read-only; if
                the tool is unknown; or if the OS sandbox is required and not available.
        """
        return self._check_tool(ctx.tool_name, ctx)

    def _check_tool(self, tool: str, ctx: ApprovalContext) -> ApprovalRequest | None:
        self._requirement.check()
        operation = _OPERATIONS.get(tool)
        if operation is None:
            names = ", ".join(f"`{name}`" for name in _OPERATIONS)
            raise OperationBlockedError(f"unknown file tool `{tool}` (tools: {names})")
        paths = self._paths(operation, ctx.args.get("path"))
        checks = [self._check(operation, path) for path in paths]
        asking = [check for check in checks if check.needs_approval]
        if not asking:
            return None
        return ApprovalRequest(
            tool_name=ctx.tool_name,
            description=_describe(operation, asking),
            payload={
                "sandbox": ", ".join(check.sandbox for check in asking),
                "path": ", ".join(check.path for check in asking),
            },
            presentation=_preview(operation, asking, ctx.args.get("content")),
            group_id=_batch(ctx.metadata.get("batch_id")),
        )

    def _paths(self, operation: _Operation, path: object) -> list[str]:
        """Return the paths of a call: the one that is named, or all roots for a list."""
        if path is None and operation == "list":
            return [resolve_root(one.root, self.base) for one in self.config.paths.values()]
        return [_check_text(path, "path")]

    def _check(self, operation: _Operation, path: str) -> _native.FileCheck:
        """Check a path, and remember the file that it refers to."""
        check = self._native.check(operation, path)
        # There is no lock, which a fork could leave locked. Each step is atomic.
        self._checked[operation, path] = check.real_path
        if len(self._checked) > _MAX_REMEMBERED:
            with contextlib.suppress(KeyError, RuntimeError, StopIteration):
                del self._checked[next(iter(self._checked))]
        return check

    def _expected(self, operation: _Operation, path: str) -> str | None:
        """Return the file that was checked, so that no other one is accessed."""
        return self._checked.get((operation, path))

    def _can_write_module(self, directory: str) -> bool:
        try:
            return not self._native.check("write", f"{directory}/module.py").needs_approval
        except (PermissionError, ValueError):
            return False

    def _approve(self, tool: str, args: dict[str, Any]) -> None:
        self._requirement.check()
        if self.controller is not None:
            self.controller.require_approval_sync(tool, args, tool=self)

    # --- Tools -----------------------------------------------------------------------------------

    @tool_method
    def read_file(self, path: str) -> str:
        """Return the content of a text file.

        Args:
            path: The path of the file, relative to the base directory.

        Raises:
            PermissionError: If the file may not be read.
            FileNotFoundError: If the file does not exist.
            ValueError: If the file is not UTF-8 text.
        """
        self._approve("read_file", {"path": path})
        [path] = self._paths("read", path)
        content = self._native.read(path, self._expected("read", path))
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"`{path}` is not UTF-8 text ({len(content)} bytes)") from None

    @tool_method
    def write_file(self, path: str, content: str) -> str:
        """Replace the content of a text file, or create it with its directories.

        Args:
            path: The path of the file, relative to the base directory.
            content: The new content.

        Returns:
            A sentence that says what was written.

        Raises:
            PermissionError: If the file may not be written.
        """
        content = _check_text(content, "content")
        self._approve("write_file", {"path": path, "content": content})
        [path] = self._paths("write", path)
        data = content.encode("utf-8")
        self._native.write(path, data, self._expected("write", path))
        return f"Wrote {len(data)} bytes to {path}"

    @tool_method
    def list_files(self, path: str | None = None, pattern: str = "**") -> list[str]:
        """Return the paths of the files in a directory and its subdirectories.

        Args:
            path: The directory, relative to the base directory. Without one, the files of all
                sandboxes are listed.
            pattern: A pattern for the paths in the directory: `*` and `?` match within a name, and
                `**` matches any directories. For example, `*.txt` and `**/*.txt`.

        Raises:
            PermissionError: If the directory is in no sandbox.
            FileNotFoundError: If the directory does not exist.
            ValueError: If there are too many files.
        """
        self._approve("list_files", {"path": path, "pattern": pattern})
        paths = self._paths("list", path)
        if path is None:
            paths = [root for root in paths if os.path.isdir(root)]
        found = {
            file
            for one in paths
            for file in self._native.list(one, pattern, self._expected("list", one))
        }
        return sorted(found)

    def tools(self) -> list[Callable[..., Any]]:
        """Return the tools, for frameworks that take a list of functions."""
        return [self.read_file, self.write_file, self.list_files]


def _check_text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise OperationBlockedError(f"`{name}` must be a str, not {type(value).__name__}")
    # A string of a subclass could change what it is between the check and the access.
    return str.__str__(value)


def native_paths(config: SandboxConfig, base: str) -> dict[str, Any]:
    """Return the settings of all paths, with real roots, for the native module."""
    return {
        name: {**asdict(path), "root": resolve_root(path.root, base)}
        for name, path in config.paths.items()
    }


def _describe(operation: _Operation, checks: list[_native.FileCheck]) -> str:
    where = ", ".join(f"{check.sandbox}:{check.path}" for check in checks)
    notes = {check.note for check in checks if check.note is not None}
    reason = f" ({', '.join(sorted(notes))})" if notes else ""
    return f"{_VERBS[operation]} {where}{reason}"


def _preview(
    operation: _Operation, checks: list[_native.FileCheck], content: object
) -> ApprovalPresentation | None:
    """Return a preview of a change. The file is read only if a reviewer is asked."""
    if operation != "write" or not isinstance(content, str):
        return None
    from .presentation import file_write_preview

    return file_write_preview(checks[0].real_path, content)


def _batch(value: object) -> str | None:
    return value if isinstance(value, str) else None
