"""File tools of an agent, limited to directories and with approval.

The reviewer is a function, so the example needs no terminal. Leave `ask_reviewer` out to be asked
in the terminal, with the diff of each change.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

from tool_approval import (
    ApprovalController,
    ApprovalDecision,
    ApprovalRequest,
    FileSandbox,
    load_config,
)

CONFIG = """
sandbox:
  paths:
    notes:
      root: ./notes
      mode: rw
      suffixes: [.md, .txt]
    cache:
      root: ./cache
      mode: rw
      write_approval: false
    docs:
      root: ./docs
"""

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "docs/style.md"}),
    ("write_file", {"path": "cache/summary.txt", "content": "Short sentences.\n"}),
    ("write_file", {"path": "notes/today.md", "content": "# Today\n"}),
    ("write_file", {"path": "notes/today.sh", "content": "#!/bin/sh\n"}),
    ("write_file", {"path": "docs/style.md", "content": "Anything goes.\n"}),
    ("read_file", {"path": "notes/../../secret.txt"}),
    ("read_file", {"path": "cache/link-to-the-secret"}),
    ("list_files", {}),
]


async def ask_reviewer(request: ApprovalRequest) -> ApprovalDecision:
    """Approve everything, and show what a person would see."""
    assert request.presentation is not None
    print(f"  ? {request.description}: {request.presentation.metadata['summary']}")
    return ApprovalDecision(True)


async def main() -> None:
    sandbox = FileSandbox(load_config("tools.yaml"))
    tools = {tool.__name__: tool for tool in sandbox.tools()}
    controller = ApprovalController().with_options(reviewer=ask_reviewer)
    for name, args in CALLS:
        print(name, args.get("path", ""))
        try:
            await controller.require_approval(name, args, tool=tools[name])
            result = await asyncio.to_thread(tools[name], **args)
        except PermissionError as error:
            result = f"refused: {error}"
        print(f"  > {result}".rstrip())


def prepare(project: Path) -> None:
    """Create the files of the example."""
    for name in ("notes", "cache", "docs"):
        (project / name).mkdir(parents=True)
    (project / "docs/style.md").write_text("Short sentences.\n")
    (project.parent / "secret.txt").write_text("secret")
    (project / "cache/link-to-the-secret").symlink_to("../../secret.txt")
    (project / "tools.yaml").write_text(CONFIG)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory, "project")
        prepare(project)
        os.chdir(project)
        asyncio.run(main())
        os.chdir("/")
