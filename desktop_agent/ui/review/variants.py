"""*Try with…*: the sheet that picks the models for a prompt, and the window that shows their variants as columns."""

from collections.abc import Sequence
from functools import partial
from typing import Final, Literal, NamedTuple

from PySide6.QtCore import QSignalBlocker, QSize, QUrl, Signal
from PySide6.QtGui import QTextCursor, QTextDocument
from PySide6.QtWidgets import QDialog, QFrame, QPlainTextEdit, QPushButton, QScrollArea, QTextEdit, QVBoxLayout, QWidget

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.base.plain_text import duration_text
from desktop_agent.core.diff.hunks import review_hunks
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.commit_sheet import HunkChoice
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.translation import core_words, error_words, plural
from desktop_agent.ui.widgets.banner import few_lines
from desktop_agent.ui.widgets.buttons import Picker, compact_button, make_button, make_line
from desktop_agent.ui.widgets.labels import ElidedLabel, Note, make_label, restyle, show_text
from desktop_agent.ui.widgets.layouts import (
    STRETCH,
    answer_with_ctrl_enter,
    discard,
    hairline,
    hbox,
    lay_out_dialog,
    resize_within_screen,
    scroll,
    set_names,
    set_up_dialog,
    vbox,
)
from desktop_agent.ui.wording import one_line, plain_tooltip

LEAST: Final = 2
MOST: Final = 6
_SHEET: Final = QSize(560, 440)
_WINDOW: Final = QSize(1240, 820)
_LEAST_SIZE: Final = QSize(420, 420)
_PROMPT_HEIGHT: Final = 84
_ANSWER_HEIGHT: Final = 132
_MOST_ROWS: Final = 6
_COLUMN_WIDTH: Final = 300
_LONGEST_SHOWN: Final = 20_000
_LONGEST_STREAMED: Final = 2_000
"""Laid out again a few times a second, for each variant."""

_FEATURES: Final = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML

Choice = tuple[str, object]
"""The label of a model or an agent, and the key that identifies it."""


