"""The laboratory of the journal's kill test: a process of its own that starts writers and kills them.

    python -m tests.e2e.journal_kill_lab FOLDER COUNT SEED

The imports are done once; every trial is a forked child that runs real sessions, three at a time and one after the
other, until it is killed with SIGKILL at a random moment. Turns are short and say much, so that the moment is mostly
one of writing. What was told of each session is kept in a file: that much must be in its journal.
"""

import asyncio
import itertools
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from desktop_agent.core import events as ev
from desktop_agent.core import ops
from desktop_agent.core.model import JsonObject
from desktop_agent.core.providers.scripted import Call, Reply, Say, ScriptedProvider, Step, Think, in_order
from tests.harness import MODEL, Ground, Receiver

AT_ONCE = 3
LONGEST_LIFE_S = 0.35


def script(number: int) -> list[Reply]:
    """Short and long texts, calls that succeed and fail, several in one message, and a text that goes to a blob."""
    calls: list[Step] = [Call("read_file", {"path": "a.txt"}), Call("read_file", {"path": f"missing-{number}"})]
    plan: JsonObject = {"todos": [{"id": "1", "content": "x" * 300, "status": "pending"}], "merge": False}
    return [
        [Think("Where to begin? " * 20), Say("Looking around. " * 40), *calls],
        [Call("todo_write", plan), *calls],
        [Say("All of it. " * 2000)],
        [Say("Yes.")],
    ]


class Witness(Receiver):
    """Hears events as a window would, and writes down what it was told."""

    def __init__(self, tell: Callable[[bytes], object]) -> None:
        super().__init__()
        self._tell = tell
        self._id = ""

    def __call__(self, event: ev.Event) -> None:
        if isinstance(event, ev.SessionOpened):
            self._id = event.session_id
        if isinstance(event, ev.DurableEvent) and event.seq:
            self._tell(f"{self._id} {event.seq}\n".encode())
        super().__call__(event)


async def one_session(ground: Ground, number: int, tell: Callable[[bytes], object]) -> None:
    bench = ground.bench(ScriptedProvider(in_order(script(number)), clock=ground.clock))
    rx = Witness(tell)
    session = await bench.create_session(ground.workspace, sink=rx, model=MODEL, approval="never")
    task = asyncio.create_task(session.run())
    for prompt in (f"Look at this. {'long ' * (number % 3 * 2000)}", "And now?"):
        session.submit(ops.SubmitPrompt(text=prompt))
        session.submit(ops.RenameSession(title=f"Session {number}"))
        await rx.expect(ev.TurnEnded)
    session.submit(ops.Shutdown())
    await task


async def write_on(ground: Ground, tell: Callable[[bytes], object]) -> None:
    """Run sessions for ever."""

    async def one_after_the_other(first: int) -> None:
        for number in itertools.count(first, AT_ONCE):
            await one_session(ground, number, tell)

    await asyncio.gather(*map(one_after_the_other, range(AT_ONCE)))


def start(ground: Ground, told: Path) -> int:
    """Fork a writer; return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        witness = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        asyncio.run(write_on(ground, lambda line: os.write(witness, line)))  # noqa: TID251 - the forked process's entry
    except BaseException as error:  # noqa: BLE001 - the parent must hear of it, whatever it is
        print(repr(error), file=sys.stderr, flush=True)
    os._exit(1)


def main() -> None:
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    for number in range(count):
        ground = Ground(folder / f"{number:04}")
        ground.write("a.txt", "a\n" * 2000)
        child = start(ground, folder / f"{number:04}" / "told")
        time.sleep(rng.uniform(0.02, LONGEST_LIFE_S))  # noqa: TID251 - the random moment is the point
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"trial": number, "killed": os.WIFSIGNALED(status)}), flush=True)


if __name__ == "__main__":
    main()
