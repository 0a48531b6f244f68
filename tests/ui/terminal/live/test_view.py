"""The terminal widget: keys, selection, pasting, scrolling and screen readers."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QGuiApplication, QInputMethodEvent, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.terminal.emulator import Emulator
from desktop_agent.ui.terminal.screen_text import TerminalLink
from desktop_agent.ui.terminal.screen_view import MARGIN, TOP, ReadAloud, belongs_to_the_shell, typed
from desktop_agent.ui.terminal.terminal_panel import TerminalPanel
from desktop_agent.ui.theme import Theme
from tests.parts import part

_Key = Qt.Key
NONE, SHIFT, CTRL, ALT = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.AltModifier,
)

KEYS = [
    (_Key.Key_A, NONE, "a", b"a"),
    (_Key.Key_A, ALT, "a", b"\x1ba"),
    (_Key.Key_C, CTRL, "\x03", b"\x03"),
    (_Key.Key_K, CTRL, "", b"\x0b"),
    (_Key.Key_Space, CTRL, "", b"\x00"),
    (_Key.Key_Return, NONE, "\r", b"\r"),
    (_Key.Key_Backspace, NONE, "\b", b"\x7f"),
    (_Key.Key_Tab, NONE, "\t", b"\t"),
    (_Key.Key_Backtab, SHIFT, "", b"\x1b[Z"),
    (_Key.Key_Escape, NONE, "\x1b", b"\x1b"),
    (_Key.Key_Up, NONE, "", b"\x1b[A"),
    (_Key.Key_Left, CTRL, "", b"\x1b[1;5D"),
    (_Key.Key_Home, SHIFT, "", b"\x1b[1;2H"),
    (_Key.Key_Delete, NONE, "", b"\x1b[3~"),
    (_Key.Key_F1, NONE, "", b"\x1bOP"),
    (_Key.Key_F8, NONE, "", b"\x1b[19~"),
    (_Key.Key_Udiaeresis, NONE, "ü", "ü".encode()),
    (_Key.Key_Shift, SHIFT, "", b""),
]


@pytest.mark.parametrize(("key", "modifiers", "text", "expected"), KEYS)
def test_keys_are_sent_as_a_terminal_sends_them(
    key: Qt.Key, modifiers: Qt.KeyboardModifier, text: str, expected: bytes
) -> None:
    event = QKeyEvent(QEvent.Type.KeyPress, key.value, modifiers, text)
    assert typed(event, cursor_keys=False) == expected
    if expected:
        assert belongs_to_the_shell(event)
    if expected == b"\x1b[A":
        assert typed(event, cursor_keys=True) == b"\x1bOA"


def test_the_window_keeps_its_shortcuts_with_more_than_ctrl_and_a_letter() -> None:
    for key, modifiers in ((_Key.Key_QuoteLeft, CTRL), (_Key.Key_Comma, CTRL), (_Key.Key_R, CTRL | SHIFT)):
        assert not belongs_to_the_shell(QKeyEvent(QEvent.Type.KeyPress, key.value, modifiers))


@pytest.fixture
def panel(theme: Theme, qtbot: QtBot) -> TerminalPanel:
    panel = TerminalPanel(theme)
    qtbot.addWidget(panel)
    panel.resize(800, 300)
    panel.show_terminal(Emulator(10, 60, answered=lambda _: None, history_rows=100), "/tmp/shop")
    panel.show_state("", "")
    panel.show()
    panel.view.setFocus()
    return panel


@pytest.fixture
def sent(panel: TerminalPanel) -> list[bytes]:
    sent: list[bytes] = []
    panel.typed.connect(sent.append)
    return sent


def feed(panel: TerminalPanel, output: bytes) -> Emulator:
    emulator = panel.view.emulator
    assert emulator is not None
    emulator.feed(output)
    panel.view.refresh_now()  # what the throttle does a frame later.
    return emulator


def at(panel: TerminalPanel, row: int, column: int) -> QPoint:
    painter = panel.view.painter
    return QPointF(
        MARGIN + column * painter.cell_width + 1, TOP + row * painter.row_height + painter.row_height / 2
    ).toPoint()


def found_words(panel: TerminalPanel) -> str:
    bar = part(panel, QWidget, "terminalFindBar")
    return " ".join(label.text() for label in bar.findChildren(QLabel))


def test_what_was_printed_is_searched_from_its_end_and_selected(panel: TerminalPanel, qtbot: QtBot) -> None:
    feed(panel, b"Error one\r\n" + b"x" * 58 + b"error two\r\n" + b"filling\r\n" * 80 + "漢 ERROR three".encode())
    QTest.keyClick(panel.view, _Key.Key_F, CTRL | SHIFT)
    field = part(panel, QLineEdit, "findField")
    assert field.hasFocus()
    QTest.keyClicks(field, "error")
    qtbot.waitUntil(lambda: found_words(panel) == "3 of 3")
    assert panel.view.recent_text(1) == "ERROR"
    QTest.keyClick(field, _Key.Key_Return, SHIFT)
    assert (found_words(panel), panel.view.recent_text(1)) == ("2 of 3", "error"), "also where a row ends within it"
    QTest.keyClick(field, _Key.Key_Return, SHIFT)
    assert (found_words(panel), panel.view.recent_text(1)) == ("1 of 3", "Error")
    assert panel.view.verticalScrollBar().value() == 0, "it is in sight"
    QTest.keyClick(field, _Key.Key_Return, SHIFT)
    assert found_words(panel) == "3 of 3", "round the end"
    QTest.keyClicks(field, "x")
    qtbot.waitUntil(lambda: found_words(panel) == "Nothing found")
    QTest.keyClick(field, _Key.Key_Escape)
    assert panel.view.hasFocus()
    assert not field.isVisible()


def test_of_what_stands_everywhere_the_last_thousand_places_are_found(panel: TerminalPanel, qtbot: QtBot) -> None:
    feed(panel, (b"word " * 11 + b"\r\n") * 120)
    QTest.keyClick(panel.view, _Key.Key_F, CTRL | SHIFT)
    QTest.keyClicks(part(panel, QLineEdit, "findField"), "word")
    qtbot.waitUntil(lambda: found_words(panel) == "1001 of 1001+")


def test_ctrl_and_a_click_follow_an_address_and_a_path_with_its_line(panel: TerminalPanel) -> None:
    followed: list[tuple[str, int]] = []
    pointer = panel.view.pointer
    files = {"shop/cart.py": "shop/cart.py", "./cart.py": "shop/cart.py"}
    pointer.known_file = lambda path: files.get(path, "")

    def follow(link: TerminalLink) -> None:
        followed.append((link.target, link.line))

    pointer.followed.connect(follow)
    feed(
        panel,
        b"(see https://host.test/a_(b)?c=1).\r\nshop/cart.py:12: error\r\n" + b"." * 50 + b" ./cart.py:7 gone.py:3",
    )
    viewport, left = panel.view.viewport(), Qt.MouseButton.LeftButton
    for row, column in ((0, 8), (1, 2), (1, 14), (2, 55), (3, 0), (0, 2), (3, 6)):
        QTest.mouseClick(viewport, left, CTRL, at(panel, row, column))
    shop, wrapped = ("shop/cart.py", 12), ("shop/cart.py", 7)
    assert followed == [("https://host.test/a_(b)?c=1", 0), shop, shop, wrapped, wrapped]
    QTest.mouseClick(viewport, left, NONE, at(panel, 1, 2))
    assert len(followed) == 5, "a click alone selects"
    panel.view.customContextMenuRequested.emit(at(panel, 1, 2))
    menu = part(panel, QMenu, "terminalMenu")
    next(action for action in menu.actions() if action.text() == "Open the file").trigger()
    menu.close()
    assert followed[5:] == [shop]


def test_the_pointer_says_where_ctrl_and_a_click_lead_somewhere(panel: TerminalPanel) -> None:
    feed(panel, b"https://host.test and more")
    viewport = panel.view.viewport()

    def shape(column: int, held: Qt.KeyboardModifier) -> Qt.CursorShape:
        place, none = QPointF(at(panel, 0, column)), Qt.MouseButton.NoButton
        QApplication.sendEvent(viewport, QMouseEvent(QEvent.Type.MouseMove, place, place, none, none, held))
        return viewport.cursor().shape()

    assert shape(3, NONE) == Qt.CursorShape.IBeamCursor
    assert shape(3, CTRL) == Qt.CursorShape.PointingHandCursor
    assert shape(20, CTRL) == Qt.CursorShape.IBeamCursor


def test_text_is_selected_with_the_mouse_and_copied(panel: TerminalPanel) -> None:
    feed(panel, b"one two/three.py four\r\n" + b"x" * 70 + b"\r\nend")
    view, left = panel.view, Qt.MouseButton.LeftButton
    viewport = view.viewport()
    QTest.mousePress(viewport, left, pos=at(panel, 0, 4))
    QTest.mouseMove(viewport, at(panel, 2, 10))
    QTest.mouseRelease(viewport, left, pos=at(panel, 2, 10))
    QTest.keyClick(view, _Key.Key_C, CTRL | SHIFT)
    assert QGuiApplication.clipboard().text() == "two/three.py four\n" + "x" * 70
    QTest.mouseDClick(viewport, left, pos=at(panel, 0, 6))
    assert view.recent_text(5) == "two/three.py"
    panel.view.customContextMenuRequested.emit(at(panel, 0, 0))
    menu = part(panel, QMenu, "terminalMenu")
    next(action for action in menu.actions() if action.text() == "Select all").trigger()
    menu.close()
    assert view.recent_text(1).rstrip() == "one two/three.py four\n" + "x" * 70 + "\nend"
    QTest.keyClick(view, _Key.Key_A)
    assert view.recent_text(3) == "x" * 70 + "\nend"
    assert not viewport.grab().isNull()


def paste(panel: TerminalPanel, text: str) -> str | None:
    """Paste a text; return its form in the question, or None without a question."""
    QGuiApplication.clipboard().setText(text)
    QTest.keyClick(panel.view, _Key.Key_V, CTRL | SHIFT)
    preview = part(panel, QPlainTextEdit, "terminalPastePreview")
    return preview.toPlainText() if preview.isVisible() else None


def answer_paste(panel: TerminalPanel, name: str) -> None:
    part(panel, QPushButton, name).click()


def test_pasting_lines_asks_unless_the_program_takes_them_as_one(panel: TerminalPanel, sent: list[bytes]) -> None:
    assert (paste(panel, "ls\nrm x\n"), sent) == ("ls⏎\nrm x⏎", [])
    answer_paste(panel, "terminalPasteYes")
    assert sent == [b"ls\rrm x\r"]
    feed(panel, b"\x1b[?2004h")
    assert paste(panel, "ls\nrm x\n") is None
    assert sent[1:] == [b"\x1b[200~ls\rrm x\r\x1b[201~"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm -rf x\n", "rm -rf x⏎"),
        ("rm -rf x\r", "rm -rf x⏎"),
        ("ls\rrm -rf x", "ls⏎\nrm -rf x"),
        ("ls\r\nrm -rf x", "ls⏎\nrm -rf x"),
        ("ls\x03rm", "ls␃rm"),
        ("ls\x04", "ls␄"),
        ("ls\x1b[201~rm", "ls␛[201~rm"),
        ("ls\x9b201~rm", "ls⟨U+009B⟩201~rm"),
        ("ls\x85rm", "ls⟨U+0085⟩rm"),
        ("ls\u2028rm", "ls⟨U+2028⟩rm"),
        ("ls \u202egnp.sh", "ls ⟨U+202E⟩gnp.sh"),
    ],
)
def test_what_runs_or_cannot_be_seen_is_pasted_only_after_a_question_that_shows_it(
    panel: TerminalPanel, sent: list[bytes], text: str, shown: str
) -> None:
    assert (paste(panel, text), sent) == (shown, [])
    answer_paste(panel, "terminalPasteNo")
    assert sent == []


def test_a_paste_cannot_end_the_bracket_it_is_in_and_says_what_is_left_out(
    panel: TerminalPanel, sent: list[bytes]
) -> None:
    feed(panel, b"\x1b[?2004h")
    assert (paste(panel, "ls\x1b[201~\rrm\x9b201~\n"), sent) == ("ls␛[201~⏎\nrm⟨U+009B⟩201~⏎", [])
    answer_paste(panel, "terminalPasteYes")
    assert sent == [b"\x1b[200~ls[201~\rrm201~\r\x1b[201~"]


def test_a_program_that_changes_how_it_takes_a_paste_leads_to_another_question(
    panel: TerminalPanel, sent: list[bytes]
) -> None:
    feed(panel, b"\x1b[?2004h")
    paste(panel, "ls\u2028\nrm x\n")
    feed(panel, b"\x1b[?2004l")
    answer_paste(panel, "terminalPasteYes")
    assert (sent, "2 pasted lines" in part(panel, QLabel, "terminalPasteQuestion").text()) == ([], True)


def test_text_that_only_types_is_pasted_at_once(panel: TerminalPanel, sent: list[bytes]) -> None:
    assert paste(panel, "grep\tnaïve 漢字 👍") is None
    assert sent == ["grep\tnaïve 漢字 👍".encode()]


def test_input_methods_and_the_wheel_of_full_screen_programs_type(panel: TerminalPanel, sent: list[bytes]) -> None:
    event = QInputMethodEvent("", [])
    event.setCommitString("漢字")
    QApplication.sendEvent(panel.view, event)
    feed(panel, b"\x1b[?1049h")
    place = QPointF(20, 20)
    wheel = QWheelEvent(
        place, place, QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton, NONE, Qt.ScrollPhase.NoScrollPhase, False
    )
    QApplication.sendEvent(panel.view.viewport(), wheel)
    assert sent == ["漢字".encode(), b"\x1b[A" * 3]


def test_who_reads_further_up_stays_there_and_a_key_leads_back(panel: TerminalPanel) -> None:
    emulator = feed(panel, b"".join(b"%d\r\n" % number for number in range(300)))
    view = panel.view
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum() == len(emulator.screen.history) == 100
    QTest.keyClick(view, _Key.Key_PageUp, SHIFT)
    above = bar.value()
    assert above < 100
    feed(panel, b"more\r\n" * 5)
    assert bar.value() == above - 5  # the same rows, of a history that forgets
    QTest.keyClick(view, _Key.Key_A)
    view.refresh_now()
    assert bar.value() == bar.maximum()


def test_a_screen_reader_finds_the_text_by_name(panel: TerminalPanel) -> None:
    feed(panel, b"$ ls\r\nREADME.md\r\n")
    reader = part(panel.view, ReadAloud)
    reader.follow(panel.view.emulator)
    reader.timeout.emit()
    said = QAccessible.queryAccessibleInterface(part(panel, QPlainTextEdit, "terminalText"))
    assert said.text(QAccessible.Text.Name) == "Text of the terminal"
    assert said.role() == QAccessible.Role.EditableText
    assert said.textInterface().text(0, said.textInterface().characterCount()) == "$ ls\nREADME.md"
    assert QAccessible.queryAccessibleInterface(panel.view).text(QAccessible.Text.Name) == "Terminal"
    named = [button.accessibleName() or button.text() for button in panel.findChildren(QPushButton)]
    assert {"Attach output", "Hide the terminal", "Start again"} <= set(named)


def test_tab_belongs_to_the_program(panel: TerminalPanel, sent: list[bytes]) -> None:
    QTest.keyClick(panel.view, _Key.Key_Tab)
    assert (sent, isinstance(panel.focusWidget(), QWidget)) == ([b"\t"], True)
    assert panel.focusWidget() is panel.view
