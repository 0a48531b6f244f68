"""Several changes of a file add up to one, across renames, with the authors of its hunks."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.changes.attribution import reviewed_diff
from desktop_agent.core.changes.net import NetChange, net_change, net_changes, net_of_call
from desktop_agent.core.diff.hunks import MODE, all_keys, review_hunks
from desktop_agent.core.protocol.model import Author, ChangeKind, ChangeSelection, FileChange, FileImage
from desktop_agent.core.system.files import FileState
from desktop_agent.core.transcript import ChangeRecord

AT = datetime(2026, 11, 22, tzinfo=UTC)


def image(text: str, mode: int = 0o644) -> FileImage:
    return FileImage(digest=blake2b(text.encode(), digest_size=32).hexdigest(), size=len(text), mode=mode)


OLD, NEW = image("old"), image("new")
RUNNABLE = replace(OLD, mode=0o755)


def change(
    kind: ChangeKind, before: FileImage | None, after: FileImage | None, author: Author = "agent", added: int = 1
) -> FileChange:
    return FileChange(
        id="1.1", path="a.py", kind=kind, author=author, before=before, after=after, added=added, removed=0
    )


class Recorded:
    def __init__(self, **files: str) -> None:
        self.files = {path: image(text) for path, text in files.items()}
        self.first = dict(self.files)
        self.records: list[ChangeRecord] = []

    def write(self, path: str, text: str, author: Author = "agent") -> None:
        before = self.files.get(path)
        self.files[path] = image(text)
        self._add(path, "modified" if before else "created", before, self.files[path], author)

    def delete(self, path: str) -> None:
        self._add(path, "deleted", self.files.pop(path), None)

    def rename(self, old: str, new: str, text: str | None = None) -> None:
        """Rename a file, and with `text` also change it in the same call."""
        before, replaced = self.files.pop(old), self.files.get(new)
        self.files[new] = image(text) if text else before
        self._add(old, "deleted", before, None, moved_to=new)
        self._add(new, "renamed", replaced, self.files[new], moved_from=old)

    def rows(self) -> dict[str, NetChange]:
        rows = net_changes(self.records)
        assert len({row.path for row in rows}) == len(rows)
        return {row.path: row for row in rows}

    def told(self) -> dict[str, tuple[ChangeKind, str, FileImage | None, FileImage | None]]:
        changes = {path: row.change for path, row in self.rows().items()}
        return {path: (c.kind, c.moved_from, c.before, c.after) for path, c in changes.items()}

    def _add(
        self,
        path: str,
        kind: ChangeKind,
        before: FileImage | None,
        after: FileImage | None,
        author: Author = "agent",
        moved_from: str = "",
        moved_to: str = "",
    ) -> None:
        number = len(self.records) + 1
        made = FileChange(
            id=f"1.{number}", path=path, kind=kind, author=author, before=before, after=after,
            added=after.size if after else 0, removed=before.size if before else 0,
            moved_from=moved_from, moved_to=moved_to,
        )  # fmt: skip
        self.records.append(ChangeRecord(made, turn=1, call_id=f"call-{number}", at=AT))


def carried_out(rows: Sequence[NetChange], files: dict[str, FileImage]) -> dict[str, FileImage]:
    for row in rows:
        assert files.get(row.moved_from or row.path) == row.change.before or row.change.before is None
    gone = {row.moved_from or row.path for row in rows if row.change.before}
    left = {path: held for path, held in files.items() if path not in gone}
    return left | {row.path: row.change.after for row in rows if row.change.after}


def test_one_change_is_itself() -> None:
    only = change("modified", OLD, NEW)
    assert net_change([only]) is only


def test_it_goes_from_before_the_first_to_after_the_last() -> None:
    net = net_change([change("created", None, OLD), change("modified", OLD, NEW, "shell", added=3)])
    assert (net.kind, net.before, net.after, net.author, net.added) == ("created", None, NEW, "shell", 4)


def test_a_file_edited_and_deleted_is_deleted() -> None:
    assert net_change([change("modified", OLD, NEW), change("deleted", NEW, None)]).kind == "deleted"


def test_a_file_created_and_deleted_again_is_absent_on_both_sides() -> None:
    net = net_change([change("created", None, OLD), change("deleted", OLD, None)])
    assert (net.before, net.after) == (None, None)


def test_an_edit_taken_back_by_hand_leaves_a_change_of_mode() -> None:
    assert net_change([change("modified", OLD, NEW), change("modified", NEW, RUNNABLE)]).kind == "mode_changed"


def test_what_an_undo_wrote_is_not_part_of_what_was_done() -> None:
    net = net_change([change("modified", OLD, NEW), change("modified", NEW, OLD, "undo")])
    assert (net.before, net.after, net.author) == (OLD, NEW, "agent")


def test_what_the_person_wrote_around_it_is_not_the_agents() -> None:
    mine, also = change("modified", image("0"), OLD, "person"), change("modified", NEW, image("2"), "person")
    assert net_change([mine, change("modified", OLD, NEW), also]) == change("modified", OLD, NEW)


Row = tuple[ChangeKind, str, str | None, str | None]
HISTORIES: dict[str, tuple[dict[str, str], list[tuple[str, ...]], dict[str, Row]]] = {
    "a rename": ({"a": "x"}, [("rename", "a", "b")], {"b": ("renamed", "a", "x", "x")}),
    "edited before and after its rename": (
        {"a": "one"},
        [("write", "a", "two"), ("rename", "a", "b"), ("write", "b", "three")],
        {"b": ("renamed", "a", "one", "three")},
    ),
    "renamed twice": (
        {"a": "x"},
        [("rename", "a", "b"), ("rename", "b", "c")],
        {"c": ("renamed", "a", "x", "x")},
    ),
    "renamed there and back": (
        {"a": "x"},
        [("rename", "a", "b"), ("write", "b", "y"), ("rename", "b", "a")],
        {"a": ("modified", "", "x", "y")},
    ),
    "created, then renamed": ({}, [("write", "a", "x"), ("rename", "a", "b")], {"b": ("created", "", None, "x")}),
    "renamed, then deleted": ({"a": "x"}, [("rename", "a", "b"), ("delete", "b")], {"a": ("deleted", "", "x", None)}),
    "deleted and created again": (
        {"a": "x"},
        [("delete", "a"), ("write", "a", "y")],
        {"a": ("modified", "", "x", "y")},
    ),
    "two that changed places": (
        {"a": "x", "b": "y"},
        [("rename", "a", "t"), ("rename", "b", "a"), ("rename", "t", "b")],
        {"a": ("renamed", "b", "y", "y"), "b": ("renamed", "a", "x", "x")},
    ),
    "renamed over another": (
        {"a": "x", "b": "y"},
        [("rename", "a", "b")],
        {"a": ("deleted", "", "x", None), "b": ("modified", "", "y", "x")},
    ),
    "replaced by one that went on": (
        {"a": "x", "b": "y"},
        [("rename", "a", "b"), ("rename", "b", "c")],
        {"b": ("deleted", "", "y", None), "c": ("renamed", "a", "x", "x")},
    ),
    "a new file at the old path": (
        {"a": "x"},
        [("rename", "a", "b"), ("write", "a", "new")],
        {"b": ("renamed", "a", "x", "x"), "a": ("created", "", None, "new")},
    ),
}


@pytest.mark.parametrize(("files", "steps", "rows"), HISTORIES.values(), ids=HISTORIES)
def test_what_happened_to_a_file_is_one_row(
    files: dict[str, str], steps: list[tuple[str, ...]], rows: dict[str, Row]
) -> None:
    folder = Recorded(**files)
    for what, *how in steps:
        getattr(folder, what)(*how)
    images = {text: image(text) for text in ("x", "y", "one", "two", "three", "new")}
    told = {
        path: (kind, moved_from, images.get(before or ""), images.get(after or ""))
        for path, (kind, moved_from, before, after) in rows.items()
    }
    assert folder.told() == told


def test_a_rename_has_the_changes_of_both_its_paths() -> None:
    folder = Recorded(a="text")
    folder.rename("a", "b")
    row = folder.rows()["b"]
    assert (row.moved_from, row.change_ids, row.change.added, row.change.removed) == ("a", ("1.1", "1.2"), 0, 0)


def test_the_changes_of_a_row_alone_come_to_the_same() -> None:
    folder = Recorded(a="one", other="x")
    folder.write("a", "two")
    folder.rename("a", "b")
    folder.write("other", "y")
    folder.rename("b", "c", "three")
    rows = net_changes(folder.records)
    assert [net_change([record.change for record in row.records]) for row in rows] == [row.change for row in rows]


def test_a_rename_that_also_edits_counts_the_lines() -> None:
    folder = Recorded(a="one")
    folder.rename("a", "b", "three")
    row = folder.rows()["b"]
    assert (row.change.added, row.change.removed) == (5, 3)


def test_half_a_rename_is_a_file_that_came_or_went() -> None:
    folder = Recorded(a="x")
    folder.rename("a", "b")
    left, arrived = (record.change for record in folder.records)
    assert (net_change([left]).kind, net_change([left]).moved_to) == ("deleted", "")
    assert (net_change([arrived]).kind, net_change([arrived]).moved_from) == ("created", "")


def test_a_rename_taken_back_elsewhere_leaves_its_origin_to_the_file_that_changed_there() -> None:
    folder = Recorded(a="x")
    folder.rename("a", "b")
    folder.files = {"a": image("x")}
    folder.write("a", "y")
    assert folder.told() == {"b": ("created", "", None, image("x")), "a": ("modified", "", image("x"), image("y"))}


def test_changes_of_the_person_are_rows_where_the_agent_has_none() -> None:
    folder = Recorded(a="x", b="y")
    folder.write("a", "mine", "person")
    folder.write("a", "agent's")
    folder.write("b", "mine", "person")
    assert folder.told() == {
        "a": ("modified", "", image("mine"), image("agent's")),
        "b": ("modified", "", image("y"), image("mine")),
    }
    assert [row.authors for row in folder.rows().values()] == [("agent",), ("person",)]


def test_what_may_be_a_servers_or_the_persons_is_in_the_agents_row() -> None:
    folder = Recorded(a="x", b="y")
    folder.write("a", "agent's")
    folder.write("a", "whose?", "unknown")
    folder.write("b", "whose?", "unknown")
    assert folder.told() == {
        "a": ("modified", "", image("x"), image("whose?")),
        "b": ("modified", "", image("y"), image("whose?")),
    }
    assert [row.authors for row in folder.rows().values()] == [("agent", "unknown"), ("unknown",)]


@pytest.mark.parametrize(
    ("author", "is_meant"), [("agent", True), ("mcp", True), ("person", False), ("unknown", False)]
)
def test_an_undo_means_what_may_be_the_persons_only_by_its_id(author: Author, is_meant: bool) -> None:
    made = change("modified", OLD, NEW, author)
    for wanted in (
        ChangeSelection(),
        ChangeSelection(turn=1),
        ChangeSelection(path="a.py"),
        ChangeSelection(call_id="c"),
    ):
        assert wanted.includes(made, turn=1, call_id="c") == is_meant
    assert made.needs_own_question == (not is_meant)
    assert ChangeSelection(change_ids=("1.1",)).includes(made, turn=1, call_id="c")


def test_the_state_says_how_much_is_in_force() -> None:
    folder = Recorded(a="1", b="1", c="1", d="1")
    for path in "abcd":
        folder.write(path, "2")
        folder.write(path, "3")
    undone = {"1.3", "1.5", "1.6"}
    for record in folder.records:
        record.is_undone = record.change.id in undone
    folder.records[7].undone_hunks = frozenset({"key"})
    states = {path: row.state for path, row in folder.rows().items()}
    assert states == {"a": "standing", "b": "partly", "c": "undone", "d": "partly"}


@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_the_rows_make_the_last_files_of_the_first(chance: random.Random, steps: int) -> None:
    paths = "abcd"
    folder = Recorded(**{path: path for path in paths[: chance.randint(0, 3)]})
    for step in range(steps):
        there = sorted(folder.files)
        match chance.choice(["write", "delete", "rename"]) if there else "write":
            case "write":
                folder.write(chance.choice(paths), f"text {step}")
            case "delete":
                folder.delete(chance.choice(there))
            case _:
                old = chance.choice(there)
                new = chance.choice([path for path in paths if path != old])
                folder.rename(old, new, chance.choice([None, f"edited {step}"]))
    rows = list(folder.rows().values())
    assert carried_out(rows, folder.first) == folder.files
    assert {record.change.id for row in rows for record in row.records} == {r.change.id for r in folder.records}


def test_of_the_changes_of_one_call_a_renamed_file_is_one() -> None:
    history = Recorded(a="one", b="two")
    history.write("b", "three")
    history.rename("a", "c")
    changes = [record.change for record in history.records]
    moved, edited = sorted(net_of_call(changes), key=lambda change: change.kind, reverse=True)
    assert (moved.path, moved.moved_from, moved.added, moved.removed) == ("c", "a", 0, 0)
    assert edited == changes[0]
    assert net_of_call(changes[:1]) == (changes[0],)


TEXT = [f"line {number}\n" for number in range(60)]


class Chain:
    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.changes: list[FileChange] = []
        self._last = self.image("".join(TEXT))

    def image(self, text: str) -> FileImage:
        state = FileState(content=text.encode())
        self.contents[state.digest] = state.content
        return state.image()

    def then(self, author: Author, **lines: str) -> FileChange:
        before = self.contents[self._last.digest].decode().splitlines(keepends=True)
        after = [lines.get(f"at_{number}", line) for number, line in enumerate(before)]
        image = self.image("".join(after))
        number = len(self.changes) + 1
        change = FileChange(id=f"1.{number}", path="a", kind="modified", author=author, before=self._last, after=image)
        self.changes.append(change)
        self._last = image
        return change

    def read(self, image: FileImage | None) -> bytes | None:
        return None if image is None else self.contents[image.digest]


def test_hunks_that_later_entries_took_back_are_shown_as_undone() -> None:
    chain = Chain()
    change = chain.then("agent", at_5="five\n", at_40="forty\n")
    chain.then("undo", at_40="line 40\n")
    diff = reviewed_diff([change], chain.changes, chain.read)
    first, second = (hunk.key for hunk in review_hunks(diff))
    assert diff.undone == {second}
    chain.then("undo", at_5="line 5\n")
    assert reviewed_diff([change], chain.changes, chain.read).undone == {first, second}


def test_each_hunk_names_its_authors_where_there_are_several() -> None:
    chain = Chain()
    chain.then("agent", at_5="five\n")
    chain.then("person", at_6="mine\n", at_30="thirty, mine\n")
    chain.then("shell", at_50="fifty\n")
    selected = [change for change in chain.changes if change.is_by_agent]
    diff = reviewed_diff(selected, chain.changes, chain.read)
    assert [authors for _, authors in diff.authors] == [("agent", "person"), ("person",), ("shell",)]


def test_what_nobody_recorded_between_two_changes_is_the_persons() -> None:
    chain = Chain()
    chain.then("agent", at_5="five\n")
    chain.then("person", at_30="mine\n")
    chain.then("agent", at_50="fifty\n")
    recorded = [chain.changes[0], chain.changes[2]]
    diff = reviewed_diff(recorded, recorded, chain.read)
    assert [authors for _, authors in diff.authors] == [("agent",), ("person",), ("agent",)]


def test_one_author_needs_no_naming() -> None:
    chain = Chain()
    changes = [chain.then("agent", at_5="five\n"), chain.then("agent", at_50="fifty\n")]
    assert reviewed_diff(changes, changes, chain.read).authors == ()


def test_a_mode_is_a_thing_to_decide_about_of_its_own() -> None:
    chain = Chain()
    change = chain.then("agent", at_5="five\n")
    assert change.after is not None
    executable = replace(change, after=replace(change.after, mode=0o755))
    diff = reviewed_diff([executable], [executable], chain.read)
    assert all_keys(diff)[-1] == MODE
