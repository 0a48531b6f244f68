"""A tool call: a card with one line, a body that shows what came of it, and what else must be said about it."""

from collections.abc import Callable, Sequence
from datetime import datetime

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.activity import moves
from desktop_agent.ui.chat.cards.body import Bar, ToolBody, entry_of
from desktop_agent.ui.chat.cards.content import Content
from desktop_agent.ui.chat.cards.families import family_of
from desktop_agent.ui.chat.cards.source import CardLoader
from desktop_agent.ui.chat.entries.approval import ApprovalCard
from desktop_agent.ui.chat.entries.linked import LinkedEntry
from desktop_agent.ui.chat.entries.tool_line import ToolLine
from desktop_agent.ui.chat.entry_actions import EntryActions
from desktop_agent.ui.chat.lexers import Lexers
from desktop_agent.ui.chat.markdown.inline import RichText, is_web_address
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.highlights import TextMatch
from desktop_agent.ui.chat.text.passage import TextPassage
from desktop_agent.ui.chat.text.styles import CODE_LINE, TextStyles
from desktop_agent.ui.chat.transcript.row_state import RowState
from desktop_agent.ui.theme import Radius, Space
from desktop_agent.ui.wording.tooltips import plain_tooltip

_HEADER = 32
_BAR = 26
_SPOKEN_CHARS = 4_000


