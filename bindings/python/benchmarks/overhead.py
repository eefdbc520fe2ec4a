"""Measures the cost of the package beside its peers, in one run.

1. `Engine.evaluate` from Python, beside the same evaluations in a loop inside the engine.
2. The lookup of a session approval among 1,000, beside a controller in pure Python: the sketch that
   freezes payloads into a set, and the rule that it stands for (`payload_a == payload_b`), which
   also works for values that cannot be hashed.
3. `import tool_approval`, in new processes.

Run it with the wheel of a release build: `python benchmarks/overhead.py`.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from tool_approval import ApprovalController, ApprovalRequest, Engine, Policy

ROUNDS = 15
APPROVALS = 1_000


class FreezingSketch:
    """A controller in pure Python that freezes payloads into hashable keys."""

    def __init__(self) -> None:
        self.session_approvals: set[tuple[str, Any]] = set()

    def _make_key(self, request: ApprovalRequest) -> tuple[str, Any]:
        def freeze(value: Any) -> Any:
            if isinstance(value, dict):
                return frozenset((key, freeze(inner)) for key, inner in sorted(value.items()))
            if isinstance(value, (list, tuple)):
                return tuple(freeze(inner) for inner in value)
            return value

        return (request.tool_name, freeze(request.payload))

    def is_session_approved(self, request: ApprovalRequest) -> bool:
        return self._make_key(request) in self.session_approvals

    def add_session_approval(self, request: ApprovalRequest) -> None:
        self.session_approvals.add(self._make_key(request))


class ComparingSketch:
    """A controller in pure Python that compares payloads with `==`."""

    def __init__(self) -> None:
        self.session_approvals: list[tuple[str, dict[str, Any]]] = []

    def is_session_approved(self, request: ApprovalRequest) -> bool:
        return any(
            name == request.tool_name and payload == request.payload
            for name, payload in self.session_approvals
        )

    def add_session_approval(self, request: ApprovalRequest) -> None:
        self.session_approvals.append((request.tool_name, request.payload))


def median_time(function: Callable[[], object], count: int) -> float:
    """Return the microseconds of one call, as the median of the rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(count):
            function()
        times.append((time.perf_counter() - start) / count * 1e6)
    return statistics.median(times)


def measure_evaluate() -> None:
    engine = Engine(Policy(rules=(("allow", "send_email"), ("deny", "Bash(git push *)"))))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("send_email", {"to": "ann@example.org", "subject": "Minutes", "body": "text " * 50}),
        ("Bash", {"command": "git status --short"}),
        ("Write", {"file_path": "notes.txt", "content": "line\n" * 40}),
    ]
    print("evaluate: microseconds of a call")
    for tool, args in calls:
        ours = median_time(lambda: engine.evaluate(tool, args), 300)
        inside = statistics.median(
            engine._native._time_evaluations(tool, args, 300) / 300 * 1e6 for _ in range(ROUNDS)
        )
        print(
            f"  {tool:<12} python {ours:8.2f}   engine {inside:8.2f}   difference {ours - inside:6.2f}"
        )


def request(number: int, *, size: int) -> ApprovalRequest:
    payload: dict[str, Any] = {"sandbox": "notes", "path": f"/srv/notes/{number}.txt"}
    payload.update({f"key{index}": {"values": [index, "text", None]} for index in range(size)})
    return ApprovalRequest(tool_name="write_file", description="", payload=payload)


def measure_session_approvals() -> None:
    print(f"session approval among {APPROVALS}: microseconds of a lookup, and ratios to ours")
    for size, name in ((0, "2 keys"), (10, "12 keys, nested"), (50, "52 keys, nested")):
        controllers = [ApprovalController(), FreezingSketch(), ComparingSketch()]
        for controller in controllers:
            for number in range(APPROVALS):
                controller.add_session_approval(request(number, size=size))
        sought = request(APPROVALS - 1, size=size)
        assert all(controller.is_session_approved(sought) for controller in controllers)
        times = [
            median_time(lambda: controller.is_session_approved(sought), 200)
            for controller in controllers
        ]
        ours, freezing, comparing = times
        print(
            f"  {name:<16} ours {ours:7.2f}   freezing {freezing:8.2f} ({freezing / ours:5.1f} x)"
            f"   comparing {comparing:9.2f} ({comparing / ours:7.1f} x)"
        )


def measure_import() -> None:
    def start(code: str) -> float:
        times = []
        for _ in range(ROUNDS):
            before = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append((time.perf_counter() - before) * 1e3)
        return statistics.median(times)

    empty, ours = start("pass"), start("import tool_approval")
    print(f"import: {ours - empty:.1f} ms more than an empty program ({empty:.1f} ms)")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        import os

        os.environ["HOME"] = directory
        os.chdir(directory)
        measure_evaluate()
        measure_session_approvals()
        measure_import()
