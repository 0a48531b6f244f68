from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.core.system.files import digest_of
from desktop_agent.ui.files.viewer.file_page import FilePage
from desktop_agent.ui.files.viewer.file_pane import FilePane
from desktop_agent.ui.files.viewer.text_page import TextPage
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.layouts import hbox
from tests.core.diff.changes import make_diff
from tests.ui.files.conftest import User

CTRL = Qt.KeyboardModifier.ControlModifier


class Disk:
    def __init__(self) -> None:
        self.refusal = ""
        self.writes: list[tuple[str, str | None]] = []

    async def save(self, root: Path, path: str, expected: str | None, content: bytes) -> str:
        file = root / path
        assert (digest_of(file.read_bytes()) if file.exists() else None) == expected
        if not self.refusal:
            self.writes.append((path, expected))
            file.write_bytes(content)
        return self.refusal

    async def compare(self, path: str, before: bytes | None, after: bytes) -> FileDiff:
        return make_diff(before, after, path=path)


class Reader(User):
    """A user in front of the viewer."""

    def __init__(self, app: QApplication, theme: Theme, owner: QWidget) -> None:
        super().__init__(app)
        self.disk = Disk()
        self.review, self.composer = QLineEdit(), QLineEdit()
        self.viewer = FilePane(theme, self.disk, self.spawner.spawn, self.review)
        hbox(self.composer, self.viewer, on=owner)
        self.window = owner
        self.viewer.left.connect(self.composer.setFocus)

    @property
    def page(self) -> FilePage:
        page = self.viewer.tabs.current
        assert page is not None
        return page

    @property
    def text(self) -> TextPage:
        assert self.page.text is not None
        return self.page.text

    @property
    def tabs(self) -> list[str]:
        bar = self.viewer.tabs.bar
        return [bar.tabText(index) for index in range(1, bar.count()) if bar.isTabVisible(index)]

    def says(self, name: str) -> str:
        labels = self.viewer.findChildren(QLabel, name)
        return next((label.text() for label in labels if label.isVisible()), "")

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = CTRL) -> None:
        QTest.keyClick(self.window.focusWidget() or self.window, key, modifiers)

    def click(self, name: str) -> None:
        [button] = [one for one in self.viewer.findChildren(QPushButton, name) if one.isVisible()]
        button.click()

    async def open(self, root: Path, path: str, line: int = 0) -> FilePage:
        self.viewer.open_file(root, path, line)
        await self.until(lambda: self.page.content is not None and not len(self.spawner))
        await self.until(lambda: self.page.text is None or self.page.text.editor.is_ready)
        return self.page


@pytest.fixture
def reader(qapp: QApplication, qtbot: QtBot, theme: Theme) -> Reader:
    owner = QWidget()
    qtbot.addWidget(owner)
    return Reader(qapp, theme, owner)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "pagination"
    for name in ("src/pages.py", "tests/pages.py", "README.md"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("".join(f"line {number} of {name}\n" for number in range(1, 301)), encoding="utf-8")
    return path