class ToolWidget(LinkedEntry):
    """The card of a tool call, or the question about it while it waits for the user."""

    def __init__(
        self,
        row: RowState,
        styles: TextStyles,
        actions: EntryActions,
        parent: QWidget,
        now: Callable[[], datetime],
        loader: CardLoader | None = None,
    ) -> None:
        super().__init__(row, styles, actions, parent, Column(styles, ground="", is_framed=False))
        self._now = now
        self._loader = loader
        self._width = 0
        self._content = Content()
        self._bar: Bar | None = None
        self._widgets_height = 0
        self._notes: list[tuple[TextPassage, str]] = []
        self._approval: ApprovalCard | None = None
        self._line = ToolLine(styles, self)
        self._line.clicked.connect(self._on_clicked)
        self._stop = self._button(self.tr("Stop"), self.tr("Stop this turn"))
        self._stop.clicked.connect(actions.stop_requested)
        self._change = self._button(self.tr("Show change ▸"), self.tr("Show change"), variant="flat")
        self._change.clicked.connect(self._on_change)
        self._recover = self._button(self.tr("Recover"), self.tr("Recover"))
        self._recover.setObjectName("recoverButton")
        self._recover.clicked.connect(self._on_recover)
        self._more = self._button(self.tr("Show all output"), self.tr("Show all output"), variant="flat")
        self._more.clicked.connect(self._on_more)
        self._body = self._make_body(family_of(self.entry()))
        self.refresh()

    def _button(self, text: str, name: str, variant: str = "") -> QPushButton:
        button = QPushButton(text, self)
        button.setProperty("compact", True)
        if variant:
            button.setProperty("variant", variant)
        button.setAccessibleName(name)
        button.hide()
        return button

    def _make_body(self, family: type[ToolBody]) -> ToolBody:
        body = family(self.row, self.styles, self.entry_actions, self, self._loader)
        body.changed.connect(self._on_body_changed)
        body.unfolded.connect(self._on_body_unfolded)
        return body

    def entry(self) -> ToolEntry:
        """The entry it shows."""
        return entry_of(self.row)

    @property
    def bar_text(self) -> str:
        """What stands beside the text about what is not shown of it."""
        return self._bar.text if self._bar is not None else ""

    # -- content --

    def refresh(self) -> None:
        entry = self.entry()
        self._ask(entry)
        family = family_of(entry)
        if type(self._body) is not family:
            self._body.set_shown(is_shown=False)
            self._body.deleteLater()
            self._body = self._make_body(family)
        self._read()
        self._line.show_call(entry, self._summary(), is_superseded=self.row.is_superseded)
        self._line.setVisible(self._approval is None)
        self._stop.setVisible(self.is_ticking)
        self._change.setVisible(bool(entry.changes) and self._approval is None)
        self._offer_recovery(entry)
        self.setAccessibleName(self._line.accessibleName())
        self._show_folding()
        if self._width:
            self.set_width(self._width)
        self.update()

    def _offer_recovery(self, entry: ToolEntry) -> None:
        """Show the button while there is something to put back, and say what."""
        what = entry_words.recovery(entry)
        self._recover.setVisible(bool(what) and self._approval is None)
        self._recover.setToolTip(plain_tooltip(what))
        self._recover.setAccessibleName(self.tr("Recover. {what}").format(what=what) if what else self.tr("Recover"))

    def _read(self) -> None:
        self._content = self._body.read(self.row)
        blocks, marks = self._content.blocks()
        self.column.set_blocks(blocks, {}, 0, marks)
        self.setAccessibleDescription(entry_words.spoken_steps(self.entry()) or self._content.text[:_SPOKEN_CHARS])

    def _show_folding(self) -> None:
        """Show or hide what folds."""
        self._line.set_folding(is_foldable=self._is_foldable, is_unfolded=self.is_unfolded)
        self._bar = self._body.bar() if self.is_column_shown else None
        self._body.set_shown(is_shown=self.is_column_shown)
        if self._wants_body and self._approval is None:
            self._body.load()

    def _ask(self, entry: ToolEntry) -> None:
        """Show the question while there is one."""
        if entry.is_waiting and entry.approval is not None:
            if self._approval is not None and self._approval.request is entry.approval:
                self._approval.show_judgement(entry.judged)
                return
            self._drop_question()
            self._approval = ApprovalCard(entry.approval, self.row.drafts, self.styles, self.entry_actions, self)
            self._approval.resized.connect(self._on_question_resized)
            self._approval.show_judgement(entry.judged)
            self._approval.show()
        else:
            self._drop_question()
            self.row.drafts.clear()

    def _drop_question(self) -> None:
        if self._approval is not None:
            self._approval.hide()
            self._approval.deleteLater()
            self._approval = None

    def _summary(self) -> str:
        entry = self.entry()
        if entry.state != "started":
            return entry_words.summary(entry)
        seconds = (self._now() - entry.started_at).total_seconds() - entry.waited_s
        return entry_words.running(entry, seconds)

    @property
    def _has_body(self) -> bool:
        return bool(self._content.text) or self._body.has_widgets

    @property
    def _is_foldable(self) -> bool:
        return self._has_body or bool(entry_words.asked(self.entry()))

    @property
    def _wants_body(self) -> bool:
        """Whether the body shall be seen, be it there by now or not."""
        if self.row.is_unfolded is not None:
            return self.row.is_unfolded
        return self._body.is_open_at_first(self.row)

    @property
    def is_unfolded(self) -> bool:
        """Whether what can be folded is unfolded: the body, or what else there is to say on demand."""
        return self._wants_body if self._has_body else bool(self.row.is_unfolded)

    @property
    def is_column_shown(self) -> bool:
        return self._approval is None and self._has_body and self.is_unfolded

    @property
    def is_pinned(self) -> bool:
        return self._approval is not None or super().is_pinned

    @property
    def is_ticking(self) -> bool:
        return self.entry().state == "started" and self._approval is None

    def tick(self) -> None:
        self._line.set_summary(self._summary())
        if moves(self):
            self._line.pulse()

    def source(self) -> str:
        return self._content.text

    def colour_next(self, top: int, bottom: int, lexers: Lexers) -> bool:
        if not self.is_column_shown:
            return False
        if not self._body.colour(lexers):
            return False
        self._read()
        self.lay_out(top, bottom)
        self.update()
        return True

    def show_matches(self, matches: Sequence[TextMatch], current: TextMatch | None) -> None:
        super().show_matches(matches, current)
        self._line.set_found(is_found=any(match.block < 0 for match in matches[:1]), is_current=current in matches[:1])

    def set_shortcut(self, *, is_enabled: bool) -> None:
        if self._approval is not None:
            self._approval.set_shortcut(is_enabled=is_enabled)

    def tab_stops(self) -> list[QWidget]:
        stops = [self._line, self._stop, self._recover, self._change, self]
        return [*stops, *(child for child in self.findChildren(QWidget) if child not in stops)]

    # -- geometry --

    def set_width(self, width: int) -> None:
        self._width = width
        if self._approval is not None:
            self._approval.set_width(width)
            return
        self._line.setGeometry(0, 0, width, _HEADER)
        right = width - Space.S
        for button in (self._stop, self._change, self._recover):
            if not button.isHidden():
                size = button.sizeHint()
                button.setGeometry(right - size.width(), (_HEADER - size.height()) // 2, size.width(), size.height())
                button.raise_()
                right -= size.width()
        self._line.reserve(width - Space.S - right + (Space.XS if right < width - Space.S else 0))
        self.column.set_width(width - self._body.left - Space.M)
        self._place_body()
        self._notes = [(self._note(text, width), role) for text, role in self._texts()]

    def _place_body(self) -> None:
        above = _BAR if self._bar is not None and self._bar.is_above else 0
        self.column_origin = QPoint(self._body.left, _HEADER + Space.S + above)
        self._widgets_height = 0
        if self.is_column_shown and self._body.has_widgets:
            top = _HEADER + Space.M
            self._widgets_height = self._body.place(QRect(Space.M, top, self._width - 2 * Space.M, 0)) + Space.S

    def _texts(self) -> list[tuple[str, str]]:
        """Return what is said below the body."""
        entry = self.entry()
        asked = entry_words.asked(entry) if self.row.is_unfolded else ""
        return [*([(asked, "muted")] if asked else []), *entry_words.notes(entry)]

    def _note(self, text: str, width: int) -> TextPassage:
        return TextPassage(RichText(text), self.styles.secondary, (), width=width - 2 * Space.M, line_height=CODE_LINE)

    def entry_height(self) -> int:
        if self._approval is not None:
            return self._approval.card_height()
        return self._body_bottom() + (sum(note.height for note, _ in self._notes) + 2 * Space.S if self._notes else 0)

    def _body_bottom(self) -> int:
        """Where the header or, if it is unfolded, the body ends."""
        if not self.is_column_shown:
            return _HEADER
        bar = _BAR if self._bar is not None else 0
        return _HEADER + 2 * Space.S + self.column.height + self._widgets_height + bar

    def arrange(self) -> None:
        bar = self._bar if self._approval is None else None
        if bar is not None and bar.button:
            if self._more.text() != bar.button:
                self._more.setText(bar.button)
                self._more.setAccessibleName(bar.button)
            size = self._more.sizeHint()
            self._more.setGeometry(QRect(QPoint(self._width - size.width() - Space.XS, self._bar_top()), size))
        self._more.setVisible(bar is not None and bool(bar.button))
        self.offer_links()

    def _bar_top(self) -> int:
        is_above = self._bar is not None and self._bar.is_above
        return _HEADER + Space.XS if is_above else self._body_bottom() - _BAR - Space.XS // 2

    # -- painting --

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        if self._approval is not None:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        path = QPainterPath()
        path.addRoundedRect(QRectF(0.5, 0.5, self.width() - 1, self.height() - 1), Radius.CARD, Radius.CARD)
        if self.is_column_shown:
            painter.save()
            painter.setClipPath(path)
            self._paint_body(painter)
            painter.restore()
        painter.setPen(QPen(self.styles.colour("border"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)
        self._paint_notes(painter)

    def _paint_body(self, painter: QPainter) -> None:
        body = QRectF(0, _HEADER, self.width(), self._body_bottom() - _HEADER)
        painter.fillRect(body, self.styles.colour(self._body.ground))
        painter.save()
        painter.translate(0, self.column_origin.y())
        self._body.paint(painter, self.column, self.width())
        painter.restore()
        painter.setPen(self.styles.colour("border"))
        painter.drawLine(body.topLeft(), body.topRight())
        if self._notes:
            painter.drawLine(body.bottomLeft(), body.bottomRight())
        if self._bar is not None:
            painter.setFont(self.styles.secondary)
            painter.setPen(self.styles.colour("muted"))
            line = QRectF(Space.M, self._bar_top(), self._width, 22)
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, self._bar.text)

    def _paint_notes(self, painter: QPainter) -> None:
        y = self._body_bottom() + Space.S - 1
        for note, role in self._notes:
            painter.save()
            painter.translate(Space.M, y)
            painter.setPen(self.styles.colour(role))
            note.draw(painter, ())
            painter.restore()
            y += note.height

    # -- what the user does --

    def follow(self, href: str) -> None:
        if is_web_address(href):
            super().follow(href)
        else:
            self._body.follow(href)

    def _on_clicked(self) -> None:
        if self._line.is_foldable:
            self.row.is_unfolded = not self.is_unfolded
            self.refresh()
            self.resized.emit()

    def _on_body_changed(self) -> None:
        self.refresh()
        self.body_changed.emit()

    def _on_body_unfolded(self) -> None:
        self.refresh()
        self.resized.emit()

    def _on_change(self) -> None:
        self.entry_actions.changes_requested.emit(self.entry().call.id)

    def _on_recover(self) -> None:
        self.entry_actions.recover_requested.emit(self.entry().call.id)

    def _on_more(self) -> None:
        self._body.on_bar_clicked()

    def _on_question_resized(self) -> None:
        self.set_width(self._width)
        self.resized.emit()
