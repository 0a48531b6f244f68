"""A tool call: a card with one line, a body with its result, and notes.

Until the user answers, the question about the call replaces the card.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from PySide6.QtCore import QCoreApplication, QLineF, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.families import family_of
from desktop_agent.ui.chat.cards.tool_body import Bar, CardLoader, Content, ToolBody, entry_of
from desktop_agent.ui.chat.entries.entry import EntryPlace, EntryWidget
from desktop_agent.ui.chat.entries.markdown_entries import SPOKEN_CHARS, LinkedEntry
from desktop_agent.ui.chat.entries.questions import QuestionCard
from desktop_agent.ui.chat.entries.tool_line import CallButtons, CallNotes, ToolLine
from desktop_agent.ui.chat.markdown.inline import is_web_address
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.column_text import TextMatch
from desktop_agent.ui.chat.text.file_links import file_of
from desktop_agent.ui.theme import Radius, Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.text_colours import Lexers

_BAR = 26


class CallBody:
    """Reads the body of one family and paints it below the line of its card. Its text is in `column`."""

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
        self.inside.set_shown(is_shown=False)
        self.inside.deleteLater()
        self._more.hide()
        self._more.deleteLater()

    # -- content --

    def read(self) -> None:
        self.content = self.inside.read(self._row)
        blocks, marks = self.content.blocks()
        self._column.set_blocks(blocks, {}, 0, marks)

    def show(self, *, is_asked_about: bool) -> None:
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
        """Whether the body should be visible, loaded or not."""
        if self._row.is_unfolded is not None:
            return self._row.is_unfolded
        return self.inside.is_open_at_first(self._row)

    @property
    def is_foldable(self) -> bool:
        return self._is_there or bool(entry_words.asked(entry_of(self._row)))

    @property
    def is_unfolded(self) -> bool:
        """Whether the body, or what else there is to say, is unfolded."""
        return self._is_wanted if self._is_there else bool(self._row.is_unfolded)

    @property
    def is_shown(self) -> bool:
        return self._is_there and self._is_wanted

    # -- geometry --

    def place(self, width: int) -> QPoint:
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


class ToolWidget(LinkedEntry):
    """The card of a tool call, or the question about it while it waits for the user."""

    def __init__(self, place: EntryPlace, now: Callable[[], datetime], loader: CardLoader | None) -> None:
        super().__init__(place, Column(place.styles, ground="", is_framed=False))
        self._now = now
        self._loader = loader
        self._question: QuestionCard | None = None
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
        self._show_question(entry)
        is_asked_about = self._question is not None
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
        self.setAccessibleDescription(entry_words.spoken_steps(entry) or self._body.content.text[:SPOKEN_CHARS])
        self.fit()
        self.update()

    def _show_question(self, entry: ToolEntry) -> None:
        """Show a card while the call waits for an answer; afterwards drop it and its drafts."""
        if not entry.is_waiting or entry.approval is None:
            self._drop_question()
            self.row.drafts.clear()
            return
        if self._question is None or self._question.request is not entry.approval:
            if self._question is not None and entry.approval.question is not None:
                self.row.drafts.clear()  # they were for what was asked before
            self._drop_question()
            from desktop_agent.ui.chat.question.approval import question_card  # with the first question

            self._question = question_card(entry.approval, self.row.drafts, self.styles, self.entry_actions, self)
            self._question.resized.connect(self.resized)
        if entry.judged is not None:
            self._question.show_judgement(entry.judged)
        self._question.show()

    def _drop_question(self) -> None:
        if self._question is not None:
            self._question.hide()
            self._question.deleteLater()
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
        if self._question is not None:
            self._question.set_shortcut(is_enabled=is_enabled)

    def hold_off(self) -> None:
        if self._question is not None:
            self._question.hold_off()

    def tab_stops(self) -> list[QWidget]:
        stops = [self._line, *self._buttons.tab_stops(), self]
        window = self.window()
        inside = (child for child in self.findChildren(QWidget) if child.window() is window)  # not the list of a picker
        return [*stops, *(child for child in inside if child not in stops)]

    # -- geometry --

    def set_width(self, width: int) -> None:
        self._width = width
        if self._question is not None:
            self._question.set_width(width)
            return
        self._line.setGeometry(0, 0, width, self.styles.card_line)
        self._line.reserve(self._buttons.place(width))
        self.column_origin = self._body.place(width)
        self._notes.read(entry_of(self.row), width, says_answer=bool(self.row.is_unfolded))

    def entry_height(self) -> int:
        if self._question is not None:
            return self._question.height()
        return self._body.bottom + self._notes.height

    def arrange(self) -> None:
        self._body.arrange(self._width)
        self.offer_links()

    # -- painting --

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
    if entry.state != "started":
        return entry_words.summary(entry)
    seconds = (now() - entry.started_at).total_seconds() - entry.waited_s
    return entry_words.running(entry, seconds)
