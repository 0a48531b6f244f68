"""A tool call: a card with one line, a body with its result, and notes; or the question about the call."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Literal

from PySide6.QtCore import QLineF, QObject, QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import Aborted, Denied, ToolState
from desktop_agent.core.transcript import ToolEntry, explanation_of
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.families import family_of
from desktop_agent.ui.chat.cards.tool_body import CardLoader, ToolBody, entry_of
from desktop_agent.ui.chat.entries.entry import FOLDED, UNFOLDED, EntryPlace, EntryWidget, FoldLine
from desktop_agent.ui.chat.entries.markdown_entries import SPOKEN_CHARS, LinkedEntry
from desktop_agent.ui.chat.entries.questions import CardPlace, QuestionCard
from desktop_agent.ui.chat.markdown.parser import RichText, is_web_address
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.column_text import TextMatch
from desktop_agent.ui.chat.text.file_links import file_of
from desktop_agent.ui.chat.text.passage import TextPassage
from desktop_agent.ui.chat.text.styles import CODE_LINE, TextStyles
from desktop_agent.ui.theme import Radius, Space
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.layouts import discard
from desktop_agent.ui.widgets.text_colours import Lexers
from desktop_agent.ui.wording import explained, one_line, plain_tooltip, visible

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
                colour.setAlphaF(0.45 if self._is_dim and self.styles.theme.moves else 1.0)
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
        is_task = entry_words.is_task(entry_of(card.row))
        stop = partial(actions.subagent_stop_requested.emit, call_id) if is_task else actions.stop_requested
        self._stop = compact_button(self.tr("Stop"), clicked=stop, parent=card)
        self._stop.setAccessibleName(self.tr("Stop this sub-agent") if is_task else self.tr("Stop this turn"))
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


class ToolWidget(LinkedEntry):
    def __init__(self, place: EntryPlace, now: Callable[[], datetime], loader: CardLoader | None) -> None:
        super().__init__(place, Column(place.styles, ground="", is_framed=False))
        self._now = now
        self._loader = loader
        self._question: QuestionCard | None = None
        self._line = ToolLine(place.styles, self)
        self._line.clicked.connect(self._on_clicked)
        self._buttons = CallButtons(self)
        self._body = self._make_body()
        self._notes: list[tuple[TextPassage, str]] = []
        self.refresh()

    def _make_body(self) -> ToolBody:
        body = family_of(entry_of(self.row))(self, self._loader)
        body.changed.connect(self._on_body_changed)
        body.unfolded.connect(self._on_unfolded)
        return body

    def refresh(self) -> None:
        entry = entry_of(self.row)
        self._show_question(entry)
        is_asked_about = self._question is not None
        if type(self._body) is not family_of(entry):
            self._body.drop()
            self._body = self._make_body()
        self._body.show_content()
        self._line.show_call(entry, _summary(entry, self._now))
        self._line.setVisible(not is_asked_about)
        self._line.set_folding(is_foldable=self._body.is_foldable, is_unfolded=self._body.is_unfolded)
        self._buttons.show(entry, is_running=self.is_ticking, is_asked_about=is_asked_about)
        self._body.show(is_asked_about=is_asked_about)
        self.setAccessibleName(self._line.accessibleName())
        self.setAccessibleDescription(entry_words.spoken_steps(entry) or self._body.content.text[:SPOKEN_CHARS])
        self.fit()
        self.update()

    def _show_question(self, entry: ToolEntry) -> None:
        if not entry.is_waiting or entry.approval is None:
            self._drop_question()
            self.row.drafts.clear()
            return
        if self._question is None or self._question.request is not entry.approval:
            if self._question is not None and entry.approval.is_from_running_call:
                self.row.drafts.clear()  # they belong to the previous question
            self._drop_question()
            from desktop_agent.ui.chat.cards.approval import question_card  # with the first question

            place = CardPlace(entry.approval, self.row.drafts, self.styles, self.entry_actions, self, self._loader)
            self._question = question_card(place)
            self._question.resized.connect(self.resized)
        if entry.judged is not None:
            self._question.show_judgement(entry.judged)
        self._question.show()

    def _drop_question(self) -> None:
        if self._question is not None:
            discard(self._question)
            self._question = None

    @property
    def is_column_shown(self) -> bool:
        return self._question is None and self._body.is_shown

    @property
    def is_pinned(self) -> bool:
        return self._question is not None or super().is_pinned

    @property
    def is_ticking(self) -> bool:
        return entry_of(self.row).state == "started" and self._question is None

    def tick(self) -> None:
        self._line.set_summary(_summary(entry_of(self.row), self._now))
        if self.styles.theme.moves:
            self._line.pulse()

    def source(self) -> str:
        return self._body.content.text

    def colour_next(self, top: int, bottom: int, lexers: Lexers) -> bool:
        if not self.is_column_shown or not self._body.colour(lexers):
            return False
        self._body.show_content()
        self.lay_out(top, bottom)
        self.update()
        return True

    def show_matches(self, matches: Sequence[TextMatch], current: TextMatch | None) -> None:
        super().show_matches(matches, current)
        self._line.set_found(is_found=any(match.block < 0 for match in matches[:1]), is_current=current in matches[:1])

    def set_shortcut(self, *, is_enabled: bool) -> None:
        if self._question is not None:
            self._question.set_shortcut(is_enabled=is_enabled)

    def rearm(self) -> None:
        if self._question is not None:
            self._question.rearm()

    def tab_stops(self) -> list[QWidget]:
        stops = [self._line, *self._buttons.tab_stops(), self]
        window = self.window()
        inside = (child for child in self.findChildren(QWidget) if child.window() is window)  # not the list of a picker
        return [*stops, *(child for child in inside if child not in stops)]

    def set_width(self, width: int) -> None:
        self._width = width
        if self._question is not None:
            self._question.set_width(width)
            return
        self._line.setGeometry(0, 0, width, self.styles.card_line)
        self._line.reserved = self._buttons.place(width)
        self.column_origin = self._body.place(width)
        entry, font, room = entry_of(self.row), self.styles.secondary, width - 2 * Space.M
        said = (explained(explanation_of(entry.call)), entry_words.asked(entry)) if self.row.is_unfolded else ()
        texts = *((text, "muted") for text in said if text), *entry_words.notes(entry)
        self._notes = [
            (TextPassage(RichText(text), font, (), width=room, line_height=CODE_LINE), role) for text, role in texts
        ]

    def entry_height(self) -> int:
        if self._question is not None:
            return self._question.height()
        notes = sum(note.height for note, _ in self._notes) + 2 * Space.S if self._notes else 0
        return self._body.bottom + notes

    def arrange(self) -> None:
        self._body.arrange(self._width)
        self.offer_links()

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        if self._question is not None:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        path = QPainterPath()
        path.addRoundedRect(QRectF(0.5, 0.5, self.width() - 1, self.height() - 1), Radius.CARD, Radius.CARD)
        border, bottom = QPen(self.styles.colour("border"), 1), self._body.bottom
        if self.is_column_shown:
            painter.save()
            painter.setClipPath(path)
            self._body.paint(painter, self.width())
            painter.setPen(border)
            if self._notes:
                painter.drawLine(QLineF(0, bottom, self.width(), bottom))
            painter.restore()
        painter.setPen(border)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)
        y = bottom + Space.S - 1
        for note, role in self._notes:
            painter.setPen(self.styles.colour(role))
            note.draw(painter, at=QPoint(Space.M, y))
            y += note.height

    def follow(self, href: str) -> None:
        if is_web_address(href) or file_of(href) is not None:
            super().follow(href)
        else:
            self._body.follow(href)

    def _on_clicked(self) -> None:
        if self._body.is_foldable:
            self.row.is_unfolded = not self._body.is_unfolded
            self._on_unfolded()

    def _on_body_changed(self) -> None:
        self.refresh()
        self.body_changed.emit()

    def _on_unfolded(self) -> None:
        self.refresh()
        self.resized.emit()


def _summary(entry: ToolEntry, now: Callable[[], datetime]) -> str:
    if entry.state != "started":
        return entry_words.summary(entry)
    seconds = (now() - entry.started_at).total_seconds() - entry.waited_s
    return entry_words.running(entry, seconds)
