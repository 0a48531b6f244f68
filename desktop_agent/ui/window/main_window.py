"""The main window: its layout when wide or narrow, the panels at its edges, and what the next start restores of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeVar, cast

import msgspec
from PySide6.QtCore import QByteArray, QEvent, QObject, QRect, QSettings, QSize, Qt, Signal
from PySide6.QtGui import QAction, QCloseEvent, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QApplication, QDockWidget, QFrame, QMainWindow, QSplitter, QVBoxLayout, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.learned import learned
from desktop_agent.ui.runtime.pacing import in_next_turn
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.focus import has_focus_within
from desktop_agent.ui.widgets.layouts import screen_room, vbox
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.top_bar import TopBar

Side = Literal["left", "right"]

_MARGIN = 56
"""How much of the conversation stays visible beside a drawer, so that users see that the drawer can be closed."""


class Drawer(QFrame):
    closed = Signal()  # the owner may take the panel back

    def __init__(self, over: QWidget, side: Side, width: int) -> None:
        super().__init__(over)
        self.setObjectName(f"{side}Drawer")
        self.setProperty("role", "drawer")
        self.setAutoFillBackground(True)
        self._over = over
        self._side: Side = side
        self._wanted_width = width
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self.hide()

    def open_with(self, panel: QWidget) -> None:
        self._layout.addWidget(panel)
        panel.show()
        self._over.installEventFilter(self)
        self._place()
        self.show()
        self.raise_()
        panel.setFocus(Qt.FocusReason.PopupFocusReason)

    def close_drawer(self) -> None:
        if not self.isHidden():
            self._over.removeEventFilter(self)
            self.hide()
            self.closed.emit()

    def _place(self) -> None:
        area = self._over.rect()
        width = min(self._wanted_width, max(area.width() - _MARGIN, 0))
        left = 0 if self._side == "left" else area.width() - width
        self.setGeometry(left, 0, width, area.height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        elif event.type() == QEvent.Type.MouseButtonPress:
            self.close_drawer()
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_drawer()
        else:
            super().keyPressEvent(event)


_AREAS = {"left": Qt.DockWidgetArea.LeftDockWidgetArea, "right": Qt.DockWidgetArea.RightDockWidgetArea}


class EdgePanel(QObject):
    """A dock, or a drawer if the window is narrow. Remembers whether the panel was open while the window was wide."""

    drawer_opening = Signal()  # it is about to cover a part of the conversation

    def __init__(
        self, window: QMainWindow, over: QWidget, side: Side, name: str, title: str, drawer_width: int
    ) -> None:
        super().__init__(window)
        self._panel = QWidget()
        self._is_narrow = False
        self._was_open = False
        self.is_enlarged = False
        """Whether the panel has the whole window, where it is in its dock however narrow the window is."""
        self.dock = QDockWidget(title, window)
        self.dock.setObjectName(name)
        self._place = QWidget(self.dock)
        """The dock's content, which holds the panel, or its place while the panel is in the drawer or not shown yet."""
        self._layout = vbox(self._panel, on=self._place)
        self.dock.setWidget(self._place)
        # The panels have headings of their own; a second title above each would only be noise.
        self.dock.setTitleBarWidget(QWidget(self.dock))
        window.addDockWidget(_AREAS[side], self.dock)
        self.drawer = Drawer(over, side, drawer_width)
        self.drawer.closed.connect(self._take_back)

    def set_panel(self, panel: QWidget) -> None:
        if not panel.isAncestorOf(self._panel):
            self._panel.deleteLater()
        self._panel = panel
        self._take_back()

    @property
    def is_open(self) -> bool:
        return self.drawer.isVisible() if self._is_narrow and not self.is_enlarged else self.dock.isVisible()

    def show(self) -> None:
        if self._is_narrow and not self.is_enlarged:
            self.drawer_opening.emit()
            self.drawer.open_with(self._panel)
        else:
            self._panel.show()
            self.dock.show()
            self.dock.raise_()

    def toggle(self) -> None:
        if not self.is_open:
            self.show()
        elif self._is_narrow:
            self.drawer.close_drawer()
        else:
            self.dock.hide()

    def set_narrow(self, *, is_narrow: bool) -> None:
        if is_narrow and not self._is_narrow:
            self._was_open = not self.dock.isHidden()
        elif self._is_narrow and not is_narrow and self._was_open:
            if self.dock.window().isVisible() and not self.drawer.isVisible():  # else it stays visible
                self._panel.hide()
            self.dock.show()
        self._is_narrow = is_narrow
        self.drawer.close_drawer()
        if is_narrow:
            self.dock.hide()

    def fill(self) -> bool:
        is_empty = self._panel.isHidden()
        self._panel.show()
        return is_empty

    def _take_back(self) -> None:
        self._layout.addWidget(self._panel)


