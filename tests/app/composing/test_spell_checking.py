"""Misspelled words of a message are underlined, and corrected from the field's menu."""

from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.chat.composer.spelling_marks import SpellingMarks
from tests.app.conftest import Go
from tests.e2e.driver import Driver


async def begun(user: Driver) -> MessageEdit:
    await user.until_true(lambda: bool(user.composer.text()), "a prompt is offered")
    edit = user.composer.edit
    edit.setFocus()
    edit.selectAll()
    return edit


def underlined(edit: MessageEdit) -> list[str]:
    return [one.cursor.selectedText() for one in edit.extraSelections() if one.format.underlineStyle().value]  # pyright: ignore[reportAttributeAccessIssue] - the stubs do not know them


def is_about_to_look(edit: MessageEdit) -> bool:
    marks = edit.findChild(SpellingMarks)
    assert marks is not None
    return any(timer.isActive() for timer in marks.findChildren(QTimer))


async def end(user: Driver) -> None:
    user.composer.set_text("")
    await user.quit()


async def menu_at(user: Driver, edit: MessageEdit, word: str) -> QMenu:
    cursor = edit.document().find(word)
    cursor.setPosition(cursor.selectionStart() + 1)
    at = edit.cursorRect(cursor).center()
    asked = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, edit.viewport().mapToGlobal(at))
    QApplication.sendEvent(edit.viewport(), asked)
    found: list[QMenu] = []

    def look() -> bool:
        popup = QApplication.activePopupWidget()
        found[:] = [popup] if isinstance(popup, QMenu) else []
        return bool(found)

    await user.until_true(look, "the menu is open")
    return found[0]


def choose(menu: QMenu, text: str) -> None:
    (action,) = [action for action in menu.actions() if text in action.text()]
    action.trigger()
    menu.close()


def test_misspelled_words_are_underlined_once_they_are_left_and_put_right_or_added_from_the_menu(go: Go) -> None:
    async def journey(user: Driver) -> None:
        edit = await begun(user)
        user.composer.set_text("teh words of a draft")
        assert not is_about_to_look(edit), "what the application puts there reads no dictionary"
        QTest.keyClicks(edit, "x")
        assert is_about_to_look(edit)

        edit.selectAll()
        QTest.keyClicks(edit, "Can you recieve")
        await user.pause()
        assert underlined(edit) == []
        QTest.keyClicks(edit, " `teh` page_cuont, plaese?")
        await user.until_true(lambda: underlined(edit) == ["recieve", "plaese"], "two words are underlined")
        choose(await menu_at(user, edit, "recieve"), "receive")
        assert edit.toPlainText() == "Can you receive `teh` page_cuont, plaese?"
        await user.until_true(lambda: underlined(edit) == ["plaese"], "one word is underlined")
        edit.undo()
        assert "recieve" in edit.toPlainText()

        edit.selectAll()
        QTest.keyClicks(edit, "The qasync loop, qasync again ")
        await user.until_true(lambda: underlined(edit) == ["qasync", "qasync"], "it is underlined")
        choose(await menu_at(user, edit, "qasync"), "Add")
        await user.until_true(lambda: underlined(edit) == [], "it is right")

        edit.selectAll()
        edit.insertPlainText("😀🎉 ")
        QTest.keyClicks(edit, "teh end ")
        await user.until_true(lambda: underlined(edit) == ["teh"], "it is underlined where it stands")
        menu = await menu_at(user, edit, "end")
        assert [action.text() for action in menu.actions() if "dictionary" in action.text()] == []
        assert len(menu.actions()) > 3, "it is the menu of every field"
        menu.close()
        await end(user)

    go(["--demo"], journey)


def test_with_the_setting_off_nothing_is_underlined(go: Go, isolated_home: Path) -> None:
    async def journey(user: Driver) -> None:
        edit = await begun(user)
        QTest.keyClicks(edit, "teh end ")
        assert not is_about_to_look(edit)
        await end(user)

    save_setting(AppPaths.from_environment().settings_file(), "ui.spelling", value=False)
    go(["--demo"], journey)
