"""The prompt in a real pseudo terminal: what it shows, which keys answer, and how it ends."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import unicodedata
from pathlib import Path

import pytest
from pseudo_terminal import PREAMBLE, Terminal, package_path
from tool_approval import ApprovalRequest, ApprovalUnavailableError, TerminalPrompt

ASK = """
try:
    print("RESULT", prompt.ask_sync(request()))
except ApprovalUnavailableError as error:
    print("UNAVAILABLE", error)
"""

ASK_ASYNC = """
async def main():
    print("RESULT", await prompt.ask(request()))

asyncio.run(main())
"""

LONG = """
content = "\\n".join(f"line {number}" for number in range(100))
print("RESULT", prompt.ask_sync(request("write_file", path="new.txt", content=content)))
"""


BLOCK_SIGNAL = """
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
"""
"""The beginning of a program that waits for the signal with `sigwait`."""


def screen_rows(text: str) -> list[str]:
    return textwrap.dedent(text).strip("\n").split("\n")


# --- The box -------------------------------------------------------------------------------------


def test_a_command_is_shown_in_a_box(tmp_path: Path) -> None:
    source = """
    prompt.ask_sync(request(description="Run the tests", command="make test", cwd="/srv/app"))
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        assert terminal.text().split("\n") == screen_rows(
            """
            ┌─ shell ──────────────────────────────────────────────────────────────────────┐
            │ Run the tests                                                                │
            │ in /srv/app                                                                  │
            ├──────────────────────────────────────────────────────────────────────────────┤
            │ $ make test                                                                  │
            ├──────────────────────────────────────────────────────────────────────────────┤
            │ [s] also allows later shell calls with command="make test", cwd="/srv/app"   │
            │ [y] Approve  [n] Reject  [s] Session  [v] View full  [m] Reject with note    │
            └──────────────────────────────────────────────────────────────────────────────┘
            >
            """
        )


def test_additions_are_green_and_removals_are_red(tmp_path: Path) -> None:
    tmp_path.joinpath("report.md").write_text("# Report\nold\n")
    source = 'prompt.ask_sync(request("write_file", path="report.md", content="# Report\\nnew\\n"))'
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        colors = {
            row[2:5]: terminal.screen.buffer[number][2].fg
            for number, row in enumerate(terminal.screen.display)
        }
        assert colors["+ne"] == "green"
        assert colors["-ol"] == "red"
        assert colors["# R" if "# R" in colors else " # "] == "default"


def test_new_files_are_highlighted(tmp_path: Path) -> None:
    source = 'prompt.ask_sync(request("write_file", path="a.py", content="import os\\nx = 1\\n"))'
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        row = next(n for n, row in enumerate(terminal.screen.display) if "import os" in row)
        assert terminal.screen.buffer[row][2].fg == "cyan"


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12), (200, 60), (33, 9)])
def test_wide_characters_keep_the_box_straight(tmp_path: Path, columns: int, rows: int) -> None:
    source = r"""
    content = "日本語のファイル\ne\u0301a\u0308 🚀🚀 हिन्दी ไทย\n" + "世" * 300 + "\nx\tend"
    prompt.ask_sync(request("write_file", "Schreibe 世界 🚀", path="ü.txt", content=content))
    """
    with Terminal(source, tmp_path, columns=columns, rows=rows) as terminal:
        terminal.wait_for_prompt()
        width = max(len(row.rstrip()) for row in terminal.screen.display[:1])
        for number in range(terminal.screen.cursor.y):
            row = terminal.screen.buffer[number]
            used = [column for column in range(columns) if row[column].data.strip()]
            assert row[0].data in "┌│├└"
            assert row[used[-1]].data in "┐│┤┘", terminal.text()
            assert used[-1] == width - 1, terminal.text()


