"""Which calls run in parallel, in which order, and that every call is answered once."""

import asyncio

import pytest

from desktop_agent.core.base.errors import ToolError, ToolErrorType
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, ToolResult
from desktop_agent.core.providers.scripted import Call, Hang, Say
from desktop_agent.core.tools.tool import ToolContext
from tests.barrier import BrokenTool, Meeting, MeetingTool, NamedArguments, WritingTool
from tests.harness import Ground, check_conversation


def meet(name: str) -> Call:
    return Call("meet", {"name": name})


def write(name: str) -> Call:
    return Call("write", {"name": name})


async def test_a_write_waits_for_the_reads_before_it_and_holds_back_those_behind_it(ground: Ground) -> None:
    """C-01, C-07, Z-13, Z-40: a later read must not overtake an earlier write, so no writer starves."""
    journal: list[str] = []
    ground.extra_tools = (MeetingTool(Meeting(1), journal), WritingTool(journal))
    calls = [meet("r1"), meet("r2"), write("W1"), write("W2"), meet("r3")]
    async with ground.session([calls, [Say("ok")]]) as s:
        await s.prompt()
    assert set(journal[:4]) == {"r1 begins", "r1 ends", "r2 begins", "r2 ends"}
    assert journal[4:] == ["W1", "W2", "r3 begins", "r3 ends"]


async def test_reads_overlap_although_the_same_message_writes(ground: Ground) -> None:
    """Z-12, Z-02; C-06: the reads return only while both run, which needs no clock."""
    journal: list[str] = []
    ground.extra_tools = (MeetingTool(Meeting(2), journal), WritingTool(journal))
    async with ground.session([[write("W1"), meet("r1"), meet("r2"), write("W2")], [Say("ok")]]) as s:
        await s.prompt()
        assert [result.content for result in s.results()] == ["W1", "r1", "r2", "W2"]
    assert (journal[0], set(journal[1:3]), journal[-1]) == ("W1", {"r1 begins", "r2 begins"}, "W2")


async def test_every_call_of_a_session_runs_on_the_one_loop_of_the_application(ground: Ground) -> None:
    """Z-42, C-04: a tool can reuse open resources in the next call, also after an approval."""
    loops: list[asyncio.AbstractEventLoop] = []

    class Loop(MeetingTool):
        async def run(self, arguments: NamedArguments, context: ToolContext) -> ToolResult:
            loops.append(asyncio.get_running_loop())
            return await super().run(arguments, context)

    ground.extra_tools = (Loop(Meeting(1), []),)
    async with ground.session([[meet("a"), meet("b")], [Say("ok")], [meet("c")], [Say("ok")]], approval="always") as s:
        for calls in (2, 1):
            s.submit(ops.SubmitPrompt(text="go"))
            for _ in range(calls):
                await s.answer()
            await s.rx.expect(ev.TurnEnded)
    assert loops == [asyncio.get_running_loop()] * 3


async def test_a_fatal_failure_takes_nothing_back_and_what_was_changed_can_be_undone(ground: Ground) -> None:
    """E-09, Z-11: the user decides about the files of a failed turn."""
    ground.extra_tools = (BrokenTool(ToolError("The world is on fire.", error_type="fatal")),)
    create = Call("create_file", {"path": "new.py", "content": "y = 1\n"})
    async with ground.session([[create, Call("broken", {"name": "x"})]], approval="never") as s:
        assert (await s.prompt()).reason == "fatal_tool_error"
        assert ground.read("new.py") == "y = 1\n"
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection(turn=1)), ev.ChangesUndone)
        assert not (ground.workspace / "new.py").exists()


async def test_what_the_sandbox_or_the_policy_refuses_is_told_and_the_turn_goes_on(ground: Ground) -> None:
    """Z-09: the command fails in a sandbox, and does not run without one; neither is fatal."""
    ground.write(".git/config", "[core]\n")
    calls = [Call("run_terminal_cmd", {"command": "eval 'echo evil >> .git/config'"}), Call("list_files", {})]
    async with ground.session([calls, [Say("ok")]], approval="never") as s:
        assert (await s.prompt()).reason == "completed"
        refused, listed = (event.result for event in s.rx.all(ev.ToolCallFinished))
        assert refused.is_error
        assert refused.error_type in ("recoverable", "permission")
        assert not listed.is_error
    assert ground.read(".git/config") == "[core]\n"


