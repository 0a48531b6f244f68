"""A tool call: a card with one line, a body with its result, and notes; or the question about the call."""

from collections.abc import Callable, Sequence
from datetime import datetime

from PySide6.QtCore import QLineF, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.core.transcript import ToolEntry, explanation_of
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.families import family_of
from desktop_agent.ui.chat.cards.tool_body import CardLoader, ToolBody, entry_of
from desktop_agent.ui.chat.entries.entry import EntryPlace
from desktop_agent.ui.chat.entries.markdown_entries import SPOKEN_CHARS, LinkedEntry
from desktop_agent.ui.chat.entries.questions import CardPlace, QuestionCard
from desktop_agent.ui.chat.entries.tool_line import CallButtons, ToolLine
from desktop_agent.ui.chat.markdown.inline import RichText, is_web_address
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.column_text import TextMatch
from desktop_agent.ui.chat.text.file_links import file_of
from desktop_agent.ui.chat.text.passage import TextPassage
from desktop_agent.ui.chat.text.styles import CODE_LINE
from desktop_agent.ui.theme import Radius, Space
from desktop_agent.ui.widgets.layouts import discard
from desktop_agent.ui.widgets.text_colours import Lexers
from desktop_agent.ui.wording.visible_text import explained


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
            if self._question is not None and entry.approval.question is not None:
                self.row.drafts.clear()  # they belong to the previous question
            self._drop_question()
            from desktop_agent.ui.chat.question.approval import question_card  # with the first question

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
