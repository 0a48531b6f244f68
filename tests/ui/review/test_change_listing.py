from collections.abc import Iterator, Mapping

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QSignalSpy, QTest
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from desktop_agent.ui.review.change_listing import BaselinePicker, FileFilter
from desktop_agent.ui.review.changed_file_list import ChangeModel
from desktop_agent.ui.review.changed_files import (
    LAST_TURN,
    SESSION,
    UNCOMMITTED,
    ChangedFile,
    ReviewBaseline,
    group_by_file,
)
from desktop_agent.ui.review.diff_source import GitState
from desktop_agent.ui.theme import Theme
from tests.ui.review.stage import Session

MANY = 1_500
GIT = GitState(branches=("main",))


class Prompts(Mapping[int, str]):
    def __init__(self, count: int) -> None:
        self._count = count
        self.reads = 0

    def __getitem__(self, turn: int) -> str:
        self.reads += 1
        return f"Prompt {turn}\nand more"

    def __iter__(self) -> Iterator[int]:
        return iter(range(1, self._count + 1))

    def __len__(self) -> int:
        return self._count


def newest_first(count: int) -> list[int]:
    return list(range(count, 0, -1))


@pytest.fixture
def picker(qtbot: QtBot, theme: Theme) -> BaselinePicker:
    assert theme.colours
    picker = BaselinePicker()
    qtbot.addWidget(picker)
    picker.show()
    qtbot.waitExposed(picker)
    return picker


def labels(picker: BaselinePicker) -> list[str]:
    return [picker.itemText(row) for row in range(picker.count())]


def picked(spy: QSignalSpy) -> list[object]:
    return [spy.at(index)[0] for index in range(spy.count())]


def test_a_long_session_is_listed_and_opened_without_reading_prompts_that_are_out_of_sight(
    picker: BaselinePicker,
) -> None:
    prompts = Prompts(MANY)
    picker.set_choices(newest_first(MANY), prompts, None, LAST_TURN)
    assert picker.count() == 5 + 2 * (1 + MANY)
    assert picker.currentText() == f"Last turn ({MANY})"
    assert prompts.reads == 0
    picker.set_choices(newest_first(MANY), prompts, None, ReviewBaseline("since", 7))
    assert picker.currentText() == "Since message 7: Prompt 7"
    picker.showPopup()
    assert picker.view().visualRect(picker.view().currentIndex()).intersects(picker.view().viewport().rect())
    assert 0 < prompts.reads < 200
    picker.hidePopup()


def test_every_baseline_is_picked_by_the_arrow_keys(picker: BaselinePicker) -> None:
    picker.set_choices([2, 1], {}, GIT, LAST_TURN)
    chosen = QSignalSpy(picker.chosen)
    for _ in range(picker.count()):
        QTest.keyClick(picker, Qt.Key.Key_Down)
    assert picked(chosen) == [
        SESSION,
        UNCOMMITTED,
        ReviewBaseline("branch", branch="main"),
        ReviewBaseline("turn", 2),
        ReviewBaseline("turn", 1),
        ReviewBaseline("since", 2),
        ReviewBaseline("since", 1),
    ]


def test_typing_finds_a_baseline_by_its_label(picker: BaselinePicker) -> None:
    picker.set_choices(newest_first(MANY), {}, None, LAST_TURN)
    chosen = QSignalSpy(picker.chosen)
    QTest.keyClicks(picker, "since")
    assert picker.currentText() == f"Since message {MANY}"
    assert picked(chosen)[-1] == ReviewBaseline("since", MANY)


