"""The OS sandbox: profiles, their derivation, and what the kernel enforces."""

from __future__ import annotations

import itertools
import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tool_approval import (
    ApprovalContext,
    FileSandbox,
    OSProfile,
    PathConfig,
    SandboxConfig,
    SandboxError,
    ShellConfig,
    ShellDefault,
    ShellTool,
    derive_os_sandbox_profile,
    os_sandbox,
)

settings.register_profile("quiet", deadline=None, database=None)
settings.load_profile("quiet")

ANYTHING = ShellConfig(default=ShellDefault(approval=False))

BASE = "/nonexistent-base"
"""A directory that does not exist, so that no link in it changes a path."""

# --- Profiles ------------------------------------------------------------------------------------


def paths(max_depth: int = 3) -> st.SearchStrategy[str]:
    """Paths of few names, so that random ones are often equal or nested."""
    parts = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=max_depth)
    return parts.map(lambda names: "/".join([BASE, *names]))


UNIVERSE = [
    "/".join([BASE, *names])
    for depth in range(5)
    for names in itertools.product(["a", "b", "ab", "new"], repeat=depth)
]
"""All paths up to a depth that is greater than that of any profile."""

Step = tuple[str, str]

STEPS = st.lists(
    st.tuples(st.sampled_from(["allow_read", "allow_write", "deny_write"]), paths())
    | st.just(("allow_network", "")),
    max_size=6,
)


def build(steps: list[Step]) -> OSProfile:
    profile = OSProfile()
    for name, path in steps:
        getattr(profile, name)(*([path] if path else []))
    return profile


def permissions(profile: OSProfile) -> list[tuple[bool, bool]]:
    each = [(profile.permits_read(path), profile.permits_write(path)) for path in UNIVERSE]
    return [*each, (profile.network, profile.network)]


def test_a_new_profile_permits_nothing() -> None:
    profile = OSProfile()
    assert not profile.permits_read("/")
    assert not profile.permits_write("/tmp/x")
    assert not profile.network
    assert profile == OSProfile()


def test_a_profile_permits_what_was_added(tmp_path: Path) -> None:
    profile = OSProfile()
    profile.allow_write(tmp_path / "data")
    profile.allow_read(tmp_path / "docs")
    profile.deny_write(tmp_path / "data/fixed")
    profile.allow_network()
    assert profile.permits_write(tmp_path / "data/x/y")
    assert profile.permits_read(tmp_path / "data/fixed/x")
    assert not profile.permits_write(tmp_path / "data/fixed/x")
    assert not profile.permits_write(tmp_path / "datax")
    assert not profile.permits_write(tmp_path / "data/../x")
    assert profile.permits_read(tmp_path / "docs/x")
    assert not profile.permits_write(tmp_path / "docs/x")
    assert profile.network
    assert profile.writable == {str(tmp_path / "data")}
    assert profile.denied == {str(tmp_path / "data/fixed")}


def test_links_in_paths_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to("data")
    profile = OSProfile()
    profile.allow_write(tmp_path / "link")
    assert profile.writable == {str(tmp_path / "data")}
    assert profile.permits_write(tmp_path / "link/x")


def test_profiles_are_compared_by_what_they_permit() -> None:
    small, large = OSProfile(), OSProfile()
    large.allow_write(f"{BASE}/a")
    assert small < large
    assert large > small
    assert not large <= small
    small.allow_write(f"{BASE}/a")
    small.allow_write(f"{BASE}/a/b")
    assert small == large
    small.allow_network()
    assert small != large
    assert small.intersect(large) == large
    assert small & large == large
    assert OSProfile() != object()
    with pytest.raises(TypeError):
        hash(small)


@given(STEPS, st.randoms(use_true_random=False))
def test_the_order_of_the_steps_does_not_matter(
    steps: list[Step], shuffler: random.Random
) -> None:
    shuffled = list(steps)
    shuffler.shuffle(shuffled)
    assert build(steps) == build(shuffled)
    assert permissions(build(steps)) == permissions(build(shuffled))


@given(STEPS, STEPS)
def test_an_intersection_permits_exactly_what_both_permit(
    left: list[Step], right: list[Step]
) -> None:
    one, other = build(left), build(right)
    both = one.intersect(other)
    assert permissions(both) == [
        (a and c, b and d)
        for (a, b), (c, d) in zip(permissions(one), permissions(other), strict=True)
    ]
    assert both <= one
    assert both <= other
    assert both == other.intersect(one)
    assert both.intersect(one) == both