def test_hostile_text_does_not_reach_the_terminal(tmp_path: Path) -> None:
    source = r"""
    hostile = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202etxt\u200b\r\x08"
    prompt.ask_sync(
        request(
            "tool" + hostile,
            "Do this" + hostile,
            value=hostile,
            presentation=ApprovalPresentation(
                type="command", content="ls" + hostile, metadata={"cwd": "/" + hostile}
            ),
        )
    )
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        assert r"tool\x1b]0;owned\x07\x1b[2J\u{9b}31m\u{202e}txt\u{200b}\r\x08" in terminal.text()
        assert terminal.text().count(r"\x1b]0;owned") == 5
        shown = terminal.output.decode()
        assert "\x1b]" not in shown
        assert "\x1b[2J" not in shown
        others = re.sub(r"\x1b\[[0-9;?]*[mKJAGhl]|\r\n", "", shown)
        assert {unicodedata.category(one) for one in others} & {"Cc", "Cf"} <= {"Cc"}
        assert set(others) & {chr(code) for code in (*range(32), *range(127, 160))} <= {"\r"}


def test_the_box_follows_the_size_of_the_terminal(tmp_path: Path) -> None:
    with Terminal(ASK, tmp_path) as terminal:
        terminal.wait_for_prompt()
        for columns, rows in ((50, 20), (100, 30)):
            terminal.resize(columns, rows)
            border = f"└{'─' * (min(columns, 80) - 2)}┘"
            terminal.wait_for(border)
            terminal.wait_for_prompt()
        terminal.press("y")
        terminal.wait_for("RESULT ApprovalDecision(approved=True")


def test_a_terminal_without_colors_gets_none(tmp_path: Path) -> None:
    with Terminal(LONG, tmp_path, variables={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for_prompt()
        assert not re.search(rb"\x1b\[[0-9;]*m", terminal.output)


@pytest.mark.parametrize("term", ["dumb", None])
def test_a_simple_terminal_gets_no_escape_sequences(tmp_path: Path, term: str | None) -> None:
    source = """
    print("RESULT", prompt.ask_sync(request(command="echo 日本")))
    """
    with Terminal(source, tmp_path, variables={"TERM": term, "LC_ALL": "C"}) as terminal:
        terminal.wait_for_prompt()
        assert r"| $ echo \u{65e5}\u{672c}" in terminal.text()
        terminal.press("x")
        terminal.wait_for("> Press one of the keys")
        terminal.press("y\n")  # A terminal of this kind may send lines.
        terminal.wait_for("RESULT ApprovalDecision(approved=True")
        assert b"\x1b" not in terminal.output
        assert terminal.output.isascii()


# --- Answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "decision", "status"),
    [
        ("y", "approved=True, scope=<ApprovalScope.ONCE: 'once'>, note=None", "Approved."),
        ("Y", "approved=True, scope=<ApprovalScope.ONCE: 'once'>, note=None", "Approved."),
        (
            "s",
            "approved=True, scope=<ApprovalScope.SESSION: 'session'>, note=None",
            "Approved for the session.",
        ),
        ("n", "approved=False, scope=<ApprovalScope.ONCE: 'once'>, note=None", "Rejected."),
        ("\x1b", "approved=False, scope=<ApprovalScope.ONCE: 'once'>, note=None", "Rejected."),
        ("\x04", "approved=False, scope=<ApprovalScope.ONCE: 'once'>, note=None", "Rejected."),
    ],
)
@pytest.mark.parametrize("source", [ASK, ASK_ASYNC])
def test_keys_answer(tmp_path: Path, source: str, key: str, decision: str, status: str) -> None:
    with Terminal(source, tmp_path, columns=120) as terminal:
        terminal.wait_for_prompt()
        assert terminal.is_raw()
        terminal.press(key)
        terminal.wait_for(f"> {status}")
        terminal.wait_for(f"RESULT ApprovalDecision({decision}")
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


@pytest.mark.parametrize("key", ["x", "\r", "\x1b[A", "\t", "1", "é", "\x01"])
def test_other_keys_do_not_answer(tmp_path: Path, key: str) -> None:
    with Terminal(ASK, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press(key)
        terminal.wait_for("> Press one of the keys y, n, s, v or m.")
        terminal.press("n")
        terminal.wait_for("RESULT ApprovalDecision(approved=False")


def test_the_box_can_be_drawn_again(tmp_path: Path) -> None:
    with Terminal(ASK, tmp_path) as terminal:
        terminal.wait_for_prompt()
        before = terminal.text()
        terminal.press("\x0c")
        terminal.wait_for_output("─ \x1b[1mshell", 2)
        terminal.wait_for_prompt()
        assert terminal.text() == before


@pytest.mark.parametrize("keys", ["yes", "yy", "y\ny\n", "\x1b[200~y\x1b[201~", "\x1b[200~y"])
def test_pasted_text_does_not_answer(tmp_path: Path, keys: str) -> None:
    with Terminal(ASK, tmp_path) as terminal:
        terminal.wait_for_prompt()
        assert b"\x1b[?2004h" in terminal.output
        terminal.press(keys)
        terminal.wait_for("> Pasted text is ignored.")
        terminal.press("n")
        terminal.wait_for("RESULT ApprovalDecision(approved=False")
        assert terminal.output.rindex(b"\x1b[?2004l") > terminal.output.rindex(b"\x1b[?2004h")


def test_keys_that_were_typed_before_the_question_do_not_answer(tmp_path: Path) -> None:
    source = """
    print("type now")
    sys.stdin.readline()
    print("RESULT", prompt.ask_sync(request()))
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for("type now")
        terminal.press("go\nyyy")
        terminal.wait_for_prompt()
        terminal.press("n")
        terminal.wait_for("RESULT ApprovalDecision(approved=False")


