"""Redo in the window is the inverse of undo, also after later undos and edits."""

import os
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import review_hunks
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.ui.review.change_listing import BaselinePicker
from desktop_agent.ui.review.changed_file_list import ChangedFileList
from desktop_agent.ui.review.changed_files import SESSION
from desktop_agent.ui.review.diff_pane import DiffPane
from desktop_agent.ui.theme import Theme
from tests.app.redo_stage import Stage, staged
from tests.harness import Ground, Open, with_lines_changed
from tests.parts import part

LINES = [f"line {number}\n" for number in range(60)]
text_with = partial(with_lines_changed, LINES)


DONE = {"line_5": "five\n", "line_30": "thirty\n", "line_55": "fifty-five\n"}


def overwrite(content: str) -> Call:
    return Call("create_file", {"path": "a.txt", "content": content, "if_exists": "overwrite"})


EDIT = overwrite(text_with(**DONE))
ONE_TURN: list[Reply] = [[EDIT], [Say("one")]]


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path / "ground")
    ground.write("a.txt", "".join(LINES))
    return ground


async def begin(stage: Stage) -> None:
    await stage.s.prompt()
    stage.deliver()


async def test_a_hunk_that_was_undone_before_its_turn_stays_undone_when_the_turn_is_redone(
    ground: Ground, theme: Theme
) -> None:
    async with staged(ground, theme, ONE_TURN) as stage:
        await begin(stage)
        await stage.undo_hunk(0)
        without = text_with(line_30="thirty\n", line_55="fifty-five\n")
        assert ground.read("a.txt") == without
        before = stage.undone()
        await stage.press("undoTurnButton")
        assert ground.read("a.txt") == "".join(LINES)
        await stage.press("redoButton")
        assert (ground.read("a.txt"), stage.undone()) == (without, before)
        await stage.press("redoButton")
        assert (ground.read("a.txt"), stage.undone()) == (text_with(**DONE), {"1.1": frozenset()})


async def test_what_the_user_gave_up_for_an_undo_is_back_after_redo(ground: Ground, theme: Theme) -> None:
    async with staged(ground, theme, ONE_TURN) as stage:
        await begin(stage)
        await stage.undo_hunk(0)
        mine = text_with(line_5="mine\n", line_30="my thirty\n", line_55="fifty-five\n")
        ground.write("a.txt", mine)
        before = stage.undone()
        await stage.press("undoTurnButton")
        await stage.take("useWantedButton")
        assert "mine" not in ground.read("a.txt")
        await stage.press("redoButton")
        assert (ground.read("a.txt"), stage.undone()) == (mine, before)


async def test_a_redo_merges_with_what_was_written_since_and_asks_where_it_clashes(
    ground: Ground, theme: Theme
) -> None:
    async with staged(ground, theme, ONE_TURN) as stage:
        await begin(stage)
        await stage.undo_hunk(0)
        before = stage.undone()
        await stage.press("undoTurnButton")
        ground.write("a.txt", text_with(line_45="mine\n"))
        await stage.press("redoButton")
        merged = {"line_30": "thirty\n", "line_45": "mine\n", "line_55": "fifty-five\n"}
        assert (ground.read("a.txt"), stage.undone()) == (text_with(**merged), before)

        await stage.press("undoTurnButton")
        ground.write("a.txt", text_with(line_30="my thirty\n", line_45="mine\n"))
        redone = await stage.press("redoButton")
        assert [(outcome.state, outcome.clash is not None) for outcome in redone.outcomes] == [("conflict", True)]
        assert ground.read("a.txt") == text_with(line_30="my thirty\n", line_45="mine\n")
        await stage.take("useWantedButton")
        assert (ground.read("a.txt"), stage.undone()) == (text_with(**merged), before)


def hunk_keys(s: Open, ground: Ground, number: int) -> tuple[HunkKey, ...]:
    change = s.session.transcript.changes["1.1"].change
    diff = diff_change(change, ground.blob(change.before), ground.blob(change.after))
    found = [named.key for named in review_hunks(diff) if named.hunk.edits[0].new_start == number]
    assert found
    return tuple(found)


async def keep_five(stage: Stage, ground: Ground) -> None:
    stage.s.submit(ops.MarkReviewed(path="a.txt", hunks=hunk_keys(stage.s, ground, 5), state="kept"))
    await stage.s.rx.expect(ev.ReviewMarked)
    stage.deliver()


