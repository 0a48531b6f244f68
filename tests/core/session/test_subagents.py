"""Sub-agents: sessions that a session's calls start, with their changes, questions and costs in their parent's."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.export import export_text
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    ApprovalPolicy,
    ChangeSelection,
    Denied,
    JsonObject,
    ModelRef,
    ModelRequest,
    TextBlock,
    UserMessage,
)
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.scripted import Call, Cost, Fail, Hang, Reply, Say, Script, ScriptedProvider
from desktop_agent.core.settings.sections import Settings, SpendingSettings, SubagentSettings
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.core.worktrees.bring_back import find_offer
from tests.git import git
from tests.harness import Ground, Open, Receiver, check_messages


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ground")


def task(prompt: str, role: str = "general", *, is_background: bool = False) -> Call:
    arguments: JsonObject = {"description": f"Do {prompt}", "prompt": prompt, "role": role, "background": is_background}
    return Call("task", arguments)


def behind(prompt: str) -> Call:
    return task(prompt, is_background=True)


def create(path: str, text: str = "new\n") -> Call:
    return Call("create_file", {"path": path, "content": text})


def prompt_of(request: ModelRequest) -> str:
    first = request.messages[0]
    assert isinstance(first, UserMessage)
    return "".join(block.text for block in first.content if isinstance(block, TextBlock)).strip()


def by_prompt(scripts: Mapping[str, Sequence[Reply]]) -> Script:
    """Follow the script of the conversation's first prompt: its first reply, then its second, and so on."""

    def script(request: ModelRequest) -> Reply:
        check_messages(request.messages)
        answered = sum(message.role == "assistant" for message in request.messages)
        replies = next(replies for name, replies in scripts.items() if prompt_of(request).endswith(name))
        return replies[answered] if answered < len(replies) else [Say("no more")]

    return script


class Family:
    """A session whose sub-agents follow scripts. Each has a provider of its own, so that ids of calls are the same."""

    def __init__(self, opened: Open, asked: list[ModelRequest]) -> None:
        self.parent = opened
        self.asked = asked

    @property
    def rx(self) -> Receiver:
        return self.parent.rx

    def entries(self) -> Mapping[str, ToolEntry]:
        """Return the calls of sub-agents, by their prompts."""
        entries = self.parent.session.transcript.entries
        return {
            str(entry.call.arguments["prompt"]): entry
            for entry in entries
            if isinstance(entry, ToolEntry) and entry.call.name == "task"
        }

    def requests_of(self, prompt: str) -> list[ModelRequest]:
        return [request for request in self.asked if prompt_of(request).endswith(prompt)]


def family(ground: Ground, **scripts: Sequence[Reply]) -> AbstractAsyncContextManager[Family]:
    """Open a session in which nothing is asked."""
    return _family(ground, "never", scripts)


def asking(ground: Ground, **scripts: Sequence[Reply]) -> AbstractAsyncContextManager[Family]:
    """Open a session that asks before each change."""
    return _family(ground, "on_write", scripts)


@asynccontextmanager
async def _family(
    ground: Ground, approval: ApprovalPolicy, scripts: Mapping[str, Sequence[Reply]]
) -> AsyncGenerator[Family]:
    asked: list[ModelRequest] = []
    follow = by_prompt(scripts)

    def script(request: ModelRequest) -> Reply:
        asked.append(request)
        return follow(request)

    async def source(_model: ModelRef) -> Provider:
        return ScriptedProvider(script, clock=ground.clock)

    async with ground.session([], provider_source=source, approval=approval) as opened:
        yield Family(opened, asked)


async def test_sub_agents_of_one_message_work_side_by_side_and_are_answered_in_order(ground: Ground) -> None:
    both = asyncio.Event()
    here: set[str] = set()

    async with family(
        ground,
        go=[[task("one"), task("two"), task("three")], [Say("all done")]],
        one=[[Call("list_files")], [Say("found one")]],
        two=[[Say("found two")]],
        three=[[Say("found three")]],
    ) as f:

        def note(event: ev.Event) -> None:
            if isinstance(event, ev.SubagentStarted):
                here.add(event.call_id)
            if isinstance(event, ev.ToolCallFinished) and len(here) == 3:
                both.set()

        f.rx.at_once = note
        end = await f.parent.prompt()
        assert end.reason == "completed"
        assert both.is_set(), "all have begun before the first ended"
        (_, after) = f.requests_of("go")
        results = [block.content for block in after.messages[-1].content if block.type == "tool_result"]
        assert [str(result) for result in results] == ["found one", "found two", "found three"]


async def test_a_sub_agent_has_a_session_of_its_own_that_is_not_among_the_conversations(ground: Ground) -> None:
    async with family(ground, go=[[task("one", "explore")], [Say("ok")]], one=[[Say("found")]]) as f:
        await f.parent.prompt()
        (started,) = f.rx.all(ev.SubagentStarted)
        summary = f.parent.bench.catalog.summary(started.session_id)
        assert summary is not None
        assert summary.task is not None
        assert (summary.task.session_id, summary.task.role) == (f.parent.id, "explore")
        assert summary.title == "Do one"
        assert not summary.is_listed
        assert f.parent.bench.catalog.latest(ground.workspace) == f.parent.id
        system = f.requests_of("one")[0].system
        assert "You are a sub-agent" in system
        assert "Your role: researcher" in system
    bench = f.parent.bench
    exported = b"".join(export_text(bench.catalog.journal_path(f.parent.id), "md", bench.catalog.blobs)).decode()
    assert f"[the session of the sub-agent: {started.session_id}]" in exported
    opened = await f.parent.bench.open_session(started.session_id, sink=Receiver())
    assert [entry.text for entry in opened.transcript.entries if isinstance(entry, ev.PromptSubmitted)] == ["one"]
    opened.session.submit(ops.Shutdown())
    await opened.session.run()


