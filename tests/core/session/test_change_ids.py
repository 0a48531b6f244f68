"""Ids of changes and calls are unique in a session, whatever a model or an old journal says."""

import json
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ChangeSelection
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.verify import verify
from desktop_agent.core.transcript import replay
from tests.harness import Ground
from tests.providers import anthropic_provider
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.script import ToolUse, reply, text, tool_use
from tests.trees import tree_of

GOLDEN = Path(__file__).parents[1] / "store" / "golden" / "v1-twice"
MOVED = "mkdir deep; mv f*.txt deep/; ln -s f1.txt ln"

_KILLED = """
import asyncio, os, sys
from pathlib import Path
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from tests.harness import Ground

home, session_id, count, direction = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
kind = ops.UndoChanges if direction == "undo" else ops.RedoChanges
whole = Ledger.apply_each

def some(self, writes, *rest):
    whole(self, writes[:count], *rest)
    os.kill(os.getpid(), 9)

async def main():
    async with Ground(home).session([], resume=session_id) as s:
        Ledger.apply_each = some
        s.submit(kind(selection=ChangeSelection()))
        s.submit(ops.Shutdown(when_idle=True))
        await s.task

asyncio.run(main())
"""


async def moved_files(ground: Ground, count: int) -> SessionId:
    for number in range(1, count + 1):
        ground.write(f"f{number}.txt", f"precious {number}\n")
    script: list[Reply] = [[Call("run_terminal_cmd", {"command": MOVED})], [Say("Done.")]]
    return await command_run(ground, script)


async def command_run(ground: Ground, script: list[Reply]) -> SessionId:
    async with ground.session(script, sandbox="none", approval="on_request") as s:
        await s.prompt("go", answers=1)
        return s.id


def kill_an_undo(ground: Ground, session_id: SessionId, writes: int, direction: str = "undo") -> None:
    arguments = [str(ground.workspace.parent), session_id, str(writes), direction]
    command = [sys.executable, "-c", _KILLED, *arguments]
    killed = subprocess.run(command, check=False, cwd=Path(__file__).parents[3])  # noqa: TID251 - it ends by itself
    assert killed.returncode == -signal.SIGKILL


async def carried_out(ground: Ground, session_id: SessionId, *wanted: ops.Op) -> None:
    async with ground.session([], resume=session_id) as s:
        for op in wanted:
            s.submit(op)
        s.submit(ops.Shutdown(when_idle=True))
        await s.task


def ids_of(ground: Ground, session_id: SessionId) -> Counter[str]:
    events, _ = read_journal(ground.journal(session_id), Blobs(ground.paths.blobs))
    made = (event for event in events if isinstance(event, ev.ChangesRecorded | ev.ChangesUndone | ev.ChangesRedone))
    return Counter(change.id for event in made for change in event.changes)


UNDO = ops.UndoChanges(selection=ChangeSelection())
REDO_ALL = ops.RedoSteps(is_all=True)


@pytest.mark.parametrize("writes", range(1, 6))
async def test_an_undo_killed_anywhere_is_undone_and_redone_whole(ground: Ground, writes: int) -> None:
    session_id = await undone_after_a_kill(ground, files=2, writes=writes)
    assert set(ids_of(ground, session_id).values()) == {1}


@pytest.mark.parametrize(
    "writes",
    [400, *(pytest.param(writes, marks=pytest.mark.nightly) for writes in (1, 37, 150, 399, 401, 402, 555, 801))],
)
async def test_an_undo_of_many_moved_files_killed_anywhere_loses_none(ground: Ground, writes: int) -> None:
    session_id = await undone_after_a_kill(ground, files=400, writes=writes)
    assert set(ids_of(ground, session_id).values()) == {1}


async def undone_after_a_kill(ground: Ground, *, files: int, writes: int) -> SessionId:
    """Kill an undo, then undo and redo twice: each time the folder is in its old or its new state."""
    session_id = await moved_files(ground, files)
    after = tree_of(ground.workspace)
    before = {path: state for path, state in after.items() if path not in ("deep", "ln")}
    before = {path.removeprefix("deep/"): state for path, state in before.items()}
    kill_an_undo(ground, session_id, writes)
    for _ in range(2):
        await carried_out(ground, session_id, UNDO)
        assert tree_of(ground.workspace) == before
        await carried_out(ground, session_id, REDO_ALL)
        assert tree_of(ground.workspace) == after
    return session_id


