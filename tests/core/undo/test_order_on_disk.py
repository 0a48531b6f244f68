"""The order of undos does not matter on real folders: tools, a real shell, git, and a user.

A session plays each history once. Then two copies of the folder and the journal are undone and redone in two orders by
turn, call, file and hunk.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import all_keys
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, FileOutcome
from desktop_agent.core.providers.scripted import Say, in_order
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.transcript import Transcript, undone_of
from tests.core.undo.real_history import (
    COMMANDS,
    REDO_ALL,
    TOOLS,
    UNDO_ALL,
    USER,
    History,
    Player,
    Saved,
    Step,
    opened,
    reverted,
    shell,
)
from tests.harness import Ground, Open
from tests.trees import Node, Tree, tree_of

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


def histories(*, has_user: bool) -> st.SearchStrategy[History]:
    kinds = (*COMMANDS, *TOOLS, *TOOLS, *(USER * 2 if has_user else ()))
    numbers = st.integers(0, 7)
    steps = st.builds(Step, st.sampled_from(kinds), numbers, numbers, numbers)
    return st.lists(st.lists(steps, min_size=1, max_size=4), min_size=2, max_size=5)


class Part(NamedTuple):
    """Some of a history's changes, by numbers that choose among the present ones."""

    kind: str
    one: int
    other: int

    def among(self, known: Transcript, blobs: Blobs) -> ChangeSelection:
        records = [record for record in known.changes.values() if record.change.is_by_agent]
        if not records:
            return ChangeSelection(turn=1)
        record = records[self.one % len(records)]
        match self.kind:
            case "turn":
                return ChangeSelection(turn=record.turn)
            case "call":
                return ChangeSelection(call_id=record.call_id)
            case "file":
                return ChangeSelection(path=record.change.path)
            case _:
                return self._hunks(known, blobs, record.turn if self.kind == "hunks of a turn" else None)

    def _hunks(self, known: Transcript, blobs: Blobs, turn: int | None) -> ChangeSelection:
        rows = net_changes(record for record in known.changes.values() if turn in (None, record.turn))
        rows = [row for row in rows if row.records[0].change.is_by_agent and row.change.before and row.change.after]
        if not rows:
            return ChangeSelection(turn=turn)
        row = rows[self.one % len(rows)]
        keys = all_keys(diff_change(row.change, blobs.of_file(row.change.before), blobs.of_file(row.change.after)))
        some = Random(self.other).sample(keys, self.other % len(keys) + 1)
        return ChangeSelection(path=row.path, turn=turn, hunks=tuple(some))


PARTS = st.builds(
    Part,
    st.sampled_from(("turn", "call", "file", "hunks", "hunks of a turn")),
    st.integers(0, 15),
    st.integers(0, 15),
)


class Seen(NamedTuple):
    tree: Tree
    undone: dict[str, object]
    has_clash: bool


class Orders(NamedTuple):
    undos: Sequence[ChangeSelection]
    redos: Sequence[ChangeSelection]


async def carried_out(player: Player, session_id: SessionId, orders: Orders, *, has_user: bool) -> tuple[Seen, Seen]:
    """Undo and redo in these orders, then all at once, and check the results."""
    has_clash = False
    async with opened(player.ground, resume=session_id) as s:

        async def carry_out(op: ops.UndoChanges | ops.RedoChanges | ops.RedoSteps) -> Sequence[FileOutcome]:
            nonlocal has_clash
            outcomes = await reverted(s, op)
            note(f"{op}\n    {'; '.join(f'{one.path} {one.state} {one.reason}' for one in outcomes) or 'nothing'}")
            has_clash |= not all(outcome.is_done for outcome in outcomes)
            return outcomes

        for selection in orders.undos:
            await carry_out(ops.UndoChanges(selection=selection))
        after_undos = Seen(tree_of(player.root), undone_in(s), has_clash)
        for selection in orders.redos:
            await carry_out(ops.RedoChanges(selection=selection))
        after_redos = Seen(tree_of(player.root), undone_in(s), has_clash)
        outcomes = await carry_out(UNDO_ALL)
        if not has_user:
            assert all(outcome.is_done for outcome in outcomes), "nobody else changed anything"
            assert differences(player.start, tree_of(player.root)) == {}, "all is undone"
        if all(outcome.is_done for outcome in await carry_out(REDO_ALL)):
            assert not any(undone is None or undone for undone in undone_in(s).values()), "all is redone"
            assert differences(player.end, tree_of(player.root)) == {}, "all is redone"
    return after_undos, after_redos


