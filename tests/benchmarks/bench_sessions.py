"""The delay of a record in one session while another one is busy.

The yardstick is the same session with nothing beside it, measured in turns.
"""

import asyncio
import statistics
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Call
from tests.harness import Ground, Open

RECORDS = 100
ROUNDS = 5
LIMIT = 5.0

Busy = Callable[[Open], Awaitable[Callable[[], None]]]


async def nothing(_: Open) -> Callable[[], None]:
    return lambda: None


async def full_pool(_: Open) -> Callable[[], None]:
    """Block every shared thread."""
    end = threading.Event()
    tasks = [asyncio.create_task(asyncio.to_thread(end.wait)) for _ in range(64)]
    await asyncio.sleep(0)

    def stop() -> None:
        end.set()
        for task in tasks:
            task.cancel()

    return stop


async def printing(other: Open) -> Callable[[], None]:
    await other.carry_out(ops.SubmitPrompt(text="print"), ev.ToolOutputDelta)

    def stop() -> None:
        other.submit(ops.Interrupt())

    return stop


async def record_ms(s: Open) -> float:
    taken: list[float] = []
    for number in range(RECORDS):
        began = time.perf_counter()
        await s.carry_out(ops.RenameSession(title=str(number)), ev.SessionRenamed)
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


async def test_a_busy_session_does_not_slow_the_records_of_another(tmp_path: Path) -> None:
    busy: dict[str, Busy] = {
        "nothing beside it": nothing,
        "all shared threads taken": full_pool,
        "a command that prints": printing,
    }
    found: dict[str, list[float]] = {name: [] for name in busy}
    ground = Ground(tmp_path)
    script = [[Call("run_terminal_cmd", {"command": "yes"})] for _ in range(ROUNDS)]
    async with ground.session([]) as s, ground.session(script, approval="never") as other:
        for _ in range(ROUNDS):
            for name, begin in busy.items():
                stop = await begin(other)
                found[name].append(await record_ms(s))
                stop()
                while other.session.transcript.turns.is_running:
                    await other.rx.expect(ev.TurnEnded)
    yardstick = statistics.median(found["nothing beside it"])
    ratios = {name: statistics.median(values) / yardstick for name, values in found.items()}
    lines = [f"one record, from asking for it to hearing of it (limit {LIMIT:.0f} x)"]
    lines += [f"{name:28}{statistics.median(found[name]):8.2f} ms{ratio:8.2f} x" for name, ratio in ratios.items()]
    print(*lines, sep="\n")
    assert max(ratios.values()) <= LIMIT
