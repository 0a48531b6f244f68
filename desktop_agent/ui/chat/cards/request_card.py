"""The cards of questions by a server: to the user (a form or an address), or to the session's model (`SamplingCard`).

`RequestCard`, and the fields and notes above it, are the parts of all question cards. It prevents accidental answers:
see `approval`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple, Protocol, assert_never
from urllib.parse import urlsplit

from PySide6.QtCore import QCoreApplication, QObject, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QTextCharFormat
from PySide6.QtWidgets import QCheckBox, QLineEdit, QPushButton, QTextEdit, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.changes.net import net_of_call
from desktop_agent.core.protocol.forms import mistake_in, number_in
from desktop_agent.core.protocol.model import (
    Allowed,
    Answer,
    ApprovalRequest,
    ApprovalScope,
    Denied,
    FileChange,
    FormField,
    SamplingQuestion,
    ServerQuestion,
)
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.change import SIGNS, DiffLine, excerpt_of
from desktop_agent.ui.chat.cards.tool_body import CardLoader, CardSource, in_thread
from desktop_agent.ui.chat.entries.questions import PADDING, CardPlace, QuestionCard
from desktop_agent.ui.chat.markdown.parser import LINE_BREAK
from desktop_agent.ui.chat.text.passage import Paragraph
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.open_question import confinement_words, risk_words
from desktop_agent.ui.part_keys import ALLOW_KEYS, DENY_KEYS, native_keys
from desktop_agent.ui.theme import Height, Space
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import Picker, answer_shortcut, make_button
from desktop_agent.ui.widgets.exact_field import ExactField, FoldBar
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import flow
from desktop_agent.ui.widgets.text_colours import count_lines, cursor_over, mark_of
from desktop_agent.ui.wording import utf16_length, visible

_FRAME = 14
_SIDES = 22


class CardField(ExactField):
    """A field as high as its text, up to a limit, and read-only at first. The bar `fold` is placed below it."""

    def __init__(self, text: str, styles: TextStyles, parent: QWidget, name: str) -> None:
        super().__init__(styles.theme, text, parent)
        self.setFont(styles.code)
        self.setReadOnly(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)
        self.document().setDocumentMargin(2)
        self.fold = FoldBar(self, parent)

    def place(self, x: int, y: int, width: int, *, reserved: int = 0) -> int:
        """Place the field, with `reserved` pixels free on the right. Return the height with the fold bar."""
        self.setViewportMargins(0, 0, reserved, 0)
        lines = count_lines(self.toPlainText(), self.font(), width - reserved - _SIDES, self.most_lines)
        is_long = lines == self.most_lines
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if is_long else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        height = lines * self.fontMetrics().lineSpacing() + _FRAME + 4
        self.setGeometry(x, y, width, height)
        if not self.fold.isHidden():
            bar = self.fold.sizeHint().height()
            self.fold.setGeometry(x, y + height + 2, width, bar)
            height += bar + 2
        return height


_FOLDED, _WHOLE = (30, 4_000), (400, 20_000)
"""The most lines and characters of a change that the card shows at first, and at all."""
FLAT_PADDING = 9


class ChangeField(CardField):
    shown = Signal()  # a larger part of the change became visible

    def __init__(
        self,
        changes: Sequence[FileChange],
        loader: CardLoader | None,
        styles: TextStyles,
        review: Callable[[], None],
        parent: QWidget,
    ) -> None:
        self._lines: Sequence[DiffLine] = ()
        super().__init__("", styles, parent, QCoreApplication.translate("ChangeField", "What would change"))
        self.fold.stay_away()
        self.most_lines = _WHOLE[1]
        self.is_whole = False
        self._review = review
        self._rest: Sequence[DiffLine] = ()
        self.more = make_button(clicked=self._on_more, variant="flat", parent=parent, is_compact=True)
        self.more.hide()
        changes = net_of_call(changes)
        self._show_lines([_heading(change) for change in changes[: _FOLDED[0]]])
        if loader is not None:
            loader.spawn(self._load(changes, loader.source))

    def place(self, x: int, y: int, width: int, *, reserved: int = 0) -> int:
        height = super().place(x, y, width, reserved=reserved)
        if not self.more.isHidden():
            size = self.more.sizeHint()
            self.more.setGeometry(x - FLAT_PADDING, y + height + 2, min(width, size.width()), size.height())
            height += size.height() + 2
        return height

    async def _load(self, changes: Sequence[FileChange], source: CardSource) -> None:
        try:
            lines, hidden = await _compared(changes, source)
        except Exception as error:
            if isValid(self):
                words = self.tr("The change could not be shown"), self.tr("It cannot be allowed without being shown.")
                if isinstance(error, AgentError):
                    words = core_words(error.title), core_words(error.hint)
                self._show_lines([*self._lines, *(DiffLine("gap", 0, said) for said in words if said)])
                self.shown.emit()
            if isinstance(error, AgentError):
                return
            raise
        if isValid(self):
            self._show_loaded(lines, hidden)

    def _show_loaded(self, lines: Sequence[DiffLine], hidden: int) -> None:
        whole, folded = _fitting(lines, *_WHOLE), _fitting(lines, *_FOLDED)
        hidden += len(lines) - whole
        self._rest = () if hidden else lines[folded:]
        self.is_whole = not hidden and not self._rest
        self._show_lines(lines[:folded])
        if hidden:
            count = len(lines) - folded + hidden
            words = entry_words.counted(count, "Review %n more line…", "Review %n more lines…")
        else:
            words = entry_words.counted(len(self._rest), "Show %n more line", "Show %n more lines")
        self.more.setText(words)
        self.more.setAccessibleName(words)
        self.more.setVisible(not self.is_whole)
        self.shown.emit()

    def _on_more(self) -> None:
        if not self._rest:
            self._review()
            return
        self.setFocus()  # keep the focus from moving to the next button
        self.more.hide()
        self._show_lines([*self._lines, *self._rest])
        self._rest, self.is_whole = (), True
        self.shown.emit()

    def _show_lines(self, lines: Sequence[DiffLine]) -> None:
        self._lines = lines
        shown = (line.text if line.tone == "file" else f"{SIGNS[line.tone]} {line.text}" for line in lines)
        self.set_text("\n".join(shown))

    def setExtraSelections(self, selections: Sequence[QTextEdit.ExtraSelection]) -> None:
        super().setExtraSelections([*self._marks(), *selections])

    def _marks(self) -> list[QTextEdit.ExtraSelection]:
        marks: list[QTextEdit.ExtraSelection] = []
        document = self.document()
        for at, line in enumerate(self._lines):
            block, look = document.findBlockByNumber(at), QTextCharFormat()
            start = block.position()
            if line.tone in ("gap", "file"):
                look.setForeground(self._theme.colour("muted"))
                marks.append(mark_of(cursor_over(document, start, start + block.length() - 1), look))
            elif line.words and block.text()[2:] == line.text:
                look.setBackground(self._theme.colour(f"{line.tone}_word"))
                for words in line.words:
                    first, last = (start + 2 + utf16_length(line.text[:end]) for end in words)
                    marks.append(mark_of(cursor_over(document, first, last), look))
        return marks

    def paintEvent(self, e: QPaintEvent) -> None:
        with QPainter(self.viewport()) as painter:
            block, offset = self.firstVisibleBlock(), self.contentOffset()
            while block.isValid() and block.blockNumber() < len(self._lines):
                tone = self._lines[block.blockNumber()].tone
                if tone in ("added", "removed"):
                    area = self.blockBoundingGeometry(block).translated(offset)
                    area = QRectF(0, area.top(), self.viewport().width(), area.height())
                    painter.fillRect(area, self._theme.colour(f"{tone}_line"))
                block = block.next()
        super().paintEvent(e)


async def _compared(changes: Sequence[FileChange], source: CardSource) -> tuple[list[DiffLine], int]:
    """Return the lines to show, and the number of changed lines beyond them."""
    lines: list[DiffLine] = []
    hidden = 0
    for change in changes:
        room = _WHOLE[0] - len(lines)
        if room <= 0:
            hidden += max(1, change.added + change.removed)
            continue
        diff = await source.change_diff(change)
        excerpt = await in_thread(partial(excerpt_of, diff, room, is_exact=True))
        notes = [DiffLine("gap", 0, excerpt.note)] if excerpt.note else []
        lines += [_heading(change), *notes, *excerpt.lines]
        hidden += excerpt.hidden
    return lines, hidden


def _heading(change: FileChange) -> DiffLine:
    name = f"{change.moved_from} → {change.path}" if change.moved_from else change.path
    counts = f"  +{change.added} {entry_words.MINUS}{change.removed}"
    return DiffLine("file", 0, visible(name).replace("\n", "␊") + counts)


def _fitting(lines: Sequence[DiffLine], most: int, most_chars: int) -> int:
    for at, line in enumerate(lines[:most]):
        most_chars -= len(line.text)
        if most_chars < 0:
            return at
    return min(len(lines), most)


class CardNotes(NamedTuple):
    risk: Paragraph | None
    reasons: list[Paragraph]
    """The reason for the question and the other risks: shown when the user asks why."""
    rest: list[Paragraph]
    spoken: str
    """What a screen reader says of all of them."""


def card_notes(request: ApprovalRequest, command: str, styles: TextStyles, parent: QWidget) -> CardNotes:
    def note(text: str, role: str = "text", sign: str = "") -> Paragraph:
        return Paragraph(shown_lines(sign + text), styles, parent, role=role, font=styles.body)

    reason, risks, confinement = core_words(request.reason), risk_words(request, command), confinement_words(request)
    safety = [core_words(text) for text in request.safety]
    if request.is_escalation:
        lead, others = note(confinement, "danger_text"), risks
    elif risks:
        lead, others = note(risks[0], "warning_text", "⚠ "), risks[1:]
    else:
        lead, others = note(reason, "warning_text") if reason else None, []
    why = [note(reason)] if reason and (risks or request.is_escalation) else []
    why += [note(risk, sign="⚠ ") for risk in others]
    rest = [note(confinement, "muted")] if confinement and not request.is_escalation else []
    rest += [note(text, "warning_text" if at else "muted", "⚠ " if at else "") for at, text in enumerate(safety)]
    for paragraph in filter(None, (lead, *rest)):
        paragraph.show()
    return CardNotes(lead, why, rest, " ".join(filter(None, (reason, *risks, confinement, *safety))))


def shown_lines(text: str) -> str:
    return visible(text).replace("\n", LINE_BREAK)


class CardPart(Protocol):
    def place(self, x: int, y: int, width: int) -> int:
        """Return the height."""
        ...


class RequestCard(QuestionCard):
    """A server's question. Subclasses make the parts, each with the gap below it, then call `set_answers`."""

    def __init__(self, place: CardPlace) -> None:
        super().__init__(place)
        self.parts: list[tuple[CardPart, int]] = []
        self._must_see: CardField | None = None
        self._consents: Sequence[QPushButton] = ()
        self._buttons: Sequence[QPushButton] = ()
        self._yes_words = ""
        self.yes = make_button(clicked=self.on_yes, variant="primary", parent=self)
        self._shortcuts = (answer_shortcut(ALLOW_KEYS, self.on_yes, self), answer_shortcut(DENY_KEYS, self.on_no, self))

    def set_answers(self, yes_words: str, *others: QPushButton, no: QPushButton) -> None:
        """`others` are further buttons that consent."""
        self._yes_words = yes_words
        self._consents = (self.yes, *others)
        self.no = no
        self._buttons = (*self._consents, no)
        self.set_shortcut(is_enabled=True)
        self._update_answers()

    def add_paragraph(self, words: str, role: Literal["title", "muted", "text"] = "text", *, gap: int = 0) -> str:
        """Return the text of the paragraph."""
        styles = self.styles
        font = {"title": styles.strong, "muted": styles.secondary, "text": styles.body}[role]
        paragraph = Paragraph(words, styles, self, role="muted" if role == "muted" else "text", font=font)
        self.parts.append((paragraph, gap))
        return paragraph.accessibleName()

    def add_whole_text(self, text: str, name: str) -> CardField:
        """Add a text that the user must see in full before a yes is possible."""
        field = self._must_see = CardField(text, self.styles, self, name)
        field.fold.changed.connect(self._update_answers)
        field.fold.resize_wanted.connect(self.fit)
        self.parts.append((field, Space.S))
        return field

    def set_shortcut(self, *, is_enabled: bool) -> None:
        for shortcut in self._shortcuts:
            shortcut.setEnabled(is_enabled)
        self.yes.setText(self._yes_words + (f"  {native_keys(ALLOW_KEYS)}" if is_enabled else ""))
        self.yes.setAccessibleName(self._yes_words)
        if self._width:
            self.set_width(self._width)

    def place_all(self, y: int, width: int) -> int:
        for part, gap in self.parts:
            y += part.place(PADDING, y, width) + gap
        y += Space.S + 2
        return y + flow(list(self._buttons), QRect(PADDING, y, width, 0))

    def stop(self) -> None:
        for button in self._buttons:
            button.setEnabled(False)

    def on_no(self) -> None:
        self.answer(Denied())

    def on_yes(self) -> None:
        raise NotImplementedError

    def _update_answers(self) -> None:
        is_all_seen = self._must_see is None or self._must_see.fold.is_all_seen
        for button in self._consents:
            button.setEnabled(is_all_seen and not self.is_answered)


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
        return " ".join((answers, cost, *map(core_words, sampling.notes)))

    def on_yes(self) -> None:
        self._allow("once")

    def _allow(self, scope: ApprovalScope) -> None:
        if self.yes.isEnabled():
            self.answer(Allowed(scope=scope))
