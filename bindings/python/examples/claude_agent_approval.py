"""A session of the Claude Agent SDK whose calls need approval.

Claude Code is the real one, which is part of the SDK. The model is scripted and the reviewer is a
function, so the example needs no account and no terminal. Leave `ask_reviewer` out to be asked in
the terminal.
"""

from __future__ import annotations

import asyncio
import tempfile

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ToolResultBlock, UserMessage
from claude_model_server import offline_environment, scripted_model
from tool_approval import ApprovalController, ApprovalDecision, ApprovalRequest, Engine, Policy
from tool_approval.frameworks.claude_agent_sdk import with_approval

COMMANDS = ["ls", "touch notes.txt", "make install", "git push"]


async def ask_reviewer(request: ApprovalRequest) -> ApprovalDecision:
    """Approve new files, and nothing else."""
    command = request.payload["command"]
    if command.startswith("touch "):
        print(f"{command}? yes")
        return ApprovalDecision(True)
    print(f"{command}? no")
    return ApprovalDecision(False, note="Install nothing, please.")


async def main(project: str, home: str) -> None:
    engine = Engine(Policy(rules=[("deny", "Bash(git push *)")]), cwd=project)
    controller = ApprovalController(engine=engine).with_options(reviewer=ask_reviewer)
    steps = tuple([("Bash", {"command": command})] for command in COMMANDS)
    results: list[str] = []
    with scripted_model(steps) as address:
        options = ClaudeAgentOptions(
            cwd=project, env=offline_environment(address, home), model="claude-sonnet-4-5"
        )
        async with ClaudeSDKClient(with_approval(options, controller)) as client:
            await client.query("Set up the project.")
            async for message in client.receive_response():
                if isinstance(message, UserMessage) and isinstance(message.content, list):
                    blocks = message.content
                    results += [str(it.content) for it in blocks if isinstance(it, ToolResultBlock)]

    print("\nWhat the model got:")
    for command, result in zip(COMMANDS, results, strict=True):
        print(f"  {command}: {result.strip()}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as project, tempfile.TemporaryDirectory() as home:
        asyncio.run(main(project, home))
