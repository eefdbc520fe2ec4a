"""PydanticAI: the capability, the toolset, deferred calls, and resumed runs."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolset,
    RunContext,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.capabilities import Toolset as ToolsetCapability
from pydantic_ai.messages import (
    DeferredToolResultsEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, ToolsetTool, WrapperToolset

from tool_approval import (
    ApprovalContext,
    ApprovalController,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalScope,
    Engine,
    Policy,
    UncomparablePayloadError,
    requires_approval,
)
from tool_approval.frameworks.pydantic_ai import (
    METADATA_KEY,
    ApprovalToolset,
    ToolApproval,
    answer_deferred_calls,
    approval_check,
    deferred_call_handler,
)

YES = ApprovalDecision(True)
SESSION = ApprovalDecision(True, ApprovalScope.SESSION)
NO = ApprovalDecision(False, note="not now")

Ask = Callable[[ApprovalRequest], Any]


class Reviewer(ApprovalController):
    """A controller whose reviewer gives these answers in turn."""

    def __init__(self, *answers: Any, **options: Any) -> None:
        super().__init__(**options)
        self.answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(request)
        await asyncio.sleep(0)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            answer = await answer(request)
        return answer  # type: ignore[no-any-return]


class Tools:
    """The tools of the tests. They record the calls that ran."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

        @requires_approval(description=lambda args: f"Delete {args['path']}")
        def delete_file(path: str, tags: list[str] | None = None) -> str:
            self.ran.append(("delete_file", path, tags))
            return f"deleted {path}"

        async def read_file(path: str) -> str:
            self.ran.append(("read_file", path))
            return f"content of {path}"

        self.delete_file = delete_file
        self.read_file = read_file

    def toolset(self, **options: Any) -> FunctionToolset[Any]:
        return FunctionToolset([self.delete_file, self.read_file], **options)


