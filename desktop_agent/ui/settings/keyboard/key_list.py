"""The list of all keys, those of the actions, which can be chosen, and of single parts of the window; its search."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from desktop_agent.core.settings.keyboard import clash, group_of
from desktop_agent.ui.settings.controls import title_of
from desktop_agent.ui.settings.keyboard.key_field import ShortcutField
from desktop_agent.ui.settings.keyboard.key_table import KeyTable, key_settings
from desktop_agent.ui.theme import Height, Space
from desktop_agent.ui.widgets.layouts import hbox
from desktop_agent.ui.widgets.rows import AnyIndex, set_up_list
from desktop_agent.ui.wording.place_keys import PLACE_KEYS, native_keys, place_text, place_title

_NAME, _KEYS, _STATE = range(3)
_ACTION = Qt.ItemDataRole.UserRole
_PORTABLE = Qt.ItemDataRole.UserRole + 1
_LEAST_HEIGHT = 160
_KEYS_WIDTH = 190
_STATE_WIDTH = 76
_PRESSED_WIDTH = 150


class KeySearch(QWidget):
    """What is searched for: two fields beside each other, for what keys do and for keys to press.

    The keyboard goes to the first.

    Signals:
        changed: something else is searched for.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.keys = ""
        """The keys that were pressed, as the settings file has them; empty for none."""
        self._line = QLineEdit()
        self._line.setObjectName("keysSearch")
        self._line.setAccessibleName(self.tr("Search keys by what they do"))
        self._line.setPlaceholderText(self.tr("Search by what they do"))
        self._line.setClearButtonEnabled(True)
        self._pressed = ShortcutField()
        self._pressed.setObjectName("keysPressed")
        self._pressed.setAccessibleName(self.tr("Search by pressing keys"))
        self._pressed.setPlaceholderText(self.tr("Or press keys here"))
        self._pressed.setFixedWidth(_PRESSED_WIDTH)
        hbox((self._line, 1), self._pressed, on=self, spacing=Space.S)
        self.setFocusProxy(self._line)
        self._line.textChanged.connect(self.changed)
        self._pressed.keys_pressed.connect(self._on_pressed)
        self._pressed.left.connect(self._on_left)

    @property
    def text(self) -> str:
        """The words; empty for none."""
        return self._line.text()

    def _on_pressed(self, keys: str) -> None:
        self.keys = keys
        self.changed.emit()

    def _on_left(self) -> None:
        self.keys = ""
        self._pressed.clear()
        self.changed.emit()


class KeyList(QTreeWidget):
    """Groups of rows: name, keys, whether they are the user's own.

    Signals:
        opened: the keys of the chosen action are to be changed.
    """

    opened = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("keyList")
        self.setAccessibleName(self.tr("Keys"))
        self.setColumnCount(3)
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setItemsExpandable(False)
        self.setIndentation(0)
        self.setMinimumHeight(_LEAST_HEIGHT)
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
        self._fill()
        self.itemDoubleClicked.connect(self._on_double_clicked)

    @property
    def action(self) -> str:
        """The action that is chosen; empty for none."""
        seen = (row for row in self.selectedItems() if not row.isHidden())
        return next((str(row.data(_NAME, _ACTION) or "") for row in seen), "")

    def choose(self, action: str) -> None:
        """Choose an action, as the user does."""
        self.setCurrentItem(self._rows[action])

    def show_table(self, table: KeyTable) -> None:
        """Show these keys. What is chosen stays."""
        for action, row in self._rows.items():
            keys = table.in_force[action]
            row.setText(_KEYS, _shown(keys))
            row.setData(_NAME, _PORTABLE, keys)
            row.setText(_STATE, self.tr("changed") if table.is_changed(action) else "")

    def search(self, text: str, keys: str = "") -> int:
        """Show only what has these words in its name, and these keys if any. Returns how many rows that are."""
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

    def _fill(self) -> None:
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
            self.addTopLevelItem(group)  # with all its rows: a view looks at each that is added to it
            group.setFirstColumnSpanned(True)
        self.expandAll()

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
    """Rows as high as those of other lists, also before the style sheet is known to the list."""

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return super().sizeHint(option, index).expandedTo(QSize(0, Height.LIST_ROW))


def _shown(keys: tuple[str, ...]) -> str:
    """Return keys as a row has them: those of one sequence closer together than those beside each other."""
    return " · ".join(map(native_keys, keys))
