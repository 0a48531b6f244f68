"""The main window: where the panels stand, in a wide window and in a narrow one. Nothing in here knows a session."""

from msgspec import Struct
from PySide6.QtCore import QSettings, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QSplitter, QWidget

from desktop_agent.ui.runtime.pacing import in_next_turn
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.layouts import screen_room
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.bar import TopBar
from desktop_agent.ui.window.edges.edge_panel import EdgePanel
from desktop_agent.ui.window.edges.settled_column import SettledColumn
from desktop_agent.ui.window.keys_first import KeysFirst
from desktop_agent.ui.window.window_memory import WindowMemory

NARROW_BELOW = 1180
"""Below this width the panels at the sides become drawers: beside them the transcript would be too narrow to read."""

_LEAST_FIRST_SIZE = QSize(1440, 900)
_MOST_FIRST_SIZE = QSize(1920, 1200)
_FIRST_SHARE = 0.85
"""Of the screen, within the two sizes above, and never more than the screen has: a window that was never opened."""
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
    """Docks and drawers around the conversation. Built as a frame that can be painted at once; `set_panels` fills it.

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
        self.memory = WindowMemory(layout_store)
        self._may_close = False
        self._is_narrow = False
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
        KeysFirst([self.actions_.command_palette], self)
        self._connect()
        self._restore_layout()

    def set_panels(self, panels: Panels) -> None:
        """Put the panels into the frame."""
        self._column.addWidget(panels.transcript, 1)
        self._column.addWidget(panels.jobs)
        self._column.addWidget(panels.composer)
        self._jobs = panels.jobs
        self._composer = panels.composer
        self.side.set_panel(self._build_side(panels))
        self.review.set_panel(panels.review)

    def let_close(self) -> None:
        """Close for good: whatever had to be finished is finished."""
        self._may_close = True
        self.close()

    def hide_jobs(self) -> None:
        """Put the background commands out of sight; who had the focus in there goes on writing."""
        had_focus = self._jobs.isAncestorOf(self.focusWidget() or self)
        self._jobs.hide()
        if had_focus:
            self._composer.setFocus()

    def save_layout(self) -> None:
        """Remember sizes and places for the next start."""
        if isinstance(side := self.findChild(QSplitter, "sideSplitter"), QSplitter):
            self.memory.remember_side_sizes(side.saveState())
        self.memory.remember_layout(self.saveGeometry(), None if self._is_narrow else self.saveState(_LAYOUT_VERSION))

    # -- building --

    def _build_side(self, panels: Panels) -> QSplitter:
        side = QSplitter(Qt.Orientation.Vertical)
        side.setObjectName("sideSplitter")
        side.setChildrenCollapsible(False)
        side.addWidget(panels.sessions)
        side.addWidget(panels.files)
        side.setStretchFactor(0, 0)
        side.setStretchFactor(1, 1)
        sizes = self.memory.side_sizes
        if sizes is None or not side.restoreState(sizes):
            side.setSizes([240, 420])
        return side

    def _connect(self) -> None:
        actions = self.actions_
        actions.connect(actions.toggle_side, self.side.toggle)
        actions.connect(actions.toggle_review, self.review.toggle)
        actions.connect(actions.toggle_jobs, self._toggle_jobs)
        self.side.drawer_opening.connect(self.review.drawer.close_drawer)
        self.review.drawer_opening.connect(self.side.drawer.close_drawer)
        self.review.dock.visibilityChanged.connect(self._update_review_button)

    def _restore_layout(self) -> None:
        geometry, state = self.memory.geometry, self.memory.state
        if geometry is None or not self.restoreGeometry(geometry):
            share = (self._room * _FIRST_SHARE).boundedTo(_MOST_FIRST_SIZE)
            self.resize(share.expandedTo(_LEAST_FIRST_SIZE).boundedTo(self._room))
        if state is None or not self.restoreState(state, _LAYOUT_VERSION):
            docks = [self.side.dock, self.review.dock]
            self.resizeDocks(docks, [_SIDE_WIDTH, _REVIEW_WIDTH], Qt.Orientation.Horizontal)
        self._set_narrow(self.width() < NARROW_BELOW)

    # -- what changes while it is open --

    def _toggle_jobs(self) -> None:
        if self._jobs.isVisible():
            self.hide_jobs()
        else:
            self._jobs.show()

    def _set_narrow(self, is_narrow: bool) -> None:
        self._is_narrow = is_narrow
        self.side.set_narrow(is_narrow=is_narrow)
        self.review.set_narrow(is_narrow=is_narrow)
        self.top_bar.set_narrow(is_narrow=is_narrow)
        self._update_review_button()

    def _update_review_button(self) -> None:
        self.top_bar.set_review_hidden(is_hidden=self._is_narrow or not self.review.dock.isVisible())

    # -- Qt --

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
        """Lay out the conversation and then each panel in a turn of its own: together they take longer than a frame."""
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
