"""A panel at an edge of the window: a dock beside the conversation, or in a narrow window a drawer over it."""

from typing import Literal

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDockWidget, QFrame, QMainWindow, QVBoxLayout, QWidget

from desktop_agent.ui.widgets.layouts import vbox

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
