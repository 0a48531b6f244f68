"""The question whether a conversation may spend more than its limit, and afterwards what the user said.

As with the question about a call, nothing here answers by accident: see `ui.chat.question.approval`.
"""

from functools import partial

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.protocol.model import Allowed, Decision, Denied
from desktop_agent.core.transcript import SpendingEntry, spending_line
from desktop_agent.ui.chat.entries.entry import EntryPlace, EntryWidget
from desktop_agent.ui.chat.text.passage import Paragraph
from desktop_agent.ui.theme import Radius, Space
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.answer_buttons import ARMING_DELAY_MS, Arming
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import flow

_PADDING = 15
_INDENT = 20
"""Of the line that is left once it is answered."""


class SpendingWidget(EntryWidget):
    """A card with two answers; then one quiet line."""

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place)
        self._height = 0
        self._is_answered = False
        entry, styles = self._entry, place.styles
        self._title = Paragraph(core_words(entry.request.title), styles, self, font=styles.strong)
        offers = [offer.label for offer in entry.request.scopes]
        self._go_on = self._make_button(offers[0] if offers else self.tr("Go on"), Allowed(), "primary")
        self._stop = self._make_button(self.tr("Stop here"), Denied(), "")
        self._line: Paragraph | None = None
        self._arming = Arming(ARMING_DELAY_MS, self)
        self.refresh()

    @property
    def _entry(self) -> SpendingEntry:
        return self.row.entry_as(SpendingEntry)

    def _make_button(self, text: str, decision: Decision, variant: str) -> QPushButton:
        clicked = partial(self._answer, decision)
        return make_button(text, clicked=clicked, variant=variant, accessible_name=text, parent=self)

    def refresh(self) -> None:
        is_waiting = self._entry.is_waiting
        if not is_waiting:
            self._give_focus_back()
        for widget in (self._title, self._go_on, self._stop):
            widget.setVisible(is_waiting)
        if not is_waiting and self._line is None:
            styles = self.styles
            self._line = Paragraph(spending_line(self._entry), styles, self, role="muted", font=styles.secondary)
            self._line.show()
        self.setAccessibleName(spending_line(self._entry))
        self.fit()

    # -- geometry --

    def set_width(self, width: int) -> None:
        self._width = width
        if self._line is not None:
            self._height = self._line.place(_INDENT, 0, width - _INDENT)
            return
        inner = width - 2 * _PADDING
        y = _PADDING - 3
        y += self._title.place(_PADDING, y, inner) + Space.S + 2
        self._height = y + flow([self._go_on, self._stop], QRect(_PADDING, y, inner, 0)) + _PADDING

    def entry_height(self) -> int:
        return self._height

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        colour = self.styles.colour
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._line is not None:
            painter.fillRect(QRectF(3, 6, 7, 7), colour("faint"))
            return
        painter.setPen(QPen(colour("warning_border"), 1))
        painter.setBrush(colour("warning_bg"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), Radius.DIALOG, Radius.DIALOG)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        self._arming.note_painted()

    def hideEvent(self, event: QHideEvent) -> None:
        self._arming.stop()
        super().hideEvent(event)

    # -- answers --

    @property
    def is_listening(self) -> bool:
        """Whether an answer counts: the question has been visible for a moment and is open."""
        is_open = self._entry.is_waiting and not self._is_answered  # an answered entry can have a new widget
        return is_open and self._arming.is_armed and self.isVisible()

    def _give_focus_back(self) -> None:
        """Keep the keyboard in the conversation: hiding a focused button would move it elsewhere."""
        transcript = self.parentWidget()
        if transcript is not None and (self._go_on.hasFocus() or self._stop.hasFocus()):
            transcript.setFocus(Qt.FocusReason.OtherFocusReason)

    def _answer(self, decision: Decision) -> None:
        if not self.is_listening:
            return
        self._is_answered = True
        self._give_focus_back()
        for button in (self._go_on, self._stop):
            button.setEnabled(False)
        self.entry_actions.approval_answered.emit(self._entry.request.call_id, decision)
