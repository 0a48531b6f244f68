"""What could go wrong, said where it cannot be missed."""

from collections.abc import Sequence

from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from desktop_agent.ui.approvals.signs import signed_line
from desktop_agent.ui.theme import Radius, Space, Theme


class RiskNote(QFrame):
    """Lists risks on warning ground, each with its sign; not there at all without any."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("approvalRiskNote")
        self.setAccessibleName(self.tr("Risks"))
        self._theme = theme
        self._risks: tuple[str, ...] = ()
        self._rows: list[QWidget] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(Space.M, Space.S, Space.M, Space.S)
        self._column.setSpacing(Space.XS)
        self._on_theme_changed()
        theme.changed.connect(self._on_theme_changed)
        self.hide()

    def set_risks(self, risks: Sequence[str]) -> None:
        """Show these risks, one below the other."""
        if tuple(risks) == self._risks:
            return
        self._risks = tuple(risks)
        for row in self._rows:
            row.hide()
            row.deleteLater()
        self._rows = [signed_line(self._theme, "warning", risk, "warning") for risk in self._risks]
        for row in self._rows:
            self._column.addWidget(row)
        self.setAccessibleDescription(self.text())
        self.setVisible(bool(self._risks))

    def text(self) -> str:
        """Return what it says, a line for each risk."""
        return "\n".join(self._risks)

    def _on_theme_changed(self) -> None:
        colours = self._theme.colours
        self.setStyleSheet(
            f"#approvalRiskNote {{ background: {colours.warning_bg}; border: 1px solid {colours.warning_border};"
            f" border-radius: {Radius.CONTROL}px; }}"
        )