class TrySheet(QDialog):
    wanted = Signal(str, object, str)  # the prompt, what stands for each model, and the test command

    def __init__(self, theme: Theme, folder: str, prompt: str, test: str, parent: QWidget) -> None:
        super().__init__(parent)
        set_up_dialog(self, "trySheet", self.tr("Try with…"))
        about = self.tr(
            "Each model works on the same message in its own worktree, from the last commit of {0}. "
            "Your files stay as they are until you take something."
        )
        self._choices: list[Choice] = []
        self._pickers: list[tuple[Picker, QPushButton, QWidget]] = []
        self._prompt = QPlainTextEdit(prompt, tabChangesFocus=True)
        set_names(self._prompt, "tryPromptEdit", self.tr("Message"))
        self._prompt.setMinimumHeight(_PROMPT_HEIGHT)
        self._prompt.textChanged.connect(self._enable)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(Space.XS)
        self._add = compact_button(self.tr("Add a model"), "tryAddButton", variant="flat", clicked=self._on_add)
        self._test = make_line("tryTestEdit", self.tr("Test command"), "pytest -q")
        self._test.setText(test)
        self._test.setFont(theme.code_font(TypeSize.CODE))
        ran = self.tr(
            "It runs in each worktree once its model is done, confined like the agent's commands. "
            "What it changes is undone."
        )
        self._note = Note(role="error", object_name="tryNote")
        self._note.hide()
        cancel = make_button(self.tr("Cancel"), "cancelTryButton", clicked=self.reject)
        self._start = make_button(self.tr("Start"), "startTryButton", clicked=self._on_start, variant="primary")
        answer_with_ctrl_enter(self, self._start)
        lay_out_dialog(
            self,
            make_label(self.tr("Try with…"), role="title"),
            Note(about.format(folder)),
            make_label(self.tr("Message")),
            (self._prompt, 1),
            make_label(self.tr("Models")),
            self._rows,
            hbox(self._add, STRETCH),
            make_label(self.tr("Test command")),
            self._test,
            Note(ran),
            self._note,
            answers=(cancel, self._start),
        )
        resize_within_screen(self, _SHEET)
        self._enable()
        (self._test if prompt else self._prompt).setFocus()

    @property
    def chosen(self) -> list[object]:
        return [picker.currentData() for picker, _, _ in self._pickers]

    def show_choices(self, choices: Sequence[Choice], wanted: Sequence[object]) -> None:
        """Offer these models. Rows that exist keep what they show; the first rows show what is `wanted`."""
        shown = self.chosen
        self._choices = list(choices)
        known = [value for _, value in choices]
        for picker, _, _ in self._pickers:
            self._fill(picker, picker.currentData())
        if not shown:
            for value in [one for one in wanted if one in known][:MOST]:
                self._add_row(value)
            while choices and len(self._pickers) < LEAST:
                self._add_row(next((value for value in known if value not in self.chosen), known[0]))
        self._enable()

    def say(self, error: AgentError) -> None:
        show_text(self._note, error_words(error))
        self._enable()

    def _fill(self, picker: Picker, value: object) -> None:
        with QSignalBlocker(picker):
            picker.clear()
            for words, one in self._choices:
                picker.addItem(words, one)
            picker.setCurrentIndex(max(0, picker.findData(value)))

    def _add_row(self, value: object) -> None:
        picker = Picker(object_name="tryModelPicker", accessible_name=self.tr("Model"), fills=True)
        self._fill(picker, value)
        words = self.tr("Leave this model out")
        remove = compact_button("×", "tryRemoveButton", accessible_name=words, tooltip=words, variant="flat")
        row = QWidget()
        hbox((picker, 1), remove, on=row, spacing=Space.S)
        remove.clicked.connect(partial(self._on_remove, row))
        self._pickers.append((picker, remove, row))
        self._rows.addWidget(row)
        self._grow(1)

    def _grow(self, rows: int) -> None:
        resize_within_screen(self, QSize(self.width(), self.height() + rows * (Height.BUTTON + Space.XS)))

    def _on_add(self) -> None:
        if self._choices:
            shown = self.chosen
            self._add_row(next((value for _, value in self._choices if value not in shown), self._choices[0][1]))
            self._pickers[-1][0].setFocus()
        self._enable()

    def _on_remove(self, row: QWidget) -> None:
        self._pickers = [pair for pair in self._pickers if pair[2] is not row]
        self._rows.removeWidget(row)
        discard(row)
        self._grow(-1)
        self._add.setFocus()
        self._enable()

    def _on_start(self) -> None:
        self._note.hide()
        self._start.setEnabled(False)
        self.wanted.emit(self._prompt.toPlainText().strip(), self.chosen, self._test.text().strip())

    def _enable(self) -> None:
        count = len(self._pickers)
        self._add.setEnabled(count < MOST and bool(self._choices))
        for _, remove, _ in self._pickers:
            remove.setEnabled(count > LEAST)
        self._start.setEnabled(count >= LEAST and bool(self._prompt.toPlainText().strip()))


VariantState = Literal["preparing", "working", "asking", "testing", "done", "failed", "discarded"]
_AT_WORK: Final = ("preparing", "working", "asking", "testing")


class VariantFacts(NamedTuple):
    worktree: str
    title: str
    state: VariantState = "preparing"
    words: str = ""
    """What it does at this moment, or how it ended."""
    seconds: float = 0.0
    cost: str = ""
    answer: str = ""
    """The last message."""
    test: str = ""
    """What the test command printed, or why it was not run."""
    exit_code: int | None = None
    is_tested: bool = False


class _Message(QTextEdit):
    def loadResource(self, type: int, name: QUrl | str) -> None:  # noqa: A002 - Qt's name
        """Load no pictures: a message may name any file."""


