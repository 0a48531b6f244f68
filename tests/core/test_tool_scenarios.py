"""The scenarios of agent tool execution, on files.

SC-14: pages are files here: to search is `grep`, to read `read_file`, to create `create_file`, to move a shell's `mv`.
"""

import json

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import JsonObject, ModelRequest, ToolResultBlock, UserMessage
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.tools.access import CAPABILITIES, CallRules
from desktop_agent.core.tools.output import RESULT_LIMIT
from tests.harness import Ground, Open
from tests.loop_time import LoopTime

WITHOUT_WRITING = CallRules(capabilities=CAPABILITIES - {"write_fs"})


def answers(request: ModelRequest) -> list[str]:
    message = request.messages[-1]
    assert isinstance(message, UserMessage)
    return [block.content for block in message.content if isinstance(block, ToolResultBlock)]


def states(s: Open) -> list[str]:
    found: list[str] = []
    for event in s.rx.events:
        match event:
            case ev.ToolCallStarted():
                found.append("started")
            case ev.ToolCallFinished(state=state):
                found.append(state)
            case _:
                pass
    return found


async def test_a_question_is_answered_by_a_search(ground: Ground) -> None:  # SC-01, SC-00b
    ground.write("Dragon Lore.md", "Dragons breathe fire and hoard treasure.\n")

    def script(request: ModelRequest) -> Reply:
        if len(request.messages) == 1:
            return [Call("grep", {"pattern": "dragons", "case_insensitive": True, "output_mode": "files_with_matches"})]
        [found] = json.loads(answers(request)[0])
        return [Say(f"{found} mentions dragons.")]

    async with ground.session(script) as s:
        assert (await s.prompt("What pages mention dragons?")).reason == "completed"
        assert states(s) == ["started", "completed"]
        last = s.rx.all(ev.MessageDone)[-1]
        assert "Dragon Lore.md mentions dragons." in str(last.content)


async def test_a_missing_argument_is_named_and_nothing_is_run(ground: Ground) -> None:  # SC-02
    async with ground.session([[Call("grep", {})], [Say("ok")]]) as s:
        await s.prompt()
        [result] = s.results()
        assert result.is_error
        assert "pattern" in result.content
        assert states(s) == ["started", "failed"]


async def test_several_hits_come_back_as_data_for_prose(ground: Ground) -> None:  # SC-03
    for name in ("Rome", "Greece", "Egypt"):
        ground.write(f"{name}.md", f"The history of {name}.\n")
    search = Call("grep", {"pattern": "history", "output_mode": "files_with_matches"})
    async with ground.session([[search], [Say("Rome, Greece and Egypt.")]]) as s:
        await s.prompt("List all pages about history.")
        assert sorted(json.loads(answers(s.last_request)[0])) == ["Egypt.md", "Greece.md", "Rome.md"]
        assert states(s) == ["started", "completed"]


async def test_a_failed_call_leaves_the_conversation_usable(ground: Ground) -> None:  # SC-04
    missing = Call("read_file", {"path": "this-page-does-not-exist-xyz-404"})
    async with ground.session([[missing], [Say("It does not exist.")], [Say("Still here.")]]) as s:
        await s.prompt()
        assert states(s) == ["started", "failed"]
        assert s.rx.all(ev.ToolCallFinished)[0].result.error_type == "not_found"
        assert (await s.prompt("and now?")).reason == "completed"


@pytest.mark.parametrize("is_stopped", [True, False], ids=["interrupt", "timeout"])
async def test_a_slow_tool_is_ended_by_its_timeout_or_by_the_person(ground: Ground, is_stopped: bool) -> None:  # SC-05
    command: JsonObject = {"command": "echo begun; exec tail -f /dev/null"}
    if not is_stopped:
        command["timeout"] = 600
    async with ground.session([[Call("run_terminal_cmd", command)], [Say("ok")]]) as s:
        time = LoopTime()
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ToolOutputDelta, lambda event: "begun" in event.text)
        if is_stopped:
            s.submit(ops.Interrupt())
        else:
            await time.let_pass(600)
        finished = await s.rx.expect(ev.ToolCallFinished)
        assert finished.state == "failed"
        assert (await s.rx.expect(ev.TurnEnded)).reason == ("interrupted" if is_stopped else "completed")


async def test_the_list_of_tools_in_the_prompt_equals_the_registry(ground: Ground) -> None:  # SC-06, SC-10
    async with ground.session([[Say("These.")]]) as s:
        await s.prompt("What tools do you have access to?")
        request = s.last_request
        listed = request.system.partition("## Available Tools\n")[2].splitlines()
        names = [line.removeprefix("- ").partition(":")[0] for line in listed]
        assert names == [tool.name for tool in request.tools]
        assert names == [*(tool.name for tool in ground.bench(s.provider).tools), "task"], "it belongs to a session"
        assert "UNAVAILABLE" not in request.system


async def test_a_tool_beyond_the_rights_is_marked_and_refused(ground: Ground) -> None:  # SC-07
    create = Call("create_file", {"path": "page.md", "content": "x"})
    async with ground.session([[create], [Say("ok")]], approval="on_request", rules=WITHOUT_WRITING) as s:
        await s.prompt()
        assert "[UNAVAILABLE: Requires write_fs capability]" in s.last_request.system
        assert s.rx.all(ev.ApprovalRequested) == []
        [finished] = s.rx.all(ev.ToolCallFinished)
        assert (finished.state, finished.result.error_type) == ("failed", "permission")
        assert not (ground.workspace / "page.md").exists()


async def test_several_calls_one_after_another_stay_within_the_limit(ground: Ground) -> None:  # SC-08
    for number in (1, 2, 3):
        ground.write(f"Chapter {number}.md", f"It happens {number}.\n")
    reads: list[Reply] = [[Call("read_file", {"path": f"Chapter {number}.md"})] for number in (1, 2, 3)]
    async with ground.session([*reads, [Say("All of it.")]], limits=TurnLimits(max_requests=8)) as s:
        assert (await s.prompt("Read all three and summarize.")).reason == "completed"
        assert states(s) == ["started", "completed"] * 3


async def test_an_empty_result_is_not_an_error(ground: Ground) -> None:  # SC-09
    ground.write("Chapter 1.md", "")
    ground.write("Chapter 2/intro.md", "")
    move = Call("run_terminal_cmd", {"command": "mv 'Chapter 1.md' 'Chapter 2/'"})
    async with ground.session([[move], [Call("read_file", {"path": "Chapter 2/Chapter 1.md"})], [Say("ok")]]) as s:
        await s.prompt("go", answers=1)
        assert states(s) == ["started", "completed"] * 2
        assert (ground.workspace / "Chapter 2" / "Chapter 1.md").exists()


async def test_an_unknown_tool_is_named_and_the_turn_goes_on(ground: Ground) -> None:  # SC-11
    async with ground.session([[Call("destroy_all_data", {})], [Say("There is no such tool.")]]) as s:
        assert (await s.prompt()).reason == "completed"
        [result] = s.results()
        assert result.is_error
        assert "destroy_all_data" in result.content


async def test_a_large_result_is_cut_before_it_enters_the_conversation(ground: Ground) -> None:  # SC-12, O-09
    ground.write("Large Page.md", "a line of the large page\n" * 25_000)
    async with ground.session([[Call("read_file", {"path": "Large Page.md"})], [Say("ok")]]) as s:
        assert (await s.prompt()).reason == "completed"
        [answer] = answers(s.last_request)
        assert len(answer.encode()) <= RESULT_LIMIT.max_bytes
        assert "[Cut: lines 1-" in answer
        assert states(s) == ["started", "completed"]
