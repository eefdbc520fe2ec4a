"""The OpenAI Agents SDK, with its own scripted model."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, FunctionTool, Runner, RunState, ShellTool, function_tool
from agents.exceptions import UserError
from agents.mcp import MCPServerStdio
from agents.testing import ScriptedModel, assistant_message, function_call
from policy_files import policy_reload, write_policy
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
from tool_approval.frameworks.openai_agents import (
    answer_interruptions,
    approval_guardrail,
    mcp_server_options,
    needs_approval,
    require_approval,
    run_with_approval,
)


@pytest.fixture(autouse=True)
def no_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")


class Files:
    """Tools that remember their calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

        @requires_approval()
        def delete(path: str, force: bool = False) -> str:
            """Delete a file."""
            self.calls.append(("delete", path, force))
            return f"deleted {path}"

        def read(path: str) -> str:
            """Read a file."""
            self.calls.append(("read", path))
            return f"contents of {path}"

        self.delete = delete
        self.read = read


@pytest.fixture
def files() -> Files:
    return Files()


def call(name: str, call_id: str = "call-1", **args: Any) -> Any:
    return function_call(name, args, call_id=call_id)


def scripted_agent(*steps: Any, tools: list[Any], name: str = "files") -> Agent[Any]:
    model = ScriptedModel([*steps, [assistant_message("done")]])
    return Agent(name=name, model=model, tools=tools)


def outputs(result: Any) -> list[str]:
    """The outputs of the tools, as the model gets them."""
    return [item.output for item in result.new_items if item.type == "tool_call_output_item"]


async def run_tool(
    controller: ApprovalController, function: Any, *calls: Any, **options: Any
) -> Any:
    tools = [require_approval(function, controller, **options)]
    return await run_with_approval(scripted_agent([*calls], tools=tools), "go", controller)


def engine(*rules: tuple[Any, str]) -> Engine:
    return Engine(Policy(rules=rules))


# --- One call -----------------------------------------------------------------------------------


async def test_a_tool_that_is_not_approval_aware_runs(files: Files) -> None:
    controller = ScriptedReviewer()
    result = await run_tool(controller, files.read, call("read", path="a"))
    assert files.calls == [("read", "a")]
    assert outputs(result) == ["contents of a"]
    assert controller.asked == []


async def test_an_approved_call_runs(files: Files) -> None:
    controller = ScriptedReviewer(APPROVE)
    result = await run_tool(controller, files.delete, call("delete", path="a", force=True))
    assert files.calls == [("delete", "a", True)]
    assert result.final_output == "done"
    assert [request.payload for request in controller.asked] == [{"path": "a", "force": True}]


async def test_a_denied_call_does_not_run_and_the_model_gets_the_note(files: Files) -> None:
    result = await run_tool(ScriptedReviewer(DENY), files.delete, call("delete", path="a"))
    assert files.calls == []
    assert outputs(result) == ["Approval denied: not today"]


@pytest.mark.parametrize(("mode", "ran"), [("approve_all", True), ("strict", False)])
async def test_the_modes_answer_without_a_question(files: Files, mode: Any, ran: bool) -> None:
    controller = ScriptedReviewer(mode=mode)
    await run_tool(controller, files.delete, call("delete", path="a"))
    assert bool(files.calls) is ran
    assert controller.asked == []


async def test_the_check_gets_the_defaults_and_the_converted_arguments() -> None:
    seen: list[dict[str, Any]] = []

    class Check:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
            seen.append(ctx.args)
            return None

    def resize(path: str, size: int, force: bool = False) -> str:
        return path

    controller = ApprovalController()
    calls = [call("resize", path="a", size="5")]
    await run_tool(controller, resize, *calls, check=Check(), strict_mode=False)
    assert seen
    assert all(args == {"path": "a", "size": 5, "force": False} for args in seen)


async def test_arguments_that_do_not_fit_never_reach_the_function(files: Files) -> None:
    calls = [function_call("delete", text, call_id=f"c{n}") for n, text in enumerate(BAD_JSON)]
    result = await run_tool(ScriptedReviewer(APPROVE), files.delete, *calls)
    assert files.calls == []
    assert len(outputs(result)) == len(BAD_JSON)


