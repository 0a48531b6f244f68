"""The base of question cards, and the card that asks whether a conversation may cost more.

Cards ignore accidental answers: see `ui.chat.cards.approval`.
"""

from functools import partial
from typing import NamedTuple, cast

from PySide6.QtCore import QRect, QRectF, Qt, Signal
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, Decision, Denied
from desktop_agent.core.transcript import SpendingEntry, spending_line
from desktop_agent.ui.chat.cards.tool_body import CardLoader
from desktop_agent.ui.chat.entries.entry import EntryActions, EntryPlace, EntryWidget
from desktop_agent.ui.chat.text.passage import Paragraph
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Radius, Space
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import ARMING_DELAY_MS, Arming, make_button
from desktop_agent.ui.widgets.layouts import discard, flow
from desktop_agent.ui.widgets.rows import draw_box

PADDING = 15


class CardPlace(NamedTuple):
    request: ApprovalRequest
    drafts: dict[str, str]
    """What the user wrote on the card. It outlives the card."""
    styles: TextStyles
    actions: EntryActions
    parent: QWidget
    loader: CardLoader | None = None


class QuestionCard(QWidget):
    """A question that waits for the user. The parent sets its width; the height depends on the width."""

    resized = Signal()
    yes: QPushButton
    no: QPushButton
    """The buttons for the plain answers."""

    def __init__(self, place: CardPlace) -> None:
        super().__init__(place.parent)
        self.request = place.request
        self.styles = place.styles
        self.actions_ = place.actions
        self.is_answered = False
        self.home: QWidget | None = None
        """The widget that gets the focus from an answered question; without one, the focus goes where it was before."""
        self._width = 0
        self._arming = Arming(ARMING_DELAY_MS, self)

    def place_all(self, y: int, width: int) -> int:
        """Place everything from `y` on. Return the lower edge."""
        raise NotImplementedError

    def set_shortcut(self, *, is_enabled: bool) -> None:
        """Set whether keys answer the question, anywhere in the window. Enable this for only one question at a time."""
        raise NotImplementedError

    def show_judgement(self, judged: CommandJudged) -> None:
        """Show the session's judgement of the edited command. Does nothing in questions without a command."""

    def stop(self) -> None:
        """Accept no more answers."""

    def set_width(self, width: int) -> None:
        self._width = width
        self.resize(width, self.place_all(PADDING - 3, width - 2 * PADDING) + PADDING)

    def fit(self) -> None:
        before = self.height()
        self.set_width(self._width)
        if self.height() != before:
            self.resized.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            colour = self.styles.colour
            draw_box(painter, QRectF(self.rect()), colour("warning_border"), colour("warning_bg"), Radius.DIALOG)
        self._arming.note_painted()

    def hideEvent(self, event: QHideEvent) -> None:
        self._arming.restart()
        super().hideEvent(event)

    def rearm(self) -> None:
        """Ignore answers for a moment, because a second press may be meant for the previous question."""
        self._arming.restart()
        self.update()

    @property
    def is_listening(self) -> bool:
        return self._arming.is_armed and not self.is_answered and self.isVisible()

    def leave(self) -> None:
        """Pass the focus on before buttons are disabled, because it would go to another question otherwise."""
        focused = cast("QWidget | None", self.focusWidget())
        if self.home is not None and focused is not None and focused.hasFocus():
            self.home.setFocus(Qt.FocusReason.OtherFocusReason)

    def answer(self, decision: Decision) -> None:
        if self.is_listening:
            self.is_answered = True
            self.leave()
            self.stop()
            self.actions_.approval_answered.emit(self.request.call_id, decision)


class SpendingCard(QuestionCard):
    def __init__(self, place: CardPlace) -> None:
        super().__init__(place)
        self._title = Paragraph(core_words(self.request.title), self.styles, self, font=self.styles.strong)
        go_on = next((offer.label for offer in self.request.scopes), self.tr("Go on"))
        self.yes = self._make_button(go_on, Allowed(), "primary")
        self.no = self._make_button(self.tr("Stop here"), Denied(), "")

    def _make_button(self, text: str, decision: Decision, variant: str) -> QPushButton:
        clicked = partial(self.answer, decision)
        return make_button(text, clicked=clicked, variant=variant, accessible_name=text, parent=self)

    def place_all(self, y: int, width: int) -> int:
        y += self._title.place(PADDING, y, width) + Space.S + 2
        return y + flow([self.yes, self.no], QRect(PADDING, y, width, 0))

    def stop(self) -> None:
        self.leave()
        for button in (self.yes, self.no):
            button.setEnabled(False)


_INDENT = 20


class SpendingWidget(EntryWidget):
    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place)
        self._height = 0
        self._line: Paragraph | None = None
        self._card: SpendingCard | None = None
        if self._entry.is_waiting:
            self._card = SpendingCard(CardPlace(self._entry.request, {}, place.styles, place.actions, self))
            self._card.home = place.parent
        self.refresh()

    @property
    def _entry(self) -> SpendingEntry:
        return self.row.entry_as(SpendingEntry)

    @property
    def is_listening(self) -> bool:
        return self._card is not None and self._card.is_listening

    def refresh(self) -> None:
        said = spending_line(self._entry)
        if not self._entry.is_waiting and self._line is None:
            self._line = Paragraph(said, self.styles, self, role="muted", font=self.styles.secondary)
            self._line.show()
            if self._card is not None:
                self._card.stop()
                discard(self._card)
                self._card = None
        self.setAccessibleName(said)
        self.fit()

    def set_width(self, width: int) -> None:
        self._width = width
        if self._line is not None:
            self._height = self._line.place(_INDENT, 0, width - _INDENT)
        elif self._card is not None:
            self._card.set_width(width)
            self._height = self._card.height()

    def entry_height(self) -> int:
        return self._height

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        if self._line is not None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.fillRect(QRectF(3, 6, 7, 7), self.styles.colour("faint"))
