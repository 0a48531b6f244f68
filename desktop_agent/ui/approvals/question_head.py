"""The question itself: what would run or change, where, why it is asked, and what could go wrong."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from desktop_agent.core.model import ApprovalRequest
from desktop_agent.ui.approvals import request_words
from desktop_agent.ui.approvals.command_edit import CommandEdit
from desktop_agent.ui.approvals.confinement_note import ConfinementNote
from desktop_agent.ui.approvals.risk_note import RiskNote
from desktop_agent.ui.theme import Space, Theme


class QuestionHead(QWidget):
    """Shows everything about a request but its changes. The command, if there is one, can be edited in place."""

    def __init__(
        self, theme: Theme, request: ApprovalRequest, *, is_unconfined: bool, parent: QWidget | None = None
    ) -> None:
        """`is_unconfined` says whether a yes lets it run without a sandbox."""
        super().__init__(parent)
        self._theme = theme
        self._request = request
        self._risks = RiskNote(theme)
        self.heading = QLabel(request.title)
        """Can have the focus, and no key does harm to it."""
        self.command = CommandEdit(theme, request.command, request.cause) if request.command is not None else None
        self._lay_out(is_unconfined)
        if self.command:
            self.command.changed.connect(self._show_risks)
        self._show_risks()

    def _show_risks(self) -> None:
        hidden = request_words.hidden_text_risks(self.command.text) if self.command else []
        self._risks.set_risks([*self._request.risks, *hidden])

    def _lay_out(self, is_unconfined: bool) -> None:
        self.heading.setProperty("role", "title")
        self.heading.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.heading.setAccessibleName(self._request.title)
        summary = QLabel(request_words.summary(self._request))
        summary.setObjectName("approvalSummary")
        summary.setProperty("role", "secondary")
        box = QVBoxLayout(self)
        box.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.M)
        box.setSpacing(Space.XS)
        for label in (self.heading, summary):
            label.setTextFormat(Qt.TextFormat.PlainText)  # the model wrote some of it
            label.setWordWrap(True)
            box.addWidget(label)
        if self.command:
            box.addSpacing(Space.S)
            box.addWidget(self.command)
        if self._request.details:
            box.addWidget(self._details())
        if self._request.reason:
            box.addSpacing(Space.XS)
            box.addLayout(self._why())
        if self._request.confinement or self._request.is_escalation:
            box.addSpacing(Space.XS)
            box.addWidget(
                ConfinementNote(
                    self._theme,
                    self._request.confinement,
                    is_escalation=self._request.is_escalation,
                    is_unconfined=is_unconfined,
                )
            )
        box.addSpacing(Space.XS)
        box.addWidget(self._risks)

    def _why(self) -> QHBoxLayout:
        """Why the person is asked, always in sight."""
        question = QLabel(self.tr("Why am I asked?"))
        question.setProperty("role", "secondary")
        reason = QLabel(request_words.quoted(self._request.reason))
        reason.setObjectName("approvalReason")
        reason.setAccessibleName(self.tr("Why you are asked: {0}").format(self._request.reason))
        reason.setTextFormat(Qt.TextFormat.PlainText)
        reason.setWordWrap(True)
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        row.addWidget(question, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(reason, 1)
        return row

    def _details(self) -> QLabel:
        """What else decides what would run: variables, input, a special shell."""
        label = QLabel("\n".join(self._request.details))
        label.setObjectName("approvalDetails")
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setFont(self._theme.code_font())
        label.setProperty("role", "secondary")
        return label