@pytest.mark.parametrize("direction", ["undo", "redo"])
@pytest.mark.parametrize(
    "command",
    [
        *("mv b c", "mv -f b a", "mv b t; mv a b; mv t a", "mkdir -p d/e; mv b d/e/b; echo more >> d/e/b"),
        *("mv b c; mv a b", "mv b c; echo new > b"),
    ],
)
@pytest.mark.sampled(2, "command", "direction")
async def test_a_rename_killed_between_its_halves_leaves_the_file_in_the_folder(
    ground: Ground, command: str, direction: str
) -> None:
    for name in "ab":
        ground.write(name, f"{name}\n" * 5)
    before = tree_of(ground.workspace)
    session_id = await command_run(ground, [[Call("run_terminal_cmd", {"command": command})], [Say("Done.")]])
    after = tree_of(ground.workspace)
    if direction == "redo":
        await carried_out(ground, session_id, UNDO)
    kill_an_undo(ground, session_id, 1, direction)
    await carried_out(ground, session_id)
    assert any(node.content.startswith(b"b\n" * 5) for node in tree_of(ground.workspace).values())
    await carried_out(ground, session_id, ops.RedoChanges(selection=ChangeSelection(turn=1)))
    assert tree_of(ground.workspace) == after
    await carried_out(ground, session_id, UNDO)
    assert tree_of(ground.workspace) == before
    await carried_out(ground, session_id, REDO_ALL)
    assert tree_of(ground.workspace) == after
    assert set(ids_of(ground, session_id).values()) == {1}


async def test_a_write_that_was_refused_leaves_a_gap_and_no_id_twice(ground: Ground) -> None:
    for name in "abc":
        ground.write(f"{name}.txt", f"{name}\n")
    command = "mkdir d; echo x > d/x; echo A >> a.txt; echo B >> b.txt; mv c.txt d/c.txt"
    script: list[Reply] = [[Call("run_terminal_cmd", {"command": command})], [Say("Done.")]]
    session_id = await command_run(ground, script)
    after = tree_of(ground.workspace)
    ground.write("d/mine", "the user's\n")
    await carried_out(ground, session_id, UNDO)
    assert (ground.workspace / "d/mine").exists(), "so the folder could not be removed"
    await carried_out(ground, session_id, ops.RedoChanges(selection=ChangeSelection(path="b.txt")))
    await carried_out(ground, session_id, REDO_ALL)
    (ground.workspace / "d/mine").unlink()
    assert tree_of(ground.workspace) == after
    assert set(ids_of(ground, session_id).values()) == {1}


async def test_an_id_that_was_only_asked_about_is_not_given_to_another_change(ground: Ground) -> None:
    script: list[Reply] = [[Call("create_file", {"path": "a.txt", "content": "a\n"})], [Say("Done.")]]
    async with ground.session(script, approval="always") as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        s.submit(ops.Shutdown(keeps_questions=True))
        await s.task
    async with ground.session(script[1:], resume=s.id) as again:
        again.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()))
        recorded = await again.rx.expect(ev.ChangesRecorded)
        assert {change.id for change in asked.request.changes}.isdisjoint(change.id for change in recorded.changes)


async def test_a_turn_whose_first_line_is_damaged_keeps_its_number_to_itself(ground: Ground) -> None:
    edits: list[list[Call | Say]] = [[Call("create_file", {"path": f"{n}.txt", "content": "x"})] for n in (1, 2)]
    async with ground.session([edits[0], [Say("Done.")]], approval="never") as s:
        await s.prompt()
    journal = ground.journal(s.id)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(b"damaged\n" if b'"turn_started"' in line else line for line in lines))
    async with ground.session([edits[1], [Say("Done.")]], resume=s.id) as again:
        await again.prompt()
        await again.carry_out(ops.UndoChanges(selection=ChangeSelection(turn=2)), ev.ChangesUndone)
    assert sorted(path.name for path in ground.workspace.iterdir()) == ["1.txt"]


# -- journals of earlier versions --


