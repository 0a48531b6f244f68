"""The cost of a commit of 200 hunks, beside git's own commit of the same lines.

Twenty files of a repository of 1,000 get ten hunks each. Ours plans, merges, stores, and moves the index and HEAD,
inside a running process; git's is `git commit -a`, a process of its own. The files are older than the index, as those
of a repository in use: git looks at younger ones. The limit, twice git's, is on the processor's time, which other
programs hardly change. The time by the clock is printed beside it.

Run: `pytest tests/benchmarks/bench_commit.py`; `--profile nightly` repeats more often.
"""

import asyncio
import os
import subprocess
import time
from pathlib import Path

from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.commits.git_commit import commit_changes
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.files import FileState, FileTransition
from tests.benchmarks.floors import children_s, took_ms
from tests.core.undo.on_record import OnRecord

FILES, HUNKS, ROUNDS = 20, 10, 15
MOST_WORK = 2
OLD_S = 1_000_000_000
LINES = 400


def content(version: int) -> bytes:
    changed = range(7, LINES, LINES // HUNKS)
    return b"".join(b"line %d%s\n" % (line, b" v%d" % version if line in changed else b"") for line in range(LINES))


class Pair:
    """Two repositories alike, in which the same lines change. One is committed by us, the other by git."""

    def __init__(self, top: Path) -> None:
        self._round = 0
        self._ours, self._gits = top / "ours", top / "gits"
        self._environ = {**os.environ, "GIT_CONFIG_GLOBAL": str(top / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"}
        (top / "gitconfig").write_text("[user]\nname = Bench\nemail = bench@example.org\n[gc]\nauto = 0\n")
        os.environ.update(self._environ)
        for folder in (self._ours, self._gits):
            folder.mkdir()
            for number in range(1_000):
                file = folder / f"file{number}.txt"
                file.write_bytes(content(0) if number < FILES else b"%d\n" % number)
                os.utime(file, (OLD_S, OLD_S))
            for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
                subprocess.check_call(["git", *arguments], cwd=folder, env=self._environ)
        self._blobs = Blobs(top / "blobs")
        self._loop = asyncio.new_event_loop()

    def change(self) -> None:
        self._round += 1
        self._record = OnRecord()
        self._ledger = Ledger(self._ours, self._blobs)
        before, after = (FileState(content=content(version)) for version in (self._round - 1, self._round))
        changes = [
            self._ledger.record(
                FileTransition(f"file{number}.txt", before, after), author="agent", change_id=f"1.{number + 1}"
            )
            for number in range(FILES)
        ]
        self._record.changed(changes)
        for folder in (self._ours, self._gits):
            for number in range(FILES):
                (folder / f"file{number}.txt").write_bytes(after.content)

    def commit_ours(self) -> None:
        done = commit_changes(self._record.transcript, self._ledger, (ChangeSelection(),), f"Round {self._round}")
        assert len(self._loop.run_until_complete(done).paths) == FILES

    def commit_gits(self) -> None:
        subprocess.check_call(["git", "commit", "-qam", f"Round {self._round}"], cwd=self._gits, env=self._environ)

    def close(self) -> None:
        self._loop.close()


def test_the_cost_of_a_commit_of_200_hunks(tmp_path: Path, *, is_nightly: bool) -> None:
    pair = Pair(tmp_path)
    times: dict[str, list[tuple[float, float]]] = {"ours": [], "git's": []}
    for _ in range(ROUNDS * (4 if is_nightly else 1)):
        pair.change()
        for name, work in (("ours", pair.commit_ours), ("git's", pair.commit_gits)):
            begun = time.process_time()
            cost: list[float] = []
            children = children_s(lambda: cost.append(took_ms(work)))  # noqa: B023 - it is called at once
            times[name].append((cost[0], (time.process_time() - begun + children) * 1000))
    pair.close()
    (our_clock, our_work), (gits_clock, gits_work) = (
        [min(one) for one in zip(*times[name], strict=True)] for name in times
    )
    print(f"\nours {our_work:.1f} ms of work in {our_clock:.1f} ms, git's {gits_work:.1f} ms in {gits_clock:.1f} ms")
    print(f"ours takes {our_work / gits_work:.2f} times the work and {our_clock / gits_clock:.2f} times the time")
    assert our_work <= MOST_WORK * gits_work
