"""Cyclic garbage is collected on the window's thread, so that no widget dies on another."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from desktop_agent.ui.runtime.eventloop import run
from desktop_agent.ui.runtime.garbage import WindowThreadCollector, collect_all

pytestmark = pytest.mark.usefixtures("qapp")


class Node:
    """Part of a cycle with itself, which holds something else."""

    def __init__(self, held: object = None) -> None:
        self.me = self
        self.held = held


def allocate_much() -> list[Node]:
    """Allocate enough for a collection to be due."""
    return [Node() for _ in range(gc.get_threshold()[0] + 1)]


class Thread:
    """The clocks of a thread that works for a share of the time."""

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
    """Make garbage that has survived a collection, and as many young ones as make an older one due."""
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


def test_garbage_is_collected_once_there_is_enough_of_it() -> None:
    collector = WindowThreadCollector()
    collector.start()
    node = Node()
    gone = weakref.ref(node)
    del node
    keep = allocate_much()
    assert gone() is not None
    collector.collect_due()
    assert gone() is None
    collector.stop()
    del keep


def test_old_garbage_waits_while_the_window_is_busy_and_goes_in_the_first_pause(
    collector: WindowThreadCollector, thread: Thread
) -> None:
    old = grow_old()
    keep = allocate_much()
    thread.passes(0.25, share=0.9)
    collector.collect_due()
    assert old() is not None
    thread.passes(0.25, share=0.1)
    collector.collect_due()
    assert old() is None
    del keep


def test_young_garbage_goes_while_the_window_is_busy(collector: WindowThreadCollector, thread: Thread) -> None:
    grow_old()
    node = Node()
    young = weakref.ref(node)
    del node
    keep = allocate_much()
    thread.passes(0.25, share=0.9)
    collector.collect_due()
    assert young() is None
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


def test_what_comes_in_great_numbers_is_passed_over_for_good(collector: WindowThreadCollector) -> None:
    loaded = [Node() for _ in range(40_000)]
    kept = gc.get_freeze_count()
    collector.collect_due()
    assert gc.get_freeze_count() >= kept + len(loaded)


def test_what_came_in_great_numbers_over_some_time_is_passed_over_for_good_too(
    collector: WindowThreadCollector, thread: Thread
) -> None:
    loaded: list[Node] = []
    kept = gc.get_freeze_count()
    while gc.get_count()[1] < gc.get_threshold()[1]:
        loaded += [Node() for _ in range(5_000)]
        thread.passes(0.25, share=0.9)
        collector.collect_due()
    keep = allocate_much()
    thread.passes(0.25, share=0.1)
    collector.collect_due()
    assert gc.get_freeze_count() >= kept + len(loaded)
    del keep


def test_automatic_collection_is_as_before_afterwards(qapp: QApplication) -> None:
    async def main() -> int:
        return int(gc.isenabled())

    assert run(qapp, main) == 0
    assert gc.isenabled()
    gc.disable()
    run(qapp, main)
    assert not gc.isenabled()


def test_all_that_is_not_frozen_can_be_collected_at_once() -> None:
    gc.freeze()
    old, young = grow_old(), weakref.ref(Node())
    assert None not in (old(), young())
    collect_all()
    assert (old(), young()) == (None, None)


def test_a_collection_of_all_goes_over_nothing_that_came_in_great_numbers() -> None:
    loaded = [Node() for _ in range(40_000)]
    gc.collect(1)
    kept = gc.get_freeze_count()
    collect_all()
    assert gc.get_freeze_count() >= kept + len(loaded)
