"""The dialog for clashes, by mouse and keyboard, with exact bytes as the result."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QListWidget, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.model import Clash, FileOutcome, Maker
from desktop_agent.core.undo.refusals import Direction
from desktop_agent.ui.review.clash_dialog import ClashDialog
from desktop_agent.ui.review.clash_page import ThreeColumns
from desktop_agent.ui.review.diff.diff_layout import ROW_HEIGHT
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.review_decisions import Resolution
from desktop_agent.ui.theme import Theme
from tests.core.diff.changes import image_of
from tests.parts import part
from tests.ui.ink import colours_of
from tests.ui.review.stage import Session, Source, run_now

BASE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
WANTED = BASE.replace("one", "ONE").replace("three", "THREE").replace("seven", "SEVEN")
YOURS = BASE.replace("three", "drei").replace("seven", "sieben")


Side = str | bytes | None


class Store(Source):
    def clash(
        self, base: Side, wanted: Side, yours: Side, path: str = "src/a.py", by: tuple[Maker, ...] = (Maker("person"),)
    ) -> FileOutcome:
        contents = [side.encode() if isinstance(side, str) else side for side in (base, wanted, yours)]
        images = [image_of(content, 0o644) for content in contents]
        self.blobs |= {
            image.digest: content
            for image, content in zip(images, contents, strict=True)
            if image and content is not None
        }
        clash = Clash(base=images[0], wanted=images[1], yours=images[2], yours_by=by)
        return FileOutcome(path=path, state="conflict", change_ids=("1.1",), reason="You edited it.", clash=clash)


class Stage:
    def __init__(self, qtbot: QtBot, theme: Theme) -> None:
        self.store = Store(Session())
        self.resolutions: list[Resolution] = []
        self._qtbot = qtbot
        self._theme = theme
        self.window = QWidget()
        self.window.resize(1024, 700)
        qtbot.addWidget(self.window)
        self.window.show()

    def open(self, *outcomes: FileOutcome, purpose: Direction = "undo") -> ClashDialog:
        dialog = ClashDialog(self._theme, purpose, outcomes, self.store, run_now, self.window)
        self._qtbot.addWidget(dialog)
        dialog.resolved.connect(self.resolutions.append)
        dialog.open()
        self._qtbot.waitUntil(dialog.isActiveWindow)
        return dialog


@pytest.fixture
def stage(qtbot: QtBot, theme: Theme) -> Stage:
    return Stage(qtbot, theme)


def click(dialog: ClashDialog, name: str) -> None:
    button = part(dialog, QPushButton, name)
    assert button.isEnabled()
    button.click()


def words(dialog: ClashDialog) -> str:
    return " | ".join(label.text() for label in dialog.findChildren(QLabel) if label.isVisible())


def text(dialog: ClashDialog) -> str:
    return part(dialog, QPlainTextEdit, "clashResultEdit").toPlainText()


def test_what_merges_is_merged_and_what_clashes_is_yours_until_decided(stage: Stage) -> None:
    dialog = stage.open(stage.store.clash(BASE, WANTED, YOURS))
    assert text(dialog) == YOURS.replace("one", "ONE")
    assert "Undo conflicts with your edit" in words(dialog)
    assert "src/a.py. Nothing has been written to it. 1 other place in the file merges without a clash." in words(
        dialog
    )
    assert "0 of 2 clashes decided" in words(dialog)
    assert dialog.objectName() == "undoConflictDialog"


def test_clashes_are_decided_one_by_one_and_written(stage: Stage) -> None:
    outcome = stage.store.clash(BASE, WANTED, YOURS)
    dialog = stage.open(outcome)
    click(dialog, "takeWantedButton")
    assert "1 of 2 clashes decided" in words(dialog)
    click(dialog, "nextClashButton")
    click(dialog, "takeBothButton")
    assert text(dialog) == "ONE\ntwo\nTHREE\nfour\nfive\nsix\nSEVEN\nsieben\neight\n"
    click(dialog, "writeResultButton")
    (resolution,) = stage.resolutions
    assert resolution.content == b"ONE\ntwo\nTHREE\nfour\nfive\nsix\nSEVEN\nsieben\neight\n"
    assert outcome.clash is not None
    assert outcome.clash.yours is not None
    assert (resolution.path, resolution.expected) == ("src/a.py", outcome.clash.yours.digest)
    assert (resolution.purpose, resolution.outcome) == ("undo", outcome)
    assert not dialog.isVisible()


def test_a_choice_can_be_changed_and_leaves_the_other_places_alone(stage: Stage) -> None:
    dialog = stage.open(stage.store.clash(BASE, WANTED, YOURS))
    merged = text(dialog)
    for name in ("takeBothButton", "takeWantedButton", "takeBothButton", "keepYoursButton"):
        click(dialog, name)
    assert text(dialog) == merged
    assert part(dialog, QPushButton, "keepYoursButton").isChecked()
    assert "1 of 2 clashes decided" in words(dialog)


def test_everything_is_done_by_keyboard(stage: Stage) -> None:
    dialog = stage.open(stage.store.clash(BASE, WANTED, YOURS))
    alt = Qt.KeyboardModifier.AltModifier
    QTest.keyClick(part(dialog, QPushButton, "keepMineButton"), Qt.Key.Key_1, alt)  # it has the keyboard at first
    part(dialog, QPlainTextEdit, "clashResultEdit").setFocus()
    editor = part(dialog, QPlainTextEdit, "clashResultEdit")
    QTest.keyClick(editor, Qt.Key.Key_F7)
    QTest.keyClick(editor, Qt.Key.Key_2, alt)
    QTest.keyClick(editor, Qt.Key.Key_F7, Qt.KeyboardModifier.ShiftModifier)
    assert dialog.page is not None
    assert dialog.page.rows.current == 0
    assert dialog.page.rows.choices == ["wanted", "yours"]
    QTest.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert [each.content for each in stage.resolutions] == [b"ONE\ntwo\nTHREE\nfour\nfive\nsix\nsieben\neight\n"]


def test_nothing_is_written_until_every_clash_is_decided_and_what_is_left_is_said(stage: Stage) -> None:
    dialog = stage.open(stage.store.clash(BASE, WANTED, YOURS))
    write = part(dialog, QPushButton, "writeResultButton")
    control, alt = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier
    keep = part(dialog, QPushButton, "keepMineButton")
    QTest.keyClick(keep, Qt.Key.Key_Return, control)
    assert "2 clashes are left to decide: numbers 1, 2." in words(dialog)
    QTest.keyClick(keep, Qt.Key.Key_1, alt)
    assert not write.isEnabled()
    assert write.toolTip() == "1 of 2 clashes decided · the result can be written once all clashes are decided"
    QTest.keyClick(keep, Qt.Key.Key_Return, control)
    assert "1 clash is left to decide: number 2." in words(dialog)
    assert dialog.page is not None
    assert dialog.page.rows.current == 1, "it goes where the next decision is"
    assert (dialog.isVisible(), stage.resolutions) == (True, [])
    QTest.keyClick(keep, Qt.Key.Key_2, alt)
    assert write.isEnabled()
    QTest.keyClick(keep, Qt.Key.Key_Return, control)
    assert len(stage.resolutions) == 1


def test_a_clash_edited_by_hand_is_decided(stage: Stage) -> None:
    dialog = stage.open(stage.store.clash(BASE, WANTED, YOURS))
    editor = part(dialog, QPlainTextEdit, "clashResultEdit")
    assert editor.textCursor().block().text() == "drei"  # it starts in the first clash
    editor.moveCursor(QTextCursor.MoveOperation.EndOfBlock)
    QTest.keyClicks(editor, " und drei")
    assert dialog.page is not None
    assert dialog.page.rows.edited == {0}
    assert "1 of 2 clashes decided" in words(dialog)
    assert "edited by hand" in words(dialog)
    editor.undo()
    assert dialog.page.rows.edited == set()
    editor.redo()
    click(dialog, "nextClashButton")
    click(dialog, "keepYoursButton")
    click(dialog, "writeResultButton")
    assert stage.resolutions[0].content == b"ONE\ntwo\ndrei und drei\nfour\nfive\nsix\nsieben\neight\n"


def test_lines_elsewhere_are_edited_too_and_move_the_clashes_along(stage: Stage) -> None:
    dialog = stage.open(stage.store.clash(BASE, WANTED, YOURS))
    editor = part(dialog, QPlainTextEdit, "clashResultEdit")
    editor.moveCursor(QTextCursor.MoveOperation.Start)
    QTest.keyClicks(editor, "zero ")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert "0 of 2 clashes decided" in words(dialog)
    click(dialog, "takeWantedButton")
    assert text(dialog).splitlines()[:4] == ["zero ", "ONE", "two", "THREE"]


def test_bytes_that_an_editor_cannot_hold_are_written_as_they_were(stage: Stage) -> None:
    base = "\ufeffone\r\ntwo\xa0x\u2028y\r\nthree\r\n".encode() + b"caf\xe9\r\nfive"
    yours = base.replace(b"three", b"drei")
    dialog = stage.open(stage.store.clash(base, base.replace(b"three", b"THREE"), yours))
    click(dialog, "keepYoursButton")
    click(dialog, "writeResultButton")
    assert stage.resolutions[0].content == yours


def test_a_clash_without_lines_on_a_side_can_be_filled_and_emptied(stage: Stage) -> None:
    dialog = stage.open(stage.store.clash("a\nb\nc\n", "a\nc\n", "a\nB\nc\n"))
    click(dialog, "takeWantedButton")
    assert text(dialog) == "a\nc\n"
    click(dialog, "keepYoursButton")
    assert text(dialog) == "a\nB\nc\n"


def test_keeping_mine_is_the_default_and_writes_nothing_nor_does_closing(stage: Stage) -> None:
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Escape):
        dialog = stage.open(stage.store.clash(BASE, WANTED, YOURS))
        assert part(dialog, QPushButton, "keepMineButton").isDefault()
        if key == Qt.Key.Key_Escape:
            click(dialog, "takeWantedButton")
        QTest.keyClick(dialog, key)
        assert (dialog.isVisible(), stage.resolutions) == (False, [])


@pytest.mark.parametrize(
    ("makers", "title", "version", "keep"),
    [
        ((Maker("person"),), "your edit", "Yours (on disk)", "Keep mine"),
        ((Maker("agent", 3),), "turn 3", "Turn 3 (on disk)", "Keep it as it is"),
        ((Maker("agent", 3), Maker("agent", 5)), "turns 3, 5", "Turns 3, 5 (on disk)", "Keep it as it is"),
        ((Maker("unknown"),), "changes by a server or by you", "A server's, or yours (on disk)", "Keep it as it is"),
        ((Maker("other_session"),), "another session", "Another session's (on disk)", "Keep it as it is"),
        ((Maker("undo", 1),), "the undo of turn 1", "Undo of turn 1 (on disk)", "Keep it as it is"),
        ((Maker("agent", 3), Maker("person")), "later changes", "Turn 3 + Yours (on disk)", "Keep it as it is"),
        ((), "later changes", "On disk", "Keep it as it is"),
    ],
)
def test_each_version_is_named_by_whose_it_is(
    stage: Stage, makers: tuple[Maker, ...], title: str, version: str, keep: str
) -> None:
    dialog = stage.open(stage.store.clash(BASE, WANTED, YOURS, by=makers))
    assert f"Undo conflicts with {title}" in words(dialog)
    assert part(dialog, QPushButton, "keepMineButton").text() == keep
    assert version in words(dialog).split(" | ")
    buttons = [part(dialog, QPushButton, name).text() for name in ("keepYoursButton", "takeBothButton")]
    is_mine = makers == (Maker("person"),)
    assert buttons == (
        ["Keep yours", "Both, yours last"] if is_mine else ["Keep disk version", "Both, disk version last"]
    )


def test_a_file_that_undo_would_remove_is_settled_as_a_whole(stage: Stage) -> None:
    dialog = stage.open(stage.store.clash("made\n", None, "made by me\n"))
    assert dialog.page is None
    assert part(dialog, QPushButton, "useWantedButton").text() == "Remove the file"
    assert not part(dialog, QPushButton, "writeResultButton").isVisible()
    assert "There is no file" in words(dialog)
    click(dialog, "useWantedButton")
    assert stage.resolutions[0].content is None


def test_a_file_that_is_gone_can_be_brought_back(stage: Stage) -> None:
    dialog = stage.open(stage.store.clash("agent\n", "before\n", None), purpose="redo")
    assert "Redo conflicts with your edit" in words(dialog)
    click(dialog, "useWantedButton")
    assert (stage.resolutions[0].content, stage.resolutions[0].expected) == (b"before\n", None)
    assert stage.resolutions[0].purpose == "redo"


def test_binary_files_are_known_by_type_size_and_hash(stage: Stage) -> None:
    dialog = stage.open(stage.store.clash(b"\0one", b"\0two!", b"\x89PNG\r\n\x1a\n\0"))
    for expected in ("binary data", "PNG image", "4 bytes", "5 bytes", "cannot be merged line by line"):
        assert expected in words(dialog)


def test_several_files_are_settled_one_after_the_other(stage: Stage) -> None:
    failed = FileOutcome(path="locked.txt", state="failed", change_ids=("1.3",), reason="Permission denied.")
    restored = FileOutcome(path="ok.txt", state="restored", change_ids=("1.4",))
    first = stage.store.clash(BASE, WANTED, YOURS)
    second = stage.store.clash("a\n", "b\n", "c\n", path="b.txt")
    dialog = stage.open(failed, first, second, restored)
    files = part(dialog, QListWidget, "undoConflictList")
    assert [files.item(row).text() for row in range(files.count())] == ["src/a.py", "b.txt", "locked.txt"]
    assert "1 other file is done." in words(dialog)
    files.setCurrentRow(2)
    assert "Permission denied." in words(dialog)
    assert part(dialog, QPushButton, "keepMineButton").text() == "Close"
    files.setCurrentRow(0)
    for name in ("keepYoursButton", "nextClashButton", "keepYoursButton", "writeResultButton"):
        click(dialog, name)
    assert files.currentRow() == 1
    assert files.item(0).text() == "✓ src/a.py"
    files.setCurrentRow(0)
    assert not part(dialog, QPushButton, "writeResultButton").isEnabled()
    files.setCurrentRow(1)
    click(dialog, "keepMineButton")
    assert not dialog.isVisible()
    assert [each.path for each in stage.resolutions] == ["src/a.py"]


def test_contents_that_cannot_be_read_are_said_and_can_only_be_left(stage: Stage) -> None:
    stage.store.error = AgentError("The content is gone", hint="Verify the session.")
    dialog = stage.open(stage.store.clash(BASE, WANTED, YOURS))
    assert "The content is gone Verify the session." in words(dialog)
    assert not part(dialog, QPushButton, "writeResultButton").isEnabled()
    assert not part(dialog, QPushButton, "useWantedButton").isEnabled()


def test_a_click_into_a_clash_is_about_that_clash(stage: Stage) -> None:
    dialog = stage.open(stage.store.clash(BASE, WANTED, YOURS))
    columns = part(dialog, ThreeColumns, "clashColumns")
    columns.verticalScrollBar().setValue(0)
    place = columns.viewport().rect().topLeft()
    place.setX(300)
    place.setY(6 * 19 + 9)
    QTest.mouseClick(columns.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert dialog.page is not None
    assert dialog.page.rows.current == 1


def test_the_columns_mark_what_is_open_and_what_is_chosen(stage: Stage, theme: Theme) -> None:
    dialog = stage.open(stage.store.clash(BASE, WANTED, YOURS))
    columns = part(dialog, ThreeColumns, "clashColumns")
    columns.verticalScrollBar().setValue(0)

    def grounds(line: int) -> list[str]:
        image = columns.viewport().grab().toImage()
        places = (round(image.width() * (column + 0.9) / 3) for column in range(3))
        return [image.pixelColor(x, line * 19 + 9).name().upper() for x in places]

    colours = theme.colours
    assert grounds(2) == [colours.warning_bg] * 3
    assert grounds(0) == [colours.removed_line, colours.added_line, colours.surface]
    click(dialog, "takeWantedButton")
    assert grounds(2) == [colours.sunken, colours.accent_weak, colours.sunken]


LONG = "".join(f"value_{number} = {number}\n" for number in range(1, 161))


def rows_in_view(columns: ThreeColumns) -> range:
    top, height = columns.verticalScrollBar().value(), columns.viewport().height()
    return range(-(-top // ROW_HEIGHT), (top + height) // ROW_HEIGHT)


@pytest.mark.parametrize("line", [3, 80, 146, 158])
def test_a_clash_is_in_the_middle_of_the_columns_from_the_start(stage: Stage, line: int) -> None:
    changed = f"value_{line} = {line}\n"
    clash = stage.store.clash(LONG, LONG.replace(changed, "wanted\n"), LONG.replace(changed, "mine\n"))
    dialog = stage.open(clash)
    seen = rows_in_view(part(dialog, ThreeColumns, "clashColumns"))
    assert line - 1 in seen
    is_at_an_end = seen.start == 0 or seen.stop >= 160
    assert is_at_an_end or abs(seen.start + len(seen) // 2 - (line - 1)) <= 1


def test_who_has_scrolled_away_from_a_clash_stays_there_when_the_size_changes(stage: Stage) -> None:
    changed = "value_80 = 80\n"
    dialog = stage.open(stage.store.clash(LONG, LONG.replace(changed, "wanted\n"), LONG.replace(changed, "mine\n")))
    bar = part(dialog, ThreeColumns, "clashColumns").verticalScrollBar()
    bar.setValue(19)
    dialog.resize(dialog.width(), dialog.height() - 60)
    assert bar.value() == 19


def test_the_columns_and_the_result_have_the_colours_of_the_language(stage: Stage, theme: Theme, qtbot: QtBot) -> None:
    clash = stage.store.clash(LONG, LONG.replace("value_9 ", "wanted "), LONG.replace("value_9 ", "mine "))
    dialog = stage.open(clash)
    editor = part(dialog, QPlainTextEdit, "clashResultEdit")
    for widget in (part(dialog, ThreeColumns, "clashColumns"), editor):
        qtbot.waitUntil(lambda shown=widget: theme.colours.syntax_number in colours_of(shown.viewport().grab()))
    editor.insertPlainText("x = 'typed'\n")
    qtbot.waitUntil(lambda: theme.colours.syntax_string in colours_of(editor.viewport().grab()))


@pytest.mark.parametrize(
    ("versions", "titles"),
    [
        (("a = 1\nb\n", None, "a = 1\nmine\n"), ("− Agent's version", "+ Yours (on disk)")),
        ((None, "a = 1\n", "a = 2\n"), ("− After undo", "+ Yours (on disk)")),
        (("a = 1\n", "a = 2\n", None), ("− Agent's version", "+ After undo")),
    ],
)
def test_a_file_with_two_versions_shows_both_texts_side_by_side(
    stage: Stage, versions: tuple[str | None, str | None, str | None], titles: tuple[str, str]
) -> None:
    dialog = stage.open(stage.store.clash(*versions))
    view = part(dialog, DiffView, "clashDiffView")
    assert view.isVisible()
    assert view.document.mode == "side_by_side"
    assert view.document.diff is not None
    texts = [text for text in versions if text is not None]
    assert ["".join(view.document.diff.old_lines), "".join(view.document.diff.new_lines)] == texts
    assert all(title in words(dialog) for title in titles)