BAD_JSON = ["{", "[1]", '"text"', '{"path": 5}', '{"path": "a", "path": {}}']


# --- The policy ---------------------------------------------------------------------------------


async def test_a_call_that_the_policy_allows_runs_without_an_interruption(
    files: Files, project: Path
) -> None:
    controller = ScriptedReviewer(engine=engine(("allow", "delete")))
    tools = [require_approval(files.delete, controller)]
    agent = scripted_agent([call("delete", path="a", force=True)], tools=tools)
    result = await Runner.run(agent, "go")
    assert result.interruptions == []
    assert files.calls == [("delete", "a", True)]
    assert controller.asked == []


async def test_a_call_that_the_policy_blocks_is_rejected_with_the_reason(
    files: Files, project: Path
) -> None:
    controller = ScriptedReviewer(APPROVE, engine=engine(("deny", "delete")))
    result = await run_tool(controller, files.delete, call("delete", path="a"))
    assert files.calls == []
    assert outputs(result) == ["Blocked by the policy: `delete` is denied by cli policy"]
    assert controller.asked == []


async def test_a_call_that_the_policy_asks_about_is_recorded_once(
    files: Files, project: Path, home: Path
) -> None:
    controller = ScriptedReviewer(APPROVE, engine=engine(("ask", "read")))
    await run_tool(controller, files.read, call("read", path="a"))
    assert files.calls == [("read", "a")]
    journal = home / ".local/state/openoxide/audit/journal.ndjson"
    [record] = [json.loads(line) for line in journal.read_text().splitlines()]
    assert record["decision"] == "ask"
    assert record["answer"]["decision"] == "approved"
    assert record["answer"]["channel"] == "application"


async def test_a_policy_that_changed_before_the_run_is_resumed_blocks_the_call(
    files: Files, project: Path, home: Path
) -> None:
    write_policy(home, ask="delete")
    controller = ScriptedReviewer(APPROVE, engine=Engine())
    tools = [require_approval(files.delete, controller)]
    agent = scripted_agent([call("delete", path="a")], tools=tools)
    state = (await Runner.run(agent, "go")).to_state()
    await answer_interruptions(state, controller)
    saved = state.to_string()

    write_policy(home, deny="delete")
    await policy_reload(controller, "delete", "deny")
    result = await Runner.run(agent, await RunState.from_string(agent, saved))
    assert files.calls == []
    assert outputs(result)[0].startswith("Blocked by the policy")


async def test_a_state_that_another_process_approved_runs(files: Files, project: Path) -> None:
    first = ScriptedReviewer(APPROVE, engine=engine(("ask", "delete")))
    agent = scripted_agent(
        [call("delete", path="a")], tools=[require_approval(files.delete, first)]
    )
    state = (await Runner.run(agent, "go")).to_state()
    await answer_interruptions(state, first)
    saved = state.to_string()

    # Other objects, as in another process. It does not ask again.
    second = ScriptedReviewer(engine=engine(("ask", "delete")))
    agent = scripted_agent(tools=[require_approval(files.delete, second)])
    result = await Runner.run(agent, await RunState.from_string(agent, saved))
    assert files.calls == [("delete", "a", False)]
    assert second.asked == []
    assert result.final_output == "done"


async def test_a_saved_state_is_asked_about_before_it_runs(files: Files) -> None:
    controller = ScriptedReviewer(DENY)
    agent = scripted_agent(
        [call("delete", path="a")], tools=[require_approval(files.delete, controller)]
    )
    saved = (await Runner.run(agent, "go")).to_state().to_string()
    state = await RunState.from_string(agent, saved)
    result = await run_with_approval(agent, state, controller)
    assert files.calls == []
    assert outputs(result) == ["Approval denied: not today"]


