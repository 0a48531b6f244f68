"""The list at an `@` follows the text and never takes the focus; mentions are highlighted."""

from typing import cast

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QImage, QInputMethodEvent, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from desktop_agent.core.mcp.server_status import OfferedResource, ResourceTemplate, ServerStatus
from desktop_agent.core.mentions.mention_grammar import TypedMention
from desktop_agent.core.mentions.offers import FolderPaths, MentionSources, OfferedSession, offers_for
from desktop_agent.core.mentions.symbol_search import symbol_offers, with_name
from desktop_agent.core.search.symbols import FoundSymbol
from desktop_agent.ui.chat.composer.message_edit import LONGEST_PASTED
from desktop_agent.ui.chat.composer.offer_popups import MentionPopup
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.wording import utf16_length
from tests.ui.chat.composer.desk import ComposerDesk
from tests.ui.chat.stage import record

LOAD = [
    FoundSymbol("function", "load", "src/core/load.py", 12),
    FoundSymbol("class", "Loader", "src/core/load.py", 3),
    FoundSymbol("constant", "MOST_LOADED", "src/app.py", 1),
]

SOURCES = MentionSources(
    paths=FolderPaths(["README.md", "my notes.md", "src/core/turn_runner.py", "src/app.py"]),
    sessions=(OfferedSession("01A", "Fix the pages", "web"),),
    servers=(
        ServerStatus(
            name="docs",
            resources=(OfferedResource(uri="note://one", name="one", title="Release notes"),),
            templates=(ResourceTemplate(uri_template="note://{year}/x", name="yearly"),),
        ),
    ),
)


class Desk(ComposerDesk):
    def __init__(self, theme: Theme, qtbot: QtBot) -> None:
        super().__init__(theme, qtbot)
        self.mentions = self.composer.mentions
        self.mentions.set_known(SOURCES.paths.has, frozenset({"docs", "session"}))
        self.mentions.wanted.connect(self._on_wanted)
        self.wanted: list[TypedMention] = []
        self.is_slow = False

    def _on_wanted(self, typed: TypedMention) -> None:
        self.wanted.append(typed)
        if not self.is_slow:
            self.answer(typed)

    def answer(self, typed: TypedMention) -> None:
        self.mentions.show(typed, offers_for(typed, SOURCES))

    def find(self, symbols: list[FoundSymbol]) -> None:
        typed = self.wanted[-1]
        self.mentions.show_symbols(typed, symbol_offers(with_name(symbols, typed.target), typed.target))

    @property
    def popup(self) -> MentionPopup | None:
        return next((popup for popup in self.window.findChildren(MentionPopup) if popup.isVisible()), None)

    @property
    def shown(self) -> list[str]:
        return [offer.label for offer in self.popup.offers] if self.popup is not None else []

    @property
    def current(self) -> str:
        return cast("str | None", self.popup.currentIndex().data()) or "" if self.popup is not None else ""

    @property
    def marked(self) -> list[str]:
        return [self.composer.text()[start:end] for start, end in self.edit.marks.spans]


@pytest.fixture
def desk(theme: Theme, qtbot: QtBot) -> Desk:
    return Desk(theme, qtbot)


def test_an_at_sign_offers_folder_and_sources_letters_narrow_it_and_enter_puts_the_path_there(desk: Desk) -> None:
    desk.type("See @")
    assert desk.shown == ["src/", "my notes.md", "README.md", "docs:", "session:", "symbol:"]
    assert desk.popup is not None
    assert (desk.popup.objectName(), desk.popup.accessibleName()) == ("mentionPopup", "Mentions")
    assert desk.edit.hasFocus()
    desk.type("turun")
    assert desk.shown == ["src/core/turn_runner.py"]

    desk.key(Qt.Key.Key_Return)
    desk.type("now")

    assert desk.composer.text() == "See @src/core/turn_runner.py now"
    assert desk.marked == ["@src/core/turn_runner.py"]
    assert desk.popup is None
    assert desk.sent == []


@pytest.mark.parametrize(
    ("typed", "key", "text"),
    [
        ("@notes", Qt.Key.Key_Tab, '@"my notes.md" '),
        ("@docs:yea", Qt.Key.Key_Return, "@docs:note://"),
        ("@fix", Qt.Key.Key_Return, '@session:"Fix the pages" '),
    ],
    ids=["a name with a blank in quotes", "a template is begun", "a session by its title"],
)
def test_what_is_chosen_is_written_so_that_it_can_be_read(desk: Desk, typed: str, key: Qt.Key, text: str) -> None:
    desk.type(typed)
    desk.key(key)

    assert desk.composer.text() == text


def test_tab_goes_on_in_a_folder_and_enter_takes_it(desk: Desk) -> None:
    desk.type("@src")
    assert desk.current == "src/"
    desk.key(Qt.Key.Key_Tab)

    assert desk.composer.text() == "@src/"
    assert desk.shown == ["src/core/", "src/app.py"]

    desk.key(Qt.Key.Key_Down)
    desk.key(Qt.Key.Key_Down)
    desk.key(Qt.Key.Key_Up)
    assert desk.current == "src/app.py"
    desk.key(Qt.Key.Key_Enter)
    assert desk.composer.text() == "@src/app.py "


