"""A tool call: a card with one line, a body that shows what came of it, and what else must be said about it."""

from collections.abc import Callable, Sequence
from datetime import datetime

from PySide6.QtCore import QLineF, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.families import family_of
from desktop_agent.ui.chat.cards.tool_body import CardLoader, entry_of
from desktop_agent.ui.chat.entries.base import EntryPlace
from desktop_agent.ui.chat.entries.calls.call_body import CallBody
from desktop_agent.ui.chat.entries.calls.call_buttons import CallButtons
from desktop_agent.ui.chat.entries.calls.call_notes import CallNotes
from desktop_agent.ui.chat.entries.calls.call_question import CallQuestion
from desktop_agent.ui.chat.entries.calls.tool_line import ToolLine
from desktop_agent.ui.chat.entries.linked import LinkedEntry
from desktop_agent.ui.chat.markdown.inline import is_web_address
from desktop_agent.ui.chat.syntax_colours import Lexers
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.column_text import TextMatch
from desktop_agent.ui.chat.text.file_links import file_of
from desktop_agent.ui.theme import Radius

_SPOKEN_CHARS = 4_000


class ToolWidget(LinkedEntry):
    """The card of a tool call, or the question about it while it waits for the user."""

    def __init__(
        self,
        place: EntryPlace,
        now: Callable[[], datetime],
        loader: CardLoader | None = None,
    ) -> None:
        super().__init__(place, Column(place.styles, ground="", is_framed=False))
        self._now = now
        self._loader = loader
        self._width = 0
        self._question = CallQuestion(self)
        self._line = ToolLine(place.styles, self)
        self._line.clicked.connect(self._on_clicked)
        self._buttons = CallButtons(self)
        self._body = self._make_body()
        self._notes = CallNotes(place.styles)
        self.refresh()

    def _make_body(self) -> CallBody:
        body = CallBody(family_of(entry_of(self.row)), self, self._loader)
        body.inside.changed.connect(self._on_body_changed)
        body.inside.unfolded.connect(self._on_unfolded)
        return body

    # -- content --

    def refresh(self) -> None:
        entry = entry_of(self.row)
        self._question.show()
        is_asked_about = self._question.card is not None
        if type(self._body.inside) is not family_of(entry):
            self._body.drop()
            self._body = self._make_body()
        self._body.read()
        self._line.show_call(entry, _summary(entry, self._now), is_superseded=self.row.is_superseded)
        self._line.setVisible(not is_asked_about)
        self._line.set_folding(is_foldable=self._body.is_foldable, is_unfolded=self._body.is_unfolded)
        self._buttons.show(entry, is_running=self.is_ticking, is_asked_about=is_asked_about)
        self._body.show(is_asked_about=is_asked_about)
        self.setAccessibleName(self._line.accessibleName())
        self.setAccessibleDescription(entry_words.spoken_steps(entry) or self._body.content.text[:_SPOKEN_CHARS])
        if self._width:
            self.set_width(self._width)
        self.update()

    @property
    def is_column_shown(self) -> bool:
        return self._question.card is None and self._body.is_shown

    @property
    def is_pinned(self) -> bool:
        return self._question.card is not None or super().is_pinned

    @property
    def is_ticking(self) -> bool:
        return entry_of(self.row).state == "started" and self._question.card is None

    def tick(self) -> None:
        self._line.set_summary(_summary(entry_of(self.row), self._now))
        if self.styles.theme.moves:
            self._line.pulse()

    def source(self) -> str:
        return self._body.content.text

    def colour_next(self, top: int, bottom: int, lexers: Lexers) -> bool:
        if not self.is_column_shown or not self._body.inside.colour(lexers):
            return False
        self._body.read()
        self.lay_out(top, bottom)
        self.update()
        return True

    def show_matches(self, matches: Sequence[TextMatch], current: TextMatch | None) -> None:
        super().show_matches(matches, current)
        self._line.set_found(is_found=any(match.block < 0 for match in matches[:1]), is_current=current in matches[:1])

    def set_shortcut(self, *, is_enabled: bool) -> None:
        if self._question.card is not None:
            self._question.card.set_shortcut(is_enabled=is_enabled)

    def hold_off(self) -> None:
        if self._question.card is not None:
            self._question.card.hold_off()

    def tab_stops(self) -> list[QWidget]:
        stops = [self._line, *self._buttons.tab_stops(), self]
        window = self.window()
        inside = (child for child in self.findChildren(QWidget) if child.window() is window)  # not the list of a picker
        return [*stops, *(child for child in inside if child not in stops)]

    # -- geometry --

    def set_width(self, width: int) -> None:
        self._width = width
        if self._question.card is not None:
            self._question.card.set_width(width)
            return
        self._line.setGeometry(0, 0, width, self.styles.card_line)
        self._line.reserve(self._buttons.place(width))
        self.column_origin = self._body.place(width)
        self._notes.read(entry_of(self.row), width, says_answer=bool(self.row.is_unfolded))

    def entry_height(self) -> int:
        if self._question.card is not None:
            return self._question.card.height()
        return self._body.bottom + self._notes.height

    def arrange(self) -> None:
        self._body.arrange(self._width)
        self.offer_links()

    # -- painting --

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        if self._question.card is not None:
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
            if self._notes.height:
                painter.drawLine(QLineF(0, bottom, self.width(), bottom))
            painter.restore()
        painter.setPen(border)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)
        self._notes.paint(painter, bottom)

    # -- what the user does --

    def follow(self, href: str) -> None:
        if is_web_address(href) or file_of(href) is not None:
            super().follow(href)
        else:
            self._body.inside.follow(href)

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
    """Return what stands on the right of the line: what came of it, or how long it has been running."""
    if entry.state != "started":
        return entry_words.summary(entry)
    seconds = (now() - entry.started_at).total_seconds() - entry.waited_s
    return entry_words.running(entry, seconds)
