"""The OS sandbox: what a confined command may do, derived from the configuration of the tools."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import SandboxError

if TYPE_CHECKING:
    from .config import PathConfig, SandboxConfig, ShellConfig

__all__ = ["OSProfile", "derive_os_sandbox_profile"]

_Path = str | os.PathLike[str]


class OSProfile:
    """The permissions of a confined command.

    A new profile permits nothing. The methods `allow_read`, `allow_write` and `allow_network` add
    permissions, and `deny_write` takes one away, whatever the order of the calls.

    Profiles are compared by what they permit: `a <= b` is true if `b` permits everything that `a`
    permits.

    The kernel enforces the permissions to write and the network. It does not enforce that only
    the directories of `allow_read` can be read: see `permits_read`.

    Example:
        ```python
        from tool_approval import OSProfile

        profile = OSProfile()
        profile.allow_write("/srv/data")
        profile.deny_write("/srv/data/archive")
        assert profile.permits_write("/srv/data/new.txt")
        assert not profile.permits_write("/srv/data/archive/old.txt")
        assert OSProfile() <= profile
        ```
    """

    __slots__ = ("_denied", "_network", "_readable", "_writable")

    __hash__ = None  # type: ignore[assignment]  # A profile can change.

    def __init__(self) -> None:
        self._readable: frozenset[str] = frozenset()
        self._writable: frozenset[str] = frozenset()
        self._denied: frozenset[str] = frozenset()
        self._network = False

    # --- Permissions -----------------------------------------------------------------------------

    def allow_read(self, path: _Path) -> None:
        """Permit reading a directory and everything below it. Links in the path are resolved."""
        self._readable |= {_real_path(path)}

    def allow_write(self, path: _Path) -> None:
        """Permit reading and changing a directory and everything below it.

        Links in the path are resolved now. If a link replaces the directory later, nothing is run.
        """
        self._writable |= {_real_path(path)}

    def deny_write(self, path: _Path) -> None:
        """Deny changing a path and everything below it, even in a writable directory."""
        self._denied |= {_real_path(path)}

    def allow_network(self) -> None:
        """Permit contacting public hosts. The network of this machine stays unreachable."""
        self._network = True

    @property
    def readable(self) -> frozenset[str]:
        """The directories that can be read, including the writable ones."""
        return self._readable | self._writable

    @property
    def writable(self) -> frozenset[str]:
        """The directories that can be changed, except for the paths in `denied`."""
        return frozenset(
            path for path in self._writable if not _is_below_any(path, self._denied)
        )

    @property
    def denied(self) -> frozenset[str]:
        """The paths in the writable directories that cannot be changed."""
        return frozenset(path for path in self._denied if _is_below_any(path, self.writable))

    @property
    def network(self) -> bool:
        """True if public hosts can be contacted."""
        return self._network

    def permits_read(self, path: _Path) -> bool:
        """Return whether a path is in a readable directory.

        The kernel does not enforce this for commands: a confined command needs the files of the
        system, so it can read everything that the user can read, except for known secrets.
        """
        return _is_below_any(_real_path(path), self.readable)

    def permits_write(self, path: _Path) -> bool:
        """Return whether a confined command can change a path."""
        real = _real_path(path)
        return _is_below_any(real, self._writable) and not _is_below_any(real, self._denied)

    # --- Combination and comparison --------------------------------------------------------------

    def intersect(self, other: OSProfile) -> OSProfile:
        """Return a profile that permits exactly what both profiles permit."""
        both = OSProfile()
        both._readable = _intersect_trees(self.readable, other.readable)
        both._writable = _intersect_trees(self._writable, other._writable)
        both._denied = self._denied | other._denied
        both._network = self._network and other._network
        return both

    def __and__(self, other: object) -> OSProfile:
        return self.intersect(other) if isinstance(other, OSProfile) else NotImplemented

    def __le__(self, other: object) -> bool:
        if not isinstance(other, OSProfile):
            return NotImplemented
        return (
            all(_is_below_any(path, other.readable) for path in self.readable)
            and all(_is_below_any(path, other._writable) for path in self.writable)
            and not any(self._permits_below(path) for path in other._denied)
            and (other._network or not self._network)
        )

    def _permits_below(self, path: str) -> bool:
        """Return whether anything at or below a path can be changed."""
        return self.permits_write(path) or any(_is_below(root, path) for root in self.writable)

    def __ge__(self, other: object) -> bool:
        return other <= self if isinstance(other, OSProfile) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self <= other <= self if isinstance(other, OSProfile) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self <= other and self != other if isinstance(other, OSProfile) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return other < self if isinstance(other, OSProfile) else NotImplemented

    def __repr__(self) -> str:
        return (
            f"<OSProfile readable={sorted(self.readable)} writable={sorted(self.writable)} "
            f"denied={sorted(self.denied)} network={self.network}>"
        )

    def to_restrictions(self, protected: Iterable[str] = ()) -> dict[str, Any]:
        """Return the fields that the native module enforces, with more protected paths."""
        inside = (path for path in protected if _is_below_any(path, self.writable))
        return {
            "writable": sorted(self.writable),
            "protected": sorted({*self.denied, *inside}),
            "network": self._network,
        }


def derive_os_sandbox_profile(
    sandbox_config: SandboxConfig,
    shell_config: ShellConfig,
    explicit_profile: OSProfile | None = None,
    *,
    base: _Path | None = None,
) -> OSProfile:
    """Return the profile for commands. It never permits more than the configuration of the tools.

    It permits less where the kernel cannot enforce a setting: a path with `suffixes` or
    `max_file_bytes` cannot be changed by commands, and in nested paths the strictest mode applies.

    Args:
        sandbox_config: The directories. The writable ones stay writable.
        shell_config: The rules for commands, which permit the network or not.
        explicit_profile: A profile that limits the result further.
        base: The directory that relative roots are relative to. Without one, it is that of
            `sandbox_config`, or the working directory.

    Example:
        ```python
        from tool_approval import (
            PathConfig, SandboxConfig, ShellConfig, derive_os_sandbox_profile,
        )

        config = SandboxConfig(
            paths={
                "data": PathConfig(root="./data", mode="rw"),
                "archive": PathConfig(root="./data/archive"),
            },
        )
        profile = derive_os_sandbox_profile(config, ShellConfig())
        assert profile.permits_write("data/new.txt")
        assert not profile.permits_write("data/archive/old.txt")
        assert not profile.network
        ```
    """
    derived = OSProfile()
    directory = base_directory(sandbox_config, base)
    for path in sandbox_config.paths.values():
        root = resolve_root(path.root, directory)
        derived.allow_read(root)
        if _is_writable_by_commands(path):
            derived.allow_write(root)
        else:
            derived.deny_write(root)
    if shell_config.network:
        derived.allow_network()
    return derived if explicit_profile is None else derived.intersect(explicit_profile)


def _is_writable_by_commands(path: PathConfig) -> bool:
    """Return whether the kernel can enforce the permission to write: it knows no suffixes."""
    return path.mode == "rw" and path.suffixes is None and path.max_file_bytes is None


# --- Paths ---------------------------------------------------------------------------------------


def base_directory(config: SandboxConfig, base: _Path | None) -> str:
    """Return the real path of the directory that relative paths are relative to."""
    return os.path.realpath(base or config.base or os.getcwd())


def resolve_root(root: str, base: str) -> str:
    """Return the real path of the root of a sandbox path.

    Raises:
        ValueError: If the root names the home directory of another user.
    """
    if root.startswith("~"):
        if root != "~" and not root.startswith("~/"):
            raise ValueError(f"`{root}` is not a directory: only `~` and `~/…` are supported")
        root = os.path.expanduser(root)
    return os.path.realpath(os.path.join(base, root))


def _real_path(path: _Path) -> str:
    return os.path.realpath(os.fspath(path))


def _is_below(path: str, base: str) -> bool:
    return path == base or path.startswith(base if base == "/" else f"{base}/")


def _is_below_any(path: str, bases: Iterable[str]) -> bool:
    return any(_is_below(path, base) for base in bases)


def _intersect_trees(left: Iterable[str], right: frozenset[str]) -> frozenset[str]:
    """Return the directories that are below one of each set."""
    pairs = [(one, other) for one in left for other in right]
    inner = (one for one, other in pairs if _is_below(one, other))
    outer = (other for one, other in pairs if _is_below(other, one))
    return frozenset((*inner, *outer))


# --- The supervisor ------------------------------------------------------------------------------

_BOOTSTRAP = """\
import _signal, sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec
_signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
path, launch, socket = sys.argv[1:]
loader = ExtensionFileLoader("_native", path)
module = loader.create_module(ModuleSpec("_native", loader, origin=path))
loader.exec_module(module)
module.supervise(launch, socket)
"""
"""The program of the supervisor. It imports nothing from the environment."""


def supervisor_command() -> list[str]:
    """Return the command that starts the supervisor of a confined command.

    Raises:
        SandboxError: If this program is not run by a Python interpreter of its own.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        raise SandboxError(
            "nothing was run: the OS sandbox needs the Python interpreter as a program, and "
            "`sys.executable` does not name one"
        )
    path = _native.__file__
    return [sys.executable, "-I", "-S", "-B", "-c", _BOOTSTRAP, path]


@lru_cache(maxsize=1)
def interpreter_paths() -> tuple[str, ...]:
    """Return the files of this interpreter and this package.

    A command that could change them would run its own code outside of the sandbox with the next
    supervisor, or the next start of the program.
    """
    package = os.path.dirname(__file__)
    known = {package, sys.executable, os.path.join(sys.prefix, "pyvenv.cfg")}
    known.update(os.path.dirname(path) for path in (sys.executable, _native.__file__))
    names = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
    known.update(path for path in map(sysconfig.get_path, names) if path)
    known.update([os.path.realpath(path) for path in known])
    return tuple(sorted(path for path in known if path))


def sandbox_problem(profile: OSProfile) -> str | None:
    """Return the reason why this machine cannot enforce a profile, or `None` if it can."""
    try:
        supervisor_command()
    except SandboxError as error:
        return str(error)
    return _native.sandbox_problem(profile.to_restrictions())
