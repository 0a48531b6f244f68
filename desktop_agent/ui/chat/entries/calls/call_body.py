"""The inside of a tool call's card: the body of its family, folded or not, with the bar that says what is missing."""

from PySide6.QtCore import QCoreApplication, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QPainter

from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.tool_body import Bar, CardLoader, Content, ToolBody, entry_of
from desktop_agent.ui.chat.entries.base import EntryWidget
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button

_BAR = 26


class CallBody:
    """Reads a body of one family, and places and paints it below the line of its card. Its text is in `column`."""

    def __init__(self, family: type[ToolBody], card: EntryWidget, loader: CardLoader | None) -> None:
        self.content = Content()
        self._row = card.row
        self._styles = card.styles
        self._column = card.column
        self._bar: Bar | None = None
        self._widgets_height = 0
        self._origin = QPoint()
        self.inside = family(card, loader)
        self._more = make_button(
            QCoreApplication.translate("ToolBody", "Show all output"),
            clicked=self.inside.on_bar_clicked,
            variant="flat",
            parent=card,
            is_compact=True,
        )
        self._more.hide()

    def drop(self) -> None:
        """Leave the card; another body comes in its place."""
        self.inside.set_shown(is_shown=False)
        self.inside.deleteLater()
        self._more.hide()
        self._more.deleteLater()

    # -- content --

    def read(self) -> None:
        """Take in the entry as it is now."""
        self.content = self.inside.read(self._row)
        blocks, marks = self.content.blocks()
        self._column.set_blocks(blocks, {}, 0, marks)

    def show(self, *, is_asked_about: bool) -> None:
        """Show or hide what folds; a question stands in the place of it all."""
        is_shown = self.is_shown and not is_asked_about
        self._bar = self.inside.bar() if is_shown else None
        self.inside.set_shown(is_shown=is_shown)
        if self._is_wanted and not is_asked_about:
            self.inside.load()

    @property
    def _is_there(self) -> bool:
        return bool(self.content.text) or self.inside.has_widgets

    @property
    def _is_wanted(self) -> bool:
        """Whether the body shall be seen, be it there by now or not."""
        if self._row.is_unfolded is not None:
            return self._row.is_unfolded
        return self.inside.is_open_at_first(self._row)

    @property
    def is_foldable(self) -> bool:
        """Whether there is anything to unfold."""
        return self._is_there or bool(entry_words.asked(entry_of(self._row)))

    @property
    def is_unfolded(self) -> bool:
        """Whether what can be folded is unfolded: the body, or what else there is to say on demand."""
        return self._is_wanted if self._is_there else bool(self._row.is_unfolded)

    @property
    def is_shown(self) -> bool:
        """Whether there is a body to be seen, unless the call is asked about."""
        return self._is_there and self._is_wanted

    # -- geometry --

    def place(self, width: int) -> QPoint:
        """Be in a card this wide from now on; return where the column begins."""
        self._column.set_width(width - self.inside.left - Space.M)
        above = _BAR if self._bar is not None and self._bar.is_above else 0
        self._origin = QPoint(self.inside.left, self._styles.card_line + Space.S + above)
        self._widgets_height = 0
        if self.is_shown and self.inside.has_widgets:
            area = QRect(Space.M, self._styles.card_line + Space.M, width - 2 * Space.M, 0)
            self._widgets_height = self.inside.place(area) + Space.S
        return self._origin

    @property
    def bottom(self) -> int:
        """Where the header or, if it is unfolded, the body ends."""
        if not self.is_shown:
            return self._styles.card_line
        bar = _BAR if self._bar is not None else 0
        return self._styles.card_line + 2 * Space.S + self._column.height + self._widgets_height + bar

    def arrange(self, width: int) -> None:
        """Put the button of the bar where the text now ends."""
        offer = self._bar.button if self._bar is not None else ""
        if offer:
            if self._more.text() != offer:
                self._more.setText(offer)
                self._more.setAccessibleName(offer)
            size = self._more.sizeHint()
            self._more.setGeometry(QRect(QPoint(width - size.width() - Space.XS, self._bar_top()), size))
        self._more.setVisible(bool(offer))

    def _bar_top(self) -> int:
        is_above = self._bar is not None and self._bar.is_above
        return self._styles.card_line + Space.XS if is_above else self.bottom - _BAR - Space.XS // 2

    # -- painting --

    def paint(self, painter: QPainter, width: int) -> None:
        """Paint the ground, what the family paints on it, and the bar."""
        ground = QRectF(0, self._styles.card_line, width, self.bottom - self._styles.card_line)
        painter.fillRect(ground, self._styles.colour(self.inside.ground))
        painter.save()
        painter.translate(0, self._origin.y())
        self.inside.paint(painter, self._column, width)
        painter.restore()
        painter.setPen(self._styles.colour("border"))
        painter.drawLine(ground.topLeft(), ground.topRight())
        if self._bar is not None:
            painter.setFont(self._styles.secondary)
            painter.setPen(self._styles.colour("muted"))
            line = QRectF(Space.M, self._bar_top(), width, 22)
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, self._bar.text)
