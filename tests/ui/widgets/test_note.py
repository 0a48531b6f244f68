from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from desktop_agent.ui.widgets.labels import Note

LONG = "This explains something in more words than there is room for in one line of it. "


def height_of_label(text: str, width: int, size_pt: int = 0) -> int:
    label = QLabel(text)
    label.setWordWrap(True)
    if size_pt:
        font = label.font()
        font.setPointSize(size_pt)
        label.setFont(font)
    return label.heightForWidth(width)


def test_a_note_is_as_high_as_its_lines_for_each_width_text_and_font(qtbot: QtBot) -> None:
    note = Note(LONG)
    qtbot.addWidget(note)
    for width in (200, 90, 200):
        assert note.heightForWidth(width) == height_of_label(LONG, width)
    note.setText(LONG * 3)
    assert note.heightForWidth(200) == height_of_label(LONG * 3, 200)
    font = note.font()
    font.setPointSize(24)
    note.setFont(font)
    assert note.heightForWidth(200) == height_of_label(LONG * 3, 200, size_pt=24)