class ShortcutPriority(QObject):
    """Gives the window's shortcuts priority over the focused field: GNOME and KDE use Ctrl+K to delete in every field.

    A widget with the property `keepsKeys` decides itself.
    """

    def __init__(self, actions: Iterable[QAction], window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._actions = tuple(actions)
        cast("QApplication", QApplication.instance()).focusChanged.connect(self._on_focus_changed)

    def _on_focus_changed(self, old: QWidget | None, now: QWidget | None) -> None:
        if old is not None and isValid(old):
            old.removeEventFilter(self)
        if now is not None and now.window() is self._window and not now.property("keepsKeys"):
            now.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
            return False
        is_ours = any(QKeySequence(event.keyCombination()) in action.shortcuts() for action in self._actions)
        if is_ours:
            event.ignore()
        return is_ours


class SettledColumn(QVBoxLayout):
    """A column laid out after the edge panels: a long conversation is not wrapped for every width in between."""

    def __init__(self, column: QWidget) -> None:
        super().__init__(column)
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(0)
        self._column = column
        self._window_size = QSize()
        self._room: QRect | None = None

    def unsettle(self) -> None:
        self._window_size = QSize()

    def settle(self, window_size: QSize) -> None:
        self._window_size = window_size
        if self._room is not None:
            room, self._room = self._room, None
            super().setGeometry(room)

    def setGeometry(self, arg__1: QRect) -> None:
        window = self._column.window()
        if window.isVisible() and window.size() != self._window_size:
            self._room = QRect(arg__1)
        else:
            self._room = None
            super().setGeometry(arg__1)


LAYOUT_NAME = "window.ini"

T = TypeVar("T")

KeptModel = tuple[str, str, str]
"""Provider, account and model."""

KeptChoice = tuple[Literal["action", "setting", "command", "session", "file"], str]

StartNews = Literal["version", "release_looked_for"]
"""The version that was last started, and the day on which a newer one was last looked for, as `2026-11-30`."""

LayoutPart = Literal["geometry", "state", "side_sizes"]
"""The window's place, the docks in the wide window, and how sessions and files share the panel at the left."""


class WindowMemory:
    """The window's state that the next start reads. Damaged values count as missing."""

    def __init__(self, store: QSettings) -> None:
        self._store = store

    def layout(self, part: LayoutPart) -> QByteArray | None:
        value = self._store.value(part)
        return value if isinstance(value, QByteArray) else None

    def remember_layout(self, parts: Mapping[LayoutPart, QByteArray]) -> None:
        for part, value in parts.items():
            self._store.setValue(part, value)
        self._store.sync()

    @property
    def diff_mode(self) -> Literal["side_by_side", "unified"] | None:
        """The diff mode that the user chose. `None` lets the width decide."""
        match self._store.value("diff_mode"):
            case "unified" | "side_by_side" as mode:
                return mode
            case _:
                return None

    def remember_diff_mode(self, mode: str) -> None:
        self._store.setValue("diff_mode", mode)

    @property
    def wraps_lines(self) -> bool:
        return self._store.value("wrap_lines") == "yes"

    def remember_wrapping(self, is_wrapped: bool) -> None:
        self._store.setValue("wrap_lines", "yes" if is_wrapped else "no")

    def remember_look(self, theme: str, interface_px: int) -> None:
        self._store.setValue("theme", theme)
        self._store.setValue("interface_px", interface_px)

    def news(self, what: StartNews) -> str:
        return str(self._store.value(what, ""))

    def remember_news(self, what: StartNews, text: str) -> None:
        self._store.setValue(what, text)

    def models(self, name: Literal["favourite_models", "recent_models"]) -> Sequence[KeptModel]:
        return self.kept(name, list[KeptModel], [])

    def remember_models(self, name: Literal["favourite_models", "recent_models"], models: Sequence[KeptModel]) -> None:
        self.keep(name, models)

    @property
    def choices(self) -> Sequence[KeptChoice]:
        return self.kept("recent_choices", list[KeptChoice], [])

    def remember_choices(self, choices: Sequence[KeptChoice]) -> None:
        self.keep("recent_choices", choices)

    def kept(self, key: str, kind: type[T], default: T) -> T:
        try:
            return msgspec.json.decode(str(self._store.value(key, "")), type=learned(kind))
        except msgspec.MsgspecError:
            return default

    def keep(self, key: str, value: object) -> None:
        self._store.setValue(key, msgspec.json.encode(value).decode())


NARROW_BELOW = 1180
"""Below this width the side panels are drawers, because the transcript beside them would be too narrow to read."""

_LEAST_FIRST_SIZE = QSize(1440, 900)
_MOST_FIRST_SIZE = QSize(1920, 1200)
_FIRST_SHARE = 0.85
_MINIMUM_SIZE = QSize(720, 480)
_SIDE_WIDTH = 236
_REVIEW_WIDTH = 540
_LAYOUT_VERSION = 1


class MainWindow(QMainWindow):
    """The window. `set_panels` fills the empty frame after its first paint."""

    close_requested = Signal()  # the window stays until `let_close` is called
    review_enlarged = Signal(bool)
    review_wanted = Signal()  # a file in front of the review goes behind it

    def __init__(self, theme: Theme, layout_store: QSettings) -> None:
        super().__init__()
        self.setObjectName("mainWindow")
        self.setAccessibleName(self.tr("Desktop Agent"))
        self.setWindowTitle(self.tr("Desktop Agent"))
        self._room = screen_room(self)
        self.setMinimumSize(_MINIMUM_SIZE.boundedTo(self._room))
        self.memory = WindowMemory(layout_store)
        self._may_close = False
        self._beside_review: tuple[QByteArray, bool] | None = None
        """The docks before the review got the whole window, and whether the review was in its drawer."""
        self._is_narrow = False
        self._review = QWidget(self)
        self._file_pane: QWidget | None = None
        """Shows the review, or a file in front of it."""
        self._is_open_for_files = False
        self.actions_ = Actions(self)
        self.top_bar = TopBar(theme, self.actions_)
        self.setMenuWidget(self.top_bar)
        self._conversation = QWidget(self)
        self._conversation.setProperty("role", "surface")
        self._column = SettledColumn(self._conversation)
        self.setCentralWidget(self._conversation)
        self._jobs = QWidget(self)
        self._jobs.hide()
        self._composer = QWidget(self)
        self._composer.hide()
        side_title = self.tr("Sessions and files")
        self.side = EdgePanel(self, self._conversation, "left", "sideDock", side_title, _SIDE_WIDTH + 44)
        self.review = EdgePanel(self, self._conversation, "right", "reviewDock", self.tr("Review"), _REVIEW_WIDTH + 80)
        self._shortcut_priority = ShortcutPriority([self.actions_.command_palette], self)
        actions = self.actions_
        for action in (
            *(actions.new_session, actions.focus_composer, actions.choose_model, actions.quote, actions.find),
            *(actions.filter_files, actions.toggle_terminal, actions.attach_terminal),
        ):
            action.triggered.connect(self.show_beside_review)
        actions.enlarge_review.triggered.connect(self.toggle_enlarged_review)
        actions.toggle_side.triggered.connect(self._toggle_side)
        actions.toggle_review.triggered.connect(self._toggle_review)
        actions.toggle_jobs.triggered.connect(self._toggle_jobs)
        self.side.drawer_opening.connect(self.review.drawer.close_drawer)
        self.review.drawer_opening.connect(self.side.drawer.close_drawer)
        self.review.dock.visibilityChanged.connect(self._update_review_button)
        self._restore_layout()
        self.setFocus()  # else Qt gives it to the first button, whose ring would go when the message field comes

    def set_panels(
        self,
        sessions: QWidget,
        files: QWidget,
        conversation: QWidget,
        composer: QWidget,
        review: QWidget,
        jobs: QWidget,
    ) -> None:
        self._column.addWidget(conversation, 1)
        self._column.addWidget(jobs)
        self._column.addWidget(composer)
        self._jobs = jobs
        self._composer = composer
        self.side.set_panel(self._build_side(sessions, files))
        self._review = review
        self.review.set_panel(review)

    def set_file_pane(self, pane: QWidget) -> None:
        self._file_pane = pane
        self.review.set_panel(pane)

    def show_review(self) -> None:
        self._is_open_for_files = False
        self.review_wanted.emit()
        self.review.show()

    def let_close(self) -> None:
        self._may_close = True
        self.close()

    def hide_jobs(self) -> None:
        had_focus = self._jobs.isAncestorOf(self.focusWidget() or self)
        self._jobs.hide()
        if had_focus:
            self._composer.setFocus()

    def save_layout(self) -> None:
        self.show_beside_review()
        parts: dict[LayoutPart, QByteArray] = {"geometry": self.saveGeometry()}
        if isinstance(side := self.findChild(QSplitter, "sideSplitter"), QSplitter):
            parts["side_sizes"] = side.saveState()
        if not self._is_narrow:
            if self._is_open_for_files:
                self.review.dock.hide()
            parts["state"] = self.saveState(_LAYOUT_VERSION)
        self.memory.remember_layout(parts)

    def _build_side(self, sessions: QWidget, files: QWidget) -> QSplitter:
        side = QSplitter(Qt.Orientation.Vertical)
        side.setObjectName("sideSplitter")
        side.setChildrenCollapsible(False)
        side.addWidget(sessions)
        side.addWidget(files)
        side.setStretchFactor(0, 0)
        side.setStretchFactor(1, 1)
        sizes = self.memory.layout("side_sizes")
        if sizes is None or not side.restoreState(sizes):
            side.setSizes([240, 420])
        return side

    def _restore_layout(self) -> None:
        geometry, state = self.memory.layout("geometry"), self.memory.layout("state")
        if geometry is None or not self.restoreGeometry(geometry):
            share = (self._room * _FIRST_SHARE).boundedTo(_MOST_FIRST_SIZE)
            self.resize(share.expandedTo(_LEAST_FIRST_SIZE).boundedTo(self._room))
        if state is None or not self.restoreState(state, _LAYOUT_VERSION):
            docks = [self.side.dock, self.review.dock]
            self.resizeDocks(docks, [_SIDE_WIDTH, _REVIEW_WIDTH], Qt.Orientation.Horizontal)
        self._set_narrow(self.width() < NARROW_BELOW)

    def toggle_enlarged_review(self) -> None:
        """Give the whole window below the top bar to the review, or show everything beside it again."""
        if self._beside_review is not None:
            self.show_beside_review()
        else:
            self.review_wanted.emit()
            self._enlarge()

    def _enlarge(self) -> None:
        focus = self.focusWidget() or self
        self._beside_review = self.saveState(_LAYOUT_VERSION), self.review.drawer.isVisible()
        for panel in (self.side, self.review):
            panel.drawer.close_drawer()
        for widget in (self._conversation, *self.findChildren(QDockWidget)):
            widget.setVisible(widget is self.review.dock)
        self.review.is_enlarged = True
        self.review.show()
        (focus if self.review.dock.isAncestorOf(focus) else self._file_pane or self._review).setFocus()
        self._is_open_for_files = False
        self.review_enlarged.emit(True)

    def show_beside_review(self) -> None:
        """Show everything again that the enlarged review hides. Nothing happens if it hides nothing."""
        if self._beside_review is None:
            return
        state, was_drawer = self._beside_review
        self._beside_review = None
        self.review.is_enlarged = False
        self._conversation.show()
        self.restoreState(state, _LAYOUT_VERSION)
        if was_drawer:
            self.review.show()
        self.review_enlarged.emit(False)

    def _toggle_side(self) -> None:
        if self._beside_review is not None:
            self.show_beside_review()
            self.side.show()
        else:
            self.side.toggle()

    def _toggle_review(self) -> None:
        has_file_in_front = self._file_pane is not None and not self._review.isVisibleTo(self._file_pane)
        if not self.review.is_open or has_file_in_front:
            self.show_review()
        elif self._beside_review is not None:
            self.show_beside_review()
        else:
            self.review.toggle()

    def show_files(self) -> None:
        self._is_open_for_files = self._is_open_for_files or not self.review.is_open
        self.review.show()

    def leave_files(self) -> None:
        had_focus = self._file_pane is not None and has_focus_within(self._file_pane)
        if self._is_open_for_files and self.review.is_open:
            self.review.toggle()
        self._is_open_for_files = False
        if had_focus and self._conversation.isVisible():
            self._composer.setFocus()

    def _toggle_jobs(self) -> None:
        if self._jobs.isVisible():
            self.hide_jobs()
        else:
            self.show_beside_review()
            self._jobs.show()

    def _set_narrow(self, is_narrow: bool) -> None:
        was_enlarged = self._beside_review is not None
        self.show_beside_review()
        self._is_narrow = is_narrow
        self.side.set_narrow(is_narrow=is_narrow)
        self.review.set_narrow(is_narrow=is_narrow)
        self.top_bar.set_narrow(is_narrow=is_narrow)
        self._update_review_button()
        if was_enlarged:
            self._enlarge()

    def _update_review_button(self) -> None:
        # Not `isVisible`: before the window is shown, that would make room for a button that then goes.
        self.top_bar.review_button.setVisible(self._is_narrow or self.review.dock.isHidden())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._beside_review is not None:
            self.show_beside_review()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = event.size().width() < NARROW_BELOW
        if is_narrow != self._is_narrow:
            self._set_narrow(is_narrow)
        if self.isVisible():
            self._column.unsettle()
            in_next_turn(self, self._settle)
        else:
            self._column.settle(self.size())

    def _settle(self) -> None:
        """Lay out conversation and panels in separate turns of the loop, because both take more than a frame."""
        self._column.settle(self.size())
        in_next_turn(self, self._fill_edges)

    def _fill_edges(self) -> None:
        if self.side.fill() or self.review.fill():
            in_next_turn(self, self._fill_edges)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._may_close:
            super().closeEvent(event)
            return
        event.ignore()
        self.close_requested.emit()