class VariantColumn(QFrame):
    picked = Signal()  # other hunks are ticked
    asked = Signal(str, str)  # what to do (`open`, `stop`, `test`, `discard`), and the worktree

    def __init__(self, theme: Theme, facts: VariantFacts) -> None:
        super().__init__()
        set_names(self, "variantColumn", facts.title)
        self._theme = theme
        theme.changed.connect(self._use_font)  # a new style sheet takes the font away
        self.facts = facts
        self.diffs: tuple[FileDiff, ...] = ()
        self._title = ElidedLabel(text=facts.title, role="strong", takes_room=True)
        self.state = ElidedLabel(role="secondary", object_name="variantState", takes_room=True)
        self.figures = make_label(role="secondary", object_name="variantFigures", is_plain=True)
        self.test = make_label(role="secondary", object_name="variantTest", is_plain=True)
        flat = partial(compact_button, variant="flat", is_checkable=True)
        self._says = flat(self.tr("Answer"), "variantAnswerButton", clicked=partial(self._show_page, is_test=False))
        self._tests = flat(self.tr("Tests"), "variantTestsButton", clicked=partial(self._show_page, is_test=True))
        self._text = _Message(readOnly=True, tabChangesFocus=True)
        set_names(self._text, "variantText", self.tr("The last message, or what the tests print"))
        self._text.setProperty("variant", "bare")
        self._text.document().setDocumentMargin(0)  # aligned with what is above and below
        self._said = ("", True)
        """What is shown, and whether as plain text: Markdown is laid out once it is whole."""
        self._text.setFixedHeight(_ANSWER_HEIGHT)
        self.choice = HunkChoice(theme, "variantChanges", self.tr("Changes of {0}").format(facts.title))
        self.choice.itemChanged.connect(self.picked)
        self.choice.currentItemChanged.connect(self._on_marked)
        self.view = DiffView(theme)
        self.view.setObjectName("variantDiff")
        self._shown = -1
        self._is_testing = False
        self._open, self._stop, self._again, self._discard = (
            compact_button(
                words,
                f"{action}VariantButton",
                accessible_name=f"{words}: {facts.title}",
                clicked=partial(self._ask, action),
                tooltip=tip,
            )
            for action, words, tip in (
                ("open", self.tr("Open"), self.tr("Show its session")),
                ("stop", self.tr("Stop"), self.tr("Stop only this one")),
                ("test", self.tr("Test again"), self.tr("Run the test command again")),
                ("discard", self.tr("Discard"), self.tr("Move its worktree to the trash, where it stays for a month")),
            )
        )
        buttons = hbox(self._open, self._stop, self._again, STRETCH, self._discard, spacing=Space.XS)
        pages = hbox(self._says, self._tests, STRETCH, self.test, spacing=Space.XS)
        head = vbox(self._title, self.state, self.figures, spacing=2)
        parts = (head, buttons, pages, self._text, self.choice, (self.view, 1))
        vbox(*parts, on=self, margins=(Space.M, 0, Space.M, 0), spacing=Space.S)
        self.setMinimumWidth(_COLUMN_WIDTH)
        self.view.show_message(self.tr("No changes yet"))
        self.show_facts(facts)

    @property
    def picks(self) -> list[tuple[str, str, tuple[HunkKey, ...]]]:
        """What is ticked: worktree, path, and hunks."""
        chosen = self.choice.chosen.items()
        return [(self.facts.worktree, self.diffs[number].path, tuple(keys)) for number, keys in chosen]

    def show_facts(self, facts: VariantFacts) -> None:
        self.facts = facts
        is_at_work = facts.state in _AT_WORK
        self.state.setText(facts.words)
        self.state.setToolTip(plain_tooltip(facts.words))
        restyle(self.state, "role", {"failed": "error", "asking": "warning"}.get(facts.state, "secondary"))
        time = duration_text(facts.seconds) if facts.seconds else ""
        self.figures.setText(" · ".join(filter(None, (time, facts.cost, self._counts()))) or " ")
        self._tests.setVisible(facts.is_tested or facts.state == "testing")
        self._show_test(facts)
        if facts.is_tested and not self._is_testing and self.test.property("role") == "error":
            self._show_page(is_test=True)
        else:
            self._show_page(is_test=self._is_testing)
        is_there = facts.state not in ("preparing", "discarded")
        self._open.setEnabled(is_there)
        self._stop.setVisible(is_at_work)
        self._again.setVisible(facts.is_tested and not is_at_work and facts.state != "discarded")
        self._discard.setEnabled(is_there and not is_at_work)
        self.choice.setEnabled(facts.state != "discarded")
        self.setAccessibleName(f"{facts.title}, {facts.words}")

    def show_changes(self, files: Sequence[tuple[FileDiff, Sequence[HunkKey]]]) -> None:
        """Show these files, and offer these hunks. What was ticked stays ticked if it is still there."""
        before = {(path, key) for _, path, keys in self.picks for key in keys}
        self.diffs = tuple(diff for diff, _ in files)
        self._shown = -1
        with QSignalBlocker(self.choice):
            self.choice.empty()
            for diff, keys in files:
                self.choice.add_file(diff.path, diff, keys, (0, 0))
            self.choice.tick(lambda number, key: (self.diffs[number].path, key) in before)
        if self.diffs:
            self._on_marked()
        else:
            self.view.show_message(self.tr("No changes"), self.tr("Your folder already has all of its changes."))
        self.show_facts(self.facts)
        self.picked.emit()

    def _counts(self) -> str:
        if not self.diffs:
            return ""
        added, removed = sum(diff.added for diff in self.diffs), sum(diff.removed for diff in self.diffs)
        files = plural("VariantColumn", len(self.diffs), "%n file", "%n files")
        return f"{files} +{added} −{removed}"

    def _show_test(self, facts: VariantFacts) -> None:
        words, role = "", "secondary"
        if facts.state == "testing":
            words = self.tr("Testing…")
        elif facts.is_tested and facts.exit_code == 0:
            words, role = self.tr("✓ passed"), "good"
        elif facts.is_tested:
            code = facts.exit_code
            words = self.tr("✗ failed, code {0}").format(code) if code is not None else self.tr("Not tested")
            role = "error" if code is not None else "warning"
        self.test.setText(words)
        restyle(self.test, "role", role)

    def _show_page(self, *_: object, is_test: bool) -> None:
        self._is_testing = is_test and self.facts.is_tested
        self._says.setChecked(not self._is_testing)
        self._tests.setChecked(self._is_testing)
        longest = _LONGEST_STREAMED if self.facts.state in _AT_WORK else _LONGEST_SHOWN
        text = (self.facts.test if self._is_testing else self.facts.answer)[-longest:]
        said = (text, self._is_testing or self.facts.state in _AT_WORK)
        if said == self._said:
            return
        self._said = said
        self._use_font()
        if said[1]:
            self._text.setPlainText(text)
            self._text.moveCursor(QTextCursor.MoveOperation.End)
        else:
            self._text.document().setMarkdown(text, _FEATURES)

    def _use_font(self) -> None:
        size = TypeSize.CODE if self._is_testing else TypeSize.BODY
        self._text.setFont((self._theme.code_font if self._is_testing else self._theme.text_font)(size))

    def _on_marked(self, *_: object) -> None:
        if (place := self.choice.shown_place()) is None or place[0] >= len(self.diffs):
            return
        number, key = place
        diff = self.diffs[number]
        if number != self._shown:
            self._shown = number
            self.view.show_diff(diff)
        hunk = next((one.hunk for one in review_hunks(diff) if one.key == key), None)
        if hunk is not None and self.view.document.rows:
            row = self.view.document.rows.find("new", hunk.new_start)
            self.view.navigation.go_to(row)
            self.view.scroller.ensure_visible(row, margin_rows=5)

    def _ask(self, action: str) -> None:
        self.asked.emit(action, self.facts.worktree)


