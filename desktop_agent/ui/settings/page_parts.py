"""The parts of settings pages: the page, a setting's row, forms, removal buttons; and pages of declared settings."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar, cast

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.base.secrets import is_secret_pair
from desktop_agent.core.settings.values import Setting, declared_section, declared_settings
from desktop_agent.ui.runtime.pacing import GradualWork, in_next_turn
from desktop_agent.ui.settings.setting_controls import SwitchControl, control_for, words
from desktop_agent.ui.settings.settings_view import SettingsActions, SettingsView
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.widgets.buttons import Picker, Slot, compact_button, make_button, make_line
from desktop_agent.ui.widgets.labels import Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, Part, add_parts, discard, hairline, hbox, scroll_down, vbox
from desktop_agent.ui.widgets.question import ChoiceCard
from desktop_agent.ui.wording import MODES, POLICIES, approval_words, sandbox_words

_rows_tr = partial(QCoreApplication.translate, "SettingRows")


class SettingRow(QWidget):
    def __init__(self, setting: Setting, theme: Theme, actions: SettingsActions, *, section: str = "") -> None:
        """`section` is shown before the title. Pass it where rows of several sections are mixed."""
        super().__init__()
        self.setting = setting
        self.setObjectName(f"setting_{setting.key}")
        about = setting.about
        title = name_of(f"{section} · {words(about.title)}" if section else words(about.title))
        title.setToolTip(setting.key)
        self.control = control_for(setting, theme)
        self.control.changed.connect(partial(actions.change, setting.key))
        self._problem, self._origin, self._state = Note(role="error"), Note(role="warning"), Note()
        self._state.setWordWrap(False)
        name = self.tr("Reset {0}").format(words(about.title))
        reset = partial(actions.reset, setting.key)
        self._reset = compact_button(self.tr("Reset"), accessible_name=name, clicked=reset, variant="flat")
        note = Note(words(about.text))
        field = [switch_row(self.control, note)] if isinstance(self.control, SwitchControl) else [self.control, note]
        state = hbox(self._state, self._reset, STRETCH, spacing=Space.XS)
        field_row(title, *field, self._problem, self._origin, state, on=self)
        for widget in (self._problem, self._origin, self._state, self._reset):
            widget.hide()

    def show_view(self, view: SettingsView) -> None:
        key, default = self.setting.key, self.setting.default
        value, variable = view.values[key], view.variable_of(key)
        self.control.show_value(value)
        self.control.setEnabled(not variable)
        self._state.setText(self.tr("Changed. Default: {0}").format(shown(self.setting, default)))
        for widget in (self._state, self._reset):
            widget.setVisible(value != default and not variable)
        origin = ""
        if variable:
            origin = self.tr("Set by the environment variable {0}, which overrides the file.").format(variable)
        elif key in view.project:
            text = self.tr("The project sets this to “{0}”, which applies here.")
            origin = text.format(shown(self.setting, view.project[key]))
        show_text(self._problem, view.problem_of(key))
        show_text(self._origin, origin)


def shown(setting: Setting, value: object) -> str:
    about = setting.about
    if value is None or value in ("", ()):
        return words(about.unset or "nothing")
    if setting.kind == "choice":
        return words(about.words.get(str(value), str(value)))
    if setting.kind == "switch":
        return words("on") if value else words("off")
    if isinstance(value, tuple):
        return ", ".join(words(about.words.get(text, text)) for text in map(str, cast("tuple[object, ...]", value)))
    if isinstance(value, int | float):
        return f"{value / about.per_unit:,g} {words(about.unit)}".strip()
    return str(value)


class Page(QScrollArea):
    """A page that is built when first shown, a part in each turn of the loop, and visible when complete."""

    section_wanted = Signal(str)  # a Section

    def __init__(self, title: str, theme: Theme, actions: SettingsActions) -> None:
        super().__init__()
        self.title = title
        self.theme = theme
        self.settings_actions = actions
        self.view: SettingsView | None = None
        self.rows: list[SettingRow] = []
        self.is_built = False
        self._is_begun = False
        self._shows: dict[str, Callable[[], object]] = {}
        self._when_built: list[Callable[[], object]] = []
        self._building = GradualWork(self)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._content = QWidget()
        self.column = vbox(on=self._content, spacing=Space.M, margins=(Space.XL, Space.XL, Space.XL, Space.XL))
        scroll_down(self, self._content)
        self._content.hide()

    def build(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            self._building.begin(self._steps())

    def when_built(self, do: Callable[[], object]) -> None:
        if self.is_built:
            do()
        else:
            self._when_built.append(do)
            self.build()

    def show_later(self, what: str, show: Callable[[], object]) -> None:
        """Call `show` now, or once the page is built. Until then, a later call with the same `what` replaces it."""
        if self.is_built:
            show()
        else:
            self._shows[what] = show

    def show_view(self, view: SettingsView) -> None:
        """Show the settings in force. Emits no signal."""
        self.view = view
        for row in self.rows:
            row.show_view(view)
        self.show_later("view", partial(self._show, view))

    def add_row(self, setting: Setting, column: QVBoxLayout, *, section: str = "") -> SettingRow:
        row = SettingRow(setting, self.theme, self.settings_actions, section=section)
        self.rows.append(row)
        column.addWidget(row)
        if self.view is not None:
            row.show_view(self.view)
        return row

    def add_rows(self, settings: Iterable[Setting]) -> Iterator[None]:
        """Add a row for each setting, one in each step. Advanced settings come last, under a heading."""
        is_advanced = False
        for setting in sorted(settings, key=lambda setting: setting.about.is_advanced):
            if setting.about.is_advanced and not is_advanced:
                is_advanced = True
                add_parts(self.column, Space.XS, make_label(_rows_tr("Advanced"), role="heading"))
            self.add_row(setting, self.column)
            yield

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        in_next_turn(self, self.build)  # the dialog is shown first

    def _steps(self) -> Iterator[None]:
        self.column.insertWidget(0, make_label(self.title, role="title"))
        yield
        yield from self._build()
        self.is_built = True
        for show in self._shows.values():
            show()
        self._content.show()
        for do in self._when_built:
            do()

    def _build(self) -> Iterator[None]:
        yield from ()

    def _show(self, view: SettingsView) -> None:
        """Show settings without their own row. Called only once the page is built."""


_NAME_CHARS = 19


def name_of(text: str) -> QLabel:
    """Return the name at the left of a field. All have one width, so the fields of all pages are in one column."""
    name = make_label(text, wraps=True)
    name.setFixedWidth(_NAME_CHARS * QFontMetrics(QApplication.font()).averageCharWidth())
    name.setMinimumHeight(Height.BUTTON)
    return name


def field_row(name: str | QLabel, *parts: Part, on: QWidget | None = None) -> QHBoxLayout:
    """Return a name, and in the column of fields these parts, one below the other."""
    label = name_of(name) if isinstance(name, str) else name
    return hbox((label, Qt.AlignmentFlag.AlignTop), (vbox(*parts, spacing=Space.XS), 1), on=on, spacing=Space.L)


def switch_row(switch: QWidget, note: Note) -> QHBoxLayout:
    """Return a switch and the note beside it."""
    switch.setFixedHeight(Height.BUTTON)
    note.setContentsMargins(0, 6, 0, 0)  # its first line is as high as the middle of the switch
    note.setAlignment(Qt.AlignmentFlag.AlignTop)
    return hbox((switch, Qt.AlignmentFlag.AlignTop), (note, 1), spacing=Space.S)


class AddingForm(QWidget):
    """A form to add something. Escape closes the form, not the dialog."""

    cancelled = Signal()

    def __init__(self, problem_name: str = "", button: QPushButton | None = None) -> None:
        """`button` opens the form: it is disabled meanwhile, and gets the focus when the form is left."""
        super().__init__()
        self.problem = Note("", "error", object_name=problem_name)
        self.problem.hide()
        self._button = button
        if button is not None:
            self.hide()
            self.cancelled.connect(self.leave)

    def add_line(self, object_name: str, accessible_name: str, placeholder: str) -> QLineEdit:
        line = make_line(object_name, accessible_name, placeholder)
        line.returnPressed.connect(self.confirm)
        line.textEdited.connect(self.problem.hide)
        return line

    def confirm(self) -> None:
        """Add what was entered, or say what is wrong with it."""
        raise NotImplementedError

    def enter(self) -> None:
        self.problem.hide()
        if self._button is not None:
            self._button.setEnabled(False)
        self.show()

    def leave(self) -> None:
        self.hide()
        if self._button is not None:
            self._button.setEnabled(True)
            self._button.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)


class PairWords(NamedTuple):
    """The object names of the fields for names and values, and the texts about them."""

    name_edit: str
    value_edit: str
    name_of: str
    value_of: str
    first_name: str
    first_value: str
    another: str
    nameless: str


class PairFields(QWidget):
    """Names and their values, in rows: another one is added while the last is filled. Values of secrets are hidden."""

    def __init__(self, form: AddingForm, words: PairWords, *, hides_all: bool) -> None:
        super().__init__()
        self._form = form
        self._words = words
        self._hides_all = hides_all
        self._rows: list[tuple[QLineEdit, QLineEdit]] = []
        self._column = vbox(on=self, spacing=Space.S)
        self._add_row()

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """What was entered. Raises `ValueError` if a value has no name."""
        typed = [(name.text().strip(), value.text().strip()) for name, value in self._rows]
        if any(value and not name for name, value in typed):
            raise ValueError(self._words.nameless)
        return tuple((name, value) for name, value in typed if name)

    def show_pairs(self, values: Mapping[str, str], kept: Iterable[str]) -> None:
        """Show these values, and the names of those in the keyring, which stay there if nothing else is typed."""
        while len(self._rows) > 1:
            for line in self._rows.pop():
                discard(line)
            self._column.takeAt(len(self._rows))
        for line in self._rows[0]:
            line.clear()
        self._rows[0][1].setPlaceholderText(self._words.first_value)
        for name in (*values, *kept):
            name_line, value_line = self._rows[-1]
            value_line.setText(values.get(name, ""))
            value_line.setPlaceholderText("" if name in values else self.tr("In the keyring"))
            name_line.setText(name)

    def _add_row(self) -> None:
        words, number = self._words, len(self._rows) + 1
        hints = (words.first_name, words.first_value) if number == 1 else (words.another, "")
        name = self._form.add_line(words.name_edit, words.name_of.format(number), hints[0])
        value = self._form.add_line(words.value_edit, words.value_of.format(number), hints[1])
        for line in (name, value):
            line.textChanged.connect(self._update)
        self._rows.append((name, value))
        self._column.addLayout(hbox((name, 1), (value, 2), spacing=Space.S))
        self._update()

    def _update(self) -> None:
        for name, value in self._rows:
            is_hidden = self._hides_all or is_secret_pair(name.text().strip(), value.text())
            value.setEchoMode(QLineEdit.EchoMode.Password if is_hidden else QLineEdit.EchoMode.Normal)
        if self._rows[-1][0].text():
            self._add_row()


_variables_tr = partial(QCoreApplication.translate, "VariableFields")


class VariableFields(PairFields):
    """The environment variables of a program."""

    def __init__(self, form: AddingForm, name_edit: str, value_edit: str, example: str) -> None:
        words = PairWords(
            name_edit,
            value_edit,
            _variables_tr("Name of variable {0}"),
            _variables_tr("Value of variable {0}"),
            example,
            "",
            _variables_tr("Another variable"),
            _variables_tr("a variable needs a name"),
        )
        super().__init__(form, words, hides_all=False)

    def row(self) -> QHBoxLayout:
        about = Note(self.tr("Variables that are secrets go to the keyring of your system."))
        return field_row(self.tr("Variables"), self, about)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


V = TypeVar("V", bound=_Named)
C = TypeVar("C", bound=QWidget)


class CardList(Generic[V, C]):
    """Cards one below the other, one for each name, made and updated a few in each turn of the loop."""

    def __init__(self, page: QWidget, make: Callable[[V], C], update: Callable[[C, V], object]) -> None:
        self._make = make
        self._update = update
        self._cards: dict[str, C] = {}
        self._work = GradualWork(page)
        self.column = QVBoxLayout()
        self.column.setSpacing(Space.S)

    def show(self, views: Sequence[V], home: QWidget) -> None:
        """Show these. `home` gets the focus if it was on a card that is gone."""
        names = [view.name for view in views]
        for name in [name for name in self._cards if name not in names]:
            card = self._cards.pop(name)
            focused = QApplication.focusWidget()
            if focused is not None and card.isAncestorOf(focused):
                home.setFocus()
            self.column.removeWidget(card)
            discard(card)
        self._work.begin(self._show_cards(views))

    def _show_cards(self, views: Sequence[V]) -> Iterator[None]:
        for place, view in enumerate(views):
            card = self._cards.get(view.name)
            if card is None:
                card = self._cards[view.name] = self._make(view)
                self.column.insertWidget(place, card)
                card.show()
            else:
                self._update(card, view)
            yield


def answer_button(title: str, answer: Slot) -> QPushButton:
    """Return the button with which the card of this title leads to the question that it waits for."""
    words = QCoreApplication.translate("AnswerButton", "Answer the question that {0} is waiting for").format(title)
    text = QCoreApplication.translate("AnswerButton", "Answer…")
    return compact_button(text, "answerProjectButton", accessible_name=words, clicked=answer)


class Removal(QObject):
    """Removes something after a confirmation. The owner lays out the `parts`, then calls `ask`."""

    def __init__(
        self,
        button_name: str,
        confirm_name: str,
        keep_name: str,
        texts: tuple[str, str] | None = None,
        *,
        remove: Callable[[], None],
        changed: Callable[[], None],
        accessible_name: str = "",
        question: str = "",
        home: QWidget | None = None,
    ) -> None:
        """`changed` updates what depends on `is_asking`. `home` gets the focus, so that the page does not scroll.

        With a `question`, as on a card, the buttons are compact.
        """
        super().__init__()
        self.is_asking = False
        text, confirm = texts or (self.tr("Remove"), self.tr("Remove it"))
        is_compact = bool(question)
        self.question = make_label(question, is_plain=True)
        self.button = make_button(
            text, button_name, accessible_name=accessible_name, variant="destructive", is_compact=is_compact
        )
        self.confirm = make_button(
            confirm, confirm_name, clicked=self._on_confirmed, variant="destructive", is_compact=is_compact
        )
        self.keep = make_button(self.tr("Keep it"), keep_name, clicked=self._on_keep, is_compact=is_compact)
        self._remove = remove
        self._changed = changed
        self._home = home
        self.button.clicked.connect(self._on_remove)
        self.setParent(self.button)
        self.parts = (self.button, self.question, self.confirm, self.keep)

    def ask(self, *, is_asking: bool) -> None:
        self.is_asking = is_asking
        self.confirm.setVisible(is_asking)
        self.keep.setVisible(is_asking)
        self.question.setVisible(is_asking and bool(self.question.text()))
        self._changed()

    def _on_remove(self) -> None:
        self.ask(is_asking=True)
        self.keep.setFocus()

    def _on_keep(self) -> None:
        self.ask(is_asking=False)
        self.button.setFocus()

    def _on_confirmed(self) -> None:
        if self._home is not None:
            self._home.setFocus(Qt.FocusReason.OtherFocusReason)
        self.ask(is_asking=False)
        self._remove()


def settings_of(table: str, without: Collection[str] = ()) -> list[Setting]:
    declared = declared_settings().values()
    return [setting for setting in declared if setting.section == table and setting.key not in without]


class GeneratedPage(Page):
    def __init__(self, title: str, theme: Theme, actions: SettingsActions, tables: Iterable[str]) -> None:
        super().__init__(title, theme, actions)
        self._tables = tuple(tables)

    def _build(self) -> Iterator[None]:
        for place, table in enumerate(self._tables):
            about = declared_section(table)
            if place > 0:
                add_parts(self.column, hairline(), make_label(words(about.title), role="strong"))
            self.column.addWidget(Note(words(about.text)))
            yield from self.add_rows(settings_of(table))
        self.column.addStretch()


_MOST_FOUND = 8


class SearchPage(Page):
    def __init__(self, theme: Theme, actions: SettingsActions) -> None:
        super().__init__("", theme, actions)
        self.title = self.tr("Found settings")
        self._list = QVBoxLayout()
        self._list.setSpacing(Space.M)
        self._note = Note()
        add_parts(self.column, self._list, self._note, STRETCH)

    def search(self, text: str) -> None:
        self.build()
        found = _found(text)
        listed = found[:_MOST_FOUND]
        known = {row.setting.key: row for row in self.rows}
        for row in self.rows:
            if row.setting not in listed:
                row.hide()
        for place, setting in enumerate(listed):
            row = known.get(setting.key) or self._new_row(setting)
            self._list.removeWidget(row)
            self._list.insertWidget(place, row)
            row.show()
        note = ""
        if more := len(found) - len(listed):
            note = self.tr("And {0} more. Type more to narrow the list.").format(more)
        elif not found:
            note = self.tr("No setting matches “{0}”.").format(text.strip())
        show_text(self._note, note)

    def _new_row(self, setting: Setting) -> SettingRow:
        row = self.add_row(setting, self._list, section=words(declared_section(setting.section).title))
        row.setObjectName(f"found_{setting.key}")
        return row


def _found(text: str) -> list[Setting]:
    wanted = text.casefold().split()

    def has_all(*texts: str) -> bool:
        searched = " ".join(texts).casefold()
        return all(word in searched for word in wanted)

    named: list[Setting] = []
    described: list[Setting] = []
    for setting in declared_settings().values():
        if setting.about.holds == "keys":  # keys have their own search
            continue
        about, title = setting.about, words(setting.about.title)
        if has_all(setting.key) or has_all(title):
            named.append(setting)
        elif has_all(
            setting.key,
            words(declared_section(setting.section).title),
            title,
            words(about.text),
            *map(words, about.words.values()),
        ):
            described.append(setting)
    return named + described


_HAND_MADE = ("execution.approval", "execution.sandbox")


class ApprovalsPage(Page):
    def _build(self) -> Iterator[None]:
        self._project = Note("", "warning")
        self._project.hide()
        about = Note(self.tr("For new sessions. Each session can choose its own below the message field."))
        self._cards = {policy: ChoiceCard(self.theme, *approval_words(policy)) for policy in POLICIES}
        group = QWidget()
        vbox(*self._cards.values(), on=group, spacing=Space.S)
        add_parts(self.column, about, self._project, group)
        yield
        name, modes = self.tr("Sandbox"), [(sandbox_words(mode)[0], mode) for mode in MODES]
        self._sandbox = Picker(object_name="sandboxSettingPicker", accessible_name=name, choices=modes, fills=True)
        self._consequence = Note("", object_name="sandboxConsequence")
        for policy, card in self._cards.items():
            card.setObjectName(f"approval_{policy}")
            card.clicked.connect(self._on_chosen)
        add_parts(self.column, hairline(), field_row(name, self._sandbox, self._consequence), hairline())
        self._sandbox.currentIndexChanged.connect(self._on_sandbox)
        self._show_consequence()
        yield
        yield from self.add_rows(settings_of("execution", _HAND_MADE))
        self.column.addStretch()

    def _show(self, view: SettingsView) -> None:
        settings, declared = view.settings.execution, declared_settings()
        text = self.tr("{0}: the project sets “{1}”, which applies here.")
        tightened = [
            text.format(words(declared[key].about.title), shown(declared[key], view.project[key]))
            for key in _HAND_MADE
            if key in view.project
        ]
        show_text(self._project, "\n".join(tightened))
        card = self._cards.get(settings.approval)
        if card is not None:
            card.setChecked(True)
        self._sandbox.pick(settings.sandbox)
        self._show_consequence()

    def _show_consequence(self) -> None:
        mode = self._sandbox.currentData()
        self._consequence.say(sandbox_words(mode)[1], "warning" if mode == "none" else "secondary")

    def _on_chosen(self) -> None:
        policy = next((policy for policy, card in self._cards.items() if card.isChecked()), None)
        if policy is not None:
            self.settings_actions.change("execution.approval", policy)

    def _on_sandbox(self) -> None:
        self._show_consequence()
        self.settings_actions.change("execution.sandbox", self._sandbox.currentData())
