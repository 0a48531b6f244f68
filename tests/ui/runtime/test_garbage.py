"""Cyclic garbage is collected on the window's thread, so that no widget is destroyed on another."""

import asyncio
import gc
import sys
import threading
import weakref
from collections.abc import Iterator
from types import ModuleType

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from desktop_agent.ui.runtime.eventloop import run
from desktop_agent.ui.runtime.garbage import WindowThreadCollector, return_memory

pytestmark = pytest.mark.usefixtures("qapp")


class Node:
    def __init__(self, held: object = None) -> None:
        self.me = self
        self.held = held


def allocate_much() -> list[Node]:
    return [Node() for _ in range(gc.get_threshold()[0] + 1)]


class Thread:
    def __init__(self) -> None:
        self.now = 100.0
        self.worked = 7.0

    def passes(self, seconds: float, *, share: float) -> None:
        self.now += seconds
        self.worked += seconds * share


@pytest.fixture
def thread() -> Thread:
    return Thread()


@pytest.fixture
def collector(thread: Thread) -> Iterator[WindowThreadCollector]:
    collector = WindowThreadCollector(clock=lambda: thread.now, work_clock=lambda: thread.worked)
    collector.start()
    yield collector
    collector.stop()


def grow_old() -> weakref.ref[Node]:
    """Make garbage that has survived one collection, and make an older generation due."""
    node = Node()
    gc.collect(0)
    gone = weakref.ref(node)
    del node
    while gc.get_count()[1] < gc.get_threshold()[1]:
        gc.collect(0)
    return gone


@pytest.fixture(autouse=True)
def automatic_again() -> Iterator[None]:
    yield
    gc.enable()


def test_while_the_loop_runs_a_worker_thread_destroys_no_object_of_the_window(qapp: QApplication) -> None:
    died_on: list[threading.Thread] = []

    def work() -> None:
        for _ in range(200):
            allocate_much()

    async def main() -> int:
        owner = QObject()
        owner.destroyed.connect(lambda: died_on.append(threading.current_thread()))
        Node(owner)
        del owner
        await asyncio.to_thread(work)
        return len(died_on)

    run(qapp, main)
    gc.collect()
    assert died_on == [threading.main_thread()]


def test_while_the_window_is_busy_young_garbage_goes_and_old_waits_for_the_first_pause(
    collector: WindowThreadCollector, thread: Thread
) -> None:
    old = grow_old()
    node = Node()
    young = weakref.ref(node)
    del node
    keep = allocate_much()
    assert young() is not None, "nothing is collected by itself"
    thread.passes(0.25, share=0.9)
    collector.collect_due()
    assert (old() is None, young() is None) == (False, True)
    thread.passes(0.25, share=0.1)
    collector.collect_due()
    assert old() is None
    del keep


def test_old_garbage_does_not_wait_for_ever(collector: WindowThreadCollector, thread: Thread) -> None:
    old = grow_old()
    keep = allocate_much()
    for _ in range(40):
        assert old() is not None
        thread.passes(0.25, share=0.9)
        collector.collect_due()
    thread.passes(0.25, share=0.9)
    collector.collect_due()
    assert old() is None
    del keep


def die_in_great_numbers(count: int = 40_000) -> list[weakref.ref[Node]]:
    nodes = [Node() for _ in range(count)]
    return [weakref.ref(node) for node in nodes]


def left_of(dead: list[weakref.ref[Node]]) -> int:
    return sum(one() is not None for one in dead)


def test_what_dies_in_great_numbers_goes_as_soon_as_the_window_rests(
    collector: WindowThreadCollector, thread: Thread
) -> None:
    dead = die_in_great_numbers()
    thread.passes(0.25, share=0.1)
    collector.collect_due()
    assert left_of(dead) == len(dead)
    thread.passes(0.25, share=0.01)
    collector.collect_due()
    assert left_of(dead) == 0


def test_imported_modules_are_not_gone_over_and_what_dies_beside_them_goes(
    collector: WindowThreadCollector, thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        monkeypatch.setitem(sys.modules, f"imported_{number}", ModuleType(f"imported_{number}"))
    code = [Node() for _ in range(10_000)]
    collector.collect_due()
    assert len(gc.get_objects()) < len(code)
    for number in range(100):
        monkeypatch.setitem(sys.modules, f"more_{number}", ModuleType(f"more_{number}"))
    dead = die_in_great_numbers()
    thread.passes(0.25, share=0.01)
    collector.collect_due()
    assert left_of(dead) == 0


def test_automatic_collection_is_as_before_afterwards(qapp: QApplication) -> None:
    async def main() -> int:
        return int(gc.isenabled())

    assert run(qapp, main) == 0
    assert gc.isenabled()
    gc.disable()
    run(qapp, main)
    assert not gc.isenabled()


def test_memory_is_returned_once_the_window_rests(qapp: QApplication) -> None:
    dead: list[weakref.ref[Node]] = []

    async def main() -> int:
        dead.extend(die_in_great_numbers())
        await return_memory()
        return left_of(dead)

    assert run(qapp, main) == 0
