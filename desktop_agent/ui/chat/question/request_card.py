"""The parts of all question cards: fields for the text in question, and the notes below them.

A `RequestCard` is a card on which a server asks something. As with the question about a call, nothing on it answers by
accident: see `approval`.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.changes.net import net_of_call
from desktop_agent.core.protocol.model import ApprovalRequest, Denied
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.entries.entry import EntryActions
from desktop_agent.ui.chat.entries.questions import PADDING, QuestionCard
from desktop_agent.ui.chat.markdown.inline import LINE_BREAK
from desktop_agent.ui.chat.text.passage import Paragraph, count_lines
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.open_question import confinement_words, risk_words
from desktop_agent.ui.part_keys import ALLOW_KEYS, DENY_KEYS, native_keys
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.answer_buttons import answer_shortcut
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.exact_field import ExactField, FoldBar
from desktop_agent.ui.widgets.layouts import flow
from desktop_agent.ui.wording.visible_text import visible

_FRAME = 14
"""Height of border and padding together."""
_SIDES = 22
"""Width of border, padding and margins together."""


class CardField(ExactField):
    """A field that is as high as its text, up to a limit, and read-only at first. The bar `fold` is placed below it."""

    def __init__(self, text: str, styles: TextStyles, parent: QWidget, name: str) -> None:
        super().__init__(styles.theme, text, parent)
        self.setFont(styles.code)
        self.setReadOnly(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)
        self.document().setDocumentMargin(2)
        self.fold = FoldBar(self, parent)

    def place(self, x: int, y: int, width: int, *, reserved: int = 0) -> int:
        """Place the field, leaving `reserved` pixels free on its right; return its height including the fold bar."""
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


_SHOWN_FILES = 6


def card_notes(
    request: ApprovalRequest, command: str, styles: TextStyles, parent: QWidget
) -> tuple[list[Paragraph], str]:
    """Return the notes below a question, which their parent places, and what a screen reader says of them."""
    risks, confinement = risk_words(request, command), confinement_words(request)
    reasons = [(shown_lines(core_words(request.reason)), "warning_text")] if request.reason else []
    reasons += [(shown_lines(f"⚠ {risk}"), "warning_text") for risk in risks]
    confined = [(confinement, "danger_text" if request.is_escalation else "muted")] if confinement else []
    notes = [*confined, *reasons] if request.is_escalation else [*reasons, *confined]
    for at, text in enumerate(request.safety):
        notes.append((shown_lines(f"⚠ {text}" if at else text), "warning_text" if at else "muted"))
    files = [Paragraph(_file_list(request), styles, parent, font=styles.code)] if request.changes else []
    paragraphs = [*files, *(Paragraph(text, styles, parent, role=role, font=styles.body) for text, role in notes)]
    for paragraph in paragraphs:
        paragraph.show()
    return paragraphs, " ".join(filter(None, (core_words(request.reason), *risks, confinement, *request.safety)))


def shown_lines(text: str) -> str:
    """Return `text` with invisible characters named, ready for a paragraph."""
    return visible(text).replace("\n", LINE_BREAK)


def _file_list(request: ApprovalRequest) -> str:
    changes = net_of_call(request.changes)
    names = [
        visible(f"{change.moved_from} → {change.path}" if change.moved_from else change.path).replace("\n", "␊")
        for change in changes
    ]
    lines = [
        f"{name}  +{change.added} {entry_words.MINUS}{change.removed}"
        for name, change in zip(names[:_SHOWN_FILES], changes, strict=False)
    ]
    if len(changes) > _SHOWN_FILES:
        more = len(changes) - _SHOWN_FILES
        lines.append(entry_words.counted(more, "and %n file more", "and %n files more"))
    return LINE_BREAK.join(lines)


class CardPart(Protocol):
    def place(self, x: int, y: int, width: int) -> int:
        """Move to this point with this width; return the height."""
        ...


class RequestCard(QuestionCard):
    """A question that a server asks while its call runs: parts in a column, and buttons below them.

    Subclasses make the parts, each with the gap below it, then call `set_answers`.
    """

    def __init__(self, request: ApprovalRequest, styles: TextStyles, actions: EntryActions, parent: QWidget) -> None:
        super().__init__(request, styles, actions, parent)
        self.parts: list[tuple[CardPart, int]] = []
        self._must_see: CardField | None = None
        self._consents: Sequence[QPushButton] = ()
        self._buttons: Sequence[QPushButton] = ()
        self._yes_words = ""
        self.yes = make_button(clicked=self.on_yes, variant="primary", parent=self)
        self._shortcuts = (answer_shortcut(ALLOW_KEYS, self.on_yes, self), answer_shortcut(DENY_KEYS, self.on_no, self))

    def set_answers(self, yes_words: str, *others: QPushButton, no: QPushButton) -> None:
        """Show the button for yes with these words, any `others` that also consent, and the button `no`."""
        self._yes_words = yes_words
        self._consents = (self.yes, *others)
        self._buttons = (*self._consents, no)
        self.set_shortcut(is_enabled=True)
        self._update_answers()

    def add_paragraph(self, words: str, role: Literal["title", "muted", "text"] = "text", *, gap: int = 0) -> str:
        """Add a paragraph below the parts there are; return what it says."""
        styles = self.styles
        font = {"title": styles.strong, "muted": styles.secondary, "text": styles.body}[role]
        paragraph = Paragraph(words, styles, self, role="muted" if role == "muted" else "text", font=font)
        self.parts.append((paragraph, gap))
        return paragraph.accessibleName()

    def add_whole_text(self, text: str, name: str) -> CardField:
        """Add a text that must be seen whole before a yes is possible."""
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
