"""What all sessions used is read once: afterwards only what is new, and whatever else reads meanwhile."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.usage import reader as reader_module
from desktop_agent.core.usage.reader import UsageReader
from desktop_agent.core.usage.report import report_of
from desktop_agent.core.usage.uses import SessionFigures
from tests.core.usage.written import LOCAL, Timed, answered, begun, called, opened_in, over, used, write_timed

TODAY = date(2026, 11, 22)


class Store:
    """A data folder with sessions."""

    def __init__(self, folder: Path) -> None:
        self.paths = AppPaths(config=folder, data=folder, cache=folder / "cache", logs=folder)
        self.blobs = Blobs(self.paths.blobs)

    def path(self, number: int) -> Path:
        return self.paths.sessions / f"20261122-1000{number:02}-abcdef" / "journal.jsonl"

    def write(self, number: int, *events: Timed, first: int = 1) -> int:
        opening = [opened_in(f"/home/ann/{number % 2}")] if first == 1 else []
        return write_timed(self.path(number), self.blobs, [*opening, *events], first=first)

    def reader(self) -> UsageReader:
        """A reader as another process has it."""
        return UsageReader.of(self.paths, Catalog.of(self.paths))

    def read(self) -> tuple[SessionFigures, ...]:
        return self.reader().read()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def lines_read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many lines were folded so far."""
    count = 0
    take = reader_module.UsageFold.take

    def counting(fold: reader_module.UsageFold, line: bytes) -> None:
        nonlocal count
        count += 1
        take(fold, line)

    monkeypatch.setattr(reader_module.UsageFold, "take", counting)
    return lambda: count


def calls(sessions: tuple[SessionFigures, ...]) -> int:
    return report_of(sessions, None, TODAY).total.calls


def test_only_what_is_new_is_read(store: Store, lines_read: Callable[[], int]) -> None:
    following = store.write(1, begun(1), *called(2, "a"))
    store.write(2, begun(1), *called(2, "a"))
    assert calls(store.read()) == 2
    assert lines_read() == 8
    assert calls(store.read()) == 2
    assert lines_read() == 8
    store.write(1, *called(5, "b"), first=following)
    assert calls(store.read()) == 3
    assert lines_read() == 10


def test_a_journal_that_was_replaced_is_read_from_its_beginning(store: Store) -> None:
    store.write(1, begun(1), *called(2, "a"), *called(3, "b"))
    assert calls(store.read()) == 2
    store.path(1).unlink()
    store.write(1, begun(1), *called(2, "other"))
    assert calls(store.read()) == 1


def test_a_session_that_was_deleted_counts_no_more(store: Store) -> None:
    store.write(1, begun(1), *called(2, "a"))
    store.write(2, begun(1), *called(2, "a"))
    assert calls(store.read()) == 2
    store.path(1).unlink()
    store.path(1).parent.rmdir()
    assert calls(store.read()) == 1


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100])
def test_a_cache_that_is_damaged_costs_time_only(store: Store, damage: bytes) -> None:
    store.write(1, begun(1), *called(2, "a"))
    store.read()
    (store.paths.cache / "usage.sqlite3").write_bytes(damage)
    assert calls(store.read()) == 1


def test_a_reading_can_be_stopped_and_keeps_what_it_has(store: Store, lines_read: Callable[[], int]) -> None:
    for number in range(4):
        store.write(number, begun(1), *called(2, "a"))
    seen: list[tuple[int, int]] = []
    sessions = store.reader().read(
        progress=lambda done, total: seen.append((done, total)), is_stopped=lambda: len(seen) > 2
    )
    assert seen == [(0, 4), (1, 4), (2, 4)]
    assert calls(sessions) == 2
    assert calls(store.read()) == 4
    assert lines_read() == 16


def test_a_report_adds_up_by_day_model_tool_and_folder(store: Store) -> None:
    store.write(1, begun(1), *called(2, "a", "edit_file"), used(3, 0.5), answered(4), over(5))
    store.write(2, begun(1, model=LOCAL), *called(2, "a"), used(3, None, model=LOCAL), over(9, "provider_error"))
    store.write(3, begun(1), *called(2, "a", error="fatal"), used(3, 0.25), over(5))
    report = report_of(store.read(), None, TODAY)
    assert report.total.usage.cost_usd == 0.75
    assert report.total.usage.unpriced_tokens == 1_100
    assert (report.total.sessions, report.total.turns, report.total.failed_turn_count) == (3, 3, 1)
    models = {key: (one.requests, one.usage.cost_usd, one.turns, one.sessions) for key, one in report.models.items()}
    assert models == {("anthropic", "claude-opus-5-5"): (2, 0.75, 2, 2), ("ollama", "qwen"): (1, None, 1, 1)}
    assert {key: (one.calls, one.failed_calls) for key, one in report.tools.items()} == {
        ("edit_file",): (1, {}),
        ("grep",): (2, {"fatal": 1}),
    }
    assert {key: (one.sessions, one.calls) for key, one in report.folders.items()} == {
        ("/home/ann/1",): (2, 2),
        ("/home/ann/0",): (1, 1),
    }
    assert list(report.days) == [("2026-11-22",)]
    for by in ("day", "folder"):
        assert sum(one.turns for one in report.rows(by).values()) == 3


def test_only_the_days_of_the_period_count(store: Store) -> None:
    store.write(1, begun(1), *called(2, "a"), used(3, 0.5), over(4))
    later = 3 * 24 * 3600
    store.write(2, begun(later), *called(later, "a"), used(later, 0.25), over(later + 1))
    report = report_of(store.read(), date(2026, 11, 25), date(2026, 11, 25))
    assert (report.total.calls, report.total.turns, report.total.usage.cost_usd) == (1, 1, 0.25)
    assert list(report.folders) == [("/home/ann/0",)]