def model(*steps: list[ToolCallPart]) -> FunctionModel:
    """A model that makes these calls, and then repeats the results of its last calls."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        done = sum(isinstance(message, ModelResponse) for message in messages)
        if done < len(steps):
            return ModelResponse(parts=[replace(call) for call in steps[done]])
        return ModelResponse(parts=[TextPart(json.dumps(results(messages)))])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        for index, part in enumerate(respond(messages, info).parts):
            if isinstance(part, ToolCallPart):
                call = part.args_as_json_str()
                yield {index: DeltaToolCall(part.tool_name, call, tool_call_id=part.tool_call_id)}
            else:
                assert isinstance(part, TextPart)
                yield part.content

    return FunctionModel(respond, stream_function=stream)


def results(messages: list[ModelMessage]) -> dict[str, str]:
    """The last results that the model got: their outcome and content."""
    found: dict[str, str] = {}
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    found[part.tool_call_id] = f"{part.outcome}: {part.content}"
    return found


def delete(path: str, call_id: str = "1", **args: Any) -> ToolCallPart:
    return ToolCallPart("delete_file", {"path": path, **args}, tool_call_id=call_id)


def read(path: str, call_id: str = "1") -> ToolCallPart:
    return ToolCallPart("read_file", {"path": path}, tool_call_id=call_id)


@pytest.fixture
def tools() -> Tools:
    return Tools()


Build = Callable[[FunctionModel, Tools, ApprovalController], Agent[None, Any]]


def agent_with_toolset(
    model: FunctionModel, tools: Tools, controller: ApprovalController
) -> Agent[None, Any]:
    return Agent(model, toolsets=[ApprovalToolset(tools.toolset(), controller)])


def agent_with_capability(
    model: FunctionModel, tools: Tools, controller: ApprovalController
) -> Agent[None, Any]:
    return Agent(
        model,
        tools=[tools.delete_file, tools.read_file],
        capabilities=[ToolApproval(controller)],
    )


def agent_with_handler(
    model: FunctionModel, tools: Tools, controller: ApprovalController
) -> Agent[None, Any]:
    return Agent(
        model,
        toolsets=[tools.toolset().approval_required(approval_check(controller))],
        capabilities=[HandleDeferredToolCalls(deferred_call_handler(controller))],
    )


builders = pytest.mark.parametrize(
    "build", [agent_with_toolset, agent_with_capability, agent_with_handler]
)
"""The ways to use the integration, which all have to behave the same."""


async def run(agent: Agent[None, Any], **options: Any) -> dict[str, str]:
    result = await agent.run("Work", **options)
    return json.loads(result.output)  # type: ignore[no-any-return]


# --- Decisions ------------------------------------------------------------------------------------


@builders
async def test_a_tool_that_does_not_ask_runs(build: Build, tools: Tools) -> None:
    controller = Reviewer()
    assert await run(build(model([read("a")]), tools, controller)) == {
        "1": "success: content of a"
    }
    assert tools.ran == [("read_file", "a")]
    assert controller.asked == []


@builders
async def test_an_approved_call_runs(build: Build, tools: Tools) -> None:
    controller = Reviewer(YES)
    assert await run(build(model([delete("a")]), tools, controller)) == {"1": "success: deleted a"}
    assert tools.ran == [("delete_file", "a", None)]
    assert [one.description for one in controller.asked] == ["Delete a"]
    assert controller.asked[0].payload == {"path": "a", "tags": None}


@builders
async def test_a_denied_call_does_not_run(build: Build, tools: Tools) -> None:
    answer = await run(build(model([delete("a")]), tools, Reviewer(NO)))
    outcome, _, message = answer["1"].partition(": ")
    assert outcome in {"failed", "denied"}
    assert message == "The call was not executed. Approval denied: not now"
    assert tools.ran == []


@builders
async def test_the_strict_mode_denies(build: Build, tools: Tools) -> None:
    answer = await run(build(model([delete("a")]), tools, Reviewer(mode="strict")))
    assert answer["1"].endswith("Approval denied: Strict mode: approval required")
    assert tools.ran == []


@builders
async def test_the_mode_approve_all_approves(build: Build, tools: Tools) -> None:
    controller = Reviewer(mode="approve_all")
    await run(build(model([delete("a")]), tools, controller))
    assert tools.ran == [("delete_file", "a", None)]


@builders
async def test_an_approval_for_the_session_covers_equal_calls(build: Build, tools: Tools) -> None:
    controller = Reviewer(SESSION, NO)
    steps = [[delete("a", "1")], [delete("a", "2")], [delete("b", "3")]]
    answer = await run(build(model(*steps), tools, controller))
    assert [one.description for one in controller.asked] == ["Delete a", "Delete b"]
    assert tools.ran == [("delete_file", "a", None)] * 2
    assert answer["3"].endswith("not now")


@builders
@pytest.mark.parametrize(
    ("rule", "call", "ran", "asked"),
    [
        (("allow", "delete_file"), delete("a"), 1, 0),
        (("ask", "delete_file"), delete("a"), 1, 1),
        (("deny", "delete_file"), delete("a"), 0, 0),
        (("ask", "Read"), read("a"), 1, 1),
        (("deny", "Read"), read("a"), 0, 0),
    ],
)
async def test_the_policy_decides(
    build: Build,
    tools: Tools,
    project: Path,
    rule: tuple[Any, str],
    call: ToolCallPart,
    ran: int,
    asked: int,
) -> None:
    controller = Reviewer(YES, engine=Engine(Policy(rules=(rule,))))
    answer = await run(build(model([call]), tools, controller))
    assert len(tools.ran) == ran
    assert len(controller.asked) == asked
    if rule[0] == "deny":
        assert answer["1"].startswith("failed: The call was not executed. Blocked by the policy")


@builders
async def test_a_tool_can_block_a_call(build: Build, tools: Tools) -> None:
    def check_approval(ctx: ApprovalContext) -> ApprovalRequest | None:
        raise PermissionError("outside the sandbox")

    tools.delete_file.check_approval = check_approval  # type: ignore[attr-defined]
    answer = await run(build(model([delete("a")]), tools, Reviewer(YES)))
    assert answer["1"] == "failed: The call was not executed. outside the sandbox"
    assert tools.ran == []


@builders
@pytest.mark.parametrize(
    "check", [lambda ctx: 1 / 0, lambda ctx: "yes", lambda ctx: True], ids=["raise", "str", "bool"]
)
async def test_a_broken_check_is_an_error(build: Build, tools: Tools, check: Any) -> None:
    tools.delete_file.check_approval = check  # type: ignore[attr-defined]
    with pytest.raises((ZeroDivisionError, TypeError)):
        await run(build(model([delete("a")]), tools, Reviewer(YES)))
    assert tools.ran == []


@builders
async def test_calls_of_one_step(build: Build, tools: Tools) -> None:
    def by_path(request: ApprovalRequest) -> Any:
        async def answer() -> ApprovalDecision:
            return YES if request.payload["path"] in {"a", "c"} else NO

        return answer()

    step = [delete("a", "1"), delete("b", "2"), delete("c", "3"), read("d", "4")]
    controller = Reviewer(by_path, by_path, by_path)
    answer = await run(build(model(step), tools, controller))
    assert sorted(tools.ran) == [
        ("delete_file", "a", None),
        ("delete_file", "c", None),
        ("read_file", "d"),
    ]
    assert answer["2"].endswith("not now")


@builders
async def test_calls_of_a_group_are_asked_about_together(build: Build, tools: Tools) -> None:
    def check_approval(ctx: ApprovalContext) -> ApprovalRequest | None:
        return ApprovalRequest(
            tool_name="delete_file", description="x", payload=ctx.args, group_id="batch"
        )

    tools.delete_file.check_approval = check_approval  # type: ignore[attr-defined]
    controller = Reviewer(YES)
    await run(build(model([delete("a", "1"), delete("b", "2")]), tools, controller))
    assert len(tools.ran) == 2
    assert [one.description for one in controller.asked] == ["2 related calls"]


# --- Failures while asking ------------------------------------------------------------------------


@builders
async def test_an_exception_of_the_reviewer_ends_the_run(build: Build, tools: Tools) -> None:
    agent = build(model([delete("a", "1"), delete("b", "2")]), tools, Reviewer(OSError("gone"), NO))
    with pytest.raises(OSError, match="gone"):
        await run(agent)
    assert tools.ran == []


@builders
async def test_an_unreachable_reviewer_is_a_denial(build: Build, tools: Tools) -> None:
    from tool_approval import ApprovalUnavailableError

    controller = Reviewer(ApprovalUnavailableError("there is no terminal"))
    answer = await run(build(model([delete("a")]), tools, controller))
    assert answer["1"].endswith("The call was not executed. there is no terminal")
    assert tools.ran == []


@builders
async def test_a_cancelled_run_does_not_run_the_call(build: Build, tools: Tools) -> None:
    asked = asyncio.Event()

    async def never(request: ApprovalRequest) -> ApprovalDecision:
        asked.set()
        await asyncio.Event().wait()
        return YES

    task = asyncio.ensure_future(run(build(model([delete("a")]), tools, Reviewer(never))))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tools.ran == []


@builders
async def test_an_answer_of_another_type_is_an_error(build: Build, tools: Tools) -> None:
    async def malformed(request: ApprovalRequest) -> Any:
        return True

    with pytest.raises(TypeError, match="must return an `ApprovalDecision`"):
        await run(build(model([delete("a")]), tools, Reviewer(malformed)))
    assert tools.ran == []


# --- Arguments ------------------------------------------------------------------------------------


@dataclass
class Changing(AbstractCapability[Any]):
    """A capability that changes arguments before a tool runs."""

    change: Callable[[dict[str, Any]], dict[str, Any]]

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: dict[str, Any]
    ) -> dict[str, Any]:
        return self.change(args)


async def test_arguments_that_another_capability_changed_are_asked_about(tools: Tools) -> None:
    controller = Reviewer(YES)
    changing = Changing(lambda args: {**args, "path": "/etc/passwd"})
    gate = ToolApproval[Any](controller)
    for capabilities in ([gate, changing], [changing, gate]):
        controller.answers.append(YES)
        agent = Agent(model([delete("a")]), tools=[tools.delete_file], capabilities=capabilities)
        await run(agent)
        assert controller.asked[-1].description == "Delete /etc/passwd"
        assert tools.ran.pop() == ("delete_file", "/etc/passwd", None)


@dataclass
class ChangingToolset(AbstractCapability[Any]):
    """A capability whose toolset changes arguments."""

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        class Wrapper(WrapperToolset[Any]):
            async def call_tool(self, name: str, args: Any, ctx: Any, tool: Any) -> Any:
                return await super().call_tool(name, {**args, "path": "b"}, ctx, tool)

        return Wrapper(toolset)


@pytest.mark.parametrize("is_first", [True, False])
async def test_no_capability_is_between_the_approval_and_the_tool(
    tools: Tools, is_first: bool
) -> None:
    controller = Reviewer(YES)
    capabilities: list[Any] = [ToolApproval(controller), ChangingToolset()]
    if not is_first:
        capabilities.reverse()
    await run(Agent(model([delete("a")]), tools=[tools.delete_file], capabilities=capabilities))
    assert controller.asked[0].description == "Delete b"
    assert tools.ran == [("delete_file", "b", None)]


async def test_arguments_that_change_after_the_approval_do_not_run(tools: Tools) -> None:
    paths = iter(["a", "b"])
    changing = Changing(lambda args: {**args, "path": next(paths)})
    controller = Reviewer(YES)
    agent = Agent(
        model([delete("x")]),
        tools=[tools.delete_file],
        capabilities=[changing, ToolApproval(controller)],
    )
    answer = await run(agent)
    assert controller.asked[0].description == "Delete a"
    assert "the arguments of the call changed after it was approved" in answer["1"]
    assert tools.ran == []


@pytest.mark.parametrize("defer", [False, True])
async def test_arguments_that_change_while_asking_do_not_run(tools: Tools, defer: bool) -> None:
    seen: list[dict[str, Any]] = []

    def remember(args: dict[str, Any]) -> dict[str, Any]:
        seen.append(args)
        return args

    async def change(request: ApprovalRequest) -> ApprovalDecision:
        for args in seen:
            args["path"] = "b"
            args["tags"].append("y")
        request.payload["path"] = "c"
        return YES

    controller = Reviewer(change)
    gate: list[Any] = [ToolApproval(controller)] if defer else []
    toolset: AbstractToolset[Any] = tools.toolset()
    agent = Agent(
        model([delete("a", tags=["x"])]),
        toolsets=[toolset if defer else ApprovalToolset(toolset, controller)],
        capabilities=[Changing(remember), *gate],
    )
    await run(agent)
    assert tools.ran == [("delete_file", "a", ["x"])]


async def test_a_check_cannot_change_the_arguments(tools: Tools) -> None:
    def check_approval(ctx: ApprovalContext) -> ApprovalRequest | None:
        ctx.args["path"] = "b"
        return None

    tools.delete_file.check_approval = check_approval  # type: ignore[attr-defined]
    await run(agent_with_toolset(model([delete("a")]), tools, Reviewer()))
    assert tools.ran == [("delete_file", "a", None)]


class Edit(BaseModel):
    path: Path
    lines: set[int]


async def test_arguments_can_be_models(tools: Tools) -> None:
    @requires_approval(description=lambda args: f"Edit {args['edit'].path}")
    def edit_file(edit: Edit, modes: set[str]) -> str:
        tools.ran.append((edit.path, edit.lines, modes))
        return "edited"

    args = {"edit": {"path": "a", "lines": [1]}, "modes": ["w", "r"]}
    call = ToolCallPart("edit_file", args, tool_call_id="1")
    for build in (
        lambda controller: Agent(
            model([call]), toolsets=[ApprovalToolset(FunctionToolset([edit_file]), controller)]
        ),
        lambda controller: Agent(
            model([call]), tools=[edit_file], capabilities=[ToolApproval(controller)]
        ),
    ):
        controller = Reviewer(YES)
        await run(build(controller))
        assert controller.asked[0].description == "Edit a"
        assert tools.ran.pop() == (Path("a"), {1}, {"r", "w"})


async def test_arguments_that_cannot_be_copied_are_an_error(tools: Tools) -> None:
    changing = Changing(lambda args: {**args, "path": (one for one in "abc")})
    agent = Agent(
        model([delete("a")]),
        tools=[tools.delete_file],
        capabilities=[changing, ToolApproval(Reviewer(YES))],
    )
    with pytest.raises(UncomparablePayloadError, match="cannot be copied"):
        await run(agent)
    assert tools.ran == []


# --- Tools ----------------------------------------------------------------------------------------


class Files:
    """An approval-aware object whose methods are tools."""

    def __init__(self, ran: list[Any]) -> None:
        self.ran = ran

    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
        if ctx.tool_name == "write_file":
            return ApprovalRequest(tool_name="write_file", description="Write", payload=ctx.args)
        return None

    def write_file(self, path: str) -> str:
        """Write a file."""
        self.ran.append(path)
        return "written"


@pytest.mark.parametrize("kind", ["method", "partial", "toolset", "wrapper"])
async def test_what_can_be_approval_aware(tools: Tools, kind: str) -> None:
    files = Files(tools.ran)

    def write_file(path: str) -> str:
        return files.write_file(path)

    class AwareToolset(FunctionToolset[Any]):
        check_approval = files.check_approval

    class AwareWrapper(WrapperToolset[Any]):
        check_approval = files.check_approval

    aware: AbstractToolset[Any]
    if kind == "method":
        aware = FunctionToolset([files.write_file])
    elif kind == "partial":
        write_file.check_approval = files.check_approval  # type: ignore[attr-defined]
        bound = partial(write_file)
        bound.__name__ = bound.__qualname__ = "write_file"  # type: ignore[attr-defined]
        aware = FunctionToolset([bound])
    elif kind == "toolset":
        aware = AwareToolset([write_file])
    else:
        aware = AwareWrapper(FunctionToolset([write_file]))
    call = ToolCallPart("write_file", {"path": "a"}, tool_call_id="1")
    controller = Reviewer(NO, YES)
    for _ in range(2):
        await run(Agent(model([call]), toolsets=[ApprovalToolset(aware, controller)]))
    assert [one.description for one in controller.asked] == ["Write", "Write"]
    assert tools.ran == ["a"]


@pytest.mark.parametrize("position", ["inside", "outside"])
@pytest.mark.parametrize(
    "wrapping", ["prefix", "rename", "combine", "prepare", "dynamic", "filter"]
)
@pytest.mark.parametrize("build", ["toolset", "capability", "handler"])
async def test_wrapped_toolsets(tools: Tools, wrapping: str, position: str, build: str) -> None:
    name = {"prefix": "x_delete_file", "rename": "remove"}.get(wrapping, "delete_file")
    controller = Reviewer(NO, YES)

    def wrap(toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        if wrapping == "prefix":
            return toolset.prefixed("x")
        if wrapping == "rename":
            return toolset.renamed({"remove": "delete_file"})
        if wrapping == "combine":
            return CombinedToolset([toolset])
        if wrapping == "prepare":
            return toolset.prepared(lambda ctx, defs: [replace(one) for one in defs])
        if wrapping == "filter":
            return toolset.filtered(lambda ctx, tool_def: True)
        from pydantic_ai.toolsets import DynamicToolset

        return DynamicToolset(lambda ctx: toolset)

    def gate(toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        if build == "toolset":
            return ApprovalToolset(toolset, controller)
        if build == "handler":
            return toolset.approval_required(approval_check(controller))
        return toolset

    toolset: AbstractToolset[Any] = tools.toolset()
    gated = wrap(gate(toolset)) if position == "inside" else gate(wrap(toolset))
    capabilities: dict[str, list[AbstractCapability[Any]]] = {
        "toolset": [],
        "capability": [ToolApproval(controller)],
        "handler": [HandleDeferredToolCalls(deferred_call_handler(controller))],
    }
    call = ToolCallPart(name, {"path": "a"}, tool_call_id="1")
    for _ in range(2):
        agent = Agent(model([call]), toolsets=[gated], capabilities=capabilities[build])
        await run(agent)
    assert [one.description for one in controller.asked] == ["Delete a", "Delete a"]
    assert tools.ran == [("delete_file", "a", None)]


async def test_a_tool_of_another_toolset_with_the_same_name_is_not_confused(tools: Tools) -> None:
    def delete_file(path: str) -> str:
        return "harmless"

    controller = Reviewer(NO)
    gated = tools.toolset().approval_required(approval_check(controller)).prefixed("x")
    agent = Agent(
        model([ToolCallPart("x_delete_file", {"path": "a"}, tool_call_id="1")]),
        tools=[delete_file],
        toolsets=[gated],
        capabilities=[HandleDeferredToolCalls(deferred_call_handler(controller))],
    )
    await run(agent)
    assert len(controller.asked) == 1
    assert tools.ran == []


async def test_a_tool_that_cannot_be_found_needs_approval(tools: Tools) -> None:
    controller = Reviewer()
    is_required = approval_check(controller)
    seen: list[Any] = []

    def check(ctx: RunContext[Any], tool_def: Any, args: dict[str, Any]) -> bool:
        seen.append(args)
        return is_required(replace(ctx, tool_manager=None), tool_def, args)

    agent = Agent(
        model([read("a")]),
        output_type=[str, DeferredToolRequests],
        toolsets=[tools.toolset().approval_required(check)],
    )
    result = await agent.run("Work")
    assert isinstance(result.output, DeferredToolRequests)
    assert seen
    assert tools.ran == []


@pytest.mark.parametrize("build", ["toolset", "capability", "handler"])
async def test_a_tool_that_requires_approval_is_always_asked_about(
    tools: Tools, build: str
) -> None:
    toolset: FunctionToolset[Any] = FunctionToolset()
    toolset.add_function(tools.read_file, requires_approval=True)
    controller = Reviewer(NO, YES)
    gates: dict[str, dict[str, Any]] = {
        "toolset": {"toolsets": [ApprovalToolset(toolset, controller)]},
        "capability": {"toolsets": [toolset], "capabilities": [ToolApproval(controller)]},
        "handler": {
            "toolsets": [toolset],
            "capabilities": [HandleDeferredToolCalls(deferred_call_handler(controller))],
        },
    }
    for _ in range(2):
        await run(Agent(model([read("a")]), **gates[build]))
    assert [one.payload for one in controller.asked] == [{"path": "a"}] * 2
    assert tools.ran == [("read_file", "a")]


async def test_a_tool_that_asks_itself_is_asked_about(tools: Tools) -> None:
    def wipe(ctx: RunContext[Any], disk: str) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"reason": "it is a disk"})
        tools.ran.append(disk)
        return str(ctx.tool_call_metadata)

    call = ToolCallPart("wipe", {"disk": "sda"}, tool_call_id="1")
    controller = Reviewer(NO, YES)
    for _ in range(2):
        agent = Agent(model([call]), tools=[wipe], capabilities=[ToolApproval(controller)])
        await run(agent)
    assert tools.ran == ["sda"]
    assert len(controller.asked) == 2


async def test_a_tool_whose_function_cannot_be_found_is_an_error(tools: Tools) -> None:
    class Hiding(WrapperToolset[Any]):
        async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
            async def call(args: dict[str, Any], ctx: RunContext[Any]) -> Any:
                return tools.ran.append(args)

            found: dict[str, Any] = await super().get_tools(ctx)  # type: ignore[assignment]
            return {name: replace(tool, call_func=call) for name, tool in found.items()}

    agent = Agent(
        model([read("a")]), toolsets=[ApprovalToolset(Hiding(tools.toolset()), Reviewer())]
    )
    with pytest.raises(TypeError, match="cannot find the function of the tool `read_file`"):
        await run(agent)
    assert tools.ran == []


async def test_the_context_of_a_check(tools: Tools) -> None:
    seen: list[dict[str, Any]] = []

    def check_approval(ctx: ApprovalContext) -> ApprovalRequest | None:
        seen.append(ctx.metadata)
        return None

    tools.delete_file.check_approval = check_approval  # type: ignore[attr-defined]
    toolset = ApprovalToolset(
        tools.toolset(), Reviewer(), metadata=lambda ctx: {"caller": ctx.deps}
    )
    agent = Agent(model([delete("a")]), toolsets=[toolset], deps_type=str)
    result = await agent.run("Work", deps="ada", conversation_id="chat-1")
    assert seen == [
        {
            "run_id": result.run_id,
            "session_id": "chat-1",
            "tool_call_id": "1",
            "caller": "ada",
        }
    ]


async def test_the_tools_of_the_framework_are_not_asked_about(tools: Tools, project: Path) -> None:
    controller = Reviewer(YES, engine=Engine(Policy()))
    files = ToolsetCapability(tools.toolset(), id="files", description="x", defer_loading=True)
    load = ToolCallPart("load_capability", {"id": "files"}, tool_call_id="1")
    agent = Agent(model([load], [delete("a", "2")]), capabilities=[ToolApproval(controller), files])
    await run(agent)
    assert [one.tool_name for one in controller.asked] == ["delete_file"]
    assert tools.ran == [("delete_file", "a", None)]


async def test_the_policy_knows_a_tool_by_the_name_that_the_model_uses(
    tools: Tools, project: Path
) -> None:
    engine = Engine(Policy(rules=(("deny", "mcp__files__delete_*"),)))
    agent = Agent(
        model([ToolCallPart("mcp__files__delete_file", {"path": "a"}, tool_call_id="1")]),
        toolsets=[tools.toolset().prefixed("mcp__files_")],
        capabilities=[ToolApproval(Reviewer(YES, engine=engine))],
    )
    assert "Blocked by the policy" in (await run(agent))["1"]
    assert tools.ran == []


def test_a_capability_that_the_model_loads_is_an_error() -> None:
    with pytest.raises(ValueError, match="cannot be loaded by the model"):
        ToolApproval(Reviewer(), id="approval", defer_loading=True)


def test_a_synchronous_run(tools: Tools) -> None:
    agent = agent_with_capability(model([delete("a")]), tools, Reviewer(YES))
    loop = asyncio.new_event_loop()  # `run_sync` would not close its own.
    asyncio.set_event_loop(loop)
    try:
        assert json.loads(agent.run_sync("Work").output) == {"1": "success: deleted a"}
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def test_the_events_of_a_run_name_who_answered(tools: Tools, project: Path) -> None:
    engine = Engine(Policy(rules=(("deny", "delete_file"),)))
    by_ada = ApprovalDecision(True, answered_by="ada")
    for controller, origin in (
        (Reviewer(by_ada), "ada"),
        (Reviewer(NO), "reviewer"),
        (Reviewer(mode="approve_all"), None),
        (Reviewer(engine=engine), None),
    ):
        found: list[dict[str, str]] = []

        async def remember(ctx: RunContext[None], events: Any, found: Any = found) -> None:
            async for event in events:
                if isinstance(event, DeferredToolResultsEvent):
                    found.append(event.results.answered_by)

        agent = agent_with_capability(model([delete("a")]), tools, controller)
        await agent.run("Work", event_stream_handler=remember)
        assert found == ([{"1": origin}] if origin else [])


# --- Runs that are resumed ------------------------------------------------------------------------


def durable_agent(
    model: FunctionModel, tools: Tools, controller: ApprovalController, **options: Any
) -> Agent[None, Any]:
    return Agent(
        model,
        output_type=[str, DeferredToolRequests],
        tools=[tools.delete_file, tools.read_file],
        capabilities=[*options.pop("before", []), ToolApproval(controller, resolve=False)],
        **options,
    )


REQUESTS = TypeAdapter(DeferredToolRequests)
RESULTS = TypeAdapter(DeferredToolResults)


async def pause(agent: Agent[None, Any]) -> tuple[bytes, bytes]:
    """Run until calls are deferred. Returns what a program stores."""
    result = await agent.run("Work")
    assert isinstance(result.output, DeferredToolRequests)
    return result.all_messages_json(), REQUESTS.dump_json(result.output)


async def resume(
    agent: Agent[None, Any], messages: bytes, answers: DeferredToolResults
) -> dict[str, str]:
    stored = RESULTS.validate_json(RESULTS.dump_json(answers))
    history = ModelMessagesTypeAdapter.validate_json(messages)
    result = await agent.run(message_history=history, deferred_tool_results=stored)
    return json.loads(result.output)  # type: ignore[no-any-return]


STEP = [delete("a", "1"), delete("b", "2"), read("c", "3")]


async def test_a_run_is_resumed_with_the_answers_of_another_controller(tools: Tools) -> None:
    worker = Reviewer()
    messages, requests = await pause(durable_agent(model(STEP), tools, worker))
    assert tools.ran == [("read_file", "c")]
    stored = REQUESTS.validate_json(requests)
    assert stored.metadata["1"][METADATA_KEY]["args"] == {"path": "a", "tags": None}
    assert stored.metadata["1"][METADATA_KEY]["request"]["description"] == "Delete a"

    inbox = Reviewer(YES, ApprovalDecision(False, note="keep b", answered_by="ada"))
    answers = await answer_deferred_calls(stored, inbox)
    assert [one.description for one in inbox.asked] == ["Delete a", "Delete b"]
    assert answers.answered_by == {"1": "reviewer", "2": "ada"}
    assert isinstance(answers.approvals["2"], ToolDenied)

    later = durable_agent(model(STEP), tools, Reviewer())
    answer = await resume(later, messages, answers)
    assert tools.ran == [("read_file", "c"), ("delete_file", "a", None)]
    assert answer["1"] == "success: deleted a"
    assert answer["2"] == "denied: The call was not executed. Approval denied: keep b"
    assert worker.asked == []


async def test_a_deny_that_was_added_before_the_run_is_resumed_wins(
    tools: Tools, project: Path
) -> None:
    asking = Engine(Policy(rules=(("ask", "delete_file"),)))
    messages, requests = await pause(
        durable_agent(model([delete("a")]), tools, Reviewer(engine=asking))
    )
    inbox = Reviewer(YES, engine=asking)
    answers = await answer_deferred_calls(REQUESTS.validate_json(requests), inbox)
    assert answers.approvals == {"1": ToolApproved()}

    denying = Engine(Policy(rules=(("deny", "delete_file"),)))
    by_hand = DeferredToolResults(approvals={"1": True})
    for given in (answers, by_hand):
        later = durable_agent(model([delete("a")]), tools, Reviewer(engine=denying))
        answer = await resume(later, messages, given)
        assert answer["1"].startswith("failed: The call was not executed. Blocked by the policy")
    assert tools.ran == []


async def test_a_tool_can_block_a_resumed_call(tools: Tools) -> None:
    messages, requests = await pause(durable_agent(model([delete("a")]), tools, Reviewer()))
    answers = await answer_deferred_calls(REQUESTS.validate_json(requests), Reviewer(YES))

    def check_approval(ctx: ApprovalContext) -> ApprovalRequest | None:
        raise PermissionError("outside the sandbox")

    tools.delete_file.check_approval = check_approval  # type: ignore[attr-defined]
    for given in (answers, DeferredToolResults(approvals={"1": True})):
        later = durable_agent(model([delete("a")]), tools, Reviewer())
        answer = await resume(later, messages, given)
        assert answer["1"] == "failed: The call was not executed. outside the sandbox"
    assert tools.ran == []


async def test_the_policy_decides_again_when_the_call_is_answered(
    tools: Tools, project: Path
) -> None:
    _, requests = await pause(durable_agent(model([delete("a")]), tools, Reviewer()))
    inbox = Reviewer(engine=Engine(Policy(rules=(("deny", "delete_file"),))))
    answers = await answer_deferred_calls(REQUESTS.validate_json(requests), inbox)
    denied = answers.approvals["1"]
    assert isinstance(denied, ToolDenied)
    assert denied.message.startswith("The call was not executed. Blocked by the policy")
    assert answers.answered_by == {"1": "policy"}
    assert inbox.asked == []


async def test_a_strict_worker_does_not_run_an_approved_call(tools: Tools) -> None:
    messages, requests = await pause(durable_agent(model([delete("a")]), tools, Reviewer()))
    answers = await answer_deferred_calls(REQUESTS.validate_json(requests), Reviewer(YES))
    later = durable_agent(model([delete("a")]), tools, Reviewer(mode="strict"))
    assert "Strict mode" in (await resume(later, messages, answers))["1"]
    assert tools.ran == []


@pytest.mark.parametrize(
    ("given", "ran"),
    [
        (True, [("delete_file", "a", None)]),
        (ToolApproved(override_args={"path": "b"}), [("delete_file", "b", None)]),
        (False, []),
        (ToolDenied("no"), []),
    ],
)
async def test_an_answer_that_the_application_built(tools: Tools, given: Any, ran: Any) -> None:
    messages, _ = await pause(durable_agent(model([delete("a")]), tools, Reviewer()))
    later = durable_agent(model([delete("a")]), tools, Reviewer())
    await resume(later, messages, DeferredToolResults(approvals={"1": given}))
    assert tools.ran == ran


async def test_the_policy_checks_arguments_that_a_reviewer_edited(
    tools: Tools, project: Path
) -> None:
    messages, _ = await pause(durable_agent(model([delete("a")]), tools, Reviewer()))

    def check_approval(ctx: ApprovalContext) -> ApprovalRequest | None:
        if ctx.args["path"] == "b":
            raise PermissionError("b is protected")
        return None

    tools.delete_file.check_approval = check_approval  # type: ignore[attr-defined]
    later = durable_agent(model([delete("a")]), tools, Reviewer())
    edited = DeferredToolResults(approvals={"1": ToolApproved(override_args={"path": "b"})})
    assert "b is protected" in (await resume(later, messages, edited))["1"]
    assert tools.ran == []


@pytest.mark.parametrize("kind", ["answered", "by_hand"])
async def test_the_metadata_binds_an_answer_to_the_arguments(tools: Tools, kind: str) -> None:
    messages, requests = await pause(durable_agent(model([delete("a")]), tools, Reviewer()))
    stored = REQUESTS.validate_json(requests)
    if kind == "answered":
        answers = await answer_deferred_calls(stored, Reviewer(YES))
    else:
        answers = stored.build_results(approve_all=True, metadata=stored.metadata)
    changing = Changing(lambda args: {**args, "path": "b"})
    later = durable_agent(model([delete("a")]), tools, Reviewer(), before=[changing])
    assert "the arguments of the call changed" in (await resume(later, messages, answers))["1"]
    assert tools.ran == []


def damage(metadata: dict[str, Any], kind: str) -> None:
    record = metadata["1"][METADATA_KEY]
    if kind == "args":
        record["args"]["path"] = "b"
    elif kind == "name":
        record["tool_name"] = "read_file"
    elif kind == "missing":
        del record["request"]
    elif kind == "type":
        metadata["1"][METADATA_KEY] = "yes"
    elif kind == "other_call":
        metadata["1"][METADATA_KEY] = metadata["2"][METADATA_KEY]


@pytest.mark.parametrize("kind", ["args", "name", "missing", "type", "other_call"])
async def test_a_damaged_request_is_denied(tools: Tools, kind: str) -> None:
    step = [delete("a", "1"), delete("b", "2")]
    messages, requests = await pause(durable_agent(model(step), tools, Reviewer()))
    stored = REQUESTS.validate_json(requests)
    damage(stored.metadata, kind)
    inbox = Reviewer(YES, YES)
    answers = await answer_deferred_calls(stored, inbox)
    denied = answers.approvals["1"]
    assert isinstance(denied, ToolDenied)
    assert "the stored request" in denied.message
    assert len(inbox.asked) == 1

    # Even if the application approves it, it does not run.
    by_hand = stored.build_results(approve_all=True, metadata=stored.metadata)
    later = durable_agent(model(step), tools, Reviewer())
    await resume(later, messages, by_hand)
    assert tools.ran == [("delete_file", "b", None)]


async def test_a_failure_while_answering_ends_it(tools: Tools) -> None:
    _, requests = await pause(durable_agent(model(STEP), tools, Reviewer()))
    inbox = Reviewer(OSError("gone"), YES)
    with pytest.raises(OSError, match="gone"):
        await answer_deferred_calls(REQUESTS.validate_json(requests), inbox)


async def test_calls_that_the_framework_deferred_are_answered(tools: Tools) -> None:
    """Without `ToolApproval`, the tools are named, and a call is asked about in any case."""
    agent: Agent[None, Any] = Agent(
        model([delete("a", "1"), read("b", "2")]), output_type=[str, DeferredToolRequests]
    )
    agent.tool_plain(tools.delete_file, requires_approval=True)
    agent.tool_plain(tools.read_file, requires_approval=True)
    messages, requests = await pause(agent)
    inbox = Reviewer(YES, NO)
    answers = await answer_deferred_calls(
        REQUESTS.validate_json(requests), inbox, tools={"delete_file": tools.delete_file}
    )
    assert [one.description for one in inbox.asked] == ["Delete a", "read_file(path='b')"]
    await resume(agent, messages, answers)
    assert tools.ran == [("delete_file", "a", None)]


async def test_malformed_arguments_are_denied() -> None:
    call = ToolCallPart("delete_file", '{"path": ', tool_call_id="1")
    answers = await answer_deferred_calls(DeferredToolRequests(approvals=[call]), Reviewer(YES))
    denied = answers.approvals["1"]
    assert isinstance(denied, ToolDenied)
    assert "malformed" in denied.message


async def test_calls_of_external_tools_stay_without_a_result() -> None:
    call = ToolCallPart("external", {}, tool_call_id="1")
    answers = await answer_deferred_calls(DeferredToolRequests(calls=[call]), Reviewer())
    assert answers == DeferredToolResults()


# --- A wrapper that is written by hand ------------------------------------------------------------


async def approval_tool_wrapper(
    tool_func: Callable[..., Any],
    ctx: RunContext[Any],
    tool_name: str,
    args: dict[str, Any],
    approval_controller: ApprovalController,
) -> Any:
    """Wrap a PydanticAI tool with approval checking."""
    if hasattr(tool_func, "check_approval"):
        approval_ctx = ApprovalContext(
            tool_name=tool_name,
            args=args,
            metadata={
                "run_id": getattr(ctx, "run_id", None),
                "session_id": getattr(ctx.deps, "session_id", None),
                "caller": getattr(ctx.deps, "worker_name", None),
            },
        )
        # check_approval is sync
        request = tool_func.check_approval(approval_ctx)

        if request is not None:
            # request_approval is async (user interaction, lazy presentation)
            decision = await approval_controller.request_approval(request)
            if not decision.approved:
                raise PermissionError(f"Approval denied: {decision.note}")

    # Execute the actual tool
    if asyncio.iscoroutinefunction(tool_func):
        return await tool_func(**args)
    return tool_func(**args)


async def test_a_wrapper_that_is_written_by_hand(tools: Tools) -> None:
    controller = Reviewer(YES, NO)
    agent: Agent[None, str] = Agent(model([delete("a", "1")], [read("b", "2")], [delete("c", "3")]))

    @agent.tool(name="delete_file")
    async def delete_with_approval(ctx: RunContext[None], path: str) -> str:
        return str(
            await approval_tool_wrapper(
                tools.delete_file, ctx, "delete_file", {"path": path}, controller
            )
        )

    @agent.tool(name="read_file")
    async def read_with_approval(ctx: RunContext[None], path: str) -> str:
        return str(
            await approval_tool_wrapper(
                tools.read_file, ctx, "read_file", {"path": path}, controller
            )
        )

    with pytest.raises(PermissionError, match="Approval denied: not now"):
        await agent.run("Work")
    assert tools.ran == [("delete_file", "a", None), ("read_file", "b")]


# --- The example ----------------------------------------------------------------------------------


def test_the_example_runs(home: Path) -> None:
    example = Path(__file__).parents[1] / "examples" / "pydantic_ai_approval.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "sent report.txt to alice@example.com" in done.stdout
    assert "sent report.txt to mallory@example.net" not in done.stdout
    assert "> deleted" not in done.stdout
    assert done.stdout.endswith("All files are handled.\n")
