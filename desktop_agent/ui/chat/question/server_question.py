"""Questions of a server during a call: to the user (form or address), or to the session's model (`SamplingCard`)."""

from functools import partial
from typing import assert_never
from urllib.parse import urlsplit

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from desktop_agent.core.protocol.forms import mistake_in, number_in
from desktop_agent.core.protocol.model import (
    Allowed,
    Answer,
    ApprovalScope,
    FormField,
    SamplingQuestion,
    ServerQuestion,
)
from desktop_agent.ui.chat.entries.questions import CardPlace
from desktop_agent.ui.chat.question.request_card import RequestCard, shown_lines
from desktop_agent.ui.chat.text.passage import Paragraph
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Height, Space
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import Picker, make_button
from desktop_agent.ui.widgets.labels import make_label

_HEIGHT = Height.BUTTON
_TICK_HEIGHT = 24
_WIDEST = 420


class FormRow(QObject):
    """A field of the form. Its input is stored in `drafts`, which outlive the card."""

    resized = Signal()

    def __init__(self, field: FormField, drafts: dict[str, str], styles: TextStyles, card: QWidget) -> None:
        super().__init__(card)
        self.field = field
        self._drafts = drafts
        self._key = f"field {field.name}"
        self._has_tick = field.kind == "boolean"
        label = self._words = core_words(field.label)
        name = label if field.is_required or self._has_tick else self.tr("{label} (optional)").format(label=label)
        self._label = make_label("" if self._has_tick else name, parent=card, is_plain=True)
        about = field.description
        self._about = Paragraph(about, styles, card, role="muted", font=styles.secondary) if about else None
        self._controls = self._make_controls(card)
        for control in self._controls:
            control.setAccessibleDescription(about)
        self._mistake = make_label(role="error", parent=card, is_plain=True, wraps=True)
        self._mistake.hide()

    def _make_controls(self, card: QWidget) -> list[QWidget]:
        field, kept = self.field, self._drafts.get(self._key)
        match field.kind:
            case "text" | "number" | "integer":
                line = QLineEdit(("" if field.default is None else str(field.default)) if kept is None else kept, card)
                line.setAccessibleName(self._words)
                line.textChanged.connect(self._on_changed)
                return [line]
            case "choice":
                picker = Picker(card, accessible_name=self._words)
                picker.addItems([self.tr("Choose…"), *(option.label for option in field.options)])
                values = [option.value for option in field.options]
                first = values.index(field.default) + 1 if field.default in values else 0
                picker.setCurrentIndex(first if kept is None else int(kept))
                picker.currentIndexChanged.connect(self._on_changed)
                return [picker]
            case "boolean":
                options = [(self._words, field.default is True)]
            case "choices":
                chosen = field.default if isinstance(field.default, tuple) else ()
                options = [(option.label, option.value in chosen) for option in field.options]
            case _:
                assert_never(field.kind)
        ticks: list[QWidget] = []
        for at, (label, is_on) in enumerate(options):
            tick = QCheckBox(label.replace("&", "&&"), card)
            tick.setAccessibleName(label)
            tick.setChecked(is_on if kept is None else str(at) in kept.split())
            tick.toggled.connect(self._on_changed)
            ticks.append(tick)
        return ticks

    @property
    def answer(self) -> Answer | None:
        """The value; `None` if empty."""
        match self._controls[0]:
            case QLineEdit() as line:
                written = line.text() if self.field.kind == "text" else line.text().strip()
                return (written if self.field.kind == "text" else number_in(self.field, written)) if written else None
            case Picker() as picker:
                at = picker.currentIndex()
                return self.field.options[at - 1].value if at > 0 else None
            case QCheckBox() as tick if self._has_tick:
                return tick.isChecked()
            case _:
                options = zip(self._ticks, self.field.options, strict=True)
                chosen = tuple(option.value for tick, option in options if tick.isChecked())
                return chosen if chosen or self.field.is_required else None

    @property
    def _ticks(self) -> list[QCheckBox]:
        return [control for control in self._controls if isinstance(control, QCheckBox)]

    def check(self) -> bool:
        self._say(mistake_in(self.field, self.answer))
        return self._mistake.isHidden()

    def focus(self) -> None:
        self._controls[0].setFocus(Qt.FocusReason.OtherFocusReason)

    def stop(self) -> None:
        for control in self._controls:
            control.setEnabled(False)

    def place(self, x: int, y: int, width: int) -> int:
        top = y
        if not self._has_tick:
            self._label.setGeometry(x, y, width, self._label.sizeHint().height())
            y += self._label.height() + Space.XS
        height = _HEIGHT if not self._ticks else _TICK_HEIGHT
        for control in self._controls:
            control.setGeometry(x, y, width if self._ticks else min(width, _WIDEST), height)
            y += height
        if self._about is not None:
            y += Space.XS // 2
            y += self._about.place(x, y, width)
        if not self._mistake.isHidden():
            y += Space.XS
            self._mistake.setGeometry(x, y, width, self._mistake.heightForWidth(width))
            y += self._mistake.height()
        return y - top + Space.M

    def _on_changed(self) -> None:
        match self._controls[0]:
            case QLineEdit() as line:
                self._drafts[self._key] = line.text()
            case Picker() as picker:
                self._drafts[self._key] = str(picker.currentIndex())
            case _:
                self._drafts[self._key] = " ".join(str(at) for at, tick in enumerate(self._ticks) if tick.isChecked())
        if not self._mistake.isHidden():
            self.check()

    def _say(self, mistake: str) -> None:
        if self._mistake.text() == mistake and self._mistake.isHidden() == (not mistake):
            return
        self._mistake.setText(mistake)
        self._mistake.setVisible(bool(mistake))
        for control in self._controls:
            control.setAccessibleDescription(" ".join(filter(None, (mistake, self.field.description))))
        self.resized.emit()


