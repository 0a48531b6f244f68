"""Parts of a renamed and edited file are undone and redone while the renaming itself is undone."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from desktop_agent.core.changes.net import NetChange, net_changes
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import review_hunks
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, FileOutcome, Reverted
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.transcript import undone_of
from tests.harness import Ground, Open, left_alone, with_lines_changed

LINES = [f"line {number}\n" for number in range(60)]
text_with = partial(with_lines_changed, LINES)
FIVE, THIRTY = "five\n", "thirty\n"


def replacing(path: str, number: int, text: str) -> Call:
    return Call("edit_file", {"path": path, "old_str": f"line {number}\n", "new_str": text})


RENAME = Call("rename_file", {"source_path": "a.txt", "dest_path": "b.txt"})
BOTH = text_with(line_5=FIVE, line_30=THIRTY)
PATCH = (
    "Update File: a.txt\n*** Move to: b.txt\n@@\n line 4\n-line 5\n+five\n line 6\n@@\n line 29\n-line 30\n+thirty\n"
)
SED = "sed -e 's/^line 5$/five/' -e 's/^line 30$/thirty/' b.txt > .t; cat .t > b.txt; rm .t"
WAYS = {
    "renamed, then edited twice": [RENAME, replacing("b.txt", 5, FIVE), replacing("b.txt", 30, THIRTY)],
    "renamed, then written": [
        RENAME,
        Call("create_file", {"path": "b.txt", "content": BOTH, "if_exists": "overwrite"}),
    ],
    "edited, then renamed": [replacing("a.txt", 5, FIVE), replacing("a.txt", 30, THIRTY), RENAME],
    "edited before and after": [replacing("a.txt", 30, THIRTY), RENAME, replacing("b.txt", 5, FIVE)],
    "by a command": [Call("run_terminal_cmd", {"command": f"mv a.txt b.txt; {SED}"})],
    "by a patch": [Call("apply_patch", {"patch": f"*** Begin Patch\n*** {PATCH}*** End Patch\n"})],
    "renamed twice": [
        Call("rename_file", {"source_path": "a.txt", "dest_path": "c.txt"}),
        replacing("c.txt", 5, FIVE),
        Call("run_terminal_cmd", {"command": f"mv c.txt b.txt; {SED}"}),
    ],
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> list[Call]:
    found: list[Call] = WAYS[request.param]
    return found


class Review:
    def __init__(self, s: Open, ground: Ground) -> None:
        self.s = s
        self.ground = ground
        (self.row,) = net_changes(s.session.transcript.changes.values())
        assert (self.row.path, self.row.moved_from) == ("b.txt", "a.txt")
        change = self.row.change
        diff = diff_change(change, ground.blob(change.before), ground.blob(change.after))
        keys = [named.key for named in review_hunks(diff)]
        self.hunks = [ChangeSelection(path="b.txt", hunks=(key,)) for key in keys]
        self.whole = ChangeSelection(change_ids=self.row.change_ids)

    @property
    def five(self) -> ChangeSelection:
        return self.hunks[0]

    @property
    def thirty(self) -> ChangeSelection:
        return self.hunks[1]

    async def undo(self, selection: ChangeSelection) -> tuple[FileOutcome, ...]:
        return _done(await self.s.carry_out(ops.UndoChanges(selection=selection), ev.ChangesUndone))

    async def redo(self, selection: ChangeSelection) -> tuple[FileOutcome, ...]:
        return _done(await self.s.redo(selection))

    async def redo_step(self) -> None:
        _done(await self.s.redo_step())

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.ground.workspace.iterdir() if path.is_file()}

    def told(self) -> object:
        records = self.s.session.transcript.changes.values()
        return self.files(), {r.change.id: undone_of(r) for r in records if r.change.is_by_agent}

    def now(self) -> NetChange:
        (row,) = net_changes(r for r in self.s.session.transcript.changes.values() if r.change.is_by_agent)
        return row


@asynccontextmanager
async def renamed(ground: Ground, way: list[Call]) -> AsyncGenerator[Review]:
    ground.write("a.txt", text_with())
    async with ground.after(way) as s:
        yield Review(s, ground)


def _done(event: ev.ChangesUndone | ev.ChangesRedone) -> tuple[FileOutcome, ...]:
    assert left_alone(event) == []
    return event.outcomes


async def test_a_hunk_is_redone_at_the_old_name_while_the_renaming_is_undone(ground: Ground, way: list[Call]) -> None:
    async with renamed(ground, way) as review:
        await review.undo(review.whole)
        assert review.files() == {"a.txt": text_with()}
        undone = review.told()
        assert {outcome.path for outcome in await review.redo(review.five)} == {"a.txt"}
        assert review.files() == {"a.txt": text_with(line_5=FIVE)}
        assert review.now().state == "partly"
        await review.redo(review.thirty)
        assert review.files() == {"a.txt": BOTH}
        assert review.now().state == "partly", "it is not renamed"
        await review.undo(review.five)
        assert review.files() == {"a.txt": text_with(line_30=THIRTY)}
        await review.redo_step()
        assert review.files() == {"a.txt": BOTH}
        await review.undo(review.thirty)
        await review.undo(review.five)
        assert review.told() == undone


async def test_the_rest_is_redone_with_the_renaming_and_what_the_user_wrote_since(
    ground: Ground, way: list[Call]
) -> None:
    for first in (0, 1):
        async with renamed(ground, way) as review:
            start = review.told()
            await review.undo(review.whole)
            await review.redo((review.five, review.thirty)[first])
            await review.redo(review.whole)
            assert review.told() == start

            await review.undo(review.whole)
            await review.redo((review.five, review.thirty)[first])
            ground.write("a.txt", ground.read("a.txt").replace("line 50\n", "mine\n"))
            await review.redo(review.whole)
            assert review.files() == {"b.txt": text_with(line_5=FIVE, line_30=THIRTY, line_50="mine\n")}
            assert review.now().state == "standing"
            (ground.workspace / "b.txt").unlink()


async def test_what_is_left_is_undone_at_the_old_name_and_the_user_keeps_their_lines(
    ground: Ground, way: list[Call]
) -> None:
    async with renamed(ground, way) as review:
        await review.undo(review.whole)
        await review.redo(review.five)
        ground.write("a.txt", ground.read("a.txt").replace("line 50\n", "mine\n"))
        before = review.told()
        await review.undo(review.whole)
        assert review.files() == {"a.txt": text_with(line_50="mine\n")}
        assert review.now().state == "undone"
        await review.redo_step()
        assert review.told() == before
        await review.redo_step()
        assert review.files() == {"b.txt": text_with(line_5=FIVE, line_30=THIRTY, line_50="mine\n")}
        assert review.now().state == "standing"
        assert review.s.session.transcript.changed.steps == []


async def test_an_undo_of_what_was_redone_at_the_old_name_does_not_name_the_renaming_again(ground: Ground) -> None:
    async with renamed(ground, WAYS["by a command"]) as review:
        await review.undo(ChangeSelection())
        await review.redo(review.five)
        (left,) = (r.change for r in review.s.session.transcript.changes.values() if r.change.moved_from)

        (outcome,) = await review.undo(ChangeSelection())

        assert (outcome.path, outcome.change_ids) == ("a.txt", (left.id,))
        assert review.files() == {"a.txt": text_with()}


async def test_the_undo_of_a_hunk_of_a_renamed_file_is_a_step_that_is_redone(ground: Ground, way: list[Call]) -> None:
    async with renamed(ground, way) as review:
        start = review.told()
        await review.undo(review.five)
        one = review.told()
        await review.undo(review.thirty)
        assert review.files() == {"b.txt": text_with()}
        assert review.now().state == "partly", "it still is renamed"
        await review.redo_step()
        assert review.told() == one
        await review.undo(review.whole)
        assert review.files() == {"a.txt": text_with()}
        await review.redo_step()
        assert review.told() == one
        await review.redo_step()
        assert review.told() == start


async def test_a_hunk_undone_before_the_whole_is_taken_back_alone_at_the_old_name(
    ground: Ground, way: list[Call]
) -> None:
    async with renamed(ground, way) as review:
        start = review.told()
        await review.undo(review.five)
        await review.undo(review.whole)
        first, _ = review.s.session.transcript.changed.steps
        _done(await review.s.carry_out(ops.RedoSteps(steps=(first.seq,)), ev.ChangesRedone))
        assert review.files() == {"a.txt": text_with(line_5=FIVE)}
        await review.redo_step()
        assert review.told() == start


async def test_a_clash_over_a_redone_hunk_is_settled_for_that_hunk_alone(ground: Ground, way: list[Call]) -> None:
    async with renamed(ground, way) as review:
        await review.undo(review.whole)
        await review.redo(review.thirty)
        mine = ground.read("a.txt").replace("line 5\n", "mine\n")
        ground.write("a.txt", mine)
        (outcome,) = (await review.s.redo(review.five)).outcomes
        assert (outcome.path, outcome.state, review.files()) == ("a.txt", "conflict", {"a.txt": mine})
        assert outcome.clash is not None
        assert outcome.clash.yours is not None
        settled = ops.WriteFile(
            path="a.txt",
            expected=outcome.clash.yours.digest,
            content=BOTH.encode(),
            reverts=outcome.reverts,
            purpose="redo",
        )
        await review.s.carry_out(settled, ev.ChangesRedone)
        assert review.now().state == "partly", "it is not renamed"
        await review.redo(review.whole)
        assert (review.files(), review.now().state) == ({"b.txt": BOTH}, "standing")


@asynccontextmanager
async def settled_at_the_new_name(ground: Ground, way: list[Call]) -> AsyncGenerator[tuple[Review, object]]:
    """The user replaced the renamed file, and took the undo's version in the clash. Also what was there before it."""
    async with renamed(ground, way) as review:
        ground.write("b.txt", "mine\n")
        (outcome,) = (one for one in (await review.s.undo(review.whole)).outcomes if one.clash is not None)
        assert outcome.path == "b.txt"
        assert outcome.clash is not None
        assert outcome.clash.yours is not None
        before = review.told()
        settled = ops.WriteFile(
            path="b.txt",
            expected=outcome.clash.yours.digest,
            content=ground.blob(outcome.clash.wanted),
            reverts=tuple(Reverted(change_id=one) for one in outcome.change_ids),
            purpose="undo",
        )
        await review.s.carry_out(settled, ev.ChangesUndone)
        assert review.files() == {"b.txt": text_with()}
        yield review, before


