"""The settings section about keys: the list of actions, and the recorder for new keys."""

from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QShortcut
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.core.settings.keyboard import ANY, clash, group_of, written_key
from desktop_agent.ui.part_keys import can_send, native_keys, place_text, place_title
from desktop_agent.ui.settings.key_list import (
    KeyList,
    KeyTable,
    ShortcutField,
    fixed_elsewhere,
    is_for_writing,
    key_settings,
)
from desktop_agent.ui.settings.page_parts import Page
from desktop_agent.ui.settings.setting_controls import title_of
from desktop_agent.ui.settings.settings_view import SettingsActions, SettingsView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation.core_words import plural
from desktop_agent.ui.widgets.buttons import make_button, make_line
from desktop_agent.ui.widgets.labels import Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, hbox, set_names, vbox

_tr = partial(QCoreApplication.translate, "ShortcutRecorder")

_MOST_FOLLOWING = 3
"""How many keys may follow the first one in a sequence. Qt supports no more."""


class ShortcutRecorder(QFrame):
    chosen = Signal(str)
    ended = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._table = KeyTable({}, {})
        self.action = ""
        self._before = ""
        self._keys = ""
        self._title = make_label(role="strong", wraps=True)
        self.field = ShortcutField()
        self.field.setObjectName("newKeysField")
        self.field.setFixedWidth(180)
        self._note = Note(object_name="newKeysNote")
        self._more = make_button(self.tr("Then another key…"), "moreKeysButton", clicked=self._on_more)
        self._use = make_button(self.tr("Assign"), "useKeysButton", clicked=self._on_use, variant="primary")
        cancel = make_button(self.tr("Cancel"), "cancelKeysButton", clicked=self.ended)
        row = hbox(self.field, self._more, self._use, cancel, STRETCH, spacing=Space.S)
        vbox(self._title, row, self._note, on=self, spacing=Space.S)
        self.field.keys_pressed.connect(self._on_pressed)
        self.field.confirmed.connect(self._on_use)
        self.field.left.connect(self.ended)

    def begin(self, action: str, table: KeyTable, *, is_more: bool) -> None:
        self.action, self._table, self._before = action, table, ""
        text = self.tr("More keys for “{0}”") if is_more else self.tr("New keys for “{0}”")
        self._title.setText(text.format(title_of(key_settings()[action])))
        self.field.setAccessibleName(self._title.text())
        self.field.clear()
        self._offer("")
        self._note.say(self.tr("Enter assigns the keys, Esc changes nothing."))
        self.show()
        self.field.setFocus()

    def _on_pressed(self, pressed: str) -> None:
        typed = f"{self._before}, {pressed}" if self._before else pressed
        self.field.setText(native_keys(typed))
        try:
            keys = written_key(typed, self._plain)
        except ValueError:
            keys = ""
            text = self.tr("{0} is used for writing. Hold Ctrl, Alt or Meta with it, or take a function key.")
            self._note.say(text.format(native_keys(typed)), "error")
        else:
            self._note.say(*self._judged(keys))
        self._offer(keys)

    def _on_more(self) -> None:
        self._before = self._keys
        self._offer("")
        self._note.say(self.tr("Press the key that follows {0}.").format(native_keys(self._before)))
        self.field.setFocus()

    @property
    def _plain(self) -> tuple[str, ...]:
        return key_settings()[self.action].about.plain_keys

    def _offer(self, keys: str) -> None:
        self._keys = keys
        takes_enter = self._plain == ANY or "Enter" in self._plain or bool(self._before)
        self.field.takes_enter = takes_enter and not keys
        is_taken = bool(keys) and bool(self._table.owners_of(keys, beside=self.action))
        self._use.setText(self.tr("Reassign") if is_taken else self.tr("Assign"))
        self._use.setEnabled(bool(keys) and can_send(self.action, keys))
        self._more.setEnabled(bool(keys) and keys.count(", ") < _MOST_FOLLOWING)

    def _judged(self, keys: str) -> tuple[str, str]:
        if not can_send(self.action, keys):
            text = self.tr("{0} answers the agent's questions, so it cannot send a message.")
            return text.format(native_keys(keys)), "warning"
        if owners := self._table.owners_of(keys, beside=self.action):
            words = (_clash_words(keys, owner, other) for owner, others in owners.items() for other in others)
            return " ".join(words), "warning"
        shown, group = native_keys(keys), group_of(self.action)
        uses = [_use_words(action) for action in self._table.elsewhere(keys, beside=self.action)]
        if group and uses:
            text = self.tr(
                "{0} has another action in the whole window: {1}. In this part of the window, the new action takes "
                "precedence."
            )
            return text.format(shown, "; ".join(uses)), "warning"
        uses += [] if group else [f"{place_title(each.place)}: {place_text(each)}" for each in fixed_elsewhere(keys)]
        if uses:
            text = self.tr("{0} has another action in one part of the window, where that action takes precedence: {1}.")
            return text.format(shown, "; ".join(uses)), "warning"
        if is_for_writing(keys) and group in ("", "viewer"):
            text = self.tr("{0} has another action in text fields, where that action takes precedence.")
            return text.format(shown), "warning"
        return self.tr("{0} is free.").format(shown), "secondary"

    def _on_use(self) -> None:
        if self._keys:
            self.chosen.emit(self._keys)


