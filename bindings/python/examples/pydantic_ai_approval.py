"""A PydanticAI agent whose calls need approval.

The model is scripted and the reviewer is a function, so the example needs no account and no
terminal. Leave `ask_reviewer` out to be asked in the terminal.
"""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tool_approval import (
    ApprovalController,
    ApprovalDecision,
    ApprovalRequest,
    Engine,
    Policy,
    requires_approval,
)
from tool_approval.frameworks.pydantic_ai import ToolApproval


def list_files() -> str:
    """List the files."""
    print("  > listed the files")
    return "report.txt"


@requires_approval(description=lambda args: f"Send {args['file']} to {args['to']}")
def send_file(file: str, to: str) -> str:
    """Send a file by mail."""
    print(f"  > sent {file} to {to}")
    return "sent"


def delete_file(file: str) -> str:
    """Delete a file."""
    print(f"  > deleted {file}")
    return "deleted"


async def ask_reviewer(request: ApprovalRequest) -> ApprovalDecision:
    """Approve what goes to our own addresses."""
    if request.payload["to"].endswith("@example.com"):
        print(f"{request.description}? yes")
        return ApprovalDecision(True)
    print(f"{request.description}? no")
    return ApprovalDecision(False, note="Files stay inside the company.")


STEPS = [
    [ToolCallPart("list_files", {})],
    [
        ToolCallPart("send_file", {"file": "report.txt", "to": to})
        for to in ("alice@example.com", "mallory@example.net")
    ],
    [ToolCallPart("delete_file", {"file": "report.txt"})],
    [TextPart("All files are handled.")],
]


def scripted_model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Return the next step of the script."""
    done = sum(isinstance(message, ModelResponse) for message in messages)
    return ModelResponse(parts=STEPS[done])


async def main() -> None:
    engine = Engine(Policy(rules=[("allow", "list_files"), ("deny", "delete_file")]))
    controller = ApprovalController(engine=engine).with_options(reviewer=ask_reviewer)
    agent = Agent(
        FunctionModel(scripted_model),
        tools=[list_files, send_file, delete_file],
        capabilities=[ToolApproval(controller)],
    )

    result = await agent.run("Share the report, then tidy up.")

    print("\nWhat the model got:")
    for message in result.all_messages():
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    print(f"  {part.outcome}: {part.content}")
    print(f"\n{result.output}")


if __name__ == "__main__":
    asyncio.run(main())
