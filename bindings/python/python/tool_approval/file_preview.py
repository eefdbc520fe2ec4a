"""Previews of changes of files: the difference between a file and its new content.

A preview is a presentation whose metadata names a file and its new content. `complete_preview`
reads the file and computes what is shown. A path can come from a model, so nothing here waits for
a device or a pipe, and nothing reads a large file whole.
"""

from __future__ import annotations

import difflib
import errno
import mimetypes
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, cast

from .truncation import truncated
from .types import ApprovalPresentation

__all__ = [
    "FileEdit",
    "complete_preview",
    "describe_binary",
    "edit_preview",
    "write_preview",
]

_MAX_COMPARED_BYTES = 1 << 20
"""The size of the largest file that is compared with its new content."""

_MAX_COMPARED_LINES = 3000
"""The number of differing lines up to which a diff is computed. The time for it is quadratic."""

_SNIFFED_BYTES = 4096
"""The number of bytes that are read from a large file to find out its type."""

_Path = str | os.PathLike[str]


class FileEdit(NamedTuple):
    """A replacement of text in a file.

    Attributes:
        old: The text to replace.
        new: The text that replaces it.
        replace_all: True if every occurrence is replaced. Otherwise, there must be exactly one.
    """

    old: str
    new: str
    replace_all: bool = False


def write_preview(path: _Path, content: str | bytes) -> ApprovalPresentation:
    """Return a presentation for a tool that replaces the whole content of a file.

    The file is not read now. If a reviewer is asked, the diff against the file is shown, or the
    content if the file is new.

    Args:
        path: The path that the tool writes to. A relative path is relative to the current
            directory of the process.
        content: The new content.

    Example:
        ```python
        from tool_approval import ApprovalContext, ApprovalRequest
        from tool_approval.presentation import file_write_preview

        class NotesTool:
            def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest:
                path, content = ctx.args["path"], ctx.args["content"]
                return ApprovalRequest(
                    tool_name=ctx.tool_name,
                    description=f"Write to {path}",
                    payload={"path": path},
                    presentation=file_write_preview(path, content),
                )
        ```
    """
    location = os.fspath(path)
    amount = _count(len(content), "byte" if isinstance(content, bytes) else "character")
    return ApprovalPresentation(
        type="text",
        content=f"Writes {amount} to {location}",
        metadata={"preview": {"path": location, "content": content}},
    )


def edit_preview(path: _Path, edits: Sequence[FileEdit]) -> ApprovalPresentation:
    """Return a presentation for a tool that replaces text in a file.

    The file is not read now. If a reviewer is asked, the diff between the file and the file after
    the edits is shown.

    Args:
        path: The path of the file. A relative path is relative to the current directory of the
            process.
        edits: The replacements, in the order in which the tool makes them.
    """
    location = os.fspath(path)
    return ApprovalPresentation(
        type="text",
        content=f"Replaces text in {location}",
        metadata={"preview": {"path": location, "edits": [list(FileEdit(*one)) for one in edits]}},
    )


def complete_preview(presentation: ApprovalPresentation) -> ApprovalPresentation:
    """Return the finished presentation for a preview. Other presentations are returned unchanged.

    A file that cannot be read is no error: the presentation then says so.
    """
    preview = presentation.metadata.get("preview")
    if not isinstance(preview, Mapping):
        return presentation
    fields = cast("Mapping[str, Any]", preview)
    path = fields.get("path")
    if not isinstance(path, str):
        return presentation
    existing = _read_file(path)
    if "edits" in fields:
        shown = _present_edits(path, existing, [FileEdit(*one) for one in fields["edits"]])
    else:
        shown = _present_content(path, existing, fields["content"])
    rest = {key: value for key, value in presentation.metadata.items() if key != "preview"}
    shown.metadata = {**rest, **shown.metadata}
    if presentation.language is not None:
        shown.language = presentation.language
    return truncated(shown)


