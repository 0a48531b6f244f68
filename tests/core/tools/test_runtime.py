"""Who runs beside whom, in which order, and that every call is answered once."""

import pytest

from desktop_agent.core import events as ev
from desktop_agent.core import ops
from desktop_agent.core.errors import ToolError
from desktop_agent.core.providers.scripted import Call, Hang, Say
from tests.barrier import BrokenTool, Meeting, MeetingTool, WritingTool
from tests.harness import Ground, check_conversation


def meet(name: str) -> Call:
    return Call("meet", {"name": name})


def write(name: str) -> Call:
    return Call("write", {"name": name})


async def test_two_reads_run_side_by_side(ground: Ground) -> None:
    journal: list[str] = []
    ground.extra_tools = (MeetingTool(Meeting(2), journal),)
    async with ground.session([[meet("a"), meet("b")], [Say("ok")]]) as s:
        await s.prompt()
        assert journal[:2] == ["a begins", "b begins"]
        assert [result.content for result in s.results()] == ["a", "b"]


async def test_a_write_waits_for_the_reads_before_it_and_holds_back_those_behind_it(ground: Ground) -> None:
    """Z-40: a later read must not overtake an earlier write."""
    journal: list[str] = []
    ground.extra_tools = (MeetingTool(Meeting(1), journal), WritingTool(journal))
    calls = [meet("r1"), meet("r2"), write("W1"), write("W2"), meet("r3")]
    async with ground.session([calls, [Say("ok")]]) as s:
        await s.prompt()
    assert set(journal[:4]) == {"r1 begins", "r1 ends", "r2 begins", "r2 ends"}
    assert journal[4:] == ["W1", "W2", "r3 begins", "r3 ends"]


async def test_stopping_while_reads_wait_for_each_other_answers_all_of_them(ground: Ground) -> None:
    """Z-41: a cancelled waiter must leave nothing behind."""
    journal: list[str] = []
    meeting = Meeting(3)
    ground.extra_tools = (MeetingTool(meeting, journal), WritingTool(journal))
    async with ground.session([[meet("a"), meet("b"), write("W")], [write("after")], [Say("ok")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await meeting.until(2)
        s.submit(ops.Interrupt())
        await s.rx.expect(ev.TurnEnded)
        finished = [event.call_id for event in s.rx.all(ev.ToolCallFinished)]
        assert len(finished) == len(set(finished)) == 3
        assert "W" not in journal
        await s.prompt("go on")
        check_conversation(s.last_request)
        assert journal[-1] == "after"


async def test_a_tool_that_raises_runs_once_and_the_turn_goes_on(ground: Ground, expected_logs: list[str]) -> None:
    """Z-39: no second run after an exception; E-05: a defect is told to the model."""
    expected_logs.append("failed unexpectedly")
    broken = BrokenTool(RuntimeError("boom"))
    ground.extra_tools = (broken, MeetingTool(Meeting(1), []))
    async with ground.session([[Call("broken", {"name": "x"}), meet("m")], [Say("ok")]]) as s:
        assert (await s.prompt()).reason == "completed"
        assert broken.calls == 1
        assert "RuntimeError: boom" in s.results()[0].content
        assert s.results()[1].content == "m"


async def test_a_fatal_failure_ends_the_turn_and_answers_the_rest_without_running_it(ground: Ground) -> None:
    """E-06, Z-55, Z-56."""
    journal: list[str] = []
    fatal = BrokenTool(ToolError("The world is on fire.", error_type="fatal"))
    ground.extra_tools = (fatal, WritingTool(journal))
    async with ground.session([[Call("broken", {"name": "x"}), write("W")], [Say("never")]]) as s:
        ended = await s.prompt()
        assert (ended.reason, len(s.provider.requests)) == ("fatal_tool_error", 1)
        assert journal == []
        assert len(s.rx.all(ev.ToolCallFinished)) == 2
        await s.prompt("go on")
        check_conversation(s.last_request)


@pytest.mark.parametrize("arguments", [{}, {"name": 3}, {"name": "a", "extra": 1}])
async def test_arguments_that_do_not_fit_are_answered_with_what_would(
    ground: Ground, arguments: dict[str, object]
) -> None:
    ground.extra_tools = (MeetingTool(Meeting(1), []),)
    async with ground.session([[Call("meet", arguments)], [Say("ok")]]) as s:
        await s.prompt()
        [result] = s.results()
        assert result.is_error
        assert "Its arguments are: name" in result.content


async def test_under_the_policy_always_even_a_read_asks(ground: Ground) -> None:
    """Z-62."""
    ground.extra_tools = (MeetingTool(Meeting(1), []),)
    async with ground.session([[meet("a")], [Say("ok")]], approval="always") as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.answer()
        assert (await s.rx.expect(ev.TurnEnded)).reason == "completed"


async def test_live_output_reaches_the_person_before_the_call_ends(ground: Ground) -> None:
    command = "echo first; while [ ! -e go ]; do :; done; echo second"
    async with ground.session([[Call("run_terminal_cmd", {"command": command})], [Say("ok"), Hang()]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.rx.expect(ev.ToolOutputDelta, lambda event: "first" in event.text)
        assert s.rx.all(ev.ToolCallFinished) == []
        ground.write("go", "")
        await s.rx.expect(ev.ToolCallFinished)


async def test_output_too_long_for_the_model_is_kept_whole_for_the_person(ground: Ground) -> None:
    async with ground.session([[Call("run_terminal_cmd", {"command": "seq 1 20000"})], [Say("ok")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        finished = await s.rx.expect(ev.ToolCallFinished)
        assert len(finished.result.content) < 15_000
        assert finished.result.output is not None
        assert "spool_path" not in finished.result.metadata
        whole = ground.bench(s.provider).blobs.get(finished.result.output.blob)
        assert whole.decode().split() == [str(number) for number in range(1, 20_001)]
        assert list((ground.paths.data / "spool").iterdir()) == []
