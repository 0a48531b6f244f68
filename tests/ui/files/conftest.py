import asyncio
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.files import FileTree
from desktop_agent.ui.files.file_rows import FileRows
from desktop_agent.ui.runtime.eventloop import TaskSpawner, run
from desktop_agent.ui.theme import Theme
from tests.harness import PATIENCE_S
from tests.parts import part


class User:
    """In front of `window`, on the loop that reads for it."""

    window: QWidget

    def __init__(self, app: QApplication) -> None:
        self._app = app
        self._errors: list[BaseException] = []
        self.spawner = TaskSpawner(self._errors.append)

    def drive(self, scenario: Callable[[], Coroutine[object, object, None]]) -> None:
        """Run `scenario` with the window visible, and raise errors of background tasks."""

        async def main() -> int:
            self.spawner.start()
            self.window.show()
            self.window.activateWindow()
            async with asyncio.timeout(PATIENCE_S):
                await scenario()
            self.window.hide()
            await self.spawner.aclose()
            return 0

        run(self._app, main)
        if self._errors:
            raise self._errors[0]

    async def quiet(self) -> None:
        await self.until(lambda: not len(self.spawner))

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():  # noqa: ASYNC110 - the file system and Qt tell in their own time
            await asyncio.sleep(0.002)


class Desk(User):
    """A file tree and its user."""

    def __init__(self, app: QApplication, qtbot: QtBot) -> None:
        super().__init__(app)
        self.tree = self.window = FileTree(Theme(app), self.spawner.spawn)
        qtbot.addWidget(self.tree)
        self.tree.resize(243, 620)
        self.opened: list[str] = []
        self.changes_asked_for: list[str] = []
        self.repositories: list[object] = []
        self.tree.file_actions.file_activated.connect(self.opened.append)
        self.tree.file_actions.show_changes_requested.connect(self.changes_asked_for.append)
        self.tree.repository_changed.connect(self.repositories.append)
        self.rows = part(self.tree, FileRows, "fileTree")
        self.field = part(self.tree, QLineEdit, "fileFilter")

    @property
    def model(self) -> QAbstractItemModel:
        return self.rows.model()

    def shown(self) -> list[str]:
        return [str(self.model.index(row, 0).data()) for row in range(self.model.rowCount())]

    def heard(self, name: str) -> str:
        return str(self.model.index(self.shown().index(name), 0).data(Qt.ItemDataRole.AccessibleTextRole))

    def visible_texts(self) -> list[str]:
        return [label.text() for label in self.tree.findChildren(QLabel) if label.isVisible() and label.text()]

    def select(self, name: str) -> None:
        self.rows.select_row(self.shown().index(name))

    async def open_workspace(self, folder: Path | None) -> None:
        self.tree.set_workspace(folder)
        await self.quiet()


Scenario = Callable[..., Coroutine[object, object, None]]


def driven(test: Scenario) -> Callable[..., None]:
    @wraps(test)
    def run(**fixtures: Any) -> None:
        next(user for user in fixtures.values() if isinstance(user, User)).drive(partial(test, **fixtures))

    return run


@pytest.fixture
def desk(qapp: QApplication, qtbot: QtBot) -> Desk:
    return Desk(qapp, qtbot)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "pagination"
    for name in ("src/pagination/pages.py", "src/pagination/cursor.py", "tests/test_pages.py", "README.md"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("x\n", encoding="utf-8")
    return path
