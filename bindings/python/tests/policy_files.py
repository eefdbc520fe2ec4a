"""Policy files of the user, for tests that change a policy."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tool_approval import ApprovalController


def write_policy(home: Path, **rules: str) -> None:
    """Write the policy of the user, which an engine reloads."""
    file = home / ".config/openoxide/policy.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [f'{effect} = ["{rule}"]' for effect, rule in rules.items()]
    file.write_text("\n".join(["[permissions]", *lines, ""]))


async def policy_reload(controller: ApprovalController, tool_name: str, effect: str) -> None:
    """Wait until the engine of a controller has reloaded its policy."""
    assert controller.engine is not None
    while controller.engine.evaluate(tool_name, {}).effect != effect:
        await asyncio.sleep(0.01)