def differences(one: Tree, other: Tree) -> dict[str, tuple[Node | None, Node | None]]:
    return {
        name: pair
        for name in sorted(one.keys() | other)
        if (pair := (one.get(name), other.get(name))) and pair[0] != pair[1]
    }


def undone_in(s: Open) -> dict[str, object]:
    records = s.session.transcript.changes.values()
    return {record.change.id: undone_of(record) for record in records if record.change.is_by_agent}


async def check(place: Path, history: History, parts: Sequence[Part], order: Random, *, has_user: bool) -> None:
    player = Player(place, history)
    session_id = await player.play()
    note("\n".join(player.told))
    saved = Saved(player.ground, session_id)
    async with opened(player.ground, resume=session_id) as s:
        selections = [part.among(s.transcript, Blobs(player.ground.paths.blobs)) for part in parts]
    redos = [one for one in selections if order.random() < 0.6]
    seen: list[tuple[Seen, Seen]] = []
    other = Orders(order.sample(selections, len(selections)), order.sample(redos, len(redos)))
    for orders in (Orders(selections, redos), other):
        saved.put_back()
        note("-- in this order --")
        seen.append(await carried_out(player, session_id, orders, has_user=has_user))
    for one, other in zip(*seen, strict=True):
        if not one.has_clash and not other.has_clash:
            assert one.undone == other.undone
            assert differences(one.tree, other.tree) == {}


@pytest.fixture
def many(is_nightly: bool) -> settings:
    return settings(
        max_examples=150 if is_nightly else 5,
        deadline=None,
        derandomize=not is_nightly,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@pytest.mark.parametrize("has_user", [False, True], ids=["the agent alone", "with a user"])
def test_on_real_folders_the_order_of_undos_does_not_matter(many: settings, *, has_user: bool) -> None:
    @many
    @given(histories(has_user=has_user), st.lists(PARTS, min_size=2, max_size=4), st.randoms(use_true_random=False))
    def holds(history: History, parts: Sequence[Part], order: Random) -> None:
        with tempfile.TemporaryDirectory(prefix="order-", dir=MEMORY) as place, asyncio.Runner() as runner:
            runner.run(check(Path(place), history, parts, order, has_user=has_user))

    holds()


WENT_WRONG = {
    "a change and its reversal": ("sed -i s/A/B/ a", "sed -i s/B/A/ a"),
    "a file whose place a folder takes": ("mv -f a b", "rm b && mkdir b && echo x > b/inside"),
    "a folder that goes and comes with a file": ("rm -rf d", "mkdir d; echo x > d/new"),
    "a folder that an undo of a file brings": ("echo D > d/e/c", "rm -rf d/e"),
    "a renamed folder with a file removed before": ("rm d/a", "mv d f"),
    "a folder that is a file, and a folder again": ("rm -rf d; echo w > d", "mkdir t; mv d t/"),
}


@pytest.mark.parametrize("lines", WENT_WRONG.values(), ids=WENT_WRONG)
async def test_each_change_of_two_turns_is_undone_and_redone_in_any_order(
    tmp_path: Path, lines: Sequence[str], *, is_nightly: bool
) -> None:
    ground = Ground(tmp_path)
    for name in ("a", "b", "d/a", "d/e/c"):
        ground.write(name, name.upper() + "\n")
    start = tree_of(ground.workspace)
    script = in_order([reply for line in lines for reply in ([shell(line)], [Say("Done.")])])
    async with opened(ground, script) as s:
        for _ in lines:
            await s.prompt()
    end = tree_of(ground.workspace)
    saved = Saved(ground, s.id)
    async with opened(ground, resume=s.id) as s:
        paths = {record.change.path for record in s.transcript.changes.values()}
    assert paths
    parts = [*(ChangeSelection(turn=turn) for turn in (1, 2)), *(ChangeSelection(path=path) for path in sorted(paths))]
    orders = list(permutations(parts, 2))
    for first, second in orders if is_nightly else orders[::3]:
        saved.put_back()
        async with opened(ground, resume=s.id) as again:
            for selection in (first, second):
                await reverted(again, ops.UndoChanges(selection=selection))
            for selection in (first, second):
                await reverted(again, ops.RedoChanges(selection=selection))
            assert all(outcome.is_done for outcome in await reverted(again, UNDO_ALL))
            assert differences(start, tree_of(ground.workspace)) == {}
            assert all(outcome.is_done for outcome in await reverted(again, REDO_ALL))
            assert differences(end, tree_of(ground.workspace)) == {}
