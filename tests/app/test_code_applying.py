"""A block of code in an answer is written to a file after a preview, as a change of the user."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QComboBox, QDialog, QPushButton

from desktop_agent.core.protocol.events import CommandRun
from desktop_agent.ui.review.diff.diff_view import DiffView
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")

CODE = "def one():\n    return 1\n"


def test_code_is_shown_as_a_diff_and_written_as_the_users_change_unless_the_file_changed(go: Go, project: Path) -> None:
    (project / "src").mkdir()
    file = project / "src" / "app.py"
    file.write_text("def one():\n    return 0\n\n\nx = 1\n")

    async def journey(user: Driver) -> None:
        panels = user.window.panels

        def has_session() -> bool:
            handle = panels.session.handle
            return handle is not None and any(isinstance(entry, CommandRun) for entry in handle.transcript.entries)

        async def shown(named: tuple[str, ...]) -> QPushButton:
            panels.transcript.entry_actions.apply_requested.emit(CODE, named)
            dialog = await user.see(QDialog, "applyDialog")
            button = dialog.findChild(QPushButton, "applyButton")
            assert button is not None
            await user.until_true(button.isEnabled, "the difference is shown")
            return button

        panels.composer.command_submitted.emit("/help")
        await user.until_true(has_session, "a session is there")
        write = await shown(("app.py",))
        assert (await user.see(QComboBox, "applyFileField")).currentText() == "src/app.py"
        assert (await user.see(QComboBox, "applyPlacePicker")).currentText() == "The lines it matches"
        view = await user.see(DiffView, "applyDiffView")
        assert len(view.document.rows.changes) == 1
        write.click()
        await user.until_true(lambda: "return 1" in file.read_text(), "the file is written")
        assert file.read_text() == f"{CODE}\n\nx = 1\n"
        handle = panels.session.handle
        assert handle is not None
        await user.until_true(lambda: bool(handle.transcript.changes), "the change is recorded")
        assert [each.change.author for each in handle.transcript.changes.values()] == ["person"]

        write = await shown(("new/made.py",))
        write.click()
        await user.until_true((project / "new" / "made.py").is_file, "a new file is made")

        file.write_text("def one():\n    return 5\n")
        write = await shown(("app.py",))
        file.write_text("mine\n")
        write.click()

        def is_told() -> bool:
            return any("changed in the meantime" in str(entry) for entry in handle.transcript.entries)

        await user.until_true(is_told, "the user is told")
        assert file.read_text() == "mine\n"

    go([str(project)], journey)