@given(STEPS, STEPS)
def test_a_comparison_is_about_what_is_permitted(left: list[Step], right: list[Step]) -> None:
    one, other = build(left), build(right)
    each = zip(permissions(one), permissions(other), strict=True)
    implied = all((not a or c) and (not b or d) for (a, b), (c, d) in each)
    assert (one <= other) == implied
    assert (one == other) == (one <= other and other <= one)
    assert (one < other) == (one <= other and one != other)


@given(STEPS)
def test_the_restrictions_are_those_of_the_profile(steps: list[Step]) -> None:
    profile = build(steps)
    fields = profile.to_restrictions()
    assert json.loads(json.dumps(fields)) == fields

    def is_below(path: str, roots: list[str]) -> bool:
        return any(path == root or path.startswith(f"{root}/") for root in roots)

    for path in UNIVERSE:
        permitted = is_below(path, fields["writable"]) and not is_below(path, fields["protected"])
        assert permitted == profile.permits_write(path)


# --- Derivation ----------------------------------------------------------------------------------

PATH_CONFIGS = st.builds(
    PathConfig,
    root=paths(),
    mode=st.sampled_from(["ro", "rw", "rw"]),
    suffixes=st.sampled_from([None, None, [".txt"], []]),
    max_file_bytes=st.sampled_from([None, None, 10]),
    write_approval=st.booleans(),
    read_approval=st.booleans(),
)

SANDBOX_CONFIGS = st.builds(
    SandboxConfig,
    paths=st.dictionaries(st.sampled_from(["p", "q", "r", "s"]), PATH_CONFIGS, max_size=4),
)

SHELL_CONFIGS = st.builds(ShellConfig, network=st.booleans())


def is_permitted(sandbox: FileSandbox, tool: str, path: str) -> bool:
    context = ApprovalContext(tool_name=tool, args={"path": path, "content": ""})
    try:
        sandbox.check_approval(context)
    except PermissionError:
        return False
    return True


@given(SANDBOX_CONFIGS, SHELL_CONFIGS)
def test_a_derived_profile_is_never_weaker_than_the_configuration(
    config: SandboxConfig, shell: ShellConfig
) -> None:
    profile = derive_os_sandbox_profile(config, shell)
    sandbox = FileSandbox(config)
    for path in UNIVERSE:
        # The configuration permits every name, and a file of any size.
        if profile.permits_write(path):
            assert is_permitted(sandbox, "write_file", path)
            assert is_permitted(sandbox, "write_file", f"{path}/x.py")
            around = [one for one in config.paths.values() if _contains(one.root, path)]
            assert all(one.max_file_bytes is None for one in around)
        if profile.permits_read(path):
            assert any(_contains(one.root, path) for one in config.paths.values())
    assert profile.network == shell.network


def _contains(root: str, path: str) -> bool:
    return path == root or path.startswith(f"{root}/")


@given(SANDBOX_CONFIGS, SHELL_CONFIGS, STEPS)
def test_an_explicit_profile_only_restricts(
    config: SandboxConfig, shell: ShellConfig, steps: list[Step]
) -> None:
    explicit = build(steps)
    derived = derive_os_sandbox_profile(config, shell)
    limited = derive_os_sandbox_profile(config, shell, explicit)
    assert limited <= derived
    assert limited <= explicit
    assert limited == derived.intersect(explicit)


@given(SANDBOX_CONFIGS, st.randoms(use_true_random=False))
def test_the_order_of_the_paths_does_not_matter(
    config: SandboxConfig, shuffler: random.Random
) -> None:
    items = list(config.paths.items())
    shuffler.shuffle(items)
    shuffled = SandboxConfig(paths=dict(items))
    shell = ShellConfig()
    assert derive_os_sandbox_profile(config, shell) == derive_os_sandbox_profile(shuffled, shell)


def test_the_roots_are_relative_to_the_base(project: Path) -> None:
    config = SandboxConfig(
        paths={
            "data": PathConfig(root="./data", mode="rw"),
            "home": PathConfig(root="~/notes", mode="rw"),
        },
        base=str(project / "base"),
    )
    profile = derive_os_sandbox_profile(config, ShellConfig())
    home = os.path.realpath(os.environ["HOME"])
    assert profile.writable == {str(project / "base/data"), f"{home}/notes"}
    other = derive_os_sandbox_profile(config, ShellConfig(), base=project)
    assert str(project / "data") in other.writable
    with pytest.raises(ValueError, match="only `~`"):
        derive_os_sandbox_profile(
            SandboxConfig(paths={"x": PathConfig(root="~root")}), ShellConfig()
        )


