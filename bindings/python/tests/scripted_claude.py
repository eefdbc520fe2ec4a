"""The real Claude Code with a scripted model.

The server of the model is part of the examples.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    ToolResultBlock,
    UserMessage,
)

sys.path.append(str(Path(__file__).parents[1] / "examples"))

from claude_model_server import Step, offline_environment, scripted_model


@dataclass
class Session:
    """What happened in a session.

    Attributes:
        results: The results of the calls, as the model gets them, in their order.
        outcome: The subtype of the last message.
    """

    results: list[str] = field(default_factory=list)
    outcome: str = ""


async def run_session(
    options: ClaudeAgentOptions, home: Path, project: Path, *steps: Step
) -> Session:
    """Run a session in a project until the script ends."""
    session = Session()
    async with open_client(options, home, project, *steps) as client:
        async for message in client.receive_response():
            note_message(session, message)
    return session


def note_message(session: Session, message: object) -> None:
    if isinstance(message, ResultMessage):
        session.outcome = message.subtype
    elif isinstance(message, UserMessage):
        blocks = message.content if isinstance(message.content, list) else []
        for block in blocks:
            if isinstance(block, ToolResultBlock):
                session.results.append(_text(block.content))


def open_client(options: ClaudeAgentOptions, home: Path, project: Path, *steps: Step) -> _Client:
    """Return a client that has sent its prompt when it is entered."""
    return _Client(options, home, project, steps)


class _Client:
    def __init__(
        self, options: ClaudeAgentOptions, home: Path, project: Path, steps: tuple[Step, ...]
    ) -> None:
        self._server = scripted_model(steps)
        self._options, self._home, self._project = options, home, project

    async def __aenter__(self) -> ClaudeSDKClient:
        environment = offline_environment(self._server.__enter__(), str(self._home))
        options = replace(
            self._options,
            cwd=self._project,
            env={**environment, **self._options.env},
            model="claude-sonnet-4-5",
            stderr=lambda line: None,
        )
        self._client = ClaudeSDKClient(options)
        await self._client.connect()
        await self._client.query("Go.")
        return self._client

    async def __aexit__(self, *error: object) -> None:
        await self._client.disconnect()
        self._server.__exit__(None, None, None)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(block.get("text", "") for block in content)
    return content or ""


