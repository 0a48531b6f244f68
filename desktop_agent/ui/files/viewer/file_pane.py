"""The pane at the right: the review and the open files in tabs, and the actions on the current file below the tabs."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QMouseEvent, QShowEvent
from PySide6.QtWidgets import QPushButton, QStackedWidget, QTabBar, QToolButton, QWidget

from desktop_agent.core.base.plain_text import named
from desktop_agent.ui.files.tree_reader import PathWatch
from desktop_agent.ui.files.viewer.file_page import FilePage, FileStore
from desktop_agent.ui.part_keys import PartKeys, claims_key
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import Slot, compact_button
from desktop_agent.ui.widgets.focus import has_focus_within
from desktop_agent.ui.widgets.labels import ElidedLabel
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, set_names, vbox
from desktop_agent.ui.wording import plain_tooltip

MAX_TABS = 20
"""The most tabs. Opening another closes the least recently viewed one that has no unsaved changes."""
_MAX_CLOSED = 20
_MAX_NAME_WIDTH = 240
"""The largest width of the name on a tab, so that several fit side by side."""


class ClosedTab(NamedTuple):
    root: Path
    path: str
    line: int


class FileTabs(QWidget):
    """Shows the review or one of the open files. The bar has tabs for the files of one folder at a time."""

    current_changed = Signal()
    opened_changed = Signal()
    review_alone = Signal(bool)  # whether it has no tab, as no file is open

    def __init__(
        self, theme: Theme, store: FileStore, spawn: Spawn, keys: PartKeys, review: QWidget, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._store = store
        self._spawn = spawn
        self._root: Path | None = None
        self.review = review
        self.closed: list[ClosedTab] = []
        self._looked_at = [review]
        self.bar = QTabBar(self)  # before the head, in the order of Tab
        set_names(self.bar, "viewerTabs", self.tr("Review and open files"))
        self.bar.setMovable(True)
        self.bar.setExpanding(False)
        self.bar.setDrawBase(False)
        self.bar.setUsesScrollButtons(True)
        self.bar.setElideMode(Qt.TextElideMode.ElideNone)
        self.bar.installEventFilter(self)
        for button in self.bar.findChildren(QToolButton):  # those that scroll
            button.setProperty("variant", "tab")
        self._line = hairline()
        self._stack = QStackedWidget(self)
        self.head = ViewerHead(self, keys)
        vbox(self.bar, self._line, self.head, (self._stack, 1), on=self)
        self.bar.addTab(self.tr("Review"))
        room = QWidget()  # where other tabs have their button
        room.setFixedSize(Space.S, Space.S)
        self.bar.setTabButton(0, QTabBar.ButtonPosition.RightSide, room)
        self._stack.addWidget(review)
        self.bar.currentChanged.connect(self._on_current_changed)
        self.bar.tabMoved.connect(self._on_moved)
        self._name_tabs()

    @property
    def pages(self) -> list[FilePage]:
        widgets = (self._stack.widget(index) for index in range(self._stack.count()))
        return [widget for widget in widgets if isinstance(widget, FilePage)]

    @property
    def shown_pages(self) -> list[FilePage]:
        return [page for page in self.pages if page.root == self._root]

    @property
    def current(self) -> FilePage | None:
        """The file in front; `None` if that is the review."""
        widget = self._stack.currentWidget()
        return widget if isinstance(widget, FilePage) else None

    def open(self, root: Path, path: str) -> FilePage:
        self.show_root(root)
        page = next((page for page in self.pages if (page.root, page.path) == (root, path)), None)
        if page is None:
            page = FilePage(self._theme, root, path, self._store, self._spawn)
            page.setProperty("role", "surface")
            page.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
            page.changed.connect(self.head.refresh)
            page.changed.connect(self._name_tabs)
            page.close_requested.connect(self.close_page)
            index = self.bar.currentIndex() + 1
            with QSignalBlocker(self.bar):
                self._stack.insertWidget(index, page)
                self.bar.insertTab(index, page.name)
                self.bar.setTabButton(index, QTabBar.ButtonPosition.RightSide, self._close_button(page))
            self._looked_at.append(page)
            clean = [each for each in self._looked_at[:-1] if isinstance(each, FilePage) and not each.is_dirty]
            if len(self.pages) > MAX_TABS and clean:
                self.drop(clean[0])
            self._name_tabs()
            self.opened_changed.emit()
        self.show_page(page)
        return page

    def show_root(self, root: Path) -> None:
        """Show the tabs of a folder. If it was shown before, its tabs come back with their edits."""
        if root != self._root:
            self._root = root
            self._name_tabs()
            self._show_last()

    def follow(self, root: Path, new_paths: Mapping[str, str]) -> None:
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

    def show_page(self, page: FilePage | None) -> None:
        index = self._stack.indexOf(page or self.review)
        if index == self.bar.currentIndex():
            self._on_current_changed(index)
        self.bar.setCurrentIndex(index)

    def step(self, by: int) -> None:
        shown = [self.review, *self.shown_pages]
        tabs = sorted(self._stack.indexOf(widget) for widget in shown)
        self.bar.setCurrentIndex(tabs[(tabs.index(self.bar.currentIndex()) + by) % len(tabs)])

    def close_page(self, page: FilePage) -> None:
        if page.is_dirty:
            self.show_page(page)
            page.bar.ask("closing")
        else:
            self.drop(page)

    def drop(self, page: FilePage) -> None:
        line = page.text.line if page.text is not None else 0
        self.closed = [*self.closed, ClosedTab(page.root, page.path, line)][-_MAX_CLOSED:]
        self._looked_at.remove(page)
        self._show_last()  # before the page goes, which takes the focus with it
        with QSignalBlocker(self.bar):
            self.bar.removeTab(self._stack.indexOf(page))
            self._stack.removeWidget(page)
        page.deleteLater()
        self._name_tabs()
        self.opened_changed.emit()

    def take_closed(self) -> ClosedTab | None:
        """Return the last closed tab of the folder, which is then no longer among the closed ones."""
        tab = next((tab for tab in reversed(self.closed) if tab.root == self._root), None)
        if tab is not None:
            self.closed.remove(tab)
        return tab

    def _show_last(self) -> None:
        shown = [self.review, *self.shown_pages]
        last = next(widget for widget in reversed(self._looked_at) if widget in shown)
        with QSignalBlocker(self.bar):
            self.bar.setCurrentIndex(self._stack.indexOf(last))
        had_focus = has_focus_within(self._stack)
        self._stack.setCurrentWidget(last)
        if had_focus and not has_focus_within(last):  # when the page before was hidden, it went to the message
            last.setFocus()
        self.current_changed.emit()

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
        for page in self.pages:
            if self.bar.tabButton(self._stack.indexOf(page), QTabBar.ButtonPosition.RightSide) is button:
                self.close_page(page)
                return

    def _name_tabs(self) -> None:
        shown = self.shown_pages
        names = [page.name for page in shown]
        for page in self.pages:
            index = self._stack.indexOf(page)
            with QSignalBlocker(self.bar):
                self.bar.setTabVisible(index, page in shown)
            folder = named(page.path.rpartition("/")[0] or page.root.name)
            name = f"{page.name} — {folder}" if names.count(page.name) > 1 else page.name
            short = self.bar.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, _MAX_NAME_WIDTH)
            text = f"● {short}" if page.is_dirty else short
            self.bar.setTabText(index, text.replace("&", "&&"))
            self.bar.setTabToolTip(index, plain_tooltip(str(page.file)))
            self.bar.setAccessibleTabName(index, self.tr("{0}, not saved").format(name) if page.is_dirty else name)
        self.bar.setVisible(bool(shown))
        self._line.setVisible(bool(shown))
        self.review_alone.emit(not shown)

    def _on_current_changed(self, index: int) -> None:
        if (widget := self._stack.widget(index)) is not None:
            self._looked_at.remove(widget)
            self._looked_at.append(widget)
            self._show_last()

    def _on_moved(self, source: int, target: int) -> None:
        widget = self._stack.widget(source)
        assert widget is not None
        self._stack.removeWidget(widget)
        self._stack.insertWidget(target, widget)
        self._stack.setCurrentIndex(self.bar.currentIndex())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_release = event.type() == QEvent.Type.MouseButtonRelease
        if watched is self.bar and is_release and isinstance(event, QMouseEvent):
            page = self._stack.widget(self.bar.tabAt(event.position().toPoint()))
            if event.button() == Qt.MouseButton.MiddleButton and isinstance(page, FilePage):
                self.close_page(page)
                return True
            if event.button() == Qt.MouseButton.LeftButton and page is not None:
                page.setFocus()
        return super().eventFilter(watched, event)


class ViewerHead(QWidget):
    """The path of the current file, and buttons for it. Call `refresh` after the file changes."""

    application_requested = Signal(object)  # an absolute path

    def __init__(self, tabs: FileTabs, keys: PartKeys) -> None:
        super().__init__(tabs)
        self.setProperty("role", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._keys = keys
        self._tabs = tabs
        self._path = ElidedLabel(Qt.TextElideMode.ElideMiddle, role="secondary", object_name="viewerPath")
        self._save = compact_button(self.tr("Save"), "viewerSaveButton", clicked=self.save, variant="primary")
        self._find = self._button(self.tr("Find"), self.open_find)
        self._line = self._button(self.tr("Go to line"), self.open_line)
        outside = self._button(self.tr("Open with its application"), self._on_outside)
        margins = (Space.M, Space.XS, Space.S, Space.XS)
        parts = (self._path, STRETCH, self._save, self._find, self._line, outside)
        hbox(*parts, on=self, margins=margins, spacing=Space.XS)
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

    def open_find(self) -> None:
        if (page := self._tabs.current) is not None and page.text is not None:
            page.text.open_find()

    def open_line(self) -> None:
        if (page := self._tabs.current) is not None and page.text is not None:
            page.text.open_line()

    def _on_outside(self) -> None:
        if (page := self._tabs.current) is not None:
            self.application_requested.emit(str(page.file))


SETTLE_MS = 150
"""How long a file must not have changed before it is read, because it may be written in several steps or replaced."""


class FilePane(QWidget):
    """Shows files in place of the `review`, which has the first tab."""

    wanted = Signal()  # a file was opened, or has a question: the pane must be seen
    review_chosen = Signal()
    left = Signal()  # the user goes on elsewhere
    emptied = Signal()  # no file has a tab any more

    def __init__(self, theme: Theme, store: FileStore, spawn: Spawn, review: QWidget) -> None:
        super().__init__(review.parentWidget())  # moving the review between windows would take a frame
        self.setObjectName("viewerWindow")
        self._keys = PartKeys("viewer", self)
        self.tabs = FileTabs(theme, store, spawn, self._keys, review, self)
        self.head = self.tabs.head
        self._watch = PathWatch(self, settle_ms=SETTLE_MS)
        self._watch.changed.connect(self.refresh)
        vbox((self.tabs, 1), on=self)
        self.tabs.current_changed.connect(self._on_current_changed)
        self.tabs.bar.currentChanged.connect(self._on_tab_chosen)
        self.tabs.opened_changed.connect(self._on_opened_changed)
        self._tab_actions = {
            "reopen_tab": self._reopen,
            "next_tab": partial(self.tabs.step, 1),
            "previous_tab": partial(self.tabs.step, -1),
        }
        self._file_actions = {
            "save": self.head.save,
            "find": self.head.open_find,
            "go_to_line": self.head.open_line,
            "close_tab": self._close_tab,
        }
        self.show_review()

    def show_review(self) -> None:
        self.tabs.show_page(None)

    def open_file(self, root: Path, path: str, line: int = 0) -> None:
        """Lines count from 1. With 0, the user's position stays."""
        page = self.tabs.open(root, path)
        page.go_to(line)
        page.read()
        self.wanted.emit()
        page.setFocus()

    def show_root(self, root: Path) -> None:
        had_files = bool(self.tabs.shown_pages)
        self.tabs.show_root(root)
        if had_files:
            self._on_opened_changed()

    def follow(self, root: Path, new_paths: Mapping[str, str]) -> None:
        if any(page.root == root and page.path in new_paths for page in self.tabs.pages):
            self.tabs.follow(root, new_paths)
            self.head.refresh()
            self.refresh()

    @property
    def has_unsaved(self) -> bool:
        return any(page.is_dirty for page in self.tabs.pages)

    def ask_for_unsaved(self) -> None:
        if page := next((page for page in self.tabs.pages if page.is_dirty), None):
            self.show_root(page.root)
            self.tabs.close_page(page)
            self.wanted.emit()
            page.setFocus()

    def refresh(self) -> None:
        for page in self.tabs.pages:
            page.read()

    def _close_tab(self) -> None:
        if (page := self.tabs.current) is not None:
            self.tabs.close_page(page)

    def _reopen(self) -> None:
        if (tab := self.tabs.take_closed()) is not None:
            self.open_file(*tab)

    def _on_current_changed(self) -> None:
        self.head.refresh()
        self.setFocusProxy(self.tabs.current or self.tabs.review)

    def _on_tab_chosen(self) -> None:
        if self.tabs.current is None:
            self.review_chosen.emit()

    def _on_opened_changed(self) -> None:
        pages = self.tabs.pages
        self._watch.watch(str(path) for page in pages for path in (page.file, page.file.parent))
        if not self.tabs.shown_pages:
            self.emptied.emit()

    def _slot_of(self, action: str) -> Callable[[], object] | None:
        slot = self._tab_actions.get(action)
        return slot or (self._file_actions.get(action) if self.tabs.current is not None else None)

    def _takes(self, key: QKeyEvent) -> bool:
        """Whether a key is for this pane. Its keys come before those of the window, such as Ctrl+F."""
        if key.key() == Qt.Key.Key_Escape:
            return self.tabs.current is not None
        action = self._keys.peek(key)
        return action is not None and (not action or self._slot_of(action) is not None)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.WindowActivate and self.isVisible():
            self.refresh()  # not all file systems report changes
        return claims_key(event, self._takes) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.tabs.current is not None:
            self.left.emit()
        action = self._keys.read(event)
        slot = self._slot_of(action) if action else None
        if slot is not None:
            slot()
        elif action is None:
            super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._watch.resume()
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._watch.pause()