def test_keys_are_ignored_until_the_question_can_have_been_read(tmp_path: Path) -> None:
    with Terminal(ASK, tmp_path, reading_seconds=3600) as terminal:
        terminal.wait_for_prompt()
        for key in "ysn":
            terminal.press(key)
            terminal.wait_for("> Key pressed before the question was shown: ignored.")
        terminal.press("\x03")
        terminal.wait_for("KeyboardInterrupt")
        assert "RESULT Approval" not in terminal.text()


def test_the_default_reading_time(tmp_path: Path) -> None:
    from tool_approval import terminal as module

    assert module._READING_SECONDS == 0.4


def test_keys_after_the_answer_are_discarded(tmp_path: Path) -> None:
    source = """
    print("RESULT", prompt.ask_sync(request()))
    print("LINE", repr(sys.stdin.readline()))
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press("y")
        terminal.wait_for("RESULT")
        terminal.press("next\n")
        terminal.wait_for("LINE 'next\\n'")


# --- Notes ---------------------------------------------------------------------------------------


def test_a_note_is_sent_with_a_rejection(tmp_path: Path) -> None:
    with Terminal(ASK, tmp_path, columns=140) as terminal:
        terminal.wait_for_prompt()
        terminal.press("m")
        terminal.wait_for("> Note (Enter sends, Esc goes back):")
        terminal.press("\r")  # An empty note is not sent.
        terminal.press("use yarnx")
        terminal.wait_for("use yarnx")
        terminal.press("\x7f, 世界 please")
        terminal.wait_for("use yarn, 世界 please")
        terminal.press("\r")
        terminal.wait_for("> Rejected: use yarn, 世界 please")
        terminal.wait_for("approved=False, scope=<ApprovalScope.ONCE: 'once'>, note='use yarn, 世界")


def test_a_note_can_be_cleared_pasted_and_abandoned(tmp_path: Path) -> None:
    with Terminal(ASK, tmp_path, columns=140) as terminal:
        terminal.wait_for_prompt()
        terminal.press("m")
        terminal.wait_for("> Note")
        terminal.press("\x1b[200~one\ntwo\x1b[31m\x1b[201~")
        terminal.wait_for("one two[31m")
        terminal.press("\x15")
        terminal.press("three")
        terminal.wait_for("goes back): three")
        terminal.press("\x1b")
        terminal.wait_until(lambda: "three" not in terminal.text(), "the end of the note")
        terminal.press("y")
        terminal.wait_for("RESULT ApprovalDecision(approved=True")


def test_a_long_note_shows_its_end(tmp_path: Path) -> None:
    with Terminal(ASK, tmp_path, columns=40) as terminal:
        terminal.wait_for_prompt()
        terminal.press("m")
        terminal.wait_for("> Note:")
        terminal.press("x" * 60 + "END")
        terminal.wait_for("xEND")
        assert len(terminal.text().split("\n")[-1]) <= 40


# --- What is approved is what was shown ----------------------------------------------------------


@pytest.mark.parametrize("key", ["y", "s"])
def test_a_hidden_part_is_viewed_before_it_is_approved(tmp_path: Path, key: str) -> None:
    with Terminal(LONG, tmp_path) as terminal:
        terminal.wait_for_prompt()
        assert re.search(r"├─ 1[0-9] of 100 lines shown: press v for the rest ─", terminal.text())
        terminal.press(key)
        terminal.wait_for("[space] next page  [q] back to the question")
        assert terminal.text().startswith("write_file\nRun a command\nNew file new.txt: 100 lines")
        terminal.press("q")
        terminal.wait_for("> Back from the full view. Press y to approve, or n to reject.")
        terminal.press(key)
        terminal.wait_for("RESULT ApprovalDecision(approved=True")
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


def test_a_small_terminal_hides_and_a_large_one_does_not(tmp_path: Path) -> None:
    with Terminal(LONG, tmp_path, rows=120) as terminal:
        terminal.wait_for_prompt()
        assert "line 99" in terminal.text()
        terminal.press("y")
        terminal.wait_for("RESULT ApprovalDecision(approved=True")


def test_a_terminal_that_became_smaller_hides_again(tmp_path: Path) -> None:
    with Terminal(LONG, tmp_path, rows=120) as terminal:
        terminal.wait_for_prompt()
        terminal.resize(80, 20)
        terminal.wait_for("lines shown: press v for the rest")
        terminal.wait_for_prompt()
        terminal.press("y")
        terminal.wait_for("[space] next page")
        terminal.press("q")
        terminal.wait_for("Back from the full view")
        terminal.press("n")
        terminal.wait_for("RESULT ApprovalDecision(approved=False")


def test_content_that_the_tool_truncated_is_viewed_first(tmp_path: Path) -> None:
    source = """
    shown = ApprovalPresentation(
        type="text", content="the beginning", metadata={"full_content": "all\\nof it"}
    )
    print("RESULT", prompt.ask_sync(request(presentation=shown)))
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        assert "├─ there is more: press v ─" in terminal.text()
        terminal.press("y")
        terminal.wait_for("of it")
        terminal.press("q")
        terminal.wait_for("Back from the full view")
        terminal.press("y")
        terminal.wait_for("RESULT ApprovalDecision(approved=True")


