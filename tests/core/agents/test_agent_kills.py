"""A turn of an agent that is killed at any recorded event leaves a session that opens, and an exact undo."""

from pathlib import Path

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import ScriptedProvider, in_order
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.tools.execution.runtime import NOT_STARTED
from tests.core.agents.agent_kill_lab import scene_in
from tests.core.agents.scene import POEM
from tests.e2e.kill_lab import run_lab
from tests.harness import Ground
from tests.trees import tree_of


async def test_a_turn_killed_at_any_event_opens_again_and_is_undone_exactly(tmp_path: Path) -> None:
    lives = await run_lab("tests.core.agents.agent_kill_lab", tmp_path, 0, 0)
    assert len(lives) > 15, "the turn records that many events"
    for number in range(1, len(lives) + 1):
        await judge(tmp_path / f"{number:02}")


async def judge(folder: Path) -> None:
    ground = Ground(folder)
    before = tree_of(scene_in(folder.with_name(f"{folder.name}-before")).ground.workspace)
    bench = ground.bench(ScriptedProvider(in_order([])))
    (session_id,) = bench.catalog.ids()
    async with ground.session([], resume=session_id, is_attended=False) as opened:
        await opened.carry_out(ops.RenameSession(title="Reopened"), ev.SessionRenamed)  # after the recovery
        found = tree_of(ground.workspace)
        # What the agent wrote before the folder was looked at is on record, too, if perhaps as anybody's.
        if made := tuple(opened.session.transcript.changes):
            await opened.undo(ChangeSelection(change_ids=made))
        assert tree_of(ground.workspace) == before
        if found != before:
            await opened.redo_step()
        assert tree_of(ground.workspace) == found
        assert ground.read("poem.txt").splitlines()[0] == POEM.splitlines()[0]
    events, damages = read_journal(bench.catalog.journal_path(session_id), bench.blobs)
    assert damages == []
    started = [event.call.id for event in events if isinstance(event, ev.ToolCallStarted)]
    finished = [event.call_id for event in events if isinstance(event, ev.ToolCallFinished)]
    assert sorted(finished) == sorted(started), "every call has one result"
    ends = [event for event in events if isinstance(event, ev.ToolCallFinished)]
    not_run = {event.call_id for event in ends if NOT_STARTED in event.result.content}
    assert not_run <= {"2", "4"}, "an agent begins before we record that it did, unless it asks"
