"""The overhead of a tool call, from the model's message to the recorded result.

A tool without work is called many times in one turn of a real session, with journal and fsync. The yardstick is a
process that does nothing (`true`).
"""

import asyncio
import subprocess
import time
from datetime import timedelta
from pathlib import Path
from statistics import median, quantiles

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.providers.scripted import Call, Say
from tests.barrier import Meeting, MeetingTool
from tests.harness import Ground

LIMIT_MS = 5.0
CALLS = 200
PARALLEL = 20


def true_s() -> float:
    begun = time.perf_counter()
    subprocess.run(["true"], check=True)  # noqa: TID251 - a whole process
    return time.perf_counter() - begun


async def test_a_call_costs_little_beyond_its_own_work(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    ground.extra_tools = (MeetingTool(Meeting(0), []),)
    one_each = [[Call("meet", {"name": str(number)})] for number in range(CALLS)]
    together = [[Call("meet", {"name": str(number)}) for number in range(PARALLEL)] for _ in range(CALLS // PARALLEL)]
    async with ground.session([*one_each, *together, [Say("ok")]]) as s:
        await s.prompt()
        took = spans(s.rx.events)
    single = [first.total_seconds() * 1000 for first in took[:CALLS]]
    batched = [span.total_seconds() * 1000 / PARALLEL for span in took[CALLS:]]
    process = median([await asyncio.to_thread(true_s) for _ in range(30)]) * 1000
    lines = [
        f"dispatch to result of a tool that does nothing (limit {LIMIT_MS:.1f} ms)",
        f"{'':32}{'median ms':>10}{'95 % ms':>10}{'limit':>8}",
        f"{'one call':32}{median(single):10.2f}{quantiles(single, n=20)[-1]:10.2f}{LIMIT_MS:8.1f}",
        f"{f'each of {PARALLEL} side by side':32}{median(batched):10.2f}{max(batched):10.2f}{LIMIT_MS:8.1f}",
        f"{'yardstick: the program `true`':32}{process:10.2f}",
    ]
    print(*lines, sep="\n")
    assert median(single) <= LIMIT_MS


def spans(events: list[ev.Event]) -> list[timedelta]:
    found: list[timedelta] = []
    begun = None
    last = None
    for event in events:
        match event:
            case ev.MessageDone():
                if begun is not None and last is not None:
                    found.append(last - begun)
                begun, last = event.at, None
            case ev.ToolCallFinished():
                last = event.at
            case _:
                pass
    return found