async def test_arguments_that_were_changed_in_an_approved_state_do_not_run(files: Files) -> None:
    controller = ScriptedReviewer(lambda r: APPROVE if r.payload["path"] == "a" else DENY)
    agent = scripted_agent(
        [call("delete", path="a")], tools=[require_approval(files.delete, controller)]
    )
    state = (await Runner.run(agent, "go")).to_state()
    await answer_interruptions(state, controller)
    saved = state.to_string().replace('{\\"path\\":\\"a\\"}', '{\\"path\\":\\"/etc\\"}')
    assert "/etc" in saved
    try:
        await Runner.run(agent, await RunState.from_string(agent, saved))
    except Exception:
        pass
    assert ("delete", "/etc", False) not in files.calls
    assert files.calls == []


async def test_the_approval_of_the_application_is_an_answer(files: Files, project: Path) -> None:
    controller = ScriptedReviewer(engine=engine(("ask", "delete")))
    agent = scripted_agent(
        [call("delete", path="a")], tools=[require_approval(files.delete, controller)]
    )
    state = (await Runner.run(agent, "go")).to_state()
    state.approve(state.get_interruptions()[0])
    await Runner.run(agent, state)
    assert files.calls == [("delete", "a", False)]
    assert controller.asked == []


async def test_always_approve_of_the_sdk_does_not_override_the_policy(
    files: Files, project: Path, home: Path
) -> None:
    write_policy(home, ask="delete")
    controller = ScriptedReviewer(engine=Engine())
    agent = scripted_agent(
        [call("delete", "c1", path="a")],
        [call("delete", "c2", path="b")],
        tools=[require_approval(files.delete, controller)],
    )
    state = (await Runner.run(agent, "go")).to_state()
    state.approve(state.get_interruptions()[0], always_approve=True)
    write_policy(home, deny="delete")
    await policy_reload(controller, "delete", "deny")
    await Runner.run(agent, state)
    assert files.calls == []


async def test_strict_mode_denies_what_the_application_approved(files: Files) -> None:
    controller = ScriptedReviewer(mode="strict")
    agent = scripted_agent(
        [call("delete", path="a")], tools=[require_approval(files.delete, controller)]
    )
    state = (await Runner.run(agent, "go")).to_state()
    state.approve(state.get_interruptions()[0])
    result = await Runner.run(agent, state)
    assert files.calls == []
    assert outputs(result) == ["Approval denied: Strict mode: approval required"]


# --- Several calls ------------------------------------------------------------------------------


async def test_an_approval_for_the_session_applies_to_equal_calls_only(files: Files) -> None:
    controller = ScriptedReviewer(
        lambda request: APPROVE_SESSION if request.payload["path"] == "a" else DENY
    )
    tools = [require_approval(files.delete, controller)]
    steps = [[call("delete", f"c{n}", path=path)] for n, path in enumerate("aaba")]
    await run_with_approval(scripted_agent(*steps, tools=tools), "go", controller)
    assert files.calls == [("delete", "a", False)] * 3
    assert [request.payload["path"] for request in controller.asked] == ["a", "b"]


async def test_parallel_calls_of_one_step_are_decided_one_by_one(
    files: Files, project: Path
) -> None:
    controller = ScriptedReviewer(
        lambda request: APPROVE if request.payload["path"] in {"a", "c"} else DENY,
        engine=engine(("allow", "read"), ("ask", "delete")),
    )
    tools = [require_approval(one, controller) for one in (files.delete, files.read)]
    step = [call("delete", f"d{path}", path=path) for path in "abc"]
    step += [call("read", f"r{path}", path=path) for path in "xy"]
    result = await run_with_approval(scripted_agent(step, tools=tools), "go", controller)
    assert sorted(files.calls) == [
        ("delete", "a", False),
        ("delete", "c", False),
        ("read", "x"),
        ("read", "y"),
    ]
    assert sorted(outputs(result)) == [
        "Approval denied: not today",
        "contents of x",
        "contents of y",
        "deleted a",
        "deleted c",
    ]


