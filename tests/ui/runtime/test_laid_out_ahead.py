"""What showing a widget for the first time takes, done before."""

import pytest
from PySide6.QtCore import QEvent, QObject, QSize
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.runtime.painting import measured, placed, polished
from desktop_agent.ui.widgets.labels import Note
from desktop_agent.ui.widgets.layouts import hbox, vbox

WIDTH = 300


class Counting(QObject):
    """Counts the events of a kind that reach the widgets it watches."""

    def __init__(self, kind: QEvent.Type, *watched: QWidget) -> None:
        super().__init__()
        self._kind = kind
        self.number = 0
        for widget in watched:
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        self.number += event.type() == self._kind
        return False


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    window = QWidget()
    window.resize(WIDTH, 600)
    qtbot.addWidget(window)
    window.show()
    return window


def content_of(window: QWidget) -> QWidget:
    """A column in a window, hidden: some long notes, and a row of two."""
    content = QWidget(window)
    content.hide()
    notes = [Note(f"{number} is explained in more words than fit into one line. " * 3) for number in range(3)]
    vbox(*notes, hbox(QLabel("left"), (Note("right of it " * 9), 1)), on=content)
    return content


def test_all_is_polished_and_has_its_place_before_it_is_shown(window: QWidget) -> None:
    content = content_of(window)
    layout = content.layout()
    assert layout is not None
    labels = content.findChildren(QLabel)
    polishing = Counting(QEvent.Type.Polish, *labels)
    steps = [*polished(content), *measured(layout, (WIDTH,))]
    content.resize(QSize(WIDTH, layout.heightForWidth(WIDTH)))
    steps += placed(content)
    assert len(steps) > len(labels)
    assert polishing.number == len(labels)
    assert not any(label.isVisible() for label in labels)
    places = [label.geometry() for label in labels]
    content.show()
    QApplication.processEvents()
    assert [label.geometry() for label in labels] == places
    assert polishing.number == len(labels)


def test_what_was_measured_is_not_measured_again(window: QWidget, monkeypatch: pytest.MonkeyPatch) -> None:
    content = content_of(window)
    layout = content.layout()
    assert layout is not None
    asked: list[int] = []
    known = Note.heightForWidth

    def height(note: Note, width: int) -> int:
        asked.append(width)
        return known(note, width)

    monkeypatch.setattr(Note, "heightForWidth", height)
    list(polished(content))
    list(measured(layout, (WIDTH, WIDTH - 10)))
    assert asked
    asked.clear()
    first = layout.itemAt(0)
    assert first is not None
    first.heightForWidth(WIDTH)
    assert asked == []