# --- The kernel: files ---------------------------------------------------------------------------

WRITE_EACH = """
while read -r path; do
  { mkdir -p "$(dirname "$path")" && echo written > "$path"; } 2> /dev/null
done < targets
true
"""
"""A command whose changes the analysis does not know."""


def tree(max_depth: int = 2) -> st.SearchStrategy[str]:
    return paths(max_depth).map(lambda path: path.replace(BASE, "tree"))


@given(
    st.dictionaries(
        st.sampled_from(["p", "q", "r"]),
        st.builds(
            PathConfig,
            root=tree(),
            mode=st.sampled_from(["ro", "rw", "rw"]),
            suffixes=st.sampled_from([None, None, [".txt"]]),
            write_approval=st.just(False),
        ),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=12)
def test_the_kernel_permits_no_write_that_the_file_tools_refuse(
    tmp_path_factory: pytest.TempPathFactory, configs: dict[str, PathConfig]
) -> None:
    base = tmp_path_factory.mktemp("kernel")
    directories = ["/".join(["tree", *names]) for names in two_levels()]
    for directory in directories:
        (base / directory).mkdir(parents=True, exist_ok=True)
    targets = [f"{directory}/{name}" for directory in directories for name in ("f", "new/f")]
    for target in targets:
        if not target.endswith("new/f"):
            (base / target).write_text("before")
    (base / "targets").write_text("".join(f"{target}\n" for target in targets))
    config = SandboxConfig(paths=configs, base=str(base))
    tool = ShellTool(ANYTHING, sandbox=config)
    assert tool.run(WRITE_EACH).exit_status == 0
    sandbox = FileSandbox(config)
    for target in targets:
        file = base / target
        changed = file.exists() and file.read_text() == "written\n"
        # The kernel permits exactly what the profile permits, which is never more.
        assert changed == tool.profile.permits_write(file), target
        assert not changed or is_permitted(sandbox, "write_file", target)


def two_levels() -> Iterator[tuple[str, ...]]:
    for depth in range(3):
        yield from itertools.product(["a", "b", "ab"], repeat=depth)


@pytest.fixture
def data(project: Path) -> SandboxConfig:
    (project / "data").mkdir()
    return SandboxConfig(
        paths={"data": PathConfig(root="data", mode="rw", write_approval=False)}
    )


def test_files_outside_cannot_be_changed_in_any_way(project: Path, data: SandboxConfig) -> None:
    outside = project / "outside"
    outside.mkdir()
    (outside / "f").write_text("before")
    before = (outside / "f").stat()
    (project / "data/link").symlink_to("../outside/f")
    script = project / "script"
    script.write_text(
        "exec 2> /dev/null\n"
        "echo x > outside/f; echo x >> data/link; rm -rf outside; mv outside data/\n"
        "chmod 777 outside/f; touch -t 200001010000 outside/f; ln outside/f data/hard\n"
        "echo x >> data/hard; truncate -s 0 outside/f; mkdir outside/d\n"
        "python3 -c 'import os; os.rename(\"data\", \"moved\")'\n"
        "mount --bind data outside; unshare -Urm mount --bind data outside\n"
        "echo reached > data/reached\n"
    )
    ShellTool(ANYTHING, sandbox=data).run('bash "$PWD/script"')
    after = (outside / "f").stat()
    assert (outside / "f").read_text() == "before"
    assert os.listdir(outside) == ["f"]
    assert (after.st_mode, after.st_mtime, after.st_nlink) == (
        before.st_mode,
        before.st_mtime,
        before.st_nlink,
    )
    assert (project / "data/reached").read_text() == "reached\n"


def test_a_denied_write_is_reported(project: Path, data: SandboxConfig) -> None:
    target = Path(os.environ["HOME"]) / "x"
    result = ShellTool(ANYTHING, sandbox=data, cwd="/").run(f"echo x > {target}")
    assert result.exit_status == 1
    assert not target.exists()
    assert "Read-only file system" in result.stderr
    result = ShellTool(ANYTHING, sandbox=data, cwd="/").run("touch /usr/x")
    assert [str(denial) for denial in result.denials] == ["write /usr/x"]
    assert "[the sandbox refused: write /usr/x]" in str(result)


def test_temporary_files_are_private(project: Path, data: SandboxConfig) -> None:
    name = f"/var/tmp/tool_approval-{os.getpid()}"
    result = ShellTool(ANYTHING, sandbox=data).run(f"echo x > {name} && cat {name}; mktemp")
    assert result.ok
    assert not os.path.exists(name)


def test_an_explicit_profile_is_enforced(project: Path, data: SandboxConfig) -> None:
    (project / "data/sub").mkdir()
    explicit = OSProfile()
    explicit.allow_write(project / "data/sub")
    tool = ShellTool(ANYTHING, sandbox=data, profile=explicit)
    result = tool.run("echo x > data/sub/x; echo x > data/x; true")
    assert (project / "data/sub/x").exists()
    assert not (project / "data/x").exists()
    assert result.ok
    nothing = ShellTool(ANYTHING, sandbox=data, profile=OSProfile())
    nothing.run("echo x > data/sub/y; true")
    assert not (project / "data/sub/y").exists()


def test_a_missing_root_is_not_writable(project: Path) -> None:
    config = SandboxConfig(paths={"data": PathConfig(root="data", mode="rw")})
    tool = ShellTool(ANYTHING, sandbox=config)
    assert not tool.run("eval 'mkdir data'").ok
    assert not (project / "data").exists()
    # It is writable as soon as it exists.
    (project / "data").mkdir()
    assert tool.run("eval 'mkdir data/x'").ok


def test_a_root_that_becomes_a_link_is_refused(project: Path, data: SandboxConfig) -> None:
    tool = ShellTool(ANYTHING, sandbox=data)
    (project / "data").rmdir()
    (project / "outside").mkdir()
    (project / "data").symlink_to("outside")
    with pytest.raises(SandboxError, match="nothing was run: .*replaced by a link"):
        tool.run("true")


def test_the_whole_file_system_is_never_writable(project: Path) -> None:
    config = SandboxConfig(paths={"all": PathConfig(root="/", mode="rw")})
    with pytest.raises(SandboxError, match="the whole file system"):
        ShellTool(ANYTHING, sandbox=config).run("true")


def test_commits_work_and_hooks_stay(project: Path) -> None:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x@y.z", "-c", "init.defaultBranch=m")
        run = subprocess.run(("git", *identity, *words), check=True, capture_output=True)
        return run.stdout.decode()

    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "-m", "first")
    git("config", "user.name", "x")
    git("config", "user.email", "x@y.z")
    (project / "file").write_text("x")
    config = SandboxConfig(paths={"all": PathConfig(root=".", mode="rw", write_approval=False)})
    tool = ShellTool(ANYTHING, sandbox=config)
    result = tool.run("git add file && git commit --quiet -m second")
    assert result.ok, result
    assert git("log", "--format=%s") == "second\nfirst\n"
    tool.run("eval 'echo evil > .git/hooks/pre-commit'")
    tool.run("eval 'git config core.fsmonitor evil'")
    assert not (project / ".git/hooks/pre-commit").exists()
    assert "evil" not in (project / ".git/config").read_text()


