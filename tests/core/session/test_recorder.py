"""What a front hears of is on the disk, or is with the next thing it hears of; all of a turn when it has ended."""

from pathlib import Path
from typing import get_args

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.session.recorder import Recorder
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import Journal
from tests.core.samples import SAMPLE_EVENTS
from tests.dropping_disk import DroppingDisk, dropping_disk

LATER = {
    "turn_started",
    "usage_reported",
    "tool_call_finished",
    "notice",
    "review_marked",
    "guidance_loaded",
    "command_run",
}
"""What docs/session-format.md names as not waiting for the disk."""


async def recorded_on(path: Path, disk: DroppingDisk, events: list[ev.KnownEvent]) -> list[tuple[str, bool]]:
    """Record the events; return for each, as the sink received it, whether the whole journal was on the disk then."""
    told: list[tuple[str, bool]] = []

    def hear(event: ev.Event) -> None:
        told.append((event.type, disk.is_safe(path)))

    journal, _ = Journal.open(path, Blobs(path.parent / "blobs"))
    recorder = Recorder(journal, SystemClock(), last_seq=0, folds=(), sink=hear)
    for event in events:
        await recorder.record(event)
    await recorder.aclose()
    return told


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "s" / "journal.jsonl"
    Journal.create(path, Blobs(tmp_path / "blobs")).close()
    return path


async def test_what_was_said_decided_or_changed_is_on_the_disk_before_it_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = dropping_disk(path, monkeypatch)
    told = await recorded_on(path, disk, list(SAMPLE_EVENTS))
    assert {kind for kind, is_safe in told if not is_safe} == LATER
    assert {kind for kind, is_safe in told if is_safe}.isdisjoint(LATER)
    assert len({kind for kind, _ in told}) == len(get_args(ev.KnownEvent))
    assert disk.is_safe(path), "and all of it when the session closes"


async def test_all_of_a_turn_is_on_the_disk_when_its_end_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = dropping_disk(path, monkeypatch)
    later = [event for event in SAMPLE_EVENTS if event.type in LATER]
    end = next(event for event in SAMPLE_EVENTS if event.type == "turn_ended")
    *_, last = await recorded_on(path, disk, [*later, end])
    assert last == ("turn_ended", True)