class VariantsWindow(QDialog):
    asked = Signal(str, str)  # what to do (`open`, `stop`, `test`, `discard`), and with which worktree; empty: with all
    take_requested = Signal(object)  # a list of what `VariantColumn.picks` returns

    def __init__(self, theme: Theme, prompt: str, parent: QWidget) -> None:
        """Columns are added one by one: all at once would take longer than a frame."""
        super().__init__(parent)
        set_up_dialog(self, "variantsWindow", self.tr("Variants"))
        self._theme = theme
        self._prompt = ElidedLabel(text=one_line(prompt), role="title", takes_room=True)
        self._prompt.setToolTip(plain_tooltip(prompt))
        self._stop = make_button(self.tr("Stop all"), "stopVariantsButton", variant="destructive")
        self._stop.clicked.connect(partial(self.asked.emit, "stop", ""))
        self.columns: dict[str, VariantColumn] = {}
        content, area = QWidget(), QScrollArea()
        self._row = hbox(on=content)
        scroll(area, content)
        self.note = Note(object_name="variantsNote")
        self.note.hide()
        self._count = make_label(role="secondary", object_name="variantsCount", is_plain=True)
        self._discard = make_button(self.tr("Discard the rest"), "discardVariantsButton")
        self._discard.setToolTip(self.tr("Move the worktrees to the trash, where they stay for a month"))
        self._discard.clicked.connect(partial(self.asked.emit, "discard", ""))
        self._take = make_button(self.tr("Take into the folder"), "takeVariantsButton", variant="primary")
        self._take.clicked.connect(self._on_take)
        head = hbox((self._prompt, 1), self._stop, spacing=Space.M)
        foot = hbox(self._count, STRETCH, self._discard, self._take, spacing=Space.S)
        parts = (head, hairline(), (area, 1), hairline(), self.note, foot)
        vbox(*parts, on=self, margins=(Space.L, Space.L, Space.L, Space.L), spacing=Space.M)
        resize_within_screen(self, _WINDOW, _LEAST_SIZE)

    def add(self, facts: VariantFacts) -> None:
        is_first = not self.columns
        if not is_first:
            self._row.addWidget(hairline(is_vertical=True))
        column = self.columns[facts.worktree] = VariantColumn(self._theme, facts)
        column.picked.connect(self._on_picked)
        column.asked.connect(self.asked)
        self._row.addWidget(column, 1)
        if is_first:
            column.show()  # what is not shown yet takes no focus
            column.choice.setFocus()  # not the first button, which stops all
        self._on_picked()
        self._enable()

    def show_facts(self, facts: VariantFacts) -> None:
        self.columns[facts.worktree].show_facts(facts)
        self._enable()

    def say(self, text: str, role: str = "secondary") -> None:
        self.note.say(text, role)
        self.note.setVisible(bool(text))

    def say_error(self, error: AgentError) -> None:
        """Show an error. Details that name worktrees name the models instead."""
        detail = error.detail
        for worktree, column in self.columns.items():
            detail = detail.replace(worktree, column.facts.title)
        lines = [core_words(error.title), core_words(error.hint), *few_lines(detail.splitlines())]
        self.say("\n".join(filter(None, lines)), "error")
        self._on_picked()

    def _on_take(self) -> None:
        self.say("")
        self._take.setEnabled(False)  # until it is taken, or cannot be
        self.take_requested.emit([pick for column in self.columns.values() for pick in column.picks])

    def _on_picked(self) -> None:
        rows = max(column.choice.row_count for column in self.columns.values())
        for column in self.columns.values():  # side by side, the differences begin at the same height
            column.choice.setFixedHeight(min(max(rows, 1), _MOST_ROWS) * column.choice.row_height)
        count = sum(len(keys) for column in self.columns.values() for _, _, keys in column.picks)
        words = plural("VariantsWindow", count, "%n change is ticked", "%n changes are ticked")
        self._count.setText(words if count else self.tr("Tick what you want to take."))
        self._take.setEnabled(bool(count))

    def _enable(self) -> None:
        states = [column.facts.state for column in self.columns.values()]
        self._stop.setVisible(any(state in _AT_WORK for state in states))
        is_left = any(state != "discarded" for state in states)
        self._discard.setEnabled(is_left and not any(state in _AT_WORK for state in states))
