"""Buttons in the theme's variants, switches, pickers and text lines; and when a button answers a question."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from PySide6.QtCore import QObject, QRect, QRectF, QSignalBlocker, QSize, Qt, QTimer, SignalInstance
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QShortcut,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLineEdit,
    QMenu,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QToolButton,
    QWidget,
)

from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.widgets.focus import draw_focus_ring
from desktop_agent.ui.widgets.layouts import STRETCH, hbox


class MenuButton(QToolButton):
    """Opens its menu, if any. Qt's `InstantPopup` gives assistive programs only an action without effect."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.clicked.connect(self._open_soon)

    def mousePressEvent(self, arg__1: QMouseEvent) -> None:
        if arg__1.button() == Qt.MouseButton.LeftButton and self.menu():
            arg__1.accept()
            self.showMenu()
        else:
            super().mousePressEvent(arg__1)

    def _open_soon(self) -> None:
        """Open the menu in the next turn of the loop, because an open menu blocks its caller."""
        if menu := self.menu():
            menu.triggered.connect(self._close_menus, Qt.ConnectionType.UniqueConnection)
            QTimer.singleShot(0, self, self.showMenu)

    def _close_menus(self) -> None:
        """Close menus that are still open. A screen reader that presses an entry leaves the menu open."""
        for menu in (*self.menu().findChildren(QMenu), self.menu()):
            menu.close()


_SIGN = " ▾"
_LEAST_WORDS = 40

Slot = Callable[..., object] | SignalInstance


def make_button(
    text: str = "",
    object_name: str = "",
    *,
    accessible_name: str = "",
    clicked: Slot | None = None,
    variant: str = "",
    tooltip: str = "",
    is_compact: bool = False,
    is_checkable: bool = False,
    parent: QWidget | None = None,
) -> QPushButton:
    """In a dialog, Enter does not press the button."""
    button = QPushButton(text, parent, autoDefault=False)
    button.setCheckable(is_checkable)
    button.setObjectName(object_name)
    button.setAccessibleName(accessible_name)
    button.setToolTip(tooltip)
    if variant:
        button.setProperty("variant", variant)
    if is_compact:
        button.setProperty("compact", True)
    if clicked is not None:
        button.clicked.connect(clicked)
    return button


compact_button = partial(make_button, is_compact=True)


class ClearableLine(QLineEdit):
    """A line with a button that clears it. Qt's own clear button comes with a picture that fits neither theme."""

    def __init__(self, parent: QWidget | None = None, *, placeholderText: str = "") -> None:
        super().__init__(parent, placeholderText=placeholderText)
        words = self.tr("Clear the text")
        button = partial(compact_button, accessible_name=words, tooltip=words, variant="flat", parent=self)
        self._clear = button("×", clicked=self.clear)
        self._clear.setCursor(Qt.CursorShape.ArrowCursor)
        self._clear.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._clear.setFixedWidth(_CLEAR_WIDTH)
        self._clear.hide()
        hbox(STRETCH, self._clear, on=self, margins=(0, 0, 2, 0))
        self.setTextMargins(0, 0, _CLEAR_WIDTH, 0)
        self.textChanged.connect(self._on_text_changed)

    def _on_text_changed(self, text: str) -> None:
        self._clear.setVisible(bool(text))


_CLEAR_WIDTH = 22


def make_line(
    object_name: str,
    accessible_name: str,
    placeholder: str = "",
    *,
    is_clearable: bool = False,
    parent: QWidget | None = None,
) -> QLineEdit:
    line = (ClearableLine if is_clearable else QLineEdit)(parent, placeholderText=placeholder)
    line.setObjectName(object_name)
    line.setAccessibleName(accessible_name)
    return line


class DrawnButton(QAbstractButton):
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def draw_ring(self, painter: QPainter, colour: QColor) -> None:
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), colour)


