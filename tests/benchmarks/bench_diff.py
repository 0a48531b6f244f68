"""How fast diffs are, measured against git in the same run. Run it by name: `pytest tests/benchmarks/bench_diff.py`.

Numbers are medians of interleaved repeats; only the ratios mean anything on another machine. Nothing fails for being
slow: the tables are for people, and for whoever compares two runs.
"""

import gc
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from statistics import median

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from desktop_agent.core.changes.diff import diff_change, find_edits
from desktop_agent.core.model import FileDiff
from desktop_agent.ui.review.diff_view import DiffView
from desktop_agent.ui.theme import Theme
from tests.ui.review.stage import change_of, make_diff

GIT = shutil.which("git") or ""
pytestmark = pytest.mark.skipif(not GIT, reason="git is not installed")

Texts = tuple[str, str]


def numbered(count: int, edits: int) -> Texts:
    """Distinct lines, some of them edited here and there."""
    chance = random.Random(7)
    old = [f"    value_{number} = compute({chance.randrange(10**6)}, {number % 97})\n" for number in range(count)]
    new = list(old)
    for place in chance.sample(range(count), edits):
        new[place] = new[place].replace("compute", "recompute")
    return "".join(old), "".join(new)


def repetitive(count: int) -> Texts:
    """Lines of four values: what line matching can be most wrong about."""
    chance = random.Random(7)
    old = [f"line {chance.randrange(4)}\n" for _ in range(count)]
    new = list(old)
    for place in chance.sample(range(count), 100):
        new[place] = f"line {chance.randrange(4)}\n"
    for place in sorted(chance.sample(range(count), 50), reverse=True):
        del new[place]
    return "".join(old), "".join(new)


SHAPES: dict[str, Callable[[], Texts]] = {
    "200 edits in 10,000 lines": lambda: numbered(10_000, 200),
    "1,000 edits in 100,000 lines": lambda: numbered(100_000, 1_000),
    "20,000 lines of 4 values": lambda: repetitive(20_000),
}


class Git:
    """`git diff --no-index --histogram` of two files, as a whole process."""

    def __init__(self, folder: Path, texts: Texts) -> None:
        self._paths = [folder / "old", folder / "new"]
        for path, text in zip(self._paths, texts, strict=True):
            path.write_text(text, newline="")

    def run(self, *options: str) -> str:
        result = subprocess.run(  # noqa: TID251 - the yardstick is a whole process, waited for
            [GIT, "diff", "--no-index", "--histogram", *options, *map(str, self._paths)],
            capture_output=True,
            check=False,
            text=True,
        )
        return result.stdout

    def changed_lines(self) -> int:
        added, removed, _ = self.run("--numstat").split(maxsplit=2)
        return int(added) + int(removed)


def interleaved(repeats: int, *actions: Callable[[], object]) -> list[float]:
    """Median milliseconds of each action, run in turns so that a busy moment hits all of them."""
    samples: list[list[float]] = [[] for _ in actions]
    for _ in range(repeats):
        for times, action in zip(samples, actions, strict=True):
            start = time.perf_counter()
            action()
            times.append((time.perf_counter() - start) * 1_000)
    return [median(times) for times in samples]


class Case:
    """One shape: its bytes, the record of the change, and git on the same files."""

    def __init__(self, folder: Path, shape: str) -> None:
        old, new = SHAPES[shape]()
        self.name = shape
        self.git = Git(folder, (old, new))
        self.before, self.after = old.encode(), new.encode()
        self._change = change_of("1.1", "app.py", self.before, self.after)

    def match(self) -> object:
        return find_edits(self.before, self.after)

    def diff(self) -> FileDiff:
        return diff_change(self._change, self.before, self.after)


@pytest.fixture(params=SHAPES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    return Case(tmp_path, request.param)


@pytest.fixture
def repeats(is_nightly: bool) -> int:
    return 25 if is_nightly else 5


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def say(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{line}")

    return say


@pytest.fixture(autouse=True)
def frozen_heap() -> Generator[None]:
    """As in the application: what was loaded at the start is no longer looked at by the garbage collector."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def view(qtbot: QtBot, qapp: QApplication) -> DiffView:
    theme = Theme(qapp, "light")
    theme.install()
    view = DiffView(theme)
    qtbot.addWidget(view)
    view.resize(1_000, 860)
    view.show()
    qtbot.waitExposed(view)
    return view


def test_matching_lines_takes_no_longer_than_git(case: Case, repeats: int, say: Callable[[str], None]) -> None:
    git_ms, match_ms, diff_ms = interleaved(repeats, case.git.run, case.match, case.diff)
    diff = case.diff()
    changed = (diff.added + diff.removed) / case.git.changed_lines()
    say(
        f"{case.name}: git {git_ms:.1f} ms | lines matched {match_ms / git_ms:.2f}x | with both texts read"
        f" {diff_ms / git_ms:.2f}x | changed lines {changed:.3f}x git's"
    )
    assert changed <= 1.02


def test_from_bytes_to_the_first_paint(case: Case, repeats: int, view: DiffView, say: Callable[[str], None]) -> None:
    ready = case.diff()

    def show(diff: FileDiff) -> None:
        view.show_diff(diff)
        view.viewport().repaint()

    git_ms, whole_ms, shown_ms = interleaved(repeats, case.git.run, lambda: show(case.diff()), lambda: show(ready))
    say(
        f"{case.name}: git {git_ms:.1f} ms | bytes to first paint {whole_ms / git_ms:.2f}x"
        f" | of it on the window's thread {shown_ms:.1f} ms"
    )


def ordinary_file() -> Texts:
    """200,000 lines of code, every eighth changed, so that none is folded away."""
    source = Path(random.__file__).read_text().splitlines(keepends=True)
    lines = (source * (200_000 // len(source) + 1))[:200_000]
    return "".join(lines), "".join(f"# {line}" if number % 8 == 0 else line for number, line in enumerate(lines))


def records_file() -> Texts:
    """2,000 records of 8,000 characters on one line each, all changed."""
    lines = [f'{{"id": {number}, "text": "{"lorem ipsum " * 660}"}}\n' for number in range(2_000)]
    return "".join(lines), "".join(lines).replace('"id"', '"ID"')


@pytest.mark.parametrize("way", ["wheel", "pages", "jumps"])
@pytest.mark.parametrize("make", [ordinary_file, records_file])
def test_the_worst_stall_while_scrolling(
    qapp: QApplication,
    repeats: int,
    view: DiffView,
    say: Callable[[str], None],
    make: Callable[[], Texts],
    way: str,
) -> None:
    view.show_diff(make_diff(*make(), path="random.py"))
    bar, chance = view.verticalScrollBar(), random.Random(1)
    stalls: list[float] = []
    for step in range(40 * repeats):
        place = {"wheel": 57 * step, "pages": 800 * step, "jumps": chance.randrange(bar.maximum())}[way]
        start = time.perf_counter()
        bar.setValue(place)
        qapp.processEvents()
        stalls.append((time.perf_counter() - start) * 1_000)
    stalls.sort()
    say(
        f"{make.__name__}, {len(view.rows):,} rows, by {way}: median {median(stalls):.1f} ms"
        f" | 95 % {stalls[int(len(stalls) * 0.95)]:.1f} | worst {stalls[-1]:.1f}"
    )
