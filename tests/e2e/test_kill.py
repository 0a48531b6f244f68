"""Kill the process at random moments of a turn: nothing is lost or half written, and all can go on."""

import json
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Say, ScriptedProvider, in_order
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.transcript import Transcript
from tests.e2e.kill_lab import PERSONS_LINE, prepare, run_lab
from tests.harness import Ground, Open, check_conversation
from tests.trees import Tree, tree_of

KILLS = 4
NIGHTLY_KILLS = 10
SEEDS = [20261121, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(20261122, 20261131))]


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_killed_turn_leaves_a_session_that_opens_and_goes_on(
    tmp_path: Path, seed: int, *, is_nightly: bool
) -> None:
    kills = NIGHTLY_KILLS if is_nightly else KILLS
    trials = (await run_lab("tests.e2e.kill_lab", tmp_path / "lab", kills, seed))[1:]
    assert len(trials) == kills
    stages: dict[str, int] = {}
    for number in range(kills):
        stage = await judge(tmp_path / "lab" / f"{number:04}")
        stages[stage] = stages.get(stage, 0) + 1
    print(f"killed at: {json.dumps(stages, sort_keys=True)}")


async def judge(folder: Path) -> str:
    """Open the remains of one life, check every promise, and return the type of the last record."""
    before = before_it_all(folder)
    ground = Ground(folder)
    bench = ground.bench(ScriptedProvider(in_order([])))
    ids = bench.catalog.ids()
    events, damages = read_journal(bench.catalog.journal_path(ids[0]), bench.blobs) if ids else ([], [])
    assert [damage for damage in damages if damage.line <= len(events)] == [], "at most the last record is torn"
    if not events:
        assert tree_of(ground.workspace) == before, "nothing was recorded, so nothing may have changed"
        return "nothing"
    [session_id] = ids
    async with ground.session([[Say("ok")]], resume=session_id, is_attended=False) as s:
        await s.prompt("go on")
        check_conversation(s.last_request)
        check_files_are_as_recorded(ground, s.session.transcript, before)
        await check_undo_and_redo(ground, s, before)
    assert no_litter(ground)
    return events[-1].type


def before_it_all(folder: Path) -> Tree:
    fresh = folder.with_name(f"{folder.name}-before")
    return tree_of(prepare(fresh).workspace)


def check_files_are_as_recorded(ground: Ground, transcript: Transcript, before: Tree) -> None:
    """Check each file against its last record; files without a record must not have changed."""
    now = tree_of(ground.workspace)
    last = transcript.changed.last_images()
    for path in before.keys() | now.keys() | last.keys():
        there = now.get(path)
        if path in last:
            assert (there.image() if there else None) == last[path], f"{path} is not what was recorded last"
        elif there is not None and there.kind == "folder":
            assert path in before or any(other.startswith(f"{path}/") and last[other] for other in last)
        else:
            assert there == before.get(path), f"{path} changed, and no record says so"


async def check_undo_and_redo(ground: Ground, s: Open, before: Tree) -> None:
    is_edited = any(record.change.author == "person" for record in s.session.transcript.changes.values())
    expected = dict(before)
    if is_edited:
        many = expected["many.txt"]
        expected["many.txt"] = many._replace(content=many.content.replace(b"line 15000\n", PERSONS_LINE))
    if s.session.transcript.changed.active():
        s.submit(ops.UndoChanges(selection=ChangeSelection()))
        await expect_all_done(s, ev.ChangesUndone)
    assert tree_of(ground.workspace) == expected
    if s.session.transcript.changed.undone():
        s.submit(ops.RedoChanges(selection=ChangeSelection()))
        await expect_all_done(s, ev.ChangesRedone)
        s.submit(ops.UndoChanges(selection=ChangeSelection()))
        await expect_all_done(s, ev.ChangesUndone)
        assert tree_of(ground.workspace) == expected


async def expect_all_done(s: Open, kind: type[ev.ChangesUndone] | type[ev.ChangesRedone]) -> None:
    event = await s.rx.expect(kind)
    assert [outcome for outcome in event.outcomes if not outcome.is_done] == []


def no_litter(ground: Ground) -> bool:
    return not [path for path in ground.workspace.rglob("*") if ".desktop-agent-" in path.name]