class PickerButton(MenuButton):
    """Shows the choice made in its menu; hidden until there is one. `set_short` shortens only the shown text."""

    def __init__(self, parent: QWidget, name: str, label: str) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.label = label
        self._is_short = False
        self._less = 0
        self.set_texts(f"{label} ▾", f"{label} ▾")  # until there is a choice
        self.setProperty("compact", True)
        self.hide()

    def width_with(self, *, is_short: bool) -> int:
        return self.sizeHint().width() - self._width_of(self.text()) + self._width_of(self._texts[is_short])

    def _width_of(self, text: str) -> int:
        """Measure as `sizeHint` does. If one pixel differed, a full row would switch texts forever."""
        return self.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, text).width()

    def set_texts(self, full: str, short: str) -> None:
        self._texts = (full, short)
        self._show_text()
        chosen = full.removesuffix("▾").strip()
        self.setAccessibleName(chosen if chosen.startswith(self.label) else f"{self.label}: {chosen}")

    def set_short(self, *, is_short: bool, less: int = 0) -> None:
        self._is_short, self._less = is_short, less
        self._show_text()

    def _show_text(self) -> None:
        text = self._texts[self._is_short]
        if self._less > 0:
            words, metrics = text.removesuffix(_SIGN), self.fontMetrics()
            room = max(metrics.horizontalAdvance(words) - self._less, _LEAST_WORDS)
            text = metrics.elidedText(words, Qt.TextElideMode.ElideRight, room) + _SIGN
        if self.text() != text:
            self.setText(text)


_MOST_ROWS = 40
_LIST_EDGES = 36
_MOST_MEASURED = 100


