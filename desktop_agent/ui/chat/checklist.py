"""The agent's to-do list, on the card of its call and above the message field; and the plan that it writes as text."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QScrollArea, QWidget

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import TodoItem, TodoStatus
from desktop_agent.core.transcript import ToolEntry, todos_of
from desktop_agent.ui.chat.cards.tool_body import Content, ContentWriter, ToolBody, entry_of, short_line
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.entry_words import done_of_all, spoken_step
from desktop_agent.ui.chat.markdown.parser import LINE_BREAK
from desktop_agent.ui.chat.text.styles import MUTED_TINT, Tint
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label, restyle
from desktop_agent.ui.widgets.layouts import STRETCH, discard, hairline, hbox, scroll_down, set_names, vbox
from desktop_agent.ui.wording import one_line, plain_tooltip, utf16_length, visible

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
            writer.add(short_line(item.content, _MAX_TEXT) or "…", _LOOKS[item.status])
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


_MAX_WIDTH = 896
_ROW_HEIGHT = 24
_MAX_ROWS = 8
_OPEN = ("in_progress", "pending")


class TodoPanel(QWidget):
    """Hidden while there is nothing to do."""

    plan_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        set_names(self, "todoPanel", self.tr("Plan"))
        self._theme = theme
        self._current = _Step(theme)
        self._current.setObjectName("todoCurrent")
        self._heading = make_label(self.tr("Plan"), role="heading")
        self._toggle = compact_button("", "todoToggle", clicked=self._toggle_steps, variant="flat")
        self._is_open = False
        self._plan = compact_button(self.tr("Open plan"), "todoPlanButton", clicked=self.plan_requested, variant="flat")
        close = compact_button(
            "✕",
            "todoClose",
            accessible_name=self.tr("Hide the plan"),
            clicked=self.hide,
            variant="flat",
            tooltip=self.tr("Hide the plan until it changes"),
        )
        self._scroll = QScrollArea()
        self._scroll.setObjectName("todoSteps")
        self._scroll.hide()
        content = QWidget()
        self._list = vbox(on=content, margins=(0, 0, Space.XS, 0))
        self._list.setAlignment(Qt.AlignmentFlag.AlignTop)
        scroll_down(self._scroll, content)
        inside = QWidget()
        inside.setMaximumWidth(_MAX_WIDTH)
        head = hbox((self._current, 1), (self._heading, 1), self._plan, self._toggle, close, spacing=Space.S)
        vbox(head, self._scroll, on=inside, margins=(Space.XL, Space.XS, Space.L, Space.XS), spacing=Space.XS)
        vbox(hairline(), hbox(STRETCH, (inside, 1), STRETCH), on=self)
        self._todos: tuple[TodoItem, ...] = ()
        self._show_steps()
        self.hide()

    def show_todos(self, todos: Sequence[TodoItem], *, is_running: bool, has_plan: bool = False) -> None:
        self._plan.setVisible(has_plan)
        is_news, self._todos = self._todos != tuple(todos), tuple(todos)
        current = next((todo for status in _OPEN for todo in todos if todo.status == status), None)
        done = TodoItem(id="", content=self.tr("All steps are done"), status="completed")
        self._current.show_todo(current or done)
        self._show_steps()
        if not todos or not (current or is_running):
            self.hide()
        elif is_news:
            self.show()

    def _toggle_steps(self) -> None:
        self._is_open = not self._is_open
        self._show_steps()

    def _show_steps(self) -> None:
        is_open = self._is_open
        self._current.setVisible(not is_open)
        self._heading.setVisible(is_open)
        count = done_of_all(self._todos)
        self._toggle.setText(f"{count} {'▾' if is_open else '▸'}")
        self._toggle.setAccessibleName(self.tr("Plan, {0}").format(count))
        self._toggle.setToolTip(self.tr("Hide the steps") if is_open else self.tr("Show all steps"))
        self._scroll.setVisible(is_open)
        wanted = self._todos if is_open else ()
        while self._list.count() > len(wanted):
            item = self._list.takeAt(self._list.count() - 1)
            if item is not None and (row := item.widget()) is not None:
                discard(row)
        for index, todo in enumerate(wanted):
            if index == self._list.count():
                self._list.addWidget(_Step(self._theme))
            row = self._list.itemAt(index).widget()  # pyright: ignore[reportOptionalMemberAccess] - just added
            assert isinstance(row, _Step)
            row.show_todo(todo)
        self._scroll.setFixedHeight(min(len(wanted), _MAX_ROWS) * _ROW_HEIGHT)


class _Step(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setFixedHeight(_ROW_HEIGHT)
        self._theme = theme
        self._status: TodoStatus = "pending"
        self._text = ElidedLabel(takes_room=True)
        hbox((self._text, 1), on=self, margins=(round(2 * MARK_RADIUS) + Space.S, 0, 0, 0))
        theme.changed.connect(self.update)

    def show_todo(self, todo: TodoItem) -> None:
        self._status = todo.status
        self._text.setText(one_line(todo.content))
        self._text.setToolTip(plain_tooltip(visible(todo.content)))
        is_current = todo.status == "in_progress"
        restyle(self._text, "role", "strong" if is_current else "" if todo.status == "pending" else "secondary")
        self.setAccessibleName(spoken_step(todo))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            paint_mark(painter, QPointF(MARK_RADIUS + 1, self.height() / 2), self._status, self._theme.colour)
