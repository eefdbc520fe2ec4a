"""Fixtures: a home directory of its own for each test, and no terminal by default."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory, so that no policy of the machine's user applies."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        is_setting = name.startswith(("XDG_", "OPENOXIDE_")) and name != "OPENOXIDE_PROGRAM"
        if is_setting:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, which is the current directory."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return project
