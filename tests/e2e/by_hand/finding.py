"""Journeys to other places: the palette, a file named in an answer, the terminal."""

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QDialog, QListView, QPushButton, QWidget

from desktop_agent.ui.chat.entries.markdown_entries import MarkdownWidget
from desktop_agent.ui.review.file_editing import FileEditor
from desktop_agent.ui.terminal.terminal_panel import TerminalPanel
from tests.e2e import orders
from tests.e2e.by_hand.hands import Keyboard, Mouse
from tests.e2e.by_hand.stage import Stage
from tests.servers.script import Answer, reply, text

_THEME = "ui.theme"


class GoingByPalette:
    row = "Find a setting by its name"
    answers: tuple[Answer, ...] = ()

    async def begin(self, stage: Stage) -> None:
        pass

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.click("paletteButton")
        rows = await self._opened(stage)
        await hand.write(",theme")
        await hand.click_row(rows, "Theme")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("Ctrl+K")
        rows = await self._opened(stage)
        await hand.write(",theme")
        await stage.until(lambda: str(rows.currentIndex().data()).startswith("Theme"), "it is found")
        await hand.press("Return")

    async def end(self, stage: Stage) -> None:
        await stage.user.see(QDialog, "settingsDialog")
        await Keyboard(stage.user).press("Escape")
        await stage.until(lambda: stage.user.find(QDialog, "settingsDialog") is None, "the settings have closed")

    async def _opened(self, stage: Stage) -> QListView:
        await stage.user.see(QWidget, "commandPalette")
        return await stage.user.see(QListView, "paletteList")


class EditingANamedFile:
    row = "Open a file that an answer names, find a word in it, replace it and save"
    answers: tuple[Answer, ...] = (reply(text("The parcel is labelled in `shop/orders.py`.")),)

    async def begin(self, stage: Stage) -> None:
        orders.reset_shop(stage.folder)
        await stage.ask("Where is the label?")
        await stage.see_turn_end()
        await self._answer(stage)

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        entry = await self._answer(stage)
        index, link = entry.column.links()[0]
        place = entry.column.rects(index, link.start, link.start + link.length)[0]
        await hand.click_in(entry, entry.column_origin + place.center().toPoint())
        text = await self._opened(stage)
        await hand.click_words("Find")
        await hand.write("parcel")
        await stage.until(lambda: text.textCursor().selectedText() == "parcel", "the word is found")
        await hand.click_in(text.viewport(), text.cursorRect().center() - QPoint(8, 0), is_double=True)
        await hand.write("box")
        await hand.click("viewerSaveButton")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("Shift+Tab", times=4)
        await hand.press("Return")
        text = await self._opened(stage)
        await hand.press("Ctrl+F")
        await hand.write("parcel")
        await stage.until(lambda: text.textCursor().selectedText() == "parcel", "the word is found")
        await hand.press("Escape")
        await hand.write("box")
        await hand.press("Ctrl+S")

    async def _answer(self, stage: Stage) -> MarkdownWidget:
        def whole() -> MarkdownWidget | None:
            shown = stage.user.window.main_window.findChildren(MarkdownWidget)
            return next((entry for entry in shown if entry.column.links() and entry.findChild(QPushButton)), None)

        return await stage.user.until(whole, "a path is a link, and the answer can be copied")

    async def _opened(self, stage: Stage) -> FileEditor:
        text = await stage.user.see(FileEditor, "viewerText")
        await stage.until(lambda: text.is_ready, "the file is read")
        return text

    async def end(self, stage: Stage) -> None:
        written = stage.folder / "shop" / "orders.py"
        await stage.until(lambda: "What stands on the box." in written.read_text(), "it is saved")
        await stage.until(lambda: stage.user.find(QWidget, "viewerSaveButton") is None, "nothing is left to save")
        await Keyboard(stage.user).press("Ctrl+W")
        await stage.until(lambda: stage.user.find(QWidget, "viewerText") is None, "the file is closed")


class UsingTheTerminal:
    row = "Run a command in the terminal, and attach what it printed"
    answers: tuple[Answer, ...] = ()

    async def begin(self, stage: Stage) -> None:
        pass

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.click_words("Menu")
        await hand.choose("Show")
        await hand.choose("Terminal")
        await self._ready(stage)
        await hand.write("echo $((6*7))\n")
        await self._printed(stage)
        await hand.click("terminalAttachButton")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("Ctrl+`")
        await self._ready(stage)
        await hand.write("echo $((6*7))\n")
        await self._printed(stage)
        await hand.press("Ctrl+Alt+A")

    async def end(self, stage: Stage) -> None:
        composer = stage.user.composer
        await stage.until(lambda: "@pasted" in composer.text(), "it is attached")
        hand = Keyboard(stage.user)
        for keys in ("Ctrl+L", "Ctrl+A", "Delete", "Ctrl+`"):
            await hand.press(keys)

    async def _ready(self, stage: Stage) -> None:
        await stage.user.see(QWidget, "terminalPanel")

    async def _printed(self, stage: Stage) -> None:
        panel = await stage.user.see(TerminalPanel, "terminalPanel")
        await stage.until(lambda: "42" in panel.view.recent_text(50), "it is printed")
