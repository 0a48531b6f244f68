"""The context meter: how full the model's context window is, as a ring and a percentage."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import ContextUse
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import DrawnButton
from desktop_agent.ui.widgets.layouts import set_names
from desktop_agent.ui.wording import counted

_RING = 12
_RING_WIDTH = 2.5
NEARLY_FULL = 0.8


class ContextMeter(DrawnButton):
    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        set_names(self, "contextMeter", self.tr("Context used"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._theme = theme
        self._share = 0.0
        self._is_short = False
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def show_use(self, use: ContextUse | None) -> None:
        if use is None or use.window <= 0:
            self.setText("")
            self.setToolTip("")
            return
        self._share = use.tokens / use.window
        percent = round(100 * self._share)
        self.setText(self.tr("ctx {0} %").format(percent))
        sources = {
            "reported": self.tr("as the model reported it"),
            "counted": self.tr("as the provider counted them"),
            "estimated": self.tr("estimated"),
        }
        words = self.tr("{0} of {1} tokens, {2}").format(counted(use.tokens), counted(use.window), sources[use.source])
        if use.server_tool_tokens:
            words += "\n" + self.tr("About {0} of them are for tools of MCP servers.").format(
                counted(use.server_tool_tokens)
            )
        if use.deferred_tools:
            words += "\n" + plural(
                "ContextMeter",
                use.deferred_tools,
                "%n tool of MCP servers is left to a search.",
                "%n tools of MCP servers are not sent: the agent searches for them.",
            )
        if self.is_nearly_full:
            words += "\n" + self.tr("The context window is nearly full.")
        self.setToolTip(words + "\n" + self.tr("Click to see what the model sees."))
        self.setAccessibleDescription(words)
        self.update()

    @property
    def is_nearly_full(self) -> bool:
        return self._share >= NEARLY_FULL

    def set_short(self, is_short: bool) -> None:
        if is_short != self._is_short:
            self._is_short = is_short
            self.update()

    def sizeHint(self) -> QSize:
        words = 0 if self._is_short else Space.XS + 2 + self.fontMetrics().horizontalAdvance(self.text())
        return QSize(_RING + words + 2 * Space.XS, Height.SMALL_BUTTON)

    def paintEvent(self, event: QPaintEvent) -> None:
        colour = self._theme.colour
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            ink = colour("warning_text" if self.is_nearly_full else "text" if self.underMouse() else "muted")
            ring = QRectF(Space.XS, (self.height() - _RING) / 2, _RING, _RING).adjusted(1.5, 1.5, -1.5, -1.5)
            painter.setPen(QPen(colour("border_strong"), _RING_WIDTH))
            painter.drawEllipse(ring)
            used = QPen(colour("warning_text" if self.is_nearly_full else "accent"), _RING_WIDTH)
            used.setCapStyle(Qt.PenCapStyle.FlatCap)
            painter.setPen(used)
            painter.drawArc(ring, 90 * 16, -round(min(self._share, 1.0) * 360 * 16))
            if not self._is_short:
                left = Space.XS + _RING + Space.XS + 2
                painter.setPen(ink)
                painter.drawText(
                    QRectF(left, 0, self.width() - left, self.height()), Qt.AlignmentFlag.AlignVCenter, self.text()
                )
            self.draw_ring(painter, colour("accent"))

    def _on_theme_changed(self) -> None:
        self.setFont(self._theme.text_font(TypeSize.SECONDARY))
        self.update()
