"""Requests for tools that have no approval logic of their own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

from .types import ApprovalContext, ApprovalRequest

if TYPE_CHECKING:
    from .controller import ApprovalController

__all__ = ["requires_approval", "simple_approval_request"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_MAX_VALUE_LENGTH = 200
"""The number of characters of a value in a generated description."""


def simple_approval_request(
    tool_name: str,
    args: dict[str, Any],
    *,
    description: str | None = None,
    exclude_keys: Collection[str] | None = None,
) -> ApprovalRequest:
    """Return a request whose payload is the arguments of the call.

    Args:
        tool_name: The name of the tool.
        args: The arguments of the call.
        description: One line that says what the call does. If it is `None`, it is generated from
            the name and the arguments.
        exclude_keys: Arguments to leave out of the payload and of a generated description, such as
            secrets and long content.
    """
    excluded = frozenset(exclude_keys or ())
    payload = {key: value for key, value in args.items() if key not in excluded}
    if description is None:
        description = _describe_call(tool_name, payload)
    return ApprovalRequest(tool_name=tool_name, description=description, payload=payload)


def requires_approval(
    *,
    description: str | Callable[[dict[str, Any]], str] | None = None,
    exclude_keys: Collection[str] | None = None,
    payload: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    controller: ApprovalController | None = None,
) -> Callable[[_Function], _Function]:
    """Return a decorator that adds `check_approval` to a function.

    Without `controller`, the function itself does not change: a direct call runs without approval,
    and the framework asks before it calls a tool. With `controller`, every call of the function
    asks first.

    Args:
        description: A text, or a function of the arguments that returns one. If it is `None`, it is
            generated from the name of the function and the arguments.
        exclude_keys: Arguments to leave out of the payload and of a generated description.
        payload: A function of the arguments that returns the payload. `exclude_keys` then only
            applies to a generated description.
        controller: The controller that is asked before each call.

    Example:
        ```python
        from tool_approval import requires_approval

        @requires_approval(
            description=lambda args: f"Delete {args['path']}",
            exclude_keys={"force"},
        )
        def delete_file(path: str, force: bool = False) -> str:
            return f"deleted {path}"
        ```
    """

    def decorate(function: _Function) -> _Function:
        tool_name = getattr(function, "__name__", type(function).__name__)

        def check_approval(ctx: ApprovalContext) -> ApprovalRequest:
            text = description(ctx.args) if callable(description) else description
            request = simple_approval_request(
                tool_name, ctx.args, description=text, exclude_keys=exclude_keys
            )
            if payload is not None:
                request = request.model_copy(update={"payload": payload(ctx.args)})
            return request

        gated = function if controller is None else _gate(function, tool_name, controller)
        gated.check_approval = check_approval  # type: ignore[attr-defined]
        return gated

    return decorate


def _gate(function: _Function, tool_name: str, controller: ApprovalController) -> _Function:
    """Return the function with a check before each call."""
    signature = inspect.signature(function)

    def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def gated_async(*args: Any, **kwargs: Any) -> Any:
            call = arguments(args, kwargs)
            await controller.require_approval(tool_name, call, tool=gated_async)
            return await function(*args, **kwargs)

        return gated_async  # type: ignore[return-value]

    @functools.wraps(function)
    def gated(*args: Any, **kwargs: Any) -> Any:
        call = arguments(args, kwargs)
        controller.require_approval_sync(tool_name, call, tool=gated)
        return function(*args, **kwargs)

    return gated  # type: ignore[return-value]


def _describe_call(tool_name: str, args: dict[str, Any]) -> str:
    return f"{tool_name}({', '.join(f'{key}={_shorten(value)}' for key, value in args.items())})"


def _shorten(value: Any) -> str:
    text = repr(value)
    if len(text) <= _MAX_VALUE_LENGTH:
        return text
    return f"{text[:_MAX_VALUE_LENGTH]}… ({len(text)} characters)"
