"""Journal records: appending with and without waiting for the disk, and reading a session back.

Run: `python -m tests.benchmarks.bench_journal`. Records of 1.2 kB, as sessions have them. The yardsticks are a bare
`os.write` of the same line, that and a bare `fsync`, and `json.loads` of every line.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef, TextBlock, ToolUseBlock
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import Journal
from desktop_agent.core.store.journal.journal_reader import read_journal

COUNT = 2000
SYNCED = 100
REPEATS = 7
MODEL = ModelRef(provider="anthropic", model="claude-sonnet-5-5")
TEXT = "Die Seiten werden jetzt von eins gezählt, not from zero.\n" * 8


def message(number: int) -> ev.MessageDone:
    blocks = (TextBlock(text=TEXT), ToolUseBlock(id=f"c{number}", name="grep", arguments={"pattern": TEXT}))
    body = ev.MessageDone(turn=1, message_id=f"m{number}", model=MODEL, content=blocks, stop_reason="tool_use")
    return body.stamped(number, ev.UNSTAMPED)


def bare(folder: Path, lines: list[bytes], *, is_synced: bool) -> float:
    """Return the seconds for one line."""
    descriptor = os.open(folder / f"bare-{time.monotonic_ns()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    began = time.perf_counter()
    for line in lines:
        os.write(descriptor, line)
        if is_synced:
            os.fsync(descriptor)
    took = time.perf_counter() - began
    os.close(descriptor)
    return took / len(lines)


def ours(folder: Path, events: list[ev.MessageDone], *, is_synced: bool) -> tuple[float, float]:
    """Return the mean and the 99th percentile of the seconds for one record."""
    journal = Journal.create(folder / f"s{time.monotonic_ns()}" / "journal.jsonl", Blobs(folder / "blobs"))
    each: list[float] = []
    began = last = time.perf_counter()
    for event in events:
        journal.append(event, is_durable=is_synced)
        now = time.perf_counter()
        each.append(now - last)
        last = now
    took = last - began
    journal.close()
    return took / len(events), statistics.quantiles(each, n=100)[-1]


def interleaved(*measures: Callable[[], float]) -> list[float]:
    rounds = [[measure() for measure in measures] for _ in range(REPEATS)]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        events = [message(number) for number in range(1, COUNT + 1)]
        path, blobs = folder / "one" / "journal.jsonl", Blobs(folder / "blobs")
        journal = Journal.create(path, blobs)
        for event in events:
            journal.append(event, is_durable=False)
        journal.close()
        lines = path.read_bytes().splitlines(keepends=True)
        slow: list[float] = []

        def append() -> float:
            mean, most = ours(folder, events, is_synced=False)
            slow.append(most)
            return mean

        write, record = interleaved(lambda: bare(folder, lines, is_synced=False), append)
        synced, durable = interleaved(
            lambda: bare(folder, lines[:SYNCED], is_synced=True),
            lambda: ours(folder, events[:SYNCED], is_synced=True)[0],
        )
        parse, read = interleaved(
            lambda: timed(lambda: [json.loads(line) for line in lines]) / COUNT,
            lambda: timed(lambda: read_journal(path, blobs)) / COUNT,
        )
    print(f"line of {len(lines[0])} bytes            yardstick        ours    ratio")
    for what, yardstick, mine in (
        ("append            (os.write)", write, record),
        ("append, durable (and fsync)", synced, durable),
        ("read           (json.loads)", parse, read),
    ):
        print(f"{what:28} {yardstick * 1e6:9.1f} µs {mine * 1e6:9.1f} µs {mine / yardstick:7.2f}x")
    print(f"99 of 100 appends without fsync: below {statistics.median(slow) * 1000:.2f} ms")
    return 0 if statistics.median(slow) < 0.001 and durable < 2 * synced + 0.001 else 1


if __name__ == "__main__":
    sys.exit(main())
