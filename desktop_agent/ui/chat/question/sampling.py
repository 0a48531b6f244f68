"""What a server wants to ask the model, on a card: all of it, who would answer, and what it may cost."""

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalRequest,
    ApprovalScope,
    Denied,
    SampledText,
    SamplingQuestion,
)
from desktop_agent.ui.chat.entries.entry import EntryActions
from desktop_agent.ui.chat.question.request_card import PADDING, RequestCard
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button


class SamplingCard(RequestCard):
    """A server asks for an answer of the session's model."""

    def __init__(
        self,
        request: ApprovalRequest,
        sampling: SamplingQuestion,
        styles: TextStyles,
        actions: EntryActions,
        parent: QWidget,
    ) -> None:
        super().__init__(request, styles, actions, parent)
        self._sampling = sampling
        self._title = self.paragraph(request.title, "title")
        self._facts = self.paragraph(self._fact_words(), "muted")
        self._asked = self.whole_text(self._asked_words(), self.tr("What is sent to the model"))
        self._note = self.paragraph(self._note_words(), "muted")
        self._always = make_button(self.tr("Allow in this session"), clicked=self._on_always, parent=self)
        self._always.setToolTip(self.tr("The server may ask the model without a question until the session is closed"))
        deny = make_button(self.tr("Deny"), clicked=self.on_no, variant="destructive", parent=self)
        self.set_answers(self.tr("Allow once"), self._always, deny)
        self.update_answers()
        self.setAccessibleName(f"{self._title.accessibleName()}. {self._facts.accessibleName()}")

    def _fact_words(self) -> str:
        sampling = self._sampling
        words = [
            self.tr("{model} answers, with at most {tokens} tokens.").format(
                model=sampling.model, tokens=f"{sampling.max_tokens:,}"
            )
        ]
        if sampling.price == "free":
            words.append(self.tr("It costs nothing more."))
        elif sampling.price:
            words.append(self.tr("A million tokens cost {price}, read and written.").format(price=sampling.price))
        else:
            words.append(self.tr("What it costs is not known."))
        return " ".join((*words, *sampling.notes))

    def _asked_words(self) -> str:
        return "\n\n".join(f"{self._role_words(text)}\n{text.text}" for text in self._sampling.texts)

    def _role_words(self, text: SampledText) -> str:
        match text.role:
            case "system":
                return self.tr("— Instructions —")
            case "user":
                return self.tr("— As the user —")
            case "assistant":
                return self.tr("— As the model —")

    def _note_words(self) -> str:
        return self.tr(
            "The words above are the server's. The model sees nothing of the conversation and has no tools. "
            "Its answer goes to the server."
        )

    def place_parts(self, y: int, width: int) -> int:
        y += self._title.place(PADDING, y, width) + Space.XS
        y += self._facts.place(PADDING, y, width) + Space.S
        y += self._asked.place(QRect(PADDING, y, width, 0), 0) + Space.S
        return y + self._note.place(PADDING, y, width)

    def update_answers(self) -> None:
        may = self._asked.fold.is_all_seen and not self.is_answered
        self.yes.setEnabled(may)
        self._always.setEnabled(may)

    def on_yes(self) -> None:
        self._allow("once")

    def _on_always(self) -> None:
        self._allow("session")

    def _allow(self, scope: ApprovalScope) -> None:
        if self.is_listening and self.yes.isEnabled():
            self.answer(Allowed(scope=scope))

    def on_no(self) -> None:
        if self.is_listening:
            self.answer(Denied())
