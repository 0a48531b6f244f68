"""A field that takes the keys that are pressed in it, instead of what they would do or write."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit

_HELD = (Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class ShortcutField(QLineEdit):
    """Shows what was pressed last. Enter (unless it `takes_enter`), Esc and Tab alone keep their meaning: use
    it, leave, go on.

    Signals:
        keys_pressed: these keys, as the settings file has them.
        confirmed: Enter was pressed.
        left: Esc was pressed.
    """

    keys_pressed = Signal(str)
    confirmed = Signal()
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.takes_enter = False
        """Whether Enter alone is one of the keys, and does not confirm."""
        self.setReadOnly(True)
        self.setPlaceholderText(self.tr("Press the keys"))

    def event(self, arg__1: QEvent) -> bool:
        """Keep what is pressed from the shortcuts of the window and of the dialog."""
        if arg__1.type() is QEvent.Type.ShortcutOverride:
            arg__1.accept()
            return True
        if arg__1.type() is QEvent.Type.KeyPress and isinstance(arg__1, QKeyEvent) and _is_held_tab(arg__1):
            self.keyPressEvent(arg__1)
            return True
        return super().event(arg__1)

    def keyPressEvent(self, arg__1: QKeyEvent) -> None:
        key = arg__1.key()
        is_alone = arg__1.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        if key in _HELD or key == Qt.Key.Key_unknown:
            return
        if key == Qt.Key.Key_Escape and is_alone:
            self.left.emit()
        elif key in _ENTER and is_alone and not self.takes_enter:
            self.confirmed.emit()
        else:
            combination = arg__1.keyCombination()
            plain = combination.keyboardModifiers() & ~Qt.KeyboardModifier.KeypadModifier
            named = Qt.Key.Key_Tab if combination.key() == Qt.Key.Key_Backtab else combination.key()
            keys = QKeySequence(plain | named)
            self.setText(keys.toString(QKeySequence.SequenceFormat.NativeText))
            self.keys_pressed.emit(keys.toString(QKeySequence.SequenceFormat.PortableText))

    def focusInEvent(self, arg__1: QFocusEvent) -> None:
        super().focusInEvent(arg__1)
        self.deselect()


def _is_held_tab(event: QKeyEvent) -> bool:
    """Whether this is Tab with other keys, which is no way to the next field."""
    held = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
    return event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab) and bool(event.modifiers() & held)