def describe_binary(path: str, beginning: bytes, size: int) -> str:
    """Return the type and the size of a binary file, such as `Binary file: image/png (2.3 KB)`."""
    return f"Binary file: {_binary_type(path, beginning)} ({_format_size(size)})"


# --- The file ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ExistingFile:
    """The file at a path before a change.

    Attributes:
        text: The content, if it is text that can be compared.
        is_missing: True if there is no file.
        problem: The reason why there is no text.
    """

    text: str | None = None
    is_missing: bool = False
    problem: str | None = None


def _read_file(path: str) -> _ExistingFile:
    try:
        # Opening a pipe or a device must neither block nor have effects on a terminal.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        return _ExistingFile(is_missing=True)
    except (OSError, ValueError) as error:
        return _ExistingFile(problem=_describe_error(error))
    try:
        return _read_descriptor(path, descriptor)
    except OSError as error:
        return _ExistingFile(problem=_describe_error(error))
    finally:
        os.close(descriptor)


def _read_descriptor(path: str, descriptor: int) -> _ExistingFile:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return _ExistingFile(problem=f"it is {_file_kind(status.st_mode)}")
    is_large = status.st_size > _MAX_COMPARED_BYTES
    data = _read_bytes(descriptor, _SNIFFED_BYTES if is_large else _MAX_COMPARED_BYTES + 1)
    size = max(status.st_size, len(data))
    text = _decode_text(data, is_cut=is_large)
    if text is None:
        return _ExistingFile(problem=describe_binary(path, data, size))
    if size > _MAX_COMPARED_BYTES:
        return _ExistingFile(problem=f"{_format_size(size)}, too large to compare")
    return _ExistingFile(text=text)


def _read_bytes(descriptor: int, most: int) -> bytes:
    chunks: list[bytes] = []
    while most > 0:
        chunk = os.read(descriptor, most)
        if not chunk:
            break
        chunks.append(chunk)
        most -= len(chunk)
    return b"".join(chunks)


def _file_kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a pipe" if stat.S_ISFIFO(mode) else "not a regular file"


def _describe_error(error: OSError | ValueError) -> str:
    if not isinstance(error, OSError) or error.errno is None:
        return "not a valid path"
    if error.errno == errno.ENXIO:
        return "not a regular file"
    return os.strerror(error.errno)


def _decode_text(data: bytes, *, is_cut: bool = False) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character of a part of a file can be incomplete.
        if is_cut and error.start >= len(data) - 3:
            return data[: error.start].decode("utf-8")
        return None


_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x7fELF", "application/x-executable"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
)


def _binary_type(path: str, beginning: bytes) -> str:
    """Return the media type of a file. Its content takes precedence over its name."""
    for signature, media_type in _SIGNATURES:
        if beginning.startswith(signature):
            return media_type
    guessed, encoding = mimetypes.guess_type(path)
    if guessed is None or encoding is not None or guessed.startswith("text/"):
        return "application/octet-stream"
    return guessed


# --- What is shown -------------------------------------------------------------------------------


def _present_content(
    path: str, existing: _ExistingFile, content: str | bytes
) -> ApprovalPresentation:
    where = _describe_path(path)
    new = _decode_text(content) if isinstance(content, bytes) else content
    if new is None:
        data = cast("bytes", content)
        shown = describe_binary(path, data, len(data))
        return ApprovalPresentation(
            type="text", content=shown, metadata={"summary": _replacement(where, existing)}
        )
    if existing.text is not None:
        if existing.text == new:
            return ApprovalPresentation(
                type="text", content=f"No changes: {where} already has this content."
            )
        diff = _unified_diff(existing.text, new)
        if diff is not None:
            return _present_diff(where, path, diff)
        existing = _ExistingFile(problem="too many differences to compare")
    summary = f"{_replacement(where, existing)}: {_measure(new)}"
    return ApprovalPresentation(
        type="file_content", content=new, metadata={"path": path, "summary": summary}
    )


