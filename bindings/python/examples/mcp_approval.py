"""An MCP server whose calls need approval, and a client whose user is asked.

Server and client run in one process, and the user is a function, so the example needs no network
and no terminal.
"""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.client import Client
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitRequestParams, ElicitResult
from tool_approval import ApprovalController, Engine, Policy, requires_approval
from tool_approval.frameworks.mcp import require_approval

server = MCPServer("files", log_level="ERROR")


@server.tool()
def list_files() -> str:
    """List the files."""
    return "a.txt b.txt"


@server.tool()
@requires_approval(description=lambda args: f"Delete {args['path']}")
def delete_file(path: str) -> str:
    """Delete a file."""
    print(f"  > deleted {path}")
    return "deleted"


@server.tool()
def format_disk() -> str:
    """Format the disk."""
    print("  > formatted the disk")
    return "formatted"


async def ask_user(context: Any, params: ElicitRequestParams) -> ElicitResult:
    """Answer like a user who wants to keep one file."""
    print(params.message.splitlines()[1])
    if "a.txt" in params.message:
        content = {"decision": "approve once"}
    else:
        content = {"decision": "deny", "message": "Keep that file."}
    print(f"  user: {content['decision']}")
    return ElicitResult(action="accept", content=content)


async def main() -> None:
    rules = [("allow", "mcp__files__list_*"), ("deny", "mcp__files__format_*")]
    require_approval(server, ApprovalController(engine=Engine(Policy(rules=tuple(rules)))))

    calls = [
        ("list_files", {}),
        ("delete_file", {"path": "a.txt"}),
        ("delete_file", {"path": "b.txt"}),
        ("format_disk", {}),
    ]
    results: list[str] = []
    async with Client(server, elicitation_callback=ask_user) as client:
        for name, args in calls:
            result = await client.call_tool(name, args)
            results.append(f"{name}({args.get('path', '')}): {result.content[0].text}")

    print("\nWhat the client got:")
    for line in results:
        print(f"  {line}")


if __name__ == "__main__":
    asyncio.run(main())
