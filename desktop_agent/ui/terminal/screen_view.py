"""The terminal's screen as a widget: painting, history, selection and the mouse. Keys are sent as xterm sends them."""

from collections.abc import Callable
from typing import Final, NamedTuple

from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QRectF, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QClipboard,
    QColor,
    QFont,
    QFontMetricsF,
    QGuiApplication,
    QInputMethodEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QPlainTextEdit, QWidget

from desktop_agent.core.base.plain_text import HIDING, named
from desktop_agent.core.base.regex import regex
from desktop_agent.core.terminal.emulator import Emulator
from desktop_agent.core.terminal.rows import PLAIN, KeptRow, PrintedStyle, Run, width
from desktop_agent.ui.part_keys import PartKeys, claims_key
from desktop_agent.ui.runtime.pacing import Throttle
from desktop_agent.ui.terminal.printed_text import LookFormats
from desktop_agent.ui.terminal.screen_text import (
    CellPosition,
    Selection,
    TerminalLink,
    last_text,
    link_at,
    oldest_row,
    selected_text,
    word_at,
)
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.theme.tokens import legible
from desktop_agent.ui.widgets.focus import announce
from desktop_agent.ui.widgets.layouts import set_names

_Key = Qt.Key
_Modifier = Qt.KeyboardModifier

