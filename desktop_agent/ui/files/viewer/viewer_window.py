"""The viewer's window: the open files in tabs, and the actions on the current file."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QHideEvent, QMouseEvent, QShowEvent
from PySide6.QtWidgets import QPushButton, QStackedWidget, QTabBar, QToolButton, QWidget

from desktop_agent.core.base.plain_text import named
from desktop_agent.ui.files.tree_reader import PathWatch
from desktop_agent.ui.files.viewer.file_page import FilePage, FileStore
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import Slot, compact_button
from desktop_agent.ui.widgets.labels import ElidedLabel
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, resize_within_screen, set_names, vbox
from desktop_agent.ui.wording.visible_text import plain_tooltip

MAX_TABS = 20
"""The most tabs. Opening another closes the least recently viewed one that has no unsaved changes."""
_MAX_CLOSED = 20


class ClosedTab(NamedTuple):
    """A file that was open, and the user's line in it."""

    root: Path
    path: str
    line: int


class FileTabs(QWidget):
    current_changed = Signal()
    opened_changed = Signal()

    def __init__(self, theme: Theme, store: FileStore, spawn: Spawn, keys: PartKeys) -> None:
        super().__init__()
        self._theme = theme
        self._store = store
        self._spawn = spawn
        self.closed: list[ClosedTab] = []
        self._looked_at: list[FilePage] = []
        self.bar = QTabBar(self)  # before the head, in the order of Tab
        set_names(self.bar, "viewerTabs", self.tr("Open files"))
        self.bar.setMovable(True)
        self.bar.setExpanding(False)
        self.bar.setDrawBase(False)
        self.bar.setUsesScrollButtons(True)
        self.bar.setElideMode(Qt.TextElideMode.ElideNone)
        self.bar.installEventFilter(self)
        self._stack = QStackedWidget()
        self.head = ViewerHead(self, keys)
        vbox(self.bar, hairline(), self.head, (self._stack, 1), on=self)
        self.bar.currentChanged.connect(self._on_current_changed)
        self.bar.tabMoved.connect(self._on_moved)

    @property
    def pages(self) -> list[FilePage]:
        widgets = (self._stack.widget(index) for index in range(self._stack.count()))
        return [widget for widget in widgets if isinstance(widget, FilePage)]

    @property
    def current(self) -> FilePage | None:
        pages, index = self.pages, self.bar.currentIndex()
        return pages[index] if 0 <= index < len(pages) else None

    def open(self, root: Path, path: str) -> FilePage:
        page = next((page for page in self.pages if (page.root, page.path) == (root, path)), None)
        if page is None:
            page = FilePage(self._theme, root, path, self._store, self._spawn)
            page.changed.connect(self.head.refresh)
            page.changed.connect(self._name_tabs)
            page.close_requested.connect(self.close_page)
            index = self.bar.currentIndex() + 1
            with QSignalBlocker(self.bar):
                self._stack.insertWidget(index, page)
                self.bar.insertTab(index, page.name)
                self.bar.setTabButton(index, QTabBar.ButtonPosition.RightSide, self._close_button(page))
            self._looked_at.append(page)
            clean = [page for page in self._looked_at[:-1] if not page.is_dirty]
            if len(self._looked_at) > MAX_TABS and clean:
                self.drop(clean[0])
            self._name_tabs()
            self.opened_changed.emit()
        self.show_page(page)
        return page

    def follow(self, root: Path, new_paths: Mapping[str, str]) -> None:
        """Move open files and closed tabs below `root` to their new paths after renames."""
        moved = [page for page in self.pages if page.root == root and page.path in new_paths]
        places = {new_paths[page.path] for page in moved}
        for other in self.pages:  # they may show a deleted file, or that a file is missing
            if other.root == root and other.path in places and other not in moved and not other.is_dirty:
                self.drop(other)
        for page in moved:
            page.follow(new_paths[page.path])
        self.closed = [
            one._replace(path=new_paths.get(one.path, one.path)) if one.root == root else one for one in self.closed
        ]
        self.opened_changed.emit()

    def show_page(self, page: FilePage) -> None:
        index = self.pages.index(page)
        if index == self.bar.currentIndex():
            self._on_current_changed(index)
        self.bar.setCurrentIndex(index)

    def close_page(self, page: FilePage) -> None:
        if page.is_dirty:
            self.show_page(page)
            page.bar.ask("closing")
        else:
            self.drop(page)

    def drop(self, page: FilePage) -> None:
        index = self.pages.index(page)
        line = page.text.line if page.text is not None else 0
        self.closed = [*self.closed, ClosedTab(page.root, page.path, line)][-_MAX_CLOSED:]
        self._looked_at.remove(page)
        last = self._looked_at[-1] if self._looked_at else None
        with QSignalBlocker(self.bar):
            self._stack.removeWidget(page)
            self.bar.removeTab(index)
            if last is not None:
                self.bar.setCurrentIndex(self.pages.index(last))
        page.deleteLater()
        self._name_tabs()
        self.opened_changed.emit()
        self._on_current_changed(self.bar.currentIndex())

    def _close_button(self, page: FilePage) -> QToolButton:
        button = QToolButton(self.bar)
        button.setText("✕")
        button.setProperty("variant", "tab")
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setAccessibleName(self.tr("Close {0}").format(page.name))
        button.setToolTip(self.tr("Close (Ctrl+W)"))
        button.clicked.connect(self._on_close_clicked)
        return button

    def _on_close_clicked(self) -> None:
        button = self.sender()
        for index, page in enumerate(self.pages):
            if self.bar.tabButton(index, QTabBar.ButtonPosition.RightSide) is button:
                self.close_page(page)
                return

    def _name_tabs(self) -> None:
        pages = self.pages
        names = [page.name for page in pages]
        for index, page in enumerate(pages):
            folder = named(page.path.rpartition("/")[0] or page.root.name)
            name = f"{page.name} — {folder}" if names.count(page.name) > 1 else page.name
            text = f"● {name}" if page.is_dirty else name
            self.bar.setTabText(index, text.replace("&", "&&"))
            self.bar.setTabToolTip(index, plain_tooltip(str(page.file)))
            self.bar.setAccessibleTabName(index, self.tr("{0}, not saved").format(name) if page.is_dirty else name)

    def _on_current_changed(self, index: int) -> None:
        pages = self.pages
        if 0 <= index < len(pages):
            page = pages[index]
            self._stack.setCurrentWidget(page)
            self._looked_at.remove(page)
            self._looked_at.append(page)
        self.current_changed.emit()

    def _on_moved(self, source: int, target: int) -> None:
        page = self.pages[source]
        self._stack.removeWidget(page)
        self._stack.insertWidget(target, page)
        self._stack.setCurrentWidget(self.pages[self.bar.currentIndex()])

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_release = event.type() == QEvent.Type.MouseButtonRelease
        if watched is self.bar and is_release and isinstance(event, QMouseEvent):
            index = self.bar.tabAt(event.position().toPoint())
            if event.button() == Qt.MouseButton.MiddleButton and index >= 0:
                self.close_page(self.pages[index])
                return True
        return super().eventFilter(watched, event)


