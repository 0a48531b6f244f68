"""What is copied before a command that destroys, and what is not: a quiet line, and a warning for each gap."""

from collections.abc import Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop_agent.ui.approvals.signs import signed_line
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.wording.model_words import visible


class SafetyNote(QWidget):
    """Says what a recovery could put back. Not there at all for a command that does not destroy."""

    def __init__(self, theme: Theme, sentences: Sequence[str], parent: QWidget | None = None) -> None:
        """`sentences` are those of `ApprovalRequest.safety`: what is copied, then what is not."""
        super().__init__(parent)
        self.setObjectName("approvalSafetyNote")
        self.setAccessibleName(self.tr("Safety copy"))
        self._theme = theme
        self._sentences: tuple[str, ...] = ()
        self._rows: list[QWidget] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(Space.XS)
        self.hide()
        self.set_sentences(sentences)

    def set_sentences(self, sentences: Sequence[str]) -> None:
        """Show these sentences in place of the earlier ones."""
        shown = tuple(map(visible, sentences))
        if shown == self._sentences:
            return
        self._sentences = shown
        for row in self._rows:
            row.hide()
            row.deleteLater()
        self._rows = []
        for index, sentence in enumerate(shown):
            sign, role = ("confined", "secondary") if index == 0 else ("warning", "warning")
            self._rows.append(signed_line(self._theme, sign, sentence, role))
            self._column.addWidget(self._rows[-1])
        self.setAccessibleDescription(self.text())
        self.setVisible(bool(shown))

    def text(self) -> str:
        """Return what it says, a line for each sentence."""
        return "\n".join(self._sentences)
