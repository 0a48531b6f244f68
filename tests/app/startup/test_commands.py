"""Slash commands in the real window: from the field to the transcript and their effects."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from desktop_agent.core.protocol.events import CommandRun
from desktop_agent.ui.chat.composer.offer_popups import CommandPopup
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    commands = folder / ".desktop-agent" / "commands"
    commands.mkdir(parents=True)
    (commands / "hello.md").write_text("Say hello to $1.")
    return folder


def said(user: Driver) -> list[CommandRun]:
    return [entry for entry in user.transcript.entries if isinstance(entry, CommandRun)]


async def send(user: Driver, text: str) -> None:
    composer = user.composer
    composer.setFocus()
    composer.set_text(text)
    await user.press(Qt.Key.Key_Return)


def test_commands_are_answered_in_the_transcript_and_the_projects_are_offered_too(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        await send(user, "/pin add keep it short")
        await user.until_true(lambda: len(said(user)) == 1, "the pin is said")
        assert said(user)[0].output.startswith("Pinned")
        session = user.transcript.session.session_id
        assert session
        await send(user, "/clear")
        await user.until_true(lambda: user.transcript.session.session_id != session, "another conversation is shown")
        assert user.transcript.entries == []
        assert user.transcript.session.workspace == str(project)

        user.composer.setFocus()
        user.composer.set_text("/hel")

        def shown() -> list[str]:
            popup = user.find(CommandPopup, "commandPopup")
            model = popup.model() if popup is not None and popup.isVisible() else None
            role = Qt.ItemDataRole.AccessibleTextRole
            return [model.index(row, 0).data(role) for row in range(model.rowCount())] if model is not None else []

        await user.until_true(lambda: len(shown()) == 2, "both commands are offered")
        assert shown()[1].endswith("Say hello to $1., project")
        user.composer.set_text("")

    go([str(project), "--provider", "demo"], journey)
