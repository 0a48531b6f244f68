"""Journal records: appending with and without waiting for the disk, and reading a session back.

Records of 1.2 kB, as sessions have them. The yardsticks are a bare
`os.write` of the same line, that and a bare `fsync`, and `json.loads` of every line.
"""

import json
import os
import time
from pathlib import Path
from statistics import median, quantiles

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef, TextBlock, ToolUseBlock
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import Journal
from desktop_agent.core.store.journal.journal_reader import read_journal
from tests.benchmarks.floors import in_turns

COUNT = 2000
SYNCED = 100
REPEATS = 7
MODEL = ModelRef(provider="anthropic", model="claude-sonnet-5-5")
TEXT = "Die Seiten werden jetzt von eins gezählt, not from zero.\n" * 8


def message(number: int) -> ev.MessageDone:
    blocks = (TextBlock(text=TEXT), ToolUseBlock(id=f"c{number}", name="grep", arguments={"pattern": TEXT}))
    body = ev.MessageDone(turn=1, message_id=f"m{number}", model=MODEL, content=blocks, stop_reason="tool_use")
    return body.stamped(number, ev.UNSTAMPED)


def bare(folder: Path, lines: list[bytes], *, is_synced: bool) -> None:
    descriptor = os.open(folder / f"bare-{time.monotonic_ns()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for line in lines:
        os.write(descriptor, line)
        if is_synced:
            os.fsync(descriptor)
    os.close(descriptor)


def ours(folder: Path, events: list[ev.MessageDone], *, is_synced: bool) -> float:
    """Return the 99th percentile of the seconds for one record."""
    journal = Journal.create(folder / f"s{time.monotonic_ns()}" / "journal.jsonl", Blobs(folder / "blobs"))
    each: list[float] = []
    last = time.perf_counter()
    for event in events:
        journal.append(event, is_durable=is_synced)
        now = time.perf_counter()
        each.append(now - last)
        last = now
    journal.close()
    return quantiles(each, n=100)[-1]


def test_a_record_costs_little_more_than_its_line(tmp_path: Path) -> None:
    events = [message(number) for number in range(1, COUNT + 1)]
    path, blobs = tmp_path / "one" / "journal.jsonl", Blobs(tmp_path / "blobs")
    journal = Journal.create(path, blobs)
    for event in events:
        journal.append(event, is_durable=False)
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    slow: list[float] = []

    def parse() -> None:
        for line in lines:
            json.loads(line)

    pairs = {
        "append            (os.write)": (
            COUNT,
            lambda: bare(tmp_path, lines, is_synced=False),
            lambda: slow.append(ours(tmp_path, events, is_synced=False)),
        ),
        "append, durable (and fsync)": (
            SYNCED,
            lambda: bare(tmp_path, lines[:SYNCED], is_synced=True),
            lambda: ours(tmp_path, events[:SYNCED], is_synced=True),
        ),
        "read           (json.loads)": (COUNT, parse, lambda: read_journal(path, blobs)),
    }
    took: dict[str, list[float]] = {}
    print(f"line of {len(lines[0])} bytes            yardstick        ours    ratio")
    for what, (count, yardstick, work) in pairs.items():
        floor, cost = took[what] = [median(times) * 1000 / count for times in in_turns(REPEATS, yardstick, work)]
        print(f"{what:28} {floor:9.1f} µs {cost:9.1f} µs {cost / floor:7.2f}x")
    print(f"99 of 100 appends without fsync: below {median(slow) * 1000:.2f} ms")
    floor, durable = took["append, durable (and fsync)"]
    assert median(slow) < 0.001
    assert durable < 2 * floor + 1_000
