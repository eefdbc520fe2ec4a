"""The engine: decisions, policies, questions in the queue, and the audit log."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import threading
import time
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
    ForkedProcessError,
    OperationBlockedError,
    Policy,
    PolicyError,
    requires_approval,
)


class ScriptedController(ApprovalController):
    """A controller whose reviewer gives these answers in turn."""

    def __init__(self, *answers: ApprovalDecision, **options: Any) -> None:
        super().__init__(**options)
        self.answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(request)
        return self.answers.pop(0)


@requires_approval()
def send_email(to: str) -> None:
    """A tool that asks each time."""


# --- Decisions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "args", "effect"),
    [
        ("Bash", {"command": "git status"}, "allow"),
        ("Bash", {"command": "git status; rm -rf build"}, "ask"),
        ("Bash", {"command": "cat ~/.ssh/id_ed25519"}, "ask"),
        ("Bash", {"command": "git push origin main"}, "deny"),
        ("Write", {"file_path": "notes.txt", "content": "x"}, "ask"),
        ("send_email", {"to": "x"}, "allow"),
        ("delete_all", {}, "ask"),
        ("Bash", {"command": 3}, "ask"),
        ("Bash", {}, "ask"),
    ],
)
def test_decisions(project: Path, tool: str, args: dict[str, Any], effect: str) -> None:
    policy = Policy(rules=(("deny", "Bash(git push *)"), ("allow", "send_email")))
    decision = Engine(policy).evaluate(tool, args)
    assert decision.effect == effect
    assert decision.reason


def test_a_decision_names_its_rule(project: Path) -> None:
    engine = Engine(Policy(rules=(("deny", "Bash(rm *)"),)))
    decision = engine.evaluate("Bash", {"command": "rm x"})
    assert decision.rule is not None
    assert decision.rule["text"] == "deny Bash(rm *)"
    assert decision.to_dict()["decision"] == "deny"


def test_a_rule_is_explicit_and_a_default_is_not(project: Path) -> None:
    engine = Engine(Policy(rules=(("allow", "Bash(rm *)"),)))
    assert engine.evaluate("Bash", {"command": "rm x"}).is_explicit
    assert not engine.evaluate("Bash", {"command": "git status"}).is_explicit
    assert not engine.evaluate("Bash", {"command": "git status; rm x"}).is_explicit


def test_arguments_that_are_no_json_are_never_taken_for_text(project: Path) -> None:
    class Command:
        def __repr__(self) -> str:
            return "git status"

    assert Engine().evaluate("Bash", {"command": Command()}).effect == "ask"
    assert Engine().evaluate("Read", {"file_path": Path("notes.txt")}).effect == "allow"


@pytest.mark.parametrize(
    ("args", "error"),
    [({1: "x"}, TypeError), ({"x": float("nan")}, ValueError)],
)
def test_arguments_without_a_json_form_are_errors(
    project: Path, args: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match="the arguments contain"):
        Engine().evaluate("t", args)


def test_arguments_that_are_nested_too_deeply_are_an_error(project: Path) -> None:
    args: dict[str, Any] = {}
    args["self"] = args
    with pytest.raises(RecursionError, match="nested more than 100 levels"):
        Engine().evaluate("t", args)


# --- Policies --------------------------------------------------------------------------------------


def test_an_error_in_a_policy_names_the_file_and_the_line(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[permissions]\nallow = ["Bash(git status)"]\ndney = ["Bash(rm *)"]\n')
    with pytest.raises(PolicyError) as error:
        Policy.load(policy)
    assert f"{policy}:3:1: unknown key `dney`" in str(error.value)


def test_an_invalid_rule_is_an_error() -> None:
    with pytest.raises(PolicyError, match=r"the rule does not end with `\)`"):
        Policy.load(rules=[("deny", "Bash(git")])
    with pytest.raises(ValueError, match="the effect of a rule must be `allow`, `ask` or `deny`"):
        Policy.load(rules=[("forbid", "Bash")])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="unknown mode `yolo`"):
        Policy.load(mode="yolo")  # type: ignore[arg-type]


def test_a_missing_policy_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="missing.toml"):
        Policy.load(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("policy.toml", '[permissions]\ndeny = ["Bash(rm *)"]\n'),
        ("settings.json", '{"permissions": {"deny": ["Bash(rm *)"]}}'),
        ("opencode.json", '{"permission": {"bash": {"rm *": "deny"}}}'),
        ("codex.rules", 'prefix_rule(pattern=["rm"], decision="forbidden")\n'),
        ("agent.yaml", "shell:\n  rules:\n    - pattern: rm\n      allowed: false\n"),
    ],
)
def test_policies_of_other_programs_apply(project: Path, name: str, text: str) -> None:
    (project / name).write_text(text)
    engine = Engine(Policy.load(project / name))
    assert engine.evaluate("Bash", {"command": "rm x"}).effect == "deny"


def test_an_unknown_format_is_an_error(project: Path) -> None:
    (project / "policy.ini").write_text("")
    with pytest.raises(PolicyError, match="policy.ini`: unknown policy format"):
        Policy.load(project / "policy.ini")


def test_a_change_of_the_policy_applies_to_the_next_call(project: Path, home: Path) -> None:
    engine = Engine()
    assert engine.evaluate("send_email", {}).effect == "ask"
    config = home / ".config/openoxide"
    config.mkdir(parents=True)
    (config / "policy.toml").write_text('[permissions]\nallow = ["send_email"]\n')
    time.sleep(0.3)
    assert engine.evaluate("send_email", {}).effect == "allow"


def test_the_policy_explains_overridden_rules(project: Path) -> None:
    policy = Policy(rules=(("allow", "Bash(rm *)"), ("deny", "Bash(rm -rf *)")))
    decision = policy.explain("Bash", {"command": "rm -rf x"})
    assert decision.effect == "deny"
    assert decision.parts[0]["overridden"][0]["rule"]["text"] == "allow Bash(rm *)"


def test_modes(project: Path) -> None:
    assert Engine(Policy(mode="dont_ask")).evaluate("send_email", {}).effect == "deny"
    assert Engine(Policy(mode="bypass_permissions")).evaluate("send_email", {}).effect == "allow"


# --- Questions -------------------------------------------------------------------------------------


async def test_an_allowed_call_is_not_asked_about(project: Path) -> None:
    engine = Engine(Policy(rules=(("allow", "send_email"),)))
    assert (await engine.ask("send_email", {})).approved


async def test_a_denied_call_is_blocked(project: Path) -> None:
    engine = Engine(Policy(rules=(("deny", "send_email"),)))
    with pytest.raises(OperationBlockedError, match="`send_email` is denied"):
        await engine.ask("send_email", {})


async def test_a_request_expires(project: Path) -> None:
    with pytest.raises(ApprovalUnavailableError, match="expired without an answer"):
        await Engine().ask("send_email", {}, timeout=0.1)


async def test_a_cancelled_request_is_withdrawn(project: Path) -> None:
    asking = asyncio.create_task(Engine().ask("send_email", {}))
    await asyncio.sleep(0.2)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_the_program_answers_its_own_question(project: Path) -> None:
    call = Engine().begin("send_email", {"to": "x"}, title="Send an email to x")
    question = await call.question()
    assert question is not None
    assert question.title == "Send an email to x"
    assert "send_email" in question.reason
    call.answer(ApprovalDecision(True, ApprovalScope.SESSION))
    assert await call.wait() == ApprovalDecision(True, ApprovalScope.SESSION)


async def test_a_denial_carries_its_note(project: Path) -> None:
    call = Engine().begin("send_email", {})
    assert await call.question() is not None
    call.answer(ApprovalDecision(False, note="use the draft folder"))
    assert await call.wait() == ApprovalDecision(False, note="use the draft folder")


async def test_the_first_answer_applies(project: Path) -> None:
    call = Engine().begin("send_email", {})
    assert await call.question() is not None
    call.answer(ApprovalDecision(False))
    call.answer(ApprovalDecision(True))
    assert not (await call.wait()).approved


async def test_a_deny_that_is_added_meanwhile_wins_over_an_approval(project: Path, home: Path) -> None:
    engine = Engine()
    call = engine.begin("send_email", {})
    assert await call.question() is not None
    config = home / ".config/openoxide"
    config.mkdir(parents=True)
    (config / "policy.toml").write_text('[permissions]\ndeny = ["send_email"]\n')
    call.answer(ApprovalDecision(True))
    with pytest.raises(OperationBlockedError, match="`send_email` is denied by user policy"):
        await call.wait()


def test_engines_work_in_threads(project: Path) -> None:
    engine = Engine(Policy(rules=(("allow", "send_email"),)))
    effects: list[str] = []

    def work() -> None:
        for _ in range(50):
            effects.append(engine.check("send_email", {"to": "x"}).effect)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert effects == ["allow"] * 200


def _evaluate_in_child(engine: Engine, results: Any) -> None:
    for use in (engine.evaluate, engine.check):
        try:
            use("send_email", {})
        except ForkedProcessError as error:
            results.put(str(error))
        else:
            results.put("decided")


def test_a_forked_child_decides_nothing(project: Path) -> None:
    engine = Engine()
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_evaluate_in_child, args=(engine, results))
    child.start()
    messages = [results.get(timeout=30) for _ in range(2)]
    child.join()
    assert all("created before a fork" in message for message in messages)


# --- A controller with an engine -------------------------------------------------------------------


async def test_a_rule_answers_the_request_of_a_tool(project: Path) -> None:
    controller = ScriptedController(engine=Engine(Policy(rules=(("allow", "send_email"),))))
    assert (await controller.approve_call("send_email", {"to": "x"}, tool=send_email)).approved
    assert controller.asked == []


async def test_a_default_does_not_answer_the_request_of_a_tool(project: Path) -> None:
    @requires_approval()
    def bash(command: str) -> None: ...

    controller = ScriptedController(ApprovalDecision(False), engine=Engine())
    decision = await controller.approve_call("Bash", {"command": "git status"}, tool=bash)
    assert not decision.approved
    assert len(controller.asked) == 1


async def test_the_policy_asks_about_tools_without_approval_logic(project: Path) -> None:
    controller = ScriptedController(ApprovalDecision(True), engine=Engine())
    assert (await controller.approve_call("Bash", {"command": "git status"})).approved
    assert controller.asked == []
    assert (await controller.approve_call("Bash", {"command": "rm x"})).approved
    assert len(controller.asked) == 1


@pytest.mark.parametrize("mode", ["interactive", "approve_all", "strict"])
async def test_a_deny_blocks_in_every_mode(project: Path, mode: Any) -> None:
    engine = Engine(Policy(rules=(("deny", "send_email"),)))
    controller = ScriptedController(mode=mode, engine=engine)
    with pytest.raises(OperationBlockedError, match="Blocked by the policy"):
        await controller.approve_call("send_email", {"to": "x"}, tool=send_email)


async def test_modes_answer_questions_of_the_policy(project: Path) -> None:
    approving = ScriptedController(mode="approve_all", engine=Engine())
    assert (await approving.approve_call("send_email", {})).approved
    strict = ScriptedController(mode="strict", engine=Engine())
    decision = await strict.approve_call("send_email", {})
    assert decision == ApprovalDecision(False, note="Strict mode: approval required")


async def test_a_session_approval_covers_later_calls(project: Path) -> None:
    session = ApprovalDecision(True, ApprovalScope.SESSION)
    controller = ScriptedController(session, engine=Engine())
    for _ in range(2):
        assert (await controller.approve_call("send_email", {"to": "x"}, tool=send_email)).approved
    assert len(controller.asked) == 1


async def test_equal_calls_at_the_same_time_are_asked_once(project: Path) -> None:
    session = ApprovalDecision(True, ApprovalScope.SESSION)
    controller = ScriptedController(session, engine=Engine())
    calls = (controller.approve_call("send_email", {"to": "x"}) for _ in range(4))
    assert all(decision.approved for decision in await asyncio.gather(*calls))
    assert len(controller.asked) == 1


async def test_an_exception_while_asking_withdraws_the_request(project: Path) -> None:
    class Failing(ApprovalController):
        async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
            raise OSError("terminal closed")

    with pytest.raises(OSError, match="terminal closed"):
        await Failing(engine=Engine()).approve_call("send_email", {})


async def test_warnings_are_logged(
    project: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = home / ".local/state"
    state.mkdir(parents=True)
    (state / "openoxide").write_text("a file where the directory should be")
    with caplog.at_level(logging.WARNING, logger="tool_approval"):
        assert Engine().check("Bash", {"command": "git status"}).effect == "allow"
    assert "no audit record" in caplog.text
