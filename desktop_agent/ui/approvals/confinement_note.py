"""How a command would run: inside the sandbox in a quiet line, outside of it in one that cannot be missed."""

from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from desktop_agent.ui.approvals.signs import signed_line
from desktop_agent.ui.theme import Radius, Space, Theme
from desktop_agent.ui.wording.mode_words import escalation_words


class ConfinementNote(QFrame):
    """One line for what is confined; a warning for what would not be, and a louder one for what asks to get out."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("approvalConfinement")
        self.setAccessibleName(self.tr("How it would run"))
        self._theme = theme
        self._text = ""
        self._is_escalation = False
        self._line: QWidget | None = None
        self._column = QVBoxLayout(self)
        theme.changed.connect(self._on_theme_changed)
        self.hide()

    def show_confinement(self, confinement: str, *, is_escalation: bool, is_unconfined: bool) -> None:
        """Say how it would run now."""
        self._text = escalation_words() if is_escalation else confinement
        self._is_escalation = is_escalation
        self.setAccessibleDescription(self._text)
        if self._line is not None:
            self._line.hide()
            self._line.deleteLater()
        sign = "escaping" if is_escalation else "unconfined" if is_unconfined else "confined"
        role = "error" if is_escalation else "warning" if is_unconfined else "secondary"
        self._line = signed_line(self._theme, sign, self._text, role)
        self._column.addWidget(self._line)
        margins = (Space.M, Space.S, Space.M, Space.S) if is_escalation else (0, 0, 0, 0)
        self._column.setContentsMargins(*margins)
        self._on_theme_changed()
        self.setVisible(bool(self._text))

    def text(self) -> str:
        """Return what it says."""
        return self._text

    def _on_theme_changed(self) -> None:
        colours = self._theme.colours
        if not self._is_escalation:
            self.setStyleSheet("")
            return
        self.setStyleSheet(
            f"#approvalConfinement {{ background: {colours.removed_line}; border: 1px solid {colours.removed_text};"
            f" border-radius: {Radius.CONTROL}px; }}"
            f"#approvalConfinement QLabel {{ color: {colours.removed_text}; font-weight: 600; }}"
        )
