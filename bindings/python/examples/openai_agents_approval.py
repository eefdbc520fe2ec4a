"""An agent of the OpenAI Agents SDK whose calls need approval.

The model is scripted and the reviewer is a function, so the example needs no account and no
terminal. Leave `ask_reviewer` out to be asked in the terminal.
"""

from __future__ import annotations

import asyncio
import os

os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")

from agents import Agent
from agents.testing import ScriptedModel, assistant_message, function_call
from tool_approval import (
    ApprovalController,
    ApprovalDecision,
    ApprovalRequest,
    Engine,
    Policy,
    requires_approval,
)
from tool_approval.frameworks.openai_agents import require_approval, run_with_approval


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


async def main() -> None:
    engine = Engine(Policy(rules=[("allow", "list_files"), ("deny", "delete_file")]))
    controller = ApprovalController(engine=engine).with_options(reviewer=ask_reviewer)
    model = ScriptedModel(
        [
            [function_call("list_files", {}, call_id="1")],
            [
                function_call("send_file", {"file": "report.txt", "to": to}, call_id=to)
                for to in ("alice@example.com", "mallory@example.net")
            ],
            [function_call("delete_file", {"file": "report.txt"}, call_id="4")],
            [assistant_message("All files are handled.")],
        ]
    )
    tools = [require_approval(tool, controller) for tool in (list_files, send_file, delete_file)]
    agent = Agent(name="files", model=model, tools=tools)

    result = await run_with_approval(agent, "Share the report, then tidy up.", controller)

    print("\nWhat the model got:")
    for item in result.new_items:
        if item.type == "tool_call_output_item":
            print(f"  {item.output}")
    print(f"\n{result.final_output}")


if __name__ == "__main__":
    asyncio.run(main())
