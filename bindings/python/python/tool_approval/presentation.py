"""Presentations of requests: created only when a reviewer is asked.

A tool has three ways to influence what a reviewer sees. Each of them is optional.

1. It sets `ApprovalRequest.presentation` to a finished presentation.
2. It sets it to a preview: `file_write_preview` or `file_edit_preview`. A preview names a file and
   its new content. The file is read, and the diff is computed, only if a reviewer is asked. This is
   for tools whose payload leaves the content out.
3. `register_presenter` registers a function that creates the presentation from the request.

Without any of them, the presentation is created from the name of the tool and the payload.
"""

from __future__ import annotations

import json
import logging
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from .file_preview import FileEdit, complete_preview, edit_preview, write_preview
from .types import ApprovalPresentation, ApprovalRequest
from .truncation import truncate_for_display, truncated

__all__ = [
    "FileEdit",
    "Presenter",
    "file_edit_preview",
    "file_write_preview",
    "group_presentation",
    "register_presenter",
    "truncate_for_display",
    "unregister_presenter",
    "with_presentation",
]

Presenter = Callable[[ApprovalRequest], "ApprovalPresentation | None"]
"""A function that creates the presentation of a request, or returns `None` for the default one."""

file_write_preview = write_preview
file_edit_preview = edit_preview

_log = logging.getLogger("tool_approval")

_presenters: dict[str, Presenter] = {}


def register_presenter(tool_name: str, presenter: Presenter) -> None:
    """Register the function that creates the presentations for a tool.

    It is called in a thread, and only if a reviewer is asked, so it may read files. It replaces a
    presenter that was registered before. If it raises an exception, the default presentation is
    shown. It is not called for requests that have a presentation.

    Example:
        ```python
        from tool_approval import ApprovalPresentation, ApprovalRequest
        from tool_approval.presentation import register_presenter

        def present_query(request: ApprovalRequest) -> ApprovalPresentation:
            query = request.payload["query"]
            return ApprovalPresentation(type="file_content", content=query, language="sql")

        register_presenter("run_query", present_query)
        ```
    """
    if not callable(presenter):
        raise TypeError(f"a presenter must be callable, not {type(presenter).__name__}")
    _presenters[tool_name] = presenter


def unregister_presenter(tool_name: str) -> None:
    """Remove the presenter of a tool, if there is one."""
    _presenters.pop(tool_name, None)


def with_presentation(request: ApprovalRequest) -> ApprovalRequest:
    """Return a request with a finished presentation.

    A presentation of the tool is kept. A preview of a file is completed, for which the file is
    read. Otherwise, the registered presenter or the default for the tool creates the presentation.
    """
    shown = request.presentation
    if shown is None:
        shown = _custom_presentation(request) or _default_presentation(request)
    completed = complete_preview(shown)
    if completed is request.presentation:
        return request
    return request.model_copy(update={"presentation": completed})


def group_presentation(requests: Sequence[ApprovalRequest]) -> ApprovalPresentation:
    """Return the presentation of several requests that are asked about together.

    `content` has the description and the whole content of each request. `metadata["parts"]` has
    the fields of the requests, so that a user interface can render each by its type.
    """
    finished = [with_presentation(request) for request in requests]
    sections = [
        _group_section(request, number, len(finished))
        for number, request in enumerate(finished, start=1)
    ]
    return ApprovalPresentation(
        type="text",
        content="\n\n".join(sections),
        metadata={"parts": [request.model_dump() for request in finished]},
    )


def _group_section(request: ApprovalRequest, number: int, total: int) -> str:
    title = f"{number} of {total}: {request.tool_name}".replace("\n", "\\n")
    heading = f"{title}\n{request.description}".replace("\n", "\n    ")
    shown = request.presentation
    if shown is None:
        return heading
    whole = shown.metadata.get("full_content")
    content = whole if isinstance(whole, str) else shown.content
    notes = presentation_notes(shown)
    # Content is indented, so that it cannot look like the heading of another request.
    body = "\n".join(f"    {line}" for line in "\n".join([*notes, content]).split("\n"))
    return f"{heading}\n{body}"


