"""Files open in the viewer, or with the applications of the desktop, and none is started by that."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton

from desktop_agent.core.protocol.events import TextDelta, TurnStarted
from desktop_agent.core.protocol.model import ChangeSelection, ModelRef
from desktop_agent.core.protocol.ops import RedoSteps, UndoChanges
from desktop_agent.ui.chat.entries.linked import LinkedEntry
from desktop_agent.ui.files.view import FileRows
from desktop_agent.ui.files.viewer.viewer_window import ViewerWindow
from desktop_agent.ui.review.panel.file_editor import FileEditor
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")


@pytest.mark.parametrize("is_executable", [False, True], ids=["shown", "would be run"])
def test_a_file_that_would_be_run_is_not_opened_but_its_folder(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch, is_executable: bool
) -> None:
    opened: list[str] = []

    def open_url(url: QUrl) -> None:
        opened.append(url.toLocalFile())

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    file = project / "notes.txt"
    file.chmod(0o755 if is_executable else 0o644)

    async def journey(user: Driver) -> None:
        user.window.panels.files.application_requested.emit(str(file))

    go([str(project)], journey)
    assert opened == [str(project if is_executable else file)]


@pytest.mark.parametrize("place", ["search", "review"])
def test_what_a_search_found_or_the_review_lists_is_shown_in_the_viewer(go: Go, project: Path, place: str) -> None:
    (project / "notes.txt").write_text("one\ntwo\nthree\n")

    async def journey(user: Driver) -> None:
        if place == "search":
            user.window.panels.transcript.entry_actions.file_requested.emit("notes.txt", 3)
        else:
            user.window.panels.review.file_open_requested.emit("notes.txt")
        text = await user.see(FileEditor, "viewerText")
        assert text.toPlainText() == "one\ntwo\nthree\n"
        assert text.textCursor().blockNumber() == (2 if place == "search" else 0)
        user.window.panels.transcript.entry_actions.file_requested.emit("//host/share/notes.txt", 0)
        said = await user.until(lambda: user.find(QLabel, "viewerMessage"), "the viewer says why not")
        await user.until_true(lambda: "does not lie in" in said.text(), "it says why not")

    go([str(project)], journey)


def test_a_path_in_an_answer_leads_to_its_line_and_one_that_is_no_file_is_only_text(go: Go, project: Path) -> None:
    (project / "src").mkdir()
    (project / "src/pages.py").write_text("one\ntwo\n")

    async def journey(user: Driver) -> None:
        bridge, layout = user.window.panels.wiring.bridge, user.window.panels.transcript.row_layout
        assert bridge is not None
        bridge.deliver(TurnStarted(turn=1, model=bridge.transcript.session.model or ModelRef(provider="p", model="m")))
        bridge.deliver(TextDelta(turn=1, text="See `src/pages.py:2`, and gone.py."))
        links: list[tuple[LinkedEntry, str]] = []

        def has_link() -> bool:
            shown = [row.widget for row in layout.rows if isinstance(row.widget, LinkedEntry)]
            links[:] = [(widget, span.href) for widget in shown for _, span in widget.column.links()]
            return bool(links)

        await user.until_true(has_link, "the path is a link")
        [(widget, href)] = links
        widget.follow(href)
        text = await user.see(FileEditor, "viewerText")
        await user.until_true(lambda: text.textCursor().blockNumber() == 1, "the viewer is at the line")

    go([str(project)], journey)


def test_what_is_saved_in_the_viewer_is_a_change_of_the_user_that_can_be_undone(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        user.window.panels.files.file_activated.emit(str(project / "notes.txt"))
        text = await user.see(FileEditor, "viewerText")
        await user.until_true(lambda: text.is_ready, "the text is there")
        QTest.keyClicks(text, "not ")
        user.window.request_quit()
        await user.click("viewerGoOnButton")
        assert user.window.main_window.isVisible(), "it was asked before quitting"
        await user.click("viewerSaveButton")
        await user.until_true(lambda: not text.document().isModified(), "it is saved")
        assert (project / "notes.txt").read_text() == "not mine\n"
        [record] = user.transcript.changes.values()
        assert (record.change.author, record.change.path) == ("person", "notes.txt")
        bridge = user.window.panels.wiring.bridge
        assert bridge is not None
        bridge.submit(UndoChanges(selection=ChangeSelection(change_ids=(record.change.id,))))
        await user.until_true(lambda: (project / "notes.txt").read_text() == "mine\n", "it is undone")

        def is_read_again() -> bool:
            shown = user.find(FileEditor, "viewerText")
            return shown is not None and shown.toPlainText() == "mine\n"

        await user.until_true(is_read_again, "the viewer shows it")

    go([str(project)], journey)


def test_a_folder_is_renamed_from_the_tree_and_back_and_what_is_open_of_it_follows(go: Go, project: Path) -> None:
    (project / "src/deep").mkdir(parents=True)
    (project / "src/app.py").write_text("x = 1\n")
    (project / "src/deep/b.py").write_text("b\n")

    async def journey(user: Driver) -> None:
        files = user.window.panels.files
        for name in ("deep/b.py", "app.py"):
            files.file_activated.emit(str(project / "src" / name))
        text = await user.see(FileEditor, "viewerText")
        await user.until_true(lambda: text.is_ready, "the text is there")
        QTest.keyClicks(text, "# mine")
        viewer = user.window.main_window.findChild(ViewerWindow)
        assert viewer is not None

        def paths() -> list[str]:
            return [page.path for page in viewer.tabs.pages]

        rows = await user.see(FileRows, "fileTree")
        await user.until_true(lambda: rows.model().rowCount() == 2, "the folder is read")
        rows.select_row(0)
        QTest.keyClick(rows, Qt.Key.Key_F2)
        field, button = await user.see(QLineEdit, "renameFileField"), user.find(QPushButton, "renameFileButton")
        assert field.selectedText() == "src"
        field.setText("src/lib")
        assert button is None or not button.isEnabled(), "it cannot be in itself"
        field.setText("lib.d")
        await user.click("renameFileButton")
        await user.until_true(lambda: paths() == ["lib.d/deep/b.py", "lib.d/app.py"], "the tabs follow")
        assert not (project / "src").exists()
        assert text.toPlainText() == "# minex = 1\n", "what is not saved is still there"
        files.file_activated.emit(str(project / "lib.d/app.py"))
        assert len(paths()) == 2
        QTest.keyClick(text, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
        await user.until_true(lambda: (project / "lib.d/app.py").read_text() == "# minex = 1\n", "it is saved there")
        await user.click("filesUndoButton")
        await user.until_true(lambda: paths() == ["src/deep/b.py", "src/app.py"], "the tabs follow it back")
        assert (project / "src/app.py").read_text() == "# minex = 1\n"
        assert not (project / "lib.d").exists()
        bridge = user.window.panels.wiring.bridge
        assert bridge is not None
        bridge.submit(RedoSteps())
        await user.until_true(lambda: paths() == ["lib.d/deep/b.py", "lib.d/app.py"], "and there again")

    go([str(project)], journey)


def test_a_folder_whose_renaming_could_not_be_undone_is_left_alone_and_that_is_said(go: Go, project: Path) -> None:
    (project / "src/.git").mkdir(parents=True)

    async def journey(user: Driver) -> None:
        user.window.panels.files.rename_requested.emit("src", "lib")
        said = await user.see(QLabel, "filesDone")
        assert said.text().startswith("src has a git repository in it: src/.git. Nothing was renamed.")
        assert user.find(QPushButton, "filesUndoButton") is None
        assert (project / "src").is_dir()

    go([str(project)], journey)


def test_a_file_is_renamed_and_deleted_from_the_tree_and_each_is_taken_back_at_once(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        rows = await user.see(FileRows, "fileTree")
        names = ("notes.txt", "src/notes.md")
        await user.until_true(lambda: rows.model().rowCount() == 1, "the folder is read")
        rows.select_row(0)
        QTest.keyClick(rows, Qt.Key.Key_F2)
        field = await user.see(QLineEdit, "renameFileField")
        assert field.selectedText() == "notes"
        field.setText(names[1])
        await user.click("renameFileButton")
        await user.until_true((project / names[1]).exists, "it is renamed")
        await user.until_true(lambda: not (project / names[0]).exists(), "it has no other name")
        await user.click("filesUndoButton")
        await user.until_true((project / names[0]).exists, "it has its name again")
        await user.until_true(lambda: not (project / "src").exists(), "its folder is gone")
        await user.until_true(lambda: rows.model().index(0, 0).data() == names[0], "the tree shows it")
        rows.select_row(0)
        QTest.keyClick(rows, Qt.Key.Key_Delete)
        await user.until_true(lambda: not (project / names[0]).exists(), "it is deleted")
        await user.click("filesUndoButton")
        await user.until_true((project / names[0]).exists, "it is back")
        assert (project / names[0]).read_text() == "mine\n"
        await user.until_true(lambda: len(user.transcript.changes) == 6, "all of it is on record")
        assert {record.change.author for record in user.transcript.changes.values()} == {"person", "undo"}
        files, review = user.window.panels.files, user.window.panels.review
        [turn] = files.actions_.history(names[0])
        assert turn.is_mine
        files.turn_requested.emit(turn)
        await user.until_true(lambda: review.isVisible() and review.content is not None, "the review is in sight")

    go([str(project)], journey)
