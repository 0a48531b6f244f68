"""A second process reads a session while another writes it, changes nothing, and can take it over."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from desktop_agent.composition.stored_sessions import ViewedSession
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import SessionBusyError, SessionNotFoundError, StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Call, Say, ScriptedProvider, in_order
from desktop_agent.core.store.journal.records import Follower
from desktop_agent.core.transcript import replay
from tests.harness import Ground, Receiver, check_conversation


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ground")


@pytest.fixture
def provider() -> ScriptedProvider:
    return ScriptedProvider(in_order([[Say("taken over")]]))


@pytest.fixture
def bench(ground: Ground, provider: ScriptedProvider) -> Workbench:
    return ground.bench(provider)


@asynccontextmanager
async def viewing(bench: Workbench, session_id: SessionId) -> AsyncGenerator[tuple[ViewedSession, Receiver]]:
    rx = Receiver()
    view = await bench.view_session(session_id, sink=rx)
    task = asyncio.create_task(view.run())
    try:
        yield view, rx
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_busy_session_is_read_as_it_grows(ground: Ground, bench: Workbench) -> None:
    async with ground.session([[Say("one")], [Say("two"), Call("read_file", {"path": "a"})], [Say("three")]]) as s:
        await s.prompt("first")
        with pytest.raises(SessionBusyError):
            await bench.open_session(s.id, sink=print)
        async with viewing(bench, s.id) as (view, rx):
            await s.prompt("second")
            await rx.expect(ev.TurnEnded)
            seen = replay([*view.events, *rx.recorded])
        assert seen.entries == s.session.transcript.entries
        assert [*view.events, *rx.recorded] == s.rx.recorded
        assert not [event for event in rx.events if isinstance(event, ev.LiveEvent)]


async def test_to_read_a_session_changes_nothing_of_it(ground: Ground, bench: Workbench) -> None:
    async with ground.session([[Say("one")]]) as s:
        await s.prompt("first")
    folder = ground.paths.sessions / s.id
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    async with viewing(bench, s.id) as (view, _):
        assert await view.is_free()
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before


async def test_it_is_taken_over_when_its_writer_is_gone_and_not_before(
    ground: Ground, bench: Workbench, provider: ScriptedProvider
) -> None:
    async with ground.session([[Call("read_file", {"path": "a"})], [Say("one")]]) as s:
        await s.prompt("first")
        view = await bench.view_session(s.id, sink=Receiver())
        assert not await view.is_free()
        assert await view.try_take_over(Receiver()) is None
        await s.carry_out(ops.RenameSession(title="still mine"), ev.SessionRenamed)
    assert await view.is_free()
    rx = Receiver()
    opened = await view.try_take_over(rx)
    assert opened is not None
    task = asyncio.create_task(opened.session.run())
    opened.session.submit(ops.SubmitPrompt(text="mine now"))
    assert (await rx.expect(ev.TurnEnded)).reason == "completed"
    assert opened.session.transcript.session.title == "still mine"
    check_conversation(provider.requests[-1])
    opened.session.submit(ops.Shutdown())
    await task


async def test_a_session_cut_off_in_a_turn_is_concluded_by_who_takes_it_over(ground: Ground, bench: Workbench) -> None:
    async with ground.session([[Say("one")]]) as s:
        await s.prompt("first")
    path = ground.paths.sessions / s.id / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])
    view = await bench.view_session(s.id, sink=Receiver())
    assert replay(view.events).turns.is_running, "as far as the journal says"
    rx = Receiver()
    opened = await view.try_take_over(rx)
    assert opened is not None
    task = asyncio.create_task(opened.session.run())
    assert (await rx.expect(ev.TurnEnded)).reason == "interrupted"
    opened.session.submit(ops.Shutdown())
    await task


async def test_half_a_record_is_not_told(ground: Ground, bench: Workbench) -> None:
    async with ground.session([[Say("one")]]) as s:
        await s.prompt("first")
    path = ground.paths.sessions / s.id / "journal.jsonl"
    follower = Follower(path, bench.blobs)
    assert follower.read()
    line = b'{"v":1,"seq":99,"at":"2026-01-01T00:00:00Z","type":"session_renamed","title":"t"}\n'
    for byte in range(len(line)):
        with path.open("ab") as file:
            file.write(line[byte : byte + 1])
        told = follower.read()
        assert [event.seq for event in told] == ([99] if byte == len(line) - 1 else [])
    assert follower.read() == []


async def test_a_journal_that_was_replaced_or_cut_is_not_followed_further(ground: Ground, bench: Workbench) -> None:
    async with ground.session([[Say("one")]]) as s:
        await s.prompt("first")
    path = ground.paths.sessions / s.id / "journal.jsonl"
    whole = path.read_bytes()
    follower, other = Follower(path, bench.blobs), Follower(path, bench.blobs)
    follower.read()
    other.read()
    path.write_bytes(whole[:-30])
    with pytest.raises(StorageError, match="cannot be followed"):
        follower.read()
    path.rename(path.with_name("journal.jsonl.before-repair"))
    path.write_bytes(whole)
    with pytest.raises(StorageError, match="cannot be followed"):
        other.read()


async def test_a_record_that_was_taken_back_after_it_was_read_is_noticed(ground: Ground, bench: Workbench) -> None:
    async with ground.session([[Say("one")]]) as s:
        await s.prompt("first")
    path = ground.paths.sessions / s.id / "journal.jsonl"
    whole = path.read_bytes()
    follower = Follower(path, bench.blobs)
    follower.read()
    *kept, last = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(kept) + last.replace(b"completed", b"interrupted") + b'{"v":1,"seq":99,"type":"x"}\n')
    with pytest.raises(StorageError, match="cannot be followed"):
        follower.read()


async def test_what_is_not_there_cannot_be_viewed(bench: Workbench) -> None:
    with pytest.raises(SessionNotFoundError):
        await bench.view_session("20260101-000000-000000", sink=Receiver())
