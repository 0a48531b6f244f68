"""A tool call: a card with one line, what it printed when that is worth seeing, and what must be said about it."""

from collections.abc import Callable, Sequence
from datetime import datetime

from PySide6.QtCore import QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.model import Aborted, Denied
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import words
from desktop_agent.ui.chat.activity import moves
from desktop_agent.ui.chat.entries.approval import ApprovalCard
from desktop_agent.ui.chat.entries.base import EntryWidget
from desktop_agent.ui.chat.entries.tool_line import ToolLine
from desktop_agent.ui.chat.markdown.blocks import Block, code_parts
from desktop_agent.ui.chat.markdown.inline import RichText
from desktop_agent.ui.chat.output import Excerpt, first_lines, last_lines, readable
from desktop_agent.ui.chat.row import Row
from desktop_agent.ui.chat.text.column import Column, Match
from desktop_agent.ui.chat.text.passage import TextPassage
from desktop_agent.ui.chat.text.styles import CODE_LINE, TextStyles
from desktop_agent.ui.theme import Radius, Space

_HEADER = 32
_SHOWN_LINES = 12
_MORE_LINE = 26


def output_of(entry: ToolEntry) -> Excerpt:
    """Return the part of a call's output that its card shows: the end of what runs, the beginning of what was read."""
    if isinstance(entry.decision, Denied | Aborted):
        return Excerpt("", 0)  # the result only tells the model what its card says already
    result = entry.result
    if result is None or (entry.output_tail and not result.is_error):
        return last_lines(entry.output_tail, _SHOWN_LINES)
    text = readable(result.content)
    if words.is_command(entry.call.name):
        return last_lines(text, _SHOWN_LINES)
    return first_lines(text, _SHOWN_LINES)


