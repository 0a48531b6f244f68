"""Prompts that wait survive a crash, and start by the user's doing or behind the turn they wait for."""

import asyncio
from pathlib import Path

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Hang, Say
from tests.harness import Ground


async def left_waiting(ground: Ground, turns_before: int = 0) -> str:
    async with ground.session([*[[Say("ok")]] * turns_before, [Say("Working."), Hang()]]) as s:
        for _ in range(turns_before):
            await s.prompt("before")
        await s.carry_out(ops.SubmitPrompt(text="first"), ev.TextDelta)
        for text in ("second", "third"):
            await s.carry_out(ops.SubmitPrompt(text=text), ev.Queued)
        journal: Path = ground.paths.sessions / s.id / "journal.jsonl"
        left = await asyncio.to_thread(journal.read_bytes)
    await asyncio.to_thread(journal.write_bytes, left)
    return s.id


async def test_after_a_crash_waiting_prompts_are_there_and_do_not_start_by_themselves(ground: Ground) -> None:
    session_id = await left_waiting(ground)
    async with ground.session([[Say("no")]], resume=session_id) as s:
        assert [prompt.text for prompt in s.transcript.turns.queued] == ["second", "third"]
        ended = await s.rx.expect(ev.TurnEnded)
        assert ended.reason == "interrupted"
        await s.carry_out(ops.RenameSession(title="still here"), ev.SessionRenamed)
    assert s.provider.requests == []


async def test_nor_do_they_start_after_a_summary(ground: Ground) -> None:
    session_id = await left_waiting(ground, turns_before=1)
    async with ground.session([[Say("A summary.")], [Say("no")]], resume=session_id) as s:
        await s.carry_out(ops.Compact(), ev.Compacted)
        for title in ("summarised", "still here"):
            await s.carry_out(ops.RenameSession(title=title), ev.SessionRenamed)
        assert s.rx.all(ev.PromptSubmitted) == []
        assert [prompt.text for prompt in s.session.transcript.turns.queued] == ["second", "third"]


async def test_what_was_sent_while_a_summary_was_made_starts_before_them(ground: Ground) -> None:
    session_id = await left_waiting(ground, turns_before=1)
    async with ground.session([[Hang()], *[[Say("ok")]] * 3], resume=session_id) as s:
        await s.carry_out(ops.Compact(), ev.ToolProgress)
        await s.carry_out(ops.SubmitPrompt(text="new"), ev.Queued)
        s.submit(ops.Interrupt())
        for text in ("new", "second", "third"):
            assert (await s.rx.expect(ev.PromptSubmitted)).text == text
        await s.rx.expect(ev.TurnEnded)


async def test_a_session_is_not_at_rest_between_a_summary_and_what_waited_for_it(ground: Ground) -> None:
    session_id = await left_waiting(ground, turns_before=1)
    rests: list[bool] = []

    async def watch() -> None:
        while not s.rx.all(ev.PromptSubmitted):
            rests.append(s.session.is_at_rest)
            await asyncio.sleep(0)

    async with ground.session([[Hang()], *[[Say("ok")]] * 3], resume=session_id) as s:
        await s.carry_out(ops.Compact(), ev.ToolProgress)
        await s.carry_out(ops.SubmitPrompt(text="new"), ev.Queued)
        s.submit(ops.Interrupt())
        await watch()
        assert len(rests) > 1
        assert not any(rests[:-1])
        for _ in range(3):
            await s.rx.expect(ev.TurnEnded)


async def test_sending_one_goes_on_with_the_others(ground: Ground) -> None:
    session_id = await left_waiting(ground)
    async with ground.session([[Say("ok")], [Say("ok")]], resume=session_id) as s:
        queued = [prompt.prompt_id for prompt in s.transcript.turns.queued]
        s.submit(ops.SendQueued(prompt_id=queued[1]))
        for prompt_id, text in zip(reversed(queued), ("third", "second"), strict=True):
            submitted = await s.rx.expect(ev.PromptSubmitted)
            assert (submitted.prompt_id, submitted.text) == (prompt_id, text)
            await s.rx.expect(ev.TurnEnded, lambda event: event.reason == "completed")
        assert s.session.transcript.turns.queued == []


async def test_one_that_was_moved_keeps_its_place_and_starts_in_it(ground: Ground) -> None:
    session_id = await left_waiting(ground)
    async with ground.session([], resume=session_id) as s:
        second, third = (prompt.prompt_id for prompt in s.transcript.turns.queued)
        for prompt_id, before in ((third, second), (third, third), (second, "gone"), ("gone", second)):
            s.submit(ops.MoveQueued(prompt_id=prompt_id, before=before))
        await s.carry_out(ops.RenameSession(title="looked through"), ev.SessionRenamed)
        assert len(s.rx.all(ev.Queued)) == 1
    async with ground.session([[Say("ok")], [Say("ok")]], resume=session_id) as s:
        assert [prompt.text for prompt in s.transcript.turns.queued] == ["third", "second"]
        await s.carry_out(ops.MoveQueued(prompt_id=third), ev.Queued)
        assert [prompt.text for prompt in s.session.transcript.turns.queued] == ["second", "third"]


async def test_one_that_was_taken_back_stays_so(ground: Ground) -> None:
    session_id = await left_waiting(ground)
    async with ground.session([], resume=session_id) as s:
        await s.carry_out(ops.Unqueue(prompt_id=s.transcript.turns.queued[0].prompt_id), ev.Unqueued)
    async with ground.session([], resume=session_id) as s:
        assert [prompt.text for prompt in s.transcript.turns.queued] == ["third"]


async def test_nothing_is_sent_now_while_a_turn_runs_and_nothing_twice(ground: Ground) -> None:
    async with ground.session([[Say("Working."), Hang()], [Say("ok")]]) as s:
        s.submit(ops.SubmitPrompt(text="first"))
        await s.rx.expect(ev.TextDelta)  # by now the model has been asked, and the next reply is for the next turn
        queued = await s.carry_out(ops.SubmitPrompt(text="second"), ev.Queued)
        s.submit(ops.SendQueued(prompt_id=queued.prompt_id))
        await s.carry_out(ops.RenameSession(title="busy"), ev.SessionRenamed)
        assert len(s.rx.all(ev.PromptSubmitted)) == 1
        await s.carry_out(ops.Interrupt(), ev.TurnEnded)
        for _ in range(2):
            s.submit(ops.SendQueued(prompt_id=queued.prompt_id))
        await s.rx.expect(ev.TurnEnded)
        assert [event.text for event in s.rx.all(ev.PromptSubmitted)] == ["first", "second"]
