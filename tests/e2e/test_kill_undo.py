"""Kill an undo or redo at any system call: nothing is lost, no id is used twice, and it can be repeated.

The histories are those of `tests/core/undo/real_history.py`. A repeated undo, and undoing and redoing everything after
it, must give the same as without a kill.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import encode as encode_op
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.verify import verify
from tests.core.undo.real_history import (
    COMMANDS,
    REDO_ALL,
    TOOLS,
    UNDO_ALL,
    Player,
    Revert,
    Saved,
    Step,
    opened,
    reverted,
)
from tests.e2e.calls_kill_lab import Ended, Trial
from tests.e2e.test_kill import no_litter
from tests.trees import Tree, tree_of

KILLS = 6
NIGHTLY_KILLS = 10
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 31))]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ptrace(2) of this form is Linux's")


@dataclass(frozen=True)
class Lab:
    process: asyncio.subprocess.Process

    async def carry_out(self, trial: Trial) -> Ended:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(msgspec.json.encode(trial) + b"\n")
        return msgspec.json.decode(await self.process.stdout.readline(), type=Ended)


@asynccontextmanager
async def lab() -> AsyncGenerator[Lab]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.e2e.calls_kill_lab", stdin=pipe, stdout=pipe
    )
    try:
        assert process.stdout is not None
        if not msgspec.json.decode(await process.stdout.readline(), type=bool):
            pytest.skip("this machine lets no process trace another")
        yield Lab(process)
    finally:
        await process.communicate(b"")  # which closes its input


class Trees(NamedTuple):
    """The trees after an undo or redo, and after undoing and redoing everything afterwards."""

    reverted: Tree
    undone: Tree
    redone: Tree


@pytest.mark.parametrize("seed", SEEDS)
async def test_an_undo_killed_at_any_system_call_comes_to_the_same(
    tmp_path: Path, seed: int, *, is_nightly: bool
) -> None:
    random = Random(seed)
    player = Player(tmp_path / "lab", some_history(random))
    session_id = await player.play()
    if random.random() < 0.5:
        async with opened(player.ground, resume=session_id) as s:
            await reverted(s, UNDO_ALL)
        op: Revert = random.choice((REDO_ALL, ops.RedoChanges(selection=ChangeSelection(turn=1))))
    else:
        op = random.choice((UNDO_ALL, UNDO_ALL, ops.UndoChanges(selection=ChangeSelection(turn=2))))
    saved = Saved(player.ground, session_id)
    known = prepared(player, session_id)
    wanted = await carried_on(player, session_id, op)
    stages: Counter[str] = Counter()
    async with lab() as killer:
        trial = Trial(place=str(tmp_path / "lab"), session_id=session_id, op=encode_op(op))
        calls: list[int] = []
        for is_from_start in (False, True):
            saved.put_back()
            whole = await killer.carry_out(msgspec.structs.replace(trial, is_from_start=is_from_start))
            assert not whole.is_killed
            calls.append(whole.calls)
        for number in range(NIGHTLY_KILLS if is_nightly else KILLS):
            saved.put_back()
            kill_at = random.randrange(calls[0])
            await killer.carry_out(msgspec.structs.replace(trial, kill_at=kill_at))
            if number % 3 == 2:  # what recovers is killed, too
                again = random.randrange(calls[1])
                await killer.carry_out(msgspec.structs.replace(trial, kill_at=again, is_from_start=True))
            stages[last_record(player, session_id)] += 1
            told = [*player.told, str(op), f"killed at {kill_at} of {calls[0]}"]
            assert await carried_on(player, session_id, op) == wanted, "\n".join(told)
            assert no_litter(player.ground)
            assert verify(SessionCatalog.of(player.ground.paths), session_id).is_fine
            assert max((prepared(player, session_id) - known).values()) == 1, "an id names one change"
    print(f"killed at: {json.dumps(stages, sort_keys=True)}, of {calls} stops")


def some_history(random: Random) -> list[list[Step]]:
    kinds = (*COMMANDS, *TOOLS, *TOOLS)

    def step() -> Step:
        return Step(random.choice(kinds), *(random.randrange(8) for _ in range(3)))

    return [[step() for _ in range(random.randint(2, 4))] for _ in range(random.randint(2, 4))]


async def carried_on(player: Player, session_id: str, op: Revert) -> Trees:
    """Open the remains, repeat the operation, then undo and redo everything."""
    trees: list[Tree] = []
    async with opened(player.ground, resume=session_id) as s:
        for one in (op, UNDO_ALL, REDO_ALL):
            await reverted(s, one)
            trees.append(tree_of(player.root))
    return Trees(*trees)


def journal(player: Player, session_id: str) -> list[ev.JournalEvent]:
    path = player.ground.paths.sessions / session_id / "journal.jsonl"
    return read_journal(path, Blobs(player.ground.paths.blobs))[0]


def prepared(player: Player, session_id: str) -> Counter[str]:
    events = (event for event in journal(player, session_id) if isinstance(event, ev.ChangesPrepared))
    return Counter(change.id for event in events for change in event.changes)


def last_record(player: Player, session_id: str) -> str:
    return journal(player, session_id)[-1].type