def old_session(ground: Ground) -> SessionId:
    """A session where an undo was killed and the next undo reused its ids; everything is undone."""
    opening, *rest = (GOLDEN / "journal.jsonl").read_text().splitlines()
    fields = json.loads(opening) | {"workspace": str(ground.workspace)}
    folder = ground.paths.sessions / fields["session_id"]
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_text("\n".join([json.dumps(fields), *rest]) + "\n")
    shutil.copytree(GOLDEN / "blobs", ground.paths.blobs)
    for number in (1, 2):
        ground.write(f"f{number}.txt", f"precious {number}\n").chmod(0o644)
    return str(fields["session_id"])


def test_of_changes_with_one_id_none_is_lost_and_each_has_a_name() -> None:
    events, _ = read_journal(GOLDEN / "journal.jsonl", Blobs(GOLDEN / "blobs"))
    transcript = replay(events)
    made = [e for e in events if isinstance(e, ev.ChangesRecorded | ev.ChangesUndone | ev.ChangesRedone)]
    assert len(transcript.changes) == sum(len(event.changes) for event in made)
    assert [record.change.path for record in transcript.changes.values()] == [c.path for e in made for c in e.changes]
    assert transcript.changed.namesakes("1.7") == ["1.7~1", "1.7~2"]
    assert [transcript.changes[one].change.path for one in ("1.7~1", "1.7~2")] == ["ln", "deep/f1.txt"]
    assert "1.7" not in transcript.changes
    assert [step.writes for step in transcript.changed.steps] == [("1.7~1", "1.8~1"), ("1.7~2", "1.8~2", "1.9", "1.10")]


async def test_a_journal_with_ids_given_twice_is_redone_and_undone_whole(ground: Ground) -> None:
    session_id = old_session(ground)
    start = tree_of(ground.workspace)
    for _ in range(2):
        await carried_out(ground, session_id, REDO_ALL)
        moved = {path: content for path, content in tree_of(ground.workspace).items() if path.startswith("deep/")}
        assert set(moved) == {"deep/f1.txt", "deep/f2.txt"}
        assert (ground.workspace / "deep/f2.txt").read_bytes() == b"precious 2\n"
        assert (ground.workspace / "ln").readlink() == Path("f1.txt")
        await carried_out(ground, session_id, UNDO)
        assert tree_of(ground.workspace) == start


async def test_an_id_given_twice_is_not_acted_on_by_guess(ground: Ground) -> None:
    session_id = old_session(ground)
    async with ground.session([], resume=session_id) as s:
        before = tree_of(ground.workspace)
        notice = await s.carry_out(ops.UndoChanges(selection=ChangeSelection(change_ids=("1.7",))), ev.Notice)
        assert notice.code == "unclear_selection"
        assert "1.7~1 or 1.7~2" in notice.hint
        assert tree_of(ground.workspace) == before
        undone = await s.undo(ChangeSelection(change_ids=("1.7~1",)))
        assert [outcome.path for outcome in undone.outcomes] == ["ln"]
    assert (ground.workspace / "ln").readlink() == Path("f1.txt")


async def test_new_ids_go_on_after_the_largest_of_a_journal_with_ids_given_twice(ground: Ground) -> None:
    session_id = old_session(ground)
    before = ids_of(ground, session_id)
    await carried_out(ground, session_id, REDO_ALL)
    added = ids_of(ground, session_id) - before
    assert added
    assert before.keys().isdisjoint(added)


async def test_verify_says_which_ids_were_given_twice(ground: Ground) -> None:
    session_id = old_session(ground)
    catalog = SessionCatalog.of(ground.paths)
    found = [one for one in verify(catalog, session_id).findings if one.code == "duplicate_change"]
    assert {one for finding in found for one in finding.detail.split(", ")} >= {"1.7", "1.8"}
    assert all(one.is_settled for one in found)


async def test_calls_of_one_answer_and_of_a_later_one_with_the_same_id_are_told_apart(ground: Ground) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        ground.write(name, f"content of {name}\n")

    def read(name: str) -> ToolUse:
        return tool_use("read_file", path=name).with_id("toolu_same")

    answers = [reply(read("a.txt"), read("b.txt")), reply(read("c.txt")), reply(text("Done."))]
    async with AnthropicServer(*answers, is_checking=False) as server:
        provider = anthropic_provider(api_key="key", base_url=server.url)
        async with ground.session([], provider=provider) as s:
            await s.prompt()
            finished = s.rx.all(ev.ToolCallFinished)
    assert len({event.call_id for event in finished}) == 3
    contents = {event.result.content.strip() for event in finished}
    assert contents == {"content of a.txt", "content of b.txt", "content of c.txt"}
