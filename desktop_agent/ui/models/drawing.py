"""Draws the rows of the picker: a tick for the model that answers, its name, what it can, reads and costs, a star."""

from typing import Final

from PySide6.QtCore import QObject, QPointF, QRect, QRectF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from desktop_agent.ui.models.choices import ChoiceRow
from desktop_agent.ui.models.list_model import ModelRows
from desktop_agent.ui.models.words import cost_words, window_words
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.emphasis import draw_emphasised
from desktop_agent.ui.widgets.icons import IconName, Icons
from desktop_agent.ui.widgets.rows import RIGHT, AnyIndex, FocusRing, RowDelegate, draw_ground, draw_line

_TICK: Final = 20.0
"""Room for the tick left of a name, in device-independent pixels, like all sizes here."""
_STAR: Final = 28.0
_SIGN: Final = 16.0
_PRICE: Final = 96.0
_SIZE: Final = 44.0
_TO_THE_RIGHT: Final = RIGHT.value
"""As a number: to convert one of Python's enumerations takes as long as to draw a word."""
_NEAR: Final = QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver


def star_area(row: QRect) -> QRect:
    """Return where the star of a row is, for the mouse."""
    return QRect(row.right() - int(_STAR) + 1, row.top(), int(_STAR), row.height())


class ModelDelegate(RowDelegate):
    """Draws one row."""

    def __init__(self, model: ModelRows, theme: Theme, icons: Icons, ring: FocusRing, parent: QObject) -> None:
        super().__init__(theme, ring, parent)
        self._model = model
        self._icons = icons

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self._model.row_at(index.row())
        rect = QRectF(option.rect)
        painter.save()
        if row.is_choice:
            colour = draw_ground(painter, self.theme, option, self.ring)
            rect = rect.adjusted(_TICK + Space.XS, 0, 0, 0)
            if row.kind == "model":
                is_near = bool(option.state & _NEAR)
                self._draw_model(painter, rect, row, colour, is_near=is_near)
            else:
                colour = colour if row.kind == "named" else self.theme.colour("muted")
                draw_line(painter, rect.adjusted(0, 0, -Space.S, 0), row.text, self.fonts.text, colour)
        else:
            self._draw_words(painter, rect, row)
        painter.restore()

    def _draw_words(self, painter: QPainter, rect: QRectF, row: ChoiceRow) -> None:
        if row.kind == "heading":
            at = rect.adjusted(Space.S, Space.XS, -Space.S, 0)
            draw_line(painter, at, row.text, self.fonts.small_strong, self.theme.colour("muted"))
            return
        is_problem = row.account is not None and bool(row.account.models)  # else it is one that may never have run
        colour = self.theme.colour("warning_text" if is_problem else "muted")
        draw_line(painter, rect.adjusted(_TICK + Space.XS, 0, -Space.S, 0), row.text, self.fonts.small, colour)

    def _draw_model(self, painter: QPainter, rect: QRectF, row: ChoiceRow, colour: QColor, *, is_near: bool) -> None:
        offer = row.offer
        assert offer is not None
        if self._model.is_current(row):
            self._icons.paint(painter, "tick", QPointF(rect.left() - _TICK / 2 - 1, rect.center().y()), "accent")
        self._draw_star(painter, rect, row, is_near=is_near)
        muted = self.theme.colour("muted")
        right = rect.right() - _STAR
        price = QRectF(right - _PRICE, rect.top(), _PRICE, rect.height())
        painter.setFont(self.fonts.small)
        painter.setPen(muted)
        painter.drawText(price, _TO_THE_RIGHT, cost_words(offer.known.price, row.account))
        size = QRectF(price.left() - _SIZE, rect.top(), _SIZE, rect.height())
        painter.drawText(size, _TO_THE_RIGHT, window_words(offer.known.context_tokens))
        right = self._draw_signs(painter, size, row) - Space.S
        room = QRectF(rect.left(), rect.top(), right - rect.left(), rect.height())
        used = draw_emphasised(painter, self.theme, room, row.text, row.spans, colour, self.fonts.text)
        if row.tells_account and row.account is not None and not row.account.is_fixed:
            label = row.account.label
            room.setLeft(room.left() + used + Space.S)
            if room.width() > QFontMetricsF(self.fonts.small).horizontalAdvance(label[:4]):
                draw_line(painter, room, label, self.fonts.small, muted)

    def _draw_signs(self, painter: QPainter, before: QRectF, row: ChoiceRow) -> float:
        """Draw what the model can beyond text, each sign in a column of its own, and return where they begin."""
        assert row.offer is not None
        left = before.left()
        signs: tuple[tuple[IconName, bool | None], ...] = (
            ("thinking", row.offer.known.thinks),
            ("images", row.offer.known.takes_images),
        )
        for name, is_there in signs:
            left -= _SIGN + Space.XS
            if is_there:
                self._icons.paint(painter, name, QPointF(left + _SIGN / 2, before.center().y()), "muted")
        return left

    def _draw_star(self, painter: QPainter, rect: QRectF, row: ChoiceRow, *, is_near: bool) -> None:
        is_favourite = self._model.is_favourite(row)
        if is_favourite or is_near:
            at = QPointF(rect.right() - _STAR / 2, rect.center().y())
            if is_favourite:
                self._icons.paint(painter, "favourite", at, "accent")
            else:
                self._icons.paint(painter, "no favourite", at, "muted")
