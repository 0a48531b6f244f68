"""The question itself: what would run or change, where, why it is asked, and what could go wrong."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from desktop_agent.core.model import ApprovalRequest
from desktop_agent.ui.approvals import request_words
from desktop_agent.ui.approvals.command_edit import CommandEdit
from desktop_agent.ui.approvals.confinement_note import ConfinementNote
from desktop_agent.ui.approvals.risk_note import RiskNote
from desktop_agent.ui.approvals.safety_note import SafetyNote
from desktop_agent.ui.model_words import hidden_text_risks, visible
from desktop_agent.ui.theme import Space, Theme

_MOST_DETAIL_LINES = 12
"""What is longer can be scrolled, so that the answers stay in sight."""
_DETAILS_WIDTH = 700


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
        self.heading = QLabel(visible(request.title))
        """Can have the focus, and no key does harm to it."""
        self.command = CommandEdit(theme, request.command, request.cause) if request.command is not None else None
        self._lay_out(is_unconfined)
        if self.command:
            self.command.changed.connect(self._show_risks)
        self._show_risks()

    def _show_risks(self) -> None:
        hidden = hidden_text_risks(self.command.text) if self.command else []
        self._risks.set_risks([*map(visible, self._request.risks), *hidden])

    def _lay_out(self, is_unconfined: bool) -> None:
        self.heading.setProperty("role", "title")
        self.heading.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.heading.setAccessibleName(self.heading.text())
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
        if self._request.safety:
            box.addSpacing(Space.XS)
            box.addWidget(SafetyNote(self._theme, self._request.safety))
        box.addSpacing(Space.XS)
        box.addWidget(self._risks)

    def _why(self) -> QHBoxLayout:
        """Why the person is asked, always in sight."""
        question = QLabel(self.tr("Why am I asked?"))
        question.setProperty("role", "secondary")
        why = visible(self._request.reason)
        reason = QLabel(request_words.quoted(why))
        reason.setObjectName("approvalReason")
        reason.setAccessibleName(self.tr("Why you are asked: {0}").format(why))
        reason.setTextFormat(Qt.TextFormat.PlainText)
        reason.setWordWrap(True)
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        row.addWidget(question, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(reason, 1)
        return row

    def _details(self) -> QPlainTextEdit:
        """What else decides what would run: variables, input, a special shell. All of it can be looked through."""
        field = QPlainTextEdit("\n".join(map(visible, self._request.details)))
        field.setObjectName("approvalDetails")
        field.setAccessibleName(self.tr("What belongs to it"))
        field.setReadOnly(True)
        field.setTabChangesFocus(True)
        field.setFrameShape(QFrame.Shape.NoFrame)
        field.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        field.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        field.setFont(self._theme.code_font())
        field.setProperty("role", "secondary")
        metrics = field.fontMetrics()
        columns = max(1, _DETAILS_WIDTH // metrics.averageCharWidth())
        lines = sum(1 + len(line) // columns for line in field.toPlainText().split("\n"))
        margins = 2 * round(field.document().documentMargin())
        field.setFixedHeight(min(lines, _MOST_DETAIL_LINES) * metrics.lineSpacing() + margins)
        return field
