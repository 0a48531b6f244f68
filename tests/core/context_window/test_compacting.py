"""Compaction in a session: its triggers, cost, failures, and exact undo."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.context.summaries import SUMMARISED
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ModelRequest, Summary, TextBlock, ToolResultBlock
from desktop_agent.core.providers.demo import demo_reply
from desktop_agent.core.providers.provider import StreamPiece
from desktop_agent.core.providers.scripted import Call, Cost, Fail, Hang, Reply, Say, Script, ScriptedProvider, Stop
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.settings.sections import CompactionSettings, ModelSettings, Settings
from tests.harness import Ground, check_conversation

SUMMARY = Say(json.dumps({"goals": ["ship it"], "files": ["a.txt: long"]}))
LONG = "lorem ipsum " * 1_000  # about 3,300 tokens
THREE_LONG: list[Reply] = [[Say(LONG)], [Say(LONG)], [Say(LONG)], [Say("fine")]]
"""Too much for a `small` window."""


def is_summary(request: ModelRequest) -> bool:
    return not request.tools


def script(replies: list[Reply], summaries: list[Reply]) -> Script:
    """Answer requests for summaries from `summaries`, all others from `replies`."""
    said, summarised = iter(replies), iter(summaries)

    def answer(request: ModelRequest) -> Reply:
        source: Iterator[Reply] = summarised if is_summary(request) else said
        return next(source, (Say("ok"),))

    return answer


def small(*, target: int = 13_000, window: int = 60_000, keep: int = 1, auto: bool = True) -> Settings:
    """A small context window: tools and the system prompt alone take some 6,000 tokens."""
    return Settings(
        model=ModelSettings(context_tokens=window, max_tokens=1_000),
        compaction=CompactionSettings(auto=auto, keep_last_turns=keep, target_tokens=target),
    )


def texts(request: ModelRequest) -> str:
    blocks = (block for message in request.messages for block in message.content)
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


async def test_a_conversation_over_the_target_is_summarised_before_it_is_sent(ground: Ground) -> None:
    ground.settings = small()
    async with ground.session(script(THREE_LONG, [[SUMMARY]])) as s:
        for number in range(1, 5):
            assert (await s.prompt(f"prompt {number}")).reason == "completed"
        [compacted] = s.rx.all(ev.Compacted)
        assert compacted.is_automatic
        assert compacted.through_turn == 3
        assert compacted.summary == Summary(goals=("ship it",), files=("a.txt: long",))
        assert compacted.tokens_after < compacted.tokens_before / 1.5
        last = s.last_request
        check_conversation(last)
        assert texts(last).startswith(SUMMARISED)
        assert "prompt 4" in texts(last)
        assert "prompt 2" not in texts(last)
        asked = next(request for request in s.provider.requests if is_summary(request))
        assert "prompt 1" in texts(asked)
        assert len(s.rx.all(ev.UsageReported)) == 5, "what the summary cost is counted"
        assert [e.message for e in s.rx.all(ev.ToolProgress) if e.name == "compact"][1:] == [""]


async def test_a_summary_that_cost_what_the_turn_may_is_its_last_request(ground: Ground) -> None:
    ground.settings = small()
    replies: list[Reply] = [[Say(LONG)], [Say(LONG)], [Say(LONG)], [Say("too much")]]
    limits = TurnLimits(max_cost_usd=0.5)
    async with ground.session(script(replies, [[SUMMARY, Cost(0.6)]]), limits=limits) as s:
        assert [(await s.prompt()).reason for _ in range(4)] == ["completed"] * 3 + ["limit"]
        assert s.rx.all(ev.Compacted), "what was paid for is kept"
        assert is_summary(s.last_request), "the request that it was for is not sent"
        assert s.rx.all(ev.Notice)[-1].title == "The turn has cost $0.60, and its limit is $0.50."


async def test_nothing_is_summarised_by_itself_when_that_is_switched_off(ground: Ground) -> None:
    ground.settings = small(auto=False)
    async with ground.session([[Say(LONG)], [Say(LONG)], [Say(LONG)], [Say("fine")]]) as s:
        for _ in range(4):
            await s.prompt()
        assert s.rx.all(ev.Compacted) == []


async def test_what_the_person_took_back_is_not_done_again_before_it_must_be(ground: Ground) -> None:
    ground.settings = small()
    async with ground.session(script(THREE_LONG, [[SUMMARY]])) as s:
        for _ in range(4):
            await s.prompt()
        await s.carry_out(ops.UndoCompaction(), ev.CompactionUndone)
        await s.prompt("and now?")
        assert len(s.rx.all(ev.Compacted)) == 1
        assert LONG in texts(s.last_request)


async def test_a_long_turn_is_made_shorter_in_its_middle_and_can_be_made_whole_again(ground: Ground) -> None:
    ground.settings = small(target=13_000)
    ground.write("a.txt", "line\n" * 700)
    read = Call("read_file", {"path": "a.txt"})
    replies: list[Reply] = [*([read] for _ in range(14)), [Say("done")]]
    async with ground.session(script(replies, [])) as s:
        ended = await s.prompt("read it often")
        assert ended.reason == "completed"
        compactions = s.rx.all(ev.Compacted)
        assert compactions
        assert all(event.through_turn == 0 and event.shortened for event in compactions)
        assert not any(is_summary(request) for request in s.provider.requests), "there was nothing to summarise"
        check_conversation(s.last_request)
        blocks = [b for m in s.last_request.messages for b in m.content if isinstance(b, ToolResultBlock)]
        assert len(blocks) == 14
        assert "taken out to make room" in blocks[0].content
        assert "taken out to make room" not in blocks[-1].content


async def test_a_request_that_cannot_fit_is_not_sent_and_the_person_is_told(ground: Ground) -> None:
    ground.settings = small(window=30_000)
    async with ground.session(script([], [])) as s:
        ended = await s.prompt("x" * 200_000)
        assert ended.reason == "limit"
        [notice] = [event for event in s.rx.all(ev.Notice) if event.code == "context_window"]
        assert "30,000" in notice.title
        assert s.provider.requests == []


async def test_an_answer_that_is_no_summary_gives_way_to_what_can_be_told_without_the_model(ground: Ground) -> None:
    ground.write("a.txt", "one\n")
    replies: list[Reply] = [[Call("read_file", {"path": "a.txt"})], [Say("read")], [Say("two")]]
    async with ground.session(script(replies, [[Say("I would rather not.")]])) as s:
        await s.prompt("Read a.txt")
        await s.prompt("Thanks")
        compacted = await s.carry_out(ops.Compact(), ev.Compacted)
        assert compacted.summary == Summary(goals=("Read a.txt",), files=("a.txt",))
        assert any(notice.code == "compaction" for notice in s.rx.all(ev.Notice))


async def test_a_model_that_cannot_be_reached_leaves_everything_as_it_was(ground: Ground) -> None:
    refused = Fail(ProviderError("The key was refused.", fault="authentication"))
    async with ground.session(script([[Say("one")], [Say("two")], [Say("three")]], [[refused]])) as s:
        await s.prompt()
        await s.prompt()
        notice = await s.carry_out(ops.Compact(), ev.Notice)
        assert "The key was refused." in notice.title
        assert (await s.prompt("go on")).reason == "completed"
        assert s.rx.all(ev.Compacted) == []


async def test_a_prompt_sent_when_the_summary_ends_comes_behind_one_that_waited_for_it(ground: Ground) -> None:
    async with ground.session(script([[Say(word)] for word in ("one", "two", "three", "four")], [[Hang()]])) as s:
        await s.prompt("a")
        await s.prompt("b")
        await s.carry_out(ops.Compact(), ev.ToolProgress, lambda event: event.name == "compact")
        await s.carry_out(ops.SubmitPrompt(text="c"), ev.Queued)
        s.submit(ops.Interrupt())
        s.submit(ops.SubmitPrompt(text="d"))
        for _ in range(2):
            await s.rx.expect(ev.TurnEnded)
        assert [event.text for event in s.rx.all(ev.PromptSubmitted)] == ["a", "b", "c", "d"]
        assert s.rx.all(ev.Compacted) == []


async def test_a_waiting_prompt_that_is_sent_while_a_summary_is_made_is_the_next_behind_it(ground: Ground) -> None:
    async with ground.session(script([[Say("one")], [Say("two")]], [[Hang()]])) as s:
        await s.prompt("a")
        await s.prompt("b")
        await s.carry_out(ops.Compact(), ev.ToolProgress, lambda event: event.name == "compact")
        for text in ("c", "d"):
            queued = await s.carry_out(ops.SubmitPrompt(text=text), ev.Queued)
        s.submit(ops.SendQueued(prompt_id=queued.prompt_id))
        await s.carry_out(ops.RenameSession(title="still summarising"), ev.SessionRenamed)
        assert not s.session.transcript.turns.is_running
        s.submit(ops.Interrupt())
        for _ in range(2):
            await s.rx.expect(ev.TurnEnded)
        assert [event.text for event in s.rx.all(ev.PromptSubmitted)] == ["a", "b", "d", "c"]


async def test_a_prompt_that_waited_for_a_turn_waits_for_the_summary_that_was_asked_for_at_its_end(
    ground: Ground,
) -> None:
    call = Call("run_terminal_cmd", {"command": "touch x"})
    async with ground.session(script([[Say("one")], [call], [Say("two")], [Say("three")]], [[SUMMARY]])) as s:
        await s.prompt("a")
        asked = await s.carry_out(ops.SubmitPrompt(text="b"), ev.ApprovalRequested)
        await s.carry_out(ops.SubmitPrompt(text="c"), ev.Queued)
        s.rx.at_once = lambda event: s.submit(ops.Compact()) if isinstance(event, ev.TurnEnded) else None
        await s.carry_out(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()), ev.TurnEnded)
        s.rx.at_once = lambda _: None
        came = [await s.rx.expect((ev.Compacted, ev.PromptSubmitted)) for _ in range(2)]
        assert [event.type for event in came] == ["compacted", "prompt_submitted"]
        await s.rx.expect(ev.TurnEnded)


async def test_a_conversation_that_the_model_finds_too_long_is_summarised_and_sent_once_more(ground: Ground) -> None:
    replies: list[Reply] = [
        [Say("one")],
        [Say("two")],
        [Say("half an ans"), Stop("model_context_window_exceeded")],
        [Say("the rest")],
    ]
    ground.settings = small(keep=1)
    async with ground.session(script(replies, [[SUMMARY]])) as s:
        await s.prompt("a")
        await s.prompt("b")
        ended = await s.prompt("c")
        assert ended.reason == "completed"
        [compacted] = s.rx.all(ev.Compacted)
        assert compacted.through_turn == 2
        check_conversation(s.last_request)
        assert s.last_request.messages[-1].role == "user"
        assert "half an ans" in texts(s.last_request)


async def test_a_conversation_that_stays_too_long_ends_the_turn_with_a_notice(ground: Ground) -> None:
    exceeded: Reply = [Say("half"), Stop("model_context_window_exceeded")]
    async with ground.session(script([exceeded, exceeded], [])) as s:
        ended = await s.prompt("a")
        assert ended.reason == "limit"
        assert [n.code for n in s.rx.all(ev.Notice)] == ["context_window"]


async def test_a_summary_is_edited_and_the_next_one_builds_on_it(ground: Ground) -> None:
    replies: list[Reply] = [[Say("one")], [Say("two")], [Say("three")]]
    async with ground.session(script(replies, [[SUMMARY], [SUMMARY]])) as s:
        await s.prompt("a")
        await s.prompt("b")
        await s.carry_out(ops.Compact(focus="the tests"), ev.Compacted)
        assert "the tests" in texts(s.last_request)
        await s.carry_out(ops.EditSummary(summary=Summary(constraints=("never push",))), ev.SummaryEdited)
        await s.prompt("c")
        assert "never push" in texts(s.last_request)
        await s.carry_out(ops.Compact(), ev.Compacted)
        assert "never push" in texts(s.last_request), "the model that summarises reads the summary before"


async def test_one_turn_alone_is_not_summarised(ground: Ground) -> None:
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
        notice = await s.carry_out(ops.Compact(), ev.Notice)
        assert notice.code == "compaction"


async def test_undo_and_edit_without_a_summary_say_so(ground: Ground) -> None:
    makers: list[Callable[[], ops.Op]] = [ops.UndoCompaction, lambda: ops.EditSummary(summary=Summary())]
    async with ground.session([]) as s:
        for make in makers:
            s.submit(make())
            assert (await s.rx.expect(ev.Notice)).code == "compaction"


async def test_the_demo_summarises_too(ground: Ground) -> None:
    async with ground.session(demo_reply, approval="never") as s:
        await s.prompt("Find out why a test fails")
        await s.prompt("And now?")
        compacted = await s.carry_out(ops.Compact(), ev.Compacted)
        assert compacted.summary.goals
        assert not any(notice.code == "compaction" for notice in s.rx.all(ev.Notice))
        assert (await s.prompt("Go on")).reason == "completed"


class HeldProvider(ScriptedProvider):
    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamPiece]:
        if is_summary(request):
            self.asked.set()
            await self.may_answer.wait()
        async for piece in super().stream(request):
            yield piece


async def test_a_summary_that_comes_too_late_for_the_conversation_is_dropped(ground: Ground) -> None:
    provider = HeldProvider(script([[Say("one")], [Say("two")]], [[SUMMARY]]))

    async with ground.session([], provider=provider) as s:
        await s.prompt("a")
        await s.prompt("b")
        s.submit(ops.Compact())
        await provider.asked.wait()
        await s.carry_out(ops.RewindTo(turn=1, scope="conversation"), ev.Rewound)
        provider.may_answer.set()
        assert "changed" in (await s.rx.expect(ev.Notice)).title
        assert s.rx.all(ev.Compacted) == []


async def test_a_turn_goes_on_without_a_summary_that_was_only_wanted(ground: Ground) -> None:
    ground.settings = small()
    refused = Fail(ProviderError("The key was refused.", fault="authentication"))
    async with ground.session(script(THREE_LONG, [[refused]])) as s:
        for _ in range(4):
            assert (await s.prompt()).reason == "completed"
        assert s.rx.all(ev.Compacted) == []
        assert s.rx.all(ev.Notice) == []


async def test_a_summary_that_could_not_be_had_is_not_tried_again_before_every_step(ground: Ground) -> None:
    ground.settings = small()
    steps: list[Reply] = [[Call("read_file", {"path": f"{number}.txt"})] for number in range(3)]
    no = ProviderError("No such thing.", fault="invalid_request")
    async with ground.session(script([[Say(LONG)]] * 3 + steps, [[Fail(no)]] * 9)) as s:
        for _ in range(3):
            await s.prompt()
        before = sum(map(is_summary, s.provider.requests))
        assert (await s.prompt()).reason == "completed"
        assert sum(map(is_summary, s.provider.requests)) == before + 1
        await s.prompt()
        assert sum(map(is_summary, s.provider.requests)) == before + 2


async def test_a_summary_that_is_needed_is_made_without_the_model_when_it_cannot_be_asked(ground: Ground) -> None:
    ground.settings = small(window=16_000)
    refused = Fail(ProviderError("The key was refused.", fault="authentication"))
    replies: list[Reply] = [[Say(LONG)], [Say(LONG)], [Say("fine")]]
    async with ground.session(script(replies, [[refused]])) as s:
        await s.prompt("Build the parser")
        await s.prompt("And its tests")
        assert (await s.prompt("x " * 6_000)).reason == "completed"
        [compacted] = s.rx.all(ev.Compacted)
        assert "Build the parser" in compacted.summary.goals
        assert [notice.code for notice in s.rx.all(ev.Notice)] == ["compaction"]


async def test_a_stop_while_it_is_summarised_ends_the_turn_and_changes_nothing(ground: Ground) -> None:
    ground.settings = small()
    async with ground.session(script(THREE_LONG, [[Hang()]])) as s:
        for _ in range(3):
            await s.prompt()
        await s.carry_out(ops.SubmitPrompt(text="more"), ev.ToolProgress, lambda event: event.name == "compact")
        ended = await s.carry_out(ops.Interrupt(), ev.TurnEnded, lambda event: event.turn == 4)
        assert ended.reason == "interrupted"
        assert s.rx.all(ev.Compacted) == []
        assert s.session.transcript.turns.activity == ""
