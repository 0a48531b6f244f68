"""The line below the entries with the agent's activity and elapsed time, and the page of an empty conversation."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QPushButton, QWidget

from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.entries.entry import EntryActions
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.runtime.pacing import run_while
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.rows import draw_line

_TEXT_AT = 20


class ActivityLine(QWidget):
    """Shows the agent's current activity: `● Writing edit_file (3.2 kB)`."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text = ""
        self._is_dim = False
        self.is_working = False
        self.resize(self.width(), Height.SMALL_BUTTON)

    def show_activity(self, activity: str, *, is_working: bool) -> None:
        self.is_working = is_working
        text = activity[:1].upper() + activity[1:] if activity else self.tr("Working…")
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self.update()

    def pulse(self) -> None:
        if self._theme.moves:
            self._is_dim = not self._is_dim
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            mark = QColor(self._theme.colour("accent"))
            mark.setAlphaF(0.45 if self._is_dim else 1.0)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(mark)
            painter.drawEllipse(QPointF(6, self.height() / 2), 4.5, 4.5)
            area, font = QRectF(self.rect()).adjusted(_TEXT_AT, 0, 0, 0), self._theme.text_font(TypeSize.SECONDARY)
            draw_line(painter, area, self._text, font, self._theme.colour("muted"))


_MAX_WIDTH = 420


class EmptyState(QWidget):
    def __init__(self, actions: EntryActions, parent: QWidget) -> None:
        super().__init__(parent)
        self._actions = actions
        hint = self.tr("Ask a question about this folder, or ask for a change. You see every step and can undo it.")
        self._title = make_label(self.tr("What shall we work on?"), role="title", parent=self)
        self._hint = make_label(hint, role="secondary", parent=self, wraps=True)
        for words in (self._title, self._hint):
            words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._buttons: dict[QPushButton, str] = {}
        explain, find = (
            self.tr("Explain how this project is put together"),
            self.tr("Find a bug and fix it, with a test"),
        )
        self.set_examples((explain, find, self.tr("Write a README for this folder")))

    def set_examples(self, examples: Sequence[str]) -> None:
        for button in self._buttons:
            button.deleteLater()
        self._buttons = {QPushButton(self): example for example in examples}
        for button, example in self._buttons.items():
            button.clicked.connect(partial(self._actions.example_chosen.emit, example))
            button.setAccessibleName(example)
            button.show()
        self._arrange()

    def _arrange(self) -> None:
        width = min(_MAX_WIDTH, self.width() - 2 * Space.L)
        hint_height = self._hint.heightForWidth(width)
        title_height = self._title.sizeHint().height()
        for button, example in self._buttons.items():
            button.setText(example)
            room = self.width() - 2 * Space.L - button.sizeHint().width()
            if room < 0:
                metrics = button.fontMetrics()
                button.setText(_in_lines(example, metrics, metrics.horizontalAdvance(example) + room))
        sizes = {button: button.sizeHint() + QSize(0, Space.S * ("\n" in button.text())) for button in self._buttons}
        buttons = sum(size.height() + Space.S for size in sizes.values())
        total = title_height + Space.S + hint_height + Space.XL + buttons
        x, y = (self.width() - width) // 2, max(Space.M, (self.height() - total) * 2 // 5)
        self._title.setGeometry(x, y, width, title_height)
        y += title_height + Space.S
        self._hint.setGeometry(x, y, width, hint_height)
        y += hint_height + Space.XL
        for button, size in sizes.items():
            button.setGeometry((self.width() - size.width()) // 2, y, size.width(), size.height())
            y += size.height() + Space.S

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()


def _in_lines(text: str, metrics: QFontMetrics, width: int) -> str:
    """Break a text between words, into as many lines of this width as it needs."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if metrics.horizontalAdvance(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)


class ConversationStatus(QObject):
    def __init__(self, view: QAbstractScrollArea, theme: Theme, layout: RowLayout, actions: EntryActions) -> None:
        super().__init__(view)
        self._view = view
        self._layout = layout
        self._activity = ActivityLine(theme, view.viewport())
        self._activity.hide()
        self._timer = QTimer(self, interval=250)
        self._timer.timeout.connect(self._tick)
        self.empty = EmptyState(actions, view.viewport())

    def show(self, transcript: Transcript) -> None:
        self.empty.setVisible(not len(self._layout.rows))
        is_working = transcript.turns.status == "working"
        self._activity.show_activity(transcript.turns.activity, is_working=is_working)
        # A summary that the user asked for is made while no turn runs.
        is_busy = is_working or (bool(transcript.turns.activity) and not transcript.turns.is_running)
        if is_busy == self._activity.isHidden():
            self._activity.setVisible(is_busy)
            self._layout.footer = self._activity if is_busy else None
            self._layout.request_layout()

    def place(self) -> None:
        self.empty.setGeometry(0, 0, self._view.width(), self._view.viewport().height())

    @property
    def is_ticking(self) -> bool:
        return self._timer.isActive()

    def update_ticking(self) -> None:
        rows = self._layout.widgets.live
        is_ticking = self._activity.is_working or any(row.widget is not None and row.widget.is_ticking for row in rows)
        run_while(self._timer, is_wanted=is_ticking)

    def stop_ticking(self) -> None:
        self._timer.stop()

    def _tick(self) -> None:
        for row in self._layout.widgets.live:
            if row.widget is not None and row.widget.is_ticking:
                row.widget.tick()
        if self._activity.is_working:
            self._activity.pulse()
