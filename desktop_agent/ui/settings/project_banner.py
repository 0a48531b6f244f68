"""A banner above the conversation: the project brings settings of its own, and nobody has looked at them yet."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from desktop_agent.ui.settings.project_page import change_lines, problem_lines
from desktop_agent.ui.theme import Space

if TYPE_CHECKING:
    from desktop_agent.core.settings.project import ProjectProposal

_SHOWN_LINES = 4
_SHOWN_CHARS = 160
"""Of one line; the details have more of it."""


class ProjectBanner(QFrame):
    """Says what the project would change, and takes the answer.

    Signals:
        answered: the person says `trusted` or `ignored` to what is shown.
        details_requested: the person wants to see all of it.
    """

    answered = Signal(str)
    details_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("projectBanner")
        self.setProperty("role", "banner")
        self._title = QLabel(self.tr("This project brings settings of its own. They hold only if you trust them."))
        self._title.setProperty("role", "warning")
        self._title.setWordWrap(True)
        self._changes = QLabel()
        self._changes.setProperty("role", "secondary")
        self._changes.setTextFormat(Qt.TextFormat.PlainText)
        self._changes.setWordWrap(True)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._title)
        words.addWidget(self._changes)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(Space.L, Space.S, Space.S, Space.S)
        layout.addLayout(words, 1)
        self._trust = self._button(self.tr("Trust"), "projectBannerTrust")
        self._ignore = self._button(self.tr("Ignore"), "projectBannerIgnore")
        self._details = self._button(self.tr("Details…"), "projectBannerDetails")
        self._details.setProperty("variant", "flat")
        for button in (self._trust, self._ignore, self._details):
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self._trust.clicked.connect(self._on_trust)
        self._ignore.clicked.connect(self._on_ignore)
        self._details.clicked.connect(self.details_requested)
        self.hide()

    def show_proposal(self, proposal: "ProjectProposal") -> None:
        """Ask about a project's file."""
        lines = change_lines(proposal.changes)
        lines += problem_lines(proposal.problems)
        if len(lines) > _SHOWN_LINES:
            lines = [*lines[: _SHOWN_LINES - 1], self.tr("And {0} more.").format(len(lines) - _SHOWN_LINES + 1)]
        short = (line if len(line) <= _SHOWN_CHARS else f"{line[: _SHOWN_CHARS - 1]}…" for line in lines)
        self._changes.setText("\n".join(short))
        self._trust.setVisible(bool(proposal.changes))
        self.setAccessibleName(f"{self._title.text()} {self._changes.text()}")
        self.show()

    def _button(self, text: str, name: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setObjectName(name)
        button.setProperty("compact", True)
        return button

    def _on_trust(self) -> None:
        self.answered.emit("trusted")

    def _on_ignore(self) -> None:
        self.answered.emit("ignored")