def presentation_notes(presentation: ApprovalPresentation) -> list[str]:
    """Return the lines about the content: its summary, the directory and the details."""
    metadata = presentation.metadata
    notes: list[str] = []
    if isinstance(metadata.get("summary"), str):
        notes.append(metadata["summary"])
    if presentation.type == "command" and metadata.get("cwd") is not None:
        notes.append(f"in {metadata['cwd']}")
    details = metadata.get("details")
    if isinstance(details, Mapping):
        named = cast("Mapping[str, Any]", details)
        notes.extend(f"{key}: {to_json(value)}" for key, value in named.items())
    return notes


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Return a value as JSON, or its `repr` if it has no JSON form. This does not fail."""
    try:
        return json.dumps(value, indent=indent, ensure_ascii=False, default=repr)
    except Exception:
        try:
            return repr(value)
        except Exception as error:
            return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


# --- Presenters of the tool ----------------------------------------------------------------------


def _custom_presentation(request: ApprovalRequest) -> ApprovalPresentation | None:
    presenter = _presenters.get(request.tool_name)
    if presenter is None:
        return None
    try:
        shown = presenter(request)
    except Exception as error:
        # The text of the exception may contain what the tool keeps out of the payload.
        _log.warning(
            "the presenter of the tool `%s` failed (%s); using the default presentation",
            request.tool_name,
            type(error).__name__,
        )
        return None
    if shown is not None and not isinstance(cast("object", shown), ApprovalPresentation):
        raise TypeError(
            "a presenter must return an `ApprovalPresentation` or `None`, "
            f"not {type(shown).__name__}"
        )
    return shown


# --- Default presentations -----------------------------------------------------------------------

_PATH_KEYS = ("path", "file_path", "filename", "filepath", "file_name", "file")
_CONTENT_KEYS = ("content", "contents", "file_text", "new_content", "text")
_REPLACEMENT_KEYS = (
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
)
_COMMAND_KEYS = ("command", "cmd")
_DIRECTORY_KEYS = ("cwd", "workdir", "working_directory", "directory")

_FILE_DETAILS = frozenset(
    {"create_dirs", "description", "encoding", "explanation", "make_dirs", "overwrite", "reason"}
)
"""Arguments that do not change which content a file has afterwards."""

_SHELL_WORDS = frozenset({"bash", "cmd", "command", "process", "sh", "shell", "terminal"})
_RUN_WORDS = frozenset({"exec", "execute", "run"})
_EDIT_WORDS = frozenset({"edit", "editor", "patch", "replace", "update"})


def _default_presentation(request: ApprovalRequest) -> ApprovalPresentation:
    """Return a presentation for the kind of tool that the name and the payload indicate.

    A payload with an argument of unknown meaning is shown as it is, because a diff could be wrong.
    """
    payload = request.payload
    words = _name_words(request.tool_name)
    return (
        _present_write(words, payload)
        or _present_edit(words, payload)
        or _present_command(words, payload)
        or _present_payload(payload)
    )


def _present_write(words: set[str], payload: dict[str, Any]) -> ApprovalPresentation | None:
    is_write = words == {"write"} or (
        "file" in words and bool(words & {"create", "overwrite", "save", "write"})
    )
    path_key, path = _find_text(payload, _PATH_KEYS)
    content_key, content = _find_content(payload)
    if not is_write or path is None or content is None or not _is_local(path):
        return None
    details = _remaining(payload, {path_key, content_key})
    if details.keys() - _FILE_DETAILS:
        return None
    return _with_details(write_preview(path, content), details)


def _present_edit(words: set[str], payload: dict[str, Any]) -> ApprovalPresentation | None:
    path_key, path = _find_text(payload, _PATH_KEYS)
    if not words & _EDIT_WORDS or path is None or not _is_local(path):
        return None
    for old_key, new_key in _REPLACEMENT_KEYS:
        old, new = payload.get(old_key), payload.get(new_key)
        replace_all = payload.get("replace_all", False)
        if not (isinstance(old, str) and isinstance(new, str) and isinstance(replace_all, bool)):
            continue
        details = _remaining(payload, {path_key, old_key, new_key, "replace_all"})
        if details.get("command") == "str_replace":
            del details["command"]
        if details.keys() - _FILE_DETAILS:
            return None
        edit = FileEdit(old, new, replace_all)
        return _with_details(edit_preview(path, [edit]), details)
    return None


def _present_command(words: set[str], payload: dict[str, Any]) -> ApprovalPresentation | None:
    key = next((key for key in _COMMAND_KEYS if key in payload), None)
    command = _command_text(payload[key]) if key is not None else None
    if command is None:
        return None
    directory_key, directory = _find_text(payload, _DIRECTORY_KEYS)
    if not (words & _SHELL_WORDS or words <= _RUN_WORDS):
        return None
    details = _remaining(payload, {key, directory_key})
    metadata: dict[str, Any] = {"cwd": directory} if directory is not None else {}
    return _with_details(
        truncated(ApprovalPresentation(type="command", content=command, metadata=metadata)),
        details,
    )


def _present_payload(payload: dict[str, Any]) -> ApprovalPresentation:
    if not payload:
        return ApprovalPresentation(type="text", content="No arguments.")
    content = to_json(payload, indent=2)
    return truncated(
        ApprovalPresentation(type="structured", content=content, language="json")
    )


def _name_words(tool_name: str) -> set[str]:
    """Return the words of a name such as `write_file`, `WriteFile` or `mcp__fs__write_file`."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", tool_name)
    return {word.lower() for word in words}


def _find_text(payload: dict[str, Any], keys: Sequence[str]) -> tuple[str | None, str | None]:
    for key in keys:
        value = payload.get(key)
        if isinstance(value, str):
            return key, value
    return None, None


def _find_content(payload: dict[str, Any]) -> tuple[str | None, str | bytes | None]:
    for key in _CONTENT_KEYS:
        value = payload.get(key)
        if isinstance(value, (str, bytes)):
            return key, value
    return None, None


def _command_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        words = cast("Sequence[Any]", value)
        if words and all(isinstance(word, str) for word in words):
            return shlex.join(words)
    return None


def _is_local(path: str) -> bool:
    """Return whether a path means the same file to every program in this directory."""
    return bool(path) and not path.startswith("~") and "://" not in path


def _remaining(payload: dict[str, Any], used: set[str | None]) -> dict[str, Any]:
    return {key: value for key, value in payload.items() if key not in used}


def _with_details(
    presentation: ApprovalPresentation, details: dict[str, Any]
) -> ApprovalPresentation:
    if details:
        presentation.metadata["details"] = details
    return presentation
