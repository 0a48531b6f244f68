"""Stored contents without a session are removed once a day, and never while the window is closing."""

import asyncio
import logging
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from desktop_agent.app.startup.tidying import DELAY_S, tidy
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.worktrees.worktrees import Worktrees

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)


class StillClock:
    """A clock that stands still until it is moved on; waiting takes no time, and is recorded."""

    def __init__(self) -> None:
        self.time = NOW
        self.waited: list[float] = []

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


class Store:
    def __init__(self, folder: Path) -> None:
        self.blobs = Blobs(folder / "blobs")
        self.sessions = folder / "sessions"
        self.sessions.mkdir()
        self.cache = folder / "cache"
        self.clock = StillClock()

    async def tidy(self) -> None:
        worktrees = Worktrees(self.sessions.with_name("worktrees"), self.sessions, self.clock)
        await tidy(self.blobs, self.sessions, self.cache, self.clock, worktrees)

    def keep(self, content: bytes, age: timedelta) -> str:
        digest = self.blobs.put(content)
        at = (self.clock.time - age).timestamp()
        for path in self.blobs.folder.glob(f"{digest}*"):
            os.utime(path, (at, at))
        return digest


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


async def test_what_nobody_names_is_removed_after_a_while_and_that_is_logged(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    lost, young = store.keep(b"lost", timedelta(days=2)), store.keep(b"young", timedelta(hours=1))
    named = store.keep(b"named", timedelta(days=2))
    (store.sessions / "one").mkdir()
    (store.sessions / "one" / "events.jsonl").write_text(f'{{"blob": "{named}"}}\n')
    brought = store.keep(b"brought back from a worktree", timedelta(days=2))
    (store.sessions.with_name("worktrees")).mkdir()
    (store.sessions.with_name("worktrees") / "calm.json").write_text(f'{{"brought": {{"a.txt": "{brought}"}}}}')
    await store.tidy()
    assert store.clock.waited == [DELAY_S]
    assert [store.blobs.has(digest) for digest in (lost, young, named, brought)] == [False, True, True, True]
    assert "Removed 1 stored contents" in caplog.text


async def test_it_is_done_once_a_day(store: Store) -> None:
    await store.tidy()
    lost = store.keep(b"lost", timedelta(days=2))
    store.clock.time += timedelta(hours=23)
    await store.tidy()
    assert store.blobs.has(lost)
    store.clock.time += timedelta(hours=2)
    await store.tidy()
    assert not store.blobs.has(lost)


async def test_it_is_done_after_a_clock_was_wrong(store: Store) -> None:
    store.clock.time += timedelta(days=400)
    await store.tidy()
    store.clock.time = NOW
    lost = store.keep(b"lost", timedelta(days=2))
    await store.tidy()
    assert not store.blobs.has(lost)


async def test_a_session_that_cannot_be_read_keeps_everything_and_is_logged(
    store: Store, expected_logs: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    expected_logs.append("could not be collected")
    lost = store.keep(b"lost", timedelta(days=2))
    (store.sessions / "elsewhere").symlink_to(store.sessions / "nowhere")
    await store.tidy()
    assert store.blobs.has(lost)
    assert "could not be collected" in caplog.text


async def test_closing_the_window_ends_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = store.keep(b"lost", timedelta(days=2))
    loop = asyncio.get_running_loop()
    has_begun, may_go_on = asyncio.Event(), threading.Event()
    real = store.blobs.file_at

    def file_at(path: Path) -> object:
        loop.call_soon_threadsafe(has_begun.set)
        may_go_on.wait()
        return real(path)

    monkeypatch.setattr(store.blobs, "file_at", file_at)
    task = asyncio.create_task(store.tidy())
    await has_begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    may_go_on.set()
    await loop.shutdown_default_executor()
    assert store.blobs.has(lost)
