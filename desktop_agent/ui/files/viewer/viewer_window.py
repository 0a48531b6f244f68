"""The viewer's window: files in tabs, read off the window's thread, and again when they change on disk."""

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QCloseEvent, QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from desktop_agent.core.base.plain_text import named
from desktop_agent.ui.files.tree_reader import PathWatch
from desktop_agent.ui.files.viewer.file_page import FilePage
from desktop_agent.ui.files.viewer.file_tabs import FileTabs, ViewerHead
from desktop_agent.ui.files.viewer.page_saving import FileStore, PageSaving
from desktop_agent.ui.files.viewer.viewer_content import read_content
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
        self._theme = theme
        self._spawn = spawn
        self.tabs = FileTabs(self._make_page)
        self._saving = PageSaving(theme, self.tabs, store, spawn)
        self._watch = PathWatch(self, settle_ms=SETTLE_MS)
        self._watch.changed.connect(self.refresh)
        keys = PartKeys("viewer", self)
        self.head = ViewerHead(self.tabs, keys, self._saving.save_current)
        self.tabs.set_head(self.head)
        vbox((self.tabs, 1), on=self)
        self.tabs.current_changed.connect(self._on_current_changed)
        self.tabs.opened_changed.connect(self._on_opened_changed)
        for action, slot in (
            ("save", self._saving.save_current),
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
        self._read(page)
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
            self._saving.ask_before_closing(page)

    def refresh(self) -> None:
        for page in self.tabs.pages:
            self._read(page)

    def _make_page(self, root: Path, path: str) -> FilePage:
        page = FilePage(self._theme, root, path, self._spawn)
        page.changed.connect(self.head.refresh)
        self._saving.attach(page)
        return page

    def _read(self, page: FilePage) -> None:
        page.reading += 1
        self._spawn(self._read_page(page, page.reading))

    async def _read_page(self, page: FilePage, reading: int) -> None:
        content = await asyncio.to_thread(read_content, page.root, page.path)
        if isValid(page) and reading == page.reading:
            self._saving.take(page, content)

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
