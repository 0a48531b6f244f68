"""Changes are listed file by file, as they stand now."""

from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.ui.review.changed_files import (
    LAST_TURN,
    SESSION,
    ChangedFile,
    ReviewBaseline,
    group_by_file,
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
    assert (only_file(session).state, only_file(session).counts) == ("stands", (3, 2))
    session.undo(second)
    assert (only_file(session).state, only_file(session).counts) == ("partly_undone", (1, 1))
    session.undo(first)
    assert (only_file(session).state, len(only_file(session).standing)) == ("undone", 2)
    session.redo(first, second)
    assert only_file(session).state == "stands"


def test_the_key_changes_with_what_stands(session: Session) -> None:
    session.change(1, "a", "a.py", "1\n", "2\n")
    second = session.change(1, "b", "a.py", "2\n", "3\n")
    before = only_file(session).key
    session.undo(second)
    assert only_file(session).key != before


def test_known_net_counts_take_the_place_of_the_sum(session: Session) -> None:
    session.change(1, "a", "a.py", "1\n", "2\n")
    session.change(1, "b", "a.py", "2\n", "3\n")
    (file,) = group_by_file(session.transcript.changes.values())
    assert (file.counts, file._replace(net_counts=(1, 1)).counts) == ((2, 2), (1, 1))


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


def test_undos_are_no_files_of_their_own(session: Session) -> None:
    session.change(1, "a", "a.py", "1\n", "2\n")
    session.change(1, "", "a.py", "2\n", "1\n", author="undo")
    assert len(only_file(session).records) == 1


def test_a_renamed_file_is_one_entry_from_its_first_path_to_its_last(session: Session) -> None:
    session.change(1, "a", "old.py", "1\n", "2\n")
    session.rename(1, "b", "old.py", "middle.py", "2\n")
    session.rename(2, "c", "middle.py", "new.py", "2\n")
    file = only_file(session)
    assert (file.path, file.moved_from, file.kind, file.counts) == ("new.py", "old.py", "renamed", (1, 1))
    assert [record.change.path for record in file.standing] == ["old.py", "old.py", "middle.py", "middle.py", "new.py"]


def test_a_file_that_is_made_and_then_renamed_is_new(session: Session) -> None:
    session.change(1, "a", "old.py", None, "1\n")
    session.rename(1, "b", "old.py", "new.py", "1\n")
    file = only_file(session)
    assert (file.path, file.moved_from, file.kind) == ("new.py", "", "created")


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
