"""The viewer's window: files in tabs, read again when they change on disk."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QCloseEvent, QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.plain_text import named
from desktop_agent.ui.files.tree_reader import PathWatch
from desktop_agent.ui.files.viewer.file_page import FileStore
from desktop_agent.ui.files.viewer.file_tabs import FileTabs
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.layouts import resize_within_screen, vbox

SETTLE_MS = 150
"""A file is often written in several steps, or replaced: read once it has been quiet for this long."""


_SIZE, _MINIMUM = QSize(920, 720), QSize(420, 320)


class ViewerWindow(QWidget):
    """Shows files of workspaces, in a window beside the conversation. Closing it only hides it."""

    def __init__(self, theme: Theme, store: FileStore, spawn: Spawn, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setObjectName("viewerWindow")
        self.setProperty("role", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        keys = PartKeys("viewer", self)
        self.tabs = FileTabs(theme, store, spawn, keys)
        self.head = self.tabs.head
        self._watch = PathWatch(self, settle_ms=SETTLE_MS)
        self._watch.changed.connect(self.refresh)
        vbox((self.tabs, 1), on=self)
        self.tabs.current_changed.connect(self._on_current_changed)
        self.tabs.opened_changed.connect(self._on_opened_changed)
        for action, slot in (
            ("close_tab", self._on_close_tab),
            ("reopen_tab", self._on_reopen),
            ("next_tab", partial(self._go_on, 1)),
            ("previous_tab", partial(self._go_on, -1)),
        ):
            keys.bind(action, slot, self)
        resize_within_screen(self, _SIZE, _MINIMUM)

    def open_file(self, root: Path, path: str, line: int = 0) -> None:
        """Show the file at `path` below `root`, at `line` (from 1); 0 keeps the user's place in it."""
        page = self.tabs.open(root, path)
        page.go_to(line)
        page.read()
        self.show()
        self.raise_()
        self.activateWindow()
        page.setFocus()

    def follow(self, root: Path, new_paths: Mapping[str, str]) -> None:
        if any(page.root == root and page.path in new_paths for page in self.tabs.pages):
            self.tabs.follow(root, new_paths)
            self._on_current_changed()
            self.refresh()

    @property
    def has_unsaved(self) -> bool:
        return any(page.is_dirty for page in self.tabs.pages)

    def ask_for_unsaved(self) -> None:
        if page := next((page for page in self.tabs.pages if page.is_dirty), None):
            self.show()
            self.raise_()
            self.activateWindow()
            self.tabs.close_page(page)

    def refresh(self) -> None:
        for page in self.tabs.pages:
            page.read()

    def _on_close_tab(self) -> None:
        if (page := self.tabs.current) is not None:
            self.tabs.close_page(page)
        if not self.tabs.pages:
            self.close()

    def _on_reopen(self) -> None:
        if (closed := self.tabs.take_closed()) is not None:
            self.open_file(closed.root, closed.path, closed.line)

    def _go_on(self, by: int) -> None:
        if pages := self.tabs.pages:
            self.tabs.show_page(pages[(self.tabs.bar.currentIndex() + by) % len(pages)])

    def _on_current_changed(self) -> None:
        self.head.refresh()
        if (page := self.tabs.current) is not None:
            self.setWindowTitle(self.tr("{0} — {1}").format(page.name, named(page.root.name)))
            page.setFocus()

    def _on_opened_changed(self) -> None:
        pages = self.tabs.pages
        self._watch.watch(str(path) for page in pages for path in (page.file, page.file.parent))
        if not pages:
            self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.has_unsaved:
            event.ignore()
            self.ask_for_unsaved()
        else:
            super().closeEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._watch.resume()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._watch.pause()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.refresh()  # not all file systems tell of changes