def test_the_scope_of_a_session_approval_is_viewed_first(tmp_path: Path) -> None:
    source = """
    shown = ApprovalPresentation(type="text", content="Send a message")
    print("RESULT", prompt.ask_sync(request(presentation=shown, body="secret " * 20)))
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        assert "[s] also allows later shell calls with body=(142 characters)" in terminal.text()
        terminal.press("s")
        terminal.wait_for('body: "secret secret')
        terminal.press("q")
        terminal.wait_for("Back from the full view")
        terminal.press("s")
        terminal.wait_for("RESULT ApprovalDecision(approved=True, scope=<ApprovalScope.SESSION")


def test_a_group_is_shown_whole(tmp_path: Path) -> None:
    source = """
    async def main():
        controller = ApprovalController()
        requests = [
            ApprovalRequest(
                tool_name=name, description=text, payload={"command": command}, group_id="g"
            )
            for name, text, command in (
                ("shell", "Build it", "make"), ("shell", "Install it", "make install")
            )
        ]
        decisions = await controller.request_approvals(requests)
        print("RESULT", [decision.approved for decision in decisions])

    asyncio.run(main())
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        assert terminal.text().split("\n") == screen_rows(
            """
            ┌─ shell ──────────────────────────────────────────────────────────────────────┐
            │ 2 related calls                                                              │
            ├─ 1 of 2: shell ──────────────────────────────────────────────────────────────┤
            │ Build it                                                                     │
            │ $ make                                                                       │
            ├─ 2 of 2: shell ──────────────────────────────────────────────────────────────┤
            │ Install it                                                                   │
            │ $ make install                                                               │
            ├──────────────────────────────────────────────────────────────────────────────┤
            │ [s] also allows later calls that equal one of these                          │
            │ [y] Approve  [n] Reject  [s] Session  [v] View full  [m] Reject with note    │
            └──────────────────────────────────────────────────────────────────────────────┘
            >
            """
        )
        terminal.press("y")
        terminal.wait_for("RESULT [True, True]")


# --- The full view -------------------------------------------------------------------------------


def test_less_runs_in_secure_mode(tmp_path: Path) -> None:
    with Terminal(LONG, tmp_path, variables={"LESSOPEN": "|echo hacked %s"}) as terminal:
        terminal.wait_for_prompt()
        terminal.press("v")
        terminal.wait_for("[space] next page")
        assert "hacked" not in terminal.text()
        terminal.press("!")
        terminal.wait_for("Command not available")
        terminal.press("\r")
        terminal.press("q")
        terminal.wait_for("Back from the full view")


def test_the_pager_cannot_be_suspended_but_interrupted(tmp_path: Path) -> None:
    with start_shell(tmp_path, LONG) as terminal:
        terminal.press(f"{sys.executable} script.py\n")
        terminal.wait_for_prompt()
        terminal.press("v")
        terminal.wait_for("[space] next page")
        terminal.press("\x1a")
        terminal.press("G")
        terminal.wait_for("(END)  [q] back to the question")
        terminal.press("q")
        terminal.wait_for("Back from the full view")
        terminal.press("v")
        terminal.wait_for("[space] next page")
        terminal.press("\x03")
        terminal.wait_for("KeyboardInterrupt")
        terminal.press("clear; stty -a | grep -o 'susp = ^Z;'\n")
        terminal.wait_for("susp = ^Z;")


