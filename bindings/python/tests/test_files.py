"""The file sandbox: what it permits, and that nothing else is read or written."""

from __future__ import annotations

import ctypes
import inspect
import os
import random
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted_reviewer import ScriptedReviewer

from tool_approval import (
    ApprovalContext,
    ApprovalDecision,
    ApprovalRequest,
    FileSandbox,
    OperationBlockedError,
    PathConfig,
    SandboxConfig,
    _native,
)
from tool_approval.config import parse_config
from tool_approval.files import native_paths

CONFIG = """
sandbox:
  paths:
    notes:
      root: ./notes
      mode: rw
      suffixes: [.txt, .log]
      write_approval: true
      read_approval: false
    cache:
      root: ./cache
      mode: rw
      write_approval: false
    docs: { root: ./docs }
    private: { root: ./private, mode: rw, read_approval: true }
"""


@pytest.fixture(params=["openat2", "components"])
def make_sandbox(
    request: pytest.FixtureRequest, project: Path
) -> Callable[[SandboxConfig], FileSandbox]:
    """Creates a sandbox that opens files with openat2, or without it as on an old kernel."""

    def make(config: SandboxConfig) -> FileSandbox:
        sandbox = FileSandbox(config)
        if request.param == "components":
            paths = native_paths(config, sandbox.base)
            sandbox._native = _native.FileSandbox(sandbox.base, paths, uses_openat2=False)
        return sandbox

    return make


@pytest.fixture
def sandbox(project: Path, make_sandbox: Callable[[SandboxConfig], FileSandbox]) -> FileSandbox:
    for name in ("notes", "cache", "docs", "private"):
        (project / name).mkdir()
    (project / "secret.txt").write_text("secret")
    return make_sandbox(parse_config(CONFIG).sandbox)


def check(sandbox: FileSandbox, tool: str, **args: Any) -> ApprovalRequest | None:
    return sandbox.check_approval(ApprovalContext(tool_name=tool, args=args))


# --- Approval ------------------------------------------------------------------------------------


def test_a_write_needs_approval_if_the_path_says_so(sandbox: FileSandbox) -> None:
    request = check(sandbox, "write_file", path="notes/log.txt", content="Meeting notes...")
    assert request is not None
    assert request.tool_name == "write_file"
    assert request.description == "Write to notes:notes/log.txt"
    assert request.payload == {"sandbox": "notes", "path": "notes/log.txt"}
    assert check(sandbox, "write_file", path="cache/x", content="") is None


def test_a_read_needs_approval_if_the_path_says_so(sandbox: FileSandbox) -> None:
    assert check(sandbox, "read_file", path="notes/log.txt") is None
    request = check(sandbox, "read_file", path="private/diary")
    assert request is not None
    assert request.description == "Read from private:private/diary"
    assert request.payload == {"sandbox": "private", "path": "private/diary"}


def test_the_path_of_a_payload_is_normalized(sandbox: FileSandbox, project: Path) -> None:
    (project / "alias").symlink_to("notes")
    for path in (
        "notes/log.txt",
        "./notes//log.txt",
        "cache/../notes/log.txt",
        f"{project}/notes/log.txt",
        "alias/log.txt",
    ):
        request = check(sandbox, "write_file", path=path, content="")
        assert request is not None
        assert request.payload == {"sandbox": "notes", "path": "notes/log.txt"}, path


@pytest.mark.parametrize(
    ("tool", "path"),
    [
        ("read_file", "secret.txt"),
        ("read_file", "/etc/passwd"),
        ("read_file", "notes/../secret.txt"),
        ("read_file", "notes/../../etc/passwd"),
        ("read_file", "notesx/a.txt"),
        ("read_file", "~/x.txt"),
        ("read_file", ""),
        ("read_file", "."),
        ("write_file", "docs/a.txt"),
        ("write_file", "notes/a.py"),
        ("write_file", "notes/.txt"),
        ("write_file", "notes/txt"),
        ("write_file", "notes/a.txt.py"),
        ("write_file", "notes/a.TXT"),
        ("read_file", "notes/a.py"),
        ("list_files", "."),
        ("list_files", "/"),
        ("delete_file", "notes/a.txt"),
    ],
)
def test_what_is_not_configured_is_blocked(sandbox: FileSandbox, tool: str, path: str) -> None:
    with pytest.raises(OperationBlockedError):
        check(sandbox, tool, path=path, content="")