_LETTERS: Final = {
    _Key.Key_Up: "A", _Key.Key_Down: "B", _Key.Key_Right: "C", _Key.Key_Left: "D", _Key.Key_End: "F",
    _Key.Key_Home: "H", _Key.Key_F1: "P", _Key.Key_F2: "Q", _Key.Key_F3: "R", _Key.Key_F4: "S",
}  # fmt: skip
_NUMBERS: Final = {
    _Key.Key_Insert: 2, _Key.Key_Delete: 3, _Key.Key_PageUp: 5, _Key.Key_PageDown: 6, _Key.Key_F5: 15,
    _Key.Key_F6: 17, _Key.Key_F7: 18, _Key.Key_F8: 19, _Key.Key_F9: 20, _Key.Key_F10: 21, _Key.Key_F11: 23,
    _Key.Key_F12: 24,
}  # fmt: skip
_PLAIN: Final = {
    _Key.Key_Return: "\r", _Key.Key_Enter: "\r", _Key.Key_Backspace: "\x7f", _Key.Key_Tab: "\t",
    _Key.Key_Backtab: "\x1b[Z", _Key.Key_Escape: "\x1b",
}  # fmt: skip
_CONTROLS: Final = {
    _Key.Key_Space: "\x00", _Key.Key_At: "\x00", _Key.Key_BracketLeft: "\x1b", _Key.Key_Backslash: "\x1c",
    _Key.Key_BracketRight: "\x1d", _Key.Key_AsciiCircum: "\x1e", _Key.Key_Underscore: "\x1f", _Key.Key_Slash: "\x1f",
    _Key.Key_Backspace: "\x08",
}  # fmt: skip
_ENTER = regex(r"\r\n|[\r\n]")
_UNTYPED = regex(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def belongs_to_the_shell(event: QKeyEvent) -> bool:
    """The window keeps Ctrl+Alt, Ctrl+Shift without cursor and function keys, and Ctrl with digits and most signs."""
    modifiers = event.modifiers() & ~(_Modifier.KeypadModifier | _Modifier.ShiftModifier)
    if modifiers != _Modifier.ControlModifier:
        return modifiers in (_Modifier.NoModifier, _Modifier.AltModifier)
    if event.modifiers() & _Modifier.ShiftModifier:
        return event.key() in _LETTERS or event.key() in _NUMBERS
    return _control(event.key()) != "" or event.key() in _LETTERS or event.key() in _NUMBERS


def typed(event: QKeyEvent, *, cursor_keys: bool) -> bytes:
    """Return the bytes for a pressed key; empty for a key that types nothing."""
    key, modifiers = _Key(event.key()), event.modifiers()
    is_alt, is_ctrl = bool(modifiers & _Modifier.AltModifier), bool(modifiers & _Modifier.ControlModifier)
    if key in _LETTERS or key in _NUMBERS:
        return _special(key, 1 + bool(modifiers & _Modifier.ShiftModifier) + 2 * is_alt + 4 * is_ctrl, cursor_keys)
    text = _control(key) if is_ctrl else _PLAIN.get(key, event.text())
    if is_ctrl and not text:
        text = _PLAIN.get(key, "")
    return ("\x1b" * (is_alt and bool(text)) + text).encode("utf-8", "replace")


def _special(key: Qt.Key, modifier: int, cursor_keys: bool) -> bytes:
    if key in _NUMBERS:
        return f"\x1b[{_NUMBERS[key]}{f';{modifier}' if modifier > 1 else ''}~".encode()
    letter = _LETTERS[key]
    if modifier > 1:
        return f"\x1b[1;{modifier}{letter}".encode()
    return f"\x1b{'O' if cursor_keys or letter in 'PQRS' else '['}{letter}".encode()


def _control(key: int) -> str:
    if _Key.Key_A <= key <= _Key.Key_Z:
        return chr(key - _Key.Key_A + 1)
    return _CONTROLS.get(_Key(key), "") if key in _CONTROLS else ""


class PasteRisk(NamedTuple):
    lines: int
    has_hidden: bool


def paste_risk(text: str, *, is_bracketed: bool) -> PasteRisk:
    """Return the effects of a paste. The program runs each line as if typed, unless `is_bracketed`."""
    lines = 0 if is_bracketed else len(_ENTER.findall(text))
    return PasteRisk(lines, any(match.group() not in "\t\n\r" for match in HIDING.finditer(text)))


def paste_shown(text: str) -> str:
    *lines, last = _ENTER.split(text)
    return "\n".join([*(f"{named(line)}⏎" for line in lines), named(last)]).removesuffix("\n")


def pasted(text: str, *, is_bracketed: bool) -> bytes:
    """Return the bytes for pasted text without control characters, so that the text cannot end its own bracket."""
    text = _UNTYPED.sub("", text.replace("\r\n", "\n").replace("\n", "\r"))
    return (f"\x1b[200~{text}\x1b[201~" if is_bracketed else text).encode("utf-8", "replace")


def wheel_keys(rows: int, *, cursor_keys: bool) -> bytes:
    """Return the arrow keys that scroll a full-screen program by `rows`; negative is up."""
    return _special(_Key.Key_Up if rows < 0 else _Key.Key_Down, 1, cursor_keys) * abs(rows)


_SAMPLE = "0" * 80


class RowPainter:
    def __init__(self, theme: Theme) -> None:
        colours = theme.colours
        self._font = theme.code_font(theme.sizes.code, grows=False)
        self._fonts: dict[PrintedStyle, QFont] = {}
        metrics = QFontMetricsF(self._font)
        self.cell_width = metrics.horizontalAdvance(_SAMPLE) / len(_SAMPLE)
        self.row_height = float(round(metrics.height()) + 1)
        self._ascent = metrics.ascent()
        self.text, self.ground = colours.text, colours.surface
        self._formats = LookFormats(colours, colours.surface)
        self._selected_ground = colours.accent_weak
        self._selected_text = QColor(legible(colours.text, colours.accent_weak, colours.text_ratio))
        self._accent = theme.colour("accent")
        self._on_accent = legible(colours.on_accent, colours.accent, colours.text_ratio)

    def paint_row(
        self, painter: QPainter, left: float, top: float, row: KeptRow, selected: tuple[int, int | None] | None
    ) -> None:
        cells = len(row.cells)
        for run in _all_runs(row):
            text, ground = self._formats.colours(run.look)
            if ground:
                area = QRectF(left + run.start * self.cell_width, top, 0, self.row_height)
                area.setWidth(run.length * self.cell_width)
                painter.fillRect(area, QColor(ground))
            self._paint_text(painter, left, top, row, run, QColor(text))
        if selected is not None:
            start, end = selected[0], max(cells + 1, selected[0] + 1) if selected[1] is None else selected[1]
            area = QRectF(left + start * self.cell_width, top, (end - start) * self.cell_width, self.row_height)
            painter.fillRect(area, QColor(self._selected_ground))
            inside = Run(start, min(end, cells) - start, PLAIN)
            self._paint_text(painter, left, top, row, inside, self._selected_text)

    def paint_cursor(self, painter: QPainter, left: float, top: float, cell: str, *, is_active: bool) -> None:
        cells = max(1, width(cell[0])) if cell else 1
        area = QRectF(left, top, cells * self.cell_width, self.row_height)
        if not is_active:
            painter.setPen(self._accent)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5))
            return
        painter.fillRect(area, self._accent)
        painter.setPen(QColor(self._on_accent))
        painter.setFont(self._font)
        painter.drawText(QPointF(left, top + self._ascent), cell)

    def paint_composed(self, painter: QPainter, left: float, top: float, text: str) -> None:
        length = QFontMetricsF(self._font).horizontalAdvance(text)
        painter.fillRect(QRectF(left, top, length, self.row_height), QColor(self._selected_ground))
        painter.setPen(self._selected_text)
        painter.setFont(self._font)
        painter.drawText(QPointF(left, top + self._ascent), text)
        bottom = top + self.row_height - 1
        painter.drawLine(QPointF(left, bottom), QPointF(left + length, bottom))

    def _paint_text(self, painter: QPainter, left: float, top: float, row: KeptRow, run: Run, colour: QColor) -> None:
        text = row.text(run.start, run.start + run.length)
        if (not text or text.isspace()) and not (run.look.is_underlined or run.look.is_struck):
            return
        painter.setPen(colour)
        painter.setFont(self._font_of(run.look))
        base = top + self._ascent
        if text.isascii():
            painter.drawText(QPointF(left + run.start * self.cell_width, base), text)
            return
        for at in range(run.start, run.start + run.length):  # another font may have other widths
            if (cell := row.cells[at]) and cell != " ":
                painter.drawText(QPointF(left + at * self.cell_width, base), cell)

    def _font_of(self, look: PrintedStyle) -> QFont:
        plain = look._replace(foreground="", background="", is_dim=False, is_inverse=False)
        font = self._fonts.get(plain)
        if font is None:
            font = self._fonts[plain] = QFont(self._font)
            font.setBold(look.is_bold)
            font.setItalic(look.is_italic)
            font.setUnderline(look.is_underlined)
            font.setStrikeOut(look.is_struck)
        return font


