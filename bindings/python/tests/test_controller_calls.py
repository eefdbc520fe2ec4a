"""The controller for programs that ask in their own way: previews, checks, and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tool_approval import (
    ApprovalContext,
    ApprovalController,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalScope,
    CallPreview,
    Engine,
    OperationBlockedError,
    PendingCall,
    Policy,
    requires_approval,
)

YES = ApprovalDecision(True, answered_by="ada")
NO = ApprovalDecision(False, note="not now", answered_by="ada")


@requires_approval(description="Delete a file")
def delete_file(path: str) -> None:
    """A tool that asks each time."""


class BlockingTool:
    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
        raise PermissionError("outside the sandbox")


class UnaskingController(ApprovalController):
    async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
        raise AssertionError("nobody is to be asked")


def engine(*rules: tuple[Any, str]) -> Engine:
    return Engine(Policy(rules=rules))


# --- Without an engine ----------------------------------------------------------------------------


def test_a_preview_without_an_engine() -> None:
    controller = UnaskingController()
    assert controller.preview_call("tool", {}) == CallPreview("allow")
    preview = controller.preview_call("delete_file", {"path": "a"}, tool=delete_file)
    assert preview.effect == "ask"
    assert preview.request is not None
    assert preview.request.payload == {"path": "a"}
    blocked = controller.preview_call("tool", {}, tool=BlockingTool())
    assert blocked == CallPreview("deny", "outside the sandbox")


def test_a_check_without_an_engine() -> None:
    controller = UnaskingController()
    assert controller.check_call("tool", {}) == ApprovalDecision(True)
    assert controller.check_call("delete_file", {"path": "a"}, tool=delete_file) is None
    with pytest.raises(PermissionError, match="outside the sandbox"):
        controller.check_call("tool", {}, tool=BlockingTool())


def test_the_modes_and_session_approvals_decide_without_a_question() -> None:
    call: dict[str, Any] = {"tool": delete_file}
    approving, strict = UnaskingController("approve_all"), UnaskingController("strict")
    assert approving.preview_call("delete_file", {"path": "a"}, **call).effect == "allow"
    approved = approving.check_call("delete_file", {"path": "a"}, **call)
    assert approved is not None and approved.approved and approved.answered_by == "approve_all"
    assert strict.preview_call("delete_file", {"path": "a"}, **call).effect == "deny"
    denied = strict.check_call("delete_file", {"path": "a"}, **call)
    assert denied is not None and not denied.approved and denied.answered_by == "strict"

    controller = UnaskingController()
    request = delete_file.check_approval(  # type: ignore[attr-defined]
        ApprovalContext(tool_name="delete_file", args={"path": "a"})
    )
    controller.add_session_approval(request)
    decision = controller.check_call("delete_file", {"path": "a"}, **call)
    assert decision == ApprovalDecision(True, ApprovalScope.SESSION)
    assert controller.check_call("delete_file", {"path": "b"}, **call) is None


async def test_an_answer_applies_without_an_engine() -> None:
    controller = UnaskingController()
    arguments: tuple[str, dict[str, Any]] = ("delete_file", {"path": "a"})
    assert await controller.apply_answer(YES, *arguments, tool=delete_file) == YES
    assert await controller.apply_answer(NO, *arguments, tool=delete_file) == NO
    # The call does not need approval any more. It was denied nevertheless.
    assert await controller.apply_answer(NO, *arguments) == NO
    with pytest.raises(PermissionError, match="outside the sandbox"):
        await controller.apply_answer(YES, *arguments, tool=BlockingTool())


async def test_an_answer_for_the_session_is_remembered() -> None:
    controller = UnaskingController()
    session = ApprovalDecision(True, ApprovalScope.SESSION)
    await controller.apply_answer(session, "delete_file", {"path": "a"}, tool=delete_file)
    decision = controller.check_call("delete_file", {"path": "a"}, tool=delete_file)
    assert decision is not None and decision.approved


async def test_strict_ignores_an_approval() -> None:
    controller = UnaskingController("strict")
    arguments: tuple[str, dict[str, Any]] = ("delete_file", {"path": "a"})
    assert not (await controller.apply_answer(YES, *arguments, tool=delete_file)).approved
    assert (await controller.apply_answer(YES, *arguments)).approved


def test_a_synchronous_answer() -> None:
    controller = UnaskingController()
    decision = controller.apply_answer_sync(YES, "delete_file", {"path": "a"}, tool=delete_file)
    assert decision.approved


# --- With an engine -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "tool", "effect"),
    [
        (("allow", "delete_file"), delete_file, "allow"),
        (("allow", "delete_file"), None, "allow"),
        (("ask", "delete_file"), None, "ask"),
        (("deny", "delete_file"), delete_file, "deny"),
    ],
)
def test_the_policy_decides(
    project: Path, rule: tuple[Any, str], tool: object, effect: str
) -> None:
    controller = UnaskingController(engine=engine(rule))
    preview = controller.preview_call("delete_file", {"path": "a"}, tool=tool)
    assert preview.effect == effect
    assert (preview.request is not None) == (effect == "ask")
    if effect == "deny":
        with pytest.raises(OperationBlockedError, match="Blocked by the policy"):
            controller.check_call("delete_file", {"path": "a"}, tool=tool)
        return
    checked = controller.check_call("delete_file", {"path": "a"}, tool=tool)
    assert (checked is None) == (effect == "ask")
    if checked is not None:
        assert checked.approved
        assert checked.answered_by == "policy"


@pytest.mark.parametrize("effect", ["allow", "ask"])
async def test_the_policy_records_an_answer(project: Path, home: Path, effect: Any) -> None:
    controller = UnaskingController(engine=engine((effect, "delete_file")))
    assert (await controller.apply_answer(YES, "delete_file", {"path": "a"})).approved
    assert await controller.apply_answer(NO, "delete_file", {"path": "a"}) == NO
    journal = home / ".local/state/openoxide/audit/journal.ndjson"
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [record["answer"]["decision"] for record in records] == ["approved", "denied"]


async def test_a_denial_wins_over_an_answer_of_another_process(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = UnaskingController(engine=engine(("ask", "delete_file")))

    async def answered_elsewhere(call: PendingCall) -> ApprovalDecision:
        call.cancel()
        return YES

    monkeypatch.setattr(PendingCall, "wait", answered_elsewhere)
    assert await controller.apply_answer(NO, "delete_file", {"path": "a"}) == NO


@pytest.mark.parametrize("answer", [YES, NO])
async def test_a_deny_of_the_policy_wins_over_an_answer(
    project: Path, answer: ApprovalDecision
) -> None:
    controller = UnaskingController(engine=engine(("deny", "delete_file")))
    with pytest.raises(OperationBlockedError, match="Blocked by the policy"):
        await controller.apply_answer(answer, "delete_file", {"path": "a"}, tool=delete_file)


async def test_a_denial_wins_over_an_allow_of_the_policy(project: Path) -> None:
    controller = UnaskingController(engine=engine(("allow", "delete_file")))
    assert await controller.apply_answer(NO, "delete_file", {"path": "a"}) == NO
    assert (await controller.apply_answer(YES, "delete_file", {"path": "a"})).approved


async def test_strict_with_an_engine(project: Path) -> None:
    controller = UnaskingController("strict", engine=engine(("ask", "delete_file")))
    assert controller.preview_call("delete_file", {"path": "a"}).effect == "deny"
    denied = controller.check_call("delete_file", {"path": "a"})
    assert denied is not None and not denied.approved
    assert not (await controller.apply_answer(YES, "delete_file", {"path": "a"})).approved


async def test_approve_all_with_an_engine_leaves_the_answer_to_approve_call(project: Path) -> None:
    controller = UnaskingController("approve_all", engine=engine(("ask", "delete_file")))
    assert controller.check_call("delete_file", {"path": "a"}) is None
    assert (await controller.approve_call("delete_file", {"path": "a"})).approved


# --- Tools ----------------------------------------------------------------------------------------


class Files:
    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
        return ApprovalRequest(tool_name=ctx.tool_name, description="files", payload=ctx.args)

    def write_file(self, path: str) -> None:
        """A method whose object is approval-aware."""


def test_a_method_is_checked_by_its_object() -> None:
    write_file = Files().write_file
    preview = UnaskingController().preview_call("write_file", {"path": "a"}, tool=write_file)
    assert preview.effect == "ask"


async def test_a_tool_cannot_change_the_arguments_that_the_policy_sees(project: Path) -> None:
    class Changing:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
            ctx.args["command"] = "git status"
            return None

    args = {"command": "git push origin main"}
    controller = UnaskingController(engine=engine(("deny", "Bash(git push *)")))
    with pytest.raises(OperationBlockedError):
        await controller.approve_call("Bash", args, tool=Changing())
    assert args == {"command": "git push origin main"}


def test_the_origin_of_an_answer_does_not_count_in_a_comparison() -> None:
    assert ApprovalDecision(True, answered_by="ada") == ApprovalDecision(True)
    assert ApprovalDecision(True, answered_by="ada").model_dump()["answered_by"] == "ada"
