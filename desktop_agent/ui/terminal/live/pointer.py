"""The mouse in a terminal: it selects by dragging, a word by two clicks, a line by three; with Ctrl it opens links."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPointF, Qt, Signal
from PySide6.QtGui import QClipboard, QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.ui.terminal.live.lines import TerminalLink, link_at
from desktop_agent.ui.terminal.live.selection import CellPosition, Selection, selected_text, word_at
from desktop_agent.ui.terminal.live.sight import Sight


class PointerSelection(QObject):
    """Listens to the viewport. Where the desktop has a second clipboard for what is selected, it is put there.

    Signals:
        changed: something else is selected.
        pasted: the middle button was pressed on such a desktop.
        followed: this `TerminalLink` was clicked with Ctrl.
    """

    changed = Signal()
    pasted = Signal()
    followed = Signal(object)

    def __init__(self, viewport: QWidget, sight: Sight, now_ms: Callable[[QMouseEvent], int]) -> None:
        super().__init__(viewport)
        self.selection: Selection | None = None
        self._sight = sight
        self._now_ms = now_ms
        self.known_file: Callable[[str], str] = _no_file
        """Returns the file that is meant by a path; empty for none."""
        self._pressed_link: TerminalLink | None = None
        self._word_at_ms: int | None = None
        """When a word was selected: a click soon after it selects the line."""
        self._viewport = viewport
        viewport.setMouseTracking(True)
        viewport.installEventFilter(self)

    @property
    def text(self) -> str:
        """What is selected."""
        if self._sight.emulator is None or self.selection is None:
            return ""
        return selected_text(self._sight.emulator.screen, self.selection)

    def select_all(self) -> None:
        """Select everything that can be scrolled to."""
        if self._sight.emulator is not None:
            screen = self._sight.emulator.screen
            first = screen.first_row if screen.modes.is_alternate else screen.forgotten_rows
            self.select(Selection(CellPosition(first, 0), CellPosition(screen.first_row + screen.height, 0)))

    def clear(self) -> None:
        """Select nothing."""
        self.select(None)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QMouseEvent) or self._sight.emulator is None:
            return False
        if self._follows_link(event):
            return True
        place, is_left = self._sight.place_at(event.position()), event.button() == Qt.MouseButton.LeftButton
        match event.type():
            case QEvent.Type.MouseButtonPress if is_left:
                self._press(event, place)
            case QEvent.Type.MouseButtonPress if event.button() == Qt.MouseButton.MiddleButton:
                self.pasted.emit()
            case QEvent.Type.MouseButtonDblClick if is_left:
                self._word_at_ms = self._now_ms(event)
                self.select(word_at(self._sight.emulator.screen.row(place.row), place))
            case QEvent.Type.MouseMove if event.buttons() & Qt.MouseButton.LeftButton and self.selection is not None:
                self.select(Selection(self.selection.anchor, place))
            case QEvent.Type.MouseButtonRelease if is_left:
                self._offer()
            case _:
                pass
        return False

    def _follows_link(self, event: QMouseEvent) -> bool:
        """Whether this is about a link, which takes Ctrl: a mark below the mouse says so."""
        has_ctrl = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        link = self.link_at(event.position()) if has_ctrl and not self._is_selecting(event) else None
        shape = Qt.CursorShape.IBeamCursor if link is None else Qt.CursorShape.PointingHandCursor
        if self._viewport.cursor().shape() != shape:
            self._viewport.setCursor(shape)
        is_left = event.button() == Qt.MouseButton.LeftButton
        if event.type() == QEvent.Type.MouseButtonPress:
            self._pressed_link = link if is_left else None
            return self._pressed_link is not None
        pressed = self._pressed_link
        if event.type() == QEvent.Type.MouseButtonRelease and is_left and pressed is not None:
            self._pressed_link = None
            if link == pressed:
                self.followed.emit(link)
            return True
        return pressed is not None

    def link_at(self, point: QPointF) -> TerminalLink | None:
        """Return the link below a point of the viewport."""
        if self._sight.emulator is None:
            return None
        return link_at(self._sight.emulator.screen, self._sight.cell_at(point), self.known_file)

    def _is_selecting(self, event: QMouseEvent) -> bool:
        return (
            bool(event.buttons() & Qt.MouseButton.LeftButton)
            and self._pressed_link is None
            and (event.type() == QEvent.Type.MouseMove)
        )

    def _press(self, event: QMouseEvent, place: CellPosition) -> None:
        since_word, self._word_at_ms = self._word_at_ms, None
        if since_word is not None and self._now_ms(event) - since_word < QApplication.doubleClickInterval():
            self.select(Selection(CellPosition(place.row, 0), CellPosition(place.row + 1, 0)))
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self.selection is not None:
            self.select(Selection(self.selection.anchor, place))
        else:
            self.select(Selection(place, place))

    def select(self, selection: Selection | None) -> None:
        """Select this."""
        if selection != self.selection:
            self.selection = selection
            self.changed.emit()

    def _offer(self) -> None:
        clipboard = QGuiApplication.clipboard()
        if clipboard.supportsSelection() and (text := self.text):
            clipboard.setText(text, QClipboard.Mode.Selection)


def _no_file(_path: str) -> str:
    return ""
