"""The configuration of the file sandbox and the shell tool, in YAML or in Python."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from . import _native
from .errors import PolicyError

__all__ = [
    "OSSandboxFallback",
    "PathConfig",
    "PathMode",
    "SandboxConfig",
    "ShellConfig",
    "ShellDefault",
    "ShellRule",
    "ToolConfig",
    "load_config",
    "parse_config",
]

PathMode = Literal["ro", "rw"]
"""The modes of a sandbox path: read-only, and writable."""

OSSandboxFallback = Literal["fail_fast", "refuse_tools"]
"""What happens if the OS sandbox is required and not available."""

_Path = str | os.PathLike[str]

_log = logging.getLogger("tool_approval")


_Item = TypeVar("_Item")


def _check_type(value: object, kind: type, name: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise TypeError(f"`{name}` must be a {kind.__name__}, not {type(value).__name__}")


def _check_items(values: object, kind: type[_Item], name: str) -> tuple[_Item, ...]:
    """Return a sequence as a tuple, after checking the types of its items."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(
            f"`{name}` must be a list of {kind.__name__}, not {type(values).__name__}"
        )
    items = tuple(cast("Sequence[object]", values))
    for item in items:
        _check_type(item, kind, name)
    return cast("tuple[_Item, ...]", items)


@dataclass(frozen=True, kw_only=True, slots=True)
class PathConfig:
    """A directory that file tools may access.

    Attributes:
        root: The directory. A relative path is relative to the base directory of the
            configuration, and `~` is the home directory.
        mode: `ro` if files may only be read, `rw` if they may be created and changed, too.
        suffixes: The permitted suffixes, such as `.txt`. With `None`, every name is permitted. The
            suffix of a name is its last dot and what follows it.
        max_file_bytes: The maximum size of a file that is read or written.
        write_approval: True if writing a file needs approval.
        read_approval: True if reading or listing files needs approval.
    """

    root: str
    mode: PathMode = "ro"
    suffixes: Sequence[str] | None = None
    max_file_bytes: int | None = None
    write_approval: bool = True
    read_approval: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", os.fspath(self.root))
        _check_type(self.root, str, "root")
        if not self.root:
            raise ValueError("`root` must not be empty")
        if self.mode not in ("ro", "rw"):
            raise ValueError(f"`mode` must be `ro` or `rw`, not {self.mode!r}")
        if self.suffixes is not None:
            object.__setattr__(self, "suffixes", _check_items(self.suffixes, str, "suffixes"))
        if self.max_file_bytes is not None:
            _check_type(self.max_file_bytes, int, "max_file_bytes")
            if self.max_file_bytes < 0:
                raise ValueError("`max_file_bytes` must not be negative")
        _check_type(self.write_approval, bool, "write_approval")
        _check_type(self.read_approval, bool, "read_approval")


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxConfig:
    """The directories that tools may access, and the requirements on the OS sandbox.

    If directories are nested, the strictest settings apply to the inner one.

    Attributes:
        paths: The directories by name.
        require_os_sandbox: True if tools need the OS sandbox. Without it, nothing is executed.
        os_sandbox_fallback: What happens if it is required and not available: `fail_fast` raises
            `SandboxError` when a tool is created, and `refuse_tools` makes every call of a tool
            raise `PermissionError`.
        base: The directory that relative roots are relative to. `load_config` sets it to the
            directory of the file. With `None`, it is the working directory.

    Example:
        ```python
        from tool_approval import PathConfig, SandboxConfig

        config = SandboxConfig(
            paths={"notes": PathConfig(root="./notes", mode="rw", suffixes=(".txt",))},
        )
        assert config.paths["notes"].write_approval
        ```
    """

    paths: Mapping[str, PathConfig] = field(default_factory=dict[str, PathConfig])
    require_os_sandbox: bool = False
    os_sandbox_fallback: OSSandboxFallback = "fail_fast"
    base: str | None = None

    def __post_init__(self) -> None:
        _check_type(self.paths, Mapping, "paths")
        for name, path in self.paths.items():
            _check_type(name, str, "paths")
            _check_type(path, PathConfig, f"paths.{name}")
        object.__setattr__(self, "paths", dict(self.paths))
        _check_type(self.require_os_sandbox, bool, "require_os_sandbox")
        if self.os_sandbox_fallback not in ("fail_fast", "refuse_tools"):
            raise ValueError(
                "`os_sandbox_fallback` must be `fail_fast` or `refuse_tools`, "
                f"not {self.os_sandbox_fallback!r}"
            )
        if self.base is not None:
            object.__setattr__(self, "base", os.fspath(self.base))