def test_the_files_of_the_supervisor_cannot_be_changed(project: Path) -> None:
    """An interpreter in a writable directory would run a command's code outside of the sandbox."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], check=True)
    program = project / "program.py"
    program.write_text(
        "from tool_approval import PathConfig, SandboxConfig, ShellConfig, ShellDefault, ShellTool\n"
        "config = SandboxConfig(paths={'all': PathConfig(root='.', mode='rw')})\n"
        "shell = ShellConfig(default=ShellDefault(approval=False))\n"
        "print(ShellTool(shell, sandbox=config).run('bash attack').stdout)\n"
    )
    (project / "attack").write_text(
        "exec 2> /dev/null\n"
        "rm -f .venv/pyvenv.cfg .venv/bin/python*; echo x > .venv/bin/python3\n"
        "echo x > .venv/pyvenv.cfg; mv .venv moved; ln -sf /bin/true .venv/bin/python\n"
        "echo evil > .venv/lib/python3.*/site-packages/evil.pth\n"
        "echo reached > reached; echo done\n"
    )
    files = {path: path.lstat() for path in sorted((project / ".venv").rglob("*"))}
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(os_sandbox.__file__))}
    run = subprocess.run(
        [project / ".venv/bin/python", program], env=environment, capture_output=True, text=True
    )
    assert run.stdout == "done\n\n", run.stderr
    assert (project / "reached").exists()
    after = {path: path.lstat() for path in sorted((project / ".venv").rglob("*"))}
    assert {path: (one.st_ino, one.st_size, one.st_mtime_ns) for path, one in files.items()} == {
        path: (one.st_ino, one.st_size, one.st_mtime_ns) for path, one in after.items()
    }


# --- The kernel: secrets, processes and the network ----------------------------------------------


def test_secrets_cannot_be_read(home: Path, data: SandboxConfig) -> None:
    secrets = [".ssh/id_rsa", ".aws/credentials", ".netrc", ".local/state/openoxide/key"]
    for name in secrets:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("hunter2")
    (home / "plain").write_text("plain")
    tool = ShellTool(ANYTHING, sandbox=data)
    names = " ".join(["plain", *secrets])
    result = tool.run(f'cd "$HOME"; for name in {names}; do cat "$name"; done; cp -r . /tmp/x')
    assert result.stdout == "plain"
    # A command that names a secret cannot read it, either, even if it is approved.
    named = tool.run(f"cat {home}/.ssh/id_rsa")
    assert not named.ok
    assert named.stdout == ""
    assert tool.run(f"grep -r hunter2 {home} /tmp/x").stdout == ""


def test_other_processes_are_not_visible(
    data: SandboxConfig,
) -> None:
    marker = f"marker-{os.getpid()}"
    with subprocess.Popen([sys.executable, "-c", "input()", marker], stdin=subprocess.PIPE) as other:
        result = ShellTool(ANYTHING, sandbox=data).run(
            f"cat /proc/*/cmdline | tr '\\0' ' '; kill -9 {other.pid}; ls -d /proc/{os.getpid()}"
        )
        assert other.poll() is None
        other.communicate(b"\n")
    assert "-c input() marker" not in result.stdout
    assert other.returncode == 0


CONNECT = """
import socket, sys
for kind, address in [
    ("tcp", ("127.0.0.1", PORT)), ("udp", ("127.0.0.1", PORT)),
    ("unix", "PATH"), ("unix", "\\0NAME"),
]:
    family = socket.AF_UNIX if kind == "unix" else socket.AF_INET
    stream = socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM
    try:
        one = socket.socket(family, stream)
        one.settimeout(2)
        one.connect(address)
        one.send(b"leak")
        print(kind, "sent")
    except OSError as error:
        print(kind, "failed")
