"""The data types."""

from __future__ import annotations

import json

import pydantic
import pytest

from tool_approval import (
    ApprovalAware,
    ApprovalContext,
    ApprovalDecision,
    ApprovalPresentation,
    ApprovalRequest,
    ApprovalScope,
)


def request(**fields: object) -> ApprovalRequest:
    return ApprovalRequest(**{"tool_name": "t", "description": "d", "payload": {}, **fields})  # type: ignore[arg-type]


def test_defaults() -> None:
    one = request()
    assert (one.presentation, one.group_id) == (None, None)
    assert ApprovalContext(tool_name="t", args={}).metadata == {}
    decision = ApprovalDecision(approved=True)
    assert (decision.scope, decision.note) == (ApprovalScope.ONCE, None)


def test_instances_do_not_share_defaults() -> None:
    first, second = (ApprovalContext(tool_name="t", args={}) for _ in range(2))
    first.metadata["run_id"] = 1
    assert second.metadata == {}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"payload": []}, "`payload` must be a dict, not list"),
        ({"tool_name": 1}, "`tool_name` must be a str, not int"),
        ({"description": None}, "`description` must be a str, not NoneType"),
        ({"group_id": 3}, "`group_id` must be a str, not int"),
        ({"presentation": "text"}, "`presentation` must be an ApprovalPresentation, not str"),
    ],
)
def test_a_field_of_a_wrong_type_is_an_error(fields: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError) as error:
        request(**fields)
    assert str(error.value) == message


def test_an_unknown_kind_of_presentation_is_an_error() -> None:
    with pytest.raises(TypeError, match="`type` must be one of `command`, `diff`"):
        ApprovalPresentation(type="html", content="")  # type: ignore[arg-type]


@pytest.mark.parametrize("approved", ["yes", 1, None])
def test_only_true_approves(approved: object) -> None:
    with pytest.raises(TypeError, match="`approved` must be a bool"):
        ApprovalDecision(approved)  # type: ignore[arg-type]


def test_a_scope_may_be_its_value() -> None:
    assert ApprovalDecision(True, "session").scope is ApprovalScope.SESSION  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="forever"):
        ApprovalDecision(True, "forever")  # type: ignore[arg-type]


def test_a_dump_is_a_copy_and_can_be_validated_again() -> None:
    shown = ApprovalPresentation(type="diff", content="+x", metadata={"path": "a"})
    original = request(payload={"paths": ["a"]}, presentation=shown)
    dump = original.model_dump()
    assert ApprovalRequest.model_validate(dump) == original
    dump["payload"]["paths"].append("b")
    assert original.payload == {"paths": ["a"]}


def test_json_shows_values_that_json_does_not_have() -> None:
    parsed = json.loads(request(payload={"raw": b"x"}).model_dump_json())
    assert parsed["payload"] == {"raw": "b'x'"}


def test_a_copy_rejects_unknown_fields() -> None:
    assert request().model_copy(update={"group_id": "g"}).group_id == "g"
    with pytest.raises(TypeError, match="`ApprovalRequest` has no field `payloda`"):
        request().model_copy(update={"payloda": {}})


def test_validation_rejects_other_values() -> None:
    with pytest.raises(TypeError, match="expected a `ApprovalRequest` or a mapping, not list"):
        ApprovalRequest.model_validate([])


def test_the_types_are_fields_of_pydantic_models() -> None:
    class Message(pydantic.BaseModel):
        request: ApprovalRequest

    message = Message.model_validate({"request": request(payload={"a": 1}).model_dump()})
    assert message.request == request(payload={"a": 1})
    assert message.model_dump()["request"]["payload"] == {"a": 1}
    with pytest.raises(pydantic.ValidationError, match="`payload` must be a dict"):
        Message.model_validate({"request": {"tool_name": "t", "description": "d", "payload": 1}})


def test_a_tool_with_the_method_is_approval_aware() -> None:
    class Tool:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
            return None

    assert isinstance(Tool(), ApprovalAware)
    assert not isinstance(object(), ApprovalAware)
