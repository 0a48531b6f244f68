from datetime import timedelta

from msgspec.structs import replace

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, FileOutcome
from desktop_agent.ui.review.changed_files import (
    LAST_TURN,
    SESSION,
    ChangedFile,
    Compared,
    ReviewBaseline,
    group_by_file,
    judged,
    needs_comparison,
    paths_in_conflict,
    progress,
    records_of,
    selection_of,
    turns_with_changes,
)
from tests.ui.review.stage import Session


def test_changes_of_one_file_are_one_entry_in_the_order_of_the_first(session: Session) -> None:
    session.change(1, "a", "b.py", "1\n", "2\n")
    session.change(1, "b", "a.py", None, "new\n", author="shell")
    session.change(2, "c", "b.py", "2\n", "3\n", author="person")
    files = group_by_file(session.transcript.changes.values())
    assert [(file.path, len(file.records), file.authors) for file in files] == [
        ("b.py", 2, ["agent", "person"]),
        ("a.py", 1, ["shell"]),
    ]


def only_file(session: Session) -> ChangedFile:
    (file,) = group_by_file(session.transcript.changes.values())
    return file


def test_only_changes_that_stand_are_shown_until_none_does(session: Session) -> None:
    first = session.change(1, "a", "a.py", "1\n", "2\n")
    second = session.change(2, "b", "a.py", "2\n", "3\n4\n")
    file, key = only_file(session), only_file(session).key
    assert (file.state, file.counts) == ("stands", (3, 2))
    assert file._replace(net_counts=(1, 1)).counts == (1, 1)
    session.undo(second)
    assert (only_file(session).state, only_file(session).counts) == ("partly_undone", (1, 1))
    assert only_file(session).key != key
    session.undo(first)
    assert (only_file(session).state, len(only_file(session).standing)) == ("undone", 2)
    session.redo(first, second)
    assert only_file(session).state == "stands"
    session.change(2, "", "a.py", "3\n4\n", "1\n", author="undo")
    assert len(only_file(session).records) == 2, "an undo is no change of its own"


def test_what_became_of_a_file_is_from_first_to_last(session: Session) -> None:
    session.change(1, "a", "new.py", None, "1\n")
    session.change(1, "b", "new.py", "1\n", "2\n")
    session.change(1, "c", "old.py", "1\n", None)
    session.change(1, "d", "same.py", "1\n", "2\n")
    kinds = {file.path: file.kind for file in group_by_file(session.transcript.changes.values())}
    assert kinds == {"new.py": "created", "old.py": "deleted", "same.py": "modified"}


def test_the_last_turn_is_the_last_that_changed_something(session: Session) -> None:
    session.change(1, "a", "a.py", "1\n", "2\n")
    session.change(3, "b", "a.py", "2\n", "3\n")
    turns = turns_with_changes(session.transcript)
    assert turns == [3, 1]
    baselines = (LAST_TURN, SESSION, ReviewBaseline("turn", 1), ReviewBaseline("since", 3))
    selected = [selection_of(baseline, turns) for baseline in baselines]
    assert [(found.turn, found.since_turn) for found in selected] == [(3, None), (None, None), (1, None), (None, 3)]
    found = [[r.change.id for r in records_of(b, session.transcript, turns)] for b in baselines]
    assert found == [["3.2"], ["1.1", "3.2"], ["1.1"], ["3.2"]]
    assert selection_of(LAST_TURN, []) == ChangeSelection()


def test_what_the_user_changed_is_listed_but_makes_no_turn(session: Session) -> None:
    session.change(1, "a", "a.py", "1\n", "2\n")
    session.change(2, "", "a.py", "2\n", "3\n", author="person")
    session.change(2, "", "notes.txt", None, "mine\n", author="person")
    assert turns_with_changes(session.transcript) == [1]
    edited, notes = group_by_file(session.transcript.changes.values())
    assert (edited.authors, edited.is_by_user, [record.change.id for record in edited.standing]) == (
        ["agent", "person"],
        False,
        ["1.1"],
    )
    assert (notes.authors, notes.is_by_user) == (["person"], True)


def test_a_renamed_file_is_one_entry_from_its_first_path_to_its_last(session: Session) -> None:
    session.change(1, "a", "old.py", "1\n", "2\n")
    session.rename(1, "b", "old.py", "middle.py", "2\n")
    session.rename(2, "c", "middle.py", "new.py", "2\n")
    file = only_file(session)
    assert (file.path, file.moved_from, file.kind, file.counts) == ("new.py", "old.py", "renamed", (1, 1))
    assert [record.change.path for record in file.standing] == ["old.py", "old.py", "middle.py", "middle.py", "new.py"]
    session.change(3, "d", "made.py", None, "1\n")
    session.rename(3, "e", "made.py", "named.py", "1\n")
    made = group_by_file(session.transcript.changes.values())[-1]
    assert (made.path, made.moved_from, made.kind) == ("named.py", "", "created")


