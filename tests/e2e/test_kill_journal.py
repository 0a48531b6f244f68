"""Kill the process while sessions write: all open, all delivered events are there, the API accepts the next request."""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.settings.values import with_setting
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import JOURNAL_NAME
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.verify import verify
from tests.e2e.journal_kill_lab import TURNS
from tests.e2e.kill_lab import run_lab
from tests.harness import Ground
from tests.providers import anthropic_provider
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.script import reply, text

SEED = 20261122
WHOLE = 1 + 4 * TURNS
KILLS = 16
PARTS = 25
NIGHTLY_KILLS = 1000 // PARTS


@dataclass
class Tally:
    found: int = 0
    opened: int = 0
    torn: int = 0
    ends: Counter[str] = field(default_factory=Counter[str])


@pytest.fixture
async def server() -> AsyncGenerator[AnthropicServer]:
    async with AnthropicServer() as server:
        yield server


async def test_killed_writers_leave_sessions_that_open_and_go_on(tmp_path: Path, server: AnthropicServer) -> None:
    await kill_and_judge(tmp_path / "lab", KILLS, SEED, server)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(PARTS))
async def test_sessions_survive_a_thousand_kills(tmp_path: Path, server: AnthropicServer, part: int) -> None:
    """The parts keep each test below the watchdog's limit."""
    await kill_and_judge(tmp_path / "lab", NIGHTLY_KILLS, SEED + 1 + part, server)


async def kill_and_judge(folder: Path, kills: int, seed: int, server: AnthropicServer) -> None:
    trials = await run_lab("tests.e2e.journal_kill_lab", folder, kills, seed)
    assert [trial["killed"] for trial in trials] == [True] * kills, "a writer never ends by itself"
    tally = Tally()
    for number in range(kills):
        await judge(folder / f"{number:04}", server, tally)
        shutil.rmtree(folder / f"{number:04}")
    print(f"{kills} kills left {tally.found} sessions, {tally.torn} of them torn.")
    print(f"{tally.opened} were opened, which ended with: {json.dumps(tally.ends, sort_keys=True)}")
    assert tally.found >= kills * 7 // 8, "all but every eighth had begun"
    assert server.violations == []


async def judge(folder: Path, server: AnthropicServer, tally: Tally) -> None:
    """Check every session of one life, and continue those that were cut off."""
    ground = Ground(folder)
    # A summary would take the prepared answer, so the context is large enough for any life.
    ground.settings = with_setting(ground.settings, "compaction.auto", value=False)
    ground.settings = with_setting(ground.settings, "model.context_tokens", 100_000_000)
    told = last_told(folder / "told")
    catalog = SessionCatalog(ground.paths.sessions, Blobs(ground.paths.blobs), ground.paths.cache)
    for session_id in catalog.ids():
        path = catalog.session_folder(session_id) / JOURNAL_NAME
        events, damages = await asyncio.to_thread(read_journal, path, catalog.blobs)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert told.pop(session_id, 0) <= len(events), "what was delivered is there"
        assert [damage.line for damage in damages] in ([], [len(events) + 1]), "at most the last record is missing"
        if not events:
            continue  # the process was killed while it made the session, before any event was delivered
        tally.found += 1
        if events[-1].type == "turn_ended" and len(events) == WHOLE and not damages:
            continue  # a session of which only the journal was written, completely
        tally.opened += 1
        tally.torn += bool(damages)
        tally.ends[events[-1].type] += 1
        await go_on(ground, session_id, server, is_torn=bool(damages))
    assert told == {}, "a session with delivered events is gone"


async def go_on(ground: Ground, session_id: SessionId, server: AnthropicServer, *, is_torn: bool) -> None:
    async def anthropic(_model: ModelRef) -> Provider:
        return anthropic_provider(api_key="sk-ant-test-0123456789", base_url=server.url)

    server.will(reply(text("Going on.")))
    asked = len(server.messages)
    async with ground.session([], resume=session_id, provider_source=anthropic) as s:
        assert (await s.prompt("go on")).reason == "completed"
        assert bool([event for event in s.rx.all(ev.Notice) if event.code == "torn_journal"]) == is_torn
    assert len(server.messages) == asked + 1
    catalog = SessionCatalog(ground.paths.sessions, Blobs(ground.paths.blobs), ground.paths.cache)
    report = await asyncio.to_thread(verify, catalog, session_id)
    assert report.findings == (), "what a crash left was put in order"


def last_told(path: Path) -> dict[SessionId, int]:
    if not path.exists():
        return {}
    pairs = (line.split() for line in path.read_text().splitlines())
    return {session_id: int(seq) for session_id, seq in pairs}