class ToolWidget(EntryWidget):
    """The card of a tool call, or the question about it while it waits for the person.

    Signals:
        stop_requested: the running turn shall stop.
        changes_requested: show what the call (id) changed.
        output_requested: show the whole output of the entry.
        approval_answered: call id and decision.
        approval_opened: look at the question (call id) in full.
    """

    stop_requested = Signal()
    changes_requested = Signal(str)
    output_requested = Signal(object)
    approval_answered = Signal(str, object)
    approval_opened = Signal(str)

    def __init__(self, row: Row, styles: TextStyles, parent: QWidget, now: Callable[[], datetime]) -> None:
        super().__init__(row, styles, parent, Column(styles, ground="sunken", is_framed=False))
        self._now = now
        self._width = 0
        self._shown = Excerpt("", 0)
        self._notes: list[tuple[TextPassage, str]] = []
        self._approval: ApprovalCard | None = None
        self._line = ToolLine(styles, self)
        self._line.clicked.connect(self._on_clicked)
        self._stop = self._button(self.tr("Stop"), self.tr("Stop this turn"))
        self._stop.clicked.connect(self.stop_requested)
        self._change = self._button(self.tr("Show change ▸"), self.tr("Show change"), variant="flat")
        self._change.clicked.connect(self._on_change)
        self._more = self._button(self.tr("Show all output"), self.tr("Show all output"), variant="flat")
        self._more.clicked.connect(self._on_more)
        self.refresh()

    def _button(self, text: str, name: str, variant: str = "") -> QPushButton:
        button = QPushButton(text, self)
        button.setProperty("compact", True)
        if variant:
            button.setProperty("variant", variant)
        button.setAccessibleName(name)
        button.hide()
        return button

    def entry(self) -> ToolEntry:
        """The entry it shows."""
        entry = self.row.entry
        assert isinstance(entry, ToolEntry)
        return entry

    # -- content --

    def refresh(self) -> None:
        entry = self.entry()
        self._ask(entry)
        self._shown = output_of(entry)
        is_foldable = bool(self._shown.text) and not (entry.state == "completed" and entry.changes)
        self._line.show_call(entry, self._summary())
        self._line.set_folding(is_foldable=is_foldable, is_unfolded=is_foldable and self.is_column_shown)
        self._line.setVisible(self._approval is None)
        self._stop.setVisible(self.is_ticking)
        self._change.setVisible(bool(entry.changes) and self._approval is None)
        blocks = [
            Block("code", part.text, part.start, part.start + len(part.text), part.joint)
            for part in code_parts(self._shown.text)
        ]
        self.column.set_blocks(blocks if self._shown.text else [], {}, 0)
        self.setAccessibleName(self._line.accessibleName())
        if self._width:
            self.set_width(self._width)
        self.update()

    def _ask(self, entry: ToolEntry) -> None:
        """Show the question while there is one."""
        if entry.is_waiting and entry.approval is not None:
            if self._approval is not None and self._approval.request is entry.approval:
                return
            self._drop_question()
            self._approval = ApprovalCard(entry.approval, self.row.drafts, self.styles, self)
            self._approval.answered.connect(self.approval_answered)
            self._approval.opened.connect(self.approval_opened)
            self._approval.resized.connect(self._on_question_resized)
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
            return words.summary(entry)
        seconds = (self._now() - entry.started_at).total_seconds()
        return words.duration(seconds) if seconds >= 0 else ""

    @property
    def is_column_shown(self) -> bool:
        entry = self.entry()
        if self._approval is not None or not self._shown.text or (entry.state == "completed" and entry.changes):
            return False
        if self.row.is_unfolded is not None:
            return self.row.is_unfolded
        return entry.state != "completed" or words.is_command(entry.call.name)

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
        return self._shown.text

    def show_matches(self, matches: Sequence[Match], current: Match | None) -> None:
        super().show_matches(matches, current)
        self._line.set_found(is_found=any(match.block < 0 for match in matches), is_current=current in matches[:1])

    def set_shortcut(self, *, is_enabled: bool) -> None:
        if self._approval is not None:
            self._approval.set_shortcut(is_enabled=is_enabled)

    # -- geometry --

    def set_width(self, width: int) -> None:
        self._width = width
        if self._approval is not None:
            self._approval.set_width(width)
            return
        self._line.setGeometry(0, 0, width, _HEADER)
        right = width - Space.S
        for button in (self._stop, self._change):
            if not button.isHidden():
                size = button.sizeHint()
                button.setGeometry(right - size.width(), (_HEADER - size.height()) // 2, size.width(), size.height())
                button.raise_()
                right -= size.width()
        self._line.reserve(width - Space.S - right + (Space.XS if right < width - Space.S else 0))
        self.column.set_width(width - 2 * Space.M)
        self._notes = [(self._note(text, width), role) for text, role in words.notes(self.entry())]

    def _note(self, text: str, width: int) -> TextPassage:
        return TextPassage(RichText(text), self.styles.secondary, (), width=width - 2 * Space.M, line_height=CODE_LINE)

    def entry_height(self) -> int:
        if self._approval is not None:
            return self._approval.card_height()
        return self._body_bottom() + (sum(note.height for note, _ in self._notes) + 2 * Space.S if self._notes else 0)

    def _body_bottom(self) -> int:
        """Where the header or, if it is unfolded, the output ends."""
        if not self.is_column_shown:
            return _HEADER
        more = _MORE_LINE if self._has_more() else 0
        return _HEADER + 2 * Space.S + self.column.height + more

    def _has_more(self) -> bool:
        entry = self.entry()
        is_stored = entry.result is not None and entry.result.output is not None
        return self._shown.hidden_lines > 0 or entry.output_chars > len(entry.output_tail) or is_stored

    def _is_tail(self) -> bool:
        entry = self.entry()
        return entry.result is None or bool(entry.output_tail) or words.is_command(entry.call.name)

    def lay_out(self, top: int, bottom: int) -> None:
        above = _MORE_LINE if self._has_more() and self._is_tail() else 0
        self.column_origin = QPoint(Space.M, _HEADER + Space.S + above)
        super().lay_out(top, bottom)

    def arrange(self) -> None:
        has_more = self.is_column_shown and self._has_more()
        if has_more:
            size = self._more.sizeHint()
            top = _HEADER + Space.XS if self._is_tail() else self._body_bottom() - _MORE_LINE
            self._more.setGeometry(QRect(QPoint(self._width - size.width() - Space.XS, top), size))
        self._more.setVisible(has_more)

    # -- painting --

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        if self._approval is not None:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(0.5, 0.5, self.width() - 1, self.height() - 1)
        path = QPainterPath()
        path.addRoundedRect(card, Radius.CARD, Radius.CARD)
        if self.is_column_shown:
            body = QRectF(0, _HEADER, self.width(), self._body_bottom() - _HEADER)
            painter.save()
            painter.setClipPath(path)
            painter.fillRect(body, self.colour("sunken"))
            painter.setPen(self.colour("border"))
            painter.drawLine(body.topLeft(), body.topRight())
            if self._notes:
                painter.drawLine(body.bottomLeft(), body.bottomRight())
            painter.restore()
            self._paint_hidden_count(painter)
        painter.setPen(QPen(self.colour("border"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)
        self._paint_notes(painter)

    def _paint_hidden_count(self, painter: QPainter) -> None:
        if not self._has_more():
            return
        lines = words.counted(self._shown.hidden_lines, "line", "lines")
        if self._is_tail():
            is_cut = self.entry().output_chars > len(self.entry().output_tail)
            text = self.tr("… earlier output") if is_cut else self.tr("… {lines} before").format(lines=lines)
            top = _HEADER + Space.XS
        else:
            text = self.tr("… {lines} more").format(lines=lines) if self._shown.hidden_lines else ""
            top = self._body_bottom() - _MORE_LINE
        painter.setFont(self.styles.secondary)
        painter.setPen(self.colour("muted"))
        painter.drawText(QRectF(Space.M, top, self._width, 22), Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_notes(self, painter: QPainter) -> None:
        y = self._body_bottom() + Space.S - 1
        for note, role in self._notes:
            painter.save()
            painter.translate(Space.M, y)
            painter.setPen(self.colour(role))
            note.draw(painter, ())
            painter.restore()
            y += note.height

    # -- what people do --

    def _on_clicked(self) -> None:
        if self._line.is_foldable:
            self.row.is_unfolded = not self.is_column_shown
            self.refresh()
            self.resized.emit()

    def _on_change(self) -> None:
        self.changes_requested.emit(self.entry().call.id)

    def _on_more(self) -> None:
        self.output_requested.emit(self.entry())

    def _on_question_resized(self) -> None:
        self.set_width(self._width)
        self.resized.emit()