class Picker(QComboBox):
    """The list opens below the picker and shows whole rows only. The mouse wheel scrolls the surrounding form."""

    def __init__(
        self,
        parent: QWidget | None = None,
        *,
        object_name: str = "",
        accessible_name: str = "",
        choices: Iterable[tuple[str, object]] = (),
        min_chars: int = 8,
        is_editable: bool = False,
        fills: bool = False,
    ) -> None:
        """With `fills`, the picker is as wide as its layout allows."""
        super().__init__(parent, editable=is_editable, insertPolicy=QComboBox.InsertPolicy.NoInsert)
        self.setObjectName(object_name)
        self.setAccessibleName(accessible_name)
        for words, value in choices:
            self.addItem(words, value)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(min_chars)
        width = QSizePolicy.Policy.Expanding if fills else QSizePolicy.Policy.Maximum
        self.setSizePolicy(width, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(Height.BUTTON)
        self.setMaxVisibleItems(_MOST_ROWS)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # not by the wheel

    @property
    def edit(self) -> QLineEdit:
        edit = self.lineEdit()
        assert edit is not None
        return edit

    def pick(self, value: object) -> None:
        """Choose `value`, which is added to the choices if it is missing. Emits no signal."""
        with QSignalBlocker(self):
            if self.findData(value) < 0:
                self.addItem(str(value), value)
            self.setCurrentIndex(self.findData(value))

    def fit(self, *, most_chars: int = 100) -> None:
        needed = -(-self._widest() // self.fontMetrics().horizontalAdvance("X"))  # Qt's width of a character
        self.setMinimumContentsLength(min(max(self.minimumContentsLength(), needed), most_chars))

    def showPopup(self) -> None:
        room = self.screen().availableGeometry().width() // 2
        self.view().setMinimumWidth(min(self._widest() + _LIST_EDGES, room))
        super().showPopup()

    def wheelEvent(self, e: QWheelEvent) -> None:
        e.ignore()  # scrolling must not choose

    def _widest(self) -> int:
        rows = range(min(self.count(), _MOST_MEASURED))
        return max((self.fontMetrics().horizontalAdvance(self.itemText(row)) for row in rows), default=0)

    def paintEvent(self, e: QPaintEvent) -> None:
        super().paintEvent(e)
        # The style sheet removes the native arrow together with the frame.
        with QPainter(self) as painter:
            font = QFont(QApplication.font())  # the field may have a code font, with a smaller arrow
            font.setPixelSize(self.fontInfo().pixelSize())
            painter.setFont(font)
            painter.setPen(self.palette().text().color())
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(self.rect().adjusted(0, 0, -Space.S, 0), right, "▾")


_SWITCH_WIDTH, _SWITCH_HEIGHT = 34, 18


class Switch(QAbstractButton):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(_SWITCH_WIDTH, _SWITCH_HEIGHT + 6)  # with air above and below, for rows of switches

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            colour = self._theme.colour
            top = (self.height() - _SWITCH_HEIGHT) // 2
            edge = 1 if self.hasFocus() else 0.5
            track = QRectF(0, top, _SWITCH_WIDTH, _SWITCH_HEIGHT).adjusted(edge, edge, -edge, -edge)
            is_on = self.isChecked()
            painter.setOpacity(1.0 if self.isEnabled() else 0.5)
            border = ("text" if is_on else "accent") if self.hasFocus() else "accent" if is_on else "control_border"
            painter.setPen(QPen(colour(border), 2 * edge))
            painter.setBrush(colour("accent" if is_on else "sunken"))
            painter.drawRoundedRect(track, track.height() / 2, track.height() / 2)
            knob = _SWITCH_HEIGHT - 6
            left = _SWITCH_WIDTH - knob - 3 if is_on else 3
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour("on_accent" if is_on else "muted"))
            painter.drawEllipse(QRectF(left, top + 3, knob, knob))


ARMING_DELAY_MS = 300
"""How long a question ignores answers: a key or click right after it appears may be meant for what was there before."""


def answer_shortcut(keys: str, answer: Callable[[], object], owner: QWidget) -> QShortcut:
    """Return a shortcut that calls `answer` once while the key is held: repeats would answer the next question, too."""
    shortcut = QShortcut(QKeySequence(keys), owner)
    shortcut.setAutoRepeat(False)
    shortcut.activated.connect(answer)
    return shortcut


class Arming(QObject):
    """Tells when answers to a question count: `is_armed` is set a moment after the question was first painted."""

    def __init__(self, delay_ms: int, parent: QObject) -> None:
        super().__init__(parent)
        self.is_armed = False
        self._timer = one_shot(self, delay_ms, self._arm)

    def note_painted(self) -> None:
        if not self.is_armed and not self._timer.isActive():
            self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def restart(self) -> None:
        """Reset `is_armed`; the wait begins again when the question is next painted."""
        self._timer.stop()
        self.is_armed = False

    def _arm(self) -> None:
        self.is_armed = True


_GAP = 8
_KEY_OPACITY = 0.75
_KEY_SIZE = 10.5

_STEP = 20


def cut_to_fit(
    words: Callable[[Sequence[str]], str], quoted: Sequence[str], button: QPushButton, room: int, most: int = 0
) -> str:
    """Return `words(quoted)` with the quoted parts shortened, to `most` pixels at first, until it fits into `room`."""
    shown, metrics = words(quoted), button.fontMetrics()
    for width in range(most or room, 0, -_STEP):
        if metrics.horizontalAdvance(shown) <= room:
            break
        shown = words([metrics.elidedText(part, Qt.TextElideMode.ElideMiddle, width) for part in quoted])
    return shown


class ShortcutButton(QPushButton):
    """Shows its shortcut beside its label. The button's owner handles the keys."""

    def __init__(self, theme: Theme, label: str, keys: str, *, colour_role: str, parent: QWidget | None = None) -> None:
        super().__init__(label, parent)
        self._theme = theme
        self._keys = keys
        self._colour_role = colour_role
        self._has_keys = True
        self.setAutoDefault(False)
        self.setAccessibleDescription(keys)

    def set_keys(self, keys: str) -> None:
        if keys != self._keys:
            self._keys = keys
            self.setAccessibleDescription(keys)
            self.updateGeometry()
            self.update()

    def show_keys(self, *, is_shown: bool) -> None:
        if is_shown != self._has_keys:
            self._has_keys = is_shown
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        whole = super().sizeHint()
        return QSize(whole.width() + self._taken_width(), whole.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionButton()
        self.initStyleOption(option)
        with QPainter(self) as painter:
            self.style().drawControl(QStyle.ControlElement.CE_PushButtonBevel, option, painter, self)
            taken = self._taken_width()
            option.rect = option.rect.adjusted(0, 0, -taken, 0)
            self.style().drawControl(QStyle.ControlElement.CE_PushButtonLabel, option, painter, self)
            if not self._has_keys:
                return
            label_width = QFontMetrics(self.font()).horizontalAdvance(self.text().replace("&&", "&"))
            left = option.rect.center().x() + label_width // 2 + _GAP
            painter.setFont(self._theme.code_font(_KEY_SIZE))
            painter.setPen(self._theme.colour(self._colour_role if self.isEnabled() else "faint"))
            painter.setOpacity(1 if self._theme.colours.is_high_contrast else _KEY_OPACITY)
            painter.drawText(QRect(left, 0, taken, self.height()), Qt.AlignmentFlag.AlignVCenter, self._keys)

    def _taken_width(self) -> int:
        width = QFontMetrics(self._theme.code_font(_KEY_SIZE)).horizontalAdvance(self._keys)
        return _GAP + width if self._has_keys and self._keys else 0
