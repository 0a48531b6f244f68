"""The line of a tool call's card: the action, its state, and its buttons."""

from functools import partial
from typing import Literal

from PySide6.QtCore import QLineF, QObject, QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import Aborted, Denied, ToolState
from desktop_agent.core.transcript import ToolEntry, explanation_of
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.tool_body import entry_of
from desktop_agent.ui.chat.entries.entry import FOLDED, UNFOLDED, EntryWidget, FoldLine
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Radius, Space
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.wording.visible_text import explained, one_line, plain_tooltip, visible

Mark = Literal["running", "done", "failed", "refused"]
_MARKS: dict[ToolState, Mark] = {"started": "running", "completed": "done", "failed": "failed"}
_LEFT = 34
_MARK_AT = 17.0
_LONG_TITLE = 40
_BADGE_HEIGHT = 18
_LEAST_PURPOSE = 90


class ToolLine(FoldLine):
    """Shows the state of a call: `✓ Read  src/app.py                        84 lines · 6 ms ▸`."""

    def __init__(self, styles: TextStyles, parent: QWidget) -> None:
        super().__init__(styles, parent)
        self._mark: Mark = "running"
        self._verb = ""
        self._title = ""
        self._purpose = ""
        self._summary = ""
        self._badge = ""
        self._counts = (0, 0)
        self._is_dim = False
        self.reserved = 0
        self._found = ""

    def show_call(self, entry: ToolEntry, summary: str) -> None:
        self._mark = "refused" if isinstance(entry.decision, Denied | Aborted) else _MARKS[entry.state]
        self._verb, title = entry_words.headline(entry)
        title = visible(title)
        self._title = title.replace("\n", " ⏎ ")
        self._summary = summary
        self._badge = entry_words.badge(entry)
        added = sum(change.added for change in entry.changes)
        removed = sum(change.removed for change in entry.changes)
        self._counts = (added, removed)
        counts = entry_words.say("{added} added, {removed} removed").format(added=added, removed=removed)
        spoken = (self._verb, title, entry_words.state(entry), counts if entry.changes else "", self._badge, summary)
        self.setAccessibleName(" ".join(part for part in spoken if part))
        purpose = explained(explanation_of(entry.call))
        self._purpose = one_line(" ".join(explanation_of(entry.call).split()))
        said = "\n".join(filter(None, (purpose, entry_words.asked(entry))))
        self.setAccessibleDescription(said)
        hints = [title] if len(title) > _LONG_TITLE else []
        self.setToolTip(plain_tooltip("\n".join([*hints, said]).strip()) if hints or said else "")
        self.update()

    def set_summary(self, summary: str) -> None:
        if summary != self._summary:
            self._summary = summary
            self.update()

    def pulse(self) -> None:
        self._is_dim = not self._is_dim
        self.update(0, 0, _LEFT, self.height())

    def set_found(self, *, is_found: bool, is_current: bool) -> None:
        found = ("found_current" if is_current else "warning_bg") if is_found else ""
        if found != self._found:
            self._found = found
            self.update()

    def paint_content(self, painter: QPainter) -> None:
        middle = self.height() / 2
        self._paint_mark(painter, QPointF(_MARK_AT, middle))
        right = self.width() - Space.M - self.reserved
        if self.is_foldable:
            right = self._paint_right(painter, right, UNFOLDED if self.is_unfolded else FOLDED, "muted")
        right = self._paint_right(painter, right, self._summary, "muted")
        right = self._paint_badge(painter, right)
        added, removed = self._counts
        if removed:
            right = self._paint_right(painter, right, f"{entry_words.MINUS}{removed}", "removed_text", self.styles.code)
        if added:
            right = self._paint_right(painter, right, f"+{added}", "added_text", self.styles.code)
        verb_width = QFontMetricsF(self.styles.strong).horizontalAdvance(self._verb)
        self._paint_text(painter, _LEFT, right, self._verb, self.styles.strong, "text")
        self._paint_title(painter, _LEFT + verb_width + Space.S + 2, right)

    def _paint_text(
        self, painter: QPainter, left: float, right: float, text: str, font: QFont, role: str = "muted"
    ) -> None:
        painter.setFont(font)
        painter.setPen(self.styles.colour(role))
        painter.drawText(QRectF(left, 0, right - left, self.height()), Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_title(self, painter: QPainter, left: float, right: float) -> None:
        metrics = QFontMetricsF(self.styles.code)
        title = metrics.elidedText(self._title, Qt.TextElideMode.ElideRight, max(0.0, right - left))
        if self._found:
            ground = QRectF(left - 2, self.height() / 2 - 9, metrics.horizontalAdvance(title) + 4, 18)
            painter.fillRect(ground, self.styles.colour(self._found))
        self._paint_text(painter, left, right, title, self.styles.code)
        left += metrics.horizontalAdvance(title) + Space.L
        if self._purpose and right - left >= _LEAST_PURPOSE:
            font = self.styles.secondary
            purpose = QFontMetricsF(font).elidedText(self._purpose, Qt.TextElideMode.ElideRight, right - left)
            self._paint_text(painter, left, right, purpose, font)

    def _paint_right(self, painter: QPainter, right: float, text: str, role: str, font: QFont | None = None) -> float:
        if not text:
            return right
        font = font or self.styles.secondary
        width = QFontMetricsF(font).horizontalAdvance(text)
        self._paint_text(painter, right - width, right + 1, text, font, role)
        return right - width - Space.S

    def _paint_badge(self, painter: QPainter, right: float) -> float:
        if not self._badge:
            return right
        font = self.styles.small
        width = QFontMetricsF(font).horizontalAdvance(self._badge) + 2 * Space.S
        frame = QRectF(right - width, (self.height() - _BADGE_HEIGHT) / 2, width, _BADGE_HEIGHT)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.styles.colour("danger_bg"))
        painter.drawRoundedRect(frame, Radius.CONTROL, Radius.CONTROL)
        painter.setFont(font)
        painter.setPen(self.styles.colour("danger_text"))
        painter.drawText(frame, Qt.AlignmentFlag.AlignCenter, self._badge)
        return right - width - Space.S

    def _paint_mark(self, painter: QPainter, at: QPointF) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        match self._mark:
            case "running":
                colour = self.styles.colour("accent")
                colour.setAlphaF(0.45 if self._is_dim else 1.0)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(colour)
                painter.drawEllipse(at, 4.5, 4.5)
            case "done":
                painter.setPen(QPen(self.styles.colour("added_text"), 1.5))
                painter.drawPolyline([at + QPointF(-4, 0.5), at + QPointF(-1.2, 3.5), at + QPointF(4, -3.5)])
            case "failed":
                painter.setPen(QPen(self.styles.colour("danger_text"), 1.5))
                painter.drawLine(QLineF(at - QPointF(3.5, 3.5), at + QPointF(3.5, 3.5)))
                painter.drawLine(QLineF(at + QPointF(-3.5, 3.5), at + QPointF(3.5, -3.5)))
            case "refused":
                painter.setPen(QPen(self.styles.colour("muted"), 1.5))
                painter.drawEllipse(at, 4.5, 4.5)
                painter.drawLine(QLineF(at + QPointF(-3, 3), at + QPointF(3, -3)))


