"""Diffs against git. Run: `pytest tests/benchmarks/bench_diff.py`.

Medians of interleaved repeats; only the ratios matter. Nothing fails for being slow.
"""

import asyncio
import gc
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from statistics import median

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from desktop_agent.core.diff.comparing import Comparer
from desktop_agent.core.diff.diff import count_lines, diff_change, find_edits
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.runtime.eventloop import SWITCH_INTERVAL_S
from desktop_agent.ui.runtime.garbage import WindowThreadCollector
from desktop_agent.ui.theme import Theme
from tests.benchmarks.floors import idle_beside, in_turns
from tests.core.diff.changes import change_of

GIT = shutil.which("git") or ""
pytestmark = pytest.mark.skipif(not GIT, reason="git is not installed")

Texts = tuple[str, str]

TURNS_BEFORE_A_PAUSE = 20
"""The user scrolls, pauses to look, and scrolls on."""
PAUSE_MS = 400
"""Long enough for the syntax colours, which are computed at rest."""


def numbered(count: int, edits: int) -> Texts:
    chance = random.Random(7)
    old = [f"    value_{number} = compute({chance.randrange(10**6)}, {number % 97})\n" for number in range(count)]
    new = list(old)
    for place in chance.sample(range(count), edits):
        new[place] = new[place].replace("compute", "recompute")
    return "".join(old), "".join(new)


def repetitive(count: int) -> Texts:
    """Lines of only four different values, the worst case for line matching."""
    chance = random.Random(7)
    old = [f"line {chance.randrange(4)}\n" for _ in range(count)]
    new = list(old)
    for place in chance.sample(range(count), 100):
        new[place] = f"line {chance.randrange(4)}\n"
    for place in sorted(chance.sample(range(count), 50), reverse=True):
        del new[place]
    return "".join(old), "".join(new)