def _clash_words(keys: str, owner: str, other: str) -> str:
    shown, title, others = native_keys(keys), title_of(key_settings()[owner]), native_keys(other)
    if keys.count(", ") == other.count(", "):
        return _tr("{0} belongs to “{1}”, which would lose it.").format(shown, title)
    if len(keys) > len(other):
        text = _tr("{0} begins with {1}, and “{2}” would lose that shortcut.")
        return text.format(shown, others, title)
    return _tr("“{1}” would lose {0}, which begins with {2}.").format(others, title, shown)


def _use_words(action: str) -> str:
    title, place = title_of(key_settings()[action]), group_of(action)
    return f"{place_title(place)}: {title}" if place else f"“{title}”"


_question_tr = partial(QCoreApplication.translate, "ResetQuestion")
_search_tr = partial(QCoreApplication.translate, "KeySearch")


class KeysPage(Page):
    def __init__(self, title: str, theme: Theme, actions: SettingsActions) -> None:
        super().__init__(title, theme, actions)
        self._table = KeyTable({}, {})
        self._is_more = False
        self._searched_keys = ""

    def _show(self, view: SettingsView) -> None:
        self._table = KeyTable.of(view.values)
        self._list.show_table(self._table)
        problems = filter(None, (view.problem_of(setting.key) for setting in key_settings().values()))
        show_text(self._problems, "\n".join(problems))
        self._update()

    def _build(self) -> Iterator[None]:
        words = _search_tr("Search keys by action"), _search_tr("Search by action")
        self._line = make_line("keysSearch", *words, is_clearable=True)
        self._pressed = ShortcutField()
        set_names(self._pressed, "keysPressed", _search_tr("Search by pressing keys"))
        self._pressed.setPlaceholderText(_search_tr("Or press keys here"))
        room = self.fontMetrics().horizontalAdvance(self._pressed.placeholderText())
        self._pressed.setFixedWidth(room + 2 * Space.XL)
        yield
        self._list = KeyList()
        yield
        self._problems = Note("", "warning")
        self._empty = Note(self.tr("No key matches."))
        self._recorder = ShortcutRecorder()
        self._buttons, self._question = self._build_buttons(), self._build_question()
        search = QWidget()
        hbox((self._line, 1), self._pressed, on=search, spacing=Space.S)
        above, below = (search, self._problems, self._empty), (self._buttons, self._question, self._recorder)
        add_parts(self.column, *above, (self._list, 1), *below)
        for hidden in (self._empty, self._question, self._recorder):
            hidden.hide()
        self._line.textChanged.connect(self._on_search)
        self._pressed.keys_pressed.connect(self._on_search_pressed)
        self._pressed.left.connect(self._on_search_left)
        self._list.itemSelectionChanged.connect(self._update)
        self._list.opened.connect(partial(self._begin, is_more=False))
        self._recorder.chosen.connect(self._on_chosen)
        self._recorder.ended.connect(self._end)
        self.setFocusProxy(self._line)

    def _build_buttons(self) -> QWidget:
        row = QWidget()
        self._change = make_button(self.tr("Change…"), "changeKeysButton", clicked=partial(self._begin, is_more=False))
        self._add = make_button(self.tr("Add…"), "addKeysButton", clicked=partial(self._begin, is_more=True))
        self._clear = make_button(self.tr("Clear"), "clearKeysButton", clicked=self._on_clear)
        self._reset = make_button(self.tr("Reset"), "resetKeysButton", clicked=self._on_reset)
        self._reset_all = make_button(self.tr("Reset all"), "resetAllKeysButton", clicked=self._on_reset_all)
        parts = (self._change, self._add, self._clear, self._reset)
        hbox(*parts, STRETCH, self._reset_all, on=row, spacing=Space.S)
        return row

    def _build_question(self) -> QWidget:
        question = QWidget()
        self._question_words = Note(object_name="resetKeysQuestion")
        self._keep = make_button(_question_tr("Keep them"), "keepKeysButton", clicked=self._end)
        reset = make_button(
            _question_tr("Reset all"), "confirmResetKeysButton", clicked=self._reset_all_keys, variant="destructive"
        )
        hbox((self._question_words, 1), self._keep, reset, on=question, spacing=Space.S)
        escape = QShortcut(Qt.Key.Key_Escape, question, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
        escape.activated.connect(self._end)
        return question

    def _on_search(self) -> None:
        self._empty.setVisible(self._list.search(self._line.text(), self._searched_keys) == 0)
        self._update()

    def _on_search_pressed(self, keys: str) -> None:
        self._searched_keys = keys
        self._on_search()

    def _on_search_left(self) -> None:
        self._pressed.clear()
        self._on_search_pressed("")

    def _update(self) -> None:
        action = self._list.action
        has_keys = bool(action) and bool(self._table.in_force.get(action))
        self._change.setEnabled(bool(action))
        self._add.setEnabled(has_keys)
        self._clear.setEnabled(has_keys)
        self._reset.setEnabled(bool(action) and self._table.is_changed(action))
        self._reset_all.setEnabled(bool(self._table.changed))

    def _begin(self, *, is_more: bool) -> None:
        self._is_more = is_more
        self._buttons.hide()
        self._recorder.begin(self._list.action, self._table, is_more=is_more)

    def _end(self) -> None:
        self._recorder.hide()
        self._question.hide()
        self._buttons.show()
        self._list.setFocus()

    def _on_chosen(self, keys: str) -> None:
        action = self._recorder.action
        self._end()
        for owner, taken in self._table.owners_of(keys, beside=action).items():
            self._give(owner, tuple(each for each in self._table.in_force[owner] if each not in taken))
        kept = self._table.in_force[action] if self._is_more else ()
        self._give(action, (*(each for each in kept if not clash(each, keys)), keys))

    def _on_clear(self) -> None:
        self._give(self._list.action, ())

    def _on_reset(self) -> None:
        self.settings_actions.reset(key_settings()[self._list.action].key)

    def _on_reset_all(self) -> None:
        self._buttons.hide()
        one = "%n action has keys of your own. It gets back those it came with."
        many = "%n actions have your own keys. They get their default keys back."
        self._question_words.say(plural("ResetQuestion", len(self._table.changed), one, many), "warning")
        self._question.show()
        self._keep.setFocus(Qt.FocusReason.OtherFocusReason)

    def _reset_all_keys(self) -> None:
        self._end()
        for action in self._table.changed:
            self.settings_actions.reset(key_settings()[action].key)

    def _give(self, action: str, keys: tuple[str, ...]) -> None:
        setting = key_settings()[action]
        if keys == setting.default:
            self.settings_actions.reset(setting.key)
        else:
            self.settings_actions.change(setting.key, keys)
