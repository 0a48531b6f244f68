"""Mentioned symbols in the real application, with ripgrep."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from desktop_agent.app.mention_finding import SymbolFinding
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.mentions import symbol_search
from desktop_agent.core.mentions.mention_grammar import TypedMention
from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.composer.offer_popups import MentionPopup
from desktop_agent.ui.runtime.eventloop import TaskSpawner, run
from desktop_agent.ui.theme import Theme
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
    await user.focus_composer()
    user.composer.edit.insertPlainText(text)


def shown(user: Driver) -> list[tuple[str, str]]:
    popup = user.find(MentionPopup, "mentionPopup")
    return [(offer.label, offer.kind) for offer in popup.offers] if popup is not None and popup.isVisible() else []


def test_a_symbol_is_offered_behind_the_files_or_alone_and_its_definition_comes_with_the_message(
    go: Go, code: Path
) -> None:
    async def journey(user: Driver) -> None:
        composer = user.composer
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

        composer.set_text("")
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


async def next_search(seen: set[asyncio.Task[object]]) -> asyncio.Task[object]:
    """Return the task of a search that is not in `seen`, in the turn of the loop in which the search begins."""
    async with asyncio.timeout(30):
        while True:
            for task in asyncio.all_tasks() - seen:
                if "run_ripgrep" in repr(task.get_coro()):
                    seen.add(task)
                    return task
            await asyncio.sleep(0)


def test_the_next_key_and_the_end_of_a_mention_end_a_search(go: Go, code: Path) -> None:
    for number in range(400):
        (code / f"more{number}.py").write_text("def load_all(): ...\n" * 200)

    async def journey(user: Driver) -> None:
        composer = user.composer
        seen: set[asyncio.Task[object]] = set()
        await type_there(user, "@load_")
        first = await next_search(seen)
        composer.edit.insertPlainText("a")
        second = await next_search(seen)
        composer.set_text("")
        await user.until_true(first.cancelled, "the next key has ended the first")
        await user.until_true(second.cancelled, "the end of the mention has ended the second")
        assert shown(user) == []
        await type_there(user, "@load_all")
        await user.until_true(lambda: ("load_all", "function") in shown(user), "what is typed then is answered")

    go([str(code), "--provider", "demo"], journey)


class StoppableClock(SystemClock):
    """A clock that wakes no waiter once it is stopped."""

    is_stopped = False

    async def sleep(self, seconds: float) -> None:
        if self.is_stopped:
            await asyncio.Event().wait()
        await super().sleep(seconds)


def test_the_next_letter_narrows_at_once_what_was_found_so_far(
    qapp: QApplication, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbol_search, "MOST_COLLECTED", 3)  # so it is not all
    window = QWidget()
    layout = QVBoxLayout(window)
    composer = Composer(Theme(qapp))
    layout.addWidget(composer)
    window.resize(700, 600)
    mentions = composer.mentions

    def answer(typed: TypedMention) -> None:
        mentions.show(typed, ())  # no file fits

    mentions.wanted.connect(answer)

    def labels() -> list[str]:
        popup = next((each for each in window.findChildren(MentionPopup) if each.isVisible()), None)
        return [offer.label for offer in popup.offers] if popup is not None else []

    async def until(look: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not look():  # noqa: ASYNC110 - what is shown has no event
                await asyncio.sleep(0.005)

    async def journey() -> int:
        errors: list[BaseException] = []
        spawner, clock = TaskSpawner(errors.append), StoppableClock()
        spawner.start()
        SymbolFinding(mentions, lambda: code, os.environ, clock, spawner.spawn)
        window.show()
        window.activateWindow()
        composer.setFocus()
        await until(composer.edit.hasFocus)
        composer.edit.insertPlainText("@symbol:o")
        await until(lambda: labels() == ["other", "Store", "load_notes"])
        clock.is_stopped = True
        composer.edit.insertPlainText("t")
        await until(lambda: labels() == ["other", "load_notes"])
        composer.set_text("")
        window.close()
        await spawner.aclose()
        assert errors == []
        return 0

    assert run(qapp, journey) == 0