@pytest.fixture(params=[*WAYS, "renamed"])
def any_way(request: pytest.FixtureRequest) -> list[Call]:
    return WAYS.get(request.param, [RENAME])


async def test_a_redo_brings_back_what_the_user_gave_up_in_a_clash_at_the_new_name(
    ground: Ground, any_way: list[Call]
) -> None:
    async with settled_at_the_new_name(ground, any_way) as (review, before):
        await review.redo_step()
        assert review.told() == before
        assert review.files() == {"b.txt": "mine\n"}


Does = Callable[[Path], object]
OVER = Call("run_terminal_cmd", {"command": "mv -f a.txt b.txt"})
CREATE = Call("create_file", {"path": "c.txt", "content": BOTH})
GIVEN_UP: dict[str, tuple[list[Call], Does]] = {
    "of an edit, no file": ([replacing("a.txt", 5, FIVE)], lambda root: (root / "a.txt").unlink()),
    "of permissions, no file": (
        [Call("run_terminal_cmd", {"command": "chmod 755 a.txt"})],
        lambda root: (root / "a.txt").unlink(),
    ),
    "of an edit, lines": (
        [replacing("a.txt", 5, FIVE)],
        lambda root: (root / "a.txt").write_text(text_with(line_5="mine\n")),
    ),
    "of a removal, a file": (
        [Call("delete_file", {"path": "a.txt"})],
        lambda root: (root / "a.txt").write_text("mine\n"),
    ),
    "of a renaming over a file, that file": ([OVER], lambda root: (root / "a.txt").write_text("mine\n")),
    "of a new file that was renamed, a file for no file": (
        [CREATE, Call("rename_file", {"source_path": "c.txt", "dest_path": "d.txt"})],
        lambda root: (root / "d.txt").write_text("mine\n"),
    ),
}