def _all_runs(row: KeptRow) -> list[Run]:
    found: list[Run] = []
    at = 0
    for run in row.runs:
        if run.start > at:
            found.append(Run(at, run.start - at, PLAIN))
        found.append(run)
        at = run.start + run.length
    if at < len(row.cells):
        found.append(Run(at, len(row.cells) - at, PLAIN))
    return found


MARGIN, TOP = 12, 4
LEAST_ROWS, LEAST_COLUMNS = 3, 20
_MOST_ROWS, _MOST_COLUMNS = 400, 1_000


class PointerSelection(QObject):
    changed = Signal()
    pasted = Signal()  # by the middle button, on such a desktop
    followed = Signal(object)  # a `TerminalLink`, clicked with Ctrl

    def __init__(self, view: "TerminalView") -> None:
        super().__init__(view.viewport())
        self.selection: Selection | None = None
        self._view = view
        self.known_file: Callable[[str], str] = lambda _path: ""
        """Returns the file that a path refers to; empty for none."""
        self._pressed_link: TerminalLink | None = None
        self._word_at_ms: int | None = None
        self._viewport = view.viewport()
        self._viewport.setMouseTracking(True)
        self._viewport.installEventFilter(self)

    @property
    def text(self) -> str:
        if self._view.emulator is None or self.selection is None:
            return ""
        return selected_text(self._view.emulator.screen, self.selection)

    def select_all(self) -> None:
        if self._view.emulator is not None:
            screen = self._view.emulator.screen
            end = CellPosition(screen.first_row + screen.height, 0)
            self.select(Selection(CellPosition(oldest_row(screen), 0), end))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QMouseEvent) or self._view.emulator is None:
            return False
        if self._follows_link(event):
            return True
        place, is_left = self._view.place_at(event.position()), event.button() == Qt.MouseButton.LeftButton
        match event.type():
            case QEvent.Type.MouseButtonPress if is_left:
                since_word, self._word_at_ms = self._word_at_ms, None
                if since_word is not None and event.timestamp() - since_word < QApplication.doubleClickInterval():
                    self.select(Selection(CellPosition(place.row, 0), CellPosition(place.row + 1, 0)))
                elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self.selection is not None:
                    self.select(Selection(self.selection.anchor, place))
                else:
                    self.select(Selection(place, place))
            case QEvent.Type.MouseButtonPress if event.button() == Qt.MouseButton.MiddleButton:
                self.pasted.emit()
            case QEvent.Type.MouseButtonDblClick if is_left:
                self._word_at_ms = event.timestamp()
                self.select(word_at(self._view.emulator.screen.row(place.row), place))
            case QEvent.Type.MouseMove if event.buttons() & Qt.MouseButton.LeftButton and self.selection is not None:
                self.select(Selection(self.selection.anchor, place))
            case QEvent.Type.MouseButtonRelease if is_left:
                clipboard = QGuiApplication.clipboard()
                if clipboard.supportsSelection() and (text := self.text):
                    clipboard.setText(text, QClipboard.Mode.Selection)
            case _:
                pass
        return False

    def _follows_link(self, event: QMouseEvent) -> bool:
        """Whether this event follows a link, which takes Ctrl. Also marks the link under the mouse."""
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
        if self._view.emulator is None:
            return None
        return link_at(self._view.emulator.screen, self._view.cell_at(point), self.known_file)

    def _is_selecting(self, event: QMouseEvent) -> bool:
        has_left = bool(event.buttons() & Qt.MouseButton.LeftButton)
        return has_left and self._pressed_link is None and event.type() == QEvent.Type.MouseMove

    def select(self, selection: Selection | None) -> None:
        if selection != self.selection:
            self.selection = selection
            self.changed.emit()


