"""What is copied before a command that destroys, and what is not: a quiet line, and a warning for each gap."""

from collections.abc import Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop_agent.ui.approvals.signs import signed_line
from desktop_agent.ui.model_words import visible
from desktop_agent.ui.theme import Space, Theme


class SafetyNote(QWidget):
    """Says what a recovery could put back. Not there at all for a command that does not destroy."""

    def __init__(self, theme: Theme, sentences: Sequence[str], parent: QWidget | None = None) -> None:
        """`sentences` are those of `ApprovalRequest.safety`: what is copied, then what is not."""
        super().__init__(parent)
        self.setObjectName("approvalSafetyNote")
        self.setAccessibleName(self.tr("Safety copy"))
        self._sentences = tuple(map(visible, sentences))
        self.setAccessibleDescription(self.text())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.XS)
        for index, sentence in enumerate(self._sentences):
            sign, role = ("confined", "secondary") if index == 0 else ("warning", "warning")
            column.addWidget(signed_line(theme, sign, sentence, role))
        self.setVisible(bool(self._sentences))

    def text(self) -> str:
        """Return what it says, a line for each sentence."""
        return "\n".join(self._sentences)
