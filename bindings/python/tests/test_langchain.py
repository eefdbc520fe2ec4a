"""LangChain and LangGraph: the middleware, waiting for answers and interrupts in the graph."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware, hook_config
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from tool_approval import (
    ApprovalContext,
    ApprovalController,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalScope,
    ApprovalUnavailableError,
    Engine,
    Policy,
    UncomparablePayloadError,
    requires_approval,
)
from tool_approval.frameworks.langchain import ApprovalMiddleware

YES = ApprovalDecision(True)
SESSION = ApprovalDecision(True, ApprovalScope.SESSION)
NO = ApprovalDecision(False, note="not now")

ACCEPT = {"type": "accept", "args": None}
IGNORE = {"type": "ignore", "args": None}


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


class FakeModel(GenericFakeChatModel):
    """The framework's fake model, for agents with tools."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def model(*steps: list[ToolCall]) -> FakeModel:
    """A model that makes these calls, and then says that it is done."""

    def messages() -> Iterator[AIMessage]:
        for step in steps:
            yield AIMessage("", tool_calls=step)
        while True:
            yield AIMessage("done")

    return FakeModel(messages=messages())


class Tools:
    """The tools of the tests. They record the calls that ran."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

        @tool
        @requires_approval(description=lambda args: f"Delete {args['path']}")
        def delete_file(path: str, tags: list[str] | None = None) -> str:
            """Delete a file."""
            self.ran.append(("delete_file", path, tags))
            return f"deleted {path}"

        @tool
        def read_file(path: str) -> str:
            """Read a file."""
            self.ran.append(("read_file", path))
            return f"content of {path}"

        self.delete_file = delete_file
        self.read_file = read_file

    @property
    def all(self) -> list[BaseTool]:
        return [self.delete_file, self.read_file]


@pytest.fixture
def tools() -> Tools:
    return Tools()


def delete(path: str, call_id: str | None = "1", **args: Any) -> ToolCall:
    return ToolCall(name="delete_file", args={"path": path, **args}, id=call_id)


def read(path: str, call_id: str = "1") -> ToolCall:
    return ToolCall(name="read_file", args={"path": path}, id=call_id)


CONFIG: Any = {"configurable": {"thread_id": "thread-1"}}
INPUT: Any = {"messages": [("user", "Work")]}


def agent(
    fake: FakeModel,
    tools: Tools,
    controller: ApprovalController,
    *,
    before: Any = (),
    after: Any = (),
    more_tools: Any = (),
    **options: Any,
) -> Any:
    middleware = ApprovalMiddleware(controller, **options)
    return create_agent(
        fake,
        tools=[*tools.all, *more_tools],
        middleware=[*before, middleware, *after],
        checkpointer=InMemorySaver(),
    )


async def ainvoke(graph: Any, value: Any) -> Any:
    return await graph.ainvoke(value, CONFIG)


async def invoke(graph: Any, value: Any) -> Any:
    return await asyncio.to_thread(graph.invoke, value, CONFIG)


both = pytest.mark.parametrize("call", [ainvoke, invoke])
"""Asynchronous and synchronous agents."""

Call = Callable[[Any, Any], Any]


def results(state: Any) -> dict[str, str]:
    """The results that the model got: their status and content."""
    return {
        one.tool_call_id: f"{one.status}: {one.content}"
        for one in state["messages"]
        if isinstance(one, ToolMessage)
    }


# --- Decisions ------------------------------------------------------------------------------------


@both
async def test_a_tool_that_does_not_ask_runs(call: Call, tools: Tools) -> None:
    controller = Reviewer()
    state = await call(agent(model([read("a")]), tools, controller), INPUT)
    assert results(state) == {"1": "success: content of a"}
    assert tools.ran == [("read_file", "a")]
    assert controller.asked == []


@both
async def test_an_approved_call_runs(call: Call, tools: Tools) -> None:
    controller = Reviewer(YES)
    state = await call(agent(model([delete("a")]), tools, controller), INPUT)
    assert results(state) == {"1": "success: deleted a"}
    assert tools.ran == [("delete_file", "a", None)]
    assert [one.description for one in controller.asked] == ["Delete a"]


@both
async def test_a_denied_call_does_not_run(call: Call, tools: Tools) -> None:
    state = await call(agent(model([delete("a")]), tools, Reviewer(NO)), INPUT)
    assert results(state) == {"1": "error: The call was not executed. Approval denied: not now"}
    assert state["messages"][-1].content == "done"
    assert tools.ran == []


@both
@pytest.mark.parametrize(("mode", "ran"), [("strict", 0), ("approve_all", 1)])
async def test_the_modes(call: Call, tools: Tools, mode: str, ran: int) -> None:
    await call(agent(model([delete("a")]), tools, Reviewer(mode=mode)), INPUT)
    assert len(tools.ran) == ran


@both
async def test_an_approval_for_the_session_covers_equal_calls(call: Call, tools: Tools) -> None:
    controller = Reviewer(SESSION, NO)
    steps = [[delete("a", "1")], [delete("a", "2")], [delete("b", "3")]]
    state = await call(agent(model(*steps), tools, controller), INPUT)
    assert [one.description for one in controller.asked] == ["Delete a", "Delete b"]
    assert tools.ran == [("delete_file", "a", None)] * 2
    assert results(state)["3"].startswith("error")


@both
@pytest.mark.parametrize(
    ("rule", "tool_call", "ran", "asked"),
    [
        (("allow", "delete_file"), delete("a"), 1, 0),
        (("ask", "delete_file"), delete("a"), 1, 1),
        (("deny", "delete_file"), delete("a"), 0, 0),
        (("ask", "Read"), read("a"), 1, 1),
        (("deny", "Read"), read("a"), 0, 0),
    ],
)
async def test_the_policy_decides(
    call: Call,
    tools: Tools,
    project: Path,
    rule: tuple[Any, str],
    tool_call: ToolCall,
    ran: int,
    asked: int,
) -> None:
    controller = Reviewer(YES, engine=Engine(Policy(rules=(rule,))))
    state = await call(agent(model([tool_call]), tools, controller), INPUT)
    assert len(tools.ran) == ran
    assert len(controller.asked) == asked
    if rule[0] == "deny":
        expected = "error: The call was not executed. Blocked by the policy"
        assert results(state)["1"].startswith(expected)


def checked_tool(check: Callable[[ApprovalContext], Any], ran: list[Any]) -> BaseTool:
    """A tool with this check."""

    class CheckedTool(BaseTool):
        name: str = "checked"
        description: str = "A tool that checks its calls."

        def check_approval(self, ctx: ApprovalContext) -> Any:
            return check(ctx)

        def _run(self, path: str) -> str:
            ran.append(path)
            return f"checked {path}"

    return CheckedTool()


CHECKED = ToolCall(name="checked", args={"path": "a"}, id="1")


@both
@pytest.mark.parametrize("is_interrupt", [False, True])
async def test_a_tool_can_block_a_call(call: Call, tools: Tools, is_interrupt: bool) -> None:
    def check(ctx: ApprovalContext) -> None:
        raise PermissionError("outside the sandbox")

    more = [checked_tool(check, tools.ran)]
    graph = agent(
        model([CHECKED]), tools, Reviewer(YES), more_tools=more, interrupt=is_interrupt
    )
    state = await call(graph, INPUT)
    assert results(state) == {"1": "error: The call was not executed. outside the sandbox"}
    assert tools.ran == []


@both
@pytest.mark.parametrize("is_interrupt", [False, True])
@pytest.mark.parametrize(
    "check", [lambda ctx: 1 / 0, lambda ctx: "yes", lambda ctx: True], ids=["raise", "str", "bool"]
)
async def test_a_broken_check_is_an_error(
    call: Call, tools: Tools, check: Any, is_interrupt: bool
) -> None:
    more = [checked_tool(check, tools.ran)]
    graph = agent(
        model([CHECKED]), tools, Reviewer(YES), more_tools=more, interrupt=is_interrupt
    )
    with pytest.raises((ZeroDivisionError, TypeError)):
        await call(graph, INPUT)
    assert tools.ran == []


@both
async def test_calls_of_one_step(call: Call, tools: Tools) -> None:
    async def by_path(request: ApprovalRequest) -> ApprovalDecision:
        return YES if request.payload["path"] in {"a", "c"} else NO

    step = [delete("a", "1"), delete("b", "2"), delete("c", "3"), read("d", "4")]
    controller = Reviewer(by_path, by_path, by_path)
    state = await call(agent(model(step), tools, controller), INPUT)
    assert sorted(tools.ran) == [
        ("delete_file", "a", None),
        ("delete_file", "c", None),
        ("read_file", "d"),
    ]
    assert results(state)["2"].endswith("Approval denied: not now")


# --- Failures while asking ------------------------------------------------------------------------


@both
async def test_an_exception_of_the_reviewer_ends_the_run(call: Call, tools: Tools) -> None:
    graph = agent(model([delete("a")]), tools, Reviewer(OSError("gone")))
    with pytest.raises(OSError, match="gone"):
        await call(graph, INPUT)
    assert tools.ran == []


@both
async def test_an_unreachable_reviewer_is_a_denial(call: Call, tools: Tools) -> None:
    controller = Reviewer(ApprovalUnavailableError("there is no terminal"))
    state = await call(agent(model([delete("a")]), tools, controller), INPUT)
    assert results(state) == {"1": "error: The call was not executed. there is no terminal"}
    assert tools.ran == []


async def test_a_cancelled_run_does_not_run_the_call(tools: Tools) -> None:
    asked = asyncio.Event()

    async def never(request: ApprovalRequest) -> ApprovalDecision:
        asked.set()
        await asyncio.Event().wait()
        return YES

    graph = agent(model([delete("a")]), tools, Reviewer(never))
    task = asyncio.ensure_future(ainvoke(graph, INPUT))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tools.ran == []


@both
async def test_an_answer_of_another_type_is_an_error(call: Call, tools: Tools) -> None:
    async def malformed(request: ApprovalRequest) -> Any:
        return True

    graph = agent(model([delete("a")]), tools, Reviewer(malformed))
    with pytest.raises(TypeError, match="must return an `ApprovalDecision`"):
        await call(graph, INPUT)
    assert tools.ran == []


# --- Arguments ------------------------------------------------------------------------------------


class Changing(AgentMiddleware):  # type: ignore[type-arg]
    """A middleware that changes the arguments of calls."""

    def __init__(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        super().__init__()
        self.change = change

    def _changed(self, request: Any) -> Any:
        args = self.change(request.tool_call["args"])
        return request.override(tool_call={**request.tool_call, "args": args})

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(self._changed(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(self._changed(request))


@both
async def test_arguments_that_another_middleware_changed_are_asked_about(
    call: Call, tools: Tools
) -> None:
    controller = Reviewer(YES)
    changing = Changing(lambda args: {**args, "path": "/etc/passwd"})
    await call(agent(model([delete("a")]), tools, controller, before=[changing]), INPUT)
    assert [one.description for one in controller.asked] == ["Delete /etc/passwd"]
    assert tools.ran == [("delete_file", "/etc/passwd", None)]


@both
async def test_arguments_that_change_while_asking_do_not_run(call: Call, tools: Tools) -> None:
    seen: list[dict[str, Any]] = []

    def remember(args: dict[str, Any]) -> dict[str, Any]:
        seen.append(args)
        return args

    async def change(request: ApprovalRequest) -> ApprovalDecision:
        for args in seen:
            args["path"] = "b"
            args["tags"].append("y")
        request.payload["tags"].append("z")
        return YES

    graph = agent(
        model([delete("a", tags=["x"])]), tools, Reviewer(change), before=[Changing(remember)]
    )
    await call(graph, INPUT)
    assert tools.ran == [("delete_file", "a", ["x"])]


@both
async def test_a_check_cannot_change_the_arguments(call: Call, tools: Tools) -> None:
    def check(ctx: ApprovalContext) -> None:
        ctx.args["path"] = "b"

    more = [checked_tool(check, tools.ran)]
    await call(agent(model([CHECKED]), tools, Reviewer(), more_tools=more), INPUT)
    assert tools.ran == ["a"]


@both
async def test_arguments_that_cannot_be_copied_are_an_error(call: Call, tools: Tools) -> None:
    changing = Changing(lambda args: {**args, "path": (one for one in "abc")})
    graph = agent(model([delete("a")]), tools, Reviewer(YES), before=[changing])
    with pytest.raises(UncomparablePayloadError, match="cannot be copied"):
        await call(graph, INPUT)
    assert tools.ran == []


@both
async def test_another_tool_under_the_same_name_does_not_run(call: Call, tools: Tools) -> None:
    class Swapping(Changing):
        def _changed(self, request: Any) -> Any:
            return request.override(tool=tools.delete_file)

    graph = agent(model([read("a")]), tools, Reviewer(), before=[Swapping(lambda args: args)])
    state = await call(graph, INPUT)
    assert "would run `delete_file`" in results(state)["1"]
    assert tools.ran == []


@both
async def test_an_unknown_tool_does_not_run(call: Call, tools: Tools) -> None:
    controller = Reviewer()
    unknown = ToolCall(name="format_disk", args={}, id="1")
    state = await call(agent(model([unknown]), tools, controller), INPUT)
    expected = "error: The call was not executed. `format_disk` is not an available tool"
    assert results(state) == {"1": expected}
    assert controller.asked == []


# --- Tools ----------------------------------------------------------------------------------------


class Files:
    """An approval-aware object whose methods are tools."""

    def __init__(self, ran: list[Any]) -> None:
        self.ran = ran

    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
        return ApprovalRequest(tool_name=ctx.tool_name, description="Write", payload=ctx.args)

    def write_file(self, path: str) -> str:
        """Write a file."""
        self.ran.append(path)
        return "written"


@both
@pytest.mark.parametrize("kind", ["method", "coroutine", "tool"])
async def test_what_can_be_approval_aware(call: Call, tools: Tools, kind: str) -> None:
    files = Files(tools.ran)

    def write_file(path: str) -> str:
        """Write a file."""
        return files.write_file(path)

    async def write_async(path: str) -> str:
        """Write a file."""
        return files.write_file(path)

    if kind == "method":
        aware: BaseTool = StructuredTool.from_function(files.write_file)
    elif kind == "coroutine":
        write_async.check_approval = files.check_approval  # type: ignore[attr-defined]
        aware = StructuredTool.from_function(write_file, coroutine=write_async)
    else:
        aware = checked_tool(files.check_approval, tools.ran)
    controller = Reviewer(NO, YES)
    for _ in range(2):
        fake = model([ToolCall(name=aware.name, args={"path": "a"}, id="1")])
        await call(agent(fake, tools, controller, more_tools=[aware]), INPUT)
    assert [one.description for one in controller.asked] == ["Write", "Write"]
    assert tools.ran == ["a"]


async def test_the_context_of_a_check(tools: Tools) -> None:
    seen: list[dict[str, Any]] = []

    def check(ctx: ApprovalContext) -> None:
        seen.append(ctx.metadata)

    graph = create_agent(
        model([CHECKED]),
        tools=[checked_tool(check, tools.ran)],
        middleware=[ApprovalMiddleware(Reviewer(), metadata=lambda context: {"caller": context})],
        checkpointer=InMemorySaver(),
        context_schema=str,  # type: ignore[type-var]
    )
    await graph.ainvoke(INPUT, CONFIG, context="ada")  # type: ignore[arg-type, call-overload]
    assert seen == [
        {"run_id": None, "session_id": "thread-1", "tool_call_id": "1", "caller": "ada"}
    ]


async def test_a_tool_node_without_an_agent(tools: Tools) -> None:
    from langgraph.graph import END, START, MessagesState

    controller = Reviewer(YES, NO)
    middleware: Any = ApprovalMiddleware(controller)
    node = ToolNode(
        tools.all,
        wrap_tool_call=middleware.wrap_tool_call,
        awrap_tool_call=middleware.awrap_tool_call,
    )
    graph: Any = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    message = AIMessage("", tool_calls=[delete("a", "1"), delete("b", "2")])
    state = await graph.compile().ainvoke({"messages": [message]})
    assert len(tools.ran) == 1
    assert sorted(one.split(":")[0] for one in results(state).values()) == ["error", "success"]


# --- Interrupts -----------------------------------------------------------------------------------


def pending(state: Any) -> list[Any]:
    """The values of the interrupts of a run."""
    return [one.value for one in state.get("__interrupt__", ())]


def paused(steps: list[list[ToolCall]], tools: Tools, controller: Any, **options: Any) -> Any:
    return agent(model(*steps), tools, controller, interrupt=True, **options)


@both
async def test_an_interrupt_has_the_shape_of_agent_inbox(call: Call, tools: Tools) -> None:
    graph = paused([[delete("a")]], tools, Reviewer())
    state = await call(graph, INPUT)
    assert pending(state) == [
        [
            {
                "action_request": {"action": "delete_file", "args": {"path": "a"}},
                "config": {
                    "allow_ignore": True,
                    "allow_respond": True,
                    "allow_edit": True,
                    "allow_accept": True,
                },
                "description": "Delete a",
            }
        ]
    ]
    assert tools.ran == []


@both
@pytest.mark.parametrize("in_list", [True, False])
@pytest.mark.parametrize(
    ("response", "result", "ran"),
    [
        (ACCEPT, "success: deleted a", "a"),
        ({"type": "accept"}, "success: deleted a", "a"),
        (
            {"type": "accept", "args": {"action": "delete_file", "args": {"path": "a"}}},
            "success: deleted a",
            "a",
        ),
        (IGNORE, "error: The call was not executed. Approval denied", None),
        (
            {"type": "response", "args": "keep it"},
            "error: The call was not executed. Approval denied: keep it",
            None,
        ),
        (
            {"type": "edit", "args": {"action": "delete_file", "args": {"path": "b"}}},
            'success: A reviewer changed the arguments of this call to {"path": "b"}.\ndeleted b',
            "b",
        ),
    ],
    ids=["accept", "short", "accept_call", "ignore", "response", "edit"],
)
async def test_answers(
    call: Call, tools: Tools, response: Any, result: str, ran: str | None, in_list: bool
) -> None:
    graph = paused([[delete("a")]], tools, Reviewer())
    await call(graph, INPUT)
    state = await call(graph, Command(resume=[response] if in_list else response))
    assert results(state) == {"1": result}
    assert [one[1] for one in tools.ran] == ([ran] if ran else [])
    assert pending(state) == []


@pytest.mark.parametrize(
    "response",
    [
        True,
        "accept",
        "yes",
        {},
        [],
        [ACCEPT, ACCEPT],
        [[ACCEPT]],
        {"type": "approve"},
        {"type": "ACCEPT", "args": None},
        {"type": None, "args": None},
        {"type": "accept", "args": "no, wait"},
        {"type": "accept", "args": {"action": "delete_file", "args": {"path": "b"}}},
        {"type": "response", "args": None},
        {"type": "response", "args": {"action": "delete_file", "args": {}}},
        {"type": "edit", "args": None},
        {"type": "edit", "args": {"action": "delete_file"}},
        {"type": "edit", "args": {"action": "read_file", "args": {"path": "b"}}},
        {"type": "edit", "args": {"action": "delete_file", "args": ["b"]}},
        {"type": "edit", "args": {"path": "b"}},
        {"type": "edit", "args": {"action": "delete_file", "args": {1: "b"}}},
    ],
    ids=str,
)
async def test_a_malformed_answer_is_a_denial(tools: Tools, response: Any) -> None:
    graph = paused([[delete("a")]], tools, Reviewer())
    await ainvoke(graph, INPUT)
    state = await ainvoke(graph, Command(resume=response))
    if response == {}:
        # LangGraph takes it for a map that answers no interrupt.
        assert len(pending(state)) == 1
    else:
        expected = "error: The call was not executed. Approval denied: the answer is malformed"
        assert results(state) == {"1": expected}
    assert tools.ran == []


@pytest.mark.parametrize(
    ("args", "ran"),
    [
        ({"path": "a", "tags": '["x"]'}, ("a", ["x"])),
        ({"path": "a", "tags": "['x']"}, ("a", ["x"])),
        ({"path": "b", "tags": '["x"]'}, ("b", ["x"])),
    ],
)
@pytest.mark.parametrize("kind", ["accept", "edit"])
async def test_agent_inbox_turns_values_into_text(
    tools: Tools, kind: str, args: Any, ran: Any
) -> None:
    graph = paused([[delete("a", tags=["x"])]], tools, Reviewer())
    await ainvoke(graph, INPUT)
    response = {"type": kind, "args": {"action": "delete_file", "args": args}}
    await ainvoke(graph, Command(resume=[response]))
    is_run = kind == "edit" or args["path"] == "a"
    assert tools.ran == ([("delete_file", *ran)] if is_run else [])


async def test_an_edit_that_is_not_allowed_is_a_denial(tools: Tools) -> None:
    graph = paused([[delete("a")]], tools, Reviewer(), allow_edit=False)
    state = await ainvoke(graph, INPUT)
    assert pending(state)[0][0]["config"]["allow_edit"] is False
    edit = {"type": "edit", "args": {"action": "delete_file", "args": {"path": "b"}}}
    state = await ainvoke(graph, Command(resume=edit))
    assert results(state)["1"].startswith("error")
    assert tools.ran == []


@both
async def test_the_questions_of_one_step_are_asked_together(call: Call, tools: Tools) -> None:
    step = [delete("a", "1"), read("b", "2"), delete("c", "3"), delete("d", "4")]
    graph = paused([step], tools, Reviewer())
    state = await call(graph, INPUT)
    (value,) = pending(state)
    assert [one["action_request"]["args"]["path"] for one in value] == ["a", "c", "d"]
    assert tools.ran == []
    state = await call(graph, Command(resume=[ACCEPT, IGNORE, ACCEPT]))
    assert sorted(tools.ran) == [
        ("delete_file", "a", None),
        ("delete_file", "d", None),
        ("read_file", "b"),
    ]
    assert results(state)["3"] == "error: The call was not executed. Approval denied"


@pytest.mark.parametrize(
    ("response", "ran"),
    [
        (ACCEPT, []),
        ([ACCEPT], []),
        ([ACCEPT] * 3, []),
        ([], []),
        ([[ACCEPT, ACCEPT]], []),
        ([None, ACCEPT], ["c"]),
        ([{"type": "yes"}, ACCEPT], ["c"]),
    ],
    ids=str,
)
async def test_each_question_needs_an_answer(tools: Tools, response: Any, ran: list[str]) -> None:
    graph = paused([[delete("a", "1"), delete("c", "2")]], tools, Reviewer())
    await ainvoke(graph, INPUT)
    state = await ainvoke(graph, Command(resume=response))
    assert [one[1] for one in tools.ran] == ran
    assert results(state)["1"].endswith("Approval denied: the answer is malformed")


@both
async def test_calls_of_several_steps(call: Call, tools: Tools) -> None:
    """The model uses the same id for equal calls of two steps. Each is asked about."""
    graph = paused([[delete("a")], [delete("a")], [delete("a")]], tools, Reviewer())
    await call(graph, INPUT)
    for number, response in enumerate((ACCEPT, IGNORE)):
        state = await call(graph, Command(resume=response))
        assert len(pending(state)) == 1
        # Without an answer, the run does not continue. The last answer is not used again.
        await call(graph, None)
        assert len(tools.ran) == 1, number
    await call(graph, Command(resume=ACCEPT))
    assert len(tools.ran) == 2


def engine(*rules: tuple[Any, str]) -> Engine:
    return Engine(Policy(rules=rules))


@both
@pytest.mark.parametrize("response", [ACCEPT, IGNORE])
@pytest.mark.parametrize("effect", ["ask", "allow", "deny"])
async def test_the_policy_is_consulted_again_when_the_run_is_resumed(
    call: Call, tools: Tools, project: Path, response: Any, effect: Any
) -> None:
    controller = Reviewer(engine=engine(("ask", "delete_file")))
    graph = paused([[delete("a")]], tools, controller)
    await call(graph, INPUT)
    controller.engine = engine((effect, "delete_file"))
    state = await call(graph, Command(resume=response))
    is_accepted = response == ACCEPT and effect != "deny"
    assert len(tools.ran) == (1 if is_accepted else 0)
    if effect == "deny":
        assert "Blocked by the policy" in results(state)["1"]


@both
async def test_a_run_that_is_continued_without_an_answer_stays_paused(
    call: Call, tools: Tools
) -> None:
    controller = Reviewer()
    graph = paused([[delete("a", "1"), delete("b", "2")]], tools, controller)
    await call(graph, INPUT)
    for mode in ("interactive", "approve_all", "strict"):
        controller.mode = mode  # type: ignore[assignment]
        await call(graph, None)
        assert tools.ran == []
        assert len(graph.get_state(CONFIG).interrupts) == 1


async def test_another_process_resumes_the_run(tools: Tools) -> None:
    saver = InMemorySaver()
    paths: list[str] = []
    for value in (INPUT, Command(resume=ACCEPT)):
        graph = create_agent(
            model([delete("a")]) if value is INPUT else model(),
            tools=tools.all,
            middleware=[ApprovalMiddleware(Reviewer(), interrupt=True)],
            checkpointer=saver,
        )
        await graph.ainvoke(value, CONFIG)
        paths.append(str(tools.ran))
    assert paths == ["[]", "[('delete_file', 'a', None)]"]


async def test_the_answer_of_one_thread_does_not_apply_to_another_one(tools: Tools) -> None:
    graph = paused([[delete("a")], [delete("a")]], tools, Reviewer())
    other: Any = {"configurable": {"thread_id": "thread-2"}}
    await graph.ainvoke(INPUT, CONFIG)
    await graph.ainvoke(INPUT, other)
    state = await graph.ainvoke(Command(resume=IGNORE), other)
    assert tools.ran == []
    await graph.ainvoke(Command(resume=ACCEPT), CONFIG)
    assert len(tools.ran) == 1
    assert results(state)["1"].startswith("error")


@both
@pytest.mark.parametrize("position", ["before", "after"])
async def test_arguments_that_change_after_the_question_do_not_run(
    call: Call, tools: Tools, position: str
) -> None:
    changing = Changing(lambda args: {**args, "path": "b"})
    graph = paused([[delete("a")]], tools, Reviewer(), **{position: [changing]})
    await call(graph, INPUT)
    state = await call(graph, Command(resume=ACCEPT))
    if position == "before":
        assert "the arguments of the call changed after it was approved" in results(state)["1"]
        assert tools.ran == []
    else:
        # The documentation says that this middleware has to be the last one.
        assert len(tools.ran) == 1


@both
async def test_arguments_that_need_approval_because_they_changed_do_not_run(
    call: Call, tools: Tools, project: Path
) -> None:
    changing = Changing(lambda args: {**args, "path": "/etc/passwd"})
    controller = Reviewer(engine=engine(("ask", "Read(//etc/**)")))
    graph = paused([[read("a")]], tools, controller, before=[changing])
    state = await call(graph, INPUT)
    assert pending(state) == []
    assert "no reviewer was asked about this call" in results(state)["1"]
    assert tools.ran == []


class Rewriting(AgentMiddleware):  # type: ignore[type-arg]
    """A middleware that changes the calls in the message of the model."""

    def after_model(self, state: Any, runtime: Any) -> Any:
        message = state["messages"][-1]
        calls = [{**one, "args": {"path": "b"}} for one in message.tool_calls]
        return {"messages": [message.model_copy(update={"tool_calls": calls})]}


@pytest.mark.parametrize("position", ["before", "after"])
async def test_a_message_that_is_rewritten_does_not_run(tools: Tools, position: str) -> None:
    graph = paused([[delete("a")]], tools, Reviewer(), **{position: [Rewriting()]})
    state = await ainvoke(graph, INPUT)
    # Middleware after this one sees the message first.
    assert len(pending(state)) == (1 if position == "before" else 0)
    if position == "before":
        state = await ainvoke(graph, Command(resume=ACCEPT))
    assert results(state)["1"].startswith("error: The call was not executed. Approval denied")
    assert tools.ran == []


class Injecting(AgentMiddleware):  # type: ignore[type-arg]
    """A middleware that adds a call without the model, once."""

    @hook_config(can_jump_to=["tools"])
    def before_model(self, state: Any, runtime: Any) -> Any:
        if len(results(state)) != 1 or len(state["messages"]) != 3:
            return None
        return {"messages": [AIMessage("", tool_calls=[delete("a")])], "jump_to": "tools"}


async def test_an_answer_applies_to_a_call_of_the_model_only(tools: Tools) -> None:
    graph = paused([[delete("a")]], tools, Reviewer(), before=[Injecting()])
    await ainvoke(graph, INPUT)
    state = await ainvoke(graph, Command(resume=ACCEPT))
    last = [one for one in state["messages"] if isinstance(one, ToolMessage)][-1]
    assert "no reviewer was asked about this call" in str(last.content)
    assert tools.ran == [("delete_file", "a", None)]


async def test_calls_with_the_same_id_do_not_run(tools: Tools) -> None:
    graph = paused([[delete("a", "1"), delete("b", "1")]], tools, Reviewer())
    state = await ainvoke(graph, INPUT)
    assert pending(state) == []
    assert tools.ran == []
    assert results(state)["1"].startswith("error")


async def test_a_model_that_is_called_again_is_asked_about_once(tools: Tools) -> None:
    class Failing(FakeModel):
        failures: list[Any] = []

        def _generate(self, *args: Any, **options: Any) -> Any:
            result = super()._generate(*args, **options)
            if not self.failures:
                self.failures.append(result)
                raise OSError("try again")
            return result

    fake = Failing(messages=iter([AIMessage("", tool_calls=[delete("x")])] * 2 + [AIMessage("ok")]))
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    graph = agent(fake, tools, Reviewer(), before=[retry], interrupt=True)
    state = await ainvoke(graph, INPUT)
    assert len(pending(state)) == 1
    await ainvoke(graph, Command(resume=ACCEPT))
    assert tools.ran == [("delete_file", "x", None)]


@both
async def test_the_interrupts_of_a_tool_get_their_own_answers(
    call: Call, tools: Tools, project: Path
) -> None:
    """The policy changes between the answers. The tool never gets an answer that is not its own."""

    @tool
    @requires_approval()
    def choose(question: str) -> str:
        """Ask the user."""
        answer = interrupt(question)
        tools.ran.append(answer)
        return f"the user chose {answer}"

    controller = Reviewer(engine=engine(("ask", "choose")))
    fake = model([ToolCall(name="choose", args={"question": "Which one?"}, id="1")])
    graph = agent(fake, tools, controller, more_tools=[choose], interrupt=True)
    await call(graph, INPUT)
    state = await call(graph, Command(resume=ACCEPT))
    assert pending(state) == ["Which one?"]
    await call(graph, None)
    assert tools.ran == []
    controller.engine = engine(("allow", "choose"))
    state = await call(graph, Command(resume="the first"))
    assert tools.ran == ["the first"]
    assert results(state) == {"1": "success: the user chose the first"}


@both
async def test_a_deny_between_the_interrupts_of_a_tool_stops_it(
    call: Call, tools: Tools, project: Path
) -> None:
    @tool
    def choose(question: str) -> str:
        """Ask the user."""
        tools.ran.append(interrupt(question))
        return "chosen"

    controller = Reviewer(engine=engine(("allow", "choose")))
    fake = model([ToolCall(name="choose", args={"question": "Which one?"}, id="1")])
    graph = agent(fake, tools, controller, more_tools=[choose], interrupt=True)
    state = await call(graph, INPUT)
    assert pending(state) == ["Which one?"]
    # An answer to the tool is not an approval of the call.
    controller.engine = engine(("ask", "choose"))
    state = await call(graph, Command(resume=ACCEPT))
    assert "no reviewer was asked" in results(state)["1"]
    assert tools.ran == []


@both
async def test_a_failed_call_that_is_retried_keeps_its_answer(call: Call, tools: Tools) -> None:
    attempts: list[str] = []

    @tool
    @requires_approval()
    def flaky(path: str) -> str:
        """Fail once."""
        attempts.append(path)
        if len(attempts) == 1:
            raise OSError("try again")
        return "worked"

    fake = model([ToolCall(name="flaky", args={"path": "a"}, id="1")])
    graph = agent(fake, tools, Reviewer(), more_tools=[flaky], interrupt=True)
    await call(graph, INPUT)
    with pytest.raises(OSError, match="try again"):
        await call(graph, Command(resume=ACCEPT))
    state = await call(graph, None)
    assert results(state) == {"1": "success: worked"}


@both
async def test_a_denied_call_is_not_run_by_a_retry(call: Call, tools: Tools) -> None:
    """Another call of the step fails, and the run is continued with another policy."""
    attempts: list[str] = []

    @tool
    def flaky(path: str) -> str:
        """Fail once."""
        attempts.append(path)
        if len(attempts) == 1:
            raise OSError("try again")
        return "worked"

    step = [delete("a", "1"), ToolCall(name="flaky", args={"path": "a"}, id="2")]
    controller = Reviewer()
    graph = agent(model(step), tools, controller, more_tools=[flaky], interrupt=True)
    await call(graph, INPUT)
    with pytest.raises(OSError, match="try again"):
        await call(graph, Command(resume=IGNORE))
    controller.mode = "approve_all"
    state = await call(graph, None)
    assert results(state)["1"] == "error: The call was not executed. Approval denied"
    assert tools.ran == []


async def test_the_policy_checks_an_edited_call(tools: Tools, project: Path) -> None:
    def check(ctx: ApprovalContext) -> ApprovalRequest | None:
        if ctx.args["path"] == "/etc/passwd":
            raise PermissionError("it is protected")
        return ApprovalRequest(tool_name="checked", description="Check", payload=ctx.args)

    more = [checked_tool(check, tools.ran)]
    edits = {"/etc/passwd": "it is protected", "b": 'arguments of this call to {"path": "b"}'}
    for path, expected in edits.items():
        graph = paused([[CHECKED]], tools, Reviewer(), more_tools=more)
        await ainvoke(graph, INPUT)
        edit = {"type": "edit", "args": {"action": "checked", "args": {"path": path}}}
        state = await ainvoke(graph, Command(resume=[edit]))
        assert expected in results(state)["1"]
    assert tools.ran == ["b"]


async def test_a_policy_that_denies_an_edited_call(tools: Tools, project: Path) -> None:
    controller = Reviewer(engine=engine(("ask", "Read(a)"), ("deny", "Read(b)")))
    graph = paused([[read("a")]], tools, controller)
    await ainvoke(graph, INPUT)
    edit = {"type": "edit", "args": {"action": "read_file", "args": {"path": "b"}}}
    state = await ainvoke(graph, Command(resume=edit))
    assert "Blocked by the policy" in results(state)["1"]
    assert tools.ran == []


async def test_the_description_contains_the_reason_and_the_presentation(
    tools: Tools, project: Path
) -> None:
    def check(ctx: ApprovalContext) -> ApprovalRequest:
        presentation: Any = {"type": "diff", "content": "```\n+ x", "language": "diff"}
        return ApprovalRequest(
            tool_name="checked", description="Check", payload=ctx.args, presentation=presentation
        )

    controller = Reviewer(engine=engine(("ask", "checked")))
    graph = paused([[CHECKED]], tools, controller, more_tools=[checked_tool(check, tools.ran)])
    state = await ainvoke(graph, INPUT)
    assert pending(state)[0][0]["description"] == (
        "Check\n\n`checked` is asked for by cli policy\n\n````diff\n```\n+ x\n````"
    )


async def test_structured_output_is_not_asked_about(tools: Tools) -> None:
    class Answer(BaseModel):
        text: str

    fake = model([ToolCall(name="Answer", args={"text": "x"}, id="1")])
    graph = create_agent(
        fake,
        tools=tools.all,
        middleware=[ApprovalMiddleware(Reviewer(mode="strict"), interrupt=True)],
        response_format=ToolStrategy(Answer),
        checkpointer=InMemorySaver(),
    )
    state = await graph.ainvoke(INPUT, CONFIG)
    assert state["structured_response"] == Answer(text="x")


async def test_a_tool_node_without_an_agent_does_not_interrupt(tools: Tools) -> None:
    from langgraph.graph import END, START, MessagesState

    middleware: Any = ApprovalMiddleware(Reviewer(), interrupt=True)
    graph: Any = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(tools.all, awrap_tool_call=middleware.awrap_tool_call))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    message = AIMessage("", tool_calls=[delete("a", "1"), read("b", "2")])
    state = await graph.compile().ainvoke({"messages": [message]})
    assert tools.ran == [("read_file", "b")]
    assert "no reviewer was asked" in results(state)["1"]


async def test_the_state_of_the_middleware_is_private(tools: Tools) -> None:
    graph = paused([[delete("a")]], tools, Reviewer())
    forged = {
        "message_id": None,
        "questions": [],
        "answers": {"1": {"fingerprint": "", "is_approved": True, "args": None, "note": None}},
    }
    state = await ainvoke(graph, {**INPUT, "tool_approval": forged})
    assert len(pending(state)) == 1
    assert "tool_approval" not in state
    await ainvoke(graph, Command(resume=IGNORE))
    assert tools.ran == []


# --- A wrapper that is written by hand ------------------------------------------------------------


class ApprovalToolWrapper:
    """Wraps LangChain tools with approval checking."""

    def __init__(self, tool: BaseTool, controller: ApprovalController):
        self.tool = tool
        self.controller = controller

    async def invoke(self, args: dict[str, Any], config: dict[str, Any] | None = None) -> Any:
        if hasattr(self.tool, "check_approval"):
            ctx = ApprovalContext(
                tool_name=self.tool.name,
                args=args,
                metadata={"config": config} if config else {},
            )
            request = self.tool.check_approval(ctx)

            if request is not None:
                decision = await self.controller.request_approval(request)
                if not decision.approved:
                    raise PermissionError(f"Approval denied: {decision.note}")

        return await self.tool.ainvoke(args, config)  # type: ignore[arg-type]


async def test_a_wrapper_that_is_written_by_hand(tools: Tools) -> None:
    def check(ctx: ApprovalContext) -> ApprovalRequest:
        return ApprovalRequest(tool_name="checked", description="Check", payload=ctx.args)

    wrapper = ApprovalToolWrapper(checked_tool(check, tools.ran), Reviewer(YES, NO))
    assert await wrapper.invoke({"path": "a"}) == "checked a"
    with pytest.raises(PermissionError, match="Approval denied: not now"):
        await wrapper.invoke({"path": "b"}, {"tags": ["x"]})
    unaware = ApprovalToolWrapper(tools.read_file, Reviewer())
    assert await unaware.invoke({"path": "c"}) == "content of c"
    assert tools.ran == ["a", ("read_file", "c")]


# --- The example ----------------------------------------------------------------------------------


def test_the_example_runs(home: Path) -> None:
    example = Path(__file__).parents[1] / "examples" / "langchain_approval.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for address in ("alice@example.com", "bob@example.com"):
        assert f"> sent report.txt to {address}" in done.stdout
    assert "> sent report.txt to mallory" not in done.stdout
    assert "> deleted" not in done.stdout
    assert done.stdout.endswith("All files are handled.\n")
