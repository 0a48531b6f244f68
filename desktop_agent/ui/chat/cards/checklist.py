"""The bodies of plans: a checklist whose marks show the state of each step, and a document that the user accepts."""

from collections.abc import Callable
from typing import ClassVar

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import TodoItem, TodoStatus
from desktop_agent.core.transcript import ToolEntry, todos_of
from desktop_agent.ui.chat.cards.tool_body import Content, ContentWriter, ToolBody, entry_of, one_line
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.markdown.inline import LINE_BREAK
from desktop_agent.ui.chat.text.styles import MUTED_TINT, Tint
from desktop_agent.ui.theme import Space
from desktop_agent.ui.wording.visible_text import utf16_length

_MAX_TEXT = 600
_MARK_WIDTH = 22
MARK_RADIUS = 5.0

_LOOKS: dict[TodoStatus, Tint | None] = {
    "pending": None,
    "in_progress": Tint("accent_text", is_bold=True),
    "completed": MUTED_TINT,
    "cancelled": Tint("muted", is_struck=True),
}
_SIGNS: dict[TodoStatus, str] = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]", "cancelled": "[-]"}


class PlanBody(ToolBody):
    ground: ClassVar[str] = "surface"

    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        return entry.result is not None and bool(todos_of(entry.result))

    @classmethod
    def read(cls, row: EntryRow) -> Content:
        writer = ContentWriter()
        for item in _steps(row):
            writer.add(one_line(item.content, _MAX_TEXT) or "…", _LOOKS[item.status])
            writer.end_line()
        return writer.content("plain")

    @classmethod
    def copied(cls, row: EntryRow) -> str:
        return "\n".join(f"{_SIGNS[item.status]} {item.content}" for item in _steps(row))

    @property
    def left(self) -> int:
        return Space.M + _MARK_WIDTH

    def paint_beside(self, painter: QPainter, width: int) -> None:
        steps = iter(_steps(self.row))
        for index in range(len(self.column.text.blocks)):
            at = 0
            for line in self.column.text.shown(index).split(LINE_BREAK):
                step = next(steps, None)
                area = self.column.rects(index, at, at + 1)
                if step is not None and area:
                    middle = area[0].center().y()
                    paint_mark(painter, QPointF(Space.M + MARK_RADIUS, middle), step.status, self.styles.colour)
                at += utf16_length(line) + 1


class PlanTextBody(ToolBody):
    """The plan that the agent wrote for the user to accept."""

    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        return entry.result is not None and "plan" in entry.result.metadata

    @classmethod
    def read(cls, row: EntryRow) -> Content:
        writer = ContentWriter()
        result = entry_of(row).result
        for line in str(result.metadata["plan"]).splitlines() if result is not None else ():
            writer.add(named(line), Tint("text", is_bold=True) if line.startswith("#") else None)
            writer.end_line()
        return writer.content("plain")

    @classmethod
    def is_open_at_first(cls, row: EntryRow) -> bool:
        return True


def paint_mark(painter: QPainter, at: QPointF, status: TodoStatus, colour_of: Callable[[str], QColor]) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    circle = QRectF(at.x() - MARK_RADIUS, at.y() - MARK_RADIUS, 2 * MARK_RADIUS, 2 * MARK_RADIUS)
    colour = colour_of("accent" if status in ("in_progress", "completed") else "control_border")
    painter.setPen(QPen(colour, 1.5))
    painter.setBrush(colour if status == "completed" else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(circle)
    if status == "in_progress":
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawPie(circle, 90 * 16, 180 * 16)
    elif status == "completed":
        painter.setPen(QPen(colour_of("on_accent"), 1.4))
        painter.drawPolyline([at + QPointF(-2.4, 0.2), at + QPointF(-0.7, 2), at + QPointF(2.5, -1.9)])
    elif status == "cancelled":
        painter.drawLine(QLineF(at - QPointF(2.4, 0), at + QPointF(2.4, 0)))


def _steps(row: EntryRow) -> tuple[TodoItem, ...]:
    entry = entry_of(row)
    return (todos_of(entry.result) if entry.result is not None else None) or ()
