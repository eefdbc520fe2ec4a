"""Methods that frameworks can use as tools."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, cast

__all__ = ["tool_method"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def tool_method(function: _Function) -> _Function:
    """Make a method usable as a tool: each bound method is a function with `check_approval`.

    A bound method has no attributes of its own, so a framework would not find the check, and it
    would run the tool without approval. The class has a method `_check_tool`, which is called with
    the name of the method and the context, and may have an attribute `tool_names`, which maps the
    names of methods to names of tools.
    """
    return cast("_Function", _ToolMethod(function))


class _ToolMethod:
    """A descriptor that returns a function for each instance."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    @cached_property
    def annotations(self) -> dict[str, Any]:
        """The annotations as types, because the function is defined in this module."""
        return typing.get_type_hints(self.function)

    @cached_property
    def signature(self) -> inspect.Signature:
        signature = inspect.signature(self.function)
        parameters = list(signature.parameters.values())[1:]
        typed = [one.replace(annotation=self.annotations[one.name]) for one in parameters]
        return signature.replace(
            parameters=typed, return_annotation=self.annotations.get("return", Any)
        )

    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        if instance is None:
            return self.function
        bound = _bind(self.function, instance)
        method = self.function.__name__
        bound.__name__ = getattr(instance, "tool_names", {}).get(method, method)
        bound.__qualname__ = f"{owner.__qualname__}.{bound.__name__}"
        bound.__doc__ = self.function.__doc__
        bound.__module__ = self.function.__module__
        bound.__annotations__ = dict(self.annotations)
        bound.__signature__ = self.signature

        def check_approval(ctx: Any) -> Any:
            return instance._check_tool(method, ctx)

        bound.check_approval = check_approval
        return bound


def _bind(function: Callable[..., Any], instance: Any) -> Any:
    if inspect.iscoroutinefunction(function):

        async def bound_async(*args: Any, **kwargs: Any) -> Any:
            return await function(instance, *args, **kwargs)

        return bound_async

    def bound(*args: Any, **kwargs: Any) -> Any:
        return function(instance, *args, **kwargs)

    return bound