async def test_stopping_while_reads_wait_for_each_other_answers_all_of_them(ground: Ground) -> None:
    """Z-41: a cancelled waiter must leave nothing behind."""
    journal: list[str] = []
    meeting = Meeting(3)
    ground.extra_tools = (MeetingTool(meeting, journal), WritingTool(journal))
    async with ground.session([[meet("a"), meet("b"), write("W")], [write("after")], [Say("ok")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await meeting.until(2)
        await s.carry_out(ops.Interrupt(), ev.TurnEnded)
        finished = [event.call_id for event in s.rx.all(ev.ToolCallFinished)]
        assert len(finished) == len(set(finished)) == 3
        assert "W" not in journal
        await s.prompt("go on")
        check_conversation(s.last_request)
        assert journal[-1] == "after"


async def test_a_tool_that_raises_runs_once_and_the_turn_goes_on(ground: Ground, expected_logs: list[str]) -> None:
    """Z-39: no second run after an exception. E-03, E-05, R-14, Z-10, Z-69: the model gets the defect as a result."""
    expected_logs.append("failed unexpectedly")
    broken = BrokenTool(RuntimeError("boom"))
    ground.extra_tools = (broken, MeetingTool(Meeting(1), []))
    async with ground.session([[Call("broken", {"name": "x"}), meet("m")], [Say("ok")]]) as s:
        assert (await s.prompt()).reason == "completed"
        assert broken.calls == 1
        assert "RuntimeError: boom" in s.results()[0].content
        assert s.results()[1].content == "m"
        kinds = {event.result.error_type for event in s.rx.all(ev.ToolCallFinished)}  # either may be done first
        assert kinds == {"recoverable", None}


@pytest.mark.parametrize("kind", ["validation", "recoverable", "permission", "not_found"])
async def test_a_failure_that_a_tool_tells_is_what_the_model_reads_and_the_turn_goes_on(
    ground: Ground, kind: ToolErrorType
) -> None:
    """E-01, E-02, E-07: the exact message and its kind. E-04: recoverable by default."""
    error = ToolError("Try it otherwise.") if kind == "recoverable" else ToolError("Try it otherwise.", error_type=kind)
    ground.extra_tools = (BrokenTool(error),)
    async with ground.session([[Call("broken", {"name": "x"})], [Say("ok")]]) as s:
        assert (await s.prompt()).reason == "completed"
        [finished] = s.rx.all(ev.ToolCallFinished)
        assert (finished.result.content, finished.result.is_error) == ("Try it otherwise.", True)
        assert finished.result.error_type == kind


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
    """R-16, S-15: before the user is asked."""
    ground.extra_tools = (MeetingTool(Meeting(1), []),)
    async with ground.session([[Call("meet", arguments)], [Say("ok")]], approval="always") as s:
        await s.prompt()
        assert s.rx.all(ev.ApprovalRequested) == []
        [result] = s.results()
        assert result.is_error
        assert "Its arguments are: name" in result.content
        assert ".." not in result.content


async def test_live_output_reaches_the_person_before_the_call_ends(ground: Ground) -> None:
    command = "echo first; while [ ! -e go ]; do :; done; echo second"
    async with ground.session([[Call("run_terminal_cmd", {"command": command})], [Say("ok"), Hang()]]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ToolOutputDelta, lambda event: "first" in event.text)
        assert s.rx.all(ev.ToolCallFinished) == []
        ground.write("go", "")
        await s.rx.expect(ev.ToolCallFinished)


async def test_output_too_long_for_the_model_is_kept_whole_for_the_person(ground: Ground) -> None:
    async with ground.session([[Call("run_terminal_cmd", {"command": "seq 1 20000"})], [Say("ok")]]) as s:
        finished = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ToolCallFinished)
        assert len(finished.result.content) < 15_000
        assert finished.result.output is not None
        assert "spool_path" not in finished.result.metadata
        whole = ground.bench(s.provider).blobs.get(finished.result.output.blob)
        assert whole.decode().split() == [str(number) for number in range(1, 20_001)]
        assert list((ground.paths.data / "spool").iterdir()) == []