@dataclass(frozen=True, kw_only=True, slots=True)
class ShellDefault:
    """The decision about a command that no rule matches.

    Attributes:
        allowed: False if such a command is blocked.
        approval: True if such a command needs approval.
    """

    allowed: bool = True
    approval: bool = True

    def __post_init__(self) -> None:
        _check_type(self.allowed, bool, "allowed")
        _check_type(self.approval, bool, "approval")


@dataclass(frozen=True, kw_only=True, slots=True)
class ShellRule:
    """The decision about commands that begin with these words.

    Attributes:
        pattern: The first words of the command, such as `git status`.
        allowed: False if the command is blocked.
        approval: True if the command needs approval.
        description: What the command does, for the question.
        sandbox_paths: Names of sandbox paths. If there are any, the rule applies only if all paths
            of the command lie in them. A rule that blocks always applies.
    """

    pattern: str
    allowed: bool = True
    approval: bool = True
    description: str | None = None
    sandbox_paths: Sequence[str] = ()

    def __post_init__(self) -> None:
        _check_type(self.pattern, str, "pattern")
        _check_type(self.allowed, bool, "allowed")
        _check_type(self.approval, bool, "approval")
        if self.description is not None:
            _check_type(self.description, str, "description")
        object.__setattr__(
            self, "sandbox_paths", _check_items(self.sandbox_paths, str, "sandbox_paths")
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ShellConfig:
    """The rules of the shell tool.

    Attributes:
        default: The decision about a command that no rule matches.
        rules: The rules, in order. The first one whose words begin a command decides.
        network: True if commands can contact public hosts.
    """

    default: ShellDefault = field(default_factory=ShellDefault)
    rules: Sequence[ShellRule] = ()
    network: bool = False

    def __post_init__(self) -> None:
        _check_type(self.default, ShellDefault, "default")
        object.__setattr__(self, "rules", _check_items(self.rules, ShellRule, "rules"))
        _check_type(self.network, bool, "network")


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolConfig:
    """A configuration file.

    Attributes:
        sandbox: The section `sandbox`. Without one, no path is accessible.
        shell: The section `shell`. Without one, every command needs approval.
        mode: The mode of the controller, if the file has one.
    """

    sandbox: SandboxConfig = field(default_factory=SandboxConfig)
    shell: ShellConfig = field(default_factory=ShellConfig)
    mode: Literal["interactive", "approve_all", "strict"] | None = None


def load_config(path: _Path) -> ToolConfig:
    """Return the configuration in a YAML file. Relative roots are relative to its directory.

    Raises:
        PolicyError: If the file has an error, such as an unknown key. The message contains the
            file, the line and the column.
        OSError: If the file cannot be read.

    Example:
        ```python
        from pathlib import Path

        from tool_approval import load_config

        Path("tools.yaml").write_text(\"\"\"
        sandbox:
          paths:
            notes: { root: ./notes, mode: rw, suffixes: [.txt, .log] }
        shell:
          rules:
            - { pattern: git status, approval: false }
        \"\"\")
        config = load_config("tools.yaml")
        assert config.sandbox.paths["notes"].suffixes == (".txt", ".log")
        ```
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PolicyError(f"{file}: the file is not UTF-8 text") from error
    return parse_config(text, file=str(file), base=file.parent)


def parse_config(text: str, *, file: str = "config", base: _Path | None = None) -> ToolConfig:
    """Return the configuration in a YAML text.

    Args:
        text: The text.
        file: The name of the text, for messages.
        base: The directory that relative roots are relative to. Without one, it is the working
            directory.

    Raises:
        PolicyError: If the text has an error. The message contains the line and the column.
    """
    directory = os.path.abspath(os.getcwd() if base is None else base)
    fields, notes = _native.parse_config(text, file, directory)
    for note in notes:
        _log.warning("%s", note)
    return ToolConfig(
        sandbox=_to_sandbox(fields["sandbox"], directory),
        shell=_to_shell(fields["shell"]),
        mode=fields["mode"],
    )


def _to_sandbox(fields: dict[str, Any] | None, base: str) -> SandboxConfig:
    if fields is None:
        return SandboxConfig(base=base)
    return SandboxConfig(
        paths={name: PathConfig(**path) for name, path in fields["paths"].items()},
        require_os_sandbox=fields["require_os_sandbox"],
        os_sandbox_fallback=fields["os_sandbox_fallback"],
        base=base,
    )


def _to_shell(fields: dict[str, Any] | None) -> ShellConfig:
    if fields is None:
        return ShellConfig()
    return ShellConfig(
        default=ShellDefault(**fields["default"]),
        rules=tuple(ShellRule(**rule) for rule in fields["rules"]),
        network=fields["network"],
    )