def test_the_lines_between_the_groups_are_none_of_the_choices_nor_is_what_is_beside_them(
    picker: BaselinePicker,
) -> None:
    picker.set_choices([1], {}, GIT, LAST_TURN)
    model = picker.model()
    lines = [row for row, label in enumerate(labels(picker)) if not label]
    assert len(lines) == 3
    for row in lines:
        index = model.index(row, 0)
        assert not model.flags(index) & (Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
        assert index.data(Qt.ItemDataRole.AccessibleDescriptionRole) == "separator"
    assert model.flags(QModelIndex()) == Qt.ItemFlag.NoItemFlags


def test_what_git_answers_while_the_list_is_open_comes_into_it_and_what_is_gone_gives_way_to_the_first(
    picker: BaselinePicker,
) -> None:
    picker.set_choices([2, 1], {}, None, ReviewBaseline("turn", 1))
    picker.showPopup()
    picker.set_choices([2, 1], {}, GIT, ReviewBaseline("turn", 1))
    assert "Against main" in labels(picker)
    assert picker.currentText() == "Turn 1"
    picker.hidePopup()
    picker.set_choices([1], {}, None, ReviewBaseline("turn", 9))
    assert picker.currentText() == "Last turn (1)"


def test_every_criterion_narrows_the_list(session: Session) -> None:
    session.change(1, "a", "src/Pages.py", "1\n", "2\n")
    session.change(1, "b", "src/pages_test.py", "1\n", "2\n", author="shell")
    session.change(1, "", "src/pages_test.py", "2\n", "3\n", author="person")
    session.rename(1, "c", "old/pages.txt", "notes.txt", "x\n")
    files = group_by_file(session.transcript.changes.values())
    files = [files[0]._replace(mark="kept"), files[1]._replace(mark="conflict"), files[2]]

    def listed(wanted: FileFilter) -> list[str]:
        return [file.path for file in files if wanted.passes(file)]

    assert len(listed(FileFilter())) == 3
    assert listed(FileFilter(author="shell")) == ["src/pages_test.py"]
    assert listed(FileFilter(author="person")) == ["src/pages_test.py"]
    assert listed(FileFilter(author="mcp")) == []
    session.change(2, "", "src/Pages.py", "2\n", "3\n", author="unknown")
    assert FileFilter(author="unknown").passes(group_by_file(session.transcript.changes.values())[0])
    assert listed(FileFilter(state="undecided")) == ["src/pages_test.py", "notes.txt"]
    assert listed(FileFilter(state="kept")) == ["src/Pages.py"]
    assert listed(FileFilter(state="conflict", text="test")) == ["src/pages_test.py"]
    assert listed(FileFilter(text="pages SRC")) == ["src/Pages.py", "src/pages_test.py"]
    assert listed(FileFilter(text="old")) == ["notes.txt"]


def files_of(session: Session) -> list[ChangedFile]:
    return group_by_file(session.transcript.changes.values())


def test_an_update_is_no_reset_and_files_that_come_while_a_turn_runs_are_appended(
    session: Session, qtmodeltester: ModelTester
) -> None:
    model = ChangeModel()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    change = session.change(1, "a", "a.py", "1\n", "2\n")
    model.show(files_of(session))
    resets, changes, inserts = map(QSignalSpy, (model.modelReset, model.dataChanged, model.rowsInserted))
    session.undo(change)
    model.show(files_of(session))
    assert (resets.count(), changes.count(), inserts.count()) == (0, 1, 0)
    session.change(1, "b", "b.py", None, "2\n")
    model.show(files_of(session))
    assert (resets.count(), inserts.count(), model.rowCount()) == (0, 1, 2)
    for left in (files_of(session)[1:], []):
        model.show(left)
        assert model.rowCount() == len(left)


def test_a_row_is_read_out_with_its_state(session: Session) -> None:
    undone = session.change(1, "a", "src/a.py", "1\n", "2\n3\n", author="mcp")
    session.change(1, "b", "data.bin", b"\0", None, author="shell")
    session.undo(undone)
    model = ChangeModel()
    model.show(files_of(session))
    words = [model.data(model.index(row), Qt.ItemDataRole.AccessibleTextRole) for row in range(2)]
    assert words == ["src/a.py, 2 added, 1 removed, MCP, undone", "data.bin, deleted, binary, shell, undecided"]


def test_in_a_question_the_kind_of_change_stands_beside_the_path(session: Session) -> None:
    session.change(1, "a", "new.py", None, "1\n")
    session.change(1, "b", "edited.py", "1\n", "2\n")
    model = ChangeModel("kind")
    files = files_of(session)
    assert [model.tag_words(file) for file in files] == ["new", ""]
