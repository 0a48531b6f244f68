"""The list of changed files is a proper model, and says in words what the delegate paints."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy
from pytestqt.modeltest import ModelTester

from desktop_agent.ui.review.changed_file_list import ChangeModel
from desktop_agent.ui.review.changed_files import ChangedFile, group_by_file
from tests.ui.review.stage import Session


def files_of(session: Session) -> list[ChangedFile]:
    return group_by_file(session.transcript.changes.values())


def test_it_keeps_the_rules_of_models(session: Session, qtmodeltester: ModelTester) -> None:
    model = ChangeModel()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    session.change(1, "a", "a.py", "1\n", "2\n")
    model.set_files(files_of(session))
    session.change(1, "b", "b.py", None, "2\n")
    model.set_files(files_of(session))
    model.set_files(files_of(session)[1:])
    model.set_files([])
    assert model.rowCount() == 0


def test_files_that_come_while_a_turn_runs_are_appended(session: Session) -> None:
    model = ChangeModel()
    session.change(1, "a", "a.py", "1\n", "2\n")
    model.set_files(files_of(session))
    resets, inserts = QSignalSpy(model.modelReset), QSignalSpy(model.rowsInserted)
    session.change(1, "b", "b.py", None, "2\n")
    model.set_files(files_of(session))
    assert (resets.count(), inserts.count(), model.rowCount()) == (0, 1, 2)


def test_an_update_of_the_same_files_is_no_reset(session: Session) -> None:
    model = ChangeModel()
    change = session.change(1, "a", "a.py", "1\n", "2\n")
    model.set_files(files_of(session))
    resets, changes = QSignalSpy(model.modelReset), QSignalSpy(model.dataChanged)
    session.undo(change)
    model.set_files(files_of(session))
    assert (resets.count(), changes.count()) == (0, 1)


def test_a_row_is_read_out_with_its_state(session: Session) -> None:
    undone = session.change(1, "a", "src/a.py", "1\n", "2\n3\n", author="mcp")
    session.change(1, "b", "data.bin", b"\0", None, author="shell")
    session.undo(undone)
    model = ChangeModel()
    model.set_files(files_of(session))
    words = [model.data(model.index(row), Qt.ItemDataRole.AccessibleTextRole) for row in range(2)]
    assert words == ["src/a.py, 2 added, 1 removed, MCP, undone", "data.bin, deleted, binary, shell, undecided"]


def test_in_a_question_the_kind_of_change_stands_beside_the_path(session: Session) -> None:
    session.change(1, "a", "new.py", None, "1\n")
    session.change(1, "b", "edited.py", "1\n", "2\n")
    model = ChangeModel("kind")
    files = files_of(session)
    assert [model.tag_words(file) for file in files] == ["new", ""]
