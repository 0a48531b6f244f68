"""The list of actions with their keys, searched and edited in place."""

from collections.abc import Mapping
from functools import cache

from msgspec import Struct
from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
)

from desktop_agent.core.settings.keyboard import KEYS_SECTION, clash, group_of, keys_in_force, keys_of
from desktop_agent.core.settings.values import Setting, declared_settings
from desktop_agent.ui.part_keys import PLACE_KEYS, PlaceKey, native_keys, place_text, place_title
from desktop_agent.ui.settings.setting_controls import title_of
from desktop_agent.ui.theme import Height
from desktop_agent.ui.widgets.layouts import set_names
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
