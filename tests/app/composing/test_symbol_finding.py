"""Symbols that the window offers at an `@`, and what a message takes along of one: the real application and ripgrep."""

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.ui.chat.composer.mention_popup import MentionPopup
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")

STORE = (
    "import json\n\n\nclass Store:\n    def load_notes(self):\n        return 1\n\n    def other(self):\n        pass\n"
)


@pytest.fixture
def code(project: Path) -> Path:
    (project / "src").mkdir()
    (project / "src" / "store.py").write_text(STORE)
    (project / ".gitignore").write_text("build/\n")
    (project / "build").mkdir()
    (project / "build" / "made.py").write_text("def load_notes_made(): ...\n")
    return project


async def type_there(user: Driver, text: str) -> None:
    edit = user.window.panels.composer.edit
    user.window.main_window.activateWindow()
    edit.setFocus()
    await user.until_true(edit.hasFocus, "the field has the focus")
    edit.insertPlainText(text)


def shown(user: Driver) -> list[tuple[str, str]]:
    popup = user.find(MentionPopup, "mentionPopup")
    return [(offer.label, offer.kind) for offer in popup.offers] if popup is not None and popup.isVisible() else []


def test_a_symbol_is_offered_behind_the_files_and_its_definition_comes_with_the_message(go: Go, code: Path) -> None:
    async def journey(user: Driver) -> None:
        composer = user.window.panels.composer
        await type_there(user, "Explain @note")
        both = [("notes.txt", "file"), ("load_notes", "function")]
        await user.until_true(lambda: shown(user) == both, "the file and the symbol are offered")
        await user.press(Qt.Key.Key_Down)
        await user.press(Qt.Key.Key_Return)
        assert composer.text() == "Explain @symbol:src/store.py:load_notes "
        await user.click("sendButton")
        await user.until_true(lambda: bool(user.transcript.turns.turn), "the turn begins")
        (prompt,) = (entry for entry in user.transcript.entries if isinstance(entry, PromptSubmitted))
        (attachment,) = prompt.attachments
        assert (attachment.uri, attachment.lines) == ("src/store.py", "5-6")
        assert attachment.text == "    def load_notes(self):\n        return 1"
        await user.see_turn_end()

    go([str(code), "--provider", "demo"], journey)


def test_letters_narrow_what_was_found_and_the_source_alone_looks_for_symbols_only(go: Go, code: Path) -> None:
    async def journey(user: Driver) -> None:
        composer = user.window.panels.composer
        await type_there(user, "@symbol:o")
        found = {("other", "function"), ("Store", "class"), ("load_notes", "function")}
        await user.until_true(lambda: set(shown(user)) == found, "all with this letter are offered")
        composer.edit.insertPlainText("ther")
        await user.until_true(lambda: shown(user) == [("other", "function")], "one is left")
        composer.edit.insertPlainText("wise")
        await user.until_true(lambda: not shown(user), "nothing fits")
        composer.set_text("")
        await type_there(user, "@symbol:St")
        await user.until_true(lambda: shown(user) == [("Store", "class")], "it is offered")
        await user.press(Qt.Key.Key_Return)
        assert composer.text() == "@symbol:src/store.py:Store "

    go([str(code), "--provider", "demo"], journey)


def test_the_next_key_and_the_end_of_a_mention_end_a_search(go: Go, code: Path) -> None:
    for number in range(400):
        (code / f"more{number}.py").write_text("def load_all(): ...\n" * 200)

    async def journey(user: Driver) -> None:
        composer = user.window.panels.composer

        def searches() -> int:
            return sum("run_ripgrep" in repr(task.get_coro()) for task in asyncio.all_tasks())

        await type_there(user, "@load_")
        await user.until_true(lambda: searches() == 1, "it is searched")
        composer.edit.insertPlainText("a")
        await user.until_true(lambda: searches() == 0, "that search ends")
        await user.until_true(lambda: searches() == 1, "what is typed now is searched")
        composer.set_text("")
        await user.until_true(lambda: searches() == 0, "nothing is searched any more")
        assert shown(user) == []
        await type_there(user, "@load_all")
        await user.until_true(lambda: ("load_all", "function") in shown(user), "what is typed then is answered")

    go([str(code), "--provider", "demo"], journey)
