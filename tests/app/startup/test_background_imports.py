"""A thread that loads modules rests while the main thread works."""

import sys
import threading
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path

import pytest

from desktop_agent.app.startup.background_imports import imports_give_way

NAMES = ("giving_way_one", "giving_way_two", "giving_way_three")


class MainThread:
    """The clocks of a main thread that works for a share of the time, for some seconds."""

    def __init__(self, *, share: float, busy_s: float) -> None:
        self.share = share
        self.busy_until = busy_s
        self.now = self.worked = 0.0
        self.rested = 0.0
        self.rest(0.001)
        self.rested = 0.0

    def rest(self, seconds: float) -> None:
        self.rested += seconds
        self.now += seconds
        if self.now < self.busy_until:
            self.worked += seconds * self.share

    def clock(self) -> float:
        return self.now

    def work_clock(self) -> float:
        return self.worked


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(f"value = {name!r}\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    invalidate_caches()
    yield
    for name in NAMES:
        sys.modules.pop(name, None)


def load(main_thread: MainThread) -> None:
    """Load all three, each of which takes a millisecond in which the main thread goes on as before."""
    with imports_give_way(main_thread.clock, main_thread.work_clock, main_thread.rest):
        for name in NAMES:
            main_thread.rest(0.001)
            main_thread.rested -= 0.001
            assert import_module(name).value == name


def test_nothing_is_waited_for_while_the_main_thread_rests() -> None:
    main_thread = MainThread(share=0.1, busy_s=100)
    load(main_thread)
    assert main_thread.rested == pytest.approx(0)


def test_the_first_module_waits_until_the_main_thread_has_done_its_work() -> None:
    main_thread = MainThread(share=0.9, busy_s=0.1)
    load(main_thread)
    assert 0.09 < main_thread.rested < 0.12


def test_a_main_thread_that_never_rests_is_waited_for_five_seconds_in_all() -> None:
    main_thread = MainThread(share=1, busy_s=1_000)
    load(main_thread)
    assert main_thread.rested == pytest.approx(5, abs=0.01)


def test_other_threads_import_as_ever() -> None:
    main_thread = MainThread(share=1, busy_s=1_000)
    with imports_give_way(main_thread.clock, main_thread.work_clock, main_thread.rest):
        other = threading.Thread(target=import_module, args=(NAMES[0],))
        other.start()
        other.join()
    assert main_thread.rested == 0


def test_afterwards_imports_are_as_before() -> None:
    before = list(sys.meta_path)
    with imports_give_way():
        assert import_module(NAMES[0]).value == NAMES[0]
    assert sys.meta_path == before


def test_where_the_system_does_not_say_how_long_a_thread_worked_nothing_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    before = list(sys.meta_path)
    with imports_give_way():
        assert sys.meta_path == before
        assert import_module(NAMES[0]).value == NAMES[0]
