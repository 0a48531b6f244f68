"""A line that folds and unfolds what is below it: a real button, drawn as one quiet row."""

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.entries.base import EntryWidget
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import DrawnButton

UNFOLDED, FOLDED = "▾", "▸"
INDENT = 18
"""How far in the words of a `LabelLine` stand, and what unfolds below it."""
_RULE = 2


class FoldLine(DrawnButton):
    """A row that is clicked, or chosen with Enter or Space. Subclasses paint its content."""

    def __init__(self, styles: TextStyles, parent: QWidget) -> None:
        super().__init__(parent)
        self.styles = styles
        self.is_unfolded = False
        self.is_foldable = True
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def set_folding(self, *, is_foldable: bool, is_unfolded: bool) -> None:
        """Say whether there is anything to unfold, and whether it is."""
        self.is_foldable, self.is_unfolded = is_foldable, is_unfolded
        self.setCursor(Qt.CursorShape.PointingHandCursor if is_foldable else Qt.CursorShape.ArrowCursor)
        self.update()

    def paint_content(self, painter: QPainter) -> None:
        """Paint what the row says."""
        raise NotImplementedError

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.paint_content(painter)
        self.draw_ring(painter, self.styles.colour("accent"))
        painter.end()


class LabelLine(FoldLine):
    """Folds and unfolds the text of its entry: `▸ Thought`."""

    def __init__(self, entry: EntryWidget) -> None:
        super().__init__(entry.styles, entry)
        self._entry = entry
        self.clicked.connect(self._on_clicked)

    def say(self, text: str) -> None:
        """Show this text, and whether what it stands for is unfolded."""
        self.setText(text)
        self.setAccessibleName(text)
        self._entry.setAccessibleName(text)
        self.set_folding(is_foldable=True, is_unfolded=self._entry.is_column_shown)

    def _on_clicked(self) -> None:
        self._entry.row.is_unfolded = not self._entry.row.is_unfolded
        self._entry.refresh()
        self._entry.resized.emit()

    def paint_content(self, painter: QPainter) -> None:
        painter.setFont(self.styles.secondary)
        painter.setPen(self.styles.colour("text" if self.underMouse() else "muted"))
        arrow = QRectF(3, 0, Space.L, self.height())
        painter.drawText(arrow, Qt.AlignmentFlag.AlignVCenter, UNFOLDED if self.is_unfolded else FOLDED)
        label = QRectF(INDENT, 0, self.width() - INDENT, self.height())
        text = painter.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, int(label.width()))
        painter.drawText(label, Qt.AlignmentFlag.AlignVCenter, text)

    def paint_rule(self, painter: QPainter) -> None:
        """Paint the rule beside the text of the entry while it is unfolded."""
        if self._entry.is_column_shown:
            rule = QRect(5, self._entry.column_origin.y(), _RULE, self._entry.column.height)
            painter.fillRect(rule, self.styles.colour("border"))