@pytest.mark.parametrize("path", [None, 1, b"notes/a.txt", ["notes/a.txt"]])
def test_a_path_that_is_no_text_is_blocked(sandbox: FileSandbox, path: object) -> None:
    with pytest.raises(PermissionError):
        check(sandbox, "read_file", path=path)
    with pytest.raises(PermissionError):
        check(sandbox, "read_file")


def test_an_invalid_path_is_an_error(sandbox: FileSandbox) -> None:
    for path in ("notes/a\0.txt", "notes/\udcff.txt"):
        with pytest.raises(ValueError):
            check(sandbox, "read_file", path=path)
        with pytest.raises(ValueError):
            sandbox.write_file(path, "x")


def test_nested_paths_have_the_strictest_settings(
    project: Path, make_sandbox: Callable[[SandboxConfig], FileSandbox]
) -> None:
    (project / "data/archive/new").mkdir(parents=True)
    sandbox = make_sandbox(
        SandboxConfig(
            paths={
                "data": PathConfig(root="data", mode="rw", write_approval=False),
                "archive": PathConfig(root="data/archive", mode="ro", read_approval=True),
                "new": PathConfig(
                    root="data/archive/new", mode="rw", write_approval=False, suffixes=[".csv"]
                ),
            }
        )
    )
    assert check(sandbox, "write_file", path="data/x", content="") is None
    for path in ("data/archive/x", "data/archive/new/x.csv"):
        with pytest.raises(OperationBlockedError, match="read-only"):
            check(sandbox, "write_file", path=path, content="")
    request = check(sandbox, "read_file", path="data/archive/new/x.csv")
    assert request is not None
    assert request.payload["sandbox"] == "new"
    with pytest.raises(OperationBlockedError, match=r"suffix"):
        check(sandbox, "read_file", path="data/archive/new/x.txt")
    # The names in the nested directory would be listed, too.
    assert check(sandbox, "list_files", path="data") is not None


def test_files_that_configure_tools_and_secrets_need_approval(sandbox: FileSandbox) -> None:
    request = check(sandbox, "write_file", path="cache/.git/hooks/pre-commit", content="")
    assert request is not None
    assert "configures" in request.description
    assert check(sandbox, "read_file", path="cache/id_rsa") is not None
    assert check(sandbox, "read_file", path="cache/x") is None


def test_a_batch_is_the_group_of_the_request(sandbox: FileSandbox) -> None:
    args = {"path": "notes/a.txt", "content": ""}
    context = ApprovalContext(tool_name="write_file", args=args, metadata={"batch_id": "b1"})
    request = sandbox.check_approval(context)
    assert request is not None
    assert request.group_id == "b1"


def test_the_tools_have_a_check_and_a_signature(sandbox: FileSandbox) -> None:
    names = [tool.__name__ for tool in sandbox.tools()]
    assert names == ["read_file", "write_file", "list_files"]
    for tool in sandbox.tools():
        assert inspect.isfunction(tool)
        assert "self" not in inspect.signature(tool).parameters
        assert tool.__doc__
    assert sandbox.write_file.__annotations__ == {"path": str, "content": str, "return": str}
    check_approval = getattr(sandbox.write_file, "check_approval")
    # The name that the model sees may be another one.
    context = ApprovalContext(tool_name="save", args={"path": "notes/a.txt", "content": ""})
    assert check_approval(context).payload["path"] == "notes/a.txt"
    with pytest.raises(OperationBlockedError):
        check_approval(ApprovalContext(tool_name="save", args={"path": "docs/a"}))


