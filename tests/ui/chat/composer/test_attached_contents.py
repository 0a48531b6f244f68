"""The chips of pictures and pasted contents follow the text, are reached by Tab, and can be removed."""

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.chat.attached_contents import ContentChip, ContentPreview
from desktop_agent.ui.chat.composer.field_offers import MentionedContent, contents_in
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture
from tests.ui.chat.composer.desk import ComposerDesk

SHOT = MentionedContent(is_pasted=False, name="docs/shot.png")
TEXT = MentionedContent(is_pasted=True, name="text-120000.txt")


def picture() -> ContentPreview:
    image = QImage(QSize(80, 40), QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.red)
    return ContentPreview(123_456, DecodedPicture(image, image, QSize(1_600, 800), "PNG image", 123_456))


class Desk(ComposerDesk):
    def __init__(self, theme: Theme, qtbot: QtBot) -> None:
        super().__init__(theme, qtbot)
        self.contents = self.composer.contents
        self.wanted = QSignalSpy(self.contents.wanted)

    @property
    def chips(self) -> list[ContentChip]:
        return [chip for chip in self.composer.findChildren(ContentChip, "contentChip") if chip.isVisible()]

    def asked(self) -> list[object]:
        return [self.wanted.at(number)[0] for number in range(self.wanted.count())]


@pytest.fixture
def desk(theme: Theme, qtbot: QtBot) -> Desk:
    return Desk(theme, qtbot)


def test_pictures_and_pasted_contents_are_found_where_they_are_mentioned() -> None:
    text = '@docs/shot.png and @pasted:text-120000.txt, @docs/shot.png again, @"my shot.JPG", not `@x.png` or @a.py'

    found = contents_in(text)

    assert list(found) == [SHOT, TEXT, MentionedContent(is_pasted=False, name="my shot.JPG")]
    assert [text[start:end] for start, end in found[SHOT]] == ["@docs/shot.png"] * 2


def test_a_chip_shows_the_picture_its_sides_and_its_size(desk: Desk) -> None:
    height = desk.composer.height()
    desk.composer.set_text("Look at @docs/shot.png and @pasted:text-120000.txt please")
    assert desk.asked() == [SHOT, TEXT]
    assert desk.chips == []

    desk.contents.show(SHOT, picture())
    desk.contents.show(TEXT, ContentPreview(34_000))

    shot, text = desk.chips
    assert (shot.name, shot.detail, not shot.thumbnail.isNull()) == ("shot.png", "1,600 × 800 · 123 kB", True)
    assert (text.name, text.detail, not text.thumbnail.isNull()) == ("text-120000.txt", "34 kB", False)
    assert shot.accessibleName() == "Attached: shot.png, 1,600 × 800 · 123 kB"
    assert desk.composer.height() > height
    assert max(shot.geometry().bottom(), text.geometry().bottom()) < desk.edit.geometry().top()
    assert not shot.geometry().intersects(text.geometry())


@pytest.mark.parametrize(
    ("preview", "detail"),
    [
        (ContentPreview(9, DecodedPicture.without("damaged")), "Cannot be shown · 9 bytes"),
        (ContentPreview(5_000_000, picture().picture, True), "Too large for a model · 1,600 × 800 · 5.0 MB"),
        (ContentPreview(10**9, DecodedPicture.without("too large"), True), "Too large for a model · 1000.0 MB"),
    ],
)
def test_what_is_wrong_with_a_picture_is_said_in_words(desk: Desk, preview: ContentPreview, detail: str) -> None:
    desk.composer.set_text("@docs/shot.png")
    desk.contents.show(SHOT, preview)

    (chip,) = desk.chips
    assert chip.detail == detail
    assert detail in chip.accessibleName()


def test_an_answer_about_what_is_mentioned_no_more_or_is_not_there_shows_nothing(desk: Desk) -> None:
    desk.composer.set_text("@docs/shot.png")
    desk.composer.set_text("@pasted:text-120000.txt")
    desk.contents.show(SHOT, picture())
    desk.contents.show(TEXT, None)

    assert desk.chips == []


def test_removing_one_takes_all_its_mentions_out_and_undo_brings_them_back(desk: Desk) -> None:
    written = "😀🎉 Compare @docs/shot.png with @pasted:text-120000.txt and (@docs/shot.png)"
    desk.composer.set_text(written)
    desk.contents.show(SHOT, picture())
    desk.contents.show(TEXT, ContentPreview(34_000))
    desk.chips[0].setFocus()
    QTest.keyClick(desk.chips[0], Qt.Key.Key_Delete)

    assert desk.composer.text() == "😀🎉 Compare with @pasted:text-120000.txt and ()"
    assert [chip.name for chip in desk.chips] == ["text-120000.txt"]
    assert desk.edit.hasFocus()
    desk.edit.undo()
    assert desk.composer.text() == written
    assert desk.asked() == [SHOT, TEXT, SHOT]


def test_tab_comes_to_each_chip_and_its_button_before_the_field(desk: Desk) -> None:
    desk.composer.set_text("@docs/shot.png @pasted:text-120000.txt")
    desk.contents.show(TEXT, ContentPreview(34_000))
    desk.contents.show(SHOT, picture())
    opened = QSignalSpy(desk.contents.opened)
    names: list[str] = []
    for _ in range(4):
        QTest.keyClick(desk.window.focusWidget(), Qt.Key.Key_Backtab)
        focused = desk.window.focusWidget()
        names.append(focused.accessibleName().partition(",")[0])

    assert names == [
        "Remove text-120000.txt from the message",
        "Attached: text-120000.txt",
        "Remove shot.png from the message",
        "Attached: shot.png",
    ]
    QTest.keyClick(desk.window.focusWidget(), Qt.Key.Key_Return)
    assert [opened.at(number)[0] for number in range(opened.count())] == [SHOT]


def test_of_many_the_first_six_are_shown_and_the_rest_is_counted(desk: Desk) -> None:
    contents = [MentionedContent(is_pasted=False, name=f"{number}.png") for number in range(9)]
    desk.composer.set_text(" ".join(f"@{each.name}" for each in contents))
    for each in contents:
        desk.contents.show(each, picture())

    assert [chip.name for chip in desk.chips] == [each.name for each in contents[:6]]
    assert "and 3 more" in [label.property("text") for label in desk.composer.findChildren(QWidget)]


def test_sending_the_message_clears_them(desk: Desk) -> None:
    desk.composer.set_text("@docs/shot.png")
    desk.contents.show(SHOT, picture())
    QTest.keyClick(desk.edit, Qt.Key.Key_Return)

    assert desk.chips == []
