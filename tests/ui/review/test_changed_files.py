"""Changes are listed file by file, as they stand now."""

from desktop_agent.ui.review.changed_files import ChangedFile, group_by_file, turn_of, turns_with_changes
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
    assert [turn_of(baseline, turns) for baseline in ("last_turn", "session", 1)] == [3, None, 1]
    assert turn_of("last_turn", []) is None