async def test_a_request_shows_the_difference(sandbox: FileSandbox, project: Path) -> None:
    (project / "notes/a.txt").write_text("old\n")
    controller = ScriptedReviewer(ApprovalDecision(True))
    args = {"path": "notes/a.txt", "content": "new\n"}
    await controller.require_approval("write_file", args, tool=sandbox)
    [shown] = controller.asked
    assert shown.presentation is not None
    assert shown.presentation.type == "diff"
    assert "-old\n+new" in shown.presentation.content


def test_a_controller_is_asked_before_each_call(project: Path) -> None:
    (project / "notes").mkdir()
    config = parse_config(CONFIG).sandbox
    denying = ScriptedReviewer(ApprovalDecision(False, note="not now"))
    with pytest.raises(PermissionError, match="not now"):
        FileSandbox(config, controller=denying).write_file("notes/a.txt", "x")
    assert not (project / "notes/a.txt").exists()
    approving = ScriptedReviewer(ApprovalDecision(True))
    FileSandbox(config, controller=approving).write_file("notes/a.txt", "x")
    assert (project / "notes/a.txt").read_text() == "x"


# --- Reading and writing -------------------------------------------------------------------------


def test_a_file_is_written_and_read(sandbox: FileSandbox, project: Path) -> None:
    assert sandbox.write_file("notes/log.txt", "über\r\n") == "Wrote 7 bytes to notes/log.txt"
    assert (project / "notes/log.txt").read_bytes() == "über\r\n".encode()
    assert sandbox.read_file("notes/log.txt") == "über\r\n"
    assert os.listdir(project / "notes") == ["log.txt"]


def test_directories_of_a_new_file_are_created(sandbox: FileSandbox, project: Path) -> None:
    sandbox.write_file("notes/2026/11/log.txt", "x")
    assert (project / "notes/2026/11/log.txt").read_text() == "x"


def test_a_new_file_has_the_permissions_of_the_umask(
    sandbox: FileSandbox, project: Path
) -> None:
    before = os.umask(0o027)
    try:
        sandbox.write_file("cache/x", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((project / "cache/x").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o664])
def test_the_permissions_of_a_file_are_kept(
    sandbox: FileSandbox, project: Path, mode: int
) -> None:
    file = project / "cache/x"
    file.write_text("old")
    file.chmod(mode)
    sandbox.write_file("cache/x", "new")
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_other_names_of_a_file_keep_their_content(sandbox: FileSandbox, project: Path) -> None:
    outside = project / "secret.txt"
    os.link(outside, project / "cache/link")
    sandbox.write_file("cache/link", "changed")
    assert outside.read_text() == "secret"


def test_a_failed_write_leaves_nothing_behind(sandbox: FileSandbox, project: Path) -> None:
    (project / "cache/directory").mkdir()
    with pytest.raises(IsADirectoryError):
        sandbox.write_file("cache/directory", "x")
    with pytest.raises(IsADirectoryError):
        sandbox.write_file("cache", "x")
    (project / "cache/file").write_text("old")
    with pytest.raises(NotADirectoryError):
        sandbox.write_file("cache/file/x", "x")
    assert sorted(os.listdir(project / "cache")) == ["directory", "file"]
    assert (project / "cache/file").read_text() == "old"


def test_a_missing_file_is_reported(sandbox: FileSandbox, project: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"`notes/a\.txt` does not exist"):
        sandbox.read_file("notes/a.txt")
    (project / "docs").rmdir()
    with pytest.raises(FileNotFoundError):
        sandbox.read_file("docs/a")


def test_what_is_not_configured_is_not_accessed(sandbox: FileSandbox, project: Path) -> None:
    for path in ("secret.txt", "notes/../secret.txt", "notes/a.py", "docs/../../x.txt"):
        with pytest.raises(PermissionError):
            sandbox.read_file(path)
        with pytest.raises(PermissionError):
            sandbox.write_file(path, "x")
    with pytest.raises(PermissionError):
        sandbox.write_file("docs/a", "x")
    assert (project / "secret.txt").read_text() == "secret"


