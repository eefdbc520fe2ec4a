"""A shell tool of an agent, with rules, approval and the OS sandbox.

The reviewer is a function, so the example needs no terminal. Leave `ask_reviewer` out to be asked
in the terminal.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import textwrap
from pathlib import Path

from tool_approval import (
    ApprovalController,
    ApprovalDecision,
    ApprovalRequest,
    ShellTool,
    load_config,
)

CONFIG = """
sandbox:
  paths:
    output:
      root: ./output
      mode: rw
      write_approval: false
shell:
  default:
    allowed: true
    approval: true
  rules:
    - pattern: ls
      approval: false
    - pattern: touch
      approval: false
      sandbox_paths: [output]
    - pattern: python3
      description: Run a Python program
    - pattern: rm
      allowed: false
"""

COMMANDS = [
    "ls",
    "touch output/report.txt && ls output",
    "touch report.txt",
    "ls; rm -rf output",
    "ls $(rm -rf output)",
    "python3 -c 'import sys; sys.tracebacklimit = 0; open(\"/etc/motd\", \"w\")'",
    "curl https://example.com",
]


async def ask_reviewer(request: ApprovalRequest) -> ApprovalDecision:
    """Approve Python programs only."""
    is_approved = request.payload.get("rule") == "python3"
    print(f"  ? {request.description}: {'yes' if is_approved else 'no'}")
    return ApprovalDecision(is_approved, note=None if is_approved else "Work in `output`.")


async def main() -> None:
    controller = ApprovalController().with_options(reviewer=ask_reviewer)
    shell = ShellTool(load_config("tools.yaml"), controller=controller)
    for command in COMMANDS:
        print(f"$ {command}")
        try:
            result = await shell.arun(command)
        except PermissionError as error:
            print(f"  refused: {error}")
            continue
        print(textwrap.indent(str(result), "  "))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "tools.yaml").write_text(CONFIG)
        Path(directory, "output").mkdir()
        os.chdir(directory)
        asyncio.run(main())
        os.chdir("/")
