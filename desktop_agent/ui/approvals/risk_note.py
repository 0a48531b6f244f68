"""What could go wrong, said where it cannot be missed."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from desktop_agent.ui.theme import Radius, Space, Theme


class RiskNote(QFrame):
    """Lists risks on warning ground; not there at all without any."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("approvalRiskNote")
        self._theme = theme
        self._text = QLabel()
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setWordWrap(True)
        self._text.setProperty("role", "warning")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(Space.M, Space.S, Space.M, Space.S)
        layout.addWidget(self._text)
        self._on_theme_changed()
        theme.changed.connect(self._on_theme_changed)
        self.set_risks(())

    def set_risks(self, risks: Sequence[str]) -> None:
        """Show these risks, one below the other."""
        text = "\n".join(f"• {risk}" for risk in risks) if len(risks) > 1 else "".join(risks)
        self._text.setText(text)
        self.setAccessibleName(self.tr("Risks"))
        self.setAccessibleDescription(text)
        self.setVisible(bool(risks))

    def text(self) -> str:
        """Return what it says."""
        return self._text.text()

    def _on_theme_changed(self) -> None:
        colours = self._theme.colours
        self.setStyleSheet(
            f"#approvalRiskNote {{ background: {colours.warning_bg}; border: 1px solid {colours.warning_border};"
            f" border-radius: {Radius.CONTROL}px; }}"
        )