def test_the_pager_of_the_user_is_used(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nsed 's/^/PAGED /'\nread -r key </dev/tty\n")
    pager.chmod(0o755)
    with Terminal(LONG, tmp_path, rows=130, variables={"PAGER": str(pager)}) as terminal:
        terminal.wait_for_prompt()
        terminal.press("v")
        terminal.wait_for("PAGED   line 99")
        assert not terminal.is_raw()
        shown = terminal.output[terminal.output.index(b"PAGED") :]
        assert b"\x1b" not in shown
        terminal.press("\n")
        terminal.wait_for("Back from the full view")
        assert terminal.is_raw()


@pytest.mark.parametrize("pager", ["cat", "", "false", "no-such-pager", "'"])
def test_without_a_pager_the_pages_are_printed(tmp_path: Path, pager: str) -> None:
    with Terminal(LONG, tmp_path, variables={"PAGER": pager}) as terminal:
        terminal.wait_for_prompt()
        terminal.press("y")
        terminal.wait_for("[space] next page  [q] back to the question")
        terminal.press("q")
        terminal.wait_for("> You have not seen the end of it. Press v to view it.")
        terminal.press("y")
        for page in range(4):
            terminal.wait_for_output("[space] next page", 2 + page)
            terminal.press(" ")
        terminal.wait_for("(END)  [q] back to the question")
        assert "line 99" in terminal.text()
        terminal.press("q")
        terminal.wait_for("> Back from the full view")
        terminal.press("y")
        terminal.wait_for("RESULT ApprovalDecision(approved=True")


def test_without_less_the_pages_are_printed(tmp_path: Path) -> None:
    with Terminal(LONG, tmp_path, variables={"PATH": str(tmp_path)}) as terminal:
        terminal.wait_for_prompt()
        terminal.press("v")
        terminal.wait_for("[space] next page  [q] back to the question")
        terminal.press("\x03")
        terminal.wait_for("KeyboardInterrupt")
        terminal.wait_for_end()
        assert terminal.is_restored()


def test_cancelling_closes_the_pager(tmp_path: Path) -> None:
    source = """
    async def main():
        content = "\\n".join(map(str, range(100)))
        asking = asyncio.ensure_future(
            prompt.ask(request("write_file", path="new.txt", content=content))
        )
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, asking.cancel)
        try:
            await asking
        except asyncio.CancelledError:
            print("RESULT cancelled")

    asyncio.run(main())
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press("v")
        terminal.wait_for("[space] next page")
        terminal.interrupt(signal.SIGUSR1)
        terminal.wait_for("RESULT cancelled")
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


# --- No terminal ---------------------------------------------------------------------------------


def run_without_terminal(tmp_path: Path, source: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(PREAMBLE.format(reading_seconds=0) + textwrap.dedent(source))
    return subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": package_path()},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )


@pytest.mark.parametrize("source", [ASK, ASK_ASYNC])
def test_without_a_terminal_nothing_is_approved(tmp_path: Path, source: str) -> None:
    done = run_without_terminal(tmp_path, source)
    assert "RESULT" not in done.stdout
    assert (
        "approval required, but there is no terminal to ask on (No such device or address): "
        "run the program in a terminal, or give the controller an engine and `wait`, so that "
        "`openoxide approve` can answer"
    ) in done.stdout + done.stderr


def test_the_standard_streams_may_be_pipes(tmp_path: Path) -> None:
    tmp_path.joinpath("script.py").write_text(PREAMBLE.format(reading_seconds=0) + ASK)
    command = f"echo y | {sys.executable} script.py 2>errors >out; cat out errors"
    with Terminal(["sh", "-c", command], tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press("n")
        terminal.wait_for("RESULT ApprovalDecision(approved=False")


def test_in_the_background_nothing_is_approved(tmp_path: Path) -> None:
    source = f"""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        {textwrap.indent(ASK.strip(), " " * 8).strip()}
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    """
    with Terminal(source, tmp_path, columns=200) as terminal:
        terminal.wait_for(
            "UNAVAILABLE approval required, but the program runs in the background of its "
            "terminal: bring it to the foreground with `fg`, and repeat the call"
        )
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


def test_a_terminal_that_closes_does_not_approve(tmp_path: Path) -> None:
    source = """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    sys.stdout = open("out", "w", buffering=1)
    """ + textwrap.indent(ASK, "    ")
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.hang_up()
        out = tmp_path / "out"
        for _ in range(600):
            if out.read_text().endswith("\n"):
                break
            time.sleep(0.1)
        assert out.read_text() == (
            "UNAVAILABLE the terminal was closed before there was an answer: run the program in "
            "a terminal, and repeat the call\n"
        )


async def test_what_is_not_a_request_is_an_error() -> None:
    with pytest.raises(TypeError, match="expected an `ApprovalRequest`, not str"):
        await TerminalPrompt().ask("request")  # type: ignore[arg-type]


async def test_blocking_in_an_event_loop_is_an_error() -> None:
    request = ApprovalRequest(tool_name="t", description="d", payload={})
    with pytest.raises(RuntimeError, match="await `ask` instead"):
        TerminalPrompt().ask_sync(request)


# --- Interruption --------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [ASK, ASK_ASYNC])
@pytest.mark.parametrize("is_key", [True, False])
def test_an_interrupt_reaches_the_main_thread(tmp_path: Path, source: str, is_key: bool) -> None:
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        if is_key:
            terminal.press("\x03")
            terminal.wait_for_output("> Interrupted: the call is not approved.")
        else:
            terminal.interrupt(signal.SIGINT)
            terminal.wait_for_output("> Withdrawn: the answer is no longer needed.")
        terminal.wait_for("KeyboardInterrupt")
        assert terminal.wait_for_end() in (1, -signal.SIGINT)
        assert "RESULT Approval" not in terminal.text()
        assert terminal.is_restored()


def test_an_interrupt_reaches_the_main_thread_if_another_thread_asks(tmp_path: Path) -> None:
    source = """
    def ask():
        try:
            print("RESULT", prompt.ask_sync(request()))
        except ApprovalUnavailableError as error:
            print("UNAVAILABLE", error)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        while thread.is_alive():
            time.sleep(0.1)
        print("not interrupted")
    except KeyboardInterrupt:
        print("main interrupted")
    thread.join()
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press("\x03")
        terminal.wait_for("main interrupted")
        terminal.wait_for("the question was interrupted (SIGINT)")
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


def test_an_interrupt_reaches_the_other_processes_of_the_job(tmp_path: Path) -> None:
    source = """
    child = subprocess.Popen(["sleep", "1000"])
    try:
        prompt.ask_sync(request())
    except KeyboardInterrupt:
        print("RESULT", child.wait())
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press("\x03")
        terminal.wait_for("RESULT -2")


def test_the_key_that_interrupts_is_that_of_the_terminal(tmp_path: Path) -> None:
    source = 'subprocess.run(["stty", "intr", "^X"], check=True)' + ASK
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press("\x03")
        terminal.wait_for("> Press one of the keys")
        terminal.press("\x18")
        terminal.wait_for("KeyboardInterrupt")


def test_quitting_with_a_key_ends_the_process(tmp_path: Path) -> None:
    source = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))" + ASK
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press("\x1c")
        assert terminal.wait_for_end() == -signal.SIGQUIT
        assert terminal.is_restored()


@pytest.mark.parametrize("source", [ASK, ASK_ASYNC])
def test_termination_restores_the_terminal(tmp_path: Path, source: str) -> None:
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.interrupt(signal.SIGTERM)
        assert terminal.wait_for_end() == -signal.SIGTERM
        assert terminal.is_restored()


def test_a_handler_for_termination_is_kept(tmp_path: Path) -> None:
    source = """
    async def main():
        asking = asyncio.ensure_future(prompt.ask(request()))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asking.cancel)
        try:
            await asking
        except asyncio.CancelledError:
            print("RESULT cancelled")

    asyncio.run(main())
    print("default handler:", signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.interrupt(signal.SIGTERM)
        terminal.wait_for("RESULT cancelled")
        assert terminal.wait_for_end() == 0
        assert "default handler: True" in terminal.text()
        assert terminal.is_restored()


def test_the_default_handler_for_termination_returns(tmp_path: Path) -> None:
    source = ASK + 'print("default handler:", signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)'
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press("y")
        terminal.wait_for("default handler: True")


def test_an_exception_in_the_prompt_restores_the_terminal(tmp_path: Path) -> None:
    source = """
    def fail(key):
        raise ZeroDivisionError("broken")

    terminal._Dialog._handle_key = lambda self, key: fail(key)
    try:
        prompt.ask_sync(request())
    except ZeroDivisionError as error:
        print("RESULT", error)
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press("y")
        terminal.wait_for("RESULT broken")
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


def test_exiting_while_a_thread_asks_restores_the_terminal(tmp_path: Path) -> None:
    source = """
    threading.Thread(target=prompt.ask_sync, args=[request()], daemon=True).start()
    signal.sigwait([signal.SIGUSR1])
    """
    source = BLOCK_SIGNAL + textwrap.dedent(source)
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.interrupt(signal.SIGUSR1)
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


# --- Suspension ----------------------------------------------------------------------------------


def start_shell(tmp_path: Path, source: str = ASK) -> Terminal:
    tmp_path.joinpath("script.py").write_text(PREAMBLE.format(reading_seconds=0) + source)
    shell = ["bash", "--norc", "--noprofile", "-i"]
    terminal = Terminal(shell, tmp_path, variables={"PS1": "$ ", "HISTFILE": None})
    terminal.wait_for("$")
    return terminal


def test_a_suspended_question_waits(tmp_path: Path) -> None:
    with start_shell(tmp_path) as terminal:
        terminal.press("stty -a >before\n")
        terminal.press(f"{sys.executable} script.py\n")
        terminal.wait_for_prompt()
        terminal.press("\x1a")
        terminal.wait_for("> Suspended: the question waits.")
        terminal.wait_for("Stopped")
        terminal.press("stty -a >after; echo do''ne\n")
        terminal.wait_for("done")
        assert tmp_path.joinpath("after").read_text() == tmp_path.joinpath("before").read_text()
        terminal.press("clear; fg\n")
        terminal.wait_for_prompt()
        assert terminal.is_raw()
        terminal.press("y")
        terminal.wait_for("RESULT ApprovalDecision(approved=True")
        terminal.press("clear; stty -a >after; echo do''ne\n")
        terminal.wait_for("done")
        assert tmp_path.joinpath("after").read_text() == tmp_path.joinpath("before").read_text()


def test_a_question_that_continues_in_the_background_is_not_approved(tmp_path: Path) -> None:
    with start_shell(tmp_path) as terminal:
        terminal.press(f"{sys.executable} script.py\n")
        terminal.wait_for_prompt()
        terminal.press("\x1a")
        terminal.wait_for("Stopped")
        terminal.press("clear; bg\n")
        terminal.wait_for("UNAVAILABLE approval required, but the program runs in the background")
        terminal.press("y\n")
        terminal.press("clear; stty -a | grep -o ' icanon\\| echo '; echo do''ne\n")
        terminal.wait_for("done")
        assert "RESULT Approval" not in terminal.text()


def test_a_process_that_was_stopped_by_a_signal_asks_again(tmp_path: Path) -> None:
    with start_shell(tmp_path) as terminal:
        terminal.press(f"{sys.executable} script.py\n")
        terminal.wait_for_prompt()
        pid = os.tcgetpgrp(terminal.process.child_fd)
        os.kill(pid, signal.SIGSTOP)
        terminal.wait_for("Stopped")
        terminal.press("clear; stty sane; fg\n")
        terminal.wait_for_prompt()
        terminal.wait_until(terminal.is_raw, "raw mode")
        terminal.press("s")
        terminal.wait_for("RESULT ApprovalDecision(approved=True")


# --- Cancellation --------------------------------------------------------------------------------


CANCEL = """
async def main():
    asking = asyncio.ensure_future(prompt.ask(request()))
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, asking.cancel)
    try:
        print("RESULT", await asking)
    except asyncio.CancelledError:
        import termios
        with open("/dev/tty", "rb", buffering=0) as tty:
            print("cancelled, restored:", bool(termios.tcgetattr(tty)[3] & termios.ICANON))
        print(threading.enumerate())

