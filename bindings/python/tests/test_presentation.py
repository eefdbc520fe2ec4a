"""What a reviewer is shown for a request that has no presentation, or a preview."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest
from tool_approval import (
    ApprovalController,
    ApprovalDecision,
    ApprovalPresentation,
    ApprovalRequest,
    truncate_for_display,
)
from tool_approval.presentation import (
    FileEdit,
    file_edit_preview,
    file_write_preview,
    group_presentation,
    register_presenter,
    unregister_presenter,
    with_presentation,
)


@pytest.fixture(autouse=True)
def _in_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def present(tool_name: str, **payload: Any) -> ApprovalPresentation:
    request = ApprovalRequest(tool_name=tool_name, description="x", payload=payload)
    shown = with_presentation(request).presentation
    assert shown is not None
    return shown


def complete(preview: ApprovalPresentation) -> ApprovalPresentation:
    request = ApprovalRequest(tool_name="t", description="x", payload={}, presentation=preview)
    shown = with_presentation(request).presentation
    assert shown is not None
    return shown


# --- Truncation ----------------------------------------------------------------------------------


def test_short_content_is_not_truncated() -> None:
    content = "\n".join(map(str, range(50)))
    assert truncate_for_display(content) == content


def test_truncation_counts_the_lines_that_are_left_out() -> None:
    content = "\n".join(map(str, range(53)))
    shown = truncate_for_display(content)
    assert shown.startswith("0\n1\n")
    assert shown.endswith("\n49\n\n... [3 more lines]")
    assert truncate_for_display("a\nb\nc", max_lines=1) == "a\n\n... [2 more lines]"


def test_truncation_to_no_lines_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        truncate_for_display("a", max_lines=0)


# --- Writing files -------------------------------------------------------------------------------


def test_a_new_file_is_shown_whole() -> None:
    shown = present("write_file", path="notes/log.py", content="import os\nprint(1)\n")
    assert shown.type == "file_content"
    assert shown.content == "import os\nprint(1)\n"
    assert shown.metadata["path"] == "notes/log.py"
    assert shown.metadata["summary"] == "New file notes/log.py: 2 lines, 19 B"


def test_an_existing_file_is_shown_as_a_diff(tmp_path: Path) -> None:
    tmp_path.joinpath("report.md").write_text("# Report\n## Summary\nend\n")
    shown = present("write_file", path="report.md", content="# Report\n## Results\nmore\nend\n")
    assert shown.type == "diff"
    assert shown.content == (
        "@@ -1,3 +1,4 @@\n # Report\n-## Summary\n+## Results\n+more\n end"
    )
    assert shown.metadata["summary"] == "Changes report.md: 2 lines added, 1 removed"


def test_a_change_of_the_last_line_end_is_shown(tmp_path: Path) -> None:
    tmp_path.joinpath("a").write_text("x\n")
    assert present("write_file", path="a", content="x").content == (
        "@@ -1 +1 @@\n-x\n+x\n\\ No newline at end of file"
    )


def test_a_change_of_carriage_returns_is_shown(tmp_path: Path) -> None:
    tmp_path.joinpath("a").write_bytes(b"x\r\n")
    assert present("write_file", path="a", content="x\n").content == "@@ -1 +1 @@\n-x\r\n+x"


def test_emptying_a_file_is_shown_as_a_removal(tmp_path: Path) -> None:
    tmp_path.joinpath("a").write_text("one\ntwo\n")
    shown = present("write_file", path="a", content="")
    assert shown.content == "@@ -1,2 +0,0 @@\n-one\n-two"


def test_the_same_content_is_no_change(tmp_path: Path) -> None:
    tmp_path.joinpath("a").write_text("one\n")
    shown = present("write_file", path="a", content="one\n")
    assert (shown.type, shown.content) == ("text", "No changes: a already has this content.")


@pytest.mark.parametrize(
    ("tool_name", "payload"),
    [
        ("Write", {"file_path": "a", "content": "x"}),
        ("create_file", {"path": "a", "file_text": "x"}),
        ("mcp__fs__write_file", {"path": "a", "content": "x"}),
        ("writeFile", {"filename": "a", "contents": "x"}),
    ],
)
def test_names_of_writing_tools(tool_name: str, payload: dict[str, Any]) -> None:
    assert present(tool_name, **payload).type == "file_content"


@pytest.mark.parametrize(
    ("tool_name", "payload"),
    [
        ("send_email", {"path": "a", "content": "x"}),
        ("append_file", {"path": "a", "content": "x"}),
        ("write_file", {"path": "a", "content": "x", "mode": "append"}),
        ("write_file", {"path": "a", "content": "x", "branch": "main"}),
        ("write_file", {"path": "~/a", "content": "x"}),
        ("write_file", {"path": "s3://bucket/a", "content": "x"}),
        ("write_file", {"path": "a"}),
        ("write_file", {"path": 3, "content": "x"}),
        ("edit_file", {"path": "a", "old_string": "x", "new_string": "y", "regex": True}),
        ("edit_file", {"path": "a", "old_string": "x"}),
        ("str_replace_editor", {"command": "insert", "path": "a", "new_str": "x"}),
    ],
)
def test_a_payload_of_unknown_meaning_is_shown_as_it_is(
    tool_name: str, payload: dict[str, Any]
) -> None:
    shown = present(tool_name, **payload)
    assert shown.type == "structured"
    assert json.loads(shown.content) == payload


def test_further_arguments_are_shown() -> None:
    shown = present("write_file", path="a", content="x", encoding="utf-16", overwrite=True)
    assert shown.type == "file_content"
    assert shown.metadata["details"] == {"encoding": "utf-16", "overwrite": True}


def test_long_content_is_truncated_and_kept_for_the_full_view() -> None:
    content = "\n".join(map(str, range(200)))
    shown = present("write_file", path="a", content=content)
    assert shown.content == truncate_for_display(content)
    assert shown.metadata["full_content"] == content


def test_a_link_is_named(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("old\n")
    tmp_path.joinpath("link").symlink_to(target)
    shown = present("write_file", path="link", content="new\n")
    assert shown.metadata["summary"] == (
        f"Changes link (a link to {target}): 1 line added, 1 removed"
    )


def test_a_file_outside_of_the_directory_has_its_absolute_path(tmp_path: Path) -> None:
    outside = tmp_path.parent / "outside.txt"
    shown = present("write_file", path="../outside.txt", content="x")
    assert shown.metadata["summary"] == f"New file {outside}: 1 line, 1 B"


# --- Files that cannot be compared ---------------------------------------------------------------


def test_a_binary_file_is_shown_by_type_and_size(tmp_path: Path) -> None:
    tmp_path.joinpath("a.dat").write_bytes(b"\x89PNG\r\n\x1a\n\0" + bytes(2346))
    shown = present("write_file", path="a.dat", content="text")
    assert shown.content == "text"
    assert shown.metadata["summary"] == (
        "Replaces a.dat (Binary file: image/png (2.3 KB)): 1 line, 4 B"
    )


def test_binary_content_is_shown_by_type_and_size() -> None:
    shown = complete(file_write_preview("logo.png", b"\x89PNG\r\n\x1a\n\0" + bytes(2346)))
    assert (shown.type, shown.content) == ("text", "Binary file: image/png (2.3 KB)")
    assert shown.metadata["summary"] == "New file logo.png"


def test_the_type_of_a_binary_file_is_not_taken_from_a_name_for_text() -> None:
    shown = complete(file_write_preview("a.py", b"\x7fELF\0\0"))
    assert shown.content == "Binary file: application/x-executable (6 B)"
    assert complete(file_write_preview("a.txt", b"\0")).content == (
        "Binary file: application/octet-stream (1 B)"
    )


def test_a_large_file_is_not_read_whole(tmp_path: Path) -> None:
    with tmp_path.joinpath("a").open("wb") as file:
        file.write(b"text\n" * 1000)
        file.truncate(1 << 40)
        file.seek(5000)
        file.write(b"text\n" * 1000)
    shown = present("write_file", path="a", content="new\n")
    assert shown.type == "file_content"
    assert shown.metadata["summary"] == (
        "Replaces a (1024.0 GB, too large to compare): 1 line, 4 B"
    )


def test_files_that_differ_in_many_lines_are_not_compared(tmp_path: Path) -> None:
    tmp_path.joinpath("a").write_text("\n".join(map(str, range(5000))))
    content = "\n".join(map(str, range(5000, 10_000)))
    shown = present("write_file", path="a", content=content)
    assert shown.type == "file_content"
    assert "too many differences to compare" in shown.metadata["summary"]


def test_a_small_change_of_a_long_file_is_compared(tmp_path: Path) -> None:
    lines = [str(number) for number in range(20_000)]
    tmp_path.joinpath("a").write_text("\n".join(lines))
    lines[10_000] = "changed"
    shown = present("write_file", path="a", content="\n".join(lines))
    assert shown.type == "diff"
    assert "-10000\n+changed\n" in shown.content


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    shown = present("write_file", path="pipe", content="x")
    assert shown.metadata["summary"] == "Replaces pipe (it is a pipe): 1 line, 1 B"


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (".", "it is a directory"),
        ("/dev/zero", "it is not a regular file"),
        ("file/below", "Not a directory"),
        ("a\0b", "not a valid path"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_path_that_cannot_be_read_is_shown_with_the_reason(
    tmp_path: Path, path: str, problem: str
) -> None:
    tmp_path.joinpath("file").touch()
    shown = present("write_file", path=path, content="x")
    assert shown.content == "x"
    assert f"({problem})" in shown.metadata["summary"]


def test_a_file_without_permission_is_shown_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    path.write_text("x")
    path.chmod(0)
    if os.access(path, os.R_OK):  # The tests run as root, to whom modes do not apply.
        def deny(*_args: object, **_kwargs: object) -> int:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", deny)
    shown = present("write_file", path="secret", content="x")
    assert "(Permission denied)" in shown.metadata["summary"]


# --- Editing files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool_name", "payload"),
    [
        ("Edit", {"file_path": "a", "old_string": "two", "new_string": "TWO"}),
        ("edit_file", {"path": "a", "old_text": "two", "new_text": "TWO"}),
        (
            "str_replace_based_edit_tool",
            {"command": "str_replace", "path": "a", "old_str": "two", "new_str": "TWO"},
        ),
    ],
)
def test_an_edit_is_shown_as_a_diff_of_the_file(
    tmp_path: Path, tool_name: str, payload: dict[str, Any]
) -> None:
    tmp_path.joinpath("a").write_text("one\ntwo\nthree\n")
    shown = present(tool_name, **payload)
    assert shown.type == "diff"
    assert shown.content == "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three"
    assert "details" not in shown.metadata


def test_an_edit_of_every_occurrence(tmp_path: Path) -> None:
    tmp_path.joinpath("a").write_text("x\ny\nx\n")
    shown = present("Edit", file_path="a", old_string="x", new_string="z", replace_all=True)
    assert shown.content == "@@ -1,3 +1,3 @@\n-x\n+z\n y\n-x\n+z"


@pytest.mark.parametrize(
    ("old", "reason"), [("x", "2 matches"), ("w", "the text is not in the file")]
)
def test_an_edit_that_does_not_apply_is_shown_as_it_is(
    tmp_path: Path, old: str, reason: str
) -> None:
    tmp_path.joinpath("a").write_text("x\ny\nx\n")
    shown = present("Edit", file_path="a", old_string=old, new_string="new\nlines")
    assert shown.content == f"-{old}\n+new\n+lines"
    assert shown.metadata["summary"] == f"Replaces text in a ({reason})"


def test_an_edit_of_a_missing_file() -> None:
    shown = present("Edit", file_path="a", old_string="", new_string="x")
    assert shown.content == "+x"
    assert shown.metadata["summary"] == "Replaces text in a (there is no such file)"


def test_edits_are_applied_in_order(tmp_path: Path) -> None:
    tmp_path.joinpath("a").write_text("one\n")
    shown = complete(file_edit_preview("a", [FileEdit("one", "two"), FileEdit("two", "three")]))
    assert shown.content == "@@ -1 +1 @@\n-one\n+three"


# --- Commands ------------------------------------------------------------------------------------


def test_a_command_is_shown_with_its_directory() -> None:
    shown = present("run_command", command="make test", cwd="/srv/app", timeout=30)
    assert (shown.type, shown.content) == ("command", "make test")
    assert shown.metadata == {"cwd": "/srv/app", "details": {"timeout": 30}}


def test_a_list_of_words_is_shown_as_a_command() -> None:
    assert present("shell", command=["rm", "-r", "my files"]).content == "rm -r 'my files'"


@pytest.mark.parametrize("tool_name", ["Bash", "shell", "run", "run_terminal_cmd"])
def test_names_of_tools_that_run_commands(tool_name: str) -> None:
    assert present(tool_name, command="ls").type == "command"


@pytest.mark.parametrize("tool_name", ["git", "run_sql", "editor"])
def test_other_tools_do_not_run_commands(tool_name: str) -> None:
    assert present(tool_name, command="status").type == "structured"


# --- Everything else -----------------------------------------------------------------------------


def test_a_payload_is_shown_as_json() -> None:
    shown = present("call", url="https://example.com", retries=3, headers={"a": ["ü"]})
    assert shown.language == "json"
    assert shown.content == (
        '{\n  "url": "https://example.com",\n  "retries": 3,\n'
        '  "headers": {\n    "a": [\n      "ü"\n    ]\n  }\n}'
    )


def test_values_without_a_json_form_are_shown() -> None:
    class Unprintable:
        def __repr__(self) -> str:
            raise RuntimeError("secret")

    cycle: list[Any] = []
    cycle.append(cycle)
    assert '"<object object' in present("t", value=object()).content
    assert "[[...]]" in present("t", value=cycle).content
    assert present("t", value=Unprintable()).content == (
        "<dict that cannot be shown: RuntimeError>"
    )


def test_no_arguments() -> None:
    shown = present("reboot")
    assert (shown.type, shown.content) == ("text", "No arguments.")


def test_a_presentation_of_the_tool_is_kept() -> None:
    shown = ApprovalPresentation(type="text", content="as it is", metadata={"preview": "text"})
    request = ApprovalRequest(
        tool_name="write_file",
        description="x",
        payload={"path": "a", "content": "x"},
        presentation=shown,
    )
    assert with_presentation(request) is request


# --- Previews ------------------------------------------------------------------------------------


def test_a_preview_is_completed_when_somebody_is_asked(tmp_path: Path) -> None:
    preview = file_write_preview(tmp_path / "a.txt", "new\n")
    assert preview.content == f"Writes 4 characters to {tmp_path / 'a.txt'}"
    tmp_path.joinpath("a.txt").write_text("old\n")
    shown = complete(preview)
    assert shown.content == "@@ -1 +1 @@\n-old\n+new"
    assert "preview" not in shown.metadata


async def test_the_controller_completes_previews_only_if_somebody_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[ApprovalRequest] = []

    class Controller(ApprovalController):
        async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
            asked.append(request)
            return ApprovalDecision(True)

    request = ApprovalRequest(
        tool_name="save",
        description="x",
        payload={"path": "a"},
        presentation=file_write_preview(tmp_path / "a", "new\n"),
    )
    controller = Controller()
    controller.add_session_approval(request)
    assert (await controller.request_approval(request)).approved
    assert asked == []
    controller.clear_session_approvals()
    assert (await controller.request_approval(request)).approved
    assert asked[0].presentation is not None
    assert asked[0].presentation.content == "new\n"


# --- Presenters ----------------------------------------------------------------------------------


@pytest.fixture
def presenter_name() -> Any:
    yield "custom_tool"
    unregister_presenter("custom_tool")


def test_a_presenter_creates_the_presentation(presenter_name: str) -> None:
    register_presenter(
        presenter_name,
        lambda request: ApprovalPresentation(type="text", content=request.payload["query"]),
    )
    assert present(presenter_name, query="SELECT 1").content == "SELECT 1"
    assert present("other", query="SELECT 1").type == "structured"
    unregister_presenter(presenter_name)
    assert present(presenter_name, query="SELECT 1").type == "structured"


def test_a_presenter_can_return_a_preview_or_none(presenter_name: str) -> None:
    register_presenter(presenter_name, lambda request: file_write_preview("a", "x"))
    assert present(presenter_name).metadata["summary"] == "New file a: 1 line, 1 B"
    register_presenter(presenter_name, lambda request: None)
    assert present(presenter_name, a=1).type == "structured"


def test_a_presenter_that_fails_is_replaced_by_the_default(
    presenter_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(request: ApprovalRequest) -> ApprovalPresentation:
        raise KeyError("password=hunter2")

    register_presenter(presenter_name, fail)
    with caplog.at_level(logging.WARNING, logger="tool_approval"):
        assert present(presenter_name, a=1).type == "structured"
    assert "custom_tool" in caplog.text
    assert "KeyError" in caplog.text
    assert "hunter2" not in caplog.text


def test_a_presenter_must_return_a_presentation(presenter_name: str) -> None:
    register_presenter(presenter_name, lambda request: "text")  # type: ignore
    with pytest.raises(TypeError, match="must return an `ApprovalPresentation` or `None`, not str"):
        present(presenter_name)
    with pytest.raises(TypeError, match="must be callable, not str"):
        register_presenter(presenter_name, "text")  # type: ignore[arg-type]


# --- Groups --------------------------------------------------------------------------------------


def test_a_group_shows_every_request_whole() -> None:
    long = "\n".join(map(str, range(100)))
    requests = [
        ApprovalRequest(
            tool_name="write_file",
            description="Write the first file",
            payload={"path": "a", "content": long},
        ),
        ApprovalRequest(
            tool_name="shell", description="Run the tests", payload={"command": "make test"}
        ),
    ]
    shown = group_presentation(requests)
    assert shown.type == "text"
    lines = shown.content.split("\n")
    assert lines[:4] == [
        "1 of 2: write_file",
        "    Write the first file",
        "    New file a: 100 lines, 289 B",
        "    0",
    ]
    assert lines[102:] == [
        "    99",
        "",
        "2 of 2: shell",
        "    Run the tests",
        "    make test",
    ]
    assert [part["tool_name"] for part in shown.metadata["parts"]] == ["write_file", "shell"]
    assert shown.metadata["parts"][0]["presentation"]["metadata"]["full_content"] == long


def test_content_cannot_look_like_another_request_of_the_group() -> None:
    requests = [
        ApprovalRequest(
            tool_name="say\n2 of 2: ls",
            description="x\n2 of 2: ls",
            payload={},
            presentation=ApprovalPresentation(
                type="text",
                content="a\n\n2 of 2: ls\nharmless",
                metadata={"summary": "a\n2 of 2: ls"},
            ),
        ),
        ApprovalRequest(tool_name="shell", description="y", payload={"command": "rm -r /"}),
    ]
    lines = group_presentation(requests).content.split("\n")
    assert [line for line in lines if line.startswith("2 of")] == ["2 of 2: shell"]