async def test_a_sub_agent_has_no_sub_agents_and_one_that_explores_only_reads(ground: Ground) -> None:
    async with family(
        ground,
        go=[[task("one", "explore"), task("two"), task("three", "nobody")], [Say("ok")]],
        one=[[create("a.txt"), task("two")], [Say("found")]],
        two=[[Call("run_terminal_cmd", {"command": "sleep 9", "is_background": True})], [Say("found")]],
    ) as f:
        await f.parent.prompt()
        offered = {tool.name for tool in f.requests_of("one")[0].tools}
        assert "read_file" in offered
        assert offered.isdisjoint({"task", "create_file", "run_terminal_cmd", "write_plan"})
        refused = [block for block in f.requests_of("one")[1].messages[-1].content if block.type == "tool_result"]
        assert ["not permitted" in str(refused[0].content), "no tool 'task'" in str(refused[1].content)] == [True] * 2
        assert not (ground.workspace / "a.txt").exists()
        background = f.requests_of("two")[1].messages[-1].content[0]
        assert background.type == "tool_result"
        assert "leaves no command running" in str(background.content)
        (_, after) = f.requests_of("go")
        assert "explore" in str(after.messages[-1].content[2])


async def test_while_the_agent_plans_its_sub_agents_only_read(ground: Ground) -> None:
    async with family(ground, go=[[task("one")], [Say("ok")]], one=[[create("a.txt")], [Say("tried")]]) as f:
        f.parent.submit(ops.SetMode(is_planning=True))
        await f.parent.prompt()
        offered = {tool.name for tool in f.requests_of("one")[0].tools}
        assert offered.isdisjoint({"create_file", "write_plan", "task"})
        assert not (ground.workspace / "a.txt").exists()


async def test_changes_of_sub_agents_are_the_parents_and_each_is_undone_alone_in_any_order(ground: Ground) -> None:
    before = "".join(f"line {number}\n" for number in range(40))
    ground.write("shared.txt", before)
    read = Call("read_file", {"path": "shared.txt"})
    edit = Call("edit_file", {"path": "shared.txt", "old_str": "line 3\n", "new_str": "ONE\n"})
    async with family(
        ground,
        go=[[task("one"), task("two"), task("three")], [Say("ok")]],
        one=[[read], [edit], [read], [edit], [create("one.txt")], [Say("one")]],  # again, if "two" came between
        two=[
            [Call("run_terminal_cmd", {"command": "printf 'two\\n' > two.txt; sed -i 's/line 20/TWO/' shared.txt"})],
            [Say("ok")],
        ],
        three=[[create("three.txt")], [Say("three")]],
    ) as f:
        await f.parent.prompt()
        calls = {prompt: entry.call.id for prompt, entry in f.entries().items()}
        made = {prompt: {change.path for change in entry.changes} for prompt, entry in f.entries().items()}
        assert made["two"] == {"two.txt", "shared.txt"}
        assert made["three"] == {"three.txt"}
        assert "one.txt" in made["one"]
        whole = {path.name: path.read_bytes() for path in ground.workspace.iterdir()}
        await f.parent.undo(ChangeSelection(call_id=calls["two"]))
        assert not (ground.workspace / "two.txt").exists()
        assert b"TWO" not in (ground.workspace / "shared.txt").read_bytes()
        assert (ground.workspace / "one.txt").exists()
        await f.parent.undo(ChangeSelection(call_id=calls["one"]))
        assert ground.read("shared.txt") == before
        await f.parent.redo(ChangeSelection(call_id=calls["two"]))
        await f.parent.redo(ChangeSelection(call_id=calls["one"]))
        assert {path.name: path.read_bytes() for path in ground.workspace.iterdir()} == whole
        await f.parent.undo()
        assert {path.name for path in ground.workspace.iterdir()} == {"shared.txt"}
        assert ground.read("shared.txt") == before


