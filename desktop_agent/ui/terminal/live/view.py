"""The screen of a terminal as a widget: painted row by row, with its history above, a selection and a cursor."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import (
    QClipboard,
    QGuiApplication,
    QInputMethodEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from desktop_agent.core.terminal.emulator import Emulator
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.runtime.throttle import Throttle
from desktop_agent.ui.terminal.live.keys import belongs_to_the_shell, typed, wheel_keys
from desktop_agent.ui.terminal.live.painting import RowPainter
from desktop_agent.ui.terminal.live.pointer import PointerSelection
from desktop_agent.ui.terminal.live.reading import ReadAloud
from desktop_agent.ui.terminal.live.selection import last_text
from desktop_agent.ui.terminal.live.sight import Sight
from desktop_agent.ui.theme import Theme

_WHEEL_ROWS = 3
_STEP = 120
"""Of a wheel, in Qt's eighths of a degree."""


class TerminalView(QAbstractScrollArea):
    """Shows one terminal at a time. It paints what changed, at most thirty times a second, and nothing at rest.

    Signals:
        typed: the user typed this (`bytes`).
        pasted: this text shall be pasted.
        resized: another number of rows and columns fits.
        find_requested: the user wants to find something in it.
    """

    typed = Signal(bytes)
    pasted = Signal(str)
    resized = Signal()
    find_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("terminalScreen")
        self.setAccessibleName(self.tr("Terminal"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setProperty("keepsKeys", True)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.keys = PartKeys("terminal", self)
        """What the terminal keeps for itself."""
        self._theme = theme
        self.sight = Sight(self.viewport(), self.verticalScrollBar(), RowPainter(theme))
        self.pointer = PointerSelection(self.viewport(), self.sight, lambda event: event.timestamp())
        self._composed = ""
        self._wheel = 0
        self._read_aloud = ReadAloud(self)
        self._refreshing = Throttle(self.refresh_now, self)
        self._refreshing.pause()
        self.pointer.changed.connect(self.viewport().update)
        self.pointer.pasted.connect(self._paste_selection)
        theme.changed.connect(self._on_theme_changed)

    def show_terminal(self, emulator: Emulator | None) -> None:
        """Show this one, at its end."""
        self.pointer.clear()
        self.sight.show(emulator)
        if emulator is not None:
            emulator.colours = (self.sight.painter.text, self.sight.painter.ground)
        self.refresh_now()

    def refresh(self) -> None:
        """Show soon what the terminal shows now."""
        self._refreshing.trigger()

    def fitting(self) -> tuple[int, int]:
        """Return how many rows and columns there is room for."""
        return self.sight.fitting()

    def recent_text(self, rows: int) -> str:
        """Return what is selected, else what the last rows say."""
        emulator = self.sight.emulator
        return self.pointer.text or ("" if emulator is None else last_text(emulator.screen, rows))

    def copy(self) -> None:
        """Copy what is selected."""
        if text := self.pointer.text:
            QGuiApplication.clipboard().setText(text)

    def paste(self) -> None:
        """Ask for the text of the clipboard to be pasted."""
        if text := QGuiApplication.clipboard().text():
            self.pasted.emit(text)

    def follow(self) -> None:
        """Show the newest rows from now on."""
        self.sight.follows = True
        self.refresh()

    def show_cursor(self, *, is_shown: bool) -> None:
        """Show the cursor where the program has it, or none when there is no program any more."""
        self.sight.shows_cursor = is_shown

    def _paste_selection(self) -> None:
        clipboard = QGuiApplication.clipboard()
        if clipboard.supportsSelection() and (text := clipboard.text(QClipboard.Mode.Selection)):
            self.pasted.emit(text)

    def refresh_now(self) -> None:
        """Show what the terminal shows now."""
        self.sight.refresh()
        self._read_aloud.follow(self.sight.emulator)

    def _on_theme_changed(self) -> None:
        self.sight.painter = RowPainter(self._theme)
        if self.sight.emulator is not None:
            self.sight.emulator.colours = (self.sight.painter.text, self.sight.painter.ground)
        self.resized.emit()
        self.refresh_now()
        self.viewport().update()

    # -- Qt --

    def event(self, event: QEvent) -> bool:
        """Keep the shell's keys from the window's shortcuts, and Tab from moving the keyboard; rest while hidden."""
        if isinstance(event, QKeyEvent):
            is_override = event.type() == QEvent.Type.ShortcutOverride
            if is_override and (belongs_to_the_shell(event) or self.keys.peek(event) is not None):
                event.accept()
                return True
            if event.type() == QEvent.Type.KeyPress and event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
                self.keyPressEvent(event)
                return True
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.viewport().update()  # the cursor looks different
        elif event.type() == QEvent.Type.Show:
            self._refreshing.resume()
        elif event.type() == QEvent.Type.Hide:
            self._refreshing.pause()
            self._read_aloud.stop()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        emulator, bar = self.sight.emulator, self.verticalScrollBar()
        match self.keys.read(event):
            case "":
                pass  # more keys are to follow
            case "copy":
                self.copy()
            case "paste":
                self.paste()
            case "find":
                self.find_requested.emit()
            case "scroll_up":
                bar.setValue(bar.value() - bar.pageStep())
            case "scroll_down":
                bar.setValue(bar.value() + bar.pageStep())
            case _:
                if emulator is None or not belongs_to_the_shell(event):
                    super().keyPressEvent(event)
                elif content := typed(event, cursor_keys=emulator.screen.modes.cursor_keys):
                    self.pointer.clear()
                    self.follow()
                    self.typed.emit(content)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composed = event.preeditString()
        if text := event.commitString():
            self.follow()
            self.typed.emit(text.encode("utf-8", "replace"))
        self.viewport().update()

    def inputMethodQuery(self, query: Qt.InputMethodQuery) -> object:
        if query == Qt.InputMethodQuery.ImCursorRectangle:
            return self.sight.cursor_area()
        return super().inputMethodQuery(query)

    def wheelEvent(self, arg__1: QWheelEvent) -> None:
        emulator = self.sight.emulator
        if emulator is None or not emulator.screen.modes.is_alternate:
            super().wheelEvent(arg__1)
            return
        self._wheel -= arg__1.angleDelta().y()  # a full-screen program scrolls by itself
        steps = int(self._wheel / _STEP)
        self._wheel -= steps * _STEP
        if keys := wheel_keys(steps * _WHEEL_ROWS, cursor_keys=emulator.screen.modes.cursor_keys):
            self.typed.emit(keys)

    def paintEvent(self, arg__1: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(arg__1.rect(), self._theme.colour("surface"))
        self.sight.paint(painter, arg__1.region(), self.pointer.selection)
        self.sight.paint_cursor(painter, self._composed, is_active=self.hasFocus())
        painter.end()

    def resizeEvent(self, arg__1: QResizeEvent) -> None:
        super().resizeEvent(arg__1)
        self.resized.emit()
        self.refresh()
