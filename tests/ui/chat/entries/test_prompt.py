"""An earlier prompt is edited in place, and resent on request."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.context.review_comments import prompt_of_comments
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import PromptSubmitted, SessionForked
from desktop_agent.core.protocol.model import Attachment, BlobRef, LineComment
from desktop_agent.ui.chat.attached_contents import ContentChip
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.chat.entries.entry import EntryPlace
from desktop_agent.ui.chat.entries.prompt import EDIT, PromptWidget, read_prompt
from desktop_agent.ui.chat.text.styles import CODE_HEADER
from desktop_agent.ui.chat.transcript.mouse_and_keyboard import copied_row
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.buttons import Picker
from tests.ui.chat.cards.loads import Loads, png
from tests.ui.chat.stage import NOW, Stage, answer

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
    assert first.accessibleName() == "Attached: app.py:10-40, file, 812 bytes"
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


@pytest.fixture
def seeing(theme: Theme, qtbot: QtBot, loads: Loads) -> Stage:
    return Stage(theme, qtbot, height=900, loader=loads.loader)


def picture(uri: str, ref: BlobRef, mention: str = "@") -> Attachment:
    return Attachment(mention=f"{mention}{uri}", uri=uri, name=uri, kind="picture", size=2_500, images=(ref,))


def show_pictures(stage: Stage, loads: Loads, *contents: bytes) -> list[ContentChip]:
    sent = zip("abc", contents, strict=False)
    attachments = [picture(f"shots/{name}.png", loads.picture(name, content)) for name, content in sent]
    text = "Compare these."
    stage.show(ev.PromptSubmitted(prompt_id="p", text=text, turn=1, at=NOW, attachments=(*attachments, ATTACHMENTS[0])))
    return stage.widget(0).findChildren(ContentChip)


def test_a_picture_is_seen_small_and_nothing_moves_when_it_comes(seeing: Stage, loads: Loads) -> None:
    first, second = show_pictures(seeing, loads, png(1600, 900), png(40, 30))
    before = (first.geometry(), second.geometry(), seeing.widget(0).entry_height())
    assert (first.name, first.detail, not first.thumbnail.isNull()) == ("a.png", "2 kB", False)
    loads.finish()

    assert (first.geometry(), second.geometry(), seeing.widget(0).entry_height()) == before
    assert (first.detail, second.detail) == ("1,600 × 900 · 2 kB", "40 × 30 · 2 kB")
    assert first.accessibleName() == "Attached: a.png, picture, 1,600 × 900 · 2 kB"
    assert not first.thumbnail.isNull()
    assert first.grab().toImage().pixelColor(24, 24).name() == "#0e7c70"
    assert seeing.widget(0).rect().contains(second.geometry())
    stops = seeing.widget(0).tab_stops()
    assert stops.index(first) < stops.index(second) < stops.index(chips(seeing)[0])


def test_a_picture_that_was_read_is_there_at_once_when_its_row_comes_back(seeing: Stage, loads: Loads) -> None:
    [first] = show_pictures(seeing, loads, png(40, 30))
    loads.finish()
    row = seeing.row(0)
    widget = PromptWidget(EntryPlace(row, seeing.widget(0).styles, seeing.view.entry_actions, seeing.window), None)

    assert not first.thumbnail.isNull()
    assert [not each.thumbnail.isNull() for each in widget.findChildren(ContentChip)] == [True]


def test_a_picture_that_is_damaged_or_cannot_be_read_has_a_sign_and_says_so(seeing: Stage, loads: Loads) -> None:
    [broken] = show_pictures(seeing, loads, b"no picture")
    loads.finish()
    assert (not broken.thumbnail.isNull(), broken.detail) == (False, "Cannot be shown · 2 kB")
    loads.error = StorageError("It is gone.")
    [gone] = show_pictures(seeing, loads, png(40, 30))
    loads.finish()

    assert (not gone.thumbnail.isNull(), gone.detail) == (False, "2 kB")


def test_a_click_and_enter_on_a_picture_or_a_file_ask_for_what_was_sent(seeing: Stage, loads: Loads) -> None:
    [shot] = show_pictures(seeing, loads, png(40, 30))
    asked = QSignalSpy(seeing.view.entry_actions.attachment_requested)
    for each, key in ((shot, Qt.Key.Key_Return), (chips(seeing)[0], Qt.Key.Key_Space)):
        QTest.mouseClick(each, Qt.MouseButton.LeftButton)
        seeing.key(key, each)

    wanted = ["shots/a.png", "shots/a.png", "src/app.py", "src/app.py"]
    assert [asked.at(number)[0].uri for number in range(asked.count())] == wanted


def prompt(text: str, turn: int) -> PromptSubmitted:
    return PromptSubmitted(prompt_id=f"p{turn}", text=text, turn=turn, at=NOW)


def shown(stage: Stage) -> QWidget:
    stage.show(prompt("Fix the login", 1), answer("Done."), prompt("And the tests", 2))
    return stage.widget(2)


def edited(stage: Stage) -> QWidget:
    widget = shown(stage)
    named(widget, "editPromptButton").click()
    return widget


def field(widget: QWidget) -> MessageEdit:
    return widget.findChildren(MessageEdit)[0]


def named(widget: QWidget, name: str) -> QPushButton:
    return next(button for button in widget.findChildren(QPushButton) if button.objectName() == name)


def test_a_prompt_becomes_a_field_and_enter_sends_what_it_says(stage: Stage) -> None:
    widget = shown(stage)
    sent = QSignalSpy(stage.view.entry_actions.resend_requested)
    closed = QSignalSpy(stage.view.entry_actions.edit_closed)
    height = widget.height()
    named(widget, "editPromptButton").click()
    assert field(widget).hasFocus()
    assert field(widget).toPlainText() == "And the tests"
    stage.qtbot.waitUntil(lambda: widget.height() > height)
    QTest.keyClicks(field(widget), ", too")
    assert sent.count() == 0
    stage.key(Qt.Key.Key_Return, field(widget))
    assert sent.at(0) == [2, "And the tests, too", False]
    assert closed.at(0) == [2]
    stage.qtbot.waitUntil(lambda: stage.widget(2).height() == height)
    assert stage.shown_text(2) == "And the tests", "the conversation stays as it is"


def test_the_files_go_back_only_when_the_person_says_so_and_nothing_cannot_be_sent(stage: Stage) -> None:
    sent = QSignalSpy(stage.view.entry_actions.resend_requested)
    widget = edited(stage)
    field(widget).setPlainText("  ")
    assert not named(widget, "promptEditSend").isEnabled()
    stage.key(Qt.Key.Key_Return, field(widget))
    assert sent.count() == 0
    field(widget).setPlainText("And the tests")
    widget.findChildren(Picker)[0].setCurrentIndex(1)
    named(widget, "promptEditSend").click()
    assert sent.at(0) == [2, "And the tests", True]


def test_escape_leaves_everything_as_it_was(stage: Stage) -> None:
    actions = stage.view.entry_actions
    sent, closed = QSignalSpy(actions.resend_requested), QSignalSpy(actions.edit_closed)
    show(stage)
    widget = stage.widget(0)
    named(widget, "editPromptButton").click()
    assert chips(stage) == [], "attachments are hidden while the prompt is edited"
    QTest.keyClicks(field(widget), "!")
    stage.key(Qt.Key.Key_Escape, field(widget))
    assert (sent.count(), closed.count(), len(chips(stage))) == (0, 1, 3)
    assert EDIT not in stage.row(0).drafts
    assert named(widget, "editPromptButton").hasFocus(), "the keyboard focus is where it was"


def test_an_edit_is_told_letter_by_letter_and_taken_up_again(stage: Stage) -> None:
    changed = QSignalSpy(stage.view.entry_actions.edit_changed)
    widget = edited(stage)
    QTest.keyClicks(field(widget), "!")
    assert changed.at(changed.count() - 1) == [2, "And the tests!"]
    shown(stage)
    stage.view.row_layout.show_edits({2: "And the tests!"})
    stage.qtbot.waitUntil(lambda: bool(stage.widget(2).findChildren(MessageEdit)))
    assert field(stage.widget(2)).toPlainText() == "And the tests!"
    assert stage.widget(0).findChildren(MessageEdit) == []


def test_a_fork_leads_to_what_it_is_a_copy_of(stage: Stage) -> None:
    stage.show(prompt("Fix", 1), SessionForked(source="20261121-213700-k3f9qx", title="Fix", before_turn=2, at=NOW))
    opened = QSignalSpy(stage.view.entry_actions.session_requested)
    named(stage.widget(1), "openSourceButton").click()
    assert opened.at(0) == ["20261121-213700-k3f9qx"]


def remark(path: str, start: int, end: int, quote: str, text: str) -> LineComment:
    return LineComment(id=f"c{start}", path=path, side="new", start=start, end=end, quote=quote, text=text)


REVIEW = prompt_of_comments(
    "Two things:",
    (
        remark("src/app.py", 9, 11, "def f():\n    pass\n", "Say *why*.\n\nIn words."),
        remark("b.md", 0, 0, "", "Delete it."),
    ),
)


def test_comments_that_were_sent_are_cards_and_stay_the_text_that_was_sent(stage: Stage) -> None:
    stage.show(ev.PromptSubmitted(prompt_id="p", text=REVIEW, turn=1, at=NOW))
    row, widget = stage.row(0), stage.widget(0)
    blocks = [(block.kind, block.label or block.content, block.language) for block in widget.column.text.blocks]
    assert blocks == [
        ("plain", "Two things:", ""),
        ("code", "b.md · whole file", ""),
        ("plain", "Delete it.", ""),
        ("code", "src/app.py · lines 10–11", "py"),
        ("plain", "Say *why*.\n\nIn words.", ""),
    ]
    assert "> def" not in stage.shown_text(0)
    assert copied_row(row) == REVIEW
    stage.drag(stage.point_of(0, "Two"), stage.point_of(0, "words.", at_end=True))
    assert stage.view.selected.text() == REVIEW
    frames = {widget.column.text.blocks[at].label: frame.height() for at, frame in widget.column.code_frames()}
    assert frames["b.md · whole file"] == CODE_HEADER, "no strip for the code that there is not"
    assert frames["src/app.py · lines 10–11"] > CODE_HEADER
    surface = widget.grab().toImage().pixelColor(widget.width() - 20, stage.point_of(0, "Delete").y() - widget.y())
    assert surface.name() == widget.styles.colours.surface.lower()
    assert isinstance(widget, PromptWidget)
    widget.begin_edit()
    assert widget.findChildren(MessageEdit)[0].toPlainText() == REVIEW


def test_a_comment_on_an_empty_line_is_not_on_the_whole_file() -> None:
    comments = (remark("a.py", 4, 5, "\n", "Why?"), remark("a.py", 0, 1, "\n", "And here?"))
    text = prompt_of_comments("", (*comments, remark("", 2, 3, "- [ ] x\n", "Too soon.")))
    shown = read_prompt(ev.PromptSubmitted(prompt_id="p", text=text, turn=1, at=NOW))
    assert [block.label for block in shown.blocks if block.kind == "code"] == [
        "Plan · line 3",
        "a.py · line 1",
        "a.py · line 5",
    ]


def pasted(loads: Loads, name: str) -> Attachment:
    return picture(f"picture-{name}.png", loads.picture(name, png(300, 200)), "@pasted:")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("@pasted:picture-a.png", ""),
        ("Compare @pasted:picture-a.png with\n@pasted:picture-b.png", "Compare with"),
        ("@pasted:picture-a.png What is this? @src/app.py", "What is this? @src/app.py"),
    ],
)
def test_pasted_pictures_are_their_thumbnails_alone(seeing: Stage, loads: Loads, text: str, shown: str) -> None:
    attachments = (pasted(loads, "a"), pasted(loads, "b"))
    seeing.show(ev.PromptSubmitted(prompt_id="p", text=text, turn=1, at=NOW, attachments=attachments))
    loads.finish()
    chips = seeing.widget(0).findChildren(ContentChip)
    assert seeing.shown_text(0) == shown
    assert copied_row(seeing.row(0)) == text
    assert [(chip.width(), chip.height()) for chip in chips] == [(96, 96)] * 2
    assert chips[0].grab().toImage().pixelColor(48, 48).name() == "#0e7c70"
    assert all(seeing.widget(0).rect().contains(chip.geometry()) for chip in chips)
    assert chips[0].accessibleName() == "Attached: picture-a.png, picture, 300 × 200 · 2 kB"
