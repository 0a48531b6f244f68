"""The settings section about keys: the list of actions, searched and edited in place, and the recorder for new keys."""

from collections.abc import Iterator, Mapping
from functools import cache, partial

from msgspec import Struct
from PySide6.QtCore import QCoreApplication, QEvent, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QLineEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from desktop_agent.core.settings.keyboard import ANY, KEYS_SECTION, clash, group_of, keys_in_force, keys_of, written_key
from desktop_agent.core.settings.values import Setting, declared_settings
from desktop_agent.ui.part_keys import PLACE_KEYS, PlaceKey, can_send, native_keys, place_text, place_title
from desktop_agent.ui.settings.page_parts import Page
from desktop_agent.ui.settings.setting_controls import title_of
from desktop_agent.ui.settings.settings_view import SettingsActions, SettingsView
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import make_button, make_line
from desktop_agent.ui.widgets.labels import Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, hbox, set_names, vbox
from desktop_agent.ui.widgets.rows import AnyIndex, set_up_list

_STANDARD = QKeySequence.StandardKey
_WRITING = (_STANDARD.Copy, _STANDARD.Cut, _STANDARD.Paste, _STANDARD.Undo, _STANDARD.SelectAll)


@cache
def key_settings() -> Mapping[str, Setting]:
    return {
        key.removeprefix(f"{KEYS_SECTION}."): setting
        for key, setting in declared_settings().items()
        if setting.about.holds == "keys"
    }


@cache
def default_keys() -> Mapping[str, tuple[str, ...]]:
    return keys_of({setting.key: setting.default for setting in key_settings().values()})


class KeyTable(Struct, frozen=True):
    """The keys in the settings for each action, and the keys in force."""

    wanted: Mapping[str, tuple[str, ...]]
    in_force: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, values: Mapping[str, object]) -> "KeyTable":
        wanted = keys_of(values)
        return cls(wanted, keys_in_force(wanted, default_keys()))

    def owners_of(self, keys: str, *, beside: str) -> dict[str, tuple[str, ...]]:
        """Map other actions in the same part as `beside` to those of their keys that conflict with `keys`."""
        near = {action: each for action, each in self.in_force.items() if group_of(action) == group_of(beside)}
        found = {action: tuple(each for each in kept if clash(each, keys)) for action, kept in near.items()}
        return {action: each for action, each in found.items() if each and action != beside}

    def elsewhere(self, keys: str, *, beside: str) -> tuple[str, ...]:
        """Return the window's actions with these keys, or the parts' actions if `beside` is an action of the window."""
        group = group_of(beside)
        others = (action for action in self.in_force if group_of(action) != group and "" in (group_of(action), group))
        return tuple(action for action in others if any(clash(each, keys) for each in self.in_force[action]))

    def is_changed(self, action: str) -> bool:
        return self.wanted[action] != default_keys()[action]

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(filter(self.is_changed, self.wanted))


def fixed_elsewhere(keys: str) -> tuple[PlaceKey, ...]:
    """Return the fixed actions of these keys in parts of the window, which take precedence there."""
    return tuple(place for place in PLACE_KEYS if not place.action and any(clash(each, keys) for each in place.keys))


def is_for_writing(keys: str) -> bool:
    """Whether text fields use these keys. In a text field, that use takes precedence."""
    sequence = QKeySequence(keys)
    return any(sequence in QKeySequence.keyBindings(standard) for standard in _WRITING)


_HELD = (Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class ShortcutField(QLineEdit):
    """Shows the last keys pressed. Esc, Tab and (without `takes_enter`) Enter keep their meaning if pressed alone."""

    keys_pressed = Signal(str)  # in the format of the settings file
    confirmed = Signal()
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.takes_enter = False
        """Whether Enter alone is recorded instead of confirming."""
        self.setReadOnly(True)
        self.setPlaceholderText(self.tr("Press the keys"))

    def event(self, arg__1: QEvent) -> bool:
        """Take each key press before the shortcuts of the window and the dialog."""
        if arg__1.type() is QEvent.Type.ShortcutOverride:
            arg__1.accept()
            return True
        if arg__1.type() is QEvent.Type.KeyPress and isinstance(arg__1, QKeyEvent) and _is_held_tab(arg__1):
            self.keyPressEvent(arg__1)
            return True
        return super().event(arg__1)

    def keyPressEvent(self, arg__1: QKeyEvent) -> None:
        key = arg__1.key()
        is_alone = arg__1.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        if key in _HELD or key == Qt.Key.Key_unknown:
            return
        if key == Qt.Key.Key_Escape and is_alone:
            self.left.emit()
        elif key in _ENTER and is_alone and not self.takes_enter:
            self.confirmed.emit()
        else:
            combination = arg__1.keyCombination()
            plain = combination.keyboardModifiers() & ~Qt.KeyboardModifier.KeypadModifier
            named = Qt.Key.Key_Tab if combination.key() == Qt.Key.Key_Backtab else combination.key()
            keys = QKeySequence(plain | named)
            self.setText(keys.toString(QKeySequence.SequenceFormat.NativeText))
            self.keys_pressed.emit(keys.toString(QKeySequence.SequenceFormat.PortableText))

    def focusInEvent(self, arg__1: QFocusEvent) -> None:
        super().focusInEvent(arg__1)
        self.deselect()


def _is_held_tab(event: QKeyEvent) -> bool:
    """Whether this is Tab with a modifier, which does not move the focus."""
    held = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
    return event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab) and bool(event.modifiers() & held)


