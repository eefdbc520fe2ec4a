"""The Claude Agent SDK: its types, and the real Claude Code with a scripted model."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
    create_sdk_mcp_server,
    tool,
)
from scripted_claude import Session, note_message, open_client, run_session
from scripted_reviewer import APPROVE, APPROVE_SESSION, DENY, ScriptedReviewer
from tool_approval import (
    ApprovalContext,
    ApprovalController,
    ApprovalDecision,
    ApprovalRequest,
    Engine,
    Policy,
    requires_approval,
)
from tool_approval.frameworks.claude_agent_sdk import (
    approval_hooks,
    can_use_tool,
    pre_tool_use_hook,
    with_approval,
)


def bash(command: str) -> tuple[str, dict[str, Any]]:
    return ("Bash", {"command": command})


def engine(*rules: tuple[Any, str]) -> Engine:
    return Engine(Policy(rules=rules))


class Broken:
    """A tool whose check fails."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
        raise self.error


def hook_input(tool_name: Any = "Bash", tool_input: Any = None, **fields: Any) -> Any:
    return {
        "hook_event_name": "PreToolUse",
        "session_id": "session",
        "transcript_path": "/none",
        "cwd": str(Path.cwd()),
        "permission_mode": "default",
        "tool_use_id": "toolu_1",
        "tool_name": tool_name,
        "tool_input": {"command": "make"} if tool_input is None else tool_input,
        **fields,
    }


async def ask_hook(controller: ApprovalController, input: Any = None, **options: Any) -> Any:
    hook = pre_tool_use_hook(controller, **options)
    output = await hook(input or hook_input(), "toolu_1", {"signal": None})
    json.dumps(output)
    return output["hookSpecificOutput"]


async def ask_callback(
    controller: ApprovalController, name: str = "Bash", input: Any = None, **options: Any
) -> Any:
    context = ToolPermissionContext(tool_use_id="toolu_1")
    args = {"command": "make"} if input is None else input
    return await can_use_tool(controller, **options)(name, args, context)


# --- The hook ------------------------------------------------------------------------------------


async def test_the_hook_allows_what_the_policy_allows(project: Path) -> None:
    controller = ScriptedReviewer(engine=engine(("allow", "Bash(make)")))
    output = await ask_hook(controller)
    assert output["hookEventName"] == "PreToolUse"
    assert output["permissionDecision"] == "allow"
    assert output["updatedInput"] == {"command": "make"}
    assert controller.asked == []


async def test_the_hook_denies_what_the_policy_denies(project: Path) -> None:
    controller = ScriptedReviewer(APPROVE, engine=engine(("deny", "Bash(make)")))
    output = await ask_hook(controller)
    assert output["permissionDecision"] == "deny"
    assert output["permissionDecisionReason"].startswith("Blocked by the policy: `make`")
    assert "updatedInput" not in output
    assert controller.asked == []


@pytest.mark.parametrize(("answer", "decision"), [(APPROVE, "allow"), (DENY, "deny")])
async def test_the_hook_asks_what_the_policy_asks(
    project: Path, answer: ApprovalDecision, decision: str
) -> None:
    controller = ScriptedReviewer(answer, engine=engine(("ask", "Bash(make)")))
    output = await ask_hook(controller)
    assert output["permissionDecision"] == decision
    if decision == "deny":
        assert output["permissionDecisionReason"] == "Approval denied: not today"
    assert len(controller.asked) == 1


async def test_every_call_needs_approval_without_a_policy() -> None:
    controller = ScriptedReviewer(DENY)
    output = await ask_hook(controller, hook_input("Read", {"file_path": "a"}))
    assert output["permissionDecision"] == "deny"
    assert [request.tool_name for request in controller.asked] == ["Read"]


@pytest.mark.parametrize(("mode", "decision"), [("approve_all", "allow"), ("strict", "deny")])
async def test_the_modes_decide_without_a_question(mode: Any, decision: str) -> None:
    controller = ScriptedReviewer(mode=mode)
    assert (await ask_hook(controller))["permissionDecision"] == decision
    assert controller.asked == []


