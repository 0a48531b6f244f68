"""The journal's kill test: starts writers and kills them. `python -m tests.e2e.journal_kill_lab FOLDER COUNT SEED`

Every trial is a forked child that is killed at a random moment. Half of them run real sessions, three at a time, with
short turns. The others only write journals, so that kills often split a write. A file has what was delivered of each
session: all of that must be in its journal.
"""

import asyncio
import itertools
import json
import os
import random
import signal
import string
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from desktop_agent.core.base.ids import SessionId, new_session_id
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import JsonObject, TextBlock
from desktop_agent.core.providers.scripted import Call, Reply, Say, ScriptedProvider, Step, Think, in_order
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import JOURNAL_NAME, Journal
from tests.e2e.kill_lab import live
from tests.harness import MODEL, Ground, Receiver

AT = datetime(2026, 11, 22, tzinfo=UTC)
AT_ONCE = 3
LONGEST_LIFE_S = 0.6
LONGEST_WRITING_S = 0.15
TURNS = 2
"""Of a session with only a journal."""


def script(number: int) -> list[Reply]:
    calls: list[Step] = [Call("read_file", {"path": "a.txt"}), Call("read_file", {"path": f"missing-{number}"})]
    plan: JsonObject = {"todos": [{"id": "1", "content": "x" * 300, "status": "pending"}], "merge": False}
    return [
        [Think("Where to begin? " * 20), Say("Looking around. " * 40), *calls],
        [Call("todo_write", plan), *calls],
        [Say("All of it. " * 2000)],
        [Say("Yes.")],
    ]


class Witness(Receiver):
    """Receives events as a window does, and writes them down."""

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
    async def one_after_the_other(first: int) -> None:
        for number in itertools.count(first, AT_ONCE):
            await one_session(ground, number, tell)

    await asyncio.gather(*map(one_after_the_other, range(AT_ONCE)))


def write_journals(ground: Ground, tell: Callable[[bytes], object]) -> None:
    """Write the journals of one session after the other, for ever.

    Their longest lines have almost a megabyte, so that a kill can split a write.
    """
    blobs = Blobs(ground.paths.blobs)
    for number in itertools.count():
        session_id = new_session_id(AT + timedelta(seconds=number))
        journal = Journal.create(ground.paths.sessions / session_id / JOURNAL_NAME, blobs)
        for seq, event in enumerate(conversation(session_id, str(ground.workspace)), start=1):
            journal.append(event.stamped(seq, AT), is_durable=seq == 1)
            tell(f"{session_id} {seq}\n".encode())
        journal.close()


def conversation(session_id: SessionId, workspace: str) -> Iterator[ev.KnownEvent]:
    yield ev.SessionOpened(
        session_id=session_id, workspace=workspace, model=MODEL, approval="never", app_version="0.1.0"
    )
    for turn in range(1, TURNS + 1):
        yield ev.PromptSubmitted(turn=turn, prompt_id=f"p{turn}", text="Say much. " * 1600)
        yield ev.TurnStarted(turn=turn, model=MODEL)
        blocks = tuple(TextBlock(text=letter * 16_000) for letter in string.ascii_letters)
        yield ev.MessageDone(turn=turn, message_id=f"m{turn}", model=MODEL, content=blocks, stop_reason="end_turn")
        yield ev.TurnEnded(turn=turn, reason="completed", requests=1, duration_s=1.0)


async def one_life(ground: Ground, told: Path, *, is_writing_only: bool) -> None:
    tell = partial(os.write, os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    if is_writing_only:
        write_journals(ground, tell)
    await write_on(ground, tell)


def wait_for_a_word(told: Path) -> None:
    while not (told.exists() and told.stat().st_size):
        time.sleep(0.002)  # noqa: TID251 - another process is waited for


def main() -> None:
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    for number in range(count):
        ground = Ground(folder / f"{number:04}")
        ground.write("a.txt", "a\n" * 2000)
        is_writing_only = number % 2 == 1
        child = live(partial(one_life, ground, folder / f"{number:04}" / "told", is_writing_only=is_writing_only))
        if number % 8:  # the others may be killed before any output
            wait_for_a_word(folder / f"{number:04}" / "told")
        longest_s = LONGEST_WRITING_S if is_writing_only else LONGEST_LIFE_S
        time.sleep(rng.uniform(0, longest_s))  # noqa: TID251 - the random moment is the point
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"trial": number, "killed": os.WIFSIGNALED(status)}), flush=True)


if __name__ == "__main__":
    main()
