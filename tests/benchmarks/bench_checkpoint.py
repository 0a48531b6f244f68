"""The cost of checkpoints: the time at each edit, and the disk after a hundred turns.

**Time.** A checkpoint is `Ledger.record` of one edited file of 10 KB: both images compressed and durable. The yardstick
is a checkpoint by a shadow repository without changes: `git add -A && git write-tree` in a tree of 30,000 files. The
limit is 1/50 of that. The floor is the disk's: as many bare files of the size of the packed images, and their folder,
synced at the same time by threads. Where that takes more than 1/50, no checkpoint can hold the limit.

**Disk.** A hundred turns of edits. The lengths of all blob files are compared with the sum of
`zlib.compress(version, 6)` over all distinct versions of files. The limit is 1.2. For information: the blocks on the
disk, and a git repository with the same versions after `git gc`.

Run: `pytest tests/benchmarks/bench_checkpoint.py`; `--profile nightly` repeats more often.
"""

import os
import random
import subprocess
import sysconfig
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import pytest

from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol.events import UNSTAMPED, ChangesPrepared
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import JOURNAL_NAME, Journal
from desktop_agent.core.system.file_writes import write_state
from desktop_agent.core.system.files import FileState, FileTransition
from tests.benchmarks.floors import ratio_of, took_ms
from tests.benchmarks.source_tree import FILES, GIT, grow

pytestmark = pytest.mark.skipif(not GIT, reason="git is not installed")

TURNS = 100
FLOOR = "the floor: two and their folder"

Record = Callable[[], FileChange]


def git(folder: Path, *arguments: str) -> bytes:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
    return subprocess.check_output([GIT, *identity, *arguments], cwd=folder, env=environ, stderr=subprocess.DEVNULL)


def sources(least: int, most: int) -> list[bytes]:
    library = Path(sysconfig.get_path("stdlib"))
    paths = sorted(path for path in library.rglob("*.py") if least <= path.stat().st_size <= most)
    return [path.read_bytes() for path in paths if "site-packages" not in path.parts]


class Edits:
    def __init__(self) -> None:
        self._chance = random.Random(7)

    def edit(self, content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        for _ in range(self._chance.randint(1, 3)):
            start = self._chance.randrange(len(lines))
            new = [b"    value_%d = compute(%d)\n" % (self._chance.randrange(999), start)]
            lines[start : start + self._chance.randint(0, 4)] = new * self._chance.randint(1, 3)
        return b"".join(lines)

    def some(self, paths: list[str], most: int) -> list[str]:
        return self._chance.sample(paths, self._chance.randint(1, most))


class Checkpoints:
    """Makes one kind of checkpoint after the other, each of new content."""

    def __init__(self, folder: Path) -> None:
        blobs = Blobs(folder / "blobs")
        self._ledger = Ledger(folder, blobs)
        self._journal = Journal.create(folder / "session" / JOURNAL_NAME, blobs)
        self._sources = [content[:10_000] for content in sources(10_000, 50_000)]
        self._edits = Edits()
        self._count = 0
        self._last = self._before = b""
        self._path = ""
        self._folder = folder
        self._waiting = ThreadPoolExecutor(3)

    def bare_file(self) -> Callable[[], object]:
        """The cost of one durable write: a new file of the size of a packed image, and its `fsync`."""
        self._count += 1
        path = self._folder / f"bare{self._count}"

        def act() -> None:
            with path.open("xb") as file:
                file.write(bytes(3_500))
                file.flush()
                os.fsync(file.fileno())

        return act

    def bare_checkpoint(self) -> Callable[[], object]:
        """The disk's share of a file's first edit: two such files and their folder, synced side by side."""
        self._count += 1
        paths = [self._folder / f"bare{self._count}{side}" for side in "ab"]

        def act() -> None:
            descriptors = [os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600) for path in paths]
            for descriptor in descriptors:
                os.write(descriptor, bytes(3_500))
            descriptors.append(os.open(self._folder, os.O_RDONLY))
            for waiting in [self._waiting.submit(os.fsync, descriptor) for descriptor in descriptors]:
                waiting.result()
            for descriptor in descriptors:
                os.close(descriptor)

        return act

    def first_edit(self) -> Record:
        self._count += 1
        before = b"# %d\n" % self._count + self._sources[self._count % len(self._sources)]
        return self._recording(before)

    def next_edit(self) -> Record:
        """The next edit of the same file: its before-image is stored already."""
        return self._recording(self._last)

    def written_edit(self) -> Record:
        """A first edit and its intent in the journal: all that happens before a file is written."""
        record = self.first_edit()

        def act() -> FileChange:
            change = record()
            event = ChangesPrepared(turn=1, call_id="c", purpose="apply", changes=(change,))
            self._journal.append(event.stamped(1, UNSTAMPED), is_durable=True)
            return change

        return act

    def whole_edit(self) -> Callable[[], object]:
        """An edit with its intent and the file itself: all that a user waits for."""
        record = self.written_edit()
        write_state(self._folder / self._path, FileState(content=self._before))

        def act() -> None:
            self._ledger.apply([record()])

        return act

    def _recording(self, before: bytes) -> Record:
        after = self._last = self._edits.edit(before)
        self._before = before
        path = self._path = f"module{self._count}.py"
        transition = FileTransition(path, FileState(content=before), FileState(content=after))
        return lambda: self._ledger.record(transition, author="agent", change_id="1.1")

    def close(self) -> None:
        self._journal.close()
        self._waiting.shutdown()