_PAUSE_MS = 400
_ROWS = 200
_MOST_ANNOUNCED = 500


class ReadAloud(QTimer):
    """Copies the terminal's text, which is only painted, to a hidden field for screen readers while one runs."""

    def __init__(self, view: QWidget) -> None:
        super().__init__(view, singleShot=True, interval=_PAUSE_MS)
        self._view = view
        self._emulator: Emulator | None = None
        self._field: QPlainTextEdit | None = None
        self.timeout.connect(self._read)

    def follow(self, emulator: Emulator | None) -> None:
        self._emulator = emulator
        if QAccessible.isActive() and not self.isActive():
            self.start()

    def _read(self) -> None:
        text = "" if self._emulator is None else last_text(self._emulator.screen, _ROWS)
        field = self._field or self._make_field()
        before = field.toPlainText()
        if text == before:
            return
        field.setPlainText(text)
        new = text[len(before) :] if text.startswith(before) else text.rpartition("\n")[2]
        if self._view.hasFocus():
            announce(self._view, new.strip()[-_MOST_ANNOUNCED:])

    def _make_field(self) -> QPlainTextEdit:
        field = self._field = QPlainTextEdit(self._view)
        set_names(field, "terminalText", self.tr("Text of the terminal"))
        field.setReadOnly(True)
        field.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        field.setFrameShape(QFrame.Shape.NoFrame)
        field.viewport().setAutoFillBackground(False)
        field.setGeometry(0, 0, 1, 1)
        field.show()
        return field