_NAME, _KEYS, _STATE = range(3)
_ACTION = Qt.ItemDataRole.UserRole
_PORTABLE = Qt.ItemDataRole.UserRole + 1
_KEYS_WIDTH = 190
_STATE_WIDTH = 76


class KeyList(QTreeWidget):
    opened = Signal()

    def __init__(self) -> None:
        super().__init__()
        set_names(self, "keyList", self.tr("Keys"))
        self.setColumnCount(3)
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setItemsExpandable(False)
        self.setIndentation(0)
        self.setMinimumHeight(160)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.header().setStretchLastSection(False)
        for column, width in ((_KEYS, _KEYS_WIDTH), (_STATE, _STATE_WIDTH)):
            self.header().setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            self.header().resizeSection(column, width)
        self.header().setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)
        self.setUniformRowHeights(True)
        self.setItemDelegate(_Rows(self))
        set_up_list(self)
        self._rows: dict[str, QTreeWidgetItem] = {}
        everywhere = self._group(self.tr("Everywhere"))
        for action, setting in key_settings().items():
            if not group_of(action):
                self._add_action(everywhere, action, title_of(setting))
        groups: dict[str, QTreeWidgetItem] = {}
        for each in PLACE_KEYS:
            group = groups.get(each.place) or groups.setdefault(each.place, self._group(place_title(each.place)))
            if each.action:
                self._add_action(group, each.name, place_text(each))
                continue
            row = QTreeWidgetItem(group, [place_text(each), _shown(each.keys), ""])
            row.setData(_NAME, _PORTABLE, each.keys)
            row.setFlags(Qt.ItemFlag.ItemIsEnabled)
        for group in (everywhere, *groups.values()):
            self.addTopLevelItem(group)  # with all its rows: a view processes each added row
            group.setFirstColumnSpanned(True)
        self.expandAll()
        self.itemDoubleClicked.connect(self._on_double_clicked)

    @property
    def action(self) -> str:
        seen = (row for row in self.selectedItems() if not row.isHidden())
        return next((str(row.data(_NAME, _ACTION) or "") for row in seen), "")

    def choose(self, action: str) -> None:
        self.setCurrentItem(self._rows[action])

    def show_table(self, table: KeyTable) -> None:
        for action, row in self._rows.items():
            keys = table.in_force[action]
            row.setText(_KEYS, _shown(keys))
            row.setData(_NAME, _PORTABLE, keys)
            row.setText(_STATE, self.tr("changed") if table.is_changed(action) else "")

    def search(self, text: str, keys: str = "") -> int:
        wanted = text.casefold().split()
        shown = 0
        for group in map(self.topLevelItem, range(self.topLevelItemCount())):
            assert group is not None
            in_group = 0
            for row in map(group.child, range(group.childCount())):
                assert row is not None
                searched = f"{row.text(_NAME)} {row.text(_KEYS)} {group.text(_NAME)}".casefold()
                has_keys = not keys or any(clash(each, keys) for each in row.data(_NAME, _PORTABLE) or ())
                is_found = has_keys and all(word in searched for word in wanted)
                row.setHidden(not is_found)
                in_group += is_found
            group.setHidden(not in_group)
            shown += in_group
        return shown

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2) and self.action:
            self.opened.emit()
        else:
            super().keyPressEvent(event)

    def _add_action(self, group: QTreeWidgetItem, action: str, title: str) -> None:
        row = self._rows[action] = QTreeWidgetItem(group, [title, "", ""])
        row.setData(_NAME, _ACTION, action)

    def _group(self, title: str) -> QTreeWidgetItem:
        group = QTreeWidgetItem([title])
        group.setFlags(Qt.ItemFlag.ItemIsEnabled)
        font = self.font()
        font.setWeight(font.Weight.DemiBold)
        group.setFont(_NAME, font)
        return group

    def _on_double_clicked(self) -> None:
        if self.action:
            self.opened.emit()


class _Rows(QStyledItemDelegate):
    """Makes rows as high as in other lists, even before the style sheet applies."""

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return super().sizeHint(option, index).expandedTo(QSize(0, Height.LIST_ROW))


def _shown(keys: tuple[str, ...]) -> str:
    return " · ".join(map(native_keys, keys))


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
