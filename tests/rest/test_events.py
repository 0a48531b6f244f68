"""The stream of events: none is missing or doubled, wherever the connection is cut."""

import asyncio
import random
from pathlib import Path

import pytest

from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.rest import open_sessions
from desktop_agent.rest.guard import ServerLimits
from tests.harness import PATIENCE_S, Ground
from tests.rest.serving import Served, blocks_of, serving, up_to

READ = Call("read_file", {"path": "poem.txt"})


async def listen_with_cuts(served: Served, session: str, seed: int) -> tuple[list[int], int]:
    """Listen to a whole session while connections break inside blocks; return the ids and the number of cuts."""
    dice = random.Random(seed)
    got: list[int] = []
    cuts, in_vain = 0, 0
    while True:
        known = len(got)
        headers = {"last-event-id": str(got[-1] if got else 0)}
        async with served.client.stream("GET", f"{session}/events", headers=headers) as answer:
            async for block in blocks_of(answer, dice.randrange(1, 1_200) + 1_000 * in_vain):
                if block.id is not None:
                    got.append(block.id)
                if block.type == "session_archived":
                    return got, cuts
        cuts += 1
        in_vain = in_vain + 1 if len(got) == known else 0


async def test_a_client_that_is_cut_off_again_and_again_misses_and_repeats_nothing(
    tmp_path: Path, is_nightly: bool
) -> None:
    turns, least_cuts = (120, 500) if is_nightly else (8, 30)
    ground = Ground(tmp_path)
    ground.write("poem.txt", "The colour of the sea\n")
    script = [reply for _ in range(turns) for reply in ([READ], [Say("Read. " * 20)])]
    async with serving(ground, script) as served:
        session = await served.start(approval="never")
        listening = asyncio.gather(*(listen_with_cuts(served, session, seed) for seed in (1, 2)))
        for _ in range(turns):
            await served.run(session)
        await served.op(session, "archive_session")
        async with asyncio.timeout(PATIENCE_S * 6):
            heard = await listening
        last = (await served.get(session)).json()["last_seq"]
        for ids, _ in heard:
            assert ids == list(range(1, last + 1))
        assert sum(cuts for _, cuts in heard) >= least_cuts


@pytest.mark.parametrize("most", [1, 3])
async def test_a_client_that_reads_slowly_gets_the_rest_from_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, is_nightly: bool
) -> None:
    monkeypatch.setattr(open_sessions, "MOST_WAITING", most)
    turns = 100 if is_nightly else 10
    async with serving(tmp_path, [[Say("Word by word by word.")]] * turns) as served:
        session = await served.start()
        async with asyncio.timeout(PATIENCE_S * 6), served.events(session) as coming:
            for _ in range(turns):
                await served.run(session)
            await served.op(session, "archive_session")
            ids = [block.id for block in await up_to(coming, "session_archived") if block.id is not None]
        assert ids == list(range(1, len(ids) + 1))


async def test_a_session_that_another_process_writes_is_followed_until_it_can_be_opened_here(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    async with serving(ground, [[Say("Here.")]]) as served, asyncio.timeout(PATIENCE_S):
        async with ground.session([[Say("There.")]]) as other:
            session = f"/v1/sessions/{other.id}"
            async with served.events(session) as coming:
                await other.prompt("there")
                there = await up_to(coming, "turn_ended")
                other.submit(ops.Shutdown())
                await other.task
                await served.post(f"{session}/prompts", {"text": "here"})
                here = await up_to(coming, "turn_ended")
        ids = [block.id for block in (*there, *here) if block.id is not None]
        assert ids == list(range(1, len(ids) + 1))
        assert {block.data["turn"] for block in here if block.type == "turn_ended"} == {2}


async def test_a_stream_goes_on_when_its_session_is_closed_and_opened_again(tmp_path: Path) -> None:
    async with serving(tmp_path, [[Say("One.")], [Say("Two.")]]) as served, asyncio.timeout(PATIENCE_S):
        session = await served.start()
        async with served.events(session) as coming:
            await served.run(session)
            before = await up_to(coming, "turn_ended")
            await served.post(f"{session}/close")
            await served.run(session)
            after = await up_to(coming, "turn_ended")
        ids = [block.id for block in (*before, *after) if block.id is not None]
        assert ids == list(range(1, len(ids) + 1))


async def test_a_silent_stream_shows_that_it_still_stands(tmp_path: Path) -> None:
    async with serving(tmp_path, limits=ServerLimits(tick_s=0.01)) as served:
        for is_open in (True, False):
            session = await served.start()
            if not is_open:
                await served.post(f"{session}/close")
            async with asyncio.timeout(PATIENCE_S), served.client.stream("GET", f"{session}/events") as answer:
                seen = ""
                async for text in answer.aiter_text():
                    seen += text
                    if ": still here" in seen:
                        break


async def test_where_to_begin_can_stand_in_the_address_too(tmp_path: Path) -> None:
    async with serving(tmp_path, [[Say("Hello.")]]) as served:
        session = await served.start()
        await served.run(session)
        async with (
            asyncio.timeout(PATIENCE_S),
            served.client.stream("GET", f"{session}/events", params={"after": "2"}) as answer,
        ):
            first = await anext(blocks_of(answer))
        assert first.id == 3
        answer = await served.get(f"{session}/events", headers={"last-event-id": "two"})
        assert answer.status_code == 400
        assert answer.json()["error"]["field"] == "Last-Event-ID"