async def test_a_tool_decides_about_its_own_calls() -> None:
    contexts: list[ApprovalContext] = []

    class Mail:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
            contexts.append(ctx)
            if ctx.args["to"] == "me":
                return None
            if ctx.args["to"] == "all":
                raise PermissionError("nobody writes to all")
            return ApprovalRequest(
                tool_name=ctx.tool_name, description="Send", payload={"to": ctx.args["to"]}
            )

    controller = ScriptedReviewer(DENY)
    tools = {"mcp__mail__send": Mail()}
    outputs = [
        await ask_hook(controller, hook_input("mcp__mail__send", {"to": to}), tools=tools)
        for to in ("me", "all", "you")
    ]
    assert [output["permissionDecision"] for output in outputs] == ["allow", "deny", "deny"]
    assert outputs[1]["permissionDecisionReason"] == "nobody writes to all"
    assert [request.payload for request in controller.asked] == [{"to": "you"}]
    assert contexts[0].tool_name == "send"
    assert contexts[0].metadata["session_id"] == "session"
    assert contexts[0].metadata["tool_use_id"] == "toolu_1"


async def test_paths_are_relative_to_the_directory_of_the_session(
    project: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").mkdir()
    controller = ApprovalController(engine=engine(("deny", f"Read(/{tmp_path}/secret/**)")))
    read = {"file_path": "a"}
    here = await ask_hook(controller, hook_input("Read", read))
    there = await ask_hook(controller, hook_input("Read", read, cwd=str(tmp_path / "secret")))
    assert here["permissionDecision"] == "allow"
    assert there["permissionDecision"] == "deny"


async def test_a_session_approval_applies_to_equal_calls() -> None:
    controller = ScriptedReviewer(APPROVE_SESSION)
    for command in ("make", "make", "make install"):
        output = await ask_hook(controller, hook_input("Bash", {"command": command}))
        assert output["permissionDecision"] == "allow"
    assert [request.payload["command"] for request in controller.asked] == ["make", "make install"]


@pytest.mark.parametrize(
    "error",
    [ValueError("secret"), RecursionError(), PermissionError("no"), asyncio.CancelledError()],
)
async def test_a_check_that_fails_is_a_denial(error: BaseException) -> None:
    output = await ask_hook(ScriptedReviewer(APPROVE), tools={"Bash": Broken(error)})
    assert output["permissionDecision"] == "deny"
    assert "secret" not in output["permissionDecisionReason"]
    result = await ask_callback(ScriptedReviewer(APPROVE), tools={"Bash": Broken(error)})
    assert isinstance(result, PermissionResultDeny)


@pytest.mark.parametrize("answer", [True, None, "allow", {"approved": True}, object()])
async def test_a_malformed_answer_is_a_denial(answer: Any) -> None:
    controller = ScriptedReviewer(lambda request: answer)
    assert (await ask_hook(controller))["permissionDecision"] == "deny"
    assert isinstance(await ask_callback(controller), PermissionResultDeny)
    assert len(controller.session_approvals) == 0


@pytest.mark.parametrize(
    "input",
    [
        {"hook_event_name": "PreToolUse"},
        hook_input(None),
        hook_input("Bash", ["make"]),
        hook_input("Bash", "make"),
        hook_input("Bash", {"command": "make"}, cwd=5),
        hook_input("Bash", {"command": "make"}, cwd="/does/not/exist/\0"),
        "text",
        [],
        5,
    ],
)
async def test_a_malformed_call_is_a_denial(project: Path, input: Any) -> None:
    controller = ScriptedReviewer(APPROVE, engine=engine(("allow", "Bash")))
    hook = pre_tool_use_hook(controller)
    output: Any = await hook(input, None, {"signal": None})
    assert output["hookSpecificOutput"]["permissionDecision"] == "deny"
    screen: Any = with_approval(ClaudeAgentOptions(), controller).hooks
    output = await screen["PreToolUse"][0].hooks[0](input, None, {"signal": None})
    assert output["hookSpecificOutput"]["permissionDecision"] == "deny"


async def test_a_cancelled_hook_closes_the_question_and_allows_nothing() -> None:
    asked, closed = asyncio.Event(), asyncio.Event()

    async def wait(request: ApprovalRequest) -> ApprovalDecision:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()
        return APPROVE

    for ask in (ask_hook, ask_callback):
        asked.clear()
        closed.clear()
        asking = asyncio.ensure_future(ask(ScriptedReviewer(wait)))
        await asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert closed.is_set()


def test_a_hook_outside_of_asyncio_denies() -> None:
    hook = pre_tool_use_hook(ScriptedReviewer(APPROVE))
    coroutine: Any = hook(hook_input(), None, {"signal": None})
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    assert stopped.value.value["hookSpecificOutput"]["permissionDecision"] == "deny"


# --- The callback --------------------------------------------------------------------------------


async def test_the_callback_needs_an_answer_of_a_rule_or_a_reviewer(project: Path) -> None:
    read = {"file_path": str(project / "a")}
    controller = ScriptedReviewer(DENY, engine=engine())
    # The policy allows this by default, but Claude Code has asked.
    assert isinstance(await ask_callback(controller, "Read", read), PermissionResultDeny)
    assert len(controller.asked) == 1
    controller = ScriptedReviewer(DENY, engine=engine(("allow", "Read")))
    assert isinstance(await ask_callback(controller, "Read", read), PermissionResultAllow)
    assert controller.asked == []


async def test_the_callback_returns_the_input_that_was_approved() -> None:
    input = {"command": "make", "extra": {"deep": [1]}}

    def answer(request: ApprovalRequest) -> ApprovalDecision:
        input["command"] = "rm -rf /"
        input["extra"]["deep"].append(2)  # type: ignore[index]
        return APPROVE

    result = await ask_callback(ScriptedReviewer(answer), input=input)
    assert result.updated_input == {"command": "make", "extra": {"deep": [1]}}


async def test_the_callback_denies_with_the_note() -> None:
    result = await ask_callback(ScriptedReviewer(DENY))
    assert result == PermissionResultDeny(message="Approval denied: not today")


def test_the_options_are_kept(project: Path) -> None:
    async def other(input: Any, tool_use_id: Any, context: Any) -> Any:
        return {}

    mine = HookMatcher(hooks=[other])
    options = ClaudeAgentOptions(hooks={"PreToolUse": [mine], "Stop": [mine]}, max_turns=3)
    controller = ScriptedReviewer()
    gated = with_approval(options, controller)
    assert gated.max_turns == 3
    assert gated.hooks is not None
    assert gated.hooks["Stop"] == [mine]
    assert gated.hooks["PreToolUse"][1:] == [mine]
    assert options.hooks == {"PreToolUse": [mine], "Stop": [mine]}
    with pytest.raises(ValueError, match="have a `can_use_tool` callback already"):
        with_approval(gated, controller)


# --- With Claude Code ----------------------------------------------------------------------------


def files(project: Path) -> list[str]:
    return sorted(path.name for path in project.iterdir())


async def test_a_session_with_hooks(project: Path, home: Path) -> None:
    controller = ScriptedReviewer(
        lambda request: APPROVE if "asked-yes" in str(request.payload) else DENY,
        engine=engine(("allow", "Bash(touch allowed)"), ("deny", "Bash(touch blocked)")),
    )
    options = ClaudeAgentOptions(hooks=approval_hooks(controller))
    session = await run_session(
        options,
        home,
        project,
        [bash("touch allowed")],
        [bash("touch blocked")],
        [bash("touch asked-yes"), bash("touch asked-no")],
        [("Write", {"file_path": str(project / "asked-yes.txt"), "content": "text"})],
    )
    assert files(project) == ["allowed", "asked-yes", "asked-yes.txt"]
    assert (project / "asked-yes.txt").read_text() == "text"
    assert "Blocked by the policy: `touch blocked` is denied" in session.results[1]
    assert any("Approval denied: not today" in result for result in session.results[2:4])
    assert len(controller.asked) == 3


async def test_the_hook_decides_in_the_mode_that_bypasses_permissions(
    project: Path, home: Path
) -> None:
    controller = ScriptedReviewer(DENY, engine=engine(("deny", "Bash(touch blocked)")))
    options = ClaudeAgentOptions(
        hooks=approval_hooks(controller), permission_mode="bypassPermissions"
    )
    steps = [[bash("touch blocked")], [bash("touch asked")]]
    await run_session(options, home, project, *steps)
    assert files(project) == []
    assert len(controller.asked) == 1


async def test_claude_code_continues_without_a_hook_that_raises(project: Path, home: Path) -> None:
    """This is why the hooks of this package never raise."""

    async def broken(input: Any, tool_use_id: Any, context: Any) -> Any:
        raise ValueError("broken")

    steps = [[("Write", {"file_path": str(project / "a"), "content": "1"})]]
    options = ClaudeAgentOptions(
        hooks={"PreToolUse": [HookMatcher(hooks=[broken])]}, permission_mode="acceptEdits"
    )
    await run_session(options, home, project, *steps)
    assert files(project) == ["a"]
    (project / "a").unlink()

    tools = {"Write": Broken(ValueError("broken"))}
    hooks = approval_hooks(ScriptedReviewer(APPROVE), tools=tools)
    options = ClaudeAgentOptions(hooks=hooks, permission_mode="acceptEdits")
    session = await run_session(options, home, project, *steps)
    assert files(project) == []
    assert "the approval check failed with ValueError" in session.results[0]


async def test_a_hook_that_is_too_slow_denies(project: Path, home: Path) -> None:
    closed = asyncio.Event()

    async def wait(request: ApprovalRequest) -> ApprovalDecision:
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()
        return APPROVE

    hooks = approval_hooks(ScriptedReviewer(wait), timeout=1)
    session = await run_session(ClaudeAgentOptions(hooks=hooks), home, project, [bash("touch a")])
    assert files(project) == []
    assert "The tool call was not executed" in session.results[0]
    await closed.wait()


async def test_nothing_runs_if_the_session_is_interrupted_while_a_reviewer_is_asked(
    project: Path, home: Path
) -> None:
    asked = asyncio.Event()

    async def wait(request: ApprovalRequest) -> ApprovalDecision:
        asked.set()
        await asyncio.Event().wait()
        return APPROVE

    controller = ScriptedReviewer(wait, engine=engine(("ask", "Bash")))
    for options in (
        ClaudeAgentOptions(hooks=approval_hooks(controller)),
        with_approval(ClaudeAgentOptions(), controller),
    ):
        asked.clear()
        session = Session()
        async with open_client(options, home, project, [bash("touch a")]) as client:

            async def read(client: Any = client, session: Session = session) -> None:
                async for message in client.receive_response():
                    note_message(session, message)

            reading = asyncio.ensure_future(read())
            await asked.wait()
            await client.interrupt()
            await reading
        assert files(project) == []
        assert session.outcome == "error_during_execution"


async def test_a_session_with_a_callback(project: Path, home: Path) -> None:
    controller = ScriptedReviewer(
        lambda request: APPROVE if request.payload["command"] == "touch a" else DENY,
        engine=engine(("deny", "Bash(touch blocked)")),
    )
    options = ClaudeAgentOptions(can_use_tool=can_use_tool(controller))
    steps = [[bash("touch a")], [bash("touch b")], [bash("touch blocked")]]
    session = await run_session(options, home, project, *steps)
    assert files(project) == ["a"]
    assert "Approval denied: not today" in session.results[1]
    assert "Blocked by the policy" in session.results[2]


async def test_the_final_input_is_decided_about(project: Path, home: Path) -> None:
    """Another hook changes the input after the hook of this package has seen it."""

    async def rewrite(input: Any, tool_use_id: Any, context: Any) -> Any:
        changed = {"command": input["tool_input"]["command"].replace("good", "evil")}
        output = {"hookEventName": "PreToolUse", "updatedInput": changed}
        return {"hookSpecificOutput": output}

    controller = ScriptedReviewer(
        lambda request: APPROVE if request.payload["command"] == "touch good2" else DENY,
        engine=engine(("allow", "Bash(touch good)"), ("deny", "Bash(touch evil2)")),
    )
    options = ClaudeAgentOptions(hooks={"PreToolUse": [HookMatcher(hooks=[rewrite])]})
    session = await run_session(
        with_approval(options, controller),
        home,
        project,
        [bash("touch good")],
        [bash("touch good2")],
    )
    assert files(project) == []
    commands = [request.payload["command"] for request in controller.asked]
    assert commands == ["touch evil", "touch good2"]
    assert "Blocked by the policy" in session.results[1]


@pytest.mark.parametrize("ways", ["with_approval", "approval_hooks"])
async def test_hooks_of_the_settings_do_not_answer_in_place_of_the_reviewer(
    project: Path, home: Path, ways: str
) -> None:
    """A `PermissionRequest` hook answers as soon as Claude Code asks `can_use_tool`."""
    answer = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    hook = {"type": "command", "command": f"echo '{json.dumps({'hookSpecificOutput': answer})}'"}
    settings = {"hooks": {"PermissionRequest": [{"matcher": "*", "hooks": [hook]}]}}
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text(json.dumps(settings))

    async def answer_late(request: ApprovalRequest) -> ApprovalDecision:
        await asyncio.sleep(0.5)
        return APPROVE if request.payload["command"] == "touch yes" else DENY

    controller = ScriptedReviewer(answer_late)
    options = ClaudeAgentOptions(setting_sources=["project"])
    if ways == "with_approval":
        options = with_approval(options, controller)
    else:
        options.hooks = approval_hooks(controller)
    await run_session(options, home, project, [bash("touch yes")], [bash("touch no")])
    assert files(project) == [".claude", "yes"]
    assert len(controller.asked) == 2


@pytest.mark.filterwarnings("ignore:can_use_tool will not be invoked")
@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions", "dontAsk", "plan"])
async def test_the_controller_decides_in_every_permission_mode(
    project: Path, home: Path, mode: Any
) -> None:
    # The settings of a project allow the calls. They are only read if the options say so.
    (project / ".claude").mkdir()
    settings = {"permissions": {"allow": ["Bash(touch:*)"]}, "disableAllHooks": True}
    (project / ".claude/settings.json").write_text(json.dumps(settings))
    controller = ScriptedReviewer(
        lambda request: APPROVE if request.payload["command"] == "touch yes" else DENY,
        engine=engine(("ask", "Bash(touch *)"), ("deny", "Bash(touch blocked)")),
    )
    options = ClaudeAgentOptions(permission_mode=mode, setting_sources=["project"])
    steps = [[bash("touch yes"), bash("touch no")], [bash("touch blocked")]]
    await run_session(with_approval(options, controller), home, project, *steps)
    assert files(project) == [".claude", "yes"]
    assert sorted(request.payload["command"] for request in controller.asked) == [
        "touch no",
        "touch yes",
    ]


async def test_a_tool_of_the_application(project: Path, home: Path) -> None:
    sent: list[str] = []

    @requires_approval(exclude_keys={"body"})
    def send(to: str, body: str) -> None:
        """The check of the tool."""

    @tool("send", "Send a mail.", {"to": str, "body": str})
    async def send_tool(args: dict[str, Any]) -> dict[str, Any]:
        sent.append(args["to"])
        return {"content": [{"type": "text", "text": "sent"}]}

    controller = ScriptedReviewer(
        lambda request: APPROVE_SESSION if request.payload == {"to": "ann"} else DENY
    )
    options = ClaudeAgentOptions(
        mcp_servers={"mail": create_sdk_mcp_server("mail", tools=[send_tool])}
    )
    gated = with_approval(options, controller, tools={"mcp__mail__send": send})
    calls = [("mcp__mail__send", {"to": to, "body": to * 3}) for to in ("ann", "ann", "bob")]
    await run_session(gated, home, project, *[[call] for call in calls])
    assert sent == ["ann", "ann"]
    assert [request.payload for request in controller.asked] == [{"to": "ann"}, {"to": "bob"}]


# --- The example ---------------------------------------------------------------------------------


def test_the_example_runs(project: Path) -> None:
    example = Path(__file__).parents[1] / "examples" / "claude_agent_approval.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "git push: PreToolUse:Bash hook error: Blocked by the policy" in done.stdout
    assert "make install? no" in done.stdout