def test_a_link_is_decided_by_its_target(sandbox: FileSandbox, project: Path) -> None:
    (project / "docs/a.txt").write_text("doc")
    (project / "cache/inside").symlink_to("../docs/a.txt")
    (project / "cache/outside").symlink_to("../secret.txt")
    (project / "cache/up").symlink_to("..")
    (project / "cache/loop").symlink_to("loop")
    (project / "cache/proc").symlink_to("/proc/self/root")
    assert sandbox.read_file("cache/inside") == "doc"
    with pytest.raises(PermissionError, match="read-only"):
        sandbox.write_file("cache/inside", "x")
    for path in ("cache/outside", "cache/up/secret.txt", "cache/loop", "cache/proc/etc/passwd"):
        with pytest.raises(PermissionError):
            sandbox.read_file(path)
        with pytest.raises(PermissionError):
            sandbox.write_file(path, "x")
    assert (project / "secret.txt").read_text() == "secret"
    assert (project / "docs/a.txt").read_text() == "doc"


def test_a_root_that_becomes_a_link_is_refused(sandbox: FileSandbox, project: Path) -> None:
    (project / "outside").mkdir()
    (project / "outside/x").write_text("outside")
    (project / "cache").rmdir()
    (project / "cache").symlink_to("outside")
    for access in (
        lambda: sandbox.read_file("cache/x"),
        lambda: sandbox.write_file("cache/x", "changed"),
        lambda: sandbox.list_files("cache"),
    ):
        with pytest.raises(PermissionError):
            access()
    assert (project / "outside/x").read_text() == "outside"


