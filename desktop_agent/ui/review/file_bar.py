"""The bar above the diff: which file, how many changes, from which call, and how it is shown."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from desktop_agent.ui.elided_label import ElidedLabel
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.tooltips import plain_tooltip

if TYPE_CHECKING:
    from desktop_agent.core.changes.rows import RowMode

_HEIGHT = 38


class FileBar(QWidget):
    """Names the file that is shown.

    Signals:
        mode_toggled: the person wants the diff in the other mode.
        call_clicked: the person wants to see the call behind the change.
    """

    mode_toggled = Signal()
    call_clicked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFixedHeight(_HEIGHT)
        self._name = ElidedLabel(Qt.TextElideMode.ElideMiddle)
        self._count = QLabel()
        self._count.setProperty("role", "secondary")
        self._call = QPushButton()
        self._call.setObjectName("showCallButton")
        self._call.setProperty("variant", "flat")
        self._call.setProperty("size", "small")
        self._call.setToolTip(self.tr("Show the call behind this change"))
        self._call.clicked.connect(self.call_clicked)
        self._mode = QPushButton()
        self._mode.setObjectName("diffModeButton")
        self._mode.setProperty("variant", "flat")
        self._mode.setProperty("size", "small")
        self._mode.clicked.connect(self.mode_toggled)
        for button in (self._call, self._mode):
            button.setAutoDefault(False)  # in a dialog, Enter would press them
        layout = QHBoxLayout(self)
        layout.setContentsMargins(Space.M, 0, Space.XS, 0)
        layout.setSpacing(Space.S)
        for widget in (self._name, self._count, self._call):
            layout.addWidget(widget)
        layout.addStretch()
        layout.addWidget(self._mode)
        self._update_font()
        theme.changed.connect(self._update_font)

    def set_file(self, path: str, call: str) -> None:
        """Name the file and the call that changed it last; the call is left out when it is empty."""
        self._name.setText(path.rpartition("/")[2])
        self._name.setToolTip(plain_tooltip(path))
        self._call.setText(call)
        self._call.setAccessibleName(self.tr("Show the call: {0}").format(call))
        self._call.setVisible(bool(call))

    def set_change_count(self, count: int) -> None:
        """Say how many places changed; nothing for none."""
        text = self.tr("1 change") if count == 1 else self.tr("{0} changes").format(count)
        self._count.setText(text if count else "")

    def set_mode(self, mode: "RowMode", *, obstacle: str) -> None:
        """Say how the diff is shown, and why it cannot be shown otherwise, if so."""
        names = {"side_by_side": self.tr("Side by side"), "unified": self.tr("Unified")}
        other = names["unified" if mode == "side_by_side" else "side_by_side"]
        self._mode.setText(names[mode])
        self._mode.setAccessibleName(self.tr("Shown {0}").format(names[mode].lower()))
        self._mode.setEnabled(not obstacle)
        self._mode.setToolTip(obstacle or self.tr("Switch to {0}").format(other.lower()))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.colour("surface"))
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.colour("border"))
        painter.end()

    def _update_font(self) -> None:
        font = self._theme.code_font(TypeSize.CODE)
        font.setBold(True)
        self._name.setFont(font)