@pytest.mark.parametrize("way", ["button", "key", "file"])
async def test_what_the_user_keeps_is_undone_only_after_a_question(ground: Ground, theme: Theme, way: str) -> None:
    both: list[Reply] = [[EDIT, Call("create_file", {"path": "b.txt", "content": "b\n"})], [Say("one")]]
    async with staged(ground, theme, both) as stage:
        await begin(stage)
        await keep_five(stage, ground)
        ways = {
            "button": stage.button("undoTurnButton").click,
            "key": stage.actions.undo_turn.trigger,
            "file": stage.actions.undo_file.trigger,
        }
        await stage.until(stage.button("undoTurnButton").isEnabled)
        assert not await stage.answered(ways[way]), "it asks first"
        assert ground.read("a.txt") == text_with(**DONE)
        await stage.answered(stage.asked_with("undoUndecidedButton").click)
        assert (ground.workspace / "b.txt").exists() is (way == "file")
        assert ground.read("a.txt") == text_with(line_5="five\n")
        assert len(stage.reverts()) == 1, "it is one step"
        assert not await stage.answered(stage.actions.undo_turn.trigger)
        await stage.answered(stage.asked_with("undoKeptButton").click)
        assert ground.read("a.txt") == "".join(LINES)
        await stage.trigger(stage.actions.redo_turn)
        assert ground.read("a.txt") == text_with(line_5="five\n")
        await stage.trigger(stage.actions.redo_turn)
        assert (ground.workspace / "b.txt").exists()
        assert ground.read("a.txt") == text_with(**DONE)


TWO_TURNS: list[Reply] = [
    [overwrite(text_with(line_5="five\n"))],
    [Say("one")],
    [overwrite(text_with(line_5="five\n", line_55="last\n"))],
    [Say("two")],
]


async def test_an_undo_that_touches_no_kept_hunk_asks_nothing(ground: Ground, theme: Theme) -> None:
    async with staged(ground, theme, TWO_TURNS) as stage:
        await begin(stage)
        await begin(stage)
        await keep_five(stage, ground)
        await stage.press("undoTurnButton")
        assert ground.read("a.txt") == text_with(line_5="five\n")
        assert not await stage.answered(stage.actions.undo_turn.trigger), "that of turn 1 is kept"
        assert stage.question("undoUndecidedButton") is None, "nothing of it is undecided"
        await stage.answered(stage.asked_with("undoKeptButton").click)
        assert ground.read("a.txt") == "".join(LINES)


async def test_a_hunk_that_was_kept_in_the_review_of_its_turn_is_kept_in_that_of_the_session(
    ground: Ground, theme: Theme
) -> None:
    """In the session's review the hunk is a part of a larger hunk with another name."""
    script: list[Reply] = [
        *TWO_TURNS[:2],
        [overwrite(text_with(line_5="five\n", line_6="six\n"))],
        [Say("two")],
    ]
    async with staged(ground, theme, script) as stage:
        await begin(stage)
        await keep_five(stage, ground)
        await begin(stage)
        part(stage.review, BaselinePicker, "baselinePicker").chosen.emit(SESSION)
        await stage.drawn()
        await stage.until(stage.button("undoTurnButton").isEnabled)
        assert not await stage.answered(stage.button("undoTurnButton").click)
        assert "1 change in a.txt" in stage.asked_with("undoKeptButton").window().property("text")


async def test_the_keys_undo_and_redo_one_step_after_another_and_say_when_there_is_none(
    ground: Ground, theme: Theme
) -> None:
    async with staged(ground, theme, ONE_TURN) as stage:
        await begin(stage)
        stage.actions.redo_turn.trigger()
        notice = await stage.s.rx.expect(ev.Notice)
        assert (notice.code, notice.title) == ("nothing_selected", "There is nothing to redo.")
        for _ in range(3):
            await stage.trigger(stage.actions.undo_turn)
            assert ground.read("a.txt") == "".join(LINES)
            await stage.trigger(stage.actions.redo_turn)
            assert ground.read("a.txt") == text_with(**DONE)
        await stage.trigger(stage.actions.undo_turn)
        stage.actions.undo_turn.trigger()
        notice = await stage.s.rx.expect(ev.Notice)
        assert (notice.code, notice.title) == ("nothing_selected", "There is nothing to undo.")


async def test_names_that_are_no_text_are_undone_and_redone_by_hunk_and_by_turn(ground: Ground, theme: Theme) -> None:
    name = os.fsdecode(b"caf\xe9-\xff.txt")
    ground.write(name, "".join(LINES))
    edit = Call("run_terminal_cmd", {"command": "sed -i 's/^line 5$/five/; s/^line 30$/thirty/' ./caf*"})
    async with staged(ground, theme, [[edit], [Say("one")]]) as stage:
        await begin(stage)
        changed = text_with(line_5="five\n", line_30="thirty\n")
        assert ground.read(name) == changed
        await stage.undo_hunk(0)
        assert ground.read(name) == text_with(line_30="thirty\n")
        await stage.press("undoTurnButton")
        assert ground.read(name) == "".join(LINES)
        await stage.press("redoButton")
        await stage.press("redoButton")
        assert ground.read(name) == changed