def test_a_file_that_goes_away_and_comes_back_is_no_rename(session: Session) -> None:
    session.rename(1, "a", "a.py", "b.py", "a\n")
    session.rename(2, "b", "b.py", "a.py", "a\n")
    assert [(file.path, file.moved_from) for file in group_by_file(session.transcript.changes.values())] == [
        ("a.py", ""),
        ("b.py", ""),
    ]


def test_a_rename_over_another_file_leaves_both_to_be_seen(session: Session) -> None:
    session.change(1, "a", "b.py", "b\n", "B\n")
    session.rename(1, "b", "a.py", "b.py", "a\n")
    files = group_by_file(session.transcript.changes.values())
    assert [(file.path, file.moved_from, file.kind) for file in files] == [
        ("b.py", "", "modified"),
        ("a.py", "", "deleted"),
    ]


THREE = Compared(added=3, removed=0, keys=("a", "b", "c"), undone=frozenset(), names={})


def changed(session: Session) -> ChangedFile:
    session.change(1, "call", "a.py", "1\n", "2\n")
    return only_file(session)


def mark(file: ChangedFile, kept: set[str], compared: Compared | None) -> str:
    return judged(file, kept, compared, is_in_conflict=False).mark


def test_a_file_is_undecided_until_something_of_it_is_kept(session: Session) -> None:
    file = changed(session)
    assert mark(file, set(), None) == "pending"
    assert mark(file, set(), THREE) == "pending"
    assert mark(file, {"a"}, THREE) == "partly"
    assert mark(file, {"a", "b", "c"}, THREE) == "kept"
    assert mark(file, {"of", "before"}, THREE) == "pending", "these are not in the file any more"


def test_a_file_of_kept_and_undone_hunks_is_decided(session: Session) -> None:
    file = changed(session)
    compared = THREE._replace(undone=frozenset(("b", "c")))
    assert mark(file, set(), compared) == "partly"
    decided = judged(file, {"a"}, compared, is_in_conflict=False)
    assert (decided.mark, decided.decided) == ("kept", (3, 3))
    assert mark(file, set(), THREE._replace(undone=frozenset("abc"))) == "undone"


def test_an_undone_file_is_undone_whatever_was_kept_and_what_only_the_user_wrote_is_kept(session: Session) -> None:
    changed(session)
    session.undo("1.1")
    assert mark(only_file(session), {"a"}, None) == "undone"
    session.change(1, "", "b.py", "1\n", "2\n", author="person")
    assert mark(group_by_file(session.transcript.changes.values())[1], set(), None) == "kept"


def test_only_files_that_somebody_touched_are_compared(session: Session) -> None:
    file = changed(session)
    assert not needs_comparison(file, set())
    assert needs_comparison(file, {"a"})
    session.change(2, "call", "a.py", "2\n", "3\n")
    assert needs_comparison(only_file(session), set())


def test_a_file_that_is_only_renamed_is_not_compared_and_has_no_lines_changed(session: Session) -> None:
    """Renaming a folder may rename thousands of files."""
    session.rename(1, "call", "a.py", "lib/a.py", "1\n2\n")
    created = session.transcript.changes["1.2"]
    created.change = replace(created.change, added=2)  # like the two recorded halves
    assert not needs_comparison(only_file(session), set())
    assert only_file(session).counts == (0, 0)
    assert needs_comparison(only_file(session), {"a"})
    session.change(2, "call", "lib/a.py", "1\n2\n", "1\n3\n")
    assert needs_comparison(only_file(session), set())


def test_a_file_that_is_renamed_and_edited_in_one_is_compared(session: Session) -> None:
    session.rename(1, "call", "a.py", "lib/a.py", "1\n")
    created, other = session.transcript.changes["1.2"], session.change(1, "call", "b.py", None, "2\n")
    created.change = replace(created.change, after=session.transcript.changes[other].change.after)
    renamed = next(file for file in group_by_file(session.transcript.changes.values()) if file.moved_from)
    assert needs_comparison(renamed, set())


def test_progress_counts_files_that_are_kept_or_undone(session: Session) -> None:
    file = changed(session)
    marks = ("pending", "partly", "kept", "undone", "conflict")
    assert progress([file._replace(mark=mark) for mark in marks]) == (2, 5)


def test_a_clash_stands_until_a_later_undo_or_a_later_write_settles_it(session: Session) -> None:
    changed(session)
    clash = FileOutcome(path="a.py", state="conflict", change_ids=("1.1",), reason="You changed it.")
    session.undo(outcomes=(clash,))
    assert paths_in_conflict(session.transcript) == {"a.py"}
    assert judged(only_file(session), set(), None, is_in_conflict=True).mark == "conflict"
    settled = FileOutcome(path="a.py", state="merged", change_ids=("1.1",))
    session.undo(outcomes=(settled,))
    assert paths_in_conflict(session.transcript) == set()
    session.undo(outcomes=(clash,))
    change = next(iter(session.transcript.changes.values())).change
    later = ev.UNSTAMPED + timedelta(seconds=1)
    session.transcript.apply(ev.ChangesRecorded(turn=1, call_id="", changes=(change,)).stamped(9, later))
    assert paths_in_conflict(session.transcript) == set()
