"""Files open with the applications of the desktop, and none is started by that."""

from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

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
        user.window.panels.files.file_activated.emit(str(file))

    go([str(project)], journey)
    assert opened == [str(project if is_executable else file)]


@pytest.mark.parametrize(
    ("path", "is_opened"), [("notes.txt", True), ("gone.txt", False), ("//host/share/notes.txt", False)]
)
@pytest.mark.parametrize("place", ["search", "review"])
def test_what_a_search_found_or_the_review_lists_opens_like_a_file_of_the_tree(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch, path: str, place: str, *, is_opened: bool
) -> None:
    opened: list[str] = []

    def open_url(url: QUrl) -> None:
        opened.append(url.toLocalFile())

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    (project / "notes.txt").chmod(0o644)
    banners: list[bool] = []

    async def journey(user: Driver) -> None:
        if place == "search":
            user.window.panels.transcript.entry_actions.file_requested.emit(path, 3)
        else:
            user.window.panels.review.file_open_requested.emit(path)
        banners.append(user.window.panels.conversation.banner.isVisible())

    go([str(project)], journey)
    assert opened == ([str(project / path)] if is_opened else [])
    assert banners == [not is_opened]