async def test_calls_of_a_group_are_asked_about_together() -> None:
    ran: list[str] = []

    class Save:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest:
            return ApprovalRequest(
                tool_name="save", description="Save", payload=ctx.args, group_id="project"
            )

    def save(path: str) -> str:
        ran.append(path)
        return path

    controller = ScriptedReviewer(APPROVE)
    calls = [call("save", f"c{path}", path=path) for path in "abc"]
    await run_tool(controller, save, *calls, check=Save())
    assert sorted(ran) == ["a", "b", "c"]
    assert len(controller.asked) == 1


# --- Failures -----------------------------------------------------------------------------------


async def test_a_tool_that_blocks_a_call_is_rejected_with_its_reason() -> None:
    ran: list[str] = []

    class Block:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
            raise PermissionError("outside of the sandbox")

    def write(path: str) -> str:
        ran.append(path)
        return path

    controller = ScriptedReviewer(APPROVE)
    result = await run_tool(controller, write, call("write", path="a"), check=Block())
    assert ran == []
    assert outputs(result) == ["outside of the sandbox"]
    assert controller.asked == []


@pytest.mark.parametrize("answer", ["not a request", 1, object()])
async def test_a_check_that_fails_ends_the_run_and_nothing_runs(answer: Any) -> None:
    ran: list[str] = []

    class Broken:
        def check_approval(self, ctx: ApprovalContext) -> Any:
            if answer == 1:
                raise ValueError("broken check")
            return answer

    def write(path: str) -> str:
        ran.append(path)
        return path

    controller = ScriptedReviewer(APPROVE)
    with pytest.raises(UserError, match="broken check|must return an `ApprovalRequest`"):
        await run_tool(controller, write, call("write", path="a"), check=Broken())
    assert ran == []
    assert len(controller.session_approvals) == 0


@pytest.mark.parametrize("answer", [True, None, "yes", {"approved": True}])
async def test_a_malformed_answer_ends_the_run_and_nothing_runs(files: Files, answer: Any) -> None:
    controller = ScriptedReviewer(lambda request: answer)
    with pytest.raises(TypeError):
        await run_tool(controller, files.delete, call("delete", path="a"))
    assert files.calls == []
    assert len(controller.session_approvals) == 0


async def test_a_reviewer_that_fails_ends_the_run_and_no_call_of_the_step_runs(
    files: Files,
) -> None:
    def answer(request: ApprovalRequest) -> ApprovalDecision:
        if request.payload["path"] == "b":
            raise OSError("the user interface has crashed")
        return APPROVE

    calls = [call("delete", f"c{path}", path=path) for path in "abc"]
    with pytest.raises(OSError, match="crashed"):
        await run_tool(ScriptedReviewer(answer), files.delete, *calls)
    assert files.calls == []


async def test_nothing_runs_if_the_run_is_cancelled_while_a_reviewer_is_asked(
    files: Files, project: Path
) -> None:
    asked = asyncio.Event()

    async def wait(request: ApprovalRequest) -> ApprovalDecision:
        asked.set()
        await asyncio.Event().wait()
        return APPROVE

    for options in ({}, {"engine": engine(("ask", "delete"))}):
        asked.clear()
        controller = ScriptedReviewer(wait, **options)
        calls = [call("delete", f"c{path}", path=path) for path in "ab"]
        running = asyncio.ensure_future(run_tool(controller, files.delete, *calls))
        await asked.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert files.calls == []


async def test_a_terminal_that_does_not_exist_denies_the_call(files: Files) -> None:
    class NoTerminal(ApprovalController):
        async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
            from tool_approval import ApprovalUnavailableError

            raise ApprovalUnavailableError("there is no terminal")

    result = await run_tool(NoTerminal(), files.delete, call("delete", path="a"))
    assert files.calls == []
    assert outputs(result) == ["there is no terminal"]


# --- Other tools --------------------------------------------------------------------------------


