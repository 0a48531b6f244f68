"""What was decided about a file follows from the transcript, and from a comparison where it must."""

from datetime import timedelta

from msgspec.structs import replace

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import FileOutcome
from desktop_agent.ui.review.changed_files import ChangedFile, group_by_file
from desktop_agent.ui.review.changes.verdicts import Compared, judged, needs_comparison, paths_in_conflict, progress
from tests.ui.review.stage import Session

THREE = Compared(added=3, removed=0, keys=("a", "b", "c"), undone=frozenset())


def only_file(session: Session) -> ChangedFile:
    (file,) = group_by_file(session.transcript.changes.values())
    return file


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


def test_kept_hunks_that_are_not_in_the_file_any_more_decide_nothing(session: Session) -> None:
    assert mark(changed(session), {"of", "before"}, THREE) == "pending"


def test_a_file_of_kept_and_undone_hunks_is_decided(session: Session) -> None:
    file = changed(session)
    compared = THREE._replace(undone=frozenset(("b", "c")))
    assert mark(file, set(), compared) == "partly"
    decided = judged(file, {"a"}, compared, is_in_conflict=False)
    assert (decided.mark, decided.decided) == ("kept", (3, 3))
    assert mark(file, set(), THREE._replace(undone=frozenset("abc"))) == "undone"


def test_an_undone_file_is_undone_whatever_was_kept_of_it(session: Session) -> None:
    changed(session)
    session.undo("1.1")
    assert mark(only_file(session), {"a"}, None) == "undone"


def test_what_only_the_user_wrote_needs_no_decision(session: Session) -> None:
    session.change(1, "", "a.py", "1\n", "2\n", author="person")
    assert mark(only_file(session), set(), None) == "kept"


def test_only_files_that_somebody_touched_are_compared(session: Session) -> None:
    file = changed(session)
    assert not needs_comparison(file, set())
    assert needs_comparison(file, {"a"})
    session.change(2, "call", "a.py", "2\n", "3\n")
    assert needs_comparison(only_file(session), set())


def test_a_file_that_is_only_renamed_is_not_compared_and_has_no_lines_changed(session: Session) -> None:
    """A folder may be renamed with thousands of files in it."""
    session.rename(1, "call", "a.py", "lib/a.py", "1\n2\n")
    created = session.transcript.changes["1.2"]
    created.change = replace(created.change, added=2)  # as the two halves are on record
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
