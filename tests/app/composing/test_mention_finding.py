"""Mentions in the real application: what an `@` offers, and what the message attaches."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.ui.chat.composer.offer_popups import MentionPopup
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")


async def shown_for(user: Driver, text: str) -> list[str]:
    await user.focus_composer()
    user.composer.edit.insertPlainText(text)
    popup = await user.see(MentionPopup, "mentionPopup")
    return [offer.label for offer in popup.offers]


def test_files_are_offered_without_ignored_ones_and_come_with_the_message(go: Go, project: Path) -> None:
    (project / ".gitignore").write_text("build/\n")
    (project / "build").mkdir()
    (project / "build" / "notes.o").write_text("")
    (project / "more").mkdir()
    (project / "more" / "notes two.txt").write_text("two\n")

    async def journey(user: Driver) -> None:
        assert await shown_for(user, "@not") == ["notes.txt", "more/notes two.txt"]
        await user.press(Qt.Key.Key_Down)
        await user.press(Qt.Key.Key_Return)
        composer, window = user.composer, user.window.main_window
        assert composer.text() == '@"more/notes two.txt" '
        assert composer.edit.marks.spans == ((0, 21),)
        await user.click("sendButton")
        await user.until_true(lambda: bool(user.transcript.turns.turn), "the turn begins")
        (prompt,) = (entry for entry in user.transcript.entries if isinstance(entry, PromptSubmitted))
        (attachment,) = prompt.attachments
        assert (attachment.uri, attachment.text) == ("more/notes two.txt", "two\n")
        await user.see_turn_end()

        (project / "notes three.txt").write_text("")
        composer.set_text("")
        composer.edit.files_given.emit([str(project / "more" / "notes two.txt"), str(project / "more")])
        await user.until_true(lambda: composer.text() == '@"more/notes two.txt" @more/ ', "both are mentioned")
        composer.set_text("")
        await user.click("attachButton")
        dialog = await user.until(lambda: next(iter(window.findChildren(QFileDialog)), None), "files can be chosen")
        assert Path(dialog.directory().absolutePath()) == project
        dialog.filesSelected.emit([str(project / "notes.txt")])
        dialog.close()
        await user.until_true(lambda: composer.text() == "@notes.txt ", "it is mentioned")
        composer.edit.files_given.emit([str(project.parent)])
        await user.until_true(lambda: any("outside of the folder" in line for line in user.banner), "it says why not")
        composer.set_text("")
        for width in (6_000, 300, 200):
            picture = QImage(width, 30, QImage.Format.Format_RGB32)
            picture.fill(0)
            composer.edit.picture_given.emit(picture)
        await user.until_true(lambda: composer.text().count("@pasted:picture-") == 3, "the pictures are mentioned")
        folder = AppPaths.from_environment().data / "pasted"
        kept = [QImage(str(folder / word.removeprefix("@pasted:"))) for word in composer.text().split()]
        assert [(one.width(), one.height()) for one in kept] == [(2_000, 10), (300, 30), (200, 30)], "in their order"
        composer.set_text("")
        assert await shown_for(user, "@session:") == [user.transcript.session.title]

    go([str(project), "--provider", "demo"], journey)
