"""A session that is opened from its snapshot asks the model for the same, byte for byte, as one that was read whole."""

import shutil
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import GuidanceFile, ModelRequest
from desktop_agent.core.providers.scripted import Say
from desktop_agent.core.session.resuming import opening
from desktop_agent.core.session.resuming.opening import close_with_snapshot, resume
from desktop_agent.core.session.resuming.process import start_snapshot
from desktop_agent.core.session.resuming.snapshots import renew_snapshot
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.snapshot import SNAPSHOT_NAME
from desktop_agent.core.transcript import PageEntry
from tests.harness import FrozenClock, Ground
from tests.journals import SESSION_ID, compacted, opened, turn, write_journal


def no_breath() -> None:
    """Do nothing: no window waits in a test."""


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """With a session of 30 turns, of which compactions summarised the first 28."""
    ground = Ground(tmp_path)
    ground.clock = FrozenClock()
    events: list[ev.KnownEvent] = [opened(str(ground.workspace))]
    for number in range(1, 31):
        events += turn(number, result="x" * 20_000)
        if number in (10, 20, 30):
            events.append(compacted(f"k{number}", number - 2, goal=f"Goal {number}"))
    write_journal(journal_of(ground), Blobs(ground.paths.blobs), events)
    return ground


def journal_of(ground: Ground) -> Path:
    return ground.paths.sessions / SESSION_ID / "journal.jsonl"


async def request_after(ground: Ground, *before: ops.Op) -> ModelRequest:
    """What the model is asked when the session is opened and a prompt follows these ops."""
    copy = ground.paths.data.with_name("copy")
    shutil.copytree(ground.paths.sessions, copy)
    async with ground.session([[Say("Fine.")]], resume=SESSION_ID) as session:
        for op in before:
            session.submit(op)
        await session.prompt("Go on.")
        request = session.last_request
    shutil.rmtree(ground.paths.sessions)
    copy.rename(ground.paths.sessions)
    return request


@pytest.mark.parametrize(
    "before",
    [(), (ops.RewindTo(turn=29, scope="conversation"),), (ops.RewindTo(turn=5, scope="conversation"),)],
    ids=str,
)
async def test_the_request_is_the_same_with_a_snapshot_and_without(ground: Ground, before: tuple[ops.Op, ...]) -> None:
    whole = await request_after(ground, *before)
    renew_snapshot(
        journal_of(ground),
        Blobs(ground.paths.blobs),
        journal_of(ground).with_name(SNAPSHOT_NAME),
        yield_gil=no_breath,
    )
    assert await request_after(ground, *before) == whole


async def test_a_front_gets_a_transcript_of_its_own_with_its_end_loaded(ground: Ground) -> None:
    journal = journal_of(ground)
    renew_snapshot(journal, Blobs(ground.paths.blobs), journal.with_name(SNAPSHOT_NAME), yield_gil=no_breath)
    async with ground.session([[Say("Fine.")]], resume=SESSION_ID) as session:
        assert session.transcript.turn == 30
        assert not isinstance(session.transcript.entries[-1], PageEntry)
        await session.prompt("Go on.")
        assert session.session.transcript.turn == 31
        assert session.transcript.turn == 30


def test_the_process_writes_the_snapshot_that_a_thread_would(ground: Ground) -> None:
    journal, blobs = journal_of(ground), Blobs(ground.paths.blobs)
    snapshot = journal.with_name(SNAPSHOT_NAME)
    renew_snapshot(journal, blobs, snapshot, yield_gil=no_breath)
    expected = snapshot.read_bytes()
    snapshot.unlink()
    assert start_snapshot(journal, blobs.folder, snapshot).wait() == 0
    assert snapshot.read_bytes() == expected


def test_a_process_that_cannot_write_says_so(ground: Ground, tmp_path: Path) -> None:
    journal, blobs = journal_of(ground), Blobs(ground.paths.blobs)
    assert start_snapshot(journal, blobs.folder, tmp_path / "no" / "folder" / SNAPSHOT_NAME).wait() != 0
    assert start_snapshot(tmp_path / "gone", blobs.folder, tmp_path / SNAPSHOT_NAME).wait() != 0


def test_a_session_that_closes_leaves_a_snapshot_when_that_pays(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, blobs = journal_of(ground), Blobs(ground.paths.blobs)
    snapshot = journal.with_name(SNAPSHOT_NAME)
    close_with_snapshot(journal, blobs)
    assert not snapshot.exists(), "the journal is short"
    monkeypatch.setattr(opening, "WORTH_BYTES", 1)
    monkeypatch.setattr(opening, "FRESH_BYTES", 1)
    close_with_snapshot(journal, blobs)
    written = snapshot.stat().st_mtime_ns
    close_with_snapshot(journal, blobs)
    assert snapshot.stat().st_mtime_ns == written, "nothing came since"


def test_what_could_not_be_read_for_a_while_is_not_kept_as_missing(tmp_path: Path) -> None:
    journal, blobs = tmp_path / "s" / "journal.jsonl", Blobs(tmp_path / "blobs")
    guidance = GuidanceFile(path="AGENTS.md", scope="workspace", text="Mind the gap. " * 5_000)
    write_journal(journal, blobs, [opened(), ev.GuidanceLoaded(files=(guidance,)), *turn(1)])
    blobs.folder.rename(tmp_path / "away")
    with pytest.raises(ValueError, match="missing"):
        renew_snapshot(journal, blobs, journal.with_name(SNAPSHOT_NAME), yield_gil=no_breath)
    (tmp_path / "away").rename(blobs.folder)
    renew_snapshot(journal, blobs, journal.with_name(SNAPSHOT_NAME), yield_gil=no_breath)
    assert resume(journal, blobs, yield_gil=no_breath).state.history.guidance == (guidance,)
