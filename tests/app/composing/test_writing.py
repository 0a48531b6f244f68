"""Pictures, files and earlier messages go into the message field of the real application."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.model_catalog import MODELS_NAME, FetchedList, ListCache
from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.ui.files.file_rows import FileRows
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp")


def takes_no_pictures(provider: str, model: str, address: str) -> None:
    """Record in the cached list of models of this address that the model takes no pictures."""
    listed = FetchedList(fetched_at=datetime.now(UTC), models=(ListedModel(name=model, takes_images=False),))
    ListCache(AppPaths.from_environment().cache / MODELS_NAME).write(
        replace(usual_account(provider), address=address), listed
    )


def test_a_pasted_picture_is_refused_in_words_for_a_model_that_takes_none(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-000000000000")

    async def journey(user: Driver) -> None:
        composer = user.composer
        picture = QImage(30, 20, QImage.Format.Format_RGB32)
        picture.fill(QColor("#0E7C70"))
        QGuiApplication.clipboard().setImage(picture)
        await user.focus_composer()
        composer.edit.insertPlainText("Look: ")
        composer.edit.paste()
        await user.until_true(lambda: "@pasted:picture-" in composer.text(), "the picture is mentioned")
        written = composer.text().strip()
        await user.click("sendButton")
        await user.until_true(lambda: bool(user.notices), "it says why not")
        assert "It is a picture, and this session's model does not accept pictures." in user.notices[-1].title
        assert "Choose another model." in user.notices[-1].hint
        await user.until_true(lambda: composer.text() == written, "the message is back in the field")
        assert user.transcript.turns.turn == 0

    with serve() as model:
        takes_no_pictures("openai", "gpt-6-astra", model.url)
        go([str(project), "--provider", "openai", "--model", "gpt-6-astra", "--base-url", model.url], journey)
        assert model.messages == []


async def drop(user: Driver, path: str) -> None:
    edit = user.composer.edit
    rows = await user.see(FileRows, "fileTree")

    def row() -> int:
        model = rows.model()
        names = [str(model.index(at, 0).data()) for at in range(model.rowCount())]
        return names.index(path) if path in names else -1

    await user.until_true(lambda: row() >= 0, f"{path} is listed")
    rows.select_row(row())
    data = rows.dragged()
    assert data is not None
    _drop(edit.viewport(), edit.cursorRect().center(), data)


def _drop(where: QWidget, at: QPoint, data: QMimeData) -> None:
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(at, copy, data, left, none)
    QApplication.sendEvent(where, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(where, QDropEvent(QPointF(at), copy, data, left, none))


def test_files_that_are_dragged_from_the_list_one_after_another_are_mentioned_in_this_order(
    go: Go, project: Path
) -> None:
    names = ["notes.txt", "more notes.md", "a.py", "b.py", "c.py"]
    for name in names:
        (project / name).write_text("x\n")

    async def journey(user: Driver) -> None:
        composer = user.composer
        await user.focus_composer()
        composer.edit.insertPlainText("Compare ")
        await drop(user, "notes.txt")
        await user.until_true(lambda: composer.text() == "Compare @notes.txt ", "the first is mentioned")
        assert composer.edit.marks.spans == ((8, 18),)
        for name in names[1:]:
            await drop(user, name)
        wanted = 'Compare @notes.txt @"more notes.md" @a.py @b.py @c.py '
        await user.until_true(lambda: composer.text() == wanted, "all are mentioned")
        await user.click("sendButton")
        await user.until_true(lambda: bool(user.transcript.turns.turn), "the turn begins")
        (prompt,) = (entry for entry in user.transcript.entries if isinstance(entry, PromptSubmitted))
        assert [each.uri for each in prompt.attachments] == names
        await user.see_turn_end()

    go([str(project), "--provider", "demo"], journey)


def test_a_conversation_that_is_opened_again_brings_its_messages_back_and_a_new_one_none(go: Go, project: Path) -> None:
    async def first(user: Driver) -> None:
        await user.type("composer", "Asked before")
        await user.click("sendButton")
        await user.until_true(lambda: user.transcript.turns.turn == 1, "the turn begins")
        await user.see_turn_end()

    async def second(user: Driver) -> None:
        composer = user.composer
        await user.focus_composer()
        draft = composer.text()
        await user.press(Qt.Key.Key_Up)
        assert composer.text() == "Asked before"
        await user.press(Qt.Key.Key_Down)
        assert composer.text() == draft
        await user.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
        await user.until_true(lambda: not user.transcript.session.session_id, "a new conversation is shown")
        offered = composer.text()
        await user.press(Qt.Key.Key_Up)
        assert composer.text() == offered

    go([str(project), "--provider", "demo"], first)
    go([str(project), "--continue"], second)
