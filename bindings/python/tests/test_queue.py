"""Questions that another process answers, with the real `openoxide` program."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tool_approval import (
    ApprovalController,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalScope,
    ApprovalUnavailableError,
    Engine,
    requires_approval,
)


@pytest.fixture
def openoxide() -> str:
    """The program, which `cargo xtask python` builds."""
    program = os.environ.get("OPENOXIDE_PROGRAM") or shutil.which("openoxide")
    if program is None:
        pytest.fail("set OPENOXIDE_PROGRAM to the `openoxide` program, or run `cargo xtask python`")
    return program


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def pending(openoxide: str) -> dict[str, Any]:
    """Wait until one request is pending, and return it."""
    for _ in range(200):
        lines = (await asyncio.to_thread(run, openoxide, "pending", "--json")).splitlines()
        requests = [json.loads(line) for line in lines]
        if requests:
            return requests[0]
        await asyncio.sleep(0.05)
    raise AssertionError("no request is pending")


def request_of(row: dict[str, Any]) -> dict[str, Any]:
    return row.get("request", row)


async def answer(openoxide: str, *arguments: str) -> dict[str, Any]:
    row = request_of(await pending(openoxide))
    verb, *options = arguments
    await asyncio.to_thread(run, openoxide, verb, row["id"], *options)
    return row


class SilentController(ApprovalController):
    """A controller whose own reviewer never answers."""

    withdrawn = False

    async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
        try:
            await asyncio.Event().wait()
        finally:
            self.withdrawn = True
        raise AssertionError


async def test_another_terminal_approves(project: Path, openoxide: str) -> None:
    asking = asyncio.create_task(Engine().ask("send_email", {"to": "x"}, title="Send an email"))
    row = await answer(openoxide, "approve")
    assert row["title"] == "Send an email"
    decision = await asking
    assert decision.approved
    assert decision.answered_by


async def test_another_terminal_denies(project: Path, openoxide: str) -> None:
    asking = asyncio.create_task(Engine().ask("send_email", {}))
    await answer(openoxide, "deny", "--message", "use the draft folder")
    decision = await asking
    assert (decision.approved, decision.note) == (False, "use the draft folder")


async def test_an_answer_elsewhere_closes_the_question_here(project: Path, openoxide: str) -> None:
    controller = SilentController(engine=Engine())
    asking = asyncio.create_task(controller.approve_call("send_email", {"to": "x"}))
    await answer(openoxide, "approve")
    assert (await asking).approved
    assert controller.withdrawn


async def test_an_approval_for_the_session_is_remembered(project: Path, openoxide: str) -> None:
    controller = SilentController(engine=Engine())
    asking = asyncio.create_task(controller.approve_call("send_email", {"to": "x"}))
    await answer(openoxide, "approve", "--scope", "session")
    assert (await asking).scope is ApprovalScope.SESSION
    assert (await controller.approve_call("send_email", {"to": "x"})).approved


async def test_an_approval_for_the_project_is_saved(project: Path, openoxide: str) -> None:
    asking = asyncio.create_task(Engine().ask("Bash", {"command": "make check"}))
    await answer(openoxide, "approve", "--scope", "project")
    assert (await asking).approved
    assert Engine().evaluate("Bash", {"command": "make check"}).effect == "allow"
    assert "make" in await asyncio.to_thread(run, openoxide, "grants", "list")


async def test_without_a_terminal_the_question_waits_for_others(
    project: Path, openoxide: str
) -> None:
    class NoTerminal(ApprovalController):
        async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
            raise ApprovalUnavailableError("no terminal")

    waiting = NoTerminal(engine=Engine(), wait=60)
    asking = asyncio.create_task(waiting.approve_call("send_email", {"to": "x"}))
    await answer(openoxide, "approve")
    assert (await asking).approved
    with pytest.raises(ApprovalUnavailableError, match="no terminal"):
        await NoTerminal(engine=Engine()).approve_call("send_email", {"to": "x"})


async def test_a_withdrawn_question_is_no_longer_pending(project: Path, openoxide: str) -> None:
    asking = asyncio.create_task(Engine().ask("send_email", {}))
    await pending(openoxide)
    asking.cancel()
    await asyncio.wait({asking})
    for _ in range(100):
        if not await asyncio.to_thread(run, openoxide, "pending", "--json"):
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the request is still pending")


async def test_several_questions_wait_at_the_same_time(project: Path, openoxide: str) -> None:
    controller = SilentController(engine=Engine())
    calls = [
        asyncio.create_task(controller.approve_call("send_email", {"to": to})) for to in "abc"
    ]
    for _ in range(3):
        await answer(openoxide, "approve")
    decisions = await asyncio.gather(*calls)
    assert [decision.approved for decision in decisions] == [True] * 3


async def test_the_audit_log_shows_calls_and_answers(project: Path, openoxide: str) -> None:
    @requires_approval()
    def send_email(to: str) -> None: ...

    class Approving(ApprovalController):
        async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
            return ApprovalDecision(True)

    controller = Approving(engine=Engine())
    await controller.approve_call("send_email", {"to": "x"}, tool=send_email)
    await controller.approve_call("Bash", {"command": "git status"})
    log = await asyncio.to_thread(run, openoxide, "audit", "log", "--json")
    rows = [json.loads(line) for line in log.splitlines()]
    assert [(row["tool"], row["via"]) for row in rows] == [
        ("send_email", "tool_approval"),
        ("Bash", "tool_approval"),
    ]
    assert rows[0]["answer"]["channel"] == "application"