async def test_taking_the_undo_where_the_user_put_a_link_brings_the_file_back(ground: Ground, theme: Theme) -> None:
    async with staged(ground, theme, ONE_TURN) as stage:
        await begin(stage)
        path = ground.workspace / "a.txt"
        path.unlink()
        path.symlink_to("mine")
        before = stage.undone()
        await stage.press("undoTurnButton")
        await stage.take("useWantedButton")
        assert (path.is_symlink(), path.read_bytes()) == (False, "".join(LINES).encode())
        await stage.press("redoButton")
        assert (path.readlink(), stage.undone()) == (Path("mine"), before)


@pytest.mark.parametrize("way", ["tools", "command"])
async def test_a_renamed_file_undone_whole_is_redone_hunk_by_hunk_and_then_with_its_name(
    ground: Ground, theme: Theme, way: str
) -> None:
    changed = text_with(line_5="five\n", line_30="thirty\n")
    rename = Call("rename_file", {"source_path": "a.txt", "dest_path": "b.txt"})
    write = Call("create_file", {"path": "b.txt", "content": changed, "if_exists": "overwrite"})
    sed = "sed -e 's/^line 5$/five/; s/^line 30$/thirty/' b.txt > .t; cat .t > b.txt; rm .t"
    calls = [rename, write] if way == "tools" else [Call("run_terminal_cmd", {"command": f"mv a.txt b.txt; {sed}"})]
    async with staged(ground, theme, [calls, [Say("one")]]) as stage:
        await begin(stage)
        pane = stage.review.findChild(DiffPane)
        assert pane is not None
        five, thirty = await stage.hunks()
        await stage.press("undoTurnButton")
        assert files_of(ground) == {"a.txt": "".join(LINES)}
        await stage.until(lambda: pane.view.document.diff and stage.room.is_idle())
        await stage.heard(lambda: pane.review.hunks.requested.emit("redo", (five,)))
        assert files_of(ground) == {"a.txt": text_with(line_5="five\n")}
        await stage.until(lambda: pane.view.document.diff and pane.view.document.diff.undone == frozenset({thirty}))
        ground.write("a.txt", text_with(line_5="five\n", line_50="mine\n"))
        before = stage.undone()
        await stage.press("undoTurnButton")
        assert files_of(ground) == {"a.txt": text_with(line_50="mine\n")}
        await stage.press("redoButton")
        assert (files_of(ground), stage.undone()) == ({"a.txt": text_with(line_5="five\n", line_50="mine\n")}, before)
        await stage.press("redoButton")
        assert files_of(ground) == {"b.txt": changed.replace("line 50\n", "mine\n")}
        await stage.press("undoTurnButton")
        await stage.heard(partial(part(stage.review, ChangedFileList, "changeList").requested.emit, "redo"))
        assert files_of(ground) == {"b.txt": changed.replace("line 50\n", "mine\n")}


def files_of(ground: Ground) -> dict[str, str]:
    return {path.name: path.read_text() for path in ground.workspace.iterdir()}


SAME_LINE: list[Reply] = [
    [overwrite(text_with(line_5="five\n"))],
    [Say("one")],
    [overwrite(text_with(line_5="cinq\n", line_55="last\n"))],
    [Say("two")],
]


@pytest.mark.parametrize("way", ["useWantedButton", "takeWantedButton"])
async def test_a_later_change_that_a_settled_clash_wrote_over_is_undone_with_it(
    ground: Ground, theme: Theme, way: str
) -> None:
    async with staged(ground, theme, SAME_LINE) as stage:
        await begin(stage)
        await begin(stage)
        after = ground.read("a.txt")
        stage.s.submit(ops.UndoChanges(selection=ChangeSelection(turn=1)))
        await stage.until(stage.dialogs)
        if way == "useWantedButton":
            settled = await stage.take(way)
        else:
            await stage.until(lambda: stage.dialogs()[0].findChild(QPushButton, way) is not None)
            part(stage.dialogs()[0], QPushButton, way).click()
            settled = await stage.take("writeResultButton")
        assert "cinq" not in ground.read("a.txt")
        assert ("last" in ground.read("a.txt")) is (way == "takeWantedButton"), "only lines that clash are given up"
        changes = stage.s.session.transcript.changes
        assert changes["1.1"].is_undone
        is_whole = way == "useWantedButton"
        assert (changes["2.1"].is_undone, len(changes["2.1"].undone_hunks)) == (is_whole, 0 if is_whole else 1)
        assert settled.outcomes[0].is_done
        assert stage.dialogs() == []
        await stage.trigger(stage.actions.redo_turn)
        assert ground.read("a.txt") == after
        assert not any(stage.undone().values())
