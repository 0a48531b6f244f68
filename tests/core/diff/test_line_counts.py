"""Line counts equal those of the diff; big files are counted without the interpreter lock."""

from collections.abc import Generator

import pytest

from desktop_agent.core.diff.comparing import LineCounter
from desktop_agent.core.diff.comparison_process import ComparisonProcess
from desktop_agent.core.diff.diff import count_lines

BEFORE = b"".join(b"line %d\n" % number for number in range(30_000))
AFTER = BEFORE.replace(b"line 5\n", b"").replace(b"line 29000\n", b"one\ntwo\n")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[ComparisonProcess]:
    processes: list[ComparisonProcess] = []
    real = ComparisonProcess.__init__

    def init(self: ComparisonProcess) -> None:
        processes.append(self)
        real(self)

    monkeypatch.setattr(ComparisonProcess, "__init__", init)
    return processes


@pytest.fixture
def counter() -> Generator[LineCounter]:
    counter = LineCounter()
    yield counter
    counter.close()


def test_big_files_are_counted_in_one_process(counter: LineCounter, started: list[ComparisonProcess]) -> None:
    assert counter.count(BEFORE, AFTER) == count_lines(BEFORE, AFTER) == (2, 2)
    assert counter.count(AFTER, BEFORE) == (2, 2)
    assert len(started) == 1


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (b"a\n", b"b\nc\n", (2, 1)),
        (None, BEFORE, (30_000, 0)),
        (BEFORE, None, (0, 30_000)),
        (BEFORE, BEFORE, (0, 0)),
        (b"\0" + BEFORE, AFTER, (0, 0)),
    ],
)
def test_what_is_counted_at_once_needs_none(
    counter: LineCounter,
    started: list[ComparisonProcess],
    before: bytes | None,
    after: bytes | None,
    expected: tuple[int, int],
) -> None:
    assert counter.count(before, after) == count_lines(before, after) == expected
    assert not started


def test_what_takes_too_long_counts_as_one_edit(started: list[ComparisonProcess]) -> None:
    counter = LineCounter(time_limit_s=0)
    assert counter.count(BEFORE, AFTER) == (29_000 - 5 + 1, 29_000 - 5 + 1)
    counter.close()
    assert len(started) == 1


def test_where_no_process_can_be_started_the_figures_are_right(
    counter: LineCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(_: ComparisonProcess) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(ComparisonProcess, "__init__", init)
    assert counter.count(BEFORE, AFTER) == (2, 2)