def test_special_files_are_refused(sandbox: FileSandbox, project: Path) -> None:
    os.mkfifo(project / "cache/fifo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(project / "cache/socket"))
    listener.close()
    for name in ("fifo", "socket"):
        with pytest.raises(PermissionError, match=name):
            sandbox.read_file(f"cache/{name}")
        with pytest.raises(PermissionError, match=name):
            sandbox.write_file(f"cache/{name}", "x")
    with pytest.raises(IsADirectoryError):
        sandbox.read_file("cache")


def test_devices_are_refused(
    project: Path, make_sandbox: Callable[[SandboxConfig], FileSandbox]
) -> None:
    sandbox = make_sandbox(SandboxConfig(paths={"all": PathConfig(root="/dev", mode="rw")}))
    for name in ("null", "zero", "full"):
        with pytest.raises(PermissionError, match="is a device"):
            sandbox.read_file(f"/dev/{name}")
        with pytest.raises(PermissionError, match="is a device"):
            sandbox.write_file(f"/dev/{name}", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_sizes_are_limited(
    project: Path, make_sandbox: Callable[[SandboxConfig], FileSandbox]
) -> None:
    sandbox = make_sandbox(
        SandboxConfig(paths={"data": PathConfig(root=".", mode="rw", max_file_bytes=4)})
    )
    (project / "exact").write_text("1234")
    (project / "large").write_text("12345")
    assert sandbox.read_file("exact") == "1234"
    with pytest.raises(PermissionError, match="5 bytes; at most 4"):
        sandbox.read_file("large")
    sandbox.write_file("exact", "abcd")
    with pytest.raises(PermissionError, match="at most 4"):
        sandbox.write_file("exact", "üüü")
    assert (project / "exact").read_text() == "abcd"


def test_a_file_without_a_limit_cannot_exhaust_the_memory(
    sandbox: FileSandbox, project: Path
) -> None:
    with (project / "cache/sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(PermissionError, match="at most"):
        sandbox.read_file("cache/sparse")


def test_binary_files_are_no_text(sandbox: FileSandbox, project: Path) -> None:
    (project / "cache/x").write_bytes(b"\xff\xfe\0")
    with pytest.raises(ValueError, match=r"not UTF-8 text \(3 bytes\)"):
        sandbox.read_file("cache/x")


def test_an_unreadable_file_is_reported(sandbox: FileSandbox, project: Path) -> None:
    file = project / "cache/x"
    file.write_text("old")
    file.chmod(0o400)
    # Root may write everything, so another user is needed.
    results = as_other_user(project, lambda: attempt(sandbox.write_file, "cache/x", "new"))
    assert results == "PermissionError"
    assert file.read_text() == "old"


def attempt(function: Callable[..., Any], *args: Any) -> str:
    try:
        function(*args)
    except Exception as error:
        return type(error).__name__
    return "no error"


def as_other_user(directory: Path, function: Callable[[], str]) -> str:
    """Return what a function returns in a process of a user who is not root."""
    if os.geteuid() != 0:
        return function()
    for path in [directory, *directory.rglob("*")]:
        os.chown(path, 12345, 12345, follow_symlinks=False)
    for parent in directory.parents:
        if not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(12345, 12345, 12345)
            os.setresuid(12345, 12345, 12345)
            os.write(write, function().encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as pipe:
        return pipe.read().decode()


# --- Listing -------------------------------------------------------------------------------------


def test_files_are_listed(sandbox: FileSandbox, project: Path) -> None:
    for name in ("notes/a.txt", "notes/b.py", "notes/deep/er/c.log", "docs/d.md", "docs/e"):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (project / "docs/link").symlink_to("../secret.txt")
    (project / "docs/directory").symlink_to("..")
    os.mkfifo(project / "docs/fifo")
    (project / os.fsdecode(b"docs/\xff")).write_text("")
    assert sandbox.list_files("notes") == ["notes/a.txt", "notes/deep/er/c.log"]
    assert sandbox.list_files("notes/deep") == ["notes/deep/er/c.log"]
    assert sandbox.list_files("docs") == ["docs/d.md", "docs/e"]
    assert sandbox.list_files() == [
        "docs/d.md",
        "docs/e",
        "notes/a.txt",
        "notes/deep/er/c.log",
    ]
    assert sandbox.list_files("notes", "*.txt") == ["notes/a.txt"]
    assert sandbox.list_files("notes", "*.log") == []
    assert sandbox.list_files("notes", "**/*.log") == ["notes/deep/er/c.log"]
    assert sandbox.list_files("docs", "?") == ["docs/e"]
    assert sandbox.list_files("docs", "../**") == []
    with pytest.raises(NotADirectoryError):
        sandbox.list_files("docs/e")
    with pytest.raises(PermissionError):
        sandbox.list_files(".")


def test_a_hostile_pattern_is_matched_in_time(sandbox: FileSandbox, project: Path) -> None:
    (project / "docs" / ("a" * 200)).write_text("")
    assert sandbox.list_files("docs", "*a" * 100 + "b") == []
    assert sandbox.list_files("docs", "**/" * 100 + "b") == []


# --- Changes between the check and the access ----------------------------------------------------


def test_another_file_than_the_approved_one_is_refused(
    sandbox: FileSandbox, project: Path
) -> None:
    (project / "cache/current").symlink_to("a")
    assert check(sandbox, "write_file", path="cache/current", content="x") is None
    (project / "cache/current").unlink()
    (project / "cache/current").symlink_to("../notes/b.txt")
    with pytest.raises(PermissionError, match="another file"):
        sandbox.write_file("cache/current", "x")
    assert os.listdir(project / "notes") == []
    assert check(sandbox, "write_file", path="cache/current", content="x") is not None
    sandbox.write_file("cache/current", "x")
    assert (project / "notes/b.txt").read_text() == "x"


def exchange(one: Path, other: Path) -> None:
    """Exchange two files in one step (renameat2)."""
    at_cwd, rename_exchange = -100, 2
    libc = ctypes.CDLL(None, use_errno=True)
    names = (os.fsencode(one), os.fsencode(other))
    if libc.renameat2(at_cwd, names[0], at_cwd, names[1], rename_exchange) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


Action = Callable[[], object]


def race(swap: Action, accesses: dict[str, Action]) -> None:
    """Run accesses while a thread swaps files, until each of them was permitted and refused."""
    stop = threading.Event()

    def keep_swapping() -> None:
        pause = random.Random(0)
        while not stop.is_set():
            swap()
            if pause.random() < 0.1:
                stop.wait(pause.random() / 1000)

    swapper = threading.Thread(target=keep_swapping)
    swapper.start()
    missing = {f"{name} {end}" for name in accesses for end in ("done", "refused")}
    try:
        for number in range(50_000):
            for name, access in accesses.items():
                try:
                    access()
                    missing.discard(f"{name} done")
                except (PermissionError, NotADirectoryError):
                    missing.discard(f"{name} refused")
            if number >= 1000 and not missing:
                break
    finally:
        stop.set()
        swapper.join()
    assert missing == set()


def test_no_race_leads_outside(sandbox: FileSandbox, project: Path) -> None:
    """A thread swaps a directory and a link to the outside while files are accessed."""
    outside, inside = project / "outside", project / "cache/d"
    for directory, content in [(outside, "outside"), (inside, "inside")]:
        directory.mkdir()
        (directory / "f").write_text(content)
    link = project / "cache/link"
    link.symlink_to("../outside")

    def read() -> None:
        assert sandbox.read_file("cache/d/f") in ("inside", "new")

    def write() -> None:
        try:
            sandbox.write_file("cache/d/f", "new")
        finally:
            assert (outside / "f").read_text() == "outside"
            assert os.listdir(outside) == ["f"]

    def list_all() -> None:
        assert all(file.startswith("cache/d/") for file in sandbox.list_files("cache/d"))

    race(lambda: exchange(inside, link), {"read": read, "write": write, "list": list_all})


def test_no_race_of_a_file_leads_outside(sandbox: FileSandbox, project: Path) -> None:
    """A thread swaps a file and a link to a file outside."""
    secret, file, link = (project / name for name in ("secret.txt", "cache/f", "cache/link"))
    file.write_text("inside")
    link.symlink_to("../secret.txt")

    def read() -> None:
        assert sandbox.read_file("cache/f") in ("inside", "new")

    def write() -> None:
        try:
            sandbox.write_file("cache/f", "new")
        finally:
            assert secret.read_text() == "secret"

    def swap() -> None:
        # A write may have replaced the link.
        if not (file.is_symlink() or link.is_symlink()):
            link.unlink()
            link.symlink_to("../secret.txt")
        exchange(file, link)

    race(swap, {"read": read, "write": write})


def test_readers_see_the_old_or_the_new_content(sandbox: FileSandbox, project: Path) -> None:
    contents = ["a" * 100_000, "b" * 200_000]
    sandbox.write_file("cache/f", contents[0])
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            sandbox.write_file("cache/f", contents[number % 2])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(200):
            assert (project / "cache/f").read_text() in contents
    finally:
        stop.set()
        writer.join()
    assert os.listdir(project / "cache") == ["f"]


def test_a_forked_child_can_use_the_sandbox(sandbox: FileSandbox, project: Path) -> None:
    child = os.fork()
    if child == 0:
        try:
            sandbox.write_file("cache/x", "child")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert sandbox.read_file("cache/x") == "child"


def test_a_directory_of_modules_is_warned_about_once(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.syspath_prepend(project)
    asking = SandboxConfig(paths={"all": PathConfig(root=".", mode="rw")})
    FileSandbox(asking)
    assert caplog.text == ""
    config = SandboxConfig(paths={"all": PathConfig(root=".", mode="rw", write_approval=False)})
    FileSandbox(config)
    FileSandbox(config)
    assert caplog.text.count(f"tools can write in `{project}`, from which") == 1