def with_block(count: int, size: int) -> Texts:
    old, _ = numbered(count, 0)
    lines = old.splitlines(keepends=True)
    block = [f"    new_{number} = insert({number})\n" for number in range(size)]
    return old, "".join((*lines[: count // 2], *block, *lines[count // 2 :]))


def moved(count: int, size: int) -> Texts:
    old, _ = numbered(count, 0)
    lines = old.splitlines(keepends=True)
    start, end = count // 10, count // 10 + size
    return old, "".join((*lines[:start], *lines[end : -count // 10], *lines[start:end], *lines[-count // 10 :]))


def rewritten(count: int, values: int) -> Texts:
    chance = random.Random(7)
    old, new = ("".join(f"token {chance.randrange(values)}\n" for _ in range(count)) for _ in range(2))
    return old, new


def converted(count: int, edits: int) -> Texts:
    old, new = numbered(count, edits)
    return old, new.replace("\n", "\r\n")


SHAPES: dict[str, Callable[[], Texts]] = {
    "200 edits in 10,000 lines": lambda: numbered(10_000, 200),
    "1,000 edits in 100,000 lines": lambda: numbered(100_000, 1_000),
    "20,000 lines of 4 values": lambda: repetitive(20_000),
    "200 lines inserted in 10,000": lambda: with_block(10_000, 200),
    "500 lines moved in 10,000": lambda: moved(10_000, 500),
    "5,000 lines of 50 values rewritten": lambda: rewritten(5_000, 50),
    "100,000 lines to CRLF": lambda: converted(100_000, 1_000),
}


class Git:
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
        added, removed, _ = (self.run("--numstat") or "0 0 -").split(maxsplit=2)
        return int(added) + int(removed)


class Case:
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

    def ask(self, loop: asyncio.AbstractEventLoop, comparer: Comparer) -> FileDiff:
        return loop.run_until_complete(comparer.diff(self._change, self.before, self.after))


@pytest.fixture(params=SHAPES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    return Case(tmp_path, request.param)


@pytest.fixture
def repeats(is_nightly: bool) -> int:
    return 25 if is_nightly else 5


@pytest.fixture
def comparing() -> Generator[tuple[asyncio.AbstractEventLoop, Comparer]]:
    loop = asyncio.new_event_loop()
    comparer = Comparer()
    yield loop, comparer
    loop.run_until_complete(comparer.aclose())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


@pytest.fixture(autouse=True)
def frozen_heap() -> Generator[None]:
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def as_in_the_window(qapp: QApplication) -> Generator[None]:
    collector = WindowThreadCollector(qapp)
    switch_interval_s = sys.getswitchinterval()
    collector.start()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    yield
    sys.setswitchinterval(switch_interval_s)
    collector.stop()


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


def test_matching_lines_takes_no_longer_than_git(case: Case, repeats: int) -> None:
    git_ms, match_ms, diff_ms = map(median, in_turns(repeats, case.git.run, case.match, case.diff))
    diff = case.diff()
    changed = (diff.added + diff.removed) / case.git.changed_lines()
    print(
        f"{case.name}: git {git_ms:.1f} ms | lines matched {match_ms / git_ms:.2f}x | with both texts read"
        f" {diff_ms / git_ms:.2f}x | changed lines {changed:.3f}x git's"
    )
    assert changed <= 1.02


def commits(repository: Path, count: int) -> Iterator[Texts]:
    def git(*arguments: str) -> str:
        command = [GIT, "-C", str(repository), *arguments]
        return subprocess.run(command, capture_output=True, check=True, encoding="utf-8", errors="replace").stdout  # noqa: TID251 - waited for

    for commit in git("rev-list", "--no-merges", f"--max-count={count}", "HEAD", "--", "*.py").split():
        for path in git("diff-tree", "--no-commit-id", "--name-only", "--diff-filter=M", "-r", commit).splitlines():
            if path.endswith(".py"):
                yield git("show", f"{commit}^:{path}"), git("show", f"{commit}:{path}")


def test_real_edits_are_told_in_no_more_lines_than_git_needs(tmp_path: Path, is_nightly: bool) -> None:
    repository = Path(__file__).parents[2]
    if not (repository / ".git").exists():
        pytest.skip("only a clone has a history")
    ours = theirs = files = 0
    worst = 1.0
    for texts in commits(repository, 200 if is_nightly else 25):
        changed = Git(tmp_path, texts).changed_lines()
        counted = sum(count_lines(*(text.encode() for text in texts)))
        ours, theirs, files = ours + counted, theirs + changed, files + 1
        worst = max(worst, counted / max(1, changed))
    whole = f"changed lines {ours / theirs:.4f}x git's"
    print(f"{files} files of this repository's history: {whole} | worst file {worst:.2f}x")
    assert ours <= 1.02 * theirs


def test_from_bytes_to_the_first_paint(
    case: Case,
    repeats: int,
    view: DiffView,
    comparing: tuple[asyncio.AbstractEventLoop, Comparer],
) -> None:
    ready = case.ask(*comparing)

    def show(diff: FileDiff) -> None:
        view.show_diff(diff)
        view.viewport().repaint()

    works = case.git.run, lambda: show(case.ask(*comparing)), lambda: show(ready)
    git_ms, whole_ms, shown_ms = map(median, in_turns(repeats, *works))
    print(
        f"{case.name}: git {git_ms:.1f} ms | bytes to first paint {whole_ms / git_ms:.2f}x"
        f" | of it on the window's thread {shown_ms:.1f} ms"
    )


def ordinary_file() -> Texts:
    """200,000 lines of code, every eighth changed, so that no lines are folded."""
    source = Path(random.__file__).read_text().splitlines(keepends=True)
    lines = (source * (200_000 // len(source) + 1))[:200_000]
    return "".join(lines), "".join(f"# {line}" if number % 8 == 0 else line for number, line in enumerate(lines))


def records_file() -> Texts:
    lines = [f'{{"id": {number}, "text": "{"lorem ipsum " * 660}"}}\n' for number in range(2_000)]
    return "".join(lines), "".join(lines).replace('"id"', '"ID"')


def tiny_lines() -> Texts:
    return "x\n" * 1_000_000, "y\n" * 1_000_000


def paint_something(view: DiffView) -> None:
    """Load fonts and glyphs, as `ReviewPanel.prepare` does in the window."""
    before, after = b"one\n", b"two\n"
    view.show_diff(diff_change(change_of("1.1", "some.py", before, after), before, after))
    view.grab()


@pytest.mark.parametrize("way", ["wheel", "pages", "jumps"])
@pytest.mark.parametrize("make", [ordinary_file, records_file, tiny_lines])
def test_the_worst_stall_while_scrolling(
    qtbot: QtBot,
    qapp: QApplication,
    repeats: int,
    as_in_the_window: None,
    view: DiffView,
    comparing: tuple[asyncio.AbstractEventLoop, Comparer],
    make: Callable[[], Texts],
    way: str,
) -> None:
    loop, comparer = comparing
    paint_something(view)
    before, after = (text.encode() for text in make())
    change = change_of("1.1", "random.py", before, after)
    view.show_diff(loop.run_until_complete(comparer.diff(change, before, after)))
    bar, chance = view.verticalScrollBar(), random.Random(1)
    stalls: list[float] = []
    work: list[float] = []
    with idle_beside() as standstill:
        for step in range(40 * repeats):
            if step == TURNS_BEFORE_A_PAUSE:
                qtbot.wait(PAUSE_MS)
            place = {"wheel": 57 * step, "pages": 800 * step, "jumps": chance.randrange(bar.maximum())}[way]
            start, work_start = time.perf_counter(), time.thread_time()
            bar.setValue(place)
            qapp.processEvents()
            stalls.append((time.perf_counter() - start) * 1_000)
            work.append((time.thread_time() - work_start) * 1_000)
    work.sort()
    slowest = stalls.index(max(stalls))
    stalls.sort()
    print(
        f"{make.__name__}, {len(view.document.rows):,} rows, by {way}: median {median(stalls):.1f} ms"
        f" | 95 % {stalls[int(len(stalls) * 0.95)]:.1f} | worst {stalls[-1]:.1f}"
        f" (turn {slowest}) | own work: median {median(work):.1f}, worst {work[-1]:.1f} and {work[-2]:.1f}"
        f" | an idle process meanwhile stood still for {standstill.worst_ms:.1f}"
    )
