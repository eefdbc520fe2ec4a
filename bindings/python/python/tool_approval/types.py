"""The data types of an approval: the context, the request, the presentation and the decision."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast, get_args, runtime_checkable

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "ApprovalAware",
    "ApprovalContext",
    "ApprovalDecision",
    "ApprovalPresentation",
    "ApprovalRequest",
    "ApprovalScope",
    "PresentationType",
]

PresentationType = Literal["text", "diff", "file_content", "command", "structured"]
"""The kinds of a presentation."""

_PRESENTATION_TYPES: frozenset[str] = frozenset(get_args(PresentationType))

_Value = TypeVar("_Value")


def _require(value: _Value, kind: type, name: str) -> _Value:
    if not isinstance(value, kind):
        raise TypeError(f"`{name}` must be a {kind.__name__}, not {type(value).__name__}")
    return value


class _Record:
    """The methods that the types share.

    They have the names and meanings of the methods of a pydantic model, and the types can be
    fields of pydantic models. This package does not import pydantic.
    """

    __slots__ = ()

    def model_dump(self) -> dict[str, Any]:
        """Return the fields as a dictionary. The values are copies."""
        return {one.name: _dump(getattr(self, one.name)) for one in fields(self)}  # type: ignore[arg-type]

    def model_dump_json(self) -> str:
        """Return the fields as JSON. Values without a JSON form become their `repr`."""
        return json.dumps(self.model_dump(), ensure_ascii=False, default=repr)

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """Return a shallow copy with these fields replaced."""
        known = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        for name in update or {}:
            if name not in known:
                raise TypeError(f"`{type(self).__name__}` has no field `{name}`")
        return type(self)(**{**known, **(update or {})})

    @classmethod
    def model_validate(cls, value: object) -> Self:
        """Return an instance from an instance or a mapping.

        Raises:
            TypeError: If the value or one of its fields has a wrong type, or a field is unknown.
        """
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise TypeError(f"expected a `{cls.__name__}` or a mapping, not {type(value).__name__}")
        return cls(**value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            _pydantic_validator(cls),
            serialization=core_schema.plain_serializer_function_ser_schema(cls.model_dump),
        )


def _pydantic_validator(cls: type[_Record]) -> Any:
    def validate(value: object) -> _Record:
        try:
            return cls.model_validate(value)
        except TypeError as error:
            raise ValueError(str(error)) from None

    return validate


def _dump(value: Any) -> Any:
    if isinstance(value, _Record):
        return value.model_dump()
    if isinstance(value, Enum):
        return value.value
    return copy.deepcopy(value)


@dataclass(kw_only=True, slots=True)
class ApprovalPresentation(_Record):
    """Data for displaying a request.

    A tool may leave it out. The controller then creates it from the payload, and only if a reviewer
    is asked.

    Attributes:
        type: The kind of content, which selects how it is rendered.
        content: The text to show. It contains no raw binary data.
        language: The language for syntax highlighting, such as `python`.
        metadata: More data for the display. `full_content` is the text that `[v]` shows, and `cwd`
            is the working directory of a command.
    """

    type: PresentationType
    content: str
    language: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if self.type not in _PRESENTATION_TYPES:
            names = ", ".join(f"`{name}`" for name in sorted(_PRESENTATION_TYPES))
            raise TypeError(f"`type` must be one of {names}, not {self.type!r}")
        _require(self.content, str, "content")
        _require(self.metadata, dict, "metadata")


@dataclass(kw_only=True, slots=True)
class ApprovalContext(_Record):
    """The context of a call, for `check_approval`.

    Attributes:
        tool_name: The name of the tool, as the model sees it.
        args: The arguments of the call.
        metadata: Data of the framework, such as `run_id`, `session_id` or `batch_id`.
    """

    tool_name: str
    args: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        _require(self.tool_name, str, "tool_name")
        _require(self.args, dict, "args")
        _require(self.metadata, dict, "metadata")


@dataclass(kw_only=True, slots=True)
class ApprovalRequest(_Record):
    """A request for approval, which a tool returns from `check_approval`.

    Attributes:
        tool_name: The name of the tool, as the model sees it and as it is logged.
        description: One line that says what the call does.
        payload: The fingerprint of the call. "Approve for session" applies to every later request
            with the same tool name and an equal payload, so leave out what changes from call to
            call, and secrets.
        presentation: Data for displaying the request. If it is `None`, the controller creates it.
        group_id: Requests with the same group may be answered together.
    """

    tool_name: str
    description: str
    payload: dict[str, Any]
    presentation: ApprovalPresentation | None = None
    group_id: str | None = None

    def __post_init__(self) -> None:
        _require(self.tool_name, str, "tool_name")
        _require(self.description, str, "description")
        _require(self.payload, dict, "payload")
        if self.presentation is not None:
            self.presentation = _to_presentation(self.presentation)
        if self.group_id is not None:
            _require(self.group_id, str, "group_id")


def _to_presentation(value: object) -> ApprovalPresentation:
    if isinstance(value, (ApprovalPresentation, Mapping)):
        return ApprovalPresentation.model_validate(cast(object, value))
    raise TypeError(
        f"`presentation` must be an ApprovalPresentation, not {type(value).__name__}"
    )


class ApprovalScope(Enum):
    """The calls that an approval applies to."""

    ONCE = "once"
    """Just this call."""
    SESSION = "session"
    """This call, and equal ones until the controller is discarded."""


@dataclass(slots=True)
class ApprovalDecision(_Record):
    """The answer to a request.

    Attributes:
        approved: True if the call may run.
        scope: The calls that the approval applies to.
        note: The reason, or the reviewer's message to the model.
        answered_by: The origin of the answer, if it is known: a reviewer, `policy`,
            `session approval`, or the mode of the controller. Decisions that differ only in it
            are equal.
    """

    approved: bool
    scope: ApprovalScope = ApprovalScope.ONCE
    note: str | None = None
    answered_by: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.approved is not True and self.approved is not False:
            raise TypeError(f"`approved` must be a bool, not {type(self.approved).__name__}")
        self.scope = ApprovalScope(self.scope)


@runtime_checkable
class ApprovalAware(Protocol):
    """A tool that declares when a call needs approval."""

    def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
        """Return the request for approval, or `None` if the call needs none.

        The method only computes. It is not async, and it asks no reviewer: reading files for
        a diff and asking are tasks of the controller.

        Raises:
            PermissionError: If the call is blocked and no approval can allow it.
        """
        ...