"""


@pytest.mark.parametrize("network", [False, True])
def test_services_of_the_machine_cannot_be_reached(project: Path, network: bool) -> None:
    (project / "data").mkdir()
    received: list[bytes] = []
    name = f"tool_approval-{os.getpid()}-{network}"
    tcp = socket.create_server(("127.0.0.1", 0))
    port = tcp.getsockname()[1]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", port))
    listeners = [tcp, udp]
    for address in (str(project / "data/socket"), f"\0{name}"):
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(address)
        unix.listen()
        listeners.append(unix)

    for listener in listeners:
        listener.settimeout(0.01)
    script = CONNECT.replace("PORT", str(port)).replace("NAME", name)
    (project / "script.py").write_text(script.replace("PATH", str(project / "data/socket")))
    config = SandboxConfig(paths={"data": PathConfig(root="data", mode="rw")})
    shell = ShellConfig(default=ShellDefault(approval=False), network=network)
    result = ShellTool(shell, sandbox=config).run("python3 script.py")
    for listener in listeners:
        try:
            received.append(
                listener.recv(10) if listener is udp else listener.accept()[0].recv(10)
            )
        except TimeoutError:
            pass
        listener.close()
    assert received == [], result
    # A datagram into the void is sent, and no other attempt succeeds.
    sent = [line for line in result.stdout.splitlines() if line.endswith("sent")]
    assert sent in ([], ["udp sent"]), result
    assert len(result.stdout.splitlines()) == 4


def test_the_network_is_off_by_default(project: Path) -> None:
    assert not ShellTool(ANYTHING).profile.network
    interfaces = ShellTool(ANYTHING).run("cat /proc/net/dev | tail -n +3 | cut -d: -f1")
    assert interfaces.stdout.split() == ["lo"]
    limited = ShellTool(ShellConfig(network=True), profile=OSProfile())
    assert not limited.profile.network


# --- Where it is not available -------------------------------------------------------------------

REQUIRED = """
import json
from pathlib import Path
from tool_approval import (
    ApprovalContext, FileSandbox, PathConfig, SandboxConfig, ShellConfig, ShellDefault, ShellTool
)

