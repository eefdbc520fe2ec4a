"""MCP servers of `mcp` and of `fastmcp`, with real clients, in both protocol eras."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
import uvicorn
from fastmcp import Client as FastClient
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from fastmcp.dependencies import Depends
from fastmcp.tools import Tool as FastTool
from fastmcp.tools.tool_transform import ArgTransform
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.shared.exceptions import MCPError
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
)
from policy_files import policy_reload, write_policy
from pydantic import BaseModel
from scripted_reviewer import APPROVE, APPROVE_SESSION, DENY, ScriptedReviewer
from tool_approval import (
    ApprovalContext,
    ApprovalController,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalUnavailableError,
    Engine,
    Policy,
    requires_approval,
)
from tool_approval.frameworks.fastmcp import ApprovalMiddleware
from tool_approval.frameworks.mcp import require_approval

LEGACY, MODERN = "legacy", "2026-07-28"

Answer = Callable[[str], Any]
"""Answers a question, by the text of the question."""


def accept(decision: Any, **content: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"decision": decision, **content})


class Server:
    """A server of one of the packages."""

    def __init__(self, package: str, mode: str) -> None:
        self.package, self.mode = package, mode
        self.calls: list[tuple[Any, ...]] = []
        self.server: Any
        if package == "mcp":
            self.server = MCPServer("files", log_level="CRITICAL")
        else:
            self.server = FastMCP("files")

        @self.add
        @requires_approval()
        def delete(path: str, force: bool = False) -> str:
            """Delete a file."""
            self.calls.append(("delete", path, force))
            return f"deleted {path}"

        @self.add
        def read(path: str) -> str:
            """Read a file."""
            self.calls.append(("read", path))
            return f"contents of {path}"

    def add(self, function: Any, **options: Any) -> Any:
        return self.server.tool(**options)(function)

    def gate(self, controller: ApprovalController, **options: Any) -> None:
        if self.package == "mcp":
            require_approval(self.server, controller, **options)
        else:
            self.server.add_middleware(ApprovalMiddleware(controller, "files", **options))

    @asynccontextmanager
    async def client(self, answer: Answer | None = None) -> AsyncIterator[_Client]:
        asked: list[Any] = []

        async def elicit(context: Any, params: Any) -> Any:
            asked.append(params)
            assert answer is not None
            result = answer(params.message)
            return await result if hasattr(result, "__await__") else result

        server = self.server if self.package == "mcp" else self.server._mcp_server
        callback = None if answer is None else elicit
        async with Client(server, mode=self.mode, elicitation_callback=callback) as client:
            yield _Client(client, asked)


class _Client:
    """A client, and what its user was asked."""

    def __init__(self, client: Any, asked: list[Any]) -> None:
        self.client, self.asked = client, asked

    async def call(self, name: str, **args: Any) -> tuple[bool, str]:
        """Return whether a call is an error, and its text."""
        result = await self.client.call_tool(name, args)
        return bool(result.is_error), result.content[0].text


@pytest.fixture(params=[LEGACY, MODERN])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["mcp", "fastmcp"])
def files(request: pytest.FixtureRequest, mode: str) -> Server:
    return Server(request.param, mode)


def engine(*rules: tuple[Any, str]) -> Engine:
    return Engine(Policy(rules=rules))


# --- The policy and the tool ---------------------------------------------------------------------


async def test_a_tool_that_is_not_approval_aware_runs(files: Server) -> None:
    files.gate(ScriptedReviewer())
    async with files.client() as client:
        assert await client.call("read", path="a") == (False, "contents of a")
    assert files.calls == [("read", "a")]


async def test_the_policy_allows_and_blocks(files: Server, project: Path) -> None:
    rules = engine(("allow", "mcp__files__read"), ("deny", "mcp__files__delete"))
    controller = ScriptedReviewer(APPROVE, engine=rules)
    files.gate(controller)
    async with files.client(lambda text: accept("approve once")) as client:
        assert await client.call("read", path="a") == (False, "contents of a")
        is_error, text = await client.call("delete", path="a")
    assert is_error
    assert text == "Blocked by the policy: `mcp__files__delete` is denied by cli policy"
    assert files.calls == [("read", "a")]
    assert client.asked == controller.asked == []


async def test_the_name_of_the_server_in_rules(project: Path) -> None:
    server = MCPServer("My files!", log_level="CRITICAL")
    controller = ScriptedReviewer(DENY, engine=engine(("allow", "mcp__My_files___ping")))
    require_approval(server, controller)

    @server.tool()
    def ping() -> str:
        return "pong"

    async with Client(server) as client:
        assert not (await client.call_tool("ping", {})).is_error


async def test_a_tool_that_is_added_later_is_gated(files: Server) -> None:
    files.gate(ScriptedReviewer(DENY))

    @files.add
    @requires_approval()
    def wipe() -> str:
        files.calls.append(("wipe",))
        return "wiped"

    async with files.client() as client:
        assert await client.call("wipe") == (True, "Approval denied: not today")
    assert files.calls == []


async def test_a_tool_blocks_its_own_calls(files: Server) -> None:
    class Block:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
            assert ctx.tool_name == "write"
            raise PermissionError("outside of the sandbox")

        def write(self, path: str) -> str:
            files.calls.append(("write", path))
            return path

    files.gate(ScriptedReviewer(APPROVE))
    files.add(Block().write)
    async with files.client() as client:
        assert await client.call("write", path="a") == (True, "outside of the sandbox")
    assert files.calls == []


@pytest.mark.parametrize("answer", [ValueError("secret"), RecursionError(), "no request", 5])
async def test_a_check_that_fails_denies_the_call(files: Server, answer: Any) -> None:
    class Broken:
        def check_approval(self, ctx: ApprovalContext) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        def write(self, path: str) -> str:
            files.calls.append(("write", path))
            return path

    controller = ScriptedReviewer(APPROVE)
    files.gate(controller)
    files.add(Broken().write)
    async with files.client(lambda text: accept("approve once")) as client:
        is_error, text = await client.call("write", path="a")
    assert is_error
    assert text.startswith("Approval denied: the approval check failed with ")
    assert "secret" not in text
    assert files.calls == []
    assert client.asked == []


async def test_unknown_tools_and_arguments_that_do_not_fit_are_errors(files: Server) -> None:
    files.gate(ScriptedReviewer(APPROVE))
    async with files.client() as client:
        assert (await client.call("nothing"))[0]
        assert (await client.call("delete"))[0]
        assert (await client.call("delete", path=["a"]))[0]
        assert (await client.call("delete", path="a", force="perhaps"))[0]
    assert files.calls == []


async def test_the_check_gets_the_arguments_that_the_function_gets(files: Server) -> None:
    seen: list[dict[str, Any]] = []

    class Check:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
            seen.append(ctx.args)
            ctx.args["size"] = 0
            return None

        def resize(self, path: str, size: int, tags: list[str] | None = None) -> str:
            files.calls.append((path, size, tags))
            return path

    files.gate(ScriptedReviewer())
    files.add(Check().resize)
    async with files.client() as client:
        await client.call("resize", path="a", size="5")
        await client.call("resize", path="a", size=5, tags=["x"])
        if files.package == "mcp":
            # This package reads lists from texts.
            await client.call("resize", path="a", size=5, tags='["x"]')
    expected: list[tuple[Any, ...]] = [("a", 5, None), ("a", 5, ["x"]), ("a", 5, ["x"])]
    assert files.calls == expected[: len(seen)]
    for args, (path, _, tags) in zip(seen, files.calls, strict=True):
        assert (args["path"], args["tags"]) == (path, tags)


# --- The user of the client ----------------------------------------------------------------------


async def test_the_user_of_the_client_is_asked(files: Server) -> None:
    controller = ScriptedReviewer(DENY)
    files.gate(controller)
    async with files.client(lambda text: accept("approve once")) as client:
        assert await client.call("delete", path="a") == (False, "deleted a")
    assert files.calls == [("delete", "a", False)]
    assert controller.asked == []
    [question] = client.asked
    assert question.message.startswith("Allow mcp__files__delete?\ndelete(path='a', force=False)")
    schema = question.requested_schema
    assert schema["properties"]["decision"]["enum"] == [
        "approve once",
        "approve for the session",
        "deny",
    ]


async def test_the_answer_is_recorded_once(files: Server, project: Path, home: Path) -> None:
    files.gate(ScriptedReviewer(DENY, engine=engine(("ask", "mcp__files__delete"))))
    async with files.client(lambda text: accept("approve once")) as client:
        assert not (await client.call("delete", path="a"))[0]
    journal = home / ".local/state/openoxide/audit/journal.ndjson"
    [record] = journal.read_text().splitlines()
    assert '"decision": "approved"' in record or '"decision":"approved"' in record


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (accept("deny"), "Approval denied"),
        (accept("deny", message="keep it"), "Approval denied: keep it"),
        (ElicitResult(action="decline"), "Approval denied: the user has declined"),
        (ElicitResult(action="cancel"), "Approval denied: the user has declined"),
        (accept("yes"), None),
        (accept("APPROVE ONCE"), None),
        (accept(True), None),
        (accept(["approve once"]), None),
        (accept(None), None),
        (ElicitResult(action="accept", content={}), None),
        (ElicitResult(action="accept", content={"approved": "approve once"}), None),
        (ElicitResult(action="accept"), None),
        (ElicitResult(action="decline", content={"decision": "approve once"}), None),
    ],
)
async def test_every_other_answer_denies(
    files: Server, answer: ElicitResult, reason: str | None
) -> None:
    controller = ScriptedReviewer(APPROVE)
    files.gate(controller)
    async with files.client(lambda text: answer) as client:
        is_error, text = await client.call("delete", path="a")
    assert is_error
    assert text.startswith("Approval denied") if reason is None else text == reason
    assert files.calls == []
    assert controller.asked == []


async def test_a_client_that_cannot_answer_denies(files: Server) -> None:
    controller = ScriptedReviewer(APPROVE)
    files.gate(controller)
    error = ErrorData(code=-32600, message="no user")
    async with files.client(lambda text: error) as client:
        try:
            is_error, _ = await client.call("delete", path="a")
            assert is_error
        except MCPError as raised:
            # In this era, the client gives up without another request.
            assert files.mode == MODERN
            assert "no user" in str(raised)
    assert files.calls == []
    assert controller.asked == []


@pytest.mark.parametrize("options", [{}, {"elicitation": False}])
async def test_the_reviewer_of_the_controller_is_asked_otherwise(
    files: Server, options: dict[str, Any]
) -> None:
    controller = ScriptedReviewer(lambda r: APPROVE if r.payload["path"] == "a" else DENY)
    files.gate(controller, **options)
    answer = (lambda text: accept("approve once")) if options else None
    async with files.client(answer) as client:
        assert await client.call("delete", path="a") == (False, "deleted a")
        assert await client.call("delete", path="b") == (True, "Approval denied: not today")
    assert files.calls == [("delete", "a", False)]
    assert [request.payload["path"] for request in controller.asked] == ["a", "b"]
    assert client.asked == []


@pytest.mark.parametrize(("mode_of_controller", "ran"), [("approve_all", True), ("strict", False)])
async def test_the_modes_answer_without_a_question(
    files: Server, mode_of_controller: Any, ran: bool
) -> None:
    files.gate(ScriptedReviewer(mode=mode_of_controller))
    async with files.client(lambda text: accept("approve once")) as client:
        await client.call("delete", path="a")
    assert bool(files.calls) is ran
    assert client.asked == []


@pytest.mark.parametrize("answer", [True, None, "approve"])
async def test_a_malformed_answer_of_the_reviewer_denies(files: Server, answer: Any) -> None:
    files.gate(ScriptedReviewer(lambda request: answer))
    async with files.client() as client:
        is_error, text = await client.call("delete", path="a")
    assert is_error
    assert text == "Approval denied: the approval check failed with TypeError"
    assert files.calls == []


async def test_hostile_text_is_escaped_and_long_text_is_cut(files: Server) -> None:
    files.gate(ScriptedReviewer())
    async with files.client(lambda text: accept("deny")) as client:
        await client.call("delete", path="\x1b[2J\u202ea\rb" + "c" * 10_000)
    [question] = client.asked
    assert "\x1b" not in question.message
    assert "\u202e" not in question.message
    assert "\r" not in question.message
    assert len(question.message) < 5000
    assert "more characters]" in question.message


# --- Several calls -------------------------------------------------------------------------------


async def test_an_approval_for_the_session_applies_to_equal_calls(files: Server) -> None:
    def answer(text: str) -> ElicitResult:
        return accept("approve for the session" if "path='a'" in text else "deny")

    files.gate(ScriptedReviewer())
    async with files.client(answer) as client:
        for path in "aaba":
            await client.call("delete", path=path)
        await client.call("delete", path="a", force=True)
    assert files.calls == [("delete", "a", False)] * 3 + [("delete", "a", True)]
    assert len(client.asked) == 3


async def test_clients_do_not_share_session_approvals(files: Server) -> None:
    if files.mode == MODERN:
        # In one process, nothing tells the clients of this era apart. See the test over HTTP.
        return
    controller = ScriptedReviewer(APPROVE_SESSION)
    files.gate(controller)
    for _ in range(2):
        async with files.client() as client:
            await client.call("delete", path="a")
            await client.call("delete", path="a")
    assert len(files.calls) == 4
    assert len(controller.asked) == 2


async def test_parallel_calls_are_decided_one_by_one(files: Server, project: Path) -> None:
    rules = engine(("allow", "mcp__files__read"), ("ask", "mcp__files__delete"))
    files.gate(ScriptedReviewer(engine=rules))

    async def answer(text: str) -> ElicitResult:
        await asyncio.sleep(0.01)
        return accept("approve once" if "path='a'" in text or "path='c'" in text else "deny")

    async with files.client(answer) as client:
        results = await asyncio.gather(
            *(client.call("delete", path=path) for path in "abcd"),
            *(client.call("read", path=path) for path in "xy"),
        )
    assert [is_error for is_error, _ in results] == [False, True, False, True, False, False]
    assert sorted(files.calls) == [
        ("delete", "a", False),
        ("delete", "c", False),
        ("read", "x"),
        ("read", "y"),
    ]


async def test_one_unanswered_question_does_not_block_others(files: Server) -> None:
    release = asyncio.Event()
    files.gate(ScriptedReviewer())

    async def answer(text: str) -> ElicitResult:
        if "path='slow'" in text:
            await release.wait()
        return accept("approve once")

    async with files.client(answer) as client:
        slow = asyncio.ensure_future(client.call("delete", path="slow"))
        while not client.asked:
            await asyncio.sleep(0.001)
        assert await client.call("delete", path="fast") == (False, "deleted fast")
        assert files.calls == [("delete", "fast", False)]
        release.set()
        assert await slow == (False, "deleted slow")


async def test_nothing_runs_if_the_call_is_cancelled_while_the_user_is_asked(
    files: Server, project: Path
) -> None:
    asked = asyncio.Event()
    rules = engine(("ask", "mcp__files__delete"), ("allow", "mcp__files__read"))
    files.gate(ScriptedReviewer(engine=rules))

    async def answer(text: str) -> ElicitResult:
        asked.set()
        await asyncio.Event().wait()
        return accept("approve once")

    async with files.client(answer) as client:
        call = asyncio.ensure_future(client.call("delete", path="a"))
        await asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await client.call("read", path="x") == (False, "contents of x")
    assert files.calls == [("read", "x")]


async def test_the_question_of_a_cancelled_call_is_closed(files: Server) -> None:
    asked, closed = asyncio.Event(), asyncio.Event()

    async def wait(request: ApprovalRequest) -> ApprovalDecision:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()
        return APPROVE

    files.gate(ScriptedReviewer(wait))
    async with files.client() as client:
        call = asyncio.ensure_future(client.call("delete", path="a"))
        await asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await closed.wait()
    assert files.calls == []


async def test_a_policy_that_changes_while_the_user_is_asked_blocks_the_call(
    files: Server, project: Path, home: Path
) -> None:
    write_policy(home, ask="mcp__files__delete")
    controller = ScriptedReviewer(engine=Engine())
    files.gate(controller)

    async def answer(text: str) -> ElicitResult:
        write_policy(home, deny="mcp__files__delete")
        await policy_reload(controller, "mcp__files__delete", "deny")
        return accept("approve once")

    async with files.client(answer) as client:
        is_error, text = await client.call("delete", path="a")
    assert is_error
    assert text.startswith("Blocked by the policy")
    assert files.calls == []


async def approve_in_another_terminal() -> None:
    """Approve the pending request with the real `openoxide` program."""
    program = os.environ.get("OPENOXIDE_PROGRAM") or shutil.which("openoxide")
    if program is None:
        pytest.fail("set OPENOXIDE_PROGRAM to the `openoxide` program, or run `cargo xtask python`")

    async def run(*arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            program, *arguments, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        assert process.returncode == 0
        return output.decode()

    while not (rows := (await run("pending", "--json")).splitlines()):
        await asyncio.sleep(0.05)
    row = json.loads(rows[0])
    await run("approve", str(row.get("request", row)["id"]))


async def test_another_terminal_answers_while_the_user_is_asked(
    files: Server, project: Path
) -> None:
    files.gate(ScriptedReviewer(engine=engine(("ask", "mcp__files__delete"))))
    approved = asyncio.Event()

    async def answer(text: str) -> ElicitResult:
        if files.mode == LEGACY:
            await asyncio.Event().wait()
        await approved.wait()
        return accept("approve once" if "path='a'" in text else "deny")

    async with files.client(answer) as client:
        for path in "ab":
            approved.clear()
            call = asyncio.ensure_future(client.call("delete", path=path))
            await approve_in_another_terminal()
            approved.set()
            is_error, _ = await call
            # The user's own denial wins, if the client still asks.
            assert is_error == (files.mode == MODERN and path == "b")


async def test_a_denial_of_the_user_wins_over_an_earlier_approval() -> None:
    from tool_approval.frameworks._mcp_gate import _OpenQuestion

    async def approved_elsewhere() -> None:
        return None

    question = _OpenQuestion(offers_session=True)
    question.start(approved_elsewhere())
    assert await question.is_decided()
    assert await question.find_denial(accept("deny")) == "Approval denied"
    assert await question.find_denial(accept("approve once")) is None


async def test_another_terminal_answers_if_nobody_else_can(files: Server, project: Path) -> None:
    rules = engine(("ask", "mcp__files__delete"))
    files.gate(NoTerminal(engine=rules, wait=60))
    async with files.client() as client:
        call = asyncio.ensure_future(client.call("delete", path="a"))
        await approve_in_another_terminal()
        assert await call == (False, "deleted a")


class NoTerminal(ApprovalController):
    async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
        raise ApprovalUnavailableError("there is no terminal")


async def test_a_call_that_nobody_can_answer_is_denied(files: Server) -> None:
    files.gate(NoTerminal())
    async with files.client() as client:
        assert await client.call("delete", path="a") == (True, "there is no terminal")
    assert files.calls == []


# --- Calls that are repeated with the answer -----------------------------------------------------


@pytest.fixture(params=["mcp", "fastmcp"])
def modern(request: pytest.FixtureRequest) -> Server:
    return Server(request.param, MODERN)


YES = accept("approve once")


async def start_call(client: _Client, name: str = "delete", **args: Any) -> InputRequiredResult:
    result = await client.client.session.call_tool(name, args, allow_input_required=True)
    assert isinstance(result, InputRequiredResult)
    return result


async def repeat_call(
    client: _Client,
    question: InputRequiredResult,
    answer: ElicitResult | None = None,
    *,
    state: str | None = "",
    **args: Any,
) -> Any:
    """Repeat a call with the answer to its question."""
    assert question.input_requests is not None
    [key] = question.input_requests
    return await client.client.session.call_tool(
        "delete",
        args,
        input_responses=None if answer is None else {key: answer},
        request_state=question.request_state if state == "" else state,
        allow_input_required=True,
    )


async def test_an_answer_applies_once(modern: Server) -> None:
    modern.gate(ScriptedReviewer())
    async with modern.client(lambda text: accept("deny")) as client:
        first = await start_call(client, path="a")
        done = await repeat_call(client, first, YES, path="a")
        assert not done.is_error
        again = await repeat_call(client, first, YES, path="a")
        assert isinstance(again, InputRequiredResult)
    assert modern.calls == [("delete", "a", False)]


async def test_an_answer_applies_to_the_call_that_was_asked_about(modern: Server) -> None:
    modern.gate(ScriptedReviewer())
    async with modern.client(lambda text: accept("deny")) as client:
        first = await start_call(client, path="a")
        with pytest.raises(MCPError):
            await repeat_call(client, first, YES, path="/etc")
        with pytest.raises(MCPError):
            await repeat_call(client, first, YES, state="forged", path="a")
        without_state = await repeat_call(client, first, YES, state=None, path="a")
        assert isinstance(without_state, InputRequiredResult)
    assert modern.calls == []


async def test_an_answer_does_not_apply_to_other_arguments_without_the_sealed_state(
    modern: Server,
) -> None:
    """The gate itself binds an answer to the call, whatever the SDK does with the state."""
    from mcp.server.request_state import RequestStateBoundary

    modern.gate(ScriptedReviewer())
    server = modern.server if modern.package == "mcp" else modern.server._mcp_server
    server.middleware[:] = [
        it for it in server.middleware if not isinstance(it, RequestStateBoundary)
    ]
    async with modern.client(lambda text: accept("deny")) as client:
        first = await start_call(client, path="a")
        other = await repeat_call(client, first, YES, path="/etc")
        assert isinstance(other, InputRequiredResult)
        # The question was withdrawn.
        again = await repeat_call(client, first, YES, path="a")
        assert isinstance(again, InputRequiredResult)
    assert modern.calls == []


async def test_a_repetition_without_an_answer_asks_again(modern: Server) -> None:
    controller = ScriptedReviewer()
    modern.gate(controller)
    async with modern.client(lambda text: accept("deny")) as client:
        first = await start_call(client, path="a")
        second = await repeat_call(client, first, path="a")
        assert isinstance(second, InputRequiredResult)
        done = await repeat_call(client, second, YES, path="a")
        assert not done.is_error
    assert modern.calls == [("delete", "a", False)]


async def test_open_questions_are_limited_and_expire(
    modern: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tool_approval.frameworks import _mcp_gate

    modern.gate(ScriptedReviewer())
    monkeypatch.setattr(_mcp_gate, "MAX_QUESTIONS", 2)
    async with modern.client(lambda text: accept("deny")) as client:
        questions = [await start_call(client, path=str(n)) for n in range(3)]
        oldest = await repeat_call(client, questions[0], YES, path="0")
        assert isinstance(oldest, InputRequiredResult)
        monkeypatch.setattr(_mcp_gate, "QUESTION_SECONDS", 0.0)
        expired = await start_call(client, path="e")
        await asyncio.sleep(0.01)
        late = await repeat_call(client, expired, YES, path="e")
        assert isinstance(late, InputRequiredResult)
    assert modern.calls == []


class Name(BaseModel):
    name: str


@pytest.mark.parametrize("answer", ["approve once", "deny"])
async def test_a_tool_that_asks_for_input_itself(modern: Server, answer: str) -> None:
    context: Any = Context if modern.package == "mcp" else FastContext

    async def greet(ctx: Any) -> Any:
        if ctx.input_responses is None:
            assert ctx.request_state is None
            params = ElicitRequestFormParams(
                message="Your name?",
                requested_schema={"type": "object", "properties": {"name": {"type": "string"}}},
            )
            return InputRequiredResult(
                input_requests={"name": ElicitRequest(params=params)}, request_state="round 2"
            )
        assert ctx.request_state == "round 2"
        assert set(ctx.input_responses) == {"name"}
        name = ctx.input_responses["name"].content["name"]
        modern.calls.append(("greet", name))
        return f"hello {name}"

    greet.__annotations__ = {"ctx": context}
    modern.add(requires_approval()(greet))
    modern.gate(ScriptedReviewer())

    def answer_both(text: str) -> ElicitResult:
        if text == "Your name?":
            return ElicitResult(action="accept", content={"name": "ann"})
        return accept(answer)

    async with modern.client(answer_both) as client:
        is_error, text = await client.call("greet")
    if answer == "deny":
        assert is_error
        assert modern.calls == []
        assert len(client.asked) == 1
    else:
        assert (is_error, text) == (False, "hello ann")
        assert modern.calls == [("greet", "ann")]
        assert [question.message[:5] for question in client.asked] == ["Allow", "Your "]


async def test_a_policy_that_changes_between_the_questions_of_a_tool_blocks_it(
    home: Path, project: Path
) -> None:
    files = Server("mcp", MODERN)
    write_policy(home, ask="mcp__files__greet")
    controller = ScriptedReviewer(engine=Engine())

    async def greet_twice(ctx: Context) -> Any:
        if ctx.request_state is None:
            write_policy(home, deny="mcp__files__greet")
            await policy_reload(controller, "mcp__files__greet", "deny")
            return InputRequiredResult(request_state="again")
        files.calls.append(("greet",))
        return "hello"

    files.add(greet_twice, name="greet")
    files.gate(controller)
    async with files.client(lambda text: accept("approve once")) as client:
        is_error, text = await client.call("greet")
    assert is_error
    assert text.startswith("Blocked by the policy")
    assert files.calls == []


async def ask_name() -> Elicit[Name]:
    return Elicit("Your name?", Name)


async def test_a_tool_with_a_resolver_that_asks(mode: str) -> None:
    files = Server("mcp", mode)

    @files.add
    @requires_approval()
    async def greet(greeting: str, who: Annotated[Name, Resolve(ask_name)]) -> str:
        files.calls.append((greeting, who.name))
        return f"{greeting} {who.name}"

    files.gate(ScriptedReviewer())

    def answer(text: str) -> ElicitResult:
        if text == "Your name?":
            return ElicitResult(action="accept", content={"name": "ann"})
        return accept("approve once")

    async with files.client(answer) as client:
        assert await client.call("greet", greeting="hi") == (False, "hi ann")
    assert files.calls == [("hi", "ann")]
    assert len(client.asked) == 2


# --- Features of `fastmcp` -----------------------------------------------------------------------


async def test_the_client_of_fastmcp(mode: str) -> None:
    files = Server("fastmcp", mode)
    files.gate(ScriptedReviewer())

    async def answer(message: str, response_type: Any, params: Any, context: Any) -> Any:
        return {"decision": "approve once" if "path='a'" in message else "deny"}

    async with FastClient(files.server, mode=mode, elicitation_handler=answer) as client:
        done = await client.call_tool("delete", {"path": "a"}, raise_on_error=False)
        denied = await client.call_tool("delete", {"path": "b"}, raise_on_error=False)
    assert not done.is_error
    assert denied.is_error
    assert files.calls == [("delete", "a", False)]


async def test_injected_parameters_are_no_arguments(mode: str) -> None:
    files = Server("fastmcp", mode)
    seen: list[dict[str, Any]] = []

    def secret() -> str:
        return "secret"

    class Check:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
            seen.append(ctx.args)
            return None

        async def send(self, to: str, ctx: FastContext, key: str = Depends(secret)) -> str:
            files.calls.append((to, key, ctx.fastmcp.name))
            return to

    files.gate(ScriptedReviewer())
    files.add(Check().send)
    async with files.client() as client:
        assert await client.call("send", to="ann") == (False, "ann")
    assert files.calls == [("ann", "secret", "files")]
    assert seen == [{"to": "ann"}]


async def test_a_mounted_server_is_gated_by_its_own_middleware(mode: str) -> None:
    child, parent = Server("fastmcp", mode), Server("fastmcp", mode)
    child.gate(ScriptedReviewer())
    parent.server.mount(child.server, namespace="child")
    async with parent.client(lambda text: accept("deny")) as client:
        assert await client.call("child_delete", path="a") == (True, "Approval denied")
    async with parent.client(lambda text: accept("approve once")) as client:
        assert await client.call("child_delete", path="a") == (False, "deleted a")
    assert child.calls == [("delete", "a", False)]
    assert client.asked[0].message.startswith("Allow mcp__files__delete?")


async def test_both_servers_may_be_gated(mode: str) -> None:
    child, parent = Server("fastmcp", mode), Server("fastmcp", mode)
    child.gate(ScriptedReviewer())
    parent.gate(ScriptedReviewer())
    parent.server.mount(child.server, namespace="child")
    async with parent.client(lambda text: accept("approve once")) as client:
        assert await client.call("child_delete", path="a") == (False, "deleted a")
    assert child.calls == [("delete", "a", False)]
    assert [question.message.split("?")[0] for question in client.asked] == [
        "Allow mcp__files__child_delete",
        "Allow mcp__files__delete",
    ]


async def test_tools_whose_function_is_hidden_need_approval(mode: str) -> None:
    child, parent = Server("fastmcp", mode), Server("fastmcp", mode)
    parent.gate(ScriptedReviewer())
    parent.server.mount(child.server, namespace="child")
    original = await parent.server.get_tool("delete")
    transformed = FastTool.from_tool(
        original, name="remove", transform_args={"path": ArgTransform(name="file")}
    )
    parent.server.add_tool(transformed)
    async with parent.client(lambda text: accept("deny")) as client:
        assert (await client.call("child_delete", path="a"))[0]
        assert (await client.call("child_read", path="a"))[0]
        assert (await client.call("remove", file="a"))[0]
    assert parent.calls == child.calls == []
    assert len(client.asked) == 3


async def test_the_version_that_is_called_is_checked(mode: str) -> None:
    files = Server("fastmcp", mode)

    @requires_approval()
    def send(to: str) -> str:
        files.calls.append((1, to))
        return to

    def send_new(to: str) -> str:
        files.calls.append((2, to))
        return to

    files.add(send, version="1")
    files.add(send_new, name="send", version="2")
    files.gate(ScriptedReviewer(DENY))
    meta: Any = {"fastmcp": {"version": "1"}}
    async with files.client() as client:
        assert await client.call("send", to="a") == (False, "a")
        old = await client.client.call_tool("send", {"to": "a"}, meta=meta)
    assert old.is_error
    assert files.calls == [(2, "a")]


async def test_a_call_of_the_program_itself_asks_the_controller() -> None:
    files = Server("fastmcp", MODERN)
    controller = ScriptedReviewer(APPROVE)
    files.gate(controller)
    await files.server.call_tool("delete", {"path": "a"})
    assert files.calls == [("delete", "a", False)]
    assert len(controller.asked) == 1


# --- Transports ----------------------------------------------------------------------------------

STDIO_SERVER = """
from pathlib import Path
from tool_approval import ApprovalController, Engine, Policy, requires_approval

