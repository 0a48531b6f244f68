"""Changes of a session: listed, shown as a patch, undone and redone by turn, file and hunk."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from desktop_agent import Agent, ApprovalRequest, Call, ChangeSelection, Say, UsageError, ops
from desktop_agent import events as ev
from tests.api.conftest import COMMAND, EDIT, POEM, MakeAgent, Unanswered, read, write

SECOND = Call("edit_file", {"path": "poem.txt", "old_str": "the wind", "new_str": "the air", "replace_all": True})


@pytest.fixture
async def edited(agent_with: MakeAgent) -> AsyncGenerator[Agent]:
    async with agent_with([EDIT], [Say("Done.")], [SECOND], [Say("Done.")], approval="on_request") as agent:
        await agent.run("Spell it the American way.")
        await agent.run("Air.")
        yield agent


async def test_changes_are_listed_by_file_and_shown_as_a_patch(edited: Agent) -> None:
    (row,) = edited.changes.list()
    patch = (await edited.changes.patch()).decode()
    assert (row.path, row.state) == ("poem.txt", "standing")
    assert "--- a/poem.txt\n+++ b/poem.txt\n" in patch
    assert "+The color of the sea\n" in patch


async def test_a_turn_is_undone_and_redone(edited: Agent, poem: Path) -> None:
    after = read(poem)
    (undone,) = await edited.changes.undo(ChangeSelection(turn=2), reason="Wind, please.")
    assert undone.state == "restored"
    assert read(poem) == POEM.replace("colour", "color")
    await edited.changes.redo(ChangeSelection(turn=2))
    assert read(poem) == after


async def test_one_hunk_is_undone_and_redone(agent_with: MakeAgent, poem: Path) -> None:
    async with agent_with([EDIT], [Say("Done.")], approval="on_request") as agent:
        await agent.run("Spell it the American way.")
        (row,) = agent.changes.list()
        first, second = await agent.changes.hunks(row)
        selection = ChangeSelection(path=row.path, hunks=(second.key,))
        await agent.changes.undo(selection)
        lines = read(poem).splitlines()
        assert (lines[0], lines[-1]) == ("The color of the sea", "and has no other colour")
        assert agent.changes.list()[0].state == "partly"
        await agent.changes.redo(selection)
        assert read(poem) == POEM.replace("colour", "color")
        assert first.key != second.key


async def test_a_redo_without_a_selection_takes_back_the_last_undo(edited: Agent, poem: Path) -> None:
    after = read(poem)
    (outcome,) = await edited.changes.undo()
    assert (outcome.path, outcome.state, read(poem)) == ("poem.txt", "restored", POEM)
    await edited.changes.redo()
    assert read(poem) == after


async def test_a_file_that_clashes_is_left_alone_and_its_outcome_says_so(agent_with: MakeAgent, poem: Path) -> None:
    async with agent_with([EDIT], [Say("Done.")], approval="on_request") as agent:
        await agent.run("Spell it the American way.")
        write(poem, mine := read(poem).replace("color", "hue"))
        (outcome,) = await agent.changes.undo()
    assert (outcome.state, read(poem)) == ("conflict", mine)


async def test_nothing_to_undo_is_an_error_and_the_next_undo_works(edited: Agent, poem: Path) -> None:
    with pytest.raises(UsageError, match="nothing to undo there"):
        await edited.changes.undo(ChangeSelection(turn=7))
    await edited.changes.undo()
    assert read(poem) == POEM


async def test_changes_of_an_earlier_process_are_undone_after_resuming(agent_with: MakeAgent, poem: Path) -> None:
    async with agent_with([EDIT], [Say("Done.")], approval="on_request") as agent:
        result = await agent.run("Spell it the American way.")
    async with agent_with(resume=result.session_id) as again:
        await again.changes.undo(ChangeSelection(turn=result.turn))
    assert read(poem) == POEM


async def test_an_undo_while_a_turn_runs_is_refused(agent_with: MakeAgent) -> None:
    approve = Unanswered()
    async with agent_with([COMMAND], approve=approve) as agent:
        running = asyncio.create_task(agent.run("Wait."))
        await approve.asked.wait()
        with pytest.raises(UsageError, match="A turn is running"):
            await agent.changes.undo()
        agent.interrupt()
        assert (await running).reason == "interrupted"


async def test_a_setting_that_is_changed_holds_from_then_on(agent_with: MakeAgent, tmp_path: Path) -> None:
    async with agent_with() as agent:
        await agent.change_setting("execution.approval", "always")
        assert agent.settings.execution.approval == "always"
        with pytest.raises(UsageError, match="one of always, on_write"):
            await agent.change_setting("execution.approval", "sometimes")
    assert "always" in read(tmp_path / "home" / "config" / "config.toml")


SED = Call("run_terminal_cmd", {"command": "sed -i 's/^1/A/' f?; rm f3; mv poem.txt verse.txt"})


def allow(_request: ApprovalRequest) -> bool:
    return True


async def test_the_undo_of_a_removed_file_leaves_those_alone_that_are_like_it(
    agent_with: MakeAgent, poem: Path
) -> None:
    folder = poem.parent
    for number in range(1, 6):
        (folder / f"f{number}").write_text("".join(f"{line} is a line\n" for line in range(20)) + f"own {number}\n")
    first = (folder / "f3").read_bytes()
    async with agent_with([SED], [Say("Done.")], sandbox="none", approve=allow) as agent:
        await agent.run("Edit them all, rename one and remove one.")
        after = {path.name: path.read_bytes() for path in folder.glob("f?")}
        renamed = {(row.moved_from, row.path) for row in agent.changes.list() if row.moved_from}
        assert renamed == {("poem.txt", "verse.txt")}
        await agent.changes.undo(ChangeSelection(path="f3"))
        assert {path.name: path.read_bytes() for path in folder.glob("f?")} == {**after, "f3": first}


async def test_what_the_user_wrote_is_undone_only_if_that_is_included(edited: Agent, poem: Path) -> None:
    mine = poem.with_name("mine.txt")
    edited.submit(ops.WriteFile(path="mine.txt", expected=None, content=b"mine\n"))
    (left,) = await edited.changes.undo(ChangeSelection(path="mine.txt"))
    assert (left.state, mine.exists()) == ("conflict", True)
    (undone,) = await edited.changes.undo(ChangeSelection(path="mine.txt"), includes_others=True)
    assert (undone.state, mine.exists()) == ("restored", False)


@pytest.mark.parametrize("last", ["changes_prepared", "changes_recorded", "tool_call_finished"])
async def test_a_session_that_was_cut_off_in_a_turn_is_undone_and_goes_on_at_once(
    agent_with: MakeAgent, poem: Path, tmp_path: Path, last: str
) -> None:
    async with agent_with([EDIT], [Say("Done.")], approval="on_request") as agent:
        result = await agent.run("Spell it the American way.")
    (journal,) = (tmp_path / "home").rglob("journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    end = next(at for at, line in enumerate(lines) if f'"type":"{last}"'.encode() in line)
    journal.write_bytes(b"".join(lines[: end + 1]))
    async with agent_with([Say("Yes.")], resume=result.session_id) as again:
        assert not again.transcript.turns.is_running
        await again.changes.undo()
        assert read(poem) == POEM
    async with agent_with([Say("Yes.")], resume=result.session_id) as again:
        assert (await again.run("Still there?")).text == "Yes."


def no_folder(home: Path) -> None:
    (home / "cache").write_text("A file stands where the cache should be.")


def full_of_garbage(home: Path) -> None:
    for name in ("sessions.sqlite3", "usage.sqlite3", "session-search.sqlite3"):
        write(home / "cache" / name, "no database " * 500)
    for name in ("baselines", "index", "models", "tmp"):
        write(home / "cache" / name, "no folder")


LOOK = Call("codebase_search", {"query": "who is given by the wind"})
COMMANDS = [Call("run_terminal_cmd", {"command": f"echo {word} >> poem.txt"}) for word in ("one", "two")]


@pytest.mark.parametrize("spoil", [no_folder, full_of_garbage])
async def test_without_a_usable_cache_everything_goes_on_and_it_is_said(
    agent_with: MakeAgent, poem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    home = tmp_path / "home"
    home.mkdir()
    spoil(home)
    told: list[ev.Event] = []
    steps = ([COMMANDS[0]], [EDIT], [LOOK], [COMMANDS[1]], [Say("Done.")])
    async with agent_with(*steps, sandbox="none", approve=allow, on_event=told.append) as agent:
        result = await agent.run("Do a bit of everything.")
        assert not any(call.result.is_error for call in result.calls)
        after = read(poem)
        assert after == POEM.replace("colour", "color") + "one\ntwo\n"
        await agent.changes.undo()
        assert read(poem) == POEM
        await agent.changes.redo()
        assert read(poem) == after
        assert any("is given by the wind" in str(call.result.content) for call in result.calls)
    assert [event.code for event in told if isinstance(event, ev.Notice)] == ["cache"]