def outcome(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
        return "done"
    except Exception as error:
        return "PermissionError" if isinstance(error, PermissionError) else type(error).__name__

def config(**fields):
    paths = {"data": PathConfig(root="data", mode="rw", write_approval=False)}
    return SandboxConfig(paths=paths, **fields)

shell = ShellConfig(default=ShellDefault(approval=False))
results = {}
required = config(require_os_sandbox=True)
results["files, fail_fast"] = outcome(FileSandbox, required)
results["shell, fail_fast"] = outcome(ShellTool, shell, sandbox=required)
degraded = config(require_os_sandbox=True, os_sandbox_fallback="refuse_tools")
files, tool = FileSandbox(degraded), ShellTool(shell, sandbox=degraded)
context = lambda name, **args: ApprovalContext(tool_name=name, args=args)
results["read"] = outcome(files.read_file, "data/x")
results["write"] = outcome(files.write_file, "data/x", "changed")
results["list"] = outcome(files.list_files, "data")
results["check file"] = outcome(files.check_approval, context("read_file", path="data/x"))
results["run"] = outcome(tool.run, "touch data/run")
results["check command"] = outcome(tool.check_approval, context("shell", command="true"))
optional = config()
results["optional read"] = outcome(FileSandbox(optional).read_file, "data/x")
results["optional run"] = outcome(ShellTool(shell, sandbox=optional).run, "touch data/run")
results["files"] = sorted(path.name for path in Path("data").iterdir())
results["content"] = Path("data/x").read_text()
print(json.dumps(results))
"""


def run_required(project: Path, prefix: list[str]) -> dict[str, Any]:
    (project / "data").mkdir()
    (project / "data/x").write_text("before")
    package = os.path.dirname(os.path.dirname(os_sandbox.__file__))
    run = subprocess.run(
        [*prefix, sys.executable, "-c", REQUIRED],
        env={**os.environ, "PYTHONPATH": package},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def test_without_the_os_sandbox_nothing_is_executed(project: Path) -> None:
    """A user namespace without a map may not create another one, so the sandbox is unavailable."""
    results = run_required(project, ["unshare", "--user"])
    assert results == {
        "files, fail_fast": "SandboxError",
        "shell, fail_fast": "SandboxError",
        "read": "PermissionError",
        "write": "PermissionError",
        "list": "PermissionError",
        "check file": "PermissionError",
        "run": "PermissionError",
        "check command": "PermissionError",
        "optional read": "done",
        # A command is never run without the sandbox.
        "optional run": "SandboxError",
        "files": ["x"],
        "content": "before",
    }


def test_with_the_os_sandbox_the_requirement_changes_nothing(project: Path) -> None:
    results = run_required(project, [])
    assert results.pop("files") == ["run", "x"]
    assert results.pop("content") == "changed"
    assert set(results.values()) == {"done"}


@pytest.mark.parametrize("setting", [("executable", ""), ("frozen", True)])
def test_a_program_that_is_no_interpreter_has_no_supervisor(
    project: Path, monkeypatch: pytest.MonkeyPatch, setting: tuple[str, Any]
) -> None:
    monkeypatch.setattr(sys, *setting, raising=False)
    with pytest.raises(SandboxError, match="sys.executable"):
        ShellTool(ANYTHING).run("true")
    with pytest.raises(SandboxError, match="required"):
        ShellTool(ANYTHING, sandbox=SandboxConfig(require_os_sandbox=True))


def test_a_supervisor_that_fails_is_an_error(
    project: Path, data: SandboxConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = ShellTool(ANYTHING, sandbox=data)
    for program in ("/bin/false", "/nonexistent/python"):
        monkeypatch.setattr(sys, "executable", program)
        with pytest.raises(SandboxError, match="nothing was run"):
            tool.run("touch data/x")
    assert os.listdir(project / "data") == []


def test_the_supervisor_imports_nothing_of_the_project(
    project: Path, data: SandboxConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modules of the working directory and of the environment could be written by a command."""
    for name in ("importlib", "_signal", "site", "sitecustomize", "usercustomize", "encodings"):
        (project / f"{name}.py").write_text("open('/var/tmp/imported', 'w').write(__name__)\n")
    monkeypatch.setenv("PYTHONPATH", str(project))
    monkeypatch.setenv("PYTHONSTARTUP", str(project / "site.py"))
    monkeypatch.setenv("PYTHONHOME", str(project))
    assert ShellTool(ANYTHING, sandbox=data).run("echo x").stdout == "x\n"
    assert not os.path.exists("/var/tmp/imported")
