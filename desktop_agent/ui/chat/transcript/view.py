"""The transcript: a whole conversation in one column, to read, select, search and act on, fast at any length.

Below the entries it shows the agent's activity; without entries, examples of what to ask.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFontMetrics,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QPushButton, QScrollBar, QWidget

from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.cards.tool_body import CardLoader
from desktop_agent.ui.chat.conversation_search import Finder
from desktop_agent.ui.chat.entries.entry import EntryActions, EntryPlace, EntryRow, EntryWidget
from desktop_agent.ui.chat.transcript.mouse_and_keyboard import KeyboardOrder, MessageMenu, Pointer, SelectedText
from desktop_agent.ui.chat.transcript.navigation import Navigation
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.part_keys import PartKeys, claims_key
from desktop_agent.ui.runtime.pacing import run_while
from desktop_agent.ui.runtime.painting import give_viewport
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import set_names
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
            mark.setAlphaF(0.45 if self._is_dim and self._theme.moves else 1.0)
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
        self._title = make_label("", role="title", parent=self)
        self._hint = make_label("", role="secondary", parent=self, wraps=True)
        for words in (self._title, self._hint):
            words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._buttons: dict[QPushButton, str] = {}
        explain, find = (
            self.tr("Explain how this project is put together"),
            self.tr("Find a bug and fix it, with a test"),
        )
        self.set_examples((explain, find, self.tr("Write a README for this folder")))

    def introduce_demo(self) -> None:
        """Point to the message in the field, instead of to examples."""
        self.set_examples(())
        self._title.setText(self.tr("A project with a bug"))
        self._hint.setText(
            self.tr(
                "Send the message below: a scripted model finds the bug and fixes it. The tools, the changes and the "
                "undo are real."
            )
        )
        self._arrange()

    def set_examples(self, examples: Sequence[str]) -> None:
        self._title.setText(self.tr("What shall we work on?"))
        self._hint.setText(
            self.tr("Ask a question about this folder, or ask for a change. You see every step and can undo it.")
        )
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
        layout.patched.connect(self.show)

    def show(self) -> None:
        turns = self._layout.transcript.turns
        self.empty.setVisible(not len(self._layout.rows))
        is_working = turns.status == "working"
        self._activity.show_activity(turns.activity, is_working=is_working)
        # A summary that the user asked for is made while no turn runs.
        is_busy = is_working or (bool(turns.activity) and not turns.is_running)
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


def _utc_now() -> datetime:
    return datetime.now(UTC)


class TranscriptView(QAbstractScrollArea):
    """Draws a `Transcript`. Its parts follow the patches, scroll, search, select, navigate and report requests."""

    def __init__(
        self, theme: Theme, *, now: Callable[[], datetime] = _utc_now, loader: CardLoader | None = None
    ) -> None:
        """`now` is used for durations of running calls. Without a `loader`, cards show no diffs or pictures."""
        super().__init__()
        give_viewport(self)
        set_names(self, "transcript", self.tr("Conversation"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.keys = PartKeys("conversation", self)
        self._now = now
        self._loader = loader
        self.entry_actions = EntryActions(self)
        self.row_layout = RowLayout(self, theme, self._make_widget)
        self.rows = self.row_layout.rows
        self.selected = SelectedText(self.row_layout)
        self.finder = Finder(self.row_layout, self.viewport())
        self.row_layout.laid_out.connect(self._on_laid_out)
        self.row_layout.dropped.connect(self.selected.forget)
        self.entry_actions.approval_answered.connect(self.row_layout.scroll_to_bottom)  # the next question may be below
        self.navigation = Navigation(self, self.row_layout, self.finder)
        self.keyboard = KeyboardOrder(self, self.row_layout)
        self.status = ConversationStatus(self, theme, self.row_layout, self.entry_actions)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setBackgroundRole(QPalette.ColorRole.Base)  # also under the scroll bar
        self.setAutoFillBackground(True)
        self.setVerticalScrollBar(_QuietScrollBar(self))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.verticalScrollBar().setSingleStep(self.row_layout.widgets.styles.text_line)
        self.viewport().setMouseTracking(True)

    @cached_property
    def pointer(self) -> Pointer:
        return Pointer(self, self.row_layout, self.selected)

    @cached_property
    def messages(self) -> MessageMenu:
        parts = (self.row_layout, self.selected, self.pointer, self.entry_actions, self.navigation)
        return MessageMenu(self, *parts)

    def show_transcript(self, transcript: Transcript, *, is_gentle: bool = False) -> None:
        """If `is_gentle`, all but the last message are shown later."""
        self._forget_reader()
        self.row_layout.show(transcript, is_gentle=is_gentle)
        self.status.show()  # a layout is done or scheduled, so this requests no other

    def exchange_transcript(self, transcript: Transcript) -> None:
        """Show this transcript, which has more entries before the shown ones, and keep the reading position."""
        self._forget_reader()
        self.row_layout.exchange(transcript)
        self.status.show()

    def _forget_reader(self) -> None:
        if len(self.rows):
            self.selected.clear()
        self.finder.clear()
        self.navigation.forget()

    def _make_widget(self, row: EntryRow) -> EntryWidget:
        from desktop_agent.ui.chat.transcript.factory import make_widget

        place = EntryPlace(row, self.row_layout.widgets.styles, self.entry_actions, self.viewport())
        widget = make_widget(place, self._now, self._loader)
        widget.column.highlights.select(self.selected.range_in(row))
        return widget

    def _on_laid_out(self) -> None:
        self.status.place()
        self.keyboard.arrange()
        self.keyboard.mark()
        if self.isVisible():
            self.status.update_ticking()
        self.navigation.ask_for_pages()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.pointer.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.pointer.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.pointer.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.pointer.press(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.messages.open(event.pos(), event.globalPos(), self.keys)

    def event(self, event: QEvent) -> bool:
        return claims_key(event, lambda key: self.keys.peek(key) is not None) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match self.keys.read(event):
            case "":
                pass  # more keys are to follow
            case "copy":
                self.messages.copy()
            case "select_all":
                self.selected.select_all()
            case "go_to_start":
                self.row_layout.scroll_to(0)
            case "go_to_end":
                self.row_layout.scroll_to_bottom()
            case _ if event.key() == Qt.Key.Key_Escape and not self.selected.is_empty:
                self.selected.clear()
            case _:
                super().keyPressEvent(event)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.row_layout.on_scrolled()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.row_layout.lay_out()
        self.status.place()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.row_layout.resume()
        self.status.update_ticking()
        self.finder.resume()

    def hideEvent(self, event: QHideEvent) -> None:
        self.finder.pause()
        if len(self.rows):
            self.pointer.cancel()
        self.row_layout.pause()
        self.status.stop_ticking()
        super().hideEvent(event)


class _QuietScrollBar(QScrollBar):
    """Always takes its space, so that text does not move, but paints nothing if there is nothing to scroll."""

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.maximum() > self.minimum():
            super().paintEvent(event)