asyncio.run(main())
"""


def test_cancelling_closes_the_question(tmp_path: Path) -> None:
    with Terminal(CANCEL, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.interrupt(signal.SIGUSR1)
        terminal.wait_for("> Withdrawn: the answer is no longer needed.")
        terminal.wait_for("cancelled, restored: True")
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


def test_cancelling_closes_the_note(tmp_path: Path) -> None:
    with Terminal(CANCEL, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press("m")
        terminal.wait_for("> Note")
        terminal.interrupt(signal.SIGUSR1)
        terminal.wait_for("> Withdrawn: the answer is no longer needed.")
        terminal.wait_for("cancelled, restored: True")
        assert terminal.wait_for_end() == 0


def test_a_timeout_closes_the_question(tmp_path: Path) -> None:
    source = """
    async def main():
        try:
            print("RESULT", await asyncio.wait_for(prompt.ask(request()), 1))
        except asyncio.TimeoutError:
            print("timeout")

    asyncio.run(main())
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for("timeout")
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


def test_an_answer_from_elsewhere_closes_the_question(tmp_path: Path) -> None:
    source = """
    async def main():
        engine = Engine(Policy(rules=(("ask", "Bash(make *)"),)))
        call = engine.begin("Bash", {"command": "make test"})
        question = await call.question()
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGUSR1, lambda: call.answer(ApprovalDecision(False, note="no"))
        )
        print("RESULT", await call.answer_with(lambda: prompt.ask(request()), has_queue=True))

    asyncio.run(main())
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.interrupt(signal.SIGUSR1)
        terminal.wait_for("> Answered elsewhere.")
        terminal.wait_for("RESULT ApprovalDecision(approved=False")
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


def test_cancelling_does_not_wait_for_a_terminal_that_does_not_read(tmp_path: Path) -> None:
    source = """
    import fcntl, termios

    async def main():
        # The terminal's output is stopped, as by Ctrl-S.
        with open("/dev/tty", "rb", buffering=0) as tty:
            termios.tcflow(tty, termios.TCOOFF)
            asking = asyncio.ensure_future(
                prompt.ask(request(presentation=ApprovalPresentation(type="text", content="x")))
            )
            await asyncio.sleep(1)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            termios.tcflow(tty, termios.TCOON)
        print("RESULT cancelled")

    asyncio.run(main())
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for("RESULT cancelled")
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


