"""A button with a menu that says what is chosen there, in fewer words where there is no room for all."""

from PySide6.QtWidgets import QToolButton, QWidget


class PickerButton(QToolButton):
    """Shows a text, or a shorter one after `set_short`; its tool tip and name say the rest."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._texts = ("", "")
        self._is_short = False

    @property
    def full_width(self) -> int:
        """How wide it is with all its words, whatever it shows now."""
        metrics = self.fontMetrics()
        own = metrics.horizontalAdvance(self._texts[0]) - metrics.horizontalAdvance(self.text())
        return self.sizeHint().width() + own

    def set_texts(self, full: str, short: str) -> None:
        """Show one of these from now on."""
        self._texts = (full, short)
        self._show_text()

    def set_short(self, *, is_short: bool) -> None:
        """Show the short text or the full one."""
        self._is_short = is_short
        self._show_text()

    def _show_text(self) -> None:
        if self.text() != (text := self._texts[self._is_short]):
            self.setText(text)