class CallButtons(QObject):
    def __init__(self, card: EntryWidget) -> None:
        super().__init__(card)
        self._line_height = card.styles.card_line
        actions, call_id = card.entry_actions, entry_of(card.row).call.id
        self._stop = compact_button(self.tr("Stop"), clicked=actions.stop_requested, parent=card)
        self._stop.setAccessibleName(self.tr("Stop this turn"))
        self._change = compact_button(self.tr("Show change ▸"), variant="flat", parent=card)
        self._change.setAccessibleName(self.tr("Show change"))
        self._change.clicked.connect(partial(actions.changes_requested.emit, call_id))
        self._recover = compact_button(self.tr("Recover"), "recoverButton", parent=card)
        self._recover.clicked.connect(partial(actions.recover_requested.emit, call_id))
        for button in self.tab_stops():
            button.hide()

    def show(self, entry: ToolEntry, *, is_running: bool, is_asked_about: bool) -> None:
        self._stop.setVisible(is_running)
        self._change.setVisible(bool(entry.changes) and not is_asked_about)
        what = entry_words.recovery(entry)
        self._recover.setVisible(bool(what) and not is_asked_about)
        self._recover.setToolTip(plain_tooltip(what))
        self._recover.setAccessibleDescription(what)
        self._recover.setAccessibleName(self.tr("Recover. {what}").format(what=what) if what else self.tr("Recover"))

    def place(self, width: int) -> int:
        """Return the width of the buttons."""
        right = width - Space.S
        for button in (self._stop, self._change, self._recover):
            if not button.isHidden():
                size = button.sizeHint()
                right -= size.width()
                button.setGeometry(right, (self._line_height - size.height()) // 2, size.width(), size.height())
                button.raise_()
        taken = width - Space.S - right
        return taken + Space.XS if taken else 0

    def tab_stops(self) -> list[QWidget]:
        return [self._stop, self._recover, self._change]