def test_a_checkpoint_per_edited_file(is_nightly: bool, tmp_path: Path) -> None:
    repeats = 40 if is_nightly else 15
    tree = tmp_path / "tree"
    tree.mkdir()
    grow(tree)
    git(tree, "add", "-A")

    def shadow() -> None:
        git(tree, "add", "-A")
        git(tree, "write-tree")

    checkpoints = Checkpoints(tmp_path / "data")
    makers: dict[str, Callable[[], Callable[[], object]]] = {
        "a bare file and its fsync": checkpoints.bare_file,
        FLOOR: checkpoints.bare_checkpoint,
        "first edit of a file": checkpoints.first_edit,
        "next edit of the same file": checkpoints.next_edit,
        "first edit, and the journal": checkpoints.written_edit,
        "the same, and the file itself": checkpoints.whole_edit,
    }
    os.sync()  # the tree is on the disk: nothing measured waits for it
    shadow()
    yardstick: list[float] = []
    ours: dict[str, list[float]] = {name: [] for name in makers}
    for _ in range(repeats):
        yardstick.append(took_ms(shadow))
        for name, make in makers.items():
            ours[name].append(median(took_ms(make()) for _ in range(5)))
    checkpoints.close()
    print(f"{FILES:,} files; median of {repeats}; git add -A && git write-tree: {median(yardstick):.0f} ms")
    print(f"{'':34}{'took':>10}{'best':>9}{'yardstick /':>13}{'limit':>7}{'/ floor':>9}")
    for name, times in ours.items():
        each = ratio_of(yardstick, times)
        over = ratio_of(times, ours[FLOOR])
        limit = 50 if name.endswith("edit of a file") or name.startswith("next") else ""
        best = f"{min(times):>6.2f} ms"
        print(f"{name:34}{median(times):>7.2f} ms{best}{each:>13.0f}{limit:>7}{over:>9.2f}")


class History:
    """A project over a hundred turns, stored by the ledger and, version by version, committed to git."""

    def __init__(self, folder: Path) -> None:
        self.blobs = Blobs(folder / "blobs")
        self.repository = folder / "repository"
        self.repository.mkdir()
        self.versions: set[bytes] = set()
        self.edits = 0
        self._ledger = Ledger(folder / "work", self.blobs)
        self.files = {f"pkg/module{number:03}.py": content for number, content in enumerate(sources(5_000, 50_000))}
        git(self.repository, "init", "-q")

    def change(self, path: str, after: bytes | None) -> None:
        before = self.files.pop(path, None)
        old, new = (None if content is None else FileState(content=content) for content in (before, after))
        self._ledger.record(FileTransition(path, old, new), author="agent", change_id=f"1.{self.edits}")
        self.versions |= {content for content in (before, after) if content is not None}
        self.edits += 1
        if before is not None and not (self.repository / path).exists():
            self._write(path, before)
            self.commit()
        self._write(path, after)
        if after is not None:
            self.files[path] = after

    def commit(self) -> None:
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-q", "--allow-empty", "-m", "turn")

    def _write(self, path: str, content: bytes | None) -> None:
        place = self.repository / path
        place.parent.mkdir(exist_ok=True)
        if content is None:
            place.unlink()
        else:
            place.write_bytes(content)


def work(history: History) -> None:
    edits = Edits()
    fresh = iter(sources(2_000, 5_000))
    for turn in range(TURNS):
        for path in edits.some(sorted(history.files)[:120], 4):
            for _ in range(1 + turn % 2):
                history.change(path, edits.edit(history.files[path]))
        if turn % 4 == 0:
            history.change(f"pkg/new{turn:03}.py", next(fresh))
        if turn % 10 == 9:
            [path] = edits.some(sorted(history.files), 1)
            history.change(path, None)
        if turn == TURNS // 2:
            for path in sorted(history.files)[:200]:
                history.change(path, history.files[path].replace(b"self", b"this") + b"# formatted\n")
        history.commit()


def lengths(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def blocks(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in (folder, *folder.rglob("*")))


def test_the_disk_that_a_hundred_turns_take(tmp_path: Path) -> None:
    history = History(tmp_path)
    work(history)
    changed = sum(len(zlib.compress(version, 6)) for version in history.versions)
    plain = sum(map(len, history.versions))
    held = lengths(history.blobs.folder)
    git(history.repository, "gc", "-q", "--aggressive", "--prune=now")
    objects = history.repository / ".git" / "objects"
    print(f"{TURNS} turns, {history.edits} changes of files, {len(history.versions)} distinct versions")
    print(f"{'':38}{'bytes':>12}{'/ changed':>11}{'limit':>7}")
    rows = [
        ("the versions that changed, compressed", changed, ""),
        ("everything in the blob folder", held, "1.2"),
        ("the same, as blocks of the disk", blocks(history.blobs.folder), ""),
        ("the versions as they are", plain, ""),
        ("git, after gc --aggressive", lengths(objects), ""),
    ]
    for name, size, limit in rows:
        print(f"{name:38}{size:>12,}{size / changed:>11.3f}{limit:>7}")
    assert held <= 1.2 * changed