def _replacement(where: str, existing: _ExistingFile) -> str:
    if existing.is_missing:
        return f"New file {where}"
    if existing.problem is not None:
        return f"Replaces {where} ({existing.problem})"
    return f"Replaces {where}"


def _present_edits(
    path: str, existing: _ExistingFile, edits: Sequence[FileEdit]
) -> ApprovalPresentation:
    where = _describe_path(path)
    new, problem = existing.text, existing.problem
    if existing.is_missing:
        problem = "there is no such file"
    for edit in edits:
        if new is None:
            break
        found = new.count(edit.old) if edit.old else 0
        if found == 0 or (found > 1 and not edit.replace_all):
            problem = "the text is not in the file" if found == 0 else f"{found} matches"
            new = None
        else:
            new = new.replace(edit.old, edit.new)
    diff = None
    if existing.text is not None and new is not None:
        diff = _unified_diff(existing.text, new)
        problem = "too many differences to compare"
    if diff == "":
        return ApprovalPresentation(
            type="text", content=f"No changes: {where} already has this content."
        )
    if diff is not None:
        return _present_diff(where, path, diff)
    replacements = "\n".join(
        line
        for edit in edits
        for line in (*_marked_lines("-", edit.old), *_marked_lines("+", edit.new))
    )
    return ApprovalPresentation(
        type="diff",
        content=replacements,
        metadata={"path": path, "summary": f"Replaces text in {where} ({problem})"},
    )


def _present_diff(where: str, path: str, diff: str) -> ApprovalPresentation:
    lines = diff.split("\n")
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    summary = f"Changes {where}: {_count(added, 'line')} added, {removed} removed"
    return ApprovalPresentation(
        type="diff", content=diff, metadata={"path": path, "summary": summary}
    )


def _unified_diff(old: str, new: str) -> str | None:
    """Return the hunks of a diff, or `None` if the texts differ in too many lines."""
    old_lines, new_lines = _lines_with_ends(old), _lines_with_ends(new)
    common = _common_prefix(old_lines, new_lines)
    common += _common_prefix(old_lines[common:][::-1], new_lines[common:][::-1])
    if max(len(old_lines), len(new_lines)) - common > _MAX_COMPARED_LINES:
        return None
    out: list[str] = []
    # The first two lines name the files.
    for line in islice(difflib.unified_diff(old_lines, new_lines), 2, None):
        out.append(line.rstrip("\n") if line.endswith("\n") else line)
        if not line.endswith("\n"):
            out.append("\\ No newline at end of file")
    return "\n".join(out)


def _lines_with_ends(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _common_prefix(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for one, other in zip(left, right):
        if one != other:
            break
        count += 1
    return count


def _marked_lines(mark: str, text: str) -> list[str]:
    return [f"{mark}{line}" for line in text.split("\n")] if text else []


def _describe_path(path: str) -> str:
    """Return a path for display. If it leads elsewhere through links, the target is named, too."""
    try:
        directory = os.getcwd()
        absolute = os.path.normpath(os.path.join(directory, path))
        real = os.path.realpath(path)
    except (OSError, ValueError):
        return path
    relative = os.path.relpath(absolute, directory)
    shown = absolute if relative.startswith("..") else relative
    if real in (absolute, os.path.join(os.path.realpath(directory), relative)):
        return shown
    return f"{shown} (a link to {real})"


def _measure(text: str) -> str:
    if not text:
        return "empty"
    lines = text.count("\n") + (not text.endswith("\n"))
    return f"{_count(lines, 'line')}, {_format_size(len(text.encode('utf-8', 'surrogatepass')))}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _format_size(size: int) -> str:
    if size < 1024:
        return f"{size} B"
    amount = float(size)
    for unit in ("KB", "MB", "GB"):
        amount /= 1024
        if amount < 1024 or unit == "GB":
            return f"{amount:.1f} {unit}"
    raise AssertionError("unreachable")