# --- One question at a time ----------------------------------------------------------------------


def test_questions_of_one_process_queue_up(tmp_path: Path) -> None:
    source = """
    async def main():
        first = asyncio.ensure_future(prompt.ask(request(command="first")))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(TerminalPrompt().ask(request(command="second")))
        await asyncio.sleep(0)
        third = asyncio.to_thread(prompt.ask_sync, request(command="third"))
        third = asyncio.ensure_future(third)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, second.cancel)
        results = await asyncio.gather(first, second, third, return_exceptions=True)
        print("RESULT", [getattr(one, "approved", type(one).__name__) for one in results])

    asyncio.run(main())
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        assert "$ first" in terminal.text()
        terminal.interrupt(signal.SIGUSR1)
        terminal.read(1)
        assert "second" not in terminal.text() and "third" not in terminal.text()
        terminal.press("n")
        terminal.wait_for("$ third")
        terminal.wait_for_prompt()
        terminal.press("y")
        terminal.wait_for("RESULT [False, 'CancelledError', True]")
        assert "second" not in terminal.text()
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


def test_a_forked_child_waits_for_the_question_of_its_parent(tmp_path: Path) -> None:
    source = """
    thread = threading.Thread(target=lambda: print("PARENT", prompt.ask_sync(request()).approved))
    thread.start()
    signal.sigwait([signal.SIGUSR1])
    child = os.fork()
    if child == 0:
        print("CHILD", prompt.ask_sync(request(command="child")).approved)
        sys.stdout.flush()
        os._exit(0)
    print("forked", flush=True)
    thread.join()
    print("RESULT", os.waitpid(child, 0)[1])
    """
    source = BLOCK_SIGNAL + textwrap.dedent(source)
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.interrupt(signal.SIGUSR1)
        terminal.wait_for("forked")
        terminal.read(1)
        assert "$ child" not in terminal.text()
        terminal.press("n")
        terminal.wait_for("PARENT False")
        terminal.wait_for("$ child")
        terminal.wait_for_prompt()
        terminal.press("y")
        terminal.wait_for("CHILD True")
        terminal.wait_for("RESULT 0")
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


def test_a_forked_child_does_not_hold_the_terminal(tmp_path: Path) -> None:
    source = """
    thread = threading.Thread(target=lambda: print("FIRST", prompt.ask_sync(request()).approved))
    thread.start()
    signal.sigwait([signal.SIGUSR1])
    child = os.fork()
    if child == 0:
        time.sleep(1000)
    thread.join()
    print("SECOND", prompt.ask_sync(request()).approved)
    os.kill(child, signal.SIGKILL)
    """
    source = BLOCK_SIGNAL + textwrap.dedent(source)
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.interrupt(signal.SIGUSR1)
        terminal.press("y")
        terminal.wait_for("FIRST True")
        terminal.wait_for_prompt()
        terminal.press("n")
        terminal.wait_for("SECOND False")


def test_processes_of_one_terminal_take_turns(tmp_path: Path) -> None:
    tmp_path.joinpath("script.py").write_text(
        PREAMBLE.format(reading_seconds=0)
        + 'print(sys.argv[1], prompt.ask_sync(request(command="make")).approved)\n'
    )
    command = f"{sys.executable} script.py ONE & {sys.executable} script.py TWO; wait"
    with Terminal(["sh", "-c", command], tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press("y")
        terminal.wait_until(lambda: re.search("(ONE|TWO) True", terminal.text()), "an answer")
        first = "ONE" if "ONE True" in terminal.text() else "TWO"
        terminal.wait_for_prompt()
        terminal.press("n")
        terminal.wait_for(f"{'TWO' if first == 'ONE' else 'ONE'} False")
        assert terminal.wait_for_end() == 0
        assert terminal.is_restored()


def test_questions_on_different_terminals_do_not_wait(tmp_path: Path) -> None:
    with Terminal(ASK, tmp_path) as first, Terminal(ASK, tmp_path) as second:
        first.wait_for_prompt()
        second.wait_for_prompt()
        for terminal in (first, second):
            terminal.press("n")
            terminal.wait_for("RESULT ApprovalDecision(approved=False")


def test_the_controller_asks_in_the_terminal(tmp_path: Path) -> None:
    source = """
    async def main():
        controller = ApprovalController()
        for _ in range(2):
            decision = await controller.request_approval(request())
            print("RESULT", decision.approved, decision.answered_by)

    asyncio.run(main())
    """
    with Terminal(source, tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.press("s")
        terminal.wait_for("RESULT True terminal")
        terminal.wait_for("RESULT True session approval")


def test_the_tools_that_these_tests_need_are_there() -> None:
    assert shutil.which("less") and shutil.which("bash")


async def test_the_error_is_a_permission_error() -> None:
    assert issubclass(ApprovalUnavailableError, PermissionError)
    assert asyncio.iscoroutinefunction(TerminalPrompt.ask)
