"""A scripted model for Claude Code, so that examples and tests need no account and no network.

A server on the loopback interface speaks as much of the Messages API as Claude Code needs.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = list[tuple[str, dict[str, Any]]]
"""The calls that the model makes in one turn, as names and inputs of tools."""


def offline_environment(address: str, home: str) -> dict[str, str]:
    """Return the environment of a Claude Code that talks to a scripted model only."""
    return {
        "HOME": home,
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        # The mode `bypassPermissions` refuses to start as root otherwise.
        "IS_SANDBOX": "1",
    }


@contextmanager
def scripted_model(steps: tuple[Step, ...]) -> Iterator[str]:
    """Run the server, and yield its address.

    Each answer of the model is the next step. After the last one, it says that it is done.
    """

    class Handler(_Handler):
        script = steps

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: tuple[Step, ...] = ()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send_json({"data": [], "has_more": False})

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        if "count_tokens" in self.path:
            self._send_json({"input_tokens": 1})
        elif self.path.startswith("/v1/messages"):
            self._answer(body)
        else:
            self._send_json({})

    def _answer(self, body: dict[str, Any]) -> None:
        blocks = self._next_blocks(body)
        calls_tools = any(block["type"] == "tool_use" for block in blocks)
        message: dict[str, Any] = {
            "id": f"msg_{uuid.uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": blocks,
            "stop_reason": "tool_use" if calls_tools else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        if body.get("stream"):
            self._stream(message)
        else:
            self._send_json(message)

    def _next_blocks(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        turns = [
            message
            for message in body.get("messages", [])
            if message["role"] == "assistant" and _has_tool_use(message["content"])
        ]
        # Requests without tools are about the session, such as its title.
        if not body.get("tools") or len(turns) >= len(self.script):
            return [{"type": "text", "text": "Done."}]
        return [
            {"type": "tool_use", "id": f"toolu_{len(turns)}_{n}", "name": name, "input": args}
            for n, (name, args) in enumerate(self.script[len(turns)])
        ]

    def _stream(self, message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        start = {**message, "content": [], "stop_reason": None}
        self._send_event("message_start", message=start)
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                text = json.dumps(block["input"])
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": text}
            self._send_event("content_block_start", index=index, content_block=empty)
            self._send_event("content_block_delta", index=index, delta=delta)
            self._send_event("content_block_stop", index=index)
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        self._send_event("message_delta", delta=end, usage=message["usage"])
        self._send_event("message_stop")

    def _send_event(self, kind: str, **fields: Any) -> None:
        data = json.dumps({"type": kind, **fields})
        self.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())
        self.wfile.flush()

    def _send_json(self, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _has_tool_use(content: Any) -> bool:
    blocks = content if isinstance(content, list) else []
    return any(block.get("type") == "tool_use" for block in blocks)
