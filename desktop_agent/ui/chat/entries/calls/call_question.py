"""The question about a tool call, in the place of its card while the user has not answered."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import ApprovalRequest
from desktop_agent.ui.chat.cards.tool_body import entry_of
from desktop_agent.ui.chat.entries.base import EntryWidget

if TYPE_CHECKING:
    from desktop_agent.ui.chat.question.approval import ApprovalCard
    from desktop_agent.ui.chat.question.sampling import SamplingCard
    from desktop_agent.ui.chat.question.server_question import ServerQuestionCard

    QuestionCard = ApprovalCard | SamplingCard | ServerQuestionCard


class CallQuestion(QObject):
    """Shows a card while a call waits for an answer, and lets it go afterwards with what was written in it."""

    def __init__(self, entry_widget: EntryWidget) -> None:
        super().__init__(entry_widget)
        self.card: QuestionCard | None = None

    def show(self) -> None:
        """Show the question there is now, and what is known of an edited command."""
        widget = self.parent()
        assert isinstance(widget, EntryWidget)
        entry = entry_of(widget.row)
        if not entry.is_waiting or entry.approval is None:
            self._drop()
            widget.row.drafts.clear()
            return
        if self.card is None or self.card.request is not entry.approval:
            if self.card is not None and entry.approval.question is not None:
                widget.row.drafts.clear()  # they were for what was asked before
            self._drop()
            self.card = self._make(entry.approval, widget)
        if entry.judged is not None:
            self._show_judgement(entry.judged)
        self.card.show()

    def _show_judgement(self, judged: CommandJudged) -> None:
        from desktop_agent.ui.chat.question.approval import ApprovalCard  # it is loaded: it asks about the command

        if isinstance(self.card, ApprovalCard):
            self.card.show_judgement(judged)

    def _make(self, request: ApprovalRequest, widget: EntryWidget) -> "QuestionCard":
        drafts, styles, actions = widget.row.drafts, widget.styles, widget.entry_actions
        if request.question is not None and request.question.sampling is not None:
            from desktop_agent.ui.chat.question.sampling import SamplingCard  # with the first of a server

            card = SamplingCard(request, request.question.sampling, styles, actions, widget)
        elif request.question is not None:
            from desktop_agent.ui.chat.question.server_question import ServerQuestionCard  # with the first of a server

            card = ServerQuestionCard(request, request.question, drafts, styles, actions, widget)
        else:
            from desktop_agent.ui.chat.question.approval import ApprovalCard  # with the first question

            card = ApprovalCard(request, drafts, styles, actions, widget)
        card.resized.connect(widget.resized)
        return card

    def _drop(self) -> None:
        if self.card is not None:
            self.card.hide()
            self.card.deleteLater()
            self.card = None