_TABS = (Qt.Key.Key_Tab, Qt.Key.Key_Backtab)
_WHEEL_ROWS = 3
_STEP = 120
"""One step of a wheel, in Qt's eighths of a degree."""


class TerminalView(QAbstractScrollArea):
    """Paints only changes, at most thirty times a second. At the end of the history, it follows the output."""

    typed = Signal(bytes)
    pasted = Signal(str)
    resized = Signal()  # another number of rows and columns fits
    find_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        set_names(self, "terminalScreen", self.tr("Terminal"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setProperty("keepsKeys", True)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.keys = PartKeys("terminal", self)
        self._theme = theme
        self.painter = RowPainter(theme)
        self.emulator: Emulator | None = None
        self.shows_cursor = True
        self._follows = True
        self._rows: list[KeptRow] = []
        self._first = 0
        self._cursor = QRect()
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self.pointer = PointerSelection(self)
        self._composed = ""
        self._wheel = 0
        self._read_aloud = ReadAloud(self)
        self._refreshing = Throttle(self.refresh_now, self)
        self._refreshing.pause()
        self.pointer.changed.connect(self.viewport().update)
        self.pointer.pasted.connect(self._paste_selection)
        theme.changed.connect(self._on_theme_changed)

    def show_terminal(self, emulator: Emulator | None) -> None:
        self.pointer.select(None)
        self.emulator = emulator
        self._follows = True
        self._rows = []
        self.viewport().update()
        if emulator is not None:
            emulator.colours = (self.painter.text, self.painter.ground)
        self.refresh_now()

    def refresh(self) -> None:
        self._refreshing.trigger()

    def recent_text(self, rows: int) -> str:
        return self.pointer.text or ("" if self.emulator is None else last_text(self.emulator.screen, rows))

    def copy(self) -> None:
        if text := self.pointer.text:
            QGuiApplication.clipboard().setText(text)

    def paste(self) -> None:
        if text := QGuiApplication.clipboard().text():
            self.pasted.emit(text)

    def follow(self) -> None:
        self._follows = True
        self.refresh()

    def fitting(self) -> tuple[int, int]:
        rows = int((self.viewport().height() - 2 * TOP) / self.painter.row_height)
        columns = int((self.viewport().width() - 2 * MARGIN) / self.painter.cell_width)
        return max(LEAST_ROWS, min(rows, _MOST_ROWS)), max(LEAST_COLUMNS, min(columns, _MOST_COLUMNS))

    def place_at(self, point: QPointF) -> CellPosition:
        column = round((point.x() - MARGIN) / self.painter.cell_width)
        return CellPosition(self._first + int((point.y() - TOP) // self.painter.row_height), max(0, column))

    def cell_at(self, point: QPointF) -> CellPosition:
        column = int((point.x() - MARGIN) // self.painter.cell_width)
        return CellPosition(self._first + int((point.y() - TOP) // self.painter.row_height), column)

    def show_row(self, row: int) -> None:
        if self.emulator is None or self._first <= row < self._first + self._rows_in_sight() - 1:
            return
        screen = self.emulator.screen
        self.verticalScrollBar().setValue(row - oldest_row(screen) - screen.height // 2)

    def _paste_selection(self) -> None:
        clipboard = QGuiApplication.clipboard()
        if clipboard.supportsSelection() and (text := clipboard.text(QClipboard.Mode.Selection)):
            self.pasted.emit(text)

    def refresh_now(self) -> None:
        self._update_rows()
        self._read_aloud.follow(self.emulator)

    def _update_rows(self) -> None:
        if self.emulator is None:
            return
        screen, bar = self.emulator.screen, self.verticalScrollBar()
        oldest = oldest_row(screen)
        with QSignalBlocker(bar):
            bar.setRange(0, screen.first_row - oldest)
            bar.setPageStep(screen.height)
            bar.setValue((screen.first_row if self._follows else self._first) - oldest)
        self._first = oldest + bar.value()
        rows = [screen.row(self._first + at) for at in range(self._rows_in_sight())]
        for at, row in enumerate(rows):
            if at >= len(self._rows) or self._rows[at] != row:
                self.viewport().update(self._area_of(at))
        self._rows = rows
        cursor = self._cursor_area()
        if cursor != self._cursor:
            self.viewport().update(self._cursor)
            self.viewport().update(cursor)
            self._cursor = cursor

    def _cursor_area(self) -> QRect:
        if self.emulator is None or not (self.shows_cursor and self.emulator.screen.modes.shows_cursor):
            return QRect()
        left, top = self._cursor_corner()
        if not 0 <= top < self.viewport().height():
            return QRect()
        return QRectF(left, top, 2 * self.painter.cell_width, self.painter.row_height).toAlignedRect()

    def _cursor_corner(self) -> tuple[float, float]:
        assert self.emulator is not None
        screen = self.emulator.screen
        row = screen.first_row + screen.cursor.row - self._first
        return MARGIN + screen.cursor.column * self.painter.cell_width, TOP + row * self.painter.row_height

    def _rows_in_sight(self) -> int:
        return int(self.viewport().height() / self.painter.row_height) + 1

    def _area_of(self, at: int) -> QRect:
        height = self.painter.row_height
        return QRectF(0, TOP + at * height, self.viewport().width(), height).toAlignedRect()

    def _on_scrolled(self) -> None:
        if self.emulator is not None:
            bar = self.verticalScrollBar()
            self._follows = bar.value() == bar.maximum()
            self._first = oldest_row(self.emulator.screen) + bar.value()
            self._update_rows()
            self.viewport().update()

    def _on_theme_changed(self) -> None:
        self.painter = RowPainter(self._theme)
        if self.emulator is not None:
            self.emulator.colours = (self.painter.text, self.painter.ground)
        self.resized.emit()
        self.refresh_now()
        self.viewport().update()

    def event(self, event: QEvent) -> bool:
        if claims_key(event, lambda key: belongs_to_the_shell(key) or self.keys.peek(key) is not None):
            return True
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and event.key() in _TABS:
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
        emulator, bar = self.emulator, self.verticalScrollBar()
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
                    self.pointer.select(None)
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
            return self._cursor_area()
        return super().inputMethodQuery(query)

    def wheelEvent(self, arg__1: QWheelEvent) -> None:
        emulator = self.emulator
        if emulator is None or not emulator.screen.modes.is_alternate:
            super().wheelEvent(arg__1)
            return
        self._wheel -= arg__1.angleDelta().y()  # a full-screen program scrolls by itself
        steps = int(self._wheel / _STEP)
        self._wheel -= steps * _STEP
        if keys := wheel_keys(steps * _WHEEL_ROWS, cursor_keys=emulator.screen.modes.cursor_keys):
            self.typed.emit(keys)

    def paintEvent(self, arg__1: QPaintEvent) -> None:
        with QPainter(self.viewport()) as painter:
            painter.fillRect(arg__1.rect(), self._theme.colour("surface"))
            region, selection = arg__1.region(), self.pointer.selection
            for at, row in enumerate(self._rows):
                if region.intersects(self._area_of(at)):
                    selected = selection.columns_in(self._first + at) if selection is not None else None
                    self.painter.paint_row(painter, MARGIN, TOP + at * self.painter.row_height, row, selected)
            if self.emulator is not None and not self._cursor_area().isEmpty():
                screen, (left, top) = self.emulator.screen, self._cursor_corner()
                if self._composed:
                    self.painter.paint_composed(painter, left, top, self._composed)
                else:
                    cell = screen.current_row.cells[screen.cursor.column]
                    self.painter.paint_cursor(painter, left, top, cell, is_active=self.hasFocus())

    def resizeEvent(self, arg__1: QResizeEvent) -> None:
        super().resizeEvent(arg__1)
        self.resized.emit()
        self.refresh()
