"""The agent's to-do list above the message field: the current step, and all steps when it is opened."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QScrollArea, QWidget

from desktop_agent.core.protocol.model import TodoItem, TodoStatus
from desktop_agent.ui.chat.cards.checklist import MARK_RADIUS, paint_mark
from desktop_agent.ui.chat.entry_words import done_of_all, spoken_step
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label, restyle
from desktop_agent.ui.widgets.layouts import STRETCH, discard, hairline, hbox, scroll_down, set_names, vbox
from desktop_agent.ui.wording.visible_text import one_line, plain_tooltip, visible

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
