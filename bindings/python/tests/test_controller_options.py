"""Controllers with other options for a call or for a client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from policy_files import policy_reload, write_policy
from scripted_reviewer import APPROVE, APPROVE_SESSION, DENY, ScriptedReviewer
from tool_approval import (
    ApprovalController,
    ApprovalDecision,
    ApprovalRequest,
    Engine,
    OperationBlockedError,
    Policy,
    requires_approval,
)


@requires_approval()
def delete(path: str) -> None:
    """A tool that asks each time."""


def engine(*rules: tuple[Any, str]) -> Engine:
    return Engine(Policy(rules=rules))


# --- A reviewer for a call -----------------------------------------------------------------------


@pytest.mark.parametrize("has_engine", [False, True])
async def test_a_reviewer_is_asked_instead_of_the_user_interface(
    project: Path, has_engine: bool
) -> None:
    controller = ScriptedReviewer(DENY, engine=engine(("ask", "delete")) if has_engine else None)
    asked: list[ApprovalRequest] = []

    async def review(request: ApprovalRequest) -> ApprovalDecision:
        asked.append(request)
        return ApprovalDecision(True, note="fine")

    reviewed = controller.with_options(reviewer=review)
    decision = await reviewed.approve_call("delete", {"path": "a"}, tool=delete)
    assert decision.approved
    assert decision.note == "fine"
    assert [request.payload for request in asked] == [{"path": "a"}]
    assert controller.asked == []
    assert not (await controller.approve_call("delete", {"path": "a"}, tool=delete)).approved


async def test_session_approvals_of_a_reviewer_are_those_of_the_controller() -> None:
    controller = ScriptedReviewer(DENY)

    async def review(request: ApprovalRequest) -> ApprovalDecision:
        return APPROVE_SESSION

    await controller.with_options(reviewer=review).approve_call("d", {"path": "a"}, tool=delete)
    assert (await controller.approve_call("d", {"path": "a"}, tool=delete)).approved
    assert controller.asked == []


async def test_the_question_of_a_reviewer_does_not_wait_for_others() -> None:
    waiting, release = asyncio.Event(), asyncio.Event()

    async def wait(request: ApprovalRequest) -> ApprovalDecision:
        waiting.set()
        await release.wait()
        return APPROVE

    async def review(request: ApprovalRequest) -> ApprovalDecision:
        return APPROVE

    controller = ScriptedReviewer(wait)
    slow = asyncio.ensure_future(controller.approve_call("d", {"path": "a"}, tool=delete))
    await waiting.wait()
    reviewed = controller.with_options(reviewer=review)
    assert (await reviewed.approve_call("d", {"path": "b"}, tool=delete)).approved
    release.set()
    assert (await slow).approved


async def test_a_reviewer_must_return_a_decision() -> None:
    async def review(request: ApprovalRequest) -> Any:
        return True

    controller = ApprovalController().with_options(reviewer=review)
    with pytest.raises(TypeError, match="`reviewer` must return an `ApprovalDecision`, not bool"):
        await controller.approve_call("delete", {"path": "a"}, tool=delete)


# --- The working directory -----------------------------------------------------------------------


async def test_relative_paths_are_relative_to_the_directory_of_the_call(
    project: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    rules: list[tuple[Any, str]] = [("deny", f"Read(/{secret}/**)"), ("allow", "Read")]
    controller = ApprovalController(engine=engine(*rules))
    call: tuple[str, dict[str, Any]] = ("Read", {"file_path": "a"})
    assert (await controller.approve_call(*call)).approved
    elsewhere = controller.with_options(cwd=secret)
    with pytest.raises(OperationBlockedError):
        await elsewhere.approve_call(*call)
    with pytest.raises(OperationBlockedError):
        await elsewhere.apply_answer(APPROVE, *call)
    with pytest.raises(OperationBlockedError):
        elsewhere.check_call(*call)
    assert elsewhere.preview_call(*call).effect == "deny"


# --- Sessions ------------------------------------------------------------------------------------


async def test_a_new_session_has_no_session_approvals_of_others() -> None:
    controller = ScriptedReviewer(APPROVE_SESSION)
    first, second = controller.new_session(), controller.new_session()
    assert type(first) is ScriptedReviewer
    for session in (first, first, second, controller):
        await session.approve_call("delete", {"path": "a"}, tool=delete)
    assert len(controller.asked) == 3
    assert len(first.session_approvals) == len(second.session_approvals) == 1


# --- A policy that changes -----------------------------------------------------------------------


async def test_a_policy_that_changes_while_a_reviewer_is_asked_applies(home: Path) -> None:
    write_policy(home, ask="delete")

    async def answer(request: ApprovalRequest) -> ApprovalDecision:
        write_policy(home, deny="delete")
        await policy_reload(controller, "delete", "deny")
        return APPROVE

    controller = ScriptedReviewer(answer, engine=Engine())
    with pytest.raises(OperationBlockedError, match="is denied by user policy"):
        await controller.approve_call("delete", {})