async def test_the_needs_approval_function_interrupts_the_run(files: Files, project: Path) -> None:
    controller = ScriptedReviewer(
        engine=engine(("allow", "list_files"), ("deny", "wipe"), ("ask", "move"))
    )
    ran: list[str] = []

    def tool(name: str) -> FunctionTool:
        def run(path: str) -> str:
            ran.append(name)
            return name

        return function_tool(
            run, name_override=name, needs_approval=needs_approval(controller, name)
        )

    names = ["list_files", "wipe", "move"]
    agent = scripted_agent(
        [call(name, name, path="a") for name in names], tools=[tool(name) for name in names]
    )
    result = await Runner.run(agent, "go")
    assert ran == ["list_files"]
    assert [item.tool_name for item in result.interruptions] == ["wipe", "move"]
    state = result.to_state()
    await answer_interruptions(state, controller)
    result = await Runner.run(agent, state)
    assert ran == ["list_files"]
    assert [request.tool_name for request in controller.asked] == ["move"]


async def test_the_needs_approval_function_blocks_what_the_tool_blocks(files: Files) -> None:
    class Block:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
            raise PermissionError("outside of the sandbox")

    controller = ScriptedReviewer(APPROVE)
    tool = function_tool(
        files.read, needs_approval=needs_approval(controller, "read", check=Block())
    )
    agent = scripted_agent([call("read", path="a")], tools=[tool])
    result = await run_with_approval(agent, "go", controller)
    assert files.calls == []
    assert outputs(result) == ["outside of the sandbox"]
    assert controller.asked == []


async def test_the_guardrail_alone_asks_while_the_run_waits(files: Files) -> None:
    controller = ScriptedReviewer(lambda r: APPROVE if r.payload["path"] == "a" else DENY)
    guardrail = approval_guardrail(controller, check=files.delete)
    tool = function_tool(files.delete, tool_input_guardrails=[guardrail])
    step = [call("delete", f"c{path}", path=path) for path in "ab"]
    result = await Runner.run(scripted_agent(step, tools=[tool]), "go")
    assert result.interruptions == []
    assert files.calls == [("delete", "a", False)]
    assert "Approval denied: not today" in outputs(result)


async def test_a_function_tool_keeps_the_check_of_its_function(files: Files) -> None:
    controller = ScriptedReviewer(DENY)
    await run_tool(controller, function_tool(files.delete), call("delete", path="a"))
    assert files.calls == []
    assert len(controller.asked) == 1


async def test_a_tool_that_always_needs_approval_is_always_asked_about(files: Files) -> None:
    controller = ScriptedReviewer(DENY)
    tool = function_tool(files.read, needs_approval=True)
    await run_tool(controller, tool, call("read", path="a"))
    assert files.calls == []
    assert len(controller.asked) == 1


async def test_a_needs_approval_function_cannot_be_combined(files: Files) -> None:
    async def never(context: Any, args: dict[str, Any], call_id: str) -> bool:
        return False

    controller = ApprovalController()
    with pytest.raises(ValueError, match="has a `needs_approval` function"):
        require_approval(function_tool(files.read, needs_approval=never), controller)
    with pytest.raises(TypeError, match="options apply to a function"):
        require_approval(function_tool(files.read), controller, name_override="other")


async def test_interruptions_of_tools_without_a_gate_are_asked_about(files: Files) -> None:
    controller = ScriptedReviewer(DENY)
    tool = function_tool(files.read, needs_approval=True)
    agent = scripted_agent([call("read", path="a")], tools=[tool])
    await run_with_approval(agent, "go", controller)
    assert files.calls == []
    assert [request.payload for request in controller.asked] == [{"path": "a"}]


@pytest.mark.parametrize(
    ("action", "payload"),
    [
        ({"commands": ["ls -la"]}, {"command": "ls -la"}),
        ({"commands": ["cd /", "rm -rf x"]}, None),
    ],
)
async def test_a_shell_call_shows_its_commands(action: Any, payload: Any) -> None:
    ran: list[Any] = []

    def execute(request: Any) -> str:
        ran.append(request)
        return ""

    from openai.types.responses import ResponseFunctionShellToolCall

    item = ResponseFunctionShellToolCall.model_validate(
        {
            "id": "s1",
            "call_id": "s1",
            "type": "shell_call",
            "status": "completed",
            "action": {"timeout_ms": None, "max_output_length": None, **action},
        }
    )
    controller = ScriptedReviewer(DENY)
    tool = ShellTool(executor=execute, needs_approval=True)
    await run_with_approval(scripted_agent([item], tools=[tool]), "go", controller)
    assert ran == []
    [request] = controller.asked
    if payload is not None:
        assert request.payload == payload
    else:
        assert request.payload["action"]["commands"] == action["commands"]


