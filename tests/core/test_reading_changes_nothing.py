"""Looking at a session changes no byte of it, in any front end."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.context.history import History
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Call, Say, ScriptedProvider, in_order
from desktop_agent.core.store.collect import report_storage
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.transcript import replay
from tests.harness import Ground

CACHES = frozenset({"summary.json", "lock"})
"""Files beside a journal that are no part of the session."""

Way = Callable[[Workbench, str], Awaitable[object]]


async def listed(bench: Workbench, _: str) -> object:
    return await asyncio.to_thread(bench.catalog.summaries)


async def found(bench: Workbench, session_id: str) -> object:
    return await asyncio.to_thread(bench.catalog.find, session_id[-6:])


async def shown(bench: Workbench, session_id: str) -> object:
    events, _ = await asyncio.to_thread(read_journal, bench.catalog.journal_path(session_id), bench.blobs)
    history = History()
    for event in events:
        history.fold.apply(event)
    return replay(events), history.messages()


async def forked(bench: Workbench, session_id: str) -> object:
    return await bench.stored.fork(session_id)


async def counted(bench: Workbench, _: str) -> object:
    return await asyncio.to_thread(report_storage, bench.blobs, bench.paths.sessions)


async def opened_and_closed(bench: Workbench, session_id: str) -> object:
    opened = await bench.open_session(session_id, sink=lambda _: None)
    running = asyncio.create_task(opened.session.run())
    opened.session.submit(ops.Shutdown())
    return await running


def state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in CACHES)
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize("way", [listed, found, shown, forked, counted, opened_and_closed])
@pytest.mark.parametrize("is_waiting", [False, True])
async def test_reading_changes_nothing(ground: Ground, way: Way, is_waiting: bool) -> None:
    ground.write("a.py", "x = 1\n")
    edit = Call("edit_file", {"path": "a.py", "old_str": "x = 1", "new_str": "x = 2"})
    async with ground.session([[Say("long " * 9000)], [edit], [Say("Done.")]]) as s:
        await s.prompt()
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        folder = ground.paths.sessions / s.id
        left = await asyncio.to_thread((folder / "journal.jsonl").read_bytes)
        await s.carry_out(ops.Interrupt(), ev.TurnEnded)
    if is_waiting:
        await asyncio.to_thread((folder / "journal.jsonl").write_bytes, left)
    os.utime(folder / "journal.jsonl", (1, 1))
    before = await asyncio.to_thread(state_of, folder)
    await way(ground.bench(ScriptedProvider(in_order([]))), s.id)
    assert await asyncio.to_thread(state_of, folder) == before
