"""The main window: where the panels stand, in a wide window and in a narrow one. Nothing in here knows a session."""

from msgspec import Struct
from PySide6.QtCore import QByteArray, QSettings, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QSplitter, QVBoxLayout, QWidget

from desktop_agent.core.diff.rows import RowMode
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.screen_room import screen_room
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.drawer import Drawer
from desktop_agent.ui.window.top_bar import TopBar

NARROW_BELOW = 1180
"""Below this width the panels at the sides become drawers: beside them the transcript would be too narrow to read."""

_DEFAULT_SIZE = QSize(1440, 900)
_MINIMUM_SIZE = QSize(720, 480)
_SIDE_WIDTH = 236
_REVIEW_WIDTH = 540
_LAYOUT_VERSION = 1


class Panels(Struct, frozen=True):
    """What the window arranges."""

    sessions: QWidget
    files: QWidget
    transcript: QWidget
    composer: QWidget
    review: QWidget
    jobs: QWidget


class MainWindow(QMainWindow):
    """Docks and drawers around the conversation. Built as a frame that can be painted at once; `furnish` fills it.

    Signals:
        close_requested: the user wants to close the window; it stays until `let_close` was called.
    """

    close_requested = Signal()

    def __init__(self, theme: Theme, layout_store: QSettings) -> None:
        super().__init__()
        self.setObjectName("mainWindow")
        self.setAccessibleName(self.tr("Desktop Agent"))
        self.setWindowTitle(self.tr("Desktop Agent"))
        self._room = screen_room(self)
        self.setMinimumSize(_MINIMUM_SIZE.boundedTo(self._room))
        self._store = layout_store
        self._may_close = False
        self._is_narrow = False
        self._open_docks: list[QDockWidget] = []
        """What stands beside the conversation when the window is wide again."""
        self.actions_ = Actions(self)
        self.top_bar = TopBar(theme, self.actions_)
        self.setMenuWidget(self.top_bar)
        self._conversation = self._build_conversation()
        self.setCentralWidget(self._conversation)
        self._side = QWidget()
        self._review = QWidget()
        self._jobs = QWidget(self)
        self._jobs.hide()
        self._composer = QWidget(self)
        self._composer.hide()
        self.side_dock = self._build_dock("sideDock", self.tr("Sessions and files"), self._side)
        self.review_dock = self._build_dock("reviewDock", self.tr("Review"), self._review)
        self.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, self.side_dock)
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.review_dock)
        self.side_drawer = Drawer(self._conversation, "left", _SIDE_WIDTH + 44)
        self.review_drawer = Drawer(self._conversation, "right", _REVIEW_WIDTH + 80)
        self._connect()
        self._restore_layout()

    def furnish(self, panels: Panels) -> None:
        """Put the panels into the frame."""
        layout = self._conversation.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.addWidget(panels.transcript, 1)
        layout.addWidget(panels.jobs)
        layout.addWidget(panels.composer)
        self._jobs = panels.jobs
        self._composer = panels.composer
        self._side = self._build_side(panels)
        self._review = panels.review
        self.side_dock.setWidget(self._side)
        self.review_dock.setWidget(self._review)

    def let_close(self) -> None:
        """Close for good: whatever had to be finished is finished."""
        self._may_close = True
        self.close()

    def show_review(self) -> None:
        """Bring the review panel into sight."""
        if self._is_narrow:
            self.side_drawer.close_drawer()
            self.review_drawer.open_with(self._review)
        else:
            self.review_dock.show()
            self.review_dock.raise_()

    def show_jobs(self) -> None:
        """Bring the background commands into sight."""
        self._jobs.show()

    def hide_jobs(self) -> None:
        """Put the background commands out of sight; who had the focus in there goes on writing."""
        had_focus = self._jobs.isAncestorOf(self.focusWidget() or self)
        self._jobs.hide()
        if had_focus:
            self._composer.setFocus()

    @property
    def diff_mode(self) -> RowMode | None:
        """How the user chose to see diffs; `None` when they did not choose: what fits the width."""
        match self._store.value("diff_mode"):
            case "unified" | "side_by_side" as mode:
                return mode
            case _:
                return None

    def remember_diff_mode(self, mode: str) -> None:
        """Show diffs like this at the next start, too."""
        self._store.setValue("diff_mode", mode)

    def remember_theme(self, choice: str) -> None:
        """Paint the first frame of the next start in this theme."""
        self._store.setValue("theme", choice)

    def show_side(self) -> None:
        """Bring sessions and files into sight."""
        if self._is_narrow:
            self.review_drawer.close_drawer()
            self.side_drawer.open_with(self._side)
        else:
            self.side_dock.show()

    # -- building --

    def _build_conversation(self) -> QWidget:
        area = QWidget(self)
        area.setProperty("role", "surface")
        layout = QVBoxLayout(area)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        return area

    def _build_side(self, panels: Panels) -> QSplitter:
        side = QSplitter(Qt.Orientation.Vertical)
        side.setObjectName("sideSplitter")
        side.setChildrenCollapsible(False)
        side.addWidget(panels.sessions)
        side.addWidget(panels.files)
        side.setStretchFactor(0, 0)
        side.setStretchFactor(1, 1)
        side.setSizes([240, 420])
        return side

    def _build_dock(self, name: str, title: str, panel: QWidget) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(name)
        dock.setWidget(panel)
        # The panels have headings of their own; a second title above each would only be noise.
        dock.setTitleBarWidget(QWidget(dock))
        return dock

    def _connect(self) -> None:
        actions = self.actions_
        actions.connect(actions.toggle_side, self._toggle_side)
        actions.connect(actions.toggle_review, self._toggle_review)
        actions.connect(actions.toggle_jobs, self._toggle_jobs)
        self.side_drawer.closed.connect(self._take_side_back)
        self.review_drawer.closed.connect(self._take_review_back)
        self.review_dock.visibilityChanged.connect(self._update_review_button)

    # -- wide and narrow --

    def _toggle_side(self) -> None:
        if self._is_narrow and self.side_drawer.isVisible():
            self.side_drawer.close_drawer()
        elif self._is_narrow:
            self.show_side()
        else:
            self.side_dock.setVisible(not self.side_dock.isVisible())

    def _toggle_review(self) -> None:
        if self._is_narrow and self.review_drawer.isVisible():
            self.review_drawer.close_drawer()
        elif self._is_narrow:
            self.show_review()
        else:
            self.review_dock.setVisible(not self.review_dock.isVisible())

    def _toggle_jobs(self) -> None:
        if self._jobs.isVisible():
            self.hide_jobs()
        else:
            self.show_jobs()

    def _take_side_back(self) -> None:
        self.side_dock.setWidget(self._side)

    def _take_review_back(self) -> None:
        self.review_dock.setWidget(self._review)

    def _set_narrow(self, is_narrow: bool) -> None:
        docks = (self.side_dock, self.review_dock)
        if is_narrow and not self._is_narrow:
            self._open_docks = [dock for dock in docks if not dock.isHidden()]
        elif self._is_narrow and not is_narrow:
            for dock in self._open_docks:
                dock.show()
        self._is_narrow = is_narrow
        self.side_drawer.close_drawer()
        self.review_drawer.close_drawer()
        if is_narrow:
            for dock in docks:
                dock.hide()
        self.top_bar.set_narrow(is_narrow=is_narrow)
        self._update_review_button()

    def _update_review_button(self) -> None:
        self.top_bar.set_review_hidden(is_hidden=self._is_narrow or not self.review_dock.isVisible())

    # -- layout that comes back --

    def _restore_layout(self) -> None:
        geometry, state = self._store.value("geometry"), self._store.value("state")
        if not (isinstance(geometry, QByteArray) and self.restoreGeometry(geometry)):
            self.resize(_DEFAULT_SIZE.boundedTo(self._room))
        if not (isinstance(state, QByteArray) and self.restoreState(state, _LAYOUT_VERSION)):
            docks = [self.side_dock, self.review_dock]
            self.resizeDocks(docks, [_SIDE_WIDTH, _REVIEW_WIDTH], Qt.Orientation.Horizontal)
        self._set_narrow(self.width() < NARROW_BELOW)

    def save_layout(self) -> None:
        """Remember sizes and places for the next start."""
        self._store.setValue("geometry", self.saveGeometry())
        if not self._is_narrow:
            self._store.setValue("state", self.saveState(_LAYOUT_VERSION))
        self._store.sync()

    # -- Qt --

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = event.size().width() < NARROW_BELOW
        if is_narrow != self._is_narrow:
            self._set_narrow(is_narrow)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._may_close:
            super().closeEvent(event)
            return
        event.ignore()
        self.close_requested.emit()
