"""Which requests a session approval covers."""

from __future__ import annotations

import dataclasses
import enum
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tool_approval import ApprovalController, ApprovalRequest, UncomparablePayloadError


def covers(approved: dict[str, Any], later: dict[str, Any], *, tool: str = "t") -> bool:
    controller = ApprovalController()
    first = ApprovalRequest(tool_name="t", description="", payload=approved)
    controller.add_session_approval(first)
    second = ApprovalRequest(tool_name=tool, description="other", payload=later)
    return controller.is_session_approved(second)


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Unhashable:
    value: int


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"a": 1, "b": [1, {"c": (2, None)}]},
        {"s": {1, 2}},
        {"o": Unhashable(1)},
        {"e": Color.RED},
        {"b": b"x", "f": 1.5, "t": True},
        {1: "integer key", ("tuple",): "key"},
        {"big": 10**40},
    ],
)
def test_equal_payloads_are_covered(payload: dict[str, Any]) -> None:
    import copy

    assert covers(payload, copy.deepcopy(payload))


@pytest.mark.parametrize(
    ("approved", "later"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": True}, {"a": 1}),
        ({"a": 0}, {"a": False}),
        ({"a": [True]}, {"a": [1]}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": [1]}, {"a": (1,)}),
        ({"a": "1"}, {"a": 1}),
        ({"a": None}, {}),
        ({"a": "x"}, {"a": b"x"}),
        ({"a": Unhashable(1)}, {"a": Unhashable(2)}),
        ({"a": Color.RED}, {"a": "red"}),
        ({1: "x"}, {True: "x"}),
        ({"a": {"b": 1}}, {"a": [("b", 1)]}),
    ],
)
def test_other_payloads_are_not_covered(approved: dict[str, Any], later: dict[str, Any]) -> None:
    assert not covers(approved, later)
    assert not covers(later, approved)


def test_the_order_of_keys_does_not_matter() -> None:
    assert covers({"a": 1, "b": 2}, {"b": 2, "a": 1})


def test_an_integer_equals_a_float() -> None:
    assert covers({"a": 1}, {"a": 1.0})


def test_another_tool_is_not_covered() -> None:
    assert not covers({"a": 1}, {"a": 1}, tool="u")


def test_nan_is_never_covered() -> None:
    controller = ApprovalController()
    request = ApprovalRequest(tool_name="t", description="", payload={"x": math.nan})
    with pytest.raises(UncomparablePayloadError, match="a copy of it is not equal to it"):
        controller.add_session_approval(request)


def test_a_later_change_of_the_payload_does_not_extend_the_approval() -> None:
    controller = ApprovalController()
    payload = {"paths": ["a"]}
    request = ApprovalRequest(tool_name="t", description="", payload=payload)
    controller.add_session_approval(request)
    payload["paths"].append("b")
    assert not controller.is_session_approved(request)
    payload["paths"].pop()
    assert controller.is_session_approved(request)


class Raising:
    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


class Uncopyable:
    def __deepcopy__(self, memo: object) -> object:
        raise OSError("cannot copy")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Raising(), "ambiguous"),
        (Uncopyable(), "cannot copy"),
        (object(), "a copy of it is not equal to it"),
    ],
)
def test_a_payload_that_cannot_be_compared_is_not_approved(value: object, message: str) -> None:
    controller = ApprovalController()
    request = ApprovalRequest(tool_name="t", description="", payload={"value": value})
    with pytest.raises(UncomparablePayloadError, match=message):
        controller.add_session_approval(request)
    assert len(controller.session_approvals) == 0


def test_a_cyclic_payload_is_an_error() -> None:
    payload: dict[str, Any] = {}
    payload["self"] = payload
    controller = ApprovalController()
    request = ApprovalRequest(tool_name="t", description="", payload=payload)
    with pytest.raises(UncomparablePayloadError, match="nested more than 100 levels deep"):
        controller.is_session_approved(request)


def test_cleared_approvals_are_forgotten() -> None:
    controller = ApprovalController()
    request = ApprovalRequest(tool_name="t", description="", payload={})
    controller.add_session_approval(request)
    controller.clear_session_approvals()
    assert not controller.is_session_approved(request)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
payloads = st.dictionaries(st.text(max_size=3), json_values, max_size=4)


def deeply_equal(first: object, second: object) -> bool:
    """Whether two values are equal, and no bool equals a number."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            deeply_equal(value, second[key]) for key, value in first.items()
        )
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(deeply_equal, first, second))
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    return first == second


@given(payloads, payloads)
def test_a_session_approval_covers_exactly_the_equal_payloads(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    assert covers(first, second) == deeply_equal(first, second)
    assert covers(first, first)
