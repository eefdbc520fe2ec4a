"""The configuration: the format, its errors with their locations, and the same in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from tool_approval import (
    PathConfig,
    PolicyError,
    SandboxConfig,
    ShellConfig,
    ShellDefault,
    ShellRule,
    ToolConfig,
    load_config,
)
from tool_approval.config import parse_config

FILES = """
sandbox:
  paths:
    notes:
      root: ./notes
      mode: rw
      suffixes: [.txt, .log]
      write_approval: true   # Writes to this path need approval
      read_approval: false   # Reads don't need approval
    cache:
      root: ./cache
      mode: rw
      write_approval: false  # Cache writes are pre-approved
"""

REQUIRED = """
sandbox:
  paths:
    data:
      root: ./data
      mode: rw
  require_os_sandbox: true
  # Optional: allow degraded mode instead of failing
  os_sandbox_fallback: refuse_tools  # or "fail_fast" (default)
"""

SHELL = """
shell:
  default:
    allowed: true
    approval: true  # Unknown commands need approval
  rules:
    - pattern: "git status"
      approval: false  # Safe, read-only
    - pattern: "git add"
      approval: true
      description: "Stage files for commit"
    - pattern: "rm"
      allowed: false  # Never allow rm
    - pattern: "pytest"
      approval: false
      sandbox_paths: [output]  # Only if paths are in sandbox
  network: true
"""


def test_the_paths_of_a_file_are_read(tmp_path: Path) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text(FILES)
    config = load_config(file)
    assert config == ToolConfig(
        sandbox=SandboxConfig(
            paths={
                "notes": PathConfig(root="./notes", mode="rw", suffixes=[".txt", ".log"]),
                "cache": PathConfig(root="./cache", mode="rw", write_approval=False),
            },
            base=str(tmp_path),
        ),
    )
    assert config.sandbox.os_sandbox_fallback == "fail_fast"


def test_the_requirement_of_the_os_sandbox_is_read() -> None:
    sandbox = parse_config(REQUIRED).sandbox
    assert sandbox.require_os_sandbox
    assert sandbox.os_sandbox_fallback == "refuse_tools"


def test_the_rules_of_a_shell_are_read() -> None:
    assert parse_config(SHELL).shell == ShellConfig(
        default=ShellDefault(allowed=True, approval=True),
        rules=[
            ShellRule(pattern="git status", approval=False),
            ShellRule(pattern="git add", description="Stage files for commit"),
            ShellRule(pattern="rm", allowed=False),
            ShellRule(pattern="pytest", approval=False, sandbox_paths=["output"]),
        ],
        network=True,
    )


def test_an_empty_text_permits_nothing() -> None:
    config = parse_config("")
    assert config.sandbox.paths == {}
    assert config.shell == ShellConfig()
    assert config.shell.default.approval
    assert not config.shell.network
    assert config.mode is None
    assert parse_config("mode: strict").mode == "strict"


def test_the_base_of_a_text_is_the_working_directory(project: Path) -> None:
    assert parse_config("").sandbox.base == str(project)
    assert parse_config("", base=project / "x").sandbox.base == str(project / "x")


@pytest.mark.parametrize(
    ("text", "location", "message"),
    [
        ("shell:\n  rulez: []\n", "2:3", "rulez"),
        ("sandbox:\n  paths:\n    a:\n      root: x\n      mode: wo\n", "5:13", "`ro`|ro, rw"),
        ("sandbox:\n  paths:\n    a:\n      mode: rw\n", "4:7", "root"),
        ("sandbox: {paths: {a: {root: ~bob}}}", "1:29", "not a directory"),
        ("shell: {rules: [{pattern: rm, allowed: maybe}]}", "1:40", "bool"),
        ("shell:\n  rules:\n    - pattern: 'rm | x'\n", "3:16", "first words"),
        ("shell:\n  rules:\n    - {pattern: 'git *', approval: false}", "3:17", "first words"),
        ("shell: {}\nshell: {}\n", "2:1", "uplicate"),
        ("sandbox: {os_sandbox_fallback: run_anyway}", "1:32", "run_anyway"),
        ("sandbox: [", "1:10", "mapping"),
        ("- a\n- b\n", "1:1", "mapping"),
    ],
)
def test_an_error_names_its_location(
    tmp_path: Path, text: str, location: str, message: str
) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text(text)
    with pytest.raises(PolicyError, match=message) as caught:
        load_config(file)
    assert str(caught.value).startswith(f"{file}:{location}")


def test_a_column_counts_characters() -> None:
    with pytest.raises(PolicyError, match="^config:1:34: "):
        parse_config("shell: {rules: [{pattern: 'äöü', allowd: false}]}")


def test_a_hostile_text_is_refused() -> None:
    bomb = "a: &a [x]\n" + "".join(f"b{i}: &b{i} [*a, *a, *a]\n" for i in range(100))
    for text in (f"a: {'[' * 100_000}", bomb, "a: !!python/object:os.system x"):
        with pytest.raises(PolicyError):
            parse_config(text)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tools.yaml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(PolicyError, match="not UTF-8"):
        load_config(file)
    with pytest.raises(FileNotFoundError):
        load_config(tmp_path / "missing.yaml")


@pytest.mark.parametrize(
    "build",
    [
        lambda: PathConfig(root=1),  # type: ignore[arg-type]
        lambda: PathConfig(root=""),
        lambda: PathConfig(root="x", mode="wo"),  # type: ignore[arg-type]
        lambda: PathConfig(root="x", suffixes=".txt"),
        lambda: PathConfig(root="x", max_file_bytes=-1),
        lambda: PathConfig(root="x", max_file_bytes=True),
        lambda: PathConfig(root="x", write_approval="no"),  # type: ignore[arg-type]
        lambda: SandboxConfig(paths={"a": {"root": "x"}}),  # type: ignore[dict-item]
        lambda: SandboxConfig(require_os_sandbox=1),  # type: ignore[arg-type]
        lambda: SandboxConfig(os_sandbox_fallback="run"),  # type: ignore[arg-type]
        lambda: ShellRule(pattern="x", sandbox_paths="data"),
        lambda: ShellRule(pattern="x", allowed=None),  # type: ignore[arg-type]
        lambda: ShellConfig(rules=[{"pattern": "x"}]),  # type: ignore[list-item]
        lambda: ShellConfig(network="off"),  # type: ignore[arg-type]
    ],
)
def test_a_value_of_a_wrong_type_is_refused(build: object) -> None:
    assert callable(build)
    with pytest.raises((TypeError, ValueError)):
        build()


def test_a_configuration_does_not_change() -> None:
    paths = {"a": PathConfig(root="x")}
    config = SandboxConfig(paths=paths)
    paths["b"] = PathConfig(root="/", mode="rw")
    assert list(config.paths) == ["a"]
