"""The controller: modes, questions, session approvals, groups, threads and failures."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from typing import Any

import pytest

from tool_approval import (
    ApprovalContext,
    ApprovalController,
    ApprovalDecision,
    ApprovalDeniedError,
    ApprovalRequest,
    ApprovalScope,
    ForkedProcessError,
    UncomparablePayloadError,
    requires_approval,
)

YES = ApprovalDecision(True)
SESSION = ApprovalDecision(True, ApprovalScope.SESSION)
NO = ApprovalDecision(False, note="not now")


class ScriptedController(ApprovalController):
    """A controller whose reviewer gives these answers in turn."""

    def __init__(self, *answers: ApprovalDecision | BaseException, **options: Any) -> None:
        super().__init__(**options)
        self.answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(request)
        await asyncio.sleep(0)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def request(number: int = 1, **fields: Any) -> ApprovalRequest:
    defaults: dict[str, Any] = {"tool_name": "t", "description": f"call {number}"}
    return ApprovalRequest(**{**defaults, "payload": {"number": number}, **fields})


async def test_modes_decide_without_a_question() -> None:
    approving, strict = ScriptedController(mode="approve_all"), ScriptedController(mode="strict")
    assert await approving.request_approval(request()) == YES
    denied = await strict.request_approval(request())
    assert denied == ApprovalDecision(False, note="Strict mode: approval required")
    assert approving.asked == strict.asked == []


def test_an_unknown_mode_is_an_error() -> None:
    with pytest.raises(ValueError, match="`mode` must be one of `interactive`, `approve_all`"):
        ApprovalController(mode="yolo")  # type: ignore[arg-type]


async def test_an_approval_once_is_asked_again() -> None:
    controller = ScriptedController(YES, NO)
    assert await controller.request_approval(request()) == YES
    assert await controller.request_approval(request()) == NO
    assert len(controller.asked) == 2


async def test_an_approval_for_the_session_covers_equal_requests() -> None:
    controller = ScriptedController(SESSION, NO)
    assert await controller.request_approval(request(1)) == SESSION
    assert await controller.request_approval(request(1)) == SESSION
    assert await controller.request_approval(request(2)) == NO
    assert [one.description for one in controller.asked] == ["call 1", "call 2"]


async def test_a_presentation_is_only_created_for_a_question() -> None:
    created = []

    class Presenting(ScriptedController):
        async def _enrich_presentation(self, request: ApprovalRequest) -> ApprovalRequest:
            created.append(request.description)
            return await super()._enrich_presentation(request)

    controller = Presenting(SESSION)
    for _ in range(3):
        await controller.request_approval(request())
    assert created == ["call 1"]
    assert controller.asked[0].presentation is not None


async def test_equal_requests_at_the_same_time_are_asked_once_if_approved_for_the_session() -> None:
    controller = ScriptedController(SESSION)
    decisions = await asyncio.gather(*(controller.request_approval(request()) for _ in range(5)))
    assert all(decision.approved for decision in decisions)
    assert len(controller.asked) == 1


async def test_what_was_shown_is_remembered() -> None:
    payload = {"paths": ["a"]}

    class Changing(ScriptedController):
        async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
            payload["paths"].append("b")
            return SESSION

    controller = Changing()
    await controller.request_approval(request(payload=payload))
    assert controller.is_session_approved(request(payload={"paths": ["a"]}))
    assert not controller.is_session_approved(request(payload={"paths": ["a", "b"]}))


async def test_a_payload_that_cannot_be_compared_is_not_asked_about() -> None:
    controller = ScriptedController(YES)
    with pytest.raises(UncomparablePayloadError):
        await controller.request_approval(request(payload={"value": object()}))
    assert controller.asked == []


@pytest.mark.parametrize("answer", [None, True, "yes"])
async def test_an_answer_of_another_type_is_an_error(answer: Any) -> None:
    controller = ScriptedController(answer)
    with pytest.raises(TypeError, match="`_prompt_user` must return an `ApprovalDecision`"):
        await controller.request_approval(request())
    assert len(controller.session_approvals) == 0


async def test_an_exception_while_asking_approves_nothing() -> None:
    controller = ScriptedController(OSError("terminal closed"), YES)
    with pytest.raises(OSError, match="terminal closed"):
        await controller.request_approval(request())
    assert len(controller.session_approvals) == 0
    assert await controller.request_approval(request()) == YES


async def test_a_cancelled_question_approves_nothing_and_frees_the_prompt() -> None:
    shown = asyncio.Event()

    class Waiting(ScriptedController):
        async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
            if not self.asked:
                self.asked.append(request)
                shown.set()
                await asyncio.Event().wait()
            return YES

    controller = Waiting()
    asking = asyncio.create_task(controller.request_approval(request()))
    await shown.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(controller.session_approvals) == 0
    assert await controller.request_approval(request()) == YES


# --- Groups ----------------------------------------------------------------------------------------


async def test_requests_of_a_group_are_asked_together() -> None:
    controller = ScriptedController(SESSION)
    requests = [request(number, group_id="save") for number in range(3)]
    decisions = await controller.request_approvals(requests)
    assert decisions == [SESSION] * 3
    [asked] = controller.asked
    assert asked.description == "3 related calls"
    assert asked.payload == {"calls": [{"number": number} for number in range(3)]}
    assert asked.presentation is not None
    for number in range(3):
        assert f"call {number}" in asked.presentation.content
    assert all(controller.is_session_approved(one) for one in requests)


async def test_groups_and_single_requests_are_asked_separately() -> None:
    controller = ScriptedController(YES, NO, YES)
    decisions = await controller.request_approvals(
        [request(1, group_id="a"), request(2, group_id="b"), request(3)]
    )
    assert sorted(decision.approved for decision in decisions) == [False, True, True]
    assert len(controller.asked) == 3


async def test_approved_members_of_a_group_are_not_asked_about() -> None:
    controller = ScriptedController(SESSION, NO)
    await controller.request_approval(request(1))
    decisions = await controller.request_approvals(
        [request(number, group_id="g") for number in (1, 2)]
    )
    assert decisions == [SESSION, NO]
    assert controller.asked[-1].description == "call 2"


async def test_an_exception_reaches_each_member_of_a_group() -> None:
    controller = ScriptedController(OSError("gone"))
    asking = [controller.request_approval(request(number, group_id="g")) for number in (1, 2)]
    results = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(result) for result in results] == [OSError, OSError]


async def test_a_cancelled_member_does_not_cancel_the_others() -> None:
    shown = asyncio.Event()
    answer: asyncio.Future[ApprovalDecision] = asyncio.get_running_loop().create_future()

    class Waiting(ScriptedController):
        async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
            shown.set()
            return await answer

    controller = Waiting()
    first, second = (
        asyncio.create_task(controller.request_approval(request(number, group_id="g")))
        for number in (1, 2)
    )
    await shown.wait()
    first.cancel()
    await asyncio.wait({first})
    answer.set_result(YES)
    assert first.cancelled()
    assert await second == YES


# --- Calls -----------------------------------------------------------------------------------------


async def test_a_tool_without_approval_logic_runs() -> None:
    assert await ScriptedController(mode="strict").approve_call("t", {}, tool=print) == YES


async def test_a_tool_that_asks_is_asked_about() -> None:
    @requires_approval()
    def send(to: str) -> None: ...

    controller = ScriptedController(NO)
    decision = await controller.approve_call("send", {"to": "x"}, tool=send)
    assert decision == NO
    with pytest.raises(ApprovalDeniedError, match="Approval denied: not now") as error:
        controller.answers = [NO]
        await controller.require_approval("send", {"to": "x"}, tool=send)
    assert error.value.note == "not now"


@pytest.mark.parametrize("mode", ["interactive", "approve_all", "strict"])
async def test_a_blocked_call_is_blocked_in_every_mode(mode: Any) -> None:
    class Tool:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
            raise PermissionError("never")

    with pytest.raises(PermissionError, match="never"):
        await ScriptedController(YES, mode=mode).approve_call("t", {}, tool=Tool())


async def test_a_tool_that_fails_in_its_check_is_not_run() -> None:
    class Tool:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
            raise KeyError("path")

    with pytest.raises(KeyError):
        await ScriptedController(YES, mode="approve_all").approve_call("t", {}, tool=Tool())


async def test_a_check_that_returns_something_else_is_an_error() -> None:
    class Tool:
        def check_approval(self, ctx: ApprovalContext) -> Any:
            return False

    with pytest.raises(TypeError, match="`check_approval` must return an `ApprovalRequest`"):
        await ScriptedController(mode="approve_all").approve_call("t", {}, tool=Tool())


async def test_metadata_reaches_the_tool() -> None:
    seen = []

    class Tool:
        def check_approval(self, ctx: ApprovalContext) -> ApprovalRequest | None:
            seen.append(ctx.metadata)
            return None

    await ScriptedController().approve_call("t", {}, tool=Tool(), metadata={"run_id": 7})
    assert seen == [{"run_id": 7}]


# --- Threads, event loops and processes ------------------------------------------------------------


def test_the_blocking_methods_work_without_an_event_loop() -> None:
    controller = ScriptedController(SESSION)
    assert controller.request_approval_sync(request()) == SESSION
    assert controller.request_approval_sync(request()) == SESSION


async def test_the_blocking_methods_refuse_to_block_an_event_loop() -> None:
    with pytest.raises(RuntimeError, match="this thread runs an event loop"):
        ScriptedController(YES).request_approval_sync(request())


def test_threads_are_asked_one_after_the_other() -> None:
    open_questions = []
    most = []

    class Counting(ScriptedController):
        async def _prompt_user(self, request: ApprovalRequest) -> ApprovalDecision:
            open_questions.append(request)
            most.append(len(open_questions))
            await asyncio.sleep(0.005)
            open_questions.pop()
            return SESSION

    controller = Counting()
    results: list[bool] = []

    def work(number: int) -> None:
        results.append(controller.request_approval_sync(request(number % 4)).approved)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 16
    assert max(most) == 1
    assert len(most) == 4


def _ask_in_child(controller: ApprovalController, results: Any) -> None:
    try:
        controller.request_approval_sync(request())
    except ForkedProcessError as error:
        results.put(str(error))
    else:
        results.put("approved")


def test_a_forked_child_approves_nothing() -> None:
    controller = ScriptedController(YES, mode="approve_all")
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_ask_in_child, args=(controller, results))
    child.start()
    message = results.get(timeout=30)
    child.join()
    assert message.startswith("this controller was created before a fork")


async def test_a_wait_needs_an_engine() -> None:
    with pytest.raises(ValueError, match="`wait` needs an engine"):
        ApprovalController(wait=3)
