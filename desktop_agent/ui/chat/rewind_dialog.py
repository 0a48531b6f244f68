"""The dialog that rewinds the conversation, the files, or both, and shows the effect."""

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QWidget

from desktop_agent.core.protocol.model import RewindScope
from desktop_agent.core.transcript import Transcript, first_line
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import Picker, make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import lay_out_dialog, set_names, set_up_dialog, vbox
from desktop_agent.ui.widgets.question import ChoiceCard


class RewindChoice(NamedTuple):
    """A message to rewind to. The message and everything after it is removed."""

    turn: int
    prompt: str
    turns: int
    files: tuple[str, ...]
    """The files that would be restored, in the order of the first change."""


def rewind_choices(transcript: Transcript) -> list[RewindChoice]:
    prompts = transcript.turns.prompts
    standing = [record for record in transcript.changes.values() if not record.is_undone and record.change.is_by_agent]
    choices: list[RewindChoice] = []
    for turn, prompt in prompts.items():
        unseen = sum(later >= turn and later not in transcript.context.rewound for later in prompts)
        files = dict.fromkeys(record.change.path for record in standing if record.turn >= turn)
        left = unseen if turn not in transcript.context.rewound else 0
        if left or files:
            choices.append(RewindChoice(turn, prompt, left, tuple(files)))
    return choices[::-1]


_WIDTH = 520
_MAX_LISTED_FILES = 6
_MAX_TITLE_CHARS = 60


class RewindDialog(QDialog):
    chosen = Signal(int, str)  # go back to before this turn, with this `RewindScope`

    def __init__(self, theme: Theme, choices: Sequence[RewindChoice], turn: int, parent: QWidget | None = None) -> None:
        """`choices` must not be empty. The choice for `turn` is shown, or the first choice."""
        super().__init__(parent)
        set_up_dialog(self, "rewindDialog", self.tr("Go back"))
        self.setFixedWidth(_WIDTH)
        self._theme = theme
        self._choices = choices
        self._picker = Picker(self)
        set_names(self._picker, "rewindPicker", self.tr("Go back to before which message"))
        self._picker.addItems(
            [self.tr("{0}: {1}").format(choice.turn, first_line(choice.prompt, _MAX_TITLE_CHARS)) for choice in choices]
        )
        self._picker.setMinimumWidth(_WIDTH - 2 * Space.XL)
        turns = [choice.turn for choice in choices]
        self._picker.setCurrentIndex(turns.index(turn) if turn in turns else 0)
        self._picker.currentIndexChanged.connect(self._show_choice)
        self._cards: dict[RewindScope, ChoiceCard] = {}
        self._column = vbox(spacing=Space.S)
        self._files = make_label(role="secondary", object_name="rewindFiles", wraps=True, is_plain=True)
        heading = make_label(self.tr("Go back to before this message?"), role="title")
        go = make_button(self.tr("Go back"), object_name="rewindButton", clicked=self._choose, variant="primary")
        go.setDefault(True)
        cancel = make_button(self.tr("Cancel"), clicked=self.reject)
        parts = (heading, self._picker, self._column, self._files)
        lay_out_dialog(self, *parts, answers=(cancel, go), spacing=Space.M)
        self._show_choice()

    def _show_choice(self) -> None:
        choice = self._choices[self._picker.currentIndex()]
        scope = self._scope()
        for card in self._cards.values():
            self._column.removeWidget(card)
            card.deleteLater()
        self._cards = {}
        conversation = self._conversation_words(choice)
        one, many = "%n file is restored to its earlier state.", "%n files are restored to their earlier state."
        files = plural("RewindDialog", len(choice.files), one, many)
        offers: list[tuple[RewindScope, str, str]] = []
        if choice.turns and choice.files:
            offers.append(("both", self.tr("Conversation and files"), f"{conversation} {files}"))
        if choice.files:
            stays = self.tr("The conversation stays.") if choice.turns else ""
            offers.append(("files", self.tr("Files only"), f"{files} {stays}".strip()))
        if choice.turns:
            stays = self.tr("Files stay as they are.")
            offers.append(("conversation", self.tr("Conversation only"), f"{conversation} {stays}"))
        for kind, title, explanation in offers:
            card = self._cards[kind] = ChoiceCard(self._theme, title, explanation, self)
            self._column.addWidget(card)
        self._cards.get(scope, next(iter(self._cards.values()))).setChecked(True)
        self._files.setText(self._listed(choice.files))
        self._files.setVisible(bool(choice.files))
        layout = self.layout()  # the size hint assumes another width
        assert layout is not None
        layout.activate()
        self.setFixedHeight(layout.totalHeightForWidth(_WIDTH))

    def _scope(self) -> RewindScope:
        for scope, card in self._cards.items():
            if card.isChecked():
                return scope
        return "both"

    def _choose(self) -> None:
        self.chosen.emit(self._choices[self._picker.currentIndex()].turn, self._scope())
        self.accept()

    def _conversation_words(self, choice: RewindChoice) -> str:
        if choice.turns == 1:
            return self.tr("The agent no longer sees this message and its answer.")
        seen = "The agent no longer sees %n turns, from this message on."
        return plural("RewindDialog", choice.turns, seen, seen)

    def _listed(self, files: Sequence[str]) -> str:
        rest = len(files) - _MAX_LISTED_FILES
        lines = list(files[:_MAX_LISTED_FILES])
        if rest > 0:
            lines.append(plural("RewindDialog", rest, "and %n more", "and %n more"))
        kept = self.tr("Your later changes are kept; where they clash, you are asked.")
        return "\n".join([*lines, "", kept])
