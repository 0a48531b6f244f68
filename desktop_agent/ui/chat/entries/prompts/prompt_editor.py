"""The field in which an earlier prompt is edited, in its place, and how it is to be sent again."""

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.picker import Picker

_PADDING = 12


class PromptEditor(QWidget):
    """A message field with what will happen below it. Enter sends, Escape is `cancel`: all stays as it was.

    Signals:
        sent: the new text, and whether the files are to be put back, too.
        changed: it reads so now.
        resized: it wants another height.
    """

    sent = Signal(str, bool)
    changed = Signal(str)
    resized = Signal()

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._width = 0
        self._edit = MessageEdit(self)
        self._edit.setObjectName("promptEdit")
        self._edit.setAccessibleName(self.tr("Your message, edited"))
        self._edit.setPlainText(text)
        self._edit.submitted.connect(self._on_send)
        self._edit.submitted_at_once.connect(self._on_send)
        self._edit.textChanged.connect(self._on_text_changed)
        self.setFocusProxy(self._edit)
        note = self.tr("Continues in a copy of this conversation that ends before this message.")
        self._note = make_label(note, role="secondary", parent=self, wraps=True)
        self._files = Picker(self, min_chars=26)
        self._files.setObjectName("promptEditFiles")
        self._files.setAccessibleName(self.tr("What happens with the files"))
        self._files.addItems([self.tr("Keep files as they are"), self.tr("Also undo the changes made since")])
        self._files.fit()
        self.cancel = make_button(self.tr("Cancel"), object_name="promptEditCancel", parent=self)
        self._send = make_button(
            self.tr("Send"), object_name="promptEditSend", clicked=self._on_send, variant="primary", parent=self
        )
        self._height = 0

    def put_cursor_at_end(self) -> None:
        """Take the focus, to write on."""
        cursor = self._edit.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        self._edit.setTextCursor(cursor)
        self._edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def tab_stops(self) -> list[QWidget]:
        """Return what takes the keyboard, in the order of reading."""
        return [self._edit, self._files, self.cancel, self._send]  # not the list of choices: it is another window

    def set_width(self, width: int) -> None:
        """Arrange everything at this width; `wanted_height` returns the height it needs."""
        self._width = width
        inner = width - 2 * _PADDING
        y = _PADDING
        height = self._edit.wanted_height(inner)
        self._edit.setGeometry(_PADDING, y, inner, height)
        y += height + Space.S
        height = self._note.heightForWidth(inner)
        self._note.setGeometry(_PADDING, y, inner, height)
        y += height + Space.S
        self._height = self._arrange_buttons(QRect(_PADDING, y, inner, 0)) + _PADDING

    def wanted_height(self) -> int:
        """How high it is at its width."""
        return self._height

    def _arrange_buttons(self, area: QRect) -> int:
        """Place the choice on the left and the buttons on the right, or below it; return where they end."""
        picker = self._files.sizeHint()
        buttons = (self._send, self.cancel)
        needed = sum(control.sizeHint().width() + Space.S for control in buttons)
        picker_width = min(picker.width(), area.width())
        self._files.setGeometry(area.x(), area.y(), picker_width, picker.height())
        is_narrow = picker_width + needed > area.width()
        y = area.y() + picker.height() + Space.S if is_narrow else area.y()
        right = area.x() + area.width()
        for control in buttons:
            size = control.sizeHint()
            right -= size.width()
            control.setGeometry(right, y, size.width(), size.height())
            right -= Space.S
        return y + max(picker.height(), self._send.sizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.cancel.click()
            return
        super().keyPressEvent(event)

    def _on_text_changed(self) -> None:
        text = self._edit.toPlainText()
        self._send.setEnabled(bool(text.strip()))
        self.changed.emit(text)
        before = self._height
        self.set_width(self._width)
        if self._height != before:
            self.resized.emit()

    def _on_send(self) -> None:
        text = self._edit.toPlainText().strip()
        if text:
            self.sent.emit(text, self._files.currentIndex() == 1)
