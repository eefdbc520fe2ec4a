"""A LangChain agent whose run pauses for approval, and is resumed with the answers.

The model is scripted and the inbox is a function, so the example needs no account and no terminal.
Without `interrupt=True`, the middleware asks in the terminal and the run does not pause.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from tool_approval import ApprovalController, Engine, Policy, requires_approval
from tool_approval.frameworks.langchain import ApprovalMiddleware, HumanInterrupt, HumanResponse


@tool
def list_files() -> str:
    """List the files."""
    print("  > listed the files")
    return "report.txt"


@tool
@requires_approval(description=lambda args: f"Send {args['file']} to {args['to']}")
def send_file(file: str, to: str) -> str:
    """Send a file by mail."""
    print(f"  > sent {file} to {to}")
    return "sent"


@tool
def delete_file(file: str) -> str:
    """Delete a file."""
    print(f"  > deleted {file}")
    return "deleted"


class ScriptedModel(GenericFakeChatModel):
    """The framework's fake model, for agents with tools."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def call(name: str, call_id: str, **args: str) -> ToolCall:
    return ToolCall(name=name, args=args, id=call_id)


STEPS = [
    AIMessage("", tool_calls=[call("list_files", "1")]),
    AIMessage(
        "",
        tool_calls=[
            call("send_file", "2", file="report.txt", to="alice@example.com"),
            call("send_file", "3", file="report.txt", to="mallory@example.net"),
            call("send_file", "4", file="report.txt", to="bob@example.org"),
        ],
    ),
    AIMessage("", tool_calls=[call("delete_file", "5", file="report.txt")]),
    AIMessage("All files are handled."),
]


def answer(question: HumanInterrupt) -> HumanResponse:
    """Approve what goes to our own addresses, and correct one of them."""
    action = question["action_request"]
    text = f"{action['action']} {json.dumps(action['args'])}"
    if action["args"]["to"].endswith("@example.com"):
        print(f"{text}? yes")
        return {"type": "accept", "args": None}
    if action["args"]["to"] == "bob@example.org":
        print(f"{text}? yes, with another address")
        args = {**action["args"], "to": "bob@example.com"}
        return {"type": "edit", "args": {"action": action["action"], "args": args}}
    print(f"{text}? no")
    return {"type": "response", "args": "Files stay inside the company."}


async def main() -> None:
    engine = Engine(Policy(rules=[("allow", "list_files"), ("deny", "delete_file")]))
    agent: Any = create_agent(
        ScriptedModel(messages=iter(STEPS)),
        tools=[list_files, send_file, delete_file],
        middleware=[ApprovalMiddleware(ApprovalController(engine=engine), interrupt=True)],
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "1"}}

    state = await agent.ainvoke({"messages": [("user", "Share the report.")]}, thread)
    while "__interrupt__" in state:
        # Perhaps in another process, days later: the thread contains the questions.
        (interrupt,) = state["__interrupt__"]
        answers = [answer(question) for question in interrupt.value]
        state = await agent.ainvoke(Command(resume=answers), thread)

    print("\nWhat the model got:")
    for message in state["messages"]:
        if isinstance(message, ToolMessage):
            print(f"  {message.status}: {message.text}")
    print(f"\n{state['messages'][-1].text}")


if __name__ == "__main__":
    asyncio.run(main())
