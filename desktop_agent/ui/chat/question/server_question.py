"""What a server asks while its call runs, on a card: a form to fill in, or an address, opened only by a click."""

from urllib.parse import urlsplit

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, Decision, Denied, ServerQuestion
from desktop_agent.ui.chat.entries.entry import EntryActions
from desktop_agent.ui.chat.question.card_command import CardCommand
from desktop_agent.ui.chat.question.card_notes import shown_lines
from desktop_agent.ui.chat.question.form_row import FormRow
from desktop_agent.ui.chat.question.request_card import PADDING, RequestCard
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button


class ServerQuestionCard(RequestCard):
    """A server asks the user to fill in a form, or to visit a page."""

    def __init__(
        self,
        request: ApprovalRequest,
        question: ServerQuestion,
        drafts: dict[str, str],
        styles: TextStyles,
        actions: EntryActions,
        parent: QWidget,
    ) -> None:
        super().__init__(request, styles, actions, parent)
        self._question = question
        self._title = self.paragraph(self._title_words(), "title")
        self._message = self.paragraph(shown_lines(question.message))
        self._address = self._make_address() if question.address else None
        self._rows = [FormRow(field, drafts, styles, self) for field in question.fields]
        for row in self._rows:
            row.resized.connect(self.fit)
        self._note = self.paragraph(self._note_words(), "muted")
        decline = make_button(self.tr("Decline"), clicked=self.on_no, variant="destructive", parent=self)
        self.set_answers(self.tr("Open in browser") if question.address else self.tr("Send"), decline)
        self.setAccessibleName(f"{self._title.accessibleName()}. {self._message.accessibleName()}")

    def _title_words(self) -> str:
        if self._question.address:
            return self.tr("{server} wants you to visit a page").format(server=self._question.server)
        return self.tr("{server} asks you something").format(server=self._question.server)

    def _note_words(self) -> str:
        if self._question.address:
            host = urlsplit(self._question.address).hostname or ""
            return self.tr("The page is at {host} and opens in your browser. What you do there stays there.").format(
                host=host
            )
        return self.tr("The words above are the server's. What you answer goes to it: write no password or key here.")

    def _make_address(self) -> CardCommand:
        field = self.whole_text(self._question.address, self.tr("Address"))
        field.mark((urlsplit(self._question.address).netloc,))
        return field

    def place_parts(self, y: int, width: int) -> int:
        y += self._title.place(PADDING, y, width) + Space.XS
        y += self._message.place(PADDING, y, width) + Space.M
        if self._address is not None:
            y += self._address.place(QRect(PADDING, y, width, 0), 0) + Space.S
        for row in self._rows:
            y = row.place(PADDING, y, width)
        return y + self._note.place(PADDING, y, width)

    def update_answers(self) -> None:
        is_all_seen = self._address is None or self._address.fold.is_all_seen
        self.yes.setEnabled(is_all_seen and not self.is_answered)

    def on_yes(self) -> None:
        if not self.is_listening or not self.yes.isEnabled():
            return
        wrong = [row for row in self._rows if not row.check()]
        if wrong:
            wrong[0].focus()
            return
        if self._question.address:
            self.actions_.link_activated.emit(self._question.address)
        answers = {row.field.name: row.answer for row in self._rows}
        self._finish(Allowed(answers={name: value for name, value in answers.items() if value is not None}))

    def on_no(self) -> None:
        if self.is_listening:
            self._finish(Denied())

    def _finish(self, decision: Decision) -> None:
        for row in self._rows:
            row.stop()
        self.answer(decision)