async def test_a_question_of_a_sub_agent_is_asked_in_the_parent_and_says_whose_it_is(ground: Ground) -> None:
    async with asking(
        ground,
        go=[[task("one"), task("two")], [Say("ok")]],
        one=[[create("one.txt")], [Say("wrote")]],
        two=[[create("two.txt")], [Say("did not")]],
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        asked = [await f.rx.expect(ev.ApprovalRequested) for _ in range(2)]
        by_path = {event.request.changes[0].path: event.request for event in asked}
        assert {request.subagent for request in by_path.values()} == {"general: Do one", "general: Do two"}
        calls = {prompt: entry.call.id for prompt, entry in f.entries().items()}
        assert by_path["one.txt"].call_id == calls["one"]
        assert all(entry.is_waiting for entry in f.entries().values())
        f.parent.submit(ops.AnswerApproval(call_id=calls["two"], decision=Denied(message="no")))
        f.parent.submit(ops.AnswerApproval(call_id=calls["one"], decision=Allowed()))
        await f.rx.expect(ev.TurnEnded)
        assert ground.read("one.txt") == "new\n"
        assert not (ground.workspace / "two.txt").exists()
        assert [entry.decision for entry in f.entries().values()] == [None, None], "the calls themselves were allowed"
        denied = f.requests_of("two")[1].messages[-1].content[0]
        assert denied.type == "tool_result"
        assert "The user denied this call" in str(denied.content)


async def test_an_answer_for_the_session_is_one_for_its_other_sub_agents(ground: Ground) -> None:
    async with asking(
        ground,
        go=[[task("one")], [task("two"), create("three.txt")], [Say("ok")]],
        one=[[create("one.txt")], [Say("wrote")]],
        two=[[create("two.txt")], [Say("wrote")]],
    ) as f:
        await f.parent.turn(Allowed(scope="session"))
        assert {path.name for path in ground.workspace.iterdir()} == {"one.txt", "two.txt", "three.txt"}
        assert len(f.rx.all(ev.ApprovalRequested)) == 1


async def test_an_edited_command_of_a_sub_agent_is_judged_while_it_is_edited(ground: Ground) -> None:
    run = Call("run_terminal_cmd", {"command": "touch a.txt", "with_escalated_permissions": True, "justification": "x"})
    async with asking(ground, go=[[task("one")], [Say("ok")]], one=[[run], [Say("wrote")]]) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        asked = await f.rx.expect(ev.ApprovalRequested)
        call_id = asked.request.call_id
        f.parent.submit(ops.JudgeCommand(call_id=call_id, command="touch b.txt"))
        judged = await f.rx.expect(ev.CommandJudged, lambda event: bool(event.digest))
        assert judged.call_id == call_id
        answer = Allowed(edited_command="touch b.txt", judged=judged.digest)
        f.parent.submit(ops.AnswerApproval(call_id=call_id, decision=answer))
        await f.rx.expect(ev.TurnEnded)
        assert len(f.rx.all(ev.ApprovalRequested)) == 1
        assert {path.name for path in ground.workspace.iterdir()} == {"b.txt"}
        assert [change.path for entry in f.entries().values() for change in entry.changes] == ["b.txt"]


async def test_nobody_answers_a_sub_agent_without_a_user(ground: Ground) -> None:
    async with asking(ground, go=[[task("one")], [Say("ok")]], one=[[create("a")], [Say("no")]]) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        await f.parent.answer(Aborted(reason="Nobody is here."))
        assert (await f.rx.expect(ev.TurnEnded)).reason == "approval_required"


async def test_one_that_fails_and_one_that_is_stopped_leave_the_others_at_work(ground: Ground) -> None:
    refused = ProviderError("The key was refused.", fault="authentication")
    async with family(
        ground,
        go=[[task("one"), task("two"), task("three")], [Say("ok")]],
        one=[[Fail(refused)]],
        two=[[Say("so far"), Call("list_files")], [Hang()]],
        three=[[create("three.txt")], [Say("three")]],
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        finished: dict[str, ev.ToolCallFinished] = {}
        for _ in range(2):
            event = await f.rx.expect(ev.ToolCallFinished)
            finished[event.call_id] = event
        calls = {prompt: entry.call.id for prompt, entry in f.entries().items()}
        assert finished[calls["one"]].result.is_error
        assert "The key was refused." in finished[calls["one"]].result.content
        assert finished[calls["three"]].result.content == "three"
        f.parent.submit(ops.StopSubagent(call_id=calls["two"]))
        stopped = await f.rx.expect(ev.ToolCallFinished)
        assert (stopped.call_id, stopped.state) == (calls["two"], "failed")
        assert "so far" in stopped.result.content
        assert (await f.rx.expect(ev.TurnEnded)).reason == "completed"


async def test_a_stopped_turn_ends_every_sub_agent_and_answers_every_call(ground: Ground) -> None:
    names = [f"task{number}" for number in range(20)]
    ground.settings = Settings(subagents=SubagentSettings(most_at_once=20))
    async with family(
        ground,
        go=[[task(name) for name in names]],
        **{name: [[Say("so far"), Call("list_files")], [Hang()]] for name in names},
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        for _ in names:
            await f.rx.expect(ev.SubagentStarted)
        f.parent.submit(ops.Interrupt())
        end = await f.rx.expect(ev.TurnEnded)
        assert end.reason == "interrupted"
        assert len(f.rx.all(ev.ToolCallFinished)) == 20
        children = [event.session_id for event in f.rx.all(ev.SubagentStarted)]
        for child in children:
            opened = await f.parent.bench.open_session(child, sink=Receiver())
            opened.session.submit(ops.Shutdown())
            await opened.session.run()
            assert opened.session.transcript.turns.last_end == "interrupted"


async def test_no_more_work_at_once_than_the_setting_says(ground: Ground) -> None:
    ground.settings = Settings(subagents=SubagentSettings(most_at_once=2))
    names = ["one", "two", "three", "four"]
    running: set[str] = set()
    most = 0

    def note(event: ev.Event) -> None:
        nonlocal most
        if isinstance(event, ev.SubagentStarted):
            running.add(event.call_id)
            most = max(most, len(running))
        elif isinstance(event, ev.ToolCallFinished):
            running.discard(event.call_id)

    async with family(ground, go=[[task(name) for name in names], [Say("ok")]], **{n: [[Say(n)]] for n in names}) as f:
        f.rx.at_once = note
        await f.parent.prompt()
        assert most == 2
        assert [entry.result.content for entry in f.entries().values() if entry.result] == names


async def test_what_sub_agents_cost_counts_once_and_as_the_parents(ground: Ground) -> None:
    async with family(
        ground,
        go=[[Cost(0.5), task("one"), task("two")], [Cost(0.25), Say("ok")]],
        one=[[Cost(1.0), Say("one")]],
        two=[[Cost(2.0), Call("list_files")], [Cost(4.0), Say("two")]],
    ) as f:
        await f.parent.prompt()
        assert f.parent.session.transcript.turns.usage.cost_usd == 7.75
        assert {prompt: entry.usage.cost_usd for prompt, entry in f.entries().items()} == {"one": 1.0, "two": 6.0}
        own = [event.usage for event in f.rx.all(ev.UsageReported) if not event.call_id]
        assert f.parent.session.transcript.context.context_tokens == own[-1].context_tokens
        started = {event.call_id: event.session_id for event in f.rx.all(ev.SubagentStarted)}
        child = started[f.entries()["two"].call.id]
    spent = {one.task is None: one.usage.cost_usd for one in f.parent.bench.catalog.summaries()}
    assert spent == {True: 7.75, False: None}
    view = await f.parent.bench.view_session(child, sink=Receiver())
    assert sum(event.usage.cost_usd or 0 for event in view.events if isinstance(event, ev.UsageReported)) == 6.0


async def test_the_limit_of_a_session_is_one_for_it_and_its_sub_agents_and_is_asked_about_once(ground: Ground) -> None:
    ground.settings = Settings(spending=SpendingSettings(session_usd=1.0))
    names = ["one", "two", "three"]
    async with family(
        ground,
        go=[[Cost(0.5), *(task(name) for name in names)], [Say("ok")]],
        **{name: [[Cost(0.4), Call("list_files")], [Cost(0.4), Say("done")]] for name in names},
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        asked = await f.rx.expect(ev.ApprovalRequested)
        assert asked.request.spending is not None
        f.parent.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Denied()))
        again = await f.rx.expect((ev.ApprovalRequested, ev.TurnEnded))
        if isinstance(again, ev.ApprovalRequested):  # the parent's own next request
            f.parent.submit(ops.AnswerApproval(call_id=again.request.call_id, decision=Denied()))
            again = await f.rx.expect(ev.TurnEnded)
        assert isinstance(again, ev.TurnEnded)
        assert again.reason == "interrupted"
        assert len(f.rx.all(ev.ApprovalRequested)) <= 2


async def test_after_a_kill_the_call_is_concluded_and_both_journals_are_whole(ground: Ground) -> None:
    async with asking(
        ground,
        go=[[task("one"), task("two")], [Say("ok")]],
        one=[[create("one.txt")], [create("more.txt")], [Say("one")]],
        two=[[Hang()]],
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        asked = await f.rx.expect(ev.ApprovalRequested)
        f.parent.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()))
        await f.rx.expect(ev.ApprovalRequested)
        children = [event.session_id for event in f.rx.all(ev.SubagentStarted)]
        left = {one: ground.journal(one).read_bytes() for one in (f.parent.id, *children)}
    for one, content in left.items():  # what a process leaves that is killed now
        ground.journal(one).write_bytes(content)
        ground.journal(one).with_name("snapshot.jsonl").unlink(missing_ok=True)
    async with family(ground, more=[[Say("ok")]]) as later:
        resumed = await later.parent.bench.open_session(f.parent.id, sink=(rx := Receiver()))
        running = asyncio.create_task(resumed.session.run())
        end = await rx.expect(ev.TurnEnded)
        assert (end.reason, end.is_cut_off) == ("interrupted", True)
        assert {event.state for event in rx.all(ev.ToolCallFinished)} == {"failed"}
        assert not resumed.session.transcript.pending_approvals
        resumed.session.submit(ops.UndoChanges(selection=ChangeSelection()))
        await rx.expect(ev.ChangesUndone)
        assert list(ground.workspace.iterdir()) == []
        resumed.session.submit(ops.Shutdown())
        await running
        for child in children:
            assert await asyncio.to_thread(later.parent.bench.catalog.summary, child) is not None


async def test_without_a_place_for_sub_agents_the_model_is_offered_none(ground: Ground) -> None:
    ground.settings = Settings(subagents=replace(SubagentSettings(), most_at_once=0))
    async with family(ground, go=[[Say("ok")]]) as f:
        await f.parent.prompt()
        assert "task" not in {tool.name for tool in f.requests_of("go")[0].tools}


async def test_a_deleted_session_takes_its_sub_agents_along_but_not_one_that_the_user_went_on_with(
    ground: Ground,
) -> None:
    async with family(ground, go=[[task("one"), task("two")], [Say("ok")]], one=[[Say("1")]], two=[[Say("2")]]) as f:
        await f.parent.prompt()
        one, two = (event.session_id for event in f.rx.all(ev.SubagentStarted))
        bench = f.parent.bench
    opened = await bench.open_session(two, sink=(rx := Receiver()))
    running = asyncio.create_task(opened.session.run())
    opened.session.submit(ops.SubmitPrompt(text="go on"))
    await rx.expect(ev.TurnEnded)
    opened.session.submit(ops.Shutdown())
    await running
    summary = bench.catalog.summary(two)
    assert summary is not None
    assert summary.is_listed
    await bench.stored.delete(f.parent.id)
    assert bench.catalog.ids() == [two]
    assert one != two


async def test_a_role_of_the_project_is_offered_once_it_is_trusted_and_narrows_what_its_sub_agent_may_do(
    ground: Ground,
) -> None:
    ground.write(
        ".claude/agents/reader.md",
        "---\nname: reader\ndescription: Reads one thing\ntools: Read\nmodel: haiku\nmaxTurns: 1\n---\nYou read.",
    )
    async with family(
        ground,
        go=[[task("one", "reader")], [Say("ok")], [task("one", "reader")], [Say("ok")]],
        one=[[create("a.txt")], [Say("no")]],
    ) as f:
        await f.parent.prompt()
        assert "There is no role 'reader'" in str(f.requests_of("go")[1].messages[-1].content[0])
        settings = f.parent.bench.settings_in(ground.workspace.resolve())
        proposal = settings.proposal
        assert proposal is not None
        assert [item.name for item in proposal.items] == ["reader"]
        await asyncio.to_thread(settings.remember, "trusted", proposal.text, proposal.items)
        await settings.refresh()
        await f.parent.prompt("again")
        asked = f.requests_of("one")
        assert len(asked) == 1, "the role says how many"
        assert {tool.name for tool in asked[0].tools} == {"read_file", "view_image"}
        assert "\n\nYou read.\n\n" in asked[0].system
        described = {tool.name: tool.description for tool in f.asked[-1].tools}["task"]
        assert "- reader: Reads one thing" in described
        assert not (ground.workspace / "a.txt").exists()
        (child,) = (event.session_id for event in f.rx.all(ev.SubagentStarted))
    opened = await f.parent.bench.open_session(child, sink=Receiver())
    assert opened.transcript.session.instructions.endswith("You read.")
    opened.session.submit(ops.Shutdown())
    await opened.session.run()


_KILLED = """
import asyncio, sys
from pathlib import Path
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Call, Hang, Say
from tests.core.session.test_subagents import behind, create, family, task
from tests.harness import Ground

async def main():
    late = Call("run_terminal_cmd", {"command": "echo late > late.txt; sleep 600"})
    async with family(
        Ground(Path(sys.argv[1])), go=[[behind("two"), task("one")]], one=[[create("one.txt")], [late]], two=[[Hang()]]
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        await f.rx.expect(ev.ChangesPrepared, lambda event: event.snapshot is not None)
        while len(f.rx.all(ev.SubagentStarted)) < 2 or not (f.parent.workspace / "late.txt").exists():
            await asyncio.sleep(0.01)
        print(f.parent.id, *(event.session_id for event in f.rx.all(ev.SubagentStarted)), flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_process_that_is_killed_loses_nothing_that_its_sub_agents_changed(ground: Ground) -> None:
    folder = ground.workspace.parent
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _KILLED, str(folder), stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    assert child.stdout is not None
    try:
        parent, *children = (await child.stdout.readline()).decode().split()
    finally:
        child.kill()
        await child.wait()
    assert len(children) == 2
    async with ground.session([], resume=parent) as resumed:
        await resumed.rx.expect(ev.TurnEnded)
        changed = {change.path for event in resumed.rx.all(ev.ChangesRecorded) for change in event.changes}
        assert changed == {"late.txt"}, "what the command had written until then"
        assert {event.state for event in resumed.rx.all(ev.ToolCallFinished)} == {"failed"}
        assert [event.state for event in resumed.rx.all(ev.SubagentEnded)] == ["failed"], "the one in the background"
        await resumed.undo()
        assert list(ground.workspace.iterdir()) == []
    for one in children:
        opened = await resumed.bench.open_session(one, sink=Receiver())
        opened.session.submit(ops.Shutdown())
        await opened.session.run()
        assert opened.session.transcript.turns.last_end == "interrupted"


async def test_many_sub_agents_do_not_hide_what_agents_of_other_sessions_left(ground: Ground) -> None:
    async with ground.after([create("before.txt")]):
        pass
    names = [f"task{number}" for number in range(20)]
    async with family(ground, go=[[task(name) for name in names], [Say("ok")]], **{n: [[Say(n)]] for n in names}) as f:
        await f.parent.prompt()
    left = f.parent.bench.catalog.left_by_agents(str(ground.workspace.resolve()), without=f.parent.id)
    assert set(left) == {"before.txt"}


def said_last(request: ModelRequest) -> str:
    """Return the text of the request's last message, without results of calls."""
    last = request.messages[-1]
    assert isinstance(last, UserMessage)
    return "\n".join(block.text for block in last.content if isinstance(block, TextBlock))


async def test_in_the_background_the_call_returns_at_once_and_the_report_comes_as_a_message(ground: Ground) -> None:
    async with family(
        ground,
        go=[[behind("one"), create("own.txt")], [Say("I wait")], [Say("all done")]],
        one=[[create("one.txt")], [Say("found one")]],
    ) as f:
        end = await f.parent.prompt()
        assert end.reason == "completed"
        assert len(f.rx.all(ev.TurnEnded)) == 1
        first, after, *_ = f.requests_of("go")
        results = [str(block.content) for block in after.messages[-1].content if block.type == "tool_result"]
        assert "works in the background" in results[0]
        assert any("found one" in said_last(request) and "none of it is from the user" in said_last(request)
                   for request in f.requests_of("go"))  # fmt: skip
        assert first is not after
        (ended,) = f.rx.all(ev.SubagentEnded)
        entry = f.entries()["one"]
        assert (entry.state, entry.result) == ("completed", ended.result)
        assert {change.path for change in entry.changes} == {"one.txt"}
        await f.parent.undo(ChangeSelection(call_id=entry.call.id))
        assert [path.name for path in ground.workspace.iterdir()] == ["own.txt"]


async def test_while_the_turn_waits_for_one_in_the_background_a_message_of_the_user_is_heard(ground: Ground) -> None:
    async with family(
        ground,
        go=[[behind("one")], [Say("I wait")], [Say("hello")], [Say("all done")]],
        one=[[Hang()]],
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        await f.rx.expect(ev.MessageDone, lambda event: "I wait" in str(event.content))  # perhaps not waiting yet
        f.parent.submit(ops.SubmitPrompt(text="are you there?"))
        assert (await f.rx.expect((ev.Steered, ev.TurnEnded))).type == "steered"
        await f.rx.expect(ev.MessageDone, lambda event: "hello" in str(event.content))
        f.parent.submit(ops.StopSubagent(call_id=f.entries()["one"].call.id))
        ended = await f.rx.expect(ev.SubagentEnded)
        assert ended.state == "failed"
        assert "The user stopped the sub-agent" in ended.result.content
        assert (await f.rx.expect(ev.TurnEnded)).reason == "completed"
        assert "The user stopped the sub-agent" in said_last(f.requests_of("go")[-1])


async def test_a_stop_ends_those_in_the_background_and_each_has_one_end(ground: Ground) -> None:
    names = [f"task{number}" for number in range(8)]
    async with family(
        ground,
        go=[[behind(name) for name in names], [Say("I wait")], [Say("and now?")]],
        **{name: [[Say("so far"), Call("list_files")], [Hang()]] for name in names},
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        for _ in range(6):  # as many as work at once; the others wait for a place
            await f.rx.expect(ev.SubagentStarted)
        f.parent.submit(ops.Interrupt())
        assert (await f.rx.expect(ev.TurnEnded)).reason == "interrupted"
        ended = f.rx.all(ev.SubagentEnded)
        assert sorted(event.call_id for event in ended) == sorted(entry.call.id for entry in f.entries().values())
        assert {entry.state for entry in f.entries().values()} == {"failed"}
        end = await f.parent.prompt("go on")
        assert end.reason == "completed"
        assert len(f.rx.all(ev.SubagentEnded)) == 8


async def test_a_question_of_one_in_the_background_is_asked_while_the_agent_goes_on(ground: Ground) -> None:
    async with asking(
        ground,
        go=[[behind("one")], [Say("I wait")], [Say("all done")]],
        one=[[create("one.txt")], [Say("made it")]],
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        asked = await f.rx.expect(ev.ApprovalRequested)
        assert asked.request.subagent == "general: Do one"
        assert [request.call_id for request in f.parent.session.transcript.pending_approvals] == [asked.request.call_id]
        f.parent.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()))
        assert (await f.rx.expect(ev.TurnEnded)).reason == "completed"
        assert (ground.workspace / "one.txt").exists()


async def test_after_a_kill_the_model_is_told_of_those_in_the_background(ground: Ground) -> None:
    async with family(
        ground, go=[[behind("one"), behind("two")], [Say("I wait")]], one=[[Hang()]], two=[[Hang()]]
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        for _ in range(4):  # in any order
            await f.rx.expect((ev.SubagentStarted, ev.MessageDone))
        content = ground.journal(f.parent.id).read_bytes()
    ground.journal(f.parent.id).write_bytes(content)  # what a process leaves that is killed now
    ground.journal(f.parent.id).with_name("snapshot.jsonl").unlink(missing_ok=True)
    asked: list[ModelRequest] = []

    def script(request: ModelRequest) -> Reply:
        check_messages(request.messages)
        asked.append(request)
        return [Say("I see")]

    async with ground.session(script, resume=f.parent.id) as resumed:
        end = await resumed.rx.expect(ev.TurnEnded)
        assert end.is_cut_off
        assert len(resumed.rx.all(ev.SubagentEnded)) == 2
        await resumed.prompt("what now?")
        assert said_last(asked[0]).count("The application ended before the sub-agent was done.") == 2
    async with ground.session(script, resume=f.parent.id) as again:
        assert not again.rx.all(ev.SubagentEnded)


async def test_the_failure_of_one_in_the_background_reaches_the_model_as_its_report(ground: Ground) -> None:
    async with family(
        ground,
        go=[[behind("one")], [Say("I wait")], [Say("all done")]],
        one=[[Fail(ProviderError("The key was refused.", fault="authentication"))]],
    ) as f:
        assert (await f.parent.prompt()).reason == "completed"
        (ended,) = f.rx.all(ev.SubagentEnded)
        assert ended.state == "failed"
        assert "The key was refused." in ended.result.content


DEEP = Settings(subagents=SubagentSettings(most_deep=2))


async def test_a_sub_agent_of_a_sub_agent_works_for_the_conversation(ground: Ground) -> None:
    ground.settings = DEEP
    async with asking(
        ground,
        go=[[Cost(0.5), task("one")], [Say("ok")]],
        one=[[Cost(1.0), task("deep")], [Say("deep is done")]],
        deep=[[Cost(2.0), create("deep.txt"), task("deeper")], [Say("made it")]],
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        asked = await f.rx.expect(ev.ApprovalRequested)
        assert asked.request.subagent == "general: Do one › general: Do deep"
        f.parent.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()))
        await f.rx.expect(ev.TurnEnded)
        entry = f.entries()["one"]
        assert {change.path for change in entry.changes} == {"deep.txt"}
        assert entry.usage.cost_usd == 3.0
        assert f.parent.session.transcript.turns.usage.cost_usd == 3.5
        refused = f.requests_of("deep")[1].messages[-1].content[1]
        assert refused.type == "tool_result"
        assert "no tool 'task'" in str(refused.content)
        await f.parent.undo(ChangeSelection(call_id=entry.call.id))
        assert not list(ground.workspace.iterdir())
    await f.parent.bench.stored.delete(f.parent.id)
    assert f.parent.bench.catalog.ids() == []


async def test_no_level_of_sub_agents_may_do_more_than_the_one_above(ground: Ground) -> None:
    ground.settings = DEEP
    ground.write(
        ".claude/agents/narrow.md",
        "---\nname: narrow\ndescription: Looks\ntools: Read, Task\n---\nYou look.",
    )
    async with family(
        ground,
        go=[[task("one", "explore"), task("two", "narrow")], [Say("ok")]],
        one=[[task("three")], [Say("1")]],
        two=[[task("four")], [Say("2")]],
        three=[[create("a.txt"), Call("run_terminal_cmd", {"command": "touch b.txt"})], [Say("3")]],
        four=[[create("c.txt"), Call("run_terminal_cmd", {"command": "touch d.txt"})], [Say("4")]],
    ) as f:
        settings = f.parent.bench.settings_in(ground.workspace.resolve())
        proposal = settings.proposal
        assert proposal is not None
        await asyncio.to_thread(settings.remember, "trusted", proposal.text, proposal.items)
        await settings.refresh()
        before = set(ground.workspace.iterdir())
        await f.parent.prompt()
        for name in ("three", "four"):
            first, second = f.requests_of(name)
            assert {tool.name for tool in first.tools}.isdisjoint({"create_file", "run_terminal_cmd", "edit_file"})
            results = [block for block in second.messages[-1].content if block.type == "tool_result"]
            assert all(block.is_error for block in results)
        assert set(ground.workspace.iterdir()) == before


async def test_a_stop_ends_the_whole_tree(ground: Ground) -> None:
    ground.settings = Settings(subagents=SubagentSettings(most_deep=3, most_at_once=2))
    async with family(
        ground,
        go=[[behind("left"), task("right")]],
        left=[[task("below")], [Say("no")]],
        right=[[behind("under")], [Say("no")]],
        below=[[behind("deepest")], [Say("no")]],
        under=[[Cost(7.0), Call("list_files")], [Hang()]],
        deepest=[[Cost(9.0), Call("list_files")], [Hang()]],
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        spent: set[float | None] = set()
        while not spent >= {7.0, 9.0}:  # what all levels have paid is known at the top
            spent.add((await f.rx.expect(ev.UsageReported)).usage.cost_usd)
        f.parent.submit(ops.Interrupt())
        assert (await f.rx.expect(ev.TurnEnded)).reason == "interrupted"
        of_tree = [one for one in await asyncio.to_thread(f.parent.bench.catalog.summaries) if one.task is not None]
        assert len(of_tree) == 5
        for one in of_tree:
            view = await f.parent.bench.view_session(one.id, sink=Receiver())
            ends = [event for event in view.events if isinstance(event, ev.TurnEnded)]
            assert [end.reason for end in ends] == ["interrupted"]


def have_apart(ground: Ground) -> None:
    """Make the workspace a repository with a commit, and a role of the user's that works in worktrees."""
    folder = ground.paths.config / "agents"
    folder.mkdir(parents=True)
    (folder / "apart.md").write_text("---\nname: apart\ndescription: Works apart\nisolation: worktree\n---\nYou work.")
    ground.write("a.txt", "a\n")
    git(ground.workspace, "init", "-q")
    git(ground.workspace, "add", "-A")
    git(ground.workspace, "commit", "-qm", "first")


async def test_a_role_can_have_a_worktree_that_stays_only_if_something_changed_in_it(ground: Ground) -> None:
    have_apart(ground)
    outside = str(ground.workspace / "outside.txt")
    async with asking(
        ground,
        go=[[task("one", "apart"), task("two", "apart")], [create("own.txt")], [Say("ok")]],
        one=[[create("one.txt"), create(outside)], [Say("made it")]],
        two=[[Call("read_file", {"path": "a.txt"})], [Say("read it")]],
    ) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        asked = await f.rx.expect(ev.ApprovalRequested)
        assert asked.request.subagent == "apart: Do one", "it asks as any other does"
        f.parent.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()))
        own = await f.rx.expect(ev.ApprovalRequested)
        assert not own.request.subagent, "a path outside of the worktree was refused"
        f.parent.submit(ops.AnswerApproval(call_id=own.request.call_id, decision=Allowed()))
        assert (await f.rx.expect(ev.TurnEnded)).reason == "completed"
        assert sorted(path.name for path in ground.workspace.iterdir()) == [".git", "a.txt", "own.txt"]
        one, two = f.entries()["one"], f.entries()["two"]
        assert (one.changes, two.changes) == ((), ())
        bench = f.parent.bench
        (seen,) = await bench.worktrees.all()
        assert one.result is not None
        assert two.result is not None
        assert one.subagent is not None
        assert seen.worktree.session_id == one.subagent.session_id
        assert f"in the worktree {seen.worktree.name}" in one.result.content
        assert "It changed nothing in its worktree, which was removed." in two.result.content
        assert (seen.worktree.workspace / "one.txt").read_text() == "new\n"
        offer = await find_offer(bench.worktrees, bench.catalog, seen.worktree.name)
        assert [transition.path for transition in offer.transitions] == ["one.txt"]
        await f.parent.undo()
        assert (seen.worktree.workspace / "one.txt").exists(), "an undo there is not one here"


async def test_one_in_a_worktree_has_no_more_rights_and_one_that_only_reads_has_none(ground: Ground) -> None:
    have_apart(ground)
    tried = [[create("one.txt")], [Say("tried")]]
    async with family(ground, go=[[task("one", "apart")], [Say("ok")]], one=tried) as f:
        f.parent.submit(ops.SetMode(is_planning=True))
        await f.parent.prompt()
        assert "create_file" not in {tool.name for tool in f.requests_of("one")[0].tools}
        assert await f.parent.bench.worktrees.all() == []
        assert not (ground.workspace / "one.txt").exists()


async def test_without_a_repository_a_role_with_a_worktree_is_not_started(ground: Ground) -> None:
    have_apart(ground)
    (ground.workspace / ".git").rename(ground.workspace / "git")
    async with family(ground, go=[[task("one", "apart")], [Say("ok")]]) as f:
        assert (await f.parent.prompt()).reason == "completed"
        (entry,) = f.entries().values()
        assert entry.result is not None
        assert "The sub-agent was not started" in entry.result.content


async def test_what_refuses_calls_in_the_folder_refuses_them_in_a_worktree(ground: Ground) -> None:
    have_apart(ground)
    answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}
    hook = {"matcher": "Write", "hooks": [{"type": "command", "command": f"echo '{json.dumps(answer)}'"}]}
    ground.write(".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [hook]}}))  # and not committed
    tried = [[create("one.txt")], [Say("tried")]]
    async with family(ground, go=[[task("one", "apart")], [Say("ok")]], one=tried) as f:
        settings = f.parent.bench.settings_in(ground.workspace.resolve())
        await settings.refresh()
        proposal = settings.proposal
        assert proposal is not None
        await asyncio.to_thread(settings.remember, "trusted", proposal.text, proposal.items)
        await settings.refresh()
        assert (await f.parent.prompt()).reason == "completed"
        refused = f.requests_of("one")[1].messages[-1].content[0]
        assert refused.type == "tool_result"
        assert "A hook of the user's refused this call" in str(refused.content)
        assert await f.parent.bench.worktrees.all() == []


_KILLED_APART = """
import asyncio, sys
from pathlib import Path
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Hang
from tests.core.session.test_subagents import create, family, have_apart, task
from tests.harness import Ground

async def main():
    ground = Ground(Path(sys.argv[1]))
    have_apart(ground)
    async with family(ground, go=[[task("one", "apart")]], one=[[create("one.txt")], [Hang()]]) as f:
        f.parent.submit(ops.SubmitPrompt(text="go"))
        started = await f.rx.expect(ev.SubagentStarted)
        while not (made := list(ground.paths.worktrees.glob("*/*/one.txt"))) or len(f.requests_of("one")) < 2:
            await asyncio.sleep(0.01)
        print(f.parent.id, started.session_id, made[0], sep="|", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_worktree_and_what_was_changed_in_it_survive_a_kill(ground: Ground) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _KILLED_APART, str(ground.workspace.parent), stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert child.stdout is not None
    try:
        parent, session_id, made = (await child.stdout.readline()).decode().strip().split("|")
    finally:
        child.kill()
        await child.wait()
    async with ground.session([], resume=parent) as resumed:
        assert (await resumed.rx.expect(ev.TurnEnded)).is_cut_off
        (seen,) = await resumed.bench.worktrees.all()
        assert (seen.state, seen.worktree.session_id) == ("made", session_id)
        offer = await find_offer(resumed.bench.worktrees, resumed.bench.catalog, seen.worktree.name)
        assert [transition.path for transition in offer.transitions] == ["one.txt"]
    opened = await resumed.bench.open_session(session_id, sink=(rx := Receiver()))
    running = asyncio.create_task(opened.session.run())
    await rx.expect(ev.TurnEnded)
    opened.session.submit(ops.UndoChanges(selection=ChangeSelection()))
    await rx.expect(ev.ChangesUndone)
    opened.session.submit(ops.Shutdown())
    await running
    assert not await asyncio.to_thread(Path(made).exists)