{setup}

@server.tool()
@requires_approval()
def delete(path: str) -> str:
    Path("ran").open("a").write(path + "\\n")
    return "deleted"

server.run()
"""

SETUPS = {
    "mcp": """
from mcp.server.mcpserver import MCPServer
from tool_approval.frameworks.mcp import require_approval

server = MCPServer("files", log_level="CRITICAL")
require_approval(server, ApprovalController())
""",
    "fastmcp": """
import fastmcp
fastmcp.settings.show_server_banner = False
from fastmcp import FastMCP
from tool_approval.frameworks.fastmcp import ApprovalMiddleware

server = FastMCP("files")
server.add_middleware(ApprovalMiddleware(ApprovalController(), "files"))
""",
}


async def test_a_server_over_standard_input_and_output(files: Server, project: Path) -> None:
    source = STDIO_SERVER.format(setup=SETUPS[files.package])
    (project / "server.py").write_text(source)
    parameters = StdioServerParameters(
        command=sys.executable, args=["server.py"], cwd=project, env=dict(os.environ)
    )

    async def elicit(context: Any, params: Any) -> ElicitResult:
        return accept("approve for the session" if "path='a'" in params.message else "deny")

    with (project / "log").open("w") as log:
        transport = stdio_client(parameters, errlog=log)
        async with Client(transport, mode=files.mode, elicitation_callback=elicit) as client:
            results = [await client.call_tool("delete", {"path": path}) for path in "aab"]
    assert [result.is_error for result in results] == [False, False, True]
    assert (project / "ran").read_text() == "a\na\n"


@asynccontextmanager
async def http_server(files: Server) -> AsyncIterator[str]:
    """Serve over HTTP on the loopback interface."""
    if files.package == "mcp":
        app = files.server.streamable_http_app()
    else:
        app = files.server.http_app()
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        while thread.is_alive():
            await asyncio.to_thread(thread.join, 0.1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:uvicorn")
async def test_clients_over_http_do_not_share_session_approvals(files: Server) -> None:
    files.gate(ScriptedReviewer())
    asked: list[Any] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append(params)
        choices = params.requested_schema["properties"]["decision"]["enum"]
        return accept(choices[-2])

    async with http_server(files) as url:
        for _ in range(2):
            async with Client(url, mode=files.mode, elicitation_callback=elicit) as client:
                for _ in range(2):
                    assert not (await client.call_tool("delete", {"path": "a"})).is_error
    offered = {"approve for the session" in str(it.requested_schema) for it in asked}
    # A client of the newer era is not known when it calls again.
    assert len(asked) == (2 if files.mode == LEGACY else 4)
    assert offered == {files.mode == LEGACY}


# --- The example ---------------------------------------------------------------------------------


def test_the_example_runs() -> None:
    example = Path(__file__).parents[1] / "examples" / "mcp_approval.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "delete_file(b.txt): Approval denied: Keep that file." in done.stdout
