"""What the session cost, beside how full its context is."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QLabel, QWidget

from desktop_agent.core.base.plain_text import cost_text
from desktop_agent.core.protocol.model import CacheMiss, Usage
from desktop_agent.ui.widgets.context_meter import counted
from desktop_agent.ui.wording.cache_words import cache_miss_words


class CostLabel(QLabel):
    """Shows the cost of the session, `$0.42`, or `≥ $0.42` when some of it is not known; nothing when nothing is.

    Signals:
        clicked: the user wants to see more of it. The menu has the same.
    """

    clicked = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("costLabel")
        self.setAccessibleName(self.tr("Cost of this session"))
        self.setProperty("role", "secondary")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.hide()

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        if ev.button() == Qt.MouseButton.LeftButton and self.rect().contains(ev.position().toPoint()):
            self.clicked.emit()

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        ev.accept()

    def show_usage(self, session: Usage, turn: Usage, missed: CacheMiss | None = None) -> None:
        """Show the sum of a session; the tooltip has the last turn and the tokens, too, and what no cache had."""
        text = cost_text(session.cost_usd, is_partial=session.is_cost_partial)
        self.setText(text)
        words = "\n".join(self._lines(session, turn, missed)) if text else ""
        self.setToolTip(words)
        self.setAccessibleDescription(words)

    def _lines(self, session: Usage, turn: Usage, missed: CacheMiss | None) -> list[str]:
        lines = [self.tr("This session: {0}").format(cost_text(session.cost_usd, is_partial=session.is_cost_partial))]
        if last := cost_text(turn.cost_usd, is_partial=turn.is_cost_partial):
            lines.append(self.tr("Last turn: {0}").format(last))
        read, written = counted(session.all_input_tokens), counted(session.output_tokens)
        lines.append(self.tr("{0} tokens read by the model, {1} written").format(read, written))
        if session.cache_read_tokens:
            share = round(100 * session.cache_read_tokens / session.all_input_tokens)
            lines.append(self.tr("{0} % of what it read came from its cache").format(share))
        if missed is not None:
            lines.append(cache_miss_words(missed))
        if session.is_cost_partial:
            missing = counted(session.unpriced_tokens)
            lines.append(self.tr("The price of {0} tokens is not known: the cost is higher.").format(missing))
        lines.append(self.tr("Click to see the usage of all sessions."))
        return lines
