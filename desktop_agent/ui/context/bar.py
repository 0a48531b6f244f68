"""The parts of a request as one bar, as long as the model's window."""

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.core.protocol.model import ContextReport
from desktop_agent.ui.context.context_words import COLOURS
from desktop_agent.ui.theme import Theme

_HEIGHT = 10
_TARGET_TICK = 2


class ContextBar(QWidget):
    """Coloured parts from the left, the free room on the right, and a mark where summarising begins."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("contextBar")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self._report: ContextReport | None = None
        theme.changed.connect(self.update)

    def show_report(self, report: ContextReport) -> None:
        """Draw these parts."""
        self._report = report
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect())
        path = QPainterPath()
        path.addRoundedRect(area, _HEIGHT / 2, _HEIGHT / 2)
        painter.setClipPath(path)
        painter.fillRect(area, self._theme.colour("border"))
        report = self._report
        if report is not None:
            total = max(report.use.window, sum(section.tokens for section in report.sections), 1)
            x = 0.0
            for section in report.sections:
                width = area.width() * section.tokens / total
                painter.fillRect(QRectF(x, 0, max(width - 1, 1), _HEIGHT), self._theme.colour(COLOURS[section.kind]))
                x += width
            if report.target:
                at = area.width() * report.target / total
                painter.fillRect(QRectF(at, 0, _TARGET_TICK, _HEIGHT), self._theme.colour("text"))
        painter.end()
