"""What came with a prompt stands below it: name and size, in the keyboard's order, and a click shows what was sent."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Attachment
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from tests.ui.chat.stage import NOW, Stage

LONG = "A <b>very</b> long " * 5
ATTACHMENTS = (
    Attachment(mention="@src/app.py:10-40", uri="src/app.py", name="src/app.py", kind="file", lines="10-40", size=812),
    Attachment(mention="@src/", uri="src", name="src", kind="folder", size=12_000),
    Attachment(mention="@docs:one", server="docs", uri="note://one", name=LONG, size=5),
)


def show(stage: Stage, text: str = "Look") -> list[QPushButton]:
    stage.show(ev.PromptSubmitted(prompt_id="p", text=text, turn=1, at=NOW, attachments=ATTACHMENTS))
    return chips(stage)


def chips(stage: Stage) -> list[QPushButton]:
    found = stage.widget(0).findChildren(QPushButton, "attachmentButton")
    return [button for button in found if button.isVisible()]


def test_each_has_its_name_its_lines_and_its_size(stage: Stage) -> None:
    first, second, third = show(stage)

    assert first.text() == "app.py:10-40 · 812 bytes"
    assert second.text() == "src/ · 12 kB"
    assert third.text().endswith("… · 5 bytes")
    assert len(third.text()) < 60
    assert first.accessibleName() == "Came with the message: app.py:10-40, file, 812 bytes"
    assert "&lt;b&gt;" not in third.text()


@pytest.mark.parametrize("text", ["Look", 'Read @"my notes.md"', "word " * 60, "one\ntwo\n" * 20])
def test_they_stand_below_the_text_inside_the_bubble_and_apart(stage: Stage, text: str) -> None:
    shown = show(stage, text)
    widget = stage.widget(0)

    areas = [button.geometry() for button in shown]
    assert all(widget.rect().contains(area) for area in areas)
    assert not any(area.intersects(other) for area in areas for other in areas if area != other)
    assert widget.column_origin.y() + widget.column.height < min(area.top() for area in areas)
    assert max(area.bottom() for area in areas) < widget.entry_height()
    assert [stop for stop in widget.tab_stops() if stop in shown] == shown


def test_a_click_and_a_key_ask_for_what_was_sent(stage: Stage) -> None:
    first, second, _ = show(stage)
    asked = QSignalSpy(stage.view.entry_actions.attachment_requested)
    QTest.mouseClick(first, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    second.setFocus()
    stage.key(Qt.Key.Key_Space, second)

    assert [asked.at(number)[0] for number in range(asked.count())] == list(ATTACHMENTS[:2])


def test_they_are_gone_while_the_prompt_is_edited(stage: Stage) -> None:
    show(stage)
    widget = stage.widget(0)
    edit = next(each for each in widget.findChildren(QPushButton) if each.objectName() == "editPromptButton")
    edit.click()
    assert chips(stage) == []
    stage.key(Qt.Key.Key_Escape, widget.findChildren(MessageEdit)[0])

    assert len(chips(stage)) == 3


def test_a_prompt_without_any_is_as_before(stage: Stage) -> None:
    stage.show(ev.PromptSubmitted(prompt_id="p", text="Look", turn=1, at=NOW))

    assert chips(stage) == []
