"""Buttons with a look of the theme, one that its panel draws, and one that says what is chosen in its menu."""

from collections.abc import Callable

from PySide6.QtCore import QRectF, Qt, SignalInstance
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget

from desktop_agent.ui.theme import Radius
from desktop_agent.ui.widgets.menu_button import MenuButton

_SIGN = " ▾"
_LEAST_WORDS = 40

Slot = Callable[..., object] | SignalInstance
"""What a signal can be connected with."""


def make_button(
    text: str = "",
    *,
    object_name: str = "",
    accessible_name: str = "",
    clicked: Slot | None = None,
    variant: str = "",
    is_compact: bool = False,
    parent: QWidget | None = None,
) -> QPushButton:
    """Return a button of this look, connected with `clicked`. In a dialog, Enter does not press it."""
    button = QPushButton(text, parent, autoDefault=False)
    button.setObjectName(object_name)
    button.setAccessibleName(accessible_name)
    if variant:
        button.setProperty("variant", variant)
    if is_compact:
        button.setProperty("compact", True)
    if clicked is not None:
        button.clicked.connect(clicked)
    return button


class DrawnButton(QAbstractButton):
    """A button without a look of its own. Enter presses it, as Space does every button."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def draw_ring(self, painter: QPainter, colour: QColor) -> None:
        """Draw the ring around the whole of it while it has the focus."""
        if self.hasFocus():
            painter.setPen(QPen(colour, 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), Radius.CONTROL, Radius.CONTROL)


class PickerButton(MenuButton):
    """Shows what is chosen in its menu, in fewer words after `set_short`; its tool tip and name say the rest."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.label = ""
        """What it lets the user choose; its name also says what is chosen."""
        self._texts = ("", "")
        self._is_short = False
        self._less = 0

    def width_with(self, *, is_short: bool) -> int:
        """Return how wide it is with one of its texts, whatever it shows now."""
        return self.sizeHint().width() - self._width_of(self.text()) + self._width_of(self._texts[is_short])

    def _width_of(self, text: str) -> int:
        """Measure as `sizeHint` does: one pixel beside it, and a row that just fits never knows which text to show."""
        return self.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, text).width()

    def set_texts(self, full: str, short: str) -> None:
        """Show one of these from now on."""
        self._texts = (full, short)
        self._show_text()
        chosen = full.removesuffix("▾").strip()
        self.setAccessibleName(chosen if chosen.startswith(self.label) else f"{self.label}: {chosen}")

    def set_short(self, *, is_short: bool, less: int = 0) -> None:
        """Show the short text or the full one, `less` pixels of it, as far as something can be left out."""
        self._is_short, self._less = is_short, less
        self._show_text()

    def _show_text(self) -> None:
        text = self._texts[self._is_short]
        if self._less > 0:
            words, metrics = text.removesuffix(_SIGN), self.fontMetrics()
            room = max(metrics.horizontalAdvance(words) - self._less, _LEAST_WORDS)
            text = metrics.elidedText(words, Qt.TextElideMode.ElideMiddle, room) + _SIGN
        if self.text() != text:
            self.setText(text)