def test_a_source_is_gone_on_with_and_its_resource_is_written_by_name(desk: Desk) -> None:
    desk.type("@do")
    assert desk.current == "docs:"
    desk.key(Qt.Key.Key_Return)
    assert desk.composer.text() == "@docs:"
    assert desk.shown == ["Release notes", "yearly"]
    desk.key(Qt.Key.Key_Return)

    assert desk.composer.text() == "@docs:one "
    assert desk.marked == ["@docs:one"]


def test_enter_sends_what_stands_there_whole_or_only_has_its_letters_in_some_file(desk: Desk) -> None:
    desk.type("@src/app.py")
    assert desk.popup is not None
    desk.key(Qt.Key.Key_Return)
    desk.type("no @runr")
    assert desk.shown == ["src/core/turn_runner.py"]
    assert desk.current == ""
    desk.key(Qt.Key.Key_Return)
    assert desk.sent == [("@src/app.py",), ("no @runr",)]

    desk.type("no @runr")
    desk.key(Qt.Key.Key_Up)
    desk.key(Qt.Key.Key_Return)
    assert desk.composer.text() == "no @src/core/turn_runner.py "


def test_escape_closes_it_until_another_mention_begins(desk: Desk) -> None:
    desk.type("@s")
    desk.key(Qt.Key.Key_Escape)
    desk.type("r")
    assert desk.popup is None
    desk.type(" @s")

    assert desk.popup is not None


def test_a_late_answer_to_what_is_no_longer_typed_is_dropped(desk: Desk) -> None:
    desk.is_slow = True
    desk.type("@a")
    desk.type("p")
    *_, early, late = desk.wanted
    desk.answer(early)
    assert desk.popup is None
    desk.answer(late)
    assert desk.shown == ["src/app.py"]


def test_the_list_closes_when_the_cursor_leaves_or_nothing_fits(desk: Desk) -> None:
    desk.type("x @app")
    desk.key(Qt.Key.Key_Home)
    assert desk.popup is None
    desk.key(Qt.Key.Key_End)
    assert desk.popup is None, "it opens with typing only"
    desk.type("zzz")
    assert desk.popup is None


def test_an_input_method_at_work_is_left_alone(desk: Desk) -> None:
    desk.type("@a")
    QApplication.sendEvent(desk.edit, QInputMethodEvent("にほ", []))
    assert desk.popup is None

    commit = QInputMethodEvent()
    commit.setCommitString("pp")
    QApplication.sendEvent(desk.edit, commit)

    assert desk.composer.text() == "@app"
    assert desk.shown == ["src/app.py"]


def test_the_list_stands_above_the_sign_inside_the_window_and_a_click_chooses(desk: Desk) -> None:
    desk.type("word " * 14 + "@")
    popup = desk.popup
    assert popup is not None

    sign = desk.edit.viewport().mapTo(desk.window, desk.edit.cursorRect().topLeft())
    assert popup.geometry().bottom() < sign.y()
    assert desk.window.rect().contains(popup.geometry())
    assert popup.geometry().contains(QPoint(sign.x() - 10, popup.geometry().center().y()))
    QTest.mouseClick(
        popup.viewport(), Qt.MouseButton.LeftButton, pos=popup.visualRect(popup.model().index(2, 0)).center()
    )
    assert desk.composer.text() == "word " * 14 + "@README.md "
    assert desk.edit.hasFocus()


def test_only_what_comes_along_stands_out(desk: Desk) -> None:
    desk.composer.set_text("@property @src @src/app.py:1-2 `@src/app.py` @docs:one @other:one @symbol:load")

    assert desk.marked == ["@src", "@src/app.py:1-2", "@docs:one", "@symbol:load"]


@pytest.mark.parametrize(
    ("before", "after", "paths", "text"),
    [
        ("Compare", " with others", ["my notes.md", "src/"], 'Compare @"my notes.md" @src/ with others'),
        ("😀🎉see", " this", ["src/app.py"], "😀🎉see @src/app.py this"),
    ],
)
def test_a_path_is_mentioned_at_the_cursor_with_a_blank_around_it(
    desk: Desk, before: str, after: str, paths: list[str], text: str
) -> None:
    desk.edit.insertPlainText(before + after)
    cursor = desk.edit.textCursor()
    cursor.setPosition(utf16_length(before))
    desk.edit.setTextCursor(cursor)
    for path in paths:
        desk.mentions.insert(path)

    assert desk.composer.text() == text
    assert desk.popup is None


