"""Undo and redo of renamed, replaced and linked files that the user edited meanwhile."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.changes.ledger import NOT_EMPTY, Ledger, LedgerWrite
from desktop_agent.core.changes.net import net_change
from desktop_agent.core.diff.hunks import all_keys, review_hunks
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, FileOutcome, Reverted
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.undo.execute import recovered
from desktop_agent.core.undo.refusals import SEVERAL_FILES, Direction
from tests.core.undo.on_record import OnRecord
from tests.trees import Node, tree_of

TEXT = b"".join(b"line %d\n" % number for number in range(30))
MINE = b"the user's\n"
FOLDER = FileState(content=b"", mode=0o755, kind="folder")


class History:
    def __init__(self, folder: Path, files: Mapping[str, bytes]) -> None:
        self.root = folder / "ws"
        self.root.mkdir()
        self.ledger = Ledger(self.root, Blobs(folder / "blobs"))
        self.records: list[FileChange] = []
        self.known = OnRecord()
        for path, content in files.items():
            self.user(path, content)

    # -- the agent --

    def set(self, path: str, after: FileState | bytes | None) -> list[FileChange]:
        before = self.ledger.files.current(path)
        if isinstance(after, bytes):
            after = before.with_content(after) if before else FileState(content=after)
        return self._write([FileTransition(path, before, after)])

    def replace(self, path: str, old: bytes, new: bytes) -> list[FileChange]:
        return self.set(path, (self.root / path).read_bytes().replace(old, new))

    def rename(self, old: str, new: str, *, is_tool: bool = True) -> list[FileChange]:
        source = self.ledger.files.current(old)
        arrival = FileTransition(new, self.ledger.files.current(new), source, moved_from=old)
        departure = FileTransition(old, source, None, moved_to=new)
        return self._write([arrival, departure] if is_tool or new < old else [departure, arrival])

    def _write(self, transitions: Sequence[FileTransition]) -> list[FileChange]:
        start = len(self.records)
        changes = [
            self.ledger.record(item, author="agent", change_id=f"1.{start + place}")
            for place, item in enumerate(transitions)
        ]
        self.ledger.apply(changes)
        self.records += changes
        self.known.changed(changes)
        return changes

    # -- the user --

    def user(self, path: str, content: bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    def person_adds(self, path: str) -> None:
        self.user(path, (self.root / path).read_bytes() + MINE)

    # -- undo and redo --

    def undo(self, changes: Sequence[FileChange], hunks: tuple[HunkKey, ...] = ()) -> tuple[FileOutcome, ...]:
        return self._revert("undo", changes, hunks)

    def redo(self, changes: Sequence[FileChange], hunks: tuple[HunkKey, ...] = ()) -> tuple[FileOutcome, ...]:
        return self._revert("redo", changes, hunks)

    def _revert(
        self, direction: Direction, changes: Sequence[FileChange], hunks: tuple[HunkKey, ...]
    ) -> tuple[FileOutcome, ...]:
        ids = tuple(change.id for change in changes)
        path = net_change(changes).path if hunks else None
        selection = ChangeSelection(change_ids=ids, path=path, hunks=hunks)
        draft = self.known.draft(self.ledger, direction, selection)
        start = len(self.records)
        written = [
            self.ledger.record(write.transition, author="undo", change_id=f"9.{start + place}", reverts=write.reverts)
            for place, write in enumerate(draft.writes)
        ]
        problems = self.ledger.apply_each(
            [LedgerWrite(change, write.new_folders) for change, write in zip(written, draft.writes, strict=True)]
        )
        assert problems == {}
        self.records += written
        self.known.turned(direction, written, draft.outcomes(), selection)
        for outcome in draft.outcomes():
            self._check(outcome)
        return draft.outcomes()

    def _check(self, outcome: FileOutcome) -> None:
        """Check that files left alone have a reason, and clashes all their versions."""
        if outcome.is_done:
            assert outcome.clash is None
            return
        assert outcome.reason
        if outcome.clash is not None:
            now = self.ledger.files.current(outcome.path)
            assert outcome.clash.yours == (now.image() if now else None)
            for image in (outcome.clash.base, outcome.clash.wanted):
                if image is not None and image.kind != "folder":
                    assert len(self.ledger.images.blob(image.digest)) == image.size

    def tree(self) -> dict[str, Node]:
        return tree_of(self.root)

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path, {"a": TEXT, "other": b"other\n"})


def states(outcomes: Sequence[FileOutcome]) -> set[str]:
    return {outcome.state for outcome in outcomes}


@pytest.mark.parametrize("is_tool", [True, False])
def test_a_renamed_and_edited_file_goes_back_with_what_the_person_wrote(history: History, *, is_tool: bool) -> None:
    changes = history.rename("a", "b", is_tool=is_tool) + history.replace("b", b"line 3\n", b"three\n")
    history.person_adds("b")
    edited = history.tree()
    assert states(history.undo(changes)) <= {"restored", "merged"}
    assert (history.read("a"), (history.root / "b").exists()) == (TEXT + MINE, False)
    assert states(history.redo(changes)) <= {"restored", "merged"}
    assert history.tree() == edited


@pytest.mark.parametrize("is_tool", [True, False])
def test_what_somebody_deleted_with_a_renamed_file_does_not_come_back_with_it(
    history: History, *, is_tool: bool
) -> None:
    changes = history.rename("a", "b", is_tool=is_tool)
    history.person_adds("b")
    history.undo(changes)
    history.redo(changes)
    (history.root / "b").unlink()
    history.undo(changes)
    assert history.read("a") == TEXT


def test_a_hunk_of_a_file_that_another_replaced_by_its_renaming_is_refused_and_not_called_undone(
    history: History,
) -> None:
    (history.root / "other").chmod(0o755)
    arrival, _ = history.rename("a", "other")
    after = history.tree()
    for key in all_keys(history.ledger.images.diff(arrival)):
        (outcome,) = history.undo([arrival], (key,))
        assert (outcome.state, outcome.reason) == ("conflict", SEVERAL_FILES)
        assert history.tree() == after
    assert states(history.undo([arrival])) == {"restored"}


def test_either_half_of_a_renaming_stands_for_both(history: History) -> None:
    before = history.tree()
    for half in (0, 1):
        changes = history.rename("a", "b")
        assert states(history.undo(changes[half : half + 1])) == {"restored"}
        assert history.tree() == before


@pytest.mark.parametrize("half", [0, 1])
def test_a_renaming_that_was_taken_back_half_way_is_taken_back_wholly(history: History, half: int) -> None:
    before = history.tree()
    changes = history.rename("a", "b")
    done, left = changes[half], changes[1 - half]
    # The writes of an undo whose process was killed, as recorded by recovery.
    back = FileTransition(done.path, history.ledger.files.current(done.path), history.ledger.images.state(done.before))
    cut = history.ledger.record(back, author="undo", change_id="9.0", reverts=(Reverted(change_id=done.id),))
    history.ledger.apply([cut])
    history.records.append(cut)
    history.known.apply(recovered("undo", (cut,)))
    assert all(outcome.is_done for outcome in history.undo([left]))
    assert history.tree() == before


def test_a_chain_of_renamings_is_undone_as_a_whole_with_what_the_person_wrote(history: History) -> None:
    changes = history.rename("a", "b") + history.rename("b", "c", is_tool=False)
    history.person_adds("c")
    edited = history.tree()
    assert states(history.undo(changes)) <= {"restored", "merged", "unchanged"}
    assert history.read("a") == TEXT + MINE
    assert sorted(history.tree()) == ["a", "other"]
    history.redo(changes)
    assert history.tree() == edited


def test_a_clash_after_a_renaming_leaves_both_paths_alone(history: History) -> None:
    changes = history.rename("a", "b") + history.replace("b", b"line 3\n", b"three\n")
    history.user("b", history.read("b").replace(b"three\n", b"drei\n"))
    clashing = history.tree()
    assert any(outcome.clash for outcome in history.undo(changes))
    assert history.read("b").count(b"drei\n") == 1
    assert history.tree()["b"] == clashing["b"]


def test_a_hunk_of_a_renamed_file_is_undone_where_the_file_is_now(history: History) -> None:
    changes = history.rename("a", "b")
    changes += history.replace("b", b"line 3\n", b"three\n") + history.replace("b", b"line 25\n", b"twenty-five\n")
    net = net_change(changes)
    assert (net.moved_from, net.kind) == ("a", "renamed")
    diff = history.ledger.images.diff(net)
    first, second = (hunk.key for hunk in review_hunks(diff))
    edited = history.tree()
    assert states(history.undo(changes, (first,))) == {"restored"}
    assert history.read("b") == TEXT.replace(b"line 25\n", b"twenty-five\n")
    history.person_adds("b")
    assert states(history.undo(changes, (second,))) == {"merged"}
    assert history.read("b") == TEXT + MINE
    history.redo(changes, (first, second))
    assert history.read("b") == edited["b"].content + MINE


@pytest.mark.parametrize("is_tool", [True, False])
def test_an_edit_is_undone_and_redone_where_the_file_was_renamed_to_since(history: History, *, is_tool: bool) -> None:
    edit = history.replace("a", b"line 3\n", b"three\n")
    rename = history.rename("a", "b", is_tool=is_tool) + history.rename("b", "d/c", is_tool=is_tool)
    history.person_adds("d/c")
    (outcome,) = history.undo(edit)
    assert (outcome.path, outcome.state, outcome.change_ids) == ("d/c", "merged", (edit[0].id,))
    assert history.read("d/c") == TEXT + MINE
    assert states(history.redo(edit)) == {"restored"}
    assert history.read("d/c") == TEXT.replace(b"line 3\n", b"three\n") + MINE
    history.undo(edit)
    history.undo(rename)
    assert history.read("a") == TEXT + MINE
    history.redo(edit)
    assert history.read("a") == TEXT.replace(b"line 3\n", b"three\n") + MINE


def test_an_edit_is_not_looked_for_in_another_file_that_took_the_place(history: History) -> None:
    edit = history.replace("a", b"line 3\n", b"three\n")
    history.rename("a", "b")
    history.set("other", TEXT.replace(b"line 3\n", b"three\n"))
    history.rename("other", "b")
    assert states(history.undo(edit)) == {"unchanged"}
    assert history.read("b") == TEXT.replace(b"line 3\n", b"three\n")


def test_an_edit_of_a_file_in_whose_place_is_a_new_one_follows_the_file(history: History) -> None:
    edit = history.replace("a", b"line 3\n", b"three\n")
    history.rename("a", "b")
    history.set("a", b"a new one\n")
    assert states(history.undo(edit)) == {"restored"}
    assert (history.read("a"), history.read("b")) == (b"a new one\n", TEXT)


def test_a_file_that_was_created_and_renamed_says_where_it_is_when_only_its_creation_is_undone(
    history: History,
) -> None:
    created = history.set("new", b"of the agent\n")
    rename = history.rename("new", "b")
    (outcome,) = history.undo(created)
    assert (outcome.state, "renamed to b" in outcome.reason) == ("conflict", True)
    history.undo(rename)
    assert states(history.undo(created)) == {"restored"}
    assert not (history.root / "new").exists()


def test_new_and_removed_folders_come_and_go(history: History) -> None:
    (history.root / "old").mkdir(mode=0o700)
    before = history.tree()
    changes = history.set("old", None) + history.set("new", FOLDER) + history.set("new/in", FOLDER)
    after = history.tree()
    assert states(history.undo(changes)) == {"restored"}
    assert history.tree() == before
    assert states(history.redo(changes)) == {"restored"}
    assert history.tree() == after
    history.user("new/in/mine", MINE)
    outcomes = history.undo(changes)
    assert {one.path: one.state for one in outcomes} == {"old": "restored", "new": "conflict", "new/in": "conflict"}
    assert {one.reason for one in outcomes if not one.is_done} == {NOT_EMPTY}
    assert history.read("new/in/mine") == MINE


def test_a_link_that_took_the_place_of_a_file_and_one_that_leads_elsewhere_go_back(history: History) -> None:
    (history.root / "link").symlink_to("a")
    before = history.tree()
    changes = history.set("link", FileState(content=b"other", mode=0o777, kind="symlink"))
    changes += history.set("a", FileState(content=b"other", mode=0o777, kind="symlink"))
    after = history.tree()
    assert after["a"].kind == "symlink"
    assert states(history.undo(changes)) == {"restored"}
    assert history.tree() == before
    history.redo(changes)
    assert history.tree() == after


def test_a_mode_goes_back_and_what_the_person_wrote_stays(history: History) -> None:
    changes = history.set("a", FileState(content=TEXT, mode=0o755))
    history.person_adds("a")
    edited = history.tree()
    assert states(history.undo(changes)) == {"merged"}
    assert history.tree()["a"] == Node("file", 0o644, TEXT + MINE)
    history.redo(changes)
    assert history.tree() == edited


def test_a_link_does_not_come_back_over_a_file_whose_mode_somebody_set_since(history: History) -> None:
    (history.root / "link").symlink_to("b")
    changes = history.set("link", FileState(content=TEXT, mode=0o777))
    (history.root / "link").chmod(0o640)
    edited = history.tree()
    assert states(history.undo(changes)) == {"conflict"}
    assert history.tree() == edited
    (history.root / "link").chmod(0o777)
    assert states(history.undo(changes)) == {"restored"}
    assert history.tree()["link"].kind == "symlink"


PATHS = ("a", "b", "c", "d/e")
steps = st.lists(
    st.tuples(
        st.sampled_from(["edit", "rename", "shell rename", "chmod", "delete", "create"]),
        st.sampled_from(PATHS),
        st.sampled_from(PATHS),
        st.integers(0, 29),
    ),
    min_size=1,
    max_size=8,
)


def act(history: History, what: str, path: str, other: str, number: int, word: bytes) -> None:
    files = history.ledger.files
    now = files.current(path)
    match what:
        case "create" if now is None:
            history.set(path, word * 20)
        case "delete" if now is not None:
            history.set(path, None)
        case "chmod" if now is not None and now.mode == 0o644:
            history.set(path, replace(now, mode=0o755))
        case "rename" | "shell rename" if now is not None and path != other and files.current(other) != now:
            history.rename(path, other, is_tool=what == "rename")
        case "edit" if now is not None:
            lines = now.content.splitlines(keepends=True)
            lines[number % len(lines)] = word
            history.set(path, b"".join(lines))
        case _:
            pass


@example(steps=[("rename", "a", "b", 0), ("create", "c", "a", 0), ("rename", "c", "a", 0)], adds_to="b")
@example(steps=[("rename", "a", "b", 0), ("create", "a", "a", 0)], adds_to="a")
@given(steps=steps, adds_to=st.sampled_from([None, *PATHS]))
def test_whatever_was_renamed_and_edited_undo_gives_back_and_redo_repeats(
    steps: list[tuple[str, str, str, int]], adds_to: str | None
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="undo-"))
    try:
        history = History(folder, {"a": TEXT, "b": TEXT.replace(b"line", b"row"), "d/other": b"\n"})
        before = history.tree()
        for place, (what, path, other, number) in enumerate(steps):
            act(history, what, path, other, number, b"word %d\n" % place)
        changes = tuple(history.records)
        if adds_to is not None and (history.root / adds_to).is_file():
            history.person_adds(adds_to)
        after = history.tree()
        has_mine = any(MINE in node.content for node in after.values())
        if not changes:
            return
        outcomes = history.undo(changes)
        undone = history.tree()
        if not has_mine:
            assert all(outcome.is_done for outcome in outcomes)
            assert undone == before
        assert any(MINE in node.content for node in undone.values()) == has_mine
        if all(outcome.is_done for outcome in outcomes):
            history.redo(changes)
            assert history.tree() == after
    finally:
        shutil.rmtree(folder)


def test_a_redo_does_not_bring_back_what_the_user_had_removed_before_the_undo(history: History) -> None:
    """`mv -f b a; echo … > b`, then the user removes `b`: the undo restores the first `b`, the redo removes it."""
    history.set("a", TEXT)
    history.set("b", TEXT.replace(b"line", b"row"))
    start = len(history.records)
    history.rename("b", "a")
    history.set("b", b"new\n")
    (history.root / "b").unlink()
    after, changes = history.tree(), history.records[start:]
    assert all(outcome.is_done for outcome in history.undo(changes))
    assert (history.root / "b").read_bytes() == TEXT.replace(b"line", b"row")
    assert all(outcome.is_done for outcome in history.redo(changes))
    assert history.tree() == after


def test_a_redo_leaves_the_users_file_where_one_that_it_removes_makes_room_for_one_that_is_refused(
    history: History,
) -> None:
    changes = [*history.rename("a", "d/c"), *history.set("a", b"new\n")]
    shutil.rmtree(history.root / "d")
    history.user("d", MINE)
    history.undo(changes)
    assert history.read("a") == TEXT
    history.user("a", MINE)
    outcomes = history.redo(changes)
    assert history.read("a") == MINE
    assert states(outcomes) == {"conflict"}


def test_an_edit_of_a_renamed_file_is_redone_after_the_renaming_though_the_user_had_removed_the_file(
    history: History,
) -> None:
    history.set("a", TEXT)
    start = len(history.records)
    history.rename("a", "b")
    history.set("b", TEXT + b"more\n")
    arrival, departure, edit = history.records[start:]
    assert all(outcome.is_done for outcome in history.undo((arrival, departure, edit)))
    (history.root / "a").unlink()
    assert all(outcome.is_done for outcome in history.redo((arrival, departure)))
    assert (history.root / "b").read_bytes() == TEXT
    assert states(history.redo((edit,))) == {"restored"}
    assert (history.root / "b").read_bytes() == TEXT + b"more\n"


def test_a_folder_of_which_nothing_is_left_is_named_by_its_own_path(history: History) -> None:
    start = len(history.records)
    for path, content in (("new/x", TEXT), ("new/x", None), ("new", None), ("new/x", b"again\n")):
        history.set(path, content)
    first, deleted, folder, again = history.records[start:]
    history.undo((first, deleted, again))
    (outcome,) = history.undo((folder,))
    assert (outcome.path, outcome.state) == ("new", "unchanged")


def test_a_folder_that_moved_away_under_a_link_in_its_place_comes_back_with_its_files(history: History) -> None:
    """`mv d e && ln -s e d`: the files seem to exist behind the link, but are not those in `d`."""
    history.set("d", FOLDER)
    history.set("d/x", TEXT)
    before = history.tree()
    start = len(history.records)
    history.set("e", FOLDER)
    history.rename("d/x", "e/x")
    history.set("d", None)
    history.set("d", FileState(content=b"e", mode=0o777, kind="symlink"))
    after, done = history.tree(), history.records[start:]
    assert states(history.undo(done)) == {"restored"}
    assert history.tree() == before
    assert states(history.redo(done)) == {"restored"}
    assert history.tree() == after


def test_files_behind_a_link_that_somebody_else_put_there_are_left_alone(history: History) -> None:
    history.set("d/x", TEXT)
    (history.root / "d").rename(history.root / "e")
    (history.root / "d").symlink_to("e")
    (outcome,) = history.undo([change for change in history.records if change.path == "d/x"])
    assert (outcome.state, outcome.reason) == ("conflict", "A symlink has taken the place of the folder d.")
    assert history.read("e/x") == TEXT


def test_a_renamed_file_stays_at_its_name_when_a_file_stands_in_place_of_its_folder(history: History) -> None:
    history.set("a", TEXT)
    start = len(history.records)
    history.rename("a", "d/x")
    renaming = history.records[start:]
    assert states(history.undo(renaming)) == {"restored"}
    (history.root / "d").write_text("the user's")
    outcomes = {outcome.path: (outcome.state, outcome.reason) for outcome in history.redo(renaming)}
    assert outcomes["d/x"] == ("conflict", "Something else has taken the place of the folder d.")
    assert outcomes["a"] == ("conflict", "It was renamed together with d/x, which has to be left alone.")
    assert (history.read("a"), history.read("d")) == (TEXT, b"the user's")
