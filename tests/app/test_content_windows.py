"""Contents that are too large for the conversation open in their own windows."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtCore import QBuffer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QPlainTextEdit

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.events import JobsReported
from desktop_agent.core.protocol.model import Attachment, Job, ToolCall
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.terminal.output_window import OutputWindow
from desktop_agent.ui.widgets.picture_canvas import PictureWindow
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")


def test_outputs_pictures_and_the_log_of_a_background_command_open_in_their_own_windows(go: Go, project: Path) -> None:
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(0)
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # pyright: ignore[reportArgumentType,reportCallIssue] - the stub wants bytes, Qt a name
    folder = AppPaths.from_environment()
    ref = Blobs(folder.blobs).put_ref(bytes(buffer.data().data()), "image/png")
    entry = ToolEntry(
        turn=1,
        call=ToolCall(id="c1", name="run_terminal_cmd", arguments={}),
        title="make",
        is_read_only=False,
        started_at=datetime(2026, 11, 21, tzinfo=UTC),
        output_tail="\x1b[31mred\x1b[0m\n",
        output_chars=13,
    )

    log = project / "job.log"
    log.write_text("ready on :5173\n")
    job = Job(id="job-1", command="npm run dev", cwd=project, pid=1, log=log, started_at=datetime.now(UTC))

    async def journey(user: Driver) -> None:
        window, transcript = user.window.main_window, user.window.panels.transcript
        transcript.entry_actions.output_requested.emit(entry)
        await user.until_true(lambda: bool(window.findChildren(OutputWindow)), "the output is shown")
        [output] = window.findChildren(OutputWindow)
        assert output.findChildren(QPlainTextEdit)[0].toPlainText() == "red\n"
        output.close()
        transcript.entry_actions.picture_requested.emit(ref, entry)
        await user.until_true(lambda: bool(window.findChildren(PictureWindow)), "the picture is shown")
        window.findChildren(PictureWindow)[0].close()
        await user.until_true(lambda: not window.findChildren(PictureWindow), "the picture is gone")
        transcript.entry_actions.attachment_requested.emit(
            Attachment(mention="", uri="", name="dot.png", images=(ref,))
        )
        await user.until_true(lambda: bool(window.findChildren(PictureWindow)), "the mentioned picture is shown")
        window.findChildren(PictureWindow)[0].close()
        await user.until_true(lambda: not window.findChildren(OutputWindow), "the output is gone")
        sent = Attachment(mention="@a.py:2", uri="a.py", name="a.py", kind="file", lines="2", text="what was sent")
        transcript.entry_actions.attachment_requested.emit(sent)
        await user.until_true(lambda: bool(window.findChildren(OutputWindow)), "the mentioned text is shown")
        [shown] = window.findChildren(OutputWindow)
        assert "a.py:2" in shown.windowTitle()
        assert shown.findChildren(QPlainTextEdit)[0].toPlainText() == "what was sent"
        shown.close()
        await user.until_true(lambda: not window.findChildren(OutputWindow), "the text is gone")
        handle = user.window.panels.session.handle
        assert handle is not None
        handle.deliver(JobsReported(jobs=(job,)))
        await user.click("jobsButton")
        await user.click("jobOutputButton")
        output = await user.see(OutputWindow, "outputWindow")
        assert output.findChildren(QPlainTextEdit)[0].toPlainText() == "ready on :5173\n"
        output.close()
        log.unlink()
        await user.click("jobOutputButton")
        await user.until_true(lambda: bool(user.banner), "the banner says what is wrong")
        assert user.banner[0].startswith("The output cannot be read:")

    go([str(project)], journey)