class ServerQuestionCard(RequestCard):
    def __init__(self, place: CardPlace, question: ServerQuestion) -> None:
        super().__init__(place)
        self._question = question
        visit, ask = self.tr("{server} wants you to visit a page"), self.tr("{server} asks you something")
        title = visit if question.address else ask
        said = self.add_paragraph(title.format(server=question.server), "title", gap=Space.XS)
        message = self.add_paragraph(shown_lines(question.message), gap=Space.M)
        if question.address:
            self.add_whole_text(question.address, self.tr("Address")).mark((urlsplit(question.address).netloc,))
        self._rows = [FormRow(field, place.drafts, place.styles, self) for field in question.fields]
        for row in self._rows:
            row.resized.connect(self.fit)
            self.parts.append((row, 0))
        self.add_paragraph(self._note_words(), "muted")
        decline = make_button(self.tr("Decline"), clicked=self.on_no, variant="destructive", parent=self)
        self.set_answers(self.tr("Open in browser") if question.address else self.tr("Send"), no=decline)
        self.setAccessibleName(f"{said}. {message}")

    def _note_words(self) -> str:
        if self._question.address:
            words = self.tr("The page is at {host} and opens in your browser. What you do there stays there.")
            return words.format(host=urlsplit(self._question.address).hostname or "")
        words = self.tr("{server} wrote the words above and gets your answer: write no password or key here.")
        return words.format(server=self._question.server)

    def on_yes(self) -> None:
        if not self.is_listening or not self.yes.isEnabled():
            return
        wrong = [row for row in self._rows if not row.check()]
        if wrong:
            wrong[0].focus()
            return
        answers = {row.field.name: row.answer for row in self._rows}
        self.answer(Allowed(answers={name: value for name, value in answers.items() if value is not None}))
        if self._question.address:
            self.actions_.link_activated.emit(self._question.address)

    def stop(self) -> None:
        for row in self._rows:
            row.stop()
        super().stop()


class SamplingCard(RequestCard):
    def __init__(self, place: CardPlace, sampling: SamplingQuestion) -> None:
        super().__init__(place)
        said = self.add_paragraph(self.request.title, "title", gap=Space.XS)
        facts = self.add_paragraph(self._fact_words(sampling), "muted", gap=Space.S)
        roles = {
            "system": self.tr("— Instructions —"),
            "user": self.tr("— As the user —"),
            "assistant": self.tr("— As the model —"),
        }
        asked = "\n\n".join(f"{roles[text.role]}\n{text.text}" for text in sampling.texts)
        self.add_whole_text(asked, self.tr("What is sent to the model"))
        note = self.tr(
            "The words above are the server's. The model sees nothing of the conversation and has no tools. "
            "Its answer goes to the server."
        )
        self.add_paragraph(note, "muted")
        always = make_button(self.tr("Allow in this session"), clicked=partial(self._allow, "session"), parent=self)
        always.setToolTip(self.tr("The server may ask the model without asking you until the session is closed"))
        deny = make_button(self.tr("Deny"), clicked=self.on_no, variant="destructive", parent=self)
        self.set_answers(self.tr("Allow once"), always, no=deny)
        self.setAccessibleName(f"{said}. {facts}")

    def _fact_words(self, sampling: SamplingQuestion) -> str:
        words = self.tr("{model} answers, with at most {tokens} tokens.")
        cost = self.tr("A million input and output tokens cost {price}.").format(price=sampling.price)
        if not sampling.price:
            cost = self.tr("The cost is not known.")
        elif sampling.price == "free":
            cost = self.tr("There is no additional cost.")
        answers = words.format(model=sampling.model, tokens=f"{sampling.max_tokens:,}")
        return " ".join((answers, cost, *sampling.notes))

    def on_yes(self) -> None:
        self._allow("once")

    def _allow(self, scope: ApprovalScope) -> None:
        if self.yes.isEnabled():
            self.answer(Allowed(scope=scope))