def test_pasted_files_pictures_and_long_texts_are_given_and_short_texts_and_addresses_are_typed(desk: Desk) -> None:
    edit = desk.edit
    files_given, pictures, texts = map(record, (edit.files_given, edit.picture_given, edit.long_text_given))
    files, picture, long, web = (QMimeData() for _ in range(4))
    files.setUrls([QUrl.fromLocalFile("/room/a b.txt")])
    picture.setImageData(QImage(3, 2, QImage.Format.Format_RGB32))
    long.setText("x" * (LONGEST_PASTED + 1))
    web.setUrls([QUrl("https://example.org/")])
    web.setText("https://example.org/")
    assert edit.canInsertFromMimeData(picture)
    for data in (files, picture, long, web):
        edit.insertFromMimeData(data)

    assert files_given == [(("/room/a b.txt",),)]
    assert [cast("QImage", given).width() for (given,) in pictures] == [3]
    assert texts == [("x" * (LONGEST_PASTED + 1),)]
    assert desk.composer.text() == "https://example.org/"


def test_what_was_pasted_is_mentioned_by_its_name_and_stands_out(desk: Desk) -> None:
    desk.type("See")
    desk.mentions.insert_pasted("picture-234501.png")

    assert desk.composer.text() == "See @pasted:picture-234501.png "
    assert desk.marked == ["@pasted:picture-234501.png"]


def test_symbols_come_in_behind_the_files_and_are_written_with_their_file(desk: Desk) -> None:
    desk.type("See @app")
    desk.find([FoundSymbol("function", "app", "src/core/load.py", 12)])
    assert desk.shown == ["src/app.py", "app"]
    assert desk.current == "src/app.py"
    assert desk.popup is not None
    accessible = desk.popup.model().index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert accessible == "app, function, src/core/load.py:12"

    desk.key(Qt.Key.Key_Down)
    desk.key(Qt.Key.Key_Return)
    assert desk.composer.text() == "See @symbol:src/core/load.py:app "
    assert desk.marked == ["@symbol:src/core/load.py:app"]


def test_symbols_open_the_list_where_no_file_fits_and_enter_takes_one_that_begins_so(desk: Desk) -> None:
    desk.type("@load")
    assert desk.popup is None
    desk.find(LOAD[1:])
    assert (desk.shown, desk.current) == (["Loader", "MOST_LOADED"], "Loader")
    desk.find(LOAD)
    assert (desk.shown, desk.current) == (["load", "Loader", "MOST_LOADED"], "load")
    desk.key(Qt.Key.Key_Return)

    assert desk.composer.text() == "@symbol:src/core/load.py:load "


def test_enter_sends_what_is_only_inside_the_name_of_a_symbol(desk: Desk) -> None:
    desk.type("no @most_l")
    desk.find(LOAD)
    assert desk.current == "MOST_LOADED"
    desk.composer.set_text("")
    desk.type("no @loaded")
    desk.find(LOAD)
    assert (desk.shown, desk.current) == (["MOST_LOADED"], "")
    desk.key(Qt.Key.Key_Return)

    assert desk.sent == [("no @loaded",)]


def test_what_is_found_later_moves_nothing_that_the_user_has_chosen(desk: Desk) -> None:
    desk.type("@load")
    desk.find(LOAD[1:2])
    desk.key(Qt.Key.Key_Down)
    desk.key(Qt.Key.Key_Up)
    desk.find(LOAD)
    assert (desk.shown, desk.current) == (["Loader", "load", "MOST_LOADED"], "Loader")
    desk.key(Qt.Key.Key_Down)
    desk.find(LOAD)

    assert (desk.shown, desk.current) == (["Loader", "load", "MOST_LOADED"], "load")


def test_what_is_found_later_moves_nothing_that_the_user_points_at(desk: Desk) -> None:
    desk.type("@load")
    desk.find(LOAD[1:2])
    assert desk.popup is not None
    for x in (20, 23):
        QTest.mouseMove(desk.popup.viewport(), QPoint(x, 10))
    desk.find(LOAD)
    assert desk.shown == ["Loader", "load", "MOST_LOADED"]


def test_symbols_for_what_is_no_longer_typed_are_dropped(desk: Desk) -> None:
    left = record(desk.mentions.left)
    desk.type("@load")
    early = desk.wanted[-1]
    desk.type("e")
    desk.mentions.show_symbols(early, symbol_offers(LOAD, "load"))
    assert desk.popup is None
    desk.find(LOAD)
    assert desk.shown == ["Loader", "MOST_LOADED"]
    desk.type(" ")

    assert (desk.popup, left) == (None, [()])


def test_symbols_that_come_before_the_files_wait_for_them(desk: Desk) -> None:
    desk.is_slow = True
    desk.type("@app")
    desk.find([FoundSymbol("class", "App", "src/app.py", 1)])
    assert desk.popup is None
    desk.answer(desk.wanted[-1])

    assert desk.shown == ["src/app.py", "App"]


def test_behind_an_emoji_a_mention_is_put_and_marked_where_it_stands(desk: Desk) -> None:
    desk.edit.insertPlainText("😀🎉 see")
    desk.type(" @turun")
    assert desk.shown == ["src/core/turn_runner.py"]

    desk.key(Qt.Key.Key_Return)
    desk.type("now")

    assert desk.composer.text() == "😀🎉 see @src/core/turn_runner.py now"
    ((start, end),) = desk.edit.marks.spans
    cursor = desk.edit.textCursor()
    cursor.setPosition(start)
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    assert cursor.selectedText() == "@src/core/turn_runner.py"