async def test_the_call_of_a_nested_agent_is_asked_about(files: Files) -> None:
    controller = ScriptedReviewer(lambda r: APPROVE if r.payload["path"] == "a" else DENY)
    inner = scripted_agent(
        [call("delete", "i1", path="a"), call("delete", "i2", path="b")],
        tools=[require_approval(files.delete, controller)],
        name="inner",
    )
    tool = inner.as_tool(tool_name="helper", tool_description="Deletes files.")
    outer = scripted_agent([call("helper", "o1", input="delete a and b")], tools=[tool])
    result = await run_with_approval(outer, "go", controller)
    assert result.final_output == "done"
    assert files.calls == [("delete", "a", False)]
    assert len(controller.asked) == 2


async def test_a_streamed_run_is_resumed_with_the_answers(files: Files) -> None:
    controller = ScriptedReviewer(APPROVE)
    agent = scripted_agent(
        [call("delete", path="a")], tools=[require_approval(files.delete, controller)]
    )
    streamed = Runner.run_streamed(agent, "go")
    async for _ in streamed.stream_events():
        pass
    state = streamed.to_state()
    await answer_interruptions(state, controller)
    streamed = Runner.run_streamed(agent, state)
    async for _ in streamed.stream_events():
        pass
    assert streamed.final_output == "done"
    assert files.calls == [("delete", "a", False)]


MCP_SERVER = """
from pathlib import Path
from mcp.server.mcpserver import MCPServer

server = MCPServer("files", log_level="ERROR")

@server.tool()
def read_file(path: str) -> str:
    Path("ran").open("a").write(f"read {path}\\n")
    return "contents"

@server.tool()
def delete_file(path: str) -> str:
    Path("ran").open("a").write(f"delete {path}\\n")
    return "deleted"

@server.tool()
def wipe(path: str) -> str:
    Path("ran").open("a").write(f"wipe {path}\\n")
    return "wiped"

server.run()
"""


async def test_the_tools_of_an_mcp_server_are_gated(project: Path) -> None:
    (project / "server.py").write_text(MCP_SERVER)
    controller = ScriptedReviewer(
        lambda request: APPROVE if request.payload["path"] == "a" else DENY,
        engine=engine(("allow", "mcp__files__read_*"), ("deny", "mcp__files__wipe")),
    )
    server = MCPServerStdio(
        {"command": sys.executable, "args": ["server.py"], "cwd": str(project)},
        name="local",
        **mcp_server_options(controller, "files"),
    )
    step = [
        call("read_file", "c1", path="x"),
        call("wipe", "c2", path="x"),
        call("delete_file", "c3", path="a"),
        call("delete_file", "c4", path="b"),
    ]
    async with server:
        agent = scripted_agent(step, tools=[])
        agent.mcp_servers = [server]
        result = await run_with_approval(agent, "go", controller)
    assert result.final_output == "done"
    assert sorted((project / "ran").read_text().splitlines()) == ["delete a", "read x"]
    assert [request.tool_name for request in controller.asked] == ["mcp__files__delete_file"] * 2
    assert any("Blocked by the policy" in str(output) for output in outputs(result))


# --- The example --------------------------------------------------------------------------------


def test_the_example_runs(home: Path) -> None:
    example = Path(__file__).parents[1] / "examples" / "openai_agents_approval.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "sent report.txt to alice@example.com" in done.stdout
    assert "sent report.txt to mallory@example.net" not in done.stdout
    assert done.stdout.endswith("All files are handled.\n")