class ViewerHead(QWidget):
    """Controls for the file that `tabs` shows. Call `refresh` after the file changes."""

    application_requested = Signal(object)  # an absolute path

    def __init__(self, tabs: FileTabs, keys: PartKeys) -> None:
        super().__init__(tabs)
        self._keys = keys
        self._tabs = tabs
        self._path = ElidedLabel(Qt.TextElideMode.ElideMiddle, role="secondary", object_name="viewerPath")
        self._save = compact_button(self.tr("Save"), "viewerSaveButton", clicked=self.save, variant="primary")
        self._find = self._button(self.tr("Find"), self._on_find)
        self._line = self._button(self.tr("Go to line"), self._on_line)
        outside = self._button(self.tr("Open with its application"), self._on_outside)
        margins = (Space.M, Space.XS, Space.S, Space.XS)
        parts = (self._path, STRETCH, self._save, self._find, self._line, outside)
        hbox(*parts, on=self, margins=margins, spacing=Space.XS)
        keys.bind("save", self.save, self)
        keys.bind("find", self._find.click, self)
        keys.bind("go_to_line", self._line.click, self)
        keys.changed.connect(self._show_keys)
        self._show_keys()

    def refresh(self) -> None:
        page = self._tabs.current
        self.setVisible(page is not None)
        if page is None:
            return
        self._save.setVisible(page.is_dirty)
        self._path.setText(named(page.path))
        self._path.setToolTip(plain_tooltip(str(page.file)))
        self._find.setEnabled(page.text is not None)
        self._line.setEnabled(page.text is not None)

    def save(self) -> None:
        if (page := self._tabs.current) is not None:
            page.save()

    def _show_keys(self) -> None:
        for button, action in ((self._save, "save"), (self._find, "find"), (self._line, "go_to_line")):
            button.setToolTip(self._keys.shown(action))

    def _button(self, text: str, clicked: Slot) -> QPushButton:
        return compact_button(text, clicked=clicked, variant="flat")

    def _on_find(self) -> None:
        if (page := self._tabs.current) is not None and page.text is not None:
            page.text.open_find()

    def _on_line(self) -> None:
        if (page := self._tabs.current) is not None and page.text is not None:
            page.text.open_line()

    def _on_outside(self) -> None:
        if (page := self._tabs.current) is not None:
            self.application_requested.emit(str(page.file))


SETTLE_MS = 150
"""How long a file must not have changed before it is read, because it may be written in several steps or replaced."""


_SIZE, _MINIMUM = QSize(920, 720), QSize(420, 320)


class ViewerWindow(QWidget):
    """Shows files of workspaces in a separate window. Closing it only hides it."""

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
            ("next_tab", partial(self._step_tab, 1)),
            ("previous_tab", partial(self._step_tab, -1)),
        ):
            keys.bind(action, slot, self)
        resize_within_screen(self, _SIZE, _MINIMUM)

    def open_file(self, root: Path, path: str, line: int = 0) -> None:
        """Show the file at `path` below `root`, at `line` (from 1). With 0, the user's position stays."""
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
        if self.tabs.closed:
            self.open_file(*self.tabs.closed.pop())

    def _step_tab(self, by: int) -> None:
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
            self.refresh()  # not all file systems report changes