@pytest.mark.parametrize(("calls", "does"), GIVEN_UP.values(), ids=GIVEN_UP)
async def test_a_redo_brings_back_what_the_user_gave_up_in_a_clash(
    ground: Ground, calls: list[Call], does: Does
) -> None:
    ground.write("a.txt", text_with())
    ground.write("b.txt", text_with(line_50="other\n"))
    async with ground.after(calls) as s:

        def told() -> object:
            files = {path.name: (path.read_text(), path.stat().st_mode) for path in ground.workspace.iterdir()}
            records = s.session.transcript.changes.values()
            return files, {r.change.id: undone_of(r) for r in records if r.change.is_by_agent}

        does(ground.workspace)
        (outcome,) = (one for one in (await s.undo()).outcomes if one.clash is not None)
        clash, before = outcome.clash, told()
        assert clash is not None
        settled = ops.WriteFile(
            path=outcome.path,
            expected=clash.yours and clash.yours.digest,
            content=ground.blob(clash.wanted) if clash.wanted is not None else None,
            like=clash.wanted,
            reverts=tuple(Reverted(change_id=one) for one in outcome.change_ids),
            purpose="undo",
        )
        await s.carry_out(settled, ev.ChangesUndone)
        assert told() != before
        _done(await s.redo_step())
        assert told() == before


