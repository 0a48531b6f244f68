"""A file is searched and edited in its diff; saving writes exact bytes, and no edit is lost."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import StorageError
from desktop_agent.ui.review.changed_files import group_by_file
from desktop_agent.ui.review.diff.diff_words import HunkDecisions
from desktop_agent.ui.review.diff_pane import DiffPane
from desktop_agent.ui.review.file_editing import FileEditor
from desktop_agent.ui.theme import Theme
from tests.parts import part
from tests.ui.pictures import SVG, picture
from tests.ui.review.diff.test_review_view import carried, payload
from tests.ui.review.stage import Session, Source, Tasks, message_of, run_now

OLD, NEW = b"one\r\ntwo\r\nthree\r\n", b"one\r\n2\r\nthree\r\n"
CTRL = Qt.KeyboardModifier.ControlModifier


class Stage:
    def __init__(self, qtbot: QtBot, pane: DiffPane, session: Session) -> None:
        self.pane = pane
        self.session = session
        qtbot.addWidget(pane)
        pane.resize(900, 600)
        pane.show()
        qtbot.waitUntil(pane.view.isVisible)
        session.start_turn(1)

    def show(self, path: str) -> None:
        files = group_by_file(list(self.session.transcript.changes.values()))
        self.pane.show_file(next(file for file in files if file.path == path), "turn 1")

    def edit(self) -> FileEditor:
        self.button("editFileButton").click()
        QTest.keyClick(self.editor(), Qt.Key.Key_Home, CTRL)
        return self.editor()

    def type(self, words: str = "zero") -> FileEditor:
        editor = self.edit()
        QTest.keyClicks(editor, words)
        return editor

    def editor(self) -> FileEditor:
        found = next(editor for editor in self.pane.findChildren(FileEditor) if editor.isVisible())
        assert found.is_ready
        return found

    def is_editing(self) -> bool:
        return any(editor.isVisible() for editor in self.pane.findChildren(FileEditor))

    def button(self, name: str) -> QPushButton:
        return part(self.pane, QPushButton, name)


@pytest.fixture
def stage(qtbot: QtBot, theme: Theme, session: Session, source: Source, tasks: Tasks) -> Stage:
    stage = Stage(qtbot, DiffPane(theme, source, tasks.spawn), session)
    session.change(1, "c1", "a.txt", OLD, NEW)
    session.change(1, "c2", "b.bin", b"\0", b"\0\1")
    source.versions_error = StorageError("Its content is missing")  # so that the file stays text
    session.change(1, "c3", "gone.txt", b"x\n", None)
    stage.show("a.txt")
    stage.pane.editing.set_obstacle("")
    return stage


def test_what_is_saved_are_the_bytes_of_the_file(qtbot: QtBot, stage: Stage) -> None:
    editor = stage.edit()
    assert editor.hasFocus()
    QTest.keyClicks(editor, "zero")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    with qtbot.waitSignal(stage.pane.editing.saved) as saved:
        QTest.keyClick(editor, Qt.Key.Key_S, CTRL)
    assert payload(saved) == b"zero\r\n" + NEW
    assert editor.isReadOnly()


def test_a_file_in_another_encoding_is_read_named_and_saved_in_it(qtbot: QtBot, stage: Stage) -> None:
    old, new = ("Größe: über\r\nStraße\r\nläuft\r\n" + last for last in ("schön\r\n", "schöner\r\n"))
    stage.session.change(1, "c5", "alt.txt", old.encode("cp1252"), new.encode("cp1252"))
    stage.show("alt.txt")
    stage.pane.editing.set_obstacle("")
    assert stage.pane.view.document.rows.diff.new_lines[3] == "schöner\r\n"
    assert {"CP1252", "1 change"} <= {label.text() for label in stage.pane.findChildren(QLabel) if label.isVisible()}
    stage.edit().insertPlainText("dünn ")
    with qtbot.waitSignal(stage.pane.editing.saved) as saved:
        stage.button("saveEditButton").click()
    assert payload(saved) == ("dünn " + new).encode("cp1252")


def test_editing_starts_where_the_marked_change_does(stage: Stage) -> None:
    stage.button("editFileButton").click()
    assert stage.editor().textCursor().block().text() == "2"


def test_the_editor_goes_when_the_file_is_said_to_be_saved(stage: Stage) -> None:
    stage.edit()
    stage.pane.editing.save_done()
    assert stage.is_editing()
    QTest.keyClicks(stage.editor(), "zero")
    stage.button("saveEditButton").click()
    stage.pane.editing.save_done()
    assert not stage.is_editing()


@pytest.mark.parametrize(("key", "held"), [(Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier), (Qt.Key.Key_S, CTRL)])
def test_escape_and_saving_leave_at_once_and_write_nothing_when_nothing_would_be_lost(
    qtbot: QtBot, stage: Stage, key: Qt.Key, held: Qt.KeyboardModifier
) -> None:
    with qtbot.assertNotEmitted(stage.pane.editing.saved):
        QTest.keyClick(stage.edit(), key, held)
    assert not stage.is_editing()
    assert stage.pane.view.hasFocus()


def test_escape_asks_in_the_bar_before_edits_are_lost(stage: Stage) -> None:
    editor = stage.type()
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    assert stage.is_editing()
    stage.button("continueEditButton").click()
    assert editor.hasFocus()
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    stage.button("discardEditButton").click()
    assert not stage.is_editing()


def test_edits_wait_while_another_file_is_looked_at(stage: Stage) -> None:
    stage.type()
    stage.show("b.bin")
    assert not stage.is_editing()
    stage.show("a.txt")
    assert stage.edit().content() == "zeroone\n2\nthree\n"
    assert stage.editor().is_changed


def test_a_file_that_changed_meanwhile_is_not_overwritten(qtbot: QtBot, stage: Stage) -> None:
    stage.type()
    stage.session.change(1, "c4", "a.txt", NEW, b"other\r\n")
    stage.show("a.txt")
    assert stage.is_editing()
    assert not stage.button("saveEditButton").isEnabled()
    with qtbot.assertNotEmitted(stage.pane.editing.saved):
        QTest.keyClick(stage.editor(), Qt.Key.Key_S, CTRL)


@pytest.mark.parametrize(
    ("path", "why"), [("b.bin", "Only text can be edited here"), ("gone.txt", "There is no file to edit")]
)
def test_what_cannot_be_edited_says_why(stage: Stage, path: str, why: str) -> None:
    stage.show(path)
    edit = stage.button("editFileButton")
    assert (edit.isEnabled(), edit.toolTip()) == (False, why)


def test_a_large_file_comes_bit_by_bit(qtbot: QtBot, stage: Stage) -> None:
    content = b"some words in a line\n" * 20_000
    stage.session.change(1, "c5", "large.txt", content, content + b"more\n")
    stage.show("large.txt")
    stage.button("editFileButton").click()
    editor = next(editor for editor in stage.pane.findChildren(FileEditor) if editor.isVisible())
    assert not editor.is_ready
    qtbot.waitUntil(lambda: editor.is_ready)
    assert editor.encoded() == content + b"more\n"
    assert not editor.is_changed


def test_too_large_files_are_not_edited(stage: Stage) -> None:
    diff = stage.pane.view.document.diff
    assert diff
    stage.pane.view.show_diff(replace(diff, new_size=3_000_000))
    stage.pane.editing.set_obstacle("")
    assert stage.button("editFileButton").toolTip() == "Too large to edit here"


def test_ctrl_f_finds_in_the_diff(stage: Stage) -> None:
    view = stage.pane.view
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_F, CTRL)
    field = part(stage.pane, QLineEdit, "diffFindField")
    assert field.hasFocus()
    QTest.keyClicks(field, "THREE")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert view.navigation.selected_text() == "three"
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert view.hasFocus()
    assert not field.isVisible()


def test_an_unexpected_failure_is_shown_and_passed_on(stage: Stage, source: Source) -> None:
    source.error = RuntimeError("a defect")
    with pytest.raises(RuntimeError):
        stage.show("b.bin")
    assert message_of(stage.pane.view).startswith("The change could not be shown")


def test_decisions_are_passed_on_and_counted(qtbot: QtBot, stage: Stage) -> None:
    with qtbot.waitSignal(stage.pane.review.hunks.requested) as asked:
        QTest.keyClick(stage.pane.view, Qt.Key.Key_K)
    choice, keys = carried(asked)
    assert choice == "keep"
    stage.pane.set_decisions(HunkDecisions(frozenset(keys)))
    labels = [label.text() for label in stage.pane.findChildren(QLabel) if label.isVisible()]
    assert "1 change · 1 kept" in labels
    assert not stage.pane.go_to_undecided()


def test_the_first_undecided_change_is_gone_to_when_the_diff_is_there(
    stage: Stage, source: Source, tasks: Tasks
) -> None:
    lines = [f"{number}\n" for number in range(60)]
    edited = [*lines[:10], "ten\n", *lines[11:40], "forty\n", *lines[41:]]
    stage.session.change(1, "c6", "long.txt", "".join(lines), "".join(edited))
    stage.show("long.txt")
    first = stage.pane.view.document.rows.key(stage.pane.view.document.rows.changes[0]) or ""
    stage.show("a.txt")
    source.is_held = True
    stage.show("long.txt")
    stage.pane.set_decisions(HunkDecisions(frozenset([first])))
    stage.pane.start_at_undecided()
    tasks.let_go()
    assert stage.pane.view.navigation.change == 1


# --- pictures -----------------------------------------------------------------------------------------------------


@pytest.fixture
def gallery(qtbot: QtBot, theme: Theme, session: Session, source: Source) -> Stage:
    stage = Stage(qtbot, DiffPane(theme, source, run_now), session)
    session.change(1, "c1", "a.png", picture(9, 9), picture(9, 9, "#ffffff"))
    session.change(1, "c2", "b.svg", SVG, SVG.replace(b"red", b"blue"))
    session.change(1, "c3", "c.txt", "1\n", "2\n")
    return stage


def media_is_shown(stage: Stage) -> bool:
    found = stage.pane.findChild(QWidget, "mediaView")
    return found is not None and found.isVisible()


def test_a_picture_is_shown_and_decided_about_as_a_whole(qtbot: QtBot, gallery: Stage) -> None:
    gallery.show("a.png")
    assert media_is_shown(gallery)
    keep, undo = gallery.button("keepShownFileButton"), gallery.button("undoShownFileButton")
    with qtbot.waitSignal(gallery.pane.bar.decided) as kept:
        keep.click()
    gallery.pane.set_decisions(HunkDecisions(frozenset({"file"})))
    assert keep.text() == "✓ Kept"
    with qtbot.waitSignal(gallery.pane.bar.decided) as undone:
        undo.click()
    assert (payload(kept), payload(undone), gallery.pane.review.hunks.keys) == ("keep", "undo", ("file",))
    gallery.pane.set_decisions(HunkDecisions(frozenset(), frozenset({"file"})))
    assert not keep.isVisible()
    with qtbot.waitSignal(gallery.pane.bar.decided) as redone:
        gallery.button("redoShownFileButton").click()
    assert (payload(redone), gallery.pane.review.hunks.keys) == ("redo", ("file",))
    gallery.pane.set_decisions(HunkDecisions(frozenset(), frozenset({"file"}), obstacle="A turn runs"))
    redo = gallery.button("redoShownFileButton")
    assert (redo.isEnabled(), redo.toolTip()) == (False, "A turn runs")


def test_text_after_a_picture_is_shown_as_text(gallery: Stage) -> None:
    gallery.show("a.png")
    assert not gallery.button("diffModeButton").isVisible()
    gallery.show("c.txt")
    assert not media_is_shown(gallery)
    assert gallery.pane.view.isVisible()
    assert gallery.button("diffModeButton").isVisible()
    assert not gallery.button("keepShownFileButton").isVisible()


def test_the_text_of_a_drawing_is_decided_about_hunk_by_hunk(gallery: Stage) -> None:
    gallery.show("b.svg")
    assert gallery.button("keepShownFileButton").isVisible()
    gallery.button("showTextButton").click()
    assert gallery.pane.view.isVisible()
    assert not gallery.button("keepShownFileButton").isVisible()


def test_a_picture_that_cannot_be_had_is_a_line_of_text(gallery: Stage, source: Source) -> None:
    source.versions_error = StorageError("Its content is missing")
    gallery.show("a.png")
    assert not media_is_shown(gallery)
    assert gallery.pane.view.isVisible()
    gallery.pane.forget()
    source.versions_error = None
    gallery.show("a.png")
    assert media_is_shown(gallery)


def test_the_bar_never_asks_for_more_room_than_it_has(qtbot: QtBot, gallery: Stage) -> None:
    gallery.pane.resize(gallery.pane.minimumSizeHint().width() + 150, 600)
    gallery.pane.editing.set_obstacle("")
    for path in ("c.txt", "a.png", "c.txt"):
        gallery.show(path)
        gallery.pane.set_decisions(HunkDecisions())
        assert gallery.pane.minimumSizeHint().width() <= gallery.pane.width()
        assert gallery.button("keepShownFileButton").isVisible() is (path == "a.png")
