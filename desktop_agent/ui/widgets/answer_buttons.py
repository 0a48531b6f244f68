"""Buttons that answer a question: which keys press them, and when an answer counts."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QKeySequence, QPainter, QPaintEvent, QShortcut
from PySide6.QtWidgets import QPushButton, QStyle, QStyleOptionButton, QWidget

from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Theme

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