async def test_after_a_clash_at_the_new_name_the_renaming_can_still_be_undone_and_both_redone(
    ground: Ground, any_way: list[Call]
) -> None:
    async with settled_at_the_new_name(ground, any_way) as (review, before):
        await review.undo(review.whole)
        assert review.files() == {"a.txt": text_with()}
        await review.redo_step()
        assert review.files() == {"b.txt": text_with()}
        await review.redo_step()
        assert review.told() == before


async def test_a_redo_after_further_edits_asks_before_it_brings_back_what_was_given_up_in_a_clash(
    ground: Ground, any_way: list[Call]
) -> None:
    async with settled_at_the_new_name(ground, any_way) as (review, _):
        ground.write("b.txt", text_with(line_50="more\n"))
        settled = review.told()
        (outcome,) = (await review.s.redo_step()).outcomes
        assert outcome.clash is not None
        assert ground.blob(outcome.clash.wanted) == b"mine\n"
        assert review.told() == settled


@pytest.mark.parametrize("own", ["", "mine\n"], ids=["as it was left", "edited by the user"])
async def test_what_was_redone_after_the_renaming_is_undone_with_it(ground: Ground, own: str) -> None:
    ground.write("a.txt", text_with())
    ground.write("b.txt", text_with(line_50="other\n"))
    move = Call("run_terminal_cmd", {"command": "mv -f a.txt b.txt"})
    script = [[replacing("a.txt", 5, FIVE)], [Say("done")], [move], [Say("done")]]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        await s.undo()
        before = text_with(line_40=own) if own else text_with()
        ground.write("a.txt", before)
        await s.prompt()
        await s.redo_step()
        assert FIVE in ground.read("b.txt")
        undone = await s.undo()
        assert {outcome.path for outcome in undone.outcomes if outcome.is_done} == {"a.txt", "b.txt"}
        assert ground.read("b.txt") == text_with(line_50="other\n")
        assert ground.read("a.txt") == before


async def test_an_edit_of_what_an_undone_renaming_had_replaced_is_undone_there(ground: Ground) -> None:
    """After the undo of the renaming, the new name has the file from before it."""
    there = text_with(line_30="other\n")
    ground.write("a.txt", text_with())
    ground.write("b.txt", there)
    over = Call("rename_file", {"source_path": "a.txt", "dest_path": "b.txt", "overwrite": True})
    edit = Call("run_terminal_cmd", {"command": "sed -i -e 's/^line 5$/five/' b.txt"})
    script = [[over], [Say("Done.")], [edit], [Say("Done.")]]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        await s.undo()
        await s.prompt()
        ground.write("a.txt", text_with(line_5=FIVE))
        outcomes = (await s.undo()).outcomes
    assert [(outcome.path, outcome.state) for outcome in outcomes] == [("b.txt", "restored")]
    assert ground.read("b.txt") == there
    assert ground.read("a.txt") == text_with(line_5=FIVE), "the same line, but the user's own"


async def test_a_renamed_and_deleted_file_that_is_put_over_the_users_in_a_clash_goes_again_with_a_redo(
    ground: Ground,
) -> None:
    ground.write("a.txt", text_with())
    async with ground.after([RENAME, Call("run_terminal_cmd", {"command": "rm b.txt"})]) as s:
        ground.write("a.txt", "mine\n")
        clash = next(one for one in (await s.undo()).outcomes if one.clash is not None)
        assert clash.clash is not None
        assert clash.clash.yours is not None
        settled = ops.WriteFile(
            path=clash.path,
            expected=clash.clash.yours.digest,
            content=ground.blob(clash.clash.wanted),
            like=clash.clash.wanted,
            purpose="undo",
            reverts=clash.reverts,
        )
        await s.carry_out(settled, ev.ChangesUndone)
        assert ground.read("a.txt") == text_with()
        assert all(undone_of(r) is None for r in s.session.transcript.changes.values() if r.change.is_by_agent)
        await s.redo_step()
        assert ground.read("a.txt") == "mine\n"
        assert not (ground.workspace / "b.txt").exists()


async def test_no_choice_is_offered_against_what_the_same_undo_puts_in_the_place(ground: Ground) -> None:
    ground.write("a.txt", text_with())
    move = Call("run_terminal_cmd", {"command": "mv a.txt b.txt"})
    script = [[move], [Say("Done.")], [Call("run_terminal_cmd", {"command": "rm a.txt"})], [Say("Done.")]]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        ground.write("a.txt", "mine\n")
        await s.prompt()
        outcomes = (await s.undo(ChangeSelection())).outcomes
    (refused,) = [outcome for outcome in outcomes if not outcome.is_done]
    assert (refused.path, refused.clash) == ("a.txt", None)
    assert ground.read("a.txt") == text_with()
